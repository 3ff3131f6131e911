"""What the free names of a test mean: built-ins, the standard library, or the submission."""

from __future__ import annotations

import ast
import builtins
import importlib
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

from grpo_reward_code.judging.objects import Remote, RemoteClass
from grpo_reward_code.judging.peer import Peer

# Names that tests use without importing them, where the gold solution did.
_USUAL = {
    **dict.fromkeys(
        ("Counter", "defaultdict", "deque", "OrderedDict", "namedtuple"), "collections"
    ),
    **dict.fromkeys(("Any", "Dict", "List", "Optional", "Set", "Tuple", "Union"), "typing"),
    **dict.fromkeys(("inf", "nan", "isclose", "sqrt", "pi"), "math"),
    **dict.fromkeys(("Fraction",), "fractions"),
    **dict.fromkeys(("Decimal",), "decimal"),
    **dict.fromkeys(("reduce", "partial", "lru_cache"), "functools"),
    **dict.fromkeys(("datetime", "date", "timedelta"), "datetime"),
}
# Packages under the names that they have where nobody imports them.
_ALIASES = {"np": "numpy", "numpy": "numpy", "pd": "pandas", "scipy": "scipy", "sympy": "sympy"}
# Modules that tests import the submission from.
_PROGRAM = ("solution", "submission", "program", "main")


# What `__name__` is in a test, so that its main block runs.
MODULE = "__main__"


class Broken(BaseException):
    """A test cannot be used, whatever the submission is."""


_IS = "_grpo_is"


class _Identity(ast.NodeTransformer):
    """Makes `a is b` a call, as an object that a method returned may have a second stand-in."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Compare(ops=[ast.Is() | ast.IsNot() as op], comparators=[other]):
                if isinstance(other, ast.Constant):
                    return node
                same = ast.Call(ast.Name(_IS, ast.Load()), [node.left, other], [])
                made = same if isinstance(op, ast.Is) else ast.UnaryOp(ast.Not(), same)
                return ast.copy_location(made, node)
        return node


def _is_same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    numbers = [vars(each).get("_grpo_number") for each in (a, b) if isinstance(each, Remote)]
    return len(numbers) == 2 and numbers[0] == numbers[1] and type(a) is type(b)


class Names:
    """Decides what a name that a test does not define means.

    A name of a built-in or of the standard library is that, and a submission that defines it too
    changes nothing. But where the tests have no other name, the submission is meant, as for
    `assert sum(10, 15) == 25` with a `sum` of two arguments.

    Args:
        tests: Those of a row, in the form of `run_test`.
        entry: Name of what is tested, if the row says it.

    Raises:
        Broken: A test does not compile.
    """

    def __init__(self, tests: Sequence[Mapping[str, Any]], entry: str | None) -> None:
        free: set[str] = set()
        self._owners: set[str] = set()  # names that a test takes attributes of
        self._compiled: dict[tuple[str, str], types.CodeType] = {}
        for number, test in enumerate(tests):
            if test["kind"] == "assert":
                if not isinstance(test["setup"], str) or not isinstance(test["code"], str):
                    raise Broken(f"test {number + 1}: code and setup must be texts")
                free |= self._free(test["setup"] + "\n" + test["code"], number)
        others = {name for name in free if not self._is_known(name)}
        self._tested = {entry} if entry else others or free

    def _free(self, code: str, number: int) -> set[str]:
        try:
            nodes = list(ast.walk(ast.parse(code)))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
            raise Broken(f"test {number + 1} does not compile: {exc}") from None
        loaded, bound = set(), set()
        for node in nodes:
            match node:
                case ast.Attribute(value=ast.Name(id=name)):
                    self._owners.add(name)
                case ast.Name(id=name, ctx=ast.Load()):
                    loaded.add(name)
                case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                    bound.add(name)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    bound.add(name)
                case ast.alias(name=name, asname=alias):
                    bound.add(alias or name.partition(".")[0])
        return loaded - bound

    def compiled(self, code: str, file: str) -> types.CodeType:
        """A test, ready to be executed, whose `is` sees through second stand-ins.

        Raises:
            Broken: It does not compile.
        """
        if (code, file) not in self._compiled:
            try:
                tree = ast.fix_missing_locations(_Identity().visit(ast.parse(code)))
                self._compiled[code, file] = compile(tree, file, "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
                raise Broken(f"the test does not compile: {exc}") from None
        return self._compiled[code, file]

    def loaded(self, code: str) -> set[str]:
        """Names that a test reads."""
        nodes = ast.walk(ast.parse(code))
        return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}

    def _is_known(self, name: str) -> bool:
        return hasattr(builtins, name) or name in _USUAL or self._is_module(name)

    def _is_module(self, name: str) -> bool:
        return name in self._owners and (name in sys.stdlib_module_names or name in _ALIASES)

    def meaning(self, name: str, program: Peer) -> Any:
        """What a test gets for the name.

        Raises:
            KeyError: Neither the standard library nor the submission has it; or it is a built-in,
                which Python itself finds.
        """
        if name not in self._tested:
            if hasattr(builtins, name) or (name.startswith("__") and name.endswith("__")):
                raise KeyError(name)
            if self._is_module(name):
                return importlib.import_module(_ALIASES.get(name, name))
            if name in _USUAL:
                return getattr(importlib.import_module(_USUAL[name]), name)
        try:
            return of_program(name, program)
        except NameError:
            raise KeyError(name) from None


def of_program(name: str, program: Peer) -> Any:
    """A global of the submission; NameError if it has none.

    A class under a name with a capital letter is what the test is about, so its operators count.
    """
    value = program.named(name)
    if isinstance(value, RemoteClass) and name[:1].isupper():
        value._grpo_trusted = True
    return value


class Globals(dict[str, Any]):
    """The globals of a test, which ask for what is missing."""

    def __init__(self, names: Names, program: Peer) -> None:
        super().__init__(__name__=MODULE, __builtins__=builtins)
        self[_IS] = _is_same
        self._names = names
        self._program = program

    def __missing__(self, name: str) -> Any:
        value = self._names.meaning(name, self._program)
        if self._program.is_function(value):
            self[name] = value  # asked for once a test, as a loop may call it 100,000 times
        return value


def offer_unittest() -> None:
    """Makes the test classes of unittest fit in; their main block runs nothing of its own."""
    import unittest

    def assert_is(case: Any, first: Any, second: Any, msg: Any = None) -> None:
        if not _is_same(first, second):
            case.fail(msg or f"{first!r} is not {second!r}")

    def assert_is_not(case: Any, first: Any, second: Any, msg: Any = None) -> None:
        if _is_same(first, second):
            case.fail(msg or f"unexpectedly identical: {first!r}")

    changed: Any = unittest.TestCase
    changed.assertIs, changed.assertIsNot = assert_is, assert_is_not
    unittest.main = lambda *_, **__: None  # type: ignore[assignment]


def offer_program(program: Peer) -> None:
    """Makes `from solution import f` work in tests."""

    def attribute(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return of_program(name, program)
        except NameError as exc:
            raise AttributeError(str(exc)) from None

    for name in _PROGRAM:
        module = types.ModuleType(name)
        module.__getattr__ = attribute  # type: ignore[method-assign]
        sys.modules[name] = module
