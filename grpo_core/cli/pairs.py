"""Reads name=value texts of the command line by the types that a reward declares."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grpo_core.convert import convert
from grpo_core.errors import Problem
from grpo_core.reward import Parameter


def read_pairs(
    texts: Sequence[str], flag: str, declared: Sequence[Parameter], problems: list[Problem]
) -> dict[str, Any]:
    """Reads name=value texts; a value is read as JSON where the declared type is no text."""
    parameters = {p.name: p for p in declared}
    pairs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            problems.append(Problem(flag, f"expected name=value, got {text!r}"))
        elif name in pairs:
            problems.append(Problem(flag, f"{name!r} is given twice"))
        else:
            pairs[name] = _value(value, parameters.get(name))
    return pairs


def _value(text: str, parameter: Parameter | None) -> Any:
    """The text itself where the type takes it, else what it says as JSON, else the text again.

    Without a type the default's counts; without either it is a text, as most columns are.
    """
    if parameter is None:
        return text
    if parameter.annotation is Any:
        if parameter.default is None:
            return text
        parameter = replace(parameter, annotation=type(parameter.default))
    made, wrong = convert(parameter, text)
    if not wrong and isinstance(made, str):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text  # a path or an enum, or wrong: the checks name what was expected
    # A folder may be called 1, where a number is no path.
    return text if not wrong and convert(parameter, value)[1] else value
