"""Shadows leave a training alone, and a weight that changes is in force at the right step."""

from __future__ import annotations

import pytest
import trl
from short_runs import (
    column,
    learnt,
    ours,
    plain,
    rewards_file,
    said,
    same,
    steps,
    theirs,
    trained,
)
from transformers import TrainerCallback

from grpo_core import Completion, CompositeReward, reward, to_trl
from grpo_core.errors import ConfigError

# The two trainers that our rewards run in.
HOSTS = pytest.mark.parametrize("host", [ours, theirs], ids=["GRPOTrainer", "to_trl"])

RISING = {"start": 0.0, "end": 1.0, "steps": 4}


@reward(isolation="inline", range=(0.0, 100.0))
def count_digits(completion: Completion) -> float:
    """Number of digits."""
    return float(sum(c.isdigit() for c in completion.text))


@reward(isolation="inline", range=(0.0, 100.0))
def length(completion: Completion) -> float:
    """Number of characters."""
    return float(len(completion.text))


@reward(isolation="inline")
def raises(completion: Completion) -> float:
    """Always raises."""
    raise ValueError("no")


@HOSTS
@pytest.mark.parametrize("aggregate", ["sum_then_normalize", "normalize_then_sum"])
def test_shadow_changes_no_weight_of_the_model(texts, small, host, aggregate):
    small |= {"max_steps": 4, "multi_objective_aggregation": aggregate}
    counted = {"digits": count_digits, "length": {"use": length, "weight": 0.25}}
    shadows = {
        "sometimes": {"use": rewards_file("sometimes"), "shadow": True, "weight": 3.0},
        "raises": {"use": raises, "shadow": True, "on_error": "raise"},
    }

    alone = trained(host(counted, texts, small))
    beside = trained(host({**shadows, **counted}, texts, small))
    coverage = [log["grpo/sometimes/coverage"] for log in steps(beside)]

    assert learnt(alone)
    assert same(alone, beside)
    # It was measured, with cells missing, and is no part of the total.
    assert 0.0 < sum(coverage) < 4.0
    assert column(beside, "grpo/raises/failed") == [1.0] * 4
    assert column(beside, "grpo/sometimes/weight") == [None] * 4
    assert column(beside, "rewards/sometimes/mean") == [None] * 4
    assert column(beside, "reward") == column(alone, "reward")


class Watch(TrainerCallback):
    """Keeps the trainer's weights of each step."""

    def __init__(self):
        self.seen = []
        self.trainer = None

    def on_step_end(self, args, state, control, **kwargs):
        self.seen.append(self.trainer.reward_weights.tolist())


def test_schedule_is_in_force_in_the_trainers_weights(texts, small):
    small["max_steps"] = 6
    watch = Watch()
    rewards = {
        "digits": {"use": count_digits, "weight": RISING},
        "length": {"use": length, "weight": 0.5},
    }
    watch.trainer = ours(rewards, texts, small, callbacks=[watch])

    trained(watch.trainer)

    rising = [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    assert watch.seen == [[weight, 0.5] for weight in rising]
    assert column(watch.trainer, "grpo/digits/weight") == rising
    assert column(watch.trainer, "grpo/length/weight") == [0.5] * 6
    # TRL's total and ours are the same; effective values carry no weight.
    assert column(watch.trainer, "reward") == pytest.approx(
        column(watch.trainer, "grpo/total_mean"), abs=1e-6
    )


def test_schedule_is_in_force_with_accumulated_and_reused_batches(texts, small):
    """One generation serves two steps: both are trained with the weight it was scored with."""
    small |= {"max_steps": 4, "steps_per_generation": 2, "per_device_train_batch_size": 4}
    trainer = ours({"digits": {"use": count_digits, "weight": RISING}}, texts, small)

    trained(trainer)

    logged = [w for w in column(trainer, "grpo/digits/weight") if w is not None]
    assert logged == [0.0, 0.5]


def test_schedule_over_a_share_of_a_run_counted_in_epochs(texts, small):
    """8 prompts, 2 a step: 4 steps an epoch."""
    small |= {"max_steps": -1, "num_train_epochs": 1}
    weight = {"start": 1.0, "end": 0.0, "share": 1.0}
    trainer = trained(ours({"digits": {"use": count_digits, "weight": weight}}, texts, small))

    assert column(trainer, "grpo/digits/weight") == [1.0, 0.75, 0.5, 0.25]


def test_schedule_of_an_evaluation_is_the_one_of_its_step(texts, small):
    small |= {"max_steps": 4, "eval_strategy": "steps", "eval_steps": 2}
    small["per_device_eval_batch_size"] = 8
    rewards = {"digits": {"use": count_digits, "weight": RISING}}
    trainer = ours(rewards, texts, small, eval_dataset=texts.select(range(2)))

    trained(trainer)

    history = trainer.state.log_history
    evaluated = [log for log in history if "eval_grpo/digits/weight" in log]
    assert [(log["step"], log["eval_grpo/digits/weight"]) for log in evaluated] == [
        (2, 0.5),
        (4, 1.0),
    ]


def test_schedule_under_to_trl_is_multiplied_into_the_values(texts, small):
    small["max_steps"] = 6

    def digits_by_hand(completions, trainer_state, **kwargs):
        weight = min(trainer_state.global_step / 4, 1.0)
        return [weight * sum(c.isdigit() for c in text) for text in completions]

    def half_length(completions, **kwargs):
        return [float(len(text)) for text in completions]

    args = trl.GRPOConfig(**small, reward_weights=[1.0, 0.5])
    by_hand = trained(plain([digits_by_hand, half_length], texts, args))
    rewards = {
        "digits": {"use": count_digits, "weight": RISING},
        "length": {"use": length, "weight": 0.5},
    }
    scheduled = trained(theirs(rewards, texts, small))

    assert learnt(by_hand)
    assert same(by_hand, scheduled)
    assert scheduled.reward_weights.tolist() == [1.0, 0.5]
    assert column(scheduled, "grpo/digits/weight") == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]


