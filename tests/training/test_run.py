"""`grpo train`: one run from a config file, through the command line's own function."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from grpo_core.cli import app, main

CONFIG = """
[model]
name = "{model}"

[data]
path = "train.jsonl"

[rewards.format]
use = "format/tags"
weight = 0.5
options = {{ mode = "soft" }}

[rewards.correct]
use = "rewards.py:is_answer"

[train]
max_steps = 2
per_device_train_batch_size = 8
gradient_accumulation_steps = 1
num_generations = 4
max_completion_length = 8
logging_steps = 1
learning_rate = 1e-3
kl_coef = 0.1

[run]
dir = "runs/first"
"""

REWARDS = '''
from grpo_core import Completion, reward

@reward
def is_answer(completion: Completion, answer: str) -> float:
    """1.0 if the answer is in the text."""
    return float(answer in completion.text)

def untagged(completions, answer):
    return [0.0 for _ in completions]

@reward
def broken(completion: Completion) -> float:
    """Raises."""
    raise ValueError("no such judge")
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_folder: Path) -> Path:
    """A folder with a config, data and a reward file; it is the working directory."""
    monkeypatch.chdir(tmp_path)
    rows = [{"prompt": f"{i}+1=", "answer": str(i + 1)} for i in range(8)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "train.jsonl").write_text(text)
    (tmp_path / "rewards.py").write_text(REWARDS)
    (tmp_path / "run.toml").write_text(CONFIG.format(model=model_folder))
    return tmp_path


def grpo(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def fails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str):
    """Runs the command as a shell does; returns the exit code and standard error."""
    monkeypatch.setattr("sys.argv", ["grpo", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code, capsys.readouterr().err


def test_train_leaves_model_checkpoints_manifest_config_and_metrics(project):
    result = grpo("train", "run.toml")

    assert result.exit_code == 0, result.output
    run = project / "runs/first"
    assert (run / "model/model.safetensors").is_file()
    assert (run / "model/tokenizer.json").is_file()
    assert (run / "checkpoints/checkpoint-2").is_dir()
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["rewards"]["format"]["distribution"] == "grpo-reward-format"
    assert manifest["rewards"]["correct"]["use"] == "rewards.py:is_answer"
    assert len(manifest["data"]["sha256"]) == 64
    config = tomllib.loads((run / "config.toml").read_text())
    assert config["rewards"]["format"]["options"] == {"mode": "soft"}
    assert config["train"]["learning_rate"] == 1e-3
    logged = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in logged] == [1, 2, 2]
    assert {"reward", "kl", "grpo/format/raw_mean", "rewards/correct/mean"} <= logged[0].keys()


def test_train_progress_line_shows_rewards_total_kl_and_time_left(project):
    lines = grpo("train", "run.toml").output.splitlines()

    [line] = [x for x in lines if x.startswith("step 1/2")]
    assert [part.split()[0] for part in line.split(" | ")] == [
        "step",
        "format",
        "correct",
        "total",
        "KL",
        line.rsplit(" | ", 1)[1].split()[0],
    ]
    assert "KL 0.0000" in line
    assert line.endswith(" left")


def test_train_without_kl_says_kl_off(project):
    output = grpo("train", "run.toml", "--set", "train.kl_coef=0.0").output

    assert "| KL off |" in output


def test_train_second_run_never_overwrites(project, capsys, monkeypatch):
    (project / "runs/first").mkdir(parents=True)
    (project / "runs/first/precious.txt").write_text("mine")

    code, said = fails(capsys, monkeypatch, "train", "run.toml")

    assert code == 2
    assert "runs/first exists already" in said
    assert "free is runs/first-001" in said
    assert [p.name for p in (project / "runs/first").iterdir()] == ["precious.txt"]


def test_train_without_run_dir_numbers_its_own(project):
    text = (project / "run.toml").read_text().split("[run]")[0]
    (project / "run.toml").write_text(text)

    assert grpo("train", "run.toml").exit_code == 0
    assert grpo("train", "run.toml").exit_code == 0
    assert sorted(p.name for p in (project / "runs").iterdir()) == ["run-001", "run-002"]


def test_train_all_problems_come_at_once_without_traceback(project, capsys, monkeypatch):
    (project / "run.toml").write_text(
        """
        [model]
        nmae = "model"
        [data]
        path = "train.jsonl"
        [rewards.a]
        use = "format/tagz"
        timeout = 2
        [rewards.b]
        use = "tags"
        [rewards.c]
        use = "format/tags"
        options = { mode = "sof", colour = 1 }
        [rewards.d]
        use = "rewards.py:is_answer"
        inputs = { answer = "answr" }
        [train]
        num_generations = 5
        per_device_train_batch_size = 4
        learning_rat = 1e-6
        """
    )

    code, said = fails(capsys, monkeypatch, "train", "run.toml")

    assert code == 2
    assert "10 problems in run.toml:" in said
    assert "rewards.a.timeout: unknown key. Did you mean 'timeout_s' or 'on_timeout'?" in said
    assert "rewards.a.use: no reward 'format/tagz'" in said
    assert "Did you mean 'format/tags' or" in said
    assert "rewards.b.use: 'tags' is a bare name; write the full one: 'format/tags'." in said
    assert "rewards.c.options.mode: expected Literal['strict', 'soft'], got 'sof'" in said
    assert "rewards.c.options.colour: 'tags' has no such option." in said
    assert "rewards.d.inputs.answer: 'is_answer' reads column 'answr'" in said
    assert "Did you mean 'answer'?" in said
    assert "train.num_generations: 5 does not divide the 16 completions of a batch" in said
    assert "train.learning_rat: TRL's GRPOConfig has no field 'learning_rat'" in said
    assert "model.nmae: unknown key. Did you mean 'name'?" in said
    assert "Traceback" not in said
    assert not (project / "runs").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no data file"),
        ('{"prompt": "a"}\nnope\n', "train.jsonl, line 2: expected a JSON object, got nope"),
        ('{"question": "a", "answer": "1"}\n', "data.prompt: the data has no column 'prompt'"),
    ],
)
def test_train_bad_data_names_file_and_line(project, capsys, monkeypatch, content, said):
    (project / "train.jsonl").unlink()
    if content is not None:
        (project / "train.jsonl").write_text(content)

    code, error = fails(capsys, monkeypatch, "train", "run.toml")

    assert code == 2
    assert said in error


def test_train_too_little_data_is_an_error_and_leaves_no_run(project, capsys, monkeypatch):
    (project / "train.jsonl").write_text('{"prompt": "1+1=", "answer": "2"}\n')

    code, said = fails(capsys, monkeypatch, "train", "run.toml")

    assert code == 2
    assert "not one step would be trained" in said
    assert not (project / "runs").exists()


def test_train_missing_model_is_an_error_and_leaves_no_run(project, capsys, monkeypatch):
    # Read when the library was imported, so that setting the variable would come too late.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)

    code, said = fails(
        capsys, monkeypatch, "train", "run.toml", "--set", "model.name=nowhere/at-all"
    )

    assert code == 2
    assert "model.name: 'nowhere/at-all' is neither a folder" in said
    assert not (project / "runs").exists()


def test_train_fault_of_a_reward_exits_1_with_a_checkpoint(project, capsys, monkeypatch):
    code, said = fails(
        capsys, monkeypatch, "train", "run.toml", "--set", "rewards.correct.use=rewards.py:broken"
    )

    assert code == 1
    assert "reward 'correct' (file " in said
    assert "rows 0 to 7: raised ValueError: no such judge" in said
    assert "checkpoint: runs/first/checkpoints/checkpoint-0" in said
    assert (project / "runs/first/checkpoints/checkpoint-0/model.safetensors").is_file()


def test_train_lora_leaves_an_adapter(project):
    result = grpo("train", "run.toml", "--set", "model.lora={ r = 2 }")

    assert result.exit_code == 0, result.output
    assert (project / "runs/first/model/adapter_model.safetensors").is_file()


@pytest.mark.parametrize(("setting", "n"), [("data.limit=8", 1), ("data.chat=true", 0)])
def test_train_plain_texts_for_a_chat_model_are_warned_of_once(project, setting, n):
    result = grpo("train", "run.toml", "--set", "train.max_steps=1", "--set", setting)

    assert result.exit_code == 0, result.output
    assert result.output.count("warning: data: the prompts are plain texts") == n


def test_train_template_and_system_make_chats(project):
    rows = [{"question": f"{i}+1", "answer": str(i + 1)} for i in range(8)]
    (project / "train.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))

    result = grpo(
        "train",
        "run.toml",
        "--set",
        "data.template=Q: {question}",
        "--set",
        "data.system=Be brief.",
    )

    assert result.exit_code == 0, result.output


def test_train_untagged_function_from_a_file(project):
    result = grpo("train", "run.toml", "--set", "rewards.correct.use=rewards.py:untagged")

    assert result.exit_code == 0, result.output


def test_train_broken_plugin_that_is_not_used_is_warned_of_once(project, site, caplog):
    site.install("grpo-reward-old", entry="old", requires=["grpo-core>=7"])

    result = grpo("train", "run.toml")

    assert result.exit_code == 0, result.output
    said = [r.getMessage() for r in caplog.records if "grpo-reward-old" in r.getMessage()]
    assert len(said) == 1
    assert said[0].startswith("plugin grpo-reward-old 1.0 is incompatible and not used: requires")


def test_train_reward_of_a_third_party_package_by_name(project, site):
    site.install("grpo-reward-fake")

    result = grpo("train", "run.toml", "--set", "rewards.correct.use=fake/answer_equals")

    assert result.exit_code == 0, result.output
    manifest = json.loads((project / "runs/first/manifest.json").read_text())
    assert manifest["rewards"]["correct"]["distribution"] == "grpo-reward-fake"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            "train.resume_from_checkpoint=x",
            "train.resume_from_checkpoint: is set by grpo",
        ),
        ("train.num_generations=0", "train.num_generations: expected a finite number, at least 1"),
        ("train.num_iterations=0", "train.num_iterations: expected a finite number, at least 1"),
        ("model.attn=foo", "the trainer refuses what run.toml asks for: ValueError"),
        ('model.lora={ target_modules = ["nope"] }', "the trainer refuses what run.toml asks"),
        ("train.use_vllm=true", "train.use_vllm: needs the package vllm, which is not installed"),
        ("train.cache_implementation=foo", "the trainer refuses what run.toml asks for"),
        ("train.repetition_penalty=0.0", "train.repetition_penalty: expected a finite number abov"),
        ("train.max_steps=-5", "train.max_steps: expected at least 1, or -1 for epochs; got -5"),
    ],
)
def test_train_setting_that_cannot_work_exits_2_and_leaves_no_run(
    project, capsys, monkeypatch, setting, said
):
    code, error = fails(capsys, monkeypatch, "train", "run.toml", "--set", setting)

    assert code == 2
    assert said in error
    assert "Traceback" not in error
    assert not (project / "runs/first").exists()


def test_train_traceback_is_there_for_who_asks(project, capsys, monkeypatch):
    monkeypatch.setenv("GRPO_CORE_TRACEBACK", "1")

    code, error = fails(capsys, monkeypatch, "train", "run.toml", "--set", "model.attn=foo")

    assert code == 2
    assert "Traceback (most recent call last)" in error


def test_train_interrupted_says_where_the_run_is(project, capsys, monkeypatch):
    (project / "rewards.py").write_text(
        "def stop(completions):\n    raise KeyboardInterrupt\n", encoding="utf-8"
    )

    monkeypatch.setattr(
        "sys.argv", ["grpo", "train", "run.toml", "--set", "rewards.correct.use=rewards.py:stop"]
    )
    with pytest.raises(SystemExit) as caught:
        main()

    assert caught.value.code == 130
    said = capsys.readouterr().out
    checkpoint = "runs/first/checkpoints/checkpoint-0"
    assert f"interrupted after step 0; run: runs/first; checkpoint: {checkpoint}\n" in said
    assert (project / checkpoint / "model.safetensors").is_file()


@pytest.mark.parametrize(
    "setting",
    [
        ("--set", 'plugins.block=["grpo-reward-format"]'),
        ("--set", "plugins.allow=[]"),
        ("--block-plugin", "grpo_reward_format"),
        ("--allow-plugin", "grpo-reward-other"),
    ],
)
@pytest.mark.parametrize("command", ["train", "check"])
def test_run_plugin_that_may_not_be_used_is_refused(project, capsys, monkeypatch, command, setting):
    monkeypatch.setattr("sys.argv", ["grpo", command, "run.toml", *setting])
    with pytest.raises(SystemExit) as caught:
        main()

    printed = capsys.readouterr()
    assert caught.value.code == 2
    assert "rewards.format.use: reward 'format/tags' cannot be used" in printed.out + printed.err
    assert "is blocked" in printed.out + printed.err
    assert not (project / "runs").exists()
