"""What a worker prints: on the standard error of the run, and not more than a log can bear."""

from __future__ import annotations

import io
import os
import sys
import time

BYTES_A_SECOND = 10_000


def limit_output() -> None:
    """Sends what this process prints to its standard error, at most 10 kB a second.

    Standard output goes there too, also that of C code and of other programs it starts, which is
    not counted: the output of the run belongs to the trainer.
    """
    try:
        os.dup2(2, 1)
    except OSError:  # the run has no standard error
        return
    limited = io.BufferedWriter(_Limited(2))
    for name in ("stdout", "stderr"):
        stream = io.TextIOWrapper(
            limited, encoding="utf-8", errors="backslashreplace", line_buffering=True
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)  # what some loggers and progress bars take


class _Limited(io.RawIOBase):
    """Writes the first 10 kB of each second, says that something was left out, drops the rest."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._second = 0.0
        self._left = 0

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def write(self, data: object, /) -> int:
        given = bytes(data)  # type: ignore[call-overload]
        now = time.monotonic()
        if now - self._second >= 1:
            self._second, self._left = now, BYTES_A_SECOND
        if self._left > 0:
            written = given[: self._left]
            self._left -= len(written)
            if self._left == 0:
                written += (
                    f"\n(grpo-core: worker {os.getpid()} prints more than "
                    f"{BYTES_A_SECOND // 1000} kB a second; the rest is left out)\n"
                ).encode()
            try:
                os.write(self._fd, written)
            except OSError:  # nobody reads the run's standard error any more
                pass
        return len(given)
