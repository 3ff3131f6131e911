from __future__ import annotations

import math

import numpy as np
import pytest

from grpo_core.errors import ConfigError
from grpo_core.schedules import Schedule, problems, weights_at


@pytest.mark.parametrize(
    ("step", "weight"),
    # 0.1 * 50 / 200 = 0.025; 0.1 * 199 / 200 = 0.0995.
    [(0, 0.0), (50, 0.025), (100, 0.05), (199, 0.0995), (200, 0.1), (5000, 0.1)],
)
def test_linear_over_steps(step, weight):
    schedule = Schedule(0.0, 0.1, steps=200)

    assert schedule.at(step, None) == pytest.approx(weight, abs=1e-15)


@pytest.mark.parametrize(
    ("step", "weight"),
    # (1 - cos(pi / 4)) / 2 = 0.1464466; (1 - cos(pi / 2)) / 2 = 0.5.
    [(0, 2.0), (1, 2.0 - 2 * 0.1464466), (2, 1.0), (3, 2 * 0.1464466), (4, 0.0), (9, 0.0)],
)
def test_cosine_over_steps(step, weight):
    schedule = Schedule(2.0, 0.0, steps=4, shape="cosine")

    assert schedule.at(step, None) == pytest.approx(weight, abs=1e-6)


@pytest.mark.parametrize(("step", "weight"), [(0, 1.0), (9, 1.0), (10, 0.3), (11, 0.3)])
def test_step_jumps_where_its_length_ends(step, weight):
    assert Schedule(1.0, 0.3, steps=10, shape="step").at(step, None) == weight


@pytest.mark.parametrize(
    ("step", "weight"),
    # Half of 400 steps is 200 steps, so step 50 is a quarter of the way.
    [(0, 0.0), (50, 0.25), (200, 1.0), (399, 1.0)],
)
def test_share_of_the_run(step, weight):
    assert Schedule(0.0, 1.0, share=0.5).at(step, 400) == weight


@pytest.mark.parametrize(("step", "weight"), [(0, 1.0), (100, 1.0), (150, 0.5), (200, 0.0)])
def test_begin_in_steps(step, weight):
    assert Schedule(1.0, 0.0, steps=100, begin=100).at(step, None) == weight


@pytest.mark.parametrize(("step", "weight"), [(0, 1.0), (50, 1.0), (75, 0.5), (99, 0.02)])
def test_begin_as_a_share(step, weight):
    # From a half of 100 steps to the end: step 99 is 0.49 of 0.5, and 1 - 0.98 = 0.02.
    schedule = Schedule(1.0, 0.0, share=0.5, begin=0.5)

    assert schedule.at(step, 100) == pytest.approx(weight, abs=1e-12)


@pytest.mark.parametrize("shape", ["linear", "step", "cosine"])
def test_ends_are_exact(shape):
    schedule = Schedule(0.1, 0.7, steps=3, shape=shape)

    assert schedule.at(0, None) == 0.1
    assert schedule.at(3, None) == 0.7


def test_share_of_an_unknown_run_raises():
    with pytest.raises(ConfigError, match="steps is not known; set max_steps, or give the schedul"):
        Schedule(0.0, 1.0, share=0.5).at(3, None)


def test_weights_at_takes_numbers_and_schedules():
    weights = weights_at([0.5, Schedule(0.0, 1.0, steps=4), Schedule(1.0, 0.0, share=1.0)], 1, 10)

    np.testing.assert_array_equal(weights, [0.5, 0.25, 0.9])


