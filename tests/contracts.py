"""Contracts made and run inside one test."""

from __future__ import annotations

from typing import Any

import pytest

from grpo_core.testing import RewardContract
from grpo_core.testing.guard import contract_tests

TESTS = contract_tests(RewardContract)


def contract(reward: Any, **attributes: Any) -> type[RewardContract]:
    usual = {
        "reward": reward,
        "inputs": {"answer": "42"},
        "good": ("42",),
        "bad": ("41", "142", "The answer is 42, or so."),
    }
    return type("AContract", (RewardContract,), {**usual, **attributes})


def failed(kind: type[RewardContract]) -> dict[str, str]:
    """The tests that fail with what they say; the skipped ones have passed or were not judged."""
    found = {}
    for name in TESTS:
        try:
            getattr(kind(), name)()
        except pytest.fail.Exception as exc:
            found[name] = str(exc)
        except pytest.skip.Exception:
            pass
    kind.teardown_class()
    return found
