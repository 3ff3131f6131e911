"""A run that goes on: where it is, whether it is still the same run, and the order of its data."""

from __future__ import annotations

import dataclasses
import logging
import math
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from accelerate.data_loader import get_sampler
from transformers import TrainerCallback

from grpo_core.changes import run_changes, setting_changes
from grpo_core.errors import ConfigError, Problem
from grpo_core.reader import Draft
from grpo_core.record import CONFIG, MANIFEST, RunDir, last_taken, read_manifest, to_json
from grpo_core.training.checkpoints import last_whole, leave_behind, remove_behind, steps_of
from grpo_core.training.rates import scale_rates

logger = logging.getLogger("grpo_core")

# In the trainer's state, which every checkpoint holds.
_KEY = "grpo_core.resumed"


def run_to_resume(draft: Draft) -> Path | None:
    """The directory of the run that a config leads to; None if there is none yet.

    That is the folder of a config that lies in a run, else `[run] dir`, else the last of
    `runs/<config>-001`, ….

    Raises:
        ConfigError: `[run] dir` is something else.
    """
    source = draft.source
    if source.name == CONFIG and (source.parent / MANIFEST).is_file():
        return source.parent
    section = draft.sections.get("run")
    if section is None:
        return last_taken(Path("runs") / source.stem)
    path = Path(section.dir)
    if not path.exists():
        return None
    if not (path / CONFIG).is_file() and not (path.is_dir() and not any(path.iterdir())):
        text = f"{path} is there and no run of grpo train: it holds no {CONFIG}"
        raise ConfigError([Problem("run.dir", text)], str(source))
    return path


def without_run(draft: Draft) -> Draft:
    """The draft without `[run]`, whose directory is there already and may be."""
    sections = {name: section for name, section in draft.sections.items() if name != "run"}
    return dataclasses.replace(draft, sections=sections)


def go_on(path: Path, manifest: Mapping[str, Any], *, allow_changed: bool) -> RunDir:
    """The run's directory, if what its record depends on is what it was.

    That is rewards, weights, data, model and some settings; of other settings it only says which
    differ.

    Args:
        path: The directory.
        manifest: All of that as it is now, as the manifest keeps it.
        allow_changed: Go on though it is not.

    Raises:
        ConfigError: It is not; a line for each difference.
    """
    before = read_manifest(path) or {}
    now = to_json(manifest)
    changes = run_changes(before, now) if before else []
    if changes and not allow_changed:
        lines = "".join(f"\n  - {line}" for line in changes)
        raise ConfigError(f"going on with {path}, which is another run now:{lines}\n{_WHAT_TO_DO}")
    settings = setting_changes(before, now)
    for line in [*changes, *settings]:
        logger.warning("going on with %s: %s", path, line)
    return RunDir.opened(path, [*changes, *settings])


_WHAT_TO_DO = (
    "make it as it was, or start a new run; --allow-changed goes on all the same (in a script "
    "trainer.train(…, allow_changed=True))"
)


def begin_from(run: Path, folder: Path, write: Callable[[str], None]) -> Path | None:
    """The last whole checkpoint of a run; what a killed process left half done is removed.

    Args:
        run: The run's directory.
        folder: Where its checkpoints are.
        write: Prints a line.
    """
    checkpoint = last_whole(folder, run)
    steps = None if checkpoint is None else steps_of(checkpoint)
    step = 0 if steps is None else steps[0]
    for broken in remove_behind(folder, step):
        write(f"removed {broken}: the process ended before it was whole")
    shutil.rmtree(run / "model.partial", ignore_errors=True)
    start = "from the start, since there is no checkpoint" if step == 0 else f"after step {step}"
    write(f"going on with {run} {start}")
    return checkpoint


def _sampler(loader: Any) -> Any:
    """What draws the order of the prompts; of several processes it lies below the share of each."""
    found = get_sampler(loader)
    if found is None:
        found = getattr(getattr(loader.batch_sampler, "batch_sampler", None), "sampler", None)
    return found


class FinishedError(Exception):
    """All steps of a run are done; only its model may be missing."""


class Resumed(TrainerCallback):
    """Makes a run that goes on the same, number for number, as one without a stop.

    TRL draws the order of the prompts anew in each epoch, from a generator that begins with the
    seed. A run that goes on in epoch 3 would draw that of epoch 1. So the orders of the finished
    epochs are drawn again, and thrown away.

    The checkpoint brings its learning rate with it, whatever is asked for now. So that of a run
    that goes on with another is scaled by the quotient of both.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Draws the orders; warns where it cannot be the same.

        Raises:
            FinishedError: No step is left.
        """
        before = state.stateful_callbacks.get(_KEY, {}).get("learning_rate")
        state.stateful_callbacks[_KEY] = {"learning_rate": args.learning_rate}
        done = state.global_step
        if not done:
            return
        if state.is_world_process_zero:
            leave_behind(Path(args.output_dir), done)
        if before and before != args.learning_rate:
            scale_rates(kwargs["optimizer"], kwargs["lr_scheduler"], args.learning_rate / before)
        if done >= state.max_steps:
            raise FinishedError
        loader = kwargs.get("train_dataloader")
        sampler: Any = None if loader is None else _sampler(loader)
        generator = getattr(sampler, "generator", None)
        if loader is not None and generator is not None:
            steps_per_epoch = max(math.ceil(len(loader) / args.gradient_accumulation_steps), 1)
            for _ in range(done // steps_per_epoch):
                torch.randperm(sampler.num_samples, generator=generator)
        per_generation = args.steps_per_generation * args.num_iterations
        if done * args.gradient_accumulation_steps % per_generation:
            every = math.lcm(per_generation, args.gradient_accumulation_steps)
            logger.warning(
                "step %d lies within a generation, whose prompts are completed once more: from "
                "here on the run is not the same, number for number, as one without a stop. A "
                "checkpoint at a multiple of %d steps lies between two",
                done,
                every // args.gradient_accumulation_steps,
            )
