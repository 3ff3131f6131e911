from __future__ import annotations

import numpy as np
import pytest

from grpo_core.advantages import group_relative_advantages
from grpo_core.causes import cause_of_silence, no_signal
from grpo_core.outcome import Outcome
from grpo_core.table import ScoreTable
from grpo_core.totals import Gate, Transform, effective_values, gated, transformed

NAN = np.nan
SUM, NORMALIZE = "sum_then_normalize", "normalize_then_sum"
NONE = Outcome(None, "skipped")


def table(*rows):
    return np.array(rows, dtype=np.float64)


def outcomes(*cells):
    """Outcomes of values; what is an outcome already stays."""
    return [cell if isinstance(cell, Outcome) else Outcome(float(cell)) for cell in cells]


def cause(
    columns,
    *,
    weights=None,
    transforms=None,
    gates=None,
    missing="neutral",
    shadows=(),
    texts=None,
    truncated=None,
    group_size=4,
    aggregate=SUM,
    **further,
):
    """What is said of outcomes by reward, after transforms, gates and fill."""
    names, k = tuple(columns), len(columns)
    scores = ScoreTable.from_columns(
        names,
        list(columns.values()),
        [[0.0] * len(c) for c in columns.values()],
        len(columns[names[0]]),
    )
    values = transformed(scores.values, transforms or [None] * k, [(0, 1)] * k)
    values, closed = gated(values, scores.values, gates or [None] * k)
    total = [i for i, name in enumerate(names) if name not in shadows]
    weights = np.array(weights or [1.0] * len(total))
    effective = effective_values(
        values[:, total], weights, [missing] * len(total), group_size, aggregate
    )
    return cause_of_silence(
        scores,
        effective,
        weights,
        group_size,
        closed=closed,
        truncated=truncated or [False] * scores.n_rows,
        texts=texts or [f"text {i}" for i in range(scores.n_rows)],
        gates=gates,
        columns=total,
        aggregate=aggregate,
        **further,
    )


# The share of groups that cannot teach


@pytest.mark.parametrize("aggregate", [SUM, NORMALIZE])
@pytest.mark.parametrize(
    ("values", "share"),
    [
        # TRL's frac_reward_zero_std is 0.0 here, as a std of nothing is not 0.
        (table([NAN], [NAN], [NAN], [NAN]), 1.0),
        (table([1], [1], [0], [0]), 1.0),
        (table([1], [0], [NAN], [NAN]), 0.5),
        (table([1], [NAN], [0], [NAN]), 1.0),
        (table([1], [0], [0], [1]), 0.0),
        (table([0.1 + 0.2], [0.3], [1e6], [1e6 + 0.1]), 1.0),
    ],
    ids=["all missing", "constant", "half", "one a group", "none", "rounding"],
)
def test_no_signal_of_one_reward(values, share, aggregate):
    assert no_signal(values, np.ones(1), 2, aggregate) == share


@pytest.mark.parametrize(("aggregate", "share"), [(SUM, 1.0), (NORMALIZE, 0.0)])
def test_no_signal_looks_at_what_the_trainer_adds(aggregate, share):
    # 1 + 2 * 0 and 0 + 2 * 0.5 are alike; scaled to one std, 0.7 - 2 * 0.7 and its opposite.
    values = table([1, 0], [0, 0.5])

    assert no_signal(values, np.array([1.0, 2.0]), 2, aggregate) == share


def test_no_signal_normalised_rewards_of_another_spread_do_not_cancel():
    # TRL adds 1e-4 to each std, which leaves a difference of 1e-4; scaling by the batch makes 0.4
    # of it: 0.95e-4 / (1.34e-4 + 1e-4).
    values, weights = table([20, 0], [0, 1]), np.ones(2)

    assert group_relative_advantages(values, weights, 2, aggregate=NORMALIZE)[0] > 0.4
    assert no_signal(values, weights, 2, NORMALIZE) == 0.0


@pytest.mark.parametrize("aggregate", [SUM, NORMALIZE])
def test_no_signal_weights_count(aggregate):
    values = table([1, 0], [0, 1])

    assert no_signal(values, np.array([1.0, 1.0]), 2, aggregate) == 1.0
    assert no_signal(values, np.array([1.0, 0.5]), 2, aggregate) == 0.0
    assert no_signal(values, np.array([0.0, 0.0]), 2, aggregate) == 1.0


def test_no_signal_completions_that_are_left_out_of_the_loss_teach_nothing():
    values = table([1], [0], [1], [0], [0], [0])

    assert no_signal(values, np.ones(1), 2, SUM, [True, True, True, False, False, False]) == 2 / 3


# The cause


def test_cause_none_if_a_group_can_teach():
    assert cause({"a": outcomes(0, 0, 0, 0, 0, 0, 0, 1)}) is None


def test_cause_none_for_groups_of_one():
    assert cause({"a": outcomes(0, 0)}, group_size=1) is None


