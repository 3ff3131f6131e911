"""`code/tests_pass` next to plain subprocesses and bubblewrap: `python -m benchmarks sandbox`.

Wall time of one program after the other, both ways in turn in one run, the least mean of several
rounds, as a ratio to `subprocess.run([python, "-I", "-c", ...])` with the same interpreter. Then a
batch of 256 completions with 5 tests of about 5 ms of CPU time each, against the bare CPU time of
that work divided by the cores, and against its wall time in a loop on every core. And which of a
few plain attacks get through. bubblewrap only where it is installed.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grpo_reward_code import TestsPass

from benchmarks.report import Line
from grpo_core import Completion

ROUNDS = 3
TRIVIAL = "n = int(input())\nprint(n * n)\n"
NUMPY = "import numpy as np\nn = int(input())\nprint(int(np.square(n)))\n"
ADD = "def add(a, b):\n    return a + b\n"
STDIN = [{"type": "stdin_stdout", "input": "12\n", "output": "144\n"}]
ASSERTS = ["assert add(2, 3) == 5"]
WORK = "n = int(input())\nt = 0\nfor k in range(100_000):\n    t += k % 7\nprint(n * n)\n"

BWRAP = (
    "bwrap --unshare-all --die-with-parent --clearenv --ro-bind /usr /usr --ro-bind /lib /lib "
    "--ro-bind-try /lib64 /lib64 --proc /proc --dev /dev --tmpfs /tmp"
).split()
# The interpreter may stand anywhere; behind the empty /tmp, which may be where.
for folder in sorted({sys.base_prefix, sys.prefix}):
    BWRAP += ["--ro-bind", folder, folder]

# Each prints "out" if it got through.
ATTACKS = {
    "writes to a foreign folder": "open({folder!r} + '/x', 'w').close(); print('out')",
    "reads a foreign file": "print('out' if open({folder!r} + '/secret').read() else '')",
    "reads the trainer's environment": (
        "print('out' if b'=' in open('/proc/{pid}/environ', 'rb').read() else '')"
    ),
    "finds a secret in its environment": (
        "import os; print('out' if 'BENCH_SECRET' in os.environ else '')"
    ),
    "connects to a port": (
        "import socket; socket.create_connection(('127.0.0.1', {port})); print('out')"
    ),
    "leaves a process": (
        "import os, time\nif os.fork() == 0: time.sleep(1); os._exit(0)\nprint('out')"
    ),
    "signals the trainer": "import os; os.kill({pid}, 0); print('out')",
}  # fmt: skip


def run() -> list[Line]:
    """Ratios of time, and what got through."""
    bare = _plain([sys.executable, "-I", "-c"])
    lines = []
    with _Reward() as ours:
        layer = ours.reward.info()["sandbox_layer"]
        lines.append(Line(f"isolation in force is {layer}", layer in ("ns", "lock")))
        lines += _against("trivial program", bare, ours, TRIVIAL, STDIN, 40, 1 / 2.5)
        lines += _against("assert test", bare, ours, ADD, ASSERTS, 40, 1 / 1.2)
    with _Reward(preload=("numpy",)) as ours:
        lines += _against("program with numpy, preloaded", bare, ours, NUMPY, STDIN, 8, 1 / 10)
    lines += _batch()
    if shutil.which("bwrap"):
        with _Reward() as ours:
            wrapped = _plain([*BWRAP, sys.executable, "-I", "-c"])
            if not wrapped("print(1)", b"").startswith(b"1"):
                raise RuntimeError("bwrap is installed and does not run Python")
            lines += _against("trivial program, to bubblewrap", wrapped, ours, TRIVIAL, STDIN, 20)
    return lines + _containment()


class _Reward:
    """A reward that is closed again."""

    def __init__(self, **options: Any) -> None:
        self.reward = TestsPass(extract="whole", slots=None, **options)

    def __enter__(self) -> _Reward:
        return self

    def __exit__(self, *_: object) -> None:
        self.reward.close()

    def score(self, code: str, tests: list[Any]) -> float:
        return self.reward([Completion(code)], [tests])[0].value


def _plain(command: list[str]) -> Callable[[str, bytes], bytes]:
    def plain(code: str, stdin: bytes) -> bytes:
        ran = subprocess.run([*command, code], input=stdin, capture_output=True, check=False)
        return ran.stdout

    return plain


def _against(
    what: str,
    other: Callable[[str, bytes], bytes],
    ours: _Reward,
    code: str,
    tests: list[Any],
    n: int,
    bound: float | None = None,
) -> list[Line]:
    """Our time as a share of the other's, with both measured in turn."""
    plain_code = code if tests is STDIN else code + tests[0]
    assert ours.score(code, tests) == 1.0
    best = [float("inf")] * 2
    for _ in range(ROUNDS):
        for side, call in enumerate(
            (lambda: other(plain_code, b"12\n"), lambda: ours.score(code, tests))
        ):
            start = time.perf_counter()
            for _ in range(n):
                call()
            best[side] = min(best[side], (time.perf_counter() - start) / n)
    note = (
        f"{1e3 * best[1]:.1f} ms against {1e3 * best[0]:.1f} ms, {best[0] / best[1]:.1f}x as fast"
    )
    return [Line(f"{what}: share of the other's time", best[1] / best[0], "", bound, note)]


