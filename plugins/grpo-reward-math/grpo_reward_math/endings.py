"""Answers without a mark of their own, at the end of a reply."""

from __future__ import annotations

import re

from grpo_reward_math.candidates import Found
from grpo_reward_math.phrases import NOT_BEFORE
from grpo_reward_math.spans import NOT_THE_VALUE, Span, answer_at, math_span

NUMBER = re.compile(
    r"[-+−]?(?:[$€£][ \t]?)?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[ \t]?/[ \t]?\d+)?"
    r"(?:[ \t]?\\?%)?"
)
_CONCLUDES = re.compile(
    r"\b(?:is|are|be|equals?|gives?|get|have|obtain|yields?|has|becomes?|conclude|to|therefore"
    r"|thus|hence|so|total)\b|[=:]",
    re.IGNORECASE,
)
_OPENERS = re.compile(r"\*\*|\$\$?|\\\(|\\\[")
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*|__([^_\n]{1,200})__")


def whole(text: str) -> Found | None:
    """A reply that is nothing but a value: one line, a number, mathematics or a word."""
    bare = text.strip()
    if len(bare) > 200 or "\n\n" in bare:
        return None
    span = answer_at(bare, 0)
    if span is None or bare[span.end :].strip(" \t\n.*_`$)!") or len(span.text.split()) > 4:
        return None
    if not span.is_strong and len(span.text.split()) > 1:
        return None
    if any(c.isalpha() for c in bare[: span.start]):
        return None  # a sentence, of which the span is a part
    return Found(text.find(bare), text.find(bare) + span.end, span.text)


def conclusion(text: str) -> Found | None:
    """The marked value that ends the last sentence: bold, or mathematics."""
    stripped = text.rstrip()
    last = max(stripped.rfind("\n\n"), 0)
    block = stripped[last:]
    if len(block) > 4000:
        block = block[-4000:]
    base = len(stripped) - len(block)
    best: Span | None = None
    begin = 0
    for mark in _OPENERS.finditer(block):
        at = mark.start()
        if at < begin:
            continue
        if mark.group() == "**":
            bold = _BOLD.match(block, at)
            if bold is None:
                continue
            begin = bold.end()
            inner = answer_at(bold.group(1), 0)
            rest = block[bold.end() :].strip(" \t\n.*_`")
            if inner and inner.is_strong and (not rest or _is_unit(rest)):
                best = Span(at, len(block), inner.text + (f" {rest}" if rest else ""), True)
                break
            continue
        span = answer_at(block, at)
        if span is None or math_span(block, at) is None:
            continue
        begin = span.end
        if not block[span.end :].strip(" \t\n.*_`!") and _CONCLUDES.search(block, 0, at + 40):
            best = span
    if best is None or any(
        pattern.search(block, max(0, best.start - 40), best.start)
        for pattern in (NOT_BEFORE, NOT_THE_VALUE)
    ):
        return None
    return Found(base + best.start, base + best.end, best.text)


def _is_unit(rest: str) -> bool:
    return (
        len(rest) <= 30
        and len(rest.split()) <= 2
        and all(c.isalpha() or c in " ²³/^%°" for c in rest)
    )


def last_number(text: str) -> Found | None:
    """The last number of the text."""
    # From the end, in pieces, so that a long text is not read for one number.
    high = len(text)
    while high > 0:
        low = max(0, high - 2000)
        numbers = list(NUMBER.finditer(text, low, high + 100))
        if numbers:
            last = numbers[-1]
            return Found(last.start(), last.end(), last.group())
        high = low
    return None
