"""Weights that change over a run: `Schedule`, what is wrong with one, and the weights in force.

A step is the trainer's global step, counted from 0: the weight at step s is the one that the
(s+1)-th step is trained with. A run of N steps has the steps 0 to N - 1, so a schedule that takes
the whole run (`share=1`, or `steps=N`) ends one step short of its end, as a learning rate does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from grpo_core.errors import ConfigError, Problem
from grpo_core.table import FloatArray

Shape = Literal["linear", "step", "cosine"]


@dataclass(frozen=True)
class Schedule:
    """A weight that goes from `start` to `end`.

    Attributes:
        start: Weight up to `begin`.
        end: Weight from `begin` + length on.
        steps: The length, in steps; or
        share: the length, as a share of the run, above 0 and up to 1.
        shape: "linear"; "cosine", which is slow at both ends; or "step", which stays at `start`
            and jumps to `end` where the others reach it.
        begin: Where it begins to change, in the unit of the length.
    """

    start: float
    end: float
    steps: int | None = None
    share: float | None = None
    shape: Shape = "linear"
    begin: float = 0

    def at(self, step: int, total_steps: int | None) -> float:
        """Weight in force at a step.

        Args:
            step: Global step about to be trained, counted from 0.
            total_steps: Steps of the run; a schedule over `steps` does without.

        Raises:
            ConfigError: The length is a share of a run whose steps are not known.
        """
        return self._at(self._position(step, total_steps))

    def _at(self, x: float) -> float:
        """Weight at a place given in the unit of the length."""
        t = min(max((x - self.begin) / self._length, 0.0), 1.0)
        if t == 1.0 or self.shape == "step":
            return float(self.end if t == 1.0 else self.start)
        if self.shape == "cosine":
            t = (1.0 - math.cos(math.pi * t)) / 2.0
        return self.start + (self.end - self.start) * t

    @property
    def _length(self) -> float:
        length = self.share if self.steps is None else self.steps
        assert length is not None  # `problems` said so
        return length

    def _position(self, step: int, total_steps: int | None) -> float:
        if self.share is None:
            return step
        if not total_steps:
            raise ConfigError(
                "a weight is scheduled over a share of the run, but the number of its steps is not "
                "known; set max_steps, or give the schedule steps instead of share"
            )
        return step / total_steps


class Found(NamedTuple):
    """What is wrong with a schedule.

    Attributes:
        problems: It cannot be meant so.
        warnings: It hurts no run but may not be meant.
    """

    problems: list[Problem]
    warnings: list[Problem]


def problems(schedule: Schedule, total_steps: int | None, where: str) -> Found:
    """Finds what is wrong with a schedule.

    Args:
        schedule: The schedule, its fields of the declared types.
        total_steps: Steps of the run, or None where they are not known; then it is not compared
            with the run, unless its length is a share.
        where: Dotted path of the weight, such as `rewards.brief.weight`.
    """
    found = [
        Problem(f"{where}.{name}", f"expected a finite number, got {value!r}")
        for name in ("start", "end", "begin")
        if not math.isfinite(value := getattr(schedule, name))
    ]
    if schedule.shape not in get_args(Shape):
        expected = " or ".join(map(repr, get_args(Shape)))
        found.append(Problem(f"{where}.shape", f"expected {expected}, got {schedule.shape!r}"))
    if schedule.start == schedule.end:
        found.append(
            Problem(
                where,
                f"start and end are both {schedule.start:g}; for a weight that does not change "
                f"write the number, weight = {schedule.start:g}",
            )
        )
    if schedule.begin < 0:
        found.append(
            Problem(f"{where}.begin", f"expected 0 or more, got {schedule.begin:g}; leave it out")
        )
    found += _length_problems(schedule, where)
    if found:
        return Found(found, [])
    return _compared(schedule, total_steps, where)


def weights_at(
    weights: Sequence[float | Schedule], step: int, total_steps: int | None
) -> FloatArray:
    """Weights in force at a step, shape (K,).

    Args:
        weights: A number or a schedule for each of the K rewards.
        step: Global step about to be trained, counted from 0.
        total_steps: Steps of the run, or None where they are not known.

    Raises:
        ConfigError: As `Schedule.at`.
    """
    return np.array(
        [w.at(step, total_steps) if isinstance(w, Schedule) else w for w in weights],
        dtype=np.float64,
    )


def _length_problems(schedule: Schedule, where: str) -> list[Problem]:
    steps, share = schedule.steps, schedule.share
    if (steps is None) == (share is None):
        came = "neither" if steps is None else f"steps = {steps!r} and share = {share!r}"
        expected = "expected steps (a number of steps) or share (of the run, up to 1)"
        return [Problem(where, f"{expected}, got {came}; give one of them")]
    if steps is not None and steps < 1:
        return [Problem(f"{where}.steps", f"expected 1 or more, got {steps!r}")]
    if share is not None and not 0 < share <= 1:
        text = f"expected a share of the run, above 0 and up to 1, got {share!r}"
        return [Problem(f"{where}.share", text + ("; for steps write steps" if share > 1 else ""))]
    return []


def _compared(schedule: Schedule, total_steps: int | None, where: str) -> Found:
    """What is wrong with a schedule that is sound in itself, on a run of this length."""
    share = schedule.share is not None
    run = 1.0 if share else total_steps
    if run is None:
        return Found([], [])
    end = schedule.begin + schedule._length
    of = "{:g} of the run" if share else "step {:g}"
    has = "the run ends at 1" if share else f"the run has {run} step{'s' if run != 1 else ''}"
    if schedule.begin >= run:
        text = (
            f"begins to change at {of.format(schedule.begin)}, {has}: it stays "
            f"{schedule.start:g}; begin earlier, or write weight = {schedule.start:g}"
        )
        return Found([Problem(f"{where}.begin", text)], [])
    # 0.3 + 0.7 may miss 1 by rounding. A jump at the end of the run comes after its last step.
    jumps = schedule.shape == "step"
    if end > run * (1 + 1e-9) or (jumps and end >= run * (1 - 1e-9)):
        last = schedule.at(total_steps - 1, total_steps) if total_steps else schedule._at(1.0)
        text = f"reaches its end at {of.format(end)}, {has}: its last weight is {last:.3g}"
        return Found([], [Problem(where, text)])
    return Found([], [])
