"""`replay_run`: a recorded run, and the rewards of a config, from the folder to the comparison."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grpo_core.catalog import Catalog
from grpo_core.composite import PENALTIES, CompositeReward
from grpo_core.errors import ConfigError, DataError, Problem, listed
from grpo_core.reader import Draft, read_draft
from grpo_core.record import CONFIG, read_manifest
from grpo_core.recorded.batch import RecordedBatch, Scale
from grpo_core.recorded.names import COMPLETIONS
from grpo_core.recorded.read import read_record
from grpo_core.replay.again import Replay, Rescore
from grpo_core.replay.compare import compared
from grpo_core.replay.script import draft_of_script
from grpo_core.sections import Mode, ScoringSection
from grpo_core.totals import Aggregate

_SCALES: dict[object, Scale] = {
    "group": "group",
    True: "group",
    "batch": "batch",
    "none": "none",
    False: "none",
}


@dataclass(frozen=True)
class Request:
    """What is asked of a replay.

    Attributes:
        run: The run's directory.
        config: A config whose rewards are taken; None: the run's own.
        overrides: `section.key=value` texts.
        rescore: Which rewards are called again.
        mode: Completions of training, or of evaluations.
        rows: How many of the rows that changed most to show.
    """

    run: Path
    config: Path | None = None
    overrides: Collection[str] = ()
    rescore: Rescore = "changed"
    mode: Mode = "train"
    rows: int = 10


def replay_run(request: Request, catalog: Callable[[Draft], Catalog]) -> dict[str, Any]:
    """Scores and combines a recorded run again and compares.

    Args:
        request: What is asked.
        catalog: Gives the installed plugins that a config leaves.

    Raises:
        DataError: There is no record, or it is broken.
        ConfigError: Something is wrong with the rewards.
    """
    torn: list[str] = []
    batches = _batches(request, torn)
    draft, stand_ins = _draft(request)
    composite = _composite(draft, catalog(draft))
    scale, aggregate = _combining(draft.train)
    replay = Replay(
        composite,
        rescore=request.rescore,
        scale=scale,
        aggregate=aggregate,
        stand_ins=stand_ins,
        source=str(draft.source),
    )
    try:
        shown = compared(replay.run(batches), request.rows)
    finally:
        composite.close()
    return {
        "run": str(request.run),
        "mode": request.mode,
        "scored_again": replay.reasons,
        "notes": [
            *_went_on(request),
            *_torn(torn),
            *_notes(batches, bool(replay.reasons)),
            *_no_values(replay.valueless),
            *_not_looked_at(request.overrides),
        ],
        **shown,
    }


def _batches(request: Request, torn: list[str]) -> list[RecordedBatch]:
    if not request.run.is_dir():
        raise DataError(f"there is no run directory {request.run}")
    if elsewhere := _elsewhere(request.run):
        raise DataError(elsewhere)
    batches = list(read_record(request.run, request.mode, torn))
    if not batches and torn:
        raise DataError(f"no generation of {request.run / COMPLETIONS} is whole: {torn[0]}")
    if not batches:
        raise DataError(
            f"{request.run / COMPLETIONS} holds no completions of {_NAMES[request.mode]}; a run "
            f'records them with [record] completions = "all"'
        )
    return batches


def _elsewhere(run: Path) -> str:
    """Says which folder to give where this one is above or below a run's; "" if it is a run's."""
    if (run / COMPLETIONS).is_dir():
        return ""
    if run.absolute().name == COMPLETIONS:
        return f"{run} holds the completions of a run; give the run's directory, {run.parent}"
    runs = [str(folder.parent) for folder in sorted(run.glob(f"*/{COMPLETIONS}"))]
    return f"{run} is no run's directory; give that of a run: {listed(runs)}" if runs else ""


_NAMES: dict[Mode, str] = {"train": "training", "eval": "evaluations"}


def _draft(request: Request) -> tuple[Draft, Mapping[str, Mapping[str, Any]]]:
    """The rewards, and what the manifest keeps of those that something stands in for."""
    if request.config is not None:
        return read_draft(request.config, request.overrides), {}
    path = request.run / CONFIG
    if path.is_file():
        return read_draft(path, request.overrides), {}
    return draft_of_script(request.run, list(request.overrides))


def _composite(draft: Draft, catalog: Catalog) -> CompositeReward:
    # Completions that are there already need no model and no data.
    unneeded = [Problem(n, f"the section [{n}] is missing") for n in ("model", "data")]
    problems = [p for p in draft.problems if p not in unneeded]
    limits = draft.sections.get("scoring") or ScoringSection()
    if draft.rewards:
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=PENALTIES)
                composite = CompositeReward(
                    draft.rewards,
                    catalog=catalog,
                    folder=draft.source.parent,
                    batch_timeout_s=limits.batch_timeout_s,
                    workers=limits.workers,
                    memory_mb=limits.memory_mb,
                    for_training=False,
                )
            if not problems:
                return composite
        except ConfigError as exc:
            problems += exc.problems
    raise ConfigError(problems, str(draft.source))


def _combining(train: Mapping[str, Any]) -> tuple[Scale | None, Aggregate | None]:
    """How a config has rewards combined; None where it says nothing of it."""
    problems = []
    scale = train.get("scale_rewards")
    if scale is not None and scale not in _SCALES:
        text = f"expected one of 'group', 'batch', 'none', got {scale!r}"
        problems.append(Problem("train.scale_rewards", text))
    aggregate: Aggregate | None = train.get("multi_objective_aggregation")
    if aggregate not in (None, "sum_then_normalize", "normalize_then_sum"):
        text = f"expected sum_then_normalize or normalize_then_sum, got {aggregate!r}"
        problems.append(Problem("train.multi_objective_aggregation", text))
    if problems:
        raise ConfigError(problems)
    return None if scale is None else _SCALES[scale], aggregate


def _went_on(request: Request) -> list[str]:
    """Changes half way: by default all steps are combined as the last ones were."""
    if request.config is not None:
        return []
    manifest = read_manifest(request.run) or {}
    notes = []
    for entry in manifest.get("resumed", ()):
        lines = [line for line in entry["changed"] if line.startswith(_OF_TOTALS)]
        if lines:
            notes.append(
                f"the run went on with changes after step {entry['step']} ({'; '.join(lines)}); "
                f"all steps are replayed with the newest"
            )
    return notes


# How lines of a manifest's `resumed` begin that say why recorded totals or advantages are others.
_OF_TOTALS = ("rewards", "train.scale_rewards ", "train.multi_objective_aggregation ")


def _torn(torn: list[str]) -> list[str]:
    if not torn:
        return []
    n = "1 generation was" if len(torn) == 1 else f"{len(torn):,} generations were"
    return [f"{n} left out, not whole: {torn[0]}{'; …' if len(torn) > 1 else ''}"]


def _no_values(valueless: Mapping[str, tuple[int, int, str]]) -> list[str]:
    return [
        f"{name} gave no value for {n:,} of {of:,} completions; the first reason: {reason}"
        for name, (n, of, reason) in valueless.items()
    ]


def _not_looked_at(overrides: Collection[str]) -> list[str]:
    """Settings that a replay has no use for: one that is misspelt must not look as if it did."""
    keys = [text.partition("=")[0].strip() for text in overrides]
    return [
        f"{key} is not looked at here; of [train] only {' and '.join(_TRAIN)} are"
        for key in keys
        if key.startswith("train.") and key.removeprefix("train.") not in _TRAIN
    ]


_TRAIN = ("scale_rewards", "multi_objective_aggregation")


def _notes(batches: list[RecordedBatch], scored: bool) -> list[str]:
    notes = []
    n, of = sum(len(b.completions) for b in batches), sum(b.size for b in batches)
    if n < of:
        notes.append(f"{n:,} of the {of:,} completions were recorded")
    if any(b.advantages is None for b in batches):
        notes.append(
            "the trainer had further reward functions: the advantages are those of these rewards "
            "alone"
        )
    if scored and all(c.raw_text is None for b in batches for c in b.completions):
        notes.append("texts with special tokens were not recorded ([record] raw_text = true)")
    return notes
