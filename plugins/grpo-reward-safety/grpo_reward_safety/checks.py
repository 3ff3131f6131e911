"""Checks of options that several rewards have."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from typing import Any


def check_choice(option: str, value: object, allowed: Sequence[str]) -> None:
    """Raises ValueError if an option has none of its values."""
    if value not in allowed:
        names = ", ".join(map(repr, allowed))
        close = difflib.get_close_matches(str(value), allowed, n=1)
        hint = f". Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{option} must be one of {names}, got {value!r}{hint}")


def check_choices(option: str, values: Sequence[str], allowed: Sequence[str]) -> None:
    """Raises ValueError if an option is no list of some of its values."""
    if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
        raise ValueError(f"{option} must be a list, got {values!r}; write {option} = [...]")
    for value in values:
        check_choice(f"each of {option}", value, allowed)


def check_number(option: str, value: float, low: float, high: float) -> None:
    """Raises ValueError if an option is outside of its bounds."""
    if not low <= value <= high:  # NaN is refused as well
        raise ValueError(f"{option} must be from {low:g} to {high:g}, got {value!r}")


def check_options(where: str, options: Mapping[str, Any], of: Any, shown_by: str) -> None:
    """Raises ValueError if a table of options has an unknown one, or a plain one of another type.

    What the core does for the options of a reward; of those in a table only the reward knows.

    Args:
        where: Name of the table.
        options: The table.
        of: The dataclass that takes them.
        shown_by: What lists them.
    """
    known = {field.name: field.default for field in dataclasses.fields(of)}
    for option, value in options.items():
        if option not in known:
            near = difflib.get_close_matches(option, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ";"
            raise ValueError(f"{where} has no option {option!r}{hint} {shown_by} lists them")
        wanted = type(known[option])
        allowed = (int, float) if wanted is float else (wanted,)
        if wanted in (str, bool, int, float) and type(value) not in allowed:
            raise ValueError(f"{where}.{option} must be of type {wanted.__name__}, got {value!r}")


def check_texts(option: str, values: Sequence[str]) -> None:
    """Raises ValueError if an option is no list of texts that are not blank."""
    if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
        raise ValueError(f"{option} must be a list of texts, got {values!r}")
    for i, value in enumerate(values):
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{option}[{i}] must be a text, got {value!r}; take it out")
