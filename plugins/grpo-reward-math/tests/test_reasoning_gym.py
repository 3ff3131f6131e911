"""Golds of 20 sets of reasoning-gym: each verifies, and with another first number it does not.

The rows are made by `scripts/check_reasoning_gym.py --write`, which also runs more of them.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from grpo_core import Completion, load_reward

ROWS: list[dict[str, str]] = [
    json.loads(line)
    for line in Path(__file__).with_name("reasoning_gym.jsonl").read_text("utf-8").splitlines()
]
SETS = sorted({row["set"] for row in ROWS})


@pytest.fixture(scope="module")
def reward() -> Any:
    return load_reward("math/answer_equals")


def values(reward: Any, name: str, column: str) -> dict[str, float]:
    return {
        f"{row[column]} for {row['gold']}": reward(
            Completion(f"<answer>{row[column]}</answer>"), answer=row["gold"]
        ).value
        for row in ROWS
        if row["set"] == name
    }


def test_there_are_20_rows_of_each_of_20_sets() -> None:
    assert Counter(row["set"] for row in ROWS) == dict.fromkeys(SETS, 20)
    assert len(SETS) == 20


@pytest.mark.parametrize("name", SETS)
def test_gold_verifies(reward: Any, name: str) -> None:
    assert [text for text, value in values(reward, name, "gold").items() if value != 1.0] == []


@pytest.mark.parametrize("name", SETS)
def test_perturbed_gold_does_not_verify(reward: Any, name: str) -> None:
    assert [text for text, value in values(reward, name, "perturbed").items() if value] == []
