"""Ctrl-C and close while programs run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from grpo_reward_code import TestsPass

from grpo_core import Completion

_SLEEPERS = """
from grpo_core import Completion, load_reward
from grpo_reward_code import TestsPass
tests = [{"type": "stdin_stdout", "input": "", "output": ""}] * 2
code = "import time; time.sleep(60)"
options = {"extract": "whole", "limits": {"cpu_s": 30}}
"""
_READY = "\nprint('ready', flush=True)\n"
_ITSELF = "reward = TestsPass(**options)" + _READY
_CALLS = {
    "itself": _ITSELF + "reward([Completion(code)] * 8, [tests] * 8)",
    "asserts": (
        _ITSELF + "reward([Completion(code + '\\ndef f(): pass')] * 8, [['assert f()']] * 8)"
    ),
    # Scores once before: with its boxes a worker tries whether a program gets out of them.
    "by the core": (
        "reward = load_reward('code/tests_pass', options=options, timeout_s=600)\n"
        "assert reward('pass', tests=tests).value == 1.0" + _READY + "reward(code, tests=tests * 4)"
    ),
}


@pytest.mark.parametrize("how", list(_CALLS))
def test_ctrl_c_ends_the_programs_and_begins_no_more(how, until_a_program_runs):
    with subprocess.Popen(
        [sys.executable, "-c", _SLEEPERS + _CALLS[how]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as ran:
        assert ran.stdout.readline() == "ready\n"
        until_a_program_runs(ran.pid)
        ran.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, errors = ran.communicate(timeout=120)
    assert "KeyboardInterrupt" in errors
    assert time.monotonic() - began < 40.0  # each program would have taken 60 s


def test_close_from_another_thread_ends_a_batch(until_a_program_runs):
    # Boxes of its own: those that other rewards of the process hold stay open.
    reward = TestsPass(extract="whole", limits={"cpu_s": 30}, preload=("fractions",))
    codes = [Completion("import time; time.sleep(60)")] * 8
    tests = [[{"type": "stdin_stdout", "input": "", "output": ""}]] * 8
    # The boxes are there before: what is closed while they start opens new ones.
    assert reward([Completion("pass")], tests[:1])[0].value == 1.0
    scored: list[object] = []
    batch = threading.Thread(target=lambda: scored.extend(reward(codes, tests)))
    batch.start()
    until_a_program_runs(os.getpid())
    began = time.monotonic()
    reward.close()
    batch.join(120.0)
    assert not batch.is_alive()
    assert time.monotonic() - began < 40.0
    assert [each.reason.startswith("the sandbox failed") for each in scored] == [True] * 8


def test_reward_can_be_used_after_an_interrupt():
    reward = TestsPass(extract="whole")
    tests = [[{"type": "stdin_stdout", "input": "", "output": "4"}]]
    try:
        reward._settings.boxes().interrupt()
        assert reward([Completion("print(4)")], tests)[0].value == 1.0
    finally:
        reward.close()
