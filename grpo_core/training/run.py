"""`train_run`: one run from a config, from the data file to the saved model."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig
from transformers import PrinterCallback
from transformers.utils import logging as transformers_logging

from grpo_core.catalog import Catalog
from grpo_core.errors import ConfigError, GrpoError
from grpo_core.reader import Draft
from grpo_core.record import RunDir
from grpo_core.sections import ModelSection, RunConfig
from grpo_core.training.again import portable
from grpo_core.training.callbacks import FinalEvaluation, ProgressLine
from grpo_core.training.check import check_run, model_name
from grpo_core.training.checkpoints import written_whole
from grpo_core.training.interrupts import Interrupts
from grpo_core.training.prepared import Prepared, run_path
from grpo_core.training.ranks import Ranks, TerminatedError
from grpo_core.training.resuming import (
    begin_from,
    go_on,
    run_to_resume,
    without_run,
)
from grpo_core.training.seam import ranks_for
from grpo_core.training.trainer import GRPOTrainer


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


def train_run(
    draft: Draft,
    catalog: Catalog,
    write: Callable[[str], None],
    before: Callable[[GRPOTrainer], None] | None = None,
    *,
    resume: bool = False,
    allow_changed: bool = False,
) -> TrainedRun:
    """Trains as the config says.

    Args:
        draft: The config, as it was read.
        catalog: The installed plugins.
        write: Prints a line.
        before: Called with the trainer before the first step.
        resume: Go on with the run that the config leads to, behind its last whole checkpoint; if
            there is none, begin it.
        allow_changed: Go on though rewards, weights or data are not what they were.

    Raises:
        ConfigError: Something is wrong with the config or the data, or a run that goes on is not
            what it was; nothing was created.
        RunDirError: Something cannot be written, or another process is training in the directory.
        RewardError: A reward broke its contract; a checkpoint was saved.
        KeyboardInterrupt: Ctrl-C, or SIGTERM as `TerminatedError`; a checkpoint was saved.
    """
    there = run_to_resume(draft) if resume else None
    if resume and there is None:
        write("there is no run to go on with; a new one begins")
    report, prepared, tokenizer = check_run(
        draft if there is None else without_run(draft), catalog, download=True
    )
    if report.problems or prepared is None:
        raise ConfigError(report.problems, str(draft.source))
    for warning in report.warnings:
        write(f"warning: {warning}")
    config, composite, args = prepared.config, prepared.composite, prepared.args
    ranks = ranks_for(composite, args)

    def open_run() -> RunDir:
        if there is None:
            return RunDir(run_path(config))
        manifest = {
            "config": _resolved(config),
            "args": args.to_dict(),
            "rewards": composite.describe(),
            **prepared.fingerprints,
        }
        return go_on(there, manifest, allow_changed=allow_changed)

    run = ranks.first_does("run directory", open_run)
    if there is not None:
        args.output_dir = str(run.path / "checkpoints")
    args.model_init_kwargs = {**(args.model_init_kwargs or {}), **_model_arguments(config.model)}
    with ExitStack() as held:

        def begin() -> Path | None:
            held.enter_context(run.locked())
            checkpoint = None
            if there is not None:
                checkpoint = begin_from(run.path, Path(args.output_dir), write)
            run.write_config(portable(config))
            return checkpoint

        checkpoint = ranks.first_does("checkpoint to go on from", begin)
        if checkpoint is not None:
            args.eval_on_start = False  # before the first step of all, which was done
        trainer = _trainer(draft, prepared, tokenizer, run, ranks, write, new=there is None)
        if before is not None:
            before(trainer)
        _train(trainer, checkpoint, config, run, write, new=there is None)
        model = _save(trainer, run, ranks)
    return TrainedRun(run.path, model, trainer)


def _save(trainer: GRPOTrainer, run: RunDir, ranks: Ranks) -> Path:
    """Saves the model, which all processes hold a part of; it is there whole or not at all."""
    model, partial = run.path / "model", run.path / "model.partial"
    with written_whole(partial, remove=ranks.first):
        trainer.save_model(str(partial))

    def rename() -> None:
        shutil.rmtree(model, ignore_errors=True)
        partial.replace(model)

    ranks.wait("saved model")
    ranks.first_does("saved model", rename)
    return model


def _trainer(
    draft: Draft,
    prepared: Prepared,
    tokenizer: Any,
    run: RunDir,
    ranks: Ranks,
    write: Callable[[str], None],
    *,
    new: bool,
) -> GRPOTrainer:
    """The trainer; a new run's directory goes where the libraries refuse to make it."""
    config, composite = prepared.config, prepared.composite
    try:
        trainer = GRPOTrainer(
            model_name(draft),
            composite,
            prepared.args,
            prepared.dataset,
            prepared.eval_dataset,
            tokenizer=tokenizer,
            callbacks=[ProgressLine(composite.names, write), FinalEvaluation()],
            run_dir=run,
            manifest={"config": _resolved(config), **prepared.fingerprints},
            nested_columns=prepared.nested,
            record=config.record,
            peft_config=_lora(config.model),
        )
    except GrpoError:
        if new and ranks.first:
            shutil.rmtree(run.path)
        raise
    except Exception as exc:
        raise _refused(exc, config, run, ranks, new=new) from exc
    trainer.remove_callback(PrinterCallback)
    return trainer


