"""`explain`: one row of a file through the rewards, in full."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from grpo_core.bulk.check import check_rows, filled
from grpo_core.bulk.job import (
    KINDS,
    Chunk,
    Job,
    cells,
    chunks,
    completions_of,
    refuse_without_groups,
)
from grpo_core.bulk.sources import Source, open_source
from grpo_core.bulk.types import type_problems
from grpo_core.errors import ConfigError, DataError, counted, listed
from grpo_core.outcome import Outcome
from grpo_core.record import to_json
from grpo_core.scoring.tagged import TaggedReward
from grpo_core.table import ScoreTable


def explain(job: Job, number: int) -> dict[str, Any]:
    """Scores one row, with those beside it that a run would hand to the same call.

    Rewards that see one completion at a time need no others.

    Args:
        job: What to score; the total is that of the row alone, as without groups.
        number: The row, from 0.

    Returns:
        The row's completion and prompt, and by reward its inputs and outcome, as JSON; "batch"
        is the first and last row that were scored with it, or None.

    Raises:
        DataError: There is no such row, or it cannot be used; where others are needed, any row
            of the file.
        ConfigError: A reward needs a column that the row does not have, one of another type, or
            groups.
    """
    source = open_source(job.data)
    located = next(source.rows(number), None)
    if located is None:
        n_rows = sum(1 for _ in source.rows())
        raise DataError(
            f"{job.data} has no row {number}; it has {counted(n_rows, 'row')}, counted from 0"
        )
    batch = Chunk([located], [])
    i = 0
    sees_others = any(e.scope != "sample" for e in job.composite.entries)
    if sees_others:
        batch = _batch_of(job, source, number)
        i = number - batch.rows[0].number
        located = batch.rows[i]
    if job.columns.completion not in located.row:
        raise DataError(
            f"{job.data}, {located.where} has no column {job.columns.completion!r}; columns are "
            f"{listed(located.row)}. Name the column with --completion-column"
        )
    problems = job.composite.check_columns(located.row)
    problems = problems or type_problems(job.composite, [located], types_only=True)
    if problems:
        raise ConfigError(problems, f"{job.data}, {located.where}")
    completions = completions_of(source, batch, job.columns)
    table = _row(job.composite.score(completions), i)
    total = float(job.composite.totals(table, 1)[0])
    weights = dict(zip(job.composite.counted, job.composite.weights.tolist(), strict=True))
    rewards = {}
    for k, entry in enumerate(job.composite.entries):
        outcome = table.outcomes[k][0]
        inputs = None
        if isinstance(entry.runner, TaggedReward):
            others = {name: table.outcomes[j][0] for j, name in enumerate(table.names)}
            read = entry.runner.plan.read(located.row, others)
            inputs = None if isinstance(read, Outcome) else to_json(read)
        rewards[entry.name] = {
            "use": entry.resolved.name,
            "inputs": inputs,
            **dict(zip(KINDS, cells(outcome), strict=True)),
            "weight": weights.get(k),
            "fault": outcome.fault,
        }
    return {
        "data": str(job.data),
        "row": number,
        "line": located.line or None,
        "prompt": completions[i].prompt,
        "completion": completions[i].text,
        "batch": [batch.rows[0].number, batch.rows[-1].number] if sees_others else None,
        "rewards": rewards,
        "total": None if math.isnan(total) else total,
    }


def _batch_of(job: Job, source: Source, number: int) -> Chunk:
    """The rows that are scored together with one, as a run has them."""
    facts = check_rows(source, job.columns, None, lambda n: None)
    if facts.group is None:
        refuse_without_groups(job)
    for chunk in chunks(source.rows(), source, facts.group):
        if chunk.rows[-1].number >= number:
            return chunk._replace(rows=filled(chunk.rows, facts.columns))
    raise DataError(f"data file {job.data} was changed while it was read; explain it again")


def _row(table: ScoreTable, i: int) -> ScoreTable:
    """The table of one of its rows."""
    return replace(
        table,
        values=table.values[i : i + 1],
        outcomes=tuple([column[i]] for column in table.outcomes),
        seconds=table.seconds[i : i + 1],
    )
