"""Exact built-in values across processes, as tagged JSON.

A message is flat: `[root, nodes]`. A cell is null, a boolean, a small integer, a float, a text, or
`[k]` for node k. A node is a tag and what it holds. So a value may be as deep as it likes, may
hold itself, and shares what it shares. What is no exact built-in value is the sender's: a hook
makes a node of it, and another of the receiver makes something of the node.

Nothing here trusts the other side: what is no message raises `NotAMessage`.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import json
import pathlib
import re
import sys
import types
import uuid
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

Node = list[Any]

# Above this, decimal digits take quadratic time and meet Python's limit of 4,300.
_PLAIN_INT = 1 << 53

_MUTABLE: dict[type, str] = {
    list: "list",
    dict: "dict",
    set: "set",
    bytearray: "bytearray",
    deque: "deque",
    Counter: "Counter",
    OrderedDict: "OrderedDict",
    defaultdict: "defaultdict",
}
# Factories that a defaultdict keeps; with another one it arrives without.
_FACTORIES: dict[str, type] = {f.__name__: f for f in (int, float, str, bool, list, dict, set)}
_FROZEN: dict[type, str] = {
    tuple: "tuple",
    frozenset: "frozenset",
    type({}.keys()): "keys",
    type({}.values()): "values",
    type({}.items()): "items",
    types.MappingProxyType: "proxy",
    ChainMap: "chain",
}
# Of what has frozen contents: what it is made of.
_THAW: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "frozenset": frozenset,
    "keys": lambda items: dict.fromkeys(items).keys(),
    "values": lambda items: dict(enumerate(items)).values(),
    "items": lambda items: dict(items).items(),
    "proxy": lambda items: types.MappingProxyType(dict(items)),
    "chain": lambda items: ChainMap(dict(items)),
}
_MAKE: dict[str, Callable[[], Any]] = {tag: kind for kind, tag in _MUTABLE.items()}
_MAKE |= {f"defaultdict {name}": partial(defaultdict, f) for name, f in _FACTORIES.items()}
_PAIRS = frozenset(tag for tag in _MAKE if "ict" in tag or tag == "Counter")


class NotAMessage(Exception):
    """The other side sent what is no message."""


class Writer:
    """Makes messages of values.

    Args:
        foreign: Makes a node of what is no exact built-in value.
    """

    def __init__(self, foreign: Callable[[Any], Node]) -> None:
        self._foreign = foreign
        self._parts: dict[int, tuple[str, Any]] = {}  # by id: the tag and the children
        self._mutable: list[int] = []
        self._frozen: list[int] = []  # a child before what holds it
        self._leaves: dict[int, Node] = {}
        self._alive: list[Any] = []
        self.containers: dict[int, Any] = {}  # of the message, by the number of their node

    def add(self, value: Any) -> None:
        """Takes a value and all that is in it."""
        stack: list[tuple[Any, bool]] = [(value, False)]
        while stack:
            each, is_done = stack.pop()
            key = id(each)
            if is_done:
                self._frozen.append(key)
                continue
            if key in self._parts or key in self._leaves or _cell(each) is not None:
                continue
            self._alive.append(each)
            kind = type(each)
            if kind in _FROZEN:
                stack.append((each, True))
                is_map = _FROZEN[kind] in ("proxy", "chain")
                children = list(each.items()) if is_map else list(each)
                self._parts[key] = (_FROZEN[kind], children)
            elif kind is bytearray:
                self._leaves[key] = ["bytearray", each.hex()]
                continue
            elif kind in _MUTABLE:
                self._mutable.append(key)
                tag = _tag(each)
                children = [x for kv in each.items() for x in kv] if tag in _PAIRS else list(each)
                self._parts[key] = (tag, children)
                self._alive.append(children)
            else:
                self._leaves[key] = _leaf(each) or self._foreign(each)
                continue
            stack.extend((child, False) for child in reversed(children))

    def has(self, value: Any) -> bool:
        """True if the container is part of the message."""
        return id(value) in self._parts or id(value) in self._leaves

    def message(self, roots: Mapping[str, Any]) -> dict[str, Any]:
        """The message: each root by name, and the nodes."""
        for root in roots.values():
            self.add(root)
        order = [*self._leaves, *self._mutable, *self._frozen]
        numbers = {key: k for k, key in enumerate(order)}
        by_id = {id(each): each for each in self._alive}
        self.containers = {
            k: by_id[key] for key, k in numbers.items() if type(by_id[key]) in _MUTABLE
        }

        def cell(value: Any) -> Any:
            found = _cell(value)
            if found is not None:
                return found[0]
            return [numbers[id(value)]]

        nodes: list[Node] = list(self._leaves.values())
        for key in order[len(nodes) :]:
            tag, children = self._parts[key]
            nodes.append([tag, [cell(child) for child in children]])
            if tag == "deque" and by_id[key].maxlen is not None:
                nodes[-1].append(by_id[key].maxlen)
        return {"roots": {name: cell(root) for name, root in roots.items()}, "nodes": nodes}


def _tag(value: Any) -> str:
    if type(value) is defaultdict and value.default_factory is not None:
        name = getattr(value.default_factory, "__name__", "")
        if _FACTORIES.get(name) is value.default_factory:
            return f"defaultdict {name}"
    return _MUTABLE[type(value)]


def _cell(value: Any) -> tuple[Any] | None:
    """A value that needs no node, in a tuple since it may be None."""
    kind = type(value)
    if value is None or kind is bool or kind is float:
        return (value,)
    if kind is int and -_PLAIN_INT < value < _PLAIN_INT:
        return (value,)
    if kind is str and (value.isascii() or not _has_surrogates(value)):
        return (value,)
    return None


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _leaf(value: Any) -> Node | None:
    kind = type(value)
    if kind is int:
        return ["int", hex(value)]
    if kind is str:
        return ["str", value.encode("utf-8", "surrogatepass").hex()]
    if kind is bytes:
        return ["bytes", value.hex()]
    if kind is complex:
        return ["complex", value.real, value.imag]
    if kind is slice and all(type(x) in (int, type(None)) for x in _parts(value)):
        return ["slice", *_parts(value)]
    if kind is uuid.UUID:
        return ["uuid", value.hex]
    if kind is pathlib.PosixPath or kind is pathlib.PurePosixPath:
        return ["path", kind.__name__, str(value)]
    if kind is re.Pattern:
        about = _leaf_or_text(value.pattern)
        return ["pattern", about, value.flags] if about else None
    if kind is range:
        return ["range", hex(value.start), hex(value.stop), hex(value.step)]
    if value is Ellipsis:
        return ["ellipsis"]
    if value is NotImplemented:
        return ["notimplemented"]
    if kind is fractions.Fraction:
        return ["fraction", hex(value.numerator), hex(value.denominator)]
    if kind is decimal.Decimal:
        return ["decimal", str(value)]
    if kind is datetime.date or (
        kind in (datetime.datetime, datetime.time)
        and type(value.tzinfo) in (type(None), datetime.timezone)
    ):
        return ["moment", kind.__name__, value.isoformat()]
    if kind is datetime.timedelta:
        return ["timedelta", value.days, value.seconds, value.microseconds]
    return _of_numpy(value)


def _parts(value: slice) -> tuple[Any, Any, Any]:
    return value.start, value.stop, value.step


def _leaf_or_text(pattern: Any) -> Any:
    if type(pattern) is bytes:
        return ["bytes", pattern.hex()]
    return pattern if type(pattern) is str and not _has_surrogates(pattern) else None


def _pattern(about: Any, flags: int) -> Any:
    return re.compile(bytes.fromhex(about[1]) if isinstance(about, list) else about, flags)


def _path(kind: str, text: str) -> Any:
    return pathlib.PosixPath(text) if kind == "PosixPath" else pathlib.PurePosixPath(text)


def _of_numpy(value: Any) -> Node | None:
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, (numpy.generic, numpy.ndarray)):
        return None
    if type(value).__module__ != "numpy" or value.dtype.kind not in "biufcU":
        return None
    data = numpy.ascontiguousarray(value)
    scalar = isinstance(value, numpy.generic)
    shape = None if scalar else list(value.shape)
    return ["numpy", value.dtype.str, shape, data.tobytes().hex()]


class Read(NamedTuple):
    """What was read.

    Attributes:
        roots: The values, by name.
        containers: All that can be changed in place, by the number of their node.
    """

    roots: dict[str, Any]
    containers: dict[int, Any]


def written_back(message: Any, containers: Mapping[int, Any]) -> dict[int, Any]:
    """Which containers of an earlier message an answer to it changes: by the node that says so.

    Args:
        message: The answer; its roots are called as the number of a node of the earlier message.
        containers: Those of the earlier message, by the number of their node.
    """
    roots = message["roots"]
    return {
        roots[str(number)][0]: container
        for number, container in containers.items()
        if str(number) in roots
    }


def read(
    message: Any,
    foreign: Callable[[Node], Any],
    reuse: Mapping[int, Any] | None = None,
) -> Read:
    """The values of a message.

    Args:
        message: What `Writer.message` made.
        foreign: Makes a value of a node that is the sender's.
        reuse: Containers to be filled anew, by the number of the node that holds their contents.

    Raises:
        NotAMessage: It is none.
    """
    try:
        nodes, roots = message["nodes"], message["roots"]
        values = _values(nodes, foreign, reuse or {})
        held = {k: values[k] for k, node in enumerate(nodes) if node[0] in _MAKE}
        return Read({name: _value(cell, values) for name, cell in roots.items()}, held)
    except NotAMessage:
        raise
    except Exception as exc:  # whatever the other side thought up
        raise NotAMessage(f"{type(exc).__name__}: {exc}") from None


def _value(cell: Any, values: list[Any]) -> Any:
    if isinstance(cell, list):
        (number,) = cell
        if number < 0:
            raise NotAMessage("a negative number of a node")
        return values[number]
    if isinstance(cell, dict):
        raise NotAMessage("an object in a cell")
    return cell


def _values(
    nodes: list[Node], foreign: Callable[[Node], Any], reuse: Mapping[int, Any]
) -> list[Any]:
    values: list[Any] = []
    for number, node in enumerate(nodes):
        tag = node[0]
        if tag in _MAKE:
            made = reuse.get(number)
            if type(made) is not type(_MAKE[tag]()):
                made = deque(maxlen=node[2]) if len(node) > 2 else _MAKE[tag]()
            values.append(made)
        elif tag in _THAW:
            values.append(None)
        elif tag in _LEAVES:
            values.append(_LEAVES[tag](*node[1:]))
        else:
            values.append(foreign(node))
    for number, node in enumerate(nodes):
        if node[0] in _THAW:
            children = [_child(c, values, number, nodes) for c in node[1]]
            values[number] = _THAW[node[0]](children)
    for number, node in enumerate(nodes):
        if node[0] in _MAKE:
            _fill(values[number], node[0], node[1], values)
    return values


def _child(cell: Any, values: list[Any], holder: int, nodes: list[Node]) -> Any:
    """A child of something frozen, which has to be made before it."""
    if isinstance(cell, list) and nodes[cell[0]][0] in _THAW and cell[0] >= holder:
        raise NotAMessage("a tuple before what it holds")
    return _value(cell, values)


def _fill(container: Any, tag: str, held: Any, values: list[Any]) -> None:
    if tag == "bytearray":
        container[:] = bytes.fromhex(held)
        return
    items = [_value(cell, values) for cell in held]
    container.clear()
    if tag in _PAIRS:
        for key, value in zip(items[::2], items[1::2], strict=True):
            container[key] = value
    elif tag == "set":
        container.update(items)
    else:
        container.extend(items)


def _moment(kind: str, text: str) -> Any:
    kinds: dict[str, Any] = {
        "datetime": datetime.datetime,
        "date": datetime.date,
        "time": datetime.time,
    }
    return kinds[kind].fromisoformat(text)


def _fraction(numerator: str, denominator: str) -> fractions.Fraction:
    return fractions.Fraction(int(numerator, 16), int(denominator, 16))


def _numpy(dtype: str, shape: list[int] | None, data: str) -> Any:
    import numpy

    kind = numpy.dtype(dtype)
    if kind.kind not in "biufcU":
        raise NotAMessage("an array of objects")
    flat = numpy.frombuffer(bytes.fromhex(data), kind)
    if shape is None:
        # Its Python value equals what it equals, and is compared without numpy's own rules.
        return flat[0].item() if kind.kind != "U" else str(flat[0])
    return flat.reshape(shape).copy()


_LEAVES: dict[str, Callable[..., Any]] = {
    "int": lambda text: int(text, 16),
    "str": lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
    "bytes": bytes.fromhex,
    "complex": complex,
    "range": lambda a, b, c: range(int(a, 16), int(b, 16), int(c, 16)),
    "ellipsis": lambda: ...,
    "notimplemented": lambda: NotImplemented,
    "fraction": _fraction,
    "decimal": decimal.Decimal,
    "moment": _moment,
    "timedelta": datetime.timedelta,
    "numpy": _numpy,
    "slice": slice,
    "uuid": lambda text: uuid.UUID(hex=text),
    "path": _path,
    "pattern": _pattern,
}


def dumped(message: Any) -> bytes:
    """A message as bytes."""
    return json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode()


def loaded(data: bytes) -> Any:
    """A message of bytes; what is none raises NotAMessage."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise NotAMessage(f"{type(exc).__name__}: {exc}") from None
