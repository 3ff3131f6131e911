"""Reported runs that went wrong in silence, and what becomes of them here.

One for each report that no other test shows; the ids are those of the reports' list.
"""

from __future__ import annotations

import math
import signal
import threading

import pytest
import torch
from short_runs import (
    column,
    learnt,
    metrics_file,
    ours,
    rewards_file,
    said,
    steps,
    theirs,
    trained,
    weights,
)
from tiny_model import make_model, make_tokenizer

from grpo_core import (
    Completion,
    CompositeReward,
    GRPOConfig,
    GRPOTrainer,
    load_reward,
    reward,
)
from grpo_core.errors import ConfigError, RewardError
from grpo_core.outcome import Outcome
from grpo_core.scoring.checks import outcome_of

HOSTS = pytest.mark.parametrize("host", [ours, theirs], ids=["GRPOTrainer", "to_trl"])


def length(completions, **kwargs):
    return [float(len(text)) for text in completions]


@reward(isolation="inline", range=(0.0, 100.0))
def n_characters(completion: Completion) -> float:
    """Length of the text."""
    return float(len(completion.text))


def by_place(*values):
    """A function that gives each row of a batch the value of its place in the group."""

    def placed(completions, **kwargs):
        return [values[i % len(values)] for i in range(len(completions))]

    return placed


# What is handed to a reward


@HOSTS
def test_p001_function_without_kwargs_trains(texts, small, host):
    def by_the_docs(prompts, completions):
        return [float(len(text)) for text in completions]

    assert learnt(trained(host({"docs": by_the_docs}, texts, small)))


def test_p003_column_that_is_missing_is_named_before_the_model_is_used(texts, small):
    def is_answer(completions, solution):
        return [0.0] * len(completions)

    with pytest.raises(ConfigError, match=r"rewards\.right: .* a parameter 'solution' that"):
        ours({"right": is_answer}, texts, small)


def test_p006_p025_zero_from_a_column_that_is_not_there_is_said(texts, small, caplog):
    """A swallowed KeyError and `kwargs.get` look alike: 0 on all rows."""

    def right(completions, **kwargs):
        try:
            return [float(g in c) for g, c in zip(kwargs["gold"], completions, strict=True)]
        except KeyError:
            return [0.0] * len(completions)

    trainer = trained(ours({"right": right}, texts, {**small, "max_completion_length": 64}))

    [text] = said(caplog)
    assert text.startswith("nothing can be learnt from this batch of 8 completions: reward 'right'")
    assert "gave 0 on all rows" in text
    assert column(trainer, "grpo/no_signal") == [1.0, 1.0]


def test_p025_evaluation_hands_over_the_same_columns(texts, small):
    seen = {"train": [], "eval": []}
    model = []

    @reward(isolation="inline")
    def right(completion: Completion, answer: str) -> float:
        """Keeps what it is handed."""
        mode = "train" if model[0].training else "eval"
        seen[mode].append((completion.prompt, answer))
        return 0.5

    small |= {"eval_strategy": "steps", "eval_steps": 2, "per_device_eval_batch_size": 8}
    trainer = ours({"right": right}, texts, small, eval_dataset=texts)
    model.append(trainer.model)
    trained(trainer)

    expected = {(f"{i}+1=", str(i + 1)) for i in range(8)}
    assert set(seen["eval"]) == expected
    assert set(seen["train"]) <= expected


def test_obs01_chat_taken_for_a_text_is_said_and_a_tagged_reward_gets_the_text(
    chats, small, caplog
):
    small["max_completion_length"] = 64
    wrong = trained(ours({"wrong": length}, chats, small))
    [text] = said(caplog)
    right = trained(ours({"right": n_characters}, chats, small))

    assert column(wrong, "grpo/wrong/raw_mean") == [1.0, 1.0]
    assert "gave 1 on all rows: are the completions in the form that it expects?" in text
    assert min(column(right, "grpo/right/raw_mean")) > 1.0
    assert learnt(right)


