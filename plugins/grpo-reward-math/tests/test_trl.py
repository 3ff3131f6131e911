"""In the place of TRL's `accuracy_reward`: columns and calls as TRL has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grpo_core import CompositeReward, to_trl

trl = pytest.importorskip("trl", reason="the extra 'train' is not installed")

CORRECT = {"use": "math/answer_equals", "inputs": {"answer": "solution"}}


def test_it_takes_the_column_that_accuracy_reward_takes(tmp_path: Path) -> None:
    args = trl.GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, report_to="none")
    composite = CompositeReward({"correct": CORRECT})
    rewards = to_trl(composite, args)
    golds = [r"5\sqrt{2}", r"$\boxed{12}$", "15*6=<<15*6=90>>90\n#### 90", "12 cm", ""]
    texts = [r"$\boxed{5}$", r"$\boxed{12}$", "The answer is 90.", r"\boxed{12 m}", r"\boxed{7}"]

    assert [f.__name__ for f in rewards.reward_funcs] == ["correct"]
    table = composite.score(_completions(texts, golds))

    assert [o.value for o in table.outcomes[0]] == [0.0, 1.0, 1.0, 0.0, None]
    assert [o.status for o in table.outcomes[0]] == ["scored"] * 4 + ["skipped"]


def _completions(texts: list[str], golds: list[str]) -> list[Any]:
    from grpo_core import Completion

    return [
        Completion(text, columns={"solution": gold})
        for text, gold in zip(texts, golds, strict=True)
    ]
