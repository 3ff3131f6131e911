"""Matches the patterns of a schema, with a bound on what one may cost.

One reader decides what a pattern is, see `ecma`. With jsonschema-rs installed its engine matches,
in linear time, those that it reads in the same way; all others, and all without it, are translated
for the package `regex`, whose matcher has a time limit. `re` would do neither. The backtracking
engine of jsonschema-rs is left out: it knows no ECMA-262.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from grpo_reward_schema import rust
from grpo_reward_schema.ecma import read_pattern
from grpo_reward_schema.rust import validator_of

# CPU seconds of all matches of `regex` for one value: a net for patterns that run away.
TIMEOUT_S = 1.0
MAX_PATTERN_CHARS = 2000

Matcher = Callable[[str], bool]


class LimitHit(Exception):
    """A pattern ran into its limit; whether the text matches is not known."""


_spent: ContextVar[list[float] | None] = ContextVar("spent", default=None)


@contextlib.contextmanager
def shared_time() -> Iterator[None]:
    """A block in which all matches together have the time that one has outside."""
    if _spent.get() is not None:
        yield  # that of the block around this one
        return
    token = _spent.set([0.0])
    try:
        yield
    finally:
        _spent.reset(token)


def check_pattern(pattern: str) -> None:
    """Raises ValueError, with the cause, if a pattern cannot be matched or is too costly."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise ValueError(
            f"is {len(pattern)} characters long, at most {MAX_PATTERN_CHARS} are taken"
        )
    matcher_of(pattern)


def is_plain(pattern: str) -> bool:
    """True if the linear engine of jsonschema-rs reads a pattern as ECMA-262 does."""
    try:
        return read_pattern(pattern).is_plain
    except ValueError:
        return False


def matcher_of(pattern: str) -> Matcher:
    """Returns what says whether a text has a match of the pattern anywhere.

    Raises:
        ValueError: The pattern is none.
    """
    return _matcher(pattern, rust.engine is not None)


@functools.lru_cache(maxsize=4096)
def _matcher(pattern: str, fast: bool) -> Matcher:
    read = read_pattern(pattern)
    if fast and read.is_plain:
        # It refuses what it cannot match in linear time, and what is over its size limit.
        with contextlib.suppress(ValueError):
            is_valid: Matcher = validator_of({"pattern": pattern}, linear=True).is_valid
            return is_valid
    return _of_regex(pattern, read.regex)


def _of_regex(pattern: str, translation: str) -> Matcher:
    import regex  # not above: it takes longer to import than all of this plugin

    try:
        search = regex.compile(translation, regex.VERSION0).search
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as exc:
        raise ValueError(f"cannot be matched: {exc or type(exc).__name__}") from exc

    def matches(text: str) -> bool:
        spent = _spent.get() or [0.0]
        start = time.thread_time()
        try:
            if spent[0] >= TIMEOUT_S:
                raise TimeoutError
            return search(text, timeout=TIMEOUT_S - spent[0]) is not None
        except (TimeoutError, MemoryError) as exc:
            what = f"the pattern {pattern[:40]!r} takes over"
            if spent[0] > 0:
                what = f"matching patterns, the last of which is {pattern[:40]!r}, takes over"
            raise LimitHit(f"{what} {TIMEOUT_S:g} s") from exc
        finally:
            spent[0] += time.thread_time() - start

    return matches


def translated(pattern: str) -> str:
    r"""A pattern of ECMA-262 as `regex` writes it.

    Raises:
        ValueError: It holds what ECMA-262 does not have, such as \A.
    """
    return read_pattern(pattern).regex
