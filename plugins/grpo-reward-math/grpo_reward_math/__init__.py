"""Rewards for mathematics: a final answer against a gold one, a number, a choice."""

from __future__ import annotations

from grpo_core import Rewards, hookimpl
from grpo_reward_math.answer_equals import AnswerEquals
from grpo_reward_math.choice import Choice
from grpo_reward_math.number_close import NumberClose

__all__ = ["AnswerEquals", "Choice", "NumberClose"]


@hookimpl
def grpo_rewards() -> Rewards:
    """Returns the rewards of this plugin."""
    return [AnswerEquals, NumberClose, Choice]
