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


def usable_cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def default_slots() -> int:
    """This trainer's share of the usable processors, at least 1."""
    # Set by torchrun and by accelerate: how many trainers share this machine.
    trainers = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, usable_cores() // max(1, int(trainers) if trainers.isdecimal() else 1))


class Boxes:
    """Slots of locked processes; `run` and `judge` may be called from many threads at once.

    Attributes:
        layer: The isolation in force: `ns`, `lock` or `unsafe`.
        slots: Programs at one time.
        retries: Programs that were run again since the machine gave them no time.
    """

    def __init__(
        self, slots: int | None = None, *, layer: str = "auto", preload: Sequence[str] = ()
    ) -> None:
        """Finds the strongest layer that holds, by trying to get out of it.

        Args:
            slots: Programs at one time, at most the usable processors; default: `default_slots`.
            layer: `auto`, `ns`, `lock` or `unsafe` (see `layers.py`).
            preload: Modules that are imported once, before the first program (`numpy`).

        Raises:
            ValueError: An argument is not as it must be.
            NoIsolation: No layer holds on this machine; the text says what was tried.
        """
        if slots is not None and slots < 1:
            raise ValueError(f"slots: expected a number above 0, got {slots!r}")
        self.slots = min(slots or default_slots(), usable_cores())
        self.retries = 0
        self._preload = tuple(preload)
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._closed = False
        self._busy: set[Worker | None] = set()
        self._free: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        self.layer, first = layers.choose(layer, self._preload)
        # The other slots start when they are needed.
        for _ in range(self.slots - 1):
            self._free.put(None)
        self._free.put(first)
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
        if os.getpid() != self._pid:
            raise BoxFailed("boxes cannot be used in a process forked from the one they belong to")
        worker = self._free.get()
        try:
            if self._closed:
                raise BoxFailed("the boxes are closed")
            if worker is not None and worker.is_gone:
                worker.close()
                worker = None
            if worker is None:
                worker = layers.start(self.layer, self._preload)
            with self._lock:
                self._busy.add(worker)
                # While the worker was started.
                if self._closed:
                    raise BoxFailed("the boxes are closed")
            yield worker
        finally:
            with self._lock:
                self._busy.discard(worker)
            self._free.put(worker)

    def interrupt(self) -> None:
        """Ends what runs now, which fails; the boxes can be used again."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            for busy in self._busy:
                if busy is not None:
                    busy.kill()

    def close(self) -> None:
        """Ends all processes; what still runs fails, and the boxes cannot be used any more."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            was_closed, self._closed = self._closed, True
        self.interrupt()
        if was_closed:
            return
        atexit.unregister(self.close)
        for _ in range(self.slots):
            worker = self._free.get()
            if worker is not None:
                worker.close()
        # Whoever still waits for a slot is told.
        for _ in range(self.slots):
            self._free.put(None)
