"""Compares the first rows of a file with the types of the rewards' inputs, as a training does."""

from __future__ import annotations

from collections.abc import Sequence

from grpo_core.bulk.sources import Located
from grpo_core.composite import CompositeReward
from grpo_core.errors import Problem
from grpo_core.looking import Sample, look_at
from grpo_core.scoring.tagged import TaggedReward


def type_problems(
    composite: CompositeReward, rows: Sequence[Located], *, types_only: bool = False
) -> list[Problem]:
    """Values of another type than an input's, and golds of which a reward can read none.

    A gold that it cannot read beside others that it can makes only its row fail.

    Args:
        composite: The rewards.
        rows: The first rows of the file.
        types_only: True leaves out what a reward itself says of its golds.
    """
    read = dict.fromkeys(c for columns in composite.columns_read().values() for c in columns)
    table = {column: [each.row.get(column) for each in rows] for column in read}
    # Rows without a value are skipped, which the summary counts; none of them has a type.
    held = {c: values for c, values in table.items() if any(v is not None for v in values)}
    sample = Sample(held, [each.where for each in rows])
    problems = []
    for entry in composite.entries:
        info = entry.resolved.info
        if isinstance(entry.runner, TaggedReward) and info is not None:
            author = None
            if not types_only:
                author = getattr(entry.runner.callee.function, "check_inputs", None)
            where = f"rewards.{entry.name}.inputs"
            plan = entry.runner.plan
            found = look_at(info, plan, sample, where, author)
            problems += found.problems
    return problems
