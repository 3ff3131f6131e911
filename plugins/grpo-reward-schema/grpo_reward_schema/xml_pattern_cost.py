"""What the patterns of an XSD or RELAX NG schema may cost libxml2, which has no limit of its own.

It tries all ways to share a text between the repeats of a pattern: with k of them in a row up to
n^k for n characters, and 2^n where one stands in another. A count of this is no more than a guess
from above: it says which documents need a process that can be ended.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

# A third of a second or so.
MOST_STEPS = 100_000_000
# An escape, a set without the sets in it, a repeat of either kind, a bracket or a bar.
_TOKEN = re.compile(r"\\.|(?P<repeat>[*+?]|\{[0-9]*(?P<range>,)?[0-9]*\})|[()|\[\]]", re.DOTALL)


def n_repeats(pattern: str) -> float:
    """How many repeats share a text; infinite if one may stand in another."""
    count, in_set = 0.0, 0
    # For each open group, and for the last one that was closed: is there a choice in it?
    open_: list[bool] = []
    closed = None
    for token in _TOKEN.finditer(pattern):
        mark = token.group()
        is_behind = closed is not None and closed[0] == token.start()
        has_choice = closed is not None and closed[1]
        if mark in ("[", "]"):
            in_set = max(0, in_set + (1 if mark == "[" else -1))
        elif in_set or mark[0] == "\\":
            continue
        elif mark == "(":
            open_.append(False)
        elif mark == ")" and open_:
            inner = open_.pop()
            closed = (token.end(), inner)
            if inner and open_:
                open_[-1] = True
        elif mark == "|" and open_:
            open_[-1] = True
        elif token["repeat"]:
            if is_behind and has_choice and mark != "?":
                return math.inf
            if mark[0] != "{" or token["range"]:
                count += 1
                if open_:
                    open_[-1] = True
    return count


def n_steps(root: Any, n_repeats: float) -> float:
    """How many steps a document may take against a pattern with as many repeats."""
    steps = 0.0
    for length in _lengths(root.iter("*")):
        try:
            steps += float(length) ** n_repeats if length > 1 else 1.0
        except OverflowError:
            return math.inf
    return steps


def _lengths(elements: Iterable[Any]) -> Iterator[int]:
    for element in elements:
        yield len(element.text or "") + sum(len(child.tail or "") for child in element)
        yield from map(len, element.attrib.values())
