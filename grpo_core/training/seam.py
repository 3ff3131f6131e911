"""The one seam to TRL: `to_trl` makes TRL reward functions of a `CompositeReward`.

TRL calls each reward function with the same batch. Our functions share one evaluation of it,
whichever is called first: rows -> `Completion`s -> `CompositeReward.score` -> effective values,
of which every function returns its own column. What TRL does not tell a reward function (the
tokenizer, the group size, train or eval) a callback learns when the trainer is made.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import trl
from transformers import TrainerCallback

from grpo_core.causes import no_signal
from grpo_core.composite import CompositeReward
from grpo_core.errors import ConfigError, GrpoError, NotSupportedYetError, Problem, RewardError
from grpo_core.scoring.trl_style import TRL_ARGUMENTS, TrlBatch
from grpo_core.table import FloatArray, ScoreTable
from grpo_core.training.completions import CompletionBuilder

logger = logging.getLogger("grpo_core")

# In front of the names of columns that TRL would drop or crash on.
RENAMED = "grpo_column_"


class TrlRewards(NamedTuple):
    """What a TRL script needs.

    Attributes:
        reward_funcs: K functions, for GRPOTrainer's argument of that name.
        reward_weights: K weights, for GRPOConfig's field of that name; `to_trl` has set it.
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
    """One evaluation of each batch, shared by K reward functions."""

    def __init__(self, composite: CompositeReward, args: trl.GRPOConfig) -> None:
        """Keeps the rewards and the settings that decide how they are combined."""
        self.composite = composite
        self.aggregate = args.multi_objective_aggregation
        self._silent: set[str] = set()
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
        # The trainer's own, should it have been given other args than `to_trl`.
        self.aggregate = args.multi_objective_aggregation
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
                    f"the trainer called the function of reward {self.composite.names[k]!r} where "
                    f"{self.composite.names[self._next]!r} was expected; pass all of "
                    f"rewards.reward_funcs in their order, other functions behind them"
                )
            error, values = self._error, self._values
            self._next += 1
            if self._next == len(self.composite.names):
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
        group_size = host.group_size if host.model.training else host.group_size_eval
        arguments = {k: further[k] for k in TRL_ARGUMENTS if k in further}
        columns = {k.removeprefix(RENAMED): v for k, v in further.items() if k not in TRL_ARGUMENTS}
        rows = [
            {"prompt": prompts[i], **{k: v[i] for k, v in columns.items()}}
            for i in range(len(completion_ids))
        ]
        table = self.composite.score(
            host.builder.build(prompts, completions, completion_ids, rows),
            TrlBatch(prompts, completions, rows, {**arguments, "completion_ids": completion_ids}),
        )
        _raise_faults(self.composite, table)
        self._warn_of_silence(table)
        values = self.composite.effective(table, group_size, self.aggregate)
        if log := further.get("log_metric"):
            for name, value in self._metrics(table, values, group_size).items():
                log(name, value)
        return values

    def _warn_of_silence(self, table: ScoreTable) -> None:
        """Says once of a reward that it gave no value for a whole batch, and why."""
        for k, name in enumerate(table.names):
            if name not in self._silent and not table.share(k, "scored"):
                self._silent.add(name)
                reason = next((o.reason for o in table.outcomes[k] if o.reason), "it returned None")
                logger.warning(
                    "reward %r gave no value for any of the %d completions of a batch: %s",
                    name,
                    table.n_rows,
                    reason,
                )

    def _metrics(self, table: ScoreTable, values: FloatArray, group_size: int) -> dict[str, float]:
        metrics: dict[str, float] = {}
        for k, name in enumerate(table.names):
            present = table.values[:, k][~np.isnan(table.values[:, k])]
            prefix = f"grpo/{name}"
            if present.size:
                metrics[f"{prefix}/raw_mean"] = float(present.mean())
                metrics[f"{prefix}/raw_std"] = float(present.std())
            metrics[f"{prefix}/coverage"] = table.share(k, "scored")
            metrics[f"{prefix}/failed"] = table.share(k, "failed")
            metrics[f"{prefix}/seconds_p50"] = float(np.median(table.seconds[:, k]))
            metrics[f"{prefix}/seconds_max"] = float(table.seconds[:, k].max())
            metrics[f"{prefix}/weight"] = float(self.composite.weights[k])
            metrics |= _means(f"{prefix}/m", [o.metrics for o in table.outcomes[k] if o.metrics])
        totals = self.composite.totals(table, group_size, self.aggregate)
        if not np.isnan(totals).all():
            metrics["grpo/total_mean"] = float(np.nanmean(totals))
        metrics["grpo/no_signal"] = no_signal(
            values, self.composite.weights, group_size, self.aggregate
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
    if args.reward_weights is None and not (composite.weights == 1.0).all():
        args.reward_weights = composite.weights.tolist()
    _check_weights(args, composite)
    seam = Seam(composite, args)
    return TrlRewards(
        [_Column(seam, k, name) for k, name in enumerate(composite.names)],
        composite.weights.tolist(),
        [SeamCallback(seam)],
    )


def _check_weights(args: trl.GRPOConfig, composite: CompositeReward) -> None:
    ours = composite.weights.tolist()
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


def _raise_faults(composite: CompositeReward, table: ScoreTable) -> None:
    faults = table.faults()
    if not faults:
        return
    lines = []
    for entry in composite.entries:
        cells = [(row, outcome) for name, row, outcome in faults if name == entry.name]
        if not cells:
            continue
        lines.append(f"reward {entry.label} failed on {len(cells)} of {table.n_rows} completions:")
        if len(cells) > 1 and len({outcome.reason for _, outcome in cells}) == 1:
            lines.append(f"  rows {cells[0][0]} to {cells[-1][0]}: {cells[0][1].reason}")
        else:
            lines += [f"  row {row}: {outcome.reason}" for row, outcome in cells[:3]]
    raise RewardError("\n".join(lines))


def _means(prefix: str, metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean of each metric over the outcomes that have it."""
    values: dict[str, list[float]] = {}
    for each in metrics:
        for name, value in each.items():
            values.setdefault(name, []).append(value)
    return {f"{prefix}/{name}": sum(v) / len(v) for name, v in values.items()}
