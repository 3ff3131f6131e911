"""The program in a completion: the last code fence of the language, or the text itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Extract = Literal["auto", "fence", "whole"]
Pick = Literal["last", "first", "only"]
OtherLanguage = Literal["zero", "skip"]

_PYTHON = frozenset({"python", "python3", "py", "py3"})
_MARKS = ("```", "~~~")


@dataclass(frozen=True)
class NoProgram(Exception):
    """A completion holds no program.

    Attributes:
        reason: What is there instead.
        is_other_language: True if there are code fences, all of them of other languages.
    """

    reason: str
    is_other_language: bool = False

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class _Fence:
    language: str
    code: str


def program_of(
    text: str, *, extract: Extract = "auto", pick: Pick = "last", after_tag: str = "think"
) -> str:
    """The Python program in a text.

    Args:
        text: What a model wrote.
        extract: "fence": a code fence. "whole": the text. "auto": a code fence, or the text if it
            has none at all.
        pick: Which fence counts where there are several: "last", "first", or "only", which refuses
            several.
        after_tag: Only the text behind the last closing tag of this name counts; "" for all.

    Raises:
        NoProgram: There is none.
    """
    text = _answer(text, after_tag)
    if extract == "whole":
        return _not_blank(text)
    fences = _fences(text)
    if not fences and extract == "auto":
        return _not_blank(text)
    if not fences:
        raise NoProgram("the completion has no code fence")
    found = [f for f in fences if f.language in _PYTHON] or [f for f in fences if not f.language]
    if not found:
        others = ", ".join(sorted({f.language for f in fences}))
        raise NoProgram(f"the code is in another language: {others[:80]}", is_other_language=True)
    if pick == "only" and len(found) > 1:
        raise NoProgram(f'pick = "only", and there are {len(found)} code fences')
    return _not_blank(found[0 if pick == "first" else -1].code)


def _answer(text: str, tag: str) -> str:
    """The text behind the reasoning."""
    if not tag:
        return text
    _, closing, after = text.rpartition(f"</{tag}>")
    if f"<{tag}>" in after:
        raise NoProgram(f"the completion ends inside <{tag}>")
    return after if closing else text


def _not_blank(code: str) -> str:
    if not code.strip():
        raise NoProgram("the completion holds no code")
    return code


def _fences(text: str) -> list[_Fence]:
    """The code fences of a text; one that is not closed runs to its end."""
    fences = []
    lines = text.split("\n")
    i = 0
    while i < len(lines):
        opening = _opening(lines[i])
        i += 1
        if opening is None:
            continue
        indent, mark, info = opening
        body = []
        while i < len(lines) and not _closes(lines[i], mark):
            line = lines[i]
            body.append(line.removeprefix(indent) if indent else line)
            i += 1
        i += 1
        words = info.strip().strip("{}.").lower().split(maxsplit=1)
        language = words[0].split(",", 1)[0] if words else ""
        fences.append(_Fence(language, "\n".join(body) + "\n"))
    return fences


def _opening(line: str) -> tuple[str, str, str] | None:
    """Indentation, mark and language of a line that opens a fence."""
    # No regular expression: its ways to part the marks would grow with the square of their number.
    stripped = line.lstrip(" \t")
    if not stripped.startswith(_MARKS):
        return None
    info = stripped.lstrip(stripped[0])
    if "`" in info:
        return None
    indent = line[: len(line) - len(stripped)]
    return indent, stripped[: len(stripped) - len(info)], info


def _closes(line: str, mark: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(mark) and not stripped.strip(mark[0])
