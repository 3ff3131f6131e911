"""Binds a reward's inputs to columns, constants, files and other rewards, and reads them."""

from __future__ import annotations

import collections.abc
import hashlib
import json
import typing
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from grpo_core.convert import convert
from grpo_core.copying import own_copy
from grpo_core.errors import Problem, listed, near
from grpo_core.outcome import Outcome
from grpo_core.reward import Parameter, RewardInfo
from grpo_core.signature import alternatives

# What JSON's objects and arrays are made into, by the type an input declares.
_CONTAINERS: Mapping[Any, type] = {
    dict: dict,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
    list: list,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    tuple: tuple,
    set: set,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    frozenset: frozenset,
}


_NO_OUTCOMES: Mapping[str, Outcome] = {}


@dataclass(frozen=True)
class Column:
    """An input read from a column of the data set.

    Attributes:
        input: Name of the reward's parameter.
        column: Name of the column.
        decode: True if JSON text in the column is decoded, since the type is a dict or list.
        takes_none: True if the type admits None; else a row with None is skipped.
        required: True if the parameter has no default.
        containers: What decoded JSON may be; empty if the type also admits something else.
    """

    input: str
    column: str
    decode: bool
    takes_none: bool
    required: bool
    containers: tuple[type, ...] = ()

    def value(self, given: Any) -> Any:
        """The input's value for what a row holds; a copy of its own.

        Raises:
            ValueError: It holds no JSON of the declared type; so do TypeError, RecursionError.
        """
        if self.decode and isinstance(given, str):
            return _decoded(given, self.containers)
        # JSON has lists where a tuple or set may be declared.
        return _checked(own_copy(given), self.containers, given)


@dataclass(frozen=True)
class Result:
    """An input that is another reward's value on the same completion.

    Attributes:
        input: Name of the reward's parameter.
        reward: Instance name of the other reward.
        takes_none: True if the type admits None; else a row without a value is skipped.
        required: True if the parameter has no default.
    """

    input: str
    reward: str
    takes_none: bool
    required: bool


@dataclass(frozen=True)
class InputPlan:
    """Where each input of one reward comes from.

    Attributes:
        columns: Inputs read from the row.
        results: Inputs that are values of other rewards.
        constants: Inputs that are the same for every row, by name.
        files: SHA-256 of each file a constant was read from, by path.
    """

    columns: tuple[Column, ...] = ()
    results: tuple[Result, ...] = ()
    constants: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def read(
        self, row: Mapping[str, Any], outcomes: Mapping[str, Outcome] = _NO_OUTCOMES
    ) -> dict[str, Any] | Outcome:
        """Returns all inputs for a row, or the outcome if the row lacks or spoils one."""
        inputs = self.read_row(row, outcomes)
        if isinstance(inputs, Outcome) or not self.constants:
            return inputs
        return {**{name: own_copy(value) for name, value in self.constants.items()}, **inputs}

    def read_row(
        self, row: Mapping[str, Any], outcomes: Mapping[str, Outcome] = _NO_OUTCOMES
    ) -> dict[str, Any] | Outcome:
        """Returns the inputs that differ from row to row, or the outcome if one is missing.

        Lists and dictionaries are copies: what a reward does to them reaches no other reward or
        row.

        Args:
            row: The row of the data set.
            outcomes: Of the other rewards on this completion, by instance name.
        """
        inputs: dict[str, Any] = {}
        for source in self.columns:
            if source.column not in row:
                if source.required:
                    return Outcome(
                        None, "failed", f"input {source.input!r}: no column {source.column!r}"
                    )
                continue
            try:
                value = source.value(row[source.column])
            except (ValueError, TypeError, RecursionError) as exc:
                return Outcome(
                    None,
                    "failed",
                    f"input {source.input!r}: column {source.column!r} holds no JSON of the "
                    f"declared type: {exc}",
                )
            if value is None and not source.takes_none:
                if not source.required:
                    continue
                return Outcome(
                    None, "skipped", f"input {source.input!r} is None (column {source.column!r})"
                )
            inputs[source.input] = value
        for result in self.results:
            outcome = outcomes[result.reward]
            if outcome.value is not None or result.takes_none:
                inputs[result.input] = outcome.value
            elif result.required:
                why = f": {outcome.reason}" if outcome.reason else ""
                return Outcome(
                    None,
                    "skipped",
                    f"input {result.input!r}: reward {result.reward!r} {outcome.status}{why}",
                )
        return inputs


