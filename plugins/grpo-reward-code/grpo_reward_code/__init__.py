"""Rewards for code: programs are run against tests, in a local sandbox."""

from __future__ import annotations

from grpo_core import Rewards, hookimpl
from grpo_reward_code.tests_pass import TestsPass

__all__ = ["TestsPass"]


@hookimpl
def grpo_rewards() -> Rewards:
    """Returns the rewards of this plugin."""
    return [TestsPass]
