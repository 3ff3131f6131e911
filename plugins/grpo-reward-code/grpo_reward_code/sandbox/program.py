"""What is run, what came of it, and what can go wrong around it."""

from __future__ import annotations

from dataclasses import dataclass

from grpo_core import GrpoError


@dataclass(frozen=True)
class Program:
    """Python source and what it reads.

    Attributes:
        source: The text; bytes are read as a file would be (a coding line, a byte order mark).
        stdin: What it finds on standard input.
        name: File name in tracebacks, and `sys.argv[0]`.
    """

    source: str | bytes
    stdin: bytes = b""
    name: str = "program.py"

    @property
    def source_bytes(self) -> bytes:
        """The source as the bytes of a file; a lone surrogate becomes a syntax error there."""
        if isinstance(self.source, bytes):
            return self.source
        return self.source.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Ran:
    """How one program ended.

    Attributes:
        stdout: What it wrote, up to the limit.
        stderr: The same for standard error.
        exit_code: Its exit status, or None if a signal ended it.
        signal: The signal that ended it, or None.
        limit: The limit that it hit: `cpu`, `wall`, `memory`, `output`, `files`, `threads`; `""`
            for none.
        cpu_s: CPU time of all its threads.
        wall_s: Wall time from its start to its end.
    """

    stdout: bytes
    stderr: bytes
    exit_code: int | None
    signal: int | None
    limit: str
    cpu_s: float
    wall_s: float

    @property
    def is_clean(self) -> bool:
        """Whether it ended by itself with exit status 0 and within its limits."""
        return self.exit_code == 0 and not self.limit


@dataclass(frozen=True)
class Judged:
    """How a submission and the judge beside it ended.

    Attributes:
        submission: The process that ran the submission.
        judge: The process that ran the tests.
        report: What the judge wrote down the pipe that only it holds.
    """

    submission: Ran
    judge: Ran
    report: bytes


class BoxFailed(GrpoError):
    """The machinery failed, not the program: never a verdict."""


class NoIsolation(GrpoError):
    """No layer of isolation holds on this machine."""
