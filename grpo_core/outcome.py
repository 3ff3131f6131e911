"""What authors return (`Score`, `Skip`, `Fail`) and what the core makes of it (`Outcome`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Status = Literal["scored", "skipped", "failed", "timed_out"]


@dataclass(frozen=True, slots=True)
class Score:
    """A value with a reason and metrics.

    Attributes:
        value: The reward; finite and inside the reward's range.
        reason: One line for a person: which rule decided.
        metrics: Numbers to log beside the reward, by name; averaged over the batch.
    """

    value: float
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skip:
    """The reward does not apply to this row; the same as returning None, with a reason."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fail:
    """This row could not be scored: a broken gold, a service that is down. Never a zero."""

    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one cell: one reward on one completion.

    Attributes:
        value: The reward. None if the row was skipped; and if it failed or timed out, unless
            `on_error` or `on_timeout` says what that counts as.
        status: "scored", "skipped", "failed" or "timed_out".
        reason: One line for a person, or "".
        metrics: Numbers the reward gave beside its value.
        fault: True if the reward broke its contract: it raised, returned what it must not, or
            was late. A returned `Fail` is no fault, nor is the end of the batch's time.
        held_up: True if the batch's time was over before the reward was called, because of other
            rewards; then it counts as no failure of this one.
    """

    value: float | None
    status: Status = "scored"
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    fault: bool = False
    held_up: bool = False
