"""A tiny random Llama, its character tokenizer and sums to solve, all made in memory."""

from __future__ import annotations

import random
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ("<|pad|>", "<|begin|>", "<|end|>", "<|user|>", "<|assistant|>")
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}"
    "{{ '<|' + m['role'] + '|>' + m['content'] + eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, and five special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *alphabet])}
    core = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=SPECIAL[0],
        bos_token=SPECIAL[1],
        eos_token=SPECIAL[2],
        additional_special_tokens=list(SPECIAL[3:]),
        padding_side="left",
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def make_model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """About 250,000 parameters in float32, the same ones at each call."""
    torch.manual_seed(0)
    ids = {
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        dtype="float32",
        **ids,
    )
    model = LlamaForCausalLM(config)
    model.generation_config = GenerationConfig(**ids)
    return model


def make_dataset(n_rows: int, *, chat: bool) -> Dataset:
    """Sums, the prompt as plain text or as a chat of one message."""
    rng = random.Random(0)
    rows: list[dict[str, Any]] = []
    for _ in range(n_rows):
        left, right = rng.randrange(1, 100), rng.randrange(1, 100)
        question = f"{left}+{right}=?"
        prompt = [{"role": "user", "content": question}] if chat else question
        rows.append({"prompt": prompt, "answer": str(left + right), "level": "easy"})
    return Dataset.from_list(rows)
