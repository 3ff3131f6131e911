"""The reward `brevity/published_overlong`."""

from dataclasses import dataclass
from typing import Literal, get_args

from grpo_core import Completion, reward
from grpo_reward_brevity.checks import check_choice, check_number
from grpo_reward_brevity.soft_limit import soft_limit

Rule = Literal["trl", "open_r1", "ms_swift", "verl"]

# The two without a floor fall on for ever; a range has ends, and no text is this long.
_LOWEST = -1e9


def _range(*, rule: Rule) -> tuple[float, float]:
    return (_LOWEST if rule in ("ms_swift", "verl") else -1.0), 0.0


@reward(range=_range, isolation="inline", needs=("token_ids",))
@dataclass(kw_only=True)
class PublishedOverlong:
    """The number that a published overlong penalty gives, quirks included; 0.0 at most.

    For comparing runs with published ones. With n the tokens, L `max_length` and c `cache`:

    - "trl", "open_r1": `get_soft_overlong_punishment`: 0 up to L - c, (L - c - n) / c up to L, and
      -1.0 behind it, the lowest.
    - "ms_swift", "verl": `SoftOverlong` and the DAPO reward manager with a factor of 1:
      min((L - c - n) / c, 0) without a floor, down to -1e9.

    They count all tokens of the trainer, and a completion that was cut off like any other. An
    empty one earns 0.0, the most. Deterministic.

    How a lazy model could cheat: silence is never punished. For training take
    `brevity/soft_limit`.

    Args:
        rule: Whose.
        max_length: L, from 1.
        cache: c, from 0 to L; from 1 where the formula divides by it everywhere.
    """

    rule: Rule
    max_length: int
    cache: int

    def __post_init__(self) -> None:
        """Checks the options."""
        check_choice("rule", self.rule, get_args(Rule))
        check_number("max_length", self.max_length, 1, 1e9)
        least = 1 if self.rule in ("ms_swift", "verl") else 0
        check_number("cache", self.cache, least, self.max_length)

    def __call__(self, completion: Completion) -> float:
        """Scores a completion by its tokens."""
        n = len(completion.token_ids or ())
        if self.rule in ("trl", "open_r1"):
            return soft_limit(n, self.max_length, self.cache)
        return max(_LOWEST, min((self.max_length - self.cache - n) / self.cache, 0.0))
