"""What becomes of a command whose standard output cannot be written to."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable
from typing import Any

# What a shell reports of a command that a closed pipe has ended: 128 + SIGPIPE.
CLOSED_PIPE = 141


class LostOutputError(BaseException):
    """Standard output cannot be written to.

    Like an interrupt it is no Exception: what catches those on the way, such as the trainer's
    libraries, would take it for a fault of the config.
    """


def guard_stdout() -> None:
    """Makes a write to standard output that fails raise `LostOutputError`, and no OSError."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # None if the shell closed it
        for name in ("write", "flush"):
            setattr(sys.stdout, name, _guarded(getattr(sys.stdout, name)))


def exit_code_of(lost: LostOutputError) -> int:
    """Says why the output is lost, unless its reader went away, which is no error."""
    cause = lost.__cause__
    if isinstance(cause, OSError) and cause.errno == errno.EPIPE:
        return CLOSED_PIPE
    reason = getattr(cause, "strerror", None) or cause
    say_error(f"standard output cannot be written: {reason}")
    return 2


def say_error(text: str) -> None:
    """Prints an error, if there is anywhere to print it."""
    with contextlib.suppress(OSError):
        print(f"error: {text}", file=sys.stderr)


def let_go() -> None:
    """Keeps Python from complaining at its end about streams that cannot be written to."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, LostOutputError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _guarded(call: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except OSError as exc:
            raise LostOutputError from exc

    return guarded
