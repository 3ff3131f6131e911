"""Containers that are attributes of an object of the other side, kept the same on both sides.

`node.children.append(x)` changes a copy, since a list crosses as a value. So a list, dict or set
that was read as an attribute has a number on both sides, and with each message goes what changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any

# Members of all linked containers: each message looks at them. What is larger is a copy.
_MAX_MEMBERS = 3_000
# What a container itself counts as.
_OF_EACH = 5


class Links:
    """The linked containers of one end."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], tuple[Any, Any]] = {}  # the container, what was in it
        self._keys: dict[int, tuple[str, int]] = {}
        self._last = 0
        self._members = 0

    def clear(self) -> None:
        """Forgets all; from now on they are copies."""
        self._held.clear()
        self._keys.clear()
        self._members = 0

    def changed(self) -> list[Any]:
        """Those that are no longer what the other side knows."""
        return [each for each, before in self._held.values() if is_changed(each, before)]

    def marks(self, containers: Mapping[int, Any], is_read: bool) -> dict[str, Any]:
        """What a message says of its containers.

        Args:
            containers: Those of the message, by the number of their node.
            is_read: Whether it answers for an attribute, so that they are to be linked.
        """
        marks: dict[str, Any] = {}
        is_read = is_read and sum(map(_size, containers.values())) <= _MAX_MEMBERS
        for node, container in containers.items():
            key = self._keys.get(id(container))
            if key is None and is_read:
                self._last += 1
                key = ("mine", self._last)
            if key is not None:
                marks[str(node)] = list(key)
                self._keep(key, container)
        return marks

    def known(self, marks: Any) -> dict[int, Any]:
        """Containers here that a message of the other side means, by the number of their node."""
        found = {}
        for node, mark in dict(marks).items():
            key = _key_here(mark)
            if key in self._held:
                found[int(node)] = self._held[key][0]
        return found

    def note(self, marks: Any, containers: Mapping[int, Any]) -> None:
        """Takes note of what a message brought."""
        for node, mark in dict(marks).items():
            key, container = _key_here(mark), containers.get(int(node))
            if container is None or (key[0] == "mine" and key not in self._held):
                continue
            if key[0] == "mine" and self._held[key][0] is not container:
                continue  # another kind of container
            self._keep(key, container)

    def _keep(self, key: tuple[str, int], container: Any) -> None:
        self._drop(key)
        self._held[key] = (container, contents(container))
        self._keys[id(container)] = key
        self._members += _size(container)
        while self._members > _MAX_MEMBERS:
            self._drop(next(iter(self._held)))

    def _drop(self, key: tuple[str, int]) -> None:
        if key in self._held:
            container, before = self._held.pop(key)
            self._keys.pop(id(container), None)
            self._members -= _size(before[0] if isinstance(container, dict) else before)


def _size(container: Any) -> int:
    return len(container) + _OF_EACH


def _key_here(mark: Any) -> tuple[str, int]:
    """The key of this side for that of the other."""
    side, number = mark
    return ("theirs" if side == "mine" else "mine"), int(number)


def contents(container: Any) -> Any:
    """What is in a container, to compare with later."""
    if isinstance(container, dict):
        return list(container), list(container.values())
    return bytes(container) if type(container) is bytearray else list(container)


def is_changed(container: Any, before: Any) -> bool:
    """True if other objects are in a container than before, or in another order."""
    if type(container) is bytearray:
        return bool(bytes(container) != before)
    if isinstance(container, dict):
        keys, values = before
        return (
            len(container) != len(keys)
            or not all(map(is_, container, keys))
            or not all(map(is_, container.values(), values))
        )
    return len(container) != len(before) or not all(map(is_, container, before))
