"""Texts of models in messages for people."""

from __future__ import annotations


def shown(text: str, width: int = 60) -> str:
    """The text in quotes, shortened, with escapes for what cannot be printed."""
    text = " ".join(text.split())
    if len(text) > width:
        text = text[: width - 1] + "…"
    if text.isprintable():
        return f'"{text}"'
    safe = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return f'"{safe}"'
