"""Changes the learning rate of a training that has begun."""

from __future__ import annotations

from typing import Any


def scale_rates(optimizer: Any, scheduler: Any, factor: float) -> None:
    """Multiplies the learning rates of the next step and those that the schedule starts from."""
    for group in optimizer.param_groups:
        group["lr"] *= factor
    scheduler = getattr(scheduler, "scheduler", scheduler)  # accelerate wraps it
    if hasattr(scheduler, "base_lrs"):  # a plateau's schedule goes on from the groups' rates
        scheduler.base_lrs = [rate * factor for rate in scheduler.base_lrs]
        scheduler._last_lr = [group["lr"] for group in optimizer.param_groups]  # what is logged
