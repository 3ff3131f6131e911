"""`outcome_of`: what each kind of return becomes; `fault_from`: what an exception becomes."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from grpo_core.outcome import Fail, Outcome, Score, Skip
from grpo_core.scoring.checks import UNBOUNDED, fault_from, one_line, outcome_of


class Half(float):
    pass


class Text(str):
    pass


class Raising:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __float__(self):
        raise self.error

    def __repr__(self):
        return "Raising()"


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no repr")


class NoText(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        (0.5, 0.5),
        (0, 0.0),
        (1, 1.0),
        (True, 1.0),
        (False, 0.0),
        (-0.0, 0.0),
        (Half(0.25), 0.25),
        (Decimal("0.5"), 0.5),
        (Fraction(1, 4), 0.25),
        (np.float32(0.5), 0.5),
        (np.float64(0.5), 0.5),
        (np.int64(1), 1.0),
        (np.bool_(True), 1.0),
        (np.array(0.5), 0.5),
        (np.array([0.5]), 0.5),
        (np.array([[0.5]], dtype=np.float16), 0.5),
        (Score(0.5), 0.5),
        (Score(np.float32(1)), 1.0),
    ],
)
def test_outcome_of_one_number_is_scored(returned, value):
    outcome = outcome_of(returned, 0.0, 1.0)

    assert outcome == Outcome(value, "scored")
    assert type(outcome.value) is float


@pytest.mark.parametrize(
    ("returned", "value"),
    [(1.0000009, 1.0), (-0.0000009, 0.0), (0.1 + 0.2 + 0.7000000000000001, 1.0)],
)
def test_outcome_of_rounding_outside_the_range_is_clipped(returned, value):
    assert outcome_of(returned, 0.0, 1.0) == Outcome(value)


@pytest.mark.parametrize("returned", [1.00001, -0.00001, 2, Score(1.5), np.float32(7)])
def test_outcome_of_value_outside_the_range_is_a_fault(returned):
    outcome = outcome_of(returned, 0.0, 1.0)

    assert (outcome.value, outcome.status, outcome.fault) == (None, "failed", True)
    assert outcome.reason.endswith(
        "outside its range [0, 1]; return a value inside or declare another: "
        "@reward(range=(low, high))"
    )


@pytest.mark.parametrize("returned", [math.nan, math.inf, -math.inf, np.nan, Decimal("NaN")])
def test_outcome_of_number_that_is_not_finite_is_a_fault(returned):
    outcome = outcome_of(returned, 0.0, 1.0)

    assert outcome.fault
    assert outcome.reason == f"returned {float(returned)}; a reward must be finite"


def test_outcome_of_number_beyond_float32_is_a_fault():
    assert outcome_of(1e39, *UNBOUNDED).reason == "returned 1e+39, which is no finite float32"


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("0.5", "returned '0.5' of type str; return a number, None, Score, Skip or Fail"),
        (Text("1"), "of type Text"),
        (np.str_("1"), "of type str"),
        (np.array("1"), "of type str"),
        (b"1", "returned b'1' of type bytes"),
        ({"score": 1}, "of type dict"),
        ([1.0], "returned [1.0] of type list"),
        ((1.0, "why"), "of type tuple"),
        (1j, "returned 1j of type complex"),
        (object, "of type type"),
        (float, "of type type"),
        (Outcome(1.0), "of type Outcome"),
        (np.array([1.0, 2.0]), "returned an array of shape (2,), which is not one number"),
        (np.array([]), "returned an array of shape (0,), which is not one number"),
        (Skip, "returned the class Skip itself; return Skip(…)"),
        (Score, "returned the class Score itself"),
        (10**400, "which is not one number: int too large to convert to float"),
        (10**5000, "returned a value of type int, which is not one number"),
        (Decimal("sNaN"), "which is not one number: cannot convert signaling NaN to float"),
        (Raising(ValueError("bad")), "returned Raising(), which is not one number: bad"),
        (Raising(KeyError("k")), "returned Raising(), which cannot be read: KeyError: 'k'"),
        (Raising(SystemExit(0)), "which cannot be read: SystemExit: 0"),
        (Unprintable(), "returned a value of type Unprintable of type Unprintable"),
        (Score("1"), "returned a Score of '1' of type str"),
        (Score(None), "returned a Score of None of type NoneType"),
        (Score(math.nan), "returned a Score of nan; a reward must be finite"),
        (Score(Score(1.0)), "returned a Score of Score("),
        (Score(1.0, metrics=[1]), "returned metrics that are no mapping: [1]"),
        (Score(1.0, metrics=np.array([1, 2])), "returned metrics that are no mapping"),
        (Score(1.0, metrics={"n": "2"}), "returned for metric 'n' '2' of type str"),
        (Score(1.0, metrics={"n": math.inf}), "returned for metric 'n' inf"),
        (Score(1.0, metrics={"n": None}), "returned for metric 'n' None"),
    ],
    ids=lambda v: v[:40] if isinstance(v, str) else type(v).__name__,
)
def test_outcome_of_anything_else_is_a_fault_that_says_what_came(returned, reason):
    outcome = outcome_of(returned, 0.0, 1.0)

    assert (outcome.value, outcome.status, outcome.fault) == (None, "failed", True)
    assert reason in outcome.reason


def test_outcome_of_generator_is_a_fault():
    assert "of type generator" in outcome_of((x for x in [1.0]), 0.0, 1.0).reason


def test_outcome_of_coroutine_is_a_fault_and_closes_it():
    async def judge():
        return 1.0

    coroutine = judge()
    outcome = outcome_of(coroutine, 0.0, 1.0)

    assert "write the reward as `async def`" in outcome.reason
    assert coroutine.cr_frame is None


def test_outcome_of_keyboard_interrupt_passes():
    with pytest.raises(KeyboardInterrupt):
        outcome_of(Raising(KeyboardInterrupt()), 0.0, 1.0)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, Outcome(None, "skipped")),
        (Skip(), Outcome(None, "skipped")),
        (Skip("no gold"), Outcome(None, "skipped", "no gold")),
        (Fail("service is down"), Outcome(None, "failed", "service is down")),
    ],
)
def test_outcome_of_skip_and_fail_are_no_faults(returned, expected):
    assert outcome_of(returned, 0.0, 1.0) == expected


def test_outcome_of_score_keeps_reason_and_metrics():
    returned = Score(1, reason="exact", metrics={"n": 2, "ok": True, "x": np.float32(0.5)})

    assert outcome_of(returned, 0.0, 1.0) == Outcome(
        1.0, "scored", "exact", {"n": 2.0, "ok": 1.0, "x": 0.5}
    )


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (None, ""),
        (5, "5"),
        ("two\nlines\r\n\tand a tab", "two lines and a tab"),
        ("  ", ""),
        ("x" * 500, "x" * 500),
        ("x" * 1_000_000, "x" * 499 + "…"),
    ],
)
def test_outcome_of_reason_becomes_one_short_line(reason, expected):
    assert outcome_of(Score(1.0, reason=reason), 0.0, 1.0).reason == expected
    assert outcome_of(Skip(reason), 0.0, 1.0).reason == expected
    assert outcome_of(Fail(reason), 0.0, 1.0).reason == expected


def test_outcome_of_metrics_none_is_no_metrics():
    assert outcome_of(Score(1.0, metrics=None), 0.0, 1.0) == Outcome(1.0)


def test_one_line_long_blanks_are_cut():
    assert one_line("a" + " " * 100_000 + "b") == "a"


def caught(function) -> BaseException:
    try:
        function()
    except BaseException as exc:  # whatever a reward may raise
        return exc
    raise AssertionError("nothing was raised")


def line_of(phrase: str) -> int:
    with open(__file__, encoding="utf-8") as file:
        (number,) = [n for n, line in enumerate(file, 1) if line.rstrip().endswith(phrase)]
    return number


def test_fault_from_exception_names_type_text_and_place():
    def reward():
        raise ValueError("two\nlines")  # raise here

    outcome = fault_from(caught(reward))

    # The first frame is that of `caught`, in this file too.
    assert outcome == Outcome(
        None,
        "failed",
        f"raised ValueError: two lines ({__file__}:{line_of('# raise here')})",
        fault=True,
    )


def test_fault_from_exception_of_a_library_names_the_authors_line_and_the_librarys():
    import json

    def reward():
        json.loads("{")  # load here

    reason = fault_from(caught(reward)).reason

    assert f"({__file__}:{line_of('# load here')}, raised in " in reason
    assert "json/decoder.py:" in reason.replace("\\", "/")


def test_fault_from_exception_without_text_names_the_type():
    assert fault_from(KeyError()).reason == "raised KeyError"


def test_fault_from_exception_whose_text_raises_names_the_type():
    assert fault_from(NoText()).reason == "raised NoText"


def test_fault_from_long_text_is_cut_and_keeps_the_place():
    def reward():
        raise ValueError("x" * 1_000_000)

    reason = fault_from(caught(reward)).reason

    assert len(reason) < 700
    assert reason.endswith(")")


def test_fault_from_deep_recursion_is_short():
    def reward():
        reward()

    outcome = fault_from(caught(reward))

    assert outcome.reason.startswith("raised RecursionError: maximum recursion depth exceeded")
    assert len(outcome.reason) < 300