def test_cause_constant_names_reward_columns_and_three_rows():
    said = cause(
        {"correct": outcomes(*[0] * 8)},
        texts=["x" * 70, "a\nb", *"cdefgh"],
        inputs={"correct": ["answer", "unit"]},
    )

    assert said == (
        "nothing can be learnt from this batch of 8 completions: reward 'correct' gave 0 on all "
        "rows: does it read the right column? It reads 'answer', 'unit'\n"
        f"  row 0: 0, '{'x' * 60}…'\n"
        "  row 1: 0, 'a\\nb'\n"
        "  row 2: 0, 'c'"
    )


def test_cause_constant_without_columns():
    said = cause({"brief": outcomes(0.25, NONE, 0.25, 0.25)})

    assert (
        "reward 'brief' gave 0.25 on 3 of the 4 rows: are the completions in the form that it "
        "expects?\n" in said
    )


def test_cause_same_text_comes_before_the_wrong_column():
    said = cause({"a": outcomes(*[1] * 8)}, texts=["x"] * 4 + ["y"] * 4, inputs={"a": ["answer"]})

    assert "the completions of each group are the same text; raise the temperature" in said
    assert "column" not in said


def test_cause_differs_between_groups_only():
    said = cause({"a": outcomes(0, 0, 0, 0, 1, 1, 1, 1)})

    assert "reward 'a' gave 0 to 1, but the same within each group: too easy or too hard" in said


@pytest.mark.parametrize(
    ("outcome", "did"),
    [
        (Outcome(None, "skipped", "input 'answer' is None"), "skipped"),
        (Outcome(None, "skipped", "needs token_ids"), "skipped"),
        (Outcome(None, "failed", "ValueError: no gold", fault=True), "failed on"),
        (Outcome(None, "timed_out", "over 2 s"), "timed out on"),
        (Outcome(0.0, "timed_out", "over 2 s"), "timed out on"),  # took the low end
    ],
    ids=["skipped", "needs", "failed", "timed out", "timed out, low end"],
)
def test_cause_without_a_value_gives_the_reason(outcome, did):
    said = cause({"a": [outcome] * 4})

    assert said.startswith(
        "nothing can be learnt from this batch of 4 completions: reward 'a' "
        f"{did} all of the 4 rows: {outcome.reason}\n  row 0: "
    )
    assert said.count("\n") == 3


def test_cause_skipped_without_a_reason():
    said = cause({"a": [NONE] * 4})

    assert "skipped all of the 4 rows: it returned None\n  row 0: skipped, 'text 0'\n" in said


def test_cause_without_a_value_gives_the_commonest_reason():
    failed = Outcome(None, "failed", "service down")
    said = cause({"a": [NONE, failed, failed, Outcome(None, "failed", "bad gold")]})

    assert "failed on 3 of the 4 rows and skipped 1 of the 4 rows: service down\n" in said
    assert "  row 1: failed (service down), 'text 1'\n" in said


def test_cause_one_value_a_group():
    said = cause({"a": outcomes(0.1, NONE, NONE, NONE, 0.9, NONE, NONE, NONE)})

    assert "gave 0.1 to 0.9, to one row of a group at most: it returned None\n  row 0: 0.1" in said
    assert "  row 4: 0.9, 'text 4'" in said


def test_cause_gate_names_threshold_and_highest_value():
    said = cause(
        {"format": outcomes(0, 0.2, 0.3, 0.1), "correct": outcomes(0, 1, 0, 1)},
        gates=[None, Gate({0: 0.5})],
        shadows=["format"],
    )

    assert said == (
        "nothing can be learnt from this batch of 4 completions: reward 'correct' has a gate that "
        "never opens: 'format' gave at most 0.3, required is 0.5\n"
        "  row 0: 0, gate closed by 'format' 0, 'text 0'\n"
        "  row 1: 1, gate closed by 'format' 0.2, 'text 1'\n"
        "  row 2: 0, gate closed by 'format' 0.3, 'text 2'"
    )


def test_cause_gate_without_a_value():
    said = cause(
        {"judge": [Outcome(None, "failed", "down")] * 4, "correct": outcomes(0, 1, 0, 1)},
        gates=[None, Gate({0: 0.5})],
    )

    assert "reward 'judge' failed on all of the 4 rows: down" in said
    assert "'correct' has a gate that never opens: 'judge' gave no value, required is 0.5" in said


def test_cause_gates_that_open_on_different_rows():
    said = cause(
        {"a": outcomes(0, 1, 0, 1), "b": outcomes(1, 0, 1, 0), "c": outcomes(0, 1, 0, 1)},
        gates=[None, None, Gate({0: 0.5, 1: 0.7})],
        shadows=["a", "b"],
    )

    assert (
        "'a' gave at most 1, required is 0.5; 'b' gave at most 1, required is 0.7, but not on the "
        "same row\n" in said
    )


