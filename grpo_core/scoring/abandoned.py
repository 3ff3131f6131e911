"""What was given up but still runs in this process, by reward: threads and tasks."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping

from grpo_core.errors import RewardError

# Late calls that still run, with which a batch is not begun: nothing can end them.
MAX_ABANDONED = 3

_lock = threading.Lock()
_given_up: list[tuple[str, Callable[[], bool]]] = []


def give_up(reward: str, runs: Callable[[], bool]) -> None:
    """Notes something of a reward that is waited for no longer.

    Args:
        reward: Name of the reward.
        runs: Tells whether it still runs; asked until the first False.
    """
    with _lock:
        _given_up.append((reward, runs))


def abandoned_by_reward() -> dict[str, int]:
    """How many threads and tasks still run though nobody waits for them, by reward."""
    with _lock:
        _given_up[:] = [(reward, runs) for reward, runs in _given_up if runs()]
        return dict(Counter(reward for reward, _ in _given_up))


def abandoned() -> int:
    """How many threads and tasks of this process still run though nobody waits for them."""
    return sum(abandoned_by_reward().values())


def stop_if_calls_hang(hanging: Mapping[str, int]) -> None:
    """Refuses to go on when too many calls hang: each further batch would only add to them.

    Args:
        hanging: How many hang by reward, as `abandoned_by_reward` counts them.

    Raises:
        RewardError: Three or more still run though nobody waits for them; the text names their
            rewards.
    """
    if sum(hanging.values()) >= MAX_ABANDONED:
        text = ", ".join(f"{n} of reward {name!r}" for name, n in sorted(hanging.items()))
        raise RewardError(
            f"{sum(hanging.values())} calls that were late still run in this process and cannot "
            f"be ended: {text}. Bound what they wait for, or give the reward isolation = "
            f'"process", where a late call is killed'
        )


def _forget() -> None:
    """In a forked child none of them runs, and the lock may be held by a thread that is gone."""
    global _lock
    _lock = threading.Lock()
    _given_up.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
