"""How a completion becomes the text that is scored: prefix, line ends, suffixes, fences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from grpo_core import Completion
from grpo_reward_format.fences import MAX_FENCE_LINES, mask_fences

FENCE_LIMIT = f"limit: more than {MAX_FENCE_LINES} lines that look like code fences"

_N_FAULTS_SHOWN = 3
# White space that no suffix holds, so that blanking one suffix cannot make up another.
_BLANK = "\x1c"


class Reader:
    """Reads completions under the options that `format/tags` and `format/tag_count` share."""

    def __init__(
        self,
        prompt_prefix: str | None,
        prefix_policy: Literal["exact", "lenient"],
        ignore_code_fences: bool,
        strip_suffixes: Sequence[str],
    ) -> None:
        self._prefix = None if prompt_prefix is None else _with_line_feeds(prompt_prefix)
        self._lenient = prefix_policy == "lenient"
        self._ignore_code_fences = ignore_code_fences
        # Longest first: one suffix may be the end of another.
        self._suffixes = sorted(map(_with_line_feeds, strip_suffixes), key=len, reverse=True)

    def read(self, completion: Completion) -> tuple[str, str | None]:
        """Returns the prefix, and the text with it in front; None if it has too many fences."""
        written = _without_suffixes(_with_line_feeds(completion.text), self._suffixes)
        prefix = self._prefix
        if prefix is None:
            prefix = _with_line_feeds(completion.prefill)
        if self._lenient and _repeats(written, prefix):
            prefix = ""
        text = prefix + written
        return prefix, mask_fences(text) if self._ignore_code_fences else text


def summary(faults: Sequence[str]) -> str:
    """The first faults and how many more there are, as a reason."""
    n_more = len(faults) - _N_FAULTS_SHOWN
    return "; ".join([*faults[:_N_FAULTS_SHOWN], *([f"{n_more} more"] if n_more > 0 else [])])


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n")


def _without_suffixes(text: str, suffixes: Sequence[str]) -> str:
    """Cuts suffixes and the white space between them off the end, in any order and number.

    Blanking them out and asking where the blank end begins is one pass each; cutting them one by
    one copies the text as often as there are suffixes.
    """
    if not suffixes:
        return text
    stripped = text.rstrip()
    if not stripped.endswith(tuple(suffix.rstrip() for suffix in suffixes)):
        return stripped
    blanked = text
    for suffix in suffixes:
        blanked = blanked.replace(suffix, _BLANK * len(suffix))
    return text[: len(blanked.rstrip())]


def _repeats(written: str, prefix: str) -> bool:
    """True if the completion begins with the prefix, white space around it aside."""
    core = prefix.strip()
    return bool(core) and written.lstrip().startswith(core)
