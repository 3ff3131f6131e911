"""Rewards for the length of a reply."""

from __future__ import annotations

from grpo_core import Rewards, hookimpl
from grpo_reward_brevity.budget import Budget
from grpo_reward_brevity.cosine import Cosine
from grpo_reward_brevity.group_relative import GroupRelative
from grpo_reward_brevity.linear import Linear
from grpo_reward_brevity.published_cosine import PublishedCosine
from grpo_reward_brevity.published_overlong import PublishedOverlong
from grpo_reward_brevity.soft_limit import SoftLimit
from grpo_reward_brevity.target import Target

__all__ = [
    "Budget",
    "Cosine",
    "GroupRelative",
    "Linear",
    "PublishedCosine",
    "PublishedOverlong",
    "SoftLimit",
    "Target",
]


@hookimpl
def grpo_rewards() -> Rewards:
    """Returns the rewards of this plugin."""
    return [
        Budget,
        Cosine,
        GroupRelative,
        Linear,
        PublishedCosine,
        PublishedOverlong,
        SoftLimit,
        Target,
    ]
