"""Runs a tagged reward of sample scope in this process, one completion after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from grpo_core.completion import Completion
from grpo_core.inputs import InputPlan
from grpo_core.outcome import Outcome
from grpo_core.scoring.checks import fault_from, outcome_of


@dataclass(frozen=True)
class SampleReward:
    """A tagged reward, ready to be called.

    Attributes:
        function: Takes the completion and, by keyword, the inputs.
        plan: Where the inputs come from.
        low: Lowest value it may return.
        high: Highest value it may return.
        needs: Fields of the completion that must be known.
    """

    function: Callable[..., Any]
    plan: InputPlan
    low: float
    high: float
    needs: tuple[str, ...] = ()

    def score(self, completions: Sequence[Completion]) -> tuple[list[Outcome], list[float]]:
        """Scores the completions in order.

        Args:
            completions: B completions; their `columns` hold the whole row of the data set.

        Returns:
            B outcomes and B times in seconds. An exception of the reward becomes the outcome of
            its row; only KeyboardInterrupt passes.
        """
        outcomes = []
        seconds = []
        for completion in completions:
            start = perf_counter()
            outcomes.append(self._score_one(completion))
            seconds.append(perf_counter() - start)
        return outcomes, seconds

    def _score_one(self, completion: Completion) -> Outcome:
        for field in self.needs:
            if getattr(completion, field) is None:
                return Outcome(None, "skipped", f"needs {field}, which is not known here")
        inputs = self.plan.read(completion.columns)
        if isinstance(inputs, Outcome):
            return inputs
        try:
            returned = self.function(completion.with_columns(inputs), **inputs)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # sys.exit() in a reward must not end the run as a success
            return fault_from(exc)
        return outcome_of(returned, self.low, self.high)