def test_cause_gate_that_takes_the_difference():
    said = cause(
        {"a": outcomes(0, 0, 0, 1), "b": outcomes(0, 1, 1, 0)},
        gates=[None, Gate({0: 0.5})],
        shadows=["a"],
    )

    assert (
        "'b' gave 0 on all rows, though its raw values are 0 to 1: its gate is not open on " in said
    )


def test_cause_missing_gate_that_takes_the_difference():
    said = cause(
        {"a": outcomes(1, NONE, NONE, 1), "b": outcomes(0, 1, 1, 0)},
        gates=[None, Gate({0: 0.5})],
        shadows=["a"],
    )

    assert "raw values are 0 to 1: its gate is not open on 2 of the 4 rows\n" in said


def test_cause_transform_that_takes_the_difference():
    said = cause({"a": outcomes(0.6, 0.7, 0.8, 0.9)}, transforms=[Transform(clip=(0, 0.5))])

    assert "gave 0.5 on all rows, though its raw values are 0.6 to 0.9: see its transform" in said


def test_cause_all_rows_dropped():
    said = cause({"a": outcomes(0, 1, 0, 1), "b": [NONE] * 4}, missing="drop")

    assert (
        "reward 'a' left the baseline with every row: one with missing = \"drop\" gave no" in said
    )
    assert "reward 'b' skipped all of the 4 rows" in said


def test_cause_dropped_rows_take_the_difference():
    said = cause({"a": outcomes(0, 1, 0, 1), "b": outcomes(1, NONE, 1, NONE)}, missing="drop")

    assert "'a' gave 0 on all rows, though its raw values are 0 to 1: 2 of the 4 rows left" in said


def test_cause_weights_zero():
    said = cause({"a": outcomes(0, 1, 0, 1), "b": outcomes(1, 1, 1, 1)}, weights=[0.0, 0.0])

    first, *rest = said.splitlines()
    assert first.endswith("of 4 completions: every weight in force is 0")
    assert rest[0] == "reward 'a' gave 0 to 1, its weight is 0"
    assert rest[4].startswith("reward 'b' gave 1 on all rows")


def test_cause_reward_of_weight_zero_is_left_out():
    said = cause({"a": outcomes(0, 1, 0, 1), "b": outcomes(1, 1, 1, 1)}, weights=[0.0, 1.0])

    assert "reward 'b' gave 1 on all rows" in said
    assert "reward 'a'" not in said


def test_cause_everything_truncated_comes_first():
    said = cause({"a": outcomes(0, 0, 0, 0)}, truncated=[True] * 4)

    first, second, *_ = said.splitlines()
    assert first.endswith(": every completion was cut off; raise max_completion_length")
    assert second.startswith("reward 'a' gave 0 on all rows")


@pytest.mark.parametrize("truncated", [[True, True, True, False], [None] * 4])
def test_cause_truncation_is_not_guessed(truncated):
    assert "cut off" not in cause({"a": outcomes(0, 0, 0, 0)}, truncated=truncated)


def test_cause_nearly_everything_truncated_is_as_good_as_everything():
    values = {"a": outcomes(*[0] * 20)}

    said = cause(values, truncated=[True] * 18 + [False, None])

    assert ": 18 of the 20 completions were cut off; raise max_completion_length\n" in said
    assert "cut off" not in cause(values, truncated=[True] * 17 + [False] * 3)


def test_cause_masked_completions():
    columns = {"a": outcomes(0, 1, 0, 1, 0, 0, 0, 0)}
    truncated = [True] * 4 + [False] * 4

    said = cause(columns, truncated=truncated, mask_truncated=True)

    assert "the groups that differ were cut off, and mask_truncated_completions leaves" in said
    assert cause(columns, truncated=truncated) is None


@pytest.mark.parametrize("aggregate", [SUM, NORMALIZE])
def test_cause_rewards_that_cancel(aggregate):
    said = cause(
        {"short": outcomes(0, 1, 1, 1), "long": outcomes(1, 0, 0, 0), "one": outcomes(1, 1, 1, 1)},
        aggregate=aggregate,
    )

    first, *rest = said.splitlines()
    assert first.endswith(
        ": rewards 'short' and 'long' cancel: each differs within groups, their weighted sum does "
        "not"
    )
    assert rest[0] == "reward 'short' gave 0 to 1"
    assert rest[8].startswith("reward 'one' gave 1 on all rows")


def test_cause_difference_that_vanishes_beside_larger_totals():
    said = cause({"a": outcomes(0, 0.5, 0, 0.5), "b": outcomes(*[1e6] * 4)})

    assert "the differences of reward 'a' vanish beside larger totals\n" in said


def test_cause_weight_that_leaves_no_difference():
    said = cause({"a": outcomes(0, 1, 0, 1)}, weights=[1e-9])

    assert "reward 'a' gave 0 to 1, its weight is 1e-09\n" in said
