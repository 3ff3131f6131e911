"""Finds the JSON of a reply: a piece of its text, before any of it is parsed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

Extract = Literal["auto", "whole"]
Pick = Literal["last", "first", "only"]
Opens = Callable[[str], int]

# What JSON calls white space; str.strip() takes more.
BLANKS = " \t\n\r"
# Pieces that are looked at in one text; nobody writes more, and each costs a little.
MAX_PIECES = 1000

# The line of a fence, or a line that ends in one: many close so, and a person reads it.
_FENCE = re.compile(
    r"^ {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$|(?<=[^`\n])(?P<tail>`{3,})[ \t\r]*$",
    re.MULTILINE,
)
# The language of a fence: json, json title="a", {.json}.
_LANGUAGE = re.compile(r"\{?\.?([\w+#-]*)")
# Languages of a fence that may hold another one.
_OF_TEXT = ("", "markdown", "md")
# A string with its escapes, closed or not, or a bracket. Atomic, so that it is linear.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\]]', re.DOTALL)
# A bracket that begins JSON and not a set, a citation or code: see `_pieces`.
_START = re.compile(r'\{[ \t\n\r]*["}]|\[[ \t\n\r]*(?:[\]\[{"\-0-9]|true|false|null)')
_BRACKET = re.compile(r"[{\[]")
_CLOSERS = {"{": "}", "[": "]"}


class NotFound(ValueError):
    """There is no JSON to be scored; the text says why."""


class NeverClosed(NotFound):
    """Reasoning is opened and never closed.

    Attributes:
        rest: The text with the tag that opens it; "" if the prompt has opened it.
    """

    def __init__(self, why: str, rest: str) -> None:
        super().__init__(why)
        self.rest = rest


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

    def reply_of(self, text: str, prefill: str, opens: Opens) -> str:
        """The text behind the last closing tag, without white space around it.

        What a prefill opens and does not close is a part of it.

        Args:
            text: The text of the completion.
            prefill: What the prompt has put in front of it.
            opens: Says where a text begins something that is never closed; -1 if it does not.

        Raises:
            NeverClosed: Reasoning is opened there, and never closed.
        """
        whole, at = prefill + text, 0
        if self.after_tag:
            for closer in self._closer.finditer(whole):
                at = closer.end()
            if opener := self._opener.search(whole, at):
                is_own = opener.start() >= len(prefill)
                rest = whole[max(at, len(prefill)) :].strip(BLANKS) if is_own else ""
                raise NeverClosed(f"<{self.after_tag}> is never closed", rest)
        lead = whole[at : len(prefill)]
        start = _first(open_fence(lead), opens(lead)) if lead else -1
        start = max(at, len(prefill)) if start < 0 else at + start
        return whole[start:].strip(BLANKS)

    @property
    def _closer(self) -> re.Pattern[str]:
        return re.compile(rf"</{re.escape(self.after_tag)}\s*>", re.IGNORECASE)

    @property
    def _opener(self) -> re.Pattern[str]:
        return re.compile(rf"<{re.escape(self.after_tag)}(?:\s[^<>]*)?>", re.IGNORECASE)

    def where(self, text: str) -> str:
        """How a reason begins: which part of a text was looked at, "" if it was all of it."""
        return f"behind the last </{self.after_tag}>: " if self._has_closer(text) else ""

    def cut(self, text: str) -> Iterator[str]:
        """The pieces of a text that the last closing tag has cut in two, as if it were none."""
        if not self._has_closer(text):
            return
        try:
            fenced, prose = fences(text)
            yield from (piece for piece in (*fenced, *_pieces(prose)) if self._has_closer(piece))
        except NotFound:  # too many
            return

    def _has_closer(self, text: str) -> bool:
        return bool(self.after_tag) and self._closer.search(text) is not None

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


def fences(
    text: str, language: str = "json", openers: str = "{[", *, is_outer: bool = True
) -> tuple[list[str], str]:
    """What stands in fences that hold JSON, or another language, and the text outside of all.

    A fence counts if it is marked with the language, or if it is not marked and begins with one
    of the openers.

    A line that ends in a fence closes it as well. What a fence of text holds counts as if it stood
    in none.

    Raises:
        NotFound: There are too many.
    """
    bodies: list[str] = []
    prose: list[str] = []
    opener, info, at = "", "", 0
    for line in _FENCE.finditer(text):
        mark, rest = line["mark"] or line["tail"], (line["info"] or "").strip()
        if not opener:
            if line["tail"] or (mark[0] == "`" and "`" in rest):
                continue  # code inside a line
            prose.append(text[at : line.start()])
            opener, info, at = mark, rest, line.end()
        elif mark.startswith(opener) and not rest:
            bodies += _body(info, text[at : line.start()], language, openers, is_outer)
            check_n_pieces(len(bodies))
            opener, at = "", line.end()
    if opener:  # cut off before the closing fence
        bodies += _body(info, text[at:], language, openers, is_outer)
    else:
        prose.append(text[at:])
    return bodies, "".join(prose)


def _body(info: str, text: str, language: str, openers: str, is_outer: bool) -> list[str]:
    body = text.strip(BLANKS)
    found = _LANGUAGE.match(info.lower())
    named = found[1] if found else ""
    if not body:
        return []  # a person reads on
    if named == language or (not named and body[0] in openers):
        return [body]
    if is_outer and named in _OF_TEXT:
        return fences(body, language, openers, is_outer=False)[0]
    return []


def open_fence(text: str) -> int:
    """Where a text begins a fence that it does not close; -1 if it does not."""
    opener, at = "", -1
    for line in _FENCE.finditer(text):
        mark, rest = line["mark"] or line["tail"], (line["info"] or "").strip()
        if not opener and line["mark"] and not (mark[0] == "`" and "`" in rest):
            opener, at = mark, line.start()
        elif opener and mark.startswith(opener) and not rest:
            opener, at = "", -1
    return at


def open_json(text: str) -> int:
    """Where a text begins an object or array that it does not close; -1 if it does not."""
    at = 0
    while found := _BRACKET.search(text, at):
        at, is_closed = _end(text, found.start())
        if not is_closed:
            return found.start()
    return -1


def _first(*places: int) -> int:
    return min((place for place in places if place >= 0), default=-1)


def _pieces(text: str) -> Iterator[str]:
    """Objects and arrays in prose, each from its bracket to the one that closes it.

    One pass: a piece that is never closed runs to the end, so that no part of it can pass for the
    whole.
    """
    at, n_pieces = 0, 0
    while found := _START.search(text, at):
        at, _ = _end(text, found.start())
        yield text[found.start() : at]
        n_pieces += 1
        check_n_pieces(n_pieces)


def _end(text: str, start: int) -> tuple[int, bool]:
    """Where a piece ends, and whether a bracket closes it there."""
    open_: list[str] = []
    for token in _TOKEN.finditer(text, start):
        mark = token.group()
        if mark in _CLOSERS:
            open_.append(_CLOSERS[mark])
        elif mark in ("}", "]"):
            if open_.pop() != mark or not open_:
                return token.end(), True
    return len(text), False


def check_n_pieces(n_pieces: int) -> None:
    """Raises NotFound if a text has more pieces than are looked at."""
    if n_pieces > MAX_PIECES:
        raise NotFound(f"more than {MAX_PIECES} pieces in the text")
