"""A run of which the tests of `grpo check` break one thing after the other."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

from grpo_core.cli import app

CONFIG = """
[model]
name = "nowhere/model"

[data]
path = "train.jsonl"

[rewards.correct]
use = "rewards.py:is_answer"

[train]
per_device_train_batch_size = 8
gradient_accumulation_steps = 1
num_generations = 4
max_completion_length = 8

[run]
dir = "runs/first"
"""

REWARDS = '''
from fractions import Fraction
from grpo_core import Completion, reward

@reward
def is_answer(completion: Completion, answer: str) -> float:
    """1.0 if the answer is in the text."""
    return float(answer in completion.text)

@reward
def is_number(completion: Completion, answer: int) -> float:
    """1.0 if the number is in the text."""
    return float(str(answer) in completion.text)

@reward
def is_among(completion: Completion, choices: list[str]) -> float:
    """1.0 if the text is a choice."""
    return float(completion.text in choices)

@reward
class FractionEquals:
    """1.0 if the text is the number of the gold."""

    def __init__(self, *, places: int = 2):
        if places < 0:
            raise ValueError("places must be at least 0")

    def check_inputs(self, answer: str) -> str | None:
        print("noise")
        if not answer.isdigit():
            return f"the gold {answer!r} is no number"

    def __call__(self, completion: Completion, answer: str) -> float:
        return float(Fraction(completion.text) == Fraction(answer))

@reward
class Careless:
    """Its check breaks."""

    def check_inputs(self, answer):
        return answer.upper().nothing

    def __call__(self, completion: Completion, answer: str) -> float:
        return 1.0
'''

THINK = (
    "{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] + '</s>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant><think>\n' }}{% endif %}"
)

ROWS = [{"prompt": f"{i}+1=", "answer": str(i + 1)} for i in range(8)]


def jsonl(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def check(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["check", "run.toml", *arguments])


def settings(*pairs: str) -> list[str]:
    return [part for pair in pairs for part in ("--set", pair)]
