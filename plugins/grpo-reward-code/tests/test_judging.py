"""Tests in the judge process: honest programs, attacks on the verdict, tests that are broken.

Add a row to a file, no code. In `want` there is a letter for each test: 1 passes, 0 fails, B the
tests cannot be used; or L alone, the program cannot be loaded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.tests_of import InProcess
from grpo_reward_code.verdicts import BrokenTests, How, run_in_process

HOW = How(Limits(cpu_s=10.0))


def rows(name: str) -> list[Any]:
    lines = Path(__file__).with_name(f"judging_{name}.jsonl").read_text().splitlines()
    return [pytest.param(row, id=row["id"]) for row in map(json.loads, lines)]


def asked_of(row: dict[str, Any]) -> list[InProcess]:
    listed = [
        {"kind": "assert", "code": test, "setup": ""} if isinstance(test, str) else test
        for test in row["tests"]
    ]
    return [InProcess(test) for test in listed]


@pytest.mark.parametrize("row", rows("honest") + rows("attack"))
def test_verdict_of_each_test(boxes, row):
    results = run_in_process(boxes, row["code"], asked_of(row), HOW)

    got = "".join(str(int(result.passed)) for result in results)
    want = "0" * len(results) if row["want"] == "L" else row["want"]
    assert got == want, [result.why for result in results]


@pytest.mark.parametrize("row", rows("broken"))
def test_broken_tests_are_no_verdict(boxes, row):
    with pytest.raises(BrokenTests):
        run_in_process(boxes, row["code"], asked_of(row), HOW)


def test_test_after_one_that_ends_the_program_gets_a_new_process(boxes):
    code = "import os\ndef f(x):\n  if x == 2: os._exit(0)\n  return x"
    tests = [f"assert f({x}) == {x}" for x in (1, 2, 3)]

    results = run_in_process(boxes, code, asked_of({"tests": tests}), HOW)

    assert [result.passed for result in results] == [True, False, True]


def test_each_test_has_the_whole_of_the_cpu_time(boxes):
    code = (
        "import time\ndef f(x):\n"
        "  end = time.process_time() + 0.6\n"
        "  while time.process_time() < end: pass\n  return x"
    )
    tests = [f"assert f({x}) == {x}" for x in (1, 2, 3)]

    how = How(Limits(cpu_s=1.0, wall_factor=100))
    results = run_in_process(boxes, code, asked_of({"tests": tests}), how)

    assert [result.passed for result in results] == [True, True, True]


def test_limit_is_named_and_the_rest_is_not_run(boxes):
    code = "def f(x):\n  while True: pass"
    tests = [f"assert f({x}) == {x}" for x in (1, 2, 3)]
    how = How(Limits(cpu_s=0.3, wall_factor=100), stop_after_limits=1)

    results = run_in_process(boxes, code, asked_of({"tests": tests}), how)

    assert [result.why for result in results] == ["limit: cpu"] * 3
