"""What importing a reward's module costs, measured in a fresh process."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grpo_core.scoring.process import search_path

# Packages that take seconds or gigabytes; a reward imports them when it is first called.
HEAVY = (
    "accelerate",
    "datasets",
    "jax",
    "pandas",
    "peft",
    "pyarrow",
    "scipy",
    "sklearn",
    "sympy",
    "tensorflow",
    "torch",
    "transformers",
    "trl",
    "vllm",
)
_PATIENCE_S = 60.0
_PROBE = """
import importlib, json, runpy, sys, time
path, module, file = json.loads(sys.argv[1])
sys.path[:] = path
import grpo_core
before = set(sys.modules)
start = time.perf_counter()
if module:
    importlib.import_module(module)
else:
    runpy.run_path(file)
seconds = time.perf_counter() - start
names = sorted({name.split(".")[0] for name in set(sys.modules) - before})
print("\\nIMPORTED " + json.dumps([seconds, names]))
"""


@dataclass(frozen=True)
class Imported:
    """What came of an import.

    Attributes:
        seconds: How long it took, beside grpo-core itself.
        packages: Top-level names of all that it loaded.
        error: Why it could not be imported, or "".
    """

    seconds: float = 0.0
    packages: tuple[str, ...] = ()
    error: str = ""


def import_alone(target: Callable[..., Any], use: str | None) -> Imported:
    """Imports the module of a reward in a fresh process.

    Args:
        target: The function or class.
        use: The name that leads to it in another process, or None: its file is run then.
    """
    by_name = use is not None and ".py:" not in use
    module = target.__module__ if by_name else ""
    probed = json.dumps([search_path(), module, inspect.getsourcefile(inspect.unwrap(target))])
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, probed],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        return Imported(error=f"the import took longer than {_PATIENCE_S:g} s")
    report = done.stdout.rpartition("IMPORTED ")[2]
    if done.returncode or not done.stdout:
        last = (done.stderr.strip() or "it ended the process").splitlines()[-1]
        return Imported(error=f"{last} (exit code {done.returncode})")
    seconds, packages = json.loads(report)
    return Imported(seconds, tuple(packages))
