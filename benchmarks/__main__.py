"""Runs benchmarks by name, or all of them: `python -m benchmarks [NAME ...]`.

Each runs when its turn comes and is imported then, so that one that needs a missing package leaves
the others alone; it counts as missed.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import time

from benchmarks.report import Line, printed

NAMES = (
    "imports",
    "cells",
    "waiting",
    "pool",
    "seam",
    "ranks",
    "tags",
    "schema",
    "math",
    "sandbox",
    "brevity",
    "safety",
    "score_file",
    "replay",
)


def main() -> None:
    """Prints the report, a section a benchmark, and how many bounds were missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    names = parser.parse_args().names or NAMES
    if unknown := [name for name in names if name not in NAMES]:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    print(f"Python {platform.python_version()}, {platform.machine()}")
    print("times are CPU times, those of pool, ranks and sandbox wall-clock times")
    lines: list[Line] = []
    for name in names:
        start = time.monotonic()
        print(f"\n{name}", flush=True)
        try:
            found = importlib.import_module(f"benchmarks.{name}").run()
        except ImportError as exc:
            found = [Line(f"{name} can run", False, note=f"{exc}; make install installs all")]
        for line in found:
            print(printed(line))
        print(f"  ({time.monotonic() - start:.0f} s)")
        lines += found
    bounded = [line for line in lines if line.ok is not None]
    missed = [line for line in bounded if not line.ok]
    print(f"\n{len(bounded)} bounds, {len(missed)} missed")
    for line in missed:
        print(f"  MISSED {line.what}")


if __name__ == "__main__":
    main()
