"""Runs the work of a whole batch at once, in as many threads as there are slots."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from grpo_reward_code.sandbox.boxes import default_slots

T = TypeVar("T")

_LOOK_S = 0.05


class OutOfTime(Exception):
    """The batch's time was over before this was begun."""


def run_all(
    work: Sequence[Callable[[], T]],
    slots: int | None,
    deadline_s: float,
    interrupt: Callable[[], None],
) -> list[T | BaseException]:
    """What each piece of work returns or raises, in order.

    Threads only wait here, for programs in the boxes. Work is begun in order; what is not begun at
    the deadline is `OutOfTime`. An interrupt (Ctrl-C) ends what runs, begins no more and passes on.

    Args:
        work: To be called.
        slots: How many at once; None: as `default_slots` says.
        deadline_s: Seconds.
        interrupt: Makes work that is under way fail soon; may be called several times.
    """
    end = time.monotonic() + deadline_s
    out: list[T | BaseException] = [OutOfTime()] * len(work)
    left = deque(range(len(work)))

    def serve() -> None:
        while time.monotonic() <= end:
            try:
                k = left.popleft()
            except IndexError:
                return
            try:
                out[k] = work[k]()
            except Exception as exc:
                out[k] = exc

    wanted = min(slots or default_slots(), len(work))
    # Not those of `concurrent.futures`, which are waited for when the process ends.
    threads = [threading.Thread(target=serve, name="grpo-code", daemon=True) for _ in range(wanted)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        left.clear()
        # Again and again: one may just be about to start its program.
        while any(thread.is_alive() for thread in threads):
            interrupt()
            time.sleep(_LOOK_S)
        raise
    return out
