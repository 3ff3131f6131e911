"""Spellings of one unit are one; units are never converted."""

import pytest
from grpo_reward_math.units import canonical, same


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("cm", "centimeters"),
        ("square inches", "in ^2"),
        ("sq. ft", "square feet"),
        ("cubic metres", "m ^3"),
        ("km / h", "kilometers per hour"),
        ("mph", "miles per hour"),
        ("m / s ^2", "meters per second squared"),
        ("dollars", "$"),
        ("hrs", "hours"),
        ("people", "persons"),
        ("boxes", "box"),
        ("red marbles", "marbles"),
        ("degrees Celsius", "celsius"),
        ("p.m.", "PM"),
    ],
)
def test_spellings_name_one_unit(first: str, second: str) -> None:
    assert same(canonical(first), canonical(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("cm", "mm"),
        ("cm", "cm ^2"),
        ("cm ^2", "cm ^3"),
        ("km / h", "km"),
        ("apples", "oranges"),
        ("dollars", "cents"),
        ("am", "pm"),
        ("hours", "minutes"),
        ("apples", "kg"),
    ],
)
def test_units_differ(first: str, second: str) -> None:
    assert not same(canonical(first), canonical(second))
