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
from grpo_core.errors import NotSupportedYetError, Problem, listed, near
from grpo_core.outcome import Outcome
from grpo_core.scoring.checks import UNBOUNDED, fault, fault_from, outcome_of

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
        return self.row.get(column, default)


class PromptMessages(list[dict[str, Any]]):
    """A prompt that is a chat and knows its row."""

    row: Mapping[str, Any]

    def get(self, column: str, default: Any = None) -> Any:
        """Returns the row's value of the column, or the default."""
        return self.row.get(column, default)


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
        """
        self.function = function
        self.name = name
        call = function if inspect.isroutine(function) else type(function).__call__
        if inspect.iscoroutinefunction(inspect.unwrap(_unpartial(function))) or (
            inspect.iscoroutinefunction(call)
        ):
            raise NotSupportedYetError(
                [Problem(f"reward {name!r}", "async functions are not supported yet; use def")]
            )
        parameters = inspect.signature(function).parameters.values()
        self.takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self.wanted = tuple(
            p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        )
        self.required = tuple(
            p.name
            for p in parameters
            if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        )

    def problems(self, columns: Collection[str], where: str) -> list[Problem]:
        """What keeps the function from being called on data with these columns."""
        return [
            Problem(
                where,
                f"function {self.name!r} has a parameter {name!r} that is neither a column nor an "
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
        arguments = self._arguments(batch)
        missing = [name for name in self.required if name not in arguments]
        if missing:
            return [
                fault(f"was not called: it needs {listed(missing)}, which is not known here")
            ] * n, [0.0] * n
        start = perf_counter()
        try:
            returned = self.function(**arguments)
            if inspect.iscoroutine(returned):
                returned.close()
                raise TypeError("it returned a coroutine; async functions are not supported yet")
            if returned is None or isinstance(returned, str | bytes | Mapping):
                raise TypeError(
                    f"it returned {type(returned).__name__} for {n} completions; return a list "
                    f"with one number or None for each, in order"
                )
            values = list(returned)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # sys.exit() in a reward must not end the run as a success
            outcomes = [fault_from(exc)] * n
        else:
            if len(values) == n:
                outcomes = [outcome_of(value, *UNBOUNDED) for value in values]
            else:
                outcomes = [
                    fault(
                        f"returned {len(values)} values for {n} completions; return one for each, "
                        f"in order"
                    )
                ] * n
        return outcomes, [(perf_counter() - start) / max(n, 1)] * n

    def _arguments(self, batch: TrlBatch) -> dict[str, Any]:
        """The keyword arguments of the call; lists are fresh, so a function may edit its own."""
        rows = batch.rows
        columns = [c for c in (rows[0] if rows else ()) if c not in TRL_ARGUMENTS]
        given = (
            {*columns, "prompts", "completions", *batch.arguments}
            if self.takes_all
            else set(self.wanted)
        )
        arguments = {c: [row[c] for row in rows] for c in columns if c in given}
        # TRL itself never passes these two as columns.
        if "prompt" not in self.wanted:
            arguments.pop("prompt", None)
        if "completion" not in self.wanted:
            arguments.pop("completion", None)
        arguments |= {k: v for k, v in batch.arguments.items() if k in given}
        if "completion_ids" in arguments:
            arguments["completion_ids"] = [list(ids) for ids in arguments["completion_ids"]]
        if "prompts" in given:
            arguments["prompts"] = [
                _with_row(p, row) for p, row in zip(batch.prompts, rows, strict=True)
            ]
        if "completions" in given:
            arguments["completions"] = [_copied(c) for c in batch.completions]
        return arguments


def _with_row(prompt: Any, row: Mapping[str, Any]) -> PromptText | PromptMessages:
    wrapped: PromptText | PromptMessages
    wrapped = PromptText(prompt) if isinstance(prompt, str) else PromptMessages(_copied(prompt))
    wrapped.row = row
    return wrapped


def _copied(chat: Any) -> Any:
    return chat if isinstance(chat, str) else [dict(message) for message in chat]


def _as_dict(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": message.content, **message.extra}


def _unpartial(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function
