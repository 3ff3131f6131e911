"""A worker process by itself: what it imports, and when it makes room for another one."""

import io
import os
import pickle
import socket
import subprocess
import sys
import threading

import pool_jobs
import pytest

from grpo_core.scoring import output, worker
from grpo_core.scoring.channel import BlockingChannel, Channel

LOADED = """
import sys
from grpo_core.scoring.worker import _Worker
print(*{name.partition(".")[0] for name in sys.modules})
"""


def test_pool_that_is_killed_before_it_has_read_all_ends_the_worker():
    ours, theirs = socket.socketpair()
    worker_end = BlockingChannel(theirs)
    worker_end.send(("ready",))
    ours.close()  # with a message unread: the other end gets a reset

    assert worker_end.receive() is None
    theirs.close()


@pytest.fixture
def channel():
    """The pool's end of a worker that runs in a thread of this process."""
    ours, theirs = socket.socketpair()

    def serve():
        worker._Worker(BlockingChannel(theirs), 4096).serve()
        theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    ours.settimeout(20)  # else a worker that broke would keep the test
    with ours:
        yield BlockingChannel(ours)
        ours.shutdown(socket.SHUT_RDWR)
        thread.join()


def ask(channel, n, key=b"key"):
    """Runs n calls; returns the reports."""
    messages = [pickle.dumps(call) for call in pool_jobs.calls([{"x": 1.0}] * n)]
    channel.send(("run", key, messages))
    assert channel.receive()[0] == "begun"
    return [channel.receive() for _ in range(n)]


def build(channel, key=b"key"):
    recipe = pickle.dumps(pool_jobs.recipe("double"))
    channel.send(("build", key, recipe, sys.path, dict(os.environ)))
    return channel.receive()


def test_worker_imports_no_training_library():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True)

    heavy = {"torch", "numpy", "transformers", "trl", "datasets", "pandas", "typer", "rich"}
    assert heavy.isdisjoint(done.stdout.split())


def test_worker_reports_each_call(channel):
    assert build(channel) == ("built", None)

    for kind, seconds, _, outcomes, leaving in ask(channel, 3):
        assert kind == "item"
        assert 0 <= seconds < 60
        assert outcomes == [(2.0, "scored", "", {}, False)]
        assert not leaving


def test_worker_leaves_after_many_calls(channel, monkeypatch):
    monkeypatch.setattr(worker, "MAX_CALLS", 5)
    build(channel)

    assert [leaving for *_, leaving in ask(channel, 4)] == [False] * 4
    assert [leaving for *_, leaving in ask(channel, 3)] == [False, False, True]
    assert channel.receive() is None


def test_worker_leaves_after_many_recipes(channel, monkeypatch):
    monkeypatch.setattr(worker, "MAX_RECIPES", 2)
    build(channel, b"one")
    build(channel, b"two")

    assert [leaving for *_, leaving in ask(channel, 1, b"one")] == [True]


def test_channel_sends_messages_of_any_size():
    ours, theirs = socket.socketpair()
    channel, blocking = Channel(ours), BlockingChannel(theirs)
    received = []
    reader = threading.Thread(target=lambda: received.append(blocking.receive()))
    reader.start()

    channel.send(("big", b"x" * 5_000_000))
    while channel.is_sending:
        channel.send_more()

    reader.join()
    assert received == [("big", b"x" * 5_000_000)]
    channel.close()
    theirs.close()


def test_channel_receives_messages_that_come_in_parts():
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    blocking = BlockingChannel(theirs)
    blocking.send(("one",))
    blocking.send(("two", "ü\ud800"))
    data = ours.recv(1000)
    received = []

    for i in range(len(data)):
        theirs.send(data[i : i + 1])
        received += channel.receive()

    assert received == [("one",), ("two", "ü\ud800")]
    theirs.close()
    assert channel.receive() == []
    assert channel.ended
    channel.close()


def test_limited_output_drops_what_is_too_much_and_says_so(tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: clock[0])
    with open(tmp_path / "log", "wb") as log:
        stream = io.TextIOWrapper(output._Limited(log.fileno()), write_through=True)
        stream.write("a" * 9_000)
        stream.write("b" * 9_000)
        stream.write("c")
        clock[0] += 1.0
        stream.write("d")
        stream.detach()

    text = (tmp_path / "log").read_text()
    assert text.count("a") - text.partition("\n")[2].count("a") == 9_000
    assert text.partition("\n")[0].count("b") == 1_000
    assert "prints more than 10 kB a second; the rest is left out" in text
    assert text.endswith(")\nd")
