"""The conventions by which two answers are compared, as one value that rewards hand around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Units = Literal["optional", "required", "ignored"]
LogBase = Literal["e", "10"]


@dataclass(frozen=True)
class Rules:
    r"""What counts as the same answer; the defaults are the documented conventions.

    Attributes:
        units: "optional": a missing unit is fine and a different one is wrong; "required": both
            sides name the same unit or none; "ignored": units are not compared.
        percent_sign_optional: Whether `20` also equals `20\%`; `0.2` always does.
        base_optional: Whether `1101` also equals `1101_2`.
        ratios_scale: Whether `6:8` equals `3:4`.
        ignore_case: Whether words are compared without regard to case.
        ignore_letter_case: Whether the option letter `a` equals `A`.
        log_base: The base of a log that names none.
        max_chars: Longest text that is read.
        max_depth: Deepest nesting of brackets, fractions, roots and exponents that is read.
        max_digits: Most digits of an integer that is computed.
        max_terms: Most terms of sum and product signs that are added up for one value.
        max_side: Most rows or columns of a matrix.
    """

    units: Units = "optional"
    percent_sign_optional: bool = False
    base_optional: bool = False
    ratios_scale: bool = False
    ignore_case: bool = True
    ignore_letter_case: bool = False
    log_base: LogBase = "e"
    max_chars: int = 4000
    max_depth: int = 30
    max_digits: int = 10_000
    max_terms: int = 3000
    max_side: int = 20

    def __hash__(self) -> int:
        """That of a part, because it is asked for with every verdict."""
        return hash((self.units, self.log_base))
