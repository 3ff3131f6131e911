"""The rewards of grpo-reward-NAME."""

from __future__ import annotations

import re

from grpo_core import Completion, Fail, Rewards, Score, hookimpl, reward

_NUMBER = re.compile(r"-?[0-9][0-9,]*(?:\.[0-9]+)?")


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
    """
    pairs = zip(completions, answer, strict=True)
    return [_score(completion.text, right, tolerance) for completion, right in pairs]


def _score(text: str, answer: str, tolerance: float) -> Score | Fail:
    try:
        right = float(answer)
    except ValueError:
        return Fail(f"the answer {answer!r} is no number")
    numbers = _NUMBER.findall(text)
    if not numbers:
        return Score(0.0, reason="no number")
    number = float(numbers[-1].replace(",", ""))
    return Score(float(abs(number - right) <= tolerance), reason=f"the last number is {number:g}")


@hookimpl
def grpo_rewards() -> Rewards:
    """Returns the rewards of this package; they are called NAME/<reward>."""
    return [last_number_equals]
