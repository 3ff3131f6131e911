"""What stands in one process for an object of the other: classes, instances, functions, errors.

A class of the other side becomes a class here, with the same bases as far as those are known, so
that `isinstance` and `except` need no word from there. An instance becomes an instance of that
class whose attributes and operators are asked for. Of a subclass of a built-in type that cannot
change, such as int or tuple, the built-in value comes along, and it is what comparisons see.
"""

from __future__ import annotations

import builtins
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grpo_reward_code.judging.peer import Peer

# Values of these come along with an instance of a subclass.
VALUES = (int, float, complex, str, bytes, tuple, frozenset)
# Instances of subclasses of these are asked for their value when they are compared.
CHANGING = (list, dict, set, bytearray)

ORDER: tuple[str, ...] = ("lt", "le", "gt", "ge")
ARITHMETIC = (
    "add",
    "sub",
    "mul",
    "matmul",
    "truediv",
    "floordiv",
    "mod",
    "divmod",
    "pow",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
)
UNARY: tuple[str, ...] = (
    "neg",
    "pos",
    "abs",
    "invert",
    "int",
    "float",
    "complex",
    "index",
    "round",
)
UNARY += ("trunc", "floor", "ceil")
OTHERS: tuple[str, ...] = ("len", "bool", "hash", "str", "repr", "format", "bytes", "dir", "fspath")
OTHERS += ("iter", "next", "reversed", "getitem", "setitem", "delitem", "contains")
OTHERS += ("enter", "exit", "aiter")
OPERATORS = (
    "eq",
    "ne",
    *ORDER,
    *ARITHMETIC,
    *(f"r{name}" for name in ARITHMETIC),
    *(f"i{name}" for name in ARITHMETIC if name != "divmod"),
    *UNARY,
    *OTHERS,
)


