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
    r"[(\[]?[A-Z][)\]]?(?:\s*(?:,|/|&|\bor\b|\band\b|\bnot\b|(?<=[)\].:])\s)+\s*[(\[]?[A-Z][)\]]?)+\.?",
    re.IGNORECASE,
)
# A second option beside the first: "(A) 5 (B) 6", "A) B)".
_ANOTHER = re.compile(r"(?:^|\s)(?:[(\[]\s*[A-Z]\s*[)\]]|[A-Z][).:](?=\s|$))|^[A-Z]$")
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
    # A single letter is that of an option where there is one, whatever the texts are.
    if len(named) == 1 and not _is_letter(bare, len(choices)):
        return named[0]
    letter = _LETTER.fullmatch(bare)
    if names_several(bare) and (letter is None or _key(letter.group(2)) not in keys):
        raise Unreadable("it names several options")
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


def _is_letter(bare: str, n_choices: int) -> bool:
    return len(bare) == 1 and 0 <= ord(bare.upper()) - ord("A") < min(n_choices, 26)


def names_several(text: str) -> bool:
    r"""True for "A or B", "(A) (B)", "(A) 5 (B) 6" and the like."""
    bare = plain(text)
    if _SEVERAL.fullmatch(bare):
        return True
    letter = _LETTER.fullmatch(bare)
    return letter is not None and _ANOTHER.search(letter.group(2)) is not None


def letter_of(index: int) -> str:
    """The letter of an option."""
    return chr(ord("A") + index)
