"""What extraction hands around: options, candidates, and what was made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Marks of one kind that are looked at, from the end; more are no answer anyway.
MAX_FOUND = 200


@dataclass(frozen=True)
class ExtractOptions:
    """How the answer is looked for.

    Attributes:
        tags: Names of tags that hold the answer.
        phrases: Phrases that lead to the answer, beside the English ones.
        corrections: Words that take back the answer before them, beside the English ones.
        last_number: True if the last number counts where nothing else marks an answer.
    """

    tags: tuple[str, ...] = ("answer",)
    phrases: tuple[str, ...] = ()
    corrections: tuple[str, ...] = ()
    last_number: bool = False


@dataclass(frozen=True)
class Candidate:
    """A piece of the text that may be the final answer.

    Attributes:
        text: The answer, without box, tag or delimiters.
        start: Where it begins in the reply.
        end: Where it ends.
    """

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Extraction:
    """What was found.

    Attributes:
        tier: Which mark led to it: "answer tag", "box", "####", "phrase", "end of the reply",
            "last number", or "" for none.
        candidates: All that are offered as the final answer, in order.
        joined: The candidates as one list, if they are the parts of one answer; else None.
        reason: Why there is none; else how the candidates were chosen, or "".
    """

    tier: str
    candidates: tuple[Candidate, ...]
    joined: str | None
    reason: str


@dataclass(frozen=True)
class Found:
    """A candidate while tiers are compared.

    Attributes:
        start: Where its mark begins.
        end: Where its mark ends.
        text: The answer.
        is_final: True if it is called the final one.
        is_strong: False if it is made of words, so that it counts only where nothing better does.
    """

    start: int
    end: int
    text: str
    is_final: bool = False
    is_strong: bool = True


@dataclass(frozen=True)
class Tier:
    """What the marks of one kind lead to.

    Attributes:
        found: The candidates.
        cut_off: Where the last mark begins if it is never closed, else -1.
        empty: What is wrong with marks that lead to nothing, or "".
        n_marks: How many marks there are, whatever they lead to.
    """

    found: Sequence[Found]
    cut_off: int = -1
    empty: str = ""
    n_marks: int = 0
