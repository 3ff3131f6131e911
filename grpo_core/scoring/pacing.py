"""`Pacer`: at most so many calls a second, over all threads and batches of one reward."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Pacer:
    """Keeps the starts of calls apart by the same time, so that no second holds too many.

    Starts that were not used are not saved up: a service that allows 60 calls a minute may refuse
    60 in one second.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Lets the first call start at once.

        Args:
            rate: Calls a second, above 0.
            clock: Seconds from any point on.
        """
        self._gap = 1.0 / rate
        self._clock = clock
        self._free_at = clock()
        self._lock = threading.Lock()

    def take(self) -> float:
        """Takes the next start if it is due.

        Returns:
            0.0 if the call may start now; else the seconds after which to ask again. Nothing is
            reserved then, so a caller that gives up costs the others no time.
        """
        with self._lock:
            now = self._clock()
            if now < self._free_at:
                return self._free_at - now
            self._free_at = now + self._gap
            return 0.0
