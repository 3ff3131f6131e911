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


@reward(range=(0.0, 1.0), scope="group")
def answers_briefly(
    completions: list[Completion], answer: list[str], *, tolerance: float = 0.0
) -> list[Score | Fail]:
    """1.0 for the shortest right text of a group, down to 0.5 for the longest, 0.0 if wrong.

    A text is right if its last number is the answer. One call gets all completions of a prompt.

    How a lazy model could cheat: the way to the number is not looked at, and a bare number is
    the shortest text there is. So this reward teaches to leave the thinking out.

    Args:
        completions: All completions of one prompt; their texts are read.
        answer: Of each the right number, such as "85" or "-0.5". Anything else fails the row.
        tolerance: How far off the number may be.

    Raises:
        ValueError: The tolerance is negative.
    """
    if not tolerance >= 0:
        raise ValueError(f"tolerance must not be negative, got {tolerance}")
    texts = [completion.text for completion in completions]
    right = [_is_right(text, a, tolerance) for text, a in zip(texts, answer, strict=True)]
    lengths = [len(text) for text, is_right in zip(texts, right, strict=True) if is_right]
    scores: list[Score | Fail] = []
    for text, gold, is_right in zip(texts, answer, right, strict=True):
        if is_right is None:
            scores.append(Fail(f"the answer {gold!r} is no number"))
        elif not is_right:
            scores.append(Score(0.0, reason="the last number is not the answer"))
        else:
            spare = (len(text) - min(lengths)) / max(1, max(lengths) - min(lengths))
            scores.append(Score(1.0 - 0.5 * spare, metrics={"n_chars": len(text)}))
    return scores


def _is_right(text: str, answer: str, tolerance: float) -> bool | None:
    """Whether the last number is the answer; None if the answer is no number."""
    right = _gold(answer)
    if right is None:
        return None
    number = _last_number(text)
    return number is not None and abs(number - right) <= tolerance


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
    return [answers_briefly]
