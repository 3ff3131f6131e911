from __future__ import annotations

import re

import numpy as np
import pytest

from grpo_core.errors import ConfigError
from grpo_core.totals import (
    Gate,
    Transform,
    effective_values,
    gated,
    transform_problems,
    transformed,
    weighted_total,
)

NAN = np.nan
AGGREGATES = ("sum_then_normalize", "normalize_then_sum")
MISSING = ("neutral", "zero", "drop")


@pytest.fixture(params=range(20), ids="seed{}".format)
def rng(request):
    return np.random.default_rng(request.param)


def table(*rows):
    return np.array(rows, dtype=np.float64)


def assert_same(actual, expected):
    """Equal bit for bit, NaN in the same places."""
    np.testing.assert_array_equal(actual, np.array(expected, dtype=np.float64), strict=True)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_effective_values_neutral_alone_leaves_unscored_rows_nan(aggregate):
    values = table([1], [0], [NAN], [NAN])

    effective = effective_values(values, np.ones(1), ["neutral"], 4, aggregate)

    assert_same(effective, [[1], [0], [NAN], [NAN]])


def test_effective_values_neutral_beside_scored_reward_fills_group_mean():
    values = table([1, 1], [0, 1], [NAN, 1], [NAN, 1])

    effective = effective_values(values, np.ones(2), ["neutral"] * 2, 4, "sum_then_normalize")

    # Mean of the present cells of reward 1: (1 + 0) / 2 = 0.5.
    assert_same(effective, [[1, 1], [0, 1], [0.5, 1], [0.5, 1]])


def test_effective_values_neutral_normalize_then_sum_leaves_cells_nan():
    values = table([1, 1], [0, 1], [NAN, 1], [NAN, 1])

    effective = effective_values(values, np.ones(2), ["neutral"] * 2, 4, "normalize_then_sum")

    assert_same(effective, values)


def test_effective_values_neutral_fills_from_own_group_only():
    values = table([1, 1], [NAN, 1], [0, 1], [NAN, 1])

    effective = effective_values(values, np.ones(2), ["neutral"] * 2, 2, "sum_then_normalize")

    assert_same(effective, [[1, 1], [1, 1], [0, 1], [0, 1]])


def test_effective_values_group_without_value_stays_nan():
    values = table([NAN, 1], [NAN, 0], [1, 1], [NAN, 0])

    effective = effective_values(values, np.ones(2), ["neutral"] * 2, 2, "sum_then_normalize")

    assert_same(effective, [[NAN, 1], [NAN, 0], [1, 1], [1, 0]])


def test_effective_values_neutral_equal_cells_fill_exactly_that_value():
    # 0.1 + 0.1 + 0.1 is 0.30000000000000004, and a third of that is not 0.1.
    values = table([0.1, 1], [0.1, 1], [0.1, 1], [NAN, 1])

    effective = effective_values(values, np.ones(2), ["neutral"] * 2, 4, "sum_then_normalize")

    assert effective[3, 0] == 0.1


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_effective_values_weight_zero_cannot_score_a_row(aggregate):
    values = table([1, 5], [0, 5], [NAN, 5], [1, 5])

    effective = effective_values(values, np.array([1.0, 0.0]), ["neutral"] * 2, 4, aggregate)

    assert_same(effective, [[1, 5], [0, 5], [NAN, NAN], [1, 5]])


def test_effective_values_negative_weight_scores_a_row():
    values = table([1, 5], [NAN, 5])

    effective = effective_values(
        values, np.array([0.0, -1.0]), ["neutral"] * 2, 2, "normalize_then_sum"
    )

    assert_same(effective, values)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_effective_values_zero_counts_as_a_score(aggregate):
    values = table([1], [0], [NAN], [NAN])

    effective = effective_values(values, np.ones(1), ["zero"], 4, aggregate)

    assert_same(effective, [[1], [0], [0], [0]])


def test_effective_values_zero_lets_other_cells_of_the_row_be_filled():
    values = table([1, 4], [0, 2], [NAN, NAN], [NAN, 3])

    effective = effective_values(values, np.ones(2), ["zero", "neutral"], 4, "sum_then_normalize")

    # Fill of reward 2: (4 + 2 + 3) / 3 = 3.
    assert_same(effective, [[1, 4], [0, 2], [0, 3], [0, 3]])


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_effective_values_drop_blanks_the_row(aggregate):
    values = table([1, 1], [0, 1], [NAN, 1], [1, 1])

    effective = effective_values(values, np.ones(2), ["drop", "neutral"], 4, aggregate)

    assert_same(effective, [[1, 1], [0, 1], [NAN, NAN], [1, 1]])


