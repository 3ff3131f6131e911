"""Boxes for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from grpo_reward_code.sandbox.boxes import Boxes


@pytest.fixture(scope="session")
def boxes() -> Iterator[Boxes]:
    made = Boxes()
    yield made
    made.close()
