"""`run_on_loop`: calls of async rewards, on one event loop for the whole process."""

import asyncio
import gc
import logging
import re
import threading
import time
from contextvars import ContextVar
from types import SimpleNamespace

import pytest
from batches import FOREVER_S, PATIENT_S, Batch, callee, run_script, wait_until

from grpo_core.outcome import Outcome
from grpo_core.scoring import event_loop, ledger
from grpo_core.scoring.abandoned import abandoned, abandoned_by_reward
from grpo_core.scoring.loop import run_on_loop
from grpo_core.scoring.pacing import Pacer
from grpo_core.scoring.threads import run_in_threads
from grpo_core.testing import FakeClock


@pytest.fixture(autouse=True)
def warned(caplog):
    """Every test warns anew; nothing it gave up runs on after it."""
    event_loop._warned.clear()
    caplog.set_level(logging.WARNING)
    yield
    wait_until(lambda: abandoned() == 0)


def batch(function, n, **kwargs) -> Batch:
    return Batch(run_on_loop, callee(function).attempt_async, n, **kwargs)


async def one(completion, i):
    return 1.0


# What comes back


def test_outcomes_are_in_order():
    async def reward(completion, i):
        await asyncio.sleep(0.002 * (10 - i))
        return float(i)

    assert batch(reward, 10).outcomes() == [Outcome(float(i)) for i in range(10)]


def test_no_calls_are_done():
    assert batch(one, 0).done() == []


def test_seconds_are_those_of_the_call():
    async def reward(completion, i):
        await asyncio.sleep(0.2 * i)
        return 1.0

    start = time.monotonic()
    done = batch(reward, 2, concurrency=1).done()
    passed = time.monotonic() - start

    assert 0.19 < done[1].seconds
    assert done[0].seconds + done[1].seconds <= passed


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        SystemExit(0),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        StopAsyncIteration(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_raised_stays_with_its_call(error):
    async def reward(completion, i):
        await asyncio.sleep(0)
        if i == 1:
            raise error
        return 1.0

    outcomes = batch(reward, 3).outcomes()

    assert [o.status for o in outcomes] == ["scored", "failed", "scored"]
    assert outcomes[1].fault
    assert outcomes[1].reason.startswith(f"raised {type(error).__name__}")
    assert f"({__file__}:" in outcomes[1].reason


def test_raised_before_the_first_await_stays_with_its_call():
    def reward(completion, i):  # a plain function that should have returned something to await
        raise ValueError("x")

    assert batch(reward, 1).outcomes()[0].status == "failed"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_exit_in_a_task_of_the_reward_stays_with_its_call(error):
    async def leave():
        raise error

    async def reward(completion, i):
        if i == 0:
            await asyncio.create_task(leave())
        return 1.0

    first, second = batch(reward, 2, concurrency=1).outcomes()

    assert first.reason.startswith(f"raised {type(error).__name__}")
    assert second == Outcome(1.0)


def test_reward_that_stops_the_loop_stops_nothing():
    async def reward(completion, i):
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0.01)
        return 1.0

    assert batch(reward, 3).outcomes() == [Outcome(1.0)] * 3


def test_tasks_of_the_reward_work():
    async def part(x):
        await asyncio.sleep(0.001)
        return x

    async def reward(completion, i):
        async with asyncio.timeout(FOREVER_S), asyncio.TaskGroup() as group:
            named = group.create_task(part(1.0), name="mine")
        a, b = await asyncio.gather(
            asyncio.wait_for(part(2.0), FOREVER_S), asyncio.to_thread(float, 3)
        )
        return named.result() + a + b + float(named.get_name() == "mine")

    assert batch(reward, 2).outcomes() == [Outcome(7.0)] * 2


def test_context_of_a_call_reaches_no_other():
    variable = ContextVar("variable", default=0)

    async def reward(completion, i):
        seen = variable.get()
        variable.set(1)
        await asyncio.sleep(0)
        return float(seen)

    assert batch(reward, 5, concurrency=1).outcomes() == [Outcome(0.0)] * 5


