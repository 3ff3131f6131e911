"""`grpo demo`: the reward really rises, and a second run leaves the first alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grpo_core.cli import app


def demo(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("grpo")), "demo", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def row(output: str, name: str) -> list[float]:
    """The numbers of a row of the table: before, after, change."""
    [line] = [x for x in output.splitlines() if re.search(rf"│ {name}\s", x)]
    return [float(x) for x in re.findall(r"[-+]?\d\.\d+", line)]


@pytest.mark.slow
def test_demo_raises_the_total_and_learns_the_format(tmp_path: Path) -> None:
    output = demo(tmp_path)

    before, after, change = row(output, "total")
    assert change == pytest.approx(after - before, abs=1e-3)
    assert change >= 0.6
    assert row(output, "format")[1] >= 0.95
    assert re.search(r"step 100/100 \| .* \| KL \d\.\d+ \| 0:00 left", output)
    assert "Three completions before:" in output
    assert "Three completions after:" in output
    run = tmp_path / "runs/demo-001"
    logged = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    steps = [line["step"] for line in logged if "reward" in line]
    assert max(b - a for a, b in zip([0, *steps], steps, strict=False)) <= 10
    assert logged[-1]["step"] == 100
    assert (run / "manifest.json").is_file()
    assert (run / "model/model.safetensors").is_file()


@pytest.mark.slow
def test_demo_second_run_gets_the_next_number_and_kl_off_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    short = ["demo", "--set", "train.max_steps=1", "--set", "train.logging_steps=1"]

    first = CliRunner().invoke(app, short)
    second = CliRunner().invoke(app, [*short, "--set", "train.kl_coef=0.0"])

    assert first.exit_code == 0, first.output
    assert "| KL off |" in second.output
    assert sorted(p.name for p in (tmp_path / "runs").iterdir()) == ["demo-001", "demo-002"]
