"""Checks a reward's options against its signature, and builds the reward with them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from grpo_core.convert import convert
from grpo_core.copying import own_copy
from grpo_core.errors import ConfigError, Problem, listed, near
from grpo_core.reward import RewardInfo
from grpo_core.secrets import hide, is_secret, read_secret, secret_problem


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
        if is_secret(declared[name].annotation):
            text = secret_problem(value)
            made, wrong = value, [] if text is None else [("", text)]
        else:
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
        if o.name in options and is_secret(o.annotation):
            options[o.name] = read_secret(options[o.name])
        if o.name not in options and isinstance(o.default, list | dict | set):
            options[o.name] = own_copy(o.default)
    try:
        # The class first: its own words on wrong options say more than what a range makes of them.
        function = info.target(**options) if info.is_class else _with_options(info.target, options)
        low, high = info.range(options)
        return Built(function, low, high, info.needs(options))
    except KeyboardInterrupt:
        raise
    except (ValueError, TypeError) as exc:
        raise ConfigError(
            [Problem(where, f"{info.name!r} refuses them: {hide(str(exc))}")]
        ) from exc
    except BaseException as exc:  # the class is the author's; whatever it raises is the reason
        raise ConfigError(
            [
                Problem(
                    where, f"{info.name!r} cannot be built: {type(exc).__name__}: {hide(str(exc))}"
                )
            ]
        ) from exc


def _with_options(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """The function with its options set, given anew at each call where it could change them."""
    if not any(isinstance(v, list | dict | set) for v in options.values()):
        return functools.partial(function, **options)

    def call(*args: Any, **inputs: Any) -> Any:
        return function(*args, **inputs, **{k: own_copy(v) for k, v in options.items()})

    return call
