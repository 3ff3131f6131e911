"""Converts a value from a config, a script or a command line to a parameter's declared type."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from grpo_core.copying import own_copy
from grpo_core.signature import Parameter


def convert(parameter: Parameter, value: Any) -> tuple[Any, list[tuple[str, str]]]:
    """Converts a value to a parameter's type.

    Args:
        parameter: An option or input.
        value: As a config or a script hands it over.

    Returns:
        The converted value, and what is wrong with it: a path inside it such as "[2]" ("" for the
        value itself) with a message. A type that pydantic cannot check takes any value.
    """
    return converter(parameter)(value)


def converter(parameter: Parameter) -> Callable[[Any], tuple[Any, list[tuple[str, str]]]]:
    """`convert` for many values of one parameter; the type is read once."""
    adapter: TypeAdapter[Any] | None
    try:
        adapter = TypeAdapter(parameter.annotation)
    except Exception:  # a type pydantic knows nothing of, from a script: the reward checks it
        adapter = None

    def run(value: Any) -> tuple[Any, list[tuple[str, str]]]:
        try:
            return _convert(adapter, value), []
        except ValidationError as exc:
            return None, [_wrong(parameter, value, exc)]

    return run


def in_words(error: Mapping[str, Any]) -> str:
    """What pydantic found wrong with a value, in plain words where its own speak of its steps."""
    least = error.get("ctx", {}).get("min_length")
    if error["type"] == "too_short":
        return f"expected at least {least} entr{'y' if least == 1 else 'ies'}"
    if error["type"] == "string_too_short" and least == 1:
        return "expected a text that is not empty"
    return str(error["msg"]).removeprefix("Value error, ")


def _wrong(parameter: Parameter, value: Any, exc: ValidationError) -> tuple[str, str]:
    first = exc.errors(include_url=False)[0]
    path, inner = "", value
    for key in first["loc"]:
        try:  # a union puts the names of its members between the keys
            inner = inner[key]
        except (TypeError, KeyError, IndexError):
            continue
        path += f"[{key!r}]"
    message = f"expected {parameter.type_name}, got {_shown(inner)}"
    several = "|" in parameter.type_name or "Union" in parameter.type_name
    return path, message if several else f"{message} ({in_words(first)})"


def _convert(adapter: TypeAdapter[Any] | None, value: Any) -> Any:
    own = own_copy(value)  # what a reward does to its options must not reach the config
    if adapter is None:
        return own
    try:
        return adapter.validate_python(own, strict=True)
    except ValidationError:
        # TOML and JSON have no tuples, sets, paths or enums; strict JSON rules make them of lists
        # and strings, and still take no number for a string or the other way round.
        try:
            text = json.dumps(own)
        except (TypeError, ValueError, RecursionError):
            pass
        else:
            return adapter.validate_json(text, strict=True)
        raise


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