def plan_inputs(
    info: RewardInfo,
    bound: Mapping[str, Any],
    *,
    columns: Collection[str] | None = None,
    folder: Path | None = None,
    where: str = "inputs",
    rewards: Collection[str] = (),
) -> tuple[InputPlan, list[Problem]]:
    """Decides where each input of a reward comes from.

    Args:
        info: The reward's declaration.
        bound: By input: a column's name, `{"value": ...}`, `{"file": "path"}` or
            `{"reward": "name"}`. An input that is not named here is the column of its name.
        columns: The columns there are, or None if they are not known yet.
        folder: What a relative file is relative to; default: the working directory.
        where: Path of the bindings, for the problems.
        rewards: Instance names of the rewards that an input may be bound to.

    Returns:
        The plan and the problems found, all of them.
    """
    declared = {p.name: p for p in info.inputs}
    problems = [
        Problem(
            f"{where}.{name}",
            f"{info.name!r} has no such input.{near(name, declared)} "
            f"Inputs are {listed(declared)}.",
        )
        for name in bound
        if name not in declared
    ]
    sources = []
    results = []
    constants: dict[str, Any] = {}
    files: dict[str, str] = {}
    for parameter in info.inputs:
        at = f"{where}.{parameter.name}"
        source = bound.get(parameter.name, parameter.name)
        if isinstance(source, str):
            if columns is not None and source not in columns:
                if not parameter.required and parameter.name not in bound:
                    continue
                problems.append(Problem(at, _no_column(info.name, parameter, source, columns)))
            sources.append(_column(parameter, source))
            continue
        if isinstance(source, Mapping) and set(source) == {"reward"}:
            results += _result(at, parameter, source["reward"], rewards, problems)
            continue
        constant = _constant(at, parameter, source, folder, problems)
        if constant is not None:
            constants[parameter.name] = constant.value
            files |= constant.file
    return InputPlan(tuple(sources), tuple(results), constants, files), problems


class _Constant(NamedTuple):
    value: Any
    file: dict[str, str]


def _constant(
    where: str, parameter: Parameter, source: Any, folder: Path | None, problems: list[Problem]
) -> _Constant | None:
    """The value that a table binds an input to; problems are added to the list."""
    if not isinstance(source, Mapping) or len(source) != 1:
        text = (
            f'expected a column\'s name, {{ value = … }}, {{ file = "path" }} or '
            f'{{ reward = "name" }}, got {source!r}'
        )
        problems.append(Problem(where, text))
        return None
    ((kind, given),) = source.items()
    constant = None
    if kind == "value":
        constant = _Constant(given, {})
    elif kind == "file":
        constant = _read_file(where, parameter, given, folder, problems)
    else:
        problems.append(Problem(where, f"unknown source {kind!r}; use value, file or reward"))
    if constant is None:
        return None
    value, wrong = convert(parameter, constant.value)
    problems += [Problem(where + path, message) for path, message in wrong]
    return constant._replace(value=value)


def _result(
    where: str,
    parameter: Parameter,
    reward: object,
    rewards: Collection[str],
    problems: list[Problem],
) -> list[Result]:
    """The source that is another reward; problems are added to the list."""
    kinds = _hashable(alternatives(parameter.annotation))
    numbers = {Any, object, float}
    if reward not in rewards:
        others = listed(rewards) if rewards else "none"
        hint = near(reward, rewards) if isinstance(reward, str) else ""
        text = f"expected the name of another reward, got {reward!r}.{hint} Rewards are {others}."
        problems.append(Problem(where, text))
    elif numbers.isdisjoint(kinds):
        text = (
            f"another reward's value is a number or None, and the input is declared as "
            f"{parameter.type_name}; declare it as float | None"
        )
        problems.append(Problem(where, text))
    else:
        takes_none = not {Any, object, type(None)}.isdisjoint(kinds)
        return [Result(parameter.name, str(reward), takes_none, parameter.required)]
    return []


