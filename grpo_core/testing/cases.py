"""The examples of a contract: `Case`, and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from grpo_core.completion import Completion
from grpo_core.errors import DataError

Kind = Literal["good", "bad", "attack"]

_PAIR = "; inputs of its own come second, by name, as in ('85', {'answer': '85'})"


@dataclass(frozen=True)
class Case:
    """One example of a contract.

    Attributes:
        completion: A text, a list of messages, or a `Completion`.
        inputs: Inputs of this example, by name; they add to the contract's and come first.
        prompt: Text or messages of the prompt, unless `completion` is a `Completion`.
        name: What a failing test calls it; default: the text.
        why: What it is there for; said where it earns what it should not.
    """

    completion: object
    inputs: Mapping[str, Any] = field(default_factory=dict)
    prompt: object = ""
    name: str = ""
    why: str = ""


@dataclass(frozen=True)
class Example:
    """A case, made ready.

    Attributes:
        kind: What it is an example of.
        name: What a failing test calls it.
        completion: The completion, with its inputs as columns.
        why: What it is there for, or "".
    """

    kind: Kind
    name: str
    completion: Completion
    why: str = ""


def examples_of(
    given: Mapping[Kind, Sequence[object]], rows: Sequence[tuple[Kind, Case]], inputs: Any
) -> list[Example]:
    """Makes examples of what a contract names.

    Args:
        given: By kind: texts, chats, completions, pairs of one and its inputs, or `Case` objects.
        rows: Cases of a file, each with the name of its place.
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
        cases += [(case.name, replace(case, name="")) for of, case in rows if of == kind]
        for where, case in cases:
            try:
                made = _completion(case, inputs)
            except TypeError as exc:
                hint = _PAIR if isinstance(case.completion, tuple) else ""
                raise DataError(f"{where}: {exc}{hint}") from exc
            label = case.name or f"{where} {shown(made.text)}"
            found.append(Example(kind, label, made, case.why))
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


def shown(text: object) -> str:
    """A text as a failing test shows it: quoted, cut after 40 characters."""
    quoted = repr(text)
    return quoted if len(quoted) <= 42 else f"{quoted[:39]}…{quoted[-1]}"
