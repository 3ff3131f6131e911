"""What the tests of this folder share: boxes, and when a program runs in some."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from grpo_reward_code.sandbox.boxes import Boxes
from grpo_reward_code.shared import Lease


@pytest.fixture(scope="session")
def boxes() -> Iterator[Boxes]:
    lease = Lease(None, "auto", ())
    yield lease.boxes()
    lease.close()


@pytest.fixture(scope="session")
def until_a_program_runs() -> Callable[[int], None]:
    """Waits until a program runs in the boxes of a process, which are open already."""

    def wait(owner: int) -> None:
        end = time.monotonic() + 60
        while not any(_is_shut_in(pid) for pid in _below(owner)):
            assert time.monotonic() < end, "no program was started"
            time.sleep(0.01)

    return wait


def _below(pid: int) -> list[int]:
    """Processes whose ancestor this is."""
    found = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            children = Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
            for child in map(int, children):
                found += [child, *_below(child)]
    return found


def _is_shut_in(pid: int) -> bool:
    """Whether it has the filter of system calls, the last wall of a program before it runs.

    A worker has none: that there is a process below the trainer, or below a worker, says nothing.
    """
    with contextlib.suppress(OSError):
        return _n_filters(str(pid)) > _n_filters("self")
    return False


def _n_filters(pid: str) -> int:
    found = re.search(r"Seccomp_filters:\t(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found.group(1)) if found else 0
