"""Where a pool works (scripts, threads, loops, forks), and how it ends."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pool_jobs
import pytest
from pool_jobs import WAIT_S, begin, is_gone, run, values

from grpo_core.scoring import process
from grpo_core.scoring.dispatcher import Dispatcher
from grpo_core.scoring.pool import Pool, shared_pool

TESTS = Path(pool_jobs.__file__).parent

# Unguarded: a pool that ran the main module again would start pools without end.
SCRIPT = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
print("begin", flush=True)
from pool_jobs import begin, values
from grpo_core.scoring.dispatcher import Dispatcher
from grpo_core.scoring.pool import shared_pool
pids = values(shared_pool(), "process_id", [{{"seconds": 0.05}}] * 8)
print("pids", *(int(pid) for pid in set(pids)), flush=True)
"""
LOOP = """
import asyncio
async def main():
    print("double", *values(shared_pool(), "double", [{"x": 1}]))
asyncio.run(main())
"""
THREAD = """
import threading
thread = threading.Thread(
    target=lambda: print("double", *values(shared_pool(), "double", [{"x": 1}]))
)
thread.start()
thread.join()
"""
RAISES = "raise RuntimeError('the training failed')\n"
FORKS = """
import os, time
if os.fork() == 0:  # such as a loader of data; it must not keep the workers alive
    time.sleep(100)
    os._exit(0)
"""
HANGS = """
begin(shared_pool(), "starts_a_program_and_hangs", [{"file": FILE}], timeout_s=None)
begin(shared_pool(), "holds_the_interpreter", [{"hard": True}], timeout_s=None)
import time
time.sleep(1000)
"""


