"""The rewards of grpo-reward-NAME."""

from __future__ import annotations

import re

from grpo_core import Completion, Fail, Rewards, Score, hookimpl, reward

_NUMBER = re.compile(r"-?[0-9][0-9,]*(?:\.[0-9]+)?")


@reward(range=(0.0, 1.0))
class LastNumberEquals:
    """1.0 if the last number of the text is the answer, else 0.0.

    How a lazy model could cheat: the way to the number is not looked at, so a guess earns the
    point as often as it is right. Of many guesses only the last one counts.

    Args:
        tolerance: How far off the number may be.

    Raises:
        ValueError: The tolerance is negative.
    """

    def __init__(self, *, tolerance: float = 0.0) -> None:
        if not tolerance >= 0:
            raise ValueError(f"tolerance must not be negative, got {tolerance}")
        self._tolerance = tolerance

    def check_inputs(self, answer: str) -> str | None:
        """What is wrong with the inputs of a row; asked before a training begins."""
        try:
            float(answer)
        except ValueError:
            return f"the answer {answer!r} is no number"
        return None

    def __call__(self, completion: Completion, answer: str) -> Score | Fail:
        """Scores a completion; `answer` is the right number, such as "85" or "-0.5"."""
        if wrong := self.check_inputs(answer):
            return Fail(wrong)
        numbers = _NUMBER.findall(completion.text)
        if not numbers:
            return Score(0.0, reason="no number")
        number = float(numbers[-1].replace(",", ""))
        right = abs(number - float(answer)) <= self._tolerance
        return Score(float(right), reason=f"the last number is {number:g}")


@hookimpl
def grpo_rewards() -> Rewards:
    """Returns the rewards of this package; they are called NAME/<reward>."""
    return [LastNumberEquals]
