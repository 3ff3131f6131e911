"""Finds what a prompt has already opened for the reply, such as `<think>`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import TemplateError

# Stands for the reply in a rendered chat; no template produces it by itself.
_REPLY = "\ue000grpo\ue001"

# An opening tag that ends the prompt, with the white space after it.
_OPENED = re.compile(r"<([A-Za-z][\w-]*)>\s*\Z")


def prefill_of_text(prompt: str) -> str:
    """The opening tag that ends a prompt of plain text, with the white space after it, or ""."""
    match = _OPENED.search(prompt[-200:])
    return match[0] if match else ""


def prefill_of_chat(
    tokenizer: Any, messages: Sequence[Mapping[str, Any]], template_arguments: Mapping[str, Any]
) -> str:
    """What the chat template puts behind the assistant's header.

    Three renderings are compared: the chat alone, the chat with the generation prompt, and the
    chat with a reply. The generation prompt and the reply share the header; what the generation
    prompt has beyond it is the prefill. A template that writes an empty think block in front of
    every reply shares its opener too: an opener at the end of the generation prompt that the
    rendered reply closes again belongs to the prefill.

    Args:
        tokenizer: Has `apply_chat_template`.
        messages: The prompt.
        template_arguments: Further arguments of the template.

    Returns:
        The text, or "" if there is none or the template cannot render one of the three.
    """

    def render(chat: Sequence[Mapping[str, Any]], *, generate: bool) -> str:
        return str(
            tokenizer.apply_chat_template(
                list(chat), tokenize=False, add_generation_prompt=generate, **template_arguments
            )
        )

    try:
        alone = render(messages, generate=False)
        opened = render(messages, generate=True)
        replied = render([*messages, {"role": "assistant", "content": _REPLY}], generate=False)
    except (TemplateError, ValueError, TypeError):
        return ""  # the template takes no such chat; nothing is known then
    if not opened.startswith(alone):
        return ""
    opened = opened[len(alone) :]
    before_reply, found, _ = replied.partition(_REPLY)
    if not found or not before_reply.startswith(alone):
        return prefill_of_text(opened)
    before_reply = before_reply[len(alone) :]
    shared = 0
    for a, b in zip(opened, before_reply, strict=False):
        if a != b:
            break
        shared += 1
    match = _OPENED.search(opened)
    if match and f"</{match[1]}>" in before_reply:
        shared = min(shared, match.start())
    return opened[shared:]
