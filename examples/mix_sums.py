"""Rows for mix_demo.toml: the demo's sums of two digits, and as many that are hard for its model.

Of the hard ones, with three digits, hardly a completion is right at first. Where none of a group
is, a reward that is not gated on what is right is all that tells them apart.
"""

import json
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

DEMO = Path(__file__).parents[1] / "grpo_core" / "demo"
N_HARD = 512


def train() -> Iterator[dict[str, Any]]:
    """The demo's 512 rows and 512 hard ones, shuffled."""
    draw = random.Random(0)
    rows = [*_demo("train.jsonl"), *(_hard(draw) for _ in range(N_HARD))]
    draw.shuffle(rows)
    yield from rows


def test() -> Iterator[dict[str, Any]]:
    """The demo's held-out rows: none of them is hard."""
    yield from _demo("heldout.jsonl")


def hard() -> Iterator[dict[str, Any]]:
    """128 hard rows that are not trained on."""
    trained = {row["prompt"][0]["content"] for row in train()}
    draw = random.Random(1)
    rows = (_hard(draw) for _ in range(2 * N_HARD))
    yield from islice((r for r in rows if r["prompt"][0]["content"] not in trained), 128)


def _demo(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]


def _hard(draw: random.Random) -> dict[str, Any]:
    left, right = draw.randint(100, 999), draw.randint(100, 999)
    question = {"role": "user", "content": f"{left}+{right}=?"}
    return {"prompt": [question], "answer": str(left + right)}
