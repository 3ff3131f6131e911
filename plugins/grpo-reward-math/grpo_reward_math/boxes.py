r"""Finds the boxes of a text, `\boxed{…}` and `\fbox{…}`, in one pass."""

from __future__ import annotations

import re
from typing import NamedTuple

# A box, an escaped brace or line break, a brace. A "\b" that was read as a backspace counts too.
_TOKEN = re.compile(
    r"(?:\\(?:boxed|fbox|framebox)(?![A-Za-z])|\x08oxed(?![A-Za-z])"
    r"|(?<![A-Za-z\\\x08])boxed(?=[ \t]{0,4}\{))"
    r"|\\[{}]|\\\\(?!boxed|fbox|framebox)|[{}]"
)
_BLANKS = re.compile(r"\s{0,20}")
# What a box without braces holds: `\boxed 5`, `\boxed5`, `\boxed\frac12`.
_BARE = re.compile(
    r"(?:[^\n$\\.,;!?]|\\(?![\])])|[.,;!?](?!\s|$)){0,200}+(?=\$|\n|\\[\])]|[.,;!?](?:\s|$)|$)"
)


class Box(NamedTuple):
    """A box and where it stands.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        text: What it holds.
    """

    start: int
    end: int
    text: str


class Boxes(NamedTuple):
    """The boxes of a text.

    Attributes:
        closed: Those that are not inside another, in order.
        cut_off: Where the last box begins if it is never closed, else -1.
    """

    closed: list[Box]
    cut_off: int


def boxes_of(text: str, start: int = 0) -> Boxes:
    """Finds all boxes from a place on; of boxes in a box the outer one counts."""
    first = _first(text, start)
    if first < 0:
        return Boxes([], -1)
    found: list[tuple[int, int, int, int]] = []  # a box from, to; what it holds from, to
    open_: list[tuple[int, int]] = []  # of each open brace: start of its box or -1, and its place
    box_start, box_brace, end_of_bare = -1, -1, 0
    for token in _TOKEN.finditer(text, first):
        mark, at = token.group(), token.start()
        if mark == "{":
            open_.append((box_start if at == box_brace else -1, at))
        elif mark == "}":
            if open_:
                begin, brace = open_.pop()
                if begin >= 0:
                    found.append((begin, at + 1, brace + 1, at))
        elif len(mark) > 2:
            blanks = _BLANKS.match(text, token.end())
            box_start, box_brace = at, blanks.end() if blanks else token.end()
            # A box without braces inside another such box is a part of it.
            if not text.startswith("{", box_brace) and at >= end_of_bare:
                bare = _BARE.match(text, box_brace)
                # Nor is every one in a row of them looked at that have no end.
                end_of_bare = bare.end() if bare else at + 100
                if bare and bare.group().strip():
                    found.append((at, bare.end(), bare.start(), bare.end()))
    outer: list[Box] = []
    for begin, end, low, high in sorted(found):
        if not outer or begin >= outer[-1].end:
            # Only these are sliced: boxes in boxes would be copied once for each level.
            outer.append(Box(begin, end, text[low:high]))
    last_open = max((begin for begin, _ in open_), default=-1)
    return Boxes(outer, -1 if outer and outer[-1].start > last_open else last_open)


def _first(text: str, start: int) -> int:
    """Where the first box may begin, or -1; braces before it do not matter."""
    places = [text.find("oxed", start), text.find("fbox", start), text.find("framebox", start)]
    there = [place for place in places if place >= 0]
    return max(start, min(there) - len("\\b")) if there else -1


def unboxed(text: str) -> str:
    """The text with each box replaced by what it holds, to any depth."""
    for _ in range(8):  # nobody nests boxes deeper; what is left is unreadable
        found = boxes_of(text).closed
        if not found:
            break
        parts, at = [], 0
        for box in found:
            parts += [text[at : box.start], box.text]
            at = box.end
        text = "".join([*parts, text[at:]])
    return text
