"""The filter of system calls: a list of what a program may call; all else is refused.

A list of what is allowed, not of what is forbidden: io_uring, bpf, userfaultfd, keyctl, ptrace,
what the next kernel brings: a program that computes needs none of them, and nobody has to think of
them in time. What is refused answers with an errno, so that Python raises `PermissionError` and
the program goes on; only calls by another architecture's numbers end it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from grpo_reward_code.sandbox import syscalls

_ARCH_X86_64 = 0xC000003E
_X32 = 0x40000000

_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_GREATER, _JUMP_ANY_BIT, _RETURN, _AND = (
    0x20, 0x15, 0x35, 0x25, 0x45, 0x06, 0x54,
)  # fmt: skip
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16

_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000

_SECCOMP_SET_MODE_FILTER = 1

# Flags with which a thread is started, and those with which something else is.
_CLONE_THREAD = 0x10000
_CLONE_REFUSED = (
    0x80  # NEWTIME
    | 0x1000  # PIDFD
    | 0x2000  # PTRACE
    | 0x4000  # VFORK
    | 0x8000  # PARENT
    | 0x20000  # NEWNS
    | 0x2000000  # NEWCGROUP
    | 0x7C000000  # NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
)
_MAP_REFUSED = 0x40000 | 0x2000  # HUGETLB, LOCKED: memory that cannot be taken back
_PRCTL_ALLOWED = (3, 15, 16)  # GET_DUMPABLE, SET_NAME, GET_NAME
_IOCTL_ALLOWED = (
    0x5401,  # TCGETS: isatty()
    0x5413,  # TIOCGWINSZ
    0x541B,  # FIONREAD
    0x5421,  # FIONBIO
    0x5450,  # FIONCLEX
    0x5451,  # FIOCLEX
)
# Not F_SETOWN and F_SETSIG, which have the kernel send a signal to somebody; not F_SETLEASE,
# F_NOTIFY, F_SETPIPE_SZ.
_FCNTL_ALLOWED = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032, 1034)

# Of the options of sockets only sizes, time limits and what kind it is: others attach a program to
# it (SO_ATTACH_FILTER), or tell of and hand over the process at the other end (SO_PEERPIDFD).
_SETSOCKOPT_ALLOWED = (2, 7, 8, 9, 13, 20, 21)
_GETSOCKOPT_ALLOWED = (*_SETSOCKOPT_ALLOWED, 3, 4, 30, 38, 39)

_Instruction = tuple[int, int, int, int]


def _return(what: int) -> _Instruction:
    return (_RETURN, 0, 0, what)


def _refuse(code: int = errno.EPERM) -> _Instruction:
    return _return(_ERRNO | code)


def _rule(number: int, body: list[_Instruction]) -> list[_Instruction]:
    """The instructions for one system call; every way through `body` must end in a return."""
    return [(_JUMP_EQUAL, 0, len(body), number), *body]


def _argument(index: int) -> _Instruction:
    # The lower half: all arguments looked at here are ints in the kernel.
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _one_of(index: int, values: tuple[int, ...], code: int = errno.EPERM) -> list[_Instruction]:
    body = [_argument(index)]
    for left, value in zip(range(len(values), 0, -1), values, strict=True):
        body.append((_JUMP_EQUAL, left, 0, value))
    return [*body, _refuse(code), _return(_ALLOW)]


def _free(numbers: list[int]) -> list[_Instruction]:
    """Allows these numbers, a run of neighbours at a time."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    body: list[_Instruction] = []
    for first, last in runs:
        if first == last:
            body += _rule(first, [_return(_ALLOW)])
        else:
            body += [(_JUMP_GREATER_EQUAL, 0, 2, first), (_JUMP_GREATER, 1, 0, last)]
            body.append(_return(_ALLOW))
    return body


# Stands for the program's own process until `install`: no process has this number.
_OWN_PID = 0x7ABCDEF1


def build(*, truncate: bool) -> bytes:
    """Returns the filter for programs, but for the number of their process.

    Args:
        truncate: Whether something else guards truncate(2).
    """
    code: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_JUMP_EQUAL, 1, 0, _ARCH_X86_64),
        _return(_KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_GREATER_EQUAL, 0, 1, _X32),
        _return(_KILL_PROCESS),
    ]
    free = list(syscalls.FREE.values())
    if truncate:
        free.append(syscalls.TRUNCATE)
    code += _free(free)
    code += _rule(
        syscalls.CLONE,
        [
            _argument(0),
            (_JUMP_ANY_BIT, 1, 0, _CLONE_REFUSED),
            (_JUMP_ANY_BIT, 1, 0, _CLONE_THREAD),
            _refuse(),
            _return(_ALLOW),
        ],
    )
    code += _rule(
        syscalls.MMAP,
        [_argument(3), (_JUMP_ANY_BIT, 0, 1, _MAP_REFUSED), _refuse(), _return(_ALLOW)],
    )
    # Of sockets only pairs of streams, which asyncio wakes itself with. A pair of datagrams could
    # send to a named socket of the host.
    code += _rule(
        syscalls.SOCKETPAIR,
        [
            _argument(0),
            (_JUMP_EQUAL, 0, 3, 1),  # AF_UNIX
            _argument(1),
            (_AND, 0, 0, 0xF),
            (_JUMP_EQUAL, 1, 0, 1),  # SOCK_STREAM
            _refuse(),
            _return(_ALLOW),
        ],
    )
    code += _rule(syscalls.SETSOCKOPT, _one_of(2, _SETSOCKOPT_ALLOWED, errno.ENOPROTOOPT))
    code += _rule(syscalls.GETSOCKOPT, _one_of(2, _GETSOCKOPT_ALLOWED, errno.ENOPROTOOPT))
    code += _rule(syscalls.KILL, _one_of(0, (_OWN_PID,)))
    code += _rule(syscalls.TGKILL, _one_of(0, (_OWN_PID,)))
    code += _rule(syscalls.PRLIMIT64, _one_of(0, (0, _OWN_PID)))
    code += _rule(syscalls.PRCTL, _one_of(0, _PRCTL_ALLOWED))
    code += _rule(syscalls.IOCTL, _one_of(1, _IOCTL_ALLOWED, errno.ENOTTY))
    code += _rule(syscalls.FCNTL, _one_of(1, _FCNTL_ALLOWED))
    # glibc then starts threads by clone, whose flags a filter can see.
    code += _rule(syscalls.CLONE3, [_refuse(errno.ENOSYS)])
    code += [
        (_JUMP_GREATER, 0, 1, syscalls.LAST_KNOWN),
        _refuse(errno.ENOSYS),
        _refuse(),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def install(code: bytes) -> None:
    """Puts the calling thread under the filter; it cannot be taken off.

    The calling process is the only one that it may signal from then on.

    Raises:
        OSError: The kernel refused it.
    """
    code = code.replace(struct.pack("=I", _OWN_PID), struct.pack("=I", os.getpid()))
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HxxxxxxQ", len(code) // 8, ctypes.addressof(held))
    syscalls.call(
        syscalls.SECCOMP, _SECCOMP_SET_MODE_FILTER, 0, ctypes.create_string_buffer(program, 16)
    )
