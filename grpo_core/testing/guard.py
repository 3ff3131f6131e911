"""Keeps the tests of a contract from being replaced or dropped without a reason."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from grpo_core.errors import listed, near


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
        TypeError: A test is replaced or dropped without a reason, a reason is for no test, or a
            class that pytest would take for tests names no reward.
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
    _settle_collection(cls)


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
