"""Completions and groups for tests, made of texts or chats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grpo_core.completion import Completion


def completions(*replies: object, prompt: object = "", **columns: Any) -> list[Completion]:
    """Completions of one prompt, in order.

    Args:
        *replies: Texts, lists of messages, or `Completion` objects.
        prompt: Text or messages of the prompt, for replies that are no `Completion` yet.
        **columns: Values of the data set's row, by column; the same for all, as one row has them.
    """
    made = []
    for reply in replies:
        if isinstance(reply, Completion):
            made.append(reply.with_columns({**reply.columns, **columns}))
        else:
            made.append(Completion.from_data(reply, prompt, columns=dict(columns)))
    return made


def groups(
    *replies: Sequence[object], prompt: Sequence[object] | None = None, **columns: Sequence[Any]
) -> list[Completion]:
    """Completions of several prompts, group by group, as a batch of the trainer has them.

    Args:
        *replies: For each prompt, its texts, lists of messages, or `Completion` objects.
        prompt: One for each group; default: empty prompts.
        **columns: By column, one value for each group.

    Returns:
        All completions, neighbours by group; `group`, `index_in_group` and `group_size` are set.

    Raises:
        ValueError: There is not one prompt, or not one value of a column, for each group.
    """
    prompts = [""] * len(replies) if prompt is None else prompt
    for name, values in {"prompt": prompts, **columns}.items():
        if isinstance(values, str) or len(values) != len(replies):
            raise ValueError(
                f"{name}: expected a list of {len(replies)} values, one for each group, got "
                f"{values!r}"
            )
    made = []
    for number, group in enumerate(replies):
        if isinstance(group, str):
            raise ValueError(f"group {number}: expected a list of replies, got {group!r}")
        row = {name: values[number] for name, values in columns.items()}
        made += [
            replace(c, group=number, index_in_group=i, group_size=len(group))
            for i, c in enumerate(completions(*group, prompt=prompts[number], **row))
        ]
    return made
