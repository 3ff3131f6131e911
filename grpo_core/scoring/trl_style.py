"""Calls untagged functions the way TRL does: once a batch, by keyword.

A function gets those of TRL's arguments and of the row's columns that its signature names, or all
of them if it has `**kwargs`. Prompts also answer `.get(column, default)` from their row.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Sequence
from time import perf_counter
from typing import Any

from grpo_core.copying import own_copy
from grpo_core.errors import ConfigError, Problem, listed, near
from grpo_core.outcome import Outcome
from grpo_core.scoring.abandoned import Owner
from grpo_core.scoring.calls import Call
from grpo_core.scoring.checks import UNBOUNDED, fault, fault_from, outcomes_of
from grpo_core.scoring.done import Done, Running
from grpo_core.scoring.loop import run_on_loop
from grpo_core.scoring.policy import Policy
from grpo_core.scoring.runner import Batch, Column, Finished, Results
from grpo_core.scoring.threads import run_in_threads
from grpo_core.scoring.trl_batch import TrlBatch, with_row

# TRL's own keyword arguments; a column of the same name never reaches a function.
TRL_ARGUMENTS = (
    "prompts",
    "completions",
    "completion_ids",
    "trainer_state",
    "log_extra",
    "log_metric",
    "environments",
)


_INLINE = Policy()


class TrlFunction:
    """An untagged reward function, ready to be called."""

    def __init__(self, function: Callable[..., Any], name: str, policy: Policy = _INLINE) -> None:
        """Reads the signature.

        Args:
            function: The function.
            name: Instance name.
            policy: How it is run.

        Raises:
            ConfigError: It cannot be called by keyword, or is an async generator.
        """
        self.function = function
        self.name = name
        self.policy = policy
        self.owner = Owner(name)
        self.is_async = is_async(function)
        where = f"reward {name!r}"
        if any(kind.__module__.startswith("torch.nn.") for kind in type(function).__mro__):
            text = (
                f"it is a model ({type(function).__name__}); a model needs a tokenizer and takes "
                f"tokens: wrap it in a function that returns one number for each completion"
            )
            raise ConfigError([Problem(where, text)])
        if inspect.isasyncgenfunction(_plain(function)):
            text = "it is an async generator; return one list instead of yielding"
            raise ConfigError([Problem(where, text)])
        try:
            parameters = inspect.signature(function).parameters.values()
        except (ValueError, TypeError) as exc:  # some builtins
            raise ConfigError(
                [Problem(where, f"its signature cannot be read ({exc}); wrap it in a def")]
            ) from exc
        by_position = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
        if by_position:
            raise ConfigError(
                [
                    Problem(
                        where,
                        f"parameter {by_position[0]!r} is positional-only, but reward functions "
                        f"are called by keyword; take the / out of the signature",
                    )
                ]
            )
        names = [p.name for p in parameters]
        first = next(iter(parameters), None)
        if first is not None and first.name == "completion" and "completions" not in names:
            # TRL has no such argument; a column of that name would be taken for the completions.
            raise ConfigError(
                [
                    Problem(
                        where,
                        f"{_name(function)} takes one completion, as tagged rewards do; put "
                        f"@reward above it (TRL-style functions take a list `completions`)",
                    )
                ]
            )
        self.takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self.wanted = tuple(
            p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        )
        self.required = tuple(
            p.name for p in parameters if p.name in self.wanted and p.default is p.empty
        )

    def problems(self, columns: Collection[str], where: str) -> list[Problem]:
        """What keeps the function from being called on data with these columns."""
        return [
            Problem(
                where,
                f"{_name(self.function)} has a parameter {name!r} that is neither a column nor an "
                f"argument of TRL.{near(name, [*columns, *TRL_ARGUMENTS])} Columns are "
                f"{listed(columns)}; TRL's arguments are {listed(TRL_ARGUMENTS)}. Rename it or "
                f"give it a default.",
            )
            for name in self.required
            if name not in columns and name not in TRL_ARGUMENTS
        ]

    @property
    def inline(self) -> bool:
        """True if it runs in the calling thread, as under TRL."""
        return self.policy.isolation == "inline"

    def run(self, batch: Batch, results: Results) -> Column:
        """Calls the function in this thread."""
        start = perf_counter()
        outcomes = self.score(trl_batch(batch))
        return self._column([Done(outcomes, perf_counter() - start)])

    def begin(self, batch: Batch, results: Results, finished: Finished) -> Running:
        """Begins the call in a thread, or on the event loop if the function is async."""
        given = trl_batch(batch)
        n = len(batch.completions)
        calls = [Call(tuple(batch.completions), {})] if batch.completions else []

        def report(done: list[Done]) -> None:
            finished(self._column(done))

        if self.is_async:

            async def attempt_async(call: Call) -> list[Outcome]:
                arguments = self._arguments(given)  # anew for each try, which may edit them
                if isinstance(arguments, Outcome):
                    return [arguments] * n
                return outcomes_of(await self.function(**arguments), n, *UNBOUNDED)

            return run_on_loop(attempt_async, calls, self.policy, report, owner=self.owner)
        return run_in_threads(
            lambda call: self._attempt(given, n), calls, self.policy, report, owner=self.owner
        )

    def score(self, batch: TrlBatch) -> list[Outcome]:
        """Calls the function once, in this thread.

        Returns:
            B outcomes. A call that raises, or returns something other than B values, is a fault
            in every row.
        """
        n = len(batch.completions)
        if n == 0:
            return []
        try:
            return self._attempt(batch, n)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # sys.exit() in a reward must not end the run as a success
            return [fault_from(exc)] * n

    def _attempt(self, batch: TrlBatch, n: int) -> list[Outcome]:
        arguments = self._arguments(batch)
        if isinstance(arguments, Outcome):
            return [arguments] * n
        return outcomes_of(self.function(**arguments), n, *UNBOUNDED)

    def _column(self, done: Sequence[Done]) -> Column:
        """Outcomes with what the policy makes of failures, and the call's time divided evenly."""
        outcomes = [self.policy.settled(o) for each in done for o in each.outcomes]
        n = len(outcomes)
        return Column(outcomes, [sum(each.seconds for each in done) / n] * n if n else [])

    def _arguments(self, batch: TrlBatch) -> dict[str, Any] | Outcome:
        """The keyword arguments of the call; all of them copies, so a function may edit its own.

        The outcome of every row if one is not known.
        """
        rows = batch.rows
        columns = [c for c in dict.fromkeys(c for row in rows for c in row) if self._takes(c)]
        arguments = {c: [own_copy(row.get(c)) for row in rows] for c in columns}
        arguments |= {
            k: v for k, v in batch.arguments.items() if self.takes_all or k in self.wanted
        }
        if "completion_ids" in arguments:
            arguments["completion_ids"] = [list(ids) for ids in arguments["completion_ids"]]
        if self.takes_all or "prompts" in self.wanted:
            arguments["prompts"] = [
                with_row(p, row) for p, row in zip(batch.prompts, rows, strict=True)
            ]
        if self.takes_all or "completions" in self.wanted:
            arguments["completions"] = [own_copy(c) for c in batch.completions]
        missing = [name for name in self.required if name not in arguments]
        if missing:
            return fault(f"was not called: it needs {listed(missing)}, which is not known here")
        return arguments

    def _takes(self, column: str) -> bool:
        if column in TRL_ARGUMENTS:
            return False
        # TRL itself never passes these two as columns.
        return column in self.wanted or (self.takes_all and column not in ("prompt", "completion"))


def is_async(function: Callable[..., Any]) -> bool:
    """True if calling the function gives a coroutine."""
    return inspect.iscoroutinefunction(_plain(function))


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function behind decorators, partials and callable objects."""
    plain = inspect.unwrap(_unpartial(function))
    return plain if inspect.isroutine(plain) else type(plain).__call__


def _unpartial(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _name(function: Callable[..., Any]) -> str:
    return f"function {getattr(function, '__name__', type(function).__name__)!r}"


def trl_batch(batch: Batch) -> TrlBatch:
    """The batch in TRL's form: as the trainer gave it, else rebuilt."""
    return TrlBatch.from_completions(batch.completions) if batch.trl is None else batch.trl
