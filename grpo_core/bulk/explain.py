"""`explain`: one row of a file through the rewards, in full."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from grpo_core.bulk.check import check_rows, completion_of, filled
from grpo_core.bulk.job import KINDS, Job, cells, chunks
from grpo_core.bulk.sources import Located, Source, open_source
from grpo_core.completion import Completion
from grpo_core.composite import CompositeReward
from grpo_core.errors import ConfigError, DataError, listed
from grpo_core.outcome import Outcome
from grpo_core.record import to_json
from grpo_core.scoring.inline import SampleReward
from grpo_core.scoring.trl_style import TrlBatch, TrlFunction
from grpo_core.table import ScoreTable


def explain(job: Job, number: int) -> dict[str, Any]:
    """Scores one row; only a function in TRL's style gets the others too that it would in a run.

    Args:
        job: What to score; the total is that of the row alone, as without groups.
        number: The row, from 0.

    Returns:
        The row's completion and prompt, and by reward its inputs and outcome, as JSON; "batch"
        is the first and last row that functions in TRL's style got, or None.

    Raises:
        DataError: There is no such row, or it cannot be used; for functions in TRL's style any
            row of the file.
        ConfigError: A reward needs a column that the row does not have.
    """
    source = open_source(job.data)
    located = next(source.rows(number), None)
    if located is None:
        n_rows = sum(1 for _ in source.rows())
        raise DataError(f"{job.data} has no row {number}; its {n_rows} rows are counted from 0")
    batch = [located]
    i = 0
    has_function = any(isinstance(e.runner, TrlFunction) for e in job.composite.entries)
    if has_function:
        batch = _batch_of(job, source, number)
        i = number - batch[0].number
        located = batch[i]
    if job.columns.completion not in located.row:
        raise DataError(
            f"{job.data}, {located.where} has no column {job.columns.completion!r}; columns are "
            f"{listed(located.row)}. Name the column with --completion-column"
        )
    if problems := job.composite.check_columns(located.row):
        raise ConfigError(problems, f"{job.data}, {located.where}")
    completions = [completion_of(source, each, job.columns) for each in batch]
    table = _scored(job.composite, completions, i)
    total = float(job.composite.totals(table, 1)[0])
    rewards = {}
    for k, entry in enumerate(job.composite.entries):
        outcome = table.outcomes[k][0]
        inputs = None
        if isinstance(entry.runner, SampleReward):
            read = entry.runner.plan.read(located.row)
            inputs = None if isinstance(read, Outcome) else to_json(read)
        rewards[entry.name] = {
            "use": entry.resolved.name,
            "inputs": inputs,
            **dict(zip(KINDS, cells(outcome), strict=True)),
            "weight": entry.section.weight,
            "fault": outcome.fault,
        }
    return {
        "data": str(job.data),
        "row": number,
        "line": located.line or None,
        "prompt": completions[i].prompt,
        "completion": completions[i].text,
        "batch": [batch[0].number, batch[-1].number] if has_function else None,
        "rewards": rewards,
        "total": None if math.isnan(total) else total,
    }


def _batch_of(job: Job, source: Source, number: int) -> list[Located]:
    """The rows that are scored together with one, as a run has them."""
    facts = check_rows(source, job.columns, None, lambda n: None)
    for chunk in chunks(source.rows(), source, facts.group):
        if chunk.rows[-1].number >= number:
            return filled(chunk.rows, facts.columns)
    raise DataError(f"data file {job.data} was changed while it was read; explain it again")


def _scored(composite: CompositeReward, batch: Sequence[Completion], i: int) -> ScoreTable:
    """Completion i with every reward."""
    outcomes = [
        [entry.runner.score(TrlBatch.from_completions(batch))[0][i]]
        if isinstance(entry.runner, TrlFunction)
        else entry.runner.score([batch[i]])[0]
        for entry in composite.entries
    ]
    return ScoreTable.from_columns(composite.names, outcomes, [[0.0]] * len(outcomes), 1)
