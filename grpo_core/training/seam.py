"""The one seam to TRL: `to_trl` makes TRL reward functions of a `CompositeReward`.

TRL calls each reward function with the same batch. Our functions share one evaluation of it,
whichever is called first: rows -> `Completion`s -> `CompositeReward.score` -> effective values,
of which every function returns its own column. What TRL does not tell a reward function (the
tokenizer, the group size, train or eval) a callback learns when the trainer is made.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import trl
from transformers import TrainerCallback

from grpo_core.composite import CompositeReward
from grpo_core.errors import ConfigError, GrpoError, Problem
from grpo_core.recorded.batch import Scale
from grpo_core.schedules import Schedule, problems
from grpo_core.scoring.trl_batch import TrlBatch
from grpo_core.scoring.trl_style import TRL_ARGUMENTS
from grpo_core.sections import Mode, RecordSection
from grpo_core.table import FloatArray
from grpo_core.training.completions import CompletionBuilder
from grpo_core.training.kl_watch import KlCallback
from grpo_core.training.ranks import GRACE_S, Ranks
from grpo_core.training.recording import Recorder
from grpo_core.training.scored import ScoredBatch, Warnings
from grpo_core.training.script_record import record_callback, record_section
from grpo_core.training.whole import Rows, WholeBatch, score_whole

logger = logging.getLogger("grpo_core")

# In front of the names of columns that TRL would drop or crash on.
RENAMED = "grpo_column_"


class TrlRewards(NamedTuple):
    """What a TRL script needs.

    Attributes:
        reward_funcs: N functions, for GRPOTrainer's argument of that name: one for each reward
            that is no shadow.
        reward_weights: N weights, for GRPOConfig's field of that name; `to_trl` has set it.
        callbacks: For GRPOTrainer's argument of that name; the functions need them.
    """

    reward_funcs: list[Any]
    reward_weights: list[float]
    callbacks: list[TrainerCallback]


@dataclass(frozen=True)
class _Host:
    """What the trainer tells when it is made."""

    model: Any
    builder: CompletionBuilder
    group_size: int
    group_size_eval: int


class Seam:
    """One evaluation of each batch, shared by N reward functions.

    Attributes:
        composite: The rewards.
        names: Instance names of the rewards that have a function.
        state: The trainer's state, once training has begun.
        set_weights: Sets the trainer's weights to those in force, shape (N,). None where the
            trainer's stay as they are: then scheduled weights are multiplied into the values.
        nested: By mode, the columns that our loader stored as JSON text; rewards get what the
            data holds, as outside training. Other texts stay texts, also where they are JSON.
        ranks: The processes of the training.
    """

    def __init__(self, composite: CompositeReward, args: trl.GRPOConfig) -> None:
        """Keeps the rewards and the settings that decide how they are combined."""
        self.composite = composite
        self.ranks = ranks_for(composite, args)
        self.names = [composite.names[k] for k in composite.counted]
        self.aggregate = args.multi_objective_aggregation
        self._scale: Scale = args.scale_rewards
        self._mask_truncated = bool(args.mask_truncated_completions)
        self.state: Any = None
        self._recorder: Recorder | None = None
        self.set_weights: Callable[[FloatArray], None] | None = None
        self.nested: Mapping[Mode, Collection[str]] = {}
        self._scheduled = np.array([isinstance(w, Schedule) for w in composite.schedules])
        self._warnings = Warnings()
        self._host: _Host | None = None
        self._lock = threading.Lock()
        self._batch: object = None
        self._values: FloatArray | None = None
        self._error: GrpoError | None = None
        self._next = 0

    def set_recorder(self, recorder: Recorder | None) -> None:
        """Takes what writes the batches into the run's record, once a training begins."""
        self._recorder = recorder

    def attach(self, args: trl.GRPOConfig, model: Any, tokenizer: Any) -> None:
        """Learns what TRL does not tell reward functions.

        Raises:
            ConfigError: The trainer weighs the rewards otherwise than the composite.
        """
        if args.world_size != self.ranks.world:
            raise ConfigError(
                f"the trainer counts {args.world_size} processes and torch {self.ranks.world}; "
                f"start them with torchrun or accelerate launch, on CPUs with use_cpu=True"
            )
        _check_weights(args, self.composite)
        self._check_schedules(args)
        # The trainer's own, should it have been given other args than `to_trl`.
        self.aggregate = args.multi_objective_aggregation
        self._scale = args.scale_rewards
        self._mask_truncated = bool(args.mask_truncated_completions)
        tokenizer = getattr(tokenizer, "tokenizer", tokenizer)  # a processor holds one
        self._host = _Host(
            model,
            CompletionBuilder(tokenizer, model, args.chat_template_kwargs),
            args.num_generations,
            args.num_generations_eval or args.num_generations,
        )

    def column(
        self,
        k: int,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]],
        further: Mapping[str, Any],
    ) -> list[float | None]:
        """Effective values of reward k for the batch, B long; None where a cell is missing.

        Raises:
            RewardError: A reward broke its contract on this batch.
        """
        with self._lock:
            # The same list object means the same batch; keeping it keeps its identity from being
            # given to another list.
            if self._batch is not completion_ids:
                self._batch, self._values, self._error = completion_ids, None, None
                self._next = 0
                try:
                    self._values = self._evaluate(prompts, completions, completion_ids, further)
                except GrpoError as exc:
                    self._error = exc
            if k != self._next:
                # TRL goes by position: its weights would be those of other rewards.
                raise ConfigError(
                    f"the trainer called the function of reward {self.names[k]!r} where "
                    f"{self.names[self._next]!r} was expected; pass all of "
                    f"rewards.reward_funcs in their order, other functions behind them"
                )
            error, values = self._error, self._values
            self._next += 1
            if self._next == len(self.names):
                self._batch, self._next = None, 0
        if error is not None:
            raise error
        assert values is not None
        return [None if value != value else value for value in values[:, k].tolist()]

    def _evaluate(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]],
        further: Mapping[str, Any],
    ) -> FloatArray:
        host = self._host
        if host is None:
            raise ConfigError(
                "the rewards were called before a trainer was made with their callback; pass "
                "callbacks=rewards.callbacks to GRPOTrainer"
            )
        training = bool(host.model.training)
        group_size = host.group_size if training else host.group_size_eval
        mode: Mode = "train" if training else "eval"

        def make() -> Rows:
            return self._rows(host.builder, prompts, completions, completion_ids, further, mode)

        whole = score_whole(self.ranks, self.composite, make, len(completion_ids), group_size, mode)
        with self.ranks.alike():
            return self._handed(whole, group_size, mode, further.get("log_metric"))

    def _handed(self, whole: WholeBatch, group_size: int, mode: Mode, log: Any) -> FloatArray:
        """What the trainer is handed of a batch that was scored: the rows of this process."""
        self.composite.check_errors(whole.table)
        weights = self._weights()
        combined = self.composite.combined(whole.table, group_size, self.aggregate, weights, mode)
        values, theirs = combined.effective, weights
        if self.set_weights is None and self._scheduled.any():
            values = np.where(self._scheduled, values * weights, values)
            theirs = np.where(self._scheduled, 1.0, weights)
        scored = ScoredBatch(
            self.composite,
            whole,
            mode,
            group_size,
            combined,
            weights,
            self.aggregate,
            self._mask_truncated,
        )
        if self._recorder is not None:  # before a budget stops the run: it shows why
            self._record(self._recorder, scored, values, theirs, _n_functions(log))
        self.composite.check_budget(whole.table)
        if self.set_weights is not None:
            self.set_weights(weights)
        metrics = scored.metrics()
        if self.ranks.first:
            self._warnings.tell(scored, metrics)
        if log:  # the same in all processes, whose mean the trainer logs
            for name, value in metrics.items():
                log(name, value)
        return values[whole.own.start : whole.own.stop]

    def _rows(
        self,
        builder: CompletionBuilder,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]],
        further: Mapping[str, Any],
        mode: Mode,
    ) -> Rows:
        """What the trainer hands over, as rewards see it."""
        arguments = {k: further[k] for k in TRL_ARGUMENTS if k in further}
        columns = {k.removeprefix(RENAMED): v for k, v in further.items() if k not in TRL_ARGUMENTS}
        for name in self.nested.get(mode, ()):
            if name in columns:
                columns[name] = [None if v is None else json.loads(v) for v in columns[name]]
        rows = [
            {"prompt": prompts[i], **{k: v[i] for k, v in columns.items()}}
            for i in range(len(completion_ids))
        ]
        return Rows(
            builder.build(prompts, completions, completion_ids, rows),
            TrlBatch(prompts, completions, rows, {**arguments, "completion_ids": completion_ids}),
        )

    def _record(
        self,
        recorder: Recorder,
        scored: ScoredBatch,
        values: FloatArray,
        weights: FloatArray,
        n_functions: int | None,
    ) -> None:
        """Writes the rows of this process; what keeps one from it stops all.

        Raises:
            RunDirError: The record of one of them cannot be written.
        """
        error: BaseException | None = None
        try:
            recorder.write(scored, self.state, values, weights, self._scale, n_functions)
        except GrpoError as exc:
            error = exc
        self.ranks.exchange("record", None, error)

    def begin(self, state: Any) -> None:
        """Keeps the trainer's state; warns of schedules that do not fit the run.

        Raises:
            ConfigError: A schedule begins beyond the end of the run.
        """
        self.state = state
        for name, weight in zip(self.names, self.composite.schedules, strict=True):
            if isinstance(weight, Schedule):
                found = problems(weight, state.max_steps, f"rewards.{name}.weight")
                if found.problems:
                    raise ConfigError(found.problems)
                for warning in found.warnings if state.is_world_process_zero else ():
                    logger.warning("%s", warning)

    def _weights(self) -> FloatArray:
        """Weights in force; before a training has begun, where schedules end."""
        state = self.state
        if state is None or state.max_steps <= 0:
            return self.composite.weights
        return self.composite.weights_at(state.global_step, state.max_steps)

    def _check_schedules(self, args: trl.GRPOConfig) -> None:
        if (
            self.set_weights is None
            and self._scheduled.any()
            and args.multi_objective_aggregation != "sum_then_normalize"
        ):
            name = self.names[int(np.argmax(self._scheduled))]
            raise ConfigError(
                f"reward {name!r} has a schedule as its weight, which to_trl multiplies into the "
                f"values; {args.multi_objective_aggregation} would normalize it away. Give a "
                f"number, use sum_then_normalize, or train with grpo_core.GRPOTrainer"
            )


