"""Numbers that name a person: cards, IBANs, social security numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grpo_reward_safety.checksums import IBAN_LENGTHS, luhn, mod97

Span = tuple[int, int]

# Groups of digits with one sign between each two. What stands around them is looked at later: a
# pattern that begins with digits is found many times faster.
_GROUPS = re.compile(r"[0-9]{4,}(?:[ ._-][0-9]+)*")
_GROUP = re.compile(r"[0-9]+")
_GOES_ON = re.compile(r"\w|\.[0-9]")
# As cards are printed and typed.
_CARD_FORMS = {
    (4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (4, 4, 4, 1), (6, 13),
    (8, 8), (4, 12), (12, 4), (8, 4, 4), (4, 8, 4), (4, 4, 8),
}  # fmt: skip
_FIRST_DIGITS = "234568"
_CARD_DIGITS = 13
_ISSUERS = (
    # Visa, Mastercard, American Express, Discover, Diners Club, JCB, UnionPay, Maestro, Mir
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"6011|64[4-9]|65"), (16, 19)),
    (re.compile(r"30[0-5]|3095|36|3[89]"), (14, 16)),
    (re.compile(r"352[89]|35[3-8]"), (16,)),
    (re.compile(r"62|81"), (16, 17, 18, 19)),
    (re.compile(r"5018|5020|5038|5893|6304|6759|676[1-3]"), (13, 16, 18, 19)),
    (re.compile(r"220[0-4]"), (16,)),
)

# The two check digits, behind the country and in front of the rest.
_IBAN = re.compile(
    r"[0-9]{2}(?<=(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2})(?=((?:[ -]?[A-Za-z0-9]){11,30}))"
)
_IBAN_SIGNS = re.compile(r"[ -]")

_SSN = re.compile(r"[0-9]{3}([ .-]?)(?!00)[0-9]{2}\1(?!0000)[0-9]{4}(?!\w|[-.][0-9])")
_SSN_WORDS = re.compile(r"ssn|social.?security|s\.s\.n|tax.?id|taxpayer", re.IGNORECASE)
_BESIDE = 40


def cards(text: str) -> Iterator[Span]:
    """Places of card numbers: grouped as cards are, of an issuer's length, with the right check."""
    for run in _GROUPS.finditer(text):
        start = run.start()
        groups = [(start + m.start(), start + m.end()) for m in _GROUP.finditer(run.group())]
        i = 1 if _is_inside(text, start) else 0
        while i < len(groups):
            begins = text[groups[i][0]] in _FIRST_DIGITS
            end = _card(text, groups[i : i + 5]) if begins else 0
            if end:
                yield groups[i][0], groups[i + end - 1][1]
            i += end or 1


def _card(text: str, groups: list[Span]) -> int:
    """How many groups from the first one on are a card number, 0 if they are none."""
    lengths = tuple(end - start for start, end in groups)
    for n in range(len(groups), 0, -1):
        if lengths[0] < _CARD_DIGITS if n == 1 else lengths[:n] not in _CARD_FORMS:
            continue
        digits = "".join(text[start:end] for start, end in groups[:n])
        if is_card(digits) and not _GOES_ON.match(text, groups[n - 1][1]):
            return n
    return 0


def _is_inside(text: str, at: int) -> bool:
    """Whether a number at a place is a part of a word, of a decimal or of a longer number."""
    before = text[at - 1] if at else " "
    if before == ".":
        return text[at - 2 : at - 1].isdigit()
    return before.isalnum() or before == "_"


def is_card(digits: str) -> bool:
    """Whether digits are the number of a card: check digit, issuer and length."""
    if not _CARD_DIGITS <= len(digits) <= 19 or not luhn(digits):
        return False
    return any(len(digits) in lengths and begins.match(digits) for begins, lengths in _ISSUERS)


def ibans(text: str) -> Iterator[Span]:
    """Places of IBANs: a country, its length, and the check modulo 97."""
    for match in _IBAN.finditer(text):
        start = match.start() - 2
        length = IBAN_LENGTHS.get(text[start : start + 2].upper())
        if length is None:
            continue
        rest = _IBAN_SIGNS.sub("", match[1])[: length - 4]
        if len(rest) < length - 4 or not mod97(text[start : start + 4] + rest):
            continue
        end = match.start(1)
        left = length - 4
        while left:
            left -= text[end] not in " -"
            end += 1
        if end == len(text) or not text[end].isalnum():
            yield start, end


def ssns(text: str) -> Iterator[Span]:
    """Places of numbers of the US Social Security; with no hyphens only beside its name."""
    for match in _SSN.finditer(text):
        start = match.start()
        if text.startswith(("000", "666", "9"), start) or _is_inside(text, start):
            continue
        if start and text[start - 1] == "-":
            continue
        if match[1] == "-" or _SSN_WORDS.search(text[max(0, start - _BESIDE) : start]):
            yield match.span()