def test_effective_values_dropped_row_lends_nothing_to_the_fill():
    values = table([1, 2], [1, 4], [NAN, 90], [1, NAN])

    effective = effective_values(values, np.ones(2), ["drop", "neutral"], 4, "sum_then_normalize")

    # Fill of reward 2 from rows 1 and 2: (2 + 4) / 2 = 3, the mean of the rows that stay.
    assert_same(effective, [[1, 2], [1, 4], [NAN, NAN], [1, 3]])


def test_effective_values_drop_acts_at_weight_zero():
    values = table([1, 1], [1, NAN])

    effective = effective_values(
        values, np.array([1.0, 0.0]), ["neutral", "drop"], 2, "sum_then_normalize"
    )

    assert_same(effective, [[1, 1], [NAN, NAN]])


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_effective_values_all_weights_zero_keeps_values(aggregate):
    values = table([1, 2], [3, 4])

    effective = effective_values(values, np.zeros(2), ["neutral"] * 2, 2, aggregate)

    assert_same(effective, values)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("missing", MISSING)
def test_effective_values_full_table_is_unchanged_bit_for_bit(rng, missing, aggregate):
    values = rng.normal(size=(12, 3)) * 10.0 ** rng.integers(-300, 300, (12, 3))
    values[0, 0] = -0.0
    weights = rng.integers(-1, 2, 3).astype(np.float64)

    effective = effective_values(values, weights, [missing] * 3, 4, aggregate)

    assert effective.tobytes() == values.tobytes()
    assert not np.shares_memory(effective, values)


def random_holes(rng, shape=(24, 3)):
    values = rng.uniform(0, 100, shape)
    values[rng.random(shape) < rng.choice([0.1, 0.5, 0.9])] = NAN
    return values


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_effective_values_random_table_leaves_arguments_alone(rng, aggregate):
    values, weights = random_holes(rng), rng.normal(size=3)
    before = values.tobytes(), weights.tobytes()

    effective = effective_values(values, weights, list(MISSING), 4, aggregate)

    assert (values.tobytes(), weights.tobytes()) == before
    assert effective.shape == values.shape


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_effective_values_present_cells_keep_their_value_or_leave_with_the_row(rng, aggregate):
    values = random_holes(rng)

    effective = effective_values(values, rng.normal(size=3), list(MISSING), 4, aggregate)

    kept = ~np.isnan(effective).all(axis=1)
    present = ~np.isnan(values[kept])
    assert_same(effective[kept][present], values[kept][present])


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_effective_values_permuted_groups_permute_the_result(rng, aggregate):
    values, weights = random_holes(rng), rng.normal(size=3)
    order = (rng.permutation(6)[:, np.newaxis] * 4 + np.arange(4)).reshape(-1)

    straight = effective_values(values, weights, list(MISSING), 4, aggregate)
    permuted = effective_values(values[order], weights, list(MISSING), 4, aggregate)

    assert_same(permuted, straight[order])


def test_effective_values_neutral_fill_keeps_the_mean_of_every_reward(rng):
    values = random_holes(rng)
    values[:, 2] = 1.0  # so that every row is scored

    effective = effective_values(values, np.ones(3), ["neutral"] * 3, 4, "sum_then_normalize")

    for group, filled in zip(values.reshape(6, 4, 3), effective.reshape(6, 4, 3), strict=True):
        for column, full in zip(group.T, filled.T, strict=True):
            present = column[~np.isnan(column)]
            expected = np.full(4, present.mean()).mean() if len(present) else NAN
            assert full.mean() == pytest.approx(expected, nan_ok=True)


def test_weighted_total_sums_present_cells():
    values = table([1, 2], [NAN, 2], [1, NAN], [NAN, NAN])

    totals = weighted_total(values, np.array([0.5, -3.0]))

    # 0.5 * 1 - 3 * 2 = -5.5; -3 * 2 = -6; 0.5 * 1 = 0.5; no cell at all.
    assert_same(totals, [-5.5, -6.0, 0.5, NAN])


def test_weighted_total_weight_zero_alone_is_zero():
    totals = weighted_total(table([NAN, 7]), np.array([1.0, 0.0]))

    assert_same(totals, [0.0])


