"""Rewards for structured output: JSON against a schema or a gold object, and XML."""

from __future__ import annotations

from grpo_core import Rewards, hookimpl
from grpo_reward_schema.json_fields import JsonFields
from grpo_reward_schema.json_reward import Json
from grpo_reward_schema.xml_reward import Xml

__all__ = ["Json", "JsonFields", "Xml"]


@hookimpl
def grpo_rewards() -> Rewards:
    """Returns the rewards of this plugin."""
    return [Json, JsonFields, Xml]
