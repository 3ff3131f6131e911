"""Checks of options that several rewards have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def check_choice(option: str, value: object, allowed: Sequence[str]) -> None:
    """Raises ValueError if an option has none of its values."""
    if value not in allowed:
        names = ", ".join(map(repr, allowed))
        raise ValueError(f"{option} must be one of {names}, got {value!r}")


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


def check_texts(option: str, values: Sequence[str]) -> None:
    """Raises ValueError if an option is no list of texts that are not blank."""
    if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
        raise ValueError(f"{option} must be a list of texts, got {values!r}")
    for i, value in enumerate(values):
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{option}[{i}] must be a text, got {value!r}; take it out")
