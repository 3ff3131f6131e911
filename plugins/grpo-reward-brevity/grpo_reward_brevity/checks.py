"""Checks of options that several rewards have."""

from __future__ import annotations

from collections.abc import Sequence


def check_choice(option: str, value: object, allowed: Sequence[str]) -> None:
    """Raises ValueError if an option has none of its values."""
    if value not in allowed:
        names = ", ".join(map(repr, allowed))
        raise ValueError(f"{option} must be one of {names}, got {value!r}")


def check_number(option: str, value: float, low: float, high: float) -> None:
    """Raises ValueError if an option is outside of its bounds."""
    if not low <= value <= high:  # NaN is refused as well
        raise ValueError(f"{option} must be from {low:g} to {high:g}, got {value!r}")


def check_range(option: str, values: Sequence[float]) -> tuple[float, float]:
    """The two ends of a range of values, the lower one first.

    Raises:
        ValueError: They are not two numbers of that order between -1,000 and 1,000.
    """
    if len(values) != 2:
        raise ValueError(f"{option} must be two numbers [low, high], got {list(values)!r}")
    low, high = map(float, values)
    for value in (low, high):
        check_number(option, value, -1000, 1000)
    if low > high:
        raise ValueError(f"{option} must be [low, high], got [{low:g}, {high:g}]; swap them")
    return low, high
