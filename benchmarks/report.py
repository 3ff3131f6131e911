"""One line of the report: what was measured, the number, its bound and the verdict."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One measured number.

    Attributes:
        what: What was measured.
        value: The number.
        unit: Its unit, or "" for a count or a ratio.
        bound: The most it may be, or None for a number that is only shown.
        note: What else the reader should know.
    """

    what: str
    value: float
    unit: str = ""
    bound: float | None = None
    note: str = ""

    @classmethod
    def flag(cls, what: str, holds: bool, note: str = "") -> Line:
        """A line that holds or not: the number of times it did not, at most 0."""
        return cls(what, float(not holds), "", 0.0, note)

    @property
    def ok(self) -> bool:
        """True if there is no bound or the number keeps it."""
        return self.bound is None or self.value <= self.bound


def printed(line: Line) -> str:
    """The line as the report shows it; a long note stands on a line of its own."""
    bound = "" if line.bound is None else f"<= {_number(line.bound)} {line.unit}".rstrip()
    verdict = "" if line.bound is None else ("ok" if line.ok else "MISSED")
    row = f"  {line.what:<58}{_number(line.value):>8} {line.unit:<3}{bound:<11}{verdict}".rstrip()
    return f"{row}\n      {line.note}" if line.note else row


def _number(value: float) -> str:
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.4f}"
