"""Fixtures of all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from wheels import make_clean

from grpo_core.testing import site

__all__ = ["site"]


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a fresh environment with the core's and the plugins' wheels only."""
    return make_clean(tmp_path_factory.mktemp("clean"))
