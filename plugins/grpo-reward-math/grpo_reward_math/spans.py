"""Reads the answer that stands at a place of a text: how far it goes, and without its markup."""

from __future__ import annotations

import re
from typing import NamedTuple

from grpo_reward_math.phrases import EXPLAINS, FILLERS, NEGATED, NOT_BUT, OFFERS, PLACEHOLDER

# Longer ones are prose.
MAX_PLAIN = 300
MAX_MATH = 4000
_MAX_WORDS = 6

_MARKUP = re.compile(r"(?:[\s*_`:\"“”'‘’~]|#{1,6}[ \t]|(?<=\n)>|\\,|\\;|\\quad|⇒|→)*")
_MATH_OPENERS = (("$$", "$$"), ("\\(", "\\)"), ("\\[", "\\]"), ("$", "$"))
# "7!" at the end of a sentence is punctuation; "3! = 6" is none.
_SENTENCE_END = re.compile(
    r"(?:\.|(?:\?|!(?![ \t]*+(?:[=+/^×·]|\*(?!\*))))[!?]{0,9}+)(?=\s|$|[*_)\"'”’<`])"
    r"|[\n。！？；]|;(?=\s)"
)
_JOIN = re.compile(
    r"[ \t*_]*+(?:(?:,[ \t]*+)?(?:and|or|\\text\{ ?(?:and|or) ?\})\b|[,;])[ \t*_]*+"
    r"(?=\$|\\\(|\\\[|[-+−]?\d)",
    re.IGNORECASE,
)
_PLAIN_NUMBER = re.compile(r"[-+−]?\d[\d,.]*(?<![,.])")
_UNIT_WORDS = re.compile(r"[ \t]*[A-Za-z%°µ²³/^.*·]{1,20}(?:[ \t]+[A-Za-z²³/^]{1,20}){0,2}[ \t]*\Z")
_WORD_PAIR = re.compile(r"(?<![A-Za-z])[A-Za-z]{2,}+[ \t]++[A-Za-z]{2}|[a-z]{4}")
# How an answer begins that is more than a word: a number, mathematics, a variable, an option.
_STRONG = re.compile(
    r"[-+−±~≈<>≤≥(\[{|]*[ \t]*(?:[\d.$€£¥\\√π∞∅½⅓⅔¼¾⅕⅛{\[(|−０-９]|[A-Za-zΑ-ω](?![A-Za-z'’])"
    r"(?![ \t]+[A-Za-z]{2})|(?:sin|cos|tan|log|ln|exp|sqrt|pi|infinity|inf)\b)"
)
_NUMBER = re.compile(r"(?<![\w.,])[-+−]?(?:\$[ \t]?)?\d(?:[\d,]*\d)?(?:\.\d+)?")
_MAX_SENTENCE = 15
_BOLD_NUMBER = re.compile(r"\*\*([-+−]?\$?[ \t]?\d[^*\n]{0,40})\*\*")
_BUT = re.compile(r",?[ \t]+but\b", re.IGNORECASE)
# A sentence and no bare answer: "The area is 12."
_SENTENCE = re.compile(r"\s*[A-Za-z]++(?:['’][a-z]*+)?,?[ \t\n]++[A-Za-z]\S*+[ \t\n]++\S")
# Before the only number of a sentence: it is not the value that the sentence is about.
NOT_THE_VALUE = re.compile(
    r"\b(?:except|multiples? of|divisor of|factor of|power of|divisible by|near|close to"
    r"|nearest|not"
    r"|over|under|above|below|beyond|between|without|unlike|besides|than|up to|almost|nearly"
    r"|exceeds?"
    r"|exceeding|before|after|greater|less|any(?:thing)? but)[ \t]++(?:the |a |an )?[$\\(]{0,3}\Z",
    re.IGNORECASE,
)
_IS = re.compile(r"\b(?:is|are|equals|was|be)\b[ \t]*:?")
_AGREES = re.compile(r"(yes|no|true|false)\b\s*[,.;:—–-]", re.IGNORECASE)


class Span(NamedTuple):
    """An answer in a text.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        text: The answer, without markup and delimiters of mathematics.
        is_strong: True if it begins as a number, mathematics or an option; False for words.
    """

    start: int
    end: int
    text: str
    is_strong: bool


def answer_at(text: str, at: int, *, in_sentences: bool = True) -> Span | None:
    """The answer that begins behind a place, past markup; None if there is none.

    Args:
        text: The text.
        at: The place.
        in_sentences: True if there may be a sentence, whose answer is looked for.
    """
    at = _begin(text, at)
    if NEGATED.match(text, at):
        stop = _sentence_end(text, at)
        instead = NOT_BUT.search(text, at, stop)
        if instead is None:
            return None
        at = _begin(text, instead.end())
    if found := _math_at(text, at):
        return found
    return _plain_at(text, at, in_sentences)


