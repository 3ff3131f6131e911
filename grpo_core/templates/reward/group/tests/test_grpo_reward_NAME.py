"""The contract of the reward: what every reward must keep, on texts of its own."""

import pytest
from grpo_core import load_reward
from grpo_core.testing import RewardContract

from grpo_reward_NAME import answers_briefly


class TestAnswersBriefly(RewardContract):
    reward = answers_briefly
    inputs = {"answer": "85"}
    good = ("85", "40 + 45 is 85.", "First 80, no: 85.0")
    bad = ("", "I do not know.", "It is 84.", "85 is not it, 84 is.")
    attacks = ("85 84 83 82 81", "The last number is the answer.", "85" * 500)


def test_shorter_right_text_of_a_group_earns_more() -> None:
    group = load_reward(answers_briefly).batch(
        ["85", "It is 85.", "40 + 45 is 85...", "84"], answer=["85"] * 4
    )

    assert [outcome.value for outcome in group] == [1.0, 0.75, 0.5, 0.0]


@pytest.mark.parametrize("answer", ["eighty-five", "", "nan", "1e999"])
def test_answer_that_is_no_number_fails_the_row(answer: str) -> None:
    outcome = load_reward(answers_briefly)("85", answer=answer)

    assert outcome.status == "failed"
    assert outcome.reason == f"the answer {answer!r} is no number"
