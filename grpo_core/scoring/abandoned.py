"""What was given up but still runs in this process, by reward: threads and tasks."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from grpo_core.errors import RewardError

# Late calls of a reward that still run, with which it is called no more: nothing can end them.
MAX_ABANDONED = 3


@dataclass(frozen=True, eq=False)
class Owner:
    """Whose a call is: one for each reward that was built, since a name may be used again.

    Attributes:
        name: The reward's name.
    """

    name: str


_lock = threading.Lock()
_given_up: list[tuple[Owner, Callable[[], bool]]] = []


def give_up(owner: Owner, runs: Callable[[], bool]) -> None:
    """Notes something of a reward that is waited for no longer.

    Args:
        owner: The reward.
        runs: Tells whether it still runs; asked until the first False.
    """
    with _lock:
        _given_up.append((owner, runs))


def hanging(owner: Owner) -> int:
    """How many threads and tasks of a reward still run though nobody waits for them."""
    return _by_owner()[owner]


def abandoned_by_reward() -> dict[str, int]:
    """How many threads and tasks still run though nobody waits for them, by reward's name."""
    counts: Counter[str] = Counter()
    for owner, n in _by_owner().items():
        counts[owner.name] += n
    return dict(counts)


def abandoned() -> int:
    """How many threads and tasks of this process still run though nobody waits for them."""
    return _by_owner().total()


def stop_if_calls_hang(owners: Iterable[Owner]) -> None:
    """Refuses to go on where too many calls of a reward hang: a batch would only add to them.

    Args:
        owners: The rewards that are about to be called.

    Raises:
        RewardError: Three or more calls of one still run though nobody waits for them; the text
            names it.
    """
    counts = _by_owner()
    over = [(owner.name, counts[owner]) for owner in owners if counts[owner] >= MAX_ABANDONED]
    if over:
        text = ", ".join(f"{n} of reward {name!r}" for name, n in sorted(over))
        raise RewardError(
            f"{sum(n for _, n in over)} calls that were late still run in this process and cannot "
            f"be ended: {text}. Bound what they wait for, or give the reward isolation = "
            f'"process", where a late call is killed. It is not called again before they end: '
            f"restart the process; other rewards work on"
        )


class Brake:
    """Whether a batch may begin calls of a reward of which too many hang."""

    def __init__(self, owner: Owner, patience_s: float | None) -> None:
        """Lets calls begin.

        Args:
            owner: The reward.
            patience_s: How long calls that are late may go on before the rest is not called: a
                call that is merely slow ends in that time.
        """
        self._owner = owner
        self._patience_s = patience_s or 0.0
        self._since: float | None = None

    def state(self) -> Literal["go", "wait", "stop"]:
        """Whether a call may begin now, perhaps later, or not at all."""
        if hanging(self._owner) < MAX_ABANDONED:
            self._since = None
            return "go"
        now = time.monotonic()
        if self._since is None:
            self._since = now
        return "wait" if now - self._since < self._patience_s else "stop"

    def reason(self) -> str:
        """Why the rest of the batch is not called."""
        return f"was not called: {hanging(self._owner)} of its calls still run and cannot be ended"


def _by_owner() -> Counter[Owner]:
    with _lock:
        _given_up[:] = [(owner, runs) for owner, runs in _given_up if runs()]
        return Counter(owner for owner, _ in _given_up)


def _forget() -> None:
    """In a forked child none of them runs, and the lock may be held by a thread that is gone."""
    global _lock
    _lock = threading.Lock()
    _given_up.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
