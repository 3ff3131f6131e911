"""Limits: which one is hit, how exactly, and what the caller pays."""

import resource
from dataclasses import replace

import pytest
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import Program
from grpo_reward_code.sandbox.worker import Ended, Worker

# The wall time is far away: on a busy machine a program gets a small share of it.
CPU = Limits(cpu_s=0.3, wall_factor=100)


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_cpu_time(run):
    tries = [run("while True: pass", limits=CPU) for _ in range(3)]
    assert {ran.limit for ran in tries} == {"cpu"}
    # Who watches may be given no time for once; then the kernel ends the program, at 2 s.
    ran = min(tries, key=lambda ran: ran.cpu_s)
    assert (ran.signal, ran.exit_code) == (9, None)
    assert 0.3 <= ran.cpu_s < 1.5


def test_cpu_time_of_all_threads_together(run):
    source = """
import threading, zlib
data = bytes(50_000_000)
def work():
    while True: zlib.crc32(data)
for _ in range(8): threading.Thread(target=work).start()
"""
    tries = [run(source, limits=CPU) for _ in range(3)]
    assert {ran.limit for ran in tries} == {"cpu"}
    assert 0.3 <= min(ran.cpu_s for ran in tries) < 1.5


def test_cpu_time_where_signals_are_ignored(run):
    source = """
import signal
for n in range(1, 65):
    try: signal.signal(n, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass
"""
    assert run(source, limits=CPU).limit == "cpu"


def test_wall_time_of_a_sleeper_is_not_tried_again(boxes, run):
    # One that had to wait for a processor is tried again, as it should be.
    tries = []
    while len(tries) < 3 and ("wall", b"a\n", 0) not in tries:
        before = boxes.retries
        ran = run("import time; print('a', flush=True); time.sleep(60)", limits=Limits(cpu_s=0.4))
        assert 1.6 <= ran.wall_s < 30
        tries.append((ran.limit, ran.stdout, boxes.retries - before))
    assert tries[-1] == ("wall", b"a\n", 0)


def test_a_program_that_was_given_no_time_is_run_once_more(boxes, monkeypatch):
    answers = [(True, "wall"), (False, "")]
    real = Worker.run

    def run(worker, program, limits):
        starved, limit = answers.pop(0)
        ran = replace(real(worker, program, limits).ran, limit=limit)
        return Ended(ran, starved)

    monkeypatch.setattr(Worker, "run", run)
    before = boxes.retries
    assert boxes.run(Program("print(1)"), Limits()).is_clean
    assert (boxes.retries, answers) == (before + 1, [])


def test_a_program_that_is_given_no_time_twice_has_hit_the_limit(boxes, monkeypatch):
    # Else a program could choose to get no verdict.
    real = Worker.run

    def run(worker, program, limits):
        return Ended(replace(real(worker, program, limits).ran, limit="wall"), True)

    monkeypatch.setattr(Worker, "run", run)
    assert boxes.run(Program("print(1)"), Limits()).limit == "wall"


def test_memory(run):
    ran = run("keep = [bytes(1 << 26) for _ in range(99)]", limits=Limits(memory_mb=256))
    assert (ran.limit, ran.exit_code) == ("memory", 1)


def test_memory_that_may_be_had(run):
    assert run("print(len(bytes(200 << 20)))", limits=Limits(memory_mb=256)).exit_code == 0


def test_output_is_cut_and_the_program_ended(run):
    before = peak_mb()
    ran = run("while True: print('z' * 100_000)", limits=Limits(output_bytes=5000))
    assert (ran.limit, ran.signal) == ("output", 9)
    assert ran.stdout == b"z" * 5000
    assert peak_mb() - before < 50


def test_output_of_exactly_the_limit(run):
    ran = run("print('z' * 4999)", limits=Limits(output_bytes=5000))
    assert (ran.limit, ran.exit_code, len(ran.stdout)) == ("", 0, 5000)


def test_a_huge_message_of_an_error(run):
    before = peak_mb()
    ran = run("raise ValueError('x' * 300_000_000)")
    assert (ran.limit, len(ran.stderr)) == ("output", 1_000_000)
    assert peak_mb() - before < 50


def test_both_streams_beyond_a_pipe(run):
    source = "import sys\nfor _ in range(3): sys.stderr.write('e' * 90_000); print('o' * 90_000)"
    ran = run(source)
    assert (len(ran.stdout), len(ran.stderr), ran.exit_code) == (270_003, 270_000, 0)


def test_standard_input_of_ten_megabytes_that_is_not_read(run):
    assert run("print(1)", b"x" * 10_000_000).stdout == b"1\n"
    assert run("print(len(input()))", b"x" * 10_000_000).stdout == b"10000000\n"


def test_a_source_of_ten_megabytes(run):
    assert run("#" * 10_000_000 + "\nprint(2)").stdout == b"2\n"


def test_the_size_of_a_file(run):
    source = "f = open('f', 'wb', 0)\nfor _ in range(99): f.write(bytes(100_000))"
    ran = run(source, limits=Limits(file_bytes=1_000_000))
    # It ends by its own error, or who watches comes first, or both at once.
    assert (ran.exit_code, ran.limit) in ((1, ""), (1, "files"), (None, "files"))
    sparse = "import os\nos.truncate(open('f', 'w').name, 1 << 40)"
    assert run(sparse).exit_code == 1


def test_the_size_of_all_files_together(run):
    source = """
import os, time
wrote = 0
for n in range(60):
    with open(str(n), "wb") as f: wrote += f.write(bytes(900_000))
time.sleep(10)  # who watches may be given no time for a while
print("all")
"""
    ran = run(source, limits=Limits(file_bytes=1_000_000))
    assert ran.stdout == b""


def test_the_number_of_files(run):
    source = """
import time
for n in range(5000):
    open(str(n), "w").close()
time.sleep(10)
print("all")
"""
    assert run(source, limits=Limits()).stdout == b""


def test_files_that_are_open_but_have_no_name(run):
    source = """
import os
keep = []
try:
    while True:
        keep.append(open("x", "wb")); os.unlink("x"); keep[-1].write(bytes(500_000))
except OSError: pass
print(len(keep) <= 64)
"""
    assert run(source).stdout == b"True\n"


def test_a_fork_bomb(run):
    source = """
import os
print(7, flush=True)
while True:
    try: os.fork()
    except OSError: pass
"""
    ran = run(source, limits=CPU)
    assert (ran.limit, ran.stdout) == ("cpu", b"7\n")


def test_threads(run):
    source = """
import threading, time
threading.stack_size(64 << 10)
n = 0
try:
    while n < 3000:
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start(); n += 1
except RuntimeError: pass
if n >= 200: time.sleep(30)
print(n < 200)
"""
    ran = run(source, limits=Limits(cpu_s=10.0))
    assert ran.limit == "threads" or ran.stdout == b"True\n"


def test_as_many_threads_as_there_may_be(run):
    source = """
import threading, time
ts = [threading.Thread(target=time.sleep, args=(0.2,)) for _ in range(60)]
for t in ts: t.start()
for t in ts: t.join()
print("all")
"""
    assert run(source).stdout == b"all\n"


@pytest.mark.parametrize("name", ["cpu_s", "wall_factor", "memory_mb", "output_bytes"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_is_none(name, value):
    with pytest.raises(ValueError, match=f"Limits.{name}: expected a number above 0, got {value}"):
        Limits(**{name: value})
