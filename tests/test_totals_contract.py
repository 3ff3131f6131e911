"""From raw values to advantages, sentence by sentence; literals are worked out by hand.

| the design says | test |
|---|---|
| per cell, in this order: raw -> transform -> gate -> fill -> weight | `test_order_…` |
| transform: clip, rescale | `test_transform_…`, more in `test_totals.py` |
| gate: below the threshold the cell becomes `otherwise` | `test_gate_below_…` |
| `otherwise` defaults to the low end, 0 for [0, 1] | `test_gate_otherwise_…` |
| a missing gate makes the gated cell missing | `test_gate_missing_…` |
| fill: mean of the group's cells of the reward, present after the gate | `test_fill_is_…` |
| it keeps the group's baseline | `test_fill_keeps_…` |
| the std then covers the filled cells (1, 0, -, -) | `test_fill_std_…` |
| normalize_then_sum: the cell stays NaN; filling there flips signs | `test_normalize_then_sum_…` |
| a group without any value for a reward: cells stay NaN | `test_fill_group_without_…` |
| `"zero"` and `"drop"` exist | `test_missing_zero_…`, `test_missing_drop_…` |
| nothing scored = no present cell among rewards whose weight is not 0 | `test_nothing_scored_…` |
| weight: number or schedule over steps or share of the run | `test_weight_…` |
| weight NaN, inf: error; negative: warned once | `test_totals.py`, `test_composite.py` |
| `to_trl`: a weight multiplied into the value gives the same | `test_weight_multiplied_…` |
| a shadow is no column: a zero-weight column falsifies the others | `test_shadow_…` |
| `group_relative_advantages` | `test_advantages.py`, `training/test_against_trl.py` |
"""

from __future__ import annotations

import numpy as np
import pytest

from grpo_core.advantages import group_relative_advantages
from grpo_core.schedules import Schedule, weights_at
from grpo_core.totals import (
    Gate,
    Transform,
    effective_values,
    gated,
    transformed,
    weighted_total,
)

NAN = np.nan
UNIT = (0.0, 1.0)
AGGREGATES = ("sum_then_normalize", "normalize_then_sum")
SCALES = ("group", "batch", "none")


def table(*rows):
    return np.array(rows, dtype=np.float64)


def assert_same(actual, expected):
    """Equal bit for bit, NaN in the same places."""
    np.testing.assert_array_equal(actual, np.array(expected, dtype=np.float64), strict=True)


def combine(
    raw,
    weights,
    *,
    transforms=None,
    ranges=None,
    gates=None,
    columns=None,
    missing="neutral",
    group_size=4,
    aggregate="sum_then_normalize",
):
    """Effective values and weights of the columns that are part of the total."""
    k = raw.shape[1]
    values = transformed(raw, transforms or [None] * k, ranges or [UNIT] * k)
    values = gated(values, raw, gates or [None] * k).values
    columns = range(k) if columns is None else columns
    values, weights = values[:, columns], np.array(weights, dtype=np.float64)[columns]
    policies = [missing] * len(columns)
    return effective_values(values, weights, policies, group_size, aggregate), weights


def test_order_is_transform_gate_fill_weight():
    # format, in [0, 10], rescaled to [0, 1]; correct, clipped to [0, 8], rescaled to [0, 1].
    raw = table([10, 10], [10, 4], [0, 8], [10, NAN])

    effective, weights = combine(
        raw,
        [1, 2],
        ranges=[(0, 10), (0, 10)],
        transforms=[Transform(rescale=UNIT), Transform((0, 8), UNIT)],
        gates=[None, Gate({0: 5}, otherwise=0.3)],
    )

    # transform: 1, 0.5, 1, -; gate: 1, 0.5, 0.3, -; fill: (1 + 0.5 + 0.3) / 3 = 0.6; weight: x 2.
    # A gate before the transform would make 0.3 / 8 of row 3; one on the transformed format (1)
    # would close every row; a fill before the gate would be (1 + 0.5 + 1) / 3.
    np.testing.assert_allclose(effective, [[1, 1], [1, 0.5], [0, 0.3], [1, 0.6]], rtol=1e-12)
    np.testing.assert_allclose(weighted_total(effective, weights), [3, 2, 0.6, 2.2], rtol=1e-12)


