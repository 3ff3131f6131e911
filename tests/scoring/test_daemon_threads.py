"""`DaemonThreads`: what a reward's `asyncio.to_thread` runs in."""

import threading

import pytest
from batches import FOREVER_S, wait_until

from grpo_core.scoring.abandoned import Owner, abandoned, abandoned_by_reward
from grpo_core.scoring.daemon_threads import DaemonThreads


@pytest.fixture
def end():
    event = threading.Event()
    yield event
    event.set()
    wait_until(lambda: abandoned() == 0)


def pool(most: int = 2) -> DaemonThreads:
    return DaemonThreads(lambda: Owner("judge"), most)


def test_submit_returns_the_result():
    assert pool().submit(divmod, 7, 2).result(FOREVER_S) == (3, 1)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1)])
def test_submit_passes_on_what_is_raised(error):
    def fail():
        raise error

    with pytest.raises(type(error)):
        pool().submit(fail).result(FOREVER_S)


def test_submit_runs_no_more_at_once_than_allowed():
    lock = threading.Lock()
    three = threading.Barrier(3, timeout=FOREVER_S)
    now, most = 0, 0

    def work():
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        three.wait()
        with lock:
            now -= 1

    threads = pool(most=3)
    for job in [threads.submit(work) for _ in range(21)]:
        job.result(FOREVER_S)

    assert most == 3


def test_threads_are_daemons_and_end():
    names = []
    threads = pool()
    threads.submit(lambda: names.append(threading.current_thread().daemon)).result(FOREVER_S)

    assert names == [True]
    wait_until(lambda: all(t.name != "grpo-to-thread" for t in threading.enumerate()))


def test_cancel_running_is_given_up_and_makes_room(end):
    threads = pool(most=1)
    stuck = threads.submit(end.wait)
    waiting = threads.submit(lambda: 1)
    wait_until(stuck.running)

    assert not stuck.cancel()
    assert waiting.result(FOREVER_S) == 1
    assert abandoned_by_reward().get("judge") == 1  # those of other tests may run still


def test_cancel_waiting_never_runs(end):
    ran = []
    threads = pool(most=1)
    threads.submit(end.wait)
    waiting = threads.submit(ran.append, 1)

    assert waiting.cancel()
    end.set()
    threads.submit(lambda: None).result(FOREVER_S)
    assert ran == []


def test_cancel_done_gives_nothing_up():
    job = pool().submit(lambda: 1)
    job.result(FOREVER_S)
    job.cancel()

    assert abandoned() == 0
