"""Tells a refusal: who does not do what, at the start of an answer."""

from __future__ import annotations

import re

from grpo_reward_safety.refusal_forms import FORMS

# A refusal comes first; what is behind this many characters is about something else.
_FIRST_CHARS = 220
_TAIL_CHARS = 200

_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]{1,400}`|“[^”]{0,400}”|«[^»]{0,400}»|„[^“”]{0,400}[“”]"
    r"|\"[^\"\n]{0,400}\"|(?<!\w)'(?:[^'\n]|'(?=\w)){0,400}'(?!\w)|‘[^'\n]{0,400}'(?!\w)"
    r"|^[ \t]*>[^\n]*",
    re.DOTALL | re.MULTILINE,
)
# Not because it will not, but for want of something; or an answer follows.
_NOT_YET = re.compile(
    r"\b(?:without|unless|until|enough)\b|\bhere(?:'s|\sis|\sare)\b"
    r"|\bbut\s(?:the\sanswer|roughly|about|approximately|it\sis|it's)\b"
)
# Nobody could give, say or do it so.
_NOT_SO = re.compile(
    r"\b(?:exact|exactly|precise|precisely|certain|certainty|sure|guarantee|wait|fully|overstate"
    r"|emphasi[sz]e|stress|again)\b|\btell\syou\show\b"
)


def refusal(answer: str) -> tuple[int, int] | None:
    """Where an answer refuses, or None.

    Args:
        answer: The text behind the reasoning.
    """
    first = answer[: _FIRST_CHARS + _TAIL_CHARS].replace("’", "'").replace("\xa0", " ")
    plain = "".join(c.lower() if len(c.lower()) == 1 else c for c in first)
    tried = [form for form in FORMS if any(map(plain.__contains__, form.stems))]
    if tried:
        plain = _QUOTED.sub(lambda quoted: "\x1f" * len(quoted.group()), plain)
    for form in tried:
        for match in form.pattern.finditer(plain):
            if match.start() > _FIRST_CHARS:
                break
            start, end = match.start(), _end_of_sentence(plain, match.end())
            if _NOT_YET.search(plain, start, end) or (
                form.is_weak and _NOT_SO.search(plain, start, end)
            ):
                continue
            return match.span()
    return None


def _end_of_sentence(text: str, at: int) -> int:
    ends = [end for sign in ".!?\n" if (end := text.find(sign, at)) >= 0]
    return min(ends, default=len(text))
