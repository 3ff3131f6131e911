"""Reasons as they can be shown and stored anywhere: what programs print is in them."""

from __future__ import annotations


def plain(text: str) -> str:
    r"""A text in one line: control characters and what is no text are written as `\x1b`."""
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    if character in "\r\n\t":
        return " "
    return (
        character.encode("ascii", "backslashreplace").decode()
        if ord(character) > 127
        else (f"\\x{ord(character):02x}")
    )
