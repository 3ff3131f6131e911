"""Train what docs/how-to/a-mix-of-four-rewards.md compares: `python scripts/run_mix.py runs`.

Each arm is examples/mix_demo.toml with a few settings of its own, once for each seed, one run after
another: runs/gates-0, runs/shadow-0, runs/no-gates-0, runs/gates-1 and so on. One that is finished
is left as it is. One to three minutes a run on one CPU core; the model is of make_wordy.py.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

CONFIG = Path(__file__).parents[1] / "examples" / "mix_demo.toml"
ARMS = {
    "gates": (),
    "shadow": ("rewards.brevity.shadow=true",),
    "no-gates": ("rewards.brevity.requires={}", "rewards.safety.requires={}"),
}


def command(arm: str, seed: int, folder: Path) -> list[str]:
    """The words of `grpo train` for an arm and a seed."""
    settings = [f"run.dir={folder}", f"train.seed={seed}", *ARMS[arm]]
    return ["train", str(CONFIG), *(word for one in settings for word in ("--set", one))]


def main() -> None:
    """Train what is not there yet; stop where a run fails."""
    parser = argparse.ArgumentParser(description="Train all arms of examples/mix_demo.toml.")
    parser.add_argument("out", type=Path, help="the folder of the run directories")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    given = parser.parse_args()
    # One thread: sums split over threads are added in another order.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for seed in given.seeds:
        for arm in ARMS:
            folder = given.out / f"{arm}-{seed}"
            if (folder / "model").exists():
                print(f"{folder} is there")
                continue
            words = [sys.executable, "-c", "from grpo_core.cli import main; main()"]
            words += command(arm, seed, folder)
            done = subprocess.run(words, env=environment, check=False)
            if done.returncode:
                raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
