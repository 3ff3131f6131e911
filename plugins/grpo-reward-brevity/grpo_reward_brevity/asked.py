"""The length that a row asks for: its own, else that of the options."""

from numbers import Real

from grpo_core import Fail

_LONGEST = 1_000_000_000


def asked_length(option: str, of_all: int | None, of_row: float | None) -> int | Fail:
    """The length a row is held to, from 1; Fail if there is none.

    Args:
        option: Name of the option, for the text.
        of_all: The option.
        of_row: The column `target_length`, which goes first.
    """
    asked = of_all if of_row is None else of_row
    if asked is None:
        return Fail(
            f"no length to hold it to: set the option {option}, or give the row a target_length"
        )
    # A column is not looked at by the core before; one with gaps holds 500.0 and NaN.
    is_number = isinstance(asked, Real) and not isinstance(asked, bool)
    if not is_number or not 1 <= asked <= _LONGEST or asked % 1:
        return Fail(f"target_length must be a whole number from 1 to {_LONGEST:,}, got {asked!r}")
    return int(asked)
