"""`run_on_loop`: the calls of one async reward, as tasks on the event loop of this process.

The loop itself keeps the deadlines. Beside it a thread for each batch looks whether the loop still
answers: a reward that blocks it would block its own deadline too.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from grpo_core.outcome import Outcome
from grpo_core.scoring.abandoned import Brake, Owner, give_up
from grpo_core.scoring.calls import Call
from grpo_core.scoring.done import Done, Running
from grpo_core.scoring.event_loop import Home, Work, abandon, join, leave
from grpo_core.scoring.ledger import Ledger, Try
from grpo_core.scoring.pacing import Pacer
from grpo_core.scoring.policy import Policy

# How long after a deadline the loop must have acted on it, and a cancelled task must have ended.
GRACE_S = 0.5
# How often the thread beside the loop looks.
LOOK_S = 0.25
# How long a loop may take to answer after a batch was broken off.
ANSWER_S = 2.0
# A deadline that fires this late did so because the loop was blocked.
_LAG_S = 0.05


def run_on_loop(
    attempt: Callable[[Call], Coroutine[Any, Any, list[Outcome]]],
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
            policy says. Such as `Callee.attempt_async`.
        calls: What the reward gets, call by call.
        policy: Its concurrency, deadline and retries.
        finished: Called once, from another thread, with what became of each call, in order.
        owner: The reward.
        pacer: Keeps its rate; shared by its batches.
    """
    return _Batch(attempt, calls, policy, finished, owner, pacer)


class _Flight:
    """A try on the loop: its task and its deadline."""

    def __init__(self, one: Try) -> None:
        self.one = one
        self.task: asyncio.Task[None] | None = None
        self.deadline: asyncio.TimerHandle | None = None
        self.extended = False


