"""From the candidates of a completion and a gold answer to a verdict with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from grpo_reward_math.choices import names_several
from grpo_reward_math.comparing import same
from grpo_reward_math.extracting import Extraction
from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.gold import parts_of
from grpo_reward_math.phrases import OFFERS
from grpo_reward_math.reading import Reading, read
from grpo_reward_math.rules import Rules
from grpo_reward_math.shown import shown
from grpo_reward_math.tree import Letter, Listing, Relation, SetOf, Text

# More different answers than this are a row of guesses; they are not even read.
MAX_ANSWERS = 16
# Answers in which "or" is read, or a word like others.
_SEVERAL = (Listing, Relation, Text)


@dataclass(frozen=True)
class Decision:
    """A verdict.

    Attributes:
        equal: True if the completion's answer is the gold's.
        reason: What was extracted, how it was read, which rule decided.
        kind: "" for a comparison; else "no_answer", "hedges", "unreadable" or "limit_hits".
    """

    equal: bool
    reason: str
    kind: str = ""

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics of a reward: which of these happened."""
        return {kind: float(kind == self.kind) for kind in KINDS}


KINDS = ("no_answer", "hedges", "unreadable", "limit_hits")


def decide(found: Extraction, gold: Reading, rules: Rules) -> Decision:
    """The verdict on what was extracted.

    Several answers count if they are equal, or if together they are the list that the gold is.
    """
    if not found.candidates:
        return Decision(False, found.reason, "no_answer")
    texts = list(dict.fromkeys(c.text for c in found.candidates))
    if len(texts) == 1:
        return _compared(found.tier, texts[0], gold, rules)
    if len(texts) > MAX_ANSWERS:
        why = f"hedge: {len(texts)} different answers, such as {shown(texts[0])}"
        return Decision(False, why, "hedges")
    together = _verdict(found.joined or parts_of(texts), gold, rules)
    if together.equal:
        return Decision(True, f"{found.tier}, all answers together: {together.reason}")
    if _sums_up(texts, gold, rules):
        return _compared(found.tier, texts[-1], gold, rules)
    first = texts[0]
    for other in texts[1:]:
        if not _are_equal(first, other, rules):
            why = f"hedge: {shown(first)} and {shown(other)} are both offered ({found.tier})"
            return Decision(False, why, "hedges")
    return _compared(found.tier, texts[-1], gold, rules)


def _sums_up(texts: Sequence[str], gold: Reading, rules: Rules) -> bool:
    """True if the last answer is the gold's list, and those before it are parts of it."""
    if not isinstance(gold.tree, Listing | SetOf) or not _verdict(texts[-1], gold, rules).equal:
        return False
    parts = [Reading(gold.text, part, gold.how) for part in gold.tree.items]
    try:
        before = [read(text, rules) for text in texts[:-1]]
        return all(any(same(one, part, rules).equal for part in parts) for one in before)
    except (Unreadable, LimitHit):
        return False


def _compared(tier: str, text: str, gold: Reading, rules: Rules) -> Decision:
    verdict = _verdict(text, gold, rules)
    reason = verdict.reason if verdict.kind == "limit_hits" else f"{tier}: {verdict.reason}"
    return Decision(verdict.equal, reason, verdict.kind)


@lru_cache(maxsize=4096)
def _verdict(text: str, gold: Reading, rules: Rules) -> Decision:
    try:
        answer = read(text, rules)
        verdict = same(answer, gold, rules)
    except Unreadable as exc:
        return Decision(False, f"{shown(text)} cannot be read: {exc}", "unreadable")
    except LimitHit as exc:
        return Decision(False, f"limit: {exc}", "limit_hits")
    if verdict.equal and isinstance(gold.tree, Letter) and names_several(text):
        return Decision(False, f"hedge: {shown(text)} names several options", "hedges")
    if verdict.equal and OFFERS.search(text) and not isinstance(answer.tree, _SEVERAL):
        return Decision(False, f"hedge: {shown(text)} leaves the value open", "hedges")
    return Decision(
        verdict.equal,
        f"{shown(text)} read as {answer.how}, gold {shown(gold.text)} as {gold.how}: "
        f"{verdict.rule}",
    )


def _are_equal(text: str, other: str, rules: Rules) -> bool:
    try:
        return same(read(text, rules), read(other, rules), rules).equal
    except (Unreadable, LimitHit):
        return False
