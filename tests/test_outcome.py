"""What authors return, and what the core makes of it."""

import dataclasses
import pickle

import pytest

from grpo_core import Fail, Outcome, Score, Skip


def test_score_without_more_has_no_reason_and_no_metrics():
    score = Score(0.5)

    assert (score.value, score.reason, dict(score.metrics)) == (0.5, "", {})


def test_skip_needs_no_reason():
    assert Skip().reason == ""


def test_fail_without_reason_is_refused():
    with pytest.raises(TypeError, match="reason"):
        Fail()


def test_outcome_without_more_is_scored_and_no_fault():
    outcome = Outcome(0.5)

    assert (outcome.status, outcome.reason, outcome.fault) == ("scored", "", False)


@pytest.mark.parametrize(
    "value",
    [
        Score(0.5, "near", {"digits": 2.0}),
        Skip("no gold"),
        Fail("broken gold"),
        Outcome(None, "failed", "broken gold", {"digits": 2.0}, fault=True),
    ],
)
def test_returned_value_pickled_is_equal(value):
    assert pickle.loads(pickle.dumps(value)) == value


def test_default_metrics_are_not_shared():
    assert Score(0.5).metrics is not Score(0.5).metrics


def test_score_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Score(0.5).value = 1.0
