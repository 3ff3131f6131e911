"""`Worker`: the trainer's end of one locked process."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from grpo_reward_code.sandbox import syscalls
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import BoxFailed, Program, Ran

# Far more than any needs; so that nothing is waited for without an end.
START_S = 60.0
PATIENCE_S = 15.0
_STOP = b"output"
_SMALL, _MOST_SMALL, _SMALL_PAUSE_S = 4096, 64, 0.002
_AFTER_END_S = 2.0
_CHUNK = 1 << 16
_MOST_REPORT = 16_000_000
_ENVIRONMENT = {
    # Set order must not make a verdict flap.
    "PYTHONHASHSEED": "0",
    # One process, one thread of a BLAS; their stacks would count as memory.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}
# Without these an interpreter from an environment module does not find its libraries. The worker
# takes them out of what programs see.
_PASSED_ON = ("LD_LIBRARY_PATH", "PYTHONHOME")
_BOOT = """\
import sys, types
package = types.ModuleType("grpo_reward_code")
package.__path__ = [sys.argv.pop(1)]
sys.modules["grpo_reward_code"] = package
from grpo_reward_code.sandbox.zygote import main
main()
"""


@dataclass(frozen=True)
class Job:
    """A program, and the descriptors that it gets as 3 and onwards; running it closes them here."""

    program: Program
    extra: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ended:
    """How a program ended, and whether the machine gave it no time."""

    ran: Ran
    starved: bool


@dataclass
class _Output:
    """What came down a pipe, up to a limit."""

    most: int
    text: bytearray = field(default_factory=bytearray)
    is_cut: bool = False

    def is_over(self, data: bytes) -> bool:
        """Keeps what there is room for; whether that was not all."""
        room = self.most - len(self.text)
        self.text += data[:room]
        self.is_cut = self.is_cut or len(data) > room
        return self.is_cut


class Worker:
    """One locked process, and the programs that are run in it one request at a time."""

    def __init__(self, settings: dict[str, Any]) -> None:
        """Starts the process; returns when it is ready.

        Args:
            settings: What the process is told (see `layers.py`).

        Raises:
            BoxFailed: It did not start, or cannot build its walls; the text says why.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        trainer = syscalls.pidfd_open(os.getpid())
        told = {**settings, "control": theirs.fileno(), "trainer": trainer}
        self._errors = syscalls.memfd_create("errors")
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        try:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-s", "-S", "-P", "-B", "-X", "utf8", "-c", _BOOT),
                    *(package, json.dumps(told)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=[theirs.fileno(), trainer],
                env=_ENVIRONMENT | {n: os.environ[n] for n in _PASSED_ON if n in os.environ},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            os.close(self._errors)
            _remove(settings)
            raise BoxFailed(f"the sandbox's process cannot be started: {error}") from error
        finally:
            theirs.close()
            os.close(trainer)
        self._control = ours
        self._settings = settings
        said = self._receive(time.monotonic() + START_S)
        if "error" in said:
            self.close()
            raise BoxFailed(said["error"])

    def run(self, program: Program, limits: Limits) -> Ended:
        """Returns how a program ended.

        Raises:
            BoxFailed: The machinery failed. The worker is closed then.
        """
        with self._guarded():
            return self._run([Job(program)], limits, {})[0]

    def judge(
        self, submission: Program, judge: Program, limits: Limits
    ) -> tuple[Ended, Ended, bytes]:
        """Returns how two programs that talk to each other ended, and what the judge reported.

        Raises:
            BoxFailed: The machinery failed. The worker is closed then.
        """
        with self._guarded():
            one, other = socket.socketpair()
            reading, writing = os.pipe2(os.O_CLOEXEC)
            report = {reading: _Output(_MOST_REPORT)}
            try:
                jobs = [
                    Job(submission, (one.detach(),)),
                    Job(judge, (other.detach(), writing)),
                ]
                first, second = self._run(jobs, limits, report)
            finally:
                os.close(reading)
            return first, second, bytes(report[reading].text)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except BoxFailed:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise BoxFailed(f"the sandbox failed: {error}") from error
        except BaseException:
            # An interrupt: a program may be running, its answer would be taken for the next one's.
            self.close()
            raise

    def _run(self, jobs: Sequence[Job], limits: Limits, outputs: dict[int, _Output]) -> list[Ended]:
        handed: list[int] = [fd for job in jobs for fd in job.extra]
        kept: list[int] = []
        sent: list[int] = []
        asked = []
        try:
            for job in jobs:
                pipes = []
                for _ in range(2):
                    reading, writing = os.pipe2(os.O_CLOEXEC)
                    kept.append(reading)
                    handed.append(writing)
                    pipes.append(writing)
                    outputs[reading] = _Output(limits.output_bytes)
                handed.append(_file(job.program.source_bytes))
                handed.append(_file(job.program.stdin))
                sent += [*handed[-2:], *pipes, *job.extra]
                asked.append({"name": job.program.name, "fds": 4 + len(job.extra)})
            request = {"limits": asdict(limits), "programs": asked}
            socket.send_fds(self._control, [json.dumps(request).encode()], sent)
            while handed:
                os.close(handed.pop())
            said = self._read(outputs, limits)
        finally:
            for fd in (*handed, *kept):
                os.close(fd)
        pairs = zip(kept[::2], kept[1::2], strict=True)
        return [
            _ended(told, outputs[out], outputs[err])
            for told, (out, err) in zip(said, pairs, strict=True)
        ]

    def _read(self, outputs: dict[int, _Output], limits: Limits) -> list[dict[str, Any]]:
        """Collects output until the worker says that all have ended."""
        poller = select.poll()
        for fd in (*outputs, self._control.fileno()):
            poller.register(fd, select.POLLIN)
        open_ = set(outputs)
        deadline = time.monotonic() + limits.wall_s + PATIENCE_S
        said: Any = None
        flooded = False
        small = 0
        while said is None or open_:
            events = poller.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not events and said is not None:
                break  # without walls, a process that got away may hold on to a pipe
            if not events:
                raise BoxFailed(f"the sandbox gave no answer in {limits.wall_s + PATIENCE_S:g} s")
            for fd, _ in events:
                if fd == self._control.fileno():
                    said = self._receive(deadline)
                    if isinstance(said, dict):
                        raise BoxFailed(f"the sandbox's process failed: {said['error']}")
                    deadline = time.monotonic() + _AFTER_END_S
                    poller.unregister(fd)
                    continue
                data = os.read(fd, _CHUNK)
                if len(data) < _SMALL:
                    small += 1
                    if small > _MOST_SMALL and said is None:
                        # A program that writes byte by byte must not keep this thread busy.
                        time.sleep(_SMALL_PAUSE_S)
                if not data:
                    poller.unregister(fd)
                    open_.discard(fd)
                    continue
                if outputs[fd].is_over(data) and not flooded and said is None:
                    flooded = True
                    self._control.send(_STOP)
        told: list[dict[str, Any]] = said
        return told

    def _receive(self, deadline: float) -> Any:
        self._control.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            text = self._control.recv(_CHUNK)
        except TimeoutError:
            text = b""
        if not text:
            why = os.pread(self._errors, _CHUNK, 0).decode(errors="replace").strip()
            self.close()
            code = self._process.returncode
            last = f": {why.splitlines()[-1]}" if why else ""
            raise BoxFailed(f"the sandbox's process ended (status {code}){last}")
        return json.loads(text)

    @property
    def hidden(self) -> list[str]:
        """Folders that programs must not read."""
        return list(self._settings["hidden"])

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed."""
        return self._control.fileno() < 0

    @property
    def is_gone(self) -> bool:
        """Whether it has been closed, or ended while it had nothing to do."""
        if self.is_closed:
            return True
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        return bool(poller.poll(0))

    def kill(self) -> None:
        """Ends the process while another thread waits for it, which then fails."""
        self._process.kill()

    def close(self) -> None:
        """Ends the process and what runs in it."""
        if self.is_closed:
            return
        self._control.close()
        os.close(self._errors)
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _remove(self._settings)


def _remove(settings: dict[str, Any]) -> None:
    """Takes the scratch folder away; the process does this itself where it can."""
    if settings["layer"] != "ns":
        shutil.rmtree(settings["folder"], ignore_errors=True)


def _file(data: bytes) -> int:
    """A descriptor of an unnamed file with this content, which nobody can change."""
    fd = syscalls.memfd_create("input")
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
        syscalls.seal(fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _ended(said: dict[str, Any], out: _Output, err: _Output) -> Ended:
    if said["error"]:
        raise BoxFailed(f"a wall of the sandbox does not stand: {said['error']}")
    stdout, stderr = bytes(out.text), bytes(err.text)
    limit = said["limit"]
    if out.is_cut or err.is_cut:
        limit = limit or "output"  # it may have ended before it could be stopped
    if not limit and said["exit_code"] == 1 and _is_memory_error(stderr):
        limit = "memory"
    ran = Ran(
        stdout=stdout,
        stderr=stderr,
        exit_code=said["exit_code"],
        signal=said["signal"],
        limit=limit,
        cpu_s=said["cpu_s"],
        wall_s=said["wall_s"],
    )
    return Ended(ran, said["starved"])


def _is_memory_error(stderr: bytes) -> bool:
    last = stderr.rstrip().rpartition(b"\n")[2]
    return last.split(b":")[0].rpartition(b".")[2] in (b"MemoryError", b"_ArrayMemoryError")
