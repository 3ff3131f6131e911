"""How much is computed for one comparison before it is given up."""

from __future__ import annotations

from grpo_reward_math.failures import LimitHit

# About microseconds of an ordinary processor.
MOST_WORK = 400_000


class Work:
    """What is left of the work that one evaluation may take."""

    def __init__(self) -> None:
        self.left = float(MOST_WORK)

    def spend(self, cost: float) -> None:
        """Counts `cost` microseconds, by estimate; raises LimitHit once they are too many."""
        self.left -= cost
        if self.left < 0:
            raise LimitHit("more work than one comparison may take")
