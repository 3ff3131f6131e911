"""A math verifier as a plain function: a completion and a gold answer to a verdict."""

from __future__ import annotations

from grpo_reward_math import AnswerEquals

from grpo_core import Completion, Fail, Skip

_REWARD = AnswerEquals(last_number=True)


def verify(completion: str, gold: str) -> float | None:
    """The reward of a completion; None for a gold that is empty.

    Raises:
        ValueError: The gold cannot be read.
    """
    scored = _REWARD(Completion(completion), gold)
    if isinstance(scored, Skip):
        return None
    if isinstance(scored, Fail):
        raise ValueError(scored.reason)
    return scored.value
