"""`Ranks`: the processes of a training, and the few things that they tell each other.

Each exchange is one that all processes come to, whatever happened in them: an error in one of them
travels with it and is raised in all. So none waits for another that has left.
"""

from __future__ import annotations

import atexit
import pickle
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

import torch
import torch.distributed as dist

from grpo_core.errors import ConfigError, GrpoError, RankError, RewardError, RunDirError

T = TypeVar("T")

# Beyond what rewards may take: what else lies between two exchanges.
GRACE_S = 60.0
# How long the others are asked for once a library's own exchange has failed.
_PROBE_S = 5.0

_BEHIND = re.compile(r"Ranks? ([\d, ]+) failed to pass")
_OF_LIBRARIES = re.compile(r"gloo|nccl|connection (closed|reset)|collective|process ?group", re.I)


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came: slurm, docker or a person ends the run. It takes the way of Ctrl-C."""


# What is raised in all processes as what it is; anything else as a `RankError`.
_KINDS: dict[str, type[BaseException]] = {
    kind.__name__: kind
    for kind in (TerminatedError, KeyboardInterrupt, ConfigError, RewardError, RunDirError)
}


class _Told(NamedTuple):
    """What one process says at an exchange.

    Attributes:
        what: Which exchange it takes it for.
        kind: Class of the error that it has; "" without one.
        text: The error's.
        data: Pickled, what it hands over.
    """

    what: str
    kind: str
    text: str
    data: bytes


class Ranks:
    """The processes of a training; one of it in each.

    Attributes:
        rank: Number of this process, from 0.
        world: How many there are.
        stop: A signal that came to this process and is not raised yet.
        interruptible: Whether a signal may raise where it comes, since the next exchange takes it
            to the other processes.
    """

    def __init__(self, timeout_s: float, patience_s: float = 1800.0) -> None:
        """Joins the processes of this training; all of them do so, in the same order.

        Args:
            timeout_s: How long one waits for another at most, in seconds, while a batch is scored
                and at the end of a step.
            patience_s: How long elsewhere: one may write a large model while the others wait.
        """
        distributed = dist.is_available() and dist.is_initialized()
        self.rank = dist.get_rank() if distributed else 0
        self.world = dist.get_world_size() if distributed else 1
        self.stop: KeyboardInterrupt | None = None
        self.interruptible = False
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        # By how long one waits in them: only the first can wait otherwise than its group.
        self._groups: dict[float, Any] = {}
        self._raised: BaseException | None = None
        if not self.alone:
            # Of their own, on CPUs: texts have no business on a GPU, and only gloo names who is
            # missing.
            for seconds in (timeout_s, patience_s):
                group = dist.new_group(backend="gloo", timeout=timedelta(seconds=seconds))
                atexit.register(_leave, group)
                self._groups[seconds] = group

    @property
    def alone(self) -> bool:
        """Whether there are no others."""
        return self.world == 1

    @property
    def first(self) -> bool:
        """Whether this process speaks for all."""
        return self.rank == 0

    def exchange(
        self, what: str, mine: T, error: BaseException | None = None, *, patient: bool = False
    ) -> list[T]:
        """Hands something to all processes, and gets what they hand over, by rank.

        Args:
            what: What is exchanged, for messages.
            mine: What this process hands over; can be pickled.
            error: What went wrong in it instead.
            patient: What lies before it may take longer than a batch of scores.

        Raises:
            RankError: A process ended, does not come within the time, or failed in a way that is
                not ours.
            GrpoError: What went wrong in one of them; the same in all.
            KeyboardInterrupt: One of them was interrupted; in all.
        """
        if self.alone:
            if error is not None:
                raise error
            return [mine]
        data = b""
        if error is None:
            try:
                data = pickle.dumps(mine)
            except Exception as exc:  # an object of the data set's or of a reward's
                error = ConfigError(
                    f"what is said at the {what} cannot be sent to other processes: {exc}"
                )
        kind = "" if error is None else _kind(error)
        text = "" if error is None else _text(error, kind)
        told: list[Any] = [None] * self.world
        with self._together(what, self._patience_s if patient else self._timeout_s) as group:
            dist.all_gather_object(told, _Told(what, kind, text, data), group=group)
        places = {one.what for one in told}
        if len(places) > 1:
            raise RankError(f"the processes are at different places: {', '.join(sorted(places))}")
        self._raise(told, error)
        return [pickle.loads(one.data) for one in told]

    def first_does(self, what: str, do: Callable[[], T]) -> T:
        """Lets the first process do something; all get what it gave, or its error.

        Args:
            what: What it gives, for messages.
            do: Does it; what it returns can be pickled.
        """
        if self.alone:
            return do()
        made: Any = None
        error: BaseException | None = None
        if self.first:
            try:
                made = do()
            except Exception as exc:
                error = exc
        given: list[T] = self.exchange(what, made, error, patient=True)
        return given[0]

    def wait(self, what: str) -> None:
        """Waits until all processes are here."""
        self.exchange(what, None, patient=True)

    def raise_stop(self) -> None:
        """Raises in all processes a signal that came to any of them.

        Raises:
            KeyboardInterrupt: One came.
        """
        if self.alone:
            if self.stop is not None:
                stop, self.stop = self.stop, None
                raise stop
            return
        kinds: list[type[KeyboardInterrupt]] = [KeyboardInterrupt, TerminatedError]
        mine = 0 if self.stop is None else 1 + kinds.index(type(self.stop))
        worst = torch.tensor([mine])
        with self._together("end of the step", self._timeout_s) as group:
            dist.all_reduce(worst, dist.ReduceOp.MAX, group=group)
        if worst:
            self.stop = None
            self._raised = kinds[int(worst) - 1]()
            raise self._raised

    @contextmanager
    def raising_stops(self) -> Iterator[None]:
        """Lets a signal raise at once in here, or one that came before: an exchange follows."""
        self.interruptible = True
        try:
            if self.stop is not None:
                raise self.stop
            yield
        finally:
            self.interruptible = False

    @contextmanager
    def alike(self) -> Iterator[None]:
        """What goes wrong in here does so in all processes, since all compute the same."""
        try:
            yield
        except RankError:  # of an exchange, which knows better whether all raise it
            raise
        except GrpoError as exc:
            self._raised = exc
            raise

    def in_all(self, error: BaseException) -> bool:
        """Whether an error was raised in all processes at once, so that they may go on together."""
        return self.alone or error is self._raised

    def lost(self, error: BaseException) -> RankError | None:
        """What stands behind an error of a library's own exchange; None if it is no such error."""
        if self.alone or not of_an_exchange(error):
            return None
        try:
            with self._together("training step", _PROBE_S):
                return None
        except RankError as exc:
            return exc

    @contextmanager
    def _together(self, what: str, timeout_s: float) -> Iterator[Any]:
        """Waits until all processes come to a place, and gives the group for what they do there.

        Raises:
            RankError: One does not.
        """
        start = time.monotonic()
        group = self._groups.get(timeout_s, self._groups[self._timeout_s])
        try:
            # Of torch's ways to wait the only one that tells who does not come.
            dist.monitored_barrier(group, timedelta(seconds=timeout_s), wait_all_ranks=True)
            yield group
        except RuntimeError as exc:
            found = _BEHIND.search(str(exc))
            if found is not None:
                who = f"rank {found[1].strip()}"
            elif self.first:
                who = "rank 1" if self.world == 2 else "another process"
            else:
                who = "rank 0, or one that it waits for,"
            text = f"{who} has ended"  # the connection is closed at once
            if time.monotonic() - start > timeout_s / 2:
                if timeout_s == self._patience_s:
                    advice = "if that may take longer, raise ddp_timeout"
                else:
                    advice = "if a reward needs longer, raise batch_timeout_s"
                text = f"{who} did not come to the {what} within {timeout_s:g} s; {advice}"
            raise RankError(f"{text}. Its own output says more") from exc

    def _raise(self, told: Sequence[_Told], own: BaseException | None) -> None:
        """Raises what went wrong in any of the processes, the same in all of them."""
        wrong = {rank: one for rank, one in enumerate(told) if one.kind}
        if not wrong:
            return
        order = [*_KINDS, RankError.__name__]
        kind = min((one.kind for one in wrong.values()), key=order.index)
        texts = {one.text for one in wrong.values()}
        if len(texts) == 1 and len(wrong) == self.world:
            text = texts.pop()  # a config that is wrong for all
        else:
            text = "\n".join(f"rank {rank}: {one.text}" for rank, one in wrong.items())
        self.stop = None
        self._raised = _KINDS.get(kind, RankError)(text)
        raise self._raised from own


def of_an_exchange(error: BaseException) -> bool:
    """True if an error is that of a library's own exchange between processes."""
    return isinstance(error, RuntimeError) and bool(_OF_LIBRARIES.search(str(error)))


def _leave(group: Any) -> None:
    """Ends the threads of gloo before Python ends, which they may otherwise turn into an abort."""
    with suppress(RuntimeError, ValueError, AssertionError):  # left already
        if dist.is_initialized() and dist.get_backend() == "gloo":
            dist.destroy_process_group()
        elif dist.is_initialized():
            dist.destroy_process_group(group)


def _kind(error: BaseException) -> str:
    """The name of the kind that an error is raised as."""
    return next((name for name, kind in _KINDS.items() if isinstance(error, kind)), "RankError")


def _text(error: BaseException, kind: str) -> str:
    if kind != RankError.__name__ or isinstance(error, RankError):
        return str(error)
    return f"{type(error).__name__}: {error}"