def _train(
    trainer: GRPOTrainer,
    checkpoint: Path | None,
    config: RunConfig,
    run: RunDir,
    write: Callable[[str], None],
    *,
    new: bool,
) -> None:
    """Trains; a signal stops it with a checkpoint."""
    interrupts = Interrupts(trainer.ranks)
    trainer.add_callback(interrupts)
    try:
        with interrupts:
            try:
                trainer.train(None if checkpoint is None else str(checkpoint))
            except KeyboardInterrupt as exc:
                _stop(trainer, exc, run, write)
                raise
    except GrpoError:
        raise
    except Exception as exc:
        if trainer.state.global_step:
            raise
        # Not one step was trained: a setting of the generation that is judged when it begins.
        raise _refused(exc, config, run, trainer.ranks, new=new) from exc


def _stop(
    trainer: GRPOTrainer, exc: KeyboardInterrupt, run: RunDir, write: Callable[[str], None]
) -> None:
    """Saves the last whole step of a run that was interrupted, and says so."""
    what = "terminated" if isinstance(exc, TerminatedError) else "interrupted"
    stopped = f"{what} after step {trainer.state.global_step}; run: {run.path}"
    if trainer.optimizer is None:  # it had not begun
        write(f"{stopped}; no checkpoint: no step had begun")
        return
    if not trainer.ranks.in_all(exc):  # a second signal, where the processes were apart
        write(f"{stopped}; no checkpoint was saved")
        return
    write(f"{what}; saving a checkpoint, a second time ends at once")
    try:
        checkpoint = trainer.save_stopped()
    except BaseException:
        write(f"{stopped}; no checkpoint was saved")
        raise
    write(f"{stopped}; checkpoint: {checkpoint}")


def _refused(
    exc: Exception, config: RunConfig, run: RunDir, ranks: Ranks, *, new: bool
) -> ConfigError:
    """Makes an error of what the libraries refuse: a missing package, weights, a setting.

    Nothing was trained, so a new directory goes: its name stays free for the repaired config.
    """
    if new and ranks.first:
        shutil.rmtree(run.path)
    return ConfigError(
        f"the trainer refuses what {config.source} asks for: {type(exc).__name__}: {exc}"
    )


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
        target_modules="all-linear" if lora.target_modules is None else lora.target_modules,
    )


def _resolved(config: RunConfig) -> dict[str, Any]:
    return config.model_dump(mode="json", exclude={"source"}, exclude_none=True)


def use_one_thread() -> None:
    """Computes on one thread: handing out the work of a tiny model costs more than doing it."""
    torch.set_num_threads(1)


def quiet_libraries() -> None:
    """Silences what the libraries under us say about each other; for commands, not for scripts."""
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # transformers'
    # TRL reads names that transformers has renamed; nobody who runs a command can act on it.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"transformers|trl")
