"""Workers come, go, break and are replaced; nothing is left of them."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import pytest
from grpo_reward_code.sandbox.boxes import Boxes, default_slots
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import BoxFailed, Program

ONE = Program("print(1)")


def children(of=None):
    """Processes of this user's whose ancestor this is: number and command."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:
                text = file.read()
                state, parent = text[text.rindex(")") + 2 :].split()[:2]
                parents[int(name)] = (int(parent), state)
    found, todo = [], [of or os.getpid()]
    while todo:
        at = todo.pop()
        here = [pid for pid, (parent, state) in parents.items() if parent == at]
        found += here
        todo += here
    return found


def alive(pids):
    left = []
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] not in "ZX":
                left.append(pid)
    return left


def is_worker(pid):
    return "zygote" in Path(f"/proc/{pid}/cmdline").read_text()


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def kill_workers(before):
    """Kills workers alone: one whose program was killed has time to tell of it."""
    for pid in set(children()) - before:
        with contextlib.suppress(OSError):
            if is_worker(pid) and parent(pid) == os.getpid():
                os.kill(pid, signal.SIGKILL)


def left_of(pids):
    """Those of these processes that do not end, though they are given time to."""
    end = time.monotonic() + 30
    while alive(pids) and time.monotonic() < end:
        time.sleep(0.02)
    return alive(pids)


def folders(pid=None):
    """Scratch folders of a trainer; other tests run beside this one."""
    places = (Path(tempfile.gettempdir()), Path("/dev/shm"))
    name = f"grpo-box-{os.getpid() if pid is None else pid}-*"
    return {path for place in places for path in place.glob(name)}


@pytest.fixture
def own(boxes):
    with contextlib.closing(Boxes(1, layer=boxes.layer)) as own:
        yield own


def test_closing_leaves_nothing(boxes):
    before, there, open_files = set(children()), folders(), len(os.listdir("/proc/self/fd"))
    own = Boxes(2, layer=boxes.layer)
    own.run(ONE, Limits())
    started = set(children()) - before
    assert started
    own.close()
    own.close()
    assert set(children()) == before
    assert folders() == there
    assert len(os.listdir("/proc/self/fd")) == open_files
    with pytest.raises(BoxFailed, match="the boxes are closed"):
        own.run(ONE, Limits())


def test_runs_leave_no_descriptor_process_or_folder(own):
    own.run(ONE, Limits())
    before, open_files, there = set(children()), len(os.listdir("/proc/self/fd")), folders()
    for _ in range(30):
        own.run(Program("import os; os.mkdir('d'); open('d/f', 'w'); print(1)"), Limits())
        own.judge(ONE, ONE, Limits())
    assert (set(children()), len(os.listdir("/proc/self/fd"))) == (before, open_files)
    assert folders() == there


@pytest.mark.parametrize(
    "program",
    [
        "import time; time.sleep(200)",
        "while True: pass",
        "import signal, time\nsignal.pthread_sigmask(0, range(1, 65))\ntime.sleep(200)",
    ],
)
def test_killing_the_trainer_leaves_nothing(boxes, until_a_program_runs, program):
    source = f"""
        import sys
        from grpo_reward_code.sandbox.boxes import Boxes, default_slots
        from grpo_reward_code.sandbox.limits import Limits
        from grpo_reward_code.sandbox.program import Program
        boxes = Boxes(1, layer={boxes.layer!r})
        print("ready", flush=True)
        boxes.run(Program({program!r}), Limits(cpu_s=100))
    """
    trainer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(source)], stdout=subprocess.PIPE
    )
    assert trainer.stdout.read(5) == b"ready"
    until_a_program_runs(trainer.pid)
    started = children(trainer.pid)
    assert len(started) >= 2
    trainer.kill()
    trainer.wait()
    trainer.stdout.close()
    assert left_of(started) == []
    assert folders(trainer.pid) == set()


