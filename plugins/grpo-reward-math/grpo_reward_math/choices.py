"""Reads which of several options a text names: by its letter, by its text, or by both."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grpo_reward_math.failures import Unreadable

# Commands that only say how a text looks.
_LOOKS = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt)?|math(?:bf|rm|it|sf)|mbox|bf|rm|it|left|right|boxed|fbox)"
    r"(?![A-Za-z])|\\[,;:! ]|\\q?quad(?![A-Za-z])|[{}$*`~]"
)
_LETTER = re.compile(
    r"(?:(?:the|my)\s++)?(?:(?:option|choice|answer|letter)\s++)?(?:is\s++)?[(\[]?\s*+([A-Za-z])"
    r"(?:\s*+[)\]](?:\s*+[.:])?|\s*+[.:]|\s*+$|\s++(?=[-–—]\s))\s*+[-–—]?\s*+(.*)",
    re.DOTALL | re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"[(\[]?[A-Z][)\]]?(?:\s*(?:,|/|&|\bor\b|\band\b)+\s*[(\[]?[A-Z][)\]]?)+\.?", re.IGNORECASE
)
# Longer ones are no option.
_MAX_CHARS = 4000


def plain(text: str) -> str:
    """The text without commands that say how it looks, and with single blanks."""
    return " ".join(_LOOKS.sub(" ", text[:_MAX_CHARS]).split())


def _key(text: str) -> str:
    return plain(text).rstrip(".").casefold().replace(" ", "")


def chosen(text: str, choices: Sequence[str]) -> int:
    r"""The index of the option that a text names; A is 0.

    Args:
        text: Such as "B", "(b)", "\textbf{(B)}\ 24", "B) 24" or the option's own text.
        choices: The texts of the options; empty if they are not known.

    Raises:
        Unreadable: It names none, several, or a letter with the text of another.
    """
    bare = plain(text)
    if not bare:
        raise Unreadable("it is empty")
    keys = [_key(choice) for choice in choices]
    named = [i for i, key in enumerate(keys) if key and key == _key(bare)]
    if len(named) == 1 and len(bare) > 1:
        return named[0]
    if _SEVERAL.fullmatch(bare):
        raise Unreadable("it names several options")
    letter = _LETTER.fullmatch(bare)
    if letter is None:
        raise Unreadable("it names no option")
    index = ord(letter.group(1).upper()) - ord("A")
    if choices and index >= len(choices):
        raise Unreadable(f"there is no option {letter.group(1)}")
    rest = _key(letter.group(2))
    others = [i for i, key in enumerate(keys) if rest and key == rest]
    if others and index not in others:
        raise Unreadable(f"the letter is {letter.group(1)}, the text that of another option")
    return index


def letter_of(index: int) -> str:
    """The letter of an option."""
    return chr(ord("A") + index)
