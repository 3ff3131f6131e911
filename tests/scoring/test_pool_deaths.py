"""Calls that end their worker, take its memory or wear it out."""

import os

import pytest
from pool_jobs import is_gone, run, values

from grpo_core.outcome import Outcome
from grpo_core.scoring.pool import Pool


@pytest.fixture(scope="module")
def pool():
    pool = Pool(2, memory_mb=1000)
    yield pool
    pool.close()


def of_the_bad_one(pool, how):
    """The outcome of one bad call among eight; the others must have their values."""
    outcomes = run(pool, "ends", [{"how": how if i == 2 else ""} for i in range(8)])
    bad = outcomes.pop(2)
    assert outcomes == [Outcome(1.0)] * 7
    return bad


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("exit", "its worker ended with exit code 3"),
        ("exit after a fork", "its worker ended with exit code 3"),
        ("kill", "its worker was killed by signal 9 (SIGKILL; out of memory?)"),
        ("segfault", "its worker was killed by signal 11 (SIGSEGV)"),
    ],
)
def test_call_that_ends_its_worker_is_a_fault(pool, how, reason):
    assert of_the_bad_one(pool, how) == Outcome(None, "failed", reason, fault=True)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("sys.exit", "raised SystemExit: 0"),
        ("interrupt", "raised KeyboardInterrupt"),
        ("SIGINT", "raised KeyboardInterrupt"),
        ("recursion", "raised RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_call_that_raises_what_would_end_a_program_is_a_fault(pool, how, reason):
    outcome = of_the_bad_one(pool, how)

    assert outcome.fault
    assert outcome.reason.startswith(reason)


def test_call_that_ends_its_worker_once_has_its_value(pool, tmp_path):
    inputs = [{"mark": str(tmp_path / "mark") if i == 3 else ""} for i in range(10)]

    assert values(pool, "ends_once", inputs) == [1.0] * 10


def test_call_that_takes_too_much_memory_is_a_fault_that_names_the_limit(pool):
    first, bad, last = run(pool, "takes_memory", [{"megabytes": m} for m in (1, 5000, 1)])

    assert first.value is not None
    assert last.value is not None
    assert bad.fault
    assert bad.reason.startswith("raised MemoryError (")
    assert bad.reason.endswith("; a worker may use 1000 MB")


def test_worker_that_ran_out_of_memory_is_replaced():
    pool = Pool(1, memory_mb=1000)
    [before] = values(pool, "takes_memory", [{"megabytes": 1}])
    run(pool, "takes_memory", [{"megabytes": 5000}])
    [after] = values(pool, "takes_memory", [{"megabytes": 1}])

    assert before != after
    assert is_gone(int(before))
    pool.close()


def test_worker_that_leaks_is_replaced(pool, site):
    file = site.write(
        "leaks.py",
        """
        import os
        from grpo_core import reward
        kept = []
        @reward(range=(0.0, 1e9))
        def leaks(completion, megabytes: int):
            kept.append(bytearray(b"x") * (megabytes << 20))
            return os.getpid()
        """,
    )
    inputs = [{"megabytes": 100}] * 20

    pids = values(pool, "leaks", inputs, file=file)

    assert None not in pids  # 2 GB in all, more than both workers may use
    assert len(set(pids)) > 2


def test_worker_that_is_killed_while_it_has_nothing_to_do_is_replaced():
    pool = Pool(1)
    [before] = values(pool, "process_id", [{}])
    os.kill(int(before), 9)

    [after] = values(pool, "process_id", [{}])
    pool.close()

    assert before != after
