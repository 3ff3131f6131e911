"""Makes `Completion` objects of what a model generated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grpo_core.completion import Completion
from grpo_core.training.prefill import prefill_of_chat, prefill_of_text


class CompletionBuilder:
    """Knows the tokenizer, and what ends a completion."""

    def __init__(
        self, tokenizer: Any, model: Any, template_arguments: Mapping[str, Any] | None = None
    ) -> None:
        """Reads what ends a completion.

        Args:
            tokenizer: The tokenizer.
            model: The model; every end token that its generation config declares counts.
            template_arguments: Further arguments of the chat template.
        """
        self.tokenizer = tokenizer
        self._arguments = dict(template_arguments or {})
        self._ends = end_tokens(tokenizer, model) | {tokenizer.pad_token_id}
        # With a response parser the trainer's contents have lost the reasoning and tool calls.
        self._parses = any(
            getattr(tokenizer, name, None) is not None
            for name in ("response_template", "response_schema")
        )
        self._prefills: dict[tuple[str, ...], str] = {}

    def build(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]],
        rows: Sequence[Mapping[str, Any]],
    ) -> list[Completion]:
        """Makes B completions of B prompts, replies, token ids and rows, in order."""
        raw = self.tokenizer.batch_decode(completion_ids, skip_special_tokens=False)
        texts: Sequence[str | None] = [None] * len(raw)
        if self._parses:
            texts = self.tokenizer.batch_decode(completion_ids, skip_special_tokens=True)
        return [
            Completion.from_data(
                completions[i],
                prompts[i],
                text=texts[i],
                raw_text=raw[i],
                token_ids=ids,
                # An empty completion has no last token; nothing cut it off.
                truncated=bool(ids) and ids[-1] not in self._ends,
                prefill=self._prefill(prompts[i]),
                columns=rows[i],
            )
            for i, ids in enumerate(completion_ids)
        ]

    def _prefill(self, prompt: Any) -> str:
        if isinstance(prompt, str):
            return prefill_of_text(prompt)
        # Rendering costs more than everything else here, and a template looks at the roles only
        # when it decides what to open.
        roles = tuple(str(message.get("role")) for message in prompt)
        if roles not in self._prefills:
            self._prefills[roles] = prefill_of_chat(self.tokenizer, prompt, self._arguments)
        return self._prefills[roles]


def end_tokens(tokenizer: Any, model: Any) -> set[int]:
    """Ids of the tokens that end a completion: the tokenizer's and the generation config's."""
    declared = model.generation_config.eos_token_id
    ids = declared if isinstance(declared, list) else [declared]
    return {i for i in [*ids, tokenizer.eos_token_id] if i is not None}
