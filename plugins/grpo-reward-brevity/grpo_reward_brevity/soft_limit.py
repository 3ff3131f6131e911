"""The reward `brevity/soft_limit`."""

from dataclasses import dataclass

from grpo_core import Completion, Score, Skip, reward
from grpo_reward_brevity.checks import check_number
from grpo_reward_brevity.lengths import Measured, Part, Truncated, Unit, needs

__all__ = ["Part", "SoftLimit", "Truncated", "Unit"]


@reward(range=(-1.0, 0.0), isolation="inline", needs=needs)
@dataclass(kw_only=True)
class SoftLimit(Measured):
    """0.0 up to a length, then a penalty that falls to -1.0 at the limit: DAPO's soft overlong.

    With n the length, L `max_length` and c `cache`:

    - 0 if n <= L - c,
    - (L - c - n) / c if L - c < n <= L,
    - -1 if n > L, however long.

    Source: DAPO (arXiv 2503.14476), equation 13. With `cache = 0` it is a step behind L. The
    numbers are TRL's and open-r1's `get_soft_overlong_punishment`. Deterministic.

    An empty completion earns -1.0 (`min_length`), all others up to L - c the same 0.0: nothing is
    gained by being shorter than that.

    How a lazy model could cheat: it can only avoid the penalty, by any short text. Pair it with a
    reward for what is right.

    Args:
        max_length: L, from 1; the trainer's max_completion_length or less.
        cache: c, from 0 to L: how long before L the penalty begins; None is a fifth of L, as in
            the paper (4,096 of 20,480).
    """

    max_length: int
    cache: int | None = None

    def __post_init__(self) -> None:
        """Checks the options."""
        super().__post_init__()
        check_number("max_length", self.max_length, 1, 1e9)
        self._cache = self.max_length // 5 if self.cache is None else self.cache
        check_number("cache", self._cache, 0, self.max_length)

    def __call__(self, completion: Completion) -> Score | Skip:
        """Scores a completion by its length."""
        n = self.length(completion)
        return self.score(completion, n, -1.0, soft_limit(n, self.max_length, self._cache))


def soft_limit(n: int, max_length: int, cache: int) -> float:
    """The penalty for a length, from -1.0 to 0.0; see `SoftLimit`."""
    if n <= max_length - cache:
        return 0.0
    return (max_length - cache - n) / cache if n <= max_length else -1.0
