"""Runs the work of a whole batch at once, in as many threads as there are slots."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class OutOfTime(Exception):
    """The batch's time was over before this was begun."""


def run_all(
    work: Sequence[Callable[[], T]], slots: int | None, deadline_s: float
) -> list[T | BaseException]:
    """What each piece of work returns or raises, in order.

    Threads only wait here, for programs in the boxes. Work is begun in order; what is not begun at
    the deadline is `OutOfTime`.

    Args:
        work: To be called.
        slots: How many at once; None: one for each usable core.
        deadline_s: Seconds.
    """
    end = time.monotonic() + deadline_s

    def one(piece: Callable[[], T]) -> T | BaseException:
        if time.monotonic() > end:
            return OutOfTime()
        try:
            return piece()
        except Exception as exc:
            return exc

    threads = min(slots or len(os.sched_getaffinity(0)), len(work))
    if threads <= 1:
        return [one(piece) for piece in work]
    with ThreadPoolExecutor(threads, thread_name_prefix="grpo-code") as pool:
        return list(pool.map(one, work))
