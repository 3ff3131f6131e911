"""What a script or a data set gives as JSON: is it?"""

from __future__ import annotations

import math
from typing import Any

_MOST_SHOWN = 80
_MOST_REASON = 500


def escaped(key: str) -> str:
    """A key as a JSON pointer has it, cut where it is too long to be read."""
    key = key if len(key) <= _MOST_SHOWN else key[:_MOST_SHOWN] + "…"
    return key.replace("~", "~0").replace("/", "~1")


def cut(reason: str) -> str:
    """A reason without its middle where it is too long: a pointer may be as deep as a value."""
    if len(reason) <= _MOST_REASON:
        return reason
    half = _MOST_REASON // 2
    return f"{reason[:half]}…{reason[-half:]}"


def plain_fault(value: Any, max_depth: int) -> tuple[str, str] | None:
    """What no JSON text can hold: where it is, as a JSON pointer, and what is wrong; else None."""
    todo: list[tuple[Any, tuple[Any, ...], int]] = [(value, (), 1)]
    while todo:
        one, path, depth = todo.pop()
        fault = _own_fault(one)
        if not fault and isinstance(one, dict | list) and depth > max_depth:
            return "", f"nested deeper than {max_depth} levels"
        if fault:
            return _pointer(path), fault
        if isinstance(one, dict):
            todo += [(inner, (path, key), depth + 1) for key, inner in one.items()]
        elif isinstance(one, list):
            todo += [(inner, (path, i), depth + 1) for i, inner in enumerate(one)]
    return None


def _own_fault(value: Any) -> str:
    if value is None or isinstance(value, bool | int):
        return ""
    if isinstance(value, str):
        return "" if _is_text(value) else "holds half of a surrogate pair"
    if isinstance(value, float):
        return "" if math.isfinite(value) else f"expected a finite number, got {value!r}"
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                kind = type(key).__name__
                return f"expected text as keys, got {str(key)[:_MOST_SHOWN]} of type {kind}"
            if not _is_text(key):
                return f"the key {key[:_MOST_SHOWN]!r} holds half of a surrogate pair"
        return ""
    if isinstance(value, list):
        return ""
    return f"expected what JSON has, got a {type(value).__name__}"


def _is_text(value: str) -> bool:
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _pointer(path: tuple[Any, ...]) -> str:
    parts = []
    while path:
        path, part = path
        parts.append("/" + escaped(str(part)))
    return "".join(reversed(parts))
