"""What a cell costs beyond calling its reward: `python -m benchmarks cells`.

512 completions x 4 trivial inline rewards through `CompositeReward.score`, and the same four
functions called in a loop with the same arguments. All are timed in turn: without a cache, with an
empty one that every cell misses, and with one that knows every cell.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.report import Line
from grpo_core import Completion, CompositeReward, Score, reward

N_COMPLETIONS = 512
REPEATS = 40


@reward(range=(0.0, 1.0), isolation="inline")
def is_filled(completion: Completion) -> float:
    """1.0 if there is a text, else 0.0."""
    return 1.0 if completion.text else 0.0


@reward(range=(0.0, 1.0), isolation="inline")
def answer_equals(completion: Completion, answer: str) -> float:
    """1.0 if the text is the answer, else 0.0."""
    return 1.0 if completion.text == answer else 0.0


@reward(range=(0.0, 1.0), isolation="inline")
def answer_within(completion: Completion, answer: str, *, n_chars: int = 8) -> float:
    """1.0 if the answer begins the text's first characters, else 0.0."""
    return 1.0 if completion.text[:n_chars].startswith(answer) else 0.0


@reward(range=(0.0, 1.0), isolation="inline")
def is_short(completion: Completion) -> Score:
    """1.0 if the text has fewer than 10 characters, else 0.0."""
    n_chars = len(completion.text)
    return Score(1.0 if n_chars < 10 else 0.0, reason="length")


REWARDS: dict[str, Any] = {
    "filled": is_filled,
    "equals": answer_equals,
    "within": {"use": answer_within, "options": {"n_chars": 6}},
    "short": is_short,
}


def run() -> list[Line]:
    """Measures the cost per cell."""
    completions = [
        Completion(
            text=f"text {i}",
            prompt="Write a text.",
            token_ids=tuple(range(40)),
            columns={"prompt": "Write a text.", "answer": f"text {i // 2}", "level": "easy"},
        )
        for i in range(N_COMPLETIONS)
    ]
    composite = CompositeReward(REWARDS)
    table = composite.score(completions)
    assert not table.faults(), table.faults()[:1]
    assert (table.values == in_a_loop(completions)).all()

    cached = CompositeReward({name: with_cache(given) for name, given in REWARDS.items()})

    ours, bare, cold, warm = [], [], [], []
    for _ in range(REPEATS):
        bare.append(microseconds_per_cell(lambda: in_a_loop(completions)))
        ours.append(microseconds_per_cell(lambda: composite.score(completions)))
        cached.cache.clear()
        cold.append(microseconds_per_cell(lambda: cached.score(completions)))
        warm.append(microseconds_per_cell(lambda: cached.score(completions)))
    assert sum(cached.score(completions).n_cached) == N_COMPLETIONS * len(REWARDS)
    median = statistics.median(ours) - statistics.median(bare)
    return [
        Line("the functions in a loop, per cell", min(bare), "us"),
        Line("CompositeReward.score, per cell", min(ours), "us"),
        Line(
            f"more than the loop, {N_COMPLETIONS} completions x {len(REWARDS)}, per cell",
            min(ours) - min(bare),
            "us",
            10.0,
            f"of minima; of medians {median:.2f} us",
        ),
        Line("with an empty cache, per cell", min(cold), "us", 25.0),
        Line("with a cache that knows all, per cell", min(warm), "us", 25.0),
    ]


def with_cache(given: Any) -> dict[str, Any]:
    """A reward's table with the cache on."""
    return {**(given if isinstance(given, dict) else {"use": given}), "cache": True}


def in_a_loop(completions: list[Completion]) -> list[list[float]]:
    """The values of the four rewards, B x K, by plain calls."""
    values = []
    for completion in completions:
        answer = completion.columns["answer"]
        values.append(
            [
                is_filled(completion),
                answer_equals(completion, answer=answer),
                answer_within(completion, answer=answer, n_chars=6),
                is_short(completion).value,
            ]
        )
    return values


def microseconds_per_cell(score: Callable[[], object]) -> float:
    """CPU time of one call, by cell."""
    start = time.process_time()
    score()
    return (time.process_time() - start) / (N_COMPLETIONS * len(REWARDS)) * 1e6
