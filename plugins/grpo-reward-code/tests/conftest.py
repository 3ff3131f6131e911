"""Boxes for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from grpo_reward_code.sandbox.boxes import Boxes
from grpo_reward_code.shared import Lease


@pytest.fixture(scope="session")
def boxes() -> Iterator[Boxes]:
    lease = Lease(None, "auto", ())
    yield lease.boxes()
    lease.close()
