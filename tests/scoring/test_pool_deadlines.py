"""Calls that are late: they are ended, tried once more alone, and cost the others nothing."""

import sys
import time

import pytest
from batches import PATIENT_S, wait_until
from pool_jobs import WAIT_S, begin, is_gone, run, values

from grpo_core.outcome import Outcome
from grpo_core.scoring.pool import Pool


@pytest.fixture(scope="module")
def pool():
    pool = Pool(2)
    yield pool
    pool.close()


def test_call_that_hangs_is_timed_out_and_the_others_have_values(pool):
    inputs = [{"seconds": 1000.0 if i == 7 else 0.0} for i in range(100)]

    outcomes = run(pool, "sleeps", inputs, timeout_s=0.3)

    assert outcomes.pop(7) == Outcome(
        None, "timed_out", "took longer than 0.3 s, twice", fault=True
    )
    assert outcomes == [Outcome(1.0)] * 99


def test_call_that_hangs_is_tried_twice_and_no_finished_one_again(pool, tmp_path):
    inputs = [
        {"folder": str(tmp_path), "i": i, "bad": "hang" if i == 7 else ""} for i in range(100)
    ]

    run(pool, "counted", inputs, timeout_s=PATIENT_S)

    tries = [len(list(tmp_path.glob(f"{i}-*"))) for i in range(100)]
    assert tries.pop(7) == 2
    assert tries == [1] * 99


def test_call_that_is_in_time_when_alone_has_its_value(pool, tmp_path):
    inputs = [{"mark": str(tmp_path / "mark") if i == 3 else ""} for i in range(10)]

    assert values(pool, "sleeps_once", inputs, timeout_s=PATIENT_S) == [1.0] * 10


def test_call_that_never_lets_go_of_the_interpreter_is_ended(pool):
    inputs = [{"hard": i == 1} for i in range(2)]
    outcomes = run(pool, "holds_the_interpreter", inputs[1:], timeout_s=0.3)

    assert [o.status for o in outcomes] == ["timed_out"]


def test_many_calls_that_hang_in_one_worker_all_end():
    pool = Pool(1)
    inputs = [{"seconds": 1000.0 if i % 4 == 0 else 0.0} for i in range(12)]

    outcomes = run(pool, "sleeps", inputs, timeout_s=0.2)
    pool.close()

    expected = ["timed_out", "scored", "scored", "scored"] * 3
    assert [o.status for o in outcomes] == expected


def test_other_worker_goes_on_while_a_call_hangs():
    pool = Pool(2)
    _, hangs = begin(pool, "sleeps", [{"seconds": 1000.0}], timeout_s=None)

    assert values(pool, "double", [{"x": i} for i in range(20)]) == [2.0 * i for i in range(20)]

    assert hangs.empty()
    pool.close()


def test_each_call_has_its_own_deadline(pool):
    """Twelve calls of 0.1 s in two workers: each is in time, all together are not."""
    assert values(pool, "sleeps", [{"seconds": 0.1}] * 12, timeout_s=0.5) == [1.0] * 12


@pytest.fixture
def no_turn():
    """A function that gives no other thread of this process a turn for some seconds."""
    interval = sys.getswitchinterval()

    def hold(seconds):
        sys.setswitchinterval(100.0)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        sys.setswitchinterval(interval)

    yield hold
    sys.setswitchinterval(interval)


def test_call_in_time_has_its_value_though_this_process_could_not_look(pool, no_turn):
    values(pool, "sleeps", [{"seconds": 0.0}] * 2)
    ticket, results = begin(pool, "sleeps", [{"seconds": 0.3}] * 2, timeout_s=0.6)
    wait_until(lambda: ticket._job.n_waiting == 0)
    no_turn(1.5)

    assert [d.outcomes[0].value for d in results.get(timeout=WAIT_S)] == [1.0, 1.0]


def test_call_that_was_late_is_timed_out_though_this_process_could_not_look(pool, no_turn):
    values(pool, "sleeps", [{"seconds": 0.0}])
    ticket, results = begin(pool, "sleeps", [{"seconds": 0.6}], timeout_s=0.3)
    wait_until(lambda: ticket._job.n_waiting == 0)
    no_turn(1.0)

    [done] = results.get(timeout=WAIT_S)
    assert done.outcomes[0].reason.startswith("took longer than 0.3 s, twice")


def test_calls_that_all_hang_are_told_that_loading_may_be_the_reason(pool):
    outcomes = run(pool, "sleeps", [{"seconds": 1000.0}] * 2, timeout_s=0.3)

    reason = (
        "took longer than 0.3 s, twice; if it loads something at its first call, it needs a longer "
        "timeout_s"
    )
    assert outcomes == [Outcome(None, "timed_out", reason, fault=True)] * 2


def test_call_without_a_deadline_is_waited_for(pool):
    assert values(pool, "sleeps", [{"seconds": 0.5}], timeout_s=None) == [1.0]


def test_program_that_a_late_call_started_is_ended(pool, tmp_path):
    file = tmp_path / "pid"

    run(pool, "starts_a_program_and_hangs", [{"file": str(file)}], timeout_s=PATIENT_S)

    assert is_gone(int(file.read_text()))


def test_cancel_ends_what_is_not_decided_and_keeps_the_rest(pool):
    inputs = [{"seconds": 0.0}] * 4 + [{"seconds": 1000.0}] * 4
    ticket, results = begin(pool, "sleeps", inputs, timeout_s=None)
    wait_until(lambda: ticket._job._done[0])

    ticket.cancel("the batch took longer than 0.5 s")

    outcomes = [done.outcomes[0] for done in results.get(timeout=WAIT_S)]
    late = Outcome(None, "timed_out", "the batch took longer than 0.5 s")
    assert outcomes[-4:] == [late] * 4
    assert outcomes[0] == Outcome(1.0)


def test_cancel_leaves_other_jobs_alone(pool):
    ticket, cancelled = begin(pool, "sleeps", [{"seconds": 1000.0}], timeout_s=None)
    _, kept = begin(pool, "sleeps", [{"seconds": 0.3}] * 4, timeout_s=None)

    ticket.cancel("enough")

    assert cancelled.get(timeout=WAIT_S)[0].outcomes[0].reason == "enough"
    assert [done.outcomes[0].value for done in kept.get(timeout=WAIT_S)] == [1.0] * 4


def test_cancel_of_a_finished_job_does_nothing(pool):
    ticket, results = begin(pool, "double", [{"x": 1}])
    results.get(timeout=WAIT_S)

    ticket.cancel("too late")

    assert values(pool, "double", [{"x": 2}]) == [4.0]
    assert results.empty()