def test_weighted_total_of_design_example():
    values = table([1, 1], [0, 1], [0.5, 1], [0.5, 1])

    totals = weighted_total(values, np.ones(2))

    assert_same(totals, [2, 1, 1.5, 1.5])


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"values": np.ones(4)}, r"effective_values\.values: expected shape \(B, K\).* got \(4,\)"),
        ({"values": np.ones((4, 0))}, r"values: .*K at least 1; got \(4, 0\)"),
        ({"values": table([1, 1], [1, np.inf])}, r"values\[1, 1\]: .* got inf; clip the reward"),
        ({"weights": np.ones(3)}, r"weights: expected shape \(2,\).* got \(3,\)"),
        ({"weights": np.array([1, NAN])}, r"weights: expected finite numbers, got \[1.0, nan\]"),
        ({"weights": np.array([np.inf, 1])}, r"weights: expected finite numbers"),
        ({"group_size": 3}, r"group_size: expected a divisor of the 2 rows of values, got 3"),
        ({"group_size": 0}, r"group_size: .* got 0"),
        ({"missing": ["neutral"]}, r"missing: expected one policy for each of the 2 rewards"),
        ({"missing": ["neutral", "mean"]}, r"missing: expected 'neutral' or .* got 'mean'"),
        ({"aggregate": "sum"}, r"aggregate: expected 'sum_then_normalize' or .* got 'sum'"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_effective_values_bad_argument_raises(changes, text):
    arguments = {
        "values": np.ones((2, 2)),
        "weights": np.ones(2),
        "missing": ["neutral"] * 2,
        "group_size": 2,
        "aggregate": "sum_then_normalize",
    }

    with pytest.raises(ConfigError, match=text):
        effective_values(**{**arguments, **changes})


def test_weighted_total_bad_weights_raise():
    with pytest.raises(ConfigError, match=r"weighted_total\.weights: expected shape \(2,\)"):
        weighted_total(np.ones((2, 2)), np.ones(1))


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (None, [-5, 0, 3, 10, NAN]),
        (Transform(), [-5, 0, 3, 10, NAN]),
        (Transform(clip=(0, 4)), [0, 0, 3, 4, NAN]),
        # The range [-10, 10] becomes [0, 1]: (v + 10) / 20.
        (Transform(rescale=(0, 1)), [0.25, 0.5, 0.65, 1, NAN]),
        # The clip leaves [0, 4] of the range, which becomes [-1, 1]: v / 2 - 1.
        (Transform(clip=(0, 4), rescale=(-1, 1)), [-1, -1, 0.5, 1, NAN]),
        # It leaves [0, 10] of the range: v / 10.
        (Transform(clip=(0, 99), rescale=(0, 1)), [0, 0, 0.3, 1, NAN]),
    ],
)
def test_transformed_clips_then_rescales_the_range_that_is_left(transform, expected):
    raw = table([-5], [0], [3], [10], [NAN])

    values = transformed(raw, [transform], [(-10, 10)])

    np.testing.assert_allclose(values[:, 0], expected, rtol=1e-15)


def test_transformed_takes_each_reward_by_itself():
    raw = table([2, 2], [NAN, 5])

    values = transformed(raw, [Transform(clip=(0, 1)), None], [(0, 9), (0, 9)])

    assert_same(values, [[1, 2], [NAN, 5]])
    assert_same(raw, [[2, 2], [NAN, 5]])


def test_transformed_value_that_left_its_range_by_rounding_is_mapped_as_its_end():
    values = transformed(table([0.1 + 0.2]), [Transform(rescale=(0, 1))], [(0, 0.3)])

    assert_same(values, [[1.0]])


@pytest.mark.parametrize(
    ("transform", "after"),
    [
        (Transform(), (-10, 10)),
        (Transform(clip=(0, 99)), (0, 10)),
        (Transform(clip=(0, 99), rescale=(-1, 1)), (-1, 1)),
    ],
)
def test_transform_range_after(transform, after):
    assert transform.range_after((-10, 10)) == after


@pytest.mark.parametrize(
    ("transform", "declared", "text"),
    [
        (
            Transform(clip=(1, 0)),
            (0, 1),
            "t.clip: expected two finite numbers, the lower first, go",
        ),
        (Transform(clip=(0, NAN)), (0, 1), r"t.clip: .*got \[0, nan\]"),
        (
            Transform(rescale=(1, 0)),
            (0, 1),
            r"t.rescale: .*got \[1, 0\]; to turn a reward around give it a negative weight",
        ),
        (
            Transform(clip=(2, 3)),
            (0, 1),
            r"t.clip: every value becomes 2, since the reward's range is \[0, 1\]; expected a clip",
        ),
        (
            Transform(rescale=(0, 1)),
            (-3.4028234663852886e38, 3.4028234663852886e38),
            r"t.rescale: the reward declares no range .* add clip = \[low, high\], or declare one",
        ),
    ],
)
def test_transform_problems(transform, declared, text):
    [problem] = transform_problems(transform, declared, "t")

    assert re.match(text, str(problem))
    with pytest.raises(ConfigError, match=r"transformed.transforms\[0\]"):
        transformed(table([0]), [transform], [declared])


