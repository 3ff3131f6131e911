"""Keeps the tests of a contract from being replaced or dropped without a reason."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from grpo_core.errors import listed, near
from grpo_core.testing.attributes import Attributes


def contract_tests(contract: type[Any]) -> dict[str, Callable[..., None]]:
    """The tests of a contract by name, in the order in which pytest runs them."""
    return {
        name: value
        for part in reversed(contract.__bases__)
        for name, value in vars(part).items()
        if name.startswith("test_")
    }


def guard(cls: type[Any], tests: Mapping[str, Callable[..., None]]) -> None:
    """Checks what a subclass does to the tests it inherits; those it waives have to fail.

    Args:
        cls: The subclass, just made.
        tests: The tests of the contract by name.

    Raises:
        TypeError: A test is replaced or dropped without a reason, a reason is for no test, an
            attribute is misspelt or of another kind, every test is skipped, or a class that pytest
            would take for tests names no reward.
    """
    waived = _waived(cls, tests)
    for name, test in tests.items():
        found = inspect.getattr_static(cls, name)
        if name in waived:
            if found is test:
                setattr(cls, name, _expected_to_fail(test, waived[name]))
        elif found is not test:
            raise TypeError(
                f"{cls.__name__} replaces the contract's {name}; say why: "
                f'waived = {{"{name}": "the reason"}}, or leave the test as it is'
            )
    _refuse_slips(cls)
    _check_values(cls)
    _refuse_marks(cls)
    _settle_collection(cls)


def _refuse_slips(cls: type[Any]) -> None:
    """Refuses `attack` for `attacks`, which would test nothing and say nothing."""
    known = [name for name in vars(Attributes) if not name.startswith("_")]
    for name in vars(cls):
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        if name not in known and close:
            raise TypeError(
                f"{cls.__name__}.{name} is no attribute of a contract. Did you mean {close[0]!r}?"
            )


def _check_values(cls: type[Any]) -> None:
    """Refuses values that the tests could only stumble over."""
    for name in ("max_seconds", "max_import_seconds"):
        value = getattr(cls, name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not value >= 0:
            raise TypeError(f"{cls.__name__}.{name}: expected a number of seconds, got {value!r}")
    for name in ("options", "none_inputs"):
        value = getattr(cls, name)
        if not isinstance(value, Mapping):
            raise TypeError(f"{cls.__name__}.{name}: expected a dict by name, got {value!r}")
    if cls.cases is not None and not isinstance(cls.cases, str | Path):
        raise TypeError(f"{cls.__name__}.cases: expected the path of a file, got {cls.cases!r}")
    if isinstance(cls.heavy, str) or not isinstance(cls.heavy, Collection):
        raise TypeError(f"{cls.__name__}.heavy: expected names of packages, got {cls.heavy!r}")


def _refuse_marks(cls: type[Any]) -> None:
    marks = getattr(cls, "pytestmark", ())
    for mark in marks if isinstance(marks, list | tuple) else [marks]:
        if getattr(mark, "name", "") in ("skip", "xfail"):
            raise TypeError(
                f"{cls.__name__} marks all of its tests as {mark.name}, which drops every one; "
                f"waive those that do not fit, with the reason"
            )


def _waived(cls: type[Any], tests: Mapping[str, object]) -> dict[str, str]:
    """The reasons of the class and of those above it, by test."""
    merged: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        own = vars(base).get("waived", {})
        if not isinstance(own, Mapping):
            raise TypeError(
                f"{base.__name__}.waived: expected a dict of reasons by test, got {own!r}"
            )
        for name, reason in own.items():
            if name not in tests:
                raise TypeError(
                    f"{base.__name__}.waived names no test of the contract: {name!r}."
                    f"{near(str(name), tests)} Tests are {listed(tests, 40)}."
                )
            if not isinstance(reason, str) or not reason.strip():
                raise TypeError(
                    f"{base.__name__}.waived[{name!r}]: expected a reason, got {reason!r}"
                )
        merged |= own
    return merged


def _expected_to_fail(test: Callable[..., None], reason: str) -> Callable[..., None]:
    """The test, as one that fails for a reason; that it passes is a failure of the reason."""

    @functools.wraps(test)
    def waived(self: object) -> None:
        test(self)

    marked: Callable[..., None] = pytest.mark.xfail(reason=f"waived: {reason}", strict=True)(waived)
    return marked


def _settle_collection(cls: type[Any]) -> None:
    """Has pytest collect each class that names a reward, and no other."""
    named = inspect.getattr_static(cls, "reward", None) is not None
    if not named and cls.__name__.startswith("Test"):
        raise TypeError(
            f"{cls.__name__} names no reward: set reward to its name, or to the function or class; "
            f"a base for several contracts must not be called Test…"
        )
    if named and not vars(cls).get("__test__", True):
        raise TypeError(
            f"{cls.__name__} sets __test__ = False, which drops every test; waive those that do "
            f"not fit, with the reason"
        )
    cls.__test__ = named
