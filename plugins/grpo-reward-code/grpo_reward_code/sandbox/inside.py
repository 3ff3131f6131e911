"""The forked child: shuts itself in, then runs one program as the interpreter would."""

from __future__ import annotations

import _sitebuiltins
import atexit
import builtins
import fcntl
import io
import os
import signal
import sys
import threading
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from grpo_reward_code.sandbox import identity, landlock, rlimits, seccomp, syscalls
from grpo_reward_code.sandbox.limits import Limits

_PACKAGE = "grpo_reward_code"
_ABOVE_ALL = 64
# Exit status of CPython when what is buffered cannot be written at the end.
_NOT_FLUSHED = 120


@dataclass(frozen=True)
class Walls:
    """What is the same for all programs of a worker.

    Attributes:
        rules: Descriptor of the Landlock rules; -1 for no walls at all.
        filter: The filter of system calls.
        uid: The user to become.
        kept: Capabilities that are kept, to read the interpreter's own files.
        own_uid: Whether nobody else runs as that user, so that its threads can be counted.
        held_mb: Address space of the bare interpreter.
        folder: The working directory.
    """

    rules: int
    filter: bytes
    uid: int
    kept: tuple[int, ...]
    own_uid: bool
    held_mb: int
    folder: str


@dataclass(frozen=True)
class Handed:
    """What one program is handed.

    Attributes:
        name: `sys.argv[0]` and the file name in tracebacks.
        source: Descriptor of a file with the source.
        kept: Descriptors that become 0, 1, 2 and so on.
    """

    name: str
    source: int
    kept: Sequence[int]


def shut_in(walls: Walls, handed: Handed, limits: Limits, parent: int, ready: int) -> bytes:
    """Gives up everything that the program must not have; returns the program's source.

    Raises:
        OSError: A wall does not stand. The program must not be run.
    """
    identity.die_with_parent(signal.SIGKILL)
    if os.getppid() != parent:
        raise OSError("the worker is gone")
    os.setsid()
    size = os.fstat(handed.source).st_size
    source = os.pread(handed.source, size, 0)
    # First out of the way of the numbers that they are to have.
    lifted = [fcntl.fcntl(fd, fcntl.F_DUPFD, _ABOVE_ALL) for fd in (*handed.kept, ready)]
    rules = fcntl.fcntl(walls.rules, fcntl.F_DUPFD, _ABOVE_ALL) if walls.rules >= 0 else -1
    for number, fd in enumerate(lifted):
        os.dup2(fd, number, inheritable=True)
    keep = len(lifted)
    os.chdir(walls.folder)
    rlimits.apply(
        cpu_s=limits.cpu_s,
        memory_mb=walls.held_mb + limits.memory_mb,
        file_bytes=limits.file_bytes,
        # Room for the worker and a judge; threads are counted from outside as well.
        processes=limits.threads + 8 if walls.own_uid else None,
    )
    if rules < 0:
        os.closerange(keep, 1 << 20)
        return source
    identity.no_new_privileges()
    identity.become(walls.uid, *walls.kept)
    # Changing the user clears it.
    identity.die_with_parent(signal.SIGKILL)
    landlock.restrict(rules)
    os.closerange(keep, 1 << 20)
    seccomp.install(walls.filter)
    return source


def run(source: bytes, name: str) -> NoReturn:
    """Runs a program as the main module and ends the process with its exit status."""
    sys.argv[:] = [name]
    sys.path.insert(0, os.getcwd())
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __file__=name, __annotations__={})
    sys.modules["__main__"] = main
    status = 1
    try:
        exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)
        status = 0
    except SystemExit as left:
        status = _status(left)
    except BaseException as error:
        _show(error)
    _end(status)


def dress() -> None:
    """Makes the interpreter what a program expects to find; once, before any program.

    What is done here need not be done in each child, and costs it no copies of memory.
    """
    # -S leaves these out.
    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")
    builtins.help = _sitebuiltins._Helper()
    os.environ.clear()
    # A stream remembers of what kind its descriptor is, so that must be right already.
    standing = [os.dup(fd) for fd in range(3)]
    file = syscalls.memfd_create("stdin")
    other, pipe = os.pipe()
    for fd, source in enumerate((file, pipe, pipe)):
        os.dup2(source, fd)
    sys.stdin = sys.__stdin__ = _stream(0, "r")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _stream(1, "w")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _stream(2, "w", "backslashreplace")  # type: ignore[misc]
    for fd, source in enumerate(standing):
        os.dup2(source, fd)
    for fd in (*standing, file, pipe, other):
        os.close(fd)
    # What judges stays: it was preloaded to be used by programs.
    for module in [m for m in sys.modules if m.startswith(f"{_PACKAGE}.sandbox")]:
        del sys.modules[module]


def _stream(fd: int, mode: str, errors: str = "strict") -> io.TextIOWrapper:
    raw = io.FileIO(fd, mode, closefd=False)
    raw.name = {0: "<stdin>", 1: "<stdout>", 2: "<stderr>"}[fd]
    if mode == "r":
        return io.TextIOWrapper(io.BufferedReader(raw), "utf-8", errors)
    return io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", errors, line_buffering=fd == 2)


def _status(left: SystemExit) -> int:
    code = left.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    try:
        print(code, file=sys.stderr)
    except BaseException:
        pass
    return 1


def _show(error: BaseException) -> None:
    try:
        # Without the frame of this module.
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    except BaseException:
        pass


def _end(status: int) -> NoReturn:
    """Does what the interpreter does at its end, as far as a program can see it."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    except BaseException:
        pass
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:
            status = status or _NOT_FLUSHED
    os._exit(status)


def report(ready: int, text: bytes) -> None:
    """Tells the worker that the walls stand, or why they do not."""
    os.write(ready, text)
    os.close(ready)
