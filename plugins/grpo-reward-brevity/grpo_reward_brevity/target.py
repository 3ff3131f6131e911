"""The reward `brevity/target`."""

from dataclasses import dataclass
from typing import Literal, get_args

from grpo_core import Completion, Fail, Score, Skip, reward
from grpo_reward_brevity.asked import asked_length
from grpo_reward_brevity.checks import check_choice, check_number
from grpo_reward_brevity.lengths import Measured, Part, Truncated, Unit, needs
from grpo_reward_brevity.right import is_right

__all__ = ["Part", "Target", "Truncated", "Unit"]

Form = Literal["product", "sum"]
# Of the sum, whose penalty has no floor of its own.
_LOWEST = -1e9


def _range(*, form: Form) -> tuple[float, float]:
    return (_LOWEST if form == "sum" else 0.0), 1.0


@reward(range=_range, isolation="inline", needs=needs)
@dataclass(kw_only=True)
class Target(Measured):
    """1.0 for a right answer of exactly the target's length, less the further away it is.

    With n the length and t the target:

    - form "product": max(0, 1 - alpha |n - t|) if the answer is right, else 0;
    - form "sum": 1[right] - alpha |n - t|, without a floor, down to -1e9.

    Source: Aggarwal and Welleck, "L1" (arXiv 2503.04697), LCPO-Exact: the sum is the paper's
    equation 1, the product the multiplied form of its code. Deterministic.

    An empty completion earns 0.0 of the product, as every wrong answer does; of the sum what a
    wrong one of no length does, -alpha t (both by `min_length`). Under the sum a wrong answer of
    the right length earns more than a right one that is off by more than 1 / alpha.

    How a lazy model could cheat: a right answer can be padded, or cut, to the length. That is what
    it is paid for.

    Args:
        target: t, from 1, for all rows; None where the column `target_length` says it.
        alpha: What one unit off costs, above 0; 0.0003 is the paper's, for tokens.
        form: "product" or "sum", as above.
        threshold: From which value of the input `correct` on an answer is right.
    """

    target: int | None = None
    alpha: float = 0.0003
    form: Form = "product"
    threshold: float = 0.5

    def __post_init__(self) -> None:
        """Checks the options."""
        super().__post_init__()
        if self.target is not None:
            check_number("target", self.target, 1, 1e9)
        check_choice("form", self.form, get_args(Form))
        check_number("alpha", self.alpha, 1e-12, 1000)
        check_number("threshold", self.threshold, -1e9, 1e9)

    def __call__(
        self, completion: Completion, correct: float | bool, target_length: float | None = None
    ) -> Score | Skip | Fail:
        """Scores a completion by its length, if it is right."""
        asked = asked_length("target", self.target, target_length)
        if isinstance(asked, Fail):
            return asked
        right = is_right(correct, self.threshold)
        if isinstance(right, Fail):
            return right
        n = self.length(completion)
        off = self.alpha * abs(n - asked)
        if self.form == "sum":
            # What the range ends in would drown the rest of the group: silence and what was cut
            # off are held for wrong, and for no nearer to the target than nothing.
            low = max(_LOWEST, -max(off, self.alpha * asked))
            return self.score(completion, n, low, max(_LOWEST, right - off))
        return self.score(completion, n, 0.0, max(0.0, 1.0 - off) if right else 0.0)
