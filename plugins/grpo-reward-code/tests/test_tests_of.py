"""Shapes of tests."""

from __future__ import annotations

import json

import pytest
from grpo_reward_code.tests_of import (
    InProcess,
    NotTests,
    Stdin,
    apps,
    humaneval,
    livecodebench,
    mbpp,
    read_tests,
)

HUMANEVAL = {"test": "def check(candidate):\n    assert candidate(1) == 2\n", "entry_point": "f"}


def called(**more) -> InProcess:
    plain = {"kind": "call", "function": "f", "args": [1], "kwargs": {}, "accepted": [2]}
    return InProcess({**plain, **more})


def asserted(code: str, setup: str = "") -> InProcess:
    return InProcess({"kind": "assert", "code": code, "setup": setup})


@pytest.mark.parametrize(
    ("tests", "read"),
    [
        ([{"type": "stdin_stdout", "input": "1", "output": "2"}], [Stdin("1", ("2",))]),
        ([{"input": "1", "output": "2"}], [Stdin("1", ("2",))]),
        ([{"type": "stdin", "input": "1", "outputs": ["2", "3"]}], [Stdin("1", ("2", "3"))]),
        ([{"type": "assert", "code": "assert f()"}], [asserted("assert f()")]),
        (["assert f()", "assert g()"], [asserted("assert f()"), asserted("assert g()")]),
        ("assert f()", [asserted("assert f()")]),
        ([{"type": "call", "function": "f", "args": [1], "output": 2}], [called()]),
        ([{"type": "call", "function": "f", "args": [1], "output": [2]}], [called(accepted=[[2]])]),
        (
            [{"type": "call", "fn_name": "f", "args": [1], "outputs": [2, 3]}],
            [called(accepted=[2, 3])],
        ),
        ({"inputs": ["1\n"], "outputs": ["2\n"]}, [Stdin("1\n", ("2\n",))]),
        ({"inputs": [["1", "2"]], "outputs": [["3"]]}, [Stdin("1\n2", ("3",))]),
        ({"inputs": [[1]], "outputs": [[2]], "fn_name": "f"}, [called(accepted=[[2], 2])]),
        ({"inputs": [[1]], "outputs": [2], "fn_name": "f"}, [called()]),
        (
            {"test_list": ["assert f()"], "test_setup_code": "x = 1"},
            [asserted("assert f()", "x = 1")],
        ),
        (
            {"test_list": ["assert f()"], "test_imports": ["import a", "import b"]},
            [asserted("assert f()", "import a\nimport b")],
        ),
        (HUMANEVAL, [asserted(HUMANEVAL["test"] + "\n\ncheck(f)\n")]),
    ],
)  # fmt: skip
def test_shape(tests, read):
    assert read_tests(tests) == read
    if not isinstance(tests, str):
        assert read_tests(json.dumps(tests)) == read


def test_entry_point_names_what_check_is_called_with():
    assert read_tests(HUMANEVAL["test"], "g") == [asserted(HUMANEVAL["test"] + "\n\ncheck(g)\n")]
    called_there = HUMANEVAL["test"] + "check(h)"
    assert read_tests(called_there, "g") == [asserted(called_there)]


def test_livecodebench_functional_case_needs_the_name():
    case = {"testtype": "functional", "input": "[1, 2]\n3", "output": "[3]"}

    assert read_tests([case], "f") == [called(args=[[1, 2], 3], accepted=[[3]])]
    with pytest.raises(NotTests, match="bind entry_point"):
        read_tests([case])


@pytest.mark.parametrize(
    ("tests", "why"),
    [
        ([], "expected at least one test, got none"),
        ("", "expected tests, got an empty text"),
        ("[]", "expected at least one test, got none"),
        ({"inputs": [], "outputs": []}, "expected at least one test, got none"),
        ({"inputs": ["1"], "outputs": []}, 'expected "inputs" and "outputs", two lists'),
        ('[{"type": ', "expected JSON or code"),
        (3, "expected a list of"),
        ({"x": 1}, "got an object with 'x'"),
        ([3], "test 1: expected an object or a text, got int"),
        (["assert f()", {"type": "java"}], "test 2: expected \"type\" to be"),
        ([{"type": "stdin_stdout", "input": "1"}], 'test 1: expected "output" to be a text'),
        ([{"type": "call", "args": [1], "output": 1}], 'expected "function"'),
        ([{"type": "call", "function": "f", "args": 1, "output": 1}], 'expected "args", a list'),
        ([{"type": "call", "function": "f", "args": [1]}], 'expected "output" or "outputs"'),
        ([{"type": "call", "function": "f", "args": [1], "outputs": []}], "at least one value"),
        ([{"type": "assert", "code": " "}], "expected code, got an empty text"),
    ],
)  # fmt: skip
def test_no_shape(tests, why):
    with pytest.raises(NotTests) as caught:
        read_tests(tests)
    assert why in str(caught.value)


def test_converters_make_the_canonical_shape():
    row = {"input_output": json.dumps({"inputs": ["1"], "outputs": ["2"]})}
    assert apps(row) == [{"type": "stdin_stdout", "input": "1", "output": "2"}]
    assert mbpp({"test_list": ["assert f()"]}) == [
        {"type": "assert", "code": "assert f()", "setup": ""}
    ]
    assert humaneval(HUMANEVAL)[0]["code"].endswith("check(f)\n")
    cases = [{"testtype": "stdin", "input": "1", "output": "2"}]
    lcb = {"public_test_cases": json.dumps(cases), "private_test_cases": cases, "metadata": "{}"}
    assert len(livecodebench(lcb)) == 2
    with pytest.raises(NotTests, match="compressed and pickled"):
        livecodebench({"private_test_cases": "eJxrYGAA"})
