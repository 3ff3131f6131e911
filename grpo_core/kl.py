"""When the KL divergence to the reference runs away, and what a guard does about it: pure logic.

KL is that of the trainer: nats per token, the mean of `exp(d) - d - 1` over the tokens of the
completions, where d is how much likelier the reference makes a token (its logarithm). It is 0 for
the model that training begins with, and never negative.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

# Steps whose median a KL is held against, and steps of calm that end an alarm.
WINDOW = 20
TIMES = 10.0
# Below this no ratio counts: the first steps begin at 0, and a few rare tokens make a single step
# of a healthy run reach 0.14, six times its median (the demo, ten seeds, 50 steps each, by
# scripts/measure_kl.py).
FLOOR = 0.25
LIMIT = 1.0

# The guard's bounds, as factors of what the config says, and steps between two of its acts.
LEAST_RATE = 1 / 8
MOST_KL_COEF = 8.0
COOL_DOWN = 10

Kind = Literal["jump", "high", "broken"]
_SEVERITY: dict[Kind, int] = {"jump": 1, "high": 2, "broken": 3}


@dataclass(frozen=True)
class Alarm:
    """A KL that is no longer healthy.

    Attributes:
        kind: "jump" for ten times the median, "high" for 1 nat per token, "broken" for NaN and
            infinity.
        kl: The KL, in nats per token.
        median: Of the steps before; None where there are none.
        first: Whether to say it: it begins an alarm, or is worse than what the alarm was said for.
    """

    kind: Kind
    kl: float
    median: float | None
    first: bool


class KlWatch:
    """Holds each KL against a limit and against the median of the 20 steps before it."""

    def __init__(self) -> None:
        """Has seen nothing yet."""
        self._seen: list[tuple[int, float]] = []
        self._last_alarm: int | None = None
        self._said = 0

    def see(self, step: int, kl: float) -> Alarm | None:
        """What is wrong with the KL of a step, or None.

        An alarm lasts until 20 steps are calm; only its first step and a worse kind are `first`.

        Args:
            step: Number of the step. Steps may be left out, where a trainer logs some of them.
            kl: Its KL.
        """
        # Where fewer steps are logged than one in 20, the one before is all there is.
        self._seen = [s for s in self._seen if s[0] >= step - WINDOW] or self._seen[-1:]
        median = statistics.median(value for _, value in self._seen) if self._seen else None
        if math.isfinite(kl):
            self._seen.append((step, kl))
        kind = _kind(kl, median)
        if kind is None:
            return None
        if self._last_alarm is None or step - self._last_alarm > WINDOW:
            self._said = 0
        first = _SEVERITY[kind] > self._said
        self._said = max(self._said, _SEVERITY[kind])
        self._last_alarm = step
        return Alarm(kind, kl, median, first)

    def state(self) -> dict[str, Any]:
        """All it remembers, as JSON takes it."""
        return {
            "seen": [list(pair) for pair in self._seen],
            "last_alarm": self._last_alarm,
            "said": self._said,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from what `state` gave."""
        self._seen = [(int(step), float(kl)) for step, kl in state["seen"]]
        self._last_alarm = state["last_alarm"]
        self._said = state["said"]


def _kind(kl: float, median: float | None) -> Kind | None:
    if not math.isfinite(kl):
        return "broken"
    if kl > LIMIT:
        return "high"
    if median is not None and kl > FLOOR and kl > TIMES * median:
        return "jump"
    return None


class KlGuard:
    """How far the learning rate was lowered and kl_coef raised.

    Attributes:
        rate: Factor of the learning rate, from 1 down to 1/8.
        kl_coef: Factor of kl_coef, from 1 up to 8.
    """

    def __init__(self) -> None:
        """Has done nothing yet."""
        self.rate = 1.0
        self.kl_coef = 1.0
        self._last_act: int | None = None

    @property
    def at_bounds(self) -> bool:
        """Whether it may do no more."""
        return self.rate <= LEAST_RATE and self.kl_coef >= MOST_KL_COEF

    def act(self, step: int) -> bool:
        """Halves the rate and doubles kl_coef, unless it did so within 10 steps or may not."""
        rests = self._last_act is not None and step - self._last_act < COOL_DOWN
        if rests or self.at_bounds:
            return False
        self.rate = max(self.rate / 2, LEAST_RATE)
        self.kl_coef = min(self.kl_coef * 2, MOST_KL_COEF)
        self._last_act = step
        return True

    def state(self) -> dict[str, Any]:
        """All it remembers, as JSON takes it."""
        return {"rate": self.rate, "kl_coef": self.kl_coef, "last_act": self._last_act}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from what `state` gave."""
        self.rate = float(state["rate"])
        self.kl_coef = float(state["kl_coef"])
        self._last_act = state["last_act"]


def warning(alarm: Alarm, step: int, rate: float, kl_coef: float) -> str:
    """What is said of an alarm, with the two remedies.

    Args:
        alarm: The alarm.
        step: Its step.
        rate: The learning rate in force at the peak of its schedule.
        kl_coef: The one in force.
    """
    why = {
        "jump": f"above {FLOOR:g} and more than {TIMES:g} times its median of the last "
        f"{WINDOW} steps, {alarm.median or 0.0:.4f}",
        "high": f"above {LIMIT:g}",
        "broken": "not a finite number",
    }[alarm.kind]
    what = {
        "jump": "the model moves away from its reference too fast",
        "high": "the model has left its reference",
        "broken": "a model that computes this does not recover; go back to a checkpoint before it",
    }[alarm.kind]
    # One that has run away is rarely too fast by little.
    lower = rate / (2 if alarm.kind == "jump" else 10)
    return (
        f"step {step}: KL is {alarm.kl:.4g} nats per token, {why}: {what}. "
        f"Lower learning_rate, now {rate:g}, to {lower:g} or less, or raise kl_coef, now "
        f"{kl_coef:g}, to {kl_coef * 2:g} or more"
    )
