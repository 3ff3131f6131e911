"""The reward `brevity/published_cosine`."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from grpo_core import Completion, Fail, reward
from grpo_reward_brevity.checks import check_choice, check_number
from grpo_reward_brevity.right import is_right

Rule = Literal["trl", "open_r1", "open_r1_config", "ms_swift", "paper_code"]

# What n = 0 and n = L earn: of right answers, and of wrong ones.
_ENDS: dict[Rule, tuple[tuple[float, float], tuple[float, float]]] = {
    "trl": ((1.0, 0.5), (-1.0, -0.5)),
    "open_r1": ((1.0, 0.5), (-1.0, -0.5)),
    "open_r1_config": ((1.0, 0.5), (0.0, -0.5)),
    "ms_swift": ((1.0, 0.5), (-0.5, 0.0)),
    "paper_code": ((1.0, 0.5), (-1.0, -0.5)),
}
# So many tokens before L the paper's code takes an answer for one that was cut off.
_PAPER_MARGIN = 16


def _needs(*, rule: Rule) -> tuple[str, ...]:
    return () if rule.startswith("open_r1") else ("token_ids",)


@reward(range=(-1.0, 1.0), isolation="inline", needs=_needs)
@dataclass(kw_only=True)
class PublishedCosine:
    """The number that a published cosine length reward gives, quirks included; -1.0 to 1.0.

    For comparing runs with published ones. A half wave from one value at n = 0 to another at L
    `max_length`, for right and for wrong answers (input `correct`, right from 0.5 on):

    | rule | n | right | wrong | behind L |
    |---|---|---|---|---|
    | trl | tokens | 1 to 0.5 | -1 to -0.5 | stays |
    | open_r1 | characters | 1 to 0.5 | -1 to -0.5 | climbs again |
    | open_r1_config | characters | 1 to 0.5 | 0 to -0.5 | climbs again |
    | ms_swift | tokens | 1 to 0.5 | -0.5 to 0 | climbs again |
    | paper_code | tokens | 1 to 0.5 | -1 to -0.5 | 0 from L - 16 on |

    "open_r1_config" is what open-r1's script passes: there a long wrong answer earns less than a
    short one. Deterministic.

    How a lazy model could cheat: where the wave climbs again, the longest text has the most. For
    training take `brevity/cosine`.

    Args:
        rule: Whose.
        max_length: L, from 1.
    """

    rule: Rule
    max_length: int

    def __post_init__(self) -> None:
        """Checks the options."""
        check_choice("rule", self.rule, get_args(Rule))
        check_number("max_length", self.max_length, 1, 1e9)

    def __call__(self, completion: Completion, correct: float | bool) -> float | Fail:
        """Scores a completion by its length and by whether it is right."""
        right = is_right(correct, 0.5)
        if isinstance(right, Fail):
            return right
        counted = completion.text if self.rule.startswith("open_r1") else completion.token_ids or ()
        n, limit = len(counted), self.max_length
        if self.rule == "paper_code" and n + _PAPER_MARGIN >= limit:
            return 0.0
        at_zero, at_max = _ENDS[self.rule][0 if right else 1]
        x = min(n / limit, 1.0) if self.rule == "trl" else n / limit
        share = (1.0 + math.cos(math.pi * x)) / 2.0
        return at_zero * share + at_max * (1.0 - share)
