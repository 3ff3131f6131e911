"""`Peer`: one end of the line between the submission and the judge, each asking the other.

A request is a call, an attribute or an operator of an object of the other side; while one side
waits for its answer it serves what the other asks, so that a callback works. A list, dict or set
that is handed over is a copy; what the call changed in it is carried back with the answer.
"""

from __future__ import annotations

import os
import sys
import threading
import types
from collections.abc import Callable, Mapping
from typing import Any

from grpo_reward_code.judging import wire
from grpo_reward_code.judging.links import Links, contents, is_changed
from grpo_reward_code.judging.objects import (
    VALUES,
    Raised,
    Remote,
    RemoteClass,
    Value,
    class_of,
    is_builtin_type,
    number_of,
)
from grpo_reward_code.judging.operators import FUNCTIONS
from grpo_reward_code.judging.wire import Node, NotAMessage, Writer

# Larger messages end the line.
MAX_BYTES = 64_000_000
# Modules whose functions are handed over by name.
_BY_NAME = ("builtins", "math", "_operator", "operator", "itertools", "functools", "string")


# What a function tells of itself.
_TOLD = ("__name__", "__qualname__", "__doc__")


class Ended(BaseException):
    """The other side is gone, or sends what is no message. Nothing can be asked any more."""


class Stopped(RuntimeError):
    """A function of the other side raised StopIteration, which would end a loop here in silence."""


