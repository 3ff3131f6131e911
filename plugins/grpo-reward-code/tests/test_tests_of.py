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
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(
    ("tests", "why"),
    [
        ([{"testtype": "stdin", "output": "1"}], 'test 1: expected "input" to be a text'),
        ([{"testtype": "functional", "input": "x", "output": "1"}], '"input" to be JSON'),
        ([{"testtype": "functional", "input": "1", "output": None}], '"output" to be a text'),
        ({"public_test_cases": ["a"]}, "public_test_cases, case 1: expected an object, got str"),
        ({"public_test_cases": 5}, "public_test_cases: expected a list, got int"),
        ({"public_test_cases": '{"a":1}'}, "public_test_cases: expected a list, got dict"),
        ({"public_test_cases": [], "metadata": "[" * 10**6}, "metadata: expected JSON"),
        ({"inputs": 5, "outputs": 5}, 'expected "inputs" and "outputs", two lists'),
        ({"inputs": {"a": 1}, "outputs": {"a": 1}}, 'expected "inputs" and "outputs", two lists'),
        ({"inputs": [[1]], "outputs": [1], "fn_name": 5}, 'expected "fn_name" to be a text'),
        ({"test_list": 5}, 'expected "test_list" to be a list, got int'),
        ({"test_list": ["assert f()"], "test_setup_code": 5}, "expected the code before a test"),
        ({"test": "def check(c): pass", "entry_point": 5}, 'expected "entry_point" to be a text'),
        ({"test": "def check(c): pass", "entry_point": "a b"}, 'expected "entry_point", the name'),
        ([{"type": "assert", "code": "f()", "setup": {"a": 1}}], "expected the code before a test"),
        (
            [{"type": "call", "function": "f", "args": [{1}], "output": 1}],
            "expected arguments and output that JSON can hold",
        ),
        (
            [{"type": "call", "function": "f", "kwargs": {1: 2}, "output": 1}],
            'expected "kwargs" to have names',
        ),
    ],
)  # fmt: skip
def test_malformed_shape_says_what_is_wrong(tests, why):
    with pytest.raises(NotTests) as caught:
        read_tests(tests, "g")
    assert why in str(caught.value)


def test_code_before_a_test_may_be_lines_or_a_text():
    lines = [{"type": "assert", "code": "assert f()", "setup": ["import a", "import b"]}]
    assert read_tests(lines) == [asserted("assert f()", "import a\nimport b")]
    text = {"test_list": ["assert f()"], "test_imports": "import a"}
    assert read_tests(text) == [asserted("assert f()", "import a")]


# Values at the names that are looked for, and anything anywhere else.
_NAMES = st.sampled_from(
    "type testtype input output outputs inputs code setup function fn_name args kwargs test "
    "entry_point test_list test_imports test_setup_code public_test_cases private_test_cases "
    "metadata input_output".split()
)
_KINDS = st.sampled_from("stdin_stdout assert call functional stdin f 1 [1] {}".split())
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | _KINDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(_NAMES | st.text(max_size=3), inner)
    ),
    max_leaves=12,
)


@given(_JSON, st.none() | st.just("f") | _JSON)
def test_any_json_is_tests_or_is_refused(tests, entry_point):
    for given_tests in (tests, json.dumps(tests)):
        try:
            found = read_tests(given_tests, entry_point)
        except NotTests:
            continue
        assert found
        json.dumps([test.asked for test in found if isinstance(test, InProcess)])
