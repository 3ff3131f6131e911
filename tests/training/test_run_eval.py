"""`grpo train` with `[eval]`, and with data at the edge of what can be trained on."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from test_run import CONFIG, REWARDS, fails, grpo


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_folder: Path) -> Path:
    """A folder with a config, eight rows and a reward file; it is the working directory."""
    monkeypatch.chdir(tmp_path)
    rows = [{"prompt": f"{i}+1=", "answer": str(i + 1)} for i in range(8)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "rewards.py").write_text(REWARDS)
    (tmp_path / "run.toml").write_text(CONFIG.format(model=model_folder))
    return tmp_path


def lines_of(project: Path) -> list[dict[str, Any]]:
    return [json.loads(x) for x in (project / "runs/first/metrics.jsonl").read_text().splitlines()]


def evaluated(project: Path) -> list[int]:
    return [line["step"] for line in lines_of(project) if "eval_reward" in line]


def with_eval(project: Path, text: str) -> None:
    with (project / "run.toml").open("a") as file:
        file.write(f"\n[eval]\n{text}\n")


def test_train_eval_prompts_that_are_trained_on_are_said(project):
    (project / "e.jsonl").write_text('{"prompt": "3+1=", "answer": "5"}\n')
    with_eval(project, 'path = "e.jsonl"')

    result = grpo("train", "run.toml", "--set", "train.max_steps=1")

    assert result.exit_code == 0, result.output
    assert (
        "warning: eval: 1 of the 1 prompts are trained on too: e.jsonl, line 1 (as train.jsonl, "
        "line 4); take them out of [data] or [eval]"
    ) in result.output


def test_train_eval_of_held_out_rows_logs_metrics_and_a_line(project):
    with_eval(project, "fraction = 0.25\nevery = 2\nnum_generations = 2")

    result = grpo("train", "run.toml", "--set", "train.max_steps=3")

    assert result.exit_code == 0, result.output
    assert evaluated(project) == [0, 2, 3]
    (line,) = [x for x in lines_of(project) if "eval_reward" in x and x["step"] == 2]
    assert {
        "eval_loss",
        "eval_kl",
        "eval_grpo/format/raw_mean",
        "eval_grpo/correct/coverage",
        "eval_rewards/correct/mean",
    } <= line.keys()
    assert line["eval_grpo/correct/coverage"] == 1.0
    shown = [x for x in result.output.splitlines() if x.startswith("eval ")]
    assert [x.split(" | ")[0] for x in shown] == ["eval 0/3", "eval 2/3", "eval 3/3"]
    assert [part.split()[0] for part in shown[0].split(" | ")] == [
        "eval",
        "format",
        "correct",
        "total",
        "KL",
        "took",
    ]
    manifest = json.loads((project / "runs/first/manifest.json").read_text())
    assert manifest["data"]["rows"] == 6
    assert manifest["eval"] == {
        "held_out_of": str(Path("train.jsonl")),
        "seed": 0,
        "rows": 2,
    }
    assert manifest["args"]["num_generations_eval"] == 2
    assert manifest["args"]["per_device_eval_batch_size"] == 8
    config = tomllib.loads((project / "runs/first/config.toml").read_text())
    assert config["eval"] == {"fraction": 0.25, "every": 2, "num_generations": 2}


def test_train_eval_without_steps_is_before_and_after_each_epoch(project):
    with_eval(project, "fraction = 0.25")

    result = grpo("train", "run.toml", "--set", "train.max_steps=4")  # 3 steps an epoch

    assert result.exit_code == 0, result.output
    assert evaluated(project) == [0, 3, 4]


def test_train_eval_before_the_first_step_can_be_left_out(project):
    with_eval(project, "fraction = 0.25")

    grpo("train", "run.toml", "--set", "train.eval_on_start=false")

    assert evaluated(project) == [2]


def test_train_eval_groups_are_whole_with_any_number_of_rows_and_completions(project):
    rows = [{"prompt": f"{i}-1=", "answer": str(i - 1)} for i in range(1, 6)]
    (project / "eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (project / "rewards.py").write_text(
        REWARDS
        + "SEEN = []\n"
        + "def seen(prompts, completions, **kwargs):\n"
        + "    with open('seen.txt', 'a') as file:\n"
        + "        file.write('|'.join(prompts) + '\\n')\n"
        + "    return [0.0 for _ in completions]\n"
    )
    with_eval(project, "path = 'eval.jsonl'\nnum_generations = 3\nevery = 9")

    result = grpo("train", "run.toml", "--set", "rewards.seen.use=rewards.py:seen")

    assert result.exit_code == 0, result.output
    batches = [x.split("|") for x in (project / "seen.txt").read_text().splitlines()]
    of_eval = [b for b in batches if "-" in b[0]]
    assert [len(b) for b in of_eval] == [6, 6, 3] * 2
    assert all(b[i] == b[i + 1] == b[i + 2] for b in of_eval for i in range(0, len(b), 3))
    assert sorted(p for b in of_eval[:3] for p in b[::3]) == [f"{i}-1=" for i in range(1, 6)]


def test_train_faults_of_eval_come_with_all_others_and_leave_no_run(project, capsys, monkeypatch):
    (project / "eval.jsonl").write_text('{"prompt": "a"}\n')
    with_eval(project, "path = 'eval.jsonl'\nnum_generations = 3")

    code, said = fails(
        capsys,
        monkeypatch,
        "train",
        "run.toml",
        "--set",
        "train.per_device_eval_batch_size=4",
        "--set",
        "train.eval_steps=5",
        "--set",
        "model.size=5",
    )

    assert code == 2
    assert "4 problems in run.toml:" in said
    assert "rewards.correct.inputs.answer: in the rows of [eval]: 'is_answer' reads column" in said
    assert "train.per_device_eval_batch_size: expected a multiple of the 3 completions" in said
    assert "train.eval_steps: is set by [eval] every; leave it out" in said
    assert not (project / "runs").exists()


@pytest.mark.parametrize("name", ["completion", "completions", "prompts", "trainer_state"])
def test_train_eval_rows_with_columns_that_the_trainer_uses(project, name):
    rows = [{"prompt": f"{i}+1=", name: str(i + 1)} for i in range(8)]
    (project / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with_eval(project, "fraction = 0.25")

    result = grpo("train", "run.toml", "--set", f"rewards.correct.inputs={{ answer = '{name}' }}")

    assert result.exit_code == 0, result.output
    assert [x["eval_grpo/correct/coverage"] for x in lines_of(project) if "eval_reward" in x] == [
        1.0,
        1.0,
    ]


def test_train_answer_that_is_none_is_skipped_and_never_a_zero(project):
    rows = [{"prompt": f"{i}+1=", "answer": str(i + 1) if i % 2 else None} for i in range(8)]
    (project / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    result = grpo("train", "run.toml", "--set", "train.max_steps=4")

    assert result.exit_code == 0, result.output
    coverage = [x["grpo/correct/coverage"] for x in lines_of(project) if "reward" in x]
    assert sum(coverage) / len(coverage) == 0.5


def test_train_one_row_is_enough_for_a_batch_of_one_prompt(project):
    (project / "train.jsonl").write_text('{"prompt": "1+1=", "answer": "2"}\n')

    result = grpo("train", "run.toml", "--set", "train.per_device_train_batch_size=4")

    assert result.exit_code == 0, result.output


def test_train_fault_of_a_reward_in_an_evaluation_exits_1_with_a_checkpoint(
    project, capsys, monkeypatch
):
    with_eval(project, "fraction = 0.25")

    code, said = fails(
        capsys, monkeypatch, "train", "run.toml", "--set", "rewards.correct.use=rewards.py:broken"
    )

    assert code == 1
    assert "rows 0 to 7: raised ValueError: no such judge" in said
    assert (project / "runs/first/checkpoints/checkpoint-0/model.safetensors").is_file()


def test_train_best_checkpoint_by_an_eval_metric_is_loaded_at_the_end(project):
    with_eval(project, "fraction = 0.25\nevery = 1")

    result = grpo(
        "train",
        "run.toml",
        *("--set", "train.load_best_model_at_end=true"),
        *("--set", "train.metric_for_best_model=eval_reward"),
        *("--set", "train.save_strategy=steps"),
        *("--set", "train.save_steps=1"),
    )

    assert result.exit_code == 0, result.output
    assert evaluated(project) == [0, 1, 2]
    assert (project / "runs/first/model/model.safetensors").is_file()
