"""`Ledger`: which calls wait, run and are decided."""

import pytest
from batches import calls

from grpo_core.outcome import Outcome
from grpo_core.scoring import ledger as module
from grpo_core.scoring.done import Done
from grpo_core.scoring.ledger import Ledger
from grpo_core.scoring.pacing import Pacer
from grpo_core.scoring.policy import Policy


class Clock:
    """Stands in for `time`."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def ledger(n: int, pacer: Pacer | None = None, **policy) -> Ledger:
    return Ledger(calls(n), Policy("thread", **policy), pacer)


def test_take_calls_in_order_then_nothing():
    books = ledger(2)

    assert [books.take().index, books.take().index, books.take()] == [0, 1, None]


def test_refuse_decides_what_waits_and_ends_retries():
    books = ledger(2, retries=1)
    first = books.take()

    books.refuse("was not called")
    books.fail(first, ValueError("down"))

    assert books.over.is_set()
    assert [d.outcomes[0].reason for d in books.done] == [
        "raised ValueError: down",
        "was not called",
    ]


def test_over_no_calls_is_over():
    books = ledger(0)

    assert books.over.is_set()
    assert books.done == []


def test_settle_last_call_ends_the_batch_in_order(clock):
    books = ledger(2)
    first, second = books.take(), books.take()
    clock.now += 2.0
    books.settle(second, [Outcome(0.5)])
    assert not books.over.is_set()
    clock.now += 1.0
    books.settle(first, [Outcome(1.0)])

    assert books.over.is_set()
    assert books.done == [Done([Outcome(1.0)], 3.0), Done([Outcome(0.5)], 2.0)]


def test_settle_late_result_changes_nothing():
    books = ledger(1)
    one = books.take()

    assert books.expire(one, "late")
    assert not books.settle(one, [Outcome(1.0)])
    assert not books.fail(one, ValueError())
    assert books.done[0].outcomes == [Outcome(None, "timed_out", "late", fault=True)]


def test_expire_settled_call_keeps_its_result():
    books = ledger(1)
    one = books.take()

    assert books.settle(one, [Outcome(1.0)])
    assert not books.expire(one, "late")
    assert books.done[0].outcomes == [Outcome(1.0)]


def test_fail_without_retries_is_the_fault_of_each_completion():
    books = Ledger(calls(1, rows=3), Policy("thread"), None)
    books.fail(books.take(), ValueError("no"))

    assert (
        books.done[0].outcomes == [Outcome(None, "failed", "raised ValueError: no", fault=True)] * 3
    )


def test_fail_tries_again_after_growing_pauses(clock):
    books = ledger(1, retries=2)
    waits = []
    for _ in range(2):
        books.fail(books.take(), ValueError("no"))
        waits.append(books.take())
        clock.now += waits[-1]
    books.fail(books.take(), ValueError("never"))

    assert waits == [0.5, 1.0]
    assert books.done[0].outcomes[0].reason == "raised ValueError: never, after 3 tries"


def test_fail_value_of_a_later_try_counts(clock):
    books = ledger(1, retries=1)
    books.fail(books.take(), ValueError("no"))
    clock.now += 0.5
    books.settle(books.take(), [Outcome(1.0)])

    assert books.done[0].outcomes == [Outcome(1.0)]


@pytest.mark.parametrize("raised", [SystemExit(0), KeyboardInterrupt(), GeneratorExit()])
def test_fail_what_is_no_exception_is_not_tried_again(raised):
    books = ledger(1, retries=5)
    books.fail(books.take(), raised)

    assert books.done[0].outcomes[0].reason.startswith(f"raised {type(raised).__name__}")


def test_fail_other_calls_go_on_during_the_pause(clock):
    books = ledger(2, retries=1)
    books.fail(books.take(), ValueError())

    assert books.take().index == 1
    assert books.take() == 0.5


def test_fail_call_that_is_due_again_comes_first(clock):
    books = ledger(3, retries=1)
    books.fail(books.take(), ValueError())
    clock.now += 0.5

    assert [books.take().index, books.take().index] == [0, 1]


def test_fail_pause_has_an_end(clock):
    books = ledger(1, retries=20)
    for _ in range(10):
        books.fail(books.take(), ValueError())
        pause = books.take()
        clock.now += pause

    assert pause == 30.0


def test_fail_exception_that_cannot_be_shown():
    class Hostile(Exception):
        def __str__(self):
            raise KeyboardInterrupt

    books = ledger(1)
    books.fail(books.take(), Hostile())

    assert books.done[0].outcomes[0].reason == "raised Hostile"


def test_take_rate_holds_for_further_tries_too(clock):
    books = ledger(1, Pacer(0.1, clock.monotonic), retries=1)
    books.fail(books.take(), ValueError())
    clock.now += 0.5

    assert books.take() == 9.5


def test_take_rate_is_not_used_up_where_nothing_waits(clock):
    pacer = Pacer(1.0, clock.monotonic)
    ledger(0, pacer).take()

    assert pacer.take() == 0.0


def test_put_back_call_is_the_next_and_the_same_try():
    books = ledger(3, retries=1)
    one = books.take()
    books.put_back(one)
    again = books.take()

    assert (again.index, again.number) == (0, 1)
    assert not books.settle(one, [Outcome(1.0)])
    assert books.settle(again, [Outcome(0.5)])


def test_end_decides_what_is_open():
    books = ledger(3)
    books.settle(books.take(), [Outcome(1.0)])
    running = books.take()

    assert books.end("timed_out", "batch deadline") == [running]
    late = Outcome(None, "timed_out", "batch deadline")
    assert [d.outcomes for d in books.done] == [[Outcome(1.0)], [late], [late]]
    assert books.over.is_set()
    assert books.take() is None


def test_end_call_between_two_tries_keeps_its_fault():
    books = ledger(1, retries=3)
    books.fail(books.take(), ValueError("no"))
    books.end("timed_out", "batch deadline")

    reason = "raised ValueError: no; batch deadline before the next try"
    assert books.done[0].outcomes == [Outcome(None, "failed", reason, fault=True)]


def test_end_again_changes_nothing():
    books = ledger(1)
    books.settle(books.take(), [Outcome(1.0)])

    assert books.end("timed_out", "batch deadline") == []
    assert books.done[0].outcomes == [Outcome(1.0)]
