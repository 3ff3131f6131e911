"""The examples of a contract: `Case`, and cases kept in a file."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from grpo_core.completion import Completion
from grpo_core.errors import DataError

Kind = Literal["good", "bad", "attack"]

# What a file calls the kinds.
_KINDS: Mapping[str, Kind] = {"gold": "good", "near_miss": "bad", "attack": "attack"}
# What a row may say of its completion, beside text and prompt.
_FIELDS = ("raw_text", "token_ids", "truncated", "prefill")
_KEYS = ("kind", "completion", "inputs", "prompt", "id", "why", "reward", "options", *_FIELDS)


@dataclass(frozen=True)
class Case:
    """One example of a contract.

    Attributes:
        completion: A text, a list of messages, or a `Completion`.
        inputs: Inputs of this example, by name; they add to the contract's and come first.
        prompt: Text or messages of the prompt, unless `completion` is a `Completion`.
        name: What a failing test calls it; default: the text.
    """

    completion: object
    inputs: Mapping[str, Any] = field(default_factory=dict)
    prompt: object = ""
    name: str = ""


@dataclass(frozen=True)
class Example:
    """A case, made ready.

    Attributes:
        kind: What it is an example of.
        name: What a failing test calls it.
        completion: The completion, with its inputs as columns.
    """

    kind: Kind
    name: str
    completion: Completion


def examples_of(
    given: Mapping[Kind, Sequence[object]], rows: Sequence[tuple[Kind, Case]], inputs: Any
) -> list[Example]:
    """Makes examples of what a contract names.

    Args:
        given: By kind: texts, chats, completions, pairs of one and its inputs, or `Case` objects.
        rows: Cases of a file.
        inputs: The contract's inputs, by name.

    Returns:
        The good ones, the bad ones, the attacks, each in the order given.

    Raises:
        DataError: Something is no example.
    """
    if not isinstance(inputs, Mapping):
        raise DataError(f"inputs: expected a dict by name, got {inputs!r}")
    found = []
    for kind in get_args(Kind):
        listed = given[kind]
        if isinstance(listed, str | bytes | Mapping) or not isinstance(listed, Sequence):
            raise DataError(f"{kind}: expected a tuple of examples, got {listed!r}")
        cases = [(f"{kind}[{i}]", _case(each)) for i, each in enumerate(listed)]
        cases += [(f"{kind} case", case) for of, case in rows if of == kind]
        for where, case in cases:
            try:
                made = _completion(case, inputs)
            except TypeError as exc:
                raise DataError(f"{where}: {exc}") from exc
            label = case.name or f"{where} {shown(made.text)}"
            found.append(Example(kind, label, made))
    return found


def _case(each: object) -> Case:
    if isinstance(each, Case):
        return each
    if isinstance(each, tuple) and len(each) == 2:
        completion, inputs = each
        # Two messages would be a chat.
        if isinstance(inputs, Mapping) and not isinstance(completion, Mapping):
            return Case(completion, inputs)
    return Case(each)


def _completion(case: Case, inputs: Mapping[str, Any]) -> Completion:
    columns = {**inputs, **case.inputs}
    if isinstance(case.completion, Completion):
        return case.completion.with_columns({**inputs, **case.completion.columns, **case.inputs})
    return Completion.from_data(case.completion, case.prompt, columns=columns)


def read_cases(path: Path, reward: str, options: Mapping[str, Any]) -> list[tuple[Kind, Case]]:
    """Reads the rows of a file that are for a reward.

    Args:
        path: A JSONL file.
        reward: The reward's own name; rows that name another are left out.
        options: The contract's options; rows that have others are left out.

    Raises:
        DataError: The file cannot be read, or a row is none; the text names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise DataError(f"cases: {path} cannot be read: {exc}") from exc
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path.name}:{number}"
        row = _row(line, where)
        if row.get("reward", reward) != reward or row.get("options", options) != options:
            continue
        kind = _KINDS[row["kind"].replace("-", "_")]
        more = {key: row[key] for key in _FIELDS if key in row}
        try:
            completion = Completion.from_data(row["completion"], row.get("prompt", ""), **more)
        except TypeError as exc:
            raise DataError(f"{where}: {exc}") from exc
        name = f"{where} ({row['id']})" if "id" in row else where
        found.append((kind, Case(completion, row.get("inputs", {}), name=name)))
    return found


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as exc:
        raise DataError(f"{where}: expected an object in JSON, got {shown(line)}: {exc}") from exc
    if not isinstance(row, dict):
        raise DataError(f"{where}: expected an object, got {shown(line)}")
    for key in row:
        # Other keys are the author's own; one that is nearly ours is a slip of the pen.
        close = difflib.get_close_matches(key, _KEYS, n=1, cutoff=0.8)
        if key not in _KEYS and close:
            raise DataError(f"{where}: unknown key {key!r}. Did you mean {close[0]!r}?")
    if str(row.get("kind")).replace("-", "_") not in _KINDS:
        raise DataError(f"{where}: kind: expected gold, near_miss or attack, got {row.get('kind')}")
    if "completion" not in row:
        raise DataError(f"{where}: 'completion' is missing: the text, or a list of messages")
    for key in ("inputs", "options"):
        if not isinstance(row.get(key, {}), dict):
            raise DataError(f"{where}: {key}: expected an object by name, got {row[key]!r}")
    return row


def shown(text: object) -> str:
    """A text as a failing test shows it: quoted, cut after 40 characters."""
    quoted = repr(text)
    return quoted if len(quoted) <= 42 else f"{quoted[:39]}…{quoted[-1]}"
