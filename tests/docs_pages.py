"""The documentation as data: pages, their fenced blocks, tables, headings and links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Every fenced block of these is run or checked; links are also followed in the changelogs.
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("plugins/*/README.md")),
]
CHANGELOGS = [ROOT / "CHANGELOG.md", *sorted(ROOT.glob("plugins/*/CHANGELOG.md"))]

# What an HTML comment right above a fence may say.
MARKERS = {
    "file": "write the block to this file of the page's folder instead of running it",
    "shows": "the block is this file of the page's folder, which a command before it wrote",
    "append": "append the block to this file; a config is then checked as a whole",
    "columns": "columns of the data that a config is checked with",
    "exit": "exit code of the last command; 0 without this",
    "fresh": "start with no names of the blocks before",
    "numbers vary": "any number will do where the block shows one",
    "training": "trains; the page is marked slow",
    "name": "what a diff calls the block",
    "diff": "two names: what changes from the one block to the other",
    "drawing": "a text that nothing is compared with",
    "run by": "the test that runs this very text, in a constant SCRIPT",
}

_FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*([^`\s]*)[^`]*$")
_COMMENT = re.compile(r"^\s*<!-- (.+?) -->\s*$")
_LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: The page it stands on.
        line: Number of its first line of text.
        language: First word behind the fence, or "".
        text: Its text, with the fence's indentation taken off.
        markers: What the comments right above it say: key and the text after the colon.
    """

    page: Path
    line: int
    language: str
    text: str
    markers: dict[str, str]

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    lines = page.read_text(encoding="utf-8").split("\n")
    blocks = []
    i = 0
    while i < len(lines):
        opening = _FENCE.match(lines[i])
        if opening is None:
            i += 1
            continue
        indent, fence, language = opening.groups()
        end = next(
            (j for j in range(i + 1, len(lines)) if _closes(lines[j], fence)),
            None,
        )
        assert end is not None, f"{name_of(page)}:{i + 1}: the fence is never closed"
        text = "".join(line.removeprefix(indent) + "\n" for line in lines[i + 1 : end])
        blocks.append(Block(page, i + 2, language, text, _markers(lines, i)))
        i = end + 1
    return blocks


def _closes(line: str, fence: str) -> bool:
    line = line.strip()
    return len(line) >= len(fence) and set(line) == {fence[0]}


def _markers(lines: list[str], fence: int) -> dict[str, str]:
    markers = {}
    for line in reversed(lines[:fence]):
        comment = _COMMENT.match(line)
        if comment is None:
            break
        key, _, value = comment[1].partition(":")
        markers[key.strip()] = value.strip()
    return markers


def prose_of(page: Path) -> str:
    """The page with its fenced blocks blanked out, line numbers kept."""
    lines = page.read_text(encoding="utf-8").split("\n")
    for block in blocks_of(page):
        n = block.text.count("\n")
        lines[block.line - 2 : block.line + n] = [""] * (n + 2)
    return "\n".join(lines)


def links_of(page: Path) -> Iterator[tuple[int, str]]:
    """Line and target of every link."""
    for number, line in enumerate(prose_of(page).split("\n"), start=1):
        without_code = re.sub(r"`+[^`]*`+", "", line)
        for match in _LINK.finditer(without_code):
            yield number, match[1]


def anchors_of(page: Path) -> set[str]:
    """The anchors that headings give, as GitHub makes them."""
    found = set()
    for line in prose_of(page).split("\n"):
        if heading := re.match(r"#{1,6}\s+(.+?)\s*#*$", line):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "")
            found.add(re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-"))
    return found


def table_under(page: Path, heading: str, n: int = 0) -> list[dict[str, str]]:
    """Rows of the n-th table under a heading, by column; backticks stay."""
    prose = prose_of(page).split("\n")
    start = next(
        (
            i
            for i, line in enumerate(prose)
            if re.sub(r"^#+\s+", "", line) == heading and line[:1] == "#"
        ),
        None,
    )
    assert start is not None, f"{name_of(page)} has no heading {heading!r}"
    tables: list[list[list[str]]] = []
    inside = False
    for line in prose[start + 1 :]:
        if line.startswith("#"):
            break
        if line.startswith("|"):
            if not inside:
                tables.append([])
            tables[-1].append(_cells(line))
        inside = line.startswith("|")
    assert len(tables) > n, f"{name_of(page)}: no table {n} under {heading!r}"
    head, _, *rows = tables[n]
    return [dict(zip(head, row, strict=True)) for row in rows]


def _cells(line: str) -> list[str]:
    parts = re.split(r"(?<!\\)\|", line.strip().strip("|"))
    return [part.strip().replace("\\|", "|") for part in parts]


def code(cell: str) -> str:
    """The text of a cell's first code span."""
    match = re.search(r"`([^`]+)`", cell)
    assert match is not None, f"no code in {cell!r}"
    return match[1]
