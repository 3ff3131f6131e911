"""`run_in_threads`: calls of one reward at once, in threads that can be given up."""

import asyncio
import threading
import time

import pytest
from batches import FOREVER_S, PATIENT_S, Batch, callee, calls, run_script, wait_until

from grpo_core.outcome import Fail, Outcome
from grpo_core.scoring import ledger, threads
from grpo_core.scoring.abandoned import abandoned, abandoned_by_reward
from grpo_core.scoring.pacing import Pacer
from grpo_core.scoring.threads import run_in_threads


@pytest.fixture
def release():
    """Ends what waits for it, after the test."""
    event = threading.Event()
    yield event
    event.set()
    wait_until(lambda: abandoned() == 0)


def threads_of(name: str) -> int:
    return sum(t.name == f"grpo-{name}" for t in threading.enumerate())


def batch(function, n, **kwargs) -> Batch:
    return Batch(run_in_threads, callee(function).attempt, n, **kwargs)


# What comes back


def test_outcomes_are_in_order():
    def reward(completion, i):
        time.sleep(0.002 * (10 - i))
        return float(i)

    outcomes = batch(reward, 10).outcomes()

    assert outcomes == [Outcome(float(i)) for i in range(10)]


def test_no_calls_are_done():
    assert batch(lambda completion, i: 1.0, 0).done() == []


def test_call_of_several_completions_has_an_outcome_for_each():
    run = Batch(run_in_threads, lambda call: [Outcome(1.0), Outcome(0.5)], calls(2, rows=2))

    assert [d.outcomes for d in run.done()] == [[Outcome(1.0), Outcome(0.5)]] * 2


