"""Landlock: which files a process may open, and whom it may reach, without any privilege."""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from grpo_reward_code.sandbox import syscalls

_EXECUTE = 1 << 0
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_REMOVE = 1 << 4 | 1 << 5
_MAKE_FIFO_OR_DEVICE_OR_SOCKET = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11
_MAKE = 1 << 7 | 1 << 8 | 1 << 12  # folders, files, symbolic links
_REFER = 1 << 13
_TRUNCATE = 1 << 14
_IOCTL_DEV = 1 << 15
# What each version of the interface (ABI) can refuse.
_FILES_BY_ABI = (
    (1, (1 << 13) - 1),
    (2, _REFER),
    (3, _TRUNCATE),
    (5, _IOCTL_DEV),
)
_TCP = 1 << 0 | 1 << 1  # bind, connect; ABI 4
_SCOPES = 1 << 0 | 1 << 1  # abstract sockets, signals; ABI 6

READ = _READ_FILE | _READ_DIR
# Everything that ordinary files need; no devices, sockets or FIFOs, and nothing is executed.
WRITE = READ | _WRITE_FILE | _REMOVE | _MAKE | _REFER | _TRUNCATE
_ON_FILES = _READ_FILE | _WRITE_FILE | _TRUNCATE

_RULE_PATH_BENEATH = 1


def version() -> int:
    """Returns the version of the interface (ABI) of this kernel.

    Raises:
        OSError: There is none, or it is switched off.
    """
    return syscalls.call(syscalls.LANDLOCK_CREATE_RULESET, None, 0, 1)


def ruleset(readable: Iterable[str], writable: Iterable[str], listed: Iterable[str] = ()) -> int:
    """Returns a descriptor of the rules: these paths and what is beneath them, and no others.

    Of listed paths and folders beneath them the names can be read, and nothing else.

    Paths that do not exist are left out.

    Raises:
        OSError: The kernel refused.
    """
    abi = version()
    handled = sum(bits for since, bits in _FILES_BY_ABI if abi >= since)
    attributes = struct.pack("@QQQ", handled, _TCP, _SCOPES)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = syscalls.call(
        syscalls.LANDLOCK_CREATE_RULESET, ctypes.create_string_buffer(attributes, size), size, 0
    )
    for paths, access in ((readable, READ), (writable, WRITE), (listed, _READ_DIR)):
        for path in paths:
            with contextlib.suppress(FileNotFoundError, PermissionError):
                _allow(rules, path, access & handled)
    return rules


def _allow(rules: int, path: str, access: int) -> None:
    where = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(where).st_mode):
            access &= _ON_FILES
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access, where), 12)
        syscalls.call(syscalls.LANDLOCK_ADD_RULE, rules, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(where)


def restrict(rules: int) -> None:
    """Puts the calling thread under the rules; they cannot be taken off.

    Raises:
        OSError: The kernel refused.
    """
    syscalls.call(syscalls.LANDLOCK_RESTRICT_SELF, rules, 0)