@pytest.mark.parametrize(
    ("schedule", "where", "text"),
    [
        (Schedule(math.nan, 1.0, steps=2), "w.start", "expected a finite number, got nan"),
        (Schedule(0.0, math.inf, steps=2), "w.end", "expected a finite number, got inf"),
        (
            Schedule(0.0, 1.0, steps=2, begin=math.inf),
            "w.begin",
            "expected a finite number, got inf",
        ),
        (
            Schedule(0.0, 1.0, steps=2, shape="sine"),
            "w.shape",
            "expected 'linear' or 'step' or 'cosine', got 'sine'",
        ),
        (
            Schedule(0.0, 1.0),
            "w",
            "expected steps (a number of steps) or share (of the run, up to 1), got neither; "
            "give one of them",
        ),
        (
            Schedule(0.0, 1.0, steps=5, share=0.5),
            "w",
            "expected steps (a number of steps) or share (of the run, up to 1), got steps = 5 and "
            "share = 0.5; give one of them",
        ),
        (Schedule(0.0, 1.0, steps=0), "w.steps", "expected 1 or more, got 0"),
        (
            Schedule(0.0, 1.0, share=0.0),
            "w.share",
            "expected a share of the run, above 0 and up to 1, got 0.0",
        ),
        (
            Schedule(0.0, 1.0, share=200),
            "w.share",
            "expected a share of the run, above 0 and up to 1, got 200; for steps write steps",
        ),
        (
            Schedule(0.0, 1.0, share=math.nan),
            "w.share",
            "expected a share of the run, above 0 and up to 1, got nan",
        ),
        (
            Schedule(0.0, 1.0, steps=5, begin=-1),
            "w.begin",
            "expected 0 or more, got -1; leave it out",
        ),
        (
            Schedule(0.5, 0.5, steps=5),
            "w",
            "start and end are both 0.5; for a weight that does not change write the number, "
            "weight = 0.5",
        ),
        (
            Schedule(0.5, 1.0, steps=5, begin=100),
            "w.begin",
            "begins to change at step 100, the run has 100 steps: it stays 0.5; begin earlier, or "
            "write weight = 0.5",
        ),
        (
            Schedule(0.5, 1.0, share=0.5, begin=20),
            "w.begin",
            "begins to change at 20 of the run, the run ends at 1: it stays 0.5; begin earlier, or "
            "write weight = 0.5",
        ),
    ],
)
def test_problems_says_where_and_what(schedule, where, text):
    [problem], warnings = problems(schedule, 100, "w")

    assert (problem.where, problem.message) == (where, text)
    assert warnings == []


def test_problems_come_together():
    found, _ = problems(Schedule(math.nan, 1.0, steps=0, begin=-1), 100, "w")

    assert [p.where for p in found] == ["w.start", "w.begin", "w.steps"]


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        # The last step of 100 is step 99: 0.1 * 99 / 200 = 0.0495.
        (
            Schedule(0.0, 0.1, steps=200),
            "reaches its end at step 200, the run has 100 steps: its last weight is 0.0495",
        ),
        (
            Schedule(0.0, 0.1, steps=60, begin=50),
            "reaches its end at step 110, the run has 100 steps: its last weight is 0.0817",
        ),
        (
            Schedule(0.0, 1.0, steps=100, shape="step"),
            "reaches its end at step 100, the run has 100 steps: its last weight is 0",
        ),
        (
            Schedule(0.0, 1.0, share=0.5, begin=0.75),
            "reaches its end at 1.25 of the run, the run ends at 1: its last weight is 0.48",
        ),
    ],
)
def test_schedule_that_ends_beyond_the_run_is_a_warning(schedule, text):
    found, [warning] = problems(schedule, 100, "rewards.brief.weight")

    assert found == []
    assert (warning.where, warning.message) == ("rewards.brief.weight", text)


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(0.0, 1.0, steps=100),
        Schedule(0.0, 1.0, share=1.0),
        Schedule(0.0, 1.0, share=0.7, begin=0.3),  # 0.7 + 0.3 by rounding
        Schedule(1.0, -1.0, steps=99, shape="step"),
        Schedule(1.0, 0.0, steps=3, begin=2.5, shape="cosine"),
    ],
)
def test_schedule_within_the_run_is_fine(schedule):
    assert problems(schedule, 100, "w") == ([], [])


def test_steps_are_not_compared_with_an_unknown_run():
    assert problems(Schedule(0.0, 1.0, steps=10**9), None, "w") == ([], [])


def test_share_is_compared_with_an_unknown_run():
    # From 0.75 on over half a run: at its end half of the way is gone.
    _, [warning] = problems(Schedule(0.0, 1.0, share=0.5, begin=0.75), None, "w")

    assert warning.message.endswith("the run ends at 1: its last weight is 0.5")
