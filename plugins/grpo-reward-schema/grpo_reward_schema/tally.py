"""Counts leaf assertions: what one value earns of them."""

from __future__ import annotations

from typing import NamedTuple

from grpo_reward_schema.plain import escaped

Fault = tuple[str, str]


class Found(NamedTuple):
    """What a schema makes of a value.

    Attributes:
        share: Of its leaf assertions that are satisfied, 0 to 1.
        ok: True if the value is valid.
        missing: True if a required member is missing in it or something is of the wrong type, at
            any depth.
        fault: What is wrong first: a JSON pointer and a few words; None if nothing is.
    """

    share: float
    ok: bool
    missing: bool
    fault: Fault | None


def worth(lacks: float) -> float:
    """What many parts of one kind are worth that lack something, all together: 1 / (1 + 2 lacks).

    A part that is wrong lacks 1, one that is half right 1/2. A mean would rise with each right part
    beside a wrong one; this does not, and still rises with each wrong one that is put right.
    """
    return 1 / (1 + 2 * lacks)


class Tally:
    """What has been counted for one value.

    Attributes:
        missing: As in `Found`.
        fault: As in `Found`.
        wrong: Keys of the parts that are not valid.
    """

    def __init__(self, n_types: int) -> None:
        self._total: float = n_types
        self._paid: float = n_types
        self.missing = False
        self.fault: Fault | None = None
        self.wrong: set[str] = set()

    def add(self, total: float, paid: float) -> None:
        """Counts leaf assertions, and how many of them are paid."""
        self._total += total
        self._paid += paid

    def blame(self, pointer: str, fault: str) -> None:
        """Keeps the first fault."""
        if self.fault is None:
            self.fault = (pointer, fault)

    def of(self, found: Found, key: str) -> float:
        """The share of a part, whose faults are those of the whole."""
        if found.fault:
            self.missing |= found.missing
            self.wrong.add(key)
            if self.fault is None:
                self.fault = (f"/{escaped(key)}{found.fault[0]}", found.fault[1])
        return found.share

    def found(self) -> Found:
        """The sum."""
        if self.fault is None:
            return Found(1.0, True, self.missing, None)
        return Found(self._paid / max(self._total, 1), False, self.missing, self.fault)
