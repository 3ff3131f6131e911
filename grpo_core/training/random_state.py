"""`RandomState`: where the random numbers stood at the end of the last whole step."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback


class RandomState(TrainerCallback):
    """Keeps the random states of the last whole step.

    A step that is stopped has drawn from them for the completions that are thrown away. Its
    checkpoint gets what the step began with, or the run that goes on would draw others.
    """

    def __init__(self) -> None:
        """Keeps nothing yet."""
        self._kept: tuple[Any, ...] | None = None

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Before the first step of all; one that goes on is set to its checkpoint's later."""
        self._kept = _states() if state.global_step == 0 else self._kept

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The step is whole."""
        self._kept = _states()

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The evaluation belongs to the step before it."""
        self._kept = _states()

    def restore(self) -> None:
        """Goes back to the end of the last whole step."""
        if self._kept is None:
            return
        python, numpy, cpu, gpu = self._kept
        random.setstate(python)
        np.random.set_state(numpy)
        torch.random.set_rng_state(cpu)
        if gpu is not None:
            torch.cuda.set_rng_state(gpu)


def _states() -> tuple[Any, ...]:
    gpu = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
    return random.getstate(), np.random.get_state(), torch.random.get_rng_state(), gpu
