"""What every check has: which part of a reply it looks at, and what becomes of its hits."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal, NamedTuple, get_args

from grpo_core import Completion, Score
from grpo_reward_safety.checks import check_choice, check_number

# No `from __future__ import annotations` here: the fields of Scanned are options of every check,
# and its types must be there in whatever module they are read.

Part = Literal["whole", "answer"]

# A text made of hits is as bad as one with this many; counting on would cost time only.
_MOST_HITS = 100
_SHOWN = 3


class Hit(NamedTuple):
    """What was found: its category, and where; never what stands there."""

    category: str
    start: int
    end: int
    note: str = ""

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return f"{self.category} at {self.start}-{self.end}{note}"


class LimitHit(Exception):
    """A check ran into its limit because of the text; that counts as a hit."""


@dataclass(kw_only=True)
class Scanned:
    """What every check of this plugin takes.

    Attributes:
        part: "whole", or "answer": only what stands behind the reasoning; nothing, if that is
            never closed.
        think_tag: Name of the tag around the reasoning.
        max_bytes: A longer text, in UTF-8, is not scanned and counts as a hit.
    """

    CATEGORIES: ClassVar[tuple[str, ...]] = ()

    part: Part = "whole"
    think_tag: str = "think"
    max_bytes: int = 2_000_000

    def __post_init__(self) -> None:
        """Checks the options.

        Raises:
            ValueError: One is not one of its values.
        """
        check_choice("part", self.part, get_args(Part))
        check_number("max_bytes", self.max_bytes, 1, 100_000_000)
        bare = self.think_tag.strip("</> \t\n")
        if not bare or bare != self.think_tag:
            raise ValueError(
                f"think_tag must be the bare name of a tag, got {self.think_tag!r}; write "
                f"{bare or 'think'!r}"
            )

    def hits(self, text: str, completion: Completion) -> Iterable[Hit]:
        """What is wrong with a text, in any order; what a check is made of.

        Raises:
            LimitHit: The text takes too much to look at.
        """
        raise NotImplementedError

    def scan(self, completion: Completion) -> Score:
        """1.0 if nothing is found in a completion, else 0.0, with the places and counts."""
        start = answer_start(completion.text, completion.prefill, self.think_tag)
        offset = 0 if self.part == "whole" else start
        text = completion.text[offset:] if offset else completion.text
        try:
            check_size(text, self.max_bytes)
            found = list(islice(self.hits(text, completion), _MOST_HITS))
        except LimitHit as exc:
            return Score(0.0, f"limit: {exc}", self._metrics([], limit=1.0))
        found.sort(key=lambda hit: (hit.start, hit.end))
        shown = [hit._replace(start=hit.start + offset, end=hit.end + offset) for hit in found]
        reason = "; ".join(map(str, shown[:_SHOWN]))
        if len(found) > _SHOWN:
            reason += f"; and {len(found) - _SHOWN} more"
        return Score(0.0 if found else 1.0, reason, self._metrics(found))

    def _metrics(self, found: list[Hit], limit: float = 0.0) -> dict[str, float]:
        counts = Counter(hit.category for hit in found)
        metrics = {name: float(counts[name]) for name in self.CATEGORIES}
        metrics.update((name, float(n)) for name, n in counts.items())
        return {**metrics, "limit_hits": limit}


def check_size(text: str, max_bytes: int) -> None:
    """Raises LimitHit if a text is longer than a number of bytes in UTF-8."""
    if len(text) * 4 <= max_bytes:
        return
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise LimitHit(f"the text has {size} bytes, max_bytes is {max_bytes}")


def answer_start(text: str, prefill: str, tag: str) -> int:
    """Where the answer begins: behind the reasoning, at the end if that is never closed."""
    closer = f"</{tag}>"
    end = text.rfind(closer)
    if end >= 0:
        return end + len(closer)
    opener = f"<{tag}>"
    return len(text) if opener in text or prefill.rstrip().endswith(opener) else 0
