"""Hostile completions: each gets its verdict soon, and without sympy in this process.

A row of hostile.jsonl is a completion as parts, each a text and how often it stands there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grpo_core import Completion, load_reward

# As by default; ten times what any of them takes.
TIMEOUT_S = 10.0
# Where sympy takes long to load, only the deadline ends an integral, and it scores 0.0.
ENDED_BY_DEADLINE = {"an integral"}
ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("hostile.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def reward() -> Any:
    return load_reward("math/answer_equals", timeout_s=TIMEOUT_S)


def completion(row: dict[str, Any]) -> Completion:
    return Completion("".join(text * times for text, times in row["completion"]))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_hostile_completion_gets_a_verdict_in_time(row: dict[str, Any], reward: Any) -> None:
    outcome = reward(completion(row), answer=row["gold"])

    if row["name"] not in ENDED_BY_DEADLINE:
        assert outcome.status == "scored", outcome.reason
    # None: the answer is right and so big that a limit may refuse it.
    assert row["value"] in (None, outcome.value), outcome.reason


def test_no_sympy_in_this_process_after_verdicts_of_all_kinds() -> None:
    # In a process of its own: other tests may load it.
    code = r"""
import sys
from grpo_core import Completion, load_reward
reward = load_reward("math/answer_equals", timeout_s=2)
for answer in ("7", r"\sqrt{8}", r"\int_0^1 x dx", r"\lim_{x \to 0} x", r"\boxed{("):
    reward(Completion(r"\boxed{" + answer + "}"), answer=r"2\sqrt{2}")
heavy = {"sympy", "mpmath", "latex2sympy2_extended", "antlr4"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"PYTHONWARNINGS": "error"},
        check=False,
    )

    assert done.stdout == "[]\n", done.stderr
