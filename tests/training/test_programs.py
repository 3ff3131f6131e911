"""Programs that train with a reward in worker processes, however they are started and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pool_jobs import is_gone

HERE = Path(__file__).parent
WAIT_S = 600  # a program imports torch and TRL first

# No guard: whatever starts it again would train again.
SETUP = f"""
import sys, os
sys.path[:0] = [{str(HERE)!r}]
print("begin", flush=True)
from datasets import Dataset
from transformers import TrainerCallback
from short_runs import ours, rewards_file, steps
class Say(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        print("step", state.global_step, flush=True)
def run(n, reward="tells_its_process"):
    texts = Dataset.from_dict({{"prompt": [f"{{i}}+1=" for i in range(8)]}})
    small = dict(
        output_dir=OUT, per_device_train_batch_size=4, gradient_accumulation_steps=1,
        num_generations=4, max_completion_length=4, max_steps=n, beta=0.0, bf16=False,
        report_to="none", save_strategy="no", disable_tqdm=True, gradient_checkpointing=False,
        dataloader_pin_memory=False, logging_steps=1,
    )
    judge = {{"use": rewards_file(reward), "options": {{"folder": OUT}}, "timeout_s": 1000.0}}
    rewards = {{"judge": judge}}
    trainer = ours(rewards, texts, small, callbacks=[Say()])
    trainer.train()
    assert [log["grpo/judge/coverage"] for log in steps(trainer)] == [1.0] * n
    print("trained", trainer.state.global_step, flush=True)
"""
PLAIN = "run(2)\n"
LOOP = """
import asyncio
async def main():
    run(1)  # as a notebook does: the loop runs, and the cell blocks it
asyncio.run(main())
"""
THREAD_BESIDE_A_LOOP = """
import asyncio
async def main():
    await asyncio.to_thread(run, 1)
asyncio.run(main())
"""
FOREVER = "run(100000)\n"
STUCK = "run(100000, 'hangs_and_tells_its_process')\n"


def program(code, out):
    out.mkdir()
    return SETUP.replace("OUT", repr(str(out))) + code


def workers(out):
    """Numbers of the processes that the rewards ran in."""
    return [int(path.name) for path in out.glob("pids/*")]


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def done(arguments, **kwargs):
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        env=environment(),
        check=False,
        **kwargs,
    )


def check_trained(result, out, steps):
    assert result.returncode == 0, result.stderr
    assert f"trained {steps}\n" in result.stdout
    assert result.stdout.count("begin") == 1  # no worker ran the program again
    assert workers(out)
    assert all(is_gone(pid) for pid in workers(out))
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_script_without_a_guard_trains(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(program(PLAIN, tmp_path / "out"))

    check_trained(done([str(script)]), tmp_path / "out", 2)


@pytest.mark.slow
def test_text_from_stdin_trains_under_a_running_loop(tmp_path):
    text = program(LOOP, tmp_path / "out")

    check_trained(done(["-"], input=text), tmp_path / "out", 1)


@pytest.mark.slow
def test_text_of_an_argument_trains_in_a_thread_beside_a_loop(tmp_path):
    text = program(THREAD_BESIDE_A_LOOP, tmp_path / "out")

    check_trained(done(["-c", text]), tmp_path / "out", 1)


@pytest.mark.slow
def test_script_trains_under_torchrun(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(program(PLAIN, tmp_path / "out"))
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "1"]

    check_trained(done([*torchrun, str(script)]), tmp_path / "out", 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "how"),
    [(FOREVER, signal.SIGINT), (STUCK, signal.SIGINT), (STUCK, signal.SIGKILL)],
    ids=["Ctrl-C", "Ctrl-C in a call", "kill -9"],
)
def test_training_that_is_ended_leaves_no_worker(tmp_path, code, how):
    out, script = tmp_path / "out", tmp_path / "script.py"
    script.write_text(program(code, out))
    with (tmp_path / "stderr").open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, str(script)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=environment(),
        )
        assert process.stdout is not None
        end = time.monotonic() + WAIT_S
        while not workers(out) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        process.send_signal(how)
        started = time.monotonic()
        process.wait(WAIT_S)
        took_s = time.monotonic() - started
        process.stdout.close()

    assert process.returncode == -how
    assert workers(out)
    assert all(is_gone(pid) for pid in workers(out))
    assert took_s < 300  # it waits neither for the call nor for its deadline
    if how == signal.SIGINT:
        assert (tmp_path / "stderr").read_text().rstrip().endswith("KeyboardInterrupt")
