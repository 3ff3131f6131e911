"""What the tests of the executors share: calls, and a batch that is waited for."""

from __future__ import annotations

import queue
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grpo_core.completion import Completion
from grpo_core.outcome import Outcome
from grpo_core.scoring.abandoned import Owner
from grpo_core.scoring.calls import Call, Callee
from grpo_core.scoring.done import Done, Running
from grpo_core.scoring.pacing import Pacer
from grpo_core.scoring.policy import Policy

ROOT = Path(__file__).parents[1]
# A deadline that calls are in time for, though the process is given no time for two seconds.
PATIENT_S = 2.5
# No test comes near it; a batch that hangs shall fail the test, not stop the suite.
FOREVER_S = 120.0


def calls(n: int, rows: int = 1) -> list[Call]:
    """N calls with the input `i`, which is 0, 1, …; of `rows` completions each."""
    return [Call((Completion("text"),) * rows, {"i": i}) for i in range(n)]


def callee(function: Callable[..., Any]) -> Callee:
    """A reward of sample scope, in [0, 100]."""
    return Callee(function, "sample", 0.0, 100.0, {})


def wait_until(condition: Callable[[], object]) -> None:
    """Returns when a condition holds."""
    end = time.monotonic() + FOREVER_S
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


class Batch:
    """A batch that was started."""

    def __init__(
        self,
        run: Callable[..., Running],
        attempt: Callable[[Call], Any],
        n: int | list[Call],
        *,
        name: str = "judge",
        pacer: Pacer | None = None,
        **policy: Any,
    ) -> None:
        self._results: queue.SimpleQueue[list[Done]] = queue.SimpleQueue()
        of = calls(n) if isinstance(n, int) else n
        self.running = run(
            attempt,
            of,
            Policy("thread", **policy),
            self._results.put,
            owner=Owner(name),
            pacer=pacer,
        )

    def done(self) -> list[Done]:
        """What became of the calls; waits for it."""
        return self._results.get(timeout=FOREVER_S)

    def outcomes(self) -> list[Outcome]:
        """The outcome of each call; waits for it."""
        return [outcome for done in self.done() for outcome in done.outcomes]

    @property
    def n_running(self) -> int:
        """How many calls were begun and are not decided."""
        return len(self.running._ledger.running)  # type: ignore[attr-defined]

    def is_done(self, within_s: float) -> bool:
        """Whether the batch is done within this time."""
        try:
            self._results.put(self._results.get(timeout=within_s))
        except queue.Empty:
            return False
        return True


def run_script(text: str) -> tuple[int, str]:
    """Runs Python text with warnings as errors; returns its exit code and all it wrote."""
    result = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        timeout=FOREVER_S,
        cwd=ROOT,
        check=False,
    )
    return result.returncode, result.stdout + result.stderr
