"""One line of the report: what was measured, the number, its bound and the verdict."""

from __future__ import annotations

from dataclasses import dataclass

_WIDTH = 62


@dataclass(frozen=True)
class Line:
    """One measured number, or one fact that was checked.

    Attributes:
        what: What was measured.
        value: The number; True or False for a fact that must hold.
        unit: The number's unit, or "" for a ratio.
        bound: The most the number may be, or None if it is only shown.
        note: What else the reader should know.
    """

    what: str
    value: float | bool
    unit: str = ""
    bound: float | None = None
    note: str = ""

    @property
    def ok(self) -> bool | None:
        """Whether the bound is kept or the fact holds; None if the number is only shown."""
        if isinstance(self.value, bool):
            return self.value
        return None if self.bound is None else self.value <= self.bound


def printed(line: Line) -> str:
    """The line as the report shows it; a note stands on a line of its own."""
    if isinstance(line.value, bool):
        shown, bound = "yes" if line.value else "no", ""
    else:
        shown = _number(line.value)
        bound = "" if line.bound is None else f"<= {line.bound:g} {line.unit}"
    verdict = {None: "", True: "ok", False: "MISSED"}[line.ok]
    row = f"  {line.what:<{_WIDTH}}{shown:>7} {line.unit:<3}{bound:<11}{verdict}".rstrip()
    return f"{row}\n      {line.note}" if line.note else row


def _number(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
