"""A training stops where a reward fails too often, with its name, three rows and a checkpoint."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import pytest
from batches import PATIENT_S, wait_until
from rewards_to_build import is_stuck
from short_runs import column, ours, rewards_file, theirs, trained

from grpo_core import Completion, Fail, reward
from grpo_core.errors import ConfigError, RewardError
from grpo_core.scoring.abandoned import abandoned


def length(completions, **kwargs):
    return [float(len(text)) for text in completions]


@pytest.fixture
def failing():
    """Fails on five of the eight rows of the second batch, for reasons of their own."""
    count = []

    @reward(isolation="inline")
    def failing(completion: Completion) -> float | Fail:
        """See above."""
        count.append(completion)
        return Fail(f"no {len(count)}") if 8 < len(count) <= 13 else len(count) % 2

    return failing


@pytest.fixture
def end():
    """Lets what hangs go on, at the end of the test."""
    end = threading.Event()
    yield end
    end.set()
    wait_until(lambda: abandoned() == 0)


@pytest.mark.parametrize("host", [ours, theirs], ids=["GRPOTrainer", "to_trl"])
def test_budget_stops_the_run_with_reward_and_three_rows(texts, small, failing, host):
    small["max_steps"] = 3
    trainer = host({"judge": failing, "length": length}, texts, small, limits={"max_failed": 0.5})

    with pytest.raises(RewardError) as caught:
        trainer.train()

    lines = str(caught.value).splitlines()
    assert lines[0].startswith("reward 'judge' (function in ")
    assert lines[0].endswith(") failed on 5 of 8 completions:")
    assert lines[1:4] == ["  row 0: no 9", "  row 1: no 10", "  row 2: no 11"]
    assert lines[4] == "more than max_failed = 0.5 of a batch"
    assert trainer.state.global_step == 1
    if host is ours:
        checkpoint = Path(small["output_dir"]) / "checkpoint-1"
        assert lines[5] == f"training stopped after step 1; checkpoint: {checkpoint}"
        assert (checkpoint / "model.safetensors").is_file()


def test_budget_that_is_just_kept_does_not_stop_the_run(texts, small, failing):
    small["max_steps"] = 3
    trainer = trained(ours({"judge": failing}, texts, small, limits={"max_failed": 0.625}))

    assert column(trainer, "grpo/judge/failed") == [0.0, 0.625, 0.0]


def test_checkpoint_of_a_stopped_run_can_be_resumed(texts, small, failing):
    small["max_steps"] = 3
    with pytest.raises(RewardError):
        ours({"judge": failing}, texts, small).train()

    again = ours({"length": length}, texts, small)
    checkpoint = str(Path(small["output_dir"]) / "checkpoint-1")
    with pytest.raises(ConfigError, match=r"rewards.judge was there and is not"):
        again.train(resume_from_checkpoint=checkpoint)
    again.train(resume_from_checkpoint=checkpoint, allow_changed=True)

    assert again.state.global_step == 3


def test_on_error_raise_stops_at_the_first_failed_cell(texts, small, failing):
    rewards = {"judge": {"use": failing, "on_error": "raise"}}
    trainer = ours(rewards, texts, small, limits={"max_failed": 1.0})

    with pytest.raises(RewardError) as caught:
        trainer.train()

    text = str(caught.value)
    assert "reward 'judge' (function in " in text
    assert '  row 0: no 9\n  row 1: no 10\n  row 2: no 11\nits on_error is "raise"\n' in text
    assert "checkpoint-1" in text


def test_on_error_number_trains_on_it(texts, small, failing):
    rewards = {"judge": {"use": failing, "on_error": 0.25}}
    trainer = trained(ours(rewards, texts, small, limits={"max_failed": 1.0}))

    assert column(trainer, "grpo/judge/failed") == [0.0, 0.625]
    # 5 cells of 0.25, then the counts 14, 15, 16: 0, 1, 0.
    assert column(trainer, "rewards/judge/mean")[1] == pytest.approx(2.25 / 8)


@pytest.mark.parametrize(("on_timeout", "value"), [("low", -1.0), ("missing", None), (0.5, 0.5)])
def test_late_cell_counts_as_the_config_says(texts, small, on_timeout, value):
    """The low end by default: a neutral value would pay the model for stalling the checker."""
    seen = []

    def look(completions, **kwargs):
        seen.extend(completions)
        return [0.0] * len(completions)

    small["max_steps"] = 1
    late = {"use": rewards_file("checks")} | (
        {} if on_timeout == "low" else {"on_timeout": on_timeout}
    )
    limits = {"max_failed": 1.0}
    trainer = trained(ours({"late": late, "look": look}, texts, small, limits=limits))
    trainer.composite.close()

    stuck = [is_stuck(text) for text in seen]
    assert 0 < sum(stuck) < 8
    given = [value if late else 1.0 for late in stuck]
    present = [number for number in given if number is not None]
    assert column(trainer, "grpo/late/timed_out") == [sum(stuck) / 8]
    assert column(trainer, "grpo/late/coverage") == [1 - sum(stuck) / 8]
    assert column(trainer, "grpo/late/raw_mean") == [sum(present) / len(present)]


def test_three_hanging_threads_stop_the_run(texts, small, end):
    """One call hangs in each of the first three batches: the fourth is not begun."""
    count = itertools.count()

    @reward(isolation="thread", timeout_s=PATIENT_S)
    def judge(completion: Completion) -> float:
        """Waits in the first call of a batch."""
        if next(count) % 8 == 0:
            end.wait()
        return 0.5

    small["max_steps"] = 5
    trainer = ours({"judge": judge, "length": length}, texts, small)

    with pytest.raises(RewardError) as caught:
        trainer.train()

    text = str(caught.value)
    assert text.startswith("3 calls that were late still run in this process and cannot be ended: ")
    assert "3 of reward 'judge'" in text
    assert 'isolation = "process"' in text
    assert f"checkpoint: {Path(small['output_dir']) / 'checkpoint-3'}" in text
    assert column(trainer, "grpo/judge/timed_out") == [0.125] * 3


def test_hanging_threads_of_a_shadow_do_not_stop_the_run(texts, small, end):
    @reward(isolation="thread", timeout_s=0.05)
    def judge(completion: Completion) -> float:
        """Never comes back."""
        end.wait()
        return 0.5

    small["max_steps"] = 3
    rewards = {"judge": {"use": judge, "shadow": True}, "length": length}
    trainer = trained(ours(rewards, texts, small))

    assert trainer.state.global_step == 3
    assert column(trainer, "grpo/judge/timed_out") == [1.0] * 3
    assert abandoned() <= 8
