"""`train_run`: one run from a config, from the data file to the saved model."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import torch
from peft import LoraConfig
from transformers import AutoTokenizer, PrinterCallback
from transformers.utils import logging as transformers_logging

from grpo_core.batch import eval_batch
from grpo_core.catalog import Catalog
from grpo_core.composite import CompositeReward
from grpo_core.errors import ConfigError, GrpoError, Problem
from grpo_core.loading import Part, RunData
from grpo_core.preflight import look
from grpo_core.reader import Draft
from grpo_core.record import RunDir, next_free
from grpo_core.sections import ModelSection, RunConfig
from grpo_core.training import hub
from grpo_core.training.callbacks import FinalEvaluation, ProgressLine
from grpo_core.training.config import GRPOConfig, train_problems
from grpo_core.training.trainer import GRPOTrainer, check_data

# A progress line and a table of metrics need no second progress bar, and no service.
_QUIET = {"disable_tqdm": True, "report_to": "none", "logging_steps": 10}


@dataclass(frozen=True)
class TrainedRun:
    """What a run left.

    Attributes:
        path: The run's directory.
        model: Folder of the trained model or adapter.
        trainer: The trainer, with the model in memory.
    """

    path: Path
    model: Path
    trainer: GRPOTrainer


class Prepared(NamedTuple):
    """A run that can begin.

    Attributes:
        config: The config.
        dataset: The training data, as the trainer takes it.
        eval_dataset: What is evaluated on, or None.
        composite: The rewards.
        args: The trainer's config.
        fingerprints: What the manifest keeps of the data.
        warnings: What hurts no run but may not be meant.
    """

    config: RunConfig
    dataset: datasets.Dataset
    eval_dataset: datasets.Dataset | None
    composite: CompositeReward
    args: GRPOConfig
    fingerprints: Mapping[str, Any]
    warnings: Sequence[Problem] = ()


def prepare(draft: Draft, catalog: Catalog) -> Prepared:
    """Reads the data and checks everything that can be known before the model is loaded.

    Raises:
        ConfigError: All problems at once.
    """
    report = look(draft, catalog, hub, train_problems)
    if report.problems:
        raise ConfigError(report.problems, str(draft.source))
    return put_together(draft, catalog, report.data)._replace(warnings=report.warnings)


def put_together(draft: Draft, catalog: Catalog, data: RunData) -> Prepared:
    """Makes what the trainer takes of a config in which `look` found nothing wrong.

    Raises:
        ConfigError: The libraries refuse something that `look` cannot judge.
    """
    source = draft.source
    assert data.train is not None
    config = draft.config()
    composite = CompositeReward.from_config(config, catalog, list(data.train.table))
    checkpoints = run_path(config) / "checkpoints"
    given = {**_QUIET, **_eval_arguments(config), **config.train, "output_dir": str(checkpoints)}
    try:
        args = GRPOConfig(**given)
    except (ValueError, TypeError, ImportError, OSError) as exc:
        # A value, or a package it needs, that only TRL and transformers can judge.
        raise ConfigError([Problem("train", str(exc))], str(source)) from exc
    dataset = _arrow(data.train, "data", source)
    eval_dataset = None if data.evaluation is None else _arrow(data.evaluation, "eval", source)
    check_data(composite, args, dataset, eval_dataset)
    return Prepared(config, dataset, eval_dataset, composite, args, _fingerprints(data))


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


def train_run(
    draft: Draft,
    catalog: Catalog,
    write: Callable[[str], None],
    before: Callable[[GRPOTrainer], None] | None = None,
) -> TrainedRun:
    """Trains as the config says.

    Args:
        draft: The config, as it was read.
        catalog: The installed plugins.
        write: Prints a line.
        before: Called with the trainer before the first step.

    Raises:
        ConfigError: Something is wrong with the config or the data; nothing was created.
        RewardError: A reward broke its contract; a checkpoint was saved.
    """
    config, dataset, eval_dataset, composite, args, fingerprints, said = prepare(draft, catalog)
    for warning in said:
        write(f"warning: {warning}")
    source = config.folder / config.model.name
    name = str(source) if source.is_dir() else config.model.name
    tokenizer = _load_tokenizer(name, source)
    run = RunDir(run_path(config))
    run.write_config(_resolved(config))
    args.model_init_kwargs = {**(args.model_init_kwargs or {}), **_model_arguments(config.model)}
    try:
        trainer = GRPOTrainer(
            name,
            composite,
            args,
            dataset,
            eval_dataset,
            tokenizer=tokenizer,
            callbacks=[ProgressLine(composite.names, write), FinalEvaluation()],
            run_dir=run,
            manifest={"config": _resolved(config), **fingerprints},
            peft_config=_lora(config.model),
        )
    except GrpoError:
        shutil.rmtree(run.path)
        raise
    except Exception as exc:
        raise _refused(exc, config, run) from exc
    trainer.remove_callback(PrinterCallback)
    if before is not None:
        before(trainer)
    try:
        trainer.train()
    except KeyboardInterrupt:
        write(f"interrupted after step {trainer.state.global_step}; run: {run.path}")
        raise
    except GrpoError:
        raise
    except Exception as exc:
        if trainer.state.global_step:
            raise
        # Not one step was trained: a setting of the generation that is judged when it begins.
        raise _refused(exc, config, run) from exc
    model = run.path / "model"
    trainer.save_model(str(model))
    return TrainedRun(run.path, model, trainer)


def _refused(exc: Exception, config: RunConfig, run: RunDir) -> ConfigError:
    """Makes an error of what the libraries refuse: a missing package, weights, a setting.

    Nothing was trained, so the directory goes: its name stays free for the repaired config.
    """
    run.close()
    shutil.rmtree(run.path)
    return ConfigError(
        f"the trainer refuses what {config.source} asks for: {type(exc).__name__}: {exc}"
    )


def run_path(config: RunConfig) -> Path:
    """Where the run's files go: `[run] dir`, or a numbered directory under `runs`."""
    if config.run is not None:
        return Path(config.run.dir)
    return next_free(Path("runs") / config.source.stem)


