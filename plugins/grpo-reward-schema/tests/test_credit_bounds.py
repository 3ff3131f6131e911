"""The walk over a schema and a value is bounded, whatever the two are."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from grpo_reward_schema import Json
from grpo_reward_schema.compiled import Compiled
from grpo_reward_schema.patterns import LimitHit

from grpo_core import Completion, Score

# What a call may take; half a second is usual, and without the bounds it takes minutes.
SECONDS = 15.0


def expressions(*, op_first: bool) -> dict[str, Any]:
    sides = {"left": {"$ref": "#/$defs/e"}, "right": {"$ref": "#/$defs/e"}}
    branches = []
    for name in ("add", "sub", "mul", "div"):
        op = {"op": {"const": name}}
        members = {**op, **sides} if op_first else {**sides, **op}
        branches.append({"type": "object", "properties": members, "required": [*members]})
    return {"$defs": {"e": {"anyOf": [{"type": "number"}, *branches]}}, "$ref": "#/$defs/e"}


def expression(depth: int, last: Any) -> Any:
    if depth == 0:
        return last
    return {"op": "div", "left": expression(depth - 1, 1), "right": expression(depth - 1, last)}


def chain(depth: int, last: Any) -> Any:
    for _ in range(depth):
        last = {"c": last}
    return last


def branches_to(target: str) -> list[dict[str, Any]]:
    one = {"type": "object", "properties": {"c": {"$ref": target}}, "required": ["c"]}
    return [one, {**one, "properties": {"c": {"$ref": target}, "d": {}}}]


TWICE = {"$defs": {"n": {"anyOf": [*branches_to("#/$defs/n"), {"type": "integer"}]}}}
# The same without a cycle: each level names the next one twice.
STAIRS = {
    "$defs": {
        **{f"d{i}": {"anyOf": branches_to(f"#/$defs/d{i + 1}")} for i in range(40)},
        "d40": {"type": "integer"},
    },
    "$ref": "#/$defs/d0",
}


def scored(value: Any, schema: dict[str, Any], mode: Any = "partial") -> Score:
    reward = Json(mode=mode)
    assert reward.check_inputs(schema) is None  # which compiles it
    start = time.process_time()
    found = reward(Completion(json.dumps(value, separators=(",", ":"))), schema)
    assert time.process_time() - start < SECONDS
    assert isinstance(found, Score)
    return found


@pytest.mark.parametrize("mode", ["partial", "strict"])
@pytest.mark.parametrize(
    ("schema", "valid", "wrong"),
    [
        (expressions(op_first=True), expression(10, 1), expression(10, "x")),
        (expressions(op_first=False), expression(10, 1), expression(10, "x")),
        ({**TWICE, "$ref": "#/$defs/n"}, chain(60, 1), chain(60, "x")),
        (STAIRS, chain(40, 1), chain(40, "x")),
    ],
    ids=["operator first", "operator last", "twice", "stairs"],
)
def test_recursion_through_branches_is_judged_once_for_each_place(
    backend: str, schema: dict[str, Any], valid: Any, wrong: Any, mode: str
) -> None:
    assert scored(valid, schema, mode) == Score(1.0, "", {"limit_hits": 0.0})
    found = scored(wrong, schema, mode)
    assert found.value < 1.0
    assert 'got "x"' in found.reason
    assert found.metrics == {"limit_hits": 0.0}


def test_many_items_against_many_branches_end_at_the_limit(backend: str) -> None:
    schema = {"contains": {"const": -1}, "items": {"anyOf": [{"const": i} for i in range(20)]}}
    values = [100_000 + i for i in range(140_000)]

    found = scored(values, schema)

    assert found == Score(
        0.0,
        "limit: the value takes over 1,000,000 steps against this schema",
        {"limit_hits": 1.0},
    )
    assert scored(values, schema, "strict").value == 0.0


NESTED_SETS = {
    "$defs": {"n": {"uniqueItems": True, "items": {"$ref": "#/$defs/n"}}},
    "$ref": "#/$defs/n",
    "not": {},
}
NAMES = [f"n{i}" for i in range(5_000)]
LARGE = {
    "enum": ({"items": {"enum": list(range(5_000))}, "contains": False}, [-1] * 300_000),
    "required": ({"items": {"required": NAMES}}, [{}] * 300_000),
    "properties": (
        {"items": {"properties": {key: {} for key in NAMES}}, "maxItems": 0},
        [{}] * 300_000,
    ),
    "dependent": (
        {"items": {"dependentRequired": {key: ["z"] for key in NAMES}, "minProperties": 1}},
        [{}] * 300_000,
    ),
    "prefix": (
        {"items": {"prefixItems": [True] * 5_000, "items": False}, "maxItems": 0},
        [[]] * 300_000,
    ),
    "pattern": (
        {"additionalProperties": {"anyOf": [{"pattern": "^a+$"}] * 3_000}},
        {"k": "a" * 990_000 + "b"},
    ),
    "unique": (NESTED_SETS, json.loads("[" * 100 + str([*range(140_000)]) + "]" * 100)),
    "unevaluated": (
        {"unevaluatedProperties": False, "patternProperties": {"^x": {}}},
        {**{f"x{i}": 1 for i in range(80_000)}, "y": 1},
    ),
}


@pytest.mark.parametrize(("schema", "value"), LARGE.values(), ids=LARGE)
def test_large_schema_against_large_value_is_bounded(
    backend: str, schema: dict[str, Any], value: Any
) -> None:
    scored(value, schema)


def test_steps_are_those_of_one_value(backend: str) -> None:
    schema = Compiled({"items": {"type": "integer"}, "maxItems": 0})

    for _ in range(5):
        assert schema.credit([1] * 90_000)[1] == "/: 90000 items, at most 0 expected"
    with pytest.raises(LimitHit, match="over 1,000,000 steps"):
        schema.credit([1] * 1_000_000)


def test_value_under_dynamic_references_ends_at_the_limit(backend: str) -> None:
    def doubled(anchor: str) -> dict[str, Any]:
        row: dict[str, Any] = {
            f"d{i}": {anchor: f"d{i}", "items": {"allOf": [{"$dynamicRef": f"#d{i + 1}"}] * 2}}
            for i in range(45)
        }
        return {"$defs": {**row, "d45": {anchor: "d45"}}, "$dynamicRef": "#d0"}

    value: Any = 1
    for _ in range(45):
        value = [value]
    for anchor in ("$anchor", "$dynamicAnchor"):
        found = scored(value, doubled(anchor))
        assert found.value == 0.0
        assert found.reason.startswith("limit: ")


def test_dependencies_of_a_later_draft_count_for_what_takes_long(backend: str) -> None:
    row: dict[str, Any] = {}
    for i in range(45):
        twice = {"x": {"$ref": f"#/$defs/d{i + 1}"}, "y": {"$ref": f"#/$defs/d{i + 1}"}}
        row[f"d{i}"] = {"properties": {"c": {"dependencies": twice}}}
    value: Any = {"x": 1, "y": 1}
    for _ in range(45):
        value = {"x": 1, "y": 1, "c": value}

    schema = {"$defs": {**row, "d45": {"type": "object"}}, "$ref": "#/$defs/d0"}
    assert scored(value, schema).value == 1.0


TOO_LARGE = {
    "properties in allOf": {"allOf": [{"properties": {f"p{i}": {}}} for i in range(3_000)]},
    "names and patterns": {
        "properties": {f"p{i}": {} for i in range(8_000)},
        "patternProperties": {f"^p{i}": {} for i in range(900)},
    },
    "patterns": {"patternProperties": {f"^p{i}": {} for i in range(1_001)}},
    "items in allOf": {"allOf": [{"prefixItems": [{}] * 20} for _ in range(4_000)]},
    "items": {"prefixItems": [True] * 20_000},
}


@pytest.mark.parametrize("schema", TOO_LARGE.values(), ids=TOO_LARGE)
def test_schema_that_takes_too_long_to_compile_is_refused(
    backend: str, schema: dict[str, Any]
) -> None:
    start = time.process_time()

    reason = Json().check_inputs(schema)

    assert time.process_time() - start < SECONDS
    assert reason is not None
    assert "at most 1" in reason or "the schema is too large" in reason


def test_many_patterns_against_many_members_end_at_the_limit(backend: str) -> None:
    patterns = {f"^p{i}x": {} for i in range(1_000)}
    value = {f"m{i}": 1 for i in range(5_000)}

    assert scored(value, {"patternProperties": patterns, "maxProperties": 0}).value == 0.0


def test_names_of_a_reply_leave_nothing_behind(backend: str) -> None:
    letters = "abcdefghijkl"
    compiled = Compiled({"patternProperties": {c: {"minimum": 0} for c in letters}, "minimum": 1})
    value = {
        "".join(c for i, c in enumerate(letters) if n >> i & 1): -1
        for n in range(1, 2 ** len(letters), 9)
    }

    compiled.credit({"a": -1})
    n_nodes = len(compiled._tree._nodes)
    compiled.credit(value)

    assert len(compiled._tree._nodes) <= n_nodes + len(letters)
