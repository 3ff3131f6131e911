"""`Policy`: how the engine runs one reward, and what its failures count as."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from grpo_core.outcome import Outcome
from grpo_core.reward import Isolation as Isolation

# What a reward has where neither its author nor the config says anything.
TIMEOUT_S = 10.0
CONCURRENCY = 8


@dataclass(frozen=True)
class Policy:
    """How one reward is run.

    Attributes:
        isolation: "inline": in the calling thread, without a deadline. "thread": in threads of
            this process, or on its event loop if the reward is async; a call that is late is
            given up, not ended. "process": in a worker process, which is killed when it is late.
        timeout_s: Seconds a call may take, from its start; None: no deadline but the batch's.
            A call is one completion at sample scope, one group at group scope, else the batch.
        on_timeout: Value of a cell whose call was late; None: missing.
        on_error: Value of a cell that failed; None: missing; "raise": the batch stops.
        retries: Further tries of a call that raised, each after a longer pause; of thread and
            async rewards only.
        concurrency: Calls at once, of thread and async rewards.
        rate: Calls a second at most, of thread and async rewards; None: no limit.
        cache: Keep values by what they were computed from.
    """

    isolation: Isolation = "inline"
    timeout_s: float | None = TIMEOUT_S
    on_timeout: float | None = None
    on_error: float | Literal["raise"] | None = None
    retries: int = 0
    concurrency: int = CONCURRENCY
    rate: float | None = None
    cache: bool = False

    def settled(self, outcome: Outcome) -> Outcome:
        """The outcome with the value that a failure, or a deadline of its own, counts as."""
        if outcome.status == "failed" and isinstance(self.on_error, float):
            return replace(outcome, value=self.on_error)
        # A cell that the end of the batch cut off is no fault, and says nothing of its completion.
        if outcome.status == "timed_out" and outcome.fault and self.on_timeout is not None:
            return replace(outcome, value=self.on_timeout)
        return outcome
