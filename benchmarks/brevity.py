"""The rewards for length: `python -m benchmarks brevity`.

512 completions of 512 tokens and 2 kB, in groups of 8, through each reward itself; the least CPU
time of 5 rounds for one completion. Characters and words are counted anew each time, so these two
are shown beside.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from grpo_reward_brevity import (
    Budget,
    Cosine,
    GroupRelative,
    Linear,
    PublishedCosine,
    PublishedOverlong,
    SoftLimit,
    Target,
)

from benchmarks.report import Line
from grpo_core import Completion

N, GROUP, TOKENS = 512, 8, 512
TEXT = "So it is, since 2 + 2 is 4 and 4 is even. " * 48


def run() -> list[Line]:
    """Times each reward."""
    made = [Completion(TEXT, token_ids=tuple(range(TOKENS - i % 9))) for i in range(N)]
    right = [float(i % 2) for i in range(N)]

    def alone(reward: Any) -> Callable[[], Any]:
        return lambda: [reward(c) for c in made]

    def with_right(reward: Any) -> Callable[[], Any]:
        return lambda: [reward(c, r) for c, r in zip(made, right, strict=True)]

    relative = GroupRelative()
    groups = [slice(i, i + GROUP) for i in range(0, N, GROUP)]
    overlong = PublishedOverlong(rule="trl", max_length=512, cache=128)
    calls = {
        "soft_limit": alone(SoftLimit(max_length=512, cache=128)),
        "linear": alone(Linear(max_length=64, zero_length=512)),
        "published_overlong": alone(overlong),
        "cosine": with_right(Cosine(max_length=512)),
        "published_cosine": with_right(PublishedCosine(rule="trl", max_length=512)),
        "target": with_right(Target(target=400)),
        "budget": with_right(Budget(budget=400)),
        "group_relative": lambda: [relative(made[g], right[g]) for g in groups],
        "linear, chars": alone(Linear(unit="chars", max_length=64, zero_length=4096)),
        "linear, words": alone(Linear(unit="words", max_length=64, zero_length=4096)),
    }
    return [
        Line(name, microseconds(call), "us", None if "words" in name else 5.0)
        for name, call in calls.items()
    ]


def microseconds(call: Callable[[], Any]) -> float:
    """CPU time for one completion, the least of 5 rounds."""
    took = []
    for _ in range(5):
        start = time.process_time()
        call()
        took.append(time.process_time() - start)
    return min(took) / N * 1e6
