"""A gold answer in any of its forms, read once and found again."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache

from grpo_reward_math.boxes import boxes_of, unboxed
from grpo_reward_math.comparing import split_unit
from grpo_reward_math.exact import exact
from grpo_reward_math.extracting import ExtractOptions, extract
from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.marks import behind_phrases
from grpo_reward_math.reading import Reading, read
from grpo_reward_math.rules import Rules

Gold = str | int | float | list[str | int | float]

_HASHES = re.compile(r"####(?!#)[ \t]*([^\n]*)")
_NOT_EMPTY = re.compile(r"[^\s${}\\,;.~()\[\]]")
_DRESS = re.compile(r"[\s$]|\\left|\\right|\\[,;! ]")
_OPTIONS = ExtractOptions()


class NoGold(ValueError):
    """The row has no gold answer; the text says so."""


class BadGold(ValueError):
    """The gold answer cannot be used; the text says why."""


def gold_of(answer: Gold, rules: Rules) -> Reading:
    r"""The gold answer, read.

    Args:
        answer: LaTeX or plain text, with or without `$…$`; a text with a `\boxed{}`; a GSM8K
            solution that ends with `#### n`; a number; or a list of these, all of which are asked
            for, in any order.
        rules: The conventions it is read by.

    Raises:
        NoGold: It is empty.
        BadGold: It cannot be read.
    """
    if isinstance(answer, str):
        return _of_text(answer, rules)
    return _read(gold_text(answer), rules)


def gold_text(answer: Gold) -> str:
    """The bare text of a gold answer.

    Raises:
        NoGold: It is empty.
        BadGold: It is no finite number.
    """
    if isinstance(answer, list):
        parts = [gold_text(part) for part in answer]
        if not parts:
            raise NoGold("the gold is an empty list")
        return ", ".join(parts)
    if isinstance(answer, float):
        return _of_float(answer)
    text = bare(answer) if isinstance(answer, str) else str(answer)
    if not _NOT_EMPTY.search(text) and not _is_empty_set(text):
        raise NoGold("the gold is empty")
    return text.strip()


def _of_float(number: float) -> str:
    if not math.isfinite(number):
        raise BadGold(f"the gold is no finite number: {number!r}")
    if number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return repr(number)


def _is_empty_set(text: str) -> bool:
    return _DRESS.sub("", text) in (r"\{\}", "{}", "()", "[]")


def bare(text: str) -> str:
    """The answer of a gold text: of its boxes, behind its last `####` or phrase, else all of it."""
    boxes = boxes_of(text).closed
    if len(boxes) == 1:
        return unboxed(boxes[0].text)
    if boxes:
        found = extract(text, _OPTIONS)
        if found.joined is not None:
            return found.joined
        return unboxed(boxes[-1].text)
    hashes: list[str] = _HASHES.findall(text)
    if hashes:
        return hashes[-1]
    said = behind_phrases(text, ()).found
    return said[-1].text if said else text


@lru_cache(maxsize=4096)
def _of_text(text: str, rules: Rules) -> Reading:
    return _read(gold_text(text), rules)


@lru_cache(maxsize=4096)
def _read(text: str, rules: Rules) -> Reading:
    try:
        gold = read(text, rules)
        # What is over a limit here is so beside every answer.
        exact(split_unit(gold.tree)[0], rules)
        return gold
    except Unreadable as exc:
        raise BadGold(f"the gold cannot be read: {exc}") from None
    except LimitHit as exc:
        raise BadGold(f"the gold is over a limit: {exc}") from None


def parts_of(texts: Sequence[str]) -> str:
    """Several answers as the one list that they may be together."""
    return ", ".join(dict.fromkeys(text.strip() for text in texts))
