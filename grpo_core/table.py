"""`ScoreTable`: what K rewards made of B completions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grpo_core.outcome import Outcome, Status

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ScoreTable:
    """Values, outcomes and times of one batch.

    Attributes:
        names: Instance names of the rewards, K of them.
        values: Raw values, shape (B, K); NaN where the cell holds none.
        outcomes: The outcomes by reward: K lists of B.
        seconds: Time spent on each cell, shape (B, K), in seconds. A function that was called
            once for the whole batch has its time divided evenly.
        n_cached: By reward, how many cells were known from earlier.
    """

    names: tuple[str, ...]
    values: FloatArray
    outcomes: tuple[list[Outcome], ...]
    seconds: FloatArray
    n_cached: tuple[int, ...] = ()

    @classmethod
    def from_columns(
        cls,
        names: Sequence[str],
        outcomes: Sequence[list[Outcome]],
        seconds: Sequence[Sequence[float] | FloatArray],
        n_rows: int,
        n_cached: Sequence[int] = (),
    ) -> ScoreTable:
        """Builds the table from K columns of B outcomes and B times."""
        nan = float("nan")
        values = np.empty((n_rows, len(names)), dtype=np.float64)
        times = np.empty((n_rows, len(names)), dtype=np.float64)
        for k, column in enumerate(outcomes):
            values[:, k] = [nan if o.value is None else o.value for o in column]
            times[:, k] = seconds[k]
        return cls(tuple(names), values, tuple(outcomes), times, tuple(n_cached))

    @property
    def n_rows(self) -> int:
        """Number of completions (B)."""
        return int(self.values.shape[0])

    def share(self, k: int, status: Status) -> float:
        """Share of reward k's cells that have the status, from 0 to 1; 0 without rows."""
        column = self.outcomes[k]
        return sum(o.status == status for o in column) / len(column) if column else 0.0

    def faults(self) -> list[tuple[str, int, Outcome]]:
        """Cells in which a reward broke its contract: (name, row, outcome), by reward."""
        return [
            (name, row, outcome)
            for name, column in zip(self.names, self.outcomes, strict=True)
            for row, outcome in enumerate(column)
            if outcome.fault
        ]
