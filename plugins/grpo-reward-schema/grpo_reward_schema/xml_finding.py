"""Finds the XML of a reply: a piece of its text, before any of it is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from grpo_reward_schema.finding import NotFound, Pick, check_n_pieces, fences

# What can stand between elements, or an element's tag. Each alternative is atomic and a construct
# that is never closed takes the rest of the text, so that a scan is linear.
_TOKEN = re.compile(
    r"(?P<comment><!--(?:(?>.*?-->)|(?>.*)))"
    r"|(?P<data><!\[CDATA\[(?:(?>.*?\]\]>)|(?>.*)))"
    r"|(?P<doctype><!DOCTYPE)"
    r"|(?P<instruction><\?(?=[A-Za-z_])(?:(?>.*?\?>)|(?>.*)))"
    r"|(?P<close></[^\s<>]++\s*+>?)"
    r"|(?P<open><(?P<name>[A-Za-z_:\u0080-\U0010ffff][^\s<>/]*+)"
    r"""(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>)""",
    re.DOTALL | re.IGNORECASE,
)
_HEAD = re.compile(r"(?:\s++|<\?(?>.*?\?>)|<!--(?>.*?-->))*+", re.DOTALL)
_ROOT = re.compile(r"<([^\s<>/!?]++)")
_CLOSER = re.compile(r"</([^\s<>]++)")
# What HTML, and prose with it, never closes.
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_DOCTYPE = re.compile(r"<!DOCTYPE", re.IGNORECASE)


def has_doctype(text: str) -> bool:
    """True if a document type is declared before the root element, where alone one can be."""
    head = _HEAD.match(text)
    assert head is not None  # it matches the empty text
    return _DOCTYPE.match(text, head.end()) is not None


def xml_piece_of(reply: str, pick: Pick, root: str = "") -> str:
    """The piece of a reply that should be XML: of a fence, else of the prose; "" if none.

    Args:
        reply: The text behind the reasoning.
        pick: Which one counts where there are several.
        root: Name of the root; pieces with another count only where there is none of these.

    Raises:
        NotFound: There are too many.
    """
    fenced, prose = fences(reply, "xml", "<")
    pieces = fenced or list(_pieces(prose, root)) or list(_pieces(prose, ""))
    if root:
        pieces = [piece for piece in pieces if _root_of(piece) == root] or pieces
    if not pieces:
        return ""
    if pick == "only" and len(pieces) > 1:
        raise NotFound(f'{len(pieces)} pieces of XML, and pick = "only" takes one')
    return pieces[0 if pick == "first" else -1]


def open_xml(text: str) -> int:
    """Where a text begins an element that it does not close; -1 if it does not."""
    start, level = -1, 0
    for token in _TOKEN.finditer(text):
        if token["open"] and not token["open"].endswith("/>"):
            start = token.start() if level == 0 else start
            level += 1
        elif token["close"] and level:
            level -= 1
    return start if level else -1


def _root_of(piece: str) -> str:
    head = _HEAD.match(piece)
    root = _ROOT.match(piece, head.end() if head else 0)
    return root[1] if root else ""


def _pieces(text: str, root: str) -> Iterator[str]:
    """Elements in prose with what stands before their root, in one pass.

    One that is never closed runs to the end, so that no part of it can pass for the whole, but for
    those that are none: `<br>` of HTML, and a tag that backticks name. So does
    one with a document type: it is going to be refused.
    """
    closed = set(_CLOSER.findall(text))
    start, level, n_pieces = -1, 0, 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "name" or token["open"]:
            if level == 0 and root and token["name"] != root:
                start = -1
                continue
            if level == 0 and _is_prose(token, closed):
                continue
            start = token.start() if start < 0 else start
            level += not token.group().endswith("/>")
        elif token["close"] and level:
            level -= 1
        elif token["doctype"] and not level:
            n_pieces += 1
            check_n_pieces(n_pieces)
            yield text[token.start() if start < 0 else start :]
            return
        else:
            if token["instruction"] and start < 0:
                start = token.start()
            continue
        if level == 0:
            n_pieces += 1
            check_n_pieces(n_pieces)
            yield text[start : token.end()]
            start = -1
    if level:
        yield text[start:]


def _is_prose(tag: re.Match[str], closed: Set[str]) -> bool:
    """True if a tag outside of all elements begins none."""
    if tag.group().endswith("/>"):
        return False
    text, start, end = tag.string, tag.start(), tag.end()
    is_named = text[start - 1 : start] == text[end : end + 1] == "`"
    return is_named or (tag["name"].lower() in _VOID and tag["name"] not in closed)
