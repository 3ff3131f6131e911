"""Phone numbers: North American, international, and any beside a word such as phone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grpo_reward_safety.folding import NO_EDGE, NO_EDGES

Span = tuple[int, int]

# Without what may stand in front: a pattern that begins with digits is found many times faster.
_AMERICAN = re.compile(
    r"[2-9][0-9]{2}(?P<close>\)?)(?P<sign>[-. ]?)(?P<exchange>[0-9]{3})[-. ][0-9]{4}"
    r"(?!\w|[-.][0-9]| ?[=*/^]| [+] ?[0-9])"
)
_PREFIX = re.compile(r"(?:\+?1[-. ]?)?\(?$")
_START = re.compile(r"[+0]0?(?=[1-9])")
_REST = re.compile(r"[1-9](?:[ .\-()/]{0,2}[0-9]){7,14}(?!\w)")
_CODES = re.compile(
    r"1|7|2[07]|2[1-689]\d|3[0-469]|3[578]\d|4[013-9]|42\d|5[1-8]|5[09]\d|6[0-6]|6[789]\d"
    r"|8[1246]|8[058]\d|9[0-58]|9[679]\d"
)
_WORDS = (
    "phone",
    "tel",
    "tél",
    "mobile",
    "cell",
    "fax",
    "whatsapp",
    "call",
    "sms",
    "text me",
    "text us",
    *("handy", "rufnummer", "móvil", "movil", "celular", "телефон", "тел", "هاتف", "جوال"),
    *("电话", "電話", "手机", "手機", "携帯", "전화", "휴대폰"),
)
# Beside these a number needs no "is" and no colon.
_DIRECT = frozenset(["phone", "tel", "tél", "fax", "whatsapp", "mobile", "rufnummer"])
_BESIDE = re.compile(
    r"(?:e?phones?|[eé]fono?|s|ular)?(?![a-z])\.?(?P<link>(?: (?:me|us|him|her|them))?"
    r"(?: ?(?:number|no\.?|nr\.?|\#|号码|號碼|番号|번호))?"
    r"(?: ?(?:is|at|on|under|:|=|是|は)){0,2}[\"'*]{0,3}) ?[\"']?"
    rf"(?P<number>\(?\+?\d(?:[ .\-()/]{{0,2}}\d){{6,14}})(?!(?![{NO_EDGES}])\w|[.,]\d|[%$€])"
)
_LOCAL = re.compile(r"(?:\d{3}[-. ])?\d{3}[-. ]\d{4}")
# Areas that are given out; looked at where only blanks stand between the groups.
_AREA = re.compile(r"(?!200|300|400|.11|.9)")
_EXCHANGE = re.compile(r"(?![01]|.11)")


def phones(words: str, text: str) -> Iterator[Span]:
    """Places of phone numbers; digits alone are none, unless beside a word such as phone.

    Args:
        words: The text.
        text: The same, with separators for the scripts that have no edges of words.
    """
    for match in _AMERICAN.finditer(text):
        start = _american_start(text, match)
        if start is not None:
            yield start, match.end()
    for match in _START.finditer(text):
        if match.group() != "0" and (rest := _REST.match(text, match.end())):
            before = text[match.start() - 1 : match.start()]
            if not (before.isalnum() or before in (*"_)].,+-",)) and _is_international(
                match.group() + rest.group()
            ):
                yield match.start(), rest.end()
    yield from _beside_words(words)


def _american_start(text: str, match: re.Match[str]) -> int | None:
    """Where a North American number begins, with +1 and a bracket; None if it is none."""
    at = match.start()
    prefix = _PREFIX.search(text[max(0, at - 4) : at])
    start = at - len(prefix.group()) if prefix else at
    opened = text[at - 1 : at] == "(" and at > 0
    if opened != bool(match["close"]) or not (match["close"] or match["sign"]):
        return None
    if match["sign"] == " ":
        if not (_AREA.match(match.group()) and _EXCHANGE.match(match["exchange"])):
            return None
    before = text[start - 1 : start] if start else ""
    if before.isalnum() or before in (*"_.+-",):
        return None
    return None if match["sign"] == " " and _in_a_list(text, start, match.end()) else start


def _in_a_list(text: str, start: int, end: int) -> bool:
    """Whether more numbers follow or go before, with blanks between."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return (before[-1:] == " " and before[:1].isdigit()) or (
        after[:1] == " " and after[1:].isdigit()
    )


def _is_international(number: str) -> bool:
    digits = "".join(c for c in number if c.isdigit())
    if digits.startswith("00"):
        if number.isdigit():  # zeros in front of a number
            return False
        digits = digits[2:]
    code = _CODES.match(digits)
    if not code:
        return False
    if code.group() == "1":
        return len(digits) == 11 and digits[1] not in "01"
    return len(digits) == 11 if code.group() == "7" else 9 <= len(digits) <= 15


def _beside_words(text: str) -> Iterator[Span]:
    small = text.lower() if text.isascii() else text.translate({0x130: "I"}).lower()
    for word in _WORDS:
        at = small.find(word)
        while at >= 0:
            match = _BESIDE.match(small, at + len(word))
            inside = at > 0 and small[at - 1].isalpha() and not NO_EDGE.match(word)
            if match and (not inside or word == "phone"):
                # "call 5551234 times" is no number to call; "call 555-0199" is.
                if word in _DIRECT or match["link"].strip() or _LOCAL.match(match["number"]):
                    yield match.span("number")
            at = small.find(word, at + len(word))
