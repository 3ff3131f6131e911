"""The length that a row asks for: its own, else that of the options."""

from grpo_core import Fail


def asked_length(option: str, of_all: int | None, of_row: int | None) -> int | Fail:
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
    if asked < 1:
        return Fail(f"target_length must be 1 or more, got {asked}")
    return asked
