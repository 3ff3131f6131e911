"""Schemas of which one has to fit: `anyOf`, `oneOf`, `if` with `then` and `else`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from grpo_reward_schema.tally import VALID, Found
from grpo_reward_schema.work import Work

_NEAREST = "fits; this is the nearest)"


class Branch(Protocol):
    """One of the schemas."""

    @property
    def weight(self) -> int:
        """How many leaf assertions it has."""

    @property
    def looks_at(self) -> frozenset[str] | None:
        """Names of the members that it says something about; None if it is about more."""

    @property
    def decided_by(self) -> frozenset[str] | None:
        """Names of the members that an `if` in it looks at; None if one looks at more."""

    def judge(self, value: Any, work: Work) -> Found:
        """What it makes of a value."""


AnyBranch = TypeVar("AnyBranch", bound=Branch)


class Branches(Generic[AnyBranch]):
    """The schemas under one keyword.

    Args:
        keyword: "anyOf", "oneOf" or "if".
        makers: What make the branches, when they are needed: one may lead back to where it stands.
            Under "if" they are the condition, `then` and `else`, None where there is none.
    """

    def __init__(self, keyword: str, makers: Sequence[Callable[[], AnyBranch] | None]) -> None:
        self._keyword = keyword
        self._makers = makers

    @functools.cached_property
    def _branches(self) -> list[AnyBranch | None]:
        return [None if make is None else make() for make in self._makers]

    @property
    def counted(self) -> list[AnyBranch]:
        """The branches that can be paid: all but a condition."""
        paid = self._branches[1:] if self._keyword == "if" else self._branches
        return [branch for branch in paid if branch is not None]

    @functools.cached_property
    def weight(self) -> int:
        """Leaf assertions of the largest branch, and of `oneOf` that it is the only one."""
        return max((b.weight for b in self.counted), default=0) + (self._keyword == "oneOf")

    @functools.cached_property
    def looks_at(self) -> frozenset[str] | None:
        """Names of the members that any branch or condition looks at; None if one looks at more."""
        return union(b.looks_at for b in self._branches if b is not None)

    @functools.cached_property
    def decided_by(self) -> frozenset[str] | None:
        """Names of the members that conditions look at, those of inner choices too."""
        condition = self._branches[0] if self._keyword == "if" else None
        decided = [b.decided_by for b in self.counted]
        return union(decided if condition is None else [condition.looks_at, *decided])

    def judge(self, value: Any, work: Work) -> Found:
        """What the branch that counts makes of a value; the best one of `anyOf` and `oneOf`."""
        if self._keyword == "if":
            condition, then, other = self._branches
            assert condition is not None
            branch = then if condition.judge(value, work).ok else other
            return VALID if branch is None else branch.judge(value, work)
        all_found = [b.judge(value, work) for b in self.counted]
        best = max(all_found, key=lambda found: (found.ok, found.share))
        n_valid = sum(found.ok for found in all_found)
        share = best.share
        if self._keyword == "oneOf":
            share = (share * (self.weight - 1) + (n_valid == 1)) / self.weight
            if n_valid > 1:
                fault = f"{n_valid} branches of oneOf fit, and only one may"
                return Found(share, False, False, 0.0, ("", fault))
        if best.fault is None:
            return VALID
        pointer, fault = best.fault
        if not fault.endswith(_NEAREST):  # once is enough, however deep the branches are
            fault += f" (no branch of {self._keyword} {_NEAREST}"
        missing = all(found.missing for found in all_found)
        absent = min(found.absent for found in all_found)
        return Found(share, False, missing, absent, (pointer, fault))


def union(parts: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    """All names of several; None, which is any name, if one of them is that."""
    names: frozenset[str] = frozenset()
    for part in parts:
        if part is None:
            return None
        names |= part
    return names
