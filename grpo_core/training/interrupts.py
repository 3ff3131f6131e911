"""`Interrupts`: what Ctrl-C and SIGTERM do to a run of the command: it stops between two steps."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Self

from transformers import TrainerCallback

from grpo_core.training.ranks import Ranks, TerminatedError

# Within this a second signal is the launcher's, which passes on what the terminal has sent already.
_PASSED_ON_S = 10.0


class Interrupts(TrainerCallback):
    """Raises KeyboardInterrupt for Ctrl-C and `TerminatedError` for SIGTERM while it is entered.

    Not while weights are updated: half of an update is no step that a checkpoint could hold. With
    several processes only where all of them raise it, at the scores and at the end of a step.
    A second signal raises wherever it comes, even in the checkpoint of the first.
    """

    def __init__(self, ranks: Ranks) -> None:
        """Handles nothing yet.

        Args:
            ranks: The processes, which stop together.
        """
        self._ranks = ranks
        self._before: dict[int, Any] = {}
        self._updating = False
        self._logs = False
        self._came: float | None = None

    def __enter__(self) -> Self:
        """Takes both signals, in the main thread; Python gives them to no other."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Gives the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The weights are about to change."""
        self._updating = True

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The step is whole; what came meanwhile is raised, behind its log if it has one."""
        self._logs = control.should_log
        if not self._logs:
            self._whole()

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The step is logged."""
        if self._logs:
            self._logs = False
            self._whole()

    def _whole(self) -> None:
        self._updating = False
        self._ranks.raise_stop()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        stop = TerminatedError() if number == signal.SIGTERM else KeyboardInterrupt()
        alone, now = self._ranks.alone, time.monotonic()
        if self._came is not None:
            if alone or now - self._came > _PASSED_ON_S:
                raise stop
            return
        self._came = now
        if self._updating if alone else not self._ranks.interruptible:
            self._ranks.stop = stop
            return
        raise stop
