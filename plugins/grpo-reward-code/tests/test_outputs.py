"""What a program printed against what is expected."""

from __future__ import annotations

import time

import pytest
from grpo_reward_code.judging.outputs import difference
from hypothesis import given
from hypothesis.strategies import sampled_from, text


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        ("1\n", "1"),
        ("1", "1\n\n"),
        ("1  \r\n2\t\n\n\n", "1\n2\n"),
        ("1.500", "1.5"),
        ("1.5 3", "1.500 3"),
        ("3", "3.0"),
        ("1e3", "1000.0"),
        ("-0.0", "0.0"),
        ("", ""),
        ("\n \n", ""),
        ("é", "é"),
    ],
)
def test_same(got, expected):
    assert difference(got.encode(), expected) == ""


@pytest.mark.parametrize(
    ("got", "expected", "why"),
    [
        ("1", "1\n2", "expected 2 lines, got 1"),
        ("1\n2\n3", "1\n2", "line 3: expected no more, got '3'"),
        ("1 2", "1  2", "line 1: expected '1  2', got '1 2'"),
        (" 1", "1", "line 1: expected '1', got ' 1'"),
        ("3.0", "3", "line 1: expected '3', got '3.0'"),
        ("007", "7", "line 1: expected '7', got '007'"),
        ("1.51", "1.5", "line 1: expected '1.5', got '1.51'"),
        ("nan", "1.0", "line 1: expected '1.0', got 'nan'"),
        ("1_0.0", "10.0", "line 1: expected '10.0', got '1_0.0'"),
        ("Yes", "YES", "line 1: expected 'YES', got 'Yes'"),
        ("12", "1\n2", "line 1: expected '1', got '12'"),
    ],
)
def test_different(got, expected, why):
    assert difference(got.encode(), expected) == why


def test_bytes_that_are_no_text():
    assert difference(b"\xff\n", "x") == "line 1: expected 'x', got '\\udcff'"


@pytest.mark.parametrize(
    ("got", "expected", "is_same"),
    [("0.33334", "0.33333", True), ("1000001", "1000000", True), ("0.334", "0.333", False)],
)
def test_tolerance_is_relative_and_absolute(got, expected, is_same):
    assert (difference(got.encode(), expected, 1e-4) == "") is is_same


def test_number_with_an_enormous_exponent():
    assert difference(b"1e999999999", "1.0") != ""
    assert difference(b"1e999999999", "1.0", 1e-4) != ""


@pytest.mark.parametrize("tolerance", [None, 1e-6])
@pytest.mark.parametrize(
    "printed",
    ["1e1000000000000000000", "1e-1000000000000000000", "1" * 5000 + ".5", "1e9999999999999", "."],
)
def test_number_beyond_all_bounds_is_another(printed, tolerance):
    assert difference(printed.encode(), "1.5", tolerance).startswith("line 1: expected '1.5'")


def test_numbers_beyond_floats_are_not_the_same_for_being_infinite():
    assert difference(b"1e400", "2e400", 1e-6) != ""


@pytest.mark.parametrize(
    "printed", ["1" * 20_000 + "x", "1." * 20_000, "1e" + "1" * 20_000 + "x", " " * 20_000 + "x"]
)
def test_time_grows_with_the_length_of_the_output(printed):
    before = time.process_time()
    assert difference(printed.encode(), "5.0\n")
    assert time.process_time() - before < 1.0  # with its square: above 10 s


@given(text(alphabet="01.eE+-x \n"), text(alphabet="01.eE+-x \n"), sampled_from([None, 1e-6]))
def test_whatever_is_printed_can_be_compared(printed, expected, tolerance):
    difference(printed.encode(), expected, tolerance)
    assert difference(expected.encode(), expected, tolerance) == ""
