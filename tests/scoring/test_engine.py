"""`run_tasks`: rewards of a batch at once or in order, its end, and Ctrl-C."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from batches import FOREVER_S, PATIENT_S

from grpo_core.completion import Completion
from grpo_core.inputs import InputPlan
from grpo_core.outcome import Outcome
from grpo_core.scoring.calls import Callee
from grpo_core.scoring.engine import Task, run_tasks
from grpo_core.scoring.policy import Policy
from grpo_core.scoring.runner import Batch, Column
from grpo_core.scoring.tagged import TaggedReward

BATCH = Batch([Completion("a"), Completion("b")])


def thread(function: Callable[..., Any], **kwargs: Any) -> TaggedReward:
    policy = Policy(isolation="thread", **{"timeout_s": None, **kwargs})
    return TaggedReward("f", Callee(function, "batch", 0.0, 1.0, {}), InputPlan(), policy=policy)


def inline(function: Callable[..., Any]) -> TaggedReward:
    return TaggedReward("f", Callee(function, "sample", 0.0, 1.0, {}), InputPlan())


def values(column: Column) -> list[float | None]:
    return [outcome.value for outcome in column.outcomes]


def test_rewards_in_threads_run_at_once_and_with_those_of_this_thread():
    met = threading.Barrier(3, timeout=FOREVER_S)

    def meets(completions):
        met.wait()
        return [1.0, 1.0]

    def meets_once(completion):
        if completion.text == "a":
            met.wait()
        return 0.5

    columns = run_tasks(
        {"x": Task(thread(meets)), "here": Task(inline(meets_once)), "y": Task(thread(meets))},
        BATCH,
    )

    assert list(columns) == ["x", "here", "y"]
    assert [values(c) for c in columns.values()] == [[1.0, 1.0], [0.5, 0.5], [1.0, 1.0]]


def test_reward_begins_when_those_it_reads_are_done():
    order = []

    def noted(name):
        def reward(completions):
            order.append(name)
            time.sleep(0.02)
            return [1.0, 1.0]

        return thread(reward)

    tasks = {
        "last": Task(noted("last"), ("second", "first")),
        "second": Task(noted("second"), ("first",)),
        "first": Task(noted("first")),
    }

    assert list(run_tasks(tasks, BATCH)) == ["last", "second", "first"]
    assert order == ["first", "second", "last"]


def test_end_of_the_batch_leaves_what_is_done_and_misses_the_rest():
    gate = threading.Event()

    def hangs(completions):
        gate.wait(FOREVER_S)
        return [1.0, 1.0]

    tasks = {
        "done": Task(inline(lambda completion: 1.0)),
        "hangs": Task(thread(hangs, on_timeout=0.0)),
        "waits": Task(inline(lambda completion: 1.0), ("hangs",)),
    }
    start = time.monotonic()
    try:
        columns = run_tasks(tasks, BATCH, timeout_s=PATIENT_S)
    finally:
        gate.set()

    assert time.monotonic() - start < FOREVER_S / 2
    late = [Outcome(None, "timed_out", "the batch took longer than 2.5 s")] * 2
    assert values(columns["done"]) == [1.0, 1.0]
    assert columns["hangs"].outcomes == late  # no value: it is not this completion's fault
    reason = "not begun when the batch's 2.5 s were over; it waits for reward 'hangs'"
    assert columns["waits"].outcomes == [Outcome(None, "timed_out", reason, held_up=True)] * 2


def test_keyboard_interrupt_passes_and_ends_what_runs_elsewhere():
    class Elsewhere:
        inline = False
        cancelled = ""

        def run(self, batch, results):
            raise AssertionError

        def begin(self, batch, results, finished):
            return self

        def cancel(self, reason):
            self.cancelled = reason

    def stops(completion):
        raise KeyboardInterrupt

    other = Elsewhere()

    with pytest.raises(KeyboardInterrupt):
        run_tasks({"other": Task(other), "stops": Task(inline(stops))}, BATCH)

    assert other.cancelled == "the batch was stopped"


def test_reward_of_this_thread_that_keeps_the_batch_is_named_with_its_line(caplog):
    said = caplog.handler

    def slow(completion):
        end = time.monotonic() + FOREVER_S
        while not said.records and time.monotonic() < end:
            time.sleep(0.01)
        return 1.0

    with caplog.at_level(logging.WARNING, logger="grpo_core"):
        columns = run_tasks({"slow": Task(inline(slow))}, BATCH, timeout_s=PATIENT_S)

    assert values(columns["slow"]) == [1.0, 1.0]
    assert "reward 'slow' has kept the batch for 2.5 s and is at" in caplog.text
    assert "test_engine.py:" in caplog.text


def test_no_completions_give_empty_columns():
    tasks = {"t": Task(thread(lambda completions: [])), "i": Task(inline(lambda c: 1.0))}

    assert {n: c.outcomes for n, c in run_tasks(tasks, Batch([])).items()} == {"t": [], "i": []}
