"""The leaf assertions of one schema, each as a check of a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from grpo_reward_schema.formats import matches
from grpo_reward_schema.leaves import LEAVES, is_number, shown
from grpo_reward_schema.work import spend

# Leaves by the kind of value they say something about; the others are about all kinds.
_OF_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_OF_TEXTS = ("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType")
_OF_ARRAYS = ("minItems", "maxItems", "uniqueItems", "contains", "unevaluatedItems")
_OF_OBJECTS = (
    "minProperties",
    "maxProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
)
# Leaves that jsonschema decides, as a whole.
_WHOLE = (
    "contentEncoding",
    "contentMediaType",
    "not",
    "contains",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$dynamicRef",
    "$recursiveRef",
)
# Leaves that deleting a member of an object cannot satisfy, there or further up.
_SAFE = frozenset({"minProperties", "minItems", "maxItems"})
# Leaves that may not hold because a part is not there.
_MAY_ASK = frozenset({"dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef"})

Check = Callable[[Any], str]


class Leaf(NamedTuple):
    """One assertion.

    Attributes:
        kind: What it says something about: dict, list, str, float for numbers, None for all.
        check: Returns what is wrong with a value, or "".
        is_safe: True if deleting a member of an object cannot satisfy it.
        asks_for: How many parts are not there that it asks for, where it does not hold; infinity if
            that cannot be said.
    """

    kind: type | None
    check: Check
    is_safe: bool
    asks_for: Callable[[Any], float]

    def applies_to(self, value: Any) -> bool:
        """True if it says something about the value."""
        if self.kind is float:
            return is_number(value)
        return self.kind is None or isinstance(value, self.kind)


def leaves_of(validator: Any, draft: str, assert_formats: bool) -> list[Leaf]:
    """The leaf assertions of a schema, but for its types and required members.

    Args:
        validator: jsonschema's validator of the schema.
        draft: The URI of its draft.
        assert_formats: True if `format` is an assertion.
    """
    made = []
    for keyword, wanted in validator.schema.items():
        check = None
        if keyword == "format":
            check = _format(wanted, draft) if assert_formats else None
        elif keyword in validator.VALIDATORS:
            check = _check(validator, keyword, wanted, draft)
        if check is not None:
            asks_for = _asks_for(validator, keyword, wanted)
            made.append(Leaf(_kind(keyword), check, keyword in _SAFE, asks_for))
    return made


def _check(validator: Any, keyword: str, wanted: Any, draft: str) -> Check | None:
    # Draft 4 has exclusiveMinimum as a flag beside minimum, which jsonschema knows.
    is_own = not (draft.endswith("draft-04/schema") and keyword in _OF_NUMBERS)
    if keyword in LEAVES and is_own:
        leaf = LEAVES[keyword]
        return lambda value: leaf(wanted, value)
    if keyword not in _WHOLE and keyword not in LEAVES:
        return None

    n_parts = len(wanted) if isinstance(wanted, dict | list) else 0

    def whole(value: Any) -> str:
        spend(n_parts)
        errors = validator.VALIDATORS[keyword](validator, wanted, value, validator.schema)
        return "" if next(iter(errors or ()), None) is None else f"{keyword} does not hold"

    return whole


def _asks_for(validator: Any, keyword: str, wanted: Any) -> Callable[[Any], float]:
    if keyword in ("minItems", "minProperties"):
        return lambda value: float(wanted - len(value))
    if keyword == "contains":
        least = validator.schema.get("minContains", 1)
        item = validator.evolve(schema=wanted)
        return lambda value: float(max(0, least - sum(map(item.is_valid, value))))
    if keyword == "dependentRequired":
        return lambda value: float(
            len({n for key, names in wanted.items() if key in value for n in names} - value.keys())
        )
    if keyword in ("enum", "const"):
        allowed = wanted if keyword == "enum" else [wanted]
        return lambda value: min((_n_absent(one, value) for one in allowed), default=0.0)
    n_parts = math.inf if keyword in _MAY_ASK else 0.0
    return lambda value: n_parts if isinstance(value, dict | list) else 0.0


def _n_absent(wanted: Any, value: Any) -> float:
    """How many members or items one value has to get to have as many as another one."""
    spend(1)
    if isinstance(wanted, dict) and isinstance(value, dict):
        return float(len(wanted.keys() - value.keys()))
    if isinstance(wanted, list) and isinstance(value, list):
        return float(max(0, len(wanted) - len(value)))
    return 0.0


def _format(wanted: Any, draft: str) -> Check | None:
    if not isinstance(wanted, str):
        return None
    has_format = matches(wanted, draft)
    return lambda value: "" if has_format(value) else f"{shown(value)} is no {wanted}"


def _kind(keyword: str) -> type | None:
    if keyword in _OF_NUMBERS:
        return float
    if keyword in _OF_TEXTS:
        return str
    if keyword in _OF_ARRAYS:
        return list
    return dict if keyword in _OF_OBJECTS else None
