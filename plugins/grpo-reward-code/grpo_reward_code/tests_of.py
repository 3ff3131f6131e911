r"""Tests of a data set's row, in the shapes that data sets have, and what is run of them.

The canonical shape is a list of objects with a `type`:

    {"type": "stdin_stdout", "input": "3\n", "output": "9\n"}     "outputs": [...] for several
    {"type": "assert", "code": "assert f(3) == 9", "setup": ""}
    {"type": "call", "function": "f", "args": [3], "output": 9}    "outputs": [...] for several

`apps`, `livecodebench`, `humaneval` and `mbpp` make it of rows of these data sets; `read_tests`
also takes the columns of these data sets as they are.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Test = dict[str, Any]

EXPECTED = (
    'a list of {"type": "stdin_stdout", "input", "output"}, {"type": "assert", "code"} or '
    '{"type": "call", "function", "args", "output"}; a list of assert statements; '
    '{"inputs", "outputs", "fn_name"}; or the code of assert statements'
)


class NotTests(ValueError):
    """What should be tests is none; the text says where, what was expected and what came."""


@dataclass(frozen=True)
class Stdin:
    """A test of a whole program.

    Attributes:
        input: What it reads on standard input.
        outputs: What it may print.
    """

    input: str
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class InProcess:
    """A test that calls the program; the judge process runs it.

    Attributes:
        asked: The test as the judge reads it.
    """

    asked: Mapping[str, Any] = field(hash=False)


def apps(row: Mapping[str, Any]) -> list[Test]:
    """Tests of a row of APPS, TACO or CodeContests in its form: the column `input_output`.

    Args:
        row: The row, or what its `input_output` holds, as a table or as JSON text.
    """
    held = _decoded(row.get("input_output", row), "input_output")
    inputs, outputs, name = held.get("inputs"), held.get("outputs"), held.get("fn_name")
    if name is not None and not isinstance(name, str):
        raise NotTests(f'expected "fn_name" to be a text, got {type(name).__name__}')
    if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
        raise NotTests('expected "inputs" and "outputs", two lists of one length')
    if not name:
        return [
            {"type": "stdin_stdout", "input": _text(i), "output": _text(o)}
            for i, o in zip(inputs, outputs, strict=True)
        ]
    return [
        {"type": "call", "function": name, "args": _args(i), "outputs": _accepted(o)}
        for i, o in zip(inputs, outputs, strict=True)
    ]


def livecodebench(row: Mapping[str, Any], function: str | None = None) -> list[Test]:
    """Tests of a row of LiveCodeBench: its public ones, and private ones if they are decoded.

    Args:
        row: The row. `private_test_cases` must be a list or JSON text; the data set has it
            compressed and pickled, which is not read here.
        function: Name of the method; else `metadata` has it.
    """
    meta = _decoded(row.get("metadata") or "{}", "metadata")
    name = function or meta.get("func_name")
    tests: list[Test] = []
    for column in ("public_test_cases", "private_test_cases"):
        cases = row.get(column) or []
        if isinstance(cases, str):
            try:
                cases = json.loads(cases)
            except (ValueError, RecursionError):
                raise NotTests(
                    f"{column}: expected JSON; what the data set has compressed and pickled has "
                    f"to be decoded first, where you trust it"
                ) from None
        if not isinstance(cases, list | tuple):
            raise NotTests(f"{column}: expected a list, got {type(cases).__name__}")
        for number, case in enumerate(cases):
            try:
                tests.append(_of_livecodebench(case, name))
            except NotTests as exc:
                raise NotTests(f"{column}, case {number + 1}: {exc}") from None
    return tests


def _of_livecodebench(case: Any, name: str | None) -> Test:
    if not isinstance(case, Mapping):
        raise NotTests(f"expected an object, got {type(case).__name__}")
    given, output = _a_text(case, "input"), _a_text(case, "output")
    if case.get("testtype") != "functional":
        return {"type": "stdin_stdout", "input": given, "output": output}
    if not name:
        raise NotTests("a functional test needs the name of the function: bind entry_point")
    args = [_json(line, "input") for line in given.split("\n") if line.strip()]
    return {"type": "call", "function": name, "args": args, "output": _json(output, "output")}


def _json(text: str, key: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise NotTests(f'expected "{key}" to be JSON, got {text[:60]!r}') from None


def humaneval(row: Mapping[str, Any]) -> list[Test]:
    """The test of a row of HumanEval: its `test` with the call of `check`.

    The completion must hold the whole function; for a model that goes on with the prompt, put
    `row["prompt"]` before it (option `before`, or a template).
    """
    name = _a_text(row, "entry_point")
    if not name.isidentifier():
        raise NotTests(f'expected "entry_point", the name of a function, got {name[:60]!r}')
    return [{"type": "assert", "code": f"{_a_text(row, 'test')}\n\ncheck({name})\n"}]


def mbpp(row: Mapping[str, Any]) -> list[Test]:
    """Tests of a row of MBPP: `test_list`, after `test_setup_code` or `test_imports`."""
    setup = row.get("test_setup_code") or row.get("test_imports") or ""
    codes = row.get("test_list")
    if not isinstance(codes, list | tuple):
        raise NotTests(f'expected "test_list" to be a list, got {type(codes).__name__}')
    return [{"type": "assert", "code": code, "setup": _setup(setup)} for code in codes]


def read_tests(tests: Any, entry_point: str | None = None) -> list[Stdin | InProcess]:
    """The tests of a row, ready to be run.

    Args:
        tests: In one of the shapes that `EXPECTED` names, or such a thing as JSON text.
        entry_point: Name of the function that is tested, where the tests do not say it.

    Raises:
        NotTests: It is in none of them, or empty.
    """
    if entry_point is not None and not isinstance(entry_point, str):
        raise NotTests(f"entry_point: expected a text, got {type(entry_point).__name__}")
    listed = _listed(tests, entry_point)
    if not listed:
        raise NotTests("expected at least one test, got none")
    found = []
    for number, test in enumerate(listed):
        try:
            found.append(_read(test, entry_point))
        except NotTests as exc:
            raise NotTests(f"test {number + 1}: {exc}") from None
    return found


def _listed(tests: Any, entry_point: str | None) -> Sequence[Any]:
    if isinstance(tests, str):
        if not tests.strip():
            raise NotTests("expected tests, got an empty text")
        try:
            decoded = json.loads(tests)
        except (ValueError, RecursionError):
            decoded = None
        if not isinstance(decoded, list | dict):
            if tests.lstrip().startswith(("{", "[")):
                raise NotTests(f"expected JSON or code, got {tests[:60]!r}, which is neither")
            return [_code(tests, entry_point)]
        tests = decoded
    if isinstance(tests, Mapping):
        return _of_table(tests, entry_point)
    if hasattr(tests, "tolist"):  # a column of a data frame
        tests = tests.tolist()
    if isinstance(tests, list | tuple):
        return tests
    raise NotTests(f"expected {EXPECTED}; got {type(tests).__name__}")


def _of_table(tests: Mapping[str, Any], entry_point: str | None) -> list[Test]:
    if tests.get("inputs") is not None or "input_output" in tests:
        held = dict(tests)
        if entry_point and "input_output" not in tests and not held.get("fn_name"):
            inputs = held["inputs"]
            first = inputs[0] if isinstance(inputs, list) and inputs else None
            if isinstance(first, list) and not all(isinstance(x, str) for x in first):
                held["fn_name"] = entry_point
        return apps(held)
    if tests.get("test_list") is not None:
        return mbpp(tests)
    if isinstance(tests.get("test"), str):
        return [_code(tests["test"], tests.get("entry_point") or entry_point)]
    if "public_test_cases" in tests:
        return livecodebench(tests, entry_point)
    if "type" in tests:
        return [dict(tests)]
    raise NotTests(f"expected {EXPECTED}; got an object with {_keys(tests)}")


def _code(code: str, entry_point: str | None) -> Test:
    """Code of asserts; if it only defines `check`, as in HumanEval, with the call of it."""
    if "def check(" in code and entry_point and not _calls_check(code):
        return humaneval({"test": code, "entry_point": entry_point})[0]
    return {"type": "assert", "code": code}


def _calls_check(code: str) -> bool:
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    calls = [s.value for s in body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    return any(isinstance(c.func, ast.Name) and c.func.id == "check" for c in calls)


def _read(test: Any, entry_point: str | None) -> Stdin | InProcess:
    if isinstance(test, str):
        test = _code(test, entry_point)
    if not isinstance(test, Mapping):
        raise NotTests(f"expected an object or a text, got {type(test).__name__}")
    if "testtype" in test:
        test = _of_livecodebench(test, entry_point)
    kind = test.get("type")
    if kind is None and test.keys() >= {"input", "output"}:
        kind = "stdin_stdout"
    if kind in ("stdin_stdout", "stdin"):
        return Stdin(_a_text(test, "input"), tuple(_texts(test)))
    if kind == "assert":
        code = _a_text(test, "code")
        if not code.strip():
            raise NotTests("expected code, got an empty text")
        return InProcess({"kind": "assert", "code": code, "setup": _setup(test.get("setup") or "")})
    if kind in ("call", "function_call", "functional"):
        return InProcess(_call(test, entry_point))
    raise NotTests(
        f'expected "type" to be "stdin_stdout", "assert" or "call", got {_keys(test)} with type '
        f"{kind!r}"
    )


def _call(test: Mapping[str, Any], entry_point: str | None) -> Test:
    name = test.get("function") or test.get("fn_name") or entry_point
    if not isinstance(name, str) or not name.isidentifier():
        raise NotTests(f'expected "function", the name of a function, got {name!r}')
    args, kwargs = test.get("args", test.get("input", [])), test.get("kwargs") or {}
    if not isinstance(args, list) or not isinstance(kwargs, Mapping):
        raise NotTests('expected "args", a list, and "kwargs", an object')
    if "outputs" in test:
        accepted = test["outputs"]
    elif "output" in test:
        is_own = test.get("type") == "call"
        accepted = [test["output"]] if is_own else _accepted(test["output"])
    else:
        raise NotTests('expected "output" or "outputs"')
    if not isinstance(accepted, list) or not accepted:
        raise NotTests('expected "outputs" to be a list with at least one value')
    if not all(isinstance(key, str) for key in kwargs):
        raise NotTests('expected "kwargs" to have names')
    asked = {"args": args, "kwargs": dict(kwargs), "accepted": accepted}
    try:
        json.dumps(asked)  # they cross to the judge as such
    except (TypeError, ValueError, RecursionError) as exc:
        raise NotTests(f"expected arguments and output that JSON can hold: {exc}") from None
    return {"kind": "call", "function": name, **asked}


def _setup(setup: Any) -> str:
    """Code before a test: a text, or a list of lines."""
    if isinstance(setup, list | tuple) and all(isinstance(line, str) for line in setup):
        return "\n".join(setup)
    if not isinstance(setup, str):
        raise NotTests(f"expected the code before a test to be a text, got {type(setup).__name__}")
    return setup


def _texts(test: Mapping[str, Any]) -> list[str]:
    if "outputs" not in test:
        return [_a_text(test, "output")]
    outputs = test["outputs"]
    if not isinstance(outputs, list) or not outputs or not all(type(o) is str for o in outputs):
        raise NotTests('expected "outputs" to be a list of texts')
    return outputs


def _a_text(test: Mapping[str, Any], key: str) -> str:
    value = test.get(key)
    if not isinstance(value, str):
        raise NotTests(f'expected "{key}" to be a text, got {type(value).__name__}')
    return value


def _text(value: Any) -> str:
    """Lines of APPS, joined."""
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return value if isinstance(value, str) else str(value)


def _args(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _accepted(value: Any) -> list[Any]:
    """APPS has most results in a list of one, and some not; both are right."""
    if isinstance(value, list) and len(value) == 1:
        return [value, value[0]]
    return [value]


def _decoded(held: Any, name: str) -> Mapping[str, Any]:
    if isinstance(held, str):
        try:
            held = json.loads(held)
        except (ValueError, RecursionError) as exc:
            raise NotTests(f"{name}: expected JSON: {exc}") from None
    if not isinstance(held, Mapping):
        raise NotTests(f"{name}: expected an object, got {type(held).__name__}")
    return held


def _keys(test: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, sorted(map(str, test))[:8])) or "no keys"
