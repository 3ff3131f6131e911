"""Rewards for the tests of the worker pool, and a way to run one and wait for what became of it.

The workers build them from this file.
"""

import ctypes
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from grpo_core.completion import Completion
from grpo_core.discovery import PluginFilter
from grpo_core.outcome import Fail, Score, Skip
from grpo_core.reward import reward
from grpo_core.scoring.calls import Call
from grpo_core.scoring.recipe import Recipe

WAIT_S = 120  # for what should take a second; the machine may be busy


def recipe(name, *, options=None, constants=None, file=__file__, source_sha256=None):
    return Recipe(f"{file}:{name}", options or {}, constants or {}, PluginFilter(), source_sha256)


def calls(inputs):
    return [Call((Completion(f"text {i}"),), given) for i, given in enumerate(inputs)]


def begin(pool, name, inputs, timeout_s=30.0, **kwargs):
    """Submits one call for each of the inputs; returns the ticket and where the result comes."""
    results = queue.Queue()
    made = recipe(name, **kwargs) if isinstance(name, str) else name
    return pool.submit(made, calls(inputs), timeout_s, results.put), results


def run(pool, name, inputs, timeout_s=30.0, **kwargs):
    """The outcome of each call."""
    _, results = begin(pool, name, inputs, timeout_s, **kwargs)
    return [outcome for done in results.get(timeout=WAIT_S) for outcome in done.outcomes]


def values(pool, name, inputs, timeout_s=30.0, **kwargs):
    return [outcome.value for outcome in run(pool, name, inputs, timeout_s, **kwargs)]


def is_gone(pid):
    """Whether a process has ended, or ends in time."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":  # a child of this process that was not waited for would stay one
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                return True
            return False
        time.sleep(0.02)
    return False


# The rewards


@reward(range=(0.0, 1e9))
def double(completion, x: float):
    return 2 * x


@reward(range=(0.0, 1e9))
def process_id(completion, seconds: float = 0.0):
    time.sleep(seconds)
    return os.getpid()


@reward(range=(0.0, 1e9))
def meets(completion, folder: str, n: int):
    """Waits until it was called in so many processes; its value is the number of this one."""
    Path(folder, str(os.getpid())).touch()
    end = time.monotonic() + WAIT_S
    while len(os.listdir(folder)) < n and time.monotonic() < end:
        time.sleep(0.01)
    return os.getpid()


@reward(range=(0.0, 1e9))
def length(completion):
    return len(completion.text)


@reward
def kinds(completion, kind: str):
    return {
        "score": Score(0.5, "half", {"parts": 2}),
        "skip": Skip("no gold"),
        "fail": Fail("service down"),
        "none": None,
        "nan": float("nan"),
    }[kind]


@reward(range=(0.0, 1e9), scope="group")
def places(completions, x: list):
    return [10 * place + value for place, value in enumerate(x)]


@reward
def prints_past(completion, n_bytes: int):
    """Prints one long line on the stream that Python began with."""
    print("x" * n_bytes, file=sys.__stdout__, flush=True)
    return 1.0


@reward
def sleeps(completion, seconds: float):
    time.sleep(seconds)
    return 1.0


@reward
def sleeps_once(completion, mark: str):
    """Hangs in its first try, and in no other process."""
    if mark and not os.path.exists(mark):
        Path(mark).touch()
        time.sleep(1000)
    return 1.0


@reward
def ends_once(completion, mark: str):
    if mark and not os.path.exists(mark):
        Path(mark).touch()
        os._exit(7)
    return 1.0


@reward
def counted(completion, folder: str, i: int, bad: str = ""):
    """Leaves a file for each try."""
    tempfile.mkstemp(dir=folder, prefix=f"{i}-")
    if bad == "hang":
        time.sleep(1000)
    return 1.0


@reward
def holds_the_interpreter(completion, hard: bool):
    return 1.0 if re.match(r"(a+)+$", "a" * 60 + "b") else 0.0 if hard else 1.0


@reward
def ends(completion, how: str):
    if how == "exit":
        os._exit(3)
    elif how == "exit after a fork":
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(3)
    elif how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "segfault":
        ctypes.string_at(0)
    elif how == "sys.exit":
        sys.exit(0)
    elif how == "interrupt":
        raise KeyboardInterrupt
    elif how == "SIGINT":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    elif how == "recursion":

        def deeper():
            return deeper() + 1

        deeper()
    return 1.0


@reward(range=(0.0, 1e9))
def takes_memory(completion, megabytes: int):
    bytearray(megabytes << 20)
    return os.getpid()


@reward(range=(0.0, 1e9))
def starts_a_program(completion):
    """Starts a program that outlives the call; its value is the number of its process."""
    return subprocess.Popen(["sleep", "1000"]).pid


@reward
def starts_a_program_and_hangs(completion, file: str):
    Path(file).write_text(str(subprocess.Popen(["sleep", "1000"]).pid))
    time.sleep(1000)


@reward
def prints(completion, lines: int, line: str = "x" * 99):
    for _ in range(lines):
        print(line)
    return 1.0


@reward(range=(0.0, 1e9))
def environment(completion, name: str):
    return Skip(os.environ.get(name, "unset"))


@reward
def search_path(completion):
    return Skip(os.pathsep.join(sys.path)[:400])


@reward
def reads_stdin(completion):
    return float(sys.stdin.read() == "")


@reward
class Builds:
    """Notes each time it is built and closed."""

    def __init__(self, *, folder: str, seconds: float = 0.0):
        self.folder = folder
        tempfile.mkstemp(dir=folder, prefix="built-")
        time.sleep(seconds)

    def __call__(self, completion):
        time.sleep(0.01)
        return 1.0

    def close(self):
        tempfile.mkstemp(dir=self.folder, prefix="closed-")


@reward
class ClosesLate:
    def __call__(self, completion):
        return 1.0

    def close(self):
        time.sleep(1000)


@reward
class CannotBeBuilt:
    def __init__(self, *, how: str):
        if how == "exit":
            os._exit(4)
        if how == "sys.exit":
            sys.exit(0)
        raise ValueError("no such model")

    def __call__(self, completion):
        return 1.0
