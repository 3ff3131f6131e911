"""What each reward adds to an advantage, and its share of the variance."""

import numpy as np
import pytest

from grpo_core.advantages import group_relative_advantages
from grpo_core.replay.shares import parts_of_advantages, shares

NAN = np.nan
COMBINATIONS = [
    ("group", "sum_then_normalize"),
    ("batch", "sum_then_normalize"),
    ("none", "sum_then_normalize"),
    ("group", "normalize_then_sum"),
]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("scale", "aggregate"), COMBINATIONS)
def test_parts_add_up_to_the_advantage(scale, aggregate, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(12, 3))
    # As the trainer is handed them: a missing cell is filled, or nothing of its group or row is.
    if aggregate == "normalize_then_sum":
        values[rng.random(values.shape) < 0.2] = NAN
    else:
        values[rng.random(12) < 0.2] = NAN
        values[4:8, 1] = NAN
    weights = rng.normal(size=3)

    parts = parts_of_advantages(values, weights, 4, scale, aggregate)

    expected = group_relative_advantages(values, weights, 4, scale, aggregate)
    np.testing.assert_allclose(parts.sum(axis=1), expected, atol=2e-4)


def test_parts_by_hand():
    # Two rewards, one group of two, weights 1 and 2: totals 1 and 2, mean 1.5.
    values = np.array([[1.0, 0.0], [0.0, 1.0]])

    parts = parts_of_advantages(values, np.array([1.0, 2.0]), 2, "none", "sum_then_normalize")

    np.testing.assert_allclose(parts, [[0.5, -1.0], [-0.5, 1.0]])
    # Advantages -0.5 and 0.5: covariances -0.5 and 1.0, variance 0.5.
    np.testing.assert_allclose(shares(parts), [-1.0, 2.0])


def test_reward_without_a_difference_decides_nothing():
    values = np.array([[0.3, 0.0], [0.3, 1.0]])

    parts = parts_of_advantages(values, np.ones(2), 2, "group", "sum_then_normalize")

    np.testing.assert_allclose(shares(parts), [0.0, 1.0])


def test_where_no_advantage_is_nothing_decides():
    parts = parts_of_advantages(np.ones((4, 2)), np.ones(2), 2, "group", "sum_then_normalize")

    assert np.isnan(shares(parts)).all()
