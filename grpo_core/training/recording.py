"""Makes what the record keeps of a batch that the trainer had scored."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from grpo_core.advantages import group_relative_advantages
from grpo_core.recorded.batch import RecordedBatch, Scale
from grpo_core.recorded.write import CompletionRecord
from grpo_core.spread import rows_of
from grpo_core.table import FloatArray
from grpo_core.training.scored import ScoredBatch

logger = logging.getLogger("grpo_core")


class Recorder:
    """Hands the batches of a training to its record."""

    def __init__(self, record: CompletionRecord, rewards: Mapping[str, Mapping[str, Any]]) -> None:
        """Takes the record, and what the manifest keeps of each reward."""
        self.record = record
        self._rewards = rewards
        self._said = False

    def write(
        self,
        batch: ScoredBatch,
        state: Any,
        handed: FloatArray,
        trainer_weights: FloatArray,
        scale: Scale,
        n_functions: int | None,
    ) -> None:
        """Writes those rows of a batch that this process holds.

        Args:
            batch: The batch.
            state: The trainer's state.
            handed: What the trainer is handed, shape (B, N).
            trainer_weights: Its weights of our rewards, shape (N,).
            scale: What it divides advantages by.
            n_functions: Its reward functions; None if that is not known.

        Raises:
            RunDirError: The record cannot be written.
        """
        further = 0 if n_functions is None else n_functions - handed.shape[1]
        advantages = None
        if further <= 0:
            advantages = group_relative_advantages(
                handed, trainer_weights, batch.group_size, scale, batch.aggregate
            )
        elif not self._said and self.record.rank == 0:
            self._said = True
            logger.warning(
                "the trainer has %d reward functions beside these rewards: the record has no "
                "advantages, since those values are not ours to know",
                further,
            )
        own = batch.whole.own
        part = slice(own.start, own.stop)
        step = state.global_step + (batch.mode == "train")
        self.record.write(
            RecordedBatch(
                step=step,
                mode=batch.mode,
                part=self.record.next_part(batch.mode, step),
                rank=self.record.rank,
                group_size=batch.group_size,
                scale=scale,
                aggregate=batch.aggregate,
                max_steps=state.max_steps if state.max_steps > 0 else None,
                rewards=self._rewards,
                counted=batch.composite.counted,
                completions=batch.whole.completions,
                table=rows_of(batch.table, own),
                effective=batch.combined.effective[part],
                weights=np.asarray(batch.weights, dtype=np.float64),
                totals=batch.combined.totals[part],
                advantages=None if advantages is None else advantages[part],
                size=len(own),
                world=self.record.world,
            )
        )
