"""`to_trl`: TRL's own trainer with our rewards."""

from __future__ import annotations

import math

import pytest
import torch
import trl
from short_runs import said
from tiny_model import make_model, make_tokenizer
from transformers import TrainerCallback

from grpo_core import Completion, CompositeReward, Fail, Score, Skip, reward, to_trl
from grpo_core.errors import ConfigError, RewardError


def count_digits(completions, **kwargs):
    return [float(sum(c.isdigit() for c in text_of(x))) for x in completions]


def is_short(prompts, completions, completion_ids, answer, **kwargs):
    return [
        0.1 * len(ids) + (a in text_of(c))
        for c, ids, a in zip(completions, completion_ids, answer, strict=True)
    ]


def text_of(completion):
    return completion if isinstance(completion, str) else completion[0]["content"]


def train(args, dataset, functions, callbacks=()):
    """Losses of each step and the weights afterwards."""
    trainer = trl.GRPOTrainer(
        model=make_model(),
        reward_funcs=list(functions),
        args=args,
        train_dataset=dataset,
        processing_class=make_tokenizer(),
        callbacks=list(callbacks),
    )
    trainer.train()
    losses = [log["loss"] for log in trainer.state.log_history if "loss" in log]
    return trainer, losses, [p.detach().clone() for p in trainer.model.parameters()]


@pytest.mark.parametrize("kind", ["texts", "chats"])
def test_to_trl_five_steps_equal_plain_trl_bit_for_bit(kind, request, small):
    dataset = request.getfixturevalue(kind)
    small |= {"max_steps": 5, "num_generations": 4, "gradient_accumulation_steps": 2}
    functions = [count_digits, is_short]

    _, plain_losses, plain = train(trl.GRPOConfig(**small), dataset, functions)
    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"digits": count_digits, "short": is_short}), args)
    _, losses, weights = train(args, dataset, rewards.reward_funcs, rewards.callbacks)

    assert len(losses) == 5
    assert any(loss != 0.0 for loss in losses)
    assert losses == plain_losses
    assert all(torch.equal(a, b) for a, b in zip(weights, plain, strict=True))
    fresh = [p.detach() for p in make_model().parameters()]
    assert not all(torch.equal(a, b) for a, b in zip(weights, fresh, strict=True))


def test_to_trl_without_callback_says_to_pass_it(texts, small):
    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"digits": count_digits}), args)

    with pytest.raises(ConfigError, match=r"callbacks=rewards\.callbacks"):
        train(args, texts, rewards.reward_funcs)


def test_to_trl_calls_each_reward_once_a_batch(texts, small):
    calls = []

    def first(completions, **kwargs):
        calls.append("first")
        return [0.0] * len(completions)

    def second(completions, **kwargs):
        calls.append("second")
        return [1.0] * len(completions)

    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"a": first, "b": second}), args)
    train(args, texts, rewards.reward_funcs, rewards.callbacks)

    assert calls == ["first", "second"] * 2


def test_to_trl_weights_reach_trl(texts, small):
    def ones(completions, **kwargs):
        return [1.0] * len(completions)

    args = trl.GRPOConfig(**small)
    composite = CompositeReward(
        {"a": {"use": ones, "weight": 0.25}, "b": {"use": ones, "weight": 2.0}}
    )
    rewards = to_trl(composite, args)
    trainer, _, _ = train(args, texts, rewards.reward_funcs, rewards.callbacks)

    assert rewards.reward_weights == [0.25, 2.0]
    assert trainer.reward_weights.tolist() == [0.25, 2.0]
    assert trainer.state.log_history[0]["reward"] == 2.25
    assert trainer.state.log_history[0]["grpo/total_mean"] == 2.25


def test_to_trl_other_weights_in_args_are_an_error(small):
    composite = CompositeReward({"a": {"use": count_digits, "weight": 0.5}})
    args = trl.GRPOConfig(**small, reward_weights=[1.0])

    with pytest.raises(ConfigError, match=r"expected the rewards' weights \[0.5\], got \[1.0\]"):
        to_trl(composite, args)


def test_to_trl_changes_no_default(small):
    args, untouched = trl.GRPOConfig(**small), trl.GRPOConfig(**small)

    to_trl(CompositeReward({"a": count_digits}), args)

    changed = {
        k for k, v in untouched.to_dict().items() if args.to_dict()[k] != v and k != "logging_dir"
    }
    assert changed == set()


