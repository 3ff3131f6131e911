"""A training whose KL runs away says so, and slows down where it is asked to."""

from __future__ import annotations

import math
from importlib import resources
from types import SimpleNamespace

import pytest
import trl
from short_runs import column, ours, said, trained
from transformers import TrainerCallback

import grpo_core.kl
from grpo_core import Completion, CompositeReward, GRPOConfig, reward, to_trl
from grpo_core.errors import ConfigError
from grpo_core.training.config import train_problems
from grpo_core.training.kl_watch import KlCallback

GUARD = {"beta": 0.05, "kl_guard": True, "lr_scheduler_type": "constant", "learning_rate": 1e-3}


@reward(isolation="inline")
def halves(completion: Completion) -> float:
    """Differs from text to text."""
    return len(completion.text) % 2 / 2


@pytest.fixture(params=["GRPOTrainer", "to_trl"])
def host(request, model_folder):
    """Makes a trainer, ours or TRL's; TRL needs a folder to have a reference."""

    def theirs(rewards, dataset, small):
        args = trl.GRPOConfig(**small)
        made = to_trl(CompositeReward(rewards), args)
        return trl.GRPOTrainer(
            str(model_folder), made.reward_funcs, args, dataset, callbacks=made.callbacks
        )

    return ours if request.param == "GRPOTrainer" else theirs


@pytest.fixture
def small(small):
    """Settings of a run with a KL, and a rate at which the tiny model stays near its reference."""
    return {**small, "beta": 0.05, "max_steps": 5, "learning_rate": 1e-3}


@pytest.fixture
def always(monkeypatch):
    """Every KL of a step is an alarm, also that of the first, which is 0."""
    monkeypatch.setattr(grpo_core.kl, "LIMIT", -1.0)


def of_kl(caplog):
    return [text for text in said(caplog) if "nats per token" in text]


def test_rate_times_1000_is_warned_of_within_five_steps(texts, small, caplog, host):
    trainer = trained(host({"halves": halves}, texts, {**small, "learning_rate": 1.0}))

    [text, *_] = of_kl(caplog)
    step = int(text.removeprefix("step ").split(":")[0])
    assert step <= 5
    assert f"KL is {column(trainer, 'kl')[step - 1]:.4g} nats per token" in text
    assert "Lower learning_rate, now 1, to 0.1 or less" in text
    assert "raise kl_coef, now 0.05, to 0.1 or more" in text
    assert ("kl_guard = true does both by halves" in text) == (host is ours)


def test_healthy_run_is_not_warned_of(texts, small, caplog, host):
    trainer = trained(host({"halves": halves}, texts, small))

    assert 0 < max(column(trainer, "kl")) < 0.25
    assert of_kl(caplog) == []


def test_each_step_is_watched_though_few_are_logged(texts, small, caplog):
    trained(ours({"halves": halves}, texts, {**small, "learning_rate": 1.0, "logging_steps": 100}))

    assert of_kl(caplog)[0].startswith(("step 2:", "step 3:", "step 4:", "step 5:"))


def test_without_kl_it_is_said_once(texts, small, caplog, host):
    trained(host({"halves": halves}, texts, {**small, "beta": 0.0}))

    texts = [r.getMessage() for r in caplog.records if "kl_coef is 0" in r.getMessage()]
    assert texts == [
        "kl_coef is 0: there is no reference and no KL, so a model that runs away from where it "
        "began is not noticed"
    ]


def test_nan_which_trl_logs_as_none_is_warned_of(caplog):
    args = SimpleNamespace(beta=0.1, learning_rate=1e-6)
    state = SimpleNamespace(global_step=7, is_world_process_zero=True, stateful_callbacks={})

    KlCallback().on_log(args, state, None, {"kl": None})

    assert said(caplog)[0].startswith("step 7: KL is nan nats per token, not a finite number")