# At once


def test_calls_run_at_once_up_to_the_concurrency():
    now, most = 0, 0

    async def reward(completion, i):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return 1.0

    batch(reward, 20, concurrency=4).done()

    assert most == 4


def test_batches_share_one_loop():
    loops = set()

    async def reward(completion, i):
        loops.add(asyncio.get_running_loop())
        return 1.0

    for run in [batch(reward, 2), batch(reward, 2, name="other"), batch(reward, 2)]:
        run.done()
    batch(reward, 2).done()

    assert len(loops) == 1


@pytest.mark.parametrize("kind", [asyncio.Semaphore, asyncio.Lock])
def test_lock_of_a_module_works_over_batches_and_rewards(kind):
    lock = kind()  # made where no loop runs

    async def reward(completion, i):
        async with lock:
            await asyncio.sleep(0.002)
        return 1.0

    for _ in range(3):
        runs = [batch(reward, 5, name=name) for name in ("a", "b")]
        assert [run.outcomes() for run in runs] == [[Outcome(1.0)] * 5] * 2


def test_works_under_a_running_loop():
    async def cell():
        return batch(one, 3).outcomes()

    assert asyncio.run(cell()) == [Outcome(1.0)] * 3


def test_works_from_any_thread():
    found = []
    thread = threading.Thread(target=lambda: found.extend(batch(one, 3).outcomes()))
    thread.start()
    thread.join()

    assert found == [Outcome(1.0)] * 3


# Deadlines


def test_late_call_is_timed_out_and_the_others_have_their_values():
    async def reward(completion, i):
        if i == 1:
            await asyncio.sleep(1000)
        return 1.0

    outcomes = batch(reward, 4, timeout_s=0.2).outcomes()

    late = Outcome(None, "timed_out", "took longer than 0.2 s", fault=True)
    assert outcomes == [Outcome(1.0), late, Outcome(1.0), Outcome(1.0)]
    assert abandoned() == 0


def test_late_call_makes_room_for_the_next():
    async def reward(completion, i):
        if i < 2:
            await asyncio.sleep(1000)
        return 1.0

    outcomes = batch(reward, 4, timeout_s=0.1, concurrency=1).outcomes()

    assert [o.status for o in outcomes] == ["timed_out", "timed_out", "scored", "scored"]


def test_late_call_may_clean_up():
    cleaned = threading.Event()

    async def reward(completion, i):
        try:
            await asyncio.sleep(1000)
        finally:
            cleaned.set()

    batch(reward, 1, timeout_s=0.1).done()

    assert cleaned.wait(FOREVER_S)


def test_late_call_is_not_tried_again():
    tries = []

    async def reward(completion, i):
        tries.append(i)
        await asyncio.sleep(1000)

    [outcome] = batch(reward, 1, timeout_s=0.1, retries=3).outcomes()

    assert (outcome.status, tries) == ("timed_out", [0])


def test_timeout_of_the_reward_itself_is_its_fault():
    async def reward(completion, i):
        async with asyncio.timeout(0.01):
            await asyncio.sleep(1000)

    [outcome] = batch(reward, 1).outcomes()

    assert outcome.reason.startswith("raised TimeoutError")


def test_call_that_ignores_its_deadline_is_given_up():
    end = threading.Event()

    async def reward(completion, i):
        while i == 0 and not end.is_set():
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                pass
        return 1.0

    outcomes = batch(reward, 3, timeout_s=0.1, concurrency=1, name="stubborn").outcomes()

    assert [o.status for o in outcomes] == ["timed_out", "scored", "scored"]
    wait_until(lambda: abandoned_by_reward() == {"stubborn": 1})
    end.set()


def test_rest_is_not_called_once_three_calls_ignore_their_deadline():
    end = threading.Event()
    seen = []

    async def reward(completion, i):
        seen.append(i)
        while not end.is_set():
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                pass
        return 1.0

    outcomes = batch(reward, 60, timeout_s=0.2, concurrency=3).outcomes()

    assert len(seen) < 15
    assert outcomes[59].reason.startswith("was not called: ")
    end.set()


