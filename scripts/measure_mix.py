"""What runs of examples/mix_demo.toml came to: `python scripts/measure_mix.py wordy runs/x/model`.

Samples each model at temperature 1 on the demo's 128 held-out sums and on 128 hard ones that no
run saw, and prints a table. About a minute a model on one CPU core.
"""

import argparse
import importlib.util
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from grpo_core import CompositeReward
from grpo_core.training.sample import sample

SUMS = Path(__file__).parents[1] / "examples" / "mix_sums.py"
REWARDS = {"format": "format/tags", "correct": "math/answer_equals", "safety": "safety/clean"}
MOST_TOKENS = 104
N = 128


def measure(folder: Path, rows: Sequence[dict[str, Any]]) -> tuple[list[float], list[str]]:
    """The mean of each reward and of the length, and the first three texts."""
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    done = sample(model, tokenizer, rows, max_new_tokens=MOST_TOKENS, temperature=1.0, seed=0)
    values = CompositeReward(REWARDS).score(done).values
    length = float(np.mean([len(c.token_ids or ()) for c in done]))
    return [*np.nanmean(values, axis=0).tolist(), length], [c.text for c in done[:3]]


def main() -> None:
    """Print the table, and three completions of each model and kind."""
    parser = argparse.ArgumentParser(description="Measure models of examples/mix_demo.toml.")
    parser.add_argument("models", nargs="+", type=Path, help="model folders")
    models: list[Path] = parser.parse_args().models
    spec = importlib.util.spec_from_file_location("mix_sums", SUMS)
    assert spec is not None
    assert spec.loader is not None
    sums = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sums)
    torch.set_num_threads(1)
    print(f"| model | rows | {' | '.join(REWARDS)} | tokens |\n|---|---|{'---|' * 4}")
    shown = []
    for folder in models:
        for kind, rows in (("easy", sums.test), ("hard", sums.hard)):
            means, texts = measure(folder, list(islice(rows(), N)))
            *rewards, length = means
            numbers = " | ".join(f"{mean:.2f}" for mean in rewards)
            print(f"| {folder} | {kind} | {numbers} | {length:.0f} |", flush=True)
            shown += [f"{folder}, {kind}: {text!r}" for text in texts]
    print("\n".join(shown))


if __name__ == "__main__":
    main()
