"""The reward `format/pattern`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from grpo_core import Completion, Score, reward
from grpo_reward_format.reading import summary

_EXCERPT_CHARS = 30
_ALLOWED = {"must": ("match", "not_match"), "where": ("search", "full")}
# Call of the pattern or of a group; what escapes and sets hold is passed over.
_CALL = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<call>\(\?(?:R|[+-]?\d+|&\w+|P>\w+)\))", re.DOTALL
)
_EXAMPLE = "write for example patterns = [{ pattern = '[0-9]', must = 'match', where = 'search' }]"


class _Match(Protocol):
    def group(self) -> str: ...


class _Regex(Protocol):
    """What is used of a pattern of the package `regex`, which has no types."""

    def search(self, string: str, *, timeout: float) -> _Match | None: ...

    def fullmatch(self, string: str, *, timeout: float) -> _Match | None: ...


@dataclass(frozen=True)
class _Rule:
    name: str
    regex: _Regex
    must_match: bool
    full: bool

    def fault(self, text: str, timeout_s: float) -> str:
        """What is wrong with the text, or "".

        Raises:
            TimeoutError: The budget is used up.
            MemoryError: The matcher ran out of memory.
        """
        match = (self.regex.fullmatch if self.full else self.regex.search)(text, timeout=timeout_s)
        if (match is not None) == self.must_match:
            return ""
        if match is None:
            return f"{self.name} does not match"
        return f"{self.name} matches {match.group()[:_EXCERPT_CHARS]!r}"


@reward(range=(0.0, 1.0))
class Pattern:
    r"""The share of the patterns that the text satisfies, from 0.0 to 1.0.

    Patterns are those of the package `regex`: what Python's `re` knows, and more. They see the
    text as it is, behind what the prompt had already opened; flags are written in the pattern,
    `(?s)` for "." across lines, `(?m)` for "^" and "$" at every line. "$" without `(?m)` also holds
    before a final line feed; `where = "full"` does not.

    A pattern that uses up its time or memory is not satisfied, whatever `must` says; the reason
    begins with "limit:" and the metric `limit_hits` counts such patterns. This is a net for
    runaway patterns, no part of a rule: the time is CPU time of the whole process, so busy
    threads beside this one bring the limit nearer. Deterministic but for that. Calls of the
    pattern or of its groups, `(?R)`, `(?1)`, `(?&name)` and `(?P>name)`, are refused: the memory
    they take has no bound. For tags take `format/tags`, which needs no pattern and no limit.

    How a lazy model could cheat: an empty reply satisfies every "not_match", and earns their share
    without work; gate on a pattern that asks for something, or write one pattern with look-aheads.
    "search" is content with one place anywhere. A pattern is only as strict as its author: `.*`
    spans blocks, and `\s*` an empty body.

    Args:
        patterns: Each `{ pattern, must, where }`: the pattern; "match" (the default) or
            "not_match"; "search" (the default) for a match anywhere, "full" for the whole text.
        timeout_s: CPU seconds of the process that one pattern may take on one text.
        prompt_prefix: What the prompt had already written of the reply, put in front of the
            completion; None takes what the chat template is known to have opened.

    Raises:
        ValueError: A pattern is not one, or another option is not one of these.
    """

    def __init__(
        self,
        *,
        patterns: Sequence[Mapping[str, str]],
        timeout_s: float = 1.0,
        prompt_prefix: str | None = None,
    ) -> None:
        if isinstance(patterns, str | Mapping) or not patterns:
            raise ValueError(f"patterns must be a list of tables, got {patterns!r}; {_EXAMPLE}")
        # The regex package counts in an integer that overflows far above this.
        if not 0 < timeout_s <= 1e6:
            raise ValueError(
                f"timeout_s must be above 0 and at most 1e6 seconds, got {timeout_s!r}; write at "
                f"least 1.0, or leave it out"
            )
        self._rules = [_rule(f"patterns[{i}]", given) for i, given in enumerate(patterns)]
        self._timeout_s = timeout_s
        self._prefix = prompt_prefix

    def __call__(self, completion: Completion) -> Score:
        """Scores a completion; the reason names the first patterns that are not satisfied."""
        prefix = completion.prefill if self._prefix is None else self._prefix
        text = prefix + completion.text
        limits, faults = [], []
        for rule in self._rules:
            try:
                fault = rule.fault(text, self._timeout_s)
            except TimeoutError:
                limits.append(f"limit: {rule.name} took over {self._timeout_s:g} s of CPU time")
            except MemoryError:
                limits.append(f"limit: {rule.name} took more memory than there is")
            else:
                faults += [fault] if fault else []
        reasons = limits + faults
        value = 1 - len(reasons) / len(self._rules)
        return Score(value, summary(reasons), {"limit_hits": float(len(limits))})


def _rule(where: str, given: Mapping[str, str]) -> _Rule:
    if not isinstance(given, Mapping):
        raise ValueError(f"{where} must be a table, got {given!r}; {_EXAMPLE}")
    unknown = [key for key in given if key not in ("pattern", *_ALLOWED)]
    if unknown:
        raise ValueError(f"{where} has no {unknown[0]!r}; it takes 'pattern', 'must' and 'where'")
    pattern = given.get("pattern")
    if not isinstance(pattern, str) or not pattern:
        raise ValueError(f"{where}.pattern must be a text, got {pattern!r}; {_EXAMPLE}")
    for key, allowed in _ALLOWED.items():
        value = given.get(key, allowed[0])
        if value not in allowed:
            raise ValueError(
                f"{where}.{key} must be one of {', '.join(map(repr, allowed))}, got {value!r}"
            )
    return _Rule(
        name=where,
        regex=_compiled(where, pattern),
        must_match=given.get("must", "match") == "match",
        full=given.get("where", "search") == "full",
    )


def _compiled(where: str, pattern: str) -> _Regex:
    # Here, not above: it takes longer than all of the plugin, and only this reward needs it.
    import regex

    try:
        compiled: _Regex = regex.compile(pattern)
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as exc:
        raise ValueError(
            f"{where}.pattern must be a pattern of the package regex, got {pattern!r}: "
            f"{exc or type(exc).__name__}; in TOML write it in single quotes, so that backslashes "
            f"stay"
        ) from exc
    for found in _CALL.finditer(pattern):
        if call := found["call"]:
            raise ValueError(
                f"{where}.pattern calls itself or a group with {call}, which can take gigabytes "
                f"before any time limit; write the group out as often as it may be nested, got "
                f"{pattern!r}"
            )
    return compiled
