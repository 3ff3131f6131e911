"""DeepSpeed, FSDP and vLLM in `[train]`: wrong files, missing packages, settings without effect."""

from __future__ import annotations

import importlib.util
import inspect
import re

import pytest
from transformers import TrainingArguments

from grpo_core.training import backends
from grpo_core.training.backends import backend_problems, with_files


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    """The packages are there, whatever this machine has."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())


def said(train, folder, processes=2):
    return [str(p) for p in backend_problems(train, folder, processes)]


# Files


def test_files_are_relative_to_the_config_and_become_tables(tmp_path):
    (tmp_path / "zero2.json").write_text('{"zero_optimization": {"stage": 2}}')
    train = {"deepspeed": "zero2.json", "max_steps": 3}

    assert said(train, tmp_path) == []
    assert with_files(train, tmp_path) == {
        "deepspeed": {"zero_optimization": {"stage": 2}},
        "max_steps": 3,
    }


def test_tables_stay_tables(tmp_path):
    train = {"fsdp": True, "fsdp_config": {"version": 2}}

    assert with_files(train, tmp_path) == train


def test_file_that_is_not_there_is_a_problem_with_a_near_name(tmp_path):
    (tmp_path / "zero2.json").write_text("{}")

    assert said({"deepspeed": "zero_2.json"}, tmp_path) == [
        f"train.deepspeed: there is no file {tmp_path}/zero_2.json; paths are relative to the "
        f"config. Did you mean 'zero2.json'?"
    ]


def test_folder_in_place_of_a_file_is_a_problem(tmp_path):
    (tmp_path / "zero").mkdir()

    assert said({"deepspeed": "zero"}, tmp_path) == [
        f"train.deepspeed: {tmp_path}/zero cannot be read: Is a directory"
    ]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.json", "{'stage': 2}", "is not JSON: Expecting property name enclosed in double"),
        ("a.json", "\xff", "is not JSON: Expecting value"),
        ("a.json", "[1]", "expected a JSON object in "),
        ("a.yaml", "a: 1", "a YAML file is for accelerate: accelerate launch --config_file a.yaml"),
    ],
)
def test_file_of_another_kind_is_a_problem(tmp_path, name, text, problem):
    (tmp_path / name).write_text(text)

    (found,) = said({"fsdp": True, "fsdp_config": name}, tmp_path)

    assert found.startswith("train.fsdp_config: ")
    assert problem in found


def test_file_nested_too_deeply_is_a_problem_and_no_traceback(tmp_path):
    (tmp_path / "a.json").write_text("[" * 100_000)

    (found,) = said({"deepspeed": "a.json"}, tmp_path)

    assert "is not JSON" in found


# Packages


@pytest.mark.parametrize(
    ("train", "problem"),
    [
        ({"deepspeed": {}}, None),
        (
            {"deepspeed": {"zero_optimization": {"stage": 2}}},
            "train.deepspeed: needs the package deepspeed, which is not installed. Install it "
            'with: pip install "trl[deepspeed]"',
        ),
        (
            {"use_vllm": True},
            "train.use_vllm: needs the package vllm, which is not installed. Install it with: "
            'pip install "trl[vllm]"',
        ),
        ({"use_vllm": False}, None),
    ],
)
def test_package_that_is_missing_is_named_with_the_pip_line(tmp_path, monkeypatch, train, problem):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert said(train, tmp_path) == ([] if problem is None else [problem])


# Settings


def test_fsdp_in_one_process_is_a_problem(tmp_path):
    (found,) = said({"fsdp": True}, tmp_path, processes=1)

    assert found.startswith("train.fsdp: needs several processes: torchrun --nproc_per_node N")
    assert said({"fsdp": True}, tmp_path, processes=2) == []
    assert said({"fsdp": False}, tmp_path, processes=1) == []


def test_deepspeed_without_a_launcher_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    train = {"deepspeed": {"zero_optimization": {"stage": 2}}}

    (found,) = said(train, tmp_path, processes=1)

    assert found.startswith("train.deepspeed: needs a launcher: torchrun --nproc_per_node N")
    assert said(train, tmp_path, processes=2) == []
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert said(train, tmp_path, processes=1) == []


def test_fsdp_beside_deepspeed_is_a_problem(tmp_path):
    assert said({"fsdp": True, "deepspeed": {"zero_optimization": {}}}, tmp_path) == [
        "train.fsdp: FSDP and DeepSpeed do the same in two ways; give one of them"
    ]


@pytest.mark.parametrize(
    ("train", "problem"),
    [
        ({"fsdp_config": {}}, "train.fsdp_config: has no effect without fsdp = true"),
        ({"vllm_mode": "server"}, "train.vllm_mode: has no effect without use_vllm = true"),
    ],
)
def test_setting_without_its_switch_is_a_problem(tmp_path, train, problem):
    assert said(train, tmp_path) == [problem]


def test_setting_whose_switch_is_off_is_none(tmp_path):
    train = {"fsdp": False, "fsdp_config": {}, "use_vllm": False, "vllm_mode": "server"}

    assert said(train, tmp_path) == []


def test_fsdp_key_that_nobody_reads_is_a_problem(tmp_path):
    config = {"fsdp_version": 2, "reshard_after_forwards": True}

    (found,) = said({"fsdp": True, "fsdp_config": config}, tmp_path)

    assert found.startswith(
        "train.fsdp_config: transformers reads no key 'reshard_after_forwards'. Did you mean "
        "'reshard_after_forward'? Keys are activation_checkpointing, "
    )


def test_fsdp_keys_are_those_that_transformers_reads():
    source = inspect.getsource(TrainingArguments._process_fsdp_args)
    legacy = inspect.getsource(TrainingArguments._apply_legacy_fsdp_to_config)

    read = re.findall(r'(?<!xla_)fsdp_config(?:\.get\(|\.setdefault\(|\[)"(\w+)"', source + legacy)

    assert set(read) == backends._FSDP_KEYS


@pytest.mark.parametrize(
    ("zero", "problem"),
    [
        (True, "zero_optimization: expected a table, got True"),
        ({"stage": "2"}, "zero_optimization.stage: expected 0, 1, 2 or 3, got '2'"),
        ({"stage": 4}, "zero_optimization.stage: expected 0, 1, 2 or 3, got 4"),
    ],
)
def test_stage_that_is_none_of_deepspeed_is_a_problem(tmp_path, zero, problem):
    assert said({"deepspeed": {"zero_optimization": zero}}, tmp_path) == [
        f"train.deepspeed: {problem}"
    ]


@pytest.mark.parametrize(("mode", "wrong"), [("colocate", True), ("server", False)])
def test_tensor_parallel_size_divides_the_processes_where_vllm_is_colocated(tmp_path, mode, wrong):
    train = {"use_vllm": True, "vllm_mode": mode, "vllm_tensor_parallel_size": 2}

    assert said(train, tmp_path, processes=4) == []
    assert said(train, tmp_path, processes=3) == wrong * [
        "train.vllm_tensor_parallel_size: expected a divisor of the 3 processes that train, got 2"
    ]
