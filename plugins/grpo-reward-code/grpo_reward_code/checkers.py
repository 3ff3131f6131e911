"""The column `checker`: code that decides where several outputs are right."""

from __future__ import annotations

import ast
import functools
import json
import secrets
from collections.abc import Sequence

from grpo_reward_code.sandbox.boxes import Boxes
from grpo_reward_code.sandbox.limits import Limits
from grpo_reward_code.sandbox.program import Program, Ran
from grpo_reward_code.tests_of import InProcess, NotTests, Stdin

# What a checker prints itself must not count: the verdict stands behind a number that it is not
# handed.
_CHECK = """\
import json

def main():
    with open(0, "rb", closefd=False) as asked:
        asked = json.load(asked)
    nonce, space = asked.pop("nonce"), {"__name__": "checker"}
    def say(what):
        print("\\n" + nonce + what, flush=True)
    try:
        exec(compile(asked["checker"], "checker.py", "exec"), space)
        check = space["check"]
    except BaseException as exc:
        return say(f"load {type(exc).__name__}: {exc}")
    try:
        said = bool(check(asked["input"], asked["output"], asked["expected"]))
    except Exception as exc:
        return say(f"raised {type(exc).__name__}: {exc}")
    say("right" if said else "wrong")

main()
"""
# A mistake in a checker, if it is made with the expected output as well.
_MISTAKES = ("AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "TypeError")
_EXPECTED = "checker: expected code that defines check(input, output, expected)"


def check_checker(checker: object, tests: Sequence[Stdin | InProcess]) -> None:
    """That a checker can decide about the tests of its row.

    Raises:
        NotTests: It does not compile, has no such function, or nothing to decide.
    """
    if checker is None or checker == "":
        return
    if not isinstance(checker, str):
        raise NotTests(f"{_EXPECTED}, got {type(checker).__name__}")
    problem = _problem(checker)
    if problem:
        raise NotTests(problem)
    if not any(isinstance(test, Stdin) for test in tests):
        raise NotTests(
            "checker: it decides about what a program prints, and no test of this row has "
            "standard input; take it away, or check in the test"
        )


def parsed(where: str, code: str) -> ast.Module:
    """The syntax tree of code.

    Raises:
        NotTests: It does not compile.
    """
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        raise NotTests(f"{where} does not compile: {exc}") from None


@functools.lru_cache(maxsize=256)
def _problem(checker: str) -> str:
    """Why a checker cannot work, as far as its text says; most data sets have one for all rows."""
    try:
        body = parsed("checker", checker).body
    except NotTests as exc:
        return str(exc)
    for node in reversed(body):
        if isinstance(node, ast.AsyncFunctionDef) and node.name == "check":
            return f"{_EXPECTED}, got an async function"
        if isinstance(node, ast.FunctionDef) and node.name == "check" and not node.decorator_list:
            return "" if _takes_three(node.args) else f"{_EXPECTED}, got other arguments"
    names: set[str | None] = set()
    for part in (node for statement in body for node in ast.walk(statement)):
        if isinstance(part, ast.Name):
            names.add(part.id)
        elif isinstance(part, ast.FunctionDef | ast.ClassDef):
            names.add(part.name)
        elif isinstance(part, ast.alias):
            names.add(part.asname or part.name)
    return "" if names & {"check", "*"} else f"{_EXPECTED}, got code without it"


def _takes_three(args: ast.arguments) -> bool:
    places = len(args.posonlyargs) + len(args.args)
    needed = places - len(args.defaults)
    is_optional = all(default is not None for default in args.kw_defaults)
    return needed <= 3 and (places >= 3 or args.vararg is not None) and is_optional


class BrokenChecker(Exception):
    """A checker cannot work, whatever the program prints."""


def checked(
    boxes: Boxes, checker: str, test: Stdin, output: str, limits: Limits
) -> tuple[bool, str, Ran]:
    """Whether a checker says yes, else why not, and how its process ended.

    One that fails says no: the output may be why.

    Raises:
        BrokenChecker: It fails before it has seen an output, or by the same mistake with the
            expected one.
    """
    said, ran = _asked(boxes, checker, test, output, limits)
    kind, _, what = said.partition(" ")
    if kind == "load":
        raise BrokenChecker(f"checker: {what[:200]}")
    if kind == "raised":
        mistake = what.partition(":")[0]
        if mistake in _MISTAKES:
            again, _ = _asked(boxes, checker, test, test.outputs[0], limits)
            if again.startswith(f"raised {mistake}:"):
                raise BrokenChecker(f"checker: {what[:200]}")
        return False, f"checker: {what[:200]}", ran
    return said == "right" and ran.is_clean, "the checker says no", ran


def _asked(boxes: Boxes, checker: str, test: Stdin, output: str, limits: Limits) -> tuple[str, Ran]:
    nonce = secrets.token_hex(8)
    asked = {
        "checker": checker,
        "input": test.input,
        "output": output,
        "expected": test.outputs[0],
        "nonce": nonce,
    }
    ran = boxes.run(Program(_CHECK, json.dumps(asked).encode(), "check.py"), limits)
    _, found, said = ran.stdout.decode("utf-8", "replace").rpartition(f"\n{nonce}")
    return (said.rstrip("\n") if found else ""), ran
