"""`Job`: the calls of one reward in one batch, on their way through the pool."""

from __future__ import annotations

import logging
import pickle
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grpo_core.outcome import Outcome
from grpo_core.scoring.calls import Call
from grpo_core.scoring.checks import fault, one_line
from grpo_core.scoring.done import Done

logger = logging.getLogger("grpo_core")

# Said where no call of a batch was in time: the texts are hardly all to blame.
_LOADS = "; if it loads something at its first call, it needs a longer timeout_s"

# A chunk should take about this long: long enough that sending it costs little, short enough that
# the others of a chunk do not wait long behind a slow one.
_CHUNK_S = 0.05
_CHUNK_BYTES = 1 << 20
_FIRST_CHUNK = 4


@dataclass
class Chunk:
    """Calls that were sent to a worker together.

    Attributes:
        job: The job they belong to.
        indices: Their positions in it, those that are not done; the first is being run.
        messages: The calls, pickled.
        is_retry: True for the second try of one call, which is alone.
    """

    job: Job
    indices: deque[int]
    messages: list[bytes]
    is_retry: bool


class Job:
    """Calls of one reward; `finished` gets what became of them once all are decided.

    Attributes:
        key: Names the recipe.
        recipe: The recipe, pickled.
        path: Where modules are searched.
        timeout_s: Seconds a call may take; None: no deadline.
        n_building: Workers that build its reward now.
        n_broken_builds: Workers that ended while they built it.
    """

    def __init__(
        self,
        key: bytes,
        recipe: bytes,
        path: list[str],
        calls: Sequence[Call],
        timeout_s: float | None,
        finished: Callable[[list[Done]], None],
    ) -> None:
        self.key = key
        self.recipe = recipe
        self.path = path
        self.timeout_s = timeout_s
        self.n_building = 0
        self.n_broken_builds = 0
        self._finished = finished
        self._calls = calls
        self._done: list[Done | None] = [None] * len(calls)
        self._pickled: list[bytes | None] = [None] * len(calls)
        self._n_left = len(calls)
        self._ready = deque(range(len(calls)))
        self._retries: deque[int] = deque()
        self._first_try: dict[int, tuple[str, float]] = {}

    @property
    def is_decided(self) -> bool:
        """Whether all calls are decided."""
        return self._n_left == 0

    @property
    def n_waiting(self) -> int:
        """Calls that wait for a worker."""
        return len(self._ready) + len(self._retries)

    def take(self, n_workers: int, pace: float | None) -> Chunk | None:
        """The next calls to send, or None if none can be sent.

        Args:
            n_workers: How many workers share the calls.
            pace: Seconds a call takes, as far as is known.
        """
        # Half of a fair share, so that the last chunks are small and all workers end together.
        share = -(-len(self._ready) // (2 * n_workers))
        most = max(1, min(share, _FIRST_CHUNK if pace is None else int(_CHUNK_S / max(pace, 1e-6))))
        # Second tries go last: each may cost a whole deadline, while the others have no value yet.
        is_retry = not self._ready
        waiting = self._retries if is_retry else self._ready
        chunk = Chunk(self, deque(), [], is_retry)
        size = 0
        while waiting and len(chunk.indices) < (1 if is_retry else most):
            message = self._message(waiting[0])
            if message is None:
                waiting.popleft()
                continue
            if chunk.indices and size + len(message) > _CHUNK_BYTES:
                break
            size += len(message)
            chunk.indices.append(waiting.popleft())
            chunk.messages.append(message)
        return chunk if chunk.indices else None

    def decide(self, index: int, outcomes: list[Outcome], seconds: float) -> None:
        """Sets what became of a call, unless that is known.

        Fewer outcomes than completions hold for all of them.
        """
        if self._n_left == 0 or self._done[index] is not None:
            return
        n = len(self._calls[index].completions)
        if len(outcomes) != n:
            outcomes = outcomes[:1] * n
        self._done[index] = Done(outcomes, seconds)
        self._pickled[index] = None
        self._n_left -= 1

    def give_back(self, chunk: Chunk) -> None:
        """Takes back calls that were not begun, to be sent next."""
        if chunk.is_retry:
            self._retries.extendleft(reversed(chunk.indices))
        else:
            self._ready.extendleft(reversed(chunk.indices))

    def was_late(self, index: int, seconds: float) -> None:
        """Notes that a call took longer than it may: it gets a second try, or is timed out."""
        reason = f"took longer than {self.timeout_s:g} s"
        before = self._second_try(index, reason, seconds)
        if before is None:
            return
        reason += ", twice" if before == reason else f"; before, {before}"
        if not any(d and d.outcomes[0].status != "timed_out" for d in self._done):
            reason += _LOADS
        self.decide(index, [Outcome(None, "timed_out", reason, fault=True)], seconds)

    def ended_worker(self, index: int, how: str, seconds: float) -> None:
        """Notes that a worker ended in a call: it gets a second try, or is a fault."""
        if self._second_try(index, how, seconds) is not None:
            self.decide(index, [fault(how)], seconds)

    def fail_rest(self, outcome: Outcome) -> None:
        """Decides all calls that are not decided."""
        for index, done in enumerate(self._done):
            if done is None:
                _, seconds = self._first_try.get(index, ("", 0.0))
                self.decide(index, [outcome], seconds)
        self._ready.clear()
        self._retries.clear()

    def finish(self) -> None:
        """Hands over what became of the calls."""
        done = [d for d in self._done if d is not None]
        self._calls, self._done = (), []  # the ticket may be kept long
        try:
            self._finished(done)
        except Exception:
            logger.exception("the pool could not hand over what workers computed")

    def _second_try(self, index: int, reason: str, seconds: float) -> str | None:
        """Why the first try failed, or None if there was none: then a second one follows."""
        if index in self._first_try:
            return self._first_try[index][0]
        self._first_try[index] = reason, seconds
        self._retries.append(index)
        return None

    def _message(self, index: int) -> bytes | None:
        """The pickled call; None, and decided, if it cannot be pickled."""
        message = self._pickled[index]
        if message is None:
            try:
                message = pickle.dumps(self._calls[index], 5)
            except Exception as exc:
                why = f"{type(exc).__name__}: {one_line(exc)}"
                self.decide(index, [fault(f"its inputs cannot be sent to a worker: {why}")], 0.0)
                return None
            self._pickled[index] = message
        return message
