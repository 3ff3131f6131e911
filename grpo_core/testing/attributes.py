"""What a subclass of `RewardContract` says: the reward, its examples, its bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from grpo_core.testing.facts import Facts, Level
from grpo_core.testing.light_import import HEAVY


class Attributes:
    """The attributes of a contract, documented by `RewardContract`."""

    reward: ClassVar[Any] = None
    options: ClassVar[Mapping[str, Any]] = {}
    inputs: ClassVar[Mapping[str, Any]] = {}
    good: ClassVar[Sequence[object]] = ()
    bad: ClassVar[Sequence[object]] = ()
    attacks: ClassVar[Sequence[object]] = ()
    cases: ClassVar[str | Path | None] = None
    none_inputs: ClassVar[Mapping[str, str]] = {}
    max_seconds: ClassVar[float] = 0.1
    max_import_seconds: ClassVar[float] = 3.0
    heavy: ClassVar[Sequence[str]] = HEAVY
    waived: ClassVar[Mapping[str, str]] = {}

    def _facts(self, level: Level) -> Facts:
        """What is known of the reward; skips the test unless the level holds."""
        facts = facts_of(type(self))
        facts.require(level)
        return facts


_facts: dict[type[Attributes], Facts] = {}


def facts_of(contract: type[Attributes]) -> Facts:
    """The facts that all tests of a contract share."""
    return _facts.setdefault(contract, Facts(contract))