def _begin(text: str, at: int) -> int:
    for _ in range(4):
        markup = _MARKUP.match(text, at, at + 200)
        at = markup.end() if markup else at
        filler = FILLERS.match(text, at)
        if filler is None:
            break
        at = filler.end()
    return at


def _sentence_end(text: str, at: int) -> int:
    found = _SENTENCE_END.search(text, at, at + MAX_PLAIN)
    return found.start() if found else min(len(text), at + MAX_PLAIN)


def math_span(text: str, at: int) -> tuple[int, str] | None:
    """Where the mathematics that begins here ends, and what is in it."""
    for opener, closer in _MATH_OPENERS:
        if not text.startswith(opener, at):
            continue
        begin = at + len(opener)
        stop = text.find(closer, begin, begin + MAX_MATH)
        if stop < 0:
            return None
        inner = text[begin:stop]
        if opener == "$" and ("\n\n" in inner or _is_money(text, begin, inner)):
            return None
        return stop + len(closer), inner
    return None


def _is_money(text: str, begin: int, inner: str) -> bool:
    """True for "$450 and not $": a currency sign before a number, and prose behind it."""
    return (
        text[begin : begin + 1].isdigit() and "\\" not in inner and bool(_WORD_PAIR.search(inner))
    )


def _math_at(text: str, at: int) -> Span | None:
    found = math_span(text, at)
    if found is None:
        return None
    end, inner = found
    parts = [inner.strip().rstrip(".,")]
    while join := _JOIN.match(text, end):
        more = math_span(text, join.end())
        if more is None:
            number = _PLAIN_NUMBER.match(text, join.end())
            if number is None:
                break
            more = number.end(), number.group()
        word = "or" if "or" in join.group().lower() else ","
        parts.append(f" {word} {more[1].strip().rstrip('.,')}" if word == "or" else f", {more[1]}")
        end = more[0]
    stop = _sentence_end(text, end)
    rest = text[end:stop].strip(" \t*_`")
    if rest and len(rest) <= 40 and not EXPLAINS.match(" " + rest) and _UNIT_WORDS.match(rest):
        parts.append(" " + rest)
        end = stop
    return Span(at, end, "".join(parts).strip(), True)


def in_sentence(text: str) -> Span | None:
    """The answer in a sentence: behind its last "is" or "equals", or its only number.

    The only number is not strong: it may be that of a step.
    """
    if not _SENTENCE.match(text) or OFFERS.search(text):
        return None
    for link in reversed(list(_IS.finditer(text))[-3:]):
        found = answer_at(text, link.end(), in_sentences=False)
        if found is not None and found.is_strong:
            return found
    bold = list(_BOLD_NUMBER.finditer(text))
    if len(bold) == 1 and (found := answer_at(bold[0].group(1), 0, in_sentences=False)):
        return Span(bold[0].start(), len(text), found.text, True)
    numbers = list(_NUMBER.finditer(text))
    if numbers and NOT_THE_VALUE.search(text, 0, numbers[0].start()):
        return None
    if len(numbers) == 1 and len(text.split()) <= _MAX_SENTENCE:
        found = answer_at(text, numbers[0].start(), in_sentences=False)
        return found._replace(is_strong=False) if found else None
    return None


def _plain_at(text: str, at: int, in_sentences: bool) -> Span | None:
    stop = _sentence_end(text, at)
    if text.startswith("?", stop):
        return None
    content = text[at:stop]
    is_strong = _STRONG.match(content) is not None
    if not is_strong and (words := _AGREES.match(content)):
        content = words.group(1)
    elif explained := EXPLAINS.search(content):
        rest = content[explained.start() :]
        if not (_BUT.match(rest) and OFFERS.search(rest)):
            content = content[: explained.start()]
    stop = at + len(content)
    if in_sentences and not is_strong and (inner := in_sentence(content)):
        return Span(at + inner.start, at + inner.end, inner.text, inner.is_strong)
    content = content.replace("**", "").replace("`", "").strip(" \t*_:\"“”'’,")
    if content.endswith(")") and not any(c in content for c in "(["):
        content = content[:-1].rstrip()
    if not content or PLACEHOLDER.fullmatch(content):
        return None
    if not is_strong and len(content.split()) > _MAX_WORDS:
        return None
    return Span(at, stop, content, is_strong)
