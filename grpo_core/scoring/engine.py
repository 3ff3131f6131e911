"""Runs the rewards of a batch: those that can at once, those that wait for others after them."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import monotonic

from grpo_core.outcome import Outcome
from grpo_core.scoring.done import Running
from grpo_core.scoring.runner import Batch, Column, Runner

logger = logging.getLogger("grpo_core")

BATCH_TIMEOUT_S = 300.0

# How long calls that were told to end may take to say so.
_GRACE_S = 10.0


@dataclass(frozen=True)
class Task:
    """A reward of the batch.

    Attributes:
        runner: The reward.
        after: Names of the rewards whose outcomes it reads.
    """

    runner: Runner
    after: Collection[str] = field(default=())


def run_tasks(
    tasks: Mapping[str, Task], batch: Batch, timeout_s: float = BATCH_TIMEOUT_S
) -> dict[str, Column]:
    """Scores a batch with all rewards.

    Rewards in threads and workers run at once. Those of this thread run one after the other,
    meanwhile. Each begins when the rewards it reads are done.

    Args:
        tasks: The rewards by name; `after` has no cycles and names tasks.
        batch: What is scored.
        timeout_s: Bound for the whole batch, in seconds; what is not done then is timed out and
            missing. A reward in this thread cannot be ended: it is named in a warning.

    Returns:
        A column for each reward.
    """
    return _Run(tasks, batch, timeout_s).columns()


class _Run:
    """One batch under way."""

    def __init__(self, tasks: Mapping[str, Task], batch: Batch, timeout_s: float) -> None:
        self._tasks = tasks
        self._batch = batch
        self._timeout_s = timeout_s
        self._end = monotonic() + timeout_s
        self._late = f"the batch took longer than {timeout_s:g} s"
        self._waiting = dict(tasks)
        self._running: dict[str, Running] = {}
        self._done: dict[str, Column] = {}
        self._reports: SimpleQueue[tuple[str, Column]] = SimpleQueue()

    def columns(self) -> dict[str, Column]:
        try:
            while len(self._done) < len(self._tasks):
                self._begin()
                name = next((n for n in self._ready() if self._tasks[n].runner.inline), None)
                if name is None:
                    self._wait()
                    continue
                task = self._waiting.pop(name)
                with _watched(name, self._timeout_s):
                    self._done[name] = task.runner.run(self._batch, self._done)
                while not self._reports.empty():
                    self._take(*self._reports.get())
        except BaseException:
            # Ctrl-C, for one: nothing may be left running that nobody waits for.
            for running in self._running.values():
                running.cancel("the batch was stopped")
            raise
        return {name: self._done[name] for name in self._tasks}

    def _ready(self) -> list[str]:
        return [n for n, task in self._waiting.items() if self._done.keys() >= set(task.after)]

    def _begin(self) -> None:
        for name in self._ready():
            runner = self._tasks[name].runner
            if runner.inline:
                continue
            del self._waiting[name]

            def finished(column: Column, name: str = name) -> None:
                self._reports.put((name, column))

            self._running[name] = runner.begin(self._batch, self._done, finished)

    def _take(self, name: str, column: Column) -> None:
        self._running.pop(name, None)
        self._done[name] = column

    def _wait(self) -> None:
        """Waits for one report; past the end of the batch, ends all that is left."""
        left = self._end - monotonic()
        try:
            self._take(*self._reports.get(timeout=max(left, 0.0)))
            return
        except Empty:
            pass
        for running in list(self._running.values()):
            running.cancel(self._late)
        until = monotonic() + _GRACE_S
        while self._running and monotonic() < until:
            try:
                self._take(*self._reports.get(timeout=max(until - monotonic(), 0.0)))
            except Empty:
                break
        n = len(self._batch.completions)
        for name in self._running:  # it does not even say so
            self._done[name] = Column([Outcome(None, "timed_out", self._late)] * n, [1.0] * n)
        self._running.clear()
        for name in list(self._done):
            self._say_what_never_began(name)
        for name, task in self._waiting.items():
            late = [other for other in task.after if other not in self._done or self._ran(other)]
            never = self._never_began("it waits for", late or list(task.after))
            self._done[name] = Column([never] * n, [0.0] * n)
        self._waiting.clear()

    def _say_what_never_began(self, name: str) -> None:
        """Tells cells that no worker was free for from those that ran when the time was over."""
        column = self._done[name]
        rows = [
            i
            for i, outcome in enumerate(column.outcomes)
            if outcome.reason == self._late and column.seconds[i] == 0.0
        ]
        others = [n for n, c in self._done.items() if n != name and c.in_workers and self._ran(n)]
        never = self._never_began("the workers were busy with", others if column.in_workers else [])
        for i in rows:
            column.outcomes[i] = never

    def _ran(self, name: str) -> bool:
        """Whether calls of a reward that is done took too long."""
        column = self._done[name]
        return any(
            outcome.status == "timed_out" and seconds > 0.0
            for outcome, seconds in zip(column.outcomes, column.seconds, strict=True)
        )

    def _never_began(self, why: str, others: list[str]) -> Outcome:
        reason = f"not begun when the batch's {self._timeout_s:g} s were over"
        if others:
            rewards = "reward" if len(others) == 1 else "rewards"
            reason += f"; {why} {rewards} {', '.join(map(repr, others))}"
        return Outcome(None, "timed_out", reason, held_up=bool(others))


@contextmanager
def _watched(name: str, timeout_s: float) -> Iterator[None]:
    """Says after the time which reward keeps the batch, and the line it is at."""
    thread_id = threading.get_ident()

    def warn() -> None:
        frame = sys._current_frames().get(thread_id)
        lines = traceback.extract_stack(frame) if frame is not None else []
        at = f" at {lines[-1].filename}:{lines[-1].lineno}" if lines else ""
        logger.warning(
            "reward %r has kept the batch for %g s and is%s; it runs in the thread of the "
            'trainer and cannot be ended: give it isolation = "process" or "thread"',
            name,
            timeout_s,
            at,
        )

    timer = threading.Timer(timeout_s, warn)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
