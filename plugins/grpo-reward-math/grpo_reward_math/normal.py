"""Text to text: Unicode signs as the LaTeX that means the same, wrappers of an answer removed.

The map is explicit. NFKC would turn `x²` into `x2`, and letters of other alphabets that look like
Latin ones or like digits stay what they are.
"""

from __future__ import annotations

import re
import unicodedata

_SIGNS = {
    "−": "-", "–": "-", "‒": "-", "﹣": "-", "‐": "-", "‑": "-",
    "×": r"\times ", "✕": r"\times ", "÷": r"\div ", "·": r"\cdot ", "⋅": r"\cdot ",
    "∙": r"\cdot ", "•": r"\cdot ", "∗": "*", "⁄": "/", "∕": "/",
    "√": r"\usqrt ", "∛": r"\ucbrt ", "∞": r"\infty ", "±": r"\pm ", "∓": r"\mp ",
    "≤": r"\le ", "⩽": r"\le ", "≦": r"\le ", "≥": r"\ge ", "⩾": r"\ge ", "≧": r"\ge ",
    "≠": r"\ne ", "≈": r"\approx ", "≡": r"\equiv ", "∈": r"\in ", "∉": r"\notin ",
    "∪": r"\cup ", "∩": r"\cap ", "∖": r"\setminus ", "∅": r"\emptyset ", "⌀": r"\emptyset ",
    "°": r"^\circ ", "º": r"^\circ ", "˚": r"^\circ ", "℃": r"^\circ C", "℉": r"^\circ F",
    "′": "'", "’": "'", "‘": "'", "″": "''", "“": '"', "”": '"',
    "…": r"\ldots ", "⋯": r"\cdots ", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ",
    "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil ",
    "⟨": r"\langle ", "⟩": r"\rangle ", "〈": r"\langle ", "〉": r"\rangle ",
    "∧": r"\land ", "∨": r"\lor ", "→": r"\to ", "⇒": r"\Rightarrow ", "∣": "|", "‖": r"\| ",
    "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}",
    "ℂ": r"\mathbb{C}", "∥": r"\parallel ", "⊥": r"\perp ", "△": r"\triangle ", "∠": r"\angle ",
    "ϕ": r"\phi ", "ϵ": r"\epsilon ", "ϑ": r"\theta ", "µ": r"\mu ", "％": r"\%", "、": ",",
    "，": ",", "。": ".", "；": ";", "ⅈ": "i", "ℯ": "e", "∆": r"\Delta ",
}  # fmt: skip
_GREEK = {
    "αβγδεζηθικλμνξπρστυφχψω": (
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
        "upsilon phi chi psi omega"
    ),
    "ΓΔΘΛΞΠΣΦΨΩ": "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega",
}
_FRACTIONS = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5),
    "⅗": (3, 5), "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅐": (1, 7), "⅛": (1, 8), "⅜": (3, 8),
    "⅝": (5, 8), "⅞": (7, 8), "⅑": (1, 9), "⅒": (1, 10),
}  # fmt: skip
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣ", "0123456789+-=()nix", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙₓₖ", "0123456789+-=()nxk", strict=True))
_BLANKS = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f"
_BLANKS += "\u205f\u3000"
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff\ufe0e\ufe0f"


def _table() -> dict[int, str]:
    table = {ord(sign): latex for sign, latex in _SIGNS.items()}
    for letters, names in _GREEK.items():
        table |= {ord(a): f"\\{b} " for a, b in zip(letters, names.split(), strict=True)}
    table |= {ord(sign): f"\\frac{{{a}}}{{{b}}}" for sign, (a, b) in _FRACTIONS.items()}
    table |= {0xFEE0 + code: chr(code) for code in range(0x21, 0x7F) if 0xFEE0 + code not in table}
    table |= {ord(sign): " " for sign in _BLANKS}
    table |= {ord(sign): "" for sign in _INVISIBLE}
    for code in range(0x1D400, 0x1D800):  # 𝑥 and its like: letters set in another face
        plain = unicodedata.normalize("NFKC", chr(code))
        table[code] = plain if plain.isascii() else table.get(ord(plain), plain)
    return table


_TABLE = _table()
# "88.5m²": no variable, though no blank says so.
_METERS = re.compile(r"(?<=\d)m(?=[²³]\W*$)")
_RAISED_RUN = re.compile(f"[{re.escape(''.join(_RAISED))}]+")
_LOWERED_RUN = re.compile(f"[{re.escape(''.join(_LOWERED))}]+")
_PAIRS = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), ("**", "**"), ("`", "`"))


def normal(text: str) -> str:
    """`text` in LaTeX and ASCII where a sign has such a form, without what only wraps it."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        text = _METERS.sub(r"\\text{ m}", text)
        text = _RAISED_RUN.sub(lambda m: f"^{{{''.join(_RAISED[c] for c in m[0])}}}", text)
        text = _LOWERED_RUN.sub(lambda m: f"_{{{''.join(_LOWERED[c] for c in m[0])}}}", text)
        text = text.translate(_TABLE)
    return unwrapped(text)


def unwrapped(text: str) -> str:
    """`text` without dollar signs, boxes and final points around the whole of it."""
    for _ in range(8):  # deeper wrappers than this are no answer
        before = text
        text = text.strip()
        while text.endswith((".", ",", ";", "\\\\")) and not text.endswith(("..", "\\,", "\\;")):
            text = text[:-1].rstrip() if text[-1] != "\\" else text[:-2].rstrip()
        while text.endswith(("\\,", "\\;", "\\!", "\\ ")):
            text = text[:-2].rstrip()
        for opener, closer in _PAIRS:
            inner = text[len(opener) : len(text) - len(closer)]
            if (
                text.startswith(opener)
                and text.endswith(closer)
                and len(text) >= len(opener) + len(closer)
                and opener not in inner
                and not inner.endswith("\\")
            ):
                text = inner
                break
        for command in (r"\boxed", r"\fbox"):
            if text.startswith(command):
                text = _whole_group(text, len(command))
        if text == before:
            return text
    return text


def _whole_group(text: str, start: int) -> str:
    """What the braces after `start` hold if nothing follows them, else `text` as it is."""
    while start < len(text) and text[start] == " ":
        start += 1
    if start >= len(text) or text[start] != "{":
        return text
    end = closing(text, start)
    return text[start + 1 : end] if end == len(text) - 1 else text


def closing(text: str, start: int) -> int:
    """Index of the brace that closes the one at `start`, or -1."""
    depth = 0
    index = start
    while index < len(text):
        sign = text[index]
        if sign == "\\":
            index += 2
            continue
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                return index
        index += 1
    return -1
