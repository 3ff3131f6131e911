"""`grpo train` on what `grpo new run` wrote, with the demo's model."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest


def grpo(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("grpo")), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_train_runs_what_new_run_wrote(tmp_path: Path) -> None:
    rows = [{"question": f"{i}+{i}=?", "solution": str(2 * i)} for i in range(10, 22)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = str(resources.files("grpo_core.demo") / "model")

    written = grpo(tmp_path, "new", "run", "--data", "train.jsonl", "--model", model)
    short = ("--set", "train.max_steps=2", "--set", "train.logging_steps=1")
    trained = grpo(tmp_path, "train", "run.toml", *short)

    assert written.endswith("run.toml: ready to train\n")
    assert "step 2/2 | tags " in trained
    assert (tmp_path / "runs/run-001/model/model.safetensors").is_file()
