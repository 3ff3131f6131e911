"""What holds for every length and every option."""

from __future__ import annotations

import math

import pytest
from grpo_reward_brevity import (
    Budget,
    Cosine,
    GroupRelative,
    Linear,
    PublishedCosine,
    PublishedOverlong,
    SoftLimit,
    Target,
)
from hypothesis import given
from hypothesis import strategies as st

from grpo_core import Completion

lengths = st.integers(0, 300)
limits = st.integers(1, 200)
ends = st.tuples(st.floats(-5, 5, allow_nan=False), st.floats(-5, 5, allow_nan=False)).map(sorted)


def of(n):
    return Completion("a", token_ids=tuple(range(n)))


@given(limits, st.floats(0, 1), lengths, lengths)
def test_soft_limit_falls_within_its_bounds(limit, share, n, longer):
    built = SoftLimit(max_length=limit, cache=int(share * limit), min_length=0)
    low, high = sorted((n, longer))
    values = [built(of(low)).value, built(of(high)).value]
    assert -1.0 <= values[1] <= values[0] <= 0.0


@given(limits, ends, ends, lengths, lengths)
def test_cosine_falls_for_right_and_climbs_for_wrong_answers(limit, right, wrong, n, longer):
    built = Cosine(max_length=limit, right=right, wrong=wrong, min_length=0)
    low, high = sorted((n, longer))
    short, long = built(of(low), 1.0).value, built(of(high), 1.0).value
    assert right[0] - 1e-9 <= long <= short + 1e-9
    assert short <= right[1] + 1e-9
    short, long = built(of(low), 0.0).value, built(of(high), 0.0).value
    assert wrong[0] - 1e-9 <= short <= long + 1e-9
    assert long <= wrong[1] + 1e-9


@given(limits, st.floats(1e-4, 1), st.floats(0, 1), lengths, lengths)
def test_budget_and_linear_never_pay_for_length(limit, alpha, delta, n, longer):
    low, high = sorted((n, longer))
    for built, args in (
        (Budget(budget=limit, alpha=alpha, delta=delta, min_length=0), (1.0,)),
        (Budget(budget=limit, alpha=alpha, form="code", min_length=0), (1.0,)),
        (Linear(max_length=limit, min_length=0), ()),
    ):
        values = [built(of(low), *args).value, built(of(high), *args).value]
        assert 0.0 <= values[1] <= values[0] <= 1.0


@given(limits, st.floats(1e-4, 1), lengths)
def test_target_is_highest_at_the_target(target, alpha, n):
    built = Target(target=target, alpha=alpha, min_length=0)
    value = built(of(n), 1.0).value
    assert 0.0 <= value <= 1.0
    assert (value == 1.0) == (n == target)


@given(st.lists(st.tuples(lengths, st.booleans()), min_size=1, max_size=9), st.floats(0.01, 0.5))
def test_no_right_answer_is_below_a_wrong_one(group, floor):
    built = GroupRelative(floor=floor, min_length=0)
    scores = built([of(n) for n, _ in group], [float(right) for _, right in group])
    assert all(math.isfinite(s.value) and -0.5 <= s.value <= 0.5 for s in scores)
    right = [s.value for s, (_, is_right) in zip(scores, group, strict=True) if is_right]
    wrong = [s.value for s, (_, is_right) in zip(scores, group, strict=True) if not is_right]
    if right and wrong and len({n for n, _ in group}) > 1:
        assert min(right) > max(wrong)


@pytest.mark.parametrize("built", [SoftLimit(max_length=5), Linear(max_length=5)])
def test_the_longest_text_is_a_number_too(built):
    assert math.isfinite(built(of(100_000)).value)


# Every reward with a limit of 100, and the ends of its range.
EDGES = [
    (Linear(max_length=100), 0.0, 1.0),
    (Linear(max_length=100, zero_length=101), 0.0, 1.0),
    (SoftLimit(max_length=100), -1.0, 0.0),
    (SoftLimit(max_length=100, cache=0), -1.0, 0.0),
    (SoftLimit(max_length=100, cache=100), -1.0, 0.0),
    (SoftLimit(max_length=100, cache=100, min_length=0), -1.0, 0.0),
    (Cosine(max_length=100), -1.0, 1.0),
    (Cosine(max_length=1, min_length=0), -1.0, 1.0),
    (Target(target=100), 0.0, 1.0),
    (Target(target=100, form="sum"), -1e9, 1.0),
    (Budget(budget=100), 0.0, 1.0),
    (Budget(budget=100, form="code", min_length=0), 0.0, 1.0),
    *(
        (PublishedOverlong(rule=rule, max_length=100, cache=100), low, 0.0)
        for rule, low in (("trl", -1.0), ("open_r1", -1.0), ("ms_swift", -1e9), ("verl", -1e9))
    ),
    (PublishedOverlong(rule="trl", max_length=100, cache=0), -1.0, 0.0),
    *(
        (PublishedCosine(rule=rule, max_length=100), -1.0, 1.0)
        for rule in ("trl", "open_r1", "open_r1_config", "ms_swift", "paper_code")
    ),
]


@pytest.mark.parametrize(("built", "low", "high"), EDGES)
@pytest.mark.parametrize("n", [0, 1, 2, 84, 99, 100, 101, 200, 100_000])
@pytest.mark.parametrize("correct", [0.0, 1.0])
def test_no_edge_leaves_the_range(built, low, high, n, correct):
    args = () if isinstance(built, Linear | SoftLimit | PublishedOverlong) else (correct,)
    score = built(Completion("a" * n, token_ids=tuple(range(n))), *args)
    value = score if isinstance(score, float) else score.value
    assert math.isfinite(value)
    assert low <= value <= high


@given(st.lists(lengths, min_size=1, max_size=9), st.floats(-0.5, 0.5), st.floats(0, 1))
def test_a_group_of_any_size_and_lengths_has_numbers(group, floor, correct):
    scores = GroupRelative(floor=floor)([of(n) for n in group], [correct] * len(group))
    assert all(math.isfinite(s.value) and -0.5 <= s.value <= 0.5 for s in scores)
    if len(set(group)) == 1 and group[0]:
        assert {s.value for s in scores} == {0.0}
