"""What importing grpo-core loads and costs: `python -m benchmarks imports`.

Each case runs in a fresh interpreter. Modules are those that the case adds to what the interpreter
and the site's `.pth` files had already loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.report import Line

REPEATS = 9
HEAVY = ("torch", "trl", "transformers", "datasets")
PLUGIN_NAMES = (
    "from grpo_core import Completion, Fail, Message, Rewards, Score, Skip, hookimpl, reward"
)
PLUGINS_COMMAND = """
import contextlib, io
from grpo_core.cli import main
sys.argv = ["grpo", "plugins"]
with contextlib.redirect_stdout(io.StringIO()):
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
"""


def run() -> list[Line]:
    """Checks the modules and measures the CPU time of each case."""
    cases = {
        "pass": "pass",
        "plugin": PLUGIN_NAMES,
        "core": "import grpo_core",
        "command": PLUGINS_COMMAND,
    }
    known = sys.stdlib_module_names | {"grpo_core", "pluggy"}
    foreign = sorted({m.partition(".")[0] for m in modules_of(PLUGIN_NAMES)} - known)
    lines = [
        Line(
            "the names a plugin needs load the standard library and pluggy",
            not foreign,
            note=", ".join(foreign),
        )
    ]
    for what, code in (("import grpo_core", cases["core"]), ("grpo plugins", cases["command"])):
        heavy = sorted(modules_of(code).intersection(HEAVY))
        lines.append(Line(f"{what}: no {', '.join(HEAVY)}", not heavy, note=", ".join(heavy)))
    cost: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(REPEATS):  # interleaved, so that a busy moment hits all of them
        for name, code in cases.items():
            cost[name].append(cpu_seconds(f"import sys\n{code}"))
    least = {name: min(seconds) for name, seconds in cost.items()}
    return [
        *lines,
        Line("python -c pass", least["pass"], "s"),
        Line("the names a plugin needs, interpreter included", least["plugin"], "s"),
        Line(
            "import grpo_core, interpreter included",
            least["core"],
            "s",
            0.2,
            f"{least['core'] - least['pass']:.3f} s beyond python -c pass",
        ),
        Line("grpo plugins, interpreter included", least["command"], "s"),
    ]


def modules_of(code: str) -> set[str]:
    """Names of the modules that the code loads in a fresh interpreter."""
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def cpu_seconds(code: str) -> float:
    """CPU time of a fresh interpreter that runs the code, user and system, in seconds."""
    child = subprocess.Popen([sys.executable, "-c", code])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"python -c {code!r} ended with code {child.returncode}")
    return usage.ru_utime + usage.ru_stime
