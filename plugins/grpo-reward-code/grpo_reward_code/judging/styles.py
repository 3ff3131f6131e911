"""Tests that have to be called: functions and classes in the style of pytest, and unittest's."""

from __future__ import annotations

import asyncio
import inspect
import sys
import types
from collections.abc import Collection, Mapping
from typing import Any

from grpo_reward_code.judging.names import MODULE, Broken
from grpo_reward_code.judging.objects import is_remote
from grpo_reward_code.judging.pytest_names import cases_of


def run_functions(space: Mapping[str, Any], loaded: Collection[str]) -> None:
    """Calls the test functions, and the methods of the test classes, as pytest does.

    Args:
        space: The globals of the test, which has been executed.
        loaded: Names that the test itself uses.

    Raises:
        Broken: One needs what is not there, and the test does not call it.
    """
    for name, value in list(space.items()):
        if name.startswith("test") and type(value) is types.FunctionType:
            _run(value, name, is_called=name in loaded)
        elif name.startswith("Test") and isinstance(value, type) and not is_remote(value):
            if value.__module__ == MODULE and not is_test_case(value):
                if value.__init__ is object.__init__:  # type: ignore[misc]
                    _run_class(value)
                elif name not in loaded:
                    raise Broken(f"class {name} has a constructor, so no test runner runs it")


def _run_class(kind: type) -> None:
    for name in [name for name in dir(kind) if name.startswith("test")]:
        if type(inspect.getattr_static(kind, name)) is not types.FunctionType:
            continue
        made = kind()
        for before in ("setup_class", "setup_method", "setup"):
            _call(getattr(made, before, None))
        _run(getattr(made, name), f"{kind.__name__}.{name}", is_called=False)
        for after in ("teardown_method", "teardown", "teardown_class"):
            _call(getattr(made, after, None))


def _call(function: Any) -> None:
    if function is not None:
        function(*([None] if len(inspect.signature(function).parameters) else []))


def _run(function: Any, name: str, *, is_called: bool) -> None:
    cases = cases_of(function)
    if cases is None and not is_called:
        raise Broken(f"{name} needs an argument that is not there, such as a fixture")
    if inspect.isgeneratorfunction(function):
        raise Broken(f"{name} is a generator, which no test runner runs")
    for args in cases or []:
        if inspect.iscoroutinefunction(function):
            asyncio.run(function(**args))
        else:
            function(**args)


def is_test_case(value: Any) -> bool:
    """True of a class of unittest that the test defines."""
    unittest = sys.modules.get("unittest")
    if unittest is None or not isinstance(value, type) or is_remote(value):
        return False
    return issubclass(value, unittest.TestCase) and value.__module__ == MODULE


def is_never_awaited(kind: Any, name: str) -> bool:
    """True of a method that unittest calls, and does not run."""
    method = getattr(kind, name)
    if inspect.isgeneratorfunction(method):
        return True
    is_async = issubclass(kind, sys.modules["unittest"].IsolatedAsyncioTestCase)
    return inspect.iscoroutinefunction(method) and not is_async
