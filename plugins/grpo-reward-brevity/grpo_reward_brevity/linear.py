"""The reward `brevity/linear`."""

from dataclasses import dataclass

from grpo_core import Completion, Score, Skip, reward
from grpo_reward_brevity.checks import check_number
from grpo_reward_brevity.lengths import Measured, Part, Truncated, Unit, needs

__all__ = ["Linear", "Part", "Truncated", "Unit"]


@reward(range=(0.0, 1.0), isolation="inline", needs=needs)
@dataclass(kw_only=True)
class Linear(Measured):
    """1.0 up to a length, then falling in a straight line to 0.0.

    With n the length, L `max_length` and Z `zero_length`: 1 if n <= L, (Z - n) / (Z - L) if
    L < n < Z, and 0 from Z on. No paper has it; it is the plainest rule that asks for short
    replies, in the range of the other rewards. Deterministic.

    An empty completion earns 0.0 (`min_length`), everything else up to L the same 1.0.

    How a lazy model could cheat: any short text has the point. Gate it on a reward for what is
    right (`requires`), or raise `min_length`.

    Args:
        max_length: L, from 1: what is no longer has the whole point.
        zero_length: Z, above L; None is twice L.
    """

    max_length: int
    zero_length: int | None = None

    def __post_init__(self) -> None:
        """Checks the options."""
        super().__post_init__()
        check_number("max_length", self.max_length, 1, 1e9)
        self._zero = 2 * self.max_length if self.zero_length is None else self.zero_length
        check_number("zero_length", self._zero, self.max_length + 1, 2e9)

    def __call__(self, completion: Completion) -> Score | Skip:
        """Scores a completion by its length."""
        n = self.length(completion)
        falling = (self._zero - n) / (self._zero - self.max_length)
        return self.score(completion, n, 0.0, min(1.0, max(0.0, falling)))
