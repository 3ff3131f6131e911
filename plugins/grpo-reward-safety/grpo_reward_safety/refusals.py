"""Tells a refusal: who does not do what, at the start of an answer."""

from __future__ import annotations

import re

from grpo_reward_safety.folding import Fold, is_plain
from grpo_reward_safety.refusal_forms import FORMS, Form

# A refusal comes first; what is behind this many characters is about something else.
_FIRST_CHARS = 220
_TAIL_CHARS = 200
# So many are read, since some of them cannot be seen.
_READ_CHARS = 1000

# The second one reads letters of other scripts as the Latin ones they look like, so it cannot read
# these scripts themselves.
_FOLDS = (
    Fold(["nfkc", "casefold", "zero_width"]),
    Fold(["nfkc", "casefold", "zero_width", "marks", "confusables"]),
)
_APOSTROPHE = re.compile(r"[’‘ʼ´＇]|(?<=\w)`(?=\w)")
_EMPHASIS = re.compile(r"\*+|(?<![^\W_])_+|_+(?![^\W_])|(?<=[\n ])[\n ]+")

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
# Nobody could give, say or do it so; or a number follows.
_NOT_SO = re.compile(
    r"\b(?:exact|exactly|precise|precisely|certain|certainty|sure|guarantee|wait|fully|overstate"
    r"|emphasi[sz]e|stress|again|alone|yet|genau\w*|exakt\w*|sicher|precisa|exact[ao]s?|exactement"
    r"|certeza|seguro|esatt\w+|certezza|точно)\b|\btell\syou\show\b|正確|正确|确切|정확"
    r"|\b(?:but|aber|mais|pero|mas|ma)\b[^.!?\n]{0,60}?"
    r"(?:[=≈]|\b(?:is|are|about|ist|sind|etwa|est|environ|es|son|unos|são|è|sono|circa)\b)"
    r"\s?(?:\w{1,9}\s)?[-$]?\d"
)
_ENDS = ".!?\n。！？"


def refusal(answer: str) -> tuple[int, int] | None:
    """Where an answer refuses, or None.

    Args:
        answer: The text behind the reasoning.
    """
    start = len(answer) - len(answer.lstrip())
    raw = answer[start : start + _READ_CHARS]
    if "`" in raw or not raw.isascii():
        raw = _APOSTROPHE.sub("'", raw)
    if is_plain(raw):
        found = _find(raw.lower(), range(len(raw) + 1))
        return (start + found[0], start + found[1]) if found else None
    for fold in _FOLDS:
        found = _find(fold(raw), fold.places(raw))
        if found:
            return start + found[0], start + found[1]
    return None


def _find(read: str, places: range | list[int]) -> tuple[int, int] | None:
    """Where a folded text refuses, by the places of its characters."""
    known = " ".join(read.replace("*", "").split())
    tried = [form for form in FORMS if any(map(known.__contains__, form.stems))]
    if not tried:
        return None
    text, kept = _simplified(read)
    text = _QUOTED.sub(lambda quoted: "\x1f" * len(quoted.group()), text)
    found = _first(tried, text[: _FIRST_CHARS + _TAIL_CHARS])
    if found is None:
        return None
    start, end = found
    return places[kept[start]], places[kept[end - 1]] + 1


def _simplified(read: str) -> tuple[str, list[int]]:
    """A text with one sign for each run of white space and without emphasis, and its places."""
    blanks = "".join(" " if c.isspace() and c != "\n" else c for c in read)
    left_out = {i for m in _EMPHASIS.finditer(blanks) for i in range(*m.span())}
    kept = [i for i in range(len(blanks)) if i not in left_out]
    return "".join(map(blanks.__getitem__, kept)), kept


def _first(forms: list[Form], text: str) -> tuple[int, int] | None:
    for form in forms:
        for match in form.pattern.finditer(text):
            if match.start() > _FIRST_CHARS:
                break
            start, end = match.start(), _end_of_sentence(text, match.end())
            if _NOT_YET.search(text, start, end):
                continue
            if form.is_weak and _NOT_SO.search(text, _start_of_sentence(text, start), end):
                continue
            return match.span()
    return None


def _start_of_sentence(text: str, at: int) -> int:
    return 1 + max(text.rfind(sign, 0, at) for sign in _ENDS)


def _end_of_sentence(text: str, at: int) -> int:
    ends = [end for sign in _ENDS if (end := text.find(sign, at)) >= 0]
    return min(ends, default=len(text))
