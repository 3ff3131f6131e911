"""What an untagged function returns or raises becomes outcomes; its faults are named."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grpo_core.outcome import Outcome, Score, Skip
from grpo_core.scoring.trl_batch import TrlBatch
from grpo_core.scoring.trl_style import TrlFunction


def scored(function: Callable[..., Any]) -> list[Outcome]:
    """The outcomes of two rows."""
    rows = [{"answer": f"a{i}"} for i in range(2)]
    return TrlFunction(function, "f").score(TrlBatch(["p", "q"], ["c", "d"], rows))


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ([1, None], [1.0, None]),
        ((0.5, 2), [0.5, 2.0]),
        (np.array([0.5, 1.0], dtype=np.float32), [0.5, 1.0]),
        (np.array([[0.5], [1.0]]), [0.5, 1.0]),
        (iter([1.0, 0.0]), [1.0, 0.0]),
        ([True, False], [1.0, 0.0]),
        ([Score(0.5), Skip("n/a")], [0.5, None]),
        ([-1e30, 1e30], [-1e30, 1e30]),
    ],
)
def test_return_of_one_value_each_is_scored(returned, expected):
    outcomes = scored(lambda completions: returned)

    assert [o.value for o in outcomes] == expected
    assert not any(o.fault for o in outcomes)


def test_return_of_a_torch_tensor_is_scored():
    torch = pytest.importorskip("torch")

    assert [o.value for o in scored(lambda completions: torch.tensor([0.5, 1.0]))] == [0.5, 1.0]


def test_return_of_a_generator_function_is_scored():
    def f(completions):
        yield 1.0
        yield None

    assert [o.value for o in scored(f)] == [1.0, None]


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        (None, "returned NoneType for 2 completions"),
        ("10", "returned str for 2 completions"),
        (b"10", "returned bytes for 2 completions"),
        ({"a": 1, "b": 2}, "returned dict for 2 completions"),
        ({0.5, 1.0}, "returned set for 2 completions"),
        (1.0, "returned float for 2 completions; return a list with one number or None for each"),
        (np.float64(1.0), "returned float64 for 2 completions"),
        (np.array(1.0), "returned ndarray for 2 completions"),
        (Score(1.0), "returned Score for 2 completions"),
        ([1.0], "returned 1 values for 2 completions; return one for each, in order"),
        ([], "returned 0 values for 2 completions"),
        ([1.0] * 9, "returned 9 values for 2 completions"),
        (iter([1.0]), "returned 1 values for 2 completions"),
        (itertools.repeat(1.0), "returned more than 2 values for 2 completions"),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, str) else v[:24],
)
def test_return_of_anything_else_is_a_fault_in_every_row(returned, reason):
    outcomes = scored(lambda completions: returned)

    assert [o.fault for o in outcomes] == [True, True]
    assert outcomes[0].reason.startswith(reason)
    assert ".py:" not in outcomes[0].reason


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("1", "returned '1' of type str"),
        (float("nan"), "returned nan; a reward must be finite"),
        (float("-inf"), "returned -inf; a reward must be finite"),
        ([1.0, 2.0], "returned [1.0, 2.0] of type list"),
        (1e300, "returned 1e+300, which is no finite float32"),
    ],
)
def test_return_of_a_bad_value_is_the_fault_of_its_row(bad, reason):
    first, second = scored(lambda completions: [1.0, bad])

    assert first == Outcome(1.0)
    assert second.fault
    assert second.reason.startswith(reason)


def test_exception_is_a_fault_in_every_row_with_the_authors_line():
    def f(completions, answer):
        return [float(a) for a in answer]  # the line

    outcomes = scored(f)

    assert [o.fault for o in outcomes] == [True, True]
    with open(__file__, encoding="utf-8") as file:
        (line,) = [n for n, text in enumerate(file, 1) if text.endswith("# the line\n")]
    assert outcomes[0].reason == (
        f"raised ValueError: could not convert string to float: 'a0' ({__file__}:{line})"
    )


def test_exception_in_a_generator_is_a_fault():
    def f(completions):
        yield 1.0
        raise RuntimeError("late")

    outcomes = scored(f)

    assert outcomes[0].reason.startswith("raised RuntimeError: late (")


def test_exception_system_exit_is_a_fault():
    def f(completions):
        raise SystemExit(0)

    assert scored(f)[0].reason.startswith("raised SystemExit: 0")


def test_exception_keyboard_interrupt_passes():
    def f(completions):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scored(f)
