"""Where the rows of a batch lie on several processes, and the table of all of them."""

import numpy as np

from grpo_core.outcome import Outcome
from grpo_core.spread import Spread, joined, rows_of
from grpo_core.table import ScoreTable


def table(values, n_cached=0):
    outcomes = [Outcome(v, reason=f"row {v:g}") for v in values]
    return ScoreTable.from_columns(
        ["a"], [outcomes], [[v / 10 for v in values]], len(values), [n_cached]
    )


def test_groups_of_four_on_two_processes_with_six_rows_each():
    spread = Spread(n_rows=6, group_size=4, world=2)

    assert spread.splits_groups
    assert [list(spread.held_by(r)) for r in (0, 1)] == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    # Groups are 0-3, 4-7 and 8-11; the second is that of process 1.
    assert spread.whole_groups_of(0) == [0, 1, 2, 3, 8, 9, 10, 11]
    assert spread.whole_groups_of(1) == [4, 5, 6, 7]


def test_more_processes_than_groups_leave_some_without():
    spread = Spread(n_rows=2, group_size=4, world=4)

    assert [spread.whole_groups_of(r) for r in range(4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [], []]


def test_whole_groups_on_each_process_are_not_split():
    assert not Spread(n_rows=8, group_size=4, world=3).splits_groups


def test_joined_tables_are_in_the_order_of_the_batch():
    whole = joined([table([0, 3], 1), table([1]), table([2])], [[0, 3], [1], [2]])

    assert whole.values[:, 0].tolist() == [0, 1, 2, 3]
    assert whole.seconds[:, 0].tolist() == [0.0, 0.1, 0.2, 0.3]
    assert [o.reason for o in whole.outcomes[0]] == ["row 0", "row 1", "row 2", "row 3"]
    assert whole.n_cached == (1,)


def test_joined_takes_a_process_without_rows():
    whole = joined([table([5, 6]), table([])], [[0, 1], []])

    assert whole.values[:, 0].tolist() == [5, 6]


def test_rows_of_a_table():
    part = rows_of(table([4, 5, 6, 7]), range(1, 3))

    np.testing.assert_array_equal(part.values[:, 0], [5, 6])
    assert [o.value for o in part.outcomes[0]] == [5, 6]
    assert part.seconds[:, 0].tolist() == [0.5, 0.6]
