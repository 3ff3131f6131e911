"""The reward `brevity/budget`."""

from dataclasses import dataclass
from typing import Literal, get_args

from grpo_core import Completion, Fail, Score, Skip, reward
from grpo_reward_brevity.asked import asked_length
from grpo_reward_brevity.checks import check_choice, check_number
from grpo_reward_brevity.lengths import Measured, Part, Truncated, Unit, needs
from grpo_reward_brevity.right import is_right

__all__ = ["Budget", "Part", "Truncated", "Unit"]

Form = Literal["paper", "code"]


@reward(range=(0.0, 1.0), isolation="inline", needs=needs)
@dataclass(kw_only=True)
class Budget(Measured):
    """Up to 1.0 for a right answer within a budget, falling with every unit over it.

    With n the length and b the budget, if the answer is right, else 0:

    - form "paper": alpha (b - n) + delta, cut to [0, 1];
    - form "code": (alpha (b - n), cut to [-1, 1], + 1) / 2, half as steep; `delta` has no part.

    Source: Aggarwal and Welleck, "L1" (arXiv 2503.04697), LCPO-Max: equation 2, with delta = 0.5,
    and its published code. At the budget a right answer earns `delta`, and all of it from
    (1 - delta) / alpha units below on. Deterministic.

    An empty completion earns 0.0, since it is not right (and by `min_length`).

    How a lazy model could cheat: it cannot, but short of the reward that says what is right.

    Args:
        budget: b, from 1, for all rows; None where the column `target_length` says it.
        alpha: What one unit is worth, above 0; 0.0003 is the paper's, for tokens.
        delta: What a right answer earns at the budget, 0 to 1.
        form: "paper" or "code", as above.
        threshold: From which value of the input `correct` on an answer is right.
    """

    budget: int | None = None
    alpha: float = 0.0003
    delta: float = 0.5
    form: Form = "paper"
    threshold: float = 0.5

    def __post_init__(self) -> None:
        """Checks the options."""
        super().__post_init__()
        if self.budget is not None:
            check_number("budget", self.budget, 1, 1e9)
        check_choice("form", self.form, get_args(Form))
        check_number("alpha", self.alpha, 1e-12, 1000)
        check_number("delta", self.delta, 0, 1)
        check_number("threshold", self.threshold, -1e9, 1e9)

    def __call__(
        self, completion: Completion, correct: float | bool, target_length: float | None = None
    ) -> Score | Skip | Fail:
        """Scores a completion by its length, if it is right."""
        asked = asked_length("budget", self.budget, target_length)
        if isinstance(asked, Fail):
            return asked
        right = is_right(correct, self.threshold)
        if isinstance(right, Fail):
            return right
        n = self.length(completion)
        left = self.alpha * (asked - n)
        if self.form == "code":
            value = (min(1.0, max(-1.0, left)) + 1.0) / 2.0
        else:
            value = min(1.0, max(0.0, left + self.delta))
        return self.score(completion, n, 0.0, value if right else 0.0)
