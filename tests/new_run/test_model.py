"""What a model's files show: chat template, size, tokens, without loading anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grpo_core.new_run.model import Model, look_at_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a model without weights."""
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text('{"max_position_embeddings": 64}')
    (made / "tokenizer_config.json").write_text("{}")
    return made


def test_folder_without_chat_template(folder):
    assert look_at_model("model", folder.parent) == Model("model", False, True, False, 64)


@pytest.mark.parametrize("file", ["chat_template.jinja", "tokenizer_config.json"])
def test_folder_with_chat_template(folder, file):
    (folder / file).write_text(json.dumps({"chat_template": "{{ messages }}"}))

    assert look_at_model("model", folder.parent).chat is True


def test_folder_with_much_weight_gets_an_adapter(folder):
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(300_000_001)

    assert look_at_model("model", folder.parent).lora is True


@pytest.mark.parametrize(
    ("name", "chat"),
    [("owner/X-1B-Instruct", True), ("owner/x-2b-it", True), ("owner/X-1B", False), ("kit", False)],
)
def test_hub_model_that_is_not_here_is_judged_by_its_name(tmp_path, name, chat):
    assert look_at_model(name, tmp_path) == Model(name, chat, False, True, None)


def test_hub_model_that_was_downloaded_is_looked_at(folder, tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub", reason="the extra 'train' is not installed")
    asked = []

    def cache(name: str, file: str) -> str:
        asked.append(name)
        return str(folder / file)

    monkeypatch.setattr(hub, "try_to_load_from_cache", cache)

    found = look_at_model("owner/X-Instruct", tmp_path)

    assert asked == ["owner/X-Instruct"]
    assert found == Model("owner/X-Instruct", False, True, True, 64)
