"""`GRPOConfig`: names and defaults on top of TRL's."""

from __future__ import annotations

import logging
from dataclasses import MISSING

import pytest
import trl

import grpo_core.training.config as module
from grpo_core import GRPOConfig
from grpo_core.errors import ConfigError
from grpo_core.training.config import train_problems


def test_config_defaults_are_the_documented_ones(tmp_path):
    config = GRPOConfig(output_dir=str(tmp_path))

    assert (config.num_generations, config.max_completion_length) == (4, 512)
    assert (config.learning_rate, config.kl_coef, config.clip_range) == (1e-6, 0.1, 0.2)
    assert (config.temperature, config.num_train_epochs) == (0.7, 3)
    assert config.gradient_accumulation_steps == 4


def test_config_kl_coef_and_clip_range_are_beta_and_epsilon(tmp_path):
    config = GRPOConfig(output_dir=str(tmp_path), kl_coef=0.05, clip_range=0.3)

    assert (config.beta, config.epsilon) == (0.05, 0.3)
    config.kl_coef, config.clip_range = 0.5, 0.1
    assert (config.beta, config.epsilon) == (0.5, 0.1)


def test_config_equal_kl_coef_and_beta_are_accepted(tmp_path):
    assert GRPOConfig(output_dir=str(tmp_path), kl_coef=0.2, beta=0.2).beta == 0.2


def test_config_different_kl_coef_and_beta_are_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"kl_coef=0\.2 and beta=0\.1 are the same setting"):
        GRPOConfig(output_dir=str(tmp_path), kl_coef=0.2, beta=0.1)


def test_config_kl_coef_zero_is_kept(tmp_path):
    assert GRPOConfig(output_dir=str(tmp_path), kl_coef=0.0).beta == 0.0


def test_config_output_dir_may_be_given_by_position(tmp_path):
    assert GRPOConfig(str(tmp_path)).output_dir == str(tmp_path)


def test_config_unknown_field_names_a_near_one(tmp_path):
    with pytest.raises(TypeError, match=r"no field 'learning_rat'\. Did you mean 'learning_rate'"):
        GRPOConfig(output_dir=str(tmp_path), learning_rat=1e-6)


def test_config_retired_field_says_what_to_do(tmp_path):
    with pytest.raises(TypeError, match=r"'max_prompt_length'\. TRL no longer cuts prompts"):
        GRPOConfig(output_dir=str(tmp_path), max_prompt_length=64)


def test_config_batch_without_whole_groups_names_valid_values(tmp_path):
    with pytest.raises(ConfigError, match="num_generations = 2, 3, 4, 6, 12") as caught:
        GRPOConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=3,
            gradient_accumulation_steps=4,
            num_generations=5,
        )
    assert "set per_device_train_batch_size = 5, 10, 15" in str(caught.value)


def test_config_lists_unset_defaults_that_differ_from_trl(tmp_path):
    config = GRPOConfig(output_dir=str(tmp_path), temperature=1.0)

    theirs = {f: trl.GRPOConfig.__dataclass_fields__[f].default for f in module.DEFAULTS}
    expected = {k: v for k, v in module.DEFAULTS.items() if v != theirs[k] and k != "temperature"}
    assert config.defaults_in_force == expected
    assert config.defaults_in_force["beta"] == 0.1


