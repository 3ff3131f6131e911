"""Measures the KL of each step in runs of the demo, and whether `grpo_core.kl` would warn.

    python scripts/measure_kl.py --seeds 10 --steps 50
    python scripts/measure_kl.py --seeds 3 --steps 8 --rate-times 1000
    python scripts/measure_kl.py --seeds 1 --rate-times 10 --set train.kl_guard=true

Each line is a seed: least, median and greatest KL in nats per token, the greatest ratio to the
median of the 20 steps before, and the step of the first warning. The floors of `grpo_core.kl`
were chosen from its output.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from grpo_core.catalog import Catalog
from grpo_core.kl import KlWatch
from grpo_core.reader import read_draft
from grpo_core.training.run import quiet_libraries, train_run, use_one_thread

DEMO_RATE = 3e-4


class Stop(TrainerCallback):
    """Ends a run early, on the learning rates of the whole run."""

    def __init__(self, step: int) -> None:
        """Takes the last step."""
        self.step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stops behind that step."""
        control.should_training_stop = state.global_step >= self.step


def series(
    seed: int, steps: int, rate_times: float, further: list[str], folder: Path
) -> list[float]:
    """KL of each of the first steps of the demo with that seed."""
    overrides = [
        f"run.dir={folder}/run-{seed}",
        f"train.seed={seed}",
        "train.logging_steps=1",
        f"train.learning_rate={DEMO_RATE * rate_times}",
        *further,
    ]
    with resources.as_file(resources.files("grpo_core.demo")) as demo:
        draft = read_draft(demo / "config.toml", overrides)
        done = train_run(
            draft, Catalog(), lambda line: None, before=lambda t: t.add_callback(Stop(steps))
        )
    logs = [log for log in done.trainer.state.log_history if "loss" in log]
    return [math.nan if log["kl"] is None else log["kl"] for log in logs]


def main() -> None:
    """Runs the demo once a seed and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rate-times", type=float, default=1.0)
    parser.add_argument("--set", action="append", default=[], help="override a setting")
    parser.add_argument("--out", type=Path, help="append each series as a line of JSON")
    given = parser.parse_args()
    quiet_libraries()
    use_one_thread()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.seeds):
            kl = series(seed, given.steps, given.rate_times, given.set, Path(folder))
            if given.out:
                with given.out.open("a") as file:
                    file.write(json.dumps({"seed": seed, "kl": kl}) + "\n")
            watch = KlWatch()
            warned = [step for step, value in enumerate(kl, 1) if watch.see(step, value)]
            ratios = [
                value / statistics.median(kl[max(0, i - 20) : i])
                for i, value in enumerate(kl)
                if i >= 5
            ]
            print(
                f"seed {seed}: {min(kl):.4f} … {statistics.median(kl):.4f} … {max(kl):.4f}, "
                f"ratio {max(ratios, default=math.nan):.1f}, "
                f"first warning: {warned[0] if warned else 'none'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
