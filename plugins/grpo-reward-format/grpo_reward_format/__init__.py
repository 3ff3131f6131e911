"""Rewards for the format of a reply: `format/tags`."""

from __future__ import annotations

from grpo_core import Rewards, hookimpl
from grpo_reward_format.tags import Tags

__all__ = ["Tags"]


@hookimpl
def grpo_rewards() -> Rewards:
    """Returns the rewards of this plugin."""
    return [Tags]