def test_transform_clips_first():
    # Clip to [0, 50], then [0, 50] to [0, 1].
    transform = Transform(clip=(0, 50), rescale=UNIT)

    effective, _ = combine(
        table([-20], [10], [50], [90]), [1], transforms=[transform], ranges=[(-100, 100)]
    )

    assert_same(effective, [[0], [0.2], [1], [1]])


def test_gate_below_the_threshold_is_otherwise():
    raw = table([0.4, 1], [0.5, 1], [1, 1], [1, 0])

    effective, _ = combine(raw, [1, 1], gates=[None, Gate({0: 0.5}, otherwise=-0.5)])

    assert_same(effective[:, 1], [-0.5, 1, 1, 0])


@pytest.mark.parametrize(
    ("transform", "declared", "low"),
    [
        (Transform(), (0, 1), 0),
        (Transform(), (-1, 1), -1),
        (Transform(rescale=(-2, 2)), (0, 1), -2),
        (Transform(clip=(0.25, 1)), (0, 1), 0.25),
    ],
)
def test_gate_otherwise_defaults_to_the_low_end_after_the_transform(transform, declared, low):
    assert transform.range_after(declared)[0] == low
    assert Gate({0: 0.5}).otherwise == 0


def test_gate_missing_makes_the_cell_missing():
    raw = table([NAN, 1], [1, 1], [1, 0], [0, 1])

    effective, _ = combine(raw, [1, 1], gates=[None, Gate({0: 0.5})])

    # Reward 2 after the gate: -, 1, 0, 0, so row 1 has nothing of its own left.
    assert_same(effective, [[NAN, NAN], [1, 1], [1, 0], [0, 0]])


def test_gate_decides_before_the_cell_has_a_value():
    raw = table([0, NAN], [1, NAN], [1, 1], [1, 0])

    effective, _ = combine(raw, [1, 1], gates=[None, Gate({0: 0.5})])

    # Row 1 is closed and 0, though reward 2 gave nothing; row 2 is filled with (0 + 1 + 0) / 3.
    np.testing.assert_allclose(effective[:, 1], [0, 1 / 3, 1, 0], rtol=1e-12)


def test_fill_is_the_mean_of_the_cells_present_after_the_gate():
    raw = table([0, 1], [1, 1], [1, 0.5], [1, NAN])

    effective, _ = combine(raw, [1, 1], gates=[None, Gate({0: 0.5})])

    # After the gate 0, 1, 0.5: their mean is 0.5, where the raw one would be 0.8333.
    assert_same(effective[:, 1], [0, 1, 0.5, 0.5])


def test_fill_keeps_the_baseline_of_the_group():
    effective, weights = combine(table([1, 1], [0, 1], [NAN, 1], [NAN, 0]), [1, 1])

    # Means of the rewards alone: 0.5 and 0.75; totals 2, 1, 1.5, 0.5 have the mean 1.25.
    assert_same(weighted_total(effective, weights), [2, 1, 1.5, 0.5])


def test_fill_std_covers_the_filled_cells():
    alone, one = combine(table([1], [0], [NAN], [NAN]), [1])
    beside, two = combine(table([1, 1], [0, 1], [NAN, 1], [NAN, 1]), [1, 1])

    # std of two rows: sqrt(0.5); of four: sqrt(0.5 / 3) = 0.408248.
    np.testing.assert_allclose(
        group_relative_advantages(alone, one, 4),
        [0.5 / 0.7072068, -0.5 / 0.7072068, 0, 0],
        atol=1e-6,
    )
    np.testing.assert_allclose(
        group_relative_advantages(beside, two, 4),
        [0.5 / 0.4083483, -0.5 / 0.4083483, 0, 0],
        atol=1e-6,
    )


def test_normalize_then_sum_leaves_the_cell_since_a_fill_would_flip_signs():
    raw = table([1, 0], [0, 1], [NAN, 1], [NAN, 0])

    effective, weights = combine(raw, [1, 1], aggregate="normalize_then_sum")
    filled = np.where(np.isnan(effective), 0.5, effective)

    assert_same(effective, raw)
    # Row 1: 0.5 / 0.7071 - 0.5 / 0.5774 = -0.159; filled, 0.5 / 0.4082 - 0.5 / 0.5774 = +0.359.
    signs = [
        np.sign(group_relative_advantages(v, weights, 4, aggregate="normalize_then_sum")).tolist()
        for v in (effective, filled)
    ]
    assert signs == [[-1, 1, 1, -1], [1, -1, 1, -1]]