def _load_tokenizer(name: str, source: Path) -> Any:
    try:
        return AutoTokenizer.from_pretrained(name, padding_side="left", truncation_side="left")
    except (OSError, ValueError) as exc:
        first = str(exc).strip().split("\n", 1)[0]
        raise ConfigError(
            [
                Problem(
                    "model.name",
                    f"{name!r} is neither a folder ({source}) nor a hub id that can be loaded: "
                    f"{first}",
                )
            ]
        ) from exc


def _model_arguments(model: ModelSection) -> dict[str, Any]:
    arguments: dict[str, Any] = {"dtype": model.dtype, "attn_implementation": model.attn}
    return {k: v for k, v in arguments.items() if v is not None}


def _lora(model: ModelSection) -> LoraConfig | None:
    if model.lora is None:
        return None
    lora = model.lora
    return LoraConfig(
        task_type="CAUSAL_LM",
        r=lora.r,
        lora_alpha=2 * lora.r if lora.alpha is None else lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=lora.target_modules or "all-linear",
    )


def _resolved(config: RunConfig) -> dict[str, Any]:
    return config.model_dump(mode="json", exclude={"source"}, exclude_none=True)


def _fingerprints(data: RunData) -> dict[str, Any]:
    parts = {"data": data.train, "eval": data.evaluation}
    return {name: part.fingerprint for name, part in parts.items() if part is not None}


def use_one_thread() -> None:
    """Computes on one thread: handing out the work of a tiny model costs more than doing it."""
    torch.set_num_threads(1)


def quiet_libraries() -> None:
    """Silences what the libraries under us say about each other; for commands, not for scripts."""
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers'
    # TRL reads names that transformers has renamed; nobody who runs a command can act on it.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"transformers|trl")
