"""Rows of cases.jsonl for `format/tags`; `soft` is [checks passed, made], worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from grpo_reward_format import Tags

from grpo_core import Completion

CASES: list[dict[str, Any]] = [
    row
    for line in Path(__file__).with_name("cases.jsonl").read_text("utf-8").splitlines()
    if (row := json.loads(line))["reward"] == "tags"
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_tags_strict_case_scores_as_written(case: dict[str, Any]) -> None:
    tags = Tags(mode="strict", **case.get("options", {}))

    score = tags(Completion(case["completion"], prefill=case.get("prefill", "")))

    assert score.value == case["strict"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_tags_soft_case_scores_as_written(case: dict[str, Any]) -> None:
    tags = Tags(mode="soft", **case.get("options", {}))
    passed, made = case["soft"]

    score = tags(Completion(case["completion"], prefill=case.get("prefill", "")))

    assert score.value == pytest.approx(passed / made, abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_tags_case_has_a_reason_unless_it_is_gold(case: dict[str, Any]) -> None:
    tags = Tags(**case.get("options", {}))

    score = tags(Completion(case["completion"], prefill=case.get("prefill", "")))

    assert (score.reason == "") == (case["kind"] == "gold")


def test_cases_hold_all_kinds_and_no_id_twice() -> None:
    assert {case["kind"] for case in CASES} == {"gold", "near-miss", "attack"}
    assert len({case["id"] for case in CASES}) == len(CASES)
