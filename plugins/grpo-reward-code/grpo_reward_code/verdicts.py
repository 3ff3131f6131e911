"""Runs the tests of a row against a program: what passed, and why the rest did not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grpo_reward_code.checkers import BrokenChecker, checked
from grpo_reward_code.judging.outputs import difference, shown
from grpo_reward_code.sandbox.boxes import Boxes
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import BoxFailed, Judged, Program, Ran
from grpo_reward_code.tests_of import InProcess, Stdin

_SERVED = "from grpo_reward_code.judging.served import serve\nserve()\n"
_JUDGE = "from grpo_reward_code.judging.judge import judge\njudge()\n"

# Tests that took more than this share of the CPU time leave the next one too little.
_SPENT = 0.05


class BrokenTests(Exception):
    """The tests of a row cannot be used, whatever the program is."""


@dataclass(frozen=True)
class Result:
    """What became of one test.

    Attributes:
        passed: Whether it passed.
        why: Why not, in a line.
        limit: The limit that the program hit, or "".
    """

    passed: bool
    why: str = ""
    limit: str = ""


@dataclass(frozen=True)
class How:
    """How tests are run and compared.

    Attributes:
        limits: What a program may use for one test.
        tolerance: How far off a number may be; None: not at all.
        checker: A program that decides instead of the comparison, or "".
        entry_point: Name of what is tested, if the row says it.
        stops: Whether the first test that fails is enough.
        stop_after_limits: After so many tests at which a limit was hit the rest counts as failed,
            and after one at which the wall time was over: no right program waits that long.
    """

    limits: Limits
    tolerance: float | None = None
    checker: str = ""
    entry_point: str | None = None
    stops: bool = False
    stop_after_limits: int = 3

    def is_over(self, results: Iterable[Result]) -> bool:
        """True if what comes after these results counts as failed."""
        limits = [result.limit for result in results if result.limit]
        return len(limits) >= self.stop_after_limits or "wall" in limits


def run_stdin(boxes: Boxes, source: str, test: Stdin, how: How) -> Result:
    """Runs a program once and compares what it prints, outside of it."""
    ran = boxes.run(Program(source, test.input.encode("utf-8", "surrogatepass")), how.limits)
    why = why_it_ended(ran)
    if why:
        return Result(False, why if ran.limit else _with_input(test, why), ran.limit)
    if how.checker:
        return _checked(boxes, test, ran.stdout, how)
    try:
        whys = [difference(ran.stdout, output, how.tolerance) for output in test.outputs]
    except Exception as exc:
        # The program chose what it printed: a failed row would be its way round a wrong answer.
        whys = [f"the output cannot be compared: {type(exc).__name__}"]
    if not all(whys):
        return Result(True)
    return Result(False, _with_input(test, whys[0]))


def _with_input(test: Stdin, why: str) -> str:
    return f"input {shown(test.input, 40)}: {why}"


def why_it_ended(ran: Ran) -> str:
    """Why a program counts as failed: a limit, a signal or its exit status; "" if it does not."""
    if ran.limit:
        return f"limit: {ran.limit}"
    if ran.signal is not None:
        return f"ended by signal {ran.signal}"
    if ran.exit_code:
        last = ran.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"exit status {ran.exit_code}" + (f": {last[:200]}" if last else "")
    return ""


def _checked(boxes: Boxes, test: Stdin, output: bytes, how: How) -> Result:
    """What the checker says."""
    text = output.decode("utf-8", "surrogateescape")
    try:
        is_right, why, ran = checked(boxes, how.checker, test, text, how.limits)
    except BrokenChecker as exc:
        raise BrokenTests(str(exc)) from None
    if is_right:
        return Result(True)
    ended = why_it_ended(ran)
    return Result(False, _with_input(test, f"checker: {ended}" if ended else why))


def run_in_process(boxes: Boxes, source: str, tests: Sequence[InProcess], how: How) -> list[Result]:
    """Runs a program in one process and the tests in another, which calls it.

    All tests share the two processes; where one ends the program, the tests after it get new ones.
    A test at which a limit was hit after others is run again alone, so that each has the whole of
    the limits.

    Raises:
        BrokenTests: A test cannot be used.
        BoxFailed: The machinery failed.
    """
    results: list[Result] = []
    while len(results) < len(tests):
        first = len(results)
        found, end = _judged(boxes, source, [t.asked for t in tests[first:]], how)
        results += found
        if len(results) == len(tests) or (how.stops and not all(r.passed for r in results)):
            break
        assert end is not None
        if end.limit and end.before_s > how.limits.cpu_s * _SPENT:
            continue
        results.append(end)
        if how.stops or how.is_over(results):
            break
        if end.is_of_all:
            break
    rest = results[-1] if results else Result(False)
    why = rest.why if not rest.passed else ""
    return results + [Result(False, why)] * (len(tests) - len(results))


@dataclass(frozen=True)
class _End(Result):
    """The test at which the two processes ended."""

    is_of_all: bool = False  # it would end so at every test
    before_s: float = 0.0  # what the tests before it took


def _judged(
    boxes: Boxes, source: str, asked: list[object], how: How
) -> tuple[list[Result], _End | None]:
    """Results of the first tests, and what ended the processes before the rest."""
    judged = boxes.judge(
        Program(_SERVED, source.encode("utf-8", "surrogatepass")),
        Program(_JUDGE, _for_judge(asked, how), "judge.py"),
        how.limits,
    )
    lines = _lines(judged.report)
    if not lines or "start" not in lines[0]:
        raise BoxFailed(f"the judge did not start: {_stderr(judged.judge)}")
    results: list[Result] = []
    before_s = 0.0
    for line in lines[1:]:
        if "broken" in line:
            raise BrokenTests(str(line["broken"]))
        if "load" in line:
            limit = judged.submission.limit
            return [], _End(False, f"limit: {limit}" if limit else str(line["load"]), limit, True)
        if line.get("ended"):
            return results, _ended(judged, str(line.get("why", "")), before_s)
        results.append(Result(bool(line["ok"]), str(line.get("why", ""))))
        before_s = float(str(line["after"]))
    if len(results) == len(asked) or (how.stops and results and not results[-1].passed):
        return results, None
    return results, _ended(judged, "the test did not end", before_s)


def _ended(judged: Judged, why: str, before_s: float) -> _End:
    limit = judged.submission.limit or judged.judge.limit
    if limit:
        return _End(False, f"limit: {limit}", limit, before_s=before_s)
    return _End(False, why_it_ended(judged.submission) or why)


def _for_judge(asked: list[object], how: How) -> bytes:
    return json.dumps(
        {
            "tests": asked,
            "entry": how.entry_point,
            "tolerance": how.tolerance,
            "stop": how.stops,
        }
    ).encode()


def _lines(report: bytes) -> list[dict[str, object]]:
    """The lines of a report; the last may be cut off."""
    lines = []
    for line in report.split(b"\n"):
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
    return lines


def _stderr(ran: Ran) -> str:
    return ran.stderr.decode("utf-8", "replace").strip()[-300:]
