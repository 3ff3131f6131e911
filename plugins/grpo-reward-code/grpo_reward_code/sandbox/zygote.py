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
import socket
import sys
import threading
import time
from typing import Any, NoReturn

from grpo_reward_code.sandbox import identity, inside, namespaces, rlimits, syscalls
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.slot import Slot
from grpo_reward_code.sandbox.watching import Child

# What the trainer's side sends when it has read more than it will keep.
STOP = b"output"
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
        slot = prepare(settings)
    except Exception as error:
        control.send(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        os._exit(1)
    control.send(json.dumps({"ready": True}).encode())
    try:
        walls, handed, limits, ready, parent = serve(control, trainer, slot)
    except Exception as error:
        control.send(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        # What runs is ended by the kernel, its folder removed by the trainer's side.
        os._exit(1)
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
    del control, trainer, slot, walls, handed, limits, ready, parent, settings
    inside.run(source, name)


def prepare(settings: dict[str, Any]) -> Slot:
    """Makes the interpreter warm and builds what all programs share.

    Raises:
        Exception: The layer cannot be had here, or a module cannot be imported.
    """
    # One pool of memory, not 64 MiB reserved for each thread. Other C libraries have no pools.
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    threading.stack_size(_THREAD_STACK)
    sys.path += settings["packages"]
    for name in _WARM:
        importlib.import_module(name)
    for name in settings["preload"]:
        importlib.import_module(name)
    if "numpy.random" in sys.modules:
        # Like `random`, which does so itself: the copies must not draw the same numbers.
        os.register_at_fork(after_in_child=sys.modules["numpy.random"].seed)
    if len(os.listdir("/proc/self/task")) > 1:
        names = ", ".join(settings["preload"])
        raise RuntimeError(
            f"preload: a module started a thread ({names}); a process with threads cannot be copied"
        )
    held_mb = rlimits.held_mb()
    identity.be_first_to_go()
    layer = settings["layer"]
    if layer == "ns":
        namespaces.enter(settings["uid"], settings["trainer"], settings["control"])
        paths = settings["readable"] + settings["devices"]
        namespaces.new_root(paths, settings["hidden"], settings["folder"])
    identity.hide()
    uid: int = os.getuid()
    kept: tuple[int, ...] = ()
    if uid == 0 and layer != "unsafe":
        with contextlib.suppress(PermissionError):
            os.setgroups([])
        candidate = namespaces.INSIDE_UID if layer == "ns" else settings["uid"]
        uid, kept = identity.choose(candidate, os.__file__)
    slot = Slot(settings, uid, kept, held_mb)
    inside.dress()
    gc.collect()
    gc.freeze()
    return slot


def serve(
    control: socket.socket, trainer: int, slot: Slot
) -> tuple[inside.Walls, inside.Handed, Limits, int, int]:
    """Forks children as asked; returns in each child, with what it is to run."""
    while True:
        await_request(control, trainer, slot)
        text, fds, _, _ = socket.recv_fds(control, _MOST_BYTES, _MOST_FDS)
        if not text:
            end([], slot)
        if text == STOP:
            continue  # it came too late, the program had ended
        request = json.loads(text)
        limits = Limits(**request["limits"])
        slot.fresh(limits.file_bytes)
        children: list[Child] = []
        parent = os.getpid()
        left = list(fds)
        for asked in request["programs"]:
            own, left = left[: asked["fds"]], left[asked["fds"] :]
            reading, ready = os.pipe()
            pid = os.fork()
            # A judge must not read what a submission wrote, least of all a module.
            walls = slot.bare if children else slot.full
            if pid == 0:
                handed = inside.Handed(asked["name"], own[0], own[1:])
                return walls, handed, limits, ready, parent
            os.close(ready)
            grace_s = _JUDGE_GRACE_S if children else 0.0
            children.append(Child(pid, syscalls.pidfd_open(pid), reading, limits, grace_s))
        for fd in fds:
            os.close(fd)
        attend(children, control, trainer, slot)
        control.send(json.dumps([child.said() for child in children]).encode())


def await_request(control: socket.socket, trainer: int, slot: Slot) -> None:
    """Returns when there is a request; ends the process when nobody is left to make one."""
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(trainer, select.POLLIN)
    if any(fd == trainer for fd, _ in poller.poll()):
        end([], slot)


def attend(children: list[Child], control: socket.socket, trainer: int, slot: Slot) -> None:
    """Keeps the limits of running programs until all have ended."""
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(trainer, select.POLLIN)
    running = {child.pidfd: child for child in children}
    for fd in running:
        poller.register(fd, select.POLLIN)
    pause_s = min(0.05, slot.scratch.pause_s)
    grace = Grace()
    while running:
        for fd, _ in poller.poll(pause_s * 1000):
            if fd == trainer:
                end(children, slot)
            elif fd == control.fileno():
                order = control.recv(_MOST_BYTES)
                if not order:
                    end(children, slot)
                for child in running.values():
                    child.kill("output")
            elif running[fd].reap():
                poller.unregister(fd)
                del running[fd]
        pause_s = min((child.look() for child in running.values()), default=0.0)
        pause_s = min(pause_s, slot.scratch.pause_s)
        if running and slot.scratch.is_over(children[0].limits.file_bytes):
            children[0].kill("files")
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


def end(children: list[Child], slot: Slot) -> NoReturn:
    """Ends all children and this process; the trainer is gone."""
    for child in children:
        child.kill("ended")
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    slot.scratch.remove()
    os._exit(0)
