"""Everything about a run that can be known without loading the model or its libraries."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grpo_core.batch import rows_problems
from grpo_core.catalog import Catalog
from grpo_core.config import validate
from grpo_core.discovery import PluginFilter
from grpo_core.errors import Problem, near
from grpo_core.loading import RunData, load_data
from grpo_core.reader import Draft
from grpo_core.record import next_free
from grpo_core.sections import PluginsSection
from grpo_core.source import Datasets


def chosen_plugins(
    draft: Draft, allow: Collection[str] | None = None, block: Collection[str] | None = None
) -> Catalog:
    """The plugins that the environment, the config's `[plugins]` and two more lists leave.

    Args:
        draft: The config, as far as it could be read.
        allow: Distributions that alone may be used, or None for all.
        block: Distributions that may not.
    """
    listed = draft.sections.get("plugins") or PluginsSection()
    chosen = PluginFilter.from_environment().with_lists(listed.allow, listed.block)
    return Catalog(chosen.with_lists(allow, block or ()))


@dataclass(frozen=True)
class FirstPrompt:
    """The prompt of the first row, as the model reads it.

    Attributes:
        text: The rendered prompt.
        prefill: The end of it that the reply continues, such as `<think>`; "" if there is none.
        tokens: Its length.
    """

    text: str
    prefill: str
    tokens: int


@dataclass
class Report:
    """What was found; the lists grow as more is looked at.

    Attributes:
        data: The rows.
        problems: What is wrong.
        warnings: What hurts no run but may not be meant.
        notes: What could not be looked at, and why.
        first_prompt: The first prompt, where a tokenizer is at hand.
    """

    data: RunData
    problems: list[Problem]
    warnings: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    first_prompt: FirstPrompt | None = None


def look(
    draft: Draft,
    catalog: Catalog,
    datasets: Datasets | None = None,
    train_problems: Callable[[Mapping[str, Any]], list[Problem]] | None = None,
    processes: int = 1,
) -> Report:
    """Reads the data and collects all that is wrong with a run; creates nothing.

    Args:
        draft: The config, as far as it could be read.
        catalog: The installed plugins.
        datasets: Loads from the hub and from `save_to_disk`; None if that is not installed.
        train_problems: Checks the fields of `[train]`; None if the trainer is not installed.
        processes: How many processes train.
    """
    data = load_data(draft, datasets)
    train, evaluation = data.train, data.evaluation
    warnings = list(data.warnings)
    problems = list(data.problems)
    problems += validate(
        draft,
        catalog,
        None if train is None else list(train.table),
        None if evaluation is None else list(evaluation.table),
        sample=None if train is None else train.sample,
        eval_sample=None if evaluation is None else evaluation.sample,
        warnings=warnings,
        processes=processes,
    )
    if train_problems is not None:
        problems += train_problems(draft.train)
    if train is not None and train.fingerprint:
        problems += rows_problems(draft.train, train.fingerprint["rows"], "data.path", processes)
    problems += _model_problems(draft) + _run_problems(draft)
    return Report(data, problems, warnings)


def model_folder(draft: Draft) -> Path | None:
    """The folder that `[model] name` leads to, or None if there is none."""
    model = draft.sections.get("model")
    if model is None or "\0" in model.name:
        return None
    folder = draft.source.parent / model.name
    # Absolute, since an adapter keeps the path of its model.
    return folder.resolve() if folder.is_dir() else None


def positions_of(folder: Path) -> int | None:
    """How many tokens the model takes, as its config.json says; None if it does not."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(config, dict):
        return None
    for table in (config, config.get("text_config")):
        if isinstance(table, dict):
            found = table.get("max_position_embeddings", table.get("n_positions"))
            if isinstance(found, int):
                return found
    return None


def _model_problems(draft: Draft) -> list[Problem]:
    """A model that is meant as a folder and is none, or a folder without a model."""
    model = draft.sections.get("model")
    if model is None:
        return []
    folder = model_folder(draft)
    if folder is not None:
        if any((folder / name).is_file() for name in ("config.json", "adapter_config.json")):
            return []
        text = f"the folder {folder} holds no model: there is no config.json in it"
        return [Problem("model.name", text)]
    path = draft.source.parent / model.name
    if not model.name.startswith((".", "/", "~")) and model.name.count("/") <= 1:
        return []  # a hub id has the same form
    beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = near(path.name, beside)
    text = f"there is no folder {path}; paths are relative to the config.{hint}"
    return [Problem("model.name", text.rstrip("."))]


def _run_problems(draft: Draft) -> list[Problem]:
    run = draft.sections.get("run")
    if run is None or not os.path.lexists(run.dir):
        return []
    target = Path(run.dir)
    text = (
        f"{target} exists already and a run never overwrites another; free is {next_free(target)}"
    )
    return [Problem("run.dir", text)]
