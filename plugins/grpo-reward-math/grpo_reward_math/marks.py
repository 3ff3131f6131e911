"""The marks that lead to an answer: boxes, `####`, and phrases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from grpo_reward_math.boxes import boxes_of, unboxed
from grpo_reward_math.candidates import MAX_FOUND, Found, Tier
from grpo_reward_math.phrases import (
    ANSWER_IS,
    HEADING,
    PLACEHOLDER,
    SUPPOSED,
    own_phrases,
)
from grpo_reward_math.spans import Span, answer_at

_HASHES = re.compile(r"(?:^|(?<=\s))####[ \t]*([^\n]{1,200})", re.MULTILINE)
_LEADS = ("", "the", "text", "text{the", "textbf{the", "my", "so the", "text{so the")
# What leads on to the next phrase: "5, the second answer is 6".
_LEADING_ON = re.compile(
    r"[\s,;.*]*(?:\b(?:and|but|so|the|my|our|first|second|third|other|next)\b\s*)*$", re.IGNORECASE
)
_NUMBERED = re.compile(r"\d+[.)]\s+\S")


def is_placeholder(text: str) -> bool:
    """True for "...", "your answer" and the like, which prompts put where the answer goes."""
    return len(text) < 80 and PLACEHOLDER.fullmatch(text) is not None


def without_phrase(text: str) -> str:
    """The text without a phrase in front, as in "The answer is 12" in a box."""
    phrase = ANSWER_IS.search(text, 0, 60)
    if phrase is None or text[: phrase.start()].strip(" {\\").lower() not in _LEADS:
        return text
    return text[phrase.end() :].lstrip(" *}~:") or text


def in_boxes(text: str) -> Tier:
    """The boxes that hold something."""
    boxes = boxes_of(text)
    found = [
        Found(box.start, box.end, without_phrase(unboxed(box.text)))
        for box in boxes.closed[-MAX_FOUND:]
        if box.text.strip() and not is_placeholder(box.text)
    ]
    if boxes.cut_off >= 0:
        return Tier(found, boxes.cut_off, "the last box is never closed")
    return Tier(found, -1, "the box is empty" if boxes.closed and not found else "")


def behind_hashes(text: str) -> list[Found]:
    """What stands behind `####`, unless it is a heading."""
    if "####" not in text:
        return []
    found = []
    whole = len(text.rstrip())
    for line in list(_HASHES.finditer(text))[-MAX_FOUND:]:
        content = line.group(1).strip().strip("*_# ")
        if _NUMBERED.match(content) or not content:
            continue  # a heading: "#### 1. First step"
        span = answer_at(content, 0)
        is_last = line.end() >= whole
        if span is None or len(content.split()) > 3 or not (span.is_strong or is_last):
            continue
        if content.endswith(":"):
            continue
        found.append(Found(line.start(), line.end(), content))
    return found


def behind_phrases(text: str, own: Sequence[str], *, of_words: bool = False) -> Tier:
    """What phrases lead to: numbers, mathematics and options, or words if they are asked for."""
    found: list[Found] = []
    phrases = _phrases(text, own)[-MAX_FOUND:]
    is_named_final = False
    for phrase, following in zip_longest(phrases, phrases[1:]):
        if phrase.leads_to_none or SUPPOSED.search(text, max(0, phrase.start - 40), phrase.start):
            continue
        span = answer_at(text, phrase.end)
        is_final = phrase.is_final or is_named_final
        is_named_final = False
        if span is not None and following is not None and following.start < span.end:
            before = _LEADING_ON.sub("", text[span.start : following.start])
            if not any(c.isdigit() or c == "$" for c in before):
                # "Final Answer: The final answer is 5": the second is what the first leads to.
                is_named_final = is_final
                continue
            span = Span(span.start, following.start, before, span.is_strong)
        if span is not None:
            found.append(Found(phrase.start, span.end, span.text, is_final, span.is_strong))
    return Tier([f for f in found if f.is_strong is not of_words], n_marks=len(phrases))


class _Phrase(NamedTuple):
    start: int
    end: int
    is_final: bool = False
    leads_to_none: bool = False


def _phrases(text: str, own: Sequence[str]) -> list[_Phrase]:
    marks = [
        _Phrase(m.start(), m.end(), bool(m["final"]), bool(m["none"]))
        for m in ANSWER_IS.finditer(text)
    ]
    marks += [_Phrase(m.start(), m.end(), bool(m["final"])) for m in HEADING.finditer(text)]
    if pattern := own_phrases(own):
        marks += [_Phrase(m.start(), m.end()) for m in pattern.finditer(text)]
    kept: list[_Phrase] = []
    for mark in sorted(marks):
        if not kept or mark.start >= kept[-1].end:  # one place, two patterns
            kept.append(mark)
    return kept
