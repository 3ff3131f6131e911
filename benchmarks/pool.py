"""What worker processes cost, and what calls that hang cost: `python -m benchmarks pool`.

The bare work is the same function in a loop, in as many processes as there are workers, each with
its share of the calls; the pool and the loops are timed in turn, so that a busy machine slows down
both. All times here are wall-clock times: waiting is what this is about.
"""

from __future__ import annotations

import queue
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.report import Line
from grpo_core.completion import Completion
from grpo_core.discovery import PluginFilter
from grpo_core.reward import reward
from grpo_core.scoring.calls import Call
from grpo_core.scoring.pool import Done, Pool
from grpo_core.scoring.recipe import Recipe

N_CALLS = 512
N_WORKERS = 2
TEXT = "x" * 2_000
REPEATS = 15
DEADLINE_S = 1.0
HANGS = 32
FIRST_BATCH, LAST_BATCH = 100, 500
# A loop that gets a line on its standard input for each round, and answers when it is done.
LOOP = """
import sys
from benchmarks.pool import busy
for line in sys.stdin:
    n, seconds = line.split()
    for _ in range(int(n)):
        busy(None, float(seconds))
    print(flush=True)
"""


@reward
def busy(completion: Completion, seconds: float) -> float:
    """1.0 after some work."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return 1.0


@reward
def hangs(completion: Completion, hang: bool) -> float:
    """1.0 after a little work, or never."""
    if hang:
        time.sleep(1_000)
    return busy(completion, 0.0001)


def run() -> list[Line]:
    """Measures with two workers."""
    lines = [start_up()]
    pool, loops = Pool(N_WORKERS), [Loop() for _ in range(N_WORKERS)]
    try:
        for milliseconds, bound, repeats in ((0.1, 4.0, REPEATS), (5.0, 1.3, 3)):
            lines += against_bare(pool, loops, milliseconds, bound, repeats)
        lines += with_hangs(pool)
        lines.append(growth(pool))
    finally:
        pool.close()
        for loop in loops:
            loop.close()
    return lines


def recipe(function: Any) -> Recipe:
    """How a worker builds one of the rewards of this file."""
    return Recipe(f"{Path(__file__)}:{function.__name__}", {}, {}, PluginFilter())


class Batch:
    """Submits the same calls again and again, and waits for them."""

    def __init__(self, pool: Pool, function: Any, inputs: list[dict[str, Any]]) -> None:
        self._pool, self._recipe = pool, recipe(function)
        self._calls = [Call((Completion(TEXT),), given) for given in inputs]

    def __call__(self, timeout_s: float | None = 10.0) -> list[Done]:
        results: queue.Queue[list[Done]] = queue.Queue()
        self._pool.submit(self._recipe, self._calls, timeout_s, results.put)
        return results.get()


class Loop:
    """A process that runs the bare work."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, n_calls: int, seconds: float) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{n_calls} {seconds}\n")
        self._process.stdin.flush()
        self._process.stdout.readline()

    def close(self) -> None:
        self._process.communicate()


def start_up() -> Line:
    """The time until the first worker has built a reward and called it."""
    seconds = []
    for _ in range(5):
        pool = Pool(1)
        batch = Batch(pool, busy, [{"seconds": 0.0}])
        seconds.append(wall(batch))
        pool.close()
    return Line("a first value from a new worker", min(seconds), "s")


def against_bare(
    pool: Pool, loops: list[Loop], milliseconds: float, bound: float, repeats: int
) -> list[Line]:
    """The pool's time for a batch, by the time of the bare work in as many processes."""
    batch = Batch(pool, busy, [{"seconds": milliseconds / 1e3}] * N_CALLS)
    assert all(done.outcomes[0].value == 1.0 for done in batch())
    ours, bare = [], []
    for _ in range(repeats):
        bare.append(wall(lambda: at_once(loops, milliseconds / 1e3)))
        ours.append(wall(batch))
    what = f"{N_CALLS} calls of {milliseconds:g} ms"
    return [
        Line(f"{what}, bare, in {N_WORKERS} processes", min(bare) * 1e3, "ms"),
        Line(f"{what}, in {N_WORKERS} workers", min(ours) * 1e3, "ms"),
        Line(
            f"{what}: by the bare work",
            min(ours) / min(bare),
            "",
            bound,
            f"of minima; of medians {statistics.median(ours) / statistics.median(bare):.2f}; by "
            f"{N_CALLS} x {milliseconds:g} ms halved "
            f"{min(ours) / (N_CALLS * milliseconds / 1e3 / N_WORKERS):.2f}",
        ),
    ]


def at_once(loops: list[Loop], seconds: float) -> None:
    """Runs the bare work, an equal share in each process."""
    threads = [
        threading.Thread(target=loop, args=(N_CALLS // len(loops), seconds)) for loop in loops
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def with_hangs(pool: Pool) -> list[Line]:
    """The time for a batch in which calls hang, each tried twice."""
    lines = []
    for n_hangs, bound in ((1, 2 * DEADLINE_S + 0.5), (HANGS, 45.0)):
        every = N_CALLS // n_hangs
        batch = Batch(pool, hangs, [{"hang": i % every == every // 2} for i in range(N_CALLS)])
        start = time.monotonic()
        done = batch(DEADLINE_S)
        seconds = time.monotonic() - start
        what = f"{N_CALLS} calls of 0.1 ms, {n_hangs} hanging, deadline {DEADLINE_S:g} s"
        n_values = sum(d.outcomes[0].value is not None for d in done)
        lines += [
            Line(what, seconds, "s", bound),
            Line("  all others have their values", n_values == N_CALLS - n_hangs),
        ]
    return lines


def growth(pool: Pool) -> Line:
    """How much memory this process takes from one batch to a much later one."""
    batch = Batch(pool, busy, [{"seconds": 0.0}] * N_CALLS)
    before = 0.0
    for i in range(1, LAST_BATCH + 1):
        batch()
        if i == FIRST_BATCH:
            before = resident_mb()
    what = f"memory of this process, from batch {FIRST_BATCH} to batch {LAST_BATCH}"
    return Line(what, max(0.0, resident_mb() - before), "MB", 20.0)


def resident_mb() -> float:
    """Memory of this process that is in use."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(status.partition("VmRSS:")[2].split()[0]) / 1024


def wall(function: Any) -> float:
    """Seconds that a call takes."""
    start = time.monotonic()
    function()
    return time.monotonic() - start
