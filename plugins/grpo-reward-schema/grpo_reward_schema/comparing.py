"""Compares a JSON value with a gold one, field by field.

A field is a scalar, or a container that is empty; the items of a list each count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from grpo_reward_schema.leaves import is_number, key_of, shown
from grpo_reward_schema.schema_check import escaped

Lists = Literal["ordered", "unordered"]

# The member of a gold object that makes it a choice: any of the values is right.
ONE_OF = "$one_of"
# Items of two lists that are paired by likeness, at most; the rest are paired as they stand.
_MOST_PAIRED = 40


class Match(NamedTuple):
    """How much of a gold value is there.

    Attributes:
        points: Of the fields, 1 for each that is equal.
        n_gold: Fields of the gold value.
        n_found: Fields of the other one.
        fault: What is wrong first, with a JSON pointer; "" if nothing is.
    """

    points: float
    n_gold: int
    n_found: int
    fault: str = ""

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

    def match(self, gold: Any, value: Any, at: str = "") -> Match:
        """Compares a value with a gold one; `at` is where they stand."""
        if isinstance(gold, dict) and ONE_OF in gold:
            found = [self.match(one, value, at) for one in gold[ONE_OF]]
            return max(found, key=lambda match: match.likeness)
        if isinstance(gold, dict) and isinstance(value, dict):
            return self._objects(_stated(gold), _stated(value), at)
        if isinstance(gold, list) and isinstance(value, list) and gold and value:
            return self._lists(gold, value, at)
        if self._is_equal(gold, value):
            return Match(1.0, 1, 1)
        is_same = _kind(gold) == _kind(value)
        points = self.type_points if is_same else self.present_points
        fault = f"{at or '/'}: {shown(value)} is not {shown(gold)}"
        return Match(points, n_fields(gold), n_fields(value), fault)

    def _is_equal(self, gold: Any, value: Any) -> bool:
        if is_number(gold) and is_number(value):
            return self._is_near(gold, value)
        if self.ignore_case and isinstance(gold, str) and isinstance(value, str):
            return " ".join(gold.casefold().split()) == " ".join(value.casefold().split())
        return bool(key_of(gold) == key_of(value))

    def _is_near(self, gold: float, value: float) -> bool:
        one, other = _exact(gold), _exact(value)
        if one == other or not (self.tolerance or self.relative_tolerance):
            return one == other
        share = _exact(self.relative_tolerance) * max(abs(one), abs(other))
        return abs(one - other) <= max(_exact(self.tolerance), share)

    def _objects(self, gold: Mapping[str, Any], value: Mapping[str, Any], at: str) -> Match:
        if not gold and not value:
            return Match(1.0, 1, 1)
        parts = []
        for key, inner in gold.items():
            here = f"{at}/{escaped(key)}"
            if key in value:
                parts.append(self.match(inner, value[key], here))
            else:
                parts.append(Match(0.0, n_fields(inner), 0, f"{here}: is missing"))
        for key, inner in value.items():
            if key not in gold:
                here = f"{at}/{escaped(key)}"
                parts.append(Match(0.0, 0, n_fields(inner), f"{here}: is not asked for"))
        return _summed(parts)

    def _lists(self, gold: Sequence[Any], value: Sequence[Any], at: str) -> Match:
        pairs, lacking, extra = self._paired(gold, value)
        parts = [self.match(gold[i], value[j], f"{at}/{j}") for i, j in pairs]
        parts += [
            Match(0.0, n_fields(gold[i]), 0, f"{at}: lacks {shown(gold[i])}") for i in lacking
        ]
        parts += [Match(0.0, 0, n_fields(value[j]), f"{at}/{j}: is not asked for") for j in extra]
        return _summed(parts)

    def _paired(
        self, gold: Sequence[Any], value: Sequence[Any]
    ) -> tuple[list[tuple[int, int]], list[int], list[int]]:
        """Pairs of places, and the places that are left on either side."""
        left, right = list(range(len(gold))), list(range(len(value)))
        pairs: list[tuple[int, int]] = []
        if self.lists == "unordered":
            pairs = _equal_pairs(gold, value)
            left = sorted(set(left) - {i for i, _ in pairs})
            right = sorted(set(right) - {j for _, j in pairs})
            pairs += self._alike(gold, value, left, right)
            left = sorted(set(left) - {i for i, _ in pairs})
            right = sorted(set(right) - {j for _, j in pairs})
        n_rest = min(len(left), len(right))
        pairs += zip(left[:n_rest], right[:n_rest], strict=True)
        return pairs, left[n_rest:], right[n_rest:]

    def _alike(
        self, gold: Sequence[Any], value: Sequence[Any], left: Sequence[int], right: Sequence[int]
    ) -> list[tuple[int, int]]:
        """Pairs of the places that are left, those that are most alike first."""
        ranked = sorted(
            (-self.match(gold[i], value[j]).likeness, i, j)
            for i in left[:_MOST_PAIRED]
            for j in right[:_MOST_PAIRED]
        )
        pairs: list[tuple[int, int]] = []
        used_left: set[int] = set()
        used_right: set[int] = set()
        for _, i, j in ranked:
            if i not in used_left and j not in used_right:
                pairs.append((i, j))
                used_left.add(i)
                used_right.add(j)
        return pairs


def n_fields(value: Any) -> int:
    """How many fields a value has; a member that is null is not there."""
    if isinstance(value, dict) and ONE_OF in value:
        return max(n_fields(one) for one in value[ONE_OF])
    if isinstance(value, dict):
        return sum(map(n_fields, _stated(value).values())) or 1
    if isinstance(value, list):
        return sum(map(n_fields, value)) or 1
    return 1


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
    fault = next((part.fault for part in parts if part.fault), "")
    return Match(
        sum(part.points for part in parts),
        sum(part.n_gold for part in parts),
        sum(part.n_found for part in parts),
        fault,
    )


def _kind(value: Any) -> str:
    return "number" if is_number(value) else type(value).__name__