# Cancel


def test_cancel_decides_what_is_open():
    cleaned = threading.Event()
    hanging = []

    async def reward(completion, i):
        if i:
            hanging.append(i)
            try:
                await asyncio.sleep(1000)
            finally:
                cleaned.set()
        return 1.0

    run = batch(reward, 5, timeout_s=None, concurrency=2)
    wait_until(lambda: hanging == [1, 2])
    run.running.cancel("batch deadline")

    late = Outcome(None, "timed_out", "batch deadline")
    assert run.outcomes() == [Outcome(1.0), *[late] * 4]
    assert cleaned.wait(FOREVER_S)


def test_cancel_at_once_leaves_nothing_behind():
    for _ in range(20):
        run = batch(one, 5)
        run.running.cancel("batch deadline")
        assert len(run.outcomes()) == 5
    gc.collect()  # a coroutine that was never awaited would warn here


def test_cancel_breaks_off_a_wait_for_the_rate():
    made = []

    async def reward(completion, i):
        made.append(i)
        return 1.0

    run = batch(reward, 3, pacer=Pacer(0.001))
    wait_until(lambda: made == [0] and run.n_running == 0)
    run.running.cancel("batch deadline")

    assert [o.status for o in run.outcomes()] == ["scored", "timed_out", "timed_out"]


# Tries and rate


def test_raised_is_tried_again(monkeypatch):
    monkeypatch.setattr(ledger, "BACKOFF_S", 0.01)
    tries = []

    async def reward(completion, i):
        tries.append(i)
        if len(tries) < 3:
            raise ConnectionError("down")
        return 1.0

    assert batch(reward, 1, retries=2).outcomes() == [Outcome(1.0)]


def test_raised_at_each_try_says_how_many(monkeypatch):
    monkeypatch.setattr(ledger, "BACKOFF_S", 0.01)

    async def reward(completion, i):
        raise ConnectionError("down")

    [outcome] = batch(reward, 1, retries=2).outcomes()

    assert outcome.reason.endswith("), after 3 tries")


def test_pause_between_tries_holds_up_no_other_call(monkeypatch):
    monkeypatch.setattr(ledger, "BACKOFF_S", PATIENT_S)
    order = []

    async def reward(completion, i):
        order.append(i)
        if order == [0]:
            raise ConnectionError
        return 1.0

    batch(reward, 3, retries=1, concurrency=1).done()

    assert order == [0, 1, 2, 0]


def test_rate_keeps_starts_apart_over_batches():
    pacer = Pacer(50.0)
    starts = []

    async def reward(completion, i):
        starts.append(time.monotonic())
        return 1.0

    before = time.monotonic()
    for _ in range(2):
        batch(reward, 5, pacer=pacer).done()

    assert starts[-1] - before >= 9 * 0.02


def test_wait_for_the_rate_counts_for_no_deadline():
    # The last one waits for 3 s.
    outcomes = batch(one, 4, pacer=Pacer(1.0), timeout_s=PATIENT_S).outcomes()

    assert outcomes == [Outcome(1.0)] * 4


# Rewards that block the loop


def warnings_in(caplog) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "grpo_core"]


def test_blocking_is_warned_of_once(caplog):
    async def reward(completion, i):
        time.sleep(0.15)
        return 1.0

    outcomes = batch(reward, 3, name="sleepy").outcomes()

    assert outcomes == [Outcome(1.0)] * 3
    [warning] = warnings_in(caplog)
    assert re.match(r"reward 'sleepy' blocked the event loop for \d+\.\d s, ", warning)


@pytest.fixture
def clock(monkeypatch):
    """The clock by which steps are measured; it stands still unless it is told otherwise."""
    clock = FakeClock()
    monkeypatch.setattr(event_loop, "time", SimpleNamespace(monotonic=clock))
    return clock


