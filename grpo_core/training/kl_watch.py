"""`KlCallback`: warns when the KL to the reference runs away, and guards it if asked to."""

from __future__ import annotations

import logging
import math
import statistics
from collections.abc import Mapping
from typing import Any

from transformers import TrainerCallback

from grpo_core.errors import ConfigError
from grpo_core.kl import Alarm, KlGuard, KlWatch, warning
from grpo_core.training.rates import scale_rates

logger = logging.getLogger("grpo_core")

# In the trainer's state, which every checkpoint holds. transformers' own way for the state of
# callbacks gives it back only where an argument of the trainer says so.
_KEY = "grpo_core.kl"


class KlCallback(TrainerCallback):
    """Watches the KL of a training: each step's with `GRPOTrainer`, each log's with `to_trl`.

    Attributes:
        trainer: Our trainer, whose metrics have the KL of a step before it is logged, and whose
            `beta` the guard raises. None under TRL's own: then what is logged is watched.
        guard: Lowers the learning rate and raises kl_coef at an alarm; None leaves both alone.
    """

    def __init__(self) -> None:
        """Watches logs, without a guard."""
        self.trainer: Any = None
        self.guard: KlGuard | None = None
        self._watch = KlWatch()
        self._before = 0

    def on_init_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Refuses a guard that could not raise kl_coef.

        Raises:
            ConfigError: `kl_guard` is set and the trainer is TRL's own.
        """
        if self.trainer is None and getattr(args, "kl_guard", False):
            raise ConfigError(
                "kl_guard needs grpo_core.GRPOTrainer: nothing else can raise kl_coef during a "
                "run. Train with it, or leave kl_guard out"
            )

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Says that there is no KL, or goes on from the checkpoint that training resumes from."""
        self._watch = KlWatch()
        if self.guard is not None:
            self.guard = KlGuard()
            self.trainer.beta = args.beta
        if not args.beta:
            if state.is_world_process_zero:
                logger.warning(
                    "kl_coef is 0: there is no reference and no KL, so a model that runs away "
                    "from where it began is not noticed"
                )
            return
        if saved := state.stateful_callbacks.get(_KEY):
            self._watch.restore(saved["watch"])
            if saved["guard"] is not None:
                self._resume_guard(args, saved["guard"])

    def _resume_guard(self, args: Any, saved: Mapping[str, Any]) -> None:
        """Raises kl_coef as before; the learning rate is in the checkpoint, with its schedule."""
        if self.guard is not None:
            self.guard.restore(saved)
            self.trainer.beta = args.beta * self.guard.kl_coef
        elif saved["rate"] < 1:
            logger.warning(
                "kl_guard is off, but had acted before the checkpoint: the learning rate stays at "
                "%g of what was asked for, and kl_coef goes back to %g",
                saved["rate"],
                args.beta,
            )

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Counts what the trainer has noted before the step."""
        self._before = len(self._noted())

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Looks at the KL of the step: the mean over its batches."""
        noted = self._noted()[self._before :]
        if noted:
            alarm = self._look(args, state, statistics.fmean(noted))
            if self.guard is not None:
                self._act(self.guard, alarm, args, state, kwargs)

    def on_log(
        self,
        args: Any,
        state: Any,
        control: Any,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Looks at the KL that is logged, where that of each step cannot be had."""
        if self.trainer is None and logs and "kl" in logs:
            kl = logs["kl"]  # None is how TRL logs NaN
            self._look(args, state, math.nan if kl is None else kl)

    def _noted(self) -> list[float]:
        """KL of each batch since the last log."""
        if self.trainer is None:
            return []
        noted: list[float] = self.trainer._metrics["train"]["kl"]
        return noted

    def _look(self, args: Any, state: Any, kl: float) -> Alarm | None:
        alarm = self._watch.see(state.global_step, kl)
        if alarm is not None and alarm.first and state.is_world_process_zero:
            guard = self.guard or KlGuard()
            text = warning(
                alarm, state.global_step, args.learning_rate * guard.rate, args.beta * guard.kl_coef
            )
            advice = "; kl_guard = true does both by halves"
            logger.warning("%s%s", text, "" if self.guard or self.trainer is None else advice)
        self._keep(state)
        return alarm

    def _act(
        self, guard: KlGuard, alarm: Alarm | None, args: Any, state: Any, kwargs: Mapping[str, Any]
    ) -> None:
        """Lets the guard act on an alarm; logs what is in force from here on."""
        rate = guard.rate
        # NaN is in the weights, where no learning rate reaches it.
        if alarm is not None and not math.isnan(alarm.kl) and guard.act(state.global_step):
            scale_rates(kwargs["optimizer"], kwargs["lr_scheduler"], guard.rate / rate)
            self.trainer.beta = args.beta * guard.kl_coef
            self._keep(state)
            if state.is_world_process_zero:
                logger.warning(
                    "step %d: KL is %.4g nats per token; kl_guard lowers learning_rate to %g "
                    "(%g of what was asked for) and raises kl_coef to %g (%g times)%s",
                    state.global_step,
                    alarm.kl,
                    args.learning_rate * guard.rate,
                    guard.rate,
                    self.trainer.beta,
                    guard.kl_coef,
                    "; it may do no more" if guard.at_bounds else "",
                )
        noted = self.trainer._metrics["train"]
        noted["grpo/kl_guard/rate_factor"].append(guard.rate)
        noted["grpo/kl_guard/kl_coef"].append(self.trainer.beta)

    def _keep(self, state: Any) -> None:
        """Writes what is remembered into the state that a checkpoint holds."""
        guard = None if self.guard is None else self.guard.state()
        state.stateful_callbacks[_KEY] = {"watch": self._watch.state(), "guard": guard}
