"""Rewards for replies that are safe to show."""

from __future__ import annotations

from grpo_core import Rewards, hookimpl
from grpo_reward_safety.answers import Answers
from grpo_reward_safety.classifier import Classifier
from grpo_reward_safety.clean import Clean
from grpo_reward_safety.no_blocklist import NoBlocklist
from grpo_reward_safety.no_injection import NoInjection
from grpo_reward_safety.no_pii import NoPii
from grpo_reward_safety.no_prompt_leak import NoPromptLeak
from grpo_reward_safety.no_repetition import NoRepetition
from grpo_reward_safety.no_secrets import NoSecrets

__all__ = [
    "Answers",
    "Classifier",
    "Clean",
    "NoBlocklist",
    "NoInjection",
    "NoPii",
    "NoPromptLeak",
    "NoRepetition",
    "NoSecrets",
]


@hookimpl
def grpo_rewards() -> Rewards:
    """Returns the rewards of this plugin."""
    return [
        Answers,
        Classifier,
        Clean,
        NoBlocklist,
        NoInjection,
        NoPii,
        NoPromptLeak,
        NoRepetition,
        NoSecrets,
    ]
