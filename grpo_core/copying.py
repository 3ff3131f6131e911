"""Copies of the data that rewards are handed, so that what one does to it reaches no other."""

from __future__ import annotations

from typing import Any


def own_copy(value: Any) -> Any:
    """Returns a copy of lists, dictionaries, tuples and sets; anything else as it is."""
    # copy.deepcopy would copy images and models too, and costs five times as much on JSON values.
    kind = type(value)
    if kind is list:
        return [own_copy(v) for v in value]
    if kind is dict:
        return {k: own_copy(v) for k, v in value.items()}
    if kind is tuple:
        return tuple(own_copy(v) for v in value)
    return set(value) if kind is set else value
