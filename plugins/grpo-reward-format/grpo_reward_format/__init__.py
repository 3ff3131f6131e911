"""Rewards for the format of a reply: required tags, patterns and published rules."""

from __future__ import annotations

from grpo_core import Rewards, hookimpl
from grpo_reward_format.pattern import Pattern
from grpo_reward_format.published_rule import PublishedRule
from grpo_reward_format.tag_count import TagCount
from grpo_reward_format.tags import Tags

__all__ = ["Pattern", "PublishedRule", "TagCount", "Tags"]


@hookimpl
def grpo_rewards() -> Rewards:
    """Returns the rewards of this plugin."""
    return [Tags, TagCount, Pattern, PublishedRule]
