"""`GRPOTrainer`: TRL's trainer with rewards by name, a run directory and a clean stop."""

from __future__ import annotations

import copy
import logging
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import trl
from peft import PeftModel
from transformers import AutoProcessor, PreTrainedModel
from transformers.trainer_utils import TrainOutput

from grpo_core.batch import too_few_rows
from grpo_core.composite import CompositeReward
from grpo_core.errors import (
    ConfigError,
    Problem,
    RankError,
    RewardError,
    RunDirError,
    listed,
    near,
)
from grpo_core.kl import KlGuard
from grpo_core.record import RunDir
from grpo_core.scoring.trl_style import TRL_ARGUMENTS
from grpo_core.sections import Mode, RecordSection
from grpo_core.table import FloatArray
from grpo_core.training.callbacks import RecordCallback
from grpo_core.training.checkpoints import (
    begin,
    checkpoint_of,
    is_full,
    last_whole,
    run_of,
    steps_of,
    written_whole,
)
from grpo_core.training.config import ALIASES, GRPOConfig
from grpo_core.training.kl_watch import KlCallback
from grpo_core.training.prompts import check_prompts
from grpo_core.training.random_state import RandomState
from grpo_core.training.reference import same_as_saved, save_reference
from grpo_core.training.resuming import FinishedError, Resumed, go_on
from grpo_core.training.rewards import RewardsArgument, composite_of
from grpo_core.training.script_record import record_section
from grpo_core.training.seam import (
    RENAMED,
    SeamCallback,
    to_trl,
    trainer_weights,
)

logger = logging.getLogger("grpo_core")

# Columns that TRL drops before it calls a reward, or that collide with its arguments.
_RESERVED = (*TRL_ARGUMENTS, "completion")