def test_a_fork_of_the_trainer_does_not_keep_the_boxes_alive(boxes):
    source = f"""
        import os, time
        from grpo_reward_code.sandbox.boxes import Boxes, default_slots
        boxes = Boxes(1, layer={boxes.layer!r})
        if os.fork() == 0:
            time.sleep(200)
            os._exit(0)
        print("ready", flush=True)
        time.sleep(200)
    """
    trainer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(source)], stdout=subprocess.PIPE
    )
    assert trainer.stdout.read(5) == b"ready"
    below = children(trainer.pid)
    workers = [pid for pid in below if is_worker(pid)]
    (fork,) = set(below) - set(workers)
    trainer.kill()
    trainer.wait()
    trainer.stdout.close()
    left = left_of(workers)
    kept = alive([fork])
    os.kill(fork, signal.SIGKILL)
    assert workers
    assert (left, kept) == ([], [fork])


def test_a_fork_of_the_trainer_cannot_use_them(own):
    pid = os.fork()
    if pid == 0:
        try:
            own.close()
            own.run(ONE, Limits())
        except BoxFailed:
            os._exit(5)
        os._exit(1)
    assert os.WEXITSTATUS(os.waitpid(pid, 0)[1]) == 5
    assert own.run(ONE, Limits()).stdout == b"1\n"


def test_a_worker_that_was_killed_is_replaced(boxes):
    before = set(children())
    own = Boxes(1, layer=boxes.layer)
    assert own.run(ONE, Limits()).stdout == b"1\n"
    started = set(children()) - before
    kill_workers(before)
    assert left_of(started) == []
    assert own.run(ONE, Limits()).stdout == b"1\n"
    own.close()
    assert set(children()) == before


def test_a_worker_killed_while_a_program_runs_is_no_verdict(boxes, until_a_program_runs):
    before = set(children())
    own = Boxes(1, layer=boxes.layer)
    failed = []

    def run():
        try:
            own.run(Program("import time; time.sleep(100)"), Limits(cpu_s=30))
        except BoxFailed as error:
            failed.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    until_a_program_runs(os.getpid())
    started = set(children()) - before
    kill_workers(before)
    thread.join(60)
    assert len(failed) == 1
    assert "the sandbox's process ended" in failed[0]
    assert own.run(ONE, Limits()).stdout == b"1\n"
    assert left_of(started) == []
    own.close()


def test_closing_does_not_wait_for_what_runs(boxes, until_a_program_runs):
    own = Boxes(1, layer=boxes.layer)
    failed = []

    def run():
        try:
            own.run(Program("import time; time.sleep(100)"), Limits(cpu_s=30))
        except BoxFailed as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    until_a_program_runs(os.getpid())
    before = time.monotonic()
    own.close()
    thread.join()
    assert time.monotonic() - before < 30  # of the 100 s that the program takes
    assert len(failed) == 1


def test_a_worker_outlives_the_thread_that_started_it(own):
    answers = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: answers.append(own.run(ONE, Limits()).stdout))
        thread.start()
        thread.join()
        time.sleep(0.1)
    assert answers == [b"1\n"] * 3


def test_many_threads_take_turns(boxes):
    own = Boxes(2, layer=boxes.layer)
    answers = []

    def run(n):
        ran = own.run(Program("print(int(input()) * 2)", str(n).encode()), Limits())
        answers.append((n, ran.stdout))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    own.close()
    assert sorted(answers) == [(n, b"%d\n" % (n * 2)) for n in range(60)]


def test_there_are_no_more_slots_than_processors(boxes):
    with contextlib.closing(Boxes(500, layer=boxes.layer)) as own:
        assert own.slots == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(("trainers", "share"), [("", 8), ("4", 2), ("16", 1), ("0", 8), ("x", 8)])
def test_default_slots_are_the_share_of_this_trainer(monkeypatch, trainers, share):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", trainers)

    assert default_slots() == share


def test_the_caller_does_not_grow(own):
    def grown():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4 / 1024

    for _ in range(20):
        own.run(Program("print('z' * 900_000)"), Limits())
    before = grown()
    for _ in range(200):
        own.run(Program("print('z' * 900_000)"), Limits())
    assert grown() - before < 10
