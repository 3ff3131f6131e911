"""Scores and combines recorded batches as a config says now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from grpo_core.advantages import group_relative_advantages
from grpo_core.changes import value_changes
from grpo_core.composite import CompositeReward
from grpo_core.graph import inputs_from
from grpo_core.outcome import Outcome
from grpo_core.record import to_json
from grpo_core.recorded.batch import RecordedBatch, Scale
from grpo_core.replay.script import stop_if_called
from grpo_core.sections import RewardSection
from grpo_core.table import FloatArray, ScoreTable
from grpo_core.totals import Aggregate

Rescore = Literal["changed", "all", "new"]

# Rows that are scored at once, where no reward looks at a whole batch.
_ROWS = 2048


@dataclass(frozen=True)
class Side:
    """What was, or would be, made of a batch.

    Attributes:
        table: What the rewards made of it.
        counted: Names of the rewards that are no shadows, N of them.
        effective: Values after transform, gate and fill, shape (B, N).
        weights: The weights in force at its step, shape (N,).
        totals: Shape (B,).
        advantages: Shape (B,).
        scale: What they are divided by.
        aggregate: How rewards are combined.
    """

    table: ScoreTable
    counted: tuple[str, ...]
    effective: FloatArray
    weights: FloatArray
    totals: FloatArray
    advantages: FloatArray
    scale: Scale
    aggregate: Aggregate


@dataclass(frozen=True)
class Replayed:
    """A batch as it was and as it would be.

    Attributes:
        batch: What was recorded.
        then: As it was.
        now: As it would be.
    """

    batch: RecordedBatch
    then: Side
    now: Side


class Replay:
    """Rewards as they are now, for batches as they were.

    Attributes:
        reasons: Why each reward is called again, by name; the first reason that was found.
        valueless: Of those, by name, how many cells have no value, of how many, and the first
            reason; only where there are some.
    """

    def __init__(
        self,
        composite: CompositeReward,
        *,
        rescore: Rescore = "changed",
        scale: Scale | None = None,
        aggregate: Aggregate | None = None,
        stand_ins: Mapping[str, Mapping[str, Any]] | None = None,
        source: str = "",
    ) -> None:
        """Takes the rewards.

        Args:
            composite: The rewards as they are now.
            rescore: Which of them are called again: those that changed, all, or only those
                without a recorded value. Of the others the recorded values are taken.
            scale: What advantages are divided by; None: as in the run.
            aggregate: How rewards are combined; None: as in the run.
            stand_ins: What the manifest keeps of each reward that was not found and may not be
                called, by name.
            source: Where the rewards are from, for errors.
        """
        self._composite = composite
        self._rescore = rescore
        self._scale = scale
        self._aggregate = aggregate
        self._stand_ins = stand_ins or {}
        self._source = source
        self._described: Mapping[str, Any] = to_json(composite.describe()) | self._stand_ins
        self._reads = {
            name: set(inputs_from(RewardSection(use=name, inputs=described["inputs"])))
            for name, described in self._described.items()
        }
        self.reasons: dict[str, str] = {}
        self.valueless: dict[str, tuple[int, int, str]] = {}
        self._called: Counter[str] = Counter()

    def run(self, batches: Iterable[RecordedBatch]) -> Iterator[Replayed]:
        """Replays the batches, in order.

        Raises:
            ConfigError: A reward has to be called that was not found.
        """
        for chunk in self._chunks(batches):
            names = self._to_score(chunk[0])
            for batch, table in zip(chunk, self._tables(chunk, names), strict=True):
                yield Replayed(batch, _then(batch), self._now(batch, table))

    def _to_score(self, batch: RecordedBatch) -> frozenset[str]:
        """Rewards whose recorded values are not to be taken, and those that they are tied to."""
        found = set()
        for entry in self._composite.entries:
            if batch.mode not in entry.section.modes:
                continue
            why = self._reason(entry.name, batch)
            if why is not None:
                found.add(entry.name)
                self.reasons.setdefault(entry.name, why)
        while True:
            more = {n for n, read in self._reads.items() if n not in found and read & found}
            more |= {r for n in found for r in self._reads[n] if r not in found}
            if not more:
                called = {n: self.reasons[n] for n in self._composite.names if n in found}
                stop_if_called(called, self._stand_ins, self._source)
                return frozenset(found)
            found |= more
            for name in more:
                self.reasons.setdefault(
                    name, "another that is scored again is its input or reads it"
                )

    def _reason(self, name: str, batch: RecordedBatch) -> str | None:
        before = batch.rewards.get(name)
        if before is None or batch.mode not in before.get("modes", (batch.mode,)):
            return "it was not recorded"
        if self._rescore == "new":
            return None
        if self._rescore == "all":
            return "all are"
        if name in self._stand_ins:  # there is no other function than that of the time
            return None
        changed = value_changes(before, self._described[name])
        return f"changed: {', '.join(changed)}" if changed else None

    def _chunks(self, batches: Iterable[RecordedBatch]) -> Iterator[list[RecordedBatch]]:
        """Batches that can be scored at once: a call then costs less."""
        held: list[RecordedBatch] = []
        names: frozenset[str] = frozenset()
        for batch in batches:
            new = self._to_score(batch)
            whole = any(e.scope == "batch" for e in self._composite.entries if e.name in new)
            n_rows = sum(len(b.completions) for b in held) + len(batch.completions)
            alike = held and (new, batch.mode, batch.group_size) == (
                names,
                held[0].mode,
                held[0].group_size,
            )
            if held and (whole or not alike or n_rows > _ROWS):
                yield held
                held = []
            held.append(batch)
            names = new
        if held:
            yield held

    def _tables(
        self, chunk: Sequence[RecordedBatch], names: Collection[str]
    ) -> Iterator[ScoreTable]:
        """The table of each batch, of recorded and of new cells."""
        new = None
        if names:
            completions = [c for batch in chunk for c in batch.completions]
            new = self._composite.score(
                completions, group_size=chunk[0].group_size, mode=chunk[0].mode, only=names
            )
        start = 0
        for batch in chunk:
            rows = slice(start, start + len(batch.completions))
            start = rows.stop
            outcomes, seconds = [], []
            for k, name in enumerate(self._composite.names):
                if name in names and new is not None:
                    self._count(name, new.outcomes[k][rows])
                    outcomes.append(new.outcomes[k][rows])
                    seconds.append(new.seconds[rows, k])
                elif (
                    name in batch.rewards and batch.mode in self._composite.entries[k].section.modes
                ):
                    old = batch.table.names.index(name)
                    outcomes.append(batch.table.outcomes[old])
                    seconds.append(batch.table.seconds[:, old])
                else:
                    absent = Outcome(None, "skipped", "does not run in this mode")
                    outcomes.append([absent] * len(batch.completions))
                    seconds.append(np.zeros(len(batch.completions)))
            yield ScoreTable.from_columns(
                self._composite.names, outcomes, seconds, len(batch.completions)
            )

    def _count(self, name: str, outcomes: Sequence[Outcome]) -> None:
        """Counts the cells of a reward that was called, and those without a value."""
        self._called[name] += len(outcomes)
        empty = [o for o in outcomes if o.value is None]
        n, _, reason = self.valueless.get(name, (0, 0, empty[0].reason if empty else ""))
        if n + len(empty):
            self.valueless[name] = (n + len(empty), self._called[name], reason)

    def _now(self, batch: RecordedBatch, table: ScoreTable) -> Side:
        scale = batch.scale if self._scale is None else self._scale
        aggregate = batch.aggregate if self._aggregate is None else self._aggregate
        composite, weights = self._composite, self._composite.weights
        if batch.max_steps is not None:
            done = batch.step - (batch.mode == "train")
            weights = composite.weights_at(done, batch.max_steps)
        combined = composite.combined(table, batch.group_size, aggregate, weights, batch.mode)
        advantages = group_relative_advantages(
            combined.effective, weights, batch.group_size, scale, aggregate
        )
        counted = tuple(composite.names[k] for k in composite.counted)
        return Side(
            table,
            counted,
            combined.effective,
            weights,
            combined.totals,
            advantages,
            scale,
            aggregate,
        )


def _then(batch: RecordedBatch) -> Side:
    """As it was recorded; advantages where they can be compared with what these rows give alone."""
    advantages = batch.advantages
    cut = batch.size > len(batch.completions)
    of_all_rows = batch.scale == "batch" or batch.aggregate == "normalize_then_sum"
    if advantages is None or (of_all_rows and cut):
        advantages = group_relative_advantages(
            batch.effective, batch.weights, batch.group_size, batch.scale, batch.aggregate
        )
    return Side(
        batch.table,
        tuple(batch.table.names[k] for k in batch.counted),
        batch.effective,
        batch.weights,
        batch.totals,
        advantages,
        batch.scale,
        batch.aggregate,
    )