def test_seconds_are_those_of_the_call():
    start = time.monotonic()
    done = batch(lambda completion, i: time.sleep(0.2 * i), 2, concurrency=1).done()
    passed = time.monotonic() - start

    assert 0.2 <= done[1].seconds
    assert done[0].seconds + done[1].seconds <= passed


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        SystemExit(0),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        StopIteration(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_raised_stays_with_its_call(error):
    def reward(completion, i):
        if i == 1:
            raise error
        return 1.0

    outcomes = batch(reward, 3).outcomes()

    assert [o.status for o in outcomes] == ["scored", "failed", "scored"]
    assert outcomes[1].fault
    assert outcomes[1].reason.startswith(f"raised {type(error).__name__}")
    assert f"({__file__}:" in outcomes[1].reason


def test_recursion_without_end_stays_with_its_call():
    def reward(completion, i):
        return reward(completion, i) if i else 1.0

    first, second = batch(reward, 2).outcomes()

    assert first == Outcome(1.0)
    assert second.reason.startswith("raised RecursionError")


def test_generator_that_raises_stays_with_its_call():
    def reward(completions, i):
        yield 1.0
        raise ValueError("half way")

    run = Batch(run_in_threads, callee(reward).attempt, 1)

    assert run.outcomes()[0].status == "failed"


# At once


def test_calls_run_at_once_up_to_the_concurrency():
    lock = threading.Lock()
    four = threading.Barrier(4, timeout=FOREVER_S)
    now, most = 0, 0

    def reward(completion, i):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        four.wait()
        with lock:
            now -= 1
        return 1.0

    batch(reward, 20, concurrency=4).done()

    assert most == 4


def test_threads_are_used_again():
    used = set()

    def reward(completion, i):
        used.add(threading.get_ident())
        time.sleep(0.001)
        return 1.0

    batch(reward, 50, concurrency=3).done()

    assert len(used) <= 3


def test_threads_end_with_the_batch():
    batch(lambda completion, i: 1.0, 20, name="tidy").done()

    wait_until(lambda: threads_of("tidy") == 0)


def test_four_rewards_that_wait_run_at_once():
    all_four = threading.Barrier(4)

    def reward(completion, i):
        all_four.wait(timeout=FOREVER_S)
        return 1.0

    runs = [batch(reward, 1, name=f"slow{i}") for i in range(4)]

    assert [run.outcomes() for run in runs] == [[Outcome(1.0)]] * 4


# Deadlines


def test_late_call_is_timed_out_and_the_others_have_their_values(release):
    def reward(completion, i):
        if i == 1:
            release.wait()
        return 1.0

    outcomes = batch(reward, 5, timeout_s=PATIENT_S, name="stuck").outcomes()

    late = Outcome(None, "timed_out", "took longer than 2.5 s; its thread was given up", fault=True)
    assert outcomes == [Outcome(1.0), late, *[Outcome(1.0)] * 3]
    assert abandoned_by_reward() == {"stuck": 1}


def test_late_call_makes_room_for_the_next(release):
    def reward(completion, i):
        if i < 2:
            release.wait()
        return 1.0

    outcomes = batch(reward, 4, timeout_s=PATIENT_S, concurrency=1).outcomes()

    assert [o.status for o in outcomes] == ["timed_out", "timed_out", "scored", "scored"]
    assert abandoned() == 2


def test_rest_is_not_called_once_three_calls_hang(release):
    seen = []

    def reward(completion, i):
        seen.append(i)
        release.wait()
        return 1.0

    outcomes = batch(reward, 20, timeout_s=0.1, concurrency=1).outcomes()

    assert seen == [0, 1, 2]
    reason = "was not called: 3 of its calls still run and cannot be ended"
    assert outcomes[3:] == [Outcome(None, "timed_out", reason)] * 17


def test_rest_is_called_if_late_calls_end_soon(release):
    def reward(completion, i):
        if i < 4:
            release.wait()
        return 1.0

    run = batch(reward, 8, timeout_s=PATIENT_S, concurrency=4)
    wait_until(lambda: abandoned() == 4)
    release.set()
    outcomes = run.outcomes()

    assert [o.status for o in outcomes] == ["timed_out"] * 4 + ["scored"] * 4


def test_deadline_counts_from_the_start_of_the_call():
    def reward(completion, i):
        time.sleep(0.6)
        return 1.0

    # All together they take 3.6 s.
    outcomes = batch(reward, 6, timeout_s=PATIENT_S + 0.6, concurrency=1).outcomes()

    assert outcomes == [Outcome(1.0)] * 6


def test_abandoned_thread_that_ends_is_no_longer_counted(release):
    def reward(completion, i):
        release.wait()
        return 1.0

    outcomes = batch(reward, 1, timeout_s=0.1, name="slow").outcomes()
    assert abandoned() == 1
    release.set()
    wait_until(lambda: abandoned() == 0)

    assert outcomes[0].status == "timed_out"
    wait_until(lambda: threads_of("slow") == 0)


def test_abandoned_thread_takes_no_further_call(release):
    seen = {}
    second_began = threading.Event()

    def reward(completion, i):
        seen[i] = threading.current_thread()
        if i == 0:
            second_began.wait()
        elif i == 1:
            second_began.set()
            wait_until(lambda: abandoned() == 0)  # the first came back, and could take another
        return 1.0

    batch(reward, 6, timeout_s=PATIENT_S, concurrency=1).done()

    assert seen[0] not in [seen[i] for i in range(1, 6)]


def test_no_deadline_waits():
    def reward(completion, i):
        time.sleep(0.3)
        return 1.0

    assert batch(reward, 1, timeout_s=None).outcomes() == [Outcome(1.0)]


def test_late_call_is_not_tried_again(release):
    tries = []

    def reward(completion, i):
        tries.append(i)
        release.wait()

    [outcome] = batch(reward, 1, timeout_s=0.1, retries=3).outcomes()

    assert outcome.status == "timed_out"
    assert tries == [0]


# Cancel


def test_cancel_decides_what_is_open(release):
    hanging = []

    def reward(completion, i):
        if i:
            hanging.append(i)
            release.wait()
        return 1.0

    run = batch(reward, 5, timeout_s=None, concurrency=2, name="cut")
    wait_until(lambda: hanging == [1, 2])
    run.running.cancel("batch deadline")

    late = Outcome(None, "timed_out", "batch deadline")
    assert run.outcomes() == [Outcome(1.0), *[late] * 4]
    assert abandoned_by_reward() == {"cut": 2}


def test_cancel_after_the_end_changes_nothing():
    run = batch(lambda completion, i: 1.0, 2)
    done = run.done()
    run.running.cancel("batch deadline")

    assert [d.outcomes for d in done] == [[Outcome(1.0)]] * 2
    assert not run.is_done(0.05)


def test_cancel_breaks_off_a_wait_for_the_rate():
    made = []

    def reward(completion, i):
        made.append(i)
        return 1.0

    run = batch(reward, 3, pacer=Pacer(0.001))
    wait_until(lambda: made == [0] and run.n_running == 0)
    run.running.cancel("batch deadline")

    assert [o.status for o in run.outcomes()] == ["scored", "timed_out", "timed_out"]
    assert abandoned() == 0


# Tries


def test_raised_is_tried_again(monkeypatch):
    monkeypatch.setattr(ledger, "BACKOFF_S", 0.01)
    tries = []

    def reward(completion, i):
        tries.append(i)
        if len(tries) < 3:
            raise ConnectionError("down")
        return 1.0

    assert batch(reward, 1, retries=2).outcomes() == [Outcome(1.0)]
    assert len(tries) == 3


def test_raised_at_each_try_says_how_many(monkeypatch):
    monkeypatch.setattr(ledger, "BACKOFF_S", 0.01)

    def reward(completion, i):
        raise ConnectionError("down")

    [outcome] = batch(reward, 1, retries=2).outcomes()

    assert outcome.reason.startswith("raised ConnectionError: down (")
    assert outcome.reason.endswith("), after 3 tries")


@pytest.mark.parametrize("returned", [Fail("no gold"), None, "text", 1e9])
def test_returned_is_never_tried_again(returned):
    tries = []

    def reward(completion, i):
        tries.append(i)
        return returned

    batch(reward, 1, retries=3).done()

    assert tries == [0]


def test_pause_between_tries_holds_up_no_other_call(monkeypatch):
    monkeypatch.setattr(ledger, "BACKOFF_S", PATIENT_S)
    order = []

    def reward(completion, i):
        order.append(i)
        if order == [0]:
            raise ConnectionError
        return 1.0

    batch(reward, 3, retries=1, concurrency=1).done()

    assert order == [0, 1, 2, 0]


def test_each_try_has_its_own_deadline(monkeypatch):
    monkeypatch.setattr(ledger, "BACKOFF_S", 0.01)
    tries = []

    def reward(completion, i):
        tries.append(i)
        time.sleep(0.9)
        if len(tries) < 4:
            raise ConnectionError
        return 1.0

    # All together they take 3.6 s.
    assert batch(reward, 1, retries=3, timeout_s=PATIENT_S + 0.9).outcomes() == [Outcome(1.0)]


# Rate


def test_rate_keeps_starts_apart_over_batches():
    pacer = Pacer(50.0)
    starts = []

    def reward(completion, i):
        starts.append(time.monotonic())
        return 1.0

    before = time.monotonic()
    for _ in range(2):
        batch(reward, 5, pacer=pacer).done()

    assert max(starts) - before >= 9 * 0.02


def test_wait_for_the_rate_counts_for_no_deadline():
    # The last one waits for 3 s.
    run = batch(lambda completion, i: 1.0, 4, pacer=Pacer(1.0), timeout_s=PATIENT_S)
    outcomes = run.outcomes()

    assert outcomes == [Outcome(1.0)] * 4


# The process


def test_overhead_of_a_call_is_small():
    attempt = callee(lambda completion, i: 1.0).attempt
    start = time.process_time()
    Batch(run_in_threads, attempt, 2000).done()

    assert (time.process_time() - start) / 2000 < 0.002  # measured: 0.00001


def test_process_without_threads_fails_the_calls(monkeypatch):
    class Thread(threading.Thread):
        def start(self):
            if self._target.__name__ == "_work":
                raise RuntimeError("can't start new thread")
            super().start()

    monkeypatch.setattr(threads.threading, "Thread", Thread)
    [outcome] = batch(lambda completion, i: 1.0, 1).outcomes()

    assert outcome == Outcome(None, "failed", "the process can start no more threads")


def test_hanging_thread_keeps_no_process_alive():
    code, output = run_script("""
        import sys, time
        sys.path.insert(0, "tests")
        from batches import Batch, callee
        from grpo_core.scoring.threads import run_in_threads

        def reward(completion, i):
            time.sleep(1000)

        run = Batch(run_in_threads, callee(reward).attempt, 2, timeout_s=0.1)
        print([o.status for o in run.outcomes()])
        Batch(run_in_threads, callee(reward).attempt, 2)  # not even waited for
    """)

    assert (code, output) == (0, "['timed_out', 'timed_out']\n")


def test_forked_child_counts_only_its_own(release):
    def reward(completion, i):
        release.wait()

    batch(reward, 1, timeout_s=0.05).done()
    code, output = run_script("""
        import os, sys, time
        sys.path.insert(0, "tests")
        from batches import Batch, callee
        from grpo_core.scoring.abandoned import abandoned
        from grpo_core.scoring.threads import run_in_threads

        def reward(completion, i):
            time.sleep(1000 * (i == 0))
            return 1.0

        Batch(run_in_threads, callee(reward).attempt, 2, timeout_s=0.1).done()
        assert abandoned() == 1
        pid = os.fork()
        if pid == 0:
            assert abandoned() == 0
            Batch(run_in_threads, callee(reward).attempt, 2, timeout_s=0.1).done()
            os._exit(abandoned())
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """)

    assert (code, output.splitlines()[-1]) == (0, "1")
