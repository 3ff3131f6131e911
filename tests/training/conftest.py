"""Fixtures of the training tests: the tiny model, its data, and settings for short runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="the extra 'train' is not installed")

from datasets import Dataset
from tiny_model import make_model, make_tokenizer
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model and the tokenizer as a folder."""
    folder = tmp_path_factory.mktemp("model")
    make_model().save_pretrained(folder)
    make_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerFast:
    return make_tokenizer()


@pytest.fixture
def model() -> LlamaForCausalLM:
    return make_model()


@pytest.fixture
def texts() -> Dataset:
    """Eight prompts of plain text with a column `answer`."""
    return Dataset.from_dict(
        {"prompt": [f"{i}+1=" for i in range(8)], "answer": [str(i + 1) for i in range(8)]}
    )


@pytest.fixture
def chats(texts: Dataset) -> Dataset:
    """The same prompts as chats."""
    return texts.map(lambda row: {"prompt": [{"role": "user", "content": row["prompt"]}]})


@pytest.fixture
def small(tmp_path: Path) -> dict[str, Any]:
    """Arguments of a config for two short steps on a CPU; TRL's names only."""
    return {
        "output_dir": str(tmp_path / "out"),
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 1,
        "num_generations": 4,
        "max_completion_length": 8,
        "max_steps": 2,
        "logging_steps": 1,
        "learning_rate": 1e-2,
        "beta": 0.0,
        "temperature": 1.0,
        "bf16": False,
        "gradient_checkpointing": False,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "dataloader_pin_memory": False,
    }
