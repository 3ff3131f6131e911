"""What the engine hands to a reward and what it gets back: `Batch`, `Column`, `Runner`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from grpo_core.completion import Completion
from grpo_core.outcome import Outcome
from grpo_core.scoring.done import Running
from grpo_core.scoring.trl_batch import TrlBatch


@dataclass(frozen=True)
class Batch:
    """What the rewards score.

    Attributes:
        completions: B completions whose `columns` hold whole rows of the data set.
        groups: The rows of each group, neighbours; None where no groups are known.
        trl: The batch in the form TRL has it, for untagged functions.
    """

    completions: Sequence[Completion]
    groups: Sequence[range] | None = None
    trl: TrlBatch | None = None


@dataclass(frozen=True)
class Column:
    """What one reward made of a batch.

    Attributes:
        outcomes: B outcomes.
        seconds: Time spent on each, in seconds.
        n_cached: How many were known from earlier.
        in_workers: Whether it was scored in worker processes, which rewards share.
    """

    outcomes: list[Outcome]
    seconds: list[float]
    n_cached: int = 0
    in_workers: bool = False


Finished = Callable[[Column], None]
Results = Mapping[str, Column]


class Runner(Protocol):
    """One reward, ready to score batches."""

    @property
    def inline(self) -> bool:
        """True if it runs in the calling thread, else it is begun and reports."""

    def run(self, batch: Batch, results: Results) -> Column:
        """Scores the batch in this thread."""

    def begin(self, batch: Batch, results: Results, finished: Finished) -> Running:
        """Begins to score the batch elsewhere; `finished` is called once, from any thread."""


@dataclass(frozen=True)
class GivenUp:
    """A reward that is called no more.

    Attributes:
        reason: Why its cells are timed out.
    """

    reason: str
    inline: bool = True

    def run(self, batch: Batch, results: Results) -> Column:
        """All cells timed out."""
        n = len(batch.completions)
        return Column([Outcome(None, "timed_out", self.reason)] * n, [0.0] * n)

    def begin(self, batch: Batch, results: Results, finished: Finished) -> Running:
        """Not called: there is nothing to wait for."""
        raise NotImplementedError
