from __future__ import annotations

import numpy as np
import pytest

from grpo_core.advantages import group_relative_advantages
from grpo_core.errors import ConfigError

NAN = np.nan
# A way of combining: scale, aggregate. The scale does nothing for the last.
GROUP = ("group", "sum_then_normalize")
BATCH = ("batch", "sum_then_normalize")
NONE = ("none", "sum_then_normalize")
GDPO = ("group", "normalize_then_sum")
COMBINATIONS = pytest.mark.parametrize(
    "combination", [GROUP, BATCH, NONE, GDPO], ids=["group", "batch", "none", "gdpo"]
)


@pytest.fixture(params=range(20), ids="seed{}".format)
def rng(request):
    return np.random.default_rng(request.param)


def table(*rows):
    return np.array(rows, dtype=np.float64)


@pytest.mark.parametrize(
    ("combination", "expected"),
    [
        # Totals 1, 0; mean 0.5; std sqrt((0.25 + 0.25) / 1) = 0.7071068.
        # 0.5 / (0.7071068 + 0.0001) = 0.7070068
        (GROUP, 0.7070068),
        (BATCH, 0.7070068),  # the batch is the group
        (NONE, 0.5),
        # Normalized 0.7070068, -0.7070068; std over the batch 0.7070068 * sqrt(2) = 0.9998586.
        # 0.7070068 / (0.9998586 + 0.0001) = 0.7070361
        (GDPO, 0.7070361),
    ],
    ids=["group", "batch", "none", "gdpo"],
)
def test_advantages_two_of_four_scored(combination, expected):
    values = table([1], [0], [NAN], [NAN])

    advantages = group_relative_advantages(values, np.ones(1), 4, *combination)

    assert advantages == pytest.approx([expected, -expected, 0, 0], abs=1e-6)


@pytest.mark.parametrize(
    ("combination", "expected"),
    [
        # Totals 2, 1, 1.5, 1.5 and 2, 2, 1, 1; both groups have mean 1.5.
        # Std of group 1: sqrt((0.25 + 0.25) / 3) = 0.4082483; 0.5 / 0.4083483 = 1.2244449
        # Std of group 2: sqrt(4 * 0.25 / 3) = 0.5773503; 0.5 / 0.5774503 = 0.8658755
        (
            GROUP,
            [1.2244449, -1.2244449, 0, 0, 0.8658755, 0.8658755, -0.8658755, -0.8658755],
        ),
        # Std of the batch: sqrt(6 * 0.25 / 7) = 0.4629100; 0.5 / 0.4630100 = 1.0798903
        (
            BATCH,
            [1.0798903, -1.0798903, 0, 0, 1.0798903, 1.0798903, -1.0798903, -1.0798903],
        ),
        (NONE, [0.5, -0.5, 0, 0, 0.5, 0.5, -0.5, -0.5]),
    ],
    ids=["group", "batch", "none"],
)
def test_advantages_filled_beside_a_reward_that_scored_all(combination, expected):
    values = table([1, 1], [0, 1], [0.5, 1], [0.5, 1], [1, 1], [1, 1], [0, 1], [0, 1])

    advantages = group_relative_advantages(values, np.ones(2), 4, *combination)

    assert advantages == pytest.approx(expected, abs=1e-6)


def test_advantages_normalize_then_sum_missing_cell_is_neutral():
    values = table([1, 1], [0, 1], [NAN, 1], [NAN, 1])

    advantages = group_relative_advantages(values, np.ones(2), 4, *GDPO)

    # Reward 1: 0.7070068, -0.7070068, none, none. Reward 2 does not differ: 0 for all.
    # Sums 0.7070068, -0.7070068, 0, 0; std 0.7070068 * sqrt(2 / 3) = 0.5772687.
    # 0.7070068 / (0.5772687 + 0.0001) = 1.2245325
    assert advantages == pytest.approx([1.2245325, -1.2245325, 0, 0], abs=1e-6)


