"""`Combination`: from the values of K rewards to what a trainer is handed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from grpo_core.config import weight_of
from grpo_core.entry import Entry
from grpo_core.schedules import Schedule
from grpo_core.sections import Mode
from grpo_core.table import FloatArray, ScoreTable
from grpo_core.totals import (
    Aggregate,
    BoolArray,
    Gate,
    effective_values,
    gated,
    transformed,
    weighted_total,
)


class Combined(NamedTuple):
    """What the trainer is handed, and what became of it.

    Attributes:
        effective: Values after transforms, gates and fill, shape (B, N); NaN where missing.
        closed: The cells that a gate closed, shape (B, K).
        totals: Weighted sums, shape (B,); NaN where nothing was scored.
    """

    effective: FloatArray
    closed: BoolArray
    totals: FloatArray


class Combination:
    """How the values of some rewards become totals.

    Attributes:
        counted: Indices of the rewards that are no shadows; N of them.
        schedules: Their weights, a number or a schedule each.
        weights: Their weights as numbers, shape (N,); of a schedule its end.
        gates: By reward, what other rewards have to give before it counts, or None.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        """Takes the rewards, K of them, in which nothing is wrong."""
        self._entries = entries
        self.counted = tuple(k for k, e in enumerate(entries) if not e.section.shadow)
        self.schedules = tuple(weight_of(entries[k].section) for k in self.counted)
        self.weights: FloatArray = np.array(
            [w.end if isinstance(w, Schedule) else w for w in self.schedules], dtype=np.float64
        )
        names = [e.name for e in entries]
        self.gates = tuple(_gate(e, names) for e in entries)

    def combined(
        self,
        table: ScoreTable,
        group_size: int,
        aggregate: Aggregate,
        weights: FloatArray | None,
        mode: Mode | None,
    ) -> Combined:
        """As `CompositeReward.combined`."""
        weights = self.weights if weights is None else weights
        entries, counted = self._entries, list(self.counted)
        values = transformed(
            table.values, [e.transform for e in entries], [e.range for e in entries]
        )
        values, closed = gated(values, table.values, self.gates)
        if not counted:  # shadows alone, which are only measured
            return Combined(values[:, counted], closed, np.full(table.n_rows, np.nan))
        missing = [entries[k].missing(mode) for k in counted]
        effective = effective_values(values[:, counted], weights, missing, group_size, aggregate)
        return Combined(effective, closed, weighted_total(effective, weights))


def _gate(entry: Entry, names: Sequence[str]) -> Gate | None:
    section, transform = entry.section, entry.transform
    if not section.requires:
        return None
    otherwise = section.otherwise
    if otherwise is None:
        low, _ = entry.range if transform is None else transform.range_after(entry.range)
        otherwise = low
    return Gate({names.index(n): float(v) for n, v in section.requires.items()}, otherwise)
