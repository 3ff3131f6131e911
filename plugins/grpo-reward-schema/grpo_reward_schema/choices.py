"""Schemas of which one has to fit: `anyOf`, `oneOf`, `if` with `then` and `else`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from grpo_reward_schema.tally import Fault, Found, Tally
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

    def judge(self, value: Any, whole: Tally, work: Work) -> tuple[float, Fault | None]:
        """The share of the branch that counts, and the fault.

        Args:
            value: What is judged.
            whole: What the schemas beside these made of it.
            work: Steps that are left.
        """
        if self._keyword == "if":
            return self._judge_if(value, whole, work)
        all_found = [b.judge(value, work) for b in self._branches if b is not None]
        best = max(all_found, key=lambda found: (found.ok, found.share))
        n_valid = sum(found.ok for found in all_found)
        share = best.share
        if self._keyword == "oneOf":
            share = (share * (self.weight - 1) + (n_valid == 1)) / self.weight
            if n_valid > 1:
                return share, ("", f"{n_valid} branches of oneOf fit, and only one may")
        if best.fault is None:
            return share, None
        pointer, fault = best.fault
        if not fault.endswith(_NEAREST):  # once is enough, however deep the branches are
            fault += f" (no branch of {self._keyword} {_NEAREST}"
        return share, (pointer, fault)

    def _judge_if(self, value: Any, whole: Tally, work: Work) -> tuple[float, Fault | None]:
        condition, then, other = self._branches
        assert condition is not None
        applies = condition.judge(value, work).ok
        found = _judged(then if applies else other, value, work)
        names = condition.looks_at
        if whole.fault if names is None else names & whole.wrong:
            # A wrong member would choose the branch that asks for less.
            other_one = _judged(other if applies else then, value, work)
            return min(found.share, other_one.share), found.fault
        return found.share, found.fault


def _judged(branch: Branch | None, value: Any, work: Work) -> Found:
    return Found(1.0, True, False, None) if branch is None else branch.judge(value, work)