class Peer:
    """One end.

    Args:
        fd: A stream socket.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._own: list[Any] = []  # what the other side knows by number
        self._numbers: dict[int, int] = {}
        self._stand_ins: dict[int, Any] = {}
        self._builtin: dict[type, type] = {}
        self._function = class_of(self, -1, "function", [], ["call"])
        self._lock = threading.RLock()  # one request at a time, whatever threads a test has
        self.links = Links()
        self.asked = 0  # requests sent
        self.ended = ""  # why nothing can be asked any more

    # What is asked of the other side.

    def call(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What a function of the other side returns."""
        return self._ask("call", function, args, dict(kwargs))

    def make(self, kind: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What a class of the other side returns."""
        return self.call(kind, args, kwargs)

    def get(self, owner: Any, name: str) -> Any:
        """An attribute of an object of the other side; those with two underscores are not asked."""
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")
        return self._ask("get", owner, name)

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Sets an attribute of an object of the other side."""
        self._ask("set", owner, name, value)

    def delete(self, owner: Any, name: str) -> None:
        """Deletes an attribute of an object of the other side."""
        self._ask("delete", owner, name)

    def operate(self, name: str, owner: Any, *args: Any) -> Any:
        """What an operator of an object of the other side comes to."""
        if name == "exit":
            args = args[1:2]
        return self._ask("operate", name, owner, *args)

    def wait(self, owner: Any, method: str, *args: Any) -> Any:
        """What an asynchronous method of an object of the other side comes to."""
        return self._ask("await", owner, method, *args)

    def named(self, name: str) -> Any:
        """A global of the program on the other side; NameError if it has none."""
        return self._ask("named", name)

    def _ask(self, kind: str, *args: Any) -> Any:
        with self._lock:
            if self.ended:
                raise Ended(self.ended)
            self.asked += 1
            is_next = (kind == "operate" and args[0] == "next") or (
                kind == "await" and args[1:2] == ("__anext__",)
            )
            writer = Writer(self._node_of)
            self._send({"ask": kind, **self._written(writer, {"args": args})})
            while True:
                reply = self._receive()
                if "ask" in reply:
                    self._serve(reply)
                    continue
                # Only a call has a reason to change what it was handed.
                got = self._read(reply, writer.containers if kind == "call" else None).roots
                if "error" in got:
                    raise self._error(got["error"], is_next)
                if "value" not in got:
                    raise self._end("it sent an answer without a value")
                return got["value"]

    def _written(
        self, writer: Writer, roots: dict[str, Any], is_read: bool = False
    ) -> dict[str, Any]:
        """A message, with the linked containers that changed."""
        roots |= {f"changed {k}": each for k, each in enumerate(self.links.changed())}
        message = writer.message(roots)
        marks = self.links.marks(writer.containers, is_read)
        return {**message, "links": marks} if marks else message

    def _read(self, message: Any, containers: Mapping[int, Any] | None = None) -> wire.Read:
        try:
            marks = message.get("links") or {}
            reuse = {**wire.written_back(message, containers or {}), **self.links.known(marks)}
            read = wire.read(message, self._stand_in, reuse)
            self.links.note(marks, read.containers)
            return read
        except NotAMessage as exc:
            raise self._end(f"it sent what is no message: {exc}") from None
        except (TypeError, ValueError, KeyError) as exc:
            raise self._end(f"it sent what is no message: {exc}") from None

    def _error(self, given: Any, is_next: bool) -> BaseException:
        """What to raise for an error of the other side."""
        error = given if isinstance(given, BaseException) else None
        if error is None:
            raise self._end("it raised what is no exception")
        if isinstance(error, StopIteration | StopAsyncIteration | GeneratorExit) and not is_next:
            error = Stopped(f"the program raised {type(error).__name__}")
        error.__dict__["_grpo_remote"] = True
        return error

    # What the other side asks.

    def serve(self) -> None:
        """Answers until the other side is gone."""
        while True:
            message = self._receive()
            if "ask" not in message:
                raise self._end("it answers what was not asked")
            self._serve(message)

    def _serve(self, message: dict[str, Any]) -> None:
        read = self._read(message)
        containers = read.containers
        before = {k: contents(container) for k, container in containers.items()}
        roots: dict[str, Any] = {}
        try:
            kind, args = message["ask"], read.roots["args"]
            if kind not in self._answers or type(args) is not tuple:
                raise self._end("it asks for something unknown")
            roots["value"] = self._answers[kind](self, *args)
        except Ended:
            raise
        except BaseException as exc:  # whatever it raises, the other side asked for it
            roots["error"] = exc
        self._send(self._reply(roots, containers, before, message["ask"] == "get"))

    def _reply(
        self,
        roots: dict[str, Any],
        containers: dict[int, Any],
        before: dict[int, Any],
        is_read: bool,
    ) -> dict[str, Any]:
        writer = Writer(self._node_of)
        for value in roots.values():
            writer.add(value)
        for number, container in containers.items():
            if writer.has(container) or is_changed(container, before[number]):
                roots[str(number)] = container
        return self._written(writer, roots, is_read)

    _answers: Mapping[str, Callable[..., Any]] = {
        "call": lambda self, function, args, kwargs: self.on_call(function, args, kwargs),
        "get": lambda self, owner, name: self.on_get(owner, name),
        "set": lambda self, owner, name, value: self.on_set(owner, name, value),
        "delete": lambda self, owner, name: self.on_delete(owner, name),
        "operate": lambda self, name, owner, *args: self.on_operate(name, owner, *args),
        "named": lambda self, name: self.on_named(name),
        "base": lambda self, owner: self.on_base(owner),
        "await": lambda self, owner, *args: self.on_await(owner, *args),
        "input": lambda self: self.on_input(),
    }

    def on_call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls an own function."""
        return function(*args, **kwargs)

    def on_get(self, owner: Any, name: str) -> Any:
        """Reads an attribute of an own object."""
        return getattr(owner, name)

    def on_set(self, owner: Any, name: str, value: Any) -> None:
        """Sets an attribute of an own object."""
        setattr(owner, name, value)

    def on_delete(self, owner: Any, name: str) -> None:
        """Deletes an attribute of an own object."""
        delattr(owner, name)

    def on_operate(self, name: str, owner: Any, *args: Any) -> Any:
        """Applies an operator to an own object."""
        return FUNCTIONS[name](owner, *args)

    def on_named(self, name: str) -> Any:
        """Reads a global of the own program."""
        raise NameError(f"name {name!r} is not defined")

    def on_base(self, owner: Any) -> Any:
        """The built-in value of an own object whose class is a subclass of a built-in type."""
        if isinstance(owner, dict):
            return dict(dict.items(owner))
        kinds: tuple[Any, ...] = (list, set, bytearray)
        for kind in kinds:
            if isinstance(owner, kind):
                return kind(kind.__iter__(owner))
        raise TypeError("no built-in value")

    def on_await(self, owner: Any, method: str = "", error: BaseException | None = None) -> Any:
        """Runs an own coroutine to its end, or an asynchronous method of an own object."""
        raise TypeError("not awaited")

    def on_input(self) -> Any:
        """A line for a program that reads one during a call."""
        raise EOFError("EOF when reading a line")

    # Objects that cross.

    def mentioned(self, stand_in: Any) -> Any:
        """What stands for an object that the other side sends again."""
        return stand_in

    def is_function(self, value: Any) -> bool:
        """True of what stands for a function or class of the other side."""
        return isinstance(value, RemoteClass) or type(value) is self._function

    def handed_over(self, value: Any) -> bool:
        """True of an own object that the other side got from here."""
        return id(value) in self._numbers

    def may_name(self, value: Any) -> bool:
        """True if the other side may take an object of this name from its own modules."""
        if is_builtin_type(value):
            return True
        return isinstance(value, type) and issubclass(value, Exception) and _is_stdlib(value)

    def found(self, module: str, name: str) -> Any:
        """An object that the other side names."""
        raise NotImplementedError

    def _node_of(self, value: Any) -> Node:
        number = number_of(value, self)
        if number is not None:
            return ["yours", number]
        if isinstance(value, type | types.BuiltinFunctionType) and self.may_name(value):
            return ["name", value.__module__, value.__name__]
        known = self._numbers.get(id(value))
        if known is not None:
            return ["object", known]
        number = self._numbers[id(value)] = len(self._own)
        self._own.append(value)
        return ["object", number, self._about(value)]

    def _about(self, value: Any) -> Node:
        kind = type(value)
        if isinstance(value, type):
            bases = [self._node_of(base) for base in _bases(value)]
            own = [n[2:-2] for n in vars(value) if n[2:-2] in FUNCTIONS and n == f"__{n[2:-2]}__"]
            own += ["call"] if "__call__" in vars(value) else []
            return ["class", value.__name__, bases, own, _text(value, "__doc__")]
        if kind in (types.FunctionType, types.MethodType, types.BuiltinFunctionType):
            return ["function", *(_text(value, name) for name in _TOLD)]
        if kind is types.GeneratorType:
            return ["generator"]
        if kind is types.CoroutineType:
            return ["coroutine"]
        if isinstance(value, BaseException):
            args = value.args if type(value.args) is tuple else ()
            return ["error", self._node_of(kind), Writer(self._node_of).message({"args": args})]
        for base in VALUES:
            if isinstance(value, base) and base is not object:
                plain = _plain(base, value)
                about = Writer(self._node_of).message({"value": plain})
                return ["instance", self._node_of(kind), about]
        return ["instance", self._node_of(kind), None]

    def _stand_in(self, node: Node) -> Any:
        """What stands here for an object of the other side, or the own object it means."""
        match node:
            case ["yours", int(number)] if 0 <= number < len(self._own):
                return self._own[number]
            case ["name", str(module), str(name)]:
                return self.found(module, name)
            case ["object", int(number)] if number in self._stand_ins:
                return self.mentioned(self._stand_ins[number])
            case ["object", int(number), [*about]] if number not in self._stand_ins:
                made = self._made(number, about)
                self._stand_ins[number] = made
                return made
        raise NotAMessage(f"an unknown node {str(node)[:80]}")

    def _made(self, number: int, about: Node) -> Any:
        match about:
            case ["class", str(name), [*bases], [*own], doc]:
                known_bases = [self._class(base) for base in bases]
                return class_of(self, number, name, known_bases, own, doc)
            case ["function", *texts]:
                function = _instance(self._function, number)
                told = zip(_TOLD, texts, strict=True)
                vars(function).update({k: v for k, v in told if isinstance(v, str)})
                return function
            case ["generator"]:
                return self._generator(_instance(self._function, number))
            case ["coroutine"]:
                return self._coroutine(_instance(self._function, number))
            case ["error", kind, message]:
                args = wire.read(message, self._stand_in).roots["args"]
                return _exception(self._class(kind), number, args)
            case ["instance", kind, None]:
                return _instance(self._opaque(self._class(kind)), number)
            case ["instance", kind, message]:
                value = wire.read(message, self._stand_in).roots["value"]
                known: Any = self._class(kind)
                made: Any = known.__new__(known, value)
                vars(made)["_grpo_number"] = number
                return made
        raise NotAMessage("an unknown kind of object")

    def _opaque(self, kind: type) -> type:
        """The class of what stands for instances; of a built-in one, such as zip, made here."""
        if isinstance(kind, RemoteClass):
            return kind
        if kind not in self._builtin:
            own = ["call"] if any("__call__" in vars(each) for each in kind.__mro__) else []
            self._builtin[kind] = class_of(self, -1, kind.__name__, [], own)
        return self._builtin[kind]

    def _class(self, node: Node) -> type:
        found = self._stand_in(node)
        if not isinstance(found, type):
            raise NotAMessage("what is no class")
        return found

    def _generator(self, remote: Any) -> Any:
        """A generator here that runs one of the other side."""
        try:
            value = self.operate("next", remote)
            while True:
                sent = yield value
                if sent is None:
                    value = self.operate("next", remote)
                else:
                    value = self.call(self.get(remote, "send"), (sent,), {})
        except StopIteration as exc:
            return exc.value

    async def _coroutine(self, remote: Any) -> Any:
        return self._ask("await", remote)

    def base(self, remote: Any) -> Any:
        """The built-in value of an object whose class is a subclass of list, dict or set."""
        return self._ask("base", remote)

    # The line.

    def send(self, message: Any) -> None:
        """Sends a message of one's own making."""
        self._send(message)

    def receive(self) -> Any:
        """The next message."""
        return self._receive()

    def _send(self, message: Any) -> None:
        data = wire.dumped(message)
        data = len(data).to_bytes(8, "big") + data
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError:
            raise self._end("it ended") from None

    def _receive(self) -> dict[str, Any]:
        size = int.from_bytes(self._read_bytes(8), "big")
        if size > MAX_BYTES:
            raise self._end(f"it sent a message of more than {MAX_BYTES} bytes")
        try:
            message = wire.loaded(self._read_bytes(size))
        except NotAMessage as exc:
            raise self._end(f"it sent what is no message: {exc}") from None
        if not isinstance(message, dict):
            raise self._end("it sent what is no message")
        return message

    def _read_bytes(self, size: int) -> bytes:
        parts = []
        while size:
            try:
                part = os.read(self._fd, min(size, 1 << 20))
            except OSError:
                part = b""
            if not part:
                raise self._end("it ended")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _end(self, why: str) -> Ended:
        self.ended = self.ended or why
        return Ended(self.ended)


def _bases(kind: type) -> list[type]:
    """The bases of a class that the other side can know: its own, and built-in ones."""
    bases: list[type] = []
    for base in kind.__bases__:
        if base is object:
            continue
        if is_builtin_type(base) or not _is_stdlib(base):
            found = [base]
        else:
            found = _bases(base)
        bases += [each for each in found if each not in bases]
    return bases


def _is_stdlib(kind: type) -> bool:
    return getattr(kind, "__module__", "").partition(".")[0] in sys.stdlib_module_names


def _plain(base: Any, value: Any) -> Any:
    """The exact built-in value in an instance of a subclass, whatever the subclass overrides."""
    if base is int:
        return int.__index__(value)
    if base is float:
        return float.__float__(value)
    if base is complex:
        return complex.__add__(value, 0j)
    if base is str:
        return str.__str__(value)
    if base is bytes:
        return bytes(bytes.__iter__(value))
    return base(base.__iter__(value))


def _text(value: Any, name: str) -> str | None:
    text = getattr(value, name, None)
    return text if type(text) is str else None


def _instance(kind: type, number: int) -> Any:
    if issubclass(kind, Value) or not issubclass(kind, Remote):
        raise NotAMessage(f"an instance of {kind.__name__} without a value")
    made = object.__new__(kind)
    made.__dict__["_grpo_number"] = number
    return made


def _exception(kind: type, number: int, args: Any) -> BaseException:
    if not issubclass(kind, BaseException) or type(args) is not tuple:
        raise NotAMessage("an exception of a class that is none")
    if issubclass(kind, Raised):
        made: BaseException = kind.__new__(kind, *args)
        made.__dict__["_grpo_number"] = number
    else:
        try:
            made = kind(*args)
        except Exception:  # some, such as UnicodeDecodeError, take no others than their own
            made = kind.__new__(kind)
    made.args = args
    made.__dict__["_grpo_remote"] = True  # also of one that is returned and that the test raises
    return made
