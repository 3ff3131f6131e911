"""Checks the prompts of a data set before training: what kind they are, whether they render."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import TemplateError

from grpo_core.errors import ConfigError

# Rows that are looked at; a data set with a fault usually has it early.
_ROWS = 1000


def check_prompts(
    dataset: Any,
    tokenizer: Any,
    template_arguments: Mapping[str, Any] | None = None,
    where: str = "train_dataset",
) -> None:
    """Looks at the first 1,000 prompts; a data set that only streams is left alone.

    Args:
        dataset: Has a column `prompt`.
        tokenizer: Renders chats; None skips that part.
        template_arguments: Further arguments of the chat template.
        where: What the data set is called in errors.

    Raises:
        ConfigError: A prompt is neither a text nor a chat, is blank, or the chat template cannot
            render it; the text names the row.
    """
    columns = getattr(dataset, "column_names", None) or ()
    if not hasattr(dataset, "select") or "prompt" not in columns:
        return
    pictures = [c for c in ("image", "images") if c in columns]
    prompts = dataset.select(range(min(_ROWS, len(dataset))))["prompt"]
    for number, prompt in enumerate(prompts):
        if isinstance(prompt, str) and prompt.strip():
            if pictures:
                raise ConfigError(
                    f"{where} has a column {pictures[0]!r}, which TRL takes for pictures of a "
                    f"chat, but the prompt of row {number} is a text; rename the column"
                )
        elif not _is_chat(prompt):
            raise ConfigError(
                f"{where}, row {number}: a prompt must be a text or a list of messages with "
                f"role and content, and not blank; got {_shown(prompt)}"
            )
        elif tokenizer is not None and not pictures:  # a processor renders pictures its own way
            render(prompt, tokenizer, template_arguments, f"{where}, row {number}")


def render(
    prompt: Any, tokenizer: Any, template_arguments: Mapping[str, Any] | None, where: str
) -> str:
    """The prompt as the model reads it.

    Raises:
        ConfigError: The chat template cannot render it.
    """
    if isinstance(prompt, str):
        return prompt
    try:
        return str(
            tokenizer.apply_chat_template(
                prompt, tokenize=False, add_generation_prompt=True, **(template_arguments or {})
            )
        )
    except (TemplateError, TypeError, ValueError, KeyError) as exc:
        raise ConfigError(
            f"{where}: the chat template cannot render the prompt {_shown(prompt)}: {exc}"
        ) from exc


def _is_chat(prompt: Any) -> bool:
    return (
        isinstance(prompt, list)
        and bool(prompt)
        and all(isinstance(m, Mapping) and "role" in m and "content" in m for m in prompt)
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