def test_advantages_normalize_then_sum_gives_scales_equal_say():
    # Reward 2 is reward 1 turned around and a hundred times as large.
    values = table([1, 0], [0, 100], [1, 100], [0, 0])

    advantages = group_relative_advantages(values, np.ones(2), 4, *GDPO)

    # Reward 1: 0.5 / (0.5773503 + 0.0001) = 0.8658755 up, down, up, down.
    # Reward 2: 50 / (57.7350269 + 0.0001) = 0.8660239 down, up, up, down.
    # Sums -0.0001484, 0.0001484, 1.7318994, -1.7318994; mean 0.
    # Std sqrt(2 * 1.7318994^2 / 3) = 1.4140899; 1.7318994 / 1.4141899 = 1.2246583
    assert advantages == pytest.approx([-0.0001049, 0.0001049, 1.2246583, -1.2246583], abs=1e-6)


def test_advantages_weights_multiply_values():
    values = table([1, 0], [0, 1])

    advantages = group_relative_advantages(values, np.array([3.0, -1.0]), 2, *NONE)

    # Totals 3, -1; mean 1.
    assert advantages == pytest.approx([2, -2])


def test_advantages_cell_missing_adds_nothing_to_the_total():
    values = table([1, NAN], [1, 1])

    advantages = group_relative_advantages(values, np.ones(2), 2, *NONE)

    # Totals 1, 2; mean 1.5.
    assert advantages == pytest.approx([-0.5, 0.5])


@COMBINATIONS
def test_advantages_constant_groups_are_zero(combination):
    values = table([1], [1], [1], [1], [0], [0], [0], [0])

    advantages = group_relative_advantages(values, np.ones(1), 4, *combination)

    assert advantages.tolist() == [0] * 8


def test_advantages_constant_group_keeps_rounding_noise_of_trl():
    values = np.full((8, 1), 0.7)

    advantages = group_relative_advantages(values, np.ones(1), 8)

    # In float32 the sum of eight rounds and the mean misses 0.7 by an ulp, 2^-24 = 5.96e-8.
    # The std is that ulp times sqrt(8 / 7): 6.37e-8. 5.96e-8 / (6.37e-8 + 1e-4) = 5.957e-4
    assert abs(advantages) == pytest.approx([5.957e-4] * 8, abs=1e-6)


@COMBINATIONS
def test_advantages_one_scored_row_per_group_is_zero(combination):
    values = table([0.7], [NAN], [NAN], [0.1])

    advantages = group_relative_advantages(values, np.ones(1), 2, *combination)

    assert advantages.tolist() == [0, 0, 0, 0]


@COMBINATIONS
def test_advantages_nothing_scored_is_zero(combination):
    advantages = group_relative_advantages(np.full((4, 2), NAN), np.ones(2), 2, *combination)

    assert advantages.tolist() == [0, 0, 0, 0]


@COMBINATIONS
@pytest.mark.parametrize("n_prompts", [1, 3])
def test_advantages_group_of_one_is_zero(combination, n_prompts):
    values = np.arange(n_prompts, dtype=np.float64).reshape(-1, 1)

    advantages = group_relative_advantages(values, np.ones(1), 1, *combination)

    assert advantages.tolist() == [0] * n_prompts


@COMBINATIONS
def test_advantages_no_rows_is_empty(combination):
    advantages = group_relative_advantages(np.zeros((0, 2)), np.ones(2), 4, *combination)

    assert advantages.shape == (0,)


def random_holes(rng):
    values = rng.uniform(0, 10, (24, 3))
    values[rng.random(values.shape) < rng.choice([0.0, 0.3, 0.6])] = NAN
    return values


@COMBINATIONS
def test_advantages_random_table_leaves_arguments_alone(rng, combination):
    values, weights = random_holes(rng), rng.normal(size=3)
    before = values.tobytes(), weights.tobytes()

    advantages = group_relative_advantages(values, weights, 4, *combination)

    assert (values.tobytes(), weights.tobytes()) == before
    assert (advantages.shape, advantages.dtype) == ((24,), np.float64)
    assert np.isfinite(advantages).all()


