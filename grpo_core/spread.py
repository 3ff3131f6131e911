"""`Spread`: how a batch lies on the processes of a training, and who scores which rows of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grpo_core.table import ScoreTable


@dataclass(frozen=True)
class Spread:
    """A batch of `world * n_rows` completions, the rows of rank 0 first.

    Attributes:
        n_rows: Completions that each process holds.
        group_size: Completions per prompt (G), neighbours in the whole batch.
        world: How many processes there are.
    """

    n_rows: int
    group_size: int
    world: int

    @property
    def splits_groups(self) -> bool:
        """Whether a group lies on more than one process."""
        return self.n_rows % self.group_size != 0

    def held_by(self, rank: int) -> range:
        """The rows of the whole batch that a process holds."""
        return range(rank * self.n_rows, (rank + 1) * self.n_rows)

    def whole_groups_of(self, rank: int) -> list[int]:
        """The rows of the groups that are a process's to score: each world-th group."""
        n, size = self.n_rows * self.world, self.group_size
        starts = range(rank * size, n, self.world * size)
        return [row for start in starts for row in range(start, start + size)]


def joined(parts: Sequence[ScoreTable], rows: Sequence[Sequence[int]]) -> ScoreTable:
    """The table of the whole batch.

    Args:
        parts: What each process scored, of the same rewards.
        rows: Which rows of the whole batch these are; each row occurs once.
    """
    order = np.argsort([row for of_rank in rows for row in of_rank], kind="stable")
    outcomes = []
    for k in range(len(parts[0].names)):
        together = [outcome for part in parts for outcome in part.outcomes[k]]
        outcomes.append([together[i] for i in order])
    return ScoreTable(
        parts[0].names,
        np.concatenate([part.values for part in parts])[order],
        tuple(outcomes),
        np.concatenate([part.seconds for part in parts])[order],
        tuple(sum(counts) for counts in zip(*(part.n_cached for part in parts), strict=True)),
    )


def rows_of(table: ScoreTable, rows: range) -> ScoreTable:
    """Some neighbouring rows of a table."""
    part = slice(rows.start, rows.stop)
    return ScoreTable(
        table.names,
        table.values[part],
        tuple(column[part] for column in table.outcomes),
        table.seconds[part],
        table.n_cached,
    )
