"""The rows of cases.jsonl for all rewards but `format/tags`; values worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grpo_core import Completion, Outcome, load_reward

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("cases.jsonl").read_text("utf-8").splitlines()
]
CASES = [row for row in ROWS if row["reward"] != "tags"]


def outcome(case: dict[str, Any]) -> Outcome:
    # By name, as a config does: the options pass the core's check of types.
    scored = load_reward(f"format/{case['reward']}", options=case.get("options", {}))
    return scored(Completion(case["completion"], prefill=case.get("prefill", "")))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case_scores_as_written(case: dict[str, Any]) -> None:
    value = case["value"]
    expected = value[0] / value[1] if isinstance(value, list) else value

    assert outcome(case).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if "reason" in c], ids=lambda case: case["id"])
def test_case_gives_the_reason_as_written(case: dict[str, Any]) -> None:
    assert outcome(case).reason == case["reason"]


def test_every_reward_has_cases_of_all_kinds_and_no_id_is_there_twice() -> None:
    for reward in ("tags", "tag_count", "pattern", "published_rule"):
        kinds = {row["kind"] for row in ROWS if row["reward"] == reward}
        assert kinds == {"gold", "near-miss", "attack"}, reward
    assert len({row["id"] for row in ROWS}) == len(ROWS)
