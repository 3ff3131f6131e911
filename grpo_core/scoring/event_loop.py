"""`Home`: the event loop of this process on which async rewards run, and who blocks it.

There is one for all rewards and batches, so that a lock, a semaphore or a session that a reward
made once keeps working. It runs in a daemon thread of its own: whether the caller's thread runs a
loop, as in a notebook, makes no difference. A step of a task that never comes back cannot be
ended; then the loop is abandoned with its thread, and those it served move to a new one.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from grpo_core.scoring.abandoned import Owner, give_up
from grpo_core.scoring.daemon_threads import DaemonThreads
from grpo_core.scoring.ledger import Try

logger = logging.getLogger("grpo_core")

# A step of an async reward that takes longer is worth a warning: all others wait for it.
BLOCKING_S = 0.1
# What tasks get to clean up when their loop is closed.
_CLOSING_S = 1.0


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """What a task works for.

    Attributes:
        owner: The reward.
        one: The try.
        timeout_s: What a step may take at most, as the whole try; None: no limit.
    """

    owner: Owner
    one: Try
    timeout_s: float | None


class Guest(Protocol):
    """A batch of calls on a home."""

    def move(self, blocker: Try | None) -> None:
        """Goes on elsewhere: the loop does not answer, because of this try if it is known."""


class Home:
    """An event loop in its own thread.

    Attributes:
        loop: The loop.
        step: What the loop works on at this moment and since when; None: it waits, or does
            something that belongs to no reward.
        closing: Whether it takes no more; its tasks are about to be cancelled.
    """

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_task_factory(self._make_task)
        self.loop.set_default_executor(DaemonThreads(_current_owner))
        self.step: tuple[Work, float] | None = None
        self.closing = False
        self._guests: set[Guest] = set()
        self._thread = threading.Thread(target=self._serve, name="grpo-event-loop", daemon=True)
        self._thread.start()

    def start(self, coroutine: Coroutine[Any, Any, None], work: Work) -> asyncio.Task[None]:
        """Starts a task that works for a try, as do all tasks it starts; on the loop only."""
        context = Context()  # of its own: what a reward sets must not reach the next call
        context.run(_work.set, work)
        return self.loop.create_task(coroutine, context=context)

    def call(self, function: Callable[..., object], *args: object) -> None:
        """Has the loop call a function soon; from any thread. A closed loop calls nothing."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(function, *args)

    def answers(self, within_s: float) -> bool:
        """Whether the loop calls a function within this time."""
        answered = threading.Event()
        self.call(answered.set)
        return answered.wait(within_s)

    def close(self, wait_s: float = 0.0) -> None:
        """Ends tasks, loop and thread as soon as the loop answers."""
        self.closing = True
        self.call(self.loop.stop)
        self._thread.join(wait_s)

    def runs(self) -> bool:
        """Whether its thread still runs."""
        return self._thread.is_alive()

    def _serve(self) -> None:
        while not self.closing:
            # SystemExit and KeyboardInterrupt of a task come out here, and reach who awaits it too.
            with contextlib.suppress(BaseException):
                self.loop.run_forever()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        with contextlib.suppress(BaseException):
            if tasks:
                self.loop.run_until_complete(asyncio.wait(tasks, timeout=_CLOSING_S))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        if all(task.done() for task in tasks):
            self.loop.close()
        else:
            self.loop.run_forever()  # closing would only add complaints about the stubborn task

    def _make_task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, **kwargs: Any
    ) -> asyncio.Task[Any]:
        context = kwargs.get("context")
        work = _work.get(None) if context is None else context.get(_work)
        if work is not None:
            coroutine = _Watched(coroutine, self, work)
        return asyncio.Task(coroutine, loop=loop, **kwargs)


class _Watched(Coroutine[Any, Any, Any]):
    """A coroutine that notes at its home when it holds the loop."""

    def __init__(self, inner: Coroutine[Any, Any, Any], home: Home, work: Work) -> None:
        self._inner = inner
        self._home = home
        self._work = work

    def send(self, value: Any) -> Any:
        return self._step(self._inner.send, value)

    def throw(self, *args: Any) -> Any:
        return self._step(self._inner.throw, *args)

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._inner.__await__()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)  # cr_code and the like, for who looks at tasks

    def _step(self, step: Callable[..., Any], *args: Any) -> Any:
        since = time.monotonic()
        self._home.step = (self._work, since)
        try:
            return step(*args)
        finally:
            self._home.step = None
            seconds = time.monotonic() - since
            if seconds > BLOCKING_S:
                _warn(self._work.owner.name, seconds)


def join(guest: Guest) -> Home:
    """Returns the home of this process, which tells the guest when it has to move."""
    with _lock:
        home = _current()
        home._guests.add(guest)
        return home


def leave(home: Home, guest: Guest) -> None:
    """Ends what `join` began."""
    with _lock:
        home._guests.discard(guest)


def abandon(home: Home, owner: Owner) -> None:
    """Gives up a home that does not answer, and moves its guests.

    Args:
        home: The home.
        owner: The reward to charge, if it is not known who blocks it.
    """
    global _home
    with _lock:
        if home.closing:
            return
        home.closing = True
        if _home is home:
            _home = None
        guests = list(home._guests)
    step = home.step
    blocker = None
    if step is not None:
        work, since = step
        owner, blocker = work.owner, work.one
        _warn(owner.name, time.monotonic() - since)
    give_up(owner, home.runs)
    home.close()
    for guest in guests:
        guest.move(blocker)


def wait_for(coroutine: Coroutine[Any, Any, object], timeout_s: float) -> None:
    """Awaits a coroutine on the home of this process, from another thread.

    Such as the `close()` of an async reward: its session belongs to that loop.

    Raises:
        TimeoutError: It takes longer; then it is cancelled.
        BaseException: What the coroutine raises.
    """
    with _lock:
        home = _current()
    future = asyncio.run_coroutine_threadsafe(coroutine, home.loop)
    try:
        future.result(timeout_s)
    finally:
        future.cancel()


def _current() -> Home:
    global _home
    if _home is None:
        _home = Home()
    return _home


def _current_owner() -> Owner:
    work = _work.get(None)
    return work.owner if work else _UNKNOWN


def _warn(reward: str, seconds: float) -> None:
    if reward not in _warned:
        _warned.add(reward)
        logger.warning(
            "reward %r blocked the event loop for %.1f s, and every other async call with it; "
            "await what takes time (asyncio.to_thread for what cannot), or write the reward as a "
            "plain def, which runs in threads",
            reward,
            seconds,
        )


def _close_at_exit() -> None:
    if _home is not None and _home.answers(_CLOSING_S / 2):
        _home.close(wait_s=2 * _CLOSING_S)


def _forget() -> None:
    """A forked child has the loop, but not its thread; even closing it would disturb the parent."""
    global _home, _lock
    _lock = threading.Lock()
    if _home is not None:
        _kept.append(_home)
        _home = None


_UNKNOWN = Owner("?")
_work: ContextVar[Work] = ContextVar("grpo_core_work")
_lock = threading.Lock()
_home: Home | None = None
_kept: list[Home] = []
_warned: set[str] = set()

atexit.register(_close_at_exit)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget)
