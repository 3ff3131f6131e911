"""The marks that lead to an answer: boxes, `####`, and phrases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from grpo_reward_math.boxes import boxes_of, unboxed
from grpo_reward_math.candidates import MAX_FOUND, Found, Tier
from grpo_reward_math.phrases import (
    ANSWER_IS,
    HEADING,
    PLACEHOLDER,
    SUPPOSED,
    own_phrases,
)
from grpo_reward_math.spans import answer_at

_HASHES = re.compile(r"(?:^|(?<=\s))####[ \t]*([^\n]{1,200})", re.MULTILINE)
_LEADS = ("", "the", "text", "text{the", "textbf{the", "my", "so the", "text{so the")
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
    n_marks = 0
    for start, end, is_final in list(_phrases(text, own))[-MAX_FOUND:]:
        n_marks += 1
        if SUPPOSED.search(text, max(0, start - 40), start):
            continue
        if found and start < found[-1].end:
            # "Final Answer: The final answer is 5": the second is what the first leads to.
            is_final = is_final or found[-1].is_final
            found.pop()
        span = answer_at(text, end)
        if span is not None:
            found.append(Found(start, span.end, span.text, is_final, span.is_strong))
    return Tier([f for f in found if f.is_strong is not of_words], n_marks=n_marks)


def _phrases(text: str, own: Sequence[str]) -> Iterator[tuple[int, int, bool]]:
    marks = [
        (m.start(), m.end(), bool(m["final"]))
        for pattern in (ANSWER_IS, HEADING)
        for m in pattern.finditer(text)
    ]
    if pattern := own_phrases(own):
        marks += [(m.start(), m.end(), False) for m in pattern.finditer(text)]
    last_end = -1
    for start, end, is_final in sorted(marks):
        if start >= last_end:  # one place, two patterns
            last_end = end
            yield start, end, is_final
