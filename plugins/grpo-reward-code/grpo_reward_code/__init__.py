"""Rewards for code: programs are run against tests, in a local sandbox."""

from __future__ import annotations

from grpo_core import Rewards, hookimpl
from grpo_reward_code.compiles import Compiles
from grpo_reward_code.runs import Runs
from grpo_reward_code.tests_pass import TestsPass

__all__ = ["Compiles", "Runs", "TestsPass"]


@hookimpl
def grpo_rewards() -> Rewards:
    """Returns the rewards of this plugin."""
    return [TestsPass, Compiles, Runs]