class _Batch:
    """One batch; methods whose name ends in `_on_loop` run there, and nowhere else."""

    def __init__(
        self,
        attempt: Callable[[Call], Coroutine[Any, Any, list[Outcome]]],
        calls: Sequence[Call],
        policy: Policy,
        finished: Callable[[list[Done]], None],
        owner: Owner,
        pacer: Pacer | None,
    ) -> None:
        self._attempt = attempt
        self._concurrency = policy.concurrency
        self._timeout_s = policy.timeout_s
        self._finished = finished
        self._owner = owner
        self._ledger = Ledger(calls, policy, pacer)
        self._brake = Brake(owner, policy.timeout_s)
        self._flights: dict[Try, _Flight] = {}
        self._home: Home | None = None
        self._cancelled = False
        self._next_fill: asyncio.TimerHandle | None = None
        threading.Thread(target=self._watch, name=f"grpo-{owner.name}", daemon=True).start()

    def cancel(self, reason: str) -> None:
        """Decides every undecided call now, and cancels the tasks at work."""
        self._cancelled = True
        self._ledger.end("timed_out", reason)

    def move(self, blocker: Try | None) -> None:
        """Takes what is open to another loop; the calls at work there begin anew.

        What blocks the loop is decided as late; if that is not known, so is each late call.
        """
        now = time.monotonic()
        for one in self._ledger.running:
            late = self._timeout_s is not None and now - one.started > self._timeout_s
            if one is blocker or (blocker is None and late):
                took = f"took longer than {self._timeout_s:g} s and " if late else ""
                self._ledger.expire(one, f"{took}blocked the event loop, which was given up")
            else:
                self._ledger.put_back(one)
        self._flights = {}
        self._settle_in()

    def _watch(self) -> None:
        """Looks whether the loop answers, and hands over the result."""
        self._settle_in()
        suspect = None
        while not self._ledger.over.wait(LOOK_S):
            stuck = self._stuck()
            # Twice in a row, since a process that was stopped for a while looks stuck once.
            if stuck is not None and stuck is suspect and self._home is not None:
                abandon(self._home, self._owner)
            suspect = stuck
        self._finished(self._ledger.done)
        if self._home is None:
            return
        if self._cancelled:
            self._home.call(self._drop_all_on_loop, self._home)
            if not self._home.answers(ANSWER_S):
                abandon(self._home, self._owner)
        leave(self._home, self)

    def _settle_in(self) -> None:
        try:
            home = join(self)
        except (OSError, RuntimeError) as exc:  # no more files or threads
            self._ledger.end("failed", f"no event loop could be started: {exc}")
            return
        self._home = home
        home.call(self._fill_on_loop, home)

    def _stuck(self) -> object:
        """What the loop is stuck in: a step of a task, or a try that is late; else None."""
        now = time.monotonic()
        step = self._home.step if self._home else None
        if step is not None:
            work, since = step
            limit = work.timeout_s
            return step if limit is not None and now - since > limit + GRACE_S else None
        if self._timeout_s is None:
            return None
        limit = self._timeout_s + GRACE_S
        return next((one for one in self._ledger.running if now - one.started > limit), None)

    def _fill_on_loop(self, home: Home) -> None:
        """Starts calls until as many are at work as may be, or none is due."""
        if self._next_fill is not None:
            self._next_fill.cancel()
            self._next_fill = None
        while self._is_open(home) and len(self._flights) < self._concurrency:
            state = self._brake.state()
            if state == "wait":
                self._next_fill = home.loop.call_later(LOOK_S, self._fill_on_loop, home)
                return
            if state == "stop":
                self._ledger.refuse(self._brake.reason())
                return
            one = self._ledger.take()
            if one is None:
                return
            if isinstance(one, float):
                self._next_fill = home.loop.call_later(one, self._fill_on_loop, home)
                return
            flight = self._flights[one] = _Flight(one)
            work = Work(self._owner, one, self._timeout_s)
            flight.task = home.start(self._fly(home, flight), work)

    def _is_open(self, home: Home) -> bool:
        return home is self._home and not home.closing

    async def _fly(self, home: Home, flight: _Flight) -> None:
        """One try, from its start to its result."""
        one = flight.one
        one.started = time.monotonic()
        if self._timeout_s is not None:
            flight.deadline = home.loop.call_later(
                self._timeout_s, self._expire_on_loop, home, flight
            )
        try:
            outcomes = await self._attempt(one.call)
        except BaseException as exc:  # even CancelledError: ours comes after the call was decided
            if home.closing:
                self._ledger.put_back(one)
            else:
                self._ledger.fail(one, exc)
        else:
            self._ledger.settle(one, outcomes)
        if flight.deadline is not None:
            flight.deadline.cancel()
        if self._flights.pop(one, None):
            self._fill_on_loop(home)

    def _expire_on_loop(self, home: Home, flight: _Flight) -> None:
        if self._timeout_s is None:
            return
        lag = time.monotonic() - flight.one.started - self._timeout_s
        if lag > _LAG_S and not flight.extended:
            # Others blocked the loop, so that the reward could not go on: it gets the time back.
            flight.extended = True
            flight.one.started += lag
            flight.deadline = home.loop.call_later(lag, self._expire_on_loop, home, flight)
            return
        if self._ledger.expire(flight.one, f"took longer than {self._timeout_s:g} s"):
            self._drop_on_loop(home, flight)
            self._fill_on_loop(home)

    def _drop_all_on_loop(self, home: Home) -> None:
        for flight in list(self._flights.values()):
            self._drop_on_loop(home, flight)

    def _drop_on_loop(self, home: Home, flight: _Flight) -> None:
        self._flights.pop(flight.one, None)
        if flight.deadline is not None:
            flight.deadline.cancel()
        if flight.task is not None:
            flight.task.cancel()
            home.loop.call_later(GRACE_S, self._note_on_loop, flight.task)

    def _note_on_loop(self, task: asyncio.Task[None]) -> None:
        if not task.done():  # it ignores that it was cancelled
            give_up(self._owner, lambda: not task.done())
