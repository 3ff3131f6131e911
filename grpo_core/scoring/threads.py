"""`run_in_threads`: the calls of one reward in a few daemon threads of this process.

A thread cannot be ended from outside. One whose call is late is given up: the call is decided, the
thread may go on for as long as it likes, what it returns is ignored, and another takes its place.
The threads are daemons of our own, since those of `concurrent.futures` are joined when the process
exits: one that hangs would keep it alive.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from grpo_core.outcome import Outcome
from grpo_core.scoring.abandoned import Brake, Owner, give_up
from grpo_core.scoring.calls import Call
from grpo_core.scoring.done import Done, Running
from grpo_core.scoring.ledger import Ledger, Try
from grpo_core.scoring.pacing import Pacer
from grpo_core.scoring.policy import Policy

# How often calls that hang are looked at, while the rest waits for them.
_LOOK_S = 0.1


def run_in_threads(
    attempt: Callable[[Call], list[Outcome]],
    calls: Sequence[Call],
    policy: Policy,
    finished: Callable[[list[Done]], None],
    *,
    owner: Owner,
    pacer: Pacer | None = None,
) -> Running:
    """Starts the calls and returns at once.

    Args:
        attempt: Makes one call and raises what the reward raises; that is tried again as the
            policy says. Such as `Callee.attempt`.
        calls: What the reward gets, call by call.
        policy: Its concurrency, deadline and retries.
        finished: Called once, from another thread, with what became of each call, in order.
        owner: The reward.
        pacer: Keeps its rate; shared by its batches.
    """
    return _Batch(attempt, calls, policy, finished, owner, pacer)


class _Batch:
    """One batch: a thread that watches over the deadlines, and those that work."""

    def __init__(
        self,
        attempt: Callable[[Call], list[Outcome]],
        calls: Sequence[Call],
        policy: Policy,
        finished: Callable[[list[Done]], None],
        owner: Owner,
        pacer: Pacer | None,
    ) -> None:
        self._attempt = attempt
        self._timeout_s = policy.timeout_s
        self._finished = finished
        self._owner = owner
        self._ledger = Ledger(calls, policy, pacer)
        self._workers = min(policy.concurrency, len(calls))
        self._brake = Brake(owner, policy.timeout_s)
        self._held = 0  # places of late workers that nobody has taken yet
        threading.Thread(target=self._watch, name=f"grpo-{owner.name}", daemon=True).start()

    def cancel(self, reason: str) -> None:
        """Decides every undecided call now; threads at work are given up."""
        for one in self._ledger.end("timed_out", reason):
            self._give_up(one)

    def _watch(self) -> None:
        """Starts the workers, decides the calls that are late, and hands over the result."""
        started = [self._start_worker() for _ in range(self._workers)]
        if started and not any(started):
            self._end_without_threads()
        while not self._ledger.over.wait(self._until_next_deadline()):
            self._give_up_late_workers()
            self._replace_them()
        self._finished(self._ledger.done)

    def _until_next_deadline(self) -> float | None:
        if self._timeout_s is None:
            return None
        # A call that starts while this is waited for is not late before the whole time is over.
        starts = [one.started for one in self._ledger.running]
        passed = time.monotonic() - min(starts) if starts else 0.0
        left = max(self._timeout_s - passed, 0.0)
        return min(left, _LOOK_S) if self._held else left

    def _give_up_late_workers(self) -> None:
        now = time.monotonic()
        for one in self._ledger.running:
            if self._timeout_s is None or now - one.started < self._timeout_s:
                continue
            if self._ledger.expire(
                one, f"took longer than {self._timeout_s:g} s; its thread was given up"
            ):
                self._give_up(one)
                self._held += 1

    def _replace_them(self) -> None:
        """Has others take the places of late workers, unless too many hang."""
        while self._held:
            state = self._brake.state()
            if state == "wait":
                return
            self._held -= 1
            if state == "stop":
                self._ledger.refuse(self._brake.reason())
            elif not self._start_worker():
                self._end_without_threads()

    def _start_worker(self) -> bool:
        try:
            threading.Thread(
                target=self._work, name=f"grpo-{self._owner.name}", daemon=True
            ).start()
        except RuntimeError:  # the process may have no more
            return False
        return True

    def _end_without_threads(self) -> None:
        for one in self._ledger.end("failed", "the process can start no more threads"):
            self._give_up(one)

    def _give_up(self, one: Try) -> None:
        give_up(self._owner, lambda: not one.left)

    def _work(self) -> None:
        """Takes call after call until none waits, or until its own was given up."""
        ledger = self._ledger
        while (one := ledger.take()) is not None:
            if isinstance(one, float):
                ledger.over.wait(one)
                continue
            try:
                outcomes = self._attempt(one.call)
            except BaseException as exc:  # even KeyboardInterrupt: here it came from the reward
                wanted = ledger.fail(one, exc)
            else:
                wanted = ledger.settle(one, outcomes)
            if not wanted:
                return
