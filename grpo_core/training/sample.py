"""Samples completions of a model outside training, as the seam would see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from grpo_core.completion import Completion
from grpo_core.training.completions import CompletionBuilder, end_tokens


@torch.no_grad()
def sample(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    *,
    max_new_tokens: int,
    temperature: float = 1.0,
    seed: int = 0,
) -> list[Completion]:
    """Samples one completion per row; the global random state stays as it was.

    Args:
        model: The model; left in the mode it was in.
        tokenizer: The tokenizer; pads on the left.
        rows: Rows with a `prompt`, texts or chats.
        max_new_tokens: Most tokens per completion.
        temperature: Sampling temperature, above 0.
        seed: Seed of the sampling.

    Returns:
        One completion per row, in order.
    """
    prompts = [row["prompt"] for row in rows]
    texts = [
        p
        if isinstance(p, str)
        else tokenizer.apply_chat_template(p, tokenize=False, add_generation_prompt=True)
        for p in prompts
    ]
    inputs = tokenizer(
        texts, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False
    ).to(model.device)
    training = model.training
    model.eval()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        generated = model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            max_new_tokens=max_new_tokens,
            do_sample=True,
            temperature=temperature,
            top_k=0,
            top_p=1.0,
        )
    model.train(training)
    ends = end_tokens(tokenizer, model)
    replies = [
        _until_end(ids, ends) for ids in generated[:, inputs["input_ids"].shape[1] :].tolist()
    ]
    decoded = tokenizer.batch_decode(replies, skip_special_tokens=True)
    completions = [
        text if isinstance(p, str) else [{"role": "assistant", "content": text}]
        for p, text in zip(prompts, decoded, strict=True)
    ]
    return CompletionBuilder(tokenizer, model).build(prompts, completions, replies, rows)


def _until_end(ids: list[int], ends: set[int]) -> list[int]:
    """The tokens up to and with the first end token; what follows is padding."""
    for i, token in enumerate(ids):
        if token in ends:
            return ids[: i + 1]
    return ids
