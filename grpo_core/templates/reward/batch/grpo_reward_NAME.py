"""The rewards of grpo-reward-NAME."""

from __future__ import annotations

import math
import re

from grpo_core import Completion, Fail, Rewards, Score, hookimpl, reward

_NUMBER = re.compile(
    r"(?:(?<!\w)[-+])?"  # in 80-85 it is a dash
    r"(?:(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![\w.])\.[0-9]+)"
    r"(?:[eE][-+]?[0-9]+)?"
)


@reward(range=(0.0, 1.0), scope="batch")
def last_number_equals(
    completions: list[Completion], answer: list[str], *, tolerance: float = 0.0
) -> list[Score | Fail]:
    """1.0 if the last number of the text is the answer, else 0.0.

    One call gets many completions, as a model that scores texts wants them. No value may depend
    on the others of the call.

    How a lazy model could cheat: the way to the number is not looked at, so a guess earns the
    point as often as it is right. Of many guesses only the last one counts.

    Args:
        completions: What is scored; their texts are read.
        answer: Of each the right number, such as "85" or "-0.5". Anything else fails the row.
        tolerance: How far off the number may be.

    Raises:
        ValueError: The tolerance is negative.
    """
    if not tolerance >= 0:
        raise ValueError(f"tolerance must not be negative, got {tolerance}")
    pairs = zip(completions, answer, strict=True)
    return [_score(completion.text, right, tolerance) for completion, right in pairs]


def _score(text: str, answer: str, tolerance: float) -> Score | Fail:
    right = _gold(answer)
    if right is None:
        return Fail(f"the answer {answer!r} is no number")
    number = _last_number(text)
    if number is None:
        return Score(0.0, reason="no number")
    return Score(float(abs(number - right) <= tolerance), reason=f"the last number is {number:g}")


def _gold(answer: str) -> float | None:
    """The answer as a number; None if it is none, or not finite."""
    number = _last_number(answer) if _NUMBER.fullmatch(answer.strip()) else None
    return number if number is not None and math.isfinite(number) else None


def _last_number(text: str) -> float | None:
    numbers = _NUMBER.findall(text)
    return float(numbers[-1].replace(",", "")) if numbers else None


@hookimpl
def grpo_rewards() -> Rewards:
    """Returns the rewards of this package; they are called NAME/<reward>."""
    return [last_number_equals]