class GRPOTrainer(trl.GRPOTrainer):  # type: ignore[misc]  # trl is untyped
    """TRL's GRPOTrainer with rewards by name.

    Args:
        model: A folder, a hub id, or a model object.
        reward_funcs: A name or function, a list of them, a dict by instance name with the keys
            of a config's `[rewards.<name>]`, or a `CompositeReward`.
        config: The config; a plain TRL GRPOConfig will do too.
        train_dataset: Has a column `prompt`, of texts or chats.
        tokenizer: Default: the model's.
        reward_weights: Weights in order, or by instance name; default: 1.
        args: TRL's name for `config`.
        processing_class: TRL's name for `tokenizer`.
        run_dir: The run's directory; default: a new `output_dir/run-001`, …
        manifest: Further content for the manifest.
        nested_columns: By mode, the columns that hold JSON text of nested values.
        record: What the run's directory keeps of the completions: "all", "off", how many of a
            generation, or a `RecordSection`.
        **kwargs: TRL's further arguments.

    Attributes:
        composite: The rewards.
        ranks: The processes of the training.

    Raises:
        ConfigError: A reward, a weight or a column is wrong; all problems at once.
    """

    def __init__(
        self,
        model: Any,
        reward_funcs: RewardsArgument | None = None,
        config: trl.GRPOConfig | None = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        tokenizer: Any = None,
        *,
        reward_weights: Sequence[float] | Mapping[str, float] | None = None,
        args: trl.GRPOConfig | None = None,
        processing_class: Any = None,
        callbacks: Sequence[Any] | None = None,
        run_dir: RunDir | None = None,
        manifest: Mapping[str, Any] | None = None,
        nested_columns: Mapping[Mode, Collection[str]] | None = None,
        record: str | int | RecordSection = "all",
        **kwargs: Any,
    ) -> None:
        """Translates the arguments and hands over to TRL."""
        config = _one_of("config", config, "args", args)
        tokenizer = _one_of("tokenizer", tokenizer, "processing_class", processing_class)
        config = GRPOConfig(output_dir="grpo-output") if config is None else config
        _check_kinds(config, train_dataset, kwargs)
        config = copy.copy(config)  # the caller's may serve another trainer with other rewards
        if reward_weights is None:
            reward_weights = config.reward_weights
        self.composite = composite_of(reward_funcs, reward_weights)
        config.reward_weights = trainer_weights(self.composite)
        check_data(self.composite, config, train_dataset, eval_dataset)
        parts = eval_dataset if isinstance(eval_dataset, Mapping) else {"": eval_dataset}
        for where, part in [
            ("train_dataset", train_dataset),
            *(("eval_dataset", p) for p in parts.values()),
        ]:
            check_prompts(part, tokenizer, config.chat_template_kwargs, where)
        self._run = run_dir
        self._output_dir = Path(config.output_dir)
        self._manifest = dict(manifest or {})
        self._random = RandomState()
        rewards = to_trl(self.composite, config)
        [seam] = [c.seam for c in rewards.callbacks if isinstance(c, SeamCallback)]
        self.ranks = seam.ranks
        seam.set_weights = self._set_weights
        seam.nested = nested_columns or {}
        [kl] = [c for c in rewards.callbacks if isinstance(c, KlCallback)]
        kl.trainer = self
        kl.guard = KlGuard() if getattr(config, "kl_guard", False) else None
        original = None
        if _needs_reference(model, config, kwargs):
            tokenizer = _own_tokenizer(model) if tokenizer is None else tokenizer
            original = str(model.config._name_or_path)
            self._run = self.ranks.first_does("run directory", self.run_dir)
            reference = self._run.path / "reference"
            self.ranks.first_does("reference model", lambda: save_reference(model, reference))
            model.config._name_or_path = str(reference)
        try:
            super().__init__(
                model=model,
                reward_funcs=rewards.reward_funcs,
                args=config,
                train_dataset=_renamed(train_dataset),
                eval_dataset=_renamed(eval_dataset),
                processing_class=tokenizer,
                callbacks=[
                    *rewards.callbacks,
                    RecordCallback(
                        lambda _: self.run_dir(),
                        self.manifest,
                        record_section(record),
                        seam.set_recorder,
                        self.ranks,
                    ),
                    Resumed(),
                    self._random,
                    *(callbacks or ()),
                ],
                **kwargs,
            )
        finally:
            if original is not None:
                model.config._name_or_path = original
        if self.ranks.first and (in_force := getattr(config, "defaults_in_force", None)):
            ours = {theirs: alias for alias, theirs in ALIASES.items()}
            logger.warning(
                "defaults that differ from TRL's: %s",
                ", ".join(f"{ours.get(name, name)}={value}" for name, value in in_force.items()),
            )

    def _set_weights(self, weights: FloatArray) -> None:
        """Writes the weights in force over those of our rewards; ours come first."""
        ours = torch.as_tensor(weights, dtype=self.reward_weights.dtype)
        self.reward_weights[: len(ours)] = ours.to(self.reward_weights.device)

    def run_dir(self) -> RunDir:
        """The run's directory, created when it is first needed; by the first process."""
        if self._run is None:
            self._run = RunDir.numbered(self._output_dir, "run")
        return self._run

    def manifest(self) -> dict[str, Any]:
        """What the run's manifest keeps beside times and versions."""
        fingerprint = getattr(self.train_dataset, "_fingerprint", None)
        return {
            "model": getattr(self.model.config, "_name_or_path", "") or None,
            "rewards": self.composite.describe(),
            "data": {"rows": _length(self.train_dataset), "fingerprint": fingerprint},
            "seeds": {"seed": self.args.seed, "data_seed": self.args.data_seed},
            "args": self.args.to_dict(),
            **self._manifest,
        }

    def train(
        self,
        resume_from_checkpoint: str | bool | None = None,
        *args: Any,
        allow_changed: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Trains; a reward that breaks its contract stops the run with a saved checkpoint.

        Args:
            resume_from_checkpoint: Go on behind a checkpoint, in the directory of its run; True:
                the last whole one of `output_dir`.
            *args: TRL's.
            allow_changed: Go on though rewards, weights or data are not what they were.
            **kwargs: TRL's.

        Raises:
            ConfigError: They are not what they were.
            RewardError: A reward broke its contract; the text ends with the checkpoint's path.
            RunDirError: Something cannot be written, as on a full disk; the text names the last
                whole checkpoint.
        """
        if resume_from_checkpoint is True:
            resume_from_checkpoint = str(last_whole(self._output_dir) or "") or True
        if self._run is None and isinstance(resume_from_checkpoint, str):
            self._go_on(Path(resume_from_checkpoint), allow_changed=allow_changed)
        try:
            return super().train(resume_from_checkpoint, *args, **kwargs)
        except FinishedError:
            if self.ranks.first:
                logger.warning("all %d steps of the run were done before", self.state.global_step)
            return TrainOutput(self.state.global_step, 0.0, {})
        except (RewardError, RankError) as exc:
            raise type(exc)(self._stopped(exc)) from exc
        except Exception as exc:
            if isinstance(exc, RunDirError) or is_full(exc):
                raise RunDirError(self._stopped(exc)) from exc
            lost = self.ranks.lost(exc)
            if lost is None:
                raise
            raise RankError(self._stopped(lost)) from exc

    def _go_on(self, checkpoint: Path, *, allow_changed: bool) -> None:
        """Goes on in the directory of the checkpoint's run, if that is known."""
        run = run_of(checkpoint)
        if run is None:
            return
        self._run = self.ranks.first_does(
            "run directory", lambda: go_on(run, self.manifest(), allow_changed=allow_changed)
        )

    def _stopped(self, exc: Exception) -> str:
        """Saves a checkpoint; returns what stopped the training, and how to go on."""
        text = f"{exc}\ntraining stopped after step {self.state.global_step}; "
        if not self.ranks.in_all(exc):  # the others are elsewhere, and all save together
            return f"{text}no checkpoint could be saved; {self._last_whole()}"
        try:
            return f"{text}checkpoint: {self.save_stopped()}"
        except Exception as failed:
            return f"{text}no checkpoint could be saved ({failed}); {self._last_whole()}"

    def _last_whole(self) -> str:
        run = None if self._run is None else self._run.path
        whole = last_whole(self._output_dir, run)
        return "there is no earlier one" if whole is None else f"the last whole one is {whole}"

    def save_stopped(self) -> Path:
        """Saves a checkpoint of the last whole step, if there is none; returns its folder."""
        step = self.state.global_step
        folder, is_there = self.ranks.first_does("checkpoint's folder", self._where_to_stop)
        if not is_there:
            self.args.output_dir = folder
            self._random.restore()
            try:
                self._save_checkpoint(self.model, trial=None)
            finally:
                self.args.output_dir = str(self._output_dir)
        return checkpoint_of(Path(folder), step)

    def _where_to_stop(self) -> tuple[str, bool]:
        """The folder for the checkpoint of the last whole step, and whether it is there."""
        run = self.run_dir().path
        there = checkpoint_of(self._output_dir, self.state.global_step)
        if not there.exists():
            return str(self._output_dir), False
        if steps_of(there) and run_of(there) == run.resolve():
            return str(self._output_dir), True
        return str(run), False  # another run of the script has left a checkpoint of the same step

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """As TRL does; the checkpoint is there whole or not at all, and names its run."""
        folder = checkpoint_of(Path(self.args.output_dir), self.state.global_step)
        with written_whole(folder, remove=self.ranks.first):
            if self.ranks.first:
                begin(folder, self.run_dir().path)
            super()._save_checkpoint(model, trial)

    def _save_rng_state(self, output_dir: str) -> None:
        """As TRL does; what makes a checkpoint whole is written once all processes are here."""
        error: Exception | None = None
        try:
            # The first removes the folder, behind the exchange that tells all of the error.
            with written_whole(Path(output_dir), remove=False):
                super()._save_rng_state(output_dir)
        except Exception as exc:
            error = exc
        self.ranks.exchange("checkpoint", None, error, patient=True)


def _one_of(first_name: str, first: Any, second_name: str, second: Any) -> Any:
    if first is not None and second is not None and first is not second:
        raise ConfigError(f"{first_name} and {second_name} are the same argument; give one")
    return first if first is not None else second


def check_data(
    composite: CompositeReward, args: trl.GRPOConfig, dataset: Any, eval_dataset: Any = None
) -> None:
    """Checks the data against the rewards and the batch.

    Raises:
        ConfigError: A column is missing, or there are too few rows for one step; all at once.
    """
    problems = _column_problems(composite, dataset, "train_dataset")
    parts = eval_dataset.values() if isinstance(eval_dataset, Mapping) else [eval_dataset]
    for part in parts:
        found = _column_problems(composite, part, "eval_dataset")
        problems += [p for p in found if p not in problems]
    if args.remove_unused_columns:
        problems.append(
            Problem("remove_unused_columns", "would take the rewards' columns away; leave it off")
        )
    n = _length(dataset)
    if n is not None:
        problems += too_few_rows(
            n, args.generation_batch_size, args.num_generations, "train_dataset"
        )
    if problems:
        raise ConfigError(problems, "the training data and rewards")


def _column_problems(composite: CompositeReward, dataset: Any, where: str) -> list[Problem]:
    columns = getattr(dataset, "column_names", None)
    if columns is None:
        return []
    problems = composite.check_columns(columns)
    if "prompt" not in columns:
        text = (
            f"it has no column 'prompt'.{near('prompt', columns)} Columns are {listed(columns)}. "
            f"Rename one: dataset.rename_column(…, 'prompt')"
        )
        problems.insert(0, Problem(where, text))
    return problems


def _renamed(dataset: Any) -> Any:
    """Renames the columns that TRL drops or crashes on; the seam gives them their names back."""
    if isinstance(dataset, Mapping):
        return {name: _renamed(part) for name, part in dataset.items()}
    columns = getattr(dataset, "column_names", None) or []
    taken = {c: RENAMED + c for c in columns if c in _RESERVED}
    return dataset.rename_columns(taken) if taken else dataset


def _needs_reference(model: Any, args: trl.GRPOConfig, kwargs: Mapping[str, Any]) -> bool:
    """True if TRL would load another reference than the model as it is now."""
    return (
        isinstance(model, PreTrainedModel)
        and not isinstance(model, PeftModel)
        and bool(args.beta)
        and kwargs.get("peft_config") is None
        and not same_as_saved(model)
    )


def _own_tokenizer(model: PreTrainedModel) -> Any:
    """The tokenizer of the model's folder or hub id, as TRL loads it."""
    name = getattr(model.config, "_name_or_path", "")
    try:
        return AutoProcessor.from_pretrained(  # type: ignore[no-untyped-call]  # transformers'
            name, truncation_side="left", padding_side="left"
        )
    except (OSError, ValueError) as exc:
        raise ConfigError(
            f"the model {name!r} comes with no tokenizer that can be loaded; give tokenizer=…"
        ) from exc


def _check_kinds(config: Any, dataset: Any, kwargs: Mapping[str, Any]) -> None:
    if not isinstance(config, trl.GRPOConfig):
        raise ConfigError(
            f"config must be a GRPOConfig, got {type(config).__name__}; write GRPOConfig(…)"
        )
    if dataset is None and kwargs.get("environment_factory") is None:
        raise ConfigError("train_dataset is missing")
    if isinstance(dataset, list | tuple | str | Mapping):
        raise ConfigError(
            f"train_dataset must be a datasets.Dataset, got {type(dataset).__name__}; write "
            f"Dataset.from_list(rows), or give a file's path to `grpo train`"
        )


def _length(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except TypeError:
        return None
