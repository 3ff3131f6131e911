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
    BEFORE_NOUN,
    HEADING,
    LONGEST_BEFORE_NOUN,
    PLACEHOLDER,
    SENTENCE_END,
    SUPPOSED,
    WERE_IT_SO,
    WOULD_BE,
    own_phrases,
)
from grpo_reward_math.spans import Span, answer_at

_HASHES = re.compile(r"(?:^|(?<=\s))####[ \t]*([^\n]{1,200})", re.MULTILINE)
_LEADS = ("", "the", "text", "text{the", "textbf{the", "my", "so the", "text{so the")
# What leads on to the next phrase: "5, the second answer is 6".
_LEADING_ON = re.compile(
    r"(?<![\s,;.*])[\s,;.*]*+(?:\b(?:and|but|so|the|my|our|first|second|third|other|next)\b\s*+)"
    r"{0,8}$",
    re.IGNORECASE,
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


def in_boxes(text: str, start: int = 0) -> Tier:
    """The boxes that hold something, from a place on."""
    boxes = boxes_of(text, start)
    found = [
        Found(box.start, box.end, without_phrase(unboxed(box.text)))
        for box in boxes.closed[-MAX_FOUND:]
        if box.text.strip() and not is_placeholder(box.text)
    ]
    if boxes.cut_off >= 0:
        return Tier(found, boxes.cut_off, "the last box is never closed")
    return Tier(found, -1, "the box is empty" if boxes.closed and not found else "")


def behind_hashes(text: str, start: int = 0) -> list[Found]:
    """What stands behind `####` from a place on, unless it is a heading."""
    if text.find("####", start) < 0:
        return []
    found = []
    whole = len(text.rstrip())
    for line in list(_HASHES.finditer(text, start))[-MAX_FOUND:]:
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


def behind_phrases(
    text: str, own: Sequence[str], start: int = 0, *, of_words: bool = False
) -> Tier:
    """What phrases lead to from a place on.

    These are numbers, mathematics and options, or words if they are asked for.
    """
    found: list[Found] = []
    phrases = _phrases(text, own, start)[-MAX_FOUND:]
    is_named_final = False
    for phrase, following in zip_longest(phrases, phrases[1:]):
        if phrase.leads_to_none or SUPPOSED.search(text, max(0, phrase.start - 40), phrase.start):
            continue
        if (start or found) and _is_supposed(text, phrase):
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


def _is_supposed(text: str, phrase: _Phrase) -> bool:
    """True for "If order mattered, the answer would be 24"."""
    if not WOULD_BE.search(text, phrase.start, phrase.end):
        return False
    low = max(0, phrase.start - 200)
    for mark in SENTENCE_END.finditer(text, low, phrase.start):
        low = mark.end()
    return WERE_IT_SO.search(text, low, phrase.start) is not None


class _Phrase(NamedTuple):
    start: int
    end: int
    is_final: bool = False
    leads_to_none: bool = False


def _phrases(text: str, own: Sequence[str], start: int) -> list[_Phrase]:
    marks: list[_Phrase] = []
    end_of_line = start
    for at in _nouns(text, start):
        begin = at
        if text[at - 1 : at].isspace():
            lead = BEFORE_NOUN.search(text, max(start, at - LONGEST_BEFORE_NOUN), at)
            begin = lead.start() if lead else at
        if mark := ANSWER_IS.match(text, begin):
            marks.append(_Phrase(begin, mark.end(), bool(mark["final"]), bool(mark["none"])))
        if at >= end_of_line:
            line = text.rfind("\n", start, at) + 1 or start
            if mark := HEADING.match(text, line):
                marks.append(_Phrase(line, mark.end(), bool(mark["final"])))
            end_of_line = text.find("\n", at)
            if end_of_line < 0:
                end_of_line = len(text)
    if pattern := own_phrases(own):
        marks += [_Phrase(m.start(), m.end()) for m in pattern.finditer(text, start)]
    kept: list[_Phrase] = []
    for phrase in sorted(marks):
        if not kept or phrase.start >= kept[-1].end:  # one place, two patterns
            kept.append(phrase)
    return kept


def _nouns(text: str, start: int) -> list[int]:
    """Where the words stand that a phrase can be built on."""
    # "İ" is the one letter that is two in lower case.
    plain = text[start:].replace("İ", "I").lower()
    found: list[int] = []
    for noun in ("ans", "result", "option", "choice"):
        at = plain.find(noun)
        while at >= 0:
            found.append(start + at)
            at = plain.find(noun, at + len(noun))
    found.sort()
    return found
