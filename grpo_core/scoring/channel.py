"""Messages between the pool and its workers: marshalled tuples, each behind its length.

Marshal holds plain values only. What needs more (calls, recipes) travels inside as pickled bytes,
and only from the pool to a worker.
"""

from __future__ import annotations

import marshal
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("<Q")
_READ_BYTES = 1 << 18

Message = tuple[Any, ...]


def framed(message: Message) -> bytes:
    """The message as bytes, behind its length."""
    body = marshal.dumps(message)
    return _LENGTH.pack(len(body)) + body


# Variables that are a worker's own; all others are those of the trainer.
KEPT_IN_THE_WORKER = {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"}


class BlockingChannel:
    """A worker's end: waits until a message is there, or is sent."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock

    def send(self, message: Message) -> None:
        """Sends one message."""
        self._socket.sendall(framed(message))

    def receive(self) -> Message | None:
        """The next message, or None where the other end was closed."""
        head = self._exactly(_LENGTH.size)
        if head is None:
            return None
        body = self._exactly(_LENGTH.unpack(head)[0])
        return None if body is None else marshal.loads(body)

    def _exactly(self, n: int) -> bytearray | None:
        data = bytearray(n)
        view = memoryview(data)
        got = 0
        while got < n:
            try:
                read = self._socket.recv_into(view[got:])
            except ConnectionResetError:  # killed, with messages that it had not read
                return None
            if read == 0:
                return None
            got += read
        return data


class Channel:
    """The pool's end: never waits; what cannot be sent yet is kept.

    Attributes:
        socket: What it reads and writes.
        ended: True once the other end was closed.
    """

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.socket = sock
        self.ended = False
        self._incoming = bytearray()
        self._outgoing = bytearray()

    @property
    def is_sending(self) -> bool:
        """True while something is left to be sent; `send_more` goes on with it."""
        return bool(self._outgoing)

    def send(self, message: Message) -> None:
        """Sends a message, now or with `send_more`."""
        self._outgoing += framed(message)
        self.send_more()

    def send_more(self) -> None:
        """Sends what the socket takes now."""
        try:
            while self._outgoing:
                with memoryview(self._outgoing) as view:
                    sent = self.socket.send(view)
                del self._outgoing[:sent]
        except BlockingIOError:
            return
        except OSError:  # the worker is gone; reading says so too
            self._outgoing.clear()

    def receive(self) -> list[Message]:
        """The messages that have come, in order; sets `ended` at the end of the stream."""
        while not self.ended:
            try:
                data = self.socket.recv(_READ_BYTES)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            self.ended = not data
            self._incoming += data
        messages: list[Message] = []
        start = 0
        while len(self._incoming) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._incoming, start)
            end = start + _LENGTH.size + length
            if end > len(self._incoming):
                break
            messages.append(marshal.loads(self._incoming[start + _LENGTH.size : end]))
            start = end
        del self._incoming[:start]
        return messages

    def close(self) -> None:
        """Closes the socket."""
        self.socket.close()
