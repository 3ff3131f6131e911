"""Schemas come from data sets: nothing is fetched, nothing is read, nothing takes for ever."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from grpo_reward_schema import Json

from grpo_core import Completion, Fail, load_reward


def refused(schema: Any, **options: Any) -> str:
    reward = Json(**options)
    text = reward.check_inputs(schema)
    result = reward(Completion('{"a": 1}'), schema)
    assert isinstance(result, Fail)
    assert text == result.reason
    return str(text)


def test_nothing_is_fetched_from_the_network(backend: str, listener: Any) -> None:
    url = listener.url
    for schema in (
        {"$ref": url},
        {"properties": {"a": {"$ref": url + "#/x"}}},
        {"$id": url, "properties": {"a": {"$ref": "other.json"}}},
        {"$schema": url},
        {"$dynamicRef": url},
        {"properties": {"a": {"$schema": url, "type": "integer"}}},
        {"anyOf": [{"not": {"$ref": url}}]},
    ):
        Json().check_inputs(schema)
        Json()(Completion('{"a": 1}'), schema)

    assert f"/properties/a/$ref: '{url}' is not in the schema" in refused(
        {"properties": {"a": {"$ref": url}}}
    )
    assert listener.connections == 0


def test_no_file_is_read(backend: str, tmp_path: Path) -> None:
    planted = tmp_path / "planted.json"
    planted.write_text('{"type": "object"}')

    for ref in (planted.as_uri(), str(planted), f"file://{planted}", "planted.json"):
        assert "/$ref" in refused({"$ref": ref})


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "objekt"}, "/type: "),
        ({"properties": {"a": {"minimum": "1"}}}, "/properties/a/minimum: "),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "/properties/a/$ref: '#/$defs/b' is not"),
        ({"items": {"pattern": "(a"}}, "/items"),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "/$schema: expected one of"),
        ({"$schema": 7}, "/$schema: expected one of"),
        ({"$ref": "#"}, "/: the schema refers to itself for the same value"),
        ({"anyOf": [{"$ref": "#"}]}, "/: the schema refers to itself for the same value"),
        (
            {
                "$defs": {
                    "a": {"allOf": [{"$ref": "#/$defs/b"}]},
                    "b": {"not": {"$ref": "#/$defs/a"}},
                },
                "$ref": "#/$defs/a",
            },
            "/$defs/a: the schema refers to itself for the same value",
        ),
        (
            {"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}},
            "/properties/a/$schema: a part of the schema is of another draft",
        ),
        ({"pattern": "a" * 2001}, "/pattern: "),
        ({"enum": ["a" * 500_000]}, "/: the schema has 500"),
    ],
)
def test_schema_is_refused_with_the_place(backend: str, schema: Any, reason: str) -> None:
    assert refused(schema).startswith(f"the schema cannot be used: {reason}")


def test_deep_schema_is_refused(backend: str) -> None:
    schema: dict[str, Any] = {}
    for _ in range(120):
        schema = {"items": schema}

    assert refused(schema) == (
        "the schema cannot be used: /: the schema is nested deeper than 100 levels"
    )


def test_doubled_references_are_refused_in_no_time(backend: str) -> None:
    doubled = {
        f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]}
        for i in range(40)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": {**doubled, "d40": {"type": "object"}}}
    start = time.process_time()

    assert "schemas apply in over 10000 ways to one value" in refused(schema)
    assert time.process_time() - start < 10.0


def test_references_into_the_schema_work(backend: str) -> None:
    schema = {
        "$id": "https://example.com/a",
        "$defs": {"b": {"$id": "b", "type": "integer"}, "c": {"$anchor": "c", "type": "string"}},
        "properties": {
            "x": {"$ref": "https://example.com/b"},
            "y": {"$ref": "#c"},
            "z": {"$ref": "#"},
        },
    }
    reward = Json()

    assert reward(Completion('{"x": 1, "y": "", "z": {"x": 2}}'), schema).reason == ""
    assert reward(Completion('{"z": {"x": "2"}}'), schema).reason == (
        '/z/x: expected integer, got "2"'
    )


def test_reference_inside_data_is_no_reference(backend: str) -> None:
    schema = {"const": {"$ref": "http://127.0.0.1:9/"}, "default": {"$ref": "file:///etc/passwd"}}

    assert Json()(Completion(json.dumps(schema["const"])), schema).reason == ""


def test_name_of_a_draft_inside_data_is_data(backend: str) -> None:
    value = {"$schema": "https://json-schema.org/draft/2020-12/schema"}

    assert Json()(Completion(json.dumps(value)), {"const": value}).reason == ""
    assert Json()(Completion("{}"), {"const": value}).reason != ""


def test_bad_row_fails_and_says_why() -> None:
    reward = load_reward("schema/json")

    outcome = reward(Completion("{}"), schema={"type": "objekt"})

    assert outcome.status == "failed"
    assert outcome.reason.startswith("the schema cannot be used: /type: ")


def test_schema_deeper_than_the_stack_is_refused_with_the_limit(backend: str) -> None:
    schema: dict[str, Any] = {}
    for _ in range(3_000):
        schema = {"items": schema}

    assert refused(schema) == (
        "the schema cannot be used: /: the schema is nested deeper than 100 levels"
    )


@pytest.mark.parametrize("odd", [{1, 2}, print, object()])
def test_schema_that_holds_what_json_has_not_is_refused(backend: str, odd: object) -> None:
    assert refused({"enum": odd}).startswith(
        f"the schema cannot be used: /enum: expected what JSON has, got a {type(odd).__name__}"
    )


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "object", "required": None}, "/required"),
        ({"enum": None}, "/enum"),
        ({"properties": {"a": {"type": None, "const": 1}}}, "/properties/a/type"),
        ({"properties": {"a": {"type": "string"}, "b": None}}, "/properties/b"),
        ({"anyOf": [{"type": "string"}, {"type": "null", "minimum": None}]}, "/anyOf/1/minimum"),
    ],
)
def test_nulls_that_arrow_added_are_named(backend: str, schema: dict[str, Any], place: str) -> None:
    assert refused(schema) == (
        f"the schema cannot be used: {place}: is null. A column of objects gets the keys of all "
        f"rows, and null where a row had none; store each schema as JSON text (json.dumps)"
    )


def test_null_as_data_is_no_fault(backend: str) -> None:
    schema = {"properties": {"a": {"const": None, "default": None, "enum": [None]}}}

    assert Json()(Completion('{"a": null}'), schema).reason == ""


NO_SCHEMAS: list[tuple[Any, str]] = [
    (5, "/$ref: '#/x' leads to 5, which is no schema"),
    (None, "/x: is null"),
    ([], "/$ref: '#/x' leads to [], which is no schema"),
    ("a", "/$ref: '#/x' leads to \"a\", which is no schema"),
    ({"type": "strin"}, "/x/type: "),
    ({"required": 5}, "/x/required: "),
    ({"allOf": 5}, "/x/allOf: "),
    ({"anyOf": []}, "/x/anyOf: "),
    ({"properties": {"a": {"items": 5}}}, "/x/properties/a/items: "),
    ({"properties": [1]}, "/x/properties: "),
    ({"minimum": "a"}, "/x/minimum: "),
    ({"$ref": 5}, "/x/$ref: "),
    ({"$id": 5, "type": "object"}, "/x/$id: "),
]


@pytest.mark.parametrize(("target", "reason"), NO_SCHEMAS, ids=range(len(NO_SCHEMAS)))
def test_reference_to_what_is_no_schema_is_refused(backend: str, target: Any, reason: str) -> None:
    assert refused({"$ref": "#/x", "x": target}).startswith(f"the schema cannot be used: {reason}")
    inner = {"properties": {"b": {"$ref": "#/x"}}, "x": target}
    assert refused(inner).startswith("the schema cannot be used: /")


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"$ref": "#/enum/0", "enum": [{"minimum": "a"}]}, "/enum/0/minimum: "),
        ({"$ref": "#/default", "default": {"minimum": "a"}}, "/default/minimum: "),
        ({"$ref": "#/x/5", "x": [1]}, "/$ref: '#/x/5' is not in the schema"),
        ({"$ref": "#/x/a", "x": [1]}, "/$ref: '#/x/a' is not in the schema"),
    ],
)
def test_reference_into_data_is_checked_where_it_leads(
    backend: str, schema: Any, place: str
) -> None:
    assert refused(schema).startswith(f"the schema cannot be used: {place}")


def test_reference_into_data_that_is_a_schema_works(backend: str) -> None:
    schema = {"$ref": "#/default", "default": {"type": "object", "required": ["b"]}}

    assert Json(mode="strict")(Completion('{"b": 1}'), schema).value == 1.0
    assert Json(mode="strict")(Completion('{"a": 1}'), schema).value == 0.0


DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize("draft", ["4", "6", "7", "2019-09", "2020-12"])
def test_dependencies_may_be_lists_beside_schemas(backend: str, draft: str) -> None:
    schema = {
        "dependencies": {"a": {"required": ["c"]}, "b": ["a"]},
        "properties": {"dependencies": {"type": ["string", "integer"]}},
    }
    reward = Json(draft=draft, mode="strict")  # type: ignore[arg-type]

    for text, points in (
        ('{"b": 1}', 0.0),
        ('{"b": 1, "a": 1}', 0.0),
        ('{"b": 1, "a": 1, "c": 1}', 1.0),
        ('{"dependencies": 1}', 1.0),
        ('{"dependencies": []}', 0.0),
    ):
        assert reward(Completion(text), schema).value == points, text


@pytest.mark.parametrize("draft", ["7", "2019-09", "2020-12"])
def test_schemas_in_dependencies_are_checked(backend: str, draft: str) -> None:
    assert "/dependencies/a/$ref: 'http://127.0.0.1:9/x' is not in the schema" in refused(
        {"dependencies": {"a": {"$ref": "http://127.0.0.1:9/x"}}}, draft=draft
    )
    assert "the schema refers to itself for the same value" in refused(
        {"dependencies": {"a": {"$ref": "#"}}}, draft=draft
    )
    assert "/dependencies/a" in refused({"dependencies": {"a": {"pattern": "a++"}}}, draft=draft)
    assert refused({"dependencies": {"a": {"type": "strin"}}}, draft=draft).startswith(
        "the schema cannot be used: /dependencies/a"
    )


@pytest.mark.parametrize("content", [True, {"type": "integer"}])
def test_member_may_be_named_like_a_keyword(backend: str, content: Any) -> None:
    schema = {"properties": {"patternProperties": content}, "unevaluatedProperties": False}

    assert Json()(Completion('{"patternProperties": 1}'), schema).value == 1.0


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"minimum": float("nan")}, "/minimum: expected a finite number, got nan"),
        ({"enum": [1, float("inf")]}, "/enum/1: expected a finite number, got inf"),
        ({"required": ["\ud800"]}, "/required/0: holds half of a surrogate pair"),
        ({"properties": {"\ud800": {}}}, "/properties: the key '\\ud800' holds half of a"),
        ({"properties": {"a": {}, 1: {}}}, "/properties: expected text as keys, got 1 of type int"),
    ],
)
def test_schema_of_a_script_that_no_text_can_hold_is_refused(
    backend: str, schema: Any, reason: str
) -> None:
    assert refused(schema).startswith(f"the schema cannot be used: {reason}")


def test_reason_is_no_longer_than_a_line_whatever_the_key(backend: str) -> None:
    found = Json()(
        Completion(json.dumps({"k" * 100_000: 1})),
        {"type": "object", "additionalProperties": False},
    )

    assert found.reason == f"/{'k' * 80}…: is not allowed here"
    long = Json()(Completion("{}"), {"required": ["k" * 100_000]})
    assert len(long.reason) < 600
    recursive = {"type": "object", "additionalProperties": {"$ref": "#"}}
    text = ('{"' + "k" * 50 + '":') * 100 + "1" + "}" * 100
    deep = Json()(Completion(text), recursive)
    assert len(deep.reason) < 600
    assert deep.reason.endswith(": expected object, got 1")


@pytest.mark.parametrize(
    ("draft", "remarks"),
    [
        ("4", {"duration", "uuid", "json-pointer", "relative-json-pointer"}),
        ("6", {"duration", "uuid", "relative-json-pointer"}),
        ("7", {"duration", "uuid"}),
        ("2019-09", set()),
        ("2020-12", set()),
    ],
)
def test_format_of_a_later_draft_is_a_remark(backend: str, draft: Any, remarks: set[str]) -> None:
    reward = Json(draft=draft, assert_formats=True, mode="strict")
    names = "date time date-time duration email ipv4 ipv6 uuid json-pointer relative-json-pointer"

    found = {name for name in names.split() if reward(Completion('"~("'), {"format": name}).value}
    assert found == remarks


def test_format_that_a_draft_does_not_know_needs_no_package(backend: str) -> None:
    schema = {"format": "iri"}

    assert Json(draft="6", assert_formats=True).check_inputs(schema) is None
