"""Whether an answer is right: the input `correct` and the option `threshold`."""

from __future__ import annotations

import math

from grpo_core import Fail


def is_right(correct: float, threshold: float) -> bool | Fail:
    """Whether an answer is right; Fail where that is no number, which is neither.

    Args:
        correct: The input: 1.0 or true for right, 0.0 or false for wrong, or what lies between.
        threshold: From which value on an answer is right.
    """
    # A column is not looked at by the core before, and NaN is neither right nor wrong.
    is_text = isinstance(correct, str)
    if is_text or not hasattr(correct, "__float__") or math.isnan(correct):
        return Fail(
            f"correct must be a number or a boolean, to be held to a threshold; got {correct!r}"
        )
    return float(correct) >= threshold
