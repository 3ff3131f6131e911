"""Of all candidates those that are still offered at the end of a reply."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from grpo_reward_math.candidates import MAX_FOUND, Candidate, Extraction, ExtractOptions, Found
from grpo_reward_math.endings import NUMBER
from grpo_reward_math.phrases import (
    CORRECTED_TO,
    FAULT_CORRECTED_TO,
    NOT_BEFORE,
    OR_AFTER,
    OR_BEFORE,
    SAME_VALUE,
    Corrections,
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


@lru_cache(maxsize=16)
def _corrections(own: tuple[str, ...]) -> Corrections:
    return Corrections(own)


def decided(tier: str, text: str, found: Sequence[Found], options: ExtractOptions) -> Extraction:
    """Of all candidates those that are still offered at the end."""
    corrections = _corrections(options.corrections)
    offered: list[Found] = []
    reason = ""
    for one in found[-MAX_FOUND:]:
        gap = _gap(text, offered[-1].end if offered else max(0, one.start - 80), one.start)
        if offered and NOT_BEFORE.search(gap[-40:]):
            continue
        if offered and corrections.first_in(gap) and not OR_BEFORE.search(gap[-80:]):
            reason = f"{shown(offered[-1].text)} is taken back"
            offered = []
        if _FINAL.search(gap[-80:]):
            one = replace(one, is_final=True)
        offered.append(one)
    first_final = next((i for i, f in enumerate(offered) if f.is_final), 0)
    offered = offered[first_final:]
    offered = _corrected_after(text, offered, corrections)
    candidates = [Candidate(f.text.strip(), f.start, f.end) for f in offered]
    joined = _joined(text, candidates)
    candidates += _alternatives(text, candidates)
    return Extraction(tier, tuple(sorted(candidates, key=lambda c: c.start)), joined, reason)


def _gap(text: str, start: int, end: int) -> str:
    if end - start <= 2 * _WINDOW:
        return text[start:end]
    return text[start : start + _WINDOW] + "\n\n" + text[end - _WINDOW : end]


def _corrected_after(text: str, offered: list[Found], corrections: Corrections) -> list[Found]:
    """A correction behind the last candidate, with a value that no mark leads to."""
    end = offered[-1].end
    cues = list(corrections.all_in(text[end : end + _WINDOW]))
    if not cues:
        return offered
    faults = [cue for cue in cues if cue["fault"]]
    pattern = FAULT_CORRECTED_TO if faults else CORRECTED_TO
    at = end + (faults or cues)[0].start()
    for lead in pattern.finditer(text, at, at + _WINDOW):
        span = answer_at(text, lead.end())
        if span is None or not span.is_strong or len(span.text) > 60:
            continue
        rest = text[span.end : span.end + 40].lstrip(" \t*_`")
        if not rest or rest[0] in ".!\n,;":
            offered = [Found(span.start, span.end, span.text)]
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
    first = candidates[0]
    before = text[max(0, first.start - 80) : first.start]
    if lead := OR_BEFORE.search(before):
        numbers = list(NUMBER.finditer(before, 0, lead.start()))
        if numbers and not before[numbers[-1].end() : lead.start()].strip(" \t$*,})"):
            number = numbers[-1]
            at = first.start - len(before)
            found.append(Candidate(number.group(), at + number.start(), at + number.end()))
    return found
