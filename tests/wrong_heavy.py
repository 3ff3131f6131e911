"""A reward whose module imports what it should import when it is called."""

from __future__ import annotations

import heavy_library  # noqa: F401  # a module that the test puts there

from grpo_core import Completion, reward


@reward
def heavy_import(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    return float(completion.text == answer)
