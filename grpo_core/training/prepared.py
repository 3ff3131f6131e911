"""Makes what the trainer takes of a config in which nothing is wrong; loads no model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import datasets

from grpo_core.batch import eval_batch
from grpo_core.catalog import Catalog
from grpo_core.composite import PENALTIES, CompositeReward
from grpo_core.errors import ConfigError, Problem
from grpo_core.loading import Part, RunData
from grpo_core.reader import Draft
from grpo_core.record import next_free
from grpo_core.sections import Mode, RunConfig
from grpo_core.training.backends import with_files
from grpo_core.training.config import GRPOConfig
from grpo_core.training.trainer import check_data

# A progress line and a table of metrics need no second progress bar, and no service.
_QUIET = {"disable_tqdm": True, "report_to": "none", "logging_steps": 10}


class Prepared(NamedTuple):
    """A run that can begin.

    Attributes:
        config: The config.
        dataset: The training data, as the trainer takes it.
        eval_dataset: What is evaluated on, or None.
        composite: The rewards.
        args: The trainer's config.
        fingerprints: What the manifest keeps of the data.
        nested: By mode, the columns that hold JSON text of nested values.
    """

    config: RunConfig
    dataset: datasets.Dataset
    eval_dataset: datasets.Dataset | None
    composite: CompositeReward
    args: GRPOConfig
    fingerprints: Mapping[str, Any]
    nested: Mapping[Mode, frozenset[str]]


def put_together(draft: Draft, catalog: Catalog, data: RunData, stands_for: int = 1) -> Prepared:
    """Makes what the trainer takes of a config in which `look` found nothing wrong.

    Args:
        draft: The config.
        catalog: The installed plugins.
        data: The rows.
        stands_for: How many processes this one stands for where a run is only looked at; its batch
            is then that of all of them.

    Raises:
        ConfigError: The libraries refuse something that `look` cannot judge.
    """
    source = draft.source
    assert data.train is not None
    config = draft.config()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=PENALTIES)  # the report has it
        composite = CompositeReward.from_config(config, catalog, list(data.train.table))
    checkpoints = run_path(config) / "checkpoints"
    train = with_files(config.train, config.folder)
    if stands_for > 1:
        train["per_device_train_batch_size"] = (
            train.get("per_device_train_batch_size", 8) * stands_for
        )
    given = {**_QUIET, **_eval_arguments(config), **train, "output_dir": str(checkpoints)}
    try:
        args = GRPOConfig(**given)
    except (ValueError, TypeError, ImportError, OSError) as exc:
        # A value, or a package it needs, that only TRL and transformers can judge.
        raise ConfigError([Problem("train", str(exc))], str(source)) from exc
    dataset = _arrow(data.train, "data", source)
    eval_dataset = None if data.evaluation is None else _arrow(data.evaluation, "eval", source)
    check_data(composite, args, dataset, eval_dataset)
    nested: dict[Mode, frozenset[str]] = {"train": data.train.nested}
    if data.evaluation is not None:
        nested["eval"] = data.evaluation.nested
    return Prepared(config, dataset, eval_dataset, composite, args, _fingerprints(data), nested)


def _arrow(part: Part, where: str, source: Path) -> datasets.Dataset:
    try:
        return datasets.Dataset.from_dict(part.table)
    except (ValueError, TypeError, OverflowError) as exc:  # Arrow's errors are of these kinds too
        text = f"a column holds values that Arrow cannot keep: {exc}; write them as texts"
        raise ConfigError([Problem(f"{where}.path", text)], str(source)) from exc


def _eval_arguments(config: RunConfig) -> dict[str, Any]:
    """TRL's fields for `[eval]`: before the first step, then after each epoch or some steps."""
    evaluation = config.eval
    if evaluation is None:
        return {}
    generations = evaluation.num_generations or config.train.get("num_generations", 4)
    return {
        "eval_strategy": "epoch" if evaluation.every is None else "steps",
        "eval_steps": evaluation.every,
        "eval_on_start": True,
        "num_generations_eval": generations,
        "per_device_eval_batch_size": eval_batch(config.train, generations),
    }


def run_path(config: RunConfig) -> Path:
    """Where the run's files go: `[run] dir`, or a numbered directory under `runs`."""
    if config.run is not None:
        return Path(config.run.dir)
    return next_free(Path("runs") / config.source.stem)


def _fingerprints(data: RunData) -> dict[str, Any]:
    parts = {"data": data.train, "eval": data.evaluation}
    return {name: part.fingerprint for name, part in parts.items() if part is not None}