def test_blocking_in_a_task_of_the_reward_is_its_own(caplog, clock):
    async def part():
        clock.advance(0.15)

    async def sleepy(completion, i):
        await asyncio.gather(part())
        return 1.0

    async def decent(completion, i):
        await asyncio.sleep(0.02)
        return 1.0

    runs = [batch(decent, 8, name="decent"), batch(sleepy, 1, name="sleepy")]
    for run in runs:
        run.done()

    assert [w.split("'")[1] for w in warnings_in(caplog)] == ["sleepy"]


def test_waiting_is_not_warned_of(caplog, clock):
    async def reward(completion, i):
        asyncio.get_running_loop().call_soon(clock.advance, 0.2)  # once it waits
        await asyncio.sleep(0.01)
        return 1.0

    batch(reward, 2).done()

    assert warnings_in(caplog) == []


def test_call_that_blocks_for_good_is_given_up_and_the_others_have_their_values(caplog):
    end = threading.Event()

    async def reward(completion, i):
        if i == 2:
            end.wait()
        await asyncio.sleep(0.01)
        return 1.0

    outcomes = batch(reward, 6, timeout_s=PATIENT_S, name="stuck").outcomes()

    reason = "took longer than 2.5 s and blocked the event loop, which was given up"
    late = Outcome(None, "timed_out", reason, fault=True)
    assert outcomes == [Outcome(1.0), Outcome(1.0), late, *[Outcome(1.0)] * 3]
    assert abandoned_by_reward() == {"stuck": 1}
    assert warnings_in(caplog)[0].startswith("reward 'stuck' blocked the event loop")
    end.set()


def test_call_that_blocks_for_good_costs_other_rewards_nothing():
    end = threading.Event()
    begun = []

    async def stuck(completion, i):
        end.wait()

    async def decent(completion, i):
        begun.append(i)
        await asyncio.sleep(0.2)
        return 1.0

    # It is given up 3 s after its start at the earliest.
    runs = [batch(decent, 3, timeout_s=PATIENT_S, name="decent")]
    wait_until(lambda: len(begun) == 3)
    runs.append(batch(stuck, 1, timeout_s=PATIENT_S, name="stuck"))

    assert runs[0].outcomes() == [Outcome(1.0)] * 3
    assert runs[1].outcomes()[0].status == "timed_out"
    assert abandoned_by_reward() == {"stuck": 1}
    end.set()


def test_next_batch_after_a_blocked_loop_works():
    begun, end = threading.Event(), threading.Event()

    async def reward(completion, i):
        begun.set()
        end.wait()

    run = batch(reward, 1, timeout_s=None)
    assert begun.wait(FOREVER_S)
    run.running.cancel("batch deadline")
    assert run.outcomes() == [Outcome(None, "timed_out", "batch deadline")]

    assert batch(one, 3).outcomes() == [Outcome(1.0)] * 3
    end.set()


def test_leftover_of_an_earlier_batch_that_blocks_costs_the_next_nothing():
    end = threading.Event()

    async def reward(completion, i):
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            end.wait()

    batch(reward, 1, timeout_s=0.2, name="leftover").done()

    assert batch(one, 3).outcomes() == [Outcome(1.0)] * 3
    assert abandoned_by_reward() == {"leftover": 1}
    end.set()


def test_deadline_of_a_call_leaves_out_what_others_blocked():
    begun = threading.Event()

    async def sleepy(completion, i):
        time.sleep(2 * PATIENT_S)
        return 1.0

    async def decent(completion, i):
        begun.set()
        await asyncio.sleep(0.25)
        await asyncio.sleep(0.05)
        return 1.0

    decent_run = batch(decent, 1, timeout_s=PATIENT_S, name="decent")
    assert begun.wait(FOREVER_S)
    batch(sleepy, 1, name="sleepy").done()

    assert decent_run.outcomes() == [Outcome(1.0)]


def test_call_in_a_thread_of_the_loop_that_hangs_is_late():
    end = threading.Event()

    async def reward(completion, i):
        await asyncio.to_thread(end.wait)

    [outcome] = batch(reward, 1, timeout_s=0.2).outcomes()

    assert outcome.status == "timed_out"
    end.set()


