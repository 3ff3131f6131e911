"""`Pacer`: at most so many calls a second."""

import itertools
import threading
import time

from grpo_core.scoring.pacing import Pacer
from grpo_core.testing import FakeClock


def test_take_first_call_starts_at_once():
    assert Pacer(2.0, FakeClock()).take() == 0.0


def test_take_second_call_waits_for_the_gap():
    clock = FakeClock()
    pacer = Pacer(2.0, clock)
    pacer.take()
    clock.advance(0.125)

    assert pacer.take() == 0.375


def test_take_call_that_waited_starts():
    clock = FakeClock()
    pacer = Pacer(2.0, clock)
    pacer.take()
    clock.advance(0.5)

    assert pacer.take() == 0.0


def test_take_asking_reserves_nothing():
    clock = FakeClock()
    pacer = Pacer(1.0, clock)
    pacer.take()
    for _ in range(5):
        pacer.take()
    clock.advance(1.0)

    assert pacer.take() == 0.0


def test_take_unused_starts_are_not_saved_up():
    clock = FakeClock()
    pacer = Pacer(4.0, clock)
    pacer.take()
    clock.advance(60.0)

    assert [pacer.take(), pacer.take()] == [0.0, 0.25]


def test_take_no_second_holds_more_than_the_rate():
    clock = FakeClock()
    pacer = Pacer(4.0, clock)
    starts = []
    for _ in range(1000):  # 1/64 s each
        if pacer.take() == 0.0:
            starts.append(clock.now)
        clock.advance(1 / 64)

    assert len(starts) == 63  # 1000 / 64 s = 15.6 s, from its very start
    assert all(b - a == 0.25 for a, b in itertools.pairwise(starts))


def test_take_threads_share_the_rate():
    pacer = Pacer(100.0)
    starts = []

    def take_many():
        while len(starts) < 30:
            if pacer.take() == 0.0:
                starts.append(time.monotonic())

    before = time.monotonic()
    threads = [threading.Thread(target=take_many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert max(starts) - before >= 0.01 * (len(starts) - 1)
