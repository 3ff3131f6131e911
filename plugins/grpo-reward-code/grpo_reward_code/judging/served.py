"""Runs inside the box: executes the submission, then serves what the judge asks of it.

Nothing here is trusted by anybody: the submission can read and change all of it. It holds no test
and no expected value.
"""

from __future__ import annotations

import builtins
import importlib
import io
import os
import sys
import traceback
import types
from typing import Any

from grpo_reward_code.judging.peer import Ended, Peer

_LINE = 3
# What is printed during a call goes to the judge, for tests that capture it; up to so many bytes.
_MAX_PRINTED = 100_000


class _Printed(io.RawIOBase):
    """Standard output: holds what is printed until it is taken, and writes what is too much."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def write(self, data: Any) -> int:
        data = bytes(data)
        if len(self._held) + len(data) <= _MAX_PRINTED:
            self._held += data
            return len(data)
        return os.write(1, data)

    def taken(self) -> str:
        text = self._held.decode("utf-8", "replace")
        self._held.clear()
        return text


class Submission(Peer):
    """The end of the line beside the submission."""

    def __init__(self, fd: int, program: types.ModuleType) -> None:
        super().__init__(fd)
        self._program = program
        self._printed = _Printed()
        self._stdout = io.TextIOWrapper(io.BufferedWriter(self._printed), "utf-8", "replace")
        sys.stdout = self._stdout
        self._is_loaded = False
        self._loop: Any = None

    def _send(self, message: Any) -> None:
        try:
            self._stdout.flush()
        except ValueError:  # the program closed it
            pass
        text = self._printed.taken()
        super()._send({**message, "printed": text} if text and self._is_loaded else message)

    def loaded(self, error: str) -> None:
        """Says that the program has been executed; its `input` is that of the tests from now on."""
        self.send({"ready": error})
        self._is_loaded = True
        builtins.input = self._input

    def _input(self, prompt: object = "", /) -> Any:
        print(prompt, end="")
        return self._ask("input")

    def on_named(self, name: str) -> Any:
        """Reads a global of the submission."""
        try:
            return vars(self._program)[name]
        except KeyError:
            raise NameError(f"name {name!r} is not defined") from None

    def on_await(self, owner: Any, method: str = "", error: BaseException | None = None) -> Any:
        """Runs an own coroutine, always in the same loop, since what it uses may belong to that."""
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        kind = type(owner)
        match method:
            case "__anext__":
                owner = kind.__anext__(owner)
            case "__aenter__":
                owner = kind.__aenter__(owner)
            case "__aexit__":
                owner = kind.__aexit__(owner, error and type(error), error, None)

        async def waited() -> Any:
            return await owner

        return self._loop.run_until_complete(waited())

    def found(self, module: str, name: str) -> Any:
        """An object that the judge names."""
        return getattr(importlib.import_module(module), name)


def serve() -> None:
    """Executes the program that stands on standard input, and serves its names."""
    with open(0, "rb", closefd=False) as source:
        text = source.read()
    program = types.ModuleType("program")
    program.__dict__["__builtins__"] = builtins
    sys.modules["program"] = program
    end = Submission(_LINE, program)
    error = _executed(text, program)
    end.loaded(error)
    if not error:
        try:
            end.serve()
        except Ended:
            pass
    os._exit(0)


def _executed(text: bytes, program: types.ModuleType) -> str:
    """Executes the submission; what went wrong, or an empty text."""
    try:
        exec(compile(text, "program.py", "exec", dont_inherit=True), program.__dict__)
    except BaseException as exc:
        return _told(exc)
    return ""


def _told(exc: BaseException) -> str:
    """An exception in one line, with the line of the submission."""
    try:
        said = str(exc)
    except Exception:
        said = ""
    lines = [
        f.lineno for f in traceback.extract_tb(exc.__traceback__) if f.filename == "program.py"
    ]
    line = exc.lineno if isinstance(exc, SyntaxError) else lines[-1] if lines else None
    at = f" (line {line})" if line else ""
    if isinstance(exc, SyntaxError):
        said = str(exc.msg)
    return f"{type(exc).__name__}: {said}"[:300] + at
