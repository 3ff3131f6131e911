"""Checks a reward's options against its signature, and builds the reward with them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError

from grpo_core.errors import ConfigError, Problem, listed, near
from grpo_core.reward import Parameter, RewardInfo


def check_options(
    info: RewardInfo, given: Mapping[str, Any], where: str = "options"
) -> tuple[dict[str, Any], list[Problem]]:
    """Converts options to their declared types.

    Args:
        info: The reward's declaration.
        given: Options by name, as a config or a script hands them over.
        where: Path of the options, for the problems.

    Returns:
        The converted options and the problems found, all of them.
    """
    declared = {o.name: o for o in info.options}
    converted: dict[str, Any] = {}
    problems = []
    for name, value in given.items():
        at = f"{where}.{name}"
        if name not in declared:
            inputs = [p.name for p in info.inputs]
            hint = near(name, declared)
            if name in inputs:
                hint = f" {name!r} is an input: bind it under inputs."
            problems.append(
                Problem(
                    at, f"{info.name!r} has no such option.{hint} Options are {listed(declared)}."
                )
            )
            continue
        try:
            converted[name] = _convert(declared[name], value)
        except ValidationError as exc:
            first = exc.errors(include_url=False)[0]
            path = "".join(f"[{p!r}]" for p in first["loc"] if isinstance(p, str | int))
            problems.append(
                Problem(
                    at + path,
                    f"expected {declared[name].type_name}, got {value!r} ({first['msg']})",
                )
            )
    problems += [
        Problem(
            f"{where}.{o.name}", f"{info.name!r} needs this option ({o.type_name}); it is missing"
        )
        for o in info.options
        if o.required and o.name not in given
    ]
    return converted, problems


class Built(NamedTuple):
    """A reward with its options set.

    Attributes:
        function: Takes the completion and, by keyword, the inputs.
        low: Lowest value it may return.
        high: Highest value it may return.
        needs: Fields of the completion that must be known.
    """

    function: Callable[..., Any]
    low: float
    high: float
    needs: tuple[str, ...]


def build(info: RewardInfo, given: Mapping[str, Any], where: str = "options") -> Built:
    """Builds a reward with its options.

    Args:
        info: The reward's declaration.
        given: Options by name.
        where: Path of the options, for the problems.

    Raises:
        ConfigError: An option is unknown, missing or of another type, or the reward's class
            refused them (its ValueError or TypeError).
    """
    options, problems = check_options(info, given, where)
    if problems:
        raise ConfigError(problems)
    try:
        low, high = info.range(options)
        needs = info.needs(options)
        if info.is_class:
            return Built(info.target(**options), low, high, needs)
    except (ValueError, TypeError) as exc:
        raise ConfigError([Problem(where, f"{info.name!r} refuses them: {exc}")]) from exc
    return Built(functools.partial(info.target, **options), low, high, needs)


def _convert(option: Parameter, value: Any) -> Any:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(option.annotation)
    except PydanticSchemaGenerationError:
        return value  # a type pydantic knows nothing of, from a script: the reward checks it
    try:
        return adapter.validate_python(value, strict=True)
    except ValidationError:
        # TOML and JSON have no tuples, sets, paths or enums; strict JSON rules make them of lists
        # and strings, and still take no number for a string or the other way round.
        try:
            text = json.dumps(value)
        except (TypeError, ValueError):
            pass
        else:
            return adapter.validate_json(text, strict=True)
        raise
