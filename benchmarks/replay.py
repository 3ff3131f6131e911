"""What a replay takes: `python -m benchmarks replay`.

`grpo replay` of 10,000 made-up completions in 313 generations of 32, groups of 8, in a process of
its own with its workers: once with a changed weight, which calls no reward, and once with all
rewards called again, `format/tags` in workers and one of a line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.report import Line
from grpo_core import Completion, CompositeReward
from grpo_core.advantages import group_relative_advantages
from grpo_core.record import RunDir, to_json
from grpo_core.recorded.batch import RecordedBatch
from grpo_core.recorded.write import CompletionRecord
from grpo_core.sections import RecordSection

N_ROWS, BATCH, GROUP_SIZE = 10_016, 32, 8
BOUND = 10.0

REWARDS = '''
from grpo_core import Completion, Score, reward

@reward
def answer_equals(completion: Completion, answer: str) -> Score:
    """1.0 if the text ends with the answer in its tags, else 0.0."""
    right = completion.text.endswith(f"<answer>{answer}</answer>")
    return Score(float(right), "" if right else "another answer", {"n_chars": len(completion.text)})
'''


def run() -> list[Line]:
    """Measures both."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rewards.py").write_text(REWARDS)
        seconds = write_run(folder)
        n_bytes = sum(p.stat().st_size for p in (folder / "run" / "completions").iterdir())
        combined = cpu(folder, "--set", "rewards.format.weight=0.1")
        scored = cpu(folder, "--score", "all")
    per_file = seconds / (N_ROWS // BATCH) * 1e3
    return [
        Line(f"record of {BATCH} completions, CPU", per_file, "ms"),
        Line("record on disk, a completion", n_bytes / N_ROWS / 1e3, "kB"),
        Line(f"{N_ROWS:,} completions, combined again, CPU", combined, "s", BOUND),
        Line(f"{N_ROWS:,} completions, scored again, CPU", scored, "s", BOUND),
    ]


def write_run(folder: Path) -> float:
    """Makes a run's directory; returns the CPU time that writing the record took."""
    import time

    sections = {
        "format": {"use": "format/tags", "weight": 0.5},
        "correct": {"use": f"{folder / 'rewards.py'}:answer_equals"},
    }
    composite = CompositeReward(sections)
    described = to_json(composite.describe())
    run_dir = RunDir(folder / "run")
    run_dir.write_config({"rewards": sections})
    record = CompletionRecord(run_dir.path / "completions", RecordSection())
    rng = np.random.default_rng(0)
    took = 0.0
    for step in range(1, N_ROWS // BATCH + 1):
        completions = [completion(rng, step * BATCH + i // GROUP_SIZE) for i in range(BATCH)]
        table = composite.score(completions, group_size=GROUP_SIZE)
        combined = composite.combined(table, GROUP_SIZE)
        advantages = group_relative_advantages(combined.effective, composite.weights, GROUP_SIZE)
        start = time.process_time()
        record.write(
            RecordedBatch(
                step=step,
                mode="train",
                part=1,
                rank=0,
                group_size=GROUP_SIZE,
                scale="group",
                aggregate="sum_then_normalize",
                max_steps=None,
                rewards=described,
                counted=composite.counted,
                completions=completions,
                table=table,
                effective=combined.effective,
                weights=composite.weights,
                totals=combined.totals,
                advantages=advantages,
                size=BATCH,
            )
        )
        took += time.process_time() - start
    composite.close()
    return took


def completion(rng: np.random.Generator, group: int) -> Completion:
    """A text of some hundred letters, right or wrong, in form or not."""
    told = "so it is. " * int(rng.integers(1, 40))
    text = f"<think>{told}</think><answer>{group if rng.random() < 0.5 else '?'}</answer>"
    text = text[:-9] if rng.random() < 0.2 else text
    prompt = f"What is {group} + 0?"
    ids = rng.integers(0, 30_000, len(text) // 4).tolist()
    columns = {"prompt": prompt, "answer": str(group)}
    return Completion.from_data(text, prompt, token_ids=ids, truncated=False, columns=columns)


def cpu(folder: Path, *arguments: str) -> float:
    """CPU time of `grpo replay` and its workers."""
    before = os.times()
    done = subprocess.run(
        [
            *(sys.executable, "-c", "from grpo_core.cli import main; main()"),
            *("replay", "run", "--json", *arguments),
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        check=True,
    )
    after = os.times()
    assert json.loads(done.stdout)["completions"] == N_ROWS
    return (
        after.children_user
        + after.children_system
        - before.children_user
        - (before.children_system)
    )


if __name__ == "__main__":
    from benchmarks.report import printed

    for line in run():
        print(printed(line))
