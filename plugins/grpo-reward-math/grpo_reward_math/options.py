"""Checks of options that several rewards have."""

from __future__ import annotations

from collections.abc import Sequence


def check_choice(option: str, value: str, allowed: Sequence[str]) -> None:
    """Raises ValueError if an option has none of its values."""
    if value not in allowed:
        names = ", ".join(map(repr, allowed))
        raise ValueError(f"{option} must be one of {names}, got {value!r}")


def check_names(option: str, names: Sequence[str]) -> None:
    """Raises ValueError if a name of a tag is more or less than a name."""
    for name in names:
        bare = name.strip("</> \t\n")
        if not bare:
            raise ValueError(f"{option} must be names of tags, got {name!r}")
        if bare != name:
            raise ValueError(f"{option} must be bare names of tags, got {name!r}; write {bare!r}")


def check_number(option: str, value: float, low: float, high: float) -> None:
    """Raises ValueError if an option is outside of its bounds."""
    if not low <= value <= high:  # NaN is refused as well
        raise ValueError(f"{option} must be from {low:g} to {high:g}, got {value!r}")
