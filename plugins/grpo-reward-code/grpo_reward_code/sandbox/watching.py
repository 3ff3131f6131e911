"""The limits that the kernel does not keep by itself: watched from outside the program."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass, field

from grpo_reward_code.sandbox import syscalls
from grpo_reward_code.sandbox.limits import Limits

_CPUCLOCK_SCHED = 2
# A program is looked at this often at least; what it can do in between is what a limit may be
# exceeded by.
_LONGEST_S = 0.05
_SHORTEST_S = 0.002


@dataclass
class Child:
    """One running program.

    Attributes:
        pid: Its process.
        pidfd: Descriptor that becomes readable when it ends.
        ready: Descriptor on which it says that its walls stand.
        limits: What it may use.
        grace_s: Wall time beyond the limit: a judge outlives its submission to say so.
        started: When it was forked.
        limit: The limit for which it was ended, if any.
        starved: Whether the machine did not let it run when its wall time was over.
        status: Wait status, or None while it runs.
        cpu_s: CPU time in all, once it has ended.
        wall_s: Wall time in all, once it has ended.
    """

    pid: int
    pidfd: int
    ready: int
    limits: Limits
    grace_s: float = 0.0
    started: float = field(default_factory=time.monotonic)
    limit: str = ""
    starved: bool = False
    status: int | None = None
    cpu_s: float = 0.0
    wall_s: float = 0.0
    error: str = ""

    def look(self) -> float:
        """Ends the program if it is over a limit; returns in how many seconds to look again."""
        used = self._cpu()
        wall = time.monotonic() - self.started
        if used >= self.limits.cpu_s:
            self.kill("cpu")
        elif wall >= self.limits.wall_s + self.grace_s:
            self.starved = self._waited() > 0.1 * wall
            self.kill("wall")
        elif self._threads() > self.limits.threads:
            self.kill("threads")
        left = min(
            (self.limits.cpu_s - used) / (os.cpu_count() or 1),
            self.limits.wall_s + self.grace_s - wall,
        )
        return min(max(left, _SHORTEST_S), _LONGEST_S)

    def kill(self, limit: str) -> None:
        """Ends the program, all its threads, for a reason; the first one stays."""
        if self.status is None:
            self.limit = self.limit or limit
            syscalls.kill(self.pidfd)

    def reap(self) -> bool:
        """Whether the program has ended; then notes how."""
        # Without walls there may be others. The group's number is free only after the wait.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if pid == 0:
            return False
        self.status = status
        self.wall_s = time.monotonic() - self.started
        self.cpu_s = usage.ru_utime + usage.ru_stime
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            self.limit = self.limit or "cpu"
        said = os.read(self.ready, 4000)
        if said != b"ok" and not self.limit:
            self.error = said.decode(errors="replace") or "it ended before its walls stood"
        os.close(self.ready)
        os.close(self.pidfd)
        return True

    def said(self) -> dict[str, object]:
        """How it ended, for the trainer's side."""
        assert self.status is not None
        signalled = os.WIFSIGNALED(self.status)
        return {
            "exit_code": None if signalled else os.WEXITSTATUS(self.status),
            "signal": os.WTERMSIG(self.status) if signalled else None,
            "limit": self.limit,
            "cpu_s": self.cpu_s,
            "wall_s": self.wall_s,
            "starved": self.starved,
            "error": self.error,
        }

    def _cpu(self) -> float:
        try:
            return time.clock_gettime(~self.pid << 3 | _CPUCLOCK_SCHED)
        except OSError:
            return 0.0  # it has just ended

    def _threads(self) -> int:
        try:
            return os.stat(f"/proc/{self.pid}/task").st_nlink - 2
        except OSError:
            return 0

    def _waited(self) -> float:
        """Seconds that a thread of it was ready to run and had no processor; the longest.

        Not the sum: a program could make its threads wait for each other.
        """
        waited = 0
        try:
            for thread in os.listdir(f"/proc/{self.pid}/task"):
                with open(f"/proc/{self.pid}/task/{thread}/schedstat", encoding="ascii") as file:
                    waited = max(waited, int(file.read().split()[1]))
        except (OSError, IndexError, ValueError):
            # This kernel does not say: a second try costs time, a wrong verdict costs more.
            return float("inf")
        return waited / 1e9
