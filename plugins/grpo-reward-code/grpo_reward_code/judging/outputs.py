"""Compares what a program printed with what a test expects."""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation

# Each repetition ends where the next begins, so that a long output takes no more than its length.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_LONGEST_NUMBER = 1000  # longer ones are the same only if their texts are
_BLANK = re.compile(r"(\s+)")


def difference(got: bytes, expected: str, tolerance: float | None = None) -> str:
    """Where the output differs from what is expected, in a line, or an empty text.

    Blanks at the end of a line and blank lines at the end do not matter. Where a floating-point
    number is expected, another form of it is as good: 1.5 for 1.500.

    Args:
        got: The output.
        expected: What is expected.
        tolerance: How far off a number may be, relative or absolute; None: not at all.
    """
    lines, wanted = _lines(got.decode("utf-8", "surrogateescape")), _lines(expected)
    for number, (line, want) in enumerate(zip(lines, wanted, strict=False), 1):
        if line != want and not _same_line(line, want, tolerance):
            return f"line {number}: expected {shown(want)}, got {shown(line)}"
    if len(lines) < len(wanted):
        return f"expected {len(wanted)} lines, got {len(lines)}"
    if len(lines) > len(wanted):
        number = len(wanted) + 1
        return f"line {number}: expected no more, got {shown(lines[len(wanted)])}"
    return ""


def shown(text: str, most: int = 80) -> str:
    """A text as it stands in a reason: quoted, and cut off where it is long."""
    cut = text[:most]
    return repr(cut) + ("..." if len(text) > most else "")


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _same_line(line: str, want: str, tolerance: float | None) -> bool:
    """True if all that is between the blanks is the same or the same number."""
    parts, wanted = _BLANK.split(line), _BLANK.split(want)
    return len(parts) == len(wanted) and all(
        a == b or _same_number(a, b, tolerance) for a, b in zip(parts, wanted, strict=True)
    )


def _same_number(got: str, want: str, tolerance: float | None) -> bool:
    if max(len(got), len(want)) > _LONGEST_NUMBER:
        return False
    if not (_NUMBER.fullmatch(got) and _NUMBER.fullmatch(want)):
        return False
    if tolerance:
        a, b = float(got), float(want)
        # What is beyond floats would be infinite, and as such equal.
        return (
            math.isfinite(a)
            and math.isfinite(b)
            and math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
        )
    is_float = any(mark in want for mark in ".eE")
    try:
        return is_float and Decimal(got) == Decimal(want)
    except InvalidOperation:  # an exponent beyond what can be computed with
        return False
