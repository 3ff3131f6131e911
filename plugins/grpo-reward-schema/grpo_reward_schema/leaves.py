"""The assertions of a schema that look at one value: what is wrong with it, in a few words.

Each takes the keyword's value and an instance and returns the fault, or "". They count for partial
credit, give the reasons, and replace those of jsonschema that are slow or mean something else:
`pattern` (see `patterns`), `uniqueItems` (pairwise), `multipleOf` (floats).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from grpo_reward_schema.patterns import matcher_of
from grpo_reward_schema.work import once, spend

Leaf = Callable[[Any, Any], str]

_SHOWN_CHARS = 60
# Of a text that a pattern is looked for in.
_CHARS_A_STEP = 32


def shown(value: Any) -> str:
    """A value as JSON, cut short; a container by its kind and size only."""
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, str) and len(value) > _SHOWN_CHARS:
        value = value[:_SHOWN_CHARS] + "…"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 2 * _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"


def shown_of_schema(value: Any) -> str:
    """A value of a schema as JSON, cut short."""
    return str(once(_short, value))  # a large one is not written out for each value


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"


def is_number(value: Any) -> bool:
    """True for JSON's numbers; Python's booleans are numbers too."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def key_of(value: Any) -> Any:
    """What is equal for two values exactly if JSON Schema calls them equal: 1 is 1.0, not true."""
    if isinstance(value, bool) or value is None:
        return (value,)
    if isinstance(value, dict | list):
        spend(1 + len(value))
    if isinstance(value, dict):
        return frozenset((name, key_of(inner)) for name, inner in value.items())
    if isinstance(value, list):
        return ("array", *map(key_of, value))
    if is_number(value):
        # As text: hashes of numbers can be made to collide, 2**61 - 1 and all its multiples.
        whole = isinstance(value, int) or value.is_integer()
        return ("number", str(int(value)) if whole else repr(value))
    return value


def _minimum(limit: Any, value: Any) -> str:
    return f"{shown(value)} is below {limit}" if is_number(value) and value < limit else ""


def _maximum(limit: Any, value: Any) -> str:
    return f"{shown(value)} is above {limit}" if is_number(value) and value > limit else ""


def _exclusive_minimum(limit: Any, value: Any) -> str:
    return f"{shown(value)} is not above {limit}" if is_number(value) and value <= limit else ""


def _exclusive_maximum(limit: Any, value: Any) -> str:
    return f"{shown(value)} is not below {limit}" if is_number(value) and value >= limit else ""


def _multiple_of(step: Any, value: Any) -> str:
    if not is_number(value) or is_multiple(value, step):
        return ""
    return f"{shown(value)} is no multiple of {step}"


def is_multiple(value: float, step: float) -> bool:
    """True if one number is a multiple of another, as both are written in decimals."""
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    spend(4)  # fractions are slow
    return (Fraction(Decimal(repr(value))) / Fraction(Decimal(repr(step)))).denominator == 1


def _min_length(limit: Any, value: Any) -> str:
    is_short = isinstance(value, str) and len(value) < limit
    return f"{shown(value)} is shorter than {limit}" if is_short else ""


def _max_length(limit: Any, value: Any) -> str:
    is_long = isinstance(value, str) and len(value) > limit
    return f"{shown(value)} is longer than {limit}" if is_long else ""


def _pattern(pattern: Any, value: Any) -> str:
    if not isinstance(value, str):
        return ""
    spend(len(value) // _CHARS_A_STEP)
    if matcher_of(pattern)(value):
        return ""
    return f"{shown(value)} does not match {shown_of_schema(pattern)}"


def _min_items(limit: Any, value: Any) -> str:
    is_short = isinstance(value, list) and len(value) < limit
    return f"{len(value)} items, at least {limit} expected" if is_short else ""


def _max_items(limit: Any, value: Any) -> str:
    is_long = isinstance(value, list) and len(value) > limit
    return f"{len(value)} items, at most {limit} expected" if is_long else ""


def _unique_items(wanted: Any, value: Any) -> str:
    if not wanted or not isinstance(value, list) or has_unique_items(value):
        return ""
    return "two items are equal"


def has_unique_items(items: list[Any]) -> bool:
    """True if no two items are equal; by hash, where jsonschema compares all pairs."""
    return len(set(map(key_of, items))) == len(items)


def _min_properties(limit: Any, value: Any) -> str:
    is_short = isinstance(value, dict) and len(value) < limit
    return f"{len(value)} members, at least {limit} expected" if is_short else ""


def _max_properties(limit: Any, value: Any) -> str:
    is_long = isinstance(value, dict) and len(value) > limit
    return f"{len(value)} members, at most {limit} expected" if is_long else ""


def _enum(allowed: Any, value: Any) -> str:
    if key_of(value) in once(_keys, allowed):
        return ""
    return f"{shown(value)} is not one of {shown_of_schema(allowed)}"


def _keys(allowed: Any) -> frozenset[Any]:
    return frozenset(map(key_of, allowed))


def _const(wanted: Any, value: Any) -> str:
    if key_of(value) == once(key_of, wanted):
        return ""
    return f"{shown(value)} is not {shown_of_schema(wanted)}"


LEAVES: Mapping[str, Leaf] = {
    "minimum": _minimum,
    "maximum": _maximum,
    "exclusiveMinimum": _exclusive_minimum,
    "exclusiveMaximum": _exclusive_maximum,
    "multipleOf": _multiple_of,
    "minLength": _min_length,
    "maxLength": _max_length,
    "pattern": _pattern,
    "minItems": _min_items,
    "maxItems": _max_items,
    "uniqueItems": _unique_items,
    "minProperties": _min_properties,
    "maxProperties": _max_properties,
    "enum": _enum,
    "const": _const,
}
