"""Matches the patterns of a schema, with a bound on what one may cost.

Patterns are those of ECMA-262, as JSON Schema has them. With jsonschema-rs installed its engine
matches them, in linear time where the pattern can be; without it they are translated for the
package `regex`, whose matcher has a time limit. `re` would do neither.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from grpo_reward_schema import rust
from grpo_reward_schema.rust import validator_of

# CPU seconds of the process for one match of `regex`: a net for patterns that run away.
TIMEOUT_S = 1.0
MAX_PATTERN_CHARS = 2000

Matcher = Callable[[str], bool]

# As ECMA-262 has them: ASCII digits and letters, and its own list of white space. Those in capital
# letters are written out as what is left, since a set cannot hold the complement of a class.
_CLASSES = {
    "d": "0-9",
    "D": r"\x00-/:-\U0010ffff",
    "w": "A-Za-z0-9_",
    "W": r"\x00-/:-@\[-\^`{-\U0010ffff",
    "s": r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
    "S": r"\x00-\x08\x0e-\x1f!-\u009f\u00a1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e"
    r"\u2030-\u205e\u2060-\u2fff\u3001-\ufefe\uff00-\U0010ffff",
}
# Escapes of Python or of `regex` that ECMA-262 does not have.
_NOT_ECMA = frozenset("AZzGaKRXLmMhHNQECUeyYiIglc<>`'")

# What `regex` writes otherwise than ECMA-262, or reads as something else.
_PIECE = re.compile(r"\\c[A-Za-z]|\\u\{[0-9A-Fa-f]+\}|\\.|\[\^?|\]|\(\?<(?![=!])|\$|\.", re.DOTALL)


class LimitHit(Exception):
    """A pattern ran into its limit; whether the text matches is not known."""


def check_pattern(pattern: str) -> None:
    """Raises ValueError, with the cause, if a pattern cannot be matched or is too costly."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise ValueError(f"is longer than {MAX_PATTERN_CHARS} characters")
    matcher_of(pattern)


def backtracks(pattern: str) -> bool:
    """True if jsonschema-rs would match the pattern by trial and error, up to a limit."""
    assert rust.engine is not None
    try:
        validator_of({"pattern": pattern}, linear=True)
    except ValueError:
        return True
    return False


def matcher_of(pattern: str) -> Matcher:
    """Returns what says whether a text has a match of the pattern anywhere.

    Raises:
        ValueError: The pattern is none.
    """
    return _matcher(pattern, rust.engine is not None)


@functools.lru_cache(maxsize=4096)
def _matcher(pattern: str, fast: bool) -> Matcher:
    return _of_rust(pattern) if fast else _of_regex(pattern)


def _of_rust(pattern: str) -> Matcher:
    is_bounded = not backtracks(pattern)
    validator = validator_of({"pattern": pattern}, linear=is_bounded)
    if is_bounded:
        fast: Matcher = validator.is_valid
        return fast

    def matches(text: str) -> bool:
        for error in validator.iter_errors(text):
            if type(error.kind).__name__.endswith(("BacktrackLimitExceeded", "EngineFailure")):
                raise LimitHit(f"the pattern {pattern[:40]!r} takes too many steps")
            return False
        return True

    return matches


def _of_regex(pattern: str) -> Matcher:
    import regex  # not above: it takes longer to import than all of this plugin

    try:
        search = regex.compile(translated(pattern), regex.VERSION0).search
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as exc:
        raise ValueError(f"is not a pattern: {exc or type(exc).__name__}") from exc

    def matches(text: str) -> bool:
        try:
            return search(text, timeout=TIMEOUT_S) is not None
        except (TimeoutError, MemoryError) as exc:
            raise LimitHit(f"the pattern {pattern[:40]!r} takes over {TIMEOUT_S:g} s") from exc

    return matches


def translated(pattern: str) -> str:
    r"""A pattern of ECMA-262 as `regex` writes it.

    Raises:
        ValueError: It holds what ECMA-262 does not have, such as \A.
    """
    made: list[str] = []
    at, in_set = 0, False
    for piece in _PIECE.finditer(pattern):
        made.append(pattern[at : piece.start()])
        at = piece.end()
        made.append(_translated(piece.group(), in_set))
        if piece.group().startswith("[") and not in_set:
            in_set = True
            if pattern.startswith("]", at):  # ECMA-262 has empty sets
                at += 1
                made[-1] = "(?!)" if piece.group() == "[" else r"[\s\S]"
                in_set = False
        elif piece.group() == "]":
            in_set = False
    return "".join(made) + pattern[at:]


def _translated(piece: str, in_set: bool) -> str:
    if piece == "$" and not in_set:
        return r"(?!\n)\Z"
    if piece == "." and not in_set:
        return r"[^\n\r\u2028\u2029]"
    if piece.startswith("(?<"):
        return "(?P<"
    if piece == "[" and in_set:
        return r"\["
    if not piece.startswith("\\"):
        return piece
    if piece.startswith(r"\u{"):
        return rf"\U{int(piece[3:-1], 16):08x}"
    if piece.startswith(r"\c") and len(piece) == 3:
        return rf"\x{ord(piece[2]) % 32:02x}"
    return _escape(piece[1], in_set)


def _escape(letter: str, in_set: bool) -> str:
    if letter in _CLASSES:
        return _CLASSES[letter] if in_set else f"[{_CLASSES[letter]}]"
    if letter in _NOT_ECMA:
        raise ValueError(rf"is not a pattern of ECMA-262: \{letter}")
    return f"\\{letter}"
