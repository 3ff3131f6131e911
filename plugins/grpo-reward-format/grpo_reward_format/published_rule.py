"""The reward `format/published_rule`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from grpo_core import Completion, reward


def _trl_think_format(text: str) -> float:
    """`^<think>(?!.*<think>)(.*?)</think>.*$`, `re.match`, DOTALL and MULTILINE."""
    if not text.startswith("<think>"):
        return 0.0
    rest = text[len("<think>") :]
    return float("<think>" not in rest and "</think>" in rest)


def _open_r1_format(text: str) -> float:
    r"""`^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$`, matched in the same way."""
    start, middle, end = "<think>\n", "\n</think>\n<answer>\n", "\n</answer>"
    # The first middle leaves the most room for the end, so no other need be tried.
    between = text.find(middle, len(start)) if text.startswith(start) else -1
    if between < 0:
        return 0.0
    after = between + len(middle)
    # `$` under MULTILINE holds before any line feed as well as at the end.
    return float(text.find(end + "\n", after) >= 0 or text.endswith(end, after))


def _open_r1_tag_count(text: str) -> float:
    strings = ("<think>\n", "\n</think>\n", "\n<answer>\n", "\n</answer>")
    return 0.25 * sum(text.count(string) == 1 for string in strings)


_RULES: dict[str, Callable[[str], float]] = {
    "trl_think_format": _trl_think_format,
    "open_r1_format": _open_r1_format,
    "open_r1_tag_count": _open_r1_tag_count,
}


@reward(range=(0.0, 1.0), isolation="inline")
class PublishedRule:
    """The number that a published format reward gives, its quirks included.

    For comparing runs with published ones. The rules are those of TRL's `think_format_reward` and
    of open-r1's `format_reward` and `tag_count_reward`. Their patterns are followed by searching
    for strings: the same numbers in linear time. Deterministic.

    They see the completion alone, so with a template that opens `<think>` in the prompt the first
    two are always 0.0 and the third at most 0.75.

    How a lazy model could cheat: all three pay for empty blocks. `trl_think_format` asks for no
    answer; `open_r1_format` takes several blocks and any text behind the first right end;
    `open_r1_tag_count` takes any order, text anywhere, tags without a partner, and more tags
    whose line breaks differ. For training take `format/tags` or `format/tag_count`, which close
    these holes.

    Args:
        rule: "trl_think_format": 1.0 if the text starts with `<think>`, holds no second one, and
            holds `</think>`. "open_r1_format": 1.0 if each tag has its line, from the start on,
            up to some line `</answer>`. "open_r1_tag_count": 0.25 for each of four strings, tags
            with line feeds, that occurs exactly once.

    Raises:
        ValueError: There is no such rule.
    """

    def __init__(
        self, *, rule: Literal["trl_think_format", "open_r1_format", "open_r1_tag_count"]
    ) -> None:
        if rule not in _RULES:
            raise ValueError(f"rule must be one of {', '.join(map(repr, _RULES))}, got {rule!r}")
        self._rule = _RULES[rule]

    def __call__(self, completion: Completion) -> float:
        """Scores the text as it is: no prefix, no suffixes, line ends untouched."""
        return self._rule(completion.text)
