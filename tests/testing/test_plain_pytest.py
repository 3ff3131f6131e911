"""A contract in plain pytest: collected, quick, with warnings as errors, without a plugin."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

import grpo_core

REWARD = '''
from grpo_core import Completion, reward


@reward
def ends_cleanly(completion: Completion) -> float:
    """1.0 if the text ends in sentence punctuation, else 0.0."""
    return float(completion.text.rstrip().endswith((".", "!", "?")))
'''
CONTRACT = """
from endstop import ends_cleanly

from grpo_core.testing import RewardContract


class EndsCleanly(RewardContract):
    reward = ends_cleanly
    good = ("It is done.", "Why not?  ")
    bad = ("", "It is", "so. then")
    waived = {waived}
"""


@pytest.fixture
def run(tmp_path):
    """Runs a contract in a pytest of its own; returns exit code and output."""

    def run(waived: str = "{}", *arguments: str) -> tuple[int, str]:
        (tmp_path / "endstop.py").write_text(REWARD)
        (tmp_path / "test_endstop.py").write_text(CONTRACT.format(waived=waived))
        root = os.path.dirname(os.path.dirname(grpo_core.__file__))
        flags = ("-W", "error", "-rs", "--durations=0", "-vv", "-p", "no:cacheprovider")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *flags, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([root, str(tmp_path)])},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_contract_of_a_simple_reward_passes_quickly(run, mode):
    code, output = run("{}", f"--import-mode={mode}")

    assert code == 0, output
    assert "22 passed, 5 skipped" in output
    seconds = sum(float(s) for s in re.findall(r"(?m)^([\d.]+)s (?:call|setup|teardown)", output))
    assert seconds < 1.5, output


def test_contract_waived_test_that_passes_fails_since_the_reason_is_stale(run):
    code, output = run("{'test_junk_is_survived': 'it is only given poems'}")

    assert code == 1
    assert "[XPASS(strict)] waived: it is only given poems" in output
    assert "1 failed, 21 passed, 5 skipped" in output


def test_contract_waived_test_that_fails_does_not_fail_the_run(run):
    code, output = run("{'test_import_is_light': 'it is heavy'}\n    max_import_seconds = 0.0")

    assert code == 0, output
    assert "21 passed, 5 skipped, 1 xfailed" in output


def test_contract_that_drops_a_test_without_a_reason_is_an_error(run):
    code, output = run("{}\n    test_junk_is_survived = None")

    assert code == 2
    assert "EndsCleanly replaces the contract's test_junk_is_survived; say why" in output
