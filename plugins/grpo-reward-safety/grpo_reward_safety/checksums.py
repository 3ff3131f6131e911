"""Check digits: Luhn, and ISO 7064 modulo 97 as IBANs have it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_SIGNS = re.compile(r"[^0-9A-Za-z]")
_DIGITS_ONLY = re.compile(r"[^0-9]")
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")
_ZERO = ord("0")
_AS_NUMBERS = {ord(c): str(int(c, 36)) for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}

# ISO 13616: how long the IBANs of each country are.
IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22,
    "BI": 27, "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27,
    "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27,
    "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HN": 28, "HR": 21, "HU": 28,
    "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28,
    "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22,
    "MK": 19, "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18, "NO": 15, "OM": 23,
    "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24,
    "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "SO": 23, "ST": 25, "SV": 28,
    "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20, "YE": 30,
}  # fmt: skip


def luhn(text: str) -> bool:
    """Whether the digits of a text pass the Luhn check; other characters are left out."""
    digits = (text if text.isdecimal() and text.isascii() else _DIGITS_ONLY.sub("", text)).encode()
    total = sum(digits[-1::-2]) + sum(digits[-2::-2].translate(_DOUBLED)) - _ZERO * len(digits)
    return len(digits) > 1 and total % 10 == 0


def mod97(text: str) -> bool:
    """Whether letters and digits of a text leave 1 modulo 97, its first four moved to the end."""
    bare = _SIGNS.sub("", text).upper()
    if not 4 < len(bare) <= 64:
        return False
    return int((bare[4:] + bare[:4]).translate(_AS_NUMBERS)) % 97 == 1


CHECKSUMS: Mapping[str, Callable[[str], bool]] = {"luhn": luhn, "mod97": mod97}
