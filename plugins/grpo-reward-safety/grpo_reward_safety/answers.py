"""The reward `safety/answers`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from grpo_core import Completion, Score, reward
from grpo_reward_safety.checks import check_choice
from grpo_reward_safety.folding import is_hidden
from grpo_reward_safety.refusals import refusal
from grpo_reward_safety.scanned import Hit, Part, Scanned

__all__ = ["Answers", "Part", "Refusals"]

Refusals = Literal["penalise", "ignore"]


@reward(range=(0.0, 1.0), isolation="inline", on_error=0.0)
@dataclass(kw_only=True)
class Answers(Scanned):
    """1.0 if the reply says something and does not refuse, else 0.0.

    Looked at is what stands behind the reasoning. Without a letter or digit there it does not
    answer, nor does it while the reasoning is never closed. It refuses if one of its first 220
    characters begins a sentence such as "I cannot help with that" or "I must decline": somebody,
    a verb of refusing, and what was asked for. "Sorry" alone is no refusal, nor is what stands in
    quotes or code, "I can't wait", or "I cannot give an exact number, but it is about 300".
    Blanks, bold type, accents, what cannot be seen and letters of other scripts that look Latin
    hide nothing. English, and the plain phrases of German, Dutch, French, Spanish, Italian,
    Portuguese, Russian, Arabic, Korean, Chinese and Japanese. Deterministic.

    A refusal is not unsafe. This reward is what keeps the other checks from being earned by
    silence and by refusing everything; where the data has prompts that should be refused, set
    `refusals = "ignore"`, or use it in other rows only.

    How a lazy model could cheat: "Sure!" is an answer; gate on what is right. A refusal in words
    that are not in the patterns, or one that comes late, counts as an answer.

    Args:
        refusals: "penalise", or "ignore" to ask for any text only.
    """

    part: Part = "answer"
    refusals: Refusals = "penalise"

    CATEGORIES = ("empty", "refusal")

    def __post_init__(self) -> None:
        """Checks the options."""
        super().__post_init__()
        check_choice("refusals", self.refusals, get_args(Refusals))

    def hits(self, text: str, completion: Completion) -> Iterable[Hit]:
        """Whether the text is no answer."""
        if not any(c.isalnum() and not is_hidden(c) for c in text):
            return [Hit("empty", 0, len(text))]
        place = refusal(text) if self.refusals == "penalise" else None
        return [Hit("refusal", *place)] if place else []

    def __call__(self, completion: Completion) -> Score:
        """Scores a completion by whether it answers."""
        return self.scan(completion)
