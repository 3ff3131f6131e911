"""The rows of cases.jsonl; values worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grpo_core import Completion, load_reward

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("cases.jsonl").read_text("utf-8").split("\n")
    if line
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case_scores_as_written(case: dict[str, Any]) -> None:
    # By name, as a config does: the options pass the core's check of types.
    reward = load_reward(
        f"safety/{case['reward']}", options=case.get("options", {}), isolation="inline"
    )

    outcome = reward(Completion(case["completion"]))

    assert outcome.value == case["value"], outcome.reason
    assert bool(outcome.reason) == (case["value"] == 0)


def test_every_reward_has_cases_of_all_kinds_and_no_id_is_there_twice() -> None:
    for reward in {row["reward"] for row in CASES}:
        kinds = {row["kind"] for row in CASES if row["reward"] == reward}
        assert kinds == {"gold", "near_miss", "attack"}, reward
    assert len({row["id"] for row in CASES}) == len(CASES)
