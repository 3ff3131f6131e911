"""The record that a script asks for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trl

from grpo_core.composite import CompositeReward
from grpo_core.errors import ConfigError, Problem
from grpo_core.reader import parse_section
from grpo_core.record import RunDir
from grpo_core.sections import RecordSection
from grpo_core.training.callbacks import RecordCallback
from grpo_core.training.checkpoints import checkpoint_of, leave_behind, run_of
from grpo_core.training.ranks import Ranks
from grpo_core.training.recording import Recorder
from grpo_core.training.resuming import go_on

logger = logging.getLogger("grpo_core")


def record_callback(
    composite: CompositeReward,
    args: trl.GRPOConfig,
    section: RecordSection,
    set_recorder: Callable[[Recorder | None], None],
    ranks: Ranks,
) -> RecordCallback:
    """Records a training of a script; one that goes on does so in its checkpoint's run."""

    def manifest() -> dict[str, Any]:
        return {
            "rewards": composite.describe(),
            "seeds": {"seed": args.seed, "data_seed": args.data_seed},
            "args": args.to_dict(),
        }

    def run_dir(done: int) -> RunDir:
        folder = Path(args.output_dir)
        run = run_of(checkpoint_of(folder, done)) if done else None
        if run is None:
            made = RunDir.numbered(folder, "run")
            if done:
                logger.warning(
                    "%s is a checkpoint of no run that is known, or was left behind by one that "
                    "went on behind an earlier step: steps from %d on are recorded in %s",
                    checkpoint_of(folder, done),
                    done + 1,
                    made.path,
                )
            return made
        leave_behind(folder, done)
        return go_on(run, manifest(), allow_changed=True)  # TRL has begun; it is warned of

    return RecordCallback(run_dir, manifest, section, set_recorder, ranks)


def record_section(record: str | int | RecordSection) -> RecordSection:
    """What a script says of the record, as `[record]` of a config.

    Raises:
        ConfigError: It says something else.
    """
    if isinstance(record, RecordSection):
        return record
    problems: list[Problem] = []
    section = parse_section(RecordSection, {"completions": record}, "record", "record", problems)
    if problems:
        raise ConfigError([Problem("record", problems[0].message)])
    assert isinstance(section, RecordSection)
    return section
