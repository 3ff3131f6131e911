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
        missing: True if something that is asked for is missing in it or something is of the wrong
            type, at any depth.
        absent: How many parts it asks for that are not there, itself only; infinity if that cannot
            be said.
        fault: What is wrong first: a JSON pointer and a few words; None if nothing is.
    """

    share: float
    ok: bool
    missing: bool
    absent: float
    fault: Fault | None


VALID = Found(1.0, True, False, 0.0, None)


def worth(lacks: float) -> float:
    """What many parts of one kind are worth that lack something, all together: 1 / (1 + 2 lacks).

    A part that is wrong lacks 1, one that is half right 1/2. A mean would rise with each right part
    beside a wrong one; this does not, and still rises with each wrong one that is put right.
    """
    return 1 / (1 + 2 * lacks)


class Tally:
    """What has been counted for one value.

    Deleting a part takes away what is wrong with it. So whatever that could earn is paid only while
    nothing that is asked for is absent, or lacks as much as the absent parts do.

    Attributes:
        missing: As in `Found`.
        absent: As in `Found`.
        fault: As in `Found`.
        wrong: Keys of the parts that are not valid.
    """

    def __init__(self, n_types: int) -> None:
        self._total: float = n_types
        self._paid: float = n_types
        self._paid_if_whole = 0.0
        self._spared = 0.0
        self._not_there = 0.0
        self._pools: list[tuple[float, float]] = []
        self.missing = False
        self.absent = 0.0
        self.fault: Fault | None = None
        self.wrong: set[str] = set()

    def add(self, total: float, paid: float) -> None:
        """Counts leaf assertions, and how many of them are paid."""
        self._total += total
        self._paid += paid

    def add_if_whole(self, total: float, paid: float) -> None:
        """Counts leaf assertions that deleting could satisfy: paid if nothing is missing."""
        self._total += total
        self._paid_if_whole += paid

    def add_pool(self, total: float, lacks: float) -> None:
        """Counts the parts of one kind, that lack something; what is absent lacks 1 each."""
        self._total += total
        self._pools.append((total, lacks))

    def spare(self, total: float) -> None:
        """Counts a part that is not there: paid if nothing is absent, which this may be."""
        self._total += total
        self._spared += total

    def leave_out(self, total: float) -> None:
        """Counts a part that is not there: only if something is absent, which this may be."""
        self._not_there += total

    def lack(self, n_absent: float) -> None:
        """Notes that something that is asked for is not there."""
        self.absent += n_absent
        self.missing |= n_absent > 0

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
            return VALID
        total = self._total + (self._not_there if self.absent else 0)
        paid = self._paid + (0 if self.missing else self._paid_if_whole)
        paid += 0 if self.absent else self._spared
        paid += sum(weight * worth(lacks + self.absent) for weight, lacks in self._pools)
        return Found(paid / max(total, 1), False, self.missing, self.absent, self.fault)
