"""`Pool`: calls go to worker processes, each call gets its outcomes, in order."""

import os
import queue
import threading
import time

import pytest
from pool_jobs import WAIT_S, begin, calls, recipe, run, values

from grpo_core.completion import Completion
from grpo_core.outcome import Outcome
from grpo_core.scoring import process
from grpo_core.scoring.calls import Call
from grpo_core.scoring.done import Done
from grpo_core.scoring.pool import Pool, shared_pool, usable_workers


@pytest.fixture(scope="module")
def pool():
    pool = Pool(2)
    yield pool
    pool.close()


@pytest.fixture
def fresh():
    """A function that makes a pool, closed at the end of the test."""
    pools = []

    def make(*args, **kwargs):
        pools.append(Pool(*args, **kwargs))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


def test_submit_gives_values_in_the_order_of_the_calls(pool):
    assert values(pool, "double", [{"x": i} for i in range(300)]) == [2 * i for i in range(300)]


def test_submit_runs_calls_in_other_processes(fresh, tmp_path):
    inputs = [{"folder": str(tmp_path), "n": 2}] * 20
    pids = values(fresh(2), "meets", inputs, timeout_s=None)

    assert len(set(pids)) == 2
    assert os.getpid() not in pids


def test_submit_without_calls_finishes(pool):
    assert run(pool, "double", []) == []


def test_finished_is_called_from_a_thread_of_the_pool(pool):
    threads = queue.Queue()

    pool.submit(recipe("length"), calls([{}]), 30.0, lambda _: threads.put(threading.get_ident()))

    assert threads.get(timeout=WAIT_S) != threading.get_ident()


def test_finished_may_submit(pool):
    results = queue.Queue()

    def again(done):
        pool.submit(recipe("double"), calls([{"x": done[0].outcomes[0].value}]), 30.0, results.put)

    pool.submit(recipe("double"), calls([{"x": 1}]), 30.0, again)

    assert results.get(timeout=WAIT_S)[0].outcomes == [Outcome(4.0)]


def test_finished_that_raises_leaves_the_pool_working(fresh, caplog):
    pool = fresh(1)
    called = threading.Event()

    def finished(done):
        called.set()
        raise ValueError("no room")

    pool.submit(recipe("length"), calls([{}]), 30.0, finished)

    assert called.wait(WAIT_S)
    assert values(pool, "length", [{}]) == [6.0]
    assert "ValueError: no room" in caplog.text


def test_done_holds_the_seconds_of_the_call(fresh):
    start = time.monotonic()
    _, results = begin(fresh(1), "sleeps", [{"seconds": 0.2}, {"seconds": 0.0}])

    slow, fast = results.get(timeout=WAIT_S)
    passed = time.monotonic() - start
    assert isinstance(slow, Done)
    assert slow.seconds >= 0.2
    assert slow.seconds + fast.seconds <= passed  # one after the other


def test_outcomes_of_all_kinds_cross(pool):
    inputs = [{"kind": kind} for kind in ("score", "skip", "fail", "none", "nan")]

    assert run(pool, "kinds", inputs) == [
        Outcome(0.5, "scored", "half", {"parts": 2.0}),
        Outcome(None, "skipped", "no gold"),
        Outcome(None, "failed", "service down"),
        Outcome(None, "skipped"),
        Outcome(None, "failed", "returned nan; a reward must be finite", fault=True),
    ]


def test_group_gets_an_outcome_for_each_completion(pool):
    results = queue.Queue()
    groups = [Call((Completion("a"), Completion("b")), {"x": [i, i + 1]}) for i in range(3)]

    pool.submit(recipe("places"), groups, 30.0, results.put)

    done = results.get(timeout=WAIT_S)
    assert [[o.value for o in d.outcomes] for d in done] == [[0, 11], [1, 12], [2, 13]]


def test_constants_reach_the_reward(pool):
    assert values(pool, "double", [{}], constants={"x": 21}) == [42.0]


def test_options_reach_the_reward(pool, tmp_path):
    assert values(pool, "Builds", [{}], options={"folder": str(tmp_path)}) == [1.0]


def test_call_of_a_megabyte_gets_through(pool):
    results = queue.Queue()
    big = [Call((Completion("x" * 3_000_000),), {}) for _ in range(5)]

    pool.submit(recipe("length"), big, 30.0, results.put)

    assert [d.outcomes[0].value for d in results.get(timeout=WAIT_S)] == [3_000_000.0] * 5


def test_call_that_cannot_be_pickled_is_a_fault_and_the_others_have_values(pool):
    inputs = [{"x": 1}, {"x": threading.Lock()}, {"x": 3}]

    first, bad, last = run(pool, "double", inputs)

    assert (first.value, last.value) == (2.0, 6.0)
    assert bad == Outcome(
        None,
        "failed",
        "its inputs cannot be sent to a worker: TypeError: cannot pickle '_thread.lock' object",
        fault=True,
    )


class OnlyHere:
    """Can be pickled, but not read."""

    def __reduce__(self):
        return int, ("x",)


def test_group_that_cannot_be_read_in_a_worker_is_a_fault_in_all_its_rows(pool):
    results = queue.Queue()
    pair = (Completion("a"), Completion("b"))

    pool.submit(recipe("places"), [Call(pair, {"x": [OnlyHere(), 1]})], 30.0, results.put)

    [done] = results.get(timeout=WAIT_S)
    assert len(done.outcomes) == 2
    assert done.outcomes[1].fault
    assert (
        "its inputs cannot be read in a worker: ValueError: invalid literal"
        in done.outcomes[1].reason
    )


def test_recipe_that_cannot_be_pickled_is_a_fault_of_all_calls(pool):
    outcomes = run(pool, "double", [{}] * 3, constants={"x": threading.Lock()})

    assert [o.fault for o in outcomes] == [True] * 3
    assert "cannot be sent to a worker: TypeError" in outcomes[0].reason