def test_seam_completion_has_ids_raw_text_truncation_and_prompt(chats, small):
    seen: list[Completion] = []

    @reward
    def look(completion: Completion, answer: str) -> float:
        """Keeps what it sees."""
        seen.append(completion)
        return 0.0

    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"look": look}), args)
    train(args, chats, rewards.reward_funcs, rewards.callbacks)

    assert len(seen) == 16
    tokenizer = make_tokenizer()
    for completion in seen:
        assert completion.raw_text == tokenizer.decode(list(completion.token_ids))
        assert completion.text == tokenizer.decode(
            list(completion.token_ids), skip_special_tokens=True
        )
        assert completion.truncated == (completion.token_ids[-1] not in (0, 2))
        assert completion.prompt.endswith("+1=")
        assert completion.prompt_messages[0].role == "user"
        assert completion.reply[0].content == completion.text
        assert list(completion.columns) == ["answer"]
        assert int(completion.columns["answer"]) == int(completion.prompt[0]) + 1
    assert {c.truncated for c in seen} == {True, False}


def test_seam_completion_has_prefill_of_the_template(chats, small, monkeypatch):
    seen: list[str] = []

    @reward
    def look(completion: Completion) -> float:
        """Keeps the prefill."""
        seen.append(completion.prefill)
        return 0.0

    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"look": look}), args)
    tokenizer = make_tokenizer(
        "{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<assistant><think>\n' }}{% endif %}"
    )
    trl.GRPOTrainer(
        model=make_model(),
        reward_funcs=rewards.reward_funcs,
        args=args,
        train_dataset=chats,
        processing_class=tokenizer,
        callbacks=rewards.callbacks,
    ).train()

    assert set(seen) == {"<think>\n"}


def test_seam_missing_cell_takes_the_mean_of_its_group(texts, small):
    """Rows of a group: 1, 0, -, - beside a reward that gives 1 to all: totals 2, 1, 1.5, 1.5."""

    @reward
    def some(completion: Completion) -> float | None:
        """1, 0, None, None in turn."""
        some.n += 1
        return [1.0, 0.0, None, None][(some.n - 1) % 4]

    some.n = 0

    def all_one(completions, **kwargs):
        return [1.0] * len(completions)

    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"some": some, "one": all_one}), args)
    trainer, _, _ = train(args, texts, rewards.reward_funcs, rewards.callbacks)

    # std of 2, 1, 1.5, 1.5 = sqrt(0.5 / 3) = 0.408248; 0.5 / (0.408248 + 0.0001) = 1.224445
    assert list(trainer._logs["advantages"])[:4] == pytest.approx(
        [1.224445, -1.224445, 0.0, 0.0], abs=1e-5
    )
    logged = trainer.state.log_history[0]
    assert logged["grpo/some/coverage"] == 0.5
    assert logged["grpo/some/raw_mean"] == 0.5
    assert logged["grpo/no_signal"] == 0.0


def test_seam_metrics_of_a_score_are_logged(texts, small):
    @reward(range=(0, 10))
    def measured(completion: Completion) -> Score:
        """2 with a metric."""
        return Score(2.0, metrics={"length": 3})

    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"pkg/measured": measured}), args)
    trainer, _, _ = train(args, texts, rewards.reward_funcs, rewards.callbacks)

    logged = trainer.state.log_history[0]
    assert logged["rewards/pkg/measured/mean"] == 2.0
    assert logged["grpo/pkg/measured/m/length"] == 3.0
    assert logged["grpo/pkg/measured/raw_mean"] == 2.0
    assert logged["grpo/pkg/measured/raw_std"] == 0.0
    assert logged["grpo/pkg/measured/failed"] == 0.0
    assert logged["grpo/pkg/measured/weight"] == 1.0
    assert logged["grpo/no_signal"] == 1.0
    assert 0 <= logged["grpo/pkg/measured/seconds_p50"] <= logged["grpo/pkg/measured/seconds_max"]


def test_seam_returned_fail_is_missing_and_counted(texts, small):
    @reward(isolation="inline")
    def half(completion: Completion) -> float | Fail:
        """Fails on every second row."""
        half.n += 1
        return Fail("no gold") if half.n % 2 else 1.0

    half.n = 0
    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"half": half}), args)
    trainer, _, _ = train(args, texts, rewards.reward_funcs, rewards.callbacks)

    assert trainer.state.log_history[0]["grpo/half/failed"] == 0.5
    assert trainer.state.log_history[0]["rewards/half/mean"] == 1.0


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("1.0", "returned '1.0' of type str"),
        (math.nan, "returned nan; a reward must be finite"),
        (math.inf, "returned inf; a reward must be finite"),
        (1.5, r"returned 1.5, outside its range \[0, 1\]"),
    ],
)
def test_seam_bad_value_names_reward_origin_and_row(texts, small, returned, said):
    @reward(isolation="inline")
    def bad(completion: Completion) -> float:
        """Wrong on the third row."""
        bad.n += 1
        return returned if bad.n == 3 else 0.5

    bad.n = 0
    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"mine": bad}, max_failed=0), args)

    with pytest.raises(
        RewardError, match=rf"'mine' \(function in .*\) failed on 1 of 8(.|\n)*row 2: {said}"
    ):
        train(args, texts, rewards.reward_funcs, rewards.callbacks)


