"""`WorkerProcess`: one worker as the pool sees it, from its start to its end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Literal

from grpo_core.errors import GrpoError
from grpo_core.scoring.channel import KEPT_IN_THE_WORKER, Channel
from grpo_core.scoring.jobs import Chunk, Job

# How long a worker may take to start, to build a reward, and to read what it is sent. Far more
# than any needs; so that nothing is waited for without an end.
PATIENCE_S = 60.0
# How long the `close()` of its rewards may take.
CLOSE_S = 2.0

_MODULE = "grpo_core.scoring.worker"

State = Literal["starting", "idle", "building", "loading", "running", "leaving"]


class WorkerProcess:
    """A worker process, started by exec in a session of its own.

    Attributes:
        channel: Messages to and from it.
        state: What it is doing.
        since: When it began to, by `time.monotonic()`.
        keys: Recipes that it has built.
        job: The job that it builds or runs for, if any.
        chunk: The calls that it runs, if any; the first is the one it is at.
        is_ahead: True while it builds a reward only to replace a worker that is late.
    """

    def __init__(self, memory_mb: int) -> None:
        """Starts the process; returns at once.

        Must be called from a thread that lives as long as the worker: Linux ends the worker with
        the thread that started it.

        Raises:
            GrpoError: There is no interpreter to start.
            OSError: The system does not let it start.
        """
        if not sys.executable:
            raise GrpoError("Python does not know its own interpreter (sys.executable is empty)")
        path = search_path()
        changed = _environment(path)
        ours, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", _MODULE, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None if _has_stderr() else subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={**os.environ, **changed},
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.channel = Channel(ours)
        self.state: State = "starting"
        self.since = time.monotonic()
        self.keys: set[bytes] = set()
        self.job: Job | None = None
        self.chunk: Chunk | None = None
        self.is_ahead = False
        self.channel.send((os.getpid(), path, _passed_on(), memory_mb))

    @property
    def group(self) -> int:
        """Number of its process group: it, and what its rewards start."""
        return self._process.pid

    @property
    def is_busy(self) -> bool:
        """Whether it takes the place of one of the pool's workers."""
        return self.state in ("loading", "running") or (
            self.state == "building" and not self.is_ahead
        )

    @property
    def deadline(self) -> float:
        """When it is late with what it is doing; infinity where there is no limit."""
        if self.state == "idle":
            return float("inf")
        if self.state == "running":
            assert self.chunk is not None
            timeout_s = self.chunk.job.timeout_s
            return float("inf") if timeout_s is None else self.since + timeout_s
        return self.since + (CLOSE_S if self.state == "leaving" else PATIENCE_S)

    def enter(self, state: State, since: float | None = None) -> None:
        """Notes what it is doing from now on."""
        self.state = state
        self.since = time.monotonic() if since is None else since

    def build(self, job: Job, *, ahead: bool = False) -> None:
        """Has it build the reward of a job."""
        self.job, self.is_ahead = job, ahead
        if not ahead:
            job.n_building += 1
        self.enter("building")
        # The environment anew: a key may have been set since the worker was started.
        self.channel.send(("build", job.key, job.recipe, job.path, _passed_on()))

    def run(self, chunk: Chunk) -> None:
        """Has it run calls; their reward must have been built."""
        self.job, self.chunk = chunk.job, chunk
        self.enter("loading")
        self.channel.send(("run", chunk.job.key, chunk.messages))

    def release(self) -> None:
        """Takes it from its job."""
        if self.job is not None and self.state == "building" and not self.is_ahead:
            self.job.n_building -= 1
        self.job = self.chunk = None
        self.is_ahead = False

    def leave(self) -> None:
        """Has it close its rewards and end."""
        self.enter("leaving")
        self.channel.send(("close",))

    def end(self) -> None:
        """Kills it and what its rewards started; `is_reaped` tells when it is gone."""
        self._kill()
        self.channel.close()

    def _kill(self) -> None:
        # The group's number is ours for as long as the worker was not waited for.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.group, signal.SIGKILL)

    def has_ended(self) -> bool:
        """Whether the process has ended; a copy that a reward forked may keep its channel open."""
        return self._status() is not None

    def how_it_ended(self) -> str:
        """How a worker that closed its end of the channel came to its own."""
        end = time.monotonic() + 0.5
        while (status := self._status()) is None and time.monotonic() < end:
            time.sleep(0.001)
        self._kill()
        if status is None:
            return "its worker was cut off from the pool"
        if status >= 0:
            return f"its worker ended with exit code {status}"
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = "unknown"
        cause = "; out of memory?" if name == "SIGKILL" else ""
        return f"its worker was killed by signal {-status} ({name}{cause})"

    def is_reaped(self) -> bool:
        """Whether it is gone; it leaves no zombie then."""
        return self._process.poll() is not None

    def let_go(self) -> None:
        """Lets go of it without touching it: it belongs to the process that was forked."""
        self.channel.close()
        self._process.returncode = 0  # else subprocess would wait for another one's child

    def _status(self) -> int | None:
        """Its exit code, or minus its signal; None while it runs. It stays to be waited for."""
        if self._process.returncode is not None:
            return self._process.returncode
        try:
            info = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except (ChildProcessError, AttributeError):  # another thread waited for it, or no Linux
            return self._process.poll()
        if info is None:
            return None
        return info.si_status if info.si_code == os.CLD_EXITED else -info.si_status


def _passed_on() -> dict[str, str]:
    """The variables of this process that a worker sees."""
    return {n: value for n, value in os.environ.items() if n not in KEPT_IN_THE_WORKER}


def search_path() -> list[str]:
    """Where modules are searched here; a worker searches there too."""
    return [entry for entry in sys.path if isinstance(entry, str)]


def _environment(path: list[str]) -> dict[str, str]:
    """The variables that a worker starts with, beside those of this process."""
    return {
        # A worker shares the trainer's machine: no accelerator, and one thread for each.
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        # What a worker needs for its start may lie anywhere on the path. Python's own modules come
        # first until it has started: beside the user's script may lie a resource.py.
        "PYTHONPATH": os.pathsep.join(sorted(path, key=lambda entry: not _is_pythons(entry))),
    }


def _is_pythons(entry: str) -> bool:
    standard_library = os.path.dirname(os.__file__)
    return entry in (standard_library, os.path.join(standard_library, "lib-dynload"))


def _has_stderr() -> bool:
    try:
        os.fstat(2)
    except OSError:
        return False
    return True
