"""`Guard`: ends the workers, and what their rewards started, when this process is killed."""

from __future__ import annotations

import contextlib
import os
import subprocess

# Reads "+ group" and "- group" lines; at their end it kills the groups that are left. A process of
# its own, since no thread of a worker gets a turn while a reward holds the interpreter, and the
# kernel's signal at the end of a parent reaches the worker alone.
_SCRIPT = """
groups=
while read -r what group; do
  left=
  for each in $groups; do [ "$each" = "-$group" ] || left="$left $each"; done
  groups=$left
  [ "$what" = - ] || groups="$groups -$group"
done
[ -z "$groups" ] || kill -s KILL -- $groups
"""


class Guard:
    """A shell that waits for the end of this process."""

    def __init__(self) -> None:
        """Starts it; where there is no shell, nothing is guarded."""
        self._process: subprocess.Popen[bytes] | None = None
        read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=read,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                start_new_session=True,  # else Ctrl-C would end it first
            )
        os.close(read)

    def watch(self, group: int) -> None:
        """From now on, ends this process group too."""
        self._tell(f"+ {group}\n")

    def forget(self, group: int) -> None:
        """Leaves the group alone; must be called before its number is free for others."""
        self._tell(f"- {group}\n")

    def close(self) -> None:
        """Ends the shell."""
        os.close(self._write)
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def let_go(self) -> None:
        """Lets go of it without touching it: it belongs to the process that was forked."""
        os.close(self._write)
        if self._process is not None:
            self._process.returncode = 0  # else subprocess would wait for another one's child

    def _tell(self, line: str) -> None:
        with contextlib.suppress(OSError):  # somebody ended it; the kernel's signal is left
            os.write(self._write, line.encode())
