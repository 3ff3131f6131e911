"""The share of leaf assertions, worked out by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from grpo_reward_schema import Json
from grpo_reward_schema.compiled import Compiled

from grpo_core import Completion, Score

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "email": {"type": "string"},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


def scored(value: Any, schema: dict[str, Any], **options: Any) -> Score:
    result = Json(**options)(Completion(json.dumps(value)), schema)
    assert isinstance(result, Score)
    return result


# type 1, required 2, no others 1, name 2, age 3: 9 leaves. email, which is not required, is one
# more where it is there. No others is not paid while something is missing or of the wrong type.
@pytest.mark.parametrize(
    ("value", "leaves", "reason"),
    [
        ({"name": "Ada", "age": "36"}, 5 / 9, '/age: expected integer, got "36"'),
        ({"name": "", "age": 36}, 8 / 9, '/name: "" is shorter than 1'),
        ({"name": "Ada", "age": 151}, 8 / 9, "/age: 151 is above 150"),
        # email might be what is asked for, so it counts.
        ({"name": "Ada"}, 4 / 10, "/: no 'age', which is required"),
        ({}, 1 / 10, "/: no 'name', which is required"),
        # No others: one that is one too many leaves a third.
        ({"name": "Ada", "age": 36, "x": 1}, (8 + 1 / 3) / 9, "/x: is not allowed here"),
        ({"name": "Ada", "age": 36, "x": 1, "y": 1}, (8 + 1 / 5) / 9, "/x: is not allowed here"),
        ({"name": "Ada", "age": 36, "email": 1}, 8 / 10, "/email: expected string, got 1"),
        ({"name": 5, "age": "36", "x": 1}, 3 / 9, '/age: expected integer, got "36"'),
        ([], 0.0, "/: expected object, got an array of 0"),
        (None, 0.0, "/: expected object, got null"),
    ],
)
def test_object_earns_the_share_of_its_leaves(
    backend: str, value: Any, leaves: float, reason: str
) -> None:
    found = scored(value, PERSON)

    assert found.value == pytest.approx(0.95 * leaves)
    assert found.reason == reason


def test_valid_object_earns_all_and_has_no_reason(backend: str) -> None:
    assert scored({"name": "Ada", "age": 36}, PERSON) == Score(1.0, "", {"limit_hits": 0.0})


def test_strict_mode_pays_valid_values_only(backend: str) -> None:
    assert scored({"name": "Ada", "age": 36}, PERSON, mode="strict").value == 1.0
    assert scored({"name": "Ada", "age": "36"}, PERSON, mode="strict").value == 0.0


def test_items_are_worth_what_the_wrong_ones_leave(backend: str) -> None:
    schema = {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 9}

    # type 1, maxItems 1, items 2: one item lacks 1 of 2, one all: 1 / (1 + 2 * 1.5).
    assert scored([1, 1, -1, "a"], schema).value == pytest.approx(0.95 * (2 + 2 / 4) / 4)
    assert scored([1, 1, -1, "a"], schema).reason == "/2: -1 is below 0"


@pytest.mark.parametrize("least", [{}, {"minItems": 1}])
def test_right_items_do_not_dilute_a_wrong_one(backend: str, least: dict[str, int]) -> None:
    schema = {"type": "array", "items": {"type": "integer"}, **least}

    # items 1, of which one wrong item leaves a third; two leave a fifth.
    n_leaves = 2 + len(least)
    alone = 0.95 * (n_leaves - 1 + 1 / 3) / n_leaves
    for wrong in (["a"], ["a", 1], [1] * 1000 + ["a"]):
        assert scored(wrong, schema).value == pytest.approx(alone)
    assert scored(["a", "a"], schema).value == pytest.approx(
        0.95 * (n_leaves - 1 + 1 / 5) / n_leaves
    )


def test_right_members_of_a_map_do_not_dilute_a_wrong_one(backend: str) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": {"type": "integer"},
    }

    # type 1, required 1, name 1, others 1.
    many = {f"k{i}": i for i in range(100)}
    for value in ({"name": "", "k": "x"}, {"name": "", "k": "x", **many}):
        assert scored(value, schema).value == pytest.approx(0.95 * (3 + 1 / 3) / 4)
    for value in ({"name": 1}, {"name": 1, **many}):
        assert scored(value, schema).value == pytest.approx(0.95 * 3 / 4)


def test_tuple_pays_for_what_may_be_left_out(backend: str) -> None:
    schema = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}

    # type 1, the first 0, the second 1 whether it is there or not.
    assert scored(["a"], schema).value == scored(["a", "b"], schema).value
    assert scored(["a"], schema).value == pytest.approx(0.95 * 2 / 3)


def test_members_that_are_lacking_in_a_map_count_as_wrong(backend: str) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2}

    # type 1, minProperties 0 of 1, members as if two or one were wrong: 1/5 and 1/3.
    assert scored({}, schema).value == pytest.approx(0.95 * (1 + 1 / 5) / 3)
    assert scored({"a": 1}, schema).value == pytest.approx(0.95 * (1 + 1 / 3) / 3)


def test_value_that_breaks_the_discriminator_never_earns_more(backend: str) -> None:
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["card", "cash"]}, "number": {"type": "string"}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "card"}}},
        "then": {"required": ["number"], "properties": {"number": {"minLength": 4}}},
    }

    # type 1, required 1, kind 1, if 2: of these none without the number, which counts 1 itself.
    assert scored({"kind": "card"}, schema).value == pytest.approx(0.95 * 3 / 6)
    assert scored({"kind": None}, schema).value == pytest.approx(0.95 * 2 / 5)
    assert scored({"kind": "cheque"}, schema).value == pytest.approx(0.95 * 2 / 5)
    # Another member is wrong, of which `if` says nothing: number 0 of 1, no `then`.
    assert scored({"kind": "cash", "number": "1"}, schema).value == 1.0


def test_if_that_does_not_apply_is_paid_beside_another_fault(backend: str) -> None:
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["card", "cash"]}, "note": {"maxLength": 3}},
        "if": {"properties": {"kind": {"const": "card"}}, "required": ["kind"]},
        "then": {"required": ["number"]},
    }

    # type 1, kind 1, note 0 of 1, if 1.
    assert scored({"kind": "cash", "note": "long"}, schema).value == pytest.approx(0.95 * 3 / 4)


def test_wrong_type_where_an_object_belongs_never_earns_more_than_an_empty_one(
    backend: str,
) -> None:
    geo = {
        "type": "object",
        "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
        "required": ["lat", "lon"],
    }
    place = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "geo": geo},
        "required": ["name", "geo"],
        "additionalProperties": False,
    }
    good = {"lat": 1, "lon": 2}

    empty = scored({"name": "x", "geo": {}}, place).value
    for wrong in (None, 3, [], "x"):
        assert scored({"name": "x", "geo": wrong}, place).value <= empty
    many = {"type": "array", "items": geo, "uniqueItems": True}
    assert scored([good, {"lat": 2, "lon": 3}, 3], many).value <= (
        scored([good, {"lat": 2, "lon": 3}, {}], many).value
    )


def test_items_that_are_lacking_count_as_wrong(backend: str) -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": 2}

    # type 1, minItems 0 of 1, items as if one or two were wrong: 1/3 and 1/5.
    assert scored([1], schema).value == pytest.approx(0.95 * (1 + 1 / 3) / 3)
    assert scored([], schema).value == pytest.approx(0.95 * (1 + 1 / 5) / 3)
    assert scored([], schema).reason == "/: 0 items, at least 2 expected"


def test_more_right_items_of_the_same_kind_do_not_hide_a_missing_member(backend: str) -> None:
    schema = {
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"type": "integer"}}, "a": {"const": 1}},
        "required": ["list", "a"],
    }

    few, many = scored({"list": [1]}, schema), scored({"list": [1] * 1000}, schema)

    # type 1, required 1 of 2, list 2, a 0 of 1.
    assert few.value == many.value == pytest.approx(0.95 * 4 / 6)


def test_nearest_branch_is_paid_and_named(backend: str) -> None:
    card = {"properties": {"kind": {"const": "card"}, "no": {"type": "string"}}}
    iban = {"properties": {"kind": {"const": "iban"}, "iban": {"type": "string"}}}
    schema = {
        "type": "object",
        "anyOf": [{**card, "required": ["kind", "no"]}, {**iban, "required": ["kind", "iban"]}],
    }

    # type 1, the branch 4: required 2, kind 1, no 0.
    found = scored({"kind": "card", "no": 1}, schema)

    assert found.value == pytest.approx(0.95 * 4 / 5)
    assert found.reason == (
        "/no: expected string, got 1 (no branch of anyOf fits; this is the nearest)"
    )


def test_two_branches_of_one_of_cost_its_leaf(backend: str) -> None:
    schema = {"oneOf": [{"type": "integer"}, {"type": "number"}]}

    # The branch 1, only one 0.
    assert scored(1, schema).value == pytest.approx(0.95 * 1 / 2)
    assert scored(1, schema).reason == "/: 2 branches of oneOf fit, and only one may"


def test_branch_of_if_is_paid(backend: str) -> None:
    schema = {
        "type": "object",
        "if": {"properties": {"a": {"const": 1}}},
        "then": {"required": ["b", "c"]},
        "else": {"required": ["d"]},
    }

    assert scored({"a": 1, "b": 1}, schema).value == pytest.approx(0.95 * 2 / 3)
    assert scored({"a": 2, "d": 1}, schema).value == 1.0


def test_pointer_of_the_reason_is_escaped(backend: str) -> None:
    schema = {"properties": {"a/b~": {"items": {"type": "string"}}}}

    assert scored({"a/b~": ["x", 1]}, schema).reason == "/a~1b~0/1: expected string, got 1"


def test_reason_is_one_short_line(backend: str) -> None:
    found = scored("x\n" * 1000, {"pattern": "^y", "maxLength": 10**6})

    assert "\n" not in found.reason
    assert len(found.reason) < 200
    assert scored([1] * 1000, {"maxItems": 1}).reason == "/: 1000 items, at most 1 expected"


def test_recursive_schema_has_credit(backend: str) -> None:
    schema = {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "value": {"type": "integer"},
                    "next": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]},
                },
                "required": ["value", "next"],
            }
        },
        "$ref": "#/$defs/node",
    }
    good = {"value": 1, "next": {"value": 2, "next": {"value": 3, "next": None}}}
    bad = {"value": 1, "next": {"value": 2, "next": {"value": "3", "next": None}}}
    worse = {"value": "1", "next": {"value": 2, "next": {"value": "3", "next": None}}}

    assert scored(good, schema).value == 1.0
    assert 0.0 < scored(worse, schema).value < scored(bad, schema).value < 1.0


def test_draft_is_named_by_the_schema_or_by_the_option(backend: str) -> None:
    tuple_of_7 = {"items": [{"type": "integer"}, {"type": "string"}]}
    named = {"$schema": "http://json-schema.org/draft-07/schema#", **tuple_of_7}

    assert scored([1, "a"], named).value == 1.0
    assert scored([1, 2], named).reason == "/1: expected string, got 2"
    assert scored([1, 2], tuple_of_7, draft="7").value < 1.0
    assert "/items" in Json()(Completion("[1]"), tuple_of_7).reason


def test_formats_are_asserted_when_asked(backend: str) -> None:
    schema = {"type": "string", "format": "date"}

    assert scored("2026-02-30", schema).value == 1.0
    found = scored("2026-02-30", schema, assert_formats=True)
    assert found.value == pytest.approx(0.95 * 1 / 2)
    assert found.reason == '/: "2026-02-30" is no date'


def test_format_that_cannot_be_asserted_is_an_error(python_only: None) -> None:
    reward = Json(assert_formats=True)

    assert reward.check_inputs({"format": "uri"}) == (
        "the schema cannot be used: /format: the format 'uri' can only be asserted with "
        "jsonschema-rs; install grpo-reward-schema[fast], or leave assert_formats out"
    )
    assert Json().check_inputs({"format": "uri"}) is None


_NO_OTHERS = {"additionalProperties": False, "properties": {"a": {}}}


@pytest.mark.parametrize(
    ("schema", "whole", "without"),
    [
        # Two schemas forbid what a third requires.
        ({"required": ["b"], "allOf": [_NO_OTHERS, {**_NO_OTHERS}]}, {"a": 1, "b": 1}, {"a": 1}),
        # The bad one of two members that are worth their mean.
        (
            {
                "required": ["ok", "x"],
                "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 9},
            },
            {"ok": 1, "x": "bad"},
            {"ok": 1},
        ),
        # Without a required member further down two items are no longer equal.
        (
            {"items": {"required": ["k"]}, "uniqueItems": True},
            [{"k": 1, "a": 1}, {"k": 1, "a": 1}],
            [{"a": 1}, {"k": 1, "a": 1}],
        ),
        ({"required": ["k"], "maxProperties": 0, "enum": [{}]}, {"k": 1}, {}),
        ({"required": ["k"], "not": {"required": ["k"]}, "maxProperties": 0}, {"k": 1}, {}),
        ({"required": ["k"], "anyOf": [{"maxProperties": 0, "enum": [{}]}]}, {"k": 1}, {}),
    ],
)
def test_deleting_what_is_required_does_not_pay(
    backend: str, schema: dict[str, Any], whole: Any, without: Any
) -> None:
    assert scored(without, schema).value <= scored(whole, schema).value < 1.0


def test_value_that_is_too_deep_for_the_stack_scores_zero(python_only: None) -> None:
    chain = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}]} for i in range(30)}
    last = {"d30": {"items": {"$ref": "#/$defs/d0"}}}
    text = "[" * 120 + "]" * 120

    found = Json()(Completion(text), {"$defs": {**chain, **last}, "$ref": "#/$defs/d0"})

    assert isinstance(found, Score)
    assert found == Score(
        0.0, "limit: the value is nested too deep for this schema", {"limit_hits": 1.0}
    )


def test_nearest_branch_is_said_once_however_deep(backend: str) -> None:
    schema = {
        "$defs": {
            "n": {"anyOf": [{"type": "null"}, {"items": {"$ref": "#/$defs/n"}, "type": "array"}]}
        },
        "$ref": "#/$defs/n",
    }

    assert scored([[[["x"]]]], schema).reason == (
        '/0/0/0/0: expected null, got "x" (no branch of anyOf fits; this is the nearest)'
    )


def test_share_does_not_depend_on_what_was_scored_before(backend: str) -> None:
    schema = {
        "$defs": {
            "a": {"properties": {"b": {"$ref": "#/$defs/b"}, "s": {"type": "string"}}},
            "b": {"properties": {"a": {"$ref": "#/$defs/a"}}, "type": "object"},
        },
        "properties": {"x": {"$ref": "#/$defs/a"}, "y": {"$ref": "#/$defs/b"}},
        "maxProperties": 2,
    }
    value = {"x": {"s": 1, "b": {}}, "y": {"a": {"s": "", "b": 1}}}

    alone = Compiled(schema).credit(value)
    other = Compiled(schema)
    other.credit({"y": {"a": {"s": 1}}})

    assert other.credit(value) == alone


def test_long_row_of_references_has_credit(backend: str) -> None:
    row = {f"d{i}": {"properties": {"c": {"$ref": f"#/$defs/d{i + 1}"}}} for i in range(1000)}
    schema = {"$defs": {**row, "d1000": {}}, "$ref": "#/$defs/d0", "type": "object", "minimum": 0}

    assert scored({"c": {"c": 1}}, schema).value == 1.0
    assert scored({"c": 1}, {**schema, "minProperties": 2}).value > 0.5


# Each value is one with something wrong, and then with that deleted, bit by bit.
_BODY = {
    "type": "object",
    "required": ["a", "b", "c"],
    "properties": {name: {"type": "integer"} for name in "abc"},
    "additionalProperties": False,
}
_WRONG = {"a": "x", "b": "x", "c": "x"}
_OF_KIND = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"enum": ["x", "y"]}, "body": _BODY},
}
_HEAVY = {"type": "integer", **{key: 0 for key in ("minimum", "maximum", "const")}, "enum": [0]}
DELETED: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "minItems further down": (
        {
            "type": "object",
            "required": ["l"],
            "additionalProperties": False,
            "maxProperties": 3,
            "properties": {"l": {"type": "array", "minItems": 2, "items": {"type": "integer"}}},
        },
        [{"l": [1, "x"]}, {"l": [1]}, {"l": []}],
    ),
    "minItems": (
        {"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True},
        [[1, "x", 2], [1, 2], [1]],
    ),
    "minItems of heavy items": (
        {"type": "array", "items": _HEAVY, "minItems": 3},
        [[0, 0, "x"], [0, 0], [0]],
    ),
    "contains": (
        {"items": _HEAVY, "contains": {"type": "string"}, "minContains": 2},
        [["x", "x"], ["x"], []],
    ),
    "minProperties": (
        {
            "type": "object",
            "minProperties": 3,
            "maxProperties": 5,
            "propertyNames": {"pattern": "^[a-z]$"},
            "additionalProperties": {"type": "integer"},
        },
        [{"a": 1, "b": "x", "c": 2}, {"a": 1, "c": 2}, {"a": 1}],
    ),
    "minProperties, all wrong": (
        {
            "type": "object",
            "minProperties": 3,
            "maxProperties": 5,
            "propertyNames": {"pattern": "^[a-z]$"},
            "additionalProperties": {"type": "integer"},
        },
        [{"a": "x", "b": "x", "c": "x"}, {}],
    ),
    "then": (
        {
            **_OF_KIND,
            "if": {"properties": {"kind": {"const": "x"}}},
            "then": {"required": ["body"]},
        },
        [{"kind": "x", "body": _WRONG}, {"kind": "x"}],
    ),
    "dependentRequired": (
        {
            "type": "object",
            "properties": {"card": {"type": "integer"}, "billing": _BODY, "zip": _BODY},
            "dependentRequired": {"card": ["billing", "zip"]},
        },
        [{"card": 1, "billing": _WRONG, "zip": _WRONG}, {"card": 1, "zip": _WRONG}, {"card": 1}],
    ),
    "dependentRequired of a map": (
        {
            "properties": {"card": {"type": "integer"}},
            "additionalProperties": _BODY,
            "dependentRequired": {"card": ["billing", "zip"]},
        },
        [{"card": 1, "billing": _WRONG, "zip": _WRONG}, {"card": 1, "zip": _WRONG}, {"card": 1}],
    ),
    "anyOf": (
        {
            "properties": {"email": {"type": "string"}, "phone": {"type": "string"}},
            "anyOf": [{"required": ["email"]}, {"required": ["phone"]}],
        },
        [{"email": 1}, {}],
    ),
}


@pytest.mark.parametrize(("schema", "values"), DELETED.values(), ids=DELETED)
def test_deleting_what_is_asked_for_in_another_way_does_not_pay(
    backend: str, schema: dict[str, Any], values: list[Any]
) -> None:
    scores = [scored(value, schema).value for value in values]

    assert scores == sorted(scores, reverse=True)
    assert scores[0] < 1.0


_FOUR = {"required": ["q1", "q2", "q3", "q4"]}
_KINDS = {
    "type": "object",
    "required": ["kind"],
    "properties": {"kind": {"enum": ["a", "b", "c"]}},
}


def _of_kind(kind: str, then: dict[str, Any], other: Any = True) -> dict[str, Any]:
    return {"if": {"properties": {"kind": {"const": kind}}}, "then": then, "else": other}


@pytest.mark.parametrize(
    "choice",
    [
        _of_kind("a", {"required": ["p"]}, _of_kind("b", _FOUR)),
        {"allOf": [_of_kind("a", {"required": ["p"]}), _of_kind("b", _FOUR)]},
        {"anyOf": [{"allOf": [_of_kind("b", _FOUR), _of_kind("a", {"required": ["p"]})]}]},
        {"oneOf": [{"anyOf": [_of_kind("b", _FOUR)]}, False]},
    ],
    ids=["else if", "allOf", "anyOf", "oneOf"],
)
def test_wrong_discriminator_does_not_pay_however_the_choice_is_written(
    backend: str, choice: dict[str, Any]
) -> None:
    schema = {**_KINDS, **choice}
    right = scored({"kind": "b"}, schema).value

    for wrong in ({"kind": "zzz"}, {"kind": "zzz", "p": 1}, {"kind": 1, "p": 1}, {"p": 1}):
        assert scored(wrong, schema).value <= right < 1.0


def test_wrong_discriminator_hides_what_may_be_missing_from_the_choice_beside_it() -> None:
    schema = {
        "required": ["kind"],
        "properties": {"kind": {"enum": ["x", "y"]}},
        "if": {"properties": {"kind": {"const": "x"}}},
        "then": {"required": ["p"]},
        "anyOf": [{"required": ["q", "r"]}, {}],
    }
    compiled = Compiled(schema)

    # Five leaves: two of kind, p, and two of the larger branch.
    assert compiled.credit({"kind": "x"})[0] == pytest.approx(2 / 5)
    assert compiled.credit({"kind": "w"})[0] == pytest.approx(1 / 5)
