"""`told`: which rows a fault is said of."""

import pytest

from grpo_core.outcome import Outcome
from grpo_core.scoring.told import told

SAME = [Outcome(None, "failed", "no gold")] * 9


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([0, 1, 2, 3], "rows 0 to 3"),
        ([4, 5], "rows 4 to 5"),
        ([2, 5, 8], "rows 2, 5, 8"),
        ([0, 2, 5, 8], "rows 0, 2, 5, …"),
        ([7], "row 7"),
    ],
)
def test_rows_of_one_reason_are_those_that_have_it(rows, said):
    text = told("'judge' (mine)", SAME, rows)

    assert text == (
        f"reward 'judge' (mine) failed on {len(rows)} of 9 completions:\n  {said}: no gold"
    )


def test_rows_of_several_reasons_are_three():
    outcomes = [Outcome(None, "failed", f"no {i}") for i in range(5)]

    assert told("'judge'", outcomes, range(5)).splitlines()[1:] == [
        "  row 0: no 0",
        "  row 1: no 1",
        "  row 2: no 2",
    ]
