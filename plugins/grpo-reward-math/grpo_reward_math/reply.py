"""The part of a completion that may hold the answer: without reasoning, without code."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)


class NoAnswer(ValueError):
    """The completion has no final answer; the text says why."""


def reply_of(text: str, prefill: str, after_tag: str) -> str:
    """The text behind the last closing tag of the reasoning.

    Args:
        text: What the model wrote.
        prefill: What the chat template had already opened for it.
        after_tag: Name of the tag that closes the reasoning; "" if there is none.

    Raises:
        NoAnswer: The reasoning is opened and never closed.
    """
    whole = prefill + text
    if not after_tag:
        return whole
    opener, closer = f"<{after_tag}>", f"</{after_tag}>"
    reply = whole.rpartition(closer)[2]
    if opener in reply:
        raise NoAnswer(f"no answer: {opener} is never closed")
    return reply


def without_fences(text: str) -> str:
    """The text with blanks for what stands in code fences, so that all places stay the same."""
    if "```" not in text and "~~~" not in text:
        return text
    kept: list[str] = []
    opener, at = "", 0
    for line in _FENCE.finditer(text):
        mark, rest = line.group(1), line.group(2).strip()
        if not opener:
            if "`" in rest:
                continue  # code inside a line
            kept.append(text[at : line.start()])
            opener, at = mark, line.start()
        elif mark.startswith(opener) and not rest:
            kept.append(" " * (line.end() - at))
            opener, at = "", line.end()
    kept.append(" " * (len(text) - at) if opener else text[at:])
    return "".join(kept)
