"""The plain call `score(code, tests)` for harnesses, on top of `code/tests_pass`.

LAYER in the environment names the layer of isolation.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from grpo_reward_code import TestsPass

from grpo_core import Completion, Fail

_layer: Any = os.environ.get("LAYER", "auto")
_preload = [name for name in os.environ.get("PRELOAD", "").split(",") if name]
_reward = TestsPass(extract="whole", after_tag="", layer=_layer, preload=_preload)


def score(code: str, tests: list[dict[str, Any]]) -> float:
    """The share of the tests that a program passes.

    Raises:
        ValueError: The row has no value.
    """
    return score_batch([(code, tests)])[0]


def score_batch(pairs: Sequence[tuple[str, list[dict[str, Any]]]]) -> list[float]:
    """The same for several programs at once."""
    scored = _reward([Completion(code) for code, _ in pairs], [tests for _, tests in pairs])
    values = []
    for each in scored:
        if isinstance(each, Fail) or not hasattr(each, "value"):
            raise ValueError(getattr(each, "reason", "skipped"))
        values.append(each.value)
    return values


def close() -> None:
    """Ends the processes."""
    _reward.close()
