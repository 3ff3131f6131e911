"""`math/answer_equals` against Math-Verify on the same pairs: `python -m benchmarks math`.

1000 pairs of a completion and a gold of its own, then 1000 in groups of 8 that share a gold. Rounds
of both graders alternate in one process; every round begins with empty caches. Math-Verify is
called as its users call it at best: default settings, the gold in a box. Without it only our own
numbers are shown: `pip install math-verify==0.9.0`.

Then hostile completions, each alone through a reward with a deadline, as wall-clock time.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import logging
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from grpo_reward_math import AnswerEquals

from benchmarks.math_pairs import Pair, grouped, pairs
from benchmarks.report import Line
from grpo_core import Completion, load_reward

N = 1000
GROUP = 8
ROUNDS = 5
FASTER, FASTER_IN_GROUPS = 10, 25
P99_MS = 50.0
TIMEOUT_S = 2.0
HOSTILE = Path(__file__).parents[1] / "plugins/grpo-reward-math/tests/hostile.jsonl"

Grader = Callable[[Pair], bool]


class Round(NamedTuple):
    """CPU seconds of each pair, and which were called right."""

    seconds: list[float]
    said: list[bool]

    @property
    def per_second(self) -> float:
        return len(self.seconds) / sum(self.seconds)


def run() -> list[Line]:
    """Compares the graders, then scores what is hostile."""
    lines = compared("pairs", pairs(N), FASTER)
    lines += compared(f"groups of {GROUP}", grouped(N, GROUP), FASTER_IN_GROUPS)
    lines += through_the_core(pairs(N))
    return lines + hostile()


def compared(what: str, made: Sequence[Pair], faster: int) -> list[Line]:
    """Both graders' numbers on the same pairs, in alternating rounds."""
    ours: list[Round] = []
    theirs: list[Round] = []
    other = math_verify()
    for _ in range(ROUNDS):
        if other is not None:
            theirs.append(timed(other, made))
        ours.append(timed(our_grader(), made))
    lines = shown(f"{what}: ours", made, ours, P99_MS)
    if other is None:
        note = "pip install math-verify==0.9.0 to compare with it"
        return [*lines, Line(f"{what}: Math-Verify", float("nan"), "", None, note)]
    lines += shown(f"{what}: Math-Verify", made, theirs, None)
    ratio = statistics.median(
        our.per_second / their.per_second for our, their in zip(ours, theirs, strict=True)
    )
    return [
        *lines,
        Line(f"{what}: times as fast as Math-Verify", ratio),
        Line(f"{what}: at least {faster} times as fast", ratio >= faster),
    ]


def our_grader() -> Grader:
    """A reward that has seen nothing."""
    reward = AnswerEquals()

    def grade(pair: Pair) -> bool:
        scored: Any = reward(Completion(pair.completion), pair.gold)
        return bool(getattr(scored, "value", 0.0) >= 0.5)

    return grade


def math_verify() -> Grader | None:
    """Math-Verify at its best settings; None if it is not installed."""
    if importlib.util.find_spec("math_verify") is None:
        return None
    from math_verify import parse, verify

    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    return lambda pair: bool(verify(parse(f"$\\boxed{{{pair.gold}}}$"), parse(pair.completion)))


def timed(grade: Grader, made: Sequence[Pair]) -> Round:
    """One round, from empty caches."""
    for module in ("grpo_reward_math", "math_verify", "latex2sympy2_extended"):
        forget(module)
    gc.collect()
    seconds, said = [], []
    for pair in made:
        start = time.process_time()
        verdict = grade(pair)
        seconds.append(time.process_time() - start)
        said.append(verdict)
    return Round(seconds, said)


def forget(package: str) -> None:
    """Empties what the package has cached by `functools`."""
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            for value in vars(module).values():
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()


def shown(
    what: str, made: Sequence[Pair], rounds: Sequence[Round], bound: float | None
) -> list[Line]:
    """Speed of the median round, and how many verdicts were right."""
    middle = sorted(rounds, key=lambda one: one.per_second)[len(rounds) // 2]
    ms = sorted(1000 * x for x in middle.seconds)
    wrong = [
        (pair, said) for pair, said in zip(made, middle.said, strict=True) if pair.right != said
    ]
    notes = [f"{pair.gold!r} against {pair.completion[-70:]!r}: {said}" for pair, said in wrong[:3]]
    right = 100 * (1 - len(wrong) / len(made))
    falsely = sum(said for _, said in wrong)
    return [
        Line(f"{what}, verdicts a second", middle.per_second),
        Line(f"{what}, p50", ms[len(ms) // 2], "ms"),
        Line(f"{what}, p99", ms[int(0.99 * len(ms))], "ms", bound),
        Line(f"{what}, most", ms[-1], "ms"),
        Line(f"{what}, verdicts that are right", right, "%", None, "\n      ".join(notes)),
        Line(f"{what}, wrong answers that it pays", falsely),
    ]


def through_the_core(made: Sequence[Pair]) -> list[Line]:
    """What a user of `load_reward` gets, by the clock: one call at a time in a worker process."""
    reward = load_reward("math/answer_equals", timeout_s=TIMEOUT_S)
    reward(Completion("\\boxed{1}"), answer="1")
    start = time.monotonic()
    for pair in made:
        reward(Completion(pair.completion), answer=pair.gold)
    return [Line("load_reward, one call at a time, by the clock", N / (time.monotonic() - start))]


def hostile() -> list[Line]:
    """Wall-clock time of each hostile completion, in a process that has not loaded Math-Verify."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.math"], capture_output=True, text=True, check=True
    )
    report = json.loads(done.stdout)
    most = max(report["took"], key=lambda row: row[1])
    unscored = [name for name, _, status in report["took"] if status != "scored"]
    return [
        Line(
            f"{len(report['took'])} hostile completions, by the clock, most",
            most[1],
            "s",
            2 * TIMEOUT_S + 0.5,
            most[0],
        ),
        Line("each has a verdict before the deadline", not unscored, note=", ".join(unscored)),
        Line("no sympy, mpmath or antlr4 in this process", not report["loaded"]),
    ]


def scored_hostile() -> Iterator[tuple[str, float, str]]:
    """Name, seconds and status of each."""
    reward = load_reward("math/answer_equals", timeout_s=TIMEOUT_S)
    for text in HOSTILE.read_text(encoding="utf-8").splitlines():
        row = json.loads(text)
        completion = Completion("".join(part * times for part, times in row["completion"]))
        start = time.monotonic()
        outcome = reward(completion, answer=row["gold"])
        yield row["name"], time.monotonic() - start, outcome.status


if __name__ == "__main__":
    took = list(scored_hostile())
    loaded = [name for name in ("sympy", "mpmath", "antlr4") if name in sys.modules]
    print(json.dumps({"took": took, "loaded": loaded}))
