"""Checks what a reward returned and makes an `Outcome` of it."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from grpo_core.outcome import Fail, Outcome, Score, Skip
from grpo_core.secrets import hide

# Rewards become float32 in the trainer; anything beyond would be an infinity there.
FLOAT32_MAX = 3.4028234663852886e38
UNBOUNDED = (-FLOAT32_MAX, FLOAT32_MAX)

# Sums of shares such as 0.1 + 0.2 leave a range of [0, 1] by rounding; that is no fault.
_TOLERANCE = 1e-6

# A reason is one line in a table; whole completions in it would fill the disk.
_REASON_LENGTH = 500

_HERE = str(Path(__file__).parent)


def outcome_of(returned: object, low: float, high: float) -> Outcome:
    """Turns one returned value into an outcome; what it must not be becomes a fault.

    Args:
        returned: A number (also a numpy scalar, or an array or tensor of one element), None,
            Score, Skip or Fail; anything else is a fault, as is a metric that is no finite number.
        low: Lowest value the reward may return.
        high: Highest value the reward may return.

    Returns:
        "scored" with a finite value in [low, high], "skipped", or "failed". A reason becomes one
        line of at most 500 characters. Nothing is raised but KeyboardInterrupt.
    """
    if type(returned) is float and low <= returned <= high:
        return Outcome(returned)
    if returned is None:
        return Outcome(None, "skipped")
    try:
        return _outcome_of(returned, low, high)
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # the object is the author's, and reading it runs their code
        return fault(f"returned {_shown(returned)}, which cannot be read: {_described(exc)}")


def outcomes_of(returned: Any, n: int, low: float, high: float) -> list[Outcome]:
    """Turns what one call returned for n completions into n outcomes, in order.

    Anything but n values is a fault in all of them.
    """
    if inspect.isawaitable(returned):
        return [outcome_of(returned, low, high)] * n
    unordered = returned is None or isinstance(returned, str | bytes | Mapping | Set)
    if unordered or not hasattr(returned, "__iter__") or getattr(returned, "ndim", 1) == 0:
        return [
            fault(
                f"returned {type(returned).__name__} for {n} completions; return a list with one "
                f"number or None for each, in order"
            )
        ] * n
    values = list(itertools.islice(returned, n + 1))  # a generator may have no end
    if len(values) != n:
        count = str(len(returned)) if hasattr(returned, "__len__") else str(len(values))
        if len(values) > n and not hasattr(returned, "__len__"):
            count = f"more than {n}"
        return [
            fault(f"returned {count} values for {n} completions; return one for each, in order")
        ] * n
    return [outcome_of(value, low, high) for value in values]


def fault(reason: str) -> Outcome:
    """The outcome of a cell in which the reward broke its contract."""
    return Outcome(None, "failed", one_line(reason), fault=True)


def fault_from(exc: BaseException) -> Outcome:
    """The outcome of a call that raised: type, text and the place it came from.

    The place is the last line that ran in the file of the reward; if a library raised, its line
    follows.
    """
    places = []
    tb = exc.__traceback__
    while tb is not None:
        file = tb.tb_frame.f_code.co_filename
        if not file.startswith(_HERE):  # our own call of the reward says nothing
            places.append((file, tb.tb_lineno))
        tb = tb.tb_next
    reason = f"raised {_described(exc)}"
    if places:
        last = places[-1]
        own = [place for place in places if place[0] == places[0][0]][-1]
        place = f"{own[0]}:{own[1]}" + (f", raised in {last[0]}:{last[1]}" if last != own else "")
        reason = f"{one_line(reason)} ({place})"
        return Outcome(None, "failed", reason, fault=True)
    return fault(reason)


def one_line(reason: object) -> str:
    """Returns a reason as one line of at most 500 characters; None becomes ""."""
    if reason is None:
        return ""
    text = reason if isinstance(reason, str) else str(reason)
    # Cut before the blanks are joined: the text may be megabytes long.
    line = hide(" ".join(text[: 4 * _REASON_LENGTH].split()))
    return line if len(line) <= _REASON_LENGTH else line[: _REASON_LENGTH - 1] + "…"


def _outcome_of(returned: object, low: float, high: float) -> Outcome:
    if isinstance(returned, Skip):
        return Outcome(None, "skipped", one_line(returned.reason))
    if isinstance(returned, Fail):
        return Outcome(None, "failed", one_line(returned.reason))
    if isinstance(returned, Score):
        return _scored(returned, low, high)
    value, wrong = _number(returned, low, high)
    return fault(f"returned {wrong}") if value is None else Outcome(value)


def _scored(score: Score, low: float, high: float) -> Outcome:
    value, wrong = _number(score.value, low, high)
    if value is None:
        return fault(f"returned a Score of {wrong}")
    metrics = {}
    if score.metrics is not None and not isinstance(score.metrics, Mapping):
        return fault(f"returned metrics that are no mapping: {_shown(score.metrics)}")
    for name, metric in (score.metrics or {}).items():
        number, wrong = _number(metric, *UNBOUNDED)
        if number is None:
            return fault(f"returned for metric {name!r} {wrong}")
        metrics[str(name)] = number
    return Outcome(value, "scored", one_line(score.reason), metrics)


def _number(value: Any, low: float, high: float) -> tuple[float | None, str]:
    """Returns the value as a float, or None and what it is instead, to follow "returned"."""
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()  # else Python warns about it much later, at a place that says nothing
        return (
            None,
            f"{_shown(value)}; write the reward as `async def`, or await it before the return",
        )
    if isinstance(value, type) and issubclass(value, Score | Skip | Fail):
        return None, f"the class {value.__name__} itself; return {value.__name__}(…)"
    if hasattr(value, "ndim") and hasattr(value, "item"):
        try:
            value = value.item()  # numpy's float() of a one-element array is on its way out
        except (TypeError, ValueError, RuntimeError):
            shape = tuple(getattr(value, "shape", ()))
            return None, f"an array of shape {shape}, which is not one number"
    if isinstance(value, str | bytes | bytearray | type) or not hasattr(value, "__float__"):
        return None, (
            f"{_shown(value)} of type {type(value).__name__}; return a number, None, Score, Skip "
            f"or Fail"
        )
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError, ArithmeticError) as exc:
        return None, f"{_shown(value)}, which is not one number: {exc}"
    if not math.isfinite(number):
        return None, f"{number}; a reward must be finite"
    if low <= number <= high:
        return number, ""
    if (low, high) == UNBOUNDED:
        return None, f"{number!r}, which is no finite float32"
    if low - _TOLERANCE <= number <= high + _TOLERANCE:
        return min(max(number, low), high), ""
    return None, (
        f"{number!r}, outside its range [{low:g}, {high:g}]; return a value inside or declare "
        f"another: @reward(range=(low, high))"
    )


def _described(exc: BaseException) -> str:
    """Type and text of an exception, whose `__str__` may raise too."""
    try:
        text = one_line(exc)
    except KeyboardInterrupt:
        raise
    except BaseException:  # nothing more to say than the type
        text = ""
    return f"{type(exc).__name__}{': ' + text if text else ''}"


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except KeyboardInterrupt:
        raise
    except BaseException:  # an integer of 5,000 digits, an author's own __repr__
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
