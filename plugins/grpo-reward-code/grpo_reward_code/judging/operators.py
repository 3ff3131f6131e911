"""Operators by their names: what a side does with its own object when it is asked to."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from grpo_reward_code.judging.objects import ARITHMETIC, ORDER


def _enter(context: Any) -> Any:
    return type(context).__enter__(context)


def _exit(context: Any, error: BaseException | None = None) -> Any:
    return type(context).__exit__(context, error and type(error), error, None)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "divmod": divmod,
    "pow": pow,
    "and": operator.and_,
    "or": operator.or_,
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    **{name: getattr(operator, name) for name in ORDER},
    **{name: _FUNCTIONS.get(name) or getattr(operator, name) for name in ARITHMETIC},
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": abs,
    "invert": operator.invert,
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
    "round": round,
    "trunc": math.trunc,
    "floor": math.floor,
    "ceil": math.ceil,
    "len": len,
    "bool": bool,
    "hash": hash,
    "str": str,
    "repr": repr,
    "format": format,
    "bytes": bytes,
    "dir": dir,
    "fspath": lambda value: type(value).__fspath__(value),
    "iter": iter,
    "next": next,
    "reversed": reversed,
    "getitem": operator.getitem,
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "contains": operator.contains,
    "enter": _enter,
    "exit": _exit,
    "aiter": aiter,
}


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda value, other: function(other, value)


FUNCTIONS |= {f"r{name}": _reflected(FUNCTIONS[name]) for name in ARITHMETIC}
FUNCTIONS |= {f"i{name}": getattr(operator, f"i{name}") for name in ARITHMETIC if name != "divmod"}