def _n_functions(log_metric: Any) -> int | None:
    """How many reward functions the trainer has, which tells them by nothing but this method."""
    functions = getattr(getattr(log_metric, "__self__", None), "reward_funcs", None)
    return None if functions is None else len(functions)


class _Column:
    """A TRL reward function: one reward's column of the shared evaluation."""

    def __init__(self, seam: Seam, k: int, name: str) -> None:
        """Takes the reward's name; TRL logs under `__name__`."""
        self._seam = seam
        self._k = k
        self.__name__ = name

    def __call__(
        self,
        /,  # a column may be called self
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]],
        **further: Any,
    ) -> list[float | None]:
        return self._seam.column(self._k, prompts, completions, completion_ids, further)


class SeamCallback(TrainerCallback):
    """Tells the seam what the trainer is made of."""

    def __init__(self, seam: Seam) -> None:
        """Keeps the seam."""
        self.seam = seam

    def on_init_end(
        self,
        args: trl.GRPOConfig,
        state: Any,
        control: Any,
        model: Any = None,
        processing_class: Any = None,
        **kwargs: Any,
    ) -> None:
        """Called by the trainer at the end of its construction."""
        self.seam.attach(args, model, processing_class)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Keeps the state, which schedules read, and says where one ends beyond the run."""
        self.seam.begin(state)


def to_trl(
    composite: CompositeReward,
    args: trl.GRPOConfig,
    *,
    record: str | int | RecordSection = "off",
) -> TrlRewards:
    """Makes TRL reward functions of the rewards, for a script that keeps TRL's own trainer.

    No default changes and no random number is drawn. Only `args.reward_weights` is set, if it is
    None and the composite's weights are not all 1.

    Args:
        composite: The rewards.
        args: The GRPOConfig that the trainer gets.
        record: "all", or how many of each generation: then a training makes a run directory,
            `output_dir/run-001`, …, with its completions and metrics.

    Raises:
        ConfigError: `args.reward_weights` differs from the composite's weights.
    """
    if not isinstance(composite, CompositeReward):
        raise ConfigError(
            f"to_trl takes a CompositeReward, got {type(composite).__name__}; write "
            f"to_trl(CompositeReward({{name: reward}}), args)"
        )
    weights = trainer_weights(composite)
    if args.reward_weights is None and weights != [1.0] * len(weights):
        args.reward_weights = weights
    _check_weights(args, composite)
    seam = Seam(composite, args)
    callbacks: list[TrainerCallback] = [SeamCallback(seam), KlCallback()]
    section = record_section(record)
    if section.completions != "off":
        callbacks.append(record_callback(composite, args, section, seam.set_recorder, seam.ranks))
    return TrlRewards(
        [_Column(seam, k, name) for k, name in enumerate(seam.names)], weights, callbacks
    )


def ranks_for(composite: CompositeReward, args: trl.GRPOConfig) -> Ranks:
    """The processes of a training with these rewards; each waits as long as these may take."""
    timeout_s = composite.batch_timeout_s + GRACE_S
    return Ranks(timeout_s, max(timeout_s, args.ddp_timeout))


def trainer_weights(composite: CompositeReward) -> list[float]:
    """What the trainer is given as weights: 1 for a schedule, whose weight changes."""
    return [1.0 if isinstance(w, Schedule) else float(w) for w in composite.schedules]


def _check_weights(args: trl.GRPOConfig, composite: CompositeReward) -> None:
    ours = trainer_weights(composite)
    theirs = args.reward_weights if args.reward_weights is not None else [1.0] * len(ours)
    # Further reward functions of the script may follow ours; their weights are not ours to check.
    if list(map(float, theirs[: len(ours)])) != ours:
        raise ConfigError(
            [
                Problem(
                    "args.reward_weights",
                    f"expected the rewards' weights {ours}, got {list(theirs)}; give the weights "
                    f"in CompositeReward and leave args.reward_weights alone",
                )
            ]
        )
