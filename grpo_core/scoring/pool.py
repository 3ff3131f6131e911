"""`Pool`: worker processes that run calls of rewards, each with a deadline that is kept."""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import threading
from collections.abc import Callable, Sequence
from functools import partial

from grpo_core.scoring.calls import Call
from grpo_core.scoring.checks import fault, one_line
from grpo_core.scoring.dispatcher import Dispatcher
from grpo_core.scoring.done import Done
from grpo_core.scoring.jobs import Job
from grpo_core.scoring.process import search_path
from grpo_core.scoring.recipe import Recipe

# What a worker may allocate; above what libraries such as torch take to be imported.
MEMORY_MB = 4096
# How many recipes are kept pickled; a training has a few.
_MAX_RECIPES = 64


class Ticket:
    """A job that was handed to the pool."""

    def __init__(self, dispatcher: Dispatcher, job: Job) -> None:
        self._dispatcher = dispatcher
        self._job = job

    def cancel(self, reason: str) -> None:
        """Ends the job now; does nothing once it is finished.

        Calls that are decided keep their outcomes, the others are timed out with this reason;
        workers that are busy with them are killed. Returns at once; `finished` is called.
        """
        self._dispatcher.post(partial(self._dispatcher.cancel, self._job, reason))


class Pool:
    """Worker processes, started as calls come and kept for the next ones.

    A call that takes longer than its deadline, or ends its worker, is tried a second time, alone;
    the other calls of its chunk keep their values or are sent again. Whatever a reward does, each
    call gets its outcomes.
    """

    def __init__(self, n_workers: int | None = None, memory_mb: int = MEMORY_MB) -> None:
        """Starts nothing yet.

        Args:
            n_workers: How many workers at most; default: `usable_workers()`.
            memory_mb: What each may allocate, in MiB.
        """
        self._n_workers = usable_workers() if n_workers is None else n_workers
        self._memory_mb = memory_mb
        self._lock = threading.Lock()
        self._dispatcher: Dispatcher | None = None
        # By id; the recipe is kept with it, so that its id is not given to another one.
        self._recipes: dict[int, tuple[Recipe, bytes, bytes]] = {}

    def submit(
        self,
        recipe: Recipe,
        calls: Sequence[Call],
        timeout_s: float | None,
        finished: Callable[[list[Done]], None],
    ) -> Ticket:
        """Begins to run calls; returns at once.

        Args:
            recipe: Builds the reward in a worker; once in each.
            calls: What to call it with.
            timeout_s: Seconds that a call may take from its start in the worker; None: no limit.
            finished: Called once, from a thread of the pool, with one `Done` for each call, in
                order. It must return soon, and not wait for the pool.
        """
        with self._lock:
            unsendable = None
            try:
                key, pickled = self._pickled(recipe)
            except Exception as exc:
                key = pickled = b""
                unsendable = f"cannot be sent to a worker: {type(exc).__name__}: {one_line(exc)}"
            job = Job(key, pickled, search_path(), calls, timeout_s, finished)
            if unsendable is not None:
                job.fail_rest(fault(unsendable))
            while True:
                if self._dispatcher is None:
                    self._dispatcher = Dispatcher(self._n_workers, self._memory_mb)
                    _open_pools.add(self)
                if self._dispatcher.post(partial(self._dispatcher.add, job)):
                    return Ticket(self._dispatcher, job)
                self._dispatcher = None  # it has ended

    def close(self) -> None:
        """Ends all workers and waits for it; a later `submit` starts new ones.

        Calls that are not done fail. The rewards' own `close()` gets 2 seconds.
        """
        with self._lock:
            dispatcher, self._dispatcher = self._dispatcher, None
            _open_pools.discard(self)
        if dispatcher is not None:
            dispatcher.stop()

    def _pickled(self, recipe: Recipe) -> tuple[bytes, bytes]:
        """What names the recipe among workers, and the recipe pickled."""
        known = self._recipes.get(id(recipe))
        if known is None:
            pickled = pickle.dumps(recipe, 5)
            if len(self._recipes) >= _MAX_RECIPES:
                del self._recipes[next(iter(self._recipes))]
            known = (recipe, hashlib.sha256(pickled).digest(), pickled)
            self._recipes[id(recipe)] = known
        return known[1:]

    def _after_fork(self) -> None:
        """Makes a pool that starts anew of the one that a forked process has inherited."""
        self._lock = threading.Lock()
        dispatcher, self._dispatcher = self._dispatcher, None
        if dispatcher is not None:
            dispatcher.let_go()


_open_pools: set[Pool] = set()
_shared: Pool | None = None
_shared_lock = threading.Lock()


def shared_pool() -> Pool:
    """The pool of this process."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Pool()
        return _shared


def usable_workers() -> int:
    """How many workers a process may start: its share of the CPUs it may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        n_cpus = len(os.sched_getaffinity(0))
    else:
        n_cpus = os.cpu_count() or 1
    # Set by torchrun and by accelerate: how many trainers share this machine.
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, n_cpus // (int(ranks) if ranks.isdecimal() and int(ranks) else 1))


def _after_fork() -> None:
    global _shared_lock
    _shared_lock = threading.Lock()
    for pool in list(_open_pools):
        pool._after_fork()
    _open_pools.clear()


@atexit.register
def _close_all() -> None:
    for pool in list(_open_pools):
        pool.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