def test_schedule_gives_both_trainers_the_same_weights(texts, small):
    small["max_steps"] = 4
    rewards = {"digits": {"use": count_digits, "weight": RISING}, "length": length}

    assert same(
        trained(ours(rewards, texts, {**small, "num_iterations": 1})),
        trained(theirs(rewards, texts, {**small, "num_iterations": 1})),
    )


def test_schedule_under_to_trl_with_normalised_rewards_is_refused(texts, small):
    small["multi_objective_aggregation"] = "normalize_then_sum"
    rewards = {"length": length, "digits": {"use": count_digits, "weight": RISING}}

    with pytest.raises(ConfigError, match="reward 'digits' has a schedule as its weight, which"):
        theirs(rewards, texts, small)


def test_schedule_with_normalised_rewards_in_our_trainer_works(texts, small):
    small |= {"max_steps": 2, "multi_objective_aggregation": "normalize_then_sum"}
    rewards = {"length": length, "digits": {"use": count_digits, "weight": RISING}}

    trainer = trained(ours(rewards, texts, small))

    assert column(trainer, "grpo/digits/weight") == [0.0, 0.25]


@HOSTS
def test_schedule_that_ends_beyond_the_run_is_warned_of(texts, small, caplog, host):
    weight = {"start": 0.0, "end": 1.0, "steps": 10}
    trained(host({"digits": {"use": count_digits, "weight": weight}}, texts, small))

    assert [text for text in said(caplog) if text.startswith("rewards.")] == [
        "rewards.digits.weight: reaches its end at step 10, the run has 2 steps: its last weight "
        "is 0.1"
    ]


@HOSTS
def test_schedule_that_begins_beyond_the_run_is_refused_before_a_step(texts, small, host):
    weight = {"start": 0.0, "end": 1.0, "steps": 10, "begin": 2}
    trainer = host({"digits": {"use": count_digits, "weight": weight}}, texts, small)

    with pytest.raises(ConfigError, match="begins to change at step 2, the run has 2 steps"):
        trained(trainer)
    assert trainer.state.global_step == 0


def test_share_without_a_length_of_the_run_says_so():
    weight = {"start": 0.0, "end": 1.0, "share": 0.5}
    composite = CompositeReward({"digits": {"use": count_digits, "weight": weight}})

    assert composite.weights_at(1, 4).tolist() == [0.5]
    with pytest.raises(ConfigError, match="the number of its steps is not known; set max_steps"):
        composite.weights_at(1, None)


def test_schedule_leaves_the_weights_of_further_functions_alone(texts, small):
    def further(completions, **kwargs):
        return [0.0] * len(completions)

    args = trl.GRPOConfig(**small, reward_weights=[1.0, 0.125])
    weight = {"start": 0.0, "end": 1.0, "steps": 2}
    made = to_trl(CompositeReward({"digits": {"use": count_digits, "weight": weight}}), args)
    functions = [*made.reward_funcs, further]

    trainer = trained(plain(functions, texts, args, callbacks=made.callbacks))

    assert trainer.reward_weights.tolist() == [1.0, 0.125]
