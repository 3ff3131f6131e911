"""Gives TRL the right reference model when the model to train is an object in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM


def same_as_saved(model: Any) -> bool:
    """True if the weights equal those that the model's folder or hub id holds.

    TRL makes the reference by loading that folder or id again; it knows nothing of what happened
    to the object since.
    """
    name = getattr(model.config, "_name_or_path", "")
    if not name:
        return False
    try:
        saved = AutoModelForCausalLM.from_pretrained(name, dtype=model.dtype)
    except (OSError, ValueError, RuntimeError):
        return False  # nothing there that could be loaded
    ours, theirs = model.state_dict(), saved.state_dict()
    return ours.keys() == theirs.keys() and all(
        a.shape == theirs[name].shape and torch.equal(a.cpu(), theirs[name].cpu())
        for name, a in ours.items()
    )


def save_reference(model: Any, folder: Path) -> None:
    """Saves the model as it is now and points its config there."""
    model.save_pretrained(folder)
    model.config._name_or_path = str(folder)
