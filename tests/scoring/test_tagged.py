"""`TaggedReward`: one tagged reward on the completions of a batch."""

from collections.abc import Callable
from typing import Any

import pytest

from grpo_core.completion import Completion
from grpo_core.inputs import Column, InputPlan
from grpo_core.outcome import Fail, Outcome, Score, Skip
from grpo_core.scoring.calls import Callee
from grpo_core.scoring.policy import Policy
from grpo_core.scoring.runner import Batch
from grpo_core.scoring.tagged import TaggedReward

ANSWER = InputPlan((Column("answer", "answer", False, False, True),))


class Inline(TaggedReward):
    """Scored in this thread, for tests."""

    def score(self, completions: list[Completion]) -> tuple[list[Outcome], list[float]]:
        column = self.run(Batch(completions), {})
        return column.outcomes, column.seconds


def runner(function: Callable[..., Any], plan: InputPlan = ANSWER, **kwargs: Any) -> Inline:
    callee = Callee(function, "sample", 0.0, 1.0, plan.constants)
    return Inline("f", callee, plan, policy=Policy(), **kwargs)


def rows(*answers: Any) -> list[Completion]:
    return [Completion("text", columns={"answer": a, "other": 1}) for a in answers]


def test_score_outcomes_are_in_order():
    def equals(completion, answer):
        return answer

    outcomes, seconds = runner(equals).score(rows(0.0, 1.0, 0.5))

    assert outcomes == [Outcome(0.0), Outcome(1.0), Outcome(0.5)]
    assert len(seconds) == 3
    assert all(s >= 0 for s in seconds)


def test_score_no_completions_is_empty():
    assert runner(lambda completion: 1.0, InputPlan()).score([]) == ([], [])


def test_score_reward_sees_exactly_the_declared_inputs():
    seen = []

    def look(completion, **inputs):
        seen.append((dict(completion.columns), inputs, completion.text))
        return 1.0

    runner(look).score(rows("a"))

    assert seen == [({"answer": "a"}, {"answer": "a"}, "text")]


def test_score_row_stays_as_it_was_when_a_reward_edits_its_inputs():
    def spoil(completion, answer):
        answer.append("spoilt")
        completion.columns["extra"] = 1
        return 1.0

    (completion,) = rows(["a"])

    runner(spoil).score([completion])

    assert completion.columns == {"answer": ["a"], "other": 1}


@pytest.mark.parametrize(
    "error", [ValueError("x"), SystemExit(0), RecursionError(), GeneratorExit(), MemoryError()]
)
def test_score_exception_is_the_fault_of_its_row_alone(error):
    def half(completion, answer):
        if answer == "bad":
            raise error
        return 1.0

    outcomes, _ = runner(half).score(rows("good", "bad", "good"))

    assert [o.status for o in outcomes] == ["scored", "failed", "scored"]
    assert outcomes[1].fault
    assert outcomes[1].reason.startswith(f"raised {type(error).__name__}")
    assert __file__ in outcomes[1].reason


def test_score_keyboard_interrupt_passes():
    def stop(completion, answer):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner(stop).score(rows("a"))


def test_score_wrong_call_is_a_fault_without_a_place_of_ours():
    outcomes, _ = runner(lambda completion: 1.0).score(rows("a"))

    assert outcomes[0].fault
    assert "raised TypeError" in outcomes[0].reason
    assert "inline.py" not in outcomes[0].reason


def test_score_value_outside_the_range_is_a_fault():
    outcomes, _ = runner(lambda completion, answer: 7).score(rows("a"))

    assert outcomes[0].fault
    assert "returned 7.0, outside its range [0, 1]" in outcomes[0].reason


def test_score_skip_fail_and_score_keep_their_reasons():
    returns = {"skip": Skip("none"), "fail": Fail("bad gold"), "score": Score(1.0, "exact")}

    outcomes, _ = runner(lambda completion, answer: returns[answer]).score(
        rows("skip", "fail", "score")
    )

    assert outcomes == [
        Outcome(None, "skipped", "none"),
        Outcome(None, "failed", "bad gold"),
        Outcome(1.0, "scored", "exact"),
    ]


def test_score_field_that_is_needed_and_unknown_skips_the_row():
    outcomes, _ = runner(lambda completion, answer: 1.0, needs=("token_ids",)).score(rows("a"))

    assert outcomes == [Outcome(None, "skipped", "needs token_ids, which is not known here")]


def test_score_field_that_is_needed_and_empty_is_known():
    completion = Completion("", token_ids=(), columns={"answer": "a"})

    outcomes, _ = runner(lambda completion, answer: 1.0, needs=("token_ids", "text")).score(
        [completion]
    )

    assert outcomes == [Outcome(1.0)]


def test_score_row_without_the_input_fails_without_a_call():
    def never(completion, answer):
        raise AssertionError("called")

    outcomes, _ = runner(never).score([Completion("text")])

    assert outcomes == [Outcome(None, "failed", "input 'answer': no column 'answer'")]
