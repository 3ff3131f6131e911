"""Of all candidates those that are still offered at the end of a reply."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from grpo_reward_math.candidates import MAX_FOUND, Candidate, Extraction, ExtractOptions, Found
from grpo_reward_math.corrections import (
    CORRECTED_TO,
    NEXT_PART,
    NOT_SAID,
    TAKEN_BACK,
    Corrections,
)
from grpo_reward_math.endings import NUMBER
from grpo_reward_math.phrases import (
    ALSO,
    IS_POSSIBLE,
    MAY_BE,
    NOT_BEFORE,
    NUMBER_WORDS,
    OR_AFTER,
    OR_BEFORE,
    SAME_VALUE,
    SENTENCE_END,
)
from grpo_reward_math.shown import shown
from grpo_reward_math.spans import answer_at

# Of the text between two answers this much at both ends is looked at.
_WINDOW = 2000
# What stands between the parts of one answer: "\boxed{9} and \boxed{40}".
_JOIN = re.compile(
    r"[\s$*_.,;&]*+(?:\\\)|\\\]|\\\[|\\\()?[\s$*_]*+(?:,\s*+and|,|;|and|&)?[\s$*_]*+"
    r"(?:\\\(|\\\[)?(?:[A-Za-z]\w{0,2}\s*+=)?[\s$*_]*+",
    re.IGNORECASE,
)
_JOINER = re.compile(r"and|[,;&]", re.IGNORECASE)
# Before an answer: the writer settles on it.
_FINAL = re.compile(
    r"\bfinal\s+(?:answer|result)\b|\bi(?:['’]ll| will)?\s+(?:choose|pick|select|go with)\b",
    re.IGNORECASE,
)
# Between an answer and words that take it back; elsewhere they are about something else.
_RIGHT_BEHIND = re.compile(
    r".?[\s$*_.)\]\\]{0,12}"
    r"(?:(?:but|oh|no|wait|hmm|actually|hold on|sorry|oops)[,.!…\s]{1,6}){0,3}",
    re.IGNORECASE | re.DOTALL,
)
# Behind a correction that ends the reply: nothing takes its place.
_IS_ALL = re.compile(r"(?![^.!?\n]*\?)[^.!?\n]{0,80}+[.!]*+[\s*_]*+")


@lru_cache(maxsize=16)
def _corrections(own: tuple[str, ...]) -> Corrections:
    return Corrections(own)


def decided(tier: str, text: str, found: Sequence[Found], options: ExtractOptions) -> Extraction:
    """Of all candidates those that are still offered at the end."""
    corrections = _corrections(options.corrections)
    offered: list[Found] = []
    reason = ""
    for one in found[-MAX_FOUND:]:
        # From the end of the mark on: "}" says that "is wrong" is about what stands in the box.
        gap = _gap(text, offered[-1].end - 1 if offered else max(0, one.start - 80), one.start)
        if offered and NOT_BEFORE.search(gap[-40:]):
            continue
        if offered and _is_taken_back(gap, corrections):
            reason = f"{shown(offered[-1].text)} is taken back"
            offered = []
        if _FINAL.search(gap[-80:]):
            one = replace(one, is_final=True)
        offered.append(one)
    first_final = next((i for i, f in enumerate(offered) if f.is_final), 0)
    offered = offered[first_final:]
    last = offered[-1]
    offered = _corrected_after(text, offered, corrections)
    if not offered:
        return Extraction("", (), None, f"no answer: {shown(last.text)} is taken back")
    candidates = [Candidate(f.text.strip(), f.start, f.end) for f in offered]
    joined = _joined(text, candidates)
    candidates += _alternatives(text, candidates)
    return Extraction(tier, tuple(sorted(candidates, key=lambda c: c.start)), joined, reason)


def _gap(text: str, start: int, end: int) -> str:
    if end - start <= 2 * _WINDOW:
        return text[start:end]
    return text[start : start + _WINDOW] + "\n\n" + text[end - _WINDOW : end]


def _is_taken_back(gap: str, corrections: Corrections) -> bool:
    """True if the text between two answers takes the first back."""
    if OR_BEFORE.search(gap[-80:]) or NEXT_PART.search(gap[-80:]):
        return False
    return corrections.last_in(gap) is not None


def _corrected_after(text: str, offered: list[Found], corrections: Corrections) -> list[Found]:
    """A correction behind the last candidate, to a value that no mark leads to.

    Only words that say outright what the answer should be replace one; mere prose never does.
    """
    last = offered[-1].end
    start = max(0, last - 1)
    after = text[start : last + _WINDOW]
    cue = corrections.last_in(after)
    if cue is None:
        return offered
    cues = list(corrections.all_in(after))
    for lead in CORRECTED_TO.finditer(after, cues[0].start()):
        before = [cue for cue in cues if cue.start() <= lead.start()]
        said = after[before[-1].end() : lead.start()] if before else ""
        if "\n\n" in said or (lead["near"] and SENTENCE_END.search(said)):
            continue
        if NOT_SAID.search(after[max(0, lead.start() - 30) : lead.start()]):
            continue
        span = answer_at(text, start + lead.end())
        if span is None or not span.is_strong or len(span.text) > 60:
            continue
        rest = text[span.end : span.end + 40].lstrip(" \t*_`")
        if not rest or rest[0] in ".!\n,;":
            return [Found(span.start, span.end, span.text)]
    taken_back = TAKEN_BACK.search(after, 0, 200)
    if (
        taken_back
        and _RIGHT_BEHIND.fullmatch(after, 0, taken_back.start())
        and _IS_ALL.fullmatch(after, taken_back.end())
    ):
        return []
    return offered


def _joined(text: str, candidates: Sequence[Candidate]) -> str | None:
    if len(candidates) < 2:
        return None
    for one, other in itertools.pairwise(candidates):
        gap = text[one.end : other.start]
        if len(gap) > 60 or not _JOIN.fullmatch(gap) or not _JOINER.search(gap):
            return None
    return ", ".join(c.text for c in candidates)


def _alternatives(text: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    r"""Values offered beside the last candidate: "\boxed{6} or 8", "6. Or maybe 8.", "8 or 6"."""
    found = []
    last = candidates[-1]
    behind = OR_AFTER.match(text, last.end)
    if behind is not None and not SAME_VALUE.match(text, behind.end()):
        span = answer_at(text, behind.end())
        if span is not None and span.is_strong:
            found.append(Candidate(span.text, span.start, span.end))
        elif span is not None and (word := _number_word(span.text)):
            found.append(Candidate(word, span.start, span.end))
    if (also := ALSO.match(text, last.end)) and (span := answer_at(text, also.end())):
        if len(span.text.split()) <= 2:
            found.append(Candidate(span.text, span.start, span.end))
    for may_be in MAY_BE.finditer(text, last.end, last.end + _WINDOW):
        span = answer_at(text, may_be.end())
        if span is not None and len(span.text.split()) <= 2:
            found.append(Candidate(span.text, span.start, span.end))
    if (other := IS_POSSIBLE.match(text, last.end)) and (span := answer_at(other["other"], 0)):
        found.append(Candidate(span.text, other.start("other"), other.end("other")))
    first = candidates[0]
    before = text[max(0, first.start - 80) : first.start]
    if lead := OR_BEFORE.search(before):
        numbers = list(NUMBER.finditer(before, 0, lead.start()))
        if numbers and not before[numbers[-1].end() : lead.start()].strip(" \t$*,})"):
            number = numbers[-1]
            at = first.start - len(before)
            found.append(Candidate(number.group(), at + number.start(), at + number.end()))
    return found


def _number_word(text: str) -> str | None:
    """The digits of "six" or "six apples", or None."""
    words = text.split()
    return NUMBER_WORDS.get(words[0].lower()) if 0 < len(words) <= 2 else None
