"""`Inbox`: what other threads want one thread to do, which waits on a selector meanwhile."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Callable


class Inbox:
    """Commands for one thread, and a socket that wakes it up.

    Attributes:
        socket: Readable when there are commands.
    """

    def __init__(self) -> None:
        self._wake_up, self.socket = socket.socketpair()
        self._wake_up.setblocking(False)
        self.socket.setblocking(False)
        self._commands: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._is_open = True

    def post(self, command: Callable[[], None]) -> bool:
        """Hands over a command; returns False, and does not, if the inbox was closed."""
        with self._lock:
            if not self._is_open:
                return False
            self._commands.append(command)
            with contextlib.suppress(BlockingIOError):  # it has been told often enough
                self._wake_up.send(b"\0")
        return True

    def run_commands(self) -> None:
        """Runs, in the thread that they are for, the commands that have come."""
        with contextlib.suppress(BlockingIOError):
            while self.socket.recv(4096):
                pass
        while self._commands:
            self._commands.popleft()()

    def close(self) -> None:
        """Takes no more commands, and runs those that had come."""
        with self._lock:
            self._is_open = False
        self.run_commands()
        self.let_go()

    def let_go(self) -> None:
        """Closes the files; all that a forked process may do."""
        self._wake_up.close()
        self.socket.close()
