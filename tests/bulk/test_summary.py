"""Running statistics: worked out by hand, whatever the chunks."""

import json

import numpy as np
import pytest

from grpo_core.bulk.summary import RewardTally, Tally, bars
from grpo_core.outcome import Outcome


def tally_of(*chunks, low=None, high=None):
    tally = Tally(low, high)
    for chunk in chunks:
        tally.add(np.array(chunk, dtype=float))
    return tally


def test_mean_std_and_extremes_do_not_depend_on_the_chunks():
    for chunks in ([[2, 4, 4, 4, 5, 5, 7, 9]], [[2], [4, 4, 4], [], [5, 5, 7, 9]]):
        shown = tally_of(*chunks).shown()

        assert (shown["mean"], shown["min"], shown["max"]) == (5.0, 2.0, 9.0)
        assert shown["std"] == pytest.approx(2.0, abs=1e-12)


def test_large_numbers_lose_no_difference():
    assert tally_of([1e9, 1e9 + 1], [1e9, 1e9 + 1]).shown()["std"] == pytest.approx(0.5)


def test_missing_values_are_none():
    nan = float("nan")

    assert tally_of([nan, 1.0, nan], [3.0]).shown()["mean"] == 2.0
    assert tally_of([nan]).shown() == {
        "mean": None, "std": None, "min": None, "max": None, "histogram": None,
    }  # fmt: skip


def test_histogram_over_a_declared_range():
    counts = tally_of([0.0, 0.049, 0.05, 1.0], low=0.0, high=1.0).shown()["histogram"]["counts"]

    assert counts == [2, 1] + [0] * 17 + [1]


def test_histogram_without_a_range_widens():
    histogram = tally_of([0.0, 1.0], [-3.0], [3.0]).shown()["histogram"]

    assert (histogram["low"], histogram["high"], sum(histogram["counts"])) == (-3.0, 3.0, 4)
    assert [i for i, c in enumerate(histogram["counts"]) if c] == [0, 10, 13, 19]


def test_histogram_of_one_value():
    assert tally_of([0.3, 0.3], [0.3]).shown()["histogram"] == {
        "low": 0.3, "high": 0.3, "counts": [3] + [0] * 19,
    }  # fmt: skip


def test_bars_show_every_bin_that_holds_something():
    histogram = {"low": 0.0, "high": 1.0, "counts": [1000, 1, 0, 500]}

    assert bars(histogram) == "0 █▂▁▅ 1"
    assert bars(None) == "-"


def test_reward_counts_and_goes_on_from_its_state_as_json():
    first, second = RewardTally(0.0, 1.0), RewardTally(0.0, 1.0)
    outcomes = [Outcome(1.0), Outcome(None, "skipped"), Outcome(None, "failed", "x", fault=True)]
    values = np.array([1.0, np.nan, np.nan])

    assert first.add(outcomes, values, 0.3) == 2
    second.restore(json.loads(json.dumps(first.state(), allow_nan=False)))
    second.add([Outcome(0.0)], np.array([0.0]), 0.1)

    shown = second.shown()
    assert (shown["mean"], shown["coverage"], shown["faults"]) == (0.5, 0.5, 1)
    assert (shown["scored"], shown["skipped"], shown["failed"]) == (2, 1, 1)
    assert shown["seconds_per_row"] == pytest.approx(0.1)


def test_state_without_values_is_json():
    state = json.dumps(RewardTally(None, None).state(), allow_nan=False)

    RewardTally(None, None).restore(json.loads(state))
