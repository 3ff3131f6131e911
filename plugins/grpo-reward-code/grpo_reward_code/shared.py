"""Boxes that the rewards of a process share, so that together they use no more than its cores."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from grpo_reward_code.sandbox.boxes import Boxes

# Loaded once in a worker, not once in each of the processes that it forks.
_OURS = ("grpo_reward_code.judging.served", "grpo_reward_code.judging.judge")

_Key = tuple[int | None, str, tuple[str, ...]]

_lock = threading.Lock()
_open: dict[_Key, Boxes] = {}
_users: dict[_Key, int] = {}


class Lease:
    """A share of boxes; the boxes end with the last of their users.

    Args:
        slots: How many; None: this trainer's share of the cores.
        layer: Of isolation.
        preload: Modules that are imported before any program.

    Raises:
        NoIsolation: The layer does not hold here, or, for "auto", none does.
    """

    def __init__(self, slots: int | None, layer: str, preload: Sequence[str]) -> None:
        self._key: _Key = (slots, layer, (*_OURS, *preload))
        self._is_held = False
        self.boxes()

    def boxes(self) -> Boxes:
        """The boxes, opened again if they were closed."""
        with _lock:
            if not self._is_held:
                if self._key not in _open:
                    slots, layer, preload = self._key
                    _open[self._key] = Boxes(slots, layer=layer, preload=preload)
                _users[self._key] = _users.get(self._key, 0) + 1
                self._is_held = True
            return _open[self._key]

    def close(self) -> None:
        """Gives the share back; the next use takes one again."""
        with _lock:
            if not self._is_held:
                return
            self._is_held = False
            _users[self._key] -= 1
            last = _open.pop(self._key) if not _users[self._key] else None
        if last is not None:
            last.close()
