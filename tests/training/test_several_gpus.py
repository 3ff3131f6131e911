"""The settings in examples/several_gpus are taken by the libraries, as far as a CPU can tell."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin
from accelerate.utils.deepspeed import HfDeepSpeedConfig
from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env
from docs_pages import ROOT, blocks_of

from grpo_core import GRPOConfig
from grpo_core.catalog import Catalog
from grpo_core.config import validate
from grpo_core.reader import read_draft
from grpo_core.training.backends import backend_problems, with_files
from grpo_core.training.config import train_problems

FOLDER = ROOT / "examples" / "several_gpus"
RUNS = sorted(p.name for p in FOLDER.glob("run*.toml"))
BACKENDS = {"deepspeed", "fsdp", "fsdp_config", "gradient_checkpointing"}


def config_of(name: str, tmp_path: Path) -> GRPOConfig:
    """What `grpo train` hands to the trainer."""
    train = with_files(read_draft(FOLDER / name).train, FOLDER)
    return GRPOConfig(output_dir=str(tmp_path), **train)


# Runs


@pytest.mark.parametrize("name", RUNS)
def test_run_has_no_problem(monkeypatch, name):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    draft = read_draft(FOLDER / name)
    processes = 3 if "server" in name else 4

    problems = validate(draft, Catalog(), ["question", "answer", "prompt"], processes=processes)
    problems += train_problems(draft.train) + backend_problems(draft.train, FOLDER, processes)

    assert problems == []


@pytest.mark.parametrize("name", RUNS)
def test_run_differs_from_the_plain_one_in_its_backend_alone(name):
    plain, run = read_draft(FOLDER / "run.toml"), read_draft(FOLDER / name)

    assert (run.sections, run.rewards) == (plain.sections, plain.rewards)
    added = {k for k in run.train if not k.startswith(("vllm_", "use_vllm"))} - plain.train.keys()
    assert added <= BACKENDS
    assert run.train.items() >= plain.train.items()


@pytest.mark.parametrize("name", RUNS)
def test_run_comment_says_the_batch(name):
    text = (FOLDER / name).read_text()
    [(each, processes, steps, batch, prompts)] = re.findall(
        r"# (\d+) x (\d+) processes x (\d+) = (\d+) completions, (\d+) prompts", text
    )
    train = read_draft(FOLDER / name).train

    assert int(each) == train["per_device_train_batch_size"]
    assert int(steps) == train["gradient_accumulation_steps"]
    assert int(each) * int(processes) * int(steps) == int(batch)
    assert int(batch) == int(prompts) * train["num_generations"]


# DeepSpeed


def test_zero2_file_is_stage_2_and_leaves_the_numbers_to_the_run():
    table = json.loads((FOLDER / "zero2.json").read_text())
    config = HfDeepSpeedConfig(str(FOLDER / "zero2.json"))

    assert (config.is_zero2(), config.is_zero3(), config.is_offload()) == (True, False, False)
    # "auto" is the run's own, so that no number is said twice.
    numbers = {k: v for k, v in table.items() if k != "zero_optimization"}
    assert numbers == {
        "bf16": {"enabled": "auto"},
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
    }


def test_zero2_run_is_taken_by_deepspeed(tmp_path):
    pytest.importorskip("deepspeed", reason="deepspeed is not installed")
    from deepspeed.runtime.config import DeepSpeedConfig

    config = config_of("run_zero2.toml", tmp_path)

    table = config.hf_deepspeed_config.config
    assert DeepSpeedConfig(table).zero_optimization_stage == 2
    # One process here: 4 completions x 4 steps.
    assert (table["train_micro_batch_size_per_gpu"], table["train_batch_size"]) == (4, 16)


# FSDP


def test_fsdp_run_shards_all_and_checkpoints_once(tmp_path, caplog):
    logging.getLogger("transformers").addHandler(caplog.handler)
    config = config_of("run_fsdp.toml", tmp_path)
    logging.getLogger("transformers").removeHandler(caplog.handler)

    plugin = FullyShardedDataParallelPlugin(**config.fsdp_plugin_args)

    assert (plugin.fsdp_version, plugin.reshard_after_forward) == (2, True)
    assert plugin.activation_checkpointing is True
    assert config.activation_checkpointing is False
    assert "prefer" not in caplog.text  # what transformers says of the other kind


# vLLM


def test_vllm_run_shares_the_gpus(tmp_path):
    config = config_of("run_vllm.toml", tmp_path)

    assert (config.use_vllm, config.vllm_mode) == (True, "colocate")
    assert config.vllm_gpu_memory_utilization == 0.3
    assert config.vllm_max_model_length > config.max_completion_length


def test_vllm_server_run_asks_a_server(tmp_path):
    config = config_of("run_vllm_server.toml", tmp_path)

    assert (config.use_vllm, config.vllm_mode) == (True, "server")
    assert config.vllm_server_base_url == "http://localhost:8000"


# accelerate


def launched(name: str, *words: str):
    """The arguments of `accelerate launch` with one of the files, as it fills them in."""
    file = str(FOLDER / name)
    parsed = launch_command_parser().parse_args(
        ["--config_file", file, "--no_python", "grpo", "train", "run.toml", *words]
    )
    args, _, _ = _validate_launch_command(parsed)
    return args


@pytest.fixture
def environment(monkeypatch):
    """Puts back what a test or accelerate puts into the environment."""
    before = dict(os.environ)
    yield
    for key in os.environ.keys() - before.keys():
        monkeypatch.delenv(key)


def test_accelerate_fsdp_file_shards_all(monkeypatch, environment):
    args = launched("accelerate_fsdp.yaml")

    for key, value in prepare_multi_gpu_env(args).items():
        monkeypatch.setenv(key, value)
    plugin = FullyShardedDataParallelPlugin()

    assert (args.use_fsdp, args.num_processes, args.mixed_precision) == (True, 4, "bf16")
    assert (plugin.fsdp_version, plugin.reshard_after_forward) == (2, True)
    assert plugin.state_dict_type.name == "FULL_STATE_DICT"


def test_accelerate_zero2_file_is_stage_2(environment):
    args = launched("accelerate_zero2.yaml")
    config = load_config_from_file(str(FOLDER / "accelerate_zero2.yaml"))
    args.deepspeed_fields_from_accelerate_config = list(config.deepspeed_config)

    _, made = prepare_deepspeed_cmd_env(args)

    assert (args.use_deepspeed, args.num_processes) == (True, 4)
    assert made["ACCELERATE_DEEPSPEED_ZERO_STAGE"] == "2"


@pytest.mark.parametrize("name", ["accelerate_fsdp.yaml", "accelerate_zero2.yaml"])
def test_accelerate_file_has_the_processes_of_the_plain_run(name):
    config = load_config_from_file(str(FOLDER / name))

    assert config.num_processes == 4  # as in the comments of run.toml
    assert config.distributed_type in (DistributedType.FSDP, DistributedType.DEEPSPEED)


# The page

PAGE = ROOT / "docs" / "how-to" / "several-gpus.md"


def test_page_shows_the_settings_of_the_files():
    blocks = [b for b in blocks_of(PAGE) if not b.markers]
    shown = [tomllib.loads(b.text)["train"] for b in blocks if b.language == "toml"]
    runs = [read_draft(FOLDER / name).train for name in RUNS]
    [table] = [b.text for b in blocks if b.language == "json"]

    assert table == (FOLDER / "zero2.json").read_text()
    assert len(shown) == 4
    plain = read_draft(FOLDER / "run.toml").train
    added = [{k: v for k, v in run.items() if k not in plain} for run in runs]
    assert all(train in added for train in shown)


def test_page_starts_the_server_as_trl_wants_it():
    from trl.scripts.vllm_serve import ScriptArguments, build_command

    [text] = [b.text for b in blocks_of(PAGE) if "vllm serve" in b.text]
    words = shlex.split(text)
    wanted = build_command(ScriptArguments(model="Qwen/Qwen2.5-0.5B-Instruct"))

    imposed = wanted[wanted.index("--weight-transfer-config") :]
    start = words.index("--weight-transfer-config")
    assert words[start : start + len(imposed)] == imposed
    assert "VLLM_SERVER_DEV_MODE=1" in words
