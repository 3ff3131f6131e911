"""The reward `brevity/cosine`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from grpo_core import Completion, Fail, Score, Skip, reward
from grpo_reward_brevity.checks import check_number, check_range
from grpo_reward_brevity.lengths import Measured, Part, Truncated, Unit, needs
from grpo_reward_brevity.right import is_right

__all__ = ["Cosine", "Part", "Truncated", "Unit"]


def _range(
    *, right: Sequence[float], wrong: Sequence[float], exceed_value: float | None
) -> tuple[float, float]:
    ends = [*check_range("right", right), *check_range("wrong", wrong)]
    if exceed_value is not None:
        ends.append(exceed_value)
    return min(ends), max(ends)


@reward(range=_range, isolation="inline", needs=needs)
@dataclass(kw_only=True)
class Cosine(Measured):
    """Right answers earn more when short, wrong ones when long, on a half wave of a cosine.

    With n the length, L `max_length`, x = min(n / L, 1) and [low, high] the ends of `right` or
    `wrong`:

    - right: low + (high - low) (1 + cos(pi x)) / 2, from high at n = 0 down to low at L,
    - wrong: high - (high - low) (1 + cos(pi x)) / 2, from low at n = 0 up to high at L.

    Source: Yeo et al., "Demystifying Long Chain-of-Thought Reasoning" (arXiv 2502.03373), equation
    1, whose right end is r^c and left end r^w. TRL's `get_cosine_scaled_reward` gives the same
    numbers with the default ends. n / L is clamped, else the curve climbs again behind L.
    Deterministic.

    An empty completion earns the lowest end (`min_length`). A wrong answer earns least when
    short, so silence never pays; with the default ends every right answer is above every wrong
    one.

    How a lazy model could cheat: where it cannot be right, it gains by rambling up to L. Set
    `wrong = [-1.0, -1.0]` to pay wrong answers nothing for length.

    Args:
        max_length: L, from 1.
        right: [low, high] for right answers: at L and at n = 0.
        wrong: [low, high] for wrong answers: at n = 0 and at L.
        exceed_value: What n >= L earns, right or wrong; None goes on with the end of the curve.
        threshold: From which value of the input `correct` on an answer is right.
    """

    max_length: int
    right: Sequence[float] = (0.5, 1.0)
    wrong: Sequence[float] = (-1.0, -0.5)
    exceed_value: float | None = None
    threshold: float = 0.5

    def __post_init__(self) -> None:
        """Checks the options."""
        super().__post_init__()
        check_number("max_length", self.max_length, 1, 1e9)
        check_number("threshold", self.threshold, -1e9, 1e9)
        if self.exceed_value is not None:
            check_number("exceed_value", self.exceed_value, -1000, 1000)
        self._right = check_range("right", self.right)
        self._wrong = check_range("wrong", self.wrong)
        self._low, _ = _range(right=self.right, wrong=self.wrong, exceed_value=self.exceed_value)

    def __call__(self, completion: Completion, correct: float | bool) -> Score | Skip | Fail:
        """Scores a completion by its length and by whether it is right."""
        right = is_right(correct, self.threshold)
        if isinstance(right, Fail):
            return right
        n = self.length(completion)
        if self.exceed_value is not None and n >= self.max_length:
            value = self.exceed_value
        elif right:
            low, high = self._right
            value = cosine(n, self.max_length, at_zero=high, at_max=low)
        else:
            low, high = self._wrong
            value = cosine(n, self.max_length, at_zero=low, at_max=high)
        return self.score(completion, n, self._low, value)


def cosine(n: int, max_length: int, *, at_zero: float, at_max: float) -> float:
    """The value of the half wave at a length, between its two ends; see `Cosine`."""
    share = (1.0 + math.cos(math.pi * min(n / max_length, 1.0))) / 2.0
    # As a mean of the two ends it cannot leave them, whatever floats make of it.
    return at_zero * share + at_max * (1.0 - share)
