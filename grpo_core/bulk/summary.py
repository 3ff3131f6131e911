"""What K rewards made of a whole file, kept in memory that does not grow with its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grpo_core.outcome import Outcome
from grpo_core.table import FloatArray

_BINS = 20


class Tally:
    """Count, mean, standard deviation, extremes and histogram of numbers seen once.

    Attributes:
        count: Numbers seen.
    """

    def __init__(self, low: float | None = None, high: float | None = None) -> None:
        """Begins without numbers.

        Args:
            low: Lower end of the histogram; None: it grows with the numbers.
            high: Upper end.
        """
        self.count = 0
        self._mean = 0.0
        self._squares = 0.0  # sum of squared differences from the mean
        self._min = math.inf
        self._max = -math.inf
        self._fixed = low is not None and high is not None
        self._low = low
        self._high = high
        self._bins = [0] * _BINS

    def add(self, values: FloatArray) -> None:
        """Takes numbers into account; NaN is none."""
        values = values[~np.isnan(values)]
        n = len(values)
        if n == 0:
            return
        mean = float(values.mean())
        squares = float(np.square(values - mean).sum())
        between = mean - self._mean
        total = self.count + n
        # Chan, Golub and LeVeque's update: no difference of two large sums.
        self._squares += squares + between**2 * self.count * n / total
        self._mean += between * n / total
        self.count = total
        self._min = min(self._min, float(values.min()))
        self._max = max(self._max, float(values.max()))
        if not self._fixed:
            self._stretch(self._min, self._max)
        if self._low is not None and self._high is not None:
            width = (self._high - self._low) or 1.0
            at = np.clip((values - self._low) / width * _BINS, 0, _BINS - 1).astype(int)
            for b, more in enumerate(np.bincount(at, minlength=_BINS).tolist()):
                self._bins[b] += more

    def shown(self) -> dict[str, Any]:
        """The numbers as JSON; None where there is none. The std has the divisor n."""
        if self.count == 0:
            return {"mean": None, "std": None, "min": None, "max": None, "histogram": None}
        return {
            "mean": self._mean,
            "std": math.sqrt(self._squares / self.count),
            "min": self._min,
            "max": self._max,
            "histogram": {"low": self._low, "high": self._high, "counts": list(self._bins)},
        }

    def state(self) -> dict[str, Any]:
        """All there is to go on from, as JSON."""
        state = dict(vars(self))
        if self.count == 0:
            del state["_min"], state["_max"]  # infinities are no JSON
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state."""
        vars(self).update(state)

    def _stretch(self, low: float, high: float) -> None:
        """Widens the histogram; what is in it moves with the middle of its bin."""
        if self._low is None or self._high is None:
            self._low, self._high = low, high
        if self._low <= low and high <= self._high:
            return
        before, start, width = self._bins, self._low, self._high - self._low
        self._low, self._high = min(low, self._low), max(high, self._high)
        self._bins = [0] * _BINS
        for b, count in enumerate(before):
            middle = start + (b + 0.5) / _BINS * width if width else start
            share = (middle - self._low) / (self._high - self._low)
            self._bins[min(int(share * _BINS), _BINS - 1)] += count


class RewardTally:
    """What became of one reward's cells.

    Attributes:
        values: Its values.
        counts: Cells by status; "faults" counts those in which it broke its contract.
        first_fault: Where and why that happened first, or None.
    """

    def __init__(self, low: float | None, high: float | None) -> None:
        """Begins without cells."""
        self.values = Tally(low, high)
        self.counts = {"scored": 0, "skipped": 0, "failed": 0, "timed_out": 0, "faults": 0}
        self.first_fault: str | None = None
        self._seconds = 0.0

    def add(self, outcomes: Sequence[Outcome], values: FloatArray, seconds: float) -> int | None:
        """Takes cells into account; returns the index of the first fault, or None."""
        self.values.add(values)
        self._seconds += seconds
        first = None
        for i, outcome in enumerate(outcomes):
            self.counts[outcome.status] += 1
            if outcome.fault:
                self.counts["faults"] += 1
                first = i if first is None else first
        return first

    def shown(self) -> dict[str, Any]:
        """What the summary says of the reward, as JSON."""
        n = sum(self.counts.values()) - self.counts["faults"]
        return {
            **self.values.shown(),
            "coverage": self.counts["scored"] / n if n else None,
            **self.counts,
            "first_fault": self.first_fault,
            "seconds_per_row": self._seconds / n if n else None,
        }

    def state(self) -> dict[str, Any]:
        """All there is to go on from, as JSON."""
        return {**vars(self), "values": self.values.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state."""
        self.values.restore(state["values"])
        vars(self).update({k: v for k, v in state.items() if k != "values"})


def bars(histogram: Mapping[str, Any] | None) -> str:
    """A histogram as one line: its ends and a bar for each bin."""
    if histogram is None:
        return "-"
    counts = histogram["counts"]
    top = max(counts)
    # A bin that holds anything stands out from one that holds nothing.
    drawn = "".join("▁" if not c else "▂▃▄▅▆▇█"[math.ceil(c / top * 7) - 1] for c in counts)
    return f"{histogram['low']:g} {drawn} {histogram['high']:g}"