def test_jobs_submitted_at_once_all_finish(pool):
    begun = [begin(pool, "double", [{"x": 100 * job + i} for i in range(50)]) for job in range(8)]

    for job, (_, results) in enumerate(begun):
        done = results.get(timeout=WAIT_S)
        assert [d.outcomes[0].value for d in done] == [200 * job + 2 * i for i in range(50)]


def test_small_job_does_not_wait_for_the_end_of_a_large_one(fresh):
    pool = fresh(1)
    order = queue.Queue()
    many, few = calls([{"seconds": 0.01}] * 3000), calls([{"x": 1}] * 2)
    values(pool, "sleeps", [{"seconds": 0.01}])

    large = pool.submit(recipe("sleeps"), many, 30.0, lambda _: order.put("large"))
    pool.submit(recipe("double"), few, 30.0, lambda _: order.put("small"))

    assert order.get(timeout=WAIT_S) == "small"
    large.cancel("enough")
    assert order.get(timeout=WAIT_S) == "large"


def test_one_call_starts_one_worker(fresh):
    pool = fresh(4)

    assert len({*values(pool, "process_id", [{}]), *values(pool, "process_id", [{}])}) == 1


def test_reward_is_built_once_in_each_worker(fresh, tmp_path):
    pool = fresh(2)
    (tmp_path / "met").mkdir()
    values(pool, "meets", [{"folder": str(tmp_path / "met"), "n": 2}] * 2, timeout_s=None)
    for _ in range(3):
        values(pool, "Builds", [{}] * 20, options={"folder": str(tmp_path)})

    assert len(list(tmp_path.glob("built-*"))) == 2


def test_build_does_not_count_for_the_deadline(fresh, tmp_path):
    options = {"folder": str(tmp_path), "seconds": 0.8}

    assert values(fresh(1), "Builds", [{}] * 3, timeout_s=0.4, options=options) == [1.0] * 3


def test_build_that_raises_is_a_fault_of_all_calls_with_the_reason(pool):
    outcomes = run(pool, "CannotBeBuilt", [{}] * 3, options={"how": "raise"})

    assert [o.fault for o in outcomes] == [True] * 3
    assert outcomes[0].reason.startswith("cannot be built in a worker: ")
    assert "no such model" in outcomes[0].reason
    assert values(pool, "double", [{"x": 1}]) == [2.0]


def test_build_that_exits_is_a_fault_of_all_calls(pool):
    outcomes = run(pool, "CannotBeBuilt", [{}] * 3, options={"how": "sys.exit"})

    assert "SystemExit" in outcomes[2].reason


def test_build_that_ends_workers_is_a_fault_of_all_calls(pool):
    outcomes = run(pool, "CannotBeBuilt", [{}] * 3, options={"how": "exit"})

    assert (
        outcomes
        == [
            Outcome(
                None, "failed", "cannot be built: its worker ended with exit code 4", fault=True
            )
        ]
        * 3
    )


def test_build_that_hangs_is_a_fault_of_all_calls(fresh, tmp_path, monkeypatch):
    pool = fresh(1)
    values(pool, "double", [{"x": 1}])  # a worker must be there before the patience is short
    monkeypatch.setattr(process, "PATIENCE_S", 0.3)
    options = {"folder": str(tmp_path), "seconds": 1000.0}

    outcomes = run(pool, "Builds", [{}] * 3, options=options)

    assert [o.fault for o in outcomes] == [True] * 3
    assert outcomes[0].reason == "takes longer than 60 s to build"
    monkeypatch.undo()
    assert values(pool, "double", [{"x": 1}]) == [2.0]


def test_inputs_that_hang_when_they_are_read_are_a_fault(fresh, monkeypatch, tmp_path):
    pool = fresh(2)
    # It is tried in two workers, which must be there before the patience is short.
    values(pool, "meets", [{"folder": str(tmp_path), "n": 2}] * 2, timeout_s=None)
    monkeypatch.setattr(process, "PATIENCE_S", 0.5)

    [outcome] = run(pool, "meets", [{"folder": HangsWhenRead(), "n": 2}])

    assert outcome.fault
    assert outcome.reason == "takes longer than 60 s to read its inputs in a worker"


class HangsWhenRead:
    def __reduce__(self):
        return time.sleep, (1000,)


def test_build_of_code_that_was_changed_is_refused(pool):
    [outcome] = run(pool, "length", [{}], source_sha256="0" * 64)

    assert "its file was changed since the run began" in outcome.reason


def test_name_that_leads_nowhere_is_a_fault(pool):
    [outcome] = run(pool, "no_such_reward", [{}])

    assert outcome.fault
    assert "no_such_reward" in outcome.reason


def test_module_found_after_the_worker_started_is_found_there(pool, site):
    values(pool, "double", [{"x": 1}])
    site.write(
        "late_module.py",
        "from grpo_core import reward\n@reward\ndef half(completion): return 0.5\n",
    )
    made = recipe("half")
    object.__setattr__(made, "use", "late_module:half")

    assert values(pool, made, [{}]) == [0.5]


def test_shared_pool_is_one_for_the_process():
    assert shared_pool() is shared_pool()


@pytest.mark.parametrize(("ranks", "expected"), [("", 8), ("4", 2), ("16", 1), ("0", 8), ("x", 8)])
def test_usable_workers_are_the_share_of_this_rank(monkeypatch, ranks, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)

    assert usable_workers() == expected


def test_submit_returns_before_the_calls_are_done():
    pool = Pool(1)

    _, results = begin(pool, "sleeps", [{"seconds": 1000.0}], timeout_s=None)

    assert results.empty()
    pool.close()
