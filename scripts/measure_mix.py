"""What runs of examples/mix_demo.toml came to.

    python scripts/measure_mix.py before=wordy gates=runs/gates-0/model,runs/gates-1/model

Samples each model at temperature 1, four completions for each of the demo's 128 held-out sums and
of 128 hard ones that no run saw, and prints a table: the mean of the models of a name and, of
several (seeds), the lowest and the highest. Some ten seconds a model on one CPU core.
"""

import argparse
import runpy
from collections.abc import Sequence
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
TIMES = 4


def measure(folder: Path, rows: Sequence[dict[str, Any]]) -> tuple[list[float], list[str]]:
    """The means of the rewards, of the length and of that of right replies; two texts."""
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    done = [
        completion
        for seed in range(TIMES)
        for completion in sample(
            model, tokenizer, rows, max_new_tokens=MOST_TOKENS, temperature=1.0, seed=seed
        )
    ]
    values = CompositeReward(REWARDS).score(done).values
    lengths = np.array([len(c.token_ids or ()) for c in done])
    right = lengths[values[:, list(REWARDS).index("correct")] == 1.0]
    means = [*np.nanmean(values, axis=0), lengths.mean(), right.mean() if right.size else np.nan]
    return [float(mean) for mean in means], [c.text for c in done[:2]]


def cell(values: Sequence[float], digits: int) -> str:
    """The mean, and the lowest and highest of several values; a model may have none."""
    known = [value for value in values if not np.isnan(value)]
    if not known:
        return "none"
    if len(known) < len(values):
        return f"{cell(known, digits)}, {len(values) - len(known)} without"
    mean = f"{np.mean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def _named(text: str) -> tuple[str, list[Path]]:
    name, equals, folders = text.partition("=")
    if not (name and equals and folders):
        raise argparse.ArgumentTypeError(f"expected NAME=FOLDER,…, got {text!r}")
    return name, [Path(folder) for folder in folders.split(",")]


def main() -> None:
    """Print the table, and two completions of each model and kind."""
    parser = argparse.ArgumentParser(description="Measure models of examples/mix_demo.toml.")
    parser.add_argument("models", nargs="+", type=_named, help="NAME=MODEL_FOLDER,…")
    models: list[tuple[str, list[Path]]] = parser.parse_args().models
    sums = runpy.run_path(str(SUMS))
    torch.set_num_threads(1)
    columns = ("model", "rows", *REWARDS, "tokens", "of right ones")
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    shown = []
    for name, folders in models:
        for kind, rows in (("easy", list(sums["test"]())), ("hard", list(sums["hard"]()))):
            measured = [measure(folder, rows) for folder in folders]
            *rewards, length, of_right = zip(*(means for means, _ in measured), strict=True)
            cells = [*(cell(values, 2) for values in rewards), cell(length, 1), cell(of_right, 1)]
            print(f"| {name} | {kind} | {' | '.join(cells)} |", flush=True)
            for folder, (_, texts) in zip(folders, measured, strict=True):
                shown += [f"{folder}, {kind}: {text!r}" for text in texts]
    print("\n".join(shown))


if __name__ == "__main__":
    main()
