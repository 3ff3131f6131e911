"""`TrlBatch`: a batch in the form TRL hands it to reward functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grpo_core.completion import Completion, Message
from grpo_core.copying import own_copy


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


def with_row(prompt: Any, row: Mapping[str, Any]) -> PromptText | PromptMessages:
    """The prompt as TRL has it, a copy that answers `.get(column)` from its row."""
    wrapped: PromptText | PromptMessages
    wrapped = PromptText(prompt) if isinstance(prompt, str) else PromptMessages(own_copy(prompt))
    wrapped.row = dict(row)
    return wrapped


def _as_dict(message: Message) -> dict[str, Any]:
    reasoning = {"reasoning_content": message.reasoning} if message.reasoning else {}
    return {"role": message.role, "content": message.content, **reasoning, **message.extra}
