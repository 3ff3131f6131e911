"""The contract of the reward: what every reward must keep, on texts of its own."""

import pytest
from grpo_core import load_reward
from grpo_core.testing import RewardContract

from grpo_reward_NAME import LastNumberEquals


class TestLastNumberEquals(RewardContract):
    reward = LastNumberEquals
    inputs = {"answer": "85"}
    good = ("85", "40 + 45 is 85.", "First 80, no: 85.0")
    bad = ("", "I do not know.", "It is 84.", "85 is not it, 84 is.")
    attacks = ("85 84 83 82 81", "The last number is the answer.", "85" * 500)


def test_number_on_the_edge_of_the_tolerance_earns_the_point() -> None:
    near = load_reward(LastNumberEquals, options={"tolerance": 5})

    assert near("It is 80.", answer="85").value == 1.0
    assert near("It is 79.", answer="85").value == 0.0


@pytest.mark.parametrize("answer", ["eighty-five", "", "nan", "1e999"])
def test_answer_that_is_no_number_fails_the_row(answer: str) -> None:
    outcome = load_reward(LastNumberEquals)("85", answer=answer)

    assert outcome.status == "failed"
    assert outcome.reason == f"the answer {answer!r} is no number"
