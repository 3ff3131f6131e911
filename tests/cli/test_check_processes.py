"""`grpo check --processes`: a run of several processes is checked in one."""

from __future__ import annotations

import pytest
from check_project import check

BATCH = "train.per_device_train_batch_size="


@pytest.mark.parametrize(
    ("processes", "each", "code"), [("1", 2, 2), ("2", 2, 0), ("2", 1, 2), ("4", 1, 0)]
)
def test_check_batch_is_that_of_all_processes(with_tokenizer, processes, each, code):
    result = check("--processes", processes, "--set", f"{BATCH}{each}", "--set", "data.chat=false")

    assert result.exit_code == code, result.output


def test_check_batch_that_is_not_whole_names_the_processes(with_tokenizer):
    result = check("--processes", "2", "--set", f"{BATCH}1")

    assert (
        "train.num_generations: 4 does not divide the 2 completions of a batch "
        "(per_device_train_batch_size 1 x 1 x 2 processes). Valid with this batch: "
        "num_generations = 2; or keep 4 and set per_device_train_batch_size = 2, 4, 6"
    ) in result.output


def test_check_rows_are_those_that_all_processes_take(with_tokenizer):
    # 8 rows; 5 processes of 8 completions take 10 prompts.
    result = check("--processes", "5")

    assert "a batch takes 10 prompts (40 completions in groups of 4)" in result.output


def test_check_takes_the_processes_of_a_launcher(bare, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "5")

    # Something else is wrong, so nothing is made that would look for the other processes.
    result = check("--set", "train.max_steps=0")

    assert "a batch takes 10 prompts (40 completions in groups of 4)" in result.output


def test_check_fsdp_is_ready_for_several_processes_alone(with_tokenizer):
    settings = ("--set", "train.fsdp=true", "--set", "data.chat=false")

    assert "train.fsdp: needs several processes" in check(*settings).output
    result = check("--processes", "2", *settings)
    assert result.exit_code == 0, result.output


def test_check_file_of_deepspeed_is_relative_to_the_config(with_tokenizer, monkeypatch):
    monkeypatch.chdir(with_tokenizer)

    result = check("--set", "train.deepspeed=zero2.json")

    assert "train.deepspeed: there is no file zero2.json; paths are relative" in result.output
