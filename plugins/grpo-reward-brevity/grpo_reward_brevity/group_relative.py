"""The reward `brevity/group_relative`."""

from dataclasses import dataclass

from grpo_core import Completion, Fail, Score, Skip, reward
from grpo_reward_brevity.checks import check_number
from grpo_reward_brevity.lengths import Measured, Part, Truncated, Unit, needs
from grpo_reward_brevity.right import is_right

__all__ = ["GroupRelative", "Part", "Truncated", "Unit"]


@reward(range=(-0.5, 0.5), scope="group", isolation="inline", needs=needs)
@dataclass(kw_only=True)
class GroupRelative(Measured):
    """Where a completion's length stands in its group: Kimi k1.5's length reward, with a floor.

    With n the length, and min and max the shortest and longest of the group,
    lambda = 1/2 - (n - min) / (max - min), from 1/2 for the shortest to -1/2 for the longest:

    - right: floor + (1/2 - floor) (lambda + 1/2), from 1/2 down to `floor`,
    - wrong: min(0, lambda): no bonus for being short, a penalty for being long,
    - all of one length, or a group of one: 0.

    Source: Kimi k1.5 (arXiv 2501.12599), section 2.3.3, whose right answers earn lambda itself:
    that is `floor = -0.5`. There the longest right answer earns less than a short wrong one; the
    default floor keeps every right answer above every wrong one. Lengths are compared within the
    group of one prompt; open-r1's `len_reward` compares all that are in one call. Deterministic.

    An empty completion is the shortest and wrong, and earns the lowest value by `min_length`.

    How a lazy model could cheat: it is a race; right answers get ever shorter for as long as they
    stay right. Give it a small weight, or end it by a schedule.

    Args:
        floor: What the longest right answer earns, from -0.5 to 0.5.
        threshold: From which value of the input `correct` on an answer is right.
    """

    floor: float = 0.1
    threshold: float = 0.5

    def __post_init__(self) -> None:
        """Checks the options."""
        super().__post_init__()
        check_number("floor", self.floor, -0.5, 0.5)
        check_number("threshold", self.threshold, -1e9, 1e9)

    def __call__(
        self, completions: list[Completion], correct: list[float | bool]
    ) -> list[Score | Skip | Fail]:
        """Scores the completions of one prompt."""
        lengths = [self.length(completion) for completion in completions]
        shortest, longest = min(lengths), max(lengths)
        scores: list[Score | Skip | Fail] = []
        for completion, n, given in zip(completions, lengths, correct, strict=True):
            right = is_right(given, self.threshold)
            if isinstance(right, Fail):
                scores.append(right)
                continue
            value = self._value(n, shortest, longest, is_right=right)
            scores.append(self.score(completion, n, -0.5, value))
        return scores

    def _value(self, n: int, shortest: int, longest: int, *, is_right: bool) -> float:
        if shortest == longest:
            return 0.0
        place = (longest - n) / (longest - shortest)  # lambda + 1/2, from 0 to 1
        if is_right:
            return self.floor * (1.0 - place) + 0.5 * place
        return min(0.0, place - 0.5)
