"""Brings texts into one form before they are compared, and leads back to where things stood."""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Collection, Iterator
from itertools import accumulate

# Scripts that are written without blanks, as the inside of a set of a pattern: Thai, Lao, Myanmar,
# Khmer, Chinese, Japanese.
NO_BLANKS = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Korean has blanks, but its words carry endings, so a term has no end of its own either.
NO_EDGES = NO_BLANKS + "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"

# Marks that are put over or under letters of any script; vowel signs of a script are none of them.
_DIACRITICS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
# Invisible, though their category is not Cf.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_CONTROL = bytes([*range(9), *range(14, 32), 127])
NO_EDGE = re.compile(f"[{NO_EDGES}]")
_DASHES = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
# Letters that look like Latin ones, after case folding: Cyrillic, Greek and others.
_LOOKALIKES = dict(
    zip(
        "аеорсухіјѕһԁԛԝкмтвнпгѵӏьαορντυκιεχγωηıɑɡʟⅼꞵßоʀ",
        "aeopcyxijshdqwkmtbhnrvlbaopvtukiexywniaglLbsor".lower(),
        strict=True,
    )
)
_LOOKALIKES.update(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋᴍɴᴏᴘꜱᴛᴜᴠᴡʏᴢօսհոց", "abcdefghijkmnopstuvwyzouhng", strict=True))
for _first in "🅐🅰":  # white on black, in circles and squares
    _LOOKALIKES.update((chr(ord(_first) + i), chr(ord("a") + i)) for i in range(26))
FEATURES = ("nfkc", "casefold", "zero_width", "marks", "confusables")


class Fold(dict[int, str]):
    """Folds texts character by character, so that every place leads back to the text.

    It is the table for `str.translate`, filled as characters are met.

    Args:
        features: Of `FEATURES`: "nfkc" for compatible forms (full width, ligatures) and for the
            digits of all scripts, "casefold",
            "zero_width" for what cannot be seen, "marks" for accents, "confusables" for letters of
            other scripts that look Latin.
    """

    def __init__(self, features: Collection[str]) -> None:
        super().__init__()
        self._features = frozenset(features)

    def __reduce__(self) -> tuple[type[Fold], tuple[frozenset[str]]]:
        """Pickles the features; the table fills itself again."""
        return Fold, (self._features,)

    def __missing__(self, code: int) -> str:
        """The folded form of one character."""
        folded = self._folded(chr(code))
        self[code] = folded
        return folded

    def __call__(self, text: str) -> str:
        """The folded text."""
        return self._composed(text).translate(self)

    def places(self, text: str) -> list[int]:
        """For each character of the folded text, and for its end, where it stood in the text."""
        if is_plain(text):  # no sign of it becomes none, or two
            return list(range(len(text) + 1))
        places: list[int] = []
        for start, piece in self._pieces(text):
            places += [start] * len(piece.translate(self))
        if len(places) != len(self(text)):  # composed across pieces: the text as a whole
            return [0] * len(self(text)) + [len(text)]
        return [*places, len(text)]

    def _composed(self, text: str) -> str:
        if "nfkc" not in self._features or text.isascii():
            return text
        text = _long_runs().sub(r"\1", text)
        return (
            text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)
        )

    def _pieces(self, text: str) -> Iterator[tuple[int, str]]:
        composed = self._composed(text)
        if composed == text:
            yield from enumerate(text)
            return
        joins = [unicodedata.combining(c) > 0 or "\u1160" <= c <= "\u11ff" for c in text]
        starts = [i for i in range(len(text)) if i == 0 or not joins[i]]
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
            yield start, self._composed(text[start:end])

    def _folded(self, char: str) -> str:
        has = self._features.__contains__
        if has("zero_width") and is_hidden(char):
            return ""
        if has("nfkc"):
            char = unicodedata.normalize("NFKC", char)
            char = _DASHES.sub("-", "".join(map(_plain, char)))
        if has("marks"):
            bare = _DIACRITICS.sub("", unicodedata.normalize("NFD", char))
            char = unicodedata.normalize("NFC", bare)
        if has("casefold"):
            char = char.casefold()
        if has("confusables"):
            char = "".join(map(_latin, char))
        # Half of a surrogate pair is no character, and some matchers refuse it.
        return "\ufffd" if len(char) == 1 and "\ud800" <= char <= "\udfff" else char


@functools.cache
def _long_runs() -> re.Pattern[str]:
    """Runs of over 8 marks, whose order would be sorted in the square of their number.

    Found when it is first needed, since it looks at all of Unicode.
    """
    marks = "".join(c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.combining(c))
    return re.compile(f"([{marks}]{{8}})[{marks}]+")


def _plain(char: str) -> str:
    """A blank for white space, and the digits that all read for those of a script of its own."""
    if char <= "~":
        return char
    return str(unicodedata.decimal(char)) if char.isdecimal() else " " if char.isspace() else char


def _latin(char: str) -> str:
    small = char.casefold()
    like = _LOOKALIKES.get(small)
    if like is None:
        return char
    return like if char == small else like.upper()


def is_plain(text: str) -> bool:
    """Whether a text is ASCII without control characters, so that no fold changes its signs."""
    raw = text.encode() if text.isascii() else b"\0"
    return len(raw.translate(None, _CONTROL)) == len(raw)


def without_scripts(text: str) -> str:
    """The text with a separator for each character of a script whose words have no edges.

    What stands beside them is not inside a word, though they are letters.
    """
    return text if text.isascii() else NO_EDGE.sub("\x1f", text)


def is_hidden(char: str) -> bool:
    """Whether a character cannot be seen, or only as a mark on another one."""
    category = unicodedata.category(char)
    return (
        category == "Cf"
        or (category == "Cc" and not char.isspace())
        or _INVISIBLE.match(char) is not None
        or _DIACRITICS.match(char) is not None
    )


def collapsed(text: str) -> str:
    """The text with one blank for each run of white space, and none at its ends."""
    return " ".join(text.split())


def collapsed_places(text: str, places: list[int]) -> list[int]:
    """The places of a collapsed text, given those of the text."""
    pieces = re.split(r"(\s+)", text)
    ends = list(accumulate(map(len, pieces)))
    kept: list[int] = []
    for piece, end in zip(pieces, ends, strict=True):
        start = end - len(piece)
        if not piece:
            continue
        if piece.isspace():
            if kept and end < len(text):
                kept.append(places[start])
        else:
            kept += places[start:end]
    return [*kept, places[-1]]