def test_transformed_unbounded_reward_can_be_clipped_and_rescaled():
    wide = (-3.4028234663852886e38, 3.4028234663852886e38)

    values = transformed(table([500], [9e9]), [Transform((0, 1000), (0, 1))], [wide])

    assert_same(values, [[0.5], [1.0]])


def test_gated_below_the_threshold_is_otherwise():
    raw = table([0.4, 1], [0.5, 1], [0.6, 1])

    gate = gated(raw, raw, [None, Gate({0: 0.5}, otherwise=-1)])

    assert_same(gate.values, [[0.4, -1], [0.5, 1], [0.6, 1]])
    assert gate.closed.tolist() == [[False, True], [False, False], [False, False]]


def test_gated_otherwise_is_zero_by_default():
    raw = table([0, 1])

    assert_same(gated(raw, raw, [None, Gate({0: 0.5})]).values, [[0, 0]])


def test_gated_missing_gate_makes_the_cell_missing():
    raw = table([NAN, 1])

    gate = gated(raw, raw, [None, Gate({0: 0.5})])

    assert_same(gate.values, [[NAN, NAN]])
    assert not gate.closed.any()


def test_gated_closed_gate_decides_though_the_cell_itself_is_missing():
    raw = table([0, NAN], [1, NAN])

    gate = gated(raw, raw, [None, Gate({0: 0.5}, otherwise=0.25)])

    assert_same(gate.values, [[0, 0.25], [1, NAN]])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(1, 1, 9), (1, 0, -1), (0, 1, -1), (0, NAN, -1), (NAN, 0, -1), (1, NAN, NAN), (NAN, 1, NAN)],
)
def test_gated_several_gates_must_all_be_open(first, second, expected):
    raw = table([first, second, 9])

    gate = gated(raw, raw, [None, None, Gate({0: 0.5, 1: 0.5}, otherwise=-1)])

    assert_same(gate.values[0, 2], expected)


def test_gated_threshold_is_compared_with_the_raw_value():
    raw = table([60, 1])
    values = transformed(raw, [Transform(rescale=(0, 1)), None], [(0, 100), (0, 1)])

    assert_same(gated(values, raw, [None, Gate({0: 50})]).values, [[0.6, 1]])


def test_gated_gate_does_not_look_at_a_gated_value():
    # Reward 1 is closed by reward 0 but gave 1 itself, which opens reward 2.
    raw = table([0, 1, 1])

    assert_same(gated(raw, raw, [None, Gate({0: 0.5}), Gate({1: 0.5})]).values, [[0, 0, 1]])


def test_gated_negative_threshold():
    raw = table([-2, 1], [-1, 1])

    assert_same(gated(raw, raw, [None, Gate({0: -1})]).values, [[-2, 0], [-1, 1]])


def test_gated_rounding_does_not_close_a_gate():
    raw = table([0.7 + 0.1, 1], [0.799, 1])  # the first is 0.7999999999999999

    assert_same(gated(raw, raw, [None, Gate({0: 0.8})]).values[:, 1], [1, 0])


def test_gated_leaves_its_arguments_alone(rng):
    raw = random_holes(rng)
    before = raw.tobytes()

    gated(raw, raw, [None, Gate({0: 50}), Gate({0: 20, 1: 50})])

    assert raw.tobytes() == before


@pytest.mark.parametrize(
    ("gates", "text"),
    [
        ([None], r"gated.gates: expected one gate for each of the 2 rewards, got \[None\]"),
        ([None, Gate({2: 1.0})], r"gates\[1\]: expected finite numbers and indices below 2, got"),
        ([None, Gate({0: NAN})], r"gates\[1\]: expected finite numbers"),
        ([None, Gate({0: 1.0}, np.inf)], r"gates\[1\]: expected finite numbers"),
    ],
)
def test_gated_bad_gate_raises(gates, text):
    with pytest.raises(ConfigError, match=text):
        gated(np.ones((1, 2)), np.ones((1, 2)), gates)


def test_transformed_wrong_number_raises():
    with pytest.raises(ConfigError, match="expected one transform for each of the 2 rewards"):
        transformed(np.ones((1, 2)), [None], [(0, 1), (0, 1)])
