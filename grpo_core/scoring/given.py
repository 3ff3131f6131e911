"""Compares what a caller gives as a reward's inputs with the types that they declare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grpo_core.completion import Completion
from grpo_core.convert import converter
from grpo_core.errors import Problem
from grpo_core.inputs import Column, InputPlan
from grpo_core.reward import RewardInfo


class GivenInputs:
    """Checks the inputs of calls; reads each declared type once."""

    def __init__(self, info: RewardInfo, plan: InputPlan) -> None:
        """Takes the reward's declaration and where its inputs come from."""
        declared = {p.name: p for p in info.inputs}
        self._checks: list[tuple[Column, str, Callable[[Any], Any]]] = [
            (column, declared[column.input].type_name, converter(declared[column.input]))
            for column in plan.columns
            if declared[column.input].annotation not in (Any, object)
        ]

    def problems(self, completions: Sequence[Completion]) -> list[Problem]:
        """Inputs of another type than their declared one; of each the first, by name."""
        found = []
        for column, type_name, check in self._checks:
            for i, completion in enumerate(completions):
                if column.column not in completion.columns:
                    continue
                if text := _wrong(column, type_name, check, completion.columns[column.column]):
                    place = f" for completion {i}" if len(completions) > 1 else ""
                    found.append(Problem(column.input, text + place))
                    break
        return found


def _wrong(column: Column, type_name: str, check: Callable[[Any], Any], given: Any) -> str:
    """What is wrong with the value, or ""."""
    try:
        # numpy's scalars compare like Python's.
        value = given.item() if isinstance(given, np.generic) else column.value(given)
    except (ValueError, TypeError, RecursionError) as exc:
        return f"holds no JSON of the declared type {type_name}: {exc}"
    if value is None and not column.takes_none:
        return ""  # it is skipped
    wrong = check(value)[1]
    if not wrong:
        return ""
    path, text = wrong[0]
    return f"{text} at {path}" if path else text