def test_fill_group_without_a_value_stays_nan():
    raw = table([NAN, 1], [NAN, 0], [1, 1], [NAN, 0])

    effective, _ = combine(raw, [1, 1], group_size=2)

    assert_same(effective, [[NAN, 1], [NAN, 0], [1, 1], [1, 0]])


def test_missing_zero_is_a_score():
    effective, weights = combine(table([1], [0.5], [NAN], [NAN]), [2], missing="zero")

    assert_same(weighted_total(effective, weights), [2, 1, 0, 0])


def test_missing_drop_takes_the_row_out_of_the_baseline():
    effective, weights = combine(
        table([1, 1], [0, 1], [NAN, 1], [NAN, 1]), [1, 1], missing="drop", aggregate=AGGREGATES[0]
    )

    assert_same(weighted_total(effective, weights), [2, 1, NAN, NAN])


def test_missing_drop_does_not_take_out_a_row_whose_gate_is_closed():
    raw = table([0, NAN], [1, 1], [1, NAN], [1, 0])

    effective, _ = combine(raw, [1, 1], gates=[None, Gate({0: 0.5})], missing="drop")

    assert_same(effective, [[0, 0], [1, 1], [NAN, NAN], [1, 0]])


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_nothing_scored_is_nan_in_every_column_and_out_of_the_baseline(aggregate):
    # The second reward's weight is 0 at this step.
    raw = table([1, 1], [0, 1], [NAN, 0], [NAN, 1])
    weights = weights_at([1.0, Schedule(0.0, 1.0, steps=10)], 0, None)

    effective, weights = combine(raw, weights, aggregate=aggregate)
    advantages = group_relative_advantages(effective, weights, 4, aggregate=aggregate)

    assert_same(effective, [[1, 1], [0, 1], [NAN, NAN], [NAN, NAN]])
    # Only rows 1 and 2 make mean and std: 0.5 / sqrt(0.5), with 1e-4 added once or twice.
    np.testing.assert_allclose(advantages, [0.707, -0.707, 0, 0], atol=2e-4)


def test_nothing_scored_ends_when_the_schedule_rises():
    raw = table([1, 1], [0, 1], [NAN, 0], [NAN, 1])
    weights = weights_at([1.0, Schedule(0.0, 1.0, steps=10)], 5, None)

    effective, weights = combine(raw, weights)

    # Fill 0.5, weight 0.5: 1 + 0.5, 0 + 0.5, 0.5 + 0, 0.5 + 0.5.
    assert_same(weighted_total(effective, weights), [1.5, 0.5, 0.5, 1.0])


def test_nothing_scored_because_a_gate_is_missing():
    raw = table([NAN, 1], [NAN, 0], [0.5, 1], [1, 1])

    effective, _ = combine(raw, [0, 1], gates=[None, Gate({0: 0.5})])

    assert_same(effective, [[NAN, NAN], [NAN, NAN], [0.5, 1], [1, 1]])


@pytest.mark.parametrize(
    ("weight", "totals"),
    [
        (0.25, [0.25, 0]),
        (-2.0, [-2, 0]),
        (Schedule(0.0, 0.1, steps=200), [0.05, 0]),  # step 100 of 200
        (Schedule(1.0, 0.0, share=0.5), [0.5, 0]),  # step 100 of half of 400
    ],
)
def test_weight_number_or_schedule(weight, totals):
    weights = weights_at([weight], 100, 400)

    effective, weights = combine(table([1], [0]), weights, group_size=2)

    np.testing.assert_allclose(weighted_total(effective, weights), totals, rtol=1e-12)


def test_weight_multiplied_into_the_value_gives_the_same_total():
    effective, weights = combine(table([1, 0], [0, 1], [NAN, 1], [NAN, 0]), [0.5, 0.25])

    # 0.5; 0.25; 0.5 * 0.5 + 0.25; 0.5 * 0.5.
    assert_same(weighted_total(effective, weights), [0.5, 0.25, 0.5, 0.25])
    assert_same(weighted_total(effective * weights, np.ones(2)), [0.5, 0.25, 0.5, 0.25])


