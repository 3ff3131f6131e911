"""`TaggedReward`: a reward with `@reward`, from the completions of a batch to their outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

from grpo_core.completion import Completion
from grpo_core.copying import own_copy
from grpo_core.inputs import InputPlan
from grpo_core.outcome import Outcome
from grpo_core.scoring.abandoned import Owner
from grpo_core.scoring.cache import OutcomeCache, key_of
from grpo_core.scoring.calls import Call, Callee
from grpo_core.scoring.done import Done, Running
from grpo_core.scoring.loop import run_on_loop
from grpo_core.scoring.pacing import Pacer
from grpo_core.scoring.policy import Policy
from grpo_core.scoring.pool import Pool, shared_pool
from grpo_core.scoring.recipe import Recipe
from grpo_core.scoring.runner import Batch, Column, Finished, Results
from grpo_core.scoring.threads import run_in_threads


class _Work(NamedTuple):
    """One reward's part of a batch.

    Attributes:
        column: What is decided.
        calls: What is to be called.
        rows: The rows of the batch that each call scores.
        keys: Cache keys of those rows, None where there is none.
        same: Rows that take the outcome of another row, by that row.
    """

    column: Column
    calls: list[Call]
    rows: list[Sequence[int]]
    keys: dict[int, bytes]
    same: dict[int, list[int]]


@dataclass(frozen=True)
class TaggedReward:
    """A tagged reward, ready to score batches.

    Attributes:
        name: Its name, for warnings.
        callee: The built reward.
        plan: Where its inputs come from.
        needs: Fields of the completion that must be known.
        policy: How it is run.
        is_async: True if it has to be awaited.
        defaults: Defaults of its optional inputs, by name.
        recipe: How a worker builds it; needed for "process".
        identity: Hash of name, version, source and options, for the cache.
        pacer: Keeps to the policy's rate, over all batches.
        cache: Outcomes of earlier batches.
        pool: The worker processes; None: those that all rewards of this process share.
    """

    name: str
    callee: Callee
    plan: InputPlan
    needs: tuple[str, ...] = ()
    policy: Policy = field(default_factory=Policy)
    is_async: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)
    recipe: Recipe | None = None
    identity: bytes = b""
    pacer: Pacer | None = None
    cache: OutcomeCache = field(default_factory=OutcomeCache)
    pool: Pool | None = None

    @cached_property
    def owner(self) -> Owner:
        """Whose its calls are."""
        return Owner(self.name)

    @property
    def low(self) -> float:
        """Lowest value it may return."""
        return self.callee.low

    @property
    def high(self) -> float:
        """Highest value it may return."""
        return self.callee.high

    @property
    def inline(self) -> bool:
        """True if it runs in the calling thread."""
        return self.policy.isolation == "inline"

    def run(self, batch: Batch, results: Results) -> Column:
        """Scores the batch in this thread, one call after the other."""
        if self.callee.scope == "sample" and not self.policy.cache:
            return self._run_samples(batch, results)
        work = self._work(batch, results)
        done = []
        for call in work.calls:
            start = perf_counter()
            outcomes = self.callee.run(call)
            done.append(Done(outcomes, perf_counter() - start))
        return self._column(work, done)

    def begin(self, batch: Batch, results: Results, finished: Finished) -> Running:
        """Begins to score the batch in threads, on the event loop or in workers."""
        work = self._work(batch, results)

        def report(done: list[Done]) -> None:
            finished(self._column(work, done))

        if self.policy.isolation == "process":
            assert self.recipe is not None
            pool = shared_pool() if self.pool is None else self.pool
            return pool.submit(self.recipe, work.calls, self.policy.timeout_s, report)
        callee, policy = self.callee, self.policy
        if self.is_async:
            return run_on_loop(
                callee.attempt_async, work.calls, policy, report, owner=self.owner, pacer=self.pacer
            )
        return run_in_threads(
            callee.attempt, work.calls, policy, report, owner=self.owner, pacer=self.pacer
        )

    def _run_samples(self, batch: Batch, results: Results) -> Column:
        # The way of cheap rewards, without the lists that the other ways need.
        outcomes = []
        seconds = []
        for i, completion in enumerate(batch.completions):
            start = perf_counter()
            inputs = self._inputs(completion, i, results)
            if isinstance(inputs, Outcome):
                outcomes.append(inputs)
            else:
                alone = completion if completion.group is None else _alone(completion)
                (outcome,) = self.callee.run(Call((alone,), inputs))
                outcomes.append(
                    outcome if outcome.status == "scored" else self.policy.settled(outcome)
                )
            seconds.append(perf_counter() - start)
        return Column(outcomes, seconds)

    def _inputs(
        self, completion: Completion, row: int, results: Results
    ) -> dict[str, Any] | Outcome:
        """The inputs of a row that differ from row to row, or its outcome if it has none."""
        for field_ in self.needs:
            if getattr(completion, field_) is None:
                return Outcome(None, "skipped", f"needs {field_}, which is not known here")
        if not self.plan.results:
            inputs = self.plan.read_row(completion.columns)
        else:
            others = {r.reward: results[r.reward].outcomes[row] for r in self.plan.results}
            inputs = self.plan.read_row(completion.columns, others)
        return self.policy.settled(inputs) if isinstance(inputs, Outcome) else inputs

    def _work(self, batch: Batch, results: Results) -> _Work:
        n = len(batch.completions)
        in_workers = self.policy.isolation == "process"
        column = Column([_UNDECIDED] * n, [0.0] * n, in_workers=in_workers)
        work = _Work(column, [], [], {}, {})
        inputs: dict[int, dict[str, Any]] = {}
        for i, completion in enumerate(batch.completions):
            made = self._inputs(completion, i, results)
            if isinstance(made, Outcome):
                column.outcomes[i] = made
            else:
                inputs[i] = made
        if self.callee.scope == "sample":
            return self._sample_work(batch, inputs, work)
        if self.callee.scope == "batch":
            if inputs:
                rows = list(inputs)
                work.calls.append(self._call(batch, rows, inputs))
                work.rows.append(rows)
            return work
        assert batch.groups is not None
        for number, group in enumerate(batch.groups):
            lacking = [i for i in group if i not in inputs]
            for i in group if lacking else ():
                if i in inputs:
                    reason = f"row {lacking[0]} of its group: {column.outcomes[lacking[0]].reason}"
                    column.outcomes[i] = Outcome(None, "skipped", reason)
            if not lacking:
                work.calls.append(self._call(batch, group, inputs, number))
                work.rows.append(group)
        return work

    def _sample_work(self, batch: Batch, inputs: dict[int, dict[str, Any]], work: _Work) -> _Work:
        first: dict[bytes, int] = {}
        hits = 0
        for i, made in inputs.items():
            completion = _alone(batch.completions[i])
            key = key_of(self.identity, completion, made) if self.policy.cache else None
            if key is not None:
                known = self.cache.get(key)
                if known is not None:
                    work.column.outcomes[i] = known
                    hits += 1
                    continue
                if key in first:  # the same text twice in a batch, as in a group that agrees
                    work.same.setdefault(first[key], []).append(i)
                    hits += 1
                    continue
                first[key] = i
                work.keys[i] = key
            work.calls.append(Call((completion,), made))
            work.rows.append((i,))
        return work._replace(column=replace(work.column, n_cached=hits))

    def _call(
        self,
        batch: Batch,
        rows: Sequence[int],
        inputs: Mapping[int, Mapping[str, Any]],
        group: int | None = None,
    ) -> Call:
        """The one call of a batch, or of a group."""
        names = dict.fromkeys(name for i in rows for name in inputs[i])
        completions = [
            _alone(batch.completions[i])
            if group is None
            else replace(
                batch.completions[i],
                columns={},
                group=group,
                index_in_group=at,
                group_size=len(rows),
            )
            for at, i in enumerate(rows)
        ]
        lists = {
            name: [
                inputs[i][name] if name in inputs[i] else own_copy(self.defaults.get(name))
                for i in rows
            ]
            for name in names
        }
        return Call(tuple(completions), lists)

    def _column(self, work: _Work, done: Sequence[Done]) -> Column:
        column = work.column
        for rows, each in zip(work.rows, done, strict=True):
            for i, outcome in zip(rows, each.outcomes, strict=True):
                if i in work.keys:
                    self.cache.put(work.keys[i], outcome)
                column.outcomes[i] = self.policy.settled(outcome)
                column.seconds[i] = each.seconds / len(rows)
                for twin in work.same.get(i, ()):
                    column.outcomes[twin] = column.outcomes[i]
        return column


_UNDECIDED = Outcome(None, "failed", "was not decided")


def _alone(completion: Completion) -> Completion:
    """The completion without its row and its place in a group, which a call must not depend on."""
    if not completion.columns and completion.group is None:
        return completion
    copy = completion.with_columns({})
    if completion.group is None and completion.group_size is None:
        return copy
    return replace(copy, group=None, index_in_group=None, group_size=None)
