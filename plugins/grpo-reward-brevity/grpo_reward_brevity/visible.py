"""Whether a text shows anything at all."""

from __future__ import annotations

import unicodedata

# Letters and a sign by their category, and blank in every font: fillers of Hangul, empty Braille.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def is_visible(text: str) -> bool:
    """Whether a reader sees a letter, a digit or a sign in a text.

    White space, control and format characters, marks without a letter and halves of surrogate
    pairs show nothing.
    """
    return any(unicodedata.category(c)[0] in "LNPS" and c not in _BLANK for c in text)
