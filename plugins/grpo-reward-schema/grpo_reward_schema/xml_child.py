"""Validates one document in a process of its own, which the system ends at its limit."""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import sys
import time
from typing import Any

from grpo_reward_schema.patterns import LimitHit

# CPU seconds of the process, and seconds on the clock for where these cannot be limited.
_MOST_CPU_S = 2
_MOST_WALL_S = 60.0
_CODE = (
    "import json, sys\n"
    "given = json.load(sys.stdin)\n"
    "sys.path[:] = given.pop('path')\n"
    "from grpo_reward_schema.xml_child import answer\n"
    "answer(**given)\n"
)


def fault_in_child(kind: str, schema: str, text: str) -> str | None:
    """The first error in a document, None if there is none.

    Raises:
        LimitHit: It takes too long.
    """
    given = {"path": sys.path, "kind": kind, "schema": schema, "text": text}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CODE],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            timeout=_MOST_WALL_S,
            check=True,
        )
        fault: str | None = json.loads(done.stdout)["fault"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as exc:
        raise LimitHit(f"the patterns of the {kind} take over {_MOST_CPU_S} s") from exc
    return fault


def answer(kind: Any, schema: str, text: str) -> None:
    """Prints what `fault_in_child` returns."""
    from grpo_reward_schema.xml_schemas import Schema

    made = Schema(kind, schema)
    root = made.root_of(text)
    with contextlib.suppress(ImportError):  # Windows has none
        import resource

        most = math.ceil(time.process_time()) + _MOST_CPU_S
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(json.dumps({"fault": made.fault_here(root)}))
