"""`grpo train` on what `grpo new run` wrote, with the demo's model."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grpo_core.cli import app


def grpo(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.slow
def test_train_runs_what_new_run_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"{i}+{i}=?", "solution": str(2 * i)} for i in range(10, 22)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = str(resources.files("grpo_core.demo") / "model")

    written = grpo("new", "run", "--data", "train.jsonl", "--model", model)
    short = ("--set", "train.max_steps=2", "--set", "train.logging_steps=1")
    trained = grpo("train", "run.toml", *short)

    assert written.endswith("run.toml: ready to train\n")
    assert "step 2/2 | format " in trained
    assert (tmp_path / "runs/run-001/model/model.safetensors").is_file()
