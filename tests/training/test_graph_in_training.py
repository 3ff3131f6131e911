"""Modes, gates, inputs between rewards and whole groups, inside both trainers."""

from __future__ import annotations

import pytest
from short_runs import column, learnt, ours, said, same, theirs, trained

from grpo_core import Completion, reward

HOSTS = pytest.mark.parametrize("host", [ours, theirs], ids=["GRPOTrainer", "to_trl"])
EVAL = {"eval_strategy": "steps", "eval_steps": 2, "per_device_eval_batch_size": 4}


class Calls:
    """Rewards that keep what they were called with."""

    def __init__(self):
        seen = self.seen = []

        @reward(isolation="inline", range=(0.0, 100.0))
        def digits(completion: Completion) -> float:
            """Number of digits."""
            value = float(sum(c.isdigit() for c in completion.text))
            seen.append(("digits", completion.text, value))
            return value

        @reward(isolation="inline", range=(0.0, 100.0))
        def halved(completion: Completion, other: float) -> float:
            """Half of what another reward gave."""
            seen.append(("halved", completion.text, other))
            return other / 2

        @reward(isolation="inline", scope="group", range=(-100.0, 100.0))
        def above(completions: list[Completion], answer: list[str]) -> list[float]:
            """Length above the mean of the group."""
            seen.append(("above", completions, answer))
            mean = sum(len(c.text) for c in completions) / len(completions)
            return [len(c.text) - mean for c in completions]

        self.digits, self.halved, self.above = digits, halved, above

    def of(self, name):
        return [call[1:] for call in self.seen if call[0] == name]


@pytest.fixture
def calls():
    return Calls()


@HOSTS
@pytest.mark.parametrize("missing", ["neutral", "zero", "drop"])
def test_reward_of_evaluations_is_called_there_alone(texts, small, calls, host, missing):
    def length(completions, **kwargs):
        return [float(len(text)) for text in completions]

    small |= EVAL
    judge = {"use": calls.digits, "modes": ["eval"], "missing": missing}
    trainer = trained(
        host({"length": length, "judge": judge}, texts, small, eval_dataset=texts.select([0, 1]))
    )

    # 2 prompts, 4 completions each, once; nothing in 2 steps of training.
    assert len(calls.of("digits")) == 8
    assert column(trainer, "grpo/judge/coverage") == [None, None]
    assert column(trainer, "rewards/judge/mean") == [None, None]
    [evaluated] = [log for log in trainer.state.log_history if "eval_loss" in log]
    assert evaluated["eval_grpo/judge/coverage"] == 1.0
    # And it takes nothing from the training.
    alone = trained(host({"length": length}, texts, small, eval_dataset=texts.select([0, 1])))
    assert learnt(alone)
    assert same(alone, trainer)


def test_cause_leaves_out_a_reward_of_evaluations(texts, small, calls, caplog):
    def constant(completions, **kwargs):
        return [0.5] * len(completions)

    judge = {"use": calls.digits, "modes": ["eval"]}
    trained(ours({"constant": constant, "judge": judge}, texts, small))

    text = said(caplog)[0]
    assert text.startswith("nothing can be learnt from this batch")
    assert "reward 'constant' gave 0.5 on all rows" in text
    assert "judge" not in text


@HOSTS
def test_reward_reads_another_that_was_evaluated_once(texts, small, calls, host):
    rewards = {
        "half": {"use": calls.halved, "inputs": {"other": {"reward": "digits"}}},
        "digits": {"use": calls.digits, "weight": 0.0},
    }

    trainer = trained(host(rewards, texts, small))

    digits, halved = calls.of("digits"), calls.of("halved")
    assert len(digits) == len(halved) == 16
    assert digits == halved
    assert column(trainer, "rewards/half/mean") == [
        mean / 2 for mean in column(trainer, "rewards/digits/mean")
    ]


@HOSTS
def test_gate_takes_effect_in_training(texts, small, calls, host):
    """Below 2 digits the length counts as 0, whatever it is."""

    @reward(isolation="inline", range=(0.0, 100.0))
    def length(completion: Completion) -> float:
        """Number of characters."""
        return float(len(completion.text))

    rewards = {
        "length": {"use": length, "requires": {"digits": 2.0}},
        "digits": {"use": calls.digits, "shadow": True},
    }
    trainer = trained(host(rewards, texts, small))

    expected = [len(text) if digits >= 2 else 0 for text, digits in calls.of("digits")]
    assert 0 < sum(value > 0 for value in expected) < 16
    assert column(trainer, "rewards/length/mean") == pytest.approx(
        [sum(expected[:8]) / 8, sum(expected[8:]) / 8]
    )
    assert column(trainer, "grpo/digits/coverage") == [1.0, 1.0]


@HOSTS
@pytest.mark.parametrize("size_in_evaluation", [2, None])
def test_group_scope_sees_whole_groups(texts, small, calls, host, size_in_evaluation):
    small |= EVAL | {"num_generations_eval": size_in_evaluation}
    trained(host({"above": calls.above}, texts, small, eval_dataset=texts.select([0, 1, 2])))

    in_training, in_evaluation = [], []
    for completions, answers in calls.of("above"):
        assert len({c.prompt for c in completions}) == len(set(answers)) == 1
        assert [c.index_in_group for c in completions] == list(range(len(completions)))
        assert {c.group_size for c in completions} == {len(completions)}
        (in_training if len(in_training) < 4 else in_evaluation).append(len(completions))
    assert in_training == [4, 4, 4, 4]
    assert in_evaluation == [size_in_evaluation or 4] * 3


@HOSTS
def test_group_that_fails_leaves_the_other_groups_their_values(texts, small, host):
    count = []

    @reward(isolation="inline", scope="group")
    def picky(completions: list[Completion]) -> list[float]:
        """Raises for every second group."""
        count.append(len(completions))
        if len(count) % 2:
            raise ValueError("no")
        return [i / 10 for i in range(len(completions))]

    trainer = trained(host({"picky": picky}, texts, small))

    assert column(trainer, "grpo/picky/failed") == [0.5, 0.5]
    assert column(trainer, "grpo/picky/coverage") == [0.5, 0.5]
    assert column(trainer, "grpo/no_signal") == [0.5, 0.5]
    assert list(trainer._logs["advantages"])[:4] == [0.0] * 4
