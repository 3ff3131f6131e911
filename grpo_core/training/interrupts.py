"""`Interrupts`: what Ctrl-C and SIGTERM do to a run of the command: it stops between two steps."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

from transformers import TrainerCallback


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came: slurm, docker or a person ends the run. It takes the way of Ctrl-C."""


class Interrupts(TrainerCallback):
    """Raises KeyboardInterrupt for Ctrl-C and `TerminatedError` for SIGTERM while it is entered.

    Not while weights are updated: half of an update is no step that a checkpoint could hold.
    A second signal raises wherever it comes, even in the checkpoint of the first.
    """

    def __init__(self) -> None:
        """Handles nothing yet."""
        self._before: dict[int, Any] = {}
        self._updating = False
        self._pending: KeyboardInterrupt | None = None

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
        """The step is whole; what came meanwhile is raised."""
        self._updating = False
        if self._pending is not None:
            stop, self._pending = self._pending, None
            raise stop

    def _handle(self, number: int, frame: FrameType | None) -> None:
        stop = TerminatedError() if number == signal.SIGTERM else KeyboardInterrupt()
        if self._updating and self._pending is None:
            self._pending = stop
            return
        raise stop
