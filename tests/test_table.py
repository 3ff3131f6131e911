"""`ScoreTable`: values, shares and faults of B x K cells."""

import numpy as np

from grpo_core.outcome import Outcome
from grpo_core.table import ScoreTable

ONE, HALF = Outcome(1.0), Outcome(0.5)
SKIPPED = Outcome(None, "skipped")
FAILED = Outcome(None, "failed", "gold is broken")
FAULT = Outcome(None, "failed", "raised", fault=True)


def table() -> ScoreTable:
    """Two rewards on three completions."""
    return ScoreTable.from_columns(
        ["a", "b"],
        [[ONE, SKIPPED, FAULT], [HALF, FAILED, FAULT]],
        [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]],
        3,
    )


def test_from_columns_values_have_a_row_per_completion():
    nan = np.nan

    np.testing.assert_array_equal(table().values, [[1.0, 0.5], [nan, nan], [nan, nan]])


def test_from_columns_seconds_have_a_row_per_completion():
    np.testing.assert_array_equal(table().seconds, [[0.1, 0.4], [0.2, 0.5], [0.3, 0.6]])


def test_from_columns_no_rows_keeps_the_columns():
    empty = ScoreTable.from_columns(["a", "b"], [[], []], [[], []], 0)

    assert empty.values.shape == (0, 2)
    assert empty.n_rows == 0
    assert empty.faults() == []


def test_share_counts_the_status():
    assert table().share(0, "scored") == 1 / 3
    assert table().share(1, "failed") == 2 / 3
    assert table().share(0, "timed_out") == 0.0


def test_share_without_rows_is_zero():
    assert ScoreTable.from_columns(["a"], [[]], [[]], 0).share(0, "scored") == 0.0


def test_faults_are_named_by_reward_and_row():
    assert table().faults() == [("a", 2, FAULT), ("b", 2, FAULT)]