def test_obs16_setting_that_takes_the_columns_away_is_refused(texts, small):
    with pytest.raises(ConfigError, match="remove_unused_columns: would take the rewards' columns"):
        ours({"length": length}, texts, {**small, "remove_unused_columns": True})


def test_p150_text_that_ended_is_not_cut_off_where_padding_is_the_end_token(texts, small):
    seen = []

    @reward(isolation="inline")
    def look(completion: Completion) -> float:
        """Keeps what it sees."""
        seen.append(completion)
        return 0.0

    small["max_completion_length"] = 64
    tokenizer, model = make_tokenizer(), make_model()
    tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = model.generation_config.pad_token_id = 2
    rewards, config = CompositeReward({"look": look}), GRPOConfig(**small)
    GRPOTrainer(model, rewards, config, texts, tokenizer=tokenizer).train()

    assert {c.truncated for c in seen} == {True, False}
    for completion in seen:
        assert completion.truncated == (len(completion.token_ids) == 64)
        assert completion.token_ids.count(2) == (not completion.truncated)


# What a reward gives back


@HOSTS
@pytest.mark.parametrize(
    "returned",
    [[[1.0]] * 8, ["1.0"] * 8, [{"score": 1}] * 8, None, 1.0, [], [1.0]],
    ids=["nested", "texts", "dicts", "None", "float", "empty", "one"],
)
def test_p007_p009_p010_return_of_another_kind_names_the_reward(texts, small, host, returned):
    def wrong(completions, **kwargs):
        return returned

    with pytest.raises(RewardError, match=r"reward 'judge' \(function in .*\) failed on 8 of 8"):
        trained(host({"judge": wrong}, texts, small))


def test_nan_is_a_fault_and_none_is_not(texts, small):
    rewards = {"nan": by_place(math.nan, 1.0), "none": by_place(None, 1.0), "length": length}
    trainer = trained(ours(rewards, texts, small))

    assert column(trainer, "grpo/nan/failed") == [0.5, 0.5]
    assert column(trainer, "grpo/nan/skipped") == [0.0, 0.0]
    assert column(trainer, "grpo/none/failed") == [0.0, 0.0]
    assert column(trainer, "grpo/none/skipped") == [0.5, 0.5]


@HOSTS
@pytest.mark.parametrize("scale", ["none", "group", "batch"])
def test_obs03_obs04_one_infinite_value_costs_its_cell_alone(texts, small, host, scale):
    small["scale_rewards"] = scale
    trainer = trained(host({"judge": by_place(math.inf, 1.0, 2.0, 3.0)}, texts, small))

    assert column(trainer, "grpo/judge/failed") == [0.25, 0.25]
    assert column(trainer, "reward") == [2.0, 2.0]
    assert learnt(trainer)
    assert all(bool(torch.isfinite(p).all()) for p in weights(trainer))
    # The others learn from each other: -1, 0 and 1 from their mean.
    _, low, middle, high = list(trainer._logs["advantages"])[:4]
    assert low == -high < 0.0
    assert middle == 0.0


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        (torch.tensor(0.5), 0.5),
        (torch.tensor([0.5]), 0.5),
        (torch.tensor([[0.25]], dtype=torch.bfloat16), 0.25),
        (torch.tensor(0.5, requires_grad=True), 0.5),
        (torch.tensor(1), 1.0),
        (torch.tensor(True), 1.0),
    ],
)
def test_tensor_of_one_element_is_its_number(returned, value):
    assert outcome_of(returned, 0.0, 1.0) == Outcome(value)


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        (torch.tensor([0.5, 0.5]), "returned an array of shape (2,), which is not one number"),
        (torch.tensor([]), "returned an array of shape (0,), which is not one number"),
        (torch.tensor(math.nan), "returned nan; a reward must be finite"),
        (torch.tensor(0.5, device="meta"), "returned an array of shape ()"),
    ],
)
def test_tensor_of_anything_else_is_a_fault(returned, reason):
    outcome = outcome_of(returned, 0.0, 1.0)

    assert outcome.fault
    assert outcome.reason.startswith(reason)


