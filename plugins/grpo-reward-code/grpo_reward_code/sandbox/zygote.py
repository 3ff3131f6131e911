"""The locked worker: a bare, warm interpreter that forks one child for each program.

It is started by exec with an empty environment, knows none of the trainer's memory and none of the
programs: a child reads its own source after the fork, so that nothing of one program is in the
memory of the next.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from typing import Any, NoReturn

from grpo_reward_code.sandbox import identity, inside, landlock, rlimits
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.watching import Child

_MOST_FDS = 16
_MOST_BYTES = 65536
# How long a submission may live on after its judge.
_AFTER_JUDGE_S = 0.1
# How long a judge may go on when the wall time of both is over.
_JUDGE_GRACE_S = 1.0
_FOREVER_S = 1e9
_M_ARENA_MAX = -8
_THREAD_STACK = 8 << 20
# What programs import all the time; each costs them nothing once it is here.
_WARM = (
    "abc bisect collections collections.abc copy dataclasses datetime decimal enum fractions "
    "functools heapq io itertools json math operator os os.path queue random re statistics string "
    "struct sys textwrap threading time traceback types typing array cmath contextlib hashlib "
    "numbers inspect warnings weakref linecache tokenize"
).split()


def main() -> NoReturn:
    """Serves programs until the trainer's side closes the socket or ends."""
    settings = json.loads(sys.argv[1])
    control = socket.socket(fileno=settings["control"])
    trainer: int = settings["trainer"]
    try:
        walls = prepare(settings)
    except Exception as error:
        control.send(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        os._exit(1)
    control.send(json.dumps({"ready": True}).encode())
    handed, limits, ready, parent = serve(control, trainer, walls)
    # Only a child comes here, with as little below it on the stack as possible. The number of this
    # descriptor is about to be something else.
    control.detach()
    try:
        source = inside.shut_in(walls, handed, limits, parent, ready)
    except BaseException as error:
        os.write(ready, f"{type(error).__name__}: {error}".encode())
        os._exit(1)
    inside.report(len(handed.kept), b"ok")
    name = handed.name
    del control, trainer, walls, handed, limits, ready, parent, settings
    inside.run(source, name)


def prepare(settings: dict[str, Any]) -> inside.Walls:
    """Makes the interpreter warm and builds what all programs share.

    Raises:
        Exception: The layer cannot be had here, or a module cannot be imported.
    """
    import _sitebuiltins
    import builtins

    # -S leaves them out.
    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")  # type: ignore[assignment]
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")  # type: ignore[assignment]
    builtins.help = _sitebuiltins._Helper()
    ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    threading.stack_size(_THREAD_STACK)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path += settings["packages"]
    for name in _WARM:
        importlib.import_module(name)
    for name in settings["preload"]:
        importlib.import_module(name)
    identity.hide()
    held = rlimits.held_mb()
    uid, kept, own = os.getuid(), (), False
    rules = landlock.ruleset(settings["readable"], settings["writable"])
    gc.collect()
    gc.freeze()
    return inside.Walls(
        rules=rules,
        truncate=landlock.version() >= 3,
        uid=uid,
        kept=kept,
        own_uid=own,
        held_mb=held,
        folder=settings["folder"],
    )


def serve(
    control: socket.socket, trainer: int, walls: inside.Walls
) -> tuple[inside.Handed, Limits, int, int]:
    """Forks children as asked; returns in each child, with what it is to run."""
    while True:
        await_request(control, trainer)
        text, fds, _, _ = socket.recv_fds(control, _MOST_BYTES, _MOST_FDS)
        if not text:
            os._exit(0)
        request = json.loads(text)
        limits = Limits(**request["limits"])
        children: list[Child] = []
        parent = os.getpid()
        left = list(fds)
        for asked in request["programs"]:
            own, left = left[: asked["fds"]], left[asked["fds"] :]
            reading, ready = os.pipe()
            pid = os.fork()
            if pid == 0:
                handed = inside.Handed(asked["name"], own[0], own[1:])
                return handed, limits, ready, parent
            os.close(ready)
            grace_s = _JUDGE_GRACE_S if children else 0.0
            children.append(Child(pid, os.pidfd_open(pid), reading, limits, grace_s))
        for fd in fds:
            os.close(fd)
        attend(children, control, trainer)
        control.send(json.dumps([child.said() for child in children]).encode())


def await_request(control: socket.socket, trainer: int) -> None:
    """Returns when there is a request; ends the process when nobody is left to make one."""
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(trainer, select.POLLIN)
    if any(fd == trainer for fd, _ in poller.poll()):
        os._exit(0)


def attend(children: list[Child], control: socket.socket, trainer: int) -> None:
    """Keeps the limits of running programs until all have ended."""
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(trainer, select.POLLIN)
    running = {child.pidfd: child for child in children}
    for fd in running:
        poller.register(fd, select.POLLIN)
    pause_s = 0.05
    grace = Grace()
    while running:
        for fd, _ in poller.poll(pause_s * 1000):
            if fd == trainer:
                end(children)
            elif fd == control.fileno():
                order = control.recv(_MOST_BYTES)
                if not order:
                    end(children)
                for child in running.values():
                    child.kill(order.decode())
            elif running[fd].reap():
                poller.unregister(fd)
                del running[fd]
        pause_s = min((child.look() for child in running.values()), default=0.0)
        if len(children) == 2 and len(running) == 1:
            pause_s = min(pause_s, grace.look(*children))


class Grace:
    """What becomes of one of a pair when the other has ended."""

    def __init__(self) -> None:
        self._since: float | None = None

    def look(self, submission: Child, judge: Child) -> float:
        """Ends a submission whose judge has ended; returns in how many seconds to look again.

        A judge goes on: it sees the end of the stream, and has a report to write.
        """
        if judge.status is None:
            return _FOREVER_S
        now = time.monotonic()
        if self._since is None:
            self._since = now
        left = self._since + _AFTER_JUDGE_S - now
        if left <= 0:
            submission.kill("")
        return max(left, 0.001)


def end(children: list[Child]) -> NoReturn:
    """Ends all children and this process; the trainer is gone."""
    for child in children:
        child.kill("ended")
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    time.sleep(0)
    os._exit(0)
