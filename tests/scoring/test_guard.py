"""`Guard`: kills process groups once its end of a pipe is closed, and only those it was told."""

import os
import subprocess

import pytest
from pool_jobs import is_gone

from grpo_core.scoring.guard import Guard


@pytest.fixture
def sleepers():
    """Three programs, each in a group of its own."""
    programs = [subprocess.Popen(["sleep", "1000"], start_new_session=True) for _ in range(3)]
    yield programs
    for program in programs:
        program.kill()
        program.wait()


def test_guard_kills_the_groups_that_it_watches_at_the_end(sleepers):
    guard = Guard()
    for program in sleepers:
        guard.watch(program.pid)
    guard.forget(sleepers[1].pid)

    os.close(guard._write)  # as the end of this process would
    guard._process.wait()

    assert [program.wait(60) for program in (sleepers[0], sleepers[2])] == [-9, -9]
    assert sleepers[1].poll() is None


def test_guard_that_is_closed_leaves_no_process():
    guard = Guard()

    guard.close()

    assert is_gone(guard._process.pid)


def test_guard_whose_shell_was_killed_raises_nothing(sleepers):
    guard = Guard()
    guard._process.kill()
    guard._process.wait()

    guard.watch(sleepers[0].pid)
    guard.close()

    assert sleepers[0].poll() is None
