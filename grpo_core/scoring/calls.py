"""One call of a tagged reward: what it gets, and the outcomes its return makes."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from grpo_core.completion import Completion
from grpo_core.copying import own_copy
from grpo_core.outcome import Outcome
from grpo_core.reward import Scope
from grpo_core.scoring.checks import fault_from, outcome_of, outcomes_of

logger = logging.getLogger("grpo_core")

_CLOSE_S = 2.0


@dataclass(frozen=True, slots=True)
class Call:
    """What one call gets.

    Attributes:
        completions: One at sample scope, a whole group at group scope, else those of the batch.
            Their `columns` are empty; the call fills them with the inputs.
        inputs: By name: the value at sample scope, else a list with one for each completion.
    """

    completions: tuple[Completion, ...]
    inputs: Mapping[str, Any]


@dataclass(frozen=True)
class Callee:
    """A built reward, ready to be called.

    Attributes:
        function: Takes a completion, or a list of them, and the inputs by keyword.
        scope: What one call sees.
        low: Lowest value it may return.
        high: Highest value it may return.
        constants: Inputs that are the same for every row, by name.
    """

    function: Callable[..., Any]
    scope: Scope
    low: float
    high: float
    constants: Mapping[str, Any]

    def attempt(self, call: Call) -> list[Outcome]:
        """Calls the reward; what it raises passes.

        Returns:
            One outcome for each completion of the call.
        """
        returned = self.function(*self._arguments(call), **self._inputs(call))
        return self._outcomes(returned, len(call.completions))

    async def attempt_async(self, call: Call) -> list[Outcome]:
        """Calls an async reward and awaits it; otherwise like `attempt`."""
        returned = await self.function(*self._arguments(call), **self._inputs(call))
        return self._outcomes(returned, len(call.completions))

    def run(self, call: Call) -> list[Outcome]:
        """Calls the reward.

        Returns:
            One outcome for each completion of the call. What the reward raises becomes a fault of
            each of them; only KeyboardInterrupt passes.
        """
        try:
            return self.attempt(call)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # sys.exit() in a reward must not end the run as a success
            return [fault_from(exc)] * len(call.completions)

    def close(self) -> None:
        """Calls the reward's own `close()`, if it is a class that has one; waits for it 2 s.

        What it raises is logged: closing must not hide what came before.
        """
        close = getattr(self.function, "close", None)
        if not callable(close):
            return
        try:
            pending = close()
            if inspect.iscoroutine(pending):
                # Here, since that module imports this one. What was opened on the loop of the
                # rewards can only be closed on it.
                from grpo_core.scoring.event_loop import wait_for

                wait_for(pending, _CLOSE_S)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:
            logger.warning("close() of a reward raised %s: %s", type(exc).__name__, exc)

    def _arguments(self, call: Call) -> tuple[Any]:
        if self.scope == "sample":
            return (call.completions[0].with_columns(self._inputs(call)),)
        rows = [
            {name: v[i] for name, v in call.inputs.items()} for i in range(len(call.completions))
        ]
        return (
            [
                c.with_columns({**self.constants, **row})
                for c, row in zip(call.completions, rows, strict=True)
            ],
        )

    def _inputs(self, call: Call) -> dict[str, Any]:
        if not self.constants:
            return dict(call.inputs)
        if self.scope == "sample":
            return {**{n: own_copy(v) for n, v in self.constants.items()}, **call.inputs}
        n = len(call.completions)
        same = {name: [own_copy(v) for _ in range(n)] for name, v in self.constants.items()}
        return {**same, **call.inputs}

    def _outcomes(self, returned: Any, n: int) -> list[Outcome]:
        if self.scope == "sample":
            return [outcome_of(returned, self.low, self.high)]
        return outcomes_of(returned, n, self.low, self.high)
