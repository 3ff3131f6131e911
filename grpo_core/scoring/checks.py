"""Checks what a reward returned and makes an `Outcome` of it."""

from __future__ import annotations

import inspect
import math
import traceback
from collections.abc import Mapping

from grpo_core.outcome import Fail, Outcome, Score, Skip

# Rewards become float32 in the trainer; anything beyond would be an infinity there.
FLOAT32_MAX = 3.4028234663852886e38
UNBOUNDED = (-FLOAT32_MAX, FLOAT32_MAX)

# Sums of shares such as 0.1 + 0.2 leave a range of [0, 1] by rounding; that is no fault.
_TOLERANCE = 1e-6


def outcome_of(returned: object, low: float, high: float) -> Outcome:
    """Turns one returned value into an outcome; what it must not be becomes a fault.

    Args:
        returned: A number, None, Score, Skip or Fail; anything else is a fault.
        low: Lowest value the reward may return.
        high: Highest value the reward may return.

    Returns:
        "scored" with a finite value in [low, high], "skipped", or "failed".
    """
    if type(returned) is float and low <= returned <= high:
        return Outcome(returned)
    if returned is None:
        return Outcome(None, "skipped")
    if isinstance(returned, Skip):
        return Outcome(None, "skipped", returned.reason)
    if isinstance(returned, Fail):
        return Outcome(None, "failed", returned.reason)
    if isinstance(returned, Score):
        return _scored(returned, low, high)
    value, wrong = _number(returned, low, high)
    return fault(wrong) if value is None else Outcome(value)


def fault(reason: str) -> Outcome:
    """The outcome of a cell in which the reward broke its contract."""
    return Outcome(None, "failed", reason, fault=True)


def fault_from(exc: BaseException) -> Outcome:
    """The outcome of a call that raised: type, text and the place it came from."""
    text = " ".join(str(exc).split())
    frames = traceback.extract_tb(exc.__traceback__)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return fault(f"raised {type(exc).__name__}{': ' + text if text else ''}{place}")


def _scored(score: Score, low: float, high: float) -> Outcome:
    value, wrong = _number(score.value, low, high)
    if value is None:
        return fault(wrong)
    if not score.metrics:
        return Outcome(value, "scored", score.reason)
    if not isinstance(score.metrics, Mapping):
        return fault(f"returned metrics that are no mapping: {score.metrics!r}")
    metrics = {}
    for name, metric in score.metrics.items():
        number, wrong = _number(metric, *UNBOUNDED)
        if number is None:
            return fault(f"metric {name!r}: {wrong}")
        metrics[str(name)] = number
    return Outcome(value, "scored", score.reason, metrics)


def _number(value: object, low: float, high: float) -> tuple[float | None, str]:
    """Returns the value as a float, or None and what is wrong with it."""
    if inspect.iscoroutine(value):
        value.close()  # else Python warns about it much later, at a place that says nothing
        return None, "returned a coroutine; async rewards are not supported yet"
    if isinstance(value, str | bytes | bytearray) or not hasattr(value, "__float__"):
        return None, (
            f"returned {_shown(value)} of type {type(value).__name__}; return a number, None, "
            f"Score, Skip or Fail"
        )
    try:
        number = float(value)  # __float__ was looked for above
    except Exception as exc:  # an array of several values, a lazy number that fails
        return None, f"returned {_shown(value)}, which is not one number: {exc}"
    if not math.isfinite(number):
        return None, f"returned {number}; a reward must be finite"
    if low <= number <= high:
        return number, ""
    if low - _TOLERANCE <= number <= high + _TOLERANCE:
        return min(max(number, low), high), ""
    if (low, high) == UNBOUNDED:
        return None, f"returned {number!r}, which is no finite float32"
    return None, (
        f"returned {number!r}, outside its range [{low:g}, {high:g}]; return a value inside or "
        f"declare another range"
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
