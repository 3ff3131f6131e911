"""The rewards: limits, reasons, rows that cannot be scored, what the check finds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from grpo_reward_code import Compiles, Runs, TestsPass
from grpo_reward_code.sandbox.boxes import Boxes
from grpo_reward_code.sandbox.program import BoxFailed

from grpo_core import Completion, Fail, Score, Skip, load_reward

SQUARE = [{"type": "stdin_stdout", "input": f"{n}\n", "output": f"{n * n}\n"} for n in (2, 3, 4)]


@pytest.fixture
def make() -> Iterator[object]:
    made = []

    def make(**options):
        made.append(TestsPass(extract="whole", **options))
        return lambda code, tests, **inputs: made[-1](
            [Completion(code)], [tests], **{name: [value] for name, value in inputs.items()}
        )[0]

    yield make
    for reward in made:
        reward.close()


def test_share_of_the_tests_and_the_first_that_fails(make):
    scored = make()("n = int(input())\nprint(n * n if n < 4 else n)", SQUARE)

    assert scored.value == 2 / 3
    assert scored.reason == "test 3 of 3: input '4\\n': line 1: expected '16', got '4'"


def test_all_or_nothing(make):
    score = make(mode="all")
    assert score("n = int(input())\nprint(n * n if n < 4 else n)", SQUARE).value == 0.0
    assert score("print(int(input()) ** 2)", SQUARE).value == 1.0


def test_limit_is_a_failing_test(make):
    limits = {"cpu_s": 0.3, "wall_factor": 100}
    scored = make(limits=limits)("while True: pass", SQUARE[:1])

    assert scored.value == 0.0
    assert scored.reason == "limit: cpu at test 1 of 1"
    assert scored.metrics["limit_hits"] == 1.0


def test_wall_time_ends_the_row(make):
    scored = make(limits={"cpu_s": 0.2, "wall_factor": 2})("import time; time.sleep(9)", SQUARE)

    assert scored.value == 0.0
    assert scored.reason == "limit: wall at test 1 of 3"
    assert scored.metrics["limit_hits"] == 1.0


def test_exit_status_and_the_last_line_of_the_error(make):
    scored = make()("print(4)\n1 / 0", SQUARE[:1])

    assert scored.value == 0.0
    assert scored.reason.endswith("exit status 1: ZeroDivisionError: division by zero")


def test_mixed_tests_keep_their_order(make):
    tests = [SQUARE[0], "assert f(3) == 9", SQUARE[1], "assert f(3) == 8"]
    code = "def f(n): return n * n\nif __name__ == '__main__': print(f(int(input())))"

    scored = make()(code, tests)

    assert scored.value == 3 / 4
    assert scored.reason == "test 4 of 4: assert f(3) == 8: AssertionError"


def test_checker_decides(make):
    checker = (
        "def check(input, output, expected):\n"
        "    return sorted(output.split()) == sorted(expected.split())\n"
    )
    tests = [{"type": "stdin_stdout", "input": "", "output": "1 2 3"}]

    assert make()("print(3, 1, 2)", tests, checker=checker).value == 1.0
    assert make()("print(3, 1)", tests, checker=checker).value == 0.0
    assert make()("print(3, 1)", tests, checker="def check(*a): 1 / 0").value == 0.0


@pytest.mark.parametrize(
    ("checker", "why"),
    [
        ("def check(", "tests: checker does not compile"),
        ("x = 1", "tests: checker: expected code that defines check(input, output, expected)"),
        ("def check(a, b): return True", "tests: checker: expected code that defines"),
        ("def check(a, b, c, d): return True", "tests: checker: expected code that defines"),
        ("def check(a, b, c, *, d): return True", "tests: checker: expected code that defines"),
        ("async def check(a, b, c): return True", "tests: checker: expected code that defines"),
        (5, "tests: checker: expected code that defines"),
        ("import nosuch\ndef check(*a): return True", "tests: checker: ModuleNotFoundError"),
        ("1 / 0\ndef check(*a): return True", "tests: checker: ZeroDivisionError"),
        ("raise SystemExit\ndef check(*a): return True", "tests: checker: SystemExit"),
        ("if 0:\n    def check(*a): return True", "tests: checker: KeyError"),
        ("check = 5", "tests: checker: TypeError"),
        ("def check(*a): return nosuch", "tests: checker: NameError"),
    ],
)
def test_checker_that_cannot_work_is_no_verdict(make, checker, why):
    tests = [{"type": "stdin_stdout", "input": "", "output": "1"}]

    scored = make()("print(1)", tests, checker=checker)

    assert isinstance(scored, Fail)
    assert scored.reason.startswith(why)


def test_checker_that_only_the_output_makes_fail_says_no(make):
    tests = [{"type": "stdin_stdout", "input": "", "output": "1"}]
    checker = "def check(i, o, e): return [][9] if '9' in o else int(o) == 1"

    assert make()("print(9)", tests, checker=checker).reason.endswith(
        "checker: IndexError: list index out of range"
    )
    assert make()("print('x')", tests, checker=checker).value == 0.0
    assert make()("print(1)", tests, checker=checker).value == 1.0


@pytest.mark.parametrize(
    "checker",
    [
        "check = lambda i, o, e: o == e",
        "def check(i, o, e=''): return True",
        "def check(*a, k=1): return True",
    ],
)
def test_forms_of_a_checker(make, checker):
    tests = [{"type": "stdin_stdout", "input": "", "output": "1\n"}]
    assert make()("print(1)", tests, checker=checker).value == 1.0


def test_checker_without_anything_to_decide_is_no_verdict(make):
    scored = make()("def f(): return 1", ["assert f() == 1"], checker="def check(*a): return True")

    assert isinstance(scored, Fail)
    assert scored.reason.startswith("tests: checker: it decides about what a program prints")


def test_what_a_checker_prints_is_no_verdict(make):
    tests = [{"type": "stdin_stdout", "input": "", "output": "1"}]
    checker = "def check(i, o, e):\n    print('right')\n    return False"
    assert make()("print(1)", tests, checker=checker).value == 0.0


def test_checker_that_evaluates_the_output_does_not_show_its_number(make):
    tests = [{"type": "stdin_stdout", "input": "", "output": "1"}]
    checker = "def check(i, o, e): return eval(o) == int(e)"
    got = r"print(chr(10) + __import__('__main__').asked['nonce'] + 'right') or exit()"
    assert make()(f"print({got!r})", tests, checker=checker).value == 0.0


@pytest.mark.parametrize(
    "bad",
    [
        {"tests": 5},
        {"tests": {"public_test_cases": 5}},
        {"tests": [{"testtype": "stdin"}]},
        {"tests": [[]]},
        {"tests": None},
        {"entry_point": 5},
        {"checker": 5},
        {"checker": ["x"]},
        {"text": None},
    ],
)
def test_one_bad_row_takes_no_other_with_it(bad):
    reward = TestsPass(extract="whole")
    texts = ["print(4)", bad.get("text", "print(4)"), "print(4)"]
    try:
        first, second, third = reward(
            [Completion(text) for text in texts],
            [SQUARE[:1], bad.get("tests", SQUARE[:1]), SQUARE[:1]],
            entry_point=[None, bad.get("entry_point"), None],
            checker=[None, bad.get("checker"), None],
        )
    finally:
        reward.close()
    assert first.value == third.value == 1.0
    assert isinstance(second, Fail)


def test_one_bad_row_of_the_cheap_rewards_takes_no_other_with_it():
    for reward, more in ((Runs(), {"stdin": [None, 5]}), (Compiles(), {})):
        texts = ["x = 1", "x = 1" if more else None]
        try:
            first, second = reward([Completion(text) for text in texts], **more)
        finally:
            reward.close()
        assert first.value == 1.0
        assert isinstance(second, Fail)


def test_float_tolerance(make):
    tests = [
        {"type": "stdin_stdout", "input": "", "output": "0.3333"},
        {"type": "call", "function": "f", "args": [], "output": 0.3333},
    ]
    code = "def f(): return 1 / 3\nprint(f())"

    assert make(float_tolerance=1e-3)(code, tests).value == 1.0
    assert make()(code, tests).value == 0.0


def test_output_that_cannot_be_compared_is_a_wrong_answer(make, monkeypatch):
    tests = [{"type": "stdin_stdout", "input": "", "output": "1.5"}]
    assert make()("print('1e1000000000000000000')", tests).value == 0.0

    def fail(*_):
        raise OverflowError

    monkeypatch.setattr("grpo_reward_code.verdicts.difference", fail)
    scored = make()("print(1.5)", tests)
    assert scored.value == 0.0
    assert scored.reason == "test 1 of 1: input '': the output cannot be compared: OverflowError"


def test_enormous_completion_is_not_looked_through(make):
    scored = make(max_bytes=10)("\n" * 1_000_011, SQUARE)
    assert scored.value == 0.0
    assert scored.reason == "limit: the completion has more than 1000010 characters"
    assert scored.metrics["limit_hits"] == 1.0


def test_code_before_the_program(make):
    tests = ["assert f([1]) == 1"]
    code = "def f(x: List[int]) -> int: return x[0]"

    assert make(before="from typing import List")(code, tests).value == 1.0
    assert make()(code, tests).value == 0.0


def test_other_language_is_skipped_by_option():
    with_skip = TestsPass(other_language="skip")
    text = "```rust\nfn main() {}\n```"
    try:
        (scored,) = with_skip([Completion(text)], [SQUARE])
    finally:
        with_skip.close()
    assert scored == Skip("the code is in another language: rust")


@pytest.mark.parametrize(
    ("tests", "why"),
    [
        ([], "tests: expected at least one test, got none"),
        (["assert f(1"], "tests: test 1 does not compile"),
        (["assert 1 == 1"], "tests: the test never uses the program"),
        (["import no_such_module\nassert f(1)"], "tests: the test imports what is not there"),
    ],
)
def test_tests_that_cannot_be_used_are_no_verdict(make, tests, why):
    scored = make()("def f(x): return 1", tests)

    assert isinstance(scored, Fail)
    assert scored.reason.startswith(why)


def test_failure_of_the_sandbox_is_no_verdict(make, monkeypatch):
    def fail(*_):
        raise BoxFailed("no worker")

    monkeypatch.setattr(Boxes, "run", fail)

    assert make()("print(4)", SQUARE[:1]) == Fail("the sandbox failed: no worker")


def test_rows_that_are_not_begun_at_the_deadline_have_no_value():
    reward = TestsPass(extract="whole", deadline_s=3.0, slots=1)
    codes = ["import time; time.sleep(3.2); print(4)", "print(4)"]
    try:
        first, second = reward([Completion(c) for c in codes], [SQUARE[:1]] * 2)
    finally:
        reward.close()
    assert isinstance(first, Score)
    assert second == Fail("the batch took longer than deadline_s = 3")


def test_closed_reward_opens_again():
    reward = TestsPass(extract="whole")
    for _ in range(2):
        assert reward([Completion("print(4)")], [SQUARE[:1]])[0].value == 1.0
        reward.close()


@pytest.mark.parametrize(
    "code", ["print(1)\0", "print('\ud800')", "\ufeffprint(4)", "#" * 2_000_000]
)
def test_odd_sources_score_and_raise_nothing(make, code):
    assert make()(code, SQUARE[:1]).value == float(code.startswith("\ufeff"))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"language": "rust"}, "rust"),
        ({"limits": {"cpus": 1}}, "limits: expected cpu_s"),
        ({"limits": {"cpu_s": -1}}, "limits.cpu_s: expected a number above 0"),
        ({"float_tolerance": -1}, "float_tolerance"),
        ({"mode": "half"}, "half"),
        ({"preload": "numpy"}, "preload"),
        ({"layer": "docker"}, "docker"),
    ],
)
def test_options_that_cannot_be(options, why):
    with pytest.raises(Exception, match=why):
        load_reward("code/tests_pass", options=options)


def test_manifest_names_the_layer():
    reward = TestsPass()
    try:
        assert reward.info()["sandbox_layer"] in ("ns", "lock")
    finally:
        reward.close()


def checked(folder: Path, rows: list[dict], inputs: str) -> str:
    """What `grpo check` says of the rows."""
    lines = [json.dumps({"prompt": f"p{k}", **row}) for k, row in enumerate(rows)]
    (folder / "rows.jsonl").write_text("\n".join(lines) + "\n")
    config = folder / "run.toml"
    config.write_text(
        '[model]\nname = "model"\n[data]\npath = "rows.jsonl"\n'
        f'[rewards.code]\nuse = "code/tests_pass"\ninputs = {{ {inputs} }}\n'
    )
    grpo = Path(sys.executable).with_name("grpo")
    ran = subprocess.run([grpo, "check", config], capture_output=True, text=True, check=False)
    return " ".join((ran.stdout + ran.stderr).split())


def test_check_finds_rows_without_usable_tests(tmp_path):
    rows = [{"tests": ["assert f(1) == 1"]}, {"tests": []}, {"tests": ["assert f(1"]}]

    said = checked(tmp_path, rows, "")

    assert "tests: expected at least one test, got none in" in said
    assert "rows.jsonl, line 3; it refuses 2 of the first 3 rows: " in said


def test_check_runs_golds(tmp_path):
    rows = [
        {"tests": ["assert f(1) == 1"], "gold": "def f(x): return x"},
        {"tests": ["assert f(1) == 2"], "gold": "def f(x): return x"},
    ]

    said = checked(tmp_path, rows, 'gold_program = "gold"')

    assert "gold_program fails test 1 of 1: assert f(1) == 2: AssertionError in" in said
    assert "line 2" in said


def test_missing_input_is_told_without_a_type_that_says_nothing():
    with pytest.raises(ValueError, match=r"'code/tests_pass' needs this input; it is missing"):
        load_reward("code/tests_pass")("print(1)")
