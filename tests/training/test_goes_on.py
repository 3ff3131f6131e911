"""What a notebook does: interrupt a training and train again, close and evaluate, resume."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from short_runs import column, metrics_file, ours, rewards_file, same, theirs, trained

from grpo_core import Completion, reward

HOSTS = pytest.mark.parametrize("host", [ours, theirs], ids=["GRPOTrainer", "to_trl"])


def length(completions, **kwargs):
    return [float(len(text)) for text in completions]


def in_a_worker(name, folder):
    return {"judge": {"use": rewards_file(name), "options": {"folder": str(folder)}}}


def open_files(small):
    """Files of the run that this process holds open."""
    links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    paths = [os.readlink(link) for link in links if os.path.islink(link)]
    return [path for path in paths if path.startswith(small["output_dir"])]


@HOSTS
def test_training_that_was_interrupted_in_a_call_can_be_followed_by_another(
    texts, small, tmp_path, host
):
    """As when a cell of a notebook is stopped and run again: the kernel and its workers stay."""
    stuck = host(in_a_worker("hangs_and_tells_its_process", tmp_path), texts, small)

    def interrupt():
        end = time.monotonic() + 300
        while not list(tmp_path.glob("pids/*")) and time.monotonic() < end:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        stuck.train()
    thread.join()
    assert open_files(small) == []
    again = trained(host(in_a_worker("tells_its_process", tmp_path), texts, small))

    assert column(again, "grpo/judge/coverage") == [1.0, 1.0]


def test_rewards_that_were_closed_are_opened_by_the_next_call(texts, small, tmp_path):
    trainer = trained(ours(in_a_worker("tells_its_process", tmp_path), texts, small))
    trainer.composite.close()
    trainer.args.per_device_eval_batch_size = 8

    logged = trainer.evaluate(texts.select([0, 1]))

    assert logged["eval_grpo/judge/coverage"] == 1.0
    assert open_files(small) == []
    assert metrics_file(small)[-1]["eval_grpo/judge/coverage"] == 1.0


@HOSTS
def test_schedule_of_a_resumed_run_goes_on_at_its_step(texts, small, host):
    @reward(isolation="inline", range=(0.0, 100.0))
    def n_characters(completion: Completion) -> float:
        """Length of the text."""
        return float(len(completion.text))

    small |= {"max_steps": 4, "save_strategy": "steps", "save_steps": 2}
    weight = {"start": 0.0, "end": 1.0, "steps": 4}
    rewards = {"length": {"use": n_characters, "weight": weight}}
    whole = trained(host(rewards, texts, small))

    resumed = host(rewards, texts, small)
    resumed.train(resume_from_checkpoint=str(Path(small["output_dir"]) / "checkpoint-2"))

    assert column(resumed, "grpo/length/weight") == [0.0, 0.25, 0.5, 0.75]
    assert column(whole, "grpo/length/weight") == [0.0, 0.25, 0.5, 0.75]
    assert same(whole, resumed)


@HOSTS
def test_async_rewards_train(texts, small, host):
    @reward
    async def tagged(completion: Completion, answer: str) -> float:
        """Waits."""
        await asyncio.sleep(0.001)
        return len(completion.text) / 8

    async def untagged(completions, answer, **kwargs):
        await asyncio.sleep(0.001)
        return [float(len(text)) for text in completions]

    waiting = trained(host({"a": tagged, "b": untagged}, texts, small))
    plain = trained(host({"b": {"use": length, "weight": 1.125}}, texts, small))

    assert column(waiting, "grpo/a/coverage") == column(waiting, "grpo/b/coverage") == [1.0, 1.0]
    assert column(waiting, "reward") == pytest.approx(column(plain, "reward"))
