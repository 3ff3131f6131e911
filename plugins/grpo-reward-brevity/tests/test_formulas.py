"""The numbers of the papers and of what others published, worked out by hand."""

from __future__ import annotations

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

from grpo_core import Completion, Fail


def of(n):
    """A completion of so many tokens."""
    return Completion("a", token_ids=tuple(range(n)))


def chars(n):
    return Completion("a" * n)


@pytest.mark.parametrize(
    ("max_length", "cache", "n", "value"),
    [
        # DAPO: 20,480 with a cache of 4,096.
        (20480, 4096, 16384, 0.0),
        (20480, 4096, 17408, -0.25),
        (20480, 4096, 20480, -1.0),
        (20480, 4096, 20481, -1.0),
        # TRL's command line: 1,280 and 256; None is a fifth.
        (1280, 256, 1024, 0.0),
        (1280, 256, 1152, -0.5),
        (1280, None, 1152, -0.5),
        # open-r1: 16,384 and 4,096.
        (16384, 4096, 12288, 0.0),
        (16384, 4096, 15360, -0.75),
        # A floor, a step, and a cache that is all of it.
        (100, 20, 250, -1.0),
        (100, 0, 100, 0.0),
        (100, 0, 101, -1.0),
        (4, 4, 1, -0.25),
        (1, None, 1, 0.0),
    ],
)
def test_soft_limit(max_length, cache, n, value):
    assert SoftLimit(max_length=max_length, cache=cache)(of(n)).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("n", "right", "wrong"),
    [
        (0, 1.0, -1.0),
        (250, 0.926777, -0.926777),  # 0.75 + 0.25 cos(45 degrees)
        (500, 0.75, -0.75),
        (1000, 0.5, -0.5),
        (2000, 0.5, -0.5),  # a whole wave: without the clamp as at 0
    ],
)
def test_cosine(n, right, wrong):
    cosine = Cosine(max_length=1000, min_length=0)
    assert cosine(of(n), 1.0).value == pytest.approx(right, abs=1e-6)
    assert cosine(of(n), 0.0).value == pytest.approx(wrong, abs=1e-6)


def test_cosine_with_a_value_for_what_exceeds():
    cosine = Cosine(max_length=100, exceed_value=-2.0)
    assert cosine(of(99), 1.0).value == pytest.approx(0.5, abs=1e-3)
    assert cosine(of(100), 1.0).value == -2.0
    assert cosine(of(100), 0.0).value == -2.0


@pytest.mark.parametrize(
    ("n", "product", "as_sum"),
    [(1000, 1.0, 1.0), (2000, 0.7, 0.7), (500, 0.85, 0.85), (6000, 0.0, -0.5)],
)
def test_target(n, product, as_sum):
    assert Target(target=1000)(of(n), 1.0).value == pytest.approx(product)
    assert Target(target=1000)(of(n), 0.0).value == 0.0
    summed = Target(target=1000, form="sum")
    assert summed(of(n), 1.0).value == pytest.approx(as_sum)
    assert summed(of(n), 0.0).value == pytest.approx(as_sum - 1.0)


@pytest.mark.parametrize(
    ("n", "paper", "code"),
    [(500, 1.0, 0.75), (1000, 0.5, 0.5), (1250, 0.25, 0.375), (1500, 0.0, 0.25), (9000, 0.0, 0.0)],
)
def test_budget(n, paper, code):
    assert Budget(budget=1000, alpha=0.001)(of(n), 1.0).value == pytest.approx(paper)
    assert Budget(budget=1000, alpha=0.001, form="code")(of(n), 1.0).value == pytest.approx(code)
    assert Budget(budget=1000, alpha=0.001)(of(n), 0.0).value == 0.0


def test_a_row_may_say_its_own_length():
    assert Target(target=1000)(of(500), 1.0, 500).value == 1.0
    assert Budget()(of(500), 1.0, 500).value == 0.5
    assert Target()(of(500), 1.0).reason == (
        "no length to hold it to: set the option target, or give the row a target_length"
    )
    assert Target(target=1000)(of(500), 1.0, 500.0).value == 1.0  # a column with gaps has floats


