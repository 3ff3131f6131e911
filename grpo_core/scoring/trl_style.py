"""Calls untagged functions the way TRL does: once a batch, by keyword.

A function gets those of TRL's arguments and of the row's columns that its signature names, or all
of them if it has `**kwargs`. Prompts also answer `.get(column, default)` from their row.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from grpo_core.completion import Completion, Message
from grpo_core.copying import own_copy
from grpo_core.errors import ConfigError, NotSupportedYetError, Problem, listed, near
from grpo_core.outcome import Outcome
from grpo_core.scoring.checks import UNBOUNDED, fault, fault_from, outcomes_of

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


class PromptText(str):
    """A prompt of plain text that knows its row."""

    row: Mapping[str, Any]

    def get(self, column: str, default: Any = None) -> Any:
        """Returns the row's value of the column, or the default."""
        return own_copy(self.row[column]) if column in self.row else default


class PromptMessages(list[dict[str, Any]]):
    """A prompt that is a chat and knows its row."""

    row: Mapping[str, Any]

    def get(self, column: str, default: Any = None) -> Any:
        """Returns the row's value of the column, or the default."""
        return own_copy(self.row[column]) if column in self.row else default


@dataclass(frozen=True)
class TrlBatch:
    """One batch in the form TRL hands to reward functions.

    Attributes:
        prompts: B prompts, each a string or a list of message dictionaries.
        completions: B completions, of the same form.
        rows: B rows of the data set.
        arguments: TRL's further arguments, by name; only those that are known.
    """

    prompts: Sequence[Any]
    completions: Sequence[Any]
    rows: Sequence[Mapping[str, Any]]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_completions(cls, completions: Sequence[Completion]) -> TrlBatch:
        """Rebuilds TRL's form outside training."""
        ids = [c.token_ids for c in completions]
        known = (
            {} if any(i is None for i in ids) else {"completion_ids": [list(i or ()) for i in ids]}
        )
        return cls(
            prompts=[
                c.prompt if c.prompt_messages is None else list(map(_as_dict, c.prompt_messages))
                for c in completions
            ],
            completions=[
                c.text if c.reply is None else list(map(_as_dict, c.reply)) for c in completions
            ],
            rows=[c.columns for c in completions],
            arguments=known,
        )


class TrlFunction:
    """An untagged reward function, ready to be called."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        """Reads the signature.

        Raises:
            NotSupportedYetError: The function is async.
            ConfigError: It cannot be called by keyword.
        """
        self.function = function
        self.name = name
        where = f"reward {name!r}"
        if _is_async(function):
            raise NotSupportedYetError(
                [Problem(where, "async functions are not supported yet; use def")]
            )
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

    def score(self, batch: TrlBatch) -> tuple[list[Outcome], list[float]]:
        """Calls the function once.

        Returns:
            B outcomes, and the time of the call divided evenly, in seconds. A call that raises,
            or returns something other than B values, is a fault in every row.
        """
        n = len(batch.completions)
        if n == 0:
            return [], []
        arguments = self._arguments(batch)
        missing = [name for name in self.required if name not in arguments]
        if missing:
            return [
                fault(f"was not called: it needs {listed(missing)}, which is not known here")
            ] * n, [0.0] * n
        start = perf_counter()
        try:
            outcomes = outcomes_of(self.function(**arguments), n, *UNBOUNDED)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # sys.exit() in a reward must not end the run as a success
            outcomes = [fault_from(exc)] * n
        return outcomes, [(perf_counter() - start) / n] * n

    def _arguments(self, batch: TrlBatch) -> dict[str, Any]:
        """The keyword arguments of the call; all of them copies, so a function may edit its own."""
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
                _with_row(p, row) for p, row in zip(batch.prompts, rows, strict=True)
            ]
        if self.takes_all or "completions" in self.wanted:
            arguments["completions"] = [own_copy(c) for c in batch.completions]
        return arguments

    def _takes(self, column: str) -> bool:
        if column in TRL_ARGUMENTS:
            return False
        # TRL itself never passes these two as columns.
        return column in self.wanted or (self.takes_all and column not in ("prompt", "completion"))


def _is_async(function: Callable[..., Any]) -> bool:
    plain = inspect.unwrap(_unpartial(function))
    if not inspect.isroutine(plain):
        plain = type(plain).__call__
    return inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain)


def _with_row(prompt: Any, row: Mapping[str, Any]) -> PromptText | PromptMessages:
    wrapped: PromptText | PromptMessages
    wrapped = PromptText(prompt) if isinstance(prompt, str) else PromptMessages(own_copy(prompt))
    wrapped.row = dict(row)
    return wrapped


def _as_dict(message: Message) -> dict[str, Any]:
    reasoning = {"reasoning_content": message.reasoning} if message.reasoning else {}
    return {"role": message.role, "content": message.content, **reasoning, **message.extra}


def _unpartial(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _name(function: Callable[..., Any]) -> str:
    return f"function {getattr(function, '__name__', type(function).__name__)!r}"