@COMBINATIONS
def test_advantages_permuted_groups_permute_the_result(rng, combination):
    values, weights = random_holes(rng), rng.normal(size=3)
    order = (rng.permutation(6)[:, np.newaxis] * 4 + np.arange(4)).reshape(-1)

    straight = group_relative_advantages(values, weights, 4, *combination)
    permuted = group_relative_advantages(values[order], weights, 4, *combination)

    assert permuted == pytest.approx(straight[order], abs=1e-5)


@COMBINATIONS
def test_advantages_permuted_rows_of_a_group_permute_the_result(rng, combination):
    values, weights = rng.uniform(0, 10, (8, 3)), rng.normal(size=3)
    order = rng.permutation(8)

    straight = group_relative_advantages(values, weights, 8, *combination)
    permuted = group_relative_advantages(values[order], weights, 8, *combination)

    assert permuted == pytest.approx(straight[order], abs=1e-5)


@pytest.mark.parametrize("combination", [GROUP, BATCH, NONE], ids=["group", "batch", "none"])
def test_advantages_sum_to_zero_in_each_group(rng, combination):
    advantages = group_relative_advantages(random_holes(rng), rng.normal(size=3), 4, *combination)

    assert advantages.reshape(6, 4).sum(axis=1) == pytest.approx(np.zeros(6), abs=1e-4)


@COMBINATIONS
def test_advantages_unscored_row_has_no_say(rng, combination):
    values, weights = rng.uniform(0, 10, (4, 3)), rng.normal(size=3)
    with_unscored = np.insert(values, [2, 3, 3, 4], NAN, axis=0)  # rows 2, 4, 5, 7 are unscored

    alone = group_relative_advantages(values, weights, 4, *combination)
    advantages = group_relative_advantages(with_unscored, weights, 8, *combination)

    assert advantages[[0, 1, 3, 6]] == pytest.approx(alone, abs=1e-5)
    assert advantages[[2, 4, 5, 7]].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"values": np.ones(4)}, r"advantages\.values: expected shape \(B, K\).* got \(4,\)"),
        ({"values": np.ones((4, 0))}, r"values: .*K at least 1; got \(4, 0\)"),
        ({"values": table([1, 1], [1, -np.inf])}, r"values\[1, 1\]: .* got -inf; clip the reward"),
        ({"values": table([1, 1], [1e39, 1])}, r"values\[1, 0\]: .* within 3.4e\+38, got 1e\+39"),
        ({"weights": np.ones(3)}, r"weights: expected shape \(2,\).* got \[1.0, 1.0, 1.0\]"),
        ({"weights": np.array([1, NAN])}, r"weights: .* got \[1.0, nan\]; use 0 to switch"),
        ({"weights": np.array([np.inf, 1])}, r"weights: .* got \[inf, 1.0\]"),
        ({"group_size": 3}, r"group_size: expected a divisor of the 2 rows of values, got 3"),
        ({"group_size": 0}, r"group_size: .* got 0"),
        ({"scale": "std"}, r"scale: expected 'group', 'batch' or 'none', got 'std'"),
        ({"aggregate": "sum"}, r"aggregate: expected one of sum_then_normalize.* got 'sum'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_advantages_bad_argument_raises(changes, text):
    arguments = {"values": np.ones((2, 2)), "weights": np.ones(2), "group_size": 2}

    with pytest.raises(ConfigError, match=text):
        group_relative_advantages(**{**arguments, **changes})


def test_advantages_several_bad_arguments_are_reported_together():
    with pytest.raises(ConfigError) as caught:
        group_relative_advantages(np.ones((3, 1)), np.array([NAN]), 2, "std", "sum")

    assert len(caught.value.problems) == 4
