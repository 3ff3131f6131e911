"""A worker process: `python -m grpo_core.scoring.worker FD`, started by the pool.

It builds rewards from recipes, runs the calls that it is sent and reports after each. The messages
to it are `("build", key, recipe, path, environment)`, `("run", key, calls)` and `("close",)`; from
it come `("ready",)`, `("built", reason)`, `("begun", clock)` and `("item", seconds, clock,
outcomes, leaving)`. `reason` is None or why it could not be built; `clock` is `time.monotonic()`,
which all processes of a machine share; `leaving` says that it takes no more and ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import logging
import os
import pickle
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grpo_core.outcome import Outcome
from grpo_core.scoring.calls import Call, Callee
from grpo_core.scoring.channel import KEPT_IN_THE_WORKER, BlockingChannel, Message
from grpo_core.scoring.checks import fault, fault_from, one_line
from grpo_core.scoring.output import limit_output
from grpo_core.scoring.recipe import Recipe

# A worker makes room for a fresh one after this many calls or recipes: rewards leak.
MAX_CALLS = 20_000
MAX_RECIPES = 50

_PR_SET_PDEATHSIG = 1
_MIB = 1 << 20


def main() -> None:
    """Serves the pool until it closes the socket, then ends."""
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.set_inheritable(False)
    channel = BlockingChannel(sock)
    greeting = channel.receive()
    if greeting is None:
        return
    parent, path, environment, memory_mb = greeting
    _end_with(parent)
    sys.argv = sys.argv[:1]
    sys.path[:] = path
    _restore(environment)
    limit_output()
    logging.getLogger("grpo_core").setLevel(logging.ERROR)  # the run has warned already
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _limit_memory(memory_mb)
    worker = _Worker(channel, memory_mb)
    channel.send(("ready",))
    worker.serve()


class _Worker:
    """The rewards that were built here, and the loop that calls them."""

    def __init__(self, channel: BlockingChannel, memory_mb: int) -> None:
        self._channel = channel
        self._memory_mb = memory_mb
        self._built: dict[bytes, Callee] = {}
        self._n_calls = 0
        self._out_of_memory = False
        self._resident_at_first = 0

    def serve(self) -> None:
        """Does what it is told until the pool closes the socket or a fresh worker is due."""
        while (message := self._channel.receive()) is not None:
            if message[0] == "build":
                self._build(message)
            elif message[0] == "close" or self._run(message):
                break
        for callee in self._built.values():
            with contextlib.suppress(BaseException):  # it ends either way
                callee.close()

    def _build(self, message: Message) -> None:
        _, key, recipe, path, environment = message
        sys.path[:] = path
        _restore(environment)
        reason = None
        try:
            built: Recipe = pickle.loads(recipe)
            self._built[key] = built.build()
        except BaseException as exc:  # sys.exit() in a module must not end the worker
            reason = _why(exc)
        self._resident_at_first = 0
        self._channel.send(("built", reason))

    def _run(self, message: Message) -> bool:
        """Runs the calls of a chunk; returns whether this worker has to end."""
        _, key, pickled = message
        callee = self._built[key]
        watched = dataclasses.replace(callee, function=self._watched(callee.function))
        calls = [_loaded(data) for data in pickled]
        self._channel.send(("begun", time.monotonic()))
        for i, call in enumerate(calls):
            start = time.monotonic()
            outcomes = call if isinstance(call, list) else self._outcomes(watched, call)
            end = time.monotonic()
            self._n_calls += 1
            leaving = self._out_of_memory or (i == len(calls) - 1 and self._is_worn())
            plain = [(o.value, o.status, o.reason, dict(o.metrics), o.fault) for o in outcomes]
            self._channel.send(("item", end - start, end, plain, leaving))
            if leaving:
                return True
        return False

    def _outcomes(self, callee: Callee, call: Call) -> list[Outcome]:
        try:
            outcomes = callee.run(call)
        except KeyboardInterrupt as exc:  # no key reaches a worker; the reward raised it
            outcomes = [fault_from(exc)] * len(call.completions)
        if self._out_of_memory:
            limit = f"; a worker may use {self._memory_mb} MB"
            outcomes = [
                dataclasses.replace(o, reason=one_line(o.reason)[: 500 - len(limit)] + limit)
                for o in outcomes
            ]
        return outcomes

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function; notes that it ran out of memory, after which nothing is certain."""

        def watched(*args: Any, **inputs: Any) -> Any:
            try:
                return function(*args, **inputs)
            except MemoryError:
                self._out_of_memory = True
                raise

        return watched

    def _is_worn(self) -> bool:
        """Whether a fresh worker is due.

        Half of the memory alone is no sign of a leak: some rewards need as much from the start.
        """
        if self._n_calls >= MAX_CALLS or len(self._built) >= MAX_RECIPES:
            return True
        resident = _resident_mb()
        if not self._resident_at_first:
            self._resident_at_first = resident
        grown = resident - self._resident_at_first
        return resident > self._memory_mb / 2 and grown > self._memory_mb / 8


def _loaded(pickled: bytes) -> Call | list[Outcome]:
    """The call, or the outcome of one that cannot be read here."""
    try:
        call: Call = pickle.loads(pickled)
    except BaseException as exc:
        return [fault(f"its inputs cannot be read in a worker: {_why(exc)}")]
    return call


def _why(exc: BaseException) -> str:
    return f"{type(exc).__name__}: {one_line(exc)}"


def _end_with(parent: int) -> None:
    """Makes this process end with its parent, however that ends."""
    with contextlib.suppress(OSError, AttributeError):  # Linux alone has it
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above
        sys.exit(0)


def _restore(environment: Mapping[str, str]) -> None:
    """Makes the variables those of the trainer, but for the few that are the worker's own."""
    for name in os.environ.keys() - environment.keys() - KEPT_IN_THE_WORKER:
        del os.environ[name]
    os.environ.update(environment)


def _limit_memory(megabytes: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = megabytes * _MIB
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _resident_mb() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:  # no /proc here
        return 0
    return pages * resource.getpagesize() // _MIB


if __name__ == "__main__":
    main()
