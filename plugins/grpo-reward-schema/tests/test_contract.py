"""The contract of grpo-core for every reward of the plugin for JSON."""

from __future__ import annotations

from grpo_core.testing import RewardContract

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
GOOD = (
    '{"name": "Ada", "age": 36}',
    '<think>{"name": ""}</think>\n```json\n{"name": "Ada", "age": 36}\n```',
    'Here it is: {"age": 36, "name": "Ada"}.',
)
BAD = (
    "",
    "Ada is 36.",
    '{"name": "Ada"}',
    '{"name": "Ada", "age": "36"}',
    '{"name": "Ada", "age": 36, "age": 36}',
    '{"name": "Ada", "age": 36',
    '<think>{"name": "Ada", "age": 36}',
)
ATTACKS = ("{}", "{" * 1000, "[" * 100_000, "[]" * 1000, '{"name": null, "age": null}', "null")


class TestJson(RewardContract):
    reward = "schema/json"
    inputs = {"schema": PERSON}
    good = GOOD
    bad = BAD
    attacks = ATTACKS


class TestJsonStrict(RewardContract):
    reward = "schema/json"
    options = {"mode": "strict", "extract": "whole"}
    inputs = {"schema": PERSON}
    good = GOOD[:1]
    bad = (*BAD, *GOOD[2:])
    attacks = ATTACKS


class TestJsonFields(RewardContract):
    reward = "schema/json_fields"
    inputs = {"gold": {"name": "Ada", "age": 36}}
    good = GOOD
    bad = (*BAD, '{"name": "Eva", "age": 36}', '{"name": "Ada", "age": 36, "x": 1}')
    attacks = ATTACKS


RECIPE = {
    "root": "recipe",
    "ordered": True,
    "children": [
        {"name": "title", "max": 1, "text": "nonempty"},
        {"name": "step", "min": 2, "text": "nonempty"},
    ],
}
GOOD_XML = (
    "<recipe><title>Tea</title><step>Boil</step><step>Pour</step></recipe>",
    "<think><recipe/></think>\n```xml\n<recipe><title>T</title><step>B</step><step>P</step>"
    "</recipe>\n```",
)
BAD_XML = (
    "",
    "Tea.",
    "<recipe><title>Tea</title><step>Boil</step></recipe>",
    "<recipe><title>Tea</title><step>Boil</step><step>Pour</recipe>",
    "<!DOCTYPE recipe>" + GOOD_XML[0],
    "<think>" + GOOD_XML[0],
)
XML_ATTACKS = ("<recipe/>", "<recipe>" * 1000, "<" * 100_000, "<a/>" * 100, "<recipe>&x;</recipe>")


class TestXml(RewardContract):
    reward = "schema/xml"
    options = {"elements": RECIPE}
    good = GOOD_XML
    bad = BAD_XML
    attacks = XML_ATTACKS


class TestXmlStrict(RewardContract):
    reward = "schema/xml"
    options = {"elements": RECIPE, "mode": "strict", "extract": "whole"}
    good = GOOD_XML[:1]
    bad = (*BAD_XML, *GOOD_XML[1:])
    attacks = XML_ATTACKS
