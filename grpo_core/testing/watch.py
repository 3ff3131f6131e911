"""Calls of a reward watched from inside: what came back, what was raised, what was changed."""

from __future__ import annotations

import asyncio
import itertools
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal

from grpo_core.completion import Completion
from grpo_core.outcome import Outcome, Score
from grpo_core.reward import RewardInfo
from grpo_core.scoring.checks import UNBOUNDED, fault_from, outcome_of

# What can be wrong with a call, in the order in which one hides the next.
Fault = Literal["call", "length", "type", "finite", "range"]


@dataclass
class Seen:
    """One call, watched from inside.

    Attributes:
        completions: What it was called with.
        returned: What came back, a list at scope batch and group.
        finished: False while it runs, and if it raised.
        error: What it raised.
        seconds: How long it took.
        changed: Names of arguments that were not the same afterwards.
    """

    completions: Sequence[Completion]
    returned: Any = None
    finished: bool = False
    error: BaseException | None = None
    seconds: float = 0.0
    changed: Sequence[str] = ()


@dataclass
class Watched:
    """The calls of one batch.

    Attributes:
        calls: Each call, in order.
        outcomes: What the engine made of them; None if a call never came back.
        timeout_s: Seconds that a call could take.
    """

    timeout_s: float
    calls: list[Seen] = field(default_factory=list)
    outcomes: list[Outcome] | None = None


def spied(function: Callable[..., Any], info: RewardInfo, calls: list[Seen]) -> Callable[..., Any]:
    """The function, noting what it is called with and what comes of it."""

    def begin(args: tuple[Any, ...], inputs: Mapping[str, Any]) -> tuple[Seen, dict[str, bytes]]:
        first = args[0]
        seen = Seen((first,) if isinstance(first, Completion) else tuple(first))
        calls.append(seen)
        return seen, _frozen_each(args[0], inputs)

    def end(seen: Seen, returned: Any, start: float) -> Any:
        seen.seconds = perf_counter() - start
        if info.scope != "sample" and hasattr(returned, "__next__"):  # it can be read only once
            returned = list(itertools.islice(returned, len(seen.completions) + 1))
        seen.returned, seen.finished = returned, True
        return returned

    def call(*args: Any, **inputs: Any) -> Any:
        seen, before = begin(args, inputs)
        start = perf_counter()
        try:
            return end(seen, function(*args, **inputs), start)
        except BaseException as exc:
            seen.error = exc
            raise
        finally:
            seen.changed = _changed(before, _frozen_each(args[0], inputs))

    async def call_async(*args: Any, **inputs: Any) -> Any:
        seen, before = begin(args, inputs)
        start = perf_counter()
        try:
            return end(seen, await function(*args, **inputs), start)
        except asyncio.CancelledError:  # it was late
            raise
        except BaseException as exc:
            seen.error = exc
            raise
        finally:
            seen.changed = _changed(before, _frozen_each(args[0], inputs))

    return call_async if info.is_async else call


def _frozen_each(first: Any, inputs: Mapping[str, Any]) -> dict[str, bytes]:
    """By what a person calls it, what a call was given; the columns hold the inputs too."""
    alone = isinstance(first, Completion)
    name = "completion" if alone else "completions"
    each = [first] if alone else list(first)
    bare = [c.with_columns({}) if isinstance(c, Completion) else c for c in each]
    frozen = {f"input {key!r}": _frozen(value) for key, value in inputs.items()}
    frozen[name] = _frozen(bare)
    frozen["completion.columns"] = _frozen([getattr(c, "columns", None) for c in each])
    return frozen


def _frozen(argument: object) -> bytes:
    """Bytes that differ if what a call was given is changed."""
    try:
        return pickle.dumps(argument)
    except Exception:  # an input of a type of the author's; whatever pickling it raises
        return repr(argument).encode("utf-8", "backslashreplace")


def _changed(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    changed = [name for name in before if before[name] != after[name]]
    # What is changed in an input, or in the order of the list, is seen in the columns too.
    return [name for name in changed if name != "completion.columns"] or changed


def faults_of(
    watched: Watched, info: RewardInfo, low: float, high: float
) -> list[tuple[Fault, Seen, str]]:
    """What is wrong with the calls: at most one fault for each value, or for each call."""
    found: list[tuple[Fault, Seen, str]] = []
    for seen in watched.calls:
        if seen.error is not None:
            found.append(("call", seen, fault_from(seen.error).reason))
        elif not seen.finished:
            found.append(("call", seen, f"did not return within {watched.timeout_s:g} s"))
        elif info.scope == "sample":
            found += _value_faults(seen, [seen.returned], low, high)
        elif _is_list(seen.returned):
            n, given = len(seen.completions), len(seen.returned)
            if given != n:
                text = f"returned {given} values for {n} completions; return one for each"
                found.append(("length", seen, text))
            else:
                found += _value_faults(seen, seen.returned, low, high)
        else:
            kind = type(seen.returned).__name__
            text = f"returned {kind} at scope {info.scope!r}; return a list"
            found.append(("type", seen, text))
    return found


def _is_list(returned: Any) -> bool:
    no_list = isinstance(returned, str | bytes | Mapping | set | frozenset)
    return not no_list and hasattr(returned, "__len__") and getattr(returned, "ndim", 1) > 0


def _value_faults(
    seen: Seen, values: Sequence[Any], low: float, high: float
) -> list[tuple[Fault, Seen, str]]:
    found: list[tuple[Fault, Seen, str]] = []
    for value in values:
        free = outcome_of(value, *UNBOUNDED)
        if free.fault:
            found.append(("finite" if _holds_unfinite(value) else "type", seen, free.reason))
            continue
        outcome = outcome_of(value, low, high)
        if outcome.fault:
            found.append(("range", seen, outcome.reason))
    return found


def _holds_unfinite(value: Any) -> bool:
    numbers = [value]
    if isinstance(value, Score):
        numbers = [value.value, *dict(value.metrics or {}).values()]
    return any(_is_unfinite(number) for number in numbers)


def _is_unfinite(number: Any) -> bool:
    try:
        return not isinstance(number, str | bytes) and not math.isfinite(number)
    except (TypeError, ValueError, OverflowError):  # no number at all
        return False