def _batch() -> list[Line]:
    """A batch, against the CPU time of the same work parted among the cores.

    And against the wall time of that work in a bare loop for each core right before and after: what
    else runs on the machine makes both slower, but not the CPU time. And all CPU time, of trainer,
    workers and programs, against the bare one: what the sandbox costs.
    """
    cores = len(os.sched_getaffinity(0))
    tests = [{"type": "stdin_stdout", "input": f"{n}\n", "output": f"{n * n}\n"} for n in range(5)]
    wall_1, cpu_1 = _bare(1280 // cores, cores)
    start_cpu = _cpu_of_children()
    with _Reward() as ours:
        ours.score(TRIVIAL, STDIN)
        start, cpu_before = time.perf_counter(), time.process_time()
        scored = ours.reward([Completion(WORK)] * 256, [tests] * 256)
        wall = time.perf_counter() - start
        own = time.process_time() - cpu_before
    spent = own + _cpu_of_children() - start_cpu
    wall_2, cpu_2 = _bare(1280 // cores, cores)
    bare, share = (wall_1 + wall_2) / 2, (cpu_1 + cpu_2) / 2 / cores
    rate = f"{1280 / wall:.0f} programs/s"
    right = all(each.value == 1.0 for each in scored)
    return [
        Line("256 completions x 5 tests: all right", right),
        Line(
            f"256 completions x 5 tests: to the bare CPU time by {cores} cores",
            wall / share,
            "",
            2.5,
            f"{wall:.1f} s against {share:.1f} s; {rate}",
        ),
        Line(
            "256 completions x 5 tests: to the bare work under the same load",
            wall / bare,
            "",
            None,
            f"{wall:.1f} s against {bare:.1f} s",
        ),
        Line(
            "256 completions x 5 tests: all CPU time to the bare CPU time",
            spent / share / cores,
            "",
            None,
            f"{1e3 * spent / 1280:.1f} ms for each against {1e3 * share * cores / 1280:.1f} ms, "
            f"{1e3 * own / 1280:.1f} ms of it in the trainer's process",
        ),
    ]


def _bare(n: int, cores: int) -> tuple[float, float]:
    """Seconds of wall time and of CPU time for the work alone, n times on each core."""
    work = WORK.replace("int(input())", "12").replace("print(n * n)", "")
    code = f"code = compile({work!r}, 'work', 'exec')\nfor _ in range({n}): exec(code, {{}})"
    start, before = time.perf_counter(), _cpu_of_children()
    running = [subprocess.Popen([sys.executable, "-I", "-c", code]) for _ in range(cores)]
    for each in running:
        each.wait()
    return time.perf_counter() - start, _cpu_of_children() - before


def _cpu_of_children() -> float:
    """Seconds of CPU time of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _containment() -> list[Line]:
    """Which attacks print what they must not."""
    ways: dict[str, Callable[[str], bool]] = {}
    plain = _plain([sys.executable, "-I", "-c"])
    ways["plain subprocess"] = lambda code: plain(code, b"").startswith(b"out")
    if shutil.which("bwrap"):
        wrapped = _plain([*BWRAP, sys.executable, "-I", "-c"])
        ways["bubblewrap"] = lambda code: wrapped(code, b"").startswith(b"out")
    lines = []
    out = [{"type": "stdin_stdout", "input": "", "output": "out"}]
    os.environ["BENCH_SECRET"] = "secret"
    with _Listener() as port, tempfile.TemporaryDirectory() as folder, _Reward() as ours:
        os.chmod(folder, 0o777)
        Path(folder, "secret").write_text("secret")
        filled = {
            name: code.replace("{folder!r}", repr(folder))
            .replace("{pid}", str(os.getpid()))
            .replace("{port}", str(port))
            for name, code in ATTACKS.items()
        }
        for way, gets_through in ways.items():
            through = [name for name, code in filled.items() if gets_through(code)]
            note = ", ".join(through) or "none"
            what = f"{way}: attacks of {len(filled)} that get through"
            lines.append(Line(what, len(through), "", None, note))
        through = [name for name, code in filled.items() if ours.score(code, out) == 1.0]
        lines.append(
            Line(f"code/tests_pass: attacks of {len(filled)} that get through", len(through), "", 0)
        )
    del os.environ["BENCH_SECRET"]
    return lines


class _Listener:
    """A port of this machine that answers."""

    def __enter__(self) -> int:
        import socket

        self._socket = socket.create_server(("127.0.0.1", 0))
        return int(self._socket.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._socket.close()
