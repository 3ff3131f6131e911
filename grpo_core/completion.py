"""What a reward sees of one completion: `Completion` and `Message`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Keys under which chat parsers hand over the reasoning that they split off the reply.
_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat.

    Attributes:
        role: Who speaks: `system`, `user`, `assistant` or `tool`.
        content: The text; several text blocks are joined, None becomes "".
        reasoning: Reasoning that a chat parser split off the content, else "".
        extra: Whatever else the message holds (`tool_calls`, `name`, ...).
    """

    role: str
    content: str = ""
    reasoning: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, message: Mapping[str, Any]) -> Message:
        """Makes a message of a chat dictionary, whatever its content looks like.

        Args:
            message: Keys `role` and `content`; the content may be a string, None or a list of
                blocks (`{"type": "text", "text": ...}`; blocks that hold no text are left out).

        Raises:
            TypeError: The message is no mapping, has neither key, or its content is none of these.
        """
        if not isinstance(message, Mapping) or not ("role" in message or "content" in message):
            raise TypeError(
                f"a message must be a mapping with 'role' and 'content', got {message!r}"
            )
        reasoning = ""
        for key in _REASONING_KEYS:
            if message.get(key):
                reasoning = _content_text(message[key])
                break
        extra = {k: v for k, v in message.items() if k not in ("role", "content", *_REASONING_KEYS)}
        return cls(
            role=str(message.get("role") or "assistant"),
            content=_content_text(message.get("content")),
            reasoning=reasoning,
            extra=extra,
        )

    @property
    def text(self) -> str:
        """The content with its reasoning put back in front, inside think tags."""
        if not self.reasoning:
            return self.content
        return f"<think>\n{self.reasoning}\n</think>\n\n{self.content}"


@dataclass(frozen=True, slots=True)
class Completion:
    r"""One completion and what is known about it; None means unknown.

    Attributes:
        text: The generated text without special tokens. Reasoning that a chat parser split off
            stands in front again; of a tool conversation it is the last assistant message.
        prompt: Text of the prompt; the contents of a chat's messages joined by newlines.
        prompt_messages: The prompt as messages, or None if it was plain text.
        reply: The reply as messages, or None if it was plain text.
        raw_text: The generated text with its special tokens.
        token_ids: The generated tokens; None in a tool conversation, where the trainer's ids
            hold tool results too.
        truncated: True if generation stopped at the length limit before an end token.
        prefill: What the chat template or the prompt had already opened for the reply, such as
            "<think>\n"; it is not part of `text`.
        columns: The inputs that the reward declares, by name; read-only.
        group: Number of the prompt in the batch; None at sample scope, as the next two.
        index_in_group: Position among the completions of the prompt, from 0.
        group_size: Number of completions of the prompt (G).
    """

    text: str
    prompt: str = ""
    prompt_messages: tuple[Message, ...] | None = None
    reply: tuple[Message, ...] | None = None
    raw_text: str | None = None
    token_ids: tuple[int, ...] | None = None
    truncated: bool | None = None
    prefill: str = ""
    columns: Mapping[str, Any] = field(default_factory=dict)
    group: int | None = None
    index_in_group: int | None = None
    group_size: int | None = None

    @classmethod
    def from_data(
        cls,
        completion: object,
        prompt: object = "",
        *,
        text: str | None = None,
        raw_text: str | None = None,
        token_ids: Sequence[int] | None = None,
        truncated: bool | None = None,
        prefill: str = "",
        columns: Mapping[str, Any] | None = None,
    ) -> Completion:
        """Makes a completion of whatever the data looks like.

        Args:
            completion: A string, None (an empty reply), a message, or a list of messages.
            prompt: A string, None, a message, or a list of messages.
            text: The generated tokens decoded without special tokens, where they are known;
                otherwise the text is taken from `completion`.
            raw_text: The generated tokens decoded with special tokens.
            token_ids: The generated tokens.
            truncated: True if generation stopped at the length limit.
            prefill: What the prompt had already opened for the reply.
            columns: Values of the data set's row, by column.

        Raises:
            TypeError: The completion or the prompt is of another kind.
        """
        reply = _messages(completion, "completion")
        prompt_messages = _messages(prompt, "prompt")
        if reply is not None:
            spoken = [m for m in reply if m.role == "assistant"]
            if len(reply) > 1:  # a tool conversation: ids and decoded text hold tool results too
                text, token_ids, raw_text = None, None, None
            if text is None:
                text = (spoken or list(reply))[-1].text if reply else ""
        elif text is None:
            text = "" if completion is None else str(completion)
        if prompt_messages is not None:
            prompt_text = "\n".join(m.content for m in prompt_messages)
        else:
            prompt_text = "" if prompt is None else str(prompt)
        return cls(
            text=text,
            prompt=prompt_text,
            prompt_messages=prompt_messages,
            reply=reply,
            raw_text=raw_text,
            token_ids=None if token_ids is None else tuple(token_ids),
            truncated=truncated,
            prefill=prefill,
            columns={} if columns is None else columns,
        )

    def with_columns(self, columns: Mapping[str, Any]) -> Completion:
        """Returns the same completion with other columns."""
        # dataclasses.replace costs three times as much, and this runs once per reward and row.
        copy = object.__new__(Completion)
        put = object.__setattr__
        put(copy, "text", self.text)
        put(copy, "prompt", self.prompt)
        put(copy, "prompt_messages", self.prompt_messages)
        put(copy, "reply", self.reply)
        put(copy, "raw_text", self.raw_text)
        put(copy, "token_ids", self.token_ids)
        put(copy, "truncated", self.truncated)
        put(copy, "prefill", self.prefill)
        put(copy, "columns", columns)
        put(copy, "group", self.group)
        put(copy, "index_in_group", self.index_in_group)
        put(copy, "group_size", self.group_size)
        return copy


def _content_text(content: object) -> str:
    """Returns the text of a message's content: a string, None, or a list of blocks."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        content = [content]
    if isinstance(content, Sequence):
        parts = []
        for block in content:
            if isinstance(block, str):
                parts.append(block)
            elif isinstance(block, Mapping):
                parts.append(str(block.get("text") or ""))
            else:
                raise TypeError(f"a content block must be a mapping or a string, got {block!r}")
        return "".join(parts)
    raise TypeError(f"content must be a string, None or a list of blocks, got {content!r}")


def _messages(value: object, what: str) -> tuple[Message, ...] | None:
    """Returns the messages of a chat, or None for plain text."""
    if value is None or isinstance(value, str):
        return None
    if isinstance(value, Mapping):
        value = [value]
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return tuple(Message.from_dict(m) for m in value)
    raise TypeError(
        f"a {what} must be a string, None or a list of messages, got {type(value).__name__}"
    )
