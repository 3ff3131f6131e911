"""What several processes cost beyond the scoring itself: `python -m benchmarks ranks`.

Two processes score a batch together through gloo, 256 completions of 2 kB each, with four trivial
inline rewards; then with groups that lie on both and one reward more, which sees groups: rows are
exchanged first. Of the wall-clock time of a batch the scoring of the slower process is taken off;
what is left is mostly the exchange, and what one waits for the other.
"""

from __future__ import annotations

import os
import socket
import statistics
import time
from multiprocessing import get_context
from typing import Any

import torch.distributed as dist

from benchmarks.cells import REWARDS
from benchmarks.report import Line
from grpo_core import Completion, CompositeReward, reward
from grpo_core.scoring.trl_batch import TrlBatch
from grpo_core.training.ranks import Ranks
from grpo_core.training.whole import Rows, score_whole

WORLD = 2
GROUP_SIZE = 8
WHOLE, SPLIT = 256, 252  # completions of a process; 252 are 31 groups and a half
N_CHARS = 2_000
REPEATS = 20
WHOLE_MS, SPLIT_MS = 60.0, 250.0


@reward(scope="group", range=(0.0, 1.0), isolation="inline")
def is_longest(completions: list[Completion]) -> list[float]:
    """1.0 for the longest of a group, else 0.0."""
    longest = max(len(c.text) for c in completions)
    return [float(len(c.text) == longest) for c in completions]


def run() -> list[Line]:
    """Measures both kinds of batches."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context: Any = get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.ranks"])
    answers = context.SimpleQueue()
    processes = [
        context.Process(target=_process, args=(rank, port, answers)) for rank in range(WORLD)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        return [Line("both processes came to the end", False)]
    whole, split = answers.get()
    return [
        _line(f"groups whole, {WORLD} x {WHOLE} completions, per batch", whole, WHOLE_MS),
        _line(f"groups split, {WORLD} x {SPLIT} completions, per batch", split, SPLIT_MS),
    ]


def _line(what: str, times: tuple[list[float], list[float]], bound: float) -> Line:
    beyond, scoring = times
    note = (
        f"of {REPEATS}: {min(beyond):.1f} to {max(beyond):.1f} ms; "
        f"the scoring itself {statistics.median(scoring):.1f} ms"
    )
    return Line(what, statistics.median(beyond), "ms", bound, note)


def _process(rank: int, port: int, answers: Any) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    ranks = Ranks(60.0)
    found = [
        _milliseconds(ranks, CompositeReward(REWARDS), WHOLE),
        _milliseconds(ranks, CompositeReward({**REWARDS, "longest": is_longest}), SPLIT),
    ]
    if ranks.first:
        answers.put(found)


def _milliseconds(
    ranks: Ranks, composite: CompositeReward, n_rows: int
) -> tuple[list[float], list[float]]:
    """Time of each batch beyond its scoring, and that of its scoring."""
    rows = _rows(ranks.rank * n_rows, n_rows)
    inner, spent = composite.measured, [0.0]

    def measured(*arguments: Any, **further: Any) -> Any:
        start = time.perf_counter()
        table = inner(*arguments, **further)
        spent[0] = time.perf_counter() - start
        return table

    composite.measured = measured  # type: ignore[method-assign]
    beyond, scoring = [], []
    for _ in range(REPEATS + 1):  # the first opens connections
        ranks.wait("start")
        start = time.perf_counter()
        batch = score_whole(ranks, composite, lambda: rows, n_rows, GROUP_SIZE, "train")
        seconds = time.perf_counter() - start
        assert batch.table.n_rows == n_rows * WORLD
        assert not batch.table.faults()
        slower = max(ranks.exchange("seconds", spent[0]))
        beyond.append((seconds - slower) * 1e3)
        scoring.append(slower * 1e3)
    return beyond[1:], scoring[1:]


def _rows(first: int, n_rows: int) -> Rows:
    """What a trainer hands over; token ids are a fourth of the characters."""
    ids = [tuple(range(i, i + N_CHARS // 4)) for i in range(first, first + n_rows)]
    texts = [f"text {i} ".ljust(N_CHARS, "x") for i in range(first, first + n_rows)]
    prompts = [f"Write text {i // GROUP_SIZE}." for i in range(first, first + n_rows)]
    columns = [{"prompt": p, "answer": "text", "level": "easy"} for p in prompts]
    completions = [
        Completion(text=text, prompt=p, token_ids=t, columns=c)
        for text, p, t, c in zip(texts, prompts, ids, columns, strict=True)
    ]
    lists = [list(each) for each in ids]
    return Rows(completions, TrlBatch(prompts, texts, columns, {"completion_ids": lists}))
