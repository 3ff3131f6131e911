"""`Ledger`: which calls of a batch wait, run and are decided; tries and pauses are kept here."""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grpo_core.outcome import Outcome, Status
from grpo_core.scoring.calls import Call
from grpo_core.scoring.checks import fault, fault_from
from grpo_core.scoring.done import Done
from grpo_core.scoring.pacing import Pacer
from grpo_core.scoring.policy import Policy

# Pause before the second try; it doubles with each further one.
BACKOFF_S = 0.5
LONGEST_BACKOFF_S = 30.0


@dataclass(eq=False, slots=True)
class Try:
    """One try of one call.

    Attributes:
        index: Place of the call in the batch.
        call: What the reward gets.
        number: 1 for the first try.
        failed: What the try before came to, or None.
        started: When the reward began to work on it, by `time.monotonic`.
        left: Whether the reward came back from it, be it too late.
    """

    index: int
    call: Call
    number: int = 1
    failed: Outcome | None = None
    started: float = 0.0
    left: bool = False


class Ledger:
    """The books of one batch of calls; safe to use from any thread.

    A try is decided by whoever comes first: its result, its deadline or the end of the batch. What
    comes for it later changes nothing.

    Attributes:
        over: Set when every call is decided.
    """

    def __init__(self, calls: Sequence[Call], policy: Policy, pacer: Pacer | None) -> None:
        self.over = threading.Event()
        self._calls = calls
        self._retries = policy.retries
        self._pacer = pacer
        self._lock = threading.Lock()
        self._waiting = deque(Try(index, call) for index, call in enumerate(calls))
        self._later: list[tuple[float, int, Try]] = []  # a heap; by time, then index
        self._running: set[Try] = set()
        self._decided: dict[int, list[Outcome]] = {}
        self._seconds = [0.0] * len(calls)
        if not calls:
            self.over.set()

    @property
    def running(self) -> list[Try]:
        """The tries that were taken and are not decided."""
        with self._lock:
            return list(self._running)

    @property
    def done(self) -> list[Done]:
        """What became of each call, in order; once `over` is set."""
        return [Done(self._decided[i], self._seconds[i]) for i in range(len(self._calls))]

    def take(self) -> Try | float | None:
        """Takes the next call that is due.

        Returns:
            A try that counts as started now; or the seconds after which to ask again, because of
            the rate or of a pause between tries; or None if nothing waits.
        """
        with self._lock:
            now = time.monotonic()
            due = bool(self._later) and self._later[0][0] <= now
            if not due and not self._waiting:
                return self._later[0][0] - now if self._later else None
            wait = self._pacer.take() if self._pacer else 0.0
            if wait > 0:
                return wait
            one = heapq.heappop(self._later)[2] if due else self._waiting.popleft()
            one.started = now
            self._running.add(one)
            return one

    def settle(self, one: Try, outcomes: list[Outcome]) -> bool:
        """Enters what a try came to; returns False if it was decided before."""
        one.left = True
        with self._lock:
            ran = self._stop(one)
            if ran:
                self._decide(one.index, outcomes)
            return ran

    def fail(self, one: Try, raised: BaseException) -> bool:
        """Enters what the reward raised; returns False if the try was decided before.

        After an Exception the call waits for its next try, while it has any left. SystemExit and
        the like are not tried again.
        """
        one.left = True
        failed = _fault(raised)
        with self._lock:
            ran = self._stop(one)
            if ran and isinstance(raised, Exception) and one.number <= self._retries:
                pause = min(BACKOFF_S * 2 ** (one.number - 1), LONGEST_BACKOFF_S)
                again = Try(one.index, one.call, one.number + 1, failed)
                heapq.heappush(self._later, (time.monotonic() + pause, one.index, again))
            elif ran:
                self._decide_all(one, failed, after=one.number)
            return ran

    def expire(self, one: Try, reason: str) -> bool:
        """Decides a try that is late; returns False if it was decided before."""
        with self._lock:
            ran = self._stop(one)
            if ran:
                late = Outcome(None, "timed_out", reason, fault=True)
                self._decide_all(one, late, after=one.number)
            return ran

    def put_back(self, one: Try) -> None:
        """Lets a try that was broken off through no fault of its own begin anew, as the next."""
        with self._lock:
            if self._stop(one):
                self._waiting.appendleft(replace(one))

    def end(self, status: Status, reason: str) -> list[Try]:
        """Decides every open call; one that waited for its next try keeps the fault of the last.

        Returns:
            The tries that were running.
        """
        with self._lock:
            running = list(self._running)
            for one in running:
                self._stop(one)
                self._decide_all(one, Outcome(None, status, reason))
            self._end_waiting(status, reason)
            return running

    def refuse(self, reason: str) -> None:
        """Decides the calls that wait, as `end` does; those that run go on."""
        with self._lock:
            self._retries = 0
            self._end_waiting("timed_out", reason)

    def _end_waiting(self, status: Status, reason: str) -> None:
        for one in self._waiting:
            self._decide_all(one, Outcome(None, status, reason))
        for _, _, one in self._later:
            last = one.failed or fault("")
            last = replace(
                last,
                reason=f"{_after(last.reason, one.number - 1)}; {reason} before the next try",
            )
            self._decide_all(one, last)
        self._waiting.clear()
        self._later.clear()

    def _stop(self, one: Try) -> bool:
        if one not in self._running:
            return False
        self._running.remove(one)
        self._seconds[one.index] += time.monotonic() - one.started
        return True

    def _decide_all(self, one: Try, outcome: Outcome, after: int = 1) -> None:
        if after > 1:
            outcome = replace(outcome, reason=_after(outcome.reason, after))
        self._decide(one.index, [outcome] * len(one.call.completions))

    def _decide(self, index: int, outcomes: list[Outcome]) -> None:
        self._decided[index] = outcomes
        if len(self._decided) == len(self._calls):
            self.over.set()


def _after(reason: str, tries: int) -> str:
    return f"{reason}, after {tries} tries" if tries > 1 else reason


def _fault(raised: BaseException) -> Outcome:
    try:
        return fault_from(raised)
    except BaseException:  # its __str__ is the author's code and may raise anything
        return fault(f"raised {type(raised).__name__}")
