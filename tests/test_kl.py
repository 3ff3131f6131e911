"""When a KL is called unhealthy, and how far the guard goes; all numbers by hand."""

from __future__ import annotations

import json
import math

import pytest

from grpo_core.kl import Alarm, KlGuard, KlWatch, warning


def kinds(values, watch=None):
    """The kind of each step's alarm, from step 1 on; None where there is none."""
    watch = watch or KlWatch()
    alarms = [watch.see(step, kl) for step, kl in enumerate(values, 1)]
    return [alarm and alarm.kind for alarm in alarms]


def firsts(values):
    """The steps whose alarm is to be said."""
    watch = KlWatch()
    alarms = [watch.see(step, kl) for step, kl in enumerate(values, 1)]
    return [step for step, alarm in enumerate(alarms, 1) if alarm and alarm.first]


def test_slow_rise_is_healthy():
    assert kinds([0.02 * step for step in range(1, 41)]) == [None] * 40  # up to 0.8


def test_more_than_ten_times_the_median_is_a_jump():
    # The median of 0.03, 0.04, 0.05 is 0.04, ten times that 0.4.
    assert kinds([0.03, 0.05, 0.04, 0.41]) == [None, None, None, "jump"]
    assert kinds([0.03, 0.05, 0.04, 0.39]) == [None] * 4


def test_jump_below_the_floor_is_none():
    assert kinds([0.0, 0.001, 0.001, 0.24]) == [None] * 4
    assert kinds([0.0, 0.001, 0.001, 0.26]) == [None, None, None, "jump"]


def test_median_is_of_the_twenty_steps_before():
    # Of 20 steps at 0.5 and then 20 at 0.03, the last 20 have the median 0.03; 0.4 > 0.3.
    assert kinds([0.5] * 20 + [0.03] * 20 + [0.4]) == [None] * 40 + ["jump"]
    # One step earlier one of the 0.5 is among them, and the median is still 0.03.
    assert kinds([0.5] * 20 + [0.03] * 10 + [0.4]) == [None] * 31  # (0.03 + 0.5) / 2 x 10 = 2.65


def test_one_nat_needs_no_median():
    assert kinds([1.01]) == ["high"]
    assert kinds([0.9, 1.0, 1.01]) == [None, None, "high"]


@pytest.mark.parametrize("kl", [math.nan, math.inf])
def test_what_is_not_finite_is_broken_at_once_and_no_part_of_a_median(kl):
    assert kinds([0.04, kl, 0.39, 0.05, 0.05]) == [None, "broken", None, None, None]
    assert kinds([kl]) == ["broken"]


def test_logs_that_are_far_apart_are_held_against_the_one_before():
    watch = KlWatch()

    assert watch.see(50, 0.03) is None
    assert watch.see(100, 0.31) == Alarm("jump", 0.31, 0.03, True)


def test_alarm_is_said_once_until_twenty_steps_are_calm():
    assert firsts([2.0] * 100) == [1]
    assert firsts([2.0, *[0.5] * 20, 2.0]) == [1, 22]  # 21 steps later
    assert firsts([2.0, *[0.5] * 19, 2.0]) == [1]


def test_alarm_that_grows_worse_is_said_again():
    assert firsts([0.03, 0.4, 0.5, 1.5, 2.0, math.nan, 3.0]) == [2, 4, 6]


def test_watch_goes_on_from_its_state():
    values = [0.03, 0.03, 0.03, 2.0, 0.05, 0.5]
    watch, restored = KlWatch(), KlWatch()
    kinds(values[:4], watch)

    restored.restore(json.loads(json.dumps(watch.state())))

    assert restored.see(5, 0.05) is None
    assert restored.see(6, 0.5) == Alarm("jump", 0.5, 0.03, False)  # the alarm of step 4 lasts


def test_guard_halves_and_doubles_down_to_an_eighth_and_up_to_eight_times():
    guard = KlGuard()

    acted = [step for step in range(1, 60) if guard.act(step)]

    assert acted == [1, 11, 21]
    assert (guard.rate, guard.kl_coef, guard.at_bounds) == (0.125, 8.0, True)


def test_guard_goes_on_from_its_state():
    guard, restored = KlGuard(), KlGuard()
    guard.act(5)

    restored.restore(json.loads(json.dumps(guard.state())))

    assert (restored.rate, restored.kl_coef) == (0.5, 2.0)
    assert not restored.act(14)
    assert restored.act(15)


def test_warning_names_both_remedies_with_their_numbers():
    assert warning(Alarm("high", 3.21, 0.5, True), 4, 0.3, 0.01) == (
        "step 4: KL is 3.21 nats per token, above 1: the model has left its reference. "
        "Lower learning_rate, now 0.3, to 0.03 or less, or raise kl_coef, now 0.01, to 0.02 or "
        "more"
    )
    jump = warning(Alarm("jump", 0.41, 0.04, True), 4, 0.3, 0.01)
    assert "above 0.25 and more than 10 times its median of the last 20 steps, 0.0400" in jump
    assert "Lower learning_rate, now 0.3, to 0.15 or less" in jump
    broken = warning(Alarm("broken", math.nan, None, True), 4, 0.3, 0.01)
    assert "KL is nan nats per token, not a finite number" in broken
    assert "go back to a checkpoint before it" in broken
