"""A run that is killed at ten random moments, and goes on each time."""

from __future__ import annotations

import json
import multiprocessing
import random
import time
from pathlib import Path

import killed_runs
import pytest
from test_resume import files, texts_of

N_STEPS = 40
CONFIG = """
[model]
name = "{model}"

[data]
path = "train.jsonl"

[rewards.letters]
use = "rewards.py:letters"
weight = {{ start = 0.0, end = 1.0, steps = 30 }}

[rewards.even]
use = "rewards.py:even"

[train]
max_steps = 40
per_device_train_batch_size = 4
gradient_accumulation_steps = 1
num_generations = 4
max_completion_length = 4
logging_steps = 1
save_steps = 3
save_total_limit = 1
learning_rate = 1e-2
kl_coef = 0.0
temperature = 1.0
"""
REWARDS = '''
from grpo_core import Completion, reward

@reward(isolation="inline")
def letters(completion: Completion) -> float:
    """Share of letters."""
    return sum(map(str.isalpha, completion.text)) / 8

@reward(isolation="inline")
def even(completion: Completion) -> float:
    """1.0 if the length is even."""
    return float(len(completion.text) % 2 == 0)
'''


@pytest.fixture
def start(tmp_path, model_folder, monkeypatch):
    """Starts the command; a fork of a server that has imported all there is to import."""
    rows = [{"prompt": f"{i}+1="} for i in range(8)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "rewards.py").write_text(REWARDS)
    (tmp_path / "run.toml").write_text(CONFIG.format(model=model_folder))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["killed_runs"])

    def start(*arguments):
        process = context.Process(target=killed_runs.train, args=(tmp_path, *arguments))
        process.start()
        return process

    return start


def kill(process, run, step, rng):
    """Kills it at a random moment behind the record of a step, or of its start (step 0)."""
    end = time.monotonic() + 300
    file = run / "completions" / f"step-{step:06d}-r0.parquet"
    while step and not file.exists() and process.is_alive() and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.1 if step else 1.0))
    process.kill()  # a late one may have ended by itself
    process.join()


@pytest.mark.slow
def test_run_that_is_killed_ten_times_has_every_step_once(start, tmp_path):
    run = tmp_path / "runs/killed"
    arguments = ("--set", "run.dir=runs/killed", "--resume")
    rng = random.Random(0)
    for step in [0, *sorted(rng.sample(range(1, N_STEPS - 1), 8)), 0]:
        kill(start(*arguments), run, step, rng)

    last = start(*arguments)
    last.join(600)

    printed = (tmp_path / "printed.txt").read_text()
    assert last.exitcode == 0, printed
    assert sorted(texts_of(run)) == list(range(1, N_STEPS + 1))
    assert len(list((run / "completions").glob("step-*.parquet"))) < N_STEPS / 2  # merged
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in lines if "loss" in row] == list(range(1, N_STEPS + 1))
    assert [name for name in files(tmp_path) if "partial" in name] == []
    assert printed.count("going on with runs/killed after step") >= 5, printed
    # And it is the run that was never killed.
    never = start("--set", "run.dir=runs/never")
    never.join(600)
    assert texts_of(run) == texts_of(tmp_path / "runs/never")
    model = "model/model.safetensors"
    assert (run / model).read_bytes() == (tmp_path / "runs/never" / model).read_bytes()
