"""The reward `code/tests_pass`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from grpo_core import Completion, Fail, Score, Skip, reward
from grpo_reward_code.batches import run_all
from grpo_reward_code.checkers import check_checker, parsed
from grpo_reward_code.extracting import NoProgram
from grpo_reward_code.reasons import plain
from grpo_reward_code.sandbox.boxes import Boxes
from grpo_reward_code.settings import Settings, check_choice, failed
from grpo_reward_code.tests_of import InProcess, NotTests, Stdin, read_tests
from grpo_reward_code.verdicts import (
    BrokenTests,
    How,
    Result,
    run_in_process,
    run_stdin,
)


class _Row:
    """The tests of one completion, and what became of those that were run."""

    def __init__(self, source: str, tests: list[Stdin | InProcess], how: How) -> None:
        self.source = source
        self.tests = tests
        self.how = how
        self.results: dict[int, Result] = {}
        self.fault: BaseException | None = None
        self._is_over = threading.Event()

    def work(self, boxes: Boxes) -> list[Callable[[], None]]:
        """A piece of work for each program with standard input, and one for all other tests."""
        work: list[Callable[[], None]] = []
        inside = [k for k, test in enumerate(self.tests) if isinstance(test, InProcess)]
        for k, test in enumerate(self.tests):
            if isinstance(test, Stdin):
                work.append(partial(self._run_stdin, boxes, k, test))
            elif k == inside[0]:
                work.append(partial(self._run_inside, boxes, inside))
        return work

    def _run_stdin(self, boxes: Boxes, k: int, test: Stdin) -> None:
        if not self._is_over.is_set():
            self._note(k, run_stdin(boxes, self.source, test, self.how))

    def _run_inside(self, boxes: Boxes, numbers: list[int]) -> None:
        if self._is_over.is_set():
            return
        tests = [test for k in numbers if isinstance(test := self.tests[k], InProcess)]
        for k, result in zip(
            numbers,
            run_in_process(boxes, self.source, tests, self.how),
            strict=True,
        ):
            self._note(k, result)

    def _note(self, k: int, result: Result) -> None:
        self.results[k] = result
        if (self.how.stops and not result.passed) or self.how.is_over(list(self.results.values())):
            self._is_over.set()

    def counted(self) -> list[Result]:
        """Results in order, up to where they count, whatever was run beyond that."""
        counted: list[Result] = []
        for k in range(len(self.tests)):
            if k not in self.results:
                break
            counted.append(self.results[k])
            if self.how.is_over(counted):
                break
        return counted


@reward(
    range=(0.0, 1.0),
    scope="batch",
    isolation="thread",
    timeout_s=300.0,
    on_timeout="missing",
)
class TestsPass:
    """The share of the tests that the program passes, or 1.0 and 0.0 only.

    The program is the last Python code fence of the completion. It runs in a local sandbox, each
    time in a process of its own that starts with nothing of the one before. Tests are programs with
    standard input, assert statements, or calls; see `grpo_reward_code.tests_of`. What is expected
    never enters the process that runs the program: outputs are compared outside, and asserts run
    in a second process, for which the program's objects are data.

    `tests` of a row are a list or JSON text. `entry_point` names the function that is tested where
    they do not. `checker` is code with `check(input, output, expected)`, which decides instead of
    the comparison where several outputs are right; it runs in the sandbox too. `gold_program` is a
    solution that `grpo check` runs, to find rows whose tests are wrong; it changes no score.

    A limit that the program hits is a failing test, and the reason begins with "limit:". A row
    whose tests cannot be used, and a failure of the sandbox, have no value. The reason names the
    first test that fails.

    How a lazy model could cheat: a program that knows the expected outputs by heart passes; keep
    tests that the prompt does not show. Under `mode = "fraction"` constant answers earn what weak
    tests let through; use `mode = "all"` where few tests have few answers.

    Args:
        mode: "fraction", or "all" for 1.0 if every test passes, else 0.0.
        language: Of the programs; only "python".
        extract: "auto" takes a code fence, or the text if it has none; "fence", "whole".
        pick: Which fence counts where there are several: "last", "first", or "only", which refuses
            several.
        after_tag: Name of the tag that closes the reasoning; only the text behind it counts.
            "" counts all of it.
        other_language: What code in another language gets: "zero", or "skip" for no value.
        before: Code that is put before every program, such as imports.
        float_tolerance: How far off a number may be, relative or absolute, in outputs and results
            of calls; None: not at all.
        stop_after_limits: After so many tests at which a limit was hit the rest counts as failed,
            and after one that was over by wall time.
        max_bytes: Of a program; a longer one scores 0.0.
        limits: What a program may use for one test: `cpu_s`, `wall_factor`, `memory_mb`,
            `output_bytes`, `file_bytes`, `threads`.
        layer: Of isolation: "auto" is the strongest that holds; "ns", "lock", or "unsafe" for none.
        preload: Modules that are imported once, such as numpy; programs find no others that are
            not of the standard library.
        slots: Programs at once; None: this trainer's share of the cores.
        deadline_s: Seconds for a batch; rows that are not begun then have no value.

    Raises:
        ValueError: An option is not one of these, or no isolation holds on this machine.
    """

    __test__ = False  # for pytest, which would collect it by its name

    def __init__(
        self,
        *,
        mode: Literal["fraction", "all"] = "fraction",
        language: Literal["python"] = "python",
        extract: Literal["auto", "fence", "whole"] = "auto",
        pick: Literal["last", "first", "only"] = "last",
        after_tag: str = "think",
        other_language: Literal["zero", "skip"] = "zero",
        before: str = "",
        float_tolerance: float | None = None,
        stop_after_limits: int = 3,
        max_bytes: int = 1_000_000,
        limits: Mapping[str, float] | None = None,
        layer: Literal["auto", "ns", "lock", "unsafe"] = "auto",
        preload: Sequence[str] = (),
        slots: int | None = None,
        deadline_s: float = 240.0,
    ) -> None:
        check_choice("mode", mode, ("fraction", "all"))
        if float_tolerance is not None and not 0 <= float_tolerance < 1:
            raise ValueError(f"float_tolerance must be 0 or more, below 1, got {float_tolerance!r}")
        if stop_after_limits < 1:
            raise ValueError(f"stop_after_limits must be 1 or more, got {stop_after_limits!r}")
        self._settings = Settings(
            language=language,
            extract=extract,
            pick=pick,
            after_tag=after_tag,
            other_language=other_language,
            before=before,
            max_bytes=max_bytes,
            limits=limits,
            layer=layer,
            preload=preload,
            slots=slots,
            deadline_s=deadline_s,
        )
        self._is_all = mode == "all"
        self._tolerance = float_tolerance
        self._stop_after_limits = stop_after_limits

    def close(self) -> None:
        """Ends the processes; the next call starts them again."""
        self._settings.close()

    def info(self) -> dict[str, Any]:
        """What the manifest keeps: the isolation in force."""
        return self._settings.info()

    def check_inputs(
        self,
        tests: Any,
        entry_point: str | None = None,
        checker: str | None = None,
        gold_program: str | None = None,
    ) -> str | None:
        """What is wrong with the tests of a row, or None.

        Where `gold_program` is bound, it is run, and has to pass every test.
        """
        try:
            found = read_tests(tests, entry_point)
            check_checker(checker, found)
            _check_code(found)
        except NotTests as exc:
            return f"tests: {exc}"
        if gold_program is None:
            return None
        how = self._how(entry_point, checker, stops=False)
        try:
            row = _Row(self._settings.gold(gold_program), found, how)
            for piece in row.work(self._settings.boxes()):
                piece()
        except (NoProgram, BrokenTests) as exc:
            return f"gold_program: {exc}"
        wrong = [k for k in range(len(found)) if k not in row.results or not row.results[k].passed]
        if not wrong:
            return None
        why = row.results[wrong[0]].why if wrong[0] in row.results else "not run"
        return f"gold_program fails test {wrong[0] + 1} of {len(found)}: {why}"

    def __call__(
        self,
        completions: list[Completion],
        tests: list[Any],
        entry_point: list[str | None] | None = None,
        checker: list[str | None] | None = None,
        gold_program: list[str | None] | None = None,
    ) -> list[Score | Skip | Fail]:
        """Scores completions at once; a row whose tests cannot be used fails."""
        n = len(completions)
        names, checkers = entry_point or [None] * n, checker or [None] * n
        out: list[Score | Skip | Fail | _Row] = [
            self._row(*each) for each in zip(completions, tests, names, checkers, strict=True)
        ]
        # Taken once: where they are closed meanwhile, what is left fails and opens no others.
        boxes = self._settings.boxes()
        pieces = [(row, piece) for row in out if isinstance(row, _Row) for piece in row.work(boxes)]
        ended = run_all(
            [piece for _, piece in pieces],
            self._settings.slots,
            self._settings.deadline_s,
            boxes.interrupt,
        )
        for (row, _), came in zip(pieces, ended, strict=True):
            if isinstance(came, BaseException):
                row.fault = row.fault or came
        return [self._score(each) if isinstance(each, _Row) else each for each in out]

    def _row(
        self, completion: Completion, tests: Any, entry_point: str | None, checker: str | None
    ) -> Score | Skip | Fail | _Row:
        try:
            found = read_tests(tests, entry_point)
            check_checker(checker, found)
            program = self._settings.program(completion)
        except NotTests as exc:
            return Fail(plain(f"tests: {exc}"))
        except Exception as exc:  # of this row; the others have a value
            return failed(exc, self._settings.deadline_s)
        if not isinstance(program, str):
            return program
        return _Row(program, found, self._how(entry_point, checker, stops=self._is_all))

    def _how(self, entry_point: str | None, checker: str | None, *, stops: bool) -> How:
        return How(
            limits=self._settings.limits,
            tolerance=self._tolerance,
            checker=checker or "",
            entry_point=entry_point or None,
            stops=stops,
            stop_after_limits=self._stop_after_limits,
        )

    def _score(self, row: _Row) -> Score | Fail:
        n = len(row.tests)
        results = row.counted()
        is_decided = len(results) == n or (results and not results[-1].passed)
        if isinstance(row.fault, BrokenTests):
            return Fail(plain(f"tests: {row.fault}"))
        if row.fault is not None and not (is_decided and self._is_all):
            return failed(row.fault, self._settings.deadline_s)
        passed = sum(result.passed for result in results)
        reason = f"all {n} tests pass" if n > 1 else "the test passes"
        for k, result in enumerate(results):
            if not result.passed:
                reason = f"test {k + 1} of {n}: {result.why}"
                if result.limit:
                    reason = f"{result.why} at test {k + 1} of {n}"
                break
        value = float(passed == n) if self._is_all else passed / n
        hits = float(sum(bool(result.limit) for result in results))
        return Score(value, plain(reason), {"limit_hits": hits, **self._settings.metrics()})


def _check_code(tests: Sequence[Stdin | InProcess]) -> None:
    """That the code of a row compiles.

    Raises:
        NotTests: It does not.
    """
    for number, test in enumerate(tests):
        if isinstance(test, InProcess) and test.asked["kind"] == "assert":
            parsed(f"test {number + 1}", test.asked["setup"] + "\n" + test.asked["code"])
