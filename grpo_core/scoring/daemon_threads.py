"""`DaemonThreads`: where `asyncio.to_thread` of a reward runs, and name look-ups of its clients."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from grpo_core.scoring.abandoned import Owner, give_up

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreads(ThreadPoolExecutor):
    """Runs functions in daemon threads.

    The threads of its base class are joined when the process exits, so that one which hangs keeps
    it alive. Here a function that is cancelled while it runs is given up: it may go on, and its
    place is free. Nothing of the base class is used; asyncio insists on it.
    """

    def __init__(self, owner: Callable[[], Owner], most: int = 32) -> None:
        """Starts no thread yet.

        Args:
            owner: The reward that a function is submitted for.
            most: Threads at most, without those given up.
        """
        super().__init__(most)
        self._owner = owner
        self._most = most
        self._busy = 0
        self._backlog: deque[_Job] = deque()
        self._lock = threading.Lock()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Runs a function in a thread, now or when one is free."""
        job = _Job(partial(fn, *args, **kwargs), self._owner(), self._give_up)
        with self._lock:
            self._backlog.append(job)
            self._start_thread()
        return job

    def _start_thread(self) -> None:
        """Starts one if a function waits for it; under the lock."""
        if self._backlog and self._busy < self._most:
            try:
                threading.Thread(target=self._work, name="grpo-to-thread", daemon=True).start()
                self._busy += 1
            except RuntimeError:  # the process may have no more; those at work take it in time
                if not self._busy:
                    raise

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._backlog:
                    self._busy -= 1
                    return
                job = self._backlog.popleft()
                job.state = "running"
            job.run()
            with self._lock:
                if job.state == "given up":
                    return
                job.state = "left"

    def _give_up(self, job: _Job) -> None:
        with self._lock:
            if job.state != "running":
                return
            job.state = "given up"
            self._busy -= 1
            self._start_thread()
        give_up(job.owner, lambda: not job.done())


class _Job(Future[Any]):
    """A function and its result."""

    def __init__(
        self, function: Callable[[], Any], owner: Owner, give_up: Callable[[_Job], None]
    ) -> None:
        super().__init__()
        self.owner = owner
        self.state = "waiting"
        self._function = function
        self._give_up = give_up

    def cancel(self) -> bool:
        cancelled = super().cancel()
        if not cancelled:
            self._give_up(self)
        return cancelled

    def run(self) -> None:
        if not self.set_running_or_notify_cancel():
            return
        try:
            result = self._function()
        except BaseException as exc:
            self.set_exception(exc)
        else:
            self.set_result(result)
