"""`score_file`: all rows of a file through the rewards, in chunks of whole groups."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, Literal, NamedTuple

import numpy as np

from grpo_core.advantages import group_relative_advantages
from grpo_core.bulk import parquet
from grpo_core.bulk.check import (
    CHUNK_BYTES,
    CHUNK_ROWS,
    Columns,
    Facts,
    check_rows,
    completion_of,
    filled,
    group_of,
)
from grpo_core.bulk.output import Output
from grpo_core.bulk.sources import Located, ParquetSource, Source, open_source
from grpo_core.bulk.summary import RewardTally, Tally
from grpo_core.bulk.types import type_problems
from grpo_core.completion import Completion
from grpo_core.composite import CompositeReward
from grpo_core.errors import ConfigError, DataError
from grpo_core.looking import ROWS
from grpo_core.outcome import Outcome
from grpo_core.record import file_sha256, to_json
from grpo_core.scoring.checks import UNBOUNDED
from grpo_core.scoring.tagged import TaggedReward
from grpo_core.table import FloatArray, ScoreTable

Progress = Callable[[str, int, int | None], None]
Scale = Literal["group", "none"]

TOTAL = "total"
ADVANTAGE = "advantage"
KINDS = ("value", "status", "reason", "metrics")


@dataclass(frozen=True)
class Job:
    """A file to score.

    Attributes:
        data: The file.
        composite: The rewards.
        columns: Which columns mean what; `added` is filled in here.
        out: Where the scored rows go, or None for the summary alone.
        resume: Go on with the partial file of a run that was stopped.
        prefix: Put in front of the name of every column that is added.
        scale: What advantages are divided by.
    """

    data: Path
    composite: CompositeReward
    columns: Columns
    out: Path | None = None
    resume: bool = False
    prefix: str = ""
    scale: Scale = "group"

    def added(self) -> list[str]:
        """The columns that scoring adds, but for the advantage."""
        names = [f"{name}/{kind}" for name in self.composite.names for kind in KINDS]
        return [self.prefix + name for name in [*names, TOTAL]]


class Chunk(NamedTuple):
    """Rows that are scored together.

    Attributes:
        rows: The rows.
        sizes: Sizes of the groups they make; empty without groups.
    """

    rows: list[Located]
    sizes: list[int]


def score_file(job: Job, progress: Progress) -> dict[str, Any]:
    """Scores all rows.

    Args:
        job: What to score.
        progress: Called with "checking" or "scoring", rows done, and rows in all or None.

    Returns:
        The summary, as JSON.

    Raises:
        DataError: A row cannot be used, or the scores cannot be written. What was scored stays in
            the partial file only where it can be resumed.
        ConfigError: A reward needs a column that the file does not have, or its first rows hold
            values of another type.
        MissingExtraError: A file is parquet, and pyarrow is not installed.
    """
    if job.out is None and job.resume:
        raise DataError("--resume needs the name of the file to go on with: -o OUT")
    if job.out is not None and job.out.suffix not in (".jsonl", ".parquet"):
        raise DataError(f"{job.out}: expected a name in .jsonl or .parquet")
    columns = replace(job.columns, added=frozenset([*job.added(), job.prefix + ADVANTAGE]))
    source = open_source(job.data)
    before = job.data.stat()
    is_parquet = isinstance(source, ParquetSource)
    to_parquet = job.out is not None and job.out.suffix == ".parquet"
    if is_parquet and job.out is not None and not to_parquet:
        if held := parquet.binary_columns(job.data):
            raise DataError(
                f"data file {job.data}: column {held[0]!r} holds bytes, which JSON cannot; write "
                f"-o {job.out.with_suffix('.parquet')}"
            )
    types = None
    if to_parquet and not is_parquet:
        types = parquet.ColumnTypes(job.data, (columns.completion, columns.prompt))
    output = None
    if job.out is not None:
        output = Output(job.out, _identity(job), resume=job.resume)
    try:
        facts = check_rows(source, columns, types, lambda n: progress("checking", n, None))
        if problems := job.composite.check_columns(facts.columns):
            raise ConfigError(problems, str(job.data))
        if facts.group is None:
            refuse_without_groups(job)
        if problems := type_problems(job.composite, list(islice(source.rows(), ROWS))):
            raise ConfigError(problems, str(job.data))
    except BaseException:
        if output is not None:
            output.close() if output.n_rows else output.discard()
        raise
    scorer = _Scorer(job, source, columns, facts)
    try:
        scorer.run(output, progress, whole_rows=not to_parquet)
        after = job.data.stat()
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise DataError(f"data file {job.data} was changed while it was read; score it again")
        if output is not None:
            _finish(output, source, types, to_parquet=to_parquet)
    finally:
        if output is not None:
            output.close()
    return scorer.summary()


def refuse_without_groups(job: Job) -> None:
    """Refuses rewards that score whole groups, where the file names none.

    Raises:
        ConfigError: There is one.
    """
    for entry in job.composite.entries:
        if entry.scope == "group":
            raise ConfigError(
                f"reward {entry.label} scores whole groups, and {job.data} names none; give its "
                f"rows a column 'group', or name the column with --group-column"
            )


def _finish(
    output: Output, source: Source, types: parquet.ColumnTypes | None, *, to_parquet: bool
) -> None:
    if not to_parquet:
        output.finish()
        return
    made = output.partial.with_name(output.partial.name + ".parquet")
    rows: Iterable[dict[str, Any]] = (located.row for located in source.rows())
    try:
        parquet.write_joined(made, source.path, types, rows, output.lines())
        output.finish(made)
    finally:
        made.unlink(missing_ok=True)


class _Scorer:
    """Scores the rows of a checked file and keeps the summary."""

    def __init__(self, job: Job, source: Source, columns: Columns, facts: Facts) -> None:
        self._job = job
        self._source = source
        self._columns = columns
        self._facts = facts
        self._keys = [
            [f"{job.prefix}{name}/{kind}" for kind in KINDS] for name in job.composite.names
        ]
        self._tallies = [RewardTally(*_range_of(e.runner)) for e in job.composite.entries]
        self._total = Tally()
        self._started = monotonic()
        self._n_before = 0

    def run(self, output: Output | None, progress: Progress, *, whole_rows: bool) -> None:
        """Scores from where the output ends."""
        done = 0
        if output is not None and output.state is not None:
            done = self._n_before = output.n_rows
            self._restore(output.state)
        self._started = monotonic()
        rows = self._source.rows(done)
        progress("scoring", done, self._facts.n_rows)
        for chunk in chunks(rows, self._source, self._facts.group):
            scores = self._score(chunk)
            if output is not None:
                lines = [
                    _json_line(each.row | row if whole_rows else row)
                    for each, row in zip(chunk.rows, scores, strict=True)
                ]
                output.write(lines, self._state())
            done += len(chunk.rows)
            progress("scoring", done, self._facts.n_rows)

    def summary(self) -> dict[str, Any]:
        """What became of all rows, as JSON."""
        seconds = monotonic() - self._started
        job, facts = self._job, self._facts
        n_now = facts.n_rows - self._n_before
        return {
            "data": str(job.data),
            "out": None if job.out is None else str(job.out),
            "rows": facts.n_rows,
            "groups": facts.n_groups if facts.group is not None else None,
            "resumed_at": self._n_before or None,
            "seconds": seconds,
            "rows_per_second": n_now / seconds if seconds else None,
            "rewards": {
                name: tally.shown()
                for name, tally in zip(job.composite.names, self._tallies, strict=True)
            },
            "total": {**self._total.shown(), "coverage": self._total.count / facts.n_rows},
        }

    def _score(self, chunk: Chunk) -> list[dict[str, Any]]:
        """The columns to add to each row."""
        located = filled(chunk.rows, self._facts.columns)
        completions = completions_of(self._source, Chunk(located, chunk.sizes), self._columns)
        composite, prefix = self._job.composite, self._job.prefix
        table = composite.score(completions)
        totals, advantages = _totals(composite, table, chunk.sizes, self._job.scale)
        for k, tally in enumerate(self._tallies):
            fault = tally.add(
                table.outcomes[k], table.values[:, k], float(table.seconds[:, k].sum())
            )
            if fault is not None and tally.first_fault is None:
                reason = table.outcomes[k][fault].reason
                tally.first_fault = f"{chunk.rows[fault].where}: {reason}"
        self._total.add(totals)
        scores = []
        for i in range(len(located)):
            row: dict[str, Any] = {}
            for keys, outcomes in zip(self._keys, table.outcomes, strict=True):
                row |= zip(keys, cells(outcomes[i]), strict=True)
            row[prefix + TOTAL] = None if math.isnan(totals[i]) else float(totals[i])
            if advantages is not None:
                row[prefix + ADVANTAGE] = float(advantages[i])
            scores.append(row)
        return scores

    def _state(self) -> dict[str, Any]:
        return {"rewards": [t.state() for t in self._tallies], "total": self._total.state()}

    def _restore(self, state: Any) -> None:
        for tally, saved in zip(self._tallies, state["rewards"], strict=True):
            tally.restore(saved)
        self._total.restore(state["total"])


def completions_of(source: Source, chunk: Chunk, columns: Columns) -> list[Completion]:
    """The completions of a chunk, each with the number of its group where there are groups."""
    made = [completion_of(source, each, columns) for each in chunk.rows]
    groups = [number for number, size in enumerate(chunk.sizes) for _ in range(size)]
    return [replace(c, group=g) for c, g in zip(made, groups, strict=True)] if groups else made


def cells(outcome: Outcome) -> tuple[float | None, str, str, dict[str, float]]:
    """What is shown of an outcome, in the order of `KINDS`."""
    return outcome.value, outcome.status, outcome.reason, dict(outcome.metrics)


def chunks(rows: Iterator[Located], source: Source, group: str | None) -> Iterator[Chunk]:
    """Rows in chunks; a group is never divided."""
    chunk = Chunk([], [])
    n_bytes = 0
    last: Any = None
    for located in rows:
        current = None if group is None else group_of(source, located, group)
        begins = group is None or current != last
        if begins and (len(chunk.rows) >= CHUNK_ROWS or n_bytes > CHUNK_BYTES):
            yield chunk
            chunk, n_bytes = Chunk([], []), 0
        if group is not None:
            if begins:
                chunk.sizes.append(0)
            chunk.sizes[-1] += 1
        chunk.rows.append(located)
        n_bytes += located.n_bytes
        last = current
    if chunk.rows:
        yield chunk


def _totals(
    composite: CompositeReward, table: ScoreTable, sizes: Sequence[int], scale: Scale
) -> tuple[FloatArray, FloatArray | None]:
    """Totals and, with groups, advantages of the rows."""
    if not sizes:
        return composite.totals(table, 1), None
    if not composite.counted:  # shadows alone: there is nothing to compare
        return composite.totals(table, 1), np.zeros(table.n_rows)
    totals, advantages = np.empty(table.n_rows), np.empty(table.n_rows)
    start = 0
    first = 0
    while first < len(sizes):
        size, last = sizes[first], first
        while last < len(sizes) and sizes[last] == size:  # neighbours of one size go together
            last += 1
        part = slice(start, start + size * (last - first))
        some = replace(table, values=table.values[part])
        totals[part] = composite.totals(some, size)
        effective = composite.effective(some, size)
        advantages[part] = group_relative_advantages(effective, composite.weights, size, scale)
        start, first = part.stop, last
    return totals, advantages


def _range_of(runner: object) -> tuple[float | None, float | None]:
    if not isinstance(runner, TaggedReward) or (runner.low, runner.high) == UNBOUNDED:
        return None, None
    return runner.low, runner.high


def _identity(job: Job) -> dict[str, Any]:
    """What the scores depend on."""
    columns = job.columns
    made: dict[str, Any] = to_json(
        {
            "format": 1,
            "data": {"sha256": file_sha256(job.data), "name": job.data.name},
            "columns": [columns.completion, columns.prompt, columns.group],
            "prefix": job.prefix,
            "scale": job.scale,
            "rewards": job.composite.describe(),
        }
    )
    return made


def _json_line(row: dict[str, Any]) -> str:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False, default=_as_text)
    except ValueError:  # NaN, in parquet; JSON has null
        return json.dumps(_without_nan(row), ensure_ascii=False, default=_as_text)


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nan(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _as_text(value: Any) -> str:
    """Times and decimals of parquet, as JSON has them."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)
