"""Rewards for the tests of trainings; the workers build them from this file."""

import os
import signal
import sys
import time
import zlib
from fractions import Fraction
from pathlib import Path

from grpo_core import Completion, Fail, Score, Skip, reward

_kept = []


def chance(completion, salt):
    """A number in [0, 1) that only the completion and the salt decide."""
    text = f"{salt} {completion.prompt} {completion.text}"
    return zlib.crc32(text.encode()) / 2**32


class _Bad:
    """Misbehaves with a share of the completions, and gives the others a value or None.

    `chance` decides, so that a second try does the same.
    """

    share = 0.25

    def __init__(self, *, value: bool = True):
        self.value = value

    def __call__(self, completion):
        at = chance(completion, type(self).__name__)
        if at < self.share:
            return self.misbehave(at / self.share)
        return at if self.value else None

    def misbehave(self, at):
        raise NotImplementedError


@reward(range=(0.0, 1.0))
class Raises(_Bad):
    """Raises what a program may raise, and what would end one."""

    def misbehave(self, at):
        if at < 0.2:
            self.misbehave(at)
        raise (ValueError, KeyError, SystemExit, KeyboardInterrupt)[int(4 * at)](f"at {at:.2f}")


@reward(range=(0.0, 1.0))
class Hangs(_Bad):
    """Does not come back."""

    share = 0.02

    def misbehave(self, at):
        time.sleep(1000)


@reward(range=(0.0, 1.0))
class Ends(_Bad):
    """Ends its process."""

    share = 0.02

    def misbehave(self, at):
        os._exit(int(3 * at))


@reward(range=(0.0, 1.0))
class Leaks(_Bad):
    """Keeps 16 MB of what it made."""

    share = 0.5

    def misbehave(self, at):
        _kept.append(bytearray(16 << 20))
        return at if self.value else None


@reward(range=(0.0, 1.0))
class Rubbish(_Bad):
    """Returns what is no reward."""

    def misbehave(self, at):
        kinds = ["1.0", [at], {"score": at}, float("nan"), float("inf"), 2.0, at * 1j, Score, self]
        return kinds[int(len(kinds) * at)]


@reward(range=(0.0, 1.0))
def digits(completion: Completion) -> float:
    """Share of digits, a reward that a tiny model can learn."""
    return sum(c.isdigit() for c in completion.text) / max(1, len(completion.text))


@reward(range=(0.0, 1.0))
def sometimes(completion: Completion) -> float | Skip | Fail | Fraction:
    """A number for some completions; the others are skipped or fail."""
    at = chance(completion, "sometimes")
    if at < 0.3:
        return Skip("not today")
    if at < 0.6:
        return Fail("broken")
    return Fraction(3, 4) if at < 0.8 else 0.0


@reward(range=(0.0, 1.0))
def tells_its_process(completion: Completion, *, folder: str) -> float:
    """Leaves the number of its process as the name of a file."""
    pids = Path(folder) / "pids"
    pids.mkdir(exist_ok=True)
    (pids / str(os.getpid())).touch()
    return chance(completion, "judge")


@reward(range=(0.0, 1.0), timeout_s=1000)
def hangs_and_tells_its_process(completion: Completion, *, folder: str) -> float:
    """Does not come back, and ignores what asks it to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tells_its_process(completion, folder=folder)
    time.sleep(1000)
    return 1.0


@reward
def exits_with_success(completion: Completion) -> float:
    """Asks its program to end well."""
    sys.exit(0)


@reward
def bounds_itself_by_an_alarm(completion: Completion) -> Score:
    """Bounds its own work as verifiers of mathematics do."""

    def late(signum: int, frame: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        time.sleep(10)
    except TimeoutError:
        return Score(0.0, "limit: 0.05 s")
    return Score(1.0)


@reward
def has_a_metric_called_reward(completion: Completion) -> Score:
    """0.5."""
    return Score(0.5, metrics={"reward": 999.0})


def is_stuck(text: str) -> bool:
    """Whether `checks` does not come back from this text: about one of four."""
    return zlib.crc32(text.encode()) % 4 == 0


@reward(range=(-1.0, 1.0), timeout_s=0.3)
def checks(completion: Completion) -> float:
    """1.0, or nothing at all."""
    if is_stuck(completion.text):
        time.sleep(1000)
    return 1.0
