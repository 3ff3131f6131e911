"""What waiting costs: `python -m benchmarks waiting`.

Four rewards that each wait 0.5 s for a service, of batch scope in threads and async: they wait at
once, so the batch takes little longer than one of them. Times are wall times.
"""

from __future__ import annotations

import asyncio
import time

from benchmarks.report import Line
from grpo_core import Completion, CompositeReward, reward

WAIT_S = 0.5
N_REWARDS = 4
REPEATS = 5


@reward(range=(0.0, 1.0), scope="batch", isolation="thread")
def asks(completions: list[Completion]) -> list[float]:
    """1.0 for each, after a while."""
    time.sleep(WAIT_S)
    return [1.0] * len(completions)


@reward(range=(0.0, 1.0), scope="batch")
async def awaits(completions: list[Completion]) -> list[float]:
    """1.0 for each, after a while."""
    await asyncio.sleep(WAIT_S)
    return [1.0] * len(completions)


def run() -> list[Line]:
    """Measures a batch of rewards that wait."""
    completions = [Completion(f"text {i}") for i in range(64)]
    lines = []
    for what, use in (("in threads", asks), ("async", awaits)):
        composite = CompositeReward({f"r{k}": use for k in range(N_REWARDS)})
        seconds = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            table = composite.score(completions)
            seconds.append(time.perf_counter() - start)
            assert (table.values == 1.0).all()
        lines.append(
            Line(f"{N_REWARDS} rewards {what} that wait {WAIT_S:g} s", max(seconds), "s", 0.65)
        )
    return lines
