"""`Done`: what became of one call; `Running`: the handle on a batch of calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from grpo_core.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one call.

    Attributes:
        outcomes: One for each completion of the call.
        seconds: How long the reward worked on it; all tries, without the pauses between them.
    """

    outcomes: list[Outcome]
    seconds: float


class Running(Protocol):
    """A batch of calls of one reward that was started."""

    def cancel(self, reason: str) -> None:
        """Decides every undecided call now: timed out, for this reason; later ones are ignored."""
