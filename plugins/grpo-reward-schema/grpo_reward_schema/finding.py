"""Finds the JSON of a reply: a piece of its text, before any of it is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Extract = Literal["auto", "whole"]
Pick = Literal["last", "first", "only"]

# What JSON calls white space; str.strip() takes more.
BLANKS = " \t\n\r"
# Pieces that are looked at in one text; nobody writes more, and each costs a little.
MAX_PIECES = 1000

_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$", re.MULTILINE)
# A string with its escapes, closed or not, or a bracket. Atomic, so that it is linear.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\]]', re.DOTALL)
# A bracket that begins JSON and not a set, a citation or code: see `_pieces`.
_START = re.compile(r'\{[ \t\n\r]*["}]|\[[ \t\n\r]*(?:[\]\[{"\-0-9]|true|false|null)')
_CLOSERS = {"{": "}", "[": "]"}


class NotFound(ValueError):
    """There is no JSON to be scored; the text says why."""


@dataclass(frozen=True)
class Place:
    """Where in a completion the JSON may stand.

    Attributes:
        extract: "whole": the text is the JSON; "auto": prose and code fences may stand around it.
        pick: Which one counts where there are several; "only" refuses several.
        after_tag: Name of the tag that closes the reasoning; "" if there is none.
    """

    extract: Extract = "auto"
    pick: Pick = "last"
    after_tag: str = "think"

    def reply_of(self, text: str, prefill: str = "") -> str:
        """The text behind the last closing tag, without white space around it.

        Raises:
            NotFound: The reasoning is opened and never closed.
        """
        if self.after_tag:
            _, closer, reply = text.rpartition(f"</{self.after_tag}>")
            opened = (prefill + text).lstrip().startswith(f"<{self.after_tag}>")
            if not closer and opened:
                raise NotFound(f"<{self.after_tag}> is never closed")
            text = reply
        return text.strip(BLANKS)

    def where(self, text: str) -> str:
        """How a reason begins: which part of a text was looked at, "" if it was all of it."""
        return f"behind the last {self._tag}: " if self._tag and self._tag in text else ""

    def cut(self, text: str) -> Iterator[str]:
        """The pieces of a text that the last closing tag has cut in two, as if it were none."""
        if not self._tag or self._tag not in text:
            return
        try:
            fenced, prose = fences(text)
            yield from (piece for piece in (*fenced, *_pieces(prose)) if self._tag in piece)
        except NotFound:  # too many
            return

    @property
    def _tag(self) -> str:
        return f"</{self.after_tag}>" if self.after_tag else ""

    def piece_of(self, reply: str, prefer: str = "") -> str:
        """The piece of the reply that should be JSON: of a fence, else of the prose; "" if none.

        Args:
            reply: What `reply_of` returned.
            prefer: Opening brackets that the root may have; pieces with others count only where
                there is none of these.

        Raises:
            NotFound: There are too many.
        """
        fenced, prose = fences(reply)
        pieces = fenced or list(_pieces(prose))
        pieces = [p for p in pieces if p[:1] and p[0] in prefer] or pieces
        if not pieces:
            return ""
        if self.pick == "only" and len(pieces) > 1:
            raise NotFound(f'{len(pieces)} pieces of JSON, and pick = "only" takes one')
        return pieces[0 if self.pick == "first" else -1]


def is_deeper(text: str, depth: int) -> bool:
    """True if brackets outside strings are nested deeper than this."""
    if text.count("{") + text.count("[") <= depth:
        return False
    level = 0
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark in ("{", "["):
            level += 1
            if level > depth:
                return True
        elif mark in ("}", "]"):
            level -= 1
    return False


def fences(text: str, language: str = "json", openers: str = "{[") -> tuple[list[str], str]:
    """What stands in fences that hold JSON, or another language, and the text outside of all.

    A fence counts if it is marked with the language, or if it is not marked and begins with one
    of the openers.

    Raises:
        NotFound: There are too many.
    """
    bodies: list[str] = []
    prose: list[str] = []
    opener, info, at = "", "", 0
    for line in _FENCE.finditer(text):
        mark, rest = line["mark"], line["info"].strip().lower()
        if not opener:
            if mark[0] == "`" and "`" in rest:
                continue  # code inside a line
            prose.append(text[at : line.start()])
            opener, info, at = mark, rest, line.end()
        elif mark.startswith(opener) and not rest:
            bodies += _body(info, text[at : line.start()], language, openers)
            check_n_pieces(len(bodies))
            opener, at = "", line.end()
    if opener:  # cut off before the closing fence
        bodies += _body(info, text[at:], language, openers)
    else:
        prose.append(text[at:])
    return bodies, "".join(prose)


def _body(info: str, text: str, language: str, openers: str) -> list[str]:
    body = text.strip(BLANKS)
    is_one = info == language or (not info and body != "" and body[0] in openers)
    return [body] if is_one else []


def _pieces(text: str) -> Iterator[str]:
    """Objects and arrays in prose, each from its bracket to the one that closes it.

    One pass: a piece that is never closed runs to the end, so that no part of it can pass for the
    whole.
    """
    at, n_pieces = 0, 0
    while found := _START.search(text, at):
        at = _end(text, found.start())
        yield text[found.start() : at]
        n_pieces += 1
        check_n_pieces(n_pieces)


def _end(text: str, start: int) -> int:
    open_: list[str] = []
    for token in _TOKEN.finditer(text, start):
        mark = token.group()
        if mark in _CLOSERS:
            open_.append(_CLOSERS[mark])
        elif mark in ("}", "]"):
            if open_.pop() != mark or not open_:
                return token.end()
    return len(text)


def check_n_pieces(n_pieces: int) -> None:
    """Raises NotFound if a text has more pieces than are looked at."""
    if n_pieces > MAX_PIECES:
        raise NotFound(f"more than {MAX_PIECES} pieces in the text")