class RemoteClass(type):
    """The class of what stands for a class of the other side."""

    _grpo_peer: Peer
    _grpo_number: int
    _grpo_trusted: bool

    def __new__(cls, name: str, bases: tuple[type, ...], names: dict[str, Any]) -> RemoteClass:
        """Refuses a class statement of a test with a base of the program."""
        if "_grpo_number" not in names:
            raise CannotSubclass(f"class {name} has a base from the program")
        return super().__new__(cls, name, bases, names)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance, made on the other side."""
        return cls._grpo_peer.make(cls, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        return cls._grpo_peer.get(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        if name.startswith(("_grpo_", "__")):
            super().__setattr__(name, value)
        else:
            cls._grpo_peer.set(cls, name, value)

    def __iter__(cls) -> Any:
        return cls._grpo_peer.operate("iter", cls)

    def __len__(cls) -> Any:
        return cls._grpo_peer.operate("len", cls)

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return cls._grpo_peer.operate("getitem", cls, key)


class CannotSubclass(BaseException):
    """A test makes a subclass of a class of the program, whose code would have to run with it."""


class Remote:
    """Stands for an object of the other side."""

    _grpo_peer: Peer
    _grpo_number: int
    _grpo_trusted = False  # made by the test itself, of a class that it names
    _grpo_changing: type | None = None  # the built-in type it is a subclass of
    _grpo_equals = True  # False where its class says itself what it equals

    def __getattr__(self, name: str) -> Any:
        return self._grpo_peer.get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._grpo_peer.set(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._grpo_peer.delete(self, name)

    async def __anext__(self) -> Any:
        return self._grpo_peer.wait(self, "__anext__")

    async def __aenter__(self) -> Any:
        return self._grpo_peer.wait(self, "__aenter__")

    async def __aexit__(self, _: Any, error: BaseException | None, __: Any) -> Any:
        return self._grpo_peer.wait(self, "__aexit__", error)


def _called(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self._grpo_peer.call(self, args, kwargs)


def _forwarded(name: str) -> Any:
    def method(self: Any, *args: Any) -> Any:
        return self._grpo_peer.operate(name, self, *args)

    method.__name__ = f"__{name}__"
    return method


for _name in OPERATORS:
    setattr(Remote, f"__{_name}__", _forwarded(_name))


class Value:
    """Mixed into the class of an instance whose built-in value came along.

    Operators are those of the value; what only the subclass has is asked for.
    """

    _grpo_peer: Peer
    _grpo_number: int

    def __getattr__(self, name: str) -> Any:
        return self._grpo_peer.get(self, name)


# Those of a subclass that are never asked for, since its value is here.
_OF_THE_VALUE = {"hash", "bool", "int", "float", "complex", "index", "bytes"}
_OF_VALUES = frozenset(OPERATORS) - _OF_THE_VALUE
# Those that only show it, and are asked for whoever made the instance.
_SHOWING = ("str", "repr", "format", "dir", "fspath")


def _own_of_value(name: str, base: type) -> Any:
    """An operator that a subclass of a built-in type defines.

    Unless the test made the instance, the value that is here answers for it.
    """
    plain = getattr(base, f"__{name}__", None)

    def method(self: Any, *args: Any) -> Any:
        asks = name in _SHOWING or (args and all(map(is_remote, args)))
        trusted = vars(self).get("_grpo_trusted") and name not in ("eq", "ne")
        if plain is None or asks or trusted:
            return self._grpo_peer.operate(name, self, *args)
        if name in ("eq", "ne"):
            return name == "ne"
        return plain(self, *args)

    return method


class Raised:
    """Mixed into the class of an exception of the other side."""

    _grpo_peer: Peer
    _grpo_number: int

    def __getattr__(self, name: str) -> Any:
        return self._grpo_peer.get(self, name)

    def __str__(self) -> str:
        text = self._grpo_peer.operate("str", self)
        return text if type(text) is str else type(self).__name__


def class_of(
    peer: Peer, number: int, name: str, bases: list[type], own: list[str], doc: str | None = None
) -> RemoteClass:
    """A class that stands for one of the other side.

    Args:
        peer: Who is asked for what it has.
        number: Its number there.
        name: Its name.
        bases: Classes made by this function, and built-in types.
        own: Operators that the class itself defines, "call" among them.
        doc: Its documentation.
    """
    known = tuple(base for base in bases if isinstance(base, RemoteClass))
    names: dict[str, Any] = {
        "_grpo_peer": peer,
        "_grpo_number": number,
        "_grpo_trusted": False,
        "__module__": "program",
        "__doc__": doc if isinstance(doc, str) else None,
    }
    parents: tuple[type, ...] = known
    for base in bases:
        if isinstance(base, RemoteClass):
            continue
        if issubclass(base, BaseException):
            parents = (*parents, *_without(Raised, parents), base)
        elif base in VALUES:
            parents = (*parents, *_without(Value, parents), base)
        elif base in CHANGING:
            names["_grpo_changing"] = base
            names["__class__"] = property(partial(_same, base))
    if "call" in own:
        names["__call__"] = _called
    if {"eq", "ne"} & set(own):
        names["_grpo_equals"] = False
    if any(issubclass(parent, Value) for parent in parents):
        value = next(kind for kind in VALUES if any(issubclass(p, kind) for p in parents))
        names |= {f"__{n}__": _own_of_value(n, value) for n in own if n in _OF_VALUES}
    if not any(issubclass(p, (Remote, Value, Raised)) for p in parents):
        parents = (*parents, Remote)
    try:
        return RemoteClass(str(name), parents, names)
    except TypeError:  # an order of bases that cannot be had here
        return RemoteClass(str(name), parents[:1], names)


def _same(base: type, _: object) -> type:
    return base


def _without(mixin: type, parents: tuple[type, ...]) -> tuple[type, ...]:
    return () if any(issubclass(parent, mixin) for parent in parents) else (mixin,)


def number_of(value: Any, peer: Peer) -> int | None:
    """Number of what stands for an object of the other side; None of anything else."""
    if isinstance(value, RemoteClass):
        return value._grpo_number
    if isinstance(type(value), RemoteClass):
        number: int | None = value.__dict__.get("_grpo_number")
        return number
    return None


def is_builtin_type(value: Any) -> bool:
    """True of int, ValueError and the like."""
    return isinstance(value, type) and getattr(builtins, value.__name__, None) is value


def is_remote(value: Any) -> bool:
    """True of what stands for an object of the other side."""
    return isinstance(type(value), RemoteClass) or isinstance(value, RemoteClass)
