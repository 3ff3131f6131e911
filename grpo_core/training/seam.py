"""The one seam to TRL: `to_trl` makes TRL reward functions of a `CompositeReward`.

TRL calls each reward function with the same batch. Our functions share one evaluation of it,
whichever is called first: rows -> `Completion`s -> `CompositeReward.score` -> effective values,
of which every function returns its own column. What TRL does not tell a reward function (the
tokenizer, the group size, train or eval) a callback learns when the trainer is made.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import trl
from transformers import TrainerCallback

from grpo_core.causes import cause_of_silence, no_signal
from grpo_core.completion import Completion
from grpo_core.composite import Combined, CompositeReward
from grpo_core.errors import ConfigError, GrpoError, NotSupportedYetError, Problem
from grpo_core.schedules import Schedule, problems
from grpo_core.scoring.told import told
from grpo_core.scoring.trl_batch import TrlBatch
from grpo_core.scoring.trl_style import TRL_ARGUMENTS
from grpo_core.sections import Mode
from grpo_core.table import FloatArray, ScoreTable
from grpo_core.training.completions import CompletionBuilder

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
    """

    def __init__(self, composite: CompositeReward, args: trl.GRPOConfig) -> None:
        """Keeps the rewards and the settings that decide how they are combined."""
        self.composite = composite
        self.names = [composite.names[k] for k in composite.counted]
        self.aggregate = args.multi_objective_aggregation
        self._mask_truncated = bool(args.mask_truncated_completions)
        self.state: Any = None
        self.set_weights: Callable[[FloatArray], None] | None = None
        self._scheduled = np.array([isinstance(w, Schedule) for w in composite.schedules])
        self._silent: set[str] = set()
        self._failing: set[str] = set()
        self._causes: set[str] = set()
        self._host: _Host | None = None
        self._lock = threading.Lock()
        self._batch: object = None
        self._values: FloatArray | None = None
        self._error: GrpoError | None = None
        self._next = 0

    def attach(self, args: trl.GRPOConfig, model: Any, tokenizer: Any) -> None:
        """Learns what TRL does not tell reward functions.

        Raises:
            NotSupportedYetError: There are several processes.
            ConfigError: The trainer weighs the rewards otherwise than the composite.
        """
        if args.world_size > 1:
            raise NotSupportedYetError(
                f"training on {args.world_size} processes is not supported yet; start one"
            )
        _check_weights(args, self.composite)
        self._check_schedules(args)
        # The trainer's own, should it have been given other args than `to_trl`.
        self.aggregate = args.multi_objective_aggregation
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
        arguments = {k: further[k] for k in TRL_ARGUMENTS if k in further}
        columns = {k.removeprefix(RENAMED): v for k, v in further.items() if k not in TRL_ARGUMENTS}
        rows = [
            {"prompt": prompts[i], **{k: v[i] for k, v in columns.items()}}
            for i in range(len(completion_ids))
        ]
        made = host.builder.build(prompts, completions, completion_ids, rows)
        mode: Mode = "train" if training else "eval"
        table = self.composite.score(
            made,
            TrlBatch(prompts, completions, rows, {**arguments, "completion_ids": completion_ids}),
            group_size=group_size,
            mode=mode,
        )
        self.composite.check_budget(table)
        weights = self._weights()
        combined = self.composite.combined(table, group_size, self.aggregate, weights, mode)
        values = combined.effective
        if self.set_weights is not None:
            self.set_weights(weights)
        elif self._scheduled.any():
            values = np.where(self._scheduled, values * weights, values)
        metrics = self._metrics(table, combined, weights, group_size, mode, made)
        self._warn(table, combined, weights, group_size, mode, made, metrics["grpo/no_signal"])
        if log := further.get("log_metric"):
            for name, value in metrics.items():
                log(name, value)
        return values

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
                for warning in found.warnings:
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

    def _warn(
        self,
        table: ScoreTable,
        combined: Combined,
        weights: FloatArray,
        group_size: int,
        mode: Mode,
        made: Sequence[Completion],
        silent: float,
    ) -> None:
        """Says once what is wrong with a reward, and once for each cause why nothing is learnt."""
        composite = self.composite
        cause = None
        if mode == "train" and silent == 1.0:
            cause = self._cause(table, combined, weights, group_size, made)
        for k in composite.ran(mode):
            name, outcomes = table.names[k], table.outcomes[k]
            rows = [i for i, o in enumerate(outcomes) if o.status in ("failed", "timed_out")]
            if rows and name not in self._failing:
                self._failing.add(name)
                logger.warning(
                    "%s\n  this is said once; grpo/%s/failed and timed_out count them",
                    told(composite.entries[k].label, outcomes, rows),
                    name,
                )
            if len(rows) < len(outcomes) and not table.share(k, "scored"):
                if name in self._silent:
                    continue
                self._silent.add(name)
                if len(rows) == table.n_rows or (cause and f"reward {name!r} " in cause):
                    continue  # that says it too
                reason = next((o.reason for o in outcomes if o.reason), "it returned None")
                logger.warning(
                    "reward %r gave no value for any of the %d completions of a batch: %s",
                    name,
                    table.n_rows,
                    reason,
                )
        if cause is not None:
            logger.warning("%s", cause)

    def _cause(
        self,
        table: ScoreTable,
        combined: Combined,
        weights: FloatArray,
        group_size: int,
        made: Sequence[Completion],
    ) -> str | None:
        """Why a batch of training teaches nothing; None if that was said before."""
        composite = self.composite
        ran = composite.ran("train")
        cause = cause_of_silence(
            table,
            combined.effective,
            np.where([k in ran for k in composite.counted], weights, 0.0),
            group_size,
            closed=combined.closed,
            truncated=[c.truncated for c in made],
            texts=[c.text for c in made],
            gates=composite.gates,
            columns=composite.counted,
            inputs=composite.columns_read(),
            aggregate=self.aggregate,
            mask_truncated=self._mask_truncated,
        )
        if cause is None:
            return None
        # The first line names the cause. Its numbers may differ from batch to batch, and so may
        # what follows a second colon: a reason may quote the completion.
        first = cause.split("\n", 1)[0].split(": ")[:2]
        key = "".join(c for c in " ".join(first) if not c.isdigit())
        if key in self._causes:
            return None
        self._causes.add(key)
        return cause

    def _metrics(
        self,
        table: ScoreTable,
        combined: Combined,
        weights: FloatArray,
        group_size: int,
        mode: Mode,
        made: Sequence[Completion],
    ) -> dict[str, float]:
        metrics: dict[str, float] = {}
        composite = self.composite
        in_force = dict(zip(composite.counted, weights.tolist(), strict=True))
        for k in composite.ran(mode):
            name = table.names[k]
            present = table.values[:, k][~np.isnan(table.values[:, k])]
            prefix = f"grpo/{name}"
            if present.size:
                metrics[f"{prefix}/raw_mean"] = float(present.mean())
                metrics[f"{prefix}/raw_std"] = float(present.std())
            metrics[f"{prefix}/coverage"] = table.share(k, "scored")
            metrics[f"{prefix}/skipped"] = table.share(k, "skipped")
            metrics[f"{prefix}/failed"] = table.share(k, "failed")
            metrics[f"{prefix}/timed_out"] = table.share(k, "timed_out")
            metrics[f"{prefix}/seconds_p50"] = float(np.median(table.seconds[:, k]))
            metrics[f"{prefix}/seconds_max"] = float(table.seconds[:, k].max())
            if composite.entries[k].runner.policy.cache:
                metrics[f"{prefix}/cached"] = table.n_cached[k] / table.n_rows
            if k in in_force:
                metrics[f"{prefix}/weight"] = in_force[k]
            metrics |= _means(f"{prefix}/m", [o.metrics for o in table.outcomes[k] if o.metrics])
        if not np.isnan(combined.totals).all():
            metrics["grpo/total_mean"] = float(np.nanmean(combined.totals))
        masked = [self._mask_truncated and c.truncated is True for c in made]
        metrics["grpo/no_signal"] = no_signal(
            combined.effective, weights, group_size, self.aggregate, masked
        )
        return metrics


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


def to_trl(composite: CompositeReward, args: trl.GRPOConfig) -> TrlRewards:
    """Makes TRL reward functions of the rewards, for a script that keeps TRL's own trainer.

    No default changes and no random number is drawn. Only `args.reward_weights` is set, if it is
    None and the composite's weights are not all 1.

    Args:
        composite: The rewards.
        args: The GRPOConfig that the trainer gets.

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
    return TrlRewards(
        [_Column(seam, k, name) for k, name in enumerate(seam.names)],
        weights,
        [SeamCallback(seam)],
    )


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


def _means(prefix: str, metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean of each metric over the outcomes that have it."""
    values: dict[str, list[float]] = {}
    for each in metrics:
        for name, value in each.items():
            values.setdefault(name, []).append(value)
    return {f"{prefix}/{name}": sum(v) / len(v) for name, v in values.items()}
