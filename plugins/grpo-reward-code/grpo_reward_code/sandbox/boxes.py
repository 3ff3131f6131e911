"""`Boxes`: the slots in which programs are run."""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import threading
from collections.abc import Iterator, Sequence

from grpo_reward_code.sandbox import layers
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import BoxFailed, Judged, Program, Ran
from grpo_reward_code.sandbox.worker import Worker


class Boxes:
    """Slots of locked processes; `run` and `judge` may be called from many threads at once.

    Attributes:
        layer: The isolation in force: `ns`, `lock` or `unsafe`.
        retries: Programs that were run again since the machine gave them no time.
    """

    def __init__(
        self, slots: int | None = None, *, layer: str = "auto", preload: Sequence[str] = ()
    ) -> None:
        usable = len(os.sched_getaffinity(0))
        self._slots = min(slots or usable, usable)
        self._preload = tuple(preload)
        self.layer = layer
        self.retries = 0
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._free: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(self._slots):
            self._free.put(None)
        self._closed = False
        atexit.register(self.close)

    def run(self, program: Program, limits: Limits) -> Ran:
        """Returns how a program ended.

        Raises:
            BoxFailed: The machinery failed; no verdict.
        """
        with self._slot() as slot:
            ended = slot.run(program, limits)
            if ended.starved:
                self._note_retry()
                ended = slot.run(program, limits)
        return ended.ran

    def judge(self, submission: Program, judge: Program, limits: Limits) -> Judged:
        """Returns how a submission and the judge beside it ended, and the judge's report.

        Both hold an end of a stream socket as descriptor 3; the judge alone a pipe as descriptor 4.
        When one ends, the other reads an end of stream or gets `ConnectionResetError`; 0.1 s after
        the judge the submission is ended.

        Raises:
            BoxFailed: The machinery failed; no verdict.
        """
        with self._slot() as slot:
            first, second, report = slot.judge(submission, judge, limits)
            if first.starved or second.starved:
                self._note_retry()
                first, second, report = slot.judge(submission, judge, limits)
        return Judged(first.ran, second.ran, report)

    def _note_retry(self) -> None:
        with self._lock:
            self.retries += 1

    @contextlib.contextmanager
    def _slot(self) -> Iterator[Worker]:
        if self._closed:
            raise BoxFailed("the boxes are closed")
        worker = self._free.get()
        try:
            if worker is None:
                worker = Worker(layers.settings(self.layer, self._preload, 0))
            yield worker
        except BoxFailed:
            worker = None
            raise
        finally:
            self._free.put(worker)

    def close(self) -> None:
        """Ends all processes; the boxes cannot be used any more."""
        if os.getpid() != self._pid:
            return
        self._closed = True
        for _ in range(self._slots):
            worker = self._free.get()
            if worker is not None:
                worker.close()
