"""The few names of pytest that tests of programs use; pytest itself is not in the box."""

from __future__ import annotations

import inspect
import math
import re
import sys
import types
from typing import Any

from grpo_reward_code.judging.names import Broken


class raises:  # pytest's name
    """`pytest.raises`, as a context or with a function."""

    def __new__(cls, expected: Any, function: Any = None, *args: Any, **kwargs: Any) -> Any:
        """A context, or None once the function raised."""
        made = super().__new__(cls)
        made.expected, made.match, made.value = expected, kwargs.pop("match", None), None
        if function is None:
            return made
        with made:
            function(*args, **kwargs)
        return None

    expected: Any
    match: str | None
    value: BaseException | None

    def __enter__(self) -> raises:
        return self

    def __exit__(self, kind: Any, value: Any, tb: Any) -> bool:
        if value is None:
            raise AssertionError(f"DID NOT RAISE {self.expected}")
        if not isinstance(value, self.expected):
            return False
        if self.match is not None and not re.search(self.match, str(value)):
            raise AssertionError(f"{self.match!r} does not match {str(value)!r}")
        self.value = value
        return True


class approx:  # pytest's name
    """`pytest.approx` of numbers, lists, tuples and dicts."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, expected: Any, rel: float | None = None, abs: float | None = None) -> None:
        self._expected = expected
        self._rel = 1e-6 if rel is None and abs is None else rel or 0.0
        self._abs = 1e-12 if abs is None else abs

    def __eq__(self, got: object) -> bool:
        want = self._expected
        if isinstance(want, dict):
            return isinstance(got, dict) and got.keys() == want.keys() and self._all(got, want)
        if isinstance(want, list | tuple):
            if type(got) is not type(want) or len(got) != len(want):
                return False
            return self._all(dict(enumerate(got)), dict(enumerate(want)))
        if isinstance(got, int | float) and isinstance(want, int | float):
            return math.isclose(got, want, rel_tol=self._rel, abs_tol=self._abs)
        return bool(got == want)

    def _all(self, got: Any, want: Any) -> bool:
        return all(approx(want[k], self._rel, self._abs) == got[k] for k in want)

    def __repr__(self) -> str:
        return f"approx({self._expected!r})"


class _Mark:
    def parametrize(self, names: Any, values: Any, **_: Any) -> Any:
        names = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)

        def mark(function: Any) -> Any:
            rows = [v if len(names) > 1 else (v,) for v in values]
            cases = [dict(zip(names, row, strict=True)) for row in rows]
            old = getattr(function, "cases", [{}])
            function.cases = [{**a, **b} for a in old for b in cases]
            return function

        return mark

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **_: args[0] if args and callable(args[0]) else lambda f: f


def cases_of(function: Any) -> list[dict[str, Any]] | None:
    """The arguments with which a test function is to be called; None if it needs a fixture."""
    cases: list[dict[str, Any]] = getattr(function, "cases", [{}])
    needed = {
        name
        for name, each in inspect.signature(function).parameters.items()
        if each.default is each.empty
        and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    }
    return cases if all(needed <= set(case) for case in cases) else None


def _fail(reason: str = "") -> None:
    raise AssertionError(reason)


def _main(*_: Any, **__: Any) -> int:
    """Nothing: the tests are run anyway, and by name."""
    return 0


def offer_pytest() -> None:
    """Makes `import pytest` work in tests."""
    module = types.ModuleType("pytest")
    module.__dict__.update(raises=raises, approx=approx, mark=_Mark(), fail=_fail, main=_main)

    def missing(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Broken(f"pytest.{name} is not there: tests get raises, approx, fail and mark")

    module.__getattr__ = missing  # type: ignore[method-assign]
    sys.modules["pytest"] = module
