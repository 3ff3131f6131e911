"""`DaemonThreads`: what a reward's `asyncio.to_thread` runs in."""

import threading
import time

import pytest

from grpo_core.scoring.abandoned import Owner, abandoned, abandoned_by_reward
from grpo_core.scoring.daemon_threads import DaemonThreads


@pytest.fixture
def end():
    event = threading.Event()
    yield event
    event.set()
    while abandoned():
        time.sleep(0.005)


def pool(most: int = 2) -> DaemonThreads:
    return DaemonThreads(lambda: Owner("judge"), most)


def test_submit_returns_the_result():
    assert pool().submit(divmod, 7, 2).result(5) == (3, 1)


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1)])
def test_submit_passes_on_what_is_raised(error):
    def fail():
        raise error

    with pytest.raises(type(error)):
        pool().submit(fail).result(5)


def test_submit_runs_no_more_at_once_than_allowed():
    lock = threading.Lock()
    now, most = 0, 0

    def work():
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with lock:
            now -= 1

    threads = pool(most=3)
    for job in [threads.submit(work) for _ in range(20)]:
        job.result(5)

    assert most == 3


def test_threads_are_daemons_and_end():
    names = []
    threads = pool()
    threads.submit(lambda: names.append(threading.current_thread().daemon)).result(5)

    assert names == [True]
    end = time.monotonic() + 5
    while any(t.name == "grpo-to-thread" for t in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.005)


def test_cancel_running_is_given_up_and_makes_room(end):
    threads = pool(most=1)
    stuck = threads.submit(end.wait)
    waiting = threads.submit(lambda: 1)
    while not stuck.running():
        time.sleep(0.001)

    assert not stuck.cancel()
    assert waiting.result(5) == 1
    assert abandoned_by_reward() == {"judge": 1}


def test_cancel_waiting_never_runs(end):
    ran = []
    threads = pool(most=1)
    threads.submit(end.wait)
    waiting = threads.submit(ran.append, 1)

    assert waiting.cancel()
    end.set()
    threads.submit(lambda: None).result(5)
    assert ran == []


def test_cancel_done_gives_nothing_up():
    job = pool().submit(lambda: 1)
    job.result(5)
    job.cancel()

    assert abandoned() == 0