def test_private_names_that_are_read_are_still_there(texts, small):
    """TRL has no public way to the KL of a step; where it renames this, kl_watch must follow."""
    seen = []

    class Looks(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            seen.append(len(trainer._metrics["train"]["kl"]))
            scheduler = kwargs["lr_scheduler"]
            assert scheduler._last_lr == scheduler.get_last_lr()

    trainer = ours({"halves": halves}, texts, {**small, "logging_steps": 3, "max_steps": 3})
    trainer.add_callback(Looks())
    trainer.train()

    batches = trainer.args.gradient_accumulation_steps
    assert seen == [batches, 2 * batches, 3 * batches]


def test_guard_lowers_the_rate_and_raises_kl_coef_and_logs_both(texts, small, caplog, always):
    trainer = trained(ours({"halves": halves}, texts, {**small, **GUARD, "max_steps": 12}))

    # Acts behind steps 1 and 11; a step is trained with what was in force before it.
    assert column(trainer, "learning_rate") == [1e-3] + [5e-4] * 10 + [2.5e-4]
    assert column(trainer, "grpo/kl_guard/rate_factor") == [0.5] * 10 + [0.25] * 2
    assert column(trainer, "grpo/kl_guard/kl_coef") == [0.1] * 10 + [0.2] * 2
    assert trainer.beta == 0.2
    acts = [text for text in said(caplog) if "kl_guard lowers" in text]
    assert [text.split(":")[0] for text in acts] == ["step 1", "step 11"]
    assert acts[0].endswith(
        "kl_guard lowers learning_rate to 0.0005 (0.5 of what was asked for) and raises kl_coef "
        "to 0.1 (2 times)"
    )


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_guard_scales_the_schedule(texts, small, always, schedule):
    settings = {**small, "lr_scheduler_type": schedule}
    plain = trained(ours({"halves": halves}, texts, settings))

    guarded = trained(ours({"halves": halves}, texts, {**settings, "kl_guard": True}))

    first, *others = column(plain, "learning_rate")
    assert column(guarded, "learning_rate") == [first] + [rate / 2 for rate in others]


@pytest.mark.parametrize("kl", [math.nan, math.inf])
def test_guard_does_not_act_on_nan(texts, small, always, monkeypatch, kl):
    monkeypatch.setattr(KlCallback, "_noted", lambda self: [0.0] * self._before + [kl])
    trainer = trained(ours({"halves": halves}, texts, {**small, **GUARD, "max_steps": 1}))

    assert trainer.beta == (0.05 if math.isnan(kl) else 0.1)


def test_guard_is_kept_over_a_resume(texts, small, always, caplog):
    settings = {**small, **GUARD, "max_steps": 12, "save_strategy": "steps", "save_steps": 4}
    whole = trained(ours({"halves": halves}, texts, settings))
    caplog.clear()

    resumed = ours({"halves": halves}, texts, settings)
    resumed.train(resume_from_checkpoint=f"{small['output_dir']}/checkpoint-4")

    for metric in ("learning_rate", "grpo/kl_guard/rate_factor", "grpo/kl_guard/kl_coef"):
        assert column(resumed, metric) == column(whole, metric), metric
    assert (resumed.beta, whole.beta) == (0.2, 0.2)
    # The alarm that the checkpoint knows goes on and is not said again; the guard acts in step 11.
    assert [text.split(":")[0] for text in of_kl(caplog)] == ["step 11"]


def test_resume_without_the_guard_says_what_stays(texts, small, always, caplog):
    settings = {**small, **GUARD, "max_steps": 2, "save_strategy": "steps", "save_steps": 1}
    trained(ours({"halves": halves}, texts, settings))

    resumed = ours({"halves": halves}, texts, {**settings, "kl_guard": False})
    resumed.train(resume_from_checkpoint=f"{small['output_dir']}/checkpoint-1")

    assert resumed.beta == 0.05
    assert column(resumed, "learning_rate")[-1] == 5e-4
    assert (
        "kl_guard is off, but had acted before the checkpoint: the learning rate stays at 0.5 of "
        "what was asked for, and kl_coef goes back to 0.05"
    ) in said(caplog)


def test_guard_begins_anew_in_a_new_training(texts, small, always):
    trainer = trained(ours({"halves": halves}, texts, {**small, **GUARD, "max_steps": 2}))
    assert trainer.beta == 0.1

    trainer.train()

    assert trainer.beta == 0.1


def test_guard_without_kl_is_refused(small):
    with pytest.raises(ConfigError, match="kl_guard: expected a kl_coef above 0"):
        GRPOConfig(**{**small, "beta": 0.0, "kl_guard": True})
    [problem] = train_problems({"kl_guard": True, "kl_coef": 0.0})
    assert problem.where == "train.kl_guard"
    assert train_problems({"kl_guard": True}) == []


def test_guard_of_another_type_is_refused(small):
    [problem] = train_problems({"kl_guard": "yes"})

    assert str(problem) == "train.kl_guard: expected bool, got 'yes'"
    with pytest.raises(ConfigError, match="kl_guard: expected True or False, got 'yes'"):
        GRPOConfig(**small, kl_guard="yes")


def test_guard_with_the_trainer_of_trl_is_refused(texts, small, model_folder):
    args = GRPOConfig(**small, kl_guard=True)
    made = to_trl(CompositeReward({"halves": halves}), args)

    with pytest.raises(ConfigError, match=r"kl_guard needs grpo_core\.GRPOTrainer"):
        trl.GRPOTrainer(str(model_folder), made.reward_funcs, args, texts, callbacks=made.callbacks)


@pytest.mark.slow
def test_demo_at_a_rate_times_1000_is_warned_of_within_five_steps(tmp_path, caplog):
    from grpo_core.catalog import Catalog
    from grpo_core.reader import read_draft
    from grpo_core.training.run import train_run

    overrides = {
        "run.dir": tmp_path / "run",
        "train.learning_rate": 0.3,  # 3e-4 times 1000
        "train.max_steps": 5,
        "train.per_device_train_batch_size": 16,
    }
    with resources.as_file(resources.files("grpo_core.demo")) as demo:
        sets = [f"{key}={value}" for key, value in overrides.items()]
        train_run(read_draft(demo / "config.toml", sets), Catalog(), lambda line: None)

    assert of_kl(caplog)[0].startswith(("step 2:", "step 3:", "step 4:", "step 5:"))
