"""Checks a reward's options against its signature, and builds the reward with them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from grpo_core.copying import own_copy
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
            hint = near(str(name), declared)
            if name in inputs:
                hint = f" {name!r} is an input: bind it under inputs."
            problems.append(
                Problem(
                    at, f"{info.name!r} has no such option.{hint} Options are {listed(declared)}."
                )
            )
            continue
        made, wrong = convert(declared[name], value)
        problems += [Problem(at + path, message) for path, message in wrong]
        if not wrong:
            converted[name] = made
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
    # A list as a default belongs to the function; two rewards built of it must not share it.
    for o in info.options:
        if o.name not in options and isinstance(o.default, list | dict | set):
            options[o.name] = own_copy(o.default)
    try:
        low, high = info.range(options)
        needs = info.needs(options)
        if info.is_class:
            return Built(info.target(**options), low, high, needs)
    except KeyboardInterrupt:
        raise
    except (ValueError, TypeError) as exc:
        raise ConfigError([Problem(where, f"{info.name!r} refuses them: {exc}")]) from exc
    except BaseException as exc:  # the class is the author's; whatever it raises is the reason
        raise ConfigError(
            [Problem(where, f"{info.name!r} cannot be built: {type(exc).__name__}: {exc}")]
        ) from exc
    return Built(functools.partial(info.target, **options), low, high, needs)


def convert(parameter: Parameter, value: Any) -> tuple[Any, list[tuple[str, str]]]:
    """Converts a value to a parameter's type.

    Args:
        parameter: An option or input.
        value: As a config or a script hands it over.

    Returns:
        The converted value, and what is wrong with it: a path inside it such as "[2]" ("" for the
        value itself) with a message. A type that pydantic cannot check takes any value.
    """
    try:
        return _convert(parameter, value), []
    except ValidationError as exc:
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
    return None, [(path, message if several else f"{message} ({first['msg']})")]


def _convert(option: Parameter, value: Any) -> Any:
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(option.annotation)
        # Of a copy: what a reward does to its options must not reach the config.
        return adapter.validate_python(own_copy(value), strict=True)
    except ValidationError:
        # TOML and JSON have no tuples, sets, paths or enums; strict JSON rules make them of lists
        # and strings, and still take no number for a string or the other way round.
        try:
            text = json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            pass
        else:
            return adapter.validate_json(text, strict=True)
        raise
    except Exception:  # a type pydantic knows nothing of, from a script: the reward checks it
        return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
