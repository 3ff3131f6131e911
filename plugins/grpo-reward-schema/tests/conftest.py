"""The tests of both backends: with jsonschema-rs, and as if it were not installed."""

from __future__ import annotations

import pytest
from grpo_reward_schema import rust

ENGINE = rust.engine


@pytest.fixture(params=["rust", "python"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "rust" and ENGINE is None:
        pytest.skip("jsonschema-rs is not installed")
    if request.param == "python":
        monkeypatch.setattr(rust, "engine", None)
    return str(request.param)


@pytest.fixture
def python_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rust, "engine", None)
