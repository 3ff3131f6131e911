"""Rewards that do everything wrong at random: each cell is accounted for, each batch ends."""

import asyncio
import random
import threading
from collections import Counter

import pytest
from batches import PATIENT_S, Batch, callee, wait_until

from grpo_core.scoring import event_loop, ledger
from grpo_core.scoring.abandoned import abandoned
from grpo_core.scoring.loop import run_on_loop
from grpo_core.scoring.threads import run_in_threads

KINDS = ["value", "none", "nan", "text", "raise", "exit", "interrupt", "cancelled", "late"]
STATUS = {"value": "scored", "none": "skipped", "late": "timed_out"}  # the others have failed


class Misbehaving:
    """Does with call i what the plan says for it."""

    def __init__(self, seed: int, kinds: list[str], n: int) -> None:
        self.plan = random.Random(seed).choices(kinds, k=n)
        self.end = threading.Event()

    def finish(self, kind: str, i: int):
        if kind == "raise":
            raise ValueError("no")
        if kind == "exit":
            raise SystemExit(1)
        if kind == "interrupt":
            raise KeyboardInterrupt
        if kind == "cancelled":
            raise asyncio.CancelledError
        return {"none": None, "nan": float("nan"), "text": "text"}.get(kind, float(i))

    def plain(self, completion, i):
        if self.plan[i] == "late":
            self.end.wait()
        return self.finish(self.plan[i], i)

    async def on_loop(self, completion, i):
        await asyncio.sleep(0.001)
        if self.plan[i] == "late":
            await asyncio.sleep(1000)
        if self.plan[i] == "stubborn":
            while not self.end.is_set():
                try:
                    await asyncio.sleep(0.02)
                except asyncio.CancelledError:
                    pass
        if self.plan[i] == "block":
            self.end.wait()
        return self.finish(self.plan[i], i)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(ledger, "BACKOFF_S", 0.001)
    event_loop._warned.clear()
    yield
    wait_until(lambda: abandoned() == 0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("retries", [0, 2])
def test_every_call_has_the_outcome_it_earned(seed, retries):
    policy = {"timeout_s": PATIENT_S, "retries": retries}
    in_threads = Misbehaving(seed, KINDS, 20)
    on_loop = [Misbehaving(seed + k, [*KINDS, "stubborn"], 20) for k in (1, 2)]
    runs = [Batch(run_in_threads, callee(in_threads.plain).attempt, 20, **policy)]
    runs += [Batch(run_on_loop, callee(m.on_loop).attempt_async, 20, **policy) for m in on_loop]

    for run, reward in zip(runs, [in_threads, *on_loop], strict=True):
        for i, outcome in enumerate(run.outcomes()):
            kind = reward.plan[i].replace("stubborn", "late")
            assert outcome.status == STATUS.get(kind, "failed"), (i, kind, outcome)
            assert outcome.value == (float(i) if kind == "value" else None)
        reward.end.set()


def test_loop_that_is_blocked_again_and_again_loses_no_call():
    blocker = Misbehaving(0, ["value"], 12)
    blocker.plan[2] = blocker.plan[7] = "block"
    decent = Misbehaving(0, ["value"], 100)
    decent_run = Batch(run_on_loop, callee(decent.on_loop).attempt_async, 100, concurrency=2)
    outcomes = Batch(
        run_on_loop, callee(blocker.on_loop).attempt_async, 12, timeout_s=PATIENT_S
    ).outcomes()

    assert Counter(o.status for o in outcomes) == {"scored": 10, "timed_out": 2}
    assert [o.value for o in decent_run.outcomes()] == [float(i) for i in range(100)]
    blocker.end.set()