def python(*arguments, text=None, **kwargs):
    return subprocess.run(
        [sys.executable, *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        **kwargs,
    )


def pids_of(output):
    [line] = [line for line in output.splitlines() if line.startswith("pids ")]
    return [int(pid) for pid in line.split()[1:]]


def start(code, folder):
    """Starts a script; returns its process and the numbers of its workers."""
    (folder / "script.py").write_text(code)
    program = subprocess.Popen(
        [sys.executable, folder / "script.py"], stdout=subprocess.PIPE, text=True
    )
    assert program.stdout.readline() == "begin\n"
    return program, pids_of(program.stdout.readline())


@pytest.fixture
def pool():
    pool = Pool(2)
    yield pool
    pool.close()


def test_script_without_a_guard_runs_once(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)

    done = python(tmp_path / "script.py")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("begin") == 1
    assert all(is_gone(pid) for pid in pids_of(done.stdout))


def test_script_beside_a_file_that_is_called_like_a_module_of_python_works(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "resource.py").write_text("raise RuntimeError('this is not yours')")

    done = python(tmp_path / "script.py")

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("how", ["stdin", "-c"])
def test_program_without_a_file_works(how):
    done = python("-", text=SCRIPT) if how == "stdin" else python("-c", SCRIPT)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("begin") == 1
    assert all(is_gone(pid) for pid in pids_of(done.stdout))


@pytest.mark.parametrize("code", [LOOP, THREAD], ids=["loop", "thread"])
def test_program_with_a_loop_or_a_thread_works(code):
    done = python("-W", "error", "-c", SCRIPT + code)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("double 2.0\n")


def test_workers_end_with_a_program_that_raises():
    done = python("-W", "error", "-c", SCRIPT + RAISES)

    assert done.stderr.endswith("RuntimeError: the training failed\n")
    assert all(is_gone(pid) for pid in pids_of(done.stdout))


def test_program_ends_while_calls_are_run():
    code = "begin(shared_pool(), 'sleeps', [{'seconds': 1000.0}] * 4, timeout_s=None)\n"
    done = python("-W", "error", "-c", SCRIPT + code)  # within 120 s

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("between", ["", FORKS], ids=["alone", "with a fork"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_and_their_programs_end_with_a_process_that_is_ended(how, between, tmp_path):
    file = tmp_path / "program"
    program, pids = start(SCRIPT + between + HANGS.replace("FILE", repr(str(file))), tmp_path)
    end = time.monotonic() + WAIT_S
    while not (file.exists() and file.read_text()) and time.monotonic() < end:
        time.sleep(0.02)

    program.send_signal(how)
    program.wait(timeout=WAIT_S)
    program.stdout.close()

    assert all(is_gone(pid) for pid in [*pids, int(file.read_text())])


def test_close_leaves_no_process(pool):
    pids = [int(pid) for pid in set(values(pool, "process_id", [{"seconds": 0.05}] * 8))]

    pool.close()

    assert [Path(f"/proc/{pid}").exists() for pid in pids] == [False] * len(pids)


def test_close_ends_what_rewards_started(pool):
    [program] = values(pool, "starts_a_program", [{}])

    pool.close()

    assert is_gone(int(program))


def test_submit_after_close_starts_new_workers(pool):
    before = set(values(pool, "process_id", [{}]))
    pool.close()

    assert before.isdisjoint(values(pool, "process_id", [{}]))


def test_close_fails_what_is_not_done(pool):
    _, results = begin(pool, "sleeps", [{"seconds": 1000.0}] * 5, timeout_s=None)
    values(pool, "double", [{"x": 1}])

    pool.close()

    outcomes = [done.outcomes[0] for done in results.get(timeout=WAIT_S)]
    assert {(o.status, o.fault) for o in outcomes} == {("failed", False)}
    assert outcomes[0].reason == "the worker pool was closed before the call was done"


def test_close_twice_does_nothing_more(pool):
    values(pool, "double", [{"x": 1}])

    pool.close()
    pool.close()


def test_close_in_finished_ends_the_pool(pool):
    closed = threading.Event()

    def close(done):
        pool.close()
        closed.set()

    pool.submit(pool_jobs.recipe("length"), pool_jobs.calls([{}]), 30.0, close)

    assert closed.wait(WAIT_S)
    assert values(pool, "double", [{"x": 1}]) == [2.0]


def test_close_closes_rewards(pool, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "CLOSE_S", 60.0)
    values(pool, "Builds", [{}], options={"folder": str(tmp_path)})

    pool.close()

    assert len(list(tmp_path.glob("closed-*"))) == 1


def test_close_does_not_wait_for_a_reward_that_does_not_close(pool):
    values(pool, "ClosesLate", [{}])
    start_s = time.monotonic()

    pool.close()

    assert time.monotonic() - start_s < 60  # of 1000


def test_pool_without_work_leaves_no_file_open(pool):
    before = len(os.listdir("/proc/self/fd"))
    values(pool, "sleeps", [{"seconds": 0.0}, {"seconds": 1000.0}], timeout_s=0.2)

    pool.close()

    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_child_of_a_fork_starts_workers_of_its_own():
    shared = shared_pool()
    [ours] = values(shared, "process_id", [{}])
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            [theirs] = values(shared_pool(), "process_id", [{}])
            shared_pool().close()
            os.write(write, str(int(theirs)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read) as pipe:
        theirs = int(pipe.read())
    os.waitpid(child, 0)

    assert theirs != ours
    assert is_gone(theirs)
    assert values(shared, "process_id", [{}]) == [ours]
    shared.close()


def test_pool_that_fails_itself_fails_the_calls_and_starts_anew(pool, monkeypatch, caplog):
    def fail(self):
        raise RuntimeError("a fault of ours")

    with monkeypatch.context() as broken:
        broken.setattr(Dispatcher, "_assign", fail)
        [outcome] = run(pool, "double", [{"x": 1}])

    assert outcome.status == "failed"
    assert outcome.reason == "the worker pool failed: RuntimeError: a fault of ours"
    assert "the worker pool failed" in caplog.text
    assert values(pool, "double", [{"x": 1}]) == [2.0]


def test_worker_reads_nothing_from_standard_input(pool):
    assert values(pool, "reads_stdin", [{}]) == [1.0]


@pytest.mark.parametrize(
    ("name", "here", "there"),
    [
        ("CUDA_VISIBLE_DEVICES", "0", ""),
        ("OMP_NUM_THREADS", None, "1"),
        ("OMP_NUM_THREADS", "2", "2"),
        ("PYTHONPATH", "/somewhere", "/somewhere"),
        ("PYTHONPATH", None, "unset"),
        ("SOME_KEY", "kept", "kept"),
    ],
)
def test_worker_has_the_environment_but_for_threads_and_accelerators(
    pool, monkeypatch, name, here, there
):
    monkeypatch.delenv(name, raising=False)
    if here is not None:
        monkeypatch.setenv(name, here)

    assert run(pool, "environment", [{"name": name}])[0].reason == there


def test_worker_searches_where_this_process_does(pool):
    assert run(pool, "search_path", [{}])[0].reason == os.pathsep.join(sys.path)[:400]


def test_flood_of_prints_neither_hangs_nor_fills_the_log():
    code = SCRIPT + "values(shared_pool(), 'prints', [{'lines': 100_000}] * 4)\n"

    done = python("-c", code)

    assert done.returncode == 0
    assert "prints more than 10 kB a second; the rest is left out" in done.stderr
    assert len(done.stderr) < 1_000_000  # of 40
    assert "xxx" not in done.stdout


def test_flood_past_the_streams_of_today_is_limited_too():
    code = SCRIPT + "values(shared_pool(), 'prints_past', [{'n_bytes': 100_000}] * 4)\n"

    done = python("-c", code)

    assert done.returncode == 0
    assert 10_000 <= done.stderr.count("x") < 100_000  # of 400,000


def test_print_of_a_reward_is_seen():
    code = SCRIPT + "values(shared_pool(), 'prints', [{'lines': 1, 'line': 'hello'}])\n"

    assert python("-c", code).stderr == "hello\n"


def test_worker_that_cannot_start_fails_the_calls_with_the_reason(pool, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")

    [outcome] = run(pool, "double", [{"x": 1}])

    assert (outcome.status, outcome.fault) == ("failed", False)
    assert outcome.reason.startswith("no worker could be started: ")
    assert "/no/such/python" in outcome.reason


def test_worker_that_ends_at_its_start_fails_the_calls_with_the_reason(pool, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")

    [outcome] = run(pool, "double", [{"x": 1}])

    assert outcome.reason == "no worker could be started: its worker ended with exit code 1"
