"""`Done`: what became of one call, however it was run."""

from __future__ import annotations

from dataclasses import dataclass

from grpo_core.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one call.

    Attributes:
        outcomes: One for each completion of the call.
        seconds: How long the call took, in seconds.
    """

    outcomes: list[Outcome]
    seconds: float
