"""The rows of cases.jsonl: 53 kinds of traps, each with its own numbers and words."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from grpo_reward_math import AnswerEquals

from grpo_core import Completion, Score, Skip

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("cases.jsonl").read_text("utf-8").splitlines()
]
REWARD = AnswerEquals(last_number=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case_scores_as_written(case: dict[str, Any]) -> None:
    result = REWARD(Completion(case["completion"]), case["gold"])

    if case["value"] is None:
        assert isinstance(result, Skip)
    else:
        assert isinstance(result, Score)
        assert result.value == case["value"], result.reason
        assert result.reason


def test_every_kind_has_a_gold_and_a_trap_and_no_id_is_there_twice() -> None:
    assert max(Counter(row["id"] for row in CASES).values()) == 1
    assert len({row["kind"] for row in CASES}) == 53
    assert len(CASES) >= 200
