"""`RecordedBatch`: one generation, scored and combined, as the record keeps it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from grpo_core.completion import Completion
from grpo_core.sections import Mode
from grpo_core.spread import rows_of
from grpo_core.table import FloatArray, ScoreTable
from grpo_core.totals import Aggregate

Scale = Literal["group", "batch", "none"]


@dataclass(frozen=True)
class RecordedBatch:
    """B completions with all that was made of them; the G of a prompt are neighbours.

    With several processes each records its own rows, as many as every other, so that a group may
    be cut in two; those of rank 0, then rank 1, … are the whole generation, and `joined` makes it.

    Attributes:
        step: The step that is trained on them; of an evaluation the steps done before it.
        mode: "train" or "eval".
        part: Which generation of the step, from 1; an evaluation has one for each batch.
        rank: The process that wrote it.
        group_size: Completions per prompt (G).
        scale: What advantages are divided by.
        aggregate: How rewards are combined.
        max_steps: Steps of the whole run; None if they were not known.
        rewards: What the manifest keeps of each reward, by instance name.
        counted: Indices of the rewards that are no shadows, N of them.
        completions: With the data set's row in `columns`, its prompt as it was given.
        table: What the rewards made of them.
        effective: What the trainer was handed, shape (B, N); NaN where missing.
        weights: The weights in force, shape (N,).
        totals: Weighted sums, shape (B,); NaN where nothing was scored.
        advantages: Shape (B,); None where further reward functions took part in them.
        size: Completions of this rank in the generation, of which only some may be here.
        world: Processes that have a file of the generation each.
    """

    step: int
    mode: Mode
    part: int
    rank: int
    group_size: int
    scale: Scale
    aggregate: Aggregate
    max_steps: int | None
    rewards: Mapping[str, Mapping[str, Any]]
    counted: tuple[int, ...]
    completions: Sequence[Completion]
    table: ScoreTable
    effective: FloatArray
    weights: FloatArray
    totals: FloatArray
    advantages: FloatArray | None
    size: int
    world: int = 1

    @property
    def start(self) -> int:
        """Place of the first row in the whole generation."""
        return self.rank * self.size

    def first(self, n: int) -> RecordedBatch:
        """What is here of the generation's first n, and of those that make their last group whole.

        Of a process whose rows lie behind them that is none.
        """
        n = -(-n // self.group_size) * self.group_size
        n = max(n - self.start, 0)
        if n >= len(self.completions):
            return self
        return dataclasses.replace(
            self,
            completions=self.completions[:n],
            table=rows_of(self.table, range(n)),
            effective=self.effective[:n],
            totals=self.totals[:n],
            advantages=None if self.advantages is None else self.advantages[:n],
        )
