"""What the model's files show, without loading it: chat template, length, size."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from grpo_core.preflight import positions_of

# Above this size of the weights, in bytes, an adapter is trained instead of them.
_SMALL = 300_000_000
_CHAT_NAME = re.compile(r"instruct|chat|(?<![a-z])it(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True)
class Model:
    """A model, looked at.

    Attributes:
        name: `[model] name`.
        chat: True if its tokenizer has a chat template.
        seen: False if that is told by its name alone.
        lora: True if an adapter is trained.
        positions: How many tokens it takes, or None if that is not known.
    """

    name: str
    chat: bool
    seen: bool
    lora: bool
    positions: int | None


def look_at_model(name: str, folder: Path) -> Model:
    """Looks at a model's folder, or at what a cache holds of a hub model.

    Args:
        name: `[model] name`.
        folder: The config's folder.
    """
    place = folder / name
    here = place if place.is_dir() else None
    files = here or _cached(name)
    chat = None if files is None else _has_chat_template(files)
    weights = (p for p in files.glob("*") if p.suffix in (".safetensors", ".bin")) if files else ()
    return Model(
        name=name,
        chat=bool(_CHAT_NAME.search(name)) if chat is None else chat,
        seen=chat is not None,
        lora=here is None or sum(p.stat().st_size for p in weights if p.is_file()) > _SMALL,
        positions=None if files is None else positions_of(files),
    )


def _cached(name: str) -> Path | None:
    """The folder that holds what was downloaded of a hub model before; nothing is downloaded."""
    try:
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(name, "tokenizer_config.json")
    except (ImportError, ValueError):  # the extra is not installed; no hub id
        return None
    return Path(found).parent if isinstance(found, str) else None


def _has_chat_template(folder: Path) -> bool | None:
    """True if the tokenizer has a chat template; None if there is no tokenizer."""
    if any((folder / f"chat_template.{end}").is_file() for end in ("jinja", "json")):
        return True
    try:
        config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return isinstance(config, dict) and bool(config.get("chat_template"))
