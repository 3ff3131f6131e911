"""The kit for whoever writes rewards: one contract that every reward keeps, and fakes for tests.

Everything public is a name of this module; it needs pytest and nothing of the training stack.
`docs/reference/testing.md` lists the tests and what they check.
"""

from __future__ import annotations

try:
    import pytest  # noqa: F401  # asked for here, where the error can say what to do
except ImportError as exc:
    raise ImportError(
        "grpo_core.testing needs pytest, which is not installed. Install it: pip install pytest"
    ) from exc

from grpo_core.testing.cases import Case
from grpo_core.testing.clock import FakeClock
from grpo_core.testing.contract import RewardContract
from grpo_core.testing.fakes import completions, groups
from grpo_core.testing.junk import JUNK
from grpo_core.testing.plugin_site import Site, site

__all__ = [
    "JUNK",
    "Case",
    "FakeClock",
    "RewardContract",
    "Site",
    "completions",
    "groups",
    "site",
]