def test_shadow_is_no_column():
    raw = table([1, 0.2], [0, 0.9], [NAN, 0.1], [NAN, 0.4])

    effective, weights = combine(raw, [1, 1], columns=[0])

    np.testing.assert_allclose(
        group_relative_advantages(effective, weights, 4), [0.707, -0.707, 0, 0], atol=1e-4
    )
    # As a column of weight 0 it makes zeros of rows 3 and 4: mean 0.25, std 0.5.
    np.testing.assert_allclose(
        group_relative_advantages(raw, np.array([1.0, 0.0]), 4),
        [1.4997, -0.4999, -0.4999, -0.4999],
        atol=1e-4,
    )


def test_shadow_can_be_a_gate():
    raw = table([1, 0.2], [1, 0.9], [1, NAN], [0.5, 0.9])

    effective, _ = combine(raw, [1, 1], gates=[Gate({1: 0.5}), None], columns=[0])

    assert_same(effective, [[0], [1], [NAN], [0.5]])


# Properties, on random tables whose sums are exact in float32


@pytest.fixture(params=range(20), ids="seed{}".format)
def rng(request):
    return np.random.default_rng(request.param)


def random_table(rng, n_rewards):
    """8 groups of 4, values in eighths; a fifth, a half or four fifths are missing."""
    values = rng.integers(0, 9, (32, n_rewards)) / 8
    values[rng.random(values.shape) < rng.choice([0.2, 0.5, 0.8])] = NAN
    return values


def random_weights(rng, n_rewards):
    return rng.choice([-0.5, 0.25, 1.0, 2.0], n_rewards)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("scale", SCALES)
def test_permutation_inside_groups_permutes_the_advantages(rng, scale, aggregate):
    raw, weights = random_table(rng, 3), random_weights(rng, 3)
    gates = [None, None, Gate({0: 0.5})]
    order = np.concatenate([4 * g + rng.permutation(4) for g in range(8)])

    def advantages(raw):
        effective, _ = combine(raw, weights, gates=gates, aggregate=aggregate)
        return group_relative_advantages(effective, weights, 4, scale, aggregate)

    np.testing.assert_allclose(advantages(raw[order]), advantages(raw)[order], atol=1e-4)


@pytest.mark.parametrize("scale", ["group", "none"])
def test_constant_added_to_one_ungated_reward_of_a_group_changes_nothing(rng, scale):
    raw, weights = random_table(rng, 3), random_weights(rng, 3)
    gates = [None, None, Gate({0: 0.5})]  # reward 1 neither is gated nor gates
    moved = raw.copy()
    group = 4 * rng.integers(8) + np.arange(4)
    moved[group, 1] += rng.integers(-4, 5)

    before, after = (
        group_relative_advantages(
            combine(r, weights, gates=gates)[0], weights, 4, scale, "sum_then_normalize"
        )
        for r in (raw, moved)
    )

    assert np.abs(before).max() > 0.01
    np.testing.assert_allclose(after, before, atol=2e-4)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("missing", ["neutral", "drop"])
def test_one_reward_missing_cell_never_changes_the_sign_of_a_scored_one(
    rng, missing, scale, aggregate
):
    raw = random_table(rng, 1)

    effective, weights = combine(raw, [1], missing=missing, aggregate=aggregate)
    advantages = group_relative_advantages(effective, weights, 4, scale, aggregate)

    signs = np.sign(advantages.round(5))
    for values, got in zip(raw.reshape(8, 4), signs.reshape(8, 4), strict=True):
        scored = ~np.isnan(values)
        if scored.any():  # as if the group had the scored rows only
            expected = np.sign((values[scored] - values[scored].mean()).round(5))
            np.testing.assert_array_equal(got[scored], expected)
        np.testing.assert_array_equal(got[~scored], 0)


def test_normalize_then_sum_missing_cell_leaves_the_normalised_values_of_its_reward(rng):
    raw = random_table(rng, 2)
    raw[:, 1] = rng.integers(0, 9, 32) / 8  # so that every row is scored

    effective, _ = combine(raw, [1, 1], aggregate="normalize_then_sum")

    for values, left in zip(raw[:, 0].reshape(8, 4), effective[:, 0].reshape(8, 4), strict=True):
        scored = ~np.isnan(values)
        if not scored.any():
            continue
        # One reward alone, scaled by group, is that reward normalised.
        normalised = group_relative_advantages(left[:, np.newaxis], np.ones(1), 4)
        alone = group_relative_advantages(
            values[scored][:, np.newaxis], np.ones(1), int(scored.sum())
        )
        np.testing.assert_allclose(normalised[scored], alone, atol=1e-5)
        np.testing.assert_array_equal(normalised[~scored], 0)
