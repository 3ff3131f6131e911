"""Random schemas and values: both backends agree, and deleting, padding and nulls never pay."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

from grpo_reward_schema import rust
from grpo_reward_schema.compiled import Compiled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, -0.25, 0.07, 1e20])
    | st.sampled_from(["", "a", "b", "ab", "a\n", "é"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
ASSERTIONS = st.fixed_dictionaries(
    {},
    optional={
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "minimum": st.integers(-2, 2),
        "maximum": st.integers(-2, 2),
        "exclusiveMinimum": st.integers(-2, 2),
        "exclusiveMaximum": st.integers(-2, 2),
        "multipleOf": st.sampled_from([1, 2, 0.5, 0.01]),
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 2),
        "pattern": st.sampled_from(["^a$", "a", "^[ab]+$", r"\w", r"^[\W]$", r"\p{L}", "^(?!b)"]),
        "enum": st.lists(VALUES, min_size=1, max_size=3, unique_by=lambda v: repr(v)),
        "const": VALUES,
        "minItems": st.integers(0, 3),
        "maxItems": st.integers(0, 2),
        "uniqueItems": st.booleans(),
        "minProperties": st.integers(0, 2),
        "maxProperties": st.integers(0, 2),
        "required": st.lists(NAMES, max_size=3, unique=True),
        "dependentRequired": st.dictionaries(
            NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2
        ),
    },
)


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    inner = inner | st.booleans()
    some = st.lists(inner, min_size=1, max_size=2)
    applied = st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "patternProperties": st.dictionaries(
                st.sampled_from(["^a", "b", "[bc]"]), inner, max_size=2
            ),
            "additionalProperties": inner,
            "items": inner,
            "prefixItems": some,
            "contains": inner,
            "minContains": st.integers(0, 2),
            "allOf": some,
            "anyOf": some,
            "oneOf": some,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "propertyNames": inner,
            "dependentSchemas": st.dictionaries(NAMES, inner, max_size=1),
            "unevaluatedProperties": inner,
            "unevaluatedItems": inner,
            "$ref": st.just("#/$defs/d"),
        },
    )
    return st.builds(lambda own, more: {**own, **more}, ASSERTIONS, applied)


SCHEMAS = st.builds(
    lambda schema, d: {**schema, "$defs": {"d": d}},
    st.recursive(ASSERTIONS, _grown, max_leaves=6),
    ASSERTIONS,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=3)
MANY = settings(
    max_examples=300, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


def made(schema: dict[str, Any]) -> Compiled | None:
    try:
        return Compiled(schema)
    except ValueError:
        return None


def score(schema: Compiled, value: Any) -> float:
    return 1.0 if schema.is_valid(value) else 0.95 * schema.credit(value)[0]


@MANY
@given(schema=SCHEMAS, value=VALUES | OBJECTS)
def test_both_backends_and_the_credit_say_the_same(schema: dict[str, Any], value: Any) -> None:
    from_rust = made(schema)
    engine, rust.engine = rust.engine, None
    try:
        from_python = made(schema)
        python_score = score(from_python, value) if from_python else None
    finally:
        rust.engine = engine

    assert (from_rust is None) == (from_python is None)
    if from_rust is None:
        return
    share, _ = from_rust.credit(value)
    assert score(from_rust, value) == python_score
    assert 0.0 <= share <= 1.0 + 1e-12
    assert (share > 1 - 1e-9) == from_rust.is_valid(value)


# What deleting a member may satisfy, beside what requires it.
_NEGATIVE = st.fixed_dictionaries(
    {},
    optional={
        "maxProperties": st.integers(0, 1),
        "additionalProperties": st.just(False),
        "propertyNames": st.sampled_from([False, {"enum": ["b"]}]),
        "not": st.sampled_from([{"required": ["a"]}, {"minProperties": 1}]),
        "enum": st.just([{}, [], [{}]]),
        "anyOf": st.just([{"maxProperties": 0}, {"maxItems": 0}]),
        "oneOf": st.just([{"required": ["a"]}, {"minProperties": 1}]),
        "dependentRequired": st.just({"a": ["z"], "b": ["z"]}),
        "patternProperties": st.sampled_from([{"a": False}, {"b": {"type": "null"}}]),
        "unevaluatedProperties": st.just(False),
        "uniqueItems": st.just(True),
        "if": st.just({"required": ["a"]}),
        "then": st.just({"required": ["y", "z"]}),
    },
)
_TIGHT = st.recursive(
    st.builds(lambda own: {"required": ["a", "b"], **own}, _NEGATIVE),
    lambda inner: st.builds(
        lambda own, a, item, other: {
            "required": ["a", "b"],
            "properties": {"a": a},
            "items": item,
            "allOf": [other],
            **own,
        },
        _NEGATIVE,
        inner,
        inner,
        inner,
    ),
    max_leaves=4,
)
_FULL = st.recursive(
    st.integers(0, 1),
    lambda inner: (
        st.lists(st.fixed_dictionaries({"a": inner, "b": inner}), max_size=2)
        | st.fixed_dictionaries({"a": inner, "b": inner}, optional={"c": inner})
    ),
    max_leaves=6,
)


@MANY
@given(
    schema=SCHEMAS | st.builds(lambda schema: {**schema, "$defs": {"d": {}}}, _TIGHT),
    value=OBJECTS | _FULL,
)
def test_deleting_a_required_member_never_pays(schema: dict[str, Any], value: Any) -> None:
    compiled = made(schema)
    if compiled is None:
        return
    before = score(compiled, value)
    for path in required_paths([schema], schema, value):
        assert score(compiled, without(value, path)) <= before + 1e-9, path


@MANY
@given(
    schema=SCHEMAS | st.builds(lambda schema: {**schema, "$defs": {"d": {}}}, _TIGHT),
    value=OBJECTS | _FULL,
)
def test_null_of_a_wrong_type_never_pays(schema: dict[str, Any], value: Any) -> None:
    compiled = made(schema)
    if compiled is None:
        return
    before = score(compiled, value)
    for path in no_null_paths([schema], schema, value):
        assert score(compiled, replaced(value, path, None)) <= before + 1e-9, path


@MANY
@given(
    item=SCHEMAS,
    bounds=st.fixed_dictionaries(
        {}, optional={"maxItems": st.integers(0, 2), "uniqueItems": st.booleans()}
    ),
    items=st.lists(VALUES, max_size=3),
    more=VALUES,
)
def test_appending_a_right_item_never_pays(
    item: dict[str, Any], bounds: dict[str, Any], items: list[Any], more: Any
) -> None:
    alone = made(item)
    if alone is None or not alone.is_valid(more):
        return
    defs = item["$defs"]
    listed = {"type": "array", "items": item, **bounds}
    whole = made({**listed, "$defs": defs})
    inside = made({"properties": {"a": listed}, "maxProperties": 0, "$defs": defs})
    mapped = made({"type": "object", "additionalProperties": item, "$defs": defs})
    assert whole is not None
    assert inside is not None
    assert mapped is not None

    assert score(whole, [*items, more]) <= score(whole, items) + 1e-9
    assert score(inside, {"a": [*items, more]}) <= score(inside, {"a": items}) + 1e-9
    named = {f"k{i}": one for i, one in enumerate(items)}
    assert score(mapped, {**named, "more": more}) <= score(mapped, named) + 1e-9


@MANY
@given(item=SCHEMAS, items=st.lists(VALUES, min_size=1, max_size=4), right=VALUES, i=st.integers(0))
def test_putting_right_a_wrong_item_pays(
    item: dict[str, Any], items: list[Any], right: Any, i: int
) -> None:
    alone = made(item)
    i %= len(items)
    if alone is None or not alone.is_valid(right) or alone.is_valid(items[i]):
        return
    whole = made({"type": "array", "items": item, "$defs": item["$defs"]})
    assert whole is not None
    assert score(whole, [*items[:i], right, *items[i + 1 :]]) > score(whole, items)


_ALL = {"required": ["a", "b", "c"]}
# Ways to ask for the members a, b and c.
_ASKED = st.sampled_from(
    [
        _ALL,
        {"minProperties": 4},
        {"dependentRequired": {"k": ["a", "b", "c"]}},
        {"dependencies": {"k": ["a", "b", "c"]}},
        {"dependentSchemas": {"k": _ALL}},
        {"if": {"required": ["k"]}, "then": _ALL},
        {"if": {"required": ["z"]}, "else": {"minProperties": 4}},
        {"if": {"required": ["z"]}, "else": {"if": {"required": ["k"]}, "then": _ALL}},
        {"anyOf": [_ALL]},
        {"anyOf": [{"type": "null"}, {"allOf": [_ALL]}]},
        {"oneOf": [_ALL, {"type": "array"}]},
        {"const": {"a": 0, "b": 0, "c": 0, "k": 0}},
    ]
)
_MEMBERS = st.fixed_dictionaries({"k": st.just(0), **dict.fromkeys("abc", VALUES)})
_HOLDING = st.fixed_dictionaries(
    {},
    optional={
        "type": st.just("object"),
        "properties": st.dictionaries(NAMES, ASSERTIONS, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(["a", "[bc]"]), ASSERTIONS),
        "additionalProperties": ASSERTIONS | st.just(False),
        "maxProperties": st.integers(2, 4),
        "propertyNames": st.sampled_from([{"maxLength": 1}, {"pattern": "[ab]"}]),
    },
)


@MANY
@given(holding=_HOLDING, asked=_ASKED, value=_MEMBERS, order=st.permutations("abc"))
def test_deleting_what_is_asked_for_never_pays(
    holding: dict[str, Any], asked: dict[str, Any], value: dict[str, Any], order: list[str]
) -> None:
    for schema in ({**holding, **asked}, {**holding, "allOf": [asked]}):
        compiled = Compiled({"additionalProperties": False, "properties": {"o": schema}})
        for name in order:
            left = {key: member for key, member in value.items() if key != name}
            assert score(compiled, {"o": left}) <= score(compiled, {"o": value}) + 1e-9
            value = left


@MANY
@given(item=ASSERTIONS, items=st.lists(VALUES, min_size=1, max_size=4), wanted=ASSERTIONS)
def test_deleting_an_item_that_is_asked_for_never_pays(
    item: dict[str, Any], items: list[Any], wanted: dict[str, Any]
) -> None:
    for asked in (
        {"minItems": len(items)},
        {"anyOf": [{"minItems": len(items)}]},
        {"contains": {}, "minContains": len(items)},
        {"minItems": len(items), "contains": wanted, "uniqueItems": True, "maxItems": 2},
    ):
        compiled = Compiled({"items": item, "type": "array", **asked})
        for i in range(len(items)):
            left = [one for j, one in enumerate(items) if j != i]
            assert score(compiled, left) <= score(compiled, items) + 1e-9


_CHOICES = st.recursive(
    st.sampled_from([{"required": ["p"]}, {"required": ["q", "r"]}, {}, _ALL]),
    lambda inner: (
        st.builds(
            lambda kind, then, other: {
                "if": {"properties": {"kind": {"const": kind}}},
                "then": then,
                "else": other,
            },
            st.sampled_from(["x", "y", "z"]),
            inner,
            inner,
        )
        | st.builds(lambda one, other: {"allOf": [one, other]}, inner, inner)
        | st.builds(lambda one, other: {"anyOf": [one, other]}, inner, inner)
    ),
    max_leaves=6,
)


@MANY
@given(
    choice=_CHOICES,
    kind=st.sampled_from(["x", "y", "z"]),
    others=st.sets(st.sampled_from("pqrabc")),
    wrong=st.sampled_from(["w", "", 1, None]),
)
def test_wrong_discriminator_never_pays(
    choice: dict[str, Any], kind: str, others: set[str], wrong: Any
) -> None:
    kinds = {"required": ["kind"], "properties": {"kind": {"enum": ["x", "y", "z"]}}}
    compiled = Compiled({**kinds, "allOf": [choice]})
    value = {"kind": kind, **dict.fromkeys(others, 1)}

    assert score(compiled, {**value, "kind": wrong}) <= score(compiled, value) + 1e-9


@given(value=OBJECTS)
def test_an_object_without_members_never_beats_one_that_has_some(value: Any) -> None:
    schema = Compiled(
        {
            "type": "object",
            "properties": {name: {"type": "integer"} for name in "abc"},
            "required": ["a", "b", "c"],
            "additionalProperties": False,
        }
    )

    assert score(schema, {}) <= score(schema, value)


def required_paths(
    schemas: list[Any], root: dict[str, Any], value: Any, path: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """Where a member stands that a schema requires which applies whatever the value is."""
    parts = [part for schema in schemas for part in _parts(schema, root)]
    if isinstance(value, dict):
        for name, inner in value.items():
            if any(name in part.get("required", ()) for part in parts):
                yield (*path, name)
            applied = [s for part in parts for s in _of_member(part, name)]
            yield from required_paths(applied, root, inner, (*path, name))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            applied = [s for part in parts for s in _of_item(part, i)]
            yield from required_paths(applied, root, inner, (*path, i))


def no_null_paths(
    schemas: list[Any], root: dict[str, Any], value: Any, path: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """Where a schema that applies whatever the value is has a `type` without null."""
    parts = [part for schema in schemas for part in _parts(schema, root)]
    types = [part["type"] for part in parts if "type" in part]
    if path and any("null" not in ([t] if isinstance(t, str) else t) for t in types):
        yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            applied = [s for part in parts for s in _of_member(part, name)]
            yield from no_null_paths(applied, root, inner, (*path, name))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            applied = [s for part in parts for s in _of_item(part, i)]
            yield from no_null_paths(applied, root, inner, (*path, i))


def _parts(schema: Any, root: dict[str, Any]) -> list[dict[str, Any]]:
    if not isinstance(schema, dict):
        return []
    inner = [part for one in schema.get("allOf", ()) for part in _parts(one, root)]
    referred = _parts(root["$defs"]["d"], root) if "$ref" in schema else []
    return [schema, *inner, *referred]


def _of_member(part: dict[str, Any], name: str) -> list[Any]:
    found = [part["properties"][name]] if name in part.get("properties", {}) else []
    patterns = part.get("patternProperties", {})
    found += [schema for pattern, schema in patterns.items() if re.search(pattern, name)]
    if not found and "additionalProperties" in part:
        found = [part["additionalProperties"]]
    return found


def _of_item(part: dict[str, Any], i: int) -> list[Any]:
    prefix = part.get("prefixItems", [])
    if i < len(prefix):
        return [prefix[i]]
    return [part["items"]] if "items" in part else []


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return value


def without(value: Any, path: tuple[Any, ...]) -> Any:
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return json.loads(json.dumps(value))