# What it may cost


def failing(completions, **kwargs):
    raise RuntimeError("no")


@HOSTS
def test_obs06_reward_of_weight_zero_is_measured_and_ends_no_run(texts, small, host):
    rewards = {"length": length, "judge": {"use": failing, "weight": 0.0}}
    trainer = trained(host(rewards, texts, small))

    assert trainer.state.global_step == 2
    assert column(trainer, "grpo/judge/failed") == [1.0, 1.0]
    assert learnt(trainer)


def test_obs06_reward_whose_weight_rises_from_zero_is_no_spectator(texts, small):
    weight = {"start": 0.0, "end": 1.0, "steps": 2}
    rewards = {"length": length, "judge": {"use": failing, "weight": weight}}

    with pytest.raises(RewardError, match=r"reward 'judge' .* failed on 8 of 8 completions"):
        trained(ours(rewards, texts, small))


def test_obs12_exit_in_a_worker_is_a_fault_and_no_success(texts, small):
    rewards = {"exits": rewards_file("exits_with_success"), "length": length}
    trainer = trained(ours(rewards, texts, small, limits={"max_failed": 1.0}))
    trainer.composite.close()

    assert trainer.state.global_step == 2
    assert column(trainer, "grpo/exits/failed") == [1.0, 1.0]


def test_p108_alarm_of_a_library_works_in_a_worker_though_the_trainer_is_in_a_thread():
    """A signal's handler can only be set in the main thread of a process: a worker has one."""
    judge = load_reward(rewards_file("bounds_itself_by_an_alarm"))
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(judge("text")))
    before = signal.getsignal(signal.SIGALRM)

    thread.start()
    thread.join(300)

    assert [(o.value, o.reason) for o in outcomes] == [(0.0, "limit: 0.05 s")]
    assert signal.getsignal(signal.SIGALRM) is before


def test_p137_evaluation_costs_no_call_of_a_reward_for_training(texts, small):
    calls = []

    def judge(completions, **kwargs):
        calls.append(len(completions))
        return [0.5] * len(completions)

    small |= {"eval_strategy": "steps", "eval_steps": 1, "per_device_eval_batch_size": 8}
    rewards = {"judge": {"use": judge, "modes": ["train"]}, "length": length}
    trained(ours(rewards, texts, small, eval_dataset=texts))

    assert calls == [8, 8]


# What is seen


def test_p067_logged_reward_is_what_is_trained_on(texts, small):
    rewards = {
        "one": {"use": by_place(1.0), "weight": 0.75},
        "zero": {"use": by_place(0.0), "weight": 0.25},
    }
    trainer = trained(ours(rewards, texts, small))

    assert column(trainer, "reward") == column(trainer, "grpo/total_mean") == [0.75, 0.75]
    assert [line.get("reward") for line in metrics_file(small)[:2]] == [0.75, 0.75]


def test_obs08_metric_called_reward_leaves_the_trainers_reward_alone(texts, small):
    trainer = trained(ours({"judge": rewards_file("has_a_metric_called_reward")}, texts, small))
    trainer.composite.close()

    assert column(trainer, "reward") == [0.5, 0.5]
    assert column(trainer, "grpo/judge/m/reward") == [999.0, 999.0]


def test_obs10_one_function_twice_has_two_curves(texts, small):
    rewards = CompositeReward({"low": by_place(0.0, 1.0), "high": by_place(10.0, 11.0)})
    trainer = trained(ours(rewards, texts, small))

    assert [log["rewards/low/mean"] for log in steps(trainer)] == [0.5, 0.5]
    assert [log["rewards/high/mean"] for log in steps(trainer)] == [10.5, 10.5]
