"""Short trainings with both trainers, what they logged and the weights they end with.

Rewards that workers are to build are named by their file: `REWARDS("raises")`.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
import trl
from tiny_model import make_model, make_tokenizer

from grpo_core import CompositeReward, GRPOConfig, GRPOTrainer, to_trl


def rewards_file(name):
    """The full name of a reward of `rewards_to_build.py`."""
    return f"{Path(__file__).with_name('rewards_to_build.py')}:{name}"


def ours(rewards, dataset, small, **kwargs):
    """Our trainer, not yet trained."""
    if isinstance(rewards, dict):
        rewards = CompositeReward(rewards, **kwargs.pop("limits", {}))
    return GRPOTrainer(
        make_model(), rewards, GRPOConfig(**small), dataset, tokenizer=make_tokenizer(), **kwargs
    )


def theirs(rewards, dataset, small, **kwargs):
    """TRL's trainer with our rewards, not yet trained."""
    args = trl.GRPOConfig(**small)
    record = kwargs.pop("record", "off")
    made = to_trl(CompositeReward(rewards, **kwargs.pop("limits", {})), args, record=record)
    return plain(made.reward_funcs, dataset, args, callbacks=made.callbacks, **kwargs)


def plain(functions, dataset, args, **kwargs):
    """TRL's trainer with TRL's rewards, not yet trained."""
    return trl.GRPOTrainer(
        make_model(), functions, args, dataset, processing_class=make_tokenizer(), **kwargs
    )


def trained(trainer):
    """The trainer after its training."""
    trainer.train()
    return trainer


def weights(trainer):
    return [p.detach() for p in trainer.model.parameters()]


def same(first, second):
    """Whether two trainers end with the same weights, bit for bit."""
    pairs = zip(weights(first), weights(second), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def learnt(trainer):
    """Whether the training changed any weight; else a comparison would prove nothing."""
    return not same(trainer, type("Fresh", (), {"model": make_model()}))


def steps(trainer):
    """What was logged of each step of training."""
    return [log for log in trainer.state.log_history if "loss" in log]


def column(trainer, metric):
    """A metric, step by step; None where it was not logged."""
    return [log.get(metric) for log in steps(trainer)]


def metrics_file(small, run="run-001"):
    """The lines of a run's metrics."""
    path = Path(small["output_dir"]) / run / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def said(caplog):
    """What grpo_core warned of, without what is said at the start of each run."""
    texts = [r.getMessage() for r in caplog.records if r.name == "grpo_core"]
    return [t for t in texts if not t.startswith(("defaults that differ", "kl_coef is 0:"))]
