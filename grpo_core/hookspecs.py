"""The pluggy markers and the one hook of grpo-core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pluggy

PROJECT = "grpo_core"

# What `grpo_rewards` returns: functions and classes tagged with @reward.
Rewards = Sequence[Callable[..., Any]]

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def grpo_rewards() -> Rewards:
    """Returns the rewards of a plugin: functions and classes tagged with `@reward`.

    Called once, right after the plugin's module is imported. It registers; it never scores.
    """
    raise AssertionError("pluggy never calls a hook specification")