def test_seam_evaluation_uses_its_own_group_size(texts, small):
    sizes = []

    def once(completions, **kwargs):
        sizes.append(len(completions))
        return [None, *([1.0] * (len(completions) - 1))]

    small |= {"num_generations_eval": 2, "per_device_eval_batch_size": 2}
    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"once": once}), args)
    trainer = trl.GRPOTrainer(
        model=make_model(),
        reward_funcs=rewards.reward_funcs,
        args=args,
        train_dataset=texts,
        eval_dataset=texts.select(range(2)),
        processing_class=make_tokenizer(),
        callbacks=rewards.callbacks,
    )
    logged = trainer.evaluate()

    assert sizes == [2, 2]
    assert logged["eval_grpo/once/coverage"] == 0.5
    assert logged["eval_rewards/once/mean"] == 1.0


def test_seam_conflicting_processes_are_refused(small, monkeypatch):
    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"a": count_digits}), args)
    callback = rewards.callbacks[0]
    assert isinstance(callback, TrainerCallback)
    monkeypatch.setattr(type(args), "world_size", property(lambda self: 2))

    with pytest.raises(
        ConfigError, match="counts 2 processes and torch 1; start them with torchrun"
    ):
        callback.on_init_end(
            args, None, None, model=make_model(), processing_class=make_tokenizer()
        )


def test_to_trl_functions_in_another_order_are_an_error(texts, small):
    args = trl.GRPOConfig(**small)
    composite = CompositeReward({"a": {"use": count_digits, "weight": 0.5}, "b": is_short})
    rewards = to_trl(composite, args)

    with pytest.raises(ConfigError, match=r"of reward 'b' where 'a' was expected; pass all of"):
        train(args, texts, reversed(rewards.reward_funcs), rewards.callbacks)


def test_to_trl_of_a_list_says_what_to_write(small):
    with pytest.raises(ConfigError, match="takes a CompositeReward, got list"):
        to_trl([count_digits], trl.GRPOConfig(**small))


def test_seam_aggregates_as_the_trainer_does(texts, small):
    first = trl.GRPOConfig(**small)
    second = trl.GRPOConfig(**small, multi_objective_aggregation="normalize_then_sum")
    rewards = to_trl(CompositeReward({"a": count_digits}), first)

    rewards.callbacks[0].on_init_end(
        second, None, None, model=make_model(), processing_class=make_tokenizer()
    )

    assert rewards.callbacks[0].seam.aggregate == "normalize_then_sum"


def test_seam_reward_without_any_value_is_said_once_with_the_reason(texts, small, caplog):
    @reward(isolation="inline")
    def silent(completion: Completion) -> Skip:
        """Never applies."""
        return Skip("no gold here")

    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"silent": silent, "digits": count_digits}), args)
    train(args, texts, rewards.reward_funcs, rewards.callbacks)

    assert said(caplog) == [
        "reward 'silent' gave no value for any of the 8 completions of a batch: no gold here"
    ]


def test_seam_one_fault_of_a_whole_call_is_told_once(texts, small):
    def short(completions, **kwargs):
        return [1.0]

    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"short": short}), args)

    with pytest.raises(RewardError) as caught:
        train(args, texts, rewards.reward_funcs, rewards.callbacks)
    assert str(caught.value).splitlines()[1:2] == [
        "  rows 0 to 7: returned 1 values for 8 completions; return one for each, in order"
    ]


def test_seam_column_called_self_reaches_the_rewards(texts, small):
    seen = []

    @reward
    def look(completion: Completion, who: str) -> float:
        """Keeps its input."""
        seen.append(who)
        return 0.0

    args = trl.GRPOConfig(**small)
    rewards = to_trl(CompositeReward({"look": {"use": look, "inputs": {"who": "self"}}}), args)
    train(args, texts.add_column("self", ["me"] * 8), rewards.reward_funcs, rewards.callbacks)

    assert seen == ["me"] * 16