def test_config_on_cpu_turns_off_what_needs_an_accelerator_and_says_so_once(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(module, "_said", False)
    with caplog.at_level(logging.WARNING, "grpo_core"):
        first = GRPOConfig(output_dir=str(tmp_path), use_cpu=True)
        GRPOConfig(output_dir=str(tmp_path), use_cpu=True)

    assert (first.bf16, first.gradient_checkpointing) == (False, False)
    assert [r.message for r in caplog.records] == [
        "no accelerator: training on the CPU with bf16, gradient_checkpointing, "
        "dataloader_pin_memory off"
    ]


def test_config_on_cpu_keeps_what_was_asked_for(tmp_path):
    config = GRPOConfig(
        output_dir=str(tmp_path), use_cpu=True, bf16=True, gradient_checkpointing=True
    )

    assert (config.bf16, config.gradient_checkpointing) == (True, True)


def test_config_takes_activation_checkpointing_by_either_name(tmp_path):
    config = GRPOConfig(output_dir=str(tmp_path), use_cpu=True, activation_checkpointing=True)

    assert (config.activation_checkpointing, config.gradient_checkpointing) == (True, True)


@pytest.mark.parametrize(
    ("train", "said"),
    [
        ({"learning_rat": 1e-6}, "no field 'learning_rat'. Did you mean 'learning_rate'?"),
        ({"learning_rate": "fast"}, "expected float, got 'fast'"),
        ({"max_steps": 1.5}, "expected int, got 1.5"),
        ({"kl_coef": "x"}, "expected float, got 'x'"),
        ({"kl_coef": 0.1, "beta": 0.2}, "kl_coef is TRL's beta, which is given too"),
        ({"output_dir": "x"}, "is set by [run] dir"),
        ({"reward_weights": [1.0]}, "is set by each reward's weight"),
        ({"eval_strategy": "steps"}, "is set by [eval] every; leave it out"),
        ({"num_generations_eval": 2}, "is set by [eval] num_generations"),
        ({"bf16": "yes"}, "got 'yes'"),
        ({"kl_coef": -1.0}, "expected a finite number, at least 0, got -1.0"),
        ({"beta": float("nan")}, "expected a finite number, at least 0, got nan"),
        ({"clip_range": 0}, "expected a finite number above 0, got 0"),
        (
            {"temperature": 0.0},
            "above 0, since at 0 all completions of a prompt are the same, got 0.0",
        ),
        ({"learning_rate": -1.0}, "expected a finite number, at least 0, got -1.0"),
        ({"seed": -1}, "expected a finite number, at least 0, got -1"),
        ({"num_iterations": 0}, "expected a finite number, at least 1, got 0"),
        ({"num_generations": 0}, "expected a finite number, at least 1, got 0"),
        ({"temperature": -1.0}, "expected a finite number above 0, since at 0"),
        ({"temperature": float("inf")}, "expected a finite number above 0"),
        ({"learning_rate": float("nan")}, "expected a finite number, at least 0, got nan"),
        ({"top_p": 5.0}, "above 0 and at most 1, the share of the probability to sample from; 1 i"),
        ({"top_p": 0.0}, "expected a number above 0 and at most 1"),
        ({"top_k": -1}, "at least 0; 0 samples from all tokens, got -1"),
        ({"min_p": 1.5}, "expected a number from 0 to 1, got 1.5"),
        ({"repetition_penalty": 0.0}, "above 0; 1 is none, got 0.0"),
        ({"max_grad_norm": -1.0}, "at least 0; 0 leaves the gradient as it is, got -1.0"),
        ({"max_grad_norm": float("inf")}, "expected a finite number, at least 0"),
        ({"weight_decay": -0.1}, "expected a finite number, at least 0, got -0.1"),
        ({"adam_beta1": 1.0}, "expected a number from 0 to below 1, got 1.0"),
        ({"adam_beta2": -0.1}, "expected a number from 0 to below 1, got -0.1"),
        ({"adam_epsilon": -1e-8}, "expected a finite number, at least 0, got -1e-08"),
        ({"warmup_steps": -5}, "expected a finite number, at least 0, got -5"),
        ({"epsilon_high": -0.1}, "expected a finite number above 0, got -0.1"),
        ({"delta": 0.0}, "expected a finite number above 0, got 0.0"),
        ({"top_entropy_quantile": 0.0}, "at most 1, the share of the tokens to train on, got 0.0"),
        ({"logging_steps": 0}, "expected a finite number above 0, got 0"),
        ({"save_steps": -1}, "above 0; to save nothing set save_strategy, got -1"),
        ({"max_completion_length": 0}, "expected a finite number, at least 1, got 0"),
        ({"max_steps": 0}, "expected at least 1, or -1 for epochs; got 0"),
        ({"num_train_epochs": 0}, "expected above 0, got 0"),
        ({"scale_rewards": "grup"}, "expected one of 'group', 'batch', 'none', True, False"),
        ({"loss_type": "foo"}, "expected one of 'grpo', 'bnpo'"),
        ({"multi_objective_aggregation": "x"}, "expected one of 'sum_then_normalize'"),
    ],
)
def test_train_problems_name_the_field(train, said):
    [problem] = train_problems(train)

    assert problem.where == f"train.{next(iter(train))}"
    assert said in problem.message


@pytest.mark.parametrize(
    "train",
    [
        {"learning_rate": 1, "max_steps": 10, "lr_scheduler_type": "cosine"},
        {"save_strategy": "no", "optim": "adamw_torch", "logging_strategy": "steps"},
        {"model_init_kwargs": {"dtype": "float32"}, "top_k": 5, "warmup_steps": 0.1},
        {"max_grad_norm": 0.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.2},
        {"weight_decay": 0.0, "warmup_steps": 0, "adam_beta1": 0.0, "delta": None},
        {"kl_coef": 0, "clip_range": 0.2, "gradient_checkpointing": True, "bf16": False},
    ],
)
def test_train_problems_good_values_give_none(train):
    assert train_problems(train) == []


@pytest.mark.parametrize(
    "wrong", [{"kl_coef": -1.0}, {"num_generations": 0}, {"per_device_train_batch_size": "8"}]
)
def test_config_value_that_cannot_train_is_an_error(tmp_path, wrong):
    with pytest.raises(ConfigError, match=f"{next(iter(wrong)).replace('kl_coef', 'beta')}"):
        GRPOConfig(output_dir=str(tmp_path), **wrong)


def test_config_takes_every_default_of_trl():
    theirs = {
        name: field.default
        for name, field in module._FIELDS.items()
        if name in module._VALUES and field.default is not MISSING
    }

    assert len(theirs) > 30
    assert module.value_problems(theirs) == []


def test_config_loss_types_are_those_of_the_installed_trl(tmp_path):
    """A loss that TRL learns must not be refused here: its help text lists them."""
    listed = trl.GRPOConfig.__dataclass_fields__["loss_type"].metadata["help"]

    named = {name for name in module._VALUES["loss_type"][0].split("'") if f"`{name}`" in listed}
    offered = {word.strip("`'\".,:") for word in listed.split() if word.startswith("`'")}
    assert offered <= {n for n in module._VALUES["loss_type"][0].split("'")}, (named, offered)


@pytest.mark.parametrize(
    ("processes", "given", "expected"), [("1", None, None), ("2", None, True), ("2", False, False)]
)
def test_config_processes_on_cpus_are_told_that_they_are_on_one(
    monkeypatch, processes, given, expected
):
    monkeypatch.setattr(module.torch.accelerator, "is_available", lambda: False)
    monkeypatch.setenv("WORLD_SIZE", processes)
    fields = {} if given is None else {"use_cpu": given}

    module._settle_on_cpu(fields)

    assert fields.get("use_cpu") is expected


@pytest.mark.parametrize(
    ("train", "problems"),
    [
        ({"fsdp": True}, []),
        ({"fsdp": 1}, ["train.fsdp: expected bool | str | None, got 1"]),
        (
            {"vllm_mode": "both"},
            ["train.vllm_mode: expected one of 'colocate', 'server', got 'both'"],
        ),
        (
            {"vllm_tensor_parallel_size": 0},
            ["train.vllm_tensor_parallel_size: expected a finite number, at least 1, got 0"],
        ),
    ],
)
def test_train_settings_of_several_gpus_are_checked(train, problems):
    assert list(map(str, train_problems(train))) == problems
