"""`ScoredBatch`: what is logged of a batch of a training, and what is warned of."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grpo_core.causes import cause_of_silence, no_signal
from grpo_core.combination import Combined
from grpo_core.composite import CompositeReward
from grpo_core.scoring.told import told
from grpo_core.sections import Mode
from grpo_core.table import FloatArray, ScoreTable
from grpo_core.totals import Aggregate
from grpo_core.training.whole import WholeBatch

logger = logging.getLogger("grpo_core")

# Batches without anything to learn after which a run that did learn is said to be stuck.
_IN_A_ROW = 3


@dataclass(frozen=True)
class ScoredBatch:
    """A batch that was scored and combined.

    Attributes:
        composite: The rewards.
        whole: Its completions and what the rewards made of them, of all processes.
        mode: "train" or "eval".
        group_size: Completions per prompt (G).
        combined: What the trainer is handed.
        weights: Weights in force, shape (N,).
        aggregate: How the trainer combines rewards.
        mask_truncated: The trainer leaves truncated completions out of the loss.
    """

    composite: CompositeReward
    whole: WholeBatch
    mode: Mode
    group_size: int
    combined: Combined
    weights: FloatArray
    aggregate: Aggregate
    mask_truncated: bool

    @property
    def table(self) -> ScoreTable:
        """What the rewards made of all B completions."""
        return self.whole.table

    def metrics(self) -> dict[str, float]:
        """What is logged beside the trainer's own metrics, by name."""
        composite, table, combined = self.composite, self.table, self.combined
        metrics: dict[str, float] = {}
        in_force = dict(zip(composite.counted, self.weights.tolist(), strict=True))
        for k in composite.ran(self.mode):
            prefix = f"grpo/{table.names[k]}"
            present = table.values[:, k][~np.isnan(table.values[:, k])]
            if present.size:
                metrics[f"{prefix}/raw_mean"] = float(present.mean())
                metrics[f"{prefix}/raw_std"] = float(present.std())
            metrics[f"{prefix}/coverage"] = table.share(k, "scored")
            metrics[f"{prefix}/skipped"] = table.share(k, "skipped")
            metrics[f"{prefix}/failed"] = table.share(k, "failed")
            metrics[f"{prefix}/timed_out"] = table.share(k, "timed_out")
            metrics[f"{prefix}/seconds_p50"] = float(np.median(table.seconds[:, k]))
            metrics[f"{prefix}/seconds_max"] = float(table.seconds[:, k].max())
            if composite.entries[k].runner.policy.cache:
                metrics[f"{prefix}/cached"] = table.n_cached[k] / table.n_rows
            if k in in_force:
                metrics[f"{prefix}/weight"] = in_force[k]
            metrics |= _means(f"{prefix}/m", [o.metrics for o in table.outcomes[k] if o.metrics])
        if not np.isnan(combined.totals).all():
            metrics["grpo/total_mean"] = float(np.nanmean(combined.totals))
        masked = [self.mask_truncated and cut is True for cut in self.whole.truncated]
        metrics["grpo/no_signal"] = no_signal(
            combined.effective, self.weights, self.group_size, self.aggregate, masked
        )
        return metrics

    def cause(self) -> str | None:
        """Why a batch of training teaches nothing; None if it does teach."""
        composite = self.composite
        ran = composite.ran("train")
        return cause_of_silence(
            self.table,
            self.combined.effective,
            np.where([k in ran for k in composite.counted], self.weights, 0.0),
            self.group_size,
            closed=self.combined.closed,
            truncated=self.whole.truncated,
            texts=self.whole.texts,
            gates=composite.gates,
            columns=composite.counted,
            inputs=composite.columns_read(),
            aggregate=self.aggregate,
            mask_truncated=self.mask_truncated,
        )


class Warnings:
    """What was warned of in a training; each thing once."""

    def __init__(self) -> None:
        """Begins with nothing said."""
        self._failing: set[str] = set()
        self._silent: set[str] = set()
        self._causes: set[str] = set()
        self._has_taught = False
        self._in_a_row = 0

    def tell(self, batch: ScoredBatch, metrics: Mapping[str, float]) -> None:
        """Warns of rewards that fail or give no value, and of a cause why nothing is learnt."""
        table = batch.table
        cause = None
        if batch.mode == "train" and self._is_stuck(metrics["grpo/no_signal"] == 1.0):
            cause = self._new(batch.cause())
        for k in batch.composite.ran(batch.mode):
            name, outcomes = table.names[k], table.outcomes[k]
            rows = [i for i, o in enumerate(outcomes) if o.status in ("failed", "timed_out")]
            if rows and name not in self._failing:
                self._failing.add(name)
                logger.warning(
                    "%s\n  this is said once; grpo/%s/failed and timed_out count them",
                    told(batch.composite.entries[k].label, outcomes, rows),
                    name,
                )
            if len(rows) == table.n_rows or table.share(k, "scored") or name in self._silent:
                continue
            self._silent.add(name)
            if cause and f"reward {name!r} " in cause:
                continue  # that says it too
            reason = next((o.reason for o in outcomes if o.reason), "it returned None")
            logger.warning(
                "reward %r gave no value for any of the %d completions of a batch: %s",
                name,
                table.n_rows,
                reason,
            )
        if cause is not None:
            logger.warning("%s", cause)

    def _is_stuck(self, silent: bool) -> bool:
        """True if a training has taught nothing so far, or nothing for some batches.

        A small batch in which all is right, or all wrong, is part of a healthy run.
        """
        self._in_a_row = self._in_a_row + 1 if silent else 0
        self._has_taught = self._has_taught or not silent
        return silent and (not self._has_taught or self._in_a_row >= _IN_A_ROW)

    def _new(self, cause: str | None) -> str | None:
        """The cause, unless it was said before."""
        if cause is None:
            return None
        # The first line names the cause. Its numbers may differ from batch to batch, and so may
        # what follows a second colon: a reason may quote the completion.
        first = cause.split("\n", 1)[0].split(": ")[:2]
        key = "".join(c for c in " ".join(first) if not c.isdigit())
        if key in self._causes:
            return None
        self._causes.add(key)
        return cause


def _means(prefix: str, metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean of each metric over the outcomes that have it."""
    values: dict[str, list[float]] = {}
    for each in metrics:
        for name, value in each.items():
            values.setdefault(name, []).append(value)
    return {f"{prefix}/{name}": sum(v) / len(v) for name, v in values.items()}