# Closing a reward


def test_wait_for_runs_on_the_loop_of_the_rewards():
    loops = []

    async def reward(completion, i):
        loops.append(asyncio.get_running_loop())
        return 1.0

    async def close():
        loops.append(asyncio.get_running_loop())

    batch(reward, 1).done()
    event_loop.wait_for(close(), FOREVER_S)

    assert loops[0] is loops[1]


def test_wait_for_passes_on_what_is_raised():
    async def close():
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        event_loop.wait_for(close(), FOREVER_S)


def test_wait_for_late_is_cancelled():
    cleaned = threading.Event()

    async def close():
        try:
            await asyncio.sleep(1000)
        finally:
            cleaned.set()

    with pytest.raises(TimeoutError):
        event_loop.wait_for(close(), 0.1)
    assert cleaned.wait(FOREVER_S)


# The process


SCRIPT = """
    import asyncio, logging, os, sys, time
    sys.path.insert(0, "tests")
    from batches import Batch, callee
    from grpo_core.scoring import event_loop
    from grpo_core.scoring.loop import run_on_loop

    # On a busy machine a step may seem to block, and the loop may be late to answer at the end.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    event_loop.BLOCKING_S = 60.0
    event_loop._CLOSING_S = 4.0

    def batch(reward, n, **policy):
        return Batch(run_on_loop, callee(reward).attempt_async, n, **policy)

    async def one(completion, i):
        return 1.0
"""


def test_exit_is_silent():
    code, output = run_script(
        SCRIPT
        + """
    print([o.value for o in batch(one, 3).outcomes()])
    """
    )

    assert (code, output) == (0, "[1.0, 1.0, 1.0]\n")


@pytest.mark.parametrize(
    "body",
    [
        "await asyncio.sleep(1000)",
        "await asyncio.to_thread(time.sleep, 1000)",
        "await asyncio.gather(asyncio.sleep(1000), asyncio.create_task(asyncio.sleep(1000)))",
        """
        while True:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                pass
        """,
        """
        async def forever():
            while True:
                yield 1
                await asyncio.sleep(0.01)
        async for _ in forever(): pass
        """,
    ],
    ids=["sleeps", "thread", "tasks", "ignores", "generator"],
)
def test_exit_in_the_middle_of_a_batch_is_silent(body):
    code, output = run_script(
        SCRIPT
        + f"""
    async def reward(completion, i):
        {body}

    run = batch(reward, 3, timeout_s=0.2)
    assert [o.status for o in run.outcomes()] == ["timed_out"] * 3
    batch(reward, 20, timeout_s=None)
    time.sleep(0.1)
    """
    )

    assert (code, output) == (0, "")


def test_exit_with_a_blocked_loop_does_not_hang():
    code, output = run_script(
        SCRIPT
        + """
    logging.disable()

    async def reward(completion, i):
        time.sleep(1000)

    assert batch(reward, 1, timeout_s=0.2).outcomes()[0].status == "timed_out"
    batch(reward, 1)
    time.sleep(0.1)
    """
    )

    assert (code, output) == (0, "")


def test_forked_child_has_its_own_loop():
    code, output = run_script(
        SCRIPT
        + """
    assert batch(one, 2).outcomes()[0].value == 1.0
    pid = os.fork()
    assert [o.value for o in batch(one, 3).outcomes()] == [1.0] * 3
    if pid:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    """
    )

    assert (code, output) == (0, "")


def test_async_and_threads_at_once():
    def plain(completion, i):
        time.sleep(0.01)
        return 1.0

    runs = [batch(one, 20), Batch(run_in_threads, callee(plain).attempt, 20)]

    assert [run.outcomes() for run in runs] == [[Outcome(1.0)] * 20] * 2


def test_overhead_of_a_call_is_small():
    start = time.process_time()
    batch(one, 2000).done()

    assert (time.process_time() - start) / 2000 < 0.002  # measured: 0.00003
