"""What `to_trl` costs in a real TRL run: `python -m benchmarks seam`.

A tiny random Llama trains on 128 completions a step with four rewards, two tagged ones and two of
TRL's kind: through `to_trl`, and as four plain functions given to TRL. The runs alternate. The
seam's own time is the time inside our callables less the time inside the rewards; reading the
clock around each call of a tagged reward adds about 0.3 ms to it. Torch uses one thread, so that
CPU time is time.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import logging
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers
import trl
from transformers.trainer_callback import PrinterCallback

from benchmarks.report import Line
from benchmarks.tiny import make_dataset, make_model, make_tokenizer
from benchmarks.tiny_rewards import (
    digits,
    holds_answer,
    letters,
    plain_digits,
    plain_holds_answer,
    variety,
)
from grpo_core import CompositeReward, reward, to_trl

GROUP_SIZE = 8
N_PROMPTS = 16
N_STEPS = 6
PAIRS = 5
SEAM_MS = 8.0
SEAM_PERCENT = 2.0


class Watch:
    """CPU time inside the functions it wraps.

    Attributes:
        seconds: The sum since it was last set to 0.
    """

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, its time taken; its signature stays what it was."""

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds += time.process_time() - start

        return timed


@dataclass
class Clock(transformers.TrainerCallback):
    """What a run took, step by step, without its first one.

    Attributes:
        steps: CPU seconds of each step.
        seams: CPU seconds of the seam in each step; stays 0 in a plain run.
        losses: Loss of every step.
    """

    callables: Watch = field(default_factory=Watch)
    rewards: Watch = field(default_factory=Watch)
    steps: list[float] = field(default_factory=list)
    seams: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    _last: float = 0.0

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        now = time.process_time()
        if self._last:
            self.steps.append(now - self._last)
            self.seams.append(self.callables.seconds - self.rewards.seconds)
        self.callables.seconds = self.rewards.seconds = 0.0
        self._last = now

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if "loss" in logs:
            self.losses.append(logs["loss"])


@dataclass(frozen=True)
class Run:
    """What one training run took and did."""

    step: float
    seam: float
    losses: list[float]
    initial: torch.Tensor
    weights: torch.Tensor


def train(*, ours: bool, chat: bool, folder: str) -> Run:
    """Trains a fresh model; the step and the seam are medians, in CPU seconds."""
    clock = Clock()
    tokenizer = make_tokenizer()
    args = trl.GRPOConfig(
        output_dir=folder,
        per_device_train_batch_size=N_PROMPTS * GROUP_SIZE,
        num_generations=GROUP_SIZE,
        max_completion_length=48,
        max_steps=N_STEPS,
        learning_rate=1e-3,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        disable_tqdm=True,
        seed=0,
    )
    callbacks: list[transformers.TrainerCallback] = [clock]
    if ours:
        timed = clock.rewards.around
        composite = CompositeReward(
            {
                "digits": reward(range=(0.0, 1.0), isolation="inline")(timed(digits)),
                "holds_answer": reward(range=(0.0, 1.0), isolation="inline")(timed(holds_answer)),
                "letters": timed(letters),
                "variety": timed(variety),
            }
        )
        rewards = to_trl(composite, args)
        functions = [_named(clock.callables.around(f.__call__), f) for f in rewards.reward_funcs]
        callbacks += rewards.callbacks
    else:
        functions = [plain_digits, plain_holds_answer, letters, variety]
    model = make_model(tokenizer)
    trainer = trl.GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=functions,
        train_dataset=make_dataset(N_PROMPTS * N_STEPS, chat=chat),
        args=args,
        callbacks=callbacks,
    )
    trainer.remove_callback(PrinterCallback)
    initial = weights_of(model)
    trainer.train()
    step, seam = statistics.median(clock.steps), statistics.median(clock.seams)
    return Run(step, seam, clock.losses, initial, weights_of(model))


def weights_of(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def _named(function: Callable[..., Any], named: Any) -> Callable[..., Any]:
    function.__name__ = named.__name__
    return function


def run() -> list[Line]:
    """Alternates plain and our runs, first on plain text, then on chats."""
    torch.set_num_threads(1)
    logging.getLogger("transformers").setLevel(logging.ERROR)
    lines = []
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(action="ignore"),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        train(ours=True, chat=False, folder=folder)  # warms caches up
        for kind in ("text", "chat"):
            plain, ours = [], []
            for _ in range(PAIRS if kind == "text" else 1):
                plain.append(train(ours=False, chat=kind == "chat", folder=folder))
                ours.append(train(ours=True, chat=kind == "chat", folder=folder))
            lines += compared(kind, plain, ours)
    return lines


def compared(kind: str, plain: Sequence[Run], ours: Sequence[Run]) -> list[Line]:
    """The lines of one kind of prompts."""
    seam_ms = statistics.median(r.seam for r in ours) * 1e3
    step_ms = statistics.median(r.step for r in ours) * 1e3
    first = plain[0]
    moved = len(first.losses) == N_STEPS and not torch.equal(first.weights, first.initial)
    equal = all(
        r.losses == first.losses and torch.equal(r.weights, first.weights) for r in (*plain, *ours)
    )
    n_rows = N_PROMPTS * GROUP_SIZE
    lines = [
        Line(f"{kind}: the seam's own time, {n_rows} completions x 4", seam_ms, "ms", SEAM_MS),
        Line(
            f"{kind}: its share of a step",
            100 * seam_ms / step_ms,
            "%",
            SEAM_PERCENT,
            f"median step {step_ms:.0f} ms on one thread",
        ),
        Line(f"{kind}: losses and weights are plain TRL's, bit for bit", moved and equal),
    ]
    if len(plain) > 1:
        ratios = [o.step / p.step for o, p in zip(ours, plain, strict=True)]
        itself = [b.step / a.step for a, b in itertools.pairwise(plain)]
        shown = f"{len(plain)} pairs of runs, each run's median step; from {spread(ratios)}"
        lines += [
            Line(f"{kind}: our step / TRL's step", statistics.median(ratios), note=shown),
            Line(
                f"{kind}: TRL's step / its own, the run before",
                statistics.median(itself),
                note=f"{len(itself)} pairs; from {spread(itself)}",
            ),
        ]
    return lines


def spread(ratios: Sequence[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}"
