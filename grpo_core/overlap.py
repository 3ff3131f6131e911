"""Finds rows of the evaluation that are trained on too."""

from __future__ import annotations

import json
from typing import NamedTuple

from grpo_core.looking import Sample

_SHOWN = 3


class Overlap(NamedTuple):
    """What two sets of rows have in common.

    Attributes:
        n_prompts: Rows of the evaluation whose prompt is also that of a training row.
        n_rows: Those of which all other columns agree too.
        text: The first of them, each with the training row of the same prompt.
    """

    n_prompts: int
    n_rows: int
    text: str


def overlap(evaluation: Sample, train: Sample) -> Overlap:
    """Compares the prompts of all rows, and where they agree the other columns."""
    wanted = {_prompt(evaluation, i) for i in range(_n_rows(evaluation))}
    by_prompt: dict[str, int] = {}
    rows: set[str] = set()
    for i in range(_n_rows(train)):
        prompt = _prompt(train, i)
        if prompt in wanted:
            by_prompt.setdefault(prompt, i)
            rows.add(_row(train, i))
    common = [i for i in range(_n_rows(evaluation)) if _prompt(evaluation, i) in by_prompt]
    shown = [
        f"{evaluation.place(i)} (as {train.place(by_prompt[_prompt(evaluation, i)])})"
        for i in common[:_SHOWN]
    ]
    n_rows = sum(_row(evaluation, i) in rows for i in common)
    text = ", ".join([*shown, *(["…"] if len(common) > _SHOWN else [])])
    return Overlap(len(common), n_rows, text)


def _n_rows(sample: Sample) -> int:
    return len(sample.table["prompt"])


def _prompt(sample: Sample, i: int) -> str:
    return _text(sample.table["prompt"][i])


def _row(sample: Sample, i: int) -> str:
    values = {column: column_values[i] for column, column_values in sample.table.items()}
    return _text({column: value for column, value in values.items() if value is not None})


def _text(value: object) -> str:
    """Equal for equal values; a text is itself, so that no copy of it is held."""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, default=repr)
