r"""Reads patterns of ECMA-262, and writes them for the package `regex`.

What is read is the syntax of the 11th edition, which JSON Schema names, with its flag `u`; of its
Annex B also what cannot be misread: escaped punctuation (`\@`), brackets and braces that close or
count nothing (`]`, `{`), and a class beside a hyphen (`[\w-.]`). What other dialects add is an
error with its place: `a++`, `(?i)`, `(?P<x>a)`, `\z`, octal escapes.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

MAX_REPEATS = 1_000_000
MAX_GROUP_DEPTH = 100

# As ECMA-262 has them: ASCII digits and letters, and its own list of white space. Those in capital
# letters are written out as what is left, since a set cannot hold the complement of a class.
_CLASSES = {
    "d": "0-9",
    "D": r"\x00-/:-\U0010ffff",
    "w": "A-Za-z0-9_",
    "W": r"\x00-/:-@\[-\^`{-\U0010ffff",
    "s": r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
    "S": r"\x00-\x08\x0e-\x1f!-\u009f\u00a1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e"
    r"\u2030-\u205e\u2060-\u2fff\u3001-\ufefe\uff00-\U0010ffff",
}
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
_REPEAT = re.compile(r"[*+?]|\{(?P<least>[0-9]+)(?P<comma>,(?P<most>[0-9]*))?\}")
_GROUP = re.compile(r"\((?:\?(?P<kind>:|=|!|<=|<!|<(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)>))?")
_NAMED = re.compile(r"\\k<([A-Za-z_$][A-Za-z0-9_$]*)>")
_PROPERTY = re.compile(r"\\[pP]\{(?:(?P<key>[A-Za-z_]+)=)?(?P<value>[A-Za-z0-9_]+)\}")
_CODE = re.compile(
    r"\\x(?P<x>[0-9A-Fa-f]{2})|\\u\{0*(?P<long>[0-9A-Fa-f]{1,6})\}|\\c(?P<letter>[A-Za-z])"
    r"|\\u(?P<high>[dD][89abAB][0-9A-Fa-f]{2})\\u(?P<low>[dD][c-fC-F][0-9A-Fa-f]{2})"
    r"|\\u(?P<u>[0-9A-Fa-f]{4})"
)
# Escapes and sets are stepped over where groups are counted.
_COUNTED = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\((?!\?)|\(\?<(?![=!])([^>]*)>", re.DOTALL)
_CATEGORIES = frozenset(
    "C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm "
    "So Z Zl Zp Zs Other Control cntrl Format Unassigned Private_Use Surrogate Letter "
    "Cased_Letter Lowercase_Letter Modifier_Letter Other_Letter Titlecase_Letter "
    "Uppercase_Letter Mark Combining_Mark Spacing_Mark Enclosing_Mark Nonspacing_Mark Number "
    "Decimal_Number digit Letter_Number Other_Number Punctuation punct Connector_Punctuation "
    "Dash_Punctuation Close_Punctuation Final_Punctuation Initial_Punctuation "
    "Other_Punctuation Open_Punctuation Symbol Currency_Symbol Modifier_Symbol Math_Symbol "
    "Other_Symbol Separator Line_Separator Paragraph_Separator Space_Separator".split()
)
_BINARY = frozenset(
    "ASCII Alphabetic Alpha Any Cased Dash Default_Ignorable_Code_Point Diacritic Hex_Digit Hex "
    "ID_Continue IDC ID_Start IDS Ideographic Lowercase Lower Math Noncharacter_Code_Point "
    "Uppercase Upper White_Space space XID_Continue XIDC XID_Start XIDS".split()
)
_SCRIPT_KEYS = frozenset(("Script", "sc", "Script_Extensions", "scx"))


@dataclass(frozen=True)
class Pattern:
    """A pattern that was read.

    Attributes:
        regex: As `regex` writes it.
        is_plain: True if jsonschema-rs, where it takes the pattern as it stands and matches it in
            linear time, reads it in the same way.
    """

    regex: str
    is_plain: bool


@functools.lru_cache(maxsize=4096)
def read_pattern(pattern: str) -> Pattern:
    """Reads a pattern.

    Raises:
        ValueError: It is none of ECMA-262, or repeats or nests too much; the text names the place.
    """
    return _Reader(pattern).read()


class _Reader:
    """Goes through a pattern once, from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._made: list[str] = []
        self._is_plain = True
        # True behind something that may be repeated.
        self._repeatable = False
        self._open: list[tuple[str, int]] = []
        self._closed: set[int] = set()
        found = [token for token in _COUNTED.finditer(pattern) if token.group()[0] == "("]
        self._names = [token[1] for token in found]
        self._n_groups = 0

    def read(self) -> Pattern:
        steps = {"\\": self._escape, "[": self._set, "(": self._group, ")": self._close}
        while self._at < len(self._pattern):
            character = self._pattern[self._at]
            if character in steps:
                steps[character]()
            elif character in "*+?{" and (count := _REPEAT.match(self._pattern, self._at)):
                self._repeat(count)
            elif character in "^$|":
                self._add({"$": r"(?!\n)\Z"}.get(character, character), 1, repeatable=False)
            elif character == ".":
                self._add(r"[^\n\r\u2028\u2029]", 1)
            else:
                self._is_plain &= character != "{"
                self._add(re.escape(character), 1)
        if self._open:
            raise self._fault("a group is never closed", self._open[-1][1])
        return Pattern("".join(self._made), self._is_plain)

    def _fault(self, what: str, at: int | None = None) -> ValueError:
        place = (self._at if at is None else at) + 1
        return ValueError(f"is no pattern of ECMA-262: {what}, at character {place}")

    def _add(self, text: str, n_read: int, *, repeatable: bool = True) -> None:
        self._made.append(text)
        self._at += n_read
        self._repeatable = repeatable

    def _repeat(self, count: re.Match[str]) -> None:
        if not self._repeatable:
            raise self._fault(f"there is nothing that {count.group()} could repeat")
        if count["least"]:
            numbers = [int(text) for text in (count["least"], count["most"]) if text]
            if max(numbers) > MAX_REPEATS:
                raise self._fault(f"more than {MAX_REPEATS} repeats")
            if numbers[0] > numbers[-1]:
                raise self._fault(f"{count.group()} is in the wrong order")
        # Whether it is lazy does not matter to whether there is a match.
        is_lazy = self._pattern.startswith("?", count.end())
        self._add(count.group() + "?" * is_lazy, len(count.group()) + is_lazy, repeatable=False)

    def _group(self) -> None:
        found = _GROUP.match(self._pattern, self._at)
        assert found is not None  # it begins with a bracket
        kind, name = found["kind"], found["name"]
        if kind is None and self._pattern.startswith("?", found.end()):
            raise self._fault(f"{self._pattern[self._at : self._at + 4]!r} begins no group")
        if len(self._open) == MAX_GROUP_DEPTH:
            raise self._fault(f"groups deeper than {MAX_GROUP_DEPTH}")
        self._open.append((kind or "", self._at))
        if kind is None or name:
            if name and name in self._names[: self._n_groups]:
                raise self._fault(f"the group {name!r} is there twice")
            self._n_groups += 1
            self._open[-1] = (str(self._n_groups), self._at)
            self._is_plain &= name is None or "$" not in name
        self._add("(" if kind is None or name else f"(?{kind}", len(found.group()))
        self._repeatable = False

    def _close(self) -> None:
        if not self._open:
            raise self._fault("')' closes nothing")
        kind, _ = self._open.pop()
        if kind.isdigit():
            self._closed.add(int(kind))
        self._add(")", 1, repeatable=kind == ":" or kind.isdigit())

    def _escape(self) -> None:
        """An escape outside of a set."""
        letter = self._pattern[self._at + 1 : self._at + 2]
        if letter in ("b", "B"):
            self._add("\\" + letter, 2, repeatable=False)
        elif letter == "k":
            named = _NAMED.match(self._pattern, self._at)
            if not named or named[1] not in self._names:
                raise self._fault(r"\k names no group")
            self._refer(self._names.index(named[1]) + 1, len(named.group()))
        elif letter in "123456789" and letter:
            digits = re.compile("[0-9]+").match(self._pattern, self._at + 1)
            assert digits is not None
            if int(digits.group()[:9]) > len(self._names):
                raise self._fault(rf"there is no group for \{digits.group()[:9]}")
            self._refer(int(digits.group()), len(digits.group()) + 1)
        else:
            text, _ = self._member()
            is_set = letter in _CLASSES
            self._add(f"[{text}]" if is_set else text, 0)

    def _refer(self, group: int, n_read: int) -> None:
        """A reference back, which matches nothing, and does match, where its group has not."""
        self._is_plain = False
        text = rf"(?(group)\g<{group}>|)".replace("group", str(group), 1)
        self._add(text if group in self._closed else "(?:)", n_read)

    def _set(self) -> None:
        start = self._at
        self._at += 1
        made = "["
        if self._pattern.startswith("^", self._at):
            self._at += 1
            made = "[^"
        while not self._pattern.startswith("]", self._at):
            if self._at >= len(self._pattern):
                raise self._fault("a set is never closed", start)
            made += self._range()
        raw = self._pattern[start + 1 : self._at]
        if any(mark in raw for mark in ("[", "&&", "--", "~~")):  # these are operators elsewhere
            self._is_plain = False
        if made in ("[", "[^"):
            self._is_plain = False
            made = {"[": "(?!)", "[^": r"[\s\S]"}[made]
        else:
            made += "]"
        self._add(made, 1)

    def _range(self) -> str:
        at = self._at
        first, low = self._member()
        rest = self._pattern[self._at : self._at + 2]
        if not rest.startswith("-") or len(rest) < 2 or rest[1] == "]":
            return first
        self._at += 1
        second, high = self._member()
        if low is None or high is None:
            self._is_plain = False
            return rf"{first}\-{second}"
        if low > high:
            raise self._fault("the range is in the wrong order", at)
        return f"{first}-{second}"

    def _member(self) -> tuple[str, int | None]:
        """One character or class as a set has it, and its code point; steps over it."""
        character = self._pattern[self._at]
        if character != "\\":
            self._at += 1
            return re.escape(character), ord(character)
        letter = self._pattern[self._at + 1 : self._at + 2]
        if letter in _CLASSES:
            self._at += 2
            return _CLASSES[letter], None
        if letter in ("p", "P"):
            return self._property(), None
        if code := _CODE.match(self._pattern, self._at):
            return self._coded(code)
        if letter in _CONTROLS:
            character = _CONTROLS[letter]
        elif letter == "b":
            character = "\b"
            self._is_plain = False
        elif letter == "0" and not self._pattern[self._at + 2 : self._at + 3].isdigit():
            character = "\0"
            self._is_plain = False
        elif letter.isascii() and letter and not letter.isalnum() and letter.isprintable():
            character = letter
            self._is_plain &= letter not in "<>"
        else:
            raise self._fault(f"\\{letter} is no escape" if letter else "it ends in a \\")
        self._at += 2
        return re.escape(character), ord(character)

    def _coded(self, code: re.Match[str]) -> tuple[str, int]:
        if code["letter"]:
            number = ord(code["letter"]) % 32
        elif code["high"]:
            pair = int(code["high"], 16), int(code["low"], 16)
            number = 0x10000 + ((pair[0] & 0x3FF) << 10) + (pair[1] & 0x3FF)
            self._is_plain = False
        else:
            number = int(code["x"] or code["long"] or code["u"], 16)
        if number > 0x10FFFF:
            raise self._fault(f"there is no character {code.group()}")
        self._is_plain &= not 0xD800 <= number < 0xE000
        self._at = code.end()
        return re.escape(chr(number)), number

    def _property(self) -> str:
        found = _PROPERTY.match(self._pattern, self._at)
        if not found:
            raise self._fault(r"\p needs the name of a property in braces")
        key, value = found["key"], found["value"]
        if key is None:
            is_known = value in _CATEGORIES or value in _BINARY
        elif key in _SCRIPT_KEYS:
            is_known = value[0].isupper() and _is_script(found.group())
        else:
            is_known = key in ("General_Category", "gc") and value in _CATEGORIES
        if not is_known:
            raise self._fault(f"there is no property {found.group()}")
        self._at = found.end()
        return found.group()


def _is_script(text: str) -> bool:
    import regex  # not above: it takes longer to import than all of this plugin

    try:
        regex.compile(text, regex.VERSION0)
    except regex.error:
        return False
    return True
