"""A training among rewards that misbehave at random ends, and loses no cell."""

from __future__ import annotations

import pytest
from short_runs import learnt, ours, rewards_file, same, steps, trained

from grpo_core.scoring.pool import shared_pool

BAD = ("Raises", "Hangs", "Ends", "Leaks", "Rubbish")
LIMITS = {"max_failed": 1.0, "memory_mb": 384}


@pytest.fixture(autouse=True)
def no_workers_left():
    yield
    shared_pool().close()


def bad(value):
    """The bad rewards; with value False those that behave give None."""
    rewards = {n.lower(): {"use": rewards_file(n), "options": {"value": value}} for n in BAD}
    rewards["hangs"] |= {"timeout_s": 0.3} | ({} if value else {"on_timeout": "missing"})
    return rewards


def good():
    return {"digits": rewards_file("digits")}


def shares(trainer, name):
    """Of each step: the shares of a reward's cells that were scored, skipped, failed, late."""
    kinds = ("coverage", "skipped", "failed", "timed_out")
    return [tuple(log[f"grpo/{name}/{kind}"] for kind in kinds) for log in steps(trainer)]


@pytest.mark.slow
def test_training_among_bad_rewards_ends_and_accounts_for_every_cell(texts, small):
    small["max_steps"] = 30

    trainer = trained(ours({**good(), **bad(value=True)}, texts, small, limits=LIMITS))
    trainer.composite.close()

    assert trainer.state.global_step == 30
    for name in trainer.composite.names:
        each = shares(trainer, name)
        assert len(each) == 30
        assert [sum(one) for one in each] == pytest.approx([1.0] * 30)
    total = {n: [sum(kind) for kind in zip(*shares(trainer, n), strict=True)] for n in bad(True)}
    assert shares(trainer, "digits") == [(1.0, 0.0, 0.0, 0.0)] * 30
    # Each misbehaved, and was caught at what it does.
    assert total["raises"][2] > 1
    assert total["rubbish"][2] > 1
    assert total["ends"][2] > 0
    assert total["hangs"][3] > 0
    assert total["leaks"][0] > 25


@pytest.mark.slow
def test_training_among_bad_rewards_without_a_value_is_the_training_without_them(texts, small):
    small["max_steps"] = 30

    alone = trained(ours(good(), texts, small))
    among = trained(ours({**good(), **bad(value=False)}, texts, small, limits=LIMITS))
    among.composite.close()

    assert learnt(alone)
    assert same(alone, among)
    assert all(log[f"grpo/{n}/coverage"] == 0.0 for n in bad(False) for log in steps(among))
