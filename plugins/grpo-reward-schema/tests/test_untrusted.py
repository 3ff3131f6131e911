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
        f"the schema cannot be used: /: expected what JSON has, got a {type(odd).__name__}"
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
