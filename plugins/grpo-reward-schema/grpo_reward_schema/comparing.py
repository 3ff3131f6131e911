"""Compares a JSON value with a gold one, field by field.

A field is a scalar, or a container that is empty; the items of a list each count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from grpo_reward_schema.leaves import is_number, key_of, shown
from grpo_reward_schema.plain import escaped
from grpo_reward_schema.work import Work, bounded

Lists = Literal["ordered", "unordered"]

# The member of a gold object that makes it a choice: any of the values is right. In a reply it is a
# member as any other.
ONE_OF = "$one_of"
# Items of two lists that are paired by likeness, at most; the rest are paired as they stand.
_MOST_PAIRED = 40
# Of the work that one reply may cost: for a comparison, which takes longer than counting a field.
_STEPS_OF_MATCH = 8


Fault = tuple[str, Callable[[], str]]


class Match(NamedTuple):
    """How much of a gold value is there.

    Attributes:
        points: Of the fields, 1 for each that is equal.
        n_gold: Fields of the gold value.
        n_found: Fields of the other one.
        fault: What is wrong first: where, as a JSON pointer below the two, and what makes the words
            for it, since most are never read; None if nothing is.
    """

    points: float
    n_gold: int
    n_found: int
    fault: Fault | None = None

    @property
    def likeness(self) -> float:
        """Twice the points by the fields of both: F1, the mean of precision and recall."""
        total = self.n_gold + self.n_found
        return 2 * self.points / total if total else 1.0


@dataclass(frozen=True)
class Comparison:
    """How values are compared.

    Attributes:
        lists: "ordered" pairs items as they stand, "unordered" pairs those that are alike.
        tolerance: How far off a number may be.
        relative_tolerance: The same, as a share of the larger of the two.
        ignore_case: True if case and white space of texts do not matter.
        type_points: For a field of the right type with another value.
        present_points: For a field of another type.
    """

    lists: Lists = "ordered"
    tolerance: float = 0.0
    relative_tolerance: float = 0.0
    ignore_case: bool = False
    type_points: float = 0.2
    present_points: float = 0.1

    @property
    def has_tolerance(self) -> bool:
        """True if a number may be off."""
        return bool(self.tolerance or self.relative_tolerance)

    def match(self, gold: Any, value: Any) -> Match:
        """Compares a value with a gold one.

        Raises:
            LimitHit: It takes too many steps.
        """
        # A value does not change while it is compared, so that its place says what it is.
        with bounded(is_static=True) as work:
            return _Matcher(self, work).match(gold, value)


class _Matcher:
    """Compares the parts of two values, each two of them once."""

    def __init__(self, how: Comparison, work: Work) -> None:
        self._how = how
        self._work = work

    def match(self, gold: Any, value: Any) -> Match:
        self._work.spend(_STEPS_OF_MATCH)
        if not isinstance(gold, dict | list):
            return self._others(gold, value)
        known = self._work.known("match", gold, value)
        if known is None:
            known = self._containers(gold, value)
            self._work.keep("match", known, gold, value)
        made: Match = known
        return made

    def _containers(self, gold: Any, value: Any) -> Match:
        if is_choice(gold):
            # Leaving out is no field on either side, so a value there is one that nobody asked for.
            found = [
                Match(0.0, 0, self._n_found(value), _NOT_ASKED_FOR)
                if one is None
                else self.match(one, value)
                for one in gold[ONE_OF]
            ]
            return max(found, key=lambda match: match.likeness)
        if isinstance(gold, dict) and isinstance(value, dict):
            return self._objects(_stated(gold), _stated(value))
        if isinstance(gold, list) and isinstance(value, list):
            if gold and value:
                return self._lists(gold, value)
            if not gold and not value:
                return Match(1.0, 1, 1)
        return self._others(gold, value)

    def _others(self, gold: Any, value: Any) -> Match:
        if not isinstance(gold, dict | list) and self._is_equal(gold, value):
            return Match(1.0, 1, 1)
        how = self._how
        points = how.type_points if _kind(gold) == _kind(value) else how.present_points
        fault = ("", lambda: f"{shown(value)} is not {shown(gold)}")
        return Match(points, self._n_gold(gold), self._n_found(value), fault)

    def _is_equal(self, gold: Any, value: Any) -> bool:
        """True if a gold scalar is a value."""
        if is_number(gold) and is_number(value):
            return self._is_near(gold, value)
        if self._how.ignore_case and isinstance(gold, str) and isinstance(value, str):
            return " ".join(gold.casefold().split()) == " ".join(value.casefold().split())
        return bool(key_of(gold) == key_of(value))

    def _is_near(self, gold: float, value: float) -> bool:
        how = self._how
        if isinstance(gold, int) and isinstance(value, int) and not how.has_tolerance:
            return gold == value  # as below, without the fractions
        one, other = _exact(gold), _exact(value)
        if one == other or not how.has_tolerance:
            return one == other
        share = _exact(how.relative_tolerance) * max(abs(one), abs(other))
        return abs(one - other) <= max(_exact(how.tolerance), share)

    def _objects(self, gold: Mapping[str, Any], value: Mapping[str, Any]) -> Match:
        if not gold and not value:
            return Match(1.0, 1, 1)
        parts = []
        for key, inner in gold.items():
            if key in value:
                parts.append(_below(key, self.match(inner, value[key])))
            elif not may_be_left_out(inner):
                parts.append(_below(key, Match(0.0, self._n_gold(inner), 0, _MISSING)))
        for key, inner in value.items():
            if key not in gold:
                extra = Match(0.0, 0, self._n_found(inner), _NOT_ASKED_FOR)
                parts.append(_below(key, extra))
        return _summed(parts)

    def _lists(self, gold: Sequence[Any], value: Sequence[Any]) -> Match:
        pairs, lacking, extra = self._paired(gold, value)
        parts = [_below(j, self.match(gold[i], value[j])) for i, j in pairs]
        parts += [self._lacking(gold[i]) for i in lacking]
        parts += [_below(j, Match(0.0, 0, self._n_found(value[j]), _NOT_ASKED_FOR)) for j in extra]
        return _summed(parts)

    def _lacking(self, item: Any) -> Match:
        return Match(0.0, self._n_gold(item), 0, ("", lambda: f"lacks {shown(item)}"))

    def _paired(
        self, gold: Sequence[Any], value: Sequence[Any]
    ) -> tuple[list[tuple[int, int]], list[int], list[int]]:
        """Pairs of places, and the places that are left on either side."""
        left, right = list(range(len(gold))), list(range(len(value)))
        pairs: list[tuple[int, int]] = []
        if self._how.lists == "unordered":
            pairs = _equal_pairs(gold, value)
            left = sorted(set(left) - {i for i, _ in pairs})
            right = sorted(set(right) - {j for _, j in pairs})
            ranked = []
            # No comprehension, which takes one more place on the stack for each level.
            for i in left[:_MOST_PAIRED]:
                for j in right[:_MOST_PAIRED]:
                    ranked.append((-self.match(gold[i], value[j]).likeness, i, j))  # noqa: PERF401
            pairs += _best_pairs(sorted(ranked))
            left = sorted(set(left) - {i for i, _ in pairs})
            right = sorted(set(right) - {j for _, j in pairs})
        n_rest = min(len(left), len(right))
        pairs += zip(left[:n_rest], right[:n_rest], strict=True)
        return pairs, left[n_rest:], right[n_rest:]

    def _n_gold(self, value: Any) -> int:
        """How many fields a gold value has, at most; see `_n_found`."""
        if is_choice(value):
            return max([self._n_gold(one) for one in value[ONE_OF] if one is not None])
        return self._n_fields(self._n_gold, value)

    def _n_found(self, value: Any) -> int:
        """How many fields a value has; a member that is null is not there."""
        return self._n_fields(self._n_found, value)

    def _n_fields(self, count: Callable[[Any], int], value: Any) -> int:
        if not isinstance(value, dict | list):
            return 1
        what = count.__name__
        if (known := self._work.known(what, value)) is None:
            self._work.spend(1 + len(value))
            inner = _stated(value).values() if isinstance(value, dict) else value
            known = sum([count(one) for one in inner]) or 1
            self._work.keep(what, known, value)
        n: int = known
        return n


_NOT_ASKED_FOR: Fault = ("", lambda: "is not asked for")
_MISSING: Fault = ("", lambda: "is missing")


def is_choice(gold: Any) -> bool:
    """True if a gold value is content with any of several."""
    return isinstance(gold, dict) and ONE_OF in gold


def may_be_left_out(gold: Any) -> bool:
    """True if a gold member is content with being absent."""
    return gold is None or (is_choice(gold) and any(one is None for one in gold[ONE_OF]))


def _below(part: str | int, match: Match) -> Match:
    if match.fault is None:
        return match
    pointer, fault = match.fault
    here = escaped(part) if isinstance(part, str) else str(part)
    return match._replace(fault=(f"/{here}{pointer}", fault))


def _best_pairs(ranked: Iterable[tuple[float, int, int]]) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    used_left: set[int] = set()
    used_right: set[int] = set()
    for _, i, j in ranked:
        if i not in used_left and j not in used_right:
            pairs.append((i, j))
            used_left.add(i)
            used_right.add(j)
    return pairs


def _exact(number: float) -> Fraction:
    # A float is the number that it is written as: 1.01 is 0.01 above 1, and 1e23 an integer.
    return Fraction(number if isinstance(number, int) else float.__repr__(number))


def _stated(members: Mapping[str, Any]) -> dict[str, Any]:
    # A column of structs has all members in all rows, those of other rows as None.
    return {key: value for key, value in members.items() if value is not None}


def _equal_pairs(gold: Sequence[Any], value: Sequence[Any]) -> list[tuple[int, int]]:
    places: dict[Any, list[int]] = {}
    for j, item in enumerate(value):
        places.setdefault(key_of(item), []).append(j)
    taken: Counter[Any] = Counter()
    pairs = []
    for i, item in enumerate(gold):
        key = key_of(item)
        if taken[key] < len(places.get(key, ())):
            pairs.append((i, places[key][taken[key]]))
            taken[key] += 1
    return pairs


def _summed(parts: Sequence[Match]) -> Match:
    fault = next((part.fault for part in parts if part.fault), None)
    return Match(
        sum(part.points for part in parts),
        sum(part.n_gold for part in parts),
        sum(part.n_found for part in parts),
        fault,
    )


def _kind(value: Any) -> str:
    return "number" if is_number(value) else type(value).__name__
