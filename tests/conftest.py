"""Fixtures of all tests."""

from __future__ import annotations

import os

import pytest

from grpo_core.testing import site

__all__ = ["site"]

# On models this small, handing out the work costs more than doing it, and far more where the
# cores are busy. Before torch is imported, and for the commands that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests go first, so that no process is left with one at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