def _column(parameter: Parameter, column: str) -> Column:
    kinds = alternatives(parameter.annotation)
    containers = [c for c in map(_container, kinds) if c is not None]
    only = all(_container(k) is not None or k is type(None) for k in kinds)
    return Column(
        input=parameter.name,
        column=column,
        decode=str not in kinds and bool(containers),
        takes_none=not {Any, object, type(None)}.isdisjoint(_hashable(kinds)),
        required=parameter.required,
        containers=tuple(dict.fromkeys(containers)) if only else (),
    )


def _hashable(kinds: Collection[Any]) -> list[Any]:
    return [k for k in kinds if isinstance(k, collections.abc.Hashable)]


def _container(kind: Any) -> type | None:
    """What JSON becomes under the type: dict, list, tuple, set or frozenset; None for others."""
    if typing.is_typeddict(kind):
        return dict
    origin = typing.get_origin(kind) or kind
    return _CONTAINERS.get(origin) if isinstance(origin, type) else None


def _decoded(text: str, containers: Collection[type]) -> Any:
    decoded = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_members)
    value = _contained(decoded, containers)
    if value is None or not containers or type(value) in containers:
        return value
    raise _other_kind(containers, repr(text))


def _checked(value: Any, containers: Collection[type], given: Any) -> Any:
    """The value as what is declared, if it is an object or array at all."""
    value = _contained(value, containers)
    if not containers or type(value) not in (dict, list) or type(value) in containers:
        return value
    raise _other_kind(containers, repr(given))


def _other_kind(containers: Collection[type], got: str) -> ValueError:
    expected = "object" if dict in containers else "array"
    return ValueError(f"expected an {expected}, got {_shown(got)}")


def _contained(value: Any, containers: Collection[type]) -> Any:
    """A list as the tuple or set that is declared; all else as it is."""
    if isinstance(value, list) and list not in containers:
        for kind in containers:
            if kind is not dict:
                return kind(value)
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in made if names.count(name) > 1)
        raise ValueError(f"the key {_shown(repr(twice))} is there twice in one object")
    return made


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _shown(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _no_column(reward: str, parameter: Parameter, column: str, columns: Collection[str]) -> str:
    return (
        f"{reward!r} reads column {column!r}, which the data does not have."
        f"{near(column, columns)} Columns are {listed(columns)}. Bind it: "
        f'inputs = {{ {parameter.name} = "<column>" }}'
    )


def _read_file(
    where: str, parameter: Parameter, name: object, folder: Path | None, problems: list[Problem]
) -> _Constant | None:
    """Reads a constant from a file: JSON if the name or the type says so, else its text."""
    if not isinstance(name, str) or not name:
        problems.append(Problem(where, f"expected a file's path, got {name!r}"))
        return None
    path = (folder or Path.cwd()) / Path(name).expanduser()
    column = _column(parameter, "")
    kinds = set(_hashable(alternatives(parameter.annotation))) - {type(None)}
    is_json = column.decode or (path.suffix.lower() == ".json" and kinds != {str})
    try:
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
        value = _decoded(text, column.containers) if is_json else text
    except OSError as exc:
        problems.append(Problem(where, f"file {path} cannot be read: {exc.strerror}"))
    except (ValueError, TypeError, RecursionError) as exc:
        expected = "JSON of the declared type" if is_json else "UTF-8 text"
        problems.append(Problem(where, f"file {path} is not {expected}: {exc}"))
    else:
        return _Constant(value, {str(path): hashlib.sha256(data).hexdigest()})
    return None
