"""Resource limits of one program, set in its own process."""

from __future__ import annotations

import math
import resource

_STACK = 64 << 20
_MIB = 1 << 20


def held_mb() -> int:
    """Returns the address space of this process in MiB, for a limit that leaves it out."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize() // _MIB + 1
    except OSError:
        return 256


def apply(*, cpu_s: float, memory_mb: int, file_bytes: int, processes: int | None) -> None:
    """Sets the limits of the calling process.

    Args:
        cpu_s: CPU time. Rounded up, since this is the backstop of a limit that is watched.
        memory_mb: Address space, in all.
        file_bytes: Size of each file.
        processes: Threads of its user, where nobody else runs under that user.
    """
    seconds = math.ceil(cpu_s) + 1
    pairs = [
        (resource.RLIMIT_AS, memory_mb * _MIB),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, 256),
        (resource.RLIMIT_NICE, 0),
        (resource.RLIMIT_RTPRIO, 0),
    ]
    if processes is not None:
        pairs.append((resource.RLIMIT_NPROC, processes))
    for which, value in pairs:
        hard = resource.getrlimit(which)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (least, least))
    # The hard limit stays: contest programs raise the soft one for deep recursion. The size of a
    # thread's stack was read from the soft limit when the interpreter started, and stays too.
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    soft = _STACK if hard == resource.RLIM_INFINITY else min(_STACK, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
