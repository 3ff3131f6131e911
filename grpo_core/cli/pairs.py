"""Reads name=value texts of the command line by the types that a reward declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from grpo_core.convert import convert
from grpo_core.errors import Problem
from grpo_core.files import parse_json
from grpo_core.reward import Parameter


def read_pairs(
    texts: Sequence[str], flag: str, declared: Sequence[Parameter], problems: list[Problem]
) -> dict[str, Any]:
    """Reads name=value texts; a value is read as JSON where the declared type is no text.

    An option without a type is read as JSON too, as a config would have a number; an input without
    one is a text, as most columns are.
    """
    untyped_is_text = flag != "--option"
    parameters = {p.name: p for p in declared}
    pairs: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            problems.append(Problem(flag, f"expected name=value, got {text!r}"))
        elif name in pairs:
            problems.append(Problem(flag, f"{name!r} is given twice"))
        else:
            pairs[name] = _value(value, parameters.get(name), untyped_is_text)
    return pairs


def read_files(
    texts: Sequence[str], given: Mapping[str, Any], problems: list[Problem]
) -> dict[str, dict[str, str]]:
    """Reads name=path texts as what binds an input to a file, which a config writes the same way.

    Args:
        texts: What the flag was given.
        given: The inputs that `--input` names.
        problems: Where goes what is wrong.
    """
    files = read_pairs(texts, "--input-file", (), problems)
    problems += [
        Problem("--input-file", f"{name!r} is given by --input too")
        for name in files
        if name in given
    ]
    return {name: {"file": path} for name, path in files.items()}


def _value(text: str, parameter: Parameter | None, untyped_is_text: bool) -> Any:
    """The text itself where the type takes it, else what it says as JSON, else the text again.

    Without a type the default's counts.
    """
    if parameter is None:
        return text
    if parameter.annotation is Any:
        if parameter.default is None:
            return text if untyped_is_text else _from_json(text)
        parameter = replace(parameter, annotation=type(parameter.default))
    made, wrong = convert(parameter, text)
    value = _from_json(text)
    if not wrong and isinstance(made, str):
        # A text of its own, but for a list of texts: no answer looks like ["7", "8"].
        return value if _is_list_of_texts(value) and not convert(parameter, value)[1] else text
    # A folder may be called 1, where a number is no path.
    return text if not wrong and convert(parameter, value)[1] else value


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)


def _from_json(text: str) -> Any:
    """What the text says as JSON, or the text: a path, a name, or wrong, which checks tell."""
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return text
