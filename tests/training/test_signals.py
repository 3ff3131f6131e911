"""`grpo train` that is stopped by a signal: the checkpoint, what is said, and the exit code."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from test_run import project  # noqa: F401

from grpo_core.training.interrupts import Interrupts
from grpo_core.training.ranks import Ranks, TerminatedError


def signals(*numbers: int) -> str:
    """A reward that sends its process the signals in the second step."""
    sent = "".join(f"        os.kill(os.getpid(), {int(number)})\n" for number in numbers)
    return (
        "import os\n\nseen = []\n\ndef stop(completions):\n    seen.append(1)\n"
        f"    if len(seen) == 2:\n{sent}    return [0.5] * len(completions)\n"
    )


def trained(folder, *numbers):
    (folder / "rewards.py").write_text(signals(*numbers))
    return subprocess.run(
        [
            sys.executable,
            *("-c", "from grpo_core.cli import main; main()", "train", "run.toml"),
            *("--set", "rewards.correct.use=rewards.py:stop"),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "word", "code"),
    [(signal.SIGINT, "interrupted", 130), (signal.SIGTERM, "terminated", 143)],
)
def test_train_signal_saves_the_last_whole_step(project, number, word, code):  # noqa: F811
    ran = trained(project, number)

    checkpoint = "runs/first/checkpoints/checkpoint-1"
    assert ran.returncode == code, ran.stderr
    assert f"{word} after step 1; run: runs/first; checkpoint: {checkpoint}\n" in ran.stdout
    assert (project / checkpoint / "optimizer.pt").is_file()
    assert "Traceback" not in ran.stderr
    recorded = [p.name for p in (project / "runs/first/completions").iterdir()]
    assert recorded == ["step-000001-r0.parquet"]


def test_signal_in_an_update_waits_for_its_end():
    interrupts = Interrupts(Ranks(1.0))
    with interrupts:
        interrupts.on_pre_optimizer_step(None, None, None)
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(TerminatedError):
            interrupts.on_step_end(None, SimpleNamespace(), SimpleNamespace(should_log=False))


def test_signal_in_a_step_waits_for_its_log():
    interrupts = Interrupts(Ranks(1.0))
    with interrupts:
        interrupts.on_pre_optimizer_step(None, None, None)
        os.kill(os.getpid(), signal.SIGTERM)
        interrupts.on_step_end(None, SimpleNamespace(), SimpleNamespace(should_log=True))
        with pytest.raises(TerminatedError):
            interrupts.on_log(None, SimpleNamespace(), None)


def test_second_signal_in_an_update_ends_at_once():
    interrupts = Interrupts(Ranks(1.0))
    with interrupts:
        interrupts.on_pre_optimizer_step(None, None, None)
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_signals_are_given_back():
    before = signal.getsignal(signal.SIGTERM)
    with Interrupts(Ranks(1.0)):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
