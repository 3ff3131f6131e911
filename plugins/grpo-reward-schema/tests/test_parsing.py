"""What is JSON and within the limits; hostile texts are named and never raise anything else."""

from __future__ import annotations

import pytest
from grpo_reward_schema import Json
from grpo_reward_schema.parsing import Limits, NotJson

from grpo_core import Completion, Score


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' is there twice"),
        ('{"a": {"b": 1, "b": 1}}', "the key 'b' is there twice"),
        ("NaN", "NaN is not JSON"),
        ("[Infinity]", "Infinity is not JSON"),
        ("-Infinity", "-Infinity is not JSON"),
        ("1e999", "the number 1e999 is too large"),
        ("1" * 301, "a number of more than 300 digits"),
        ("0." + "1" * 301, "a number of more than 300 digits"),
        ('"\\ud800"', "half of a surrogate pair in a string"),
        ('{"\\udfff": 1}', "half of a surrogate pair in a string"),
        ('"\ud800"', "half of a surrogate pair in a string"),
        ("[" * 129 + "]" * 129, "nested deeper than 128 levels"),
        ('{"a":' * 100_000, "nested deeper than 128 levels"),
        ('"\\x"', "not JSON: Invalid \\escape at line 1 column 2"),
        ('"\\u12"', "not JSON: Invalid \\uXXXX escape at line 1 column 3"),
        ('"a\x00"', "not JSON: Invalid control character at at line 1 column 3"),
        (
            "{'a': 1}",
            "not JSON: Expecting property name enclosed in double quotes at line 1 column 2",
        ),
        ("01", "not JSON: Extra data at line 1 column 2"),
    ],
)
def test_text_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(NotJson) as caught:
        Limits().parse(text)

    assert str(caught.value) == why


def test_what_is_on_the_limit_is_taken() -> None:
    assert Limits().parse("9" * 300) == int("9" * 300)
    assert Limits(max_depth=2).parse("[[]]") == [[]]
    assert Limits().parse('"\\ud83d\\ude00 \\u0000"') == "😀 \x00"
    assert Limits().parse("[" + "[]," * 500 + "[]]") == [[]] * 501
    assert Limits(max_depth=1).parse('["[[[["]') == ["[[[["]


def test_last_of_equal_keys_counts_where_it_may() -> None:
    assert Limits(duplicate_keys="last").parse('{"a": 1, "a": 2}') == {"a": 2}


def test_size_is_that_in_bytes() -> None:
    Limits(max_bytes=4).check_size("éé")
    for text in ("ééa", "abcde", "€€", "\ud800\ud800"):
        with pytest.raises(NotJson, match="longer than 4 bytes"):
            Limits(max_bytes=4).check_size(text)


HOSTILE = (
    "[" * 100_000,
    '{"a":' * 100_000 + "1" + "}" * 100_000,
    '["' + "\\" * 99_999,
    '{"a": ' + "9" * 100_000 + "}",
    '{"a": 1e' + "9" * 1000 + "}",
    '{"a": "\ud800"}',
    '{"\ud800": 1}',
    "\x00{}\x00",
    "{" * 1000 + "}" * 1000,
    "```json\n" * 1000,
    '{"__proto__": {"a": 1}, "constructor": {}}',
    '{"$ref": "http://127.0.0.1:9/a"}',
    "-" * 1000,
    "[-]",
    '{"a": -0.0, "b": -0}',
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("schema", [{}, {"type": "object", "required": ["a"]}, {"enum": [1, "a"]}])
def test_hostile_text_has_a_score(backend: str, text: str, schema: dict[str, object]) -> None:
    scored = Json()(Completion(text), schema)

    assert isinstance(scored, Score)
    assert 0.0 <= scored.value <= 1.0
    assert scored.reason or scored.value == 1.0
