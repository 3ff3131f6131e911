"""`explain`: one row of a file through the rewards, in full."""

from __future__ import annotations

import math
from typing import Any

from grpo_core.bulk.check import completion_of
from grpo_core.bulk.job import KINDS, Job, cells
from grpo_core.bulk.sources import open_source
from grpo_core.errors import ConfigError, DataError, listed
from grpo_core.outcome import Outcome
from grpo_core.record import to_json
from grpo_core.scoring.inline import SampleReward


def explain(job: Job, number: int) -> dict[str, Any]:
    """Scores one row and no other.

    Args:
        job: What to score; the total is that of the row alone, as without groups.
        number: The row, from 0.

    Returns:
        The row's completion and prompt, and by reward its inputs and outcome, as JSON.

    Raises:
        DataError: There is no such row, or it cannot be used.
        ConfigError: A reward needs a column that the row does not have.
    """
    source = open_source(job.data)
    located = next(source.rows(number), None)
    if located is None:
        n_rows = sum(1 for _ in source.rows())
        raise DataError(f"{job.data} has no row {number}; its {n_rows} rows are counted from 0")
    if job.columns.completion not in located.row:
        raise DataError(
            f"{job.data}, {located.where} has no column {job.columns.completion!r}; columns are "
            f"{listed(located.row)}. Name the column with --completion-column"
        )
    completion = completion_of(source, located, job.columns)
    if problems := job.composite.check_columns(located.row):
        raise ConfigError(problems, f"{job.data}, {located.where}")
    table = job.composite.score([completion])
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
        "prompt": completion.prompt,
        "completion": completion.text,
        "rewards": rewards,
        "total": None if math.isnan(total) else total,
    }
