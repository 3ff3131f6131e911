"""`Tag`: the arguments of `@reward`, and what they can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, Literal, get_args

from grpo_core.completion import Completion
from grpo_core.errors import listed

Scope = Literal["sample", "batch", "group"]
Isolation = Literal["inline", "thread", "process"]
OnTimeout = float | Literal["low", "missing"]
OnError = float | Literal["missing", "raise"]
Range = tuple[float, float]

_COMPLETION_FIELDS = frozenset(f.name for f in fields(Completion))


@dataclass(frozen=True)
class Tag:
    """The arguments of `@reward`, as its docstring explains them."""

    range: Range | Callable[..., Range]
    scope: Scope
    deterministic: bool | None
    isolation: Isolation | None
    timeout_s: float | None
    on_timeout: OnTimeout | None
    on_error: OnError
    needs: Sequence[str] | Callable[..., Sequence[str]]


def checked(tag: Tag, where: str) -> Tag:
    """The tag with its values in their own types.

    Args:
        tag: The arguments as the author gave them.
        where: Beginning of the errors.

    Raises:
        TypeError: A value has another type.
        ValueError: A value is none of those it can be, or two contradict each other.
    """
    if tag.scope not in get_args(Scope):
        raise ValueError(f"{where}: scope must be {_or(get_args(Scope))}, got {tag.scope!r}")
    if tag.deterministic is not None and not isinstance(tag.deterministic, bool):
        raise TypeError(f"{where}: deterministic must be a bool, got {tag.deterministic!r}")
    if tag.isolation is not None and tag.isolation not in get_args(Isolation):
        raise ValueError(
            f"{where}: isolation must be {_or(get_args(Isolation))}, got {tag.isolation!r}"
        )
    if tag.isolation == "inline" and (tag.timeout_s is not None or tag.on_timeout is not None):
        given = "timeout_s" if tag.timeout_s is not None else "on_timeout"
        raise ValueError(
            f"{where}: an inline reward has no deadline, so {given} would do nothing; leave it "
            f"out, or isolation"
        )
    value_range = tag.range if callable(tag.range) else checked_range(tag.range, where)
    return replace(
        tag,
        range=value_range,
        timeout_s=_checked_timeout(tag.timeout_s, where),
        on_timeout=None
        if tag.on_timeout is None
        else _checked_value("on_timeout", tag.on_timeout, ("low", "missing"), value_range, where),
        on_error=_checked_value("on_error", tag.on_error, ("missing", "raise"), value_range, where),
        needs=tag.needs if callable(tag.needs) else checked_needs(tag.needs, where),
    )


def _checked_timeout(value: object, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{where}: timeout_s must be a number of seconds, got {value!r}")
    if not (math.isfinite(value) and value > 0):
        raise ValueError(
            f"{where}: timeout_s must be finite and above 0, got {value!r}; leave it out for the "
            f"default"
        )
    return float(value)


def _checked_value(
    key: str,
    value: Any,
    words: tuple[str, ...],
    value_range: Range | Callable[..., Range],
    where: str,
) -> Any:
    """One of the words, or a number in the range as far as that is known here."""
    if isinstance(value, str) and value in words:
        return value
    low, high = (-math.inf, math.inf) if callable(value_range) else value_range
    inside = "in the range" if callable(value_range) else f"in the range [{low:g}, {high:g}]"
    expected = f"{where}: {key} must be {_or(words)}, or a number {inside}, got {value!r}"
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(expected)
    if isinstance(value, str) or not (math.isfinite(value) and low <= value <= high):
        raise ValueError(expected)
    return float(value)


def _or(words: Sequence[str]) -> str:
    *first, last = map(repr, words)
    return f"{', '.join(first)} or {last}"


def checked_range(value: object, where: str) -> Range:
    """Two finite numbers in order; anything else is a ValueError."""
    try:
        ends = list(value)  # type: ignore[call-overload]  # anything else raises
        numbers = all(isinstance(e, Real) and not isinstance(e, bool) for e in ends)
        low, high = map(float, ends if numbers else ())
    except (TypeError, ValueError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"{where}: range must be two finite numbers, lowest first, got {value!r}")
    return low, high


def checked_needs(value: object, where: str) -> tuple[str, ...]:
    """Names of fields of a completion; anything else is a TypeError or ValueError."""
    if not isinstance(value, str | list | tuple | set | frozenset):
        raise TypeError(f"{where}: needs must be names of fields, got {value!r}")
    needs = (value,) if isinstance(value, str) else tuple(value)
    for field in needs:
        if field not in _COMPLETION_FIELDS:
            raise ValueError(
                f"{where}: needs names no field of Completion: {field!r}; "
                f"fields are {listed(_COMPLETION_FIELDS)}"
            )
    return needs
