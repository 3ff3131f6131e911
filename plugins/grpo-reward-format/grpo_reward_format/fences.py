"""Fenced code in Markdown: tags inside it are literal text."""

from __future__ import annotations

# More lines that look like fences than any real reply has (40 kB of bare markers); walking them
# takes some 10 ms, so that a flood of fences cannot stall a batch.
MAX_FENCE_LINES = 10_000

_MARKS = "`~"


def mask_fences(text: str) -> str | None:
    """Returns the text with every "<" inside fenced code made harmless.

    Fences are those of CommonMark: at least three backticks or tildes, indented by up to three
    spaces. An opening fence may have an info string, which holds no backtick after backticks. The
    closing fence has the same mark, at least as often, and nothing after it. A fence that is
    never closed runs to the end of the text. Fences inside lists and quotations are not seen.

    Args:
        text: Lines ending in a line feed.

    Returns:
        The text, each line with up to three spaces less in front, "(" for "<" inside fenced
        code, the lines of the fences included. None if more than `MAX_FENCE_LINES` lines look
        like fences.
    """
    if "```" not in text and "~~~" not in text:
        return text
    text = "\n" + text
    for _ in range(3):
        text = text.replace("\n ", "\n")
    if sum(text.count("\n" + mark * 3) for mark in _MARKS) > MAX_FENCE_LINES:
        return None

    parts = []
    start = 0
    for opening, end in _fences(text):
        parts += [text[start:opening], text[opening:end].replace("<", "(")]
        start = end
    parts.append(text[start:])
    return "".join(parts)[1:]


def _fences(text: str) -> list[tuple[int, int]]:
    """Start and end of each fenced block; both at the line feed before a line, or at the end."""
    fences: list[tuple[int, int]] = []
    ahead = {mark: text.find("\n" + mark * 3) for mark in _MARKS}
    start = 0
    while True:
        for mark, position in ahead.items():
            # Looked for again only when passed: searching anew for each fence is quadratic.
            if -1 < position < start:
                ahead[mark] = text.find("\n" + mark * 3, start)
        candidates = [position for position in ahead.values() if position >= 0]
        if not candidates:
            return fences
        opening = min(candidates)
        mark = text[opening + 1]
        info = _line(text, opening).lstrip(mark)
        body = _line_end(text, opening)
        if mark == "`" and "`" in info:  # code inside a line, such as ```x```
            start = body
            continue
        width = body - opening - 1 - len(info)
        start = _closing_end(text, body, mark * width)
        fences.append((opening, start))


def _closing_end(text: str, start: int, fence: str) -> int:
    """End of the line that closes the fence, or of the text."""
    while (start := text.find("\n" + fence, start)) >= 0:
        end = _line_end(text, start)
        if not _line(text, start).lstrip(fence[0]).strip():
            return end
        start = end
    return len(text)


def _line(text: str, line_feed: int) -> str:
    return text[line_feed + 1 : _line_end(text, line_feed)]


def _line_end(text: str, line_feed: int) -> int:
    end = text.find("\n", line_feed + 1)
    return len(text) if end < 0 else end
