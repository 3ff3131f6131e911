"""What scoring a file takes: `python -m benchmarks score_file`.

`grpo score` on 200,000 generated rows in groups of 8, with `format/tags` and a reward of one line,
in a process of its own, which notes its memory as it goes. Of the memory the growth between a
tenth of the rows and all of them is bounded: it must not depend on how many there are.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import Line

N_ROWS = 200_000
GROUP_SIZE = 8
SEED = 0

REWARDS = '''
from grpo_core import Completion, Score, reward

@reward
def answer_equals(completion: Completion, answer: str) -> Score:
    """1.0 if the text ends with the answer in its tags, else 0.0."""
    right = completion.text.endswith(f"<answer>{answer}</answer>")
    return Score(float(right), "" if right else "another answer", {"n_chars": len(completion.text)})
'''
CONFIG = """
[rewards.format]
use = "format/tags"
weight = 0.5

[rewards.correct]
use = "rewards.py:answer_equals"
"""
# Runs in the other process: memory in use and CPU time at the start, a tenth and the end.
PROBE = """
import json, sys, time
from grpo_core.cli import main, score_file

def megabytes():
    for line in open("/proc/self/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024 / 1e6

def noted(stage, done, total):
    if stage == "scoring" and (done == 0 or done >= total // 10 * len(marks[stage])):
        marks[stage].append((done, megabytes(), time.process_time()))
    if stage == "checking":
        marks[stage] = [(done, megabytes(), time.process_time())]

marks = {"scoring": []}
scored = score_file.score_file
score_file.score_file = lambda job, progress: scored(job, noted)
sys.argv = ["grpo", "score", "run.toml", "--data", sys.argv[1], "-o", sys.argv[2], "--json"]
try:
    main()
except SystemExit as exc:
    assert not exc.code, exc.code
print(json.dumps({"marks": marks, "end": (megabytes(), time.process_time())}))
"""


def run() -> list[Line]:
    """Measures a JSONL file into JSONL."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rewards.py").write_text(REWARDS)
        (folder / "run.toml").write_text(CONFIG)
        n_bytes = write_rows(folder / "rows.jsonl")
        done = subprocess.run(
            [sys.executable, "-c", PROBE, "rows.jsonl", "scored.jsonl"],
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        with (folder / "scored.jsonl").open() as file:
            n_scored = sum(1 for _ in file)
    summary, probe = map(json.loads, done.stdout.splitlines())
    [(_, _, checked)] = probe["marks"]["checking"]
    scoring = probe["marks"]["scoring"]
    (_, start_megabytes, started), (tenth, tenth_megabytes, _) = scoring[:2]
    all_rows, end_megabytes, ended = scoring[-1]
    assert (n_scored, all_rows) == (N_ROWS, N_ROWS)
    assert abs(tenth - N_ROWS // 10) < 1000, tenth
    rewards = sum(r["seconds_per_row"] for r in summary["rewards"].values()) * N_ROWS
    return [
        Line(f"{N_ROWS:,} rows, {n_bytes / 1e6:.0f} MB: check of all rows, CPU", checked, "s"),
        Line("scoring and writing, CPU", ended - started, "s"),
        Line("  of which inside the rewards", rewards, "s"),
        Line("rows per second, check, scores and output", N_ROWS / ended, "/s"),
        Line("memory before the first row is scored", start_megabytes, "MB"),
        Line("memory at 10 % of the rows", tenth_megabytes, "MB"),
        Line("memory at 100 %", end_megabytes, "MB"),
        Line("growth from 10 % to 100 %", end_megabytes - tenth_megabytes, "MB", 50.0),
    ]


def write_rows(path: Path) -> int:
    """Writes the rows, the same every time; returns the size of the file."""
    numbers = random.Random(SEED)
    with path.open("w") as file:
        for i in range(N_ROWS):
            group = i // GROUP_SIZE
            told = "so it is. " * numbers.randint(1, 40)
            answer = group if numbers.random() < 0.5 else "?"
            text = f"<think>{told}</think><answer>{answer}</answer>"
            if numbers.random() < 0.2:
                text = text[:-9]
            row = {
                "prompt": f"What is {group} + 0?",
                "completion": text,
                "answer": str(group),
                "group": group,
            }
            file.write(json.dumps(row) + "\n")
    return path.stat().st_size


if __name__ == "__main__":
    from benchmarks.report import printed

    for line in run():
        print(printed(line))
