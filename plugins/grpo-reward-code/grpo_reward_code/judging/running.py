"""One test against the submission: what is wrong, in a line, or nothing."""

from __future__ import annotations

import io
import linecache
import math
import sys
import traceback
import types
from collections import deque
from collections.abc import Mapping
from typing import Any

from grpo_reward_code.judging.contexts import FILES, is_of_program
from grpo_reward_code.judging.names import Broken, Globals, Names, of_program
from grpo_reward_code.judging.objects import CannotSubclass, Remote
from grpo_reward_code.judging.peer import Peer
from grpo_reward_code.judging.styles import is_never_awaited, is_test_case, run_functions


def run_test(program: Peer, test: Mapping[str, Any], names: Names, tolerance: float | None) -> str:
    """What is wrong, or an empty text.

    Args:
        program: Where the submission is.
        test: `{"kind": "assert", "setup", "code"}` or `{"kind": "call", "function", "args",
            "kwargs", "accepted"}`.
        names: What the names of the tests mean.
        tolerance: For floats of call tests, relative and absolute; None: equal.

    Raises:
        Broken: The test cannot be used.
    """
    try:
        why = (
            _called(program, test, tolerance)
            if test["kind"] == "call"
            else _asserted(program, test, names)
        )
    except (Broken, CannotSubclass):
        raise
    except ModuleNotFoundError as exc:
        if not is_of_program(exc):
            raise Broken(f"the test imports what is not there: {exc}") from None
        return _said(exc, test)
    except SystemExit as exc:
        why = _said(exc, test) if exc.code or is_of_program(exc) else ""
    except BaseException as exc:
        why = _said(exc, test)
    if not program.asked:
        raise Broken("the test never uses the program" + (why and f": before it, {why}"))
    return why


def _asserted(program: Peer, test: Mapping[str, Any], names: Names) -> str:
    space = Globals(names, program)
    for file, text in zip(FILES, (test["code"], test["setup"]), strict=True):
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(names.compiled(test["setup"], "<setup>"), space)
    exec(names.compiled(test["code"], "<test>"), space)
    run_functions(space, names.loaded(test["code"]))
    return _unittests(space)


def _unittests(space: Mapping[str, Any]) -> str:
    """Runs the test classes that the test defines."""
    unittest = sys.modules.get("unittest")
    if unittest is None:
        return ""
    loader, suite = unittest.TestLoader(), unittest.TestSuite()
    for value in space.values():
        if is_test_case(value):
            for name in loader.getTestCaseNames(value):
                if is_never_awaited(value, name):
                    raise Broken(f"unittest never runs {value.__name__}.{name}")
            suite.addTests(loader.loadTestsFromTestCase(value))
    if not suite.countTestCases():
        return ""
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
    for case, told in [*result.errors, *result.failures]:
        return f"{case.id()}: {told.strip().splitlines()[-1]}"
    passed = result.testsRun - len(result.skipped) - len(result.expectedFailures)
    return "" if result.wasSuccessful() and passed > 0 else "no test of the class was run"


def _called(program: Peer, test: Mapping[str, Any], tolerance: float | None) -> str:
    function = _function(program, test["function"])
    got = function(*test["args"], **test["kwargs"])
    if isinstance(got, types.GeneratorType):
        got = list(got)  # once, for several accepted results
    if any(same(got, accepted, tolerance) for accepted in test["accepted"]):
        return ""
    return f"{_call_text(test)}: expected {_short(test['accepted'][0])}, got {_short(got)}"


def _function(program: Peer, name: str) -> Any:
    """The method of the class `Solution`, or else the function of this name."""
    try:
        kind = of_program("Solution", program)
        if hasattr(kind, name) or not _has(program, name):
            return getattr(kind(), name)
    except (NameError, AttributeError):
        pass
    except TypeError:  # it needs arguments
        if not _has(program, name):
            raise
    try:
        return program.named(name)
    except NameError:
        raise NameError(f"the program defines no {name!r}") from None


def _has(program: Peer, name: str) -> bool:
    try:
        program.named(name)
    except NameError:
        return False
    return True


def same(got: Any, want: Any, tolerance: float | None) -> bool:
    """True if a value is the expected one, which came as JSON.

    A tuple, a range or what a generator yields equals a list, and a key the text of it, since JSON
    knows no others. A set equals a list with the same members.
    """
    if isinstance(got, Remote):
        changing = getattr(type(got), "_grpo_changing", None)
        if changing is None or not got._grpo_equals:
            return False
        got = got._grpo_peer.base(got)
    if hasattr(type(got), "tolist"):
        got = got.tolist()
    if isinstance(want, list) and isinstance(got, range | deque):
        got = list(got)
    if isinstance(want, list) and isinstance(got, set | frozenset):
        return (
            len(got) == len(want)
            and all(any(same(a, b, tolerance) for a in got) for b in want)
            and all(any(same(a, b, tolerance) for b in want) for a in got)
        )
    if isinstance(got, list | tuple):
        return (
            isinstance(want, list | tuple)
            and len(got) == len(want)
            and all(same(a, b, tolerance) for a, b in zip(got, want, strict=True))
        )
    if isinstance(got, dict) and isinstance(want, dict):
        if len(got) != len(want):
            return False
        keys = {key if key in want else str(key): value for key, value in got.items()}
        return keys.keys() == want.keys() and all(
            same(value, want[key], tolerance) for key, value in keys.items()
        )
    if _is_float(got, want):
        if got == want or (math.isnan(got) and math.isnan(want)):
            return True
        within = tolerance or 0.0
        return math.isclose(got, want, rel_tol=within, abs_tol=within)
    return type(want) is not Remote and bool(got == want)


def _is_float(got: Any, want: Any) -> bool:
    kinds = {type(got), type(want)}
    return float in kinds and kinds <= {float, int}


def _said(exc: BaseException, test: Mapping[str, Any]) -> str:
    """An exception in a line: the line of the test, and what was raised."""
    try:
        said = str(exc)
    except BaseException:
        said = ""
    what = f"{type(exc).__name__}: {said}" if said else type(exc).__name__
    if test["kind"] == "call":
        return f"{_call_text(test)}: {what}"
    lines = [f.line for f in traceback.extract_tb(exc.__traceback__) if f.filename == "<test>"]
    line = next((line.strip() for line in reversed(lines) if line), "")
    return f"{line[:200]}: {what}" if line else what


def _call_text(test: Mapping[str, Any]) -> str:
    args = [_short(arg) for arg in test["args"]]
    args += [f"{name}={_short(arg)}" for name, arg in test["kwargs"].items()]
    return f"{test['function']}({', '.join(args)})"


def _short(value: Any) -> str:
    if isinstance(value, Remote):
        return f"an object of {type(value).__name__}"
    try:
        text = repr(value)
    except BaseException:
        text = f"an object of {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."
