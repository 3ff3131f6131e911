"""Worked solutions of GSM8K against their golds: own ones verify, those of other rows do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grpo_core import Completion, load_reward

FILE = Path(__file__).parent / "gsm8k" / "answers.jsonl"
SOLUTIONS: list[str] = [json.loads(line)["answer"] for line in FILE.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def reward() -> Any:
    return load_reward("math/answer_equals")


def number(solution: str) -> str:
    return solution.rpartition("#### ")[2].strip()


def test_every_solution_verifies_against_the_whole_solution_as_gold(reward: Any) -> None:
    values = [reward(Completion(solution), answer=solution).value for solution in SOLUTIONS]

    assert values == [1.0] * 100


def test_every_solution_verifies_against_its_number(reward: Any) -> None:
    values = [reward(Completion(text), answer=number(text)).value for text in SOLUTIONS]

    assert values == [1.0] * 100


@pytest.mark.parametrize("shift", [1, 7, 50])
def test_solutions_of_other_rows_verify_only_where_the_numbers_are_the_same(
    reward: Any, shift: int
) -> None:
    others = SOLUTIONS[shift:] + SOLUTIONS[:shift]
    pairs = list(zip(SOLUTIONS, others, strict=True))

    values = [reward(Completion(text), answer=other).value for text, other in pairs]

    assert values == [float(number(text) == number(other)) for text, other in pairs]
