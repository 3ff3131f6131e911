"""Capabilities and user of one program."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct

from grpo_reward_code.sandbox import syscalls

_VERSION_3 = 0x20080522
_SET_PDEATHSIG, _SET_DUMPABLE, _SET_KEEPCAPS, _SET_NO_NEW_PRIVS = 1, 4, 8, 38
DAC_READ_SEARCH = 2


def hide() -> None:
    """Keeps other processes of the same user out of the memory and descriptors of this one."""
    syscalls.prctl(_SET_DUMPABLE, 0)


def be_first_to_go() -> None:
    """Has the kernel end this process before others when memory is short; children too."""
    # Root in a container may lack the right to write there; then nothing is different.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("800")


def die_with_parent(signal: int) -> None:
    """Has the kernel send a signal to this process when its parent ends."""
    syscalls.prctl(_SET_PDEATHSIG, signal)


def no_new_privileges() -> None:
    """Nothing that this process does will give it a privilege again."""
    syscalls.prctl(_SET_NO_NEW_PRIVS, 1)


def keep_capabilities(*kept: int) -> None:
    """Drops all capabilities of the calling process but these.

    Raises:
        OSError: It does not have one that it is to keep.
    """
    mask = sum(1 << number for number in kept)
    header = ctypes.create_string_buffer(struct.pack("=II", _VERSION_3, 0), 8)
    data = struct.pack("=IIIIII", mask, mask, 0, mask >> 32, mask >> 32, 0)
    syscalls.call(syscalls.CAPSET, header, ctypes.create_string_buffer(data, 24))


def choose(candidate: int, read: str) -> tuple[int, tuple[int, ...]]:
    """Returns the user and the capabilities with which programs of root run.

    A user that nobody else is, if that user can read the interpreter's own files; else with the one
    capability that lets it read them (Landlock still says which); else root, with none.

    Args:
        candidate: The number of that user.
        read: A file of the interpreter.
    """
    for uid, kept in ((candidate, ()), (candidate, (DAC_READ_SEARCH,))):
        pid = os.fork()
        if pid == 0:
            try:
                become(uid, *kept)
                os.close(os.open(read, os.O_RDONLY))
                os._exit(0)
            except BaseException:
                os._exit(1)
        if os.waitpid(pid, 0)[1] == 0:
            return uid, kept
    return 0, ()


def become(uid: int, *kept: int) -> None:
    """Becomes another user, with these capabilities and no others.

    Raises:
        OSError: It may not.
    """
    if uid != os.getuid():
        if kept:
            syscalls.prctl(_SET_KEEPCAPS, 1)
        if os.getgroups():
            os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    keep_capabilities(*kept)
