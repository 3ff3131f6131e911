"""System calls of Linux on x86-64 that Python has no function for, and their numbers."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal

# Numbers of x86-64, from the kernel's table (arch/x86/entry/syscalls/syscall_64.tbl). Those that a
# program may call freely; what each is for in seccomp.py.
FREE = {
    "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7,
    "lseek": 8, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14,
    "rt_sigreturn": 15, "pread64": 17, "pwrite64": 18, "readv": 19, "writev": 20, "access": 21,
    "pipe": 22, "select": 23, "sched_yield": 24, "mremap": 25, "msync": 26, "madvise": 28,
    "dup": 32, "dup2": 33, "pause": 34, "nanosleep": 35, "getitimer": 36, "alarm": 37,
    "setitimer": 38, "getpid": 39, "sendfile": 40, "sendto": 44, "recvfrom": 45, "shutdown": 48,
    "getsockname": 51, "getpeername": 52, "exit": 60,
    "wait4": 61, "uname": 63, "fsync": 74, "fdatasync": 75, "ftruncate": 77,
    "getdents": 78, "getcwd": 79, "chdir": 80, "fchdir": 81, "rename": 82, "mkdir": 83,
    "rmdir": 84, "creat": 85, "link": 86, "unlink": 87, "symlink": 88, "readlink": 89,
    "umask": 95, "gettimeofday": 96, "getrlimit": 97, "getrusage": 98, "sysinfo": 99, "times": 100,
    "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110, "getpgrp": 111,
    "getgroups": 115, "getresuid": 118, "getresgid": 120, "getpgid": 121, "getsid": 124,
    "rt_sigpending": 127, "rt_sigtimedwait": 128, "rt_sigsuspend": 130, "sigaltstack": 131,
    "statfs": 137, "fstatfs": 138, "sched_getparam": 143, "sched_getscheduler": 145,
    "sched_get_priority_max": 146, "sched_get_priority_min": 147, "gettid": 186, "time": 201,
    "futex": 202, "sched_getaffinity": 204, "epoll_create": 213, "getdents64": 217,
    "set_tid_address": 218, "restart_syscall": 219, "fadvise64": 221, "clock_gettime": 228,
    "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "epoll_wait": 232,
    "epoll_ctl": 233, "waitid": 247, "openat": 257, "mkdirat": 258, "newfstatat": 262,
    "unlinkat": 263, "renameat": 264, "linkat": 265, "symlinkat": 266, "readlinkat": 267,
    "faccessat": 269, "pselect6": 270, "ppoll": 271, "set_robust_list": 273,
    "epoll_pwait": 281, "eventfd": 284, "signalfd4": 289, "eventfd2": 290, "epoll_create1": 291,
    "dup3": 292, "pipe2": 293, "preadv": 295, "pwritev": 296, "getcpu": 309, "renameat2": 316,
    "getrandom": 318, "statx": 332, "rseq": 334, "close_range": 436,
    "faccessat2": 439, "epoll_pwait2": 441, "futex_wake": 454, "futex_wait": 455,
}  # fmt: skip

# Those that depend on their arguments, or that this package calls itself.
MMAP = 9
IOCTL = 16
SOCKETPAIR = 53
SETSOCKOPT = 54
GETSOCKOPT = 55
CLONE = 56
KILL = 62
FCNTL = 72
TRUNCATE = 76
CAPSET = 126
PIVOT_ROOT = 155
PRCTL = 157
MOUNT = 165
UMOUNT2 = 166
TGKILL = 234
UNSHARE = 272
PRLIMIT64 = 302
SECCOMP = 317
CLONE3 = 435
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_ADD_RULE = 445
LANDLOCK_RESTRICT_SELF = 446
# Higher numbers did not exist when this was written: a C library that tries one falls back.
LAST_KNOWN = 462

# The same on all processors, but for the last.
_PIDFD_SEND_SIGNAL = 424
_PIDFD_OPEN = 434
_MEMFD_CREATE = 319
_CLOEXEC, _ALLOW_SEALING = 1, 2
_ADD_SEALS, _SEAL_ALL = 1033, 1 | 2 | 4 | 8

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Returns what the system call returns.

    Raises:
        OSError: It failed.
    """
    # An int would be cut to 32 bits on its way through a variadic C function.
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result: int = libc.syscall(ctypes.c_long(number), *passed)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"system call {number}: {os.strerror(code)}")
    return result


# Python lacks these three where it was built against the headers of an old kernel, as conda's is.


def pidfd_open(pid: int) -> int:
    """Returns a descriptor of a process, readable when the process has ended.

    Raises:
        OSError: There is no such process, or the kernel is older than 5.3.
    """
    fd = call(_PIDFD_OPEN, pid, 0)
    os.set_inheritable(fd, False)
    return fd


def kill(pidfd: int) -> None:
    """Ends the process of a descriptor, if it has not ended yet.

    Raises:
        OSError: It may not be ended.
    """
    with contextlib.suppress(ProcessLookupError):
        call(_PIDFD_SEND_SIGNAL, pidfd, signal.SIGKILL, None, 0)


def memfd_create(name: str) -> int:
    """Returns a descriptor of an unnamed, empty file in memory, which can be sealed.

    Raises:
        OSError: The kernel refused.
    """
    if hasattr(os, "memfd_create"):
        return os.memfd_create(name, _CLOEXEC | _ALLOW_SEALING)
    return call(_MEMFD_CREATE, name.encode(), _CLOEXEC | _ALLOW_SEALING)


def seal(fd: int) -> None:
    """Takes from everybody the right to change a file in memory.

    Raises:
        OSError: The kernel refused.
    """
    fcntl.fcntl(fd, _ADD_SEALS, _SEAL_ALL)


def prctl(option: int, value: int = 0, third: int = 0) -> int:
    """What the system call of this name returns.

    Raises:
        OSError: It failed.
    """
    return call(PRCTL, option, value, third, 0, 0)
