"""40 pairs of the kinds that Math-Verify's documents name, judged by both graders.

The column `math_verify` is what Math-Verify 0.9.0 said: default settings, the gold in a box.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from grpo_core import Completion, load_reward

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("math_verify_table.jsonl").read_text("utf-8").splitlines()
]
PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "math-verifier-compared.md"
HAS_IT = importlib.util.find_spec("math_verify") is not None


def differing() -> list[dict[str, Any]]:
    return [row for row in ROWS if row["math_verify"] is not row["right"]]


@pytest.fixture(scope="module")
def reward() -> Any:
    return load_reward("math/answer_equals")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["kind"])
def test_pair_gets_the_right_verdict(row: dict[str, Any], reward: Any) -> None:
    outcome = reward(Completion(row["completion"]), answer=row["gold"])

    assert outcome.value == (1.0 if row["right"] else 0.0), outcome.reason


def test_every_difference_says_who_is_right_and_why() -> None:
    assert len(ROWS) == 40
    assert len(differing()) == 14
    assert [row for row in ROWS if "why" in row] == differing()


def test_page_lists_the_differences() -> None:
    page = PAGE.read_text(encoding="utf-8")

    listed = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]

    assert [cells[0].removeprefix("| ") for cells in listed] == [r["kind"] for r in differing()]
    assert [cells[-1].removesuffix(" |") for cells in listed] == [r["why"] for r in differing()]


@pytest.mark.skipif(not HAS_IT, reason="pip install math-verify==0.9.0")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["kind"])
def test_math_verify_says_what_is_written_of_it(row: dict[str, Any]) -> None:
    from math_verify import parse, verify

    assert importlib.metadata.version("math-verify") == "0.9.0"
    said = verify(parse(f"$\\boxed{{{row['gold']}}}$"), parse(row["completion"]))
    assert said is row["math_verify"]
