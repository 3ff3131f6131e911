"""Patterns of the operator, matched by the package `regex` with a limit on their time."""

from __future__ import annotations

import re
from typing import Protocol

from grpo_reward_safety.scanned import LimitHit

# Call of the pattern or of a group; what escapes and sets hold is passed over.
_CALL = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<call>\(\?(?:R|[+-]?\d+|&\w+|P>\w+)\))", re.DOTALL
)


class _Match(Protocol):
    def start(self) -> int: ...

    def end(self) -> int: ...

    def group(self) -> str: ...


class _Regex(Protocol):
    """What is used of a pattern of the package `regex`, which has no types."""

    def search(self, string: str, pos: int = 0, *, timeout: float) -> _Match | None: ...


class OperatorPattern:
    """One pattern that somebody wrote into a config.

    Args:
        where: What the errors call it, such as "terms[3]".
        pattern: The pattern, of the package `regex`.
        timeout_s: CPU seconds of the process that one search may take.
        ignore_case: Whether case does not matter.

    Raises:
        ValueError: It is no pattern, calls itself, or matches the empty text.
    """

    def __init__(
        self, where: str, pattern: str, *, timeout_s: float, ignore_case: bool = False
    ) -> None:
        # Here, not above: it takes longer than all of the plugin, and few need it.
        import regex

        try:
            compiled: _Regex = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
        except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as exc:
            raise ValueError(
                f"{where} must be a pattern of the package regex, got {pattern!r}: "
                f"{exc or type(exc).__name__}; in TOML write it in single quotes, so that "
                f"backslashes stay"
            ) from exc
        if any(found["call"] for found in _CALL.finditer(pattern)):
            raise ValueError(
                f"{where} calls itself or a group, which can take gigabytes before any time "
                f"limit; write the group out, got {pattern!r}"
            )
        self._where, self._regex, self._timeout_s = where, compiled, timeout_s
        if self.search("") is not None:
            raise ValueError(
                f"{where} matches the empty text, so every reply would be a hit; got {pattern!r}"
            )

    def search(self, text: str, start: int = 0) -> _Match | None:
        """The first match from a place on.

        Raises:
            LimitHit: The pattern uses up its time or memory.
        """
        try:
            return self._regex.search(text, start, timeout=self._timeout_s)
        except (TimeoutError, MemoryError) as exc:
            raise LimitHit(f"{self._where} took over {self._timeout_s:g} s of CPU time") from exc