@pytest.mark.parametrize("given", [0, -3, 2.5, float("nan"), float("inf"), 10**12, "500", True])
def test_a_length_that_is_none_fails(given):
    for built in (Target(target=1000), Target(form="sum"), Budget(budget=1000)):
        outcome = built(of(500), 1.0, given)
        assert outcome == Fail(
            f"target_length must be a whole number from 1 to 1,000,000,000, got {given!r}"
        )


@pytest.mark.parametrize(
    ("n", "value"), [(1, 1.0), (100, 1.0), (125, 0.75), (150, 0.5), (200, 0.0), (900, 0.0)]
)
def test_linear(n, value):
    assert Linear(max_length=100)(of(n)).value == pytest.approx(value)


def test_linear_to_a_length_of_ones_own():
    assert Linear(max_length=100, zero_length=110)(of(105)).value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("floor", "correct", "values"),
    [
        # Kimi k1.5: lambda for right answers, min(0, lambda) for wrong ones.
        (-0.5, [1, 1, 1], [0.5, 0.0, -0.5]),
        (-0.5, [0, 0, 0], [0.0, 0.0, -0.5]),
        (-0.5, [0, 1, 1], [0.0, 0.0, -0.5]),
        # The floor: 0.1 + 0.4 (lambda + 1/2).
        (0.1, [1, 1, 1], [0.5, 0.3, 0.1]),
        (0.1, [0, 0, 1], [0.0, 0.0, 0.1]),
    ],
)
def test_group_relative(floor, correct, values):
    group = [of(100), of(200), of(300)]
    scores = GroupRelative(floor=floor)(group, correct)
    assert [s.value for s in scores] == pytest.approx(values)


def test_group_of_equal_lengths_or_of_one_is_zero():
    assert [s.value for s in GroupRelative()([of(7), of(7)], [1.0, 0.0])] == [0.0, 0.0]
    assert [s.value for s in GroupRelative()([of(7)], [1.0])] == [0.0]


@pytest.mark.parametrize(
    ("rule", "n", "value"),
    [
        ("trl", 90, -0.5),
        ("open_r1", 250, -1.0),
        ("ms_swift", 90, -0.5),
        ("ms_swift", 250, -8.5),  # (80 - 250) / 20
        ("verl", 250, -8.5),
        ("verl", 80, 0.0),
        ("trl", 0, 0.0),
    ],
)
def test_published_overlong(rule, n, value):
    published = PublishedOverlong(rule=rule, max_length=100, cache=20)
    assert published(of(n)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("rule", "n", "right", "wrong"),
    [
        ("trl", 500, 0.75, -0.75),
        ("trl", 2000, 0.5, -0.5),
        ("open_r1", 500, 0.75, -0.75),
        ("open_r1", 2000, 1.0, -1.0),  # a whole wave: as at 0
        ("open_r1_config", 0, 1.0, 0.0),
        ("open_r1_config", 1000, 0.5, -0.5),
        ("ms_swift", 0, 1.0, -0.5),
        ("ms_swift", 500, 0.75, -0.25),
        ("ms_swift", 1000, 0.5, 0.0),
        ("ms_swift", 2000, 1.0, -0.5),
        ("paper_code", 500, 0.75, -0.75),
        ("paper_code", 984, 0.0, 0.0),
        ("paper_code", 983, 0.500357, -0.500357),  # 0.75 + 0.25 cos(0.983 pi)
    ],
)
def test_published_cosine(rule, n, right, wrong):
    published = PublishedCosine(rule=rule, max_length=1000)
    one = chars(n) if rule.startswith("open_r1") else of(n)
    assert published(one, 1.0) == pytest.approx(right, abs=1e-6)
    assert published(one, 0.0) == pytest.approx(wrong, abs=1e-6)
