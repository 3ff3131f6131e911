"""Where jsonschema and jsonschema-rs are known to differ: here both say the same."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from grpo_reward_schema.compiled import Compiled
from grpo_reward_schema.drafts import BY_NAME
from grpo_reward_schema.patterns import LimitHit, translated


@pytest.mark.parametrize(
    ("schema", "value", "valid"),
    [
        ({"pattern": "^a$"}, "a\n", False),
        ({"pattern": r"^\d$"}, "٣", False),
        ({"pattern": r"^\w$"}, "é", False),
        ({"pattern": r"^[\W]$"}, "é", True),
        ({"pattern": r"^\s$"}, "\u00a0", True),
        ({"pattern": r"^[^\S]$"}, "\ufeff", True),
        ({"pattern": r"^\p{L}+$"}, "né", True),
        ({"pattern": r"^\p{Lu}"}, "né", False),
        ({"pattern": r"^\cA\/\-$"}, "\x01/-", True),
        ({"pattern": "^.$"}, "\r", False),
        ({"pattern": "^.$"}, "😀", True),
        ({"pattern": "^[[]$"}, "[", True),
        ({"pattern": r"^(?<y>[0-9]{4})-\u{1F600}$"}, "2026-😀", True),
        ({"pattern": "^(?!b)a"}, "ab", True),
        ({"patternProperties": {r"^\d$": False}}, {"٣": 1}, True),
        ({"patternProperties": {"^a$": True}, "additionalProperties": False}, {"a\n": 1}, False),
        ({"multipleOf": 0.01}, 0.07, True),
        ({"multipleOf": 0.01}, 19.99, True),
        ({"multipleOf": 0.01}, 19.995, False),
        ({"multipleOf": 0.3}, 0.9, True),
        ({"multipleOf": 0.5}, int("9" * 300), True),
        ({"multipleOf": 1}, 1e300, True),
        ({"multipleOf": 1e-8}, 12391239123, True),
        ({"multipleOf": 5}, 1.152921504606847e18, True),
        ({"items": {"multipleOf": 5}}, [1.152921504606847e18], True),
        ({"multipleOf": 0.3}, 1e299, False),
        ({"multipleOf": 3}, 9007199254740993, True),
        ({"multipleOf": 3}, 9007199254740994, False),
        ({"uniqueItems": True}, [1, True], True),
        ({"uniqueItems": True}, [1, 1.0], False),
        ({"uniqueItems": True}, [1, "1"], True),
        ({"uniqueItems": True}, [0, -0.0], False),
        ({"uniqueItems": True}, [1.5, 15e-1], False),
        ({"uniqueItems": True}, [[1], [True], {"a": 0}, {"a": False}], True),
        ({"uniqueItems": True}, [{"a": 1, "b": 2}, {"b": 2, "a": 1}], False),
        ({"const": 1}, True, False),
        ({"const": {"a": [0]}}, {"a": [False]}, False),
        ({"enum": [9007199254740993]}, 9007199254740992, False),
        ({"type": "integer"}, 42.0, True),
        ({"minLength": 2}, "😀", False),
        ({"dependencies": {"a": ["b"]}}, {"a": 1}, False),
        ({"maximum": 9007199254740992}, 9007199254740993, False),
    ],
)
def test_verdict_and_credit_agree(backend: str, schema: Any, value: Any, valid: bool) -> None:
    compiled = Compiled(schema)

    assert compiled.is_valid(value) is valid
    assert (compiled.credit(value)[0] == 1.0) is valid


def test_unique_items_cost_no_pairs(backend: str) -> None:
    items = [{"id": i, "tags": ["a", i]} for i in range(20_000)]
    compiled = Compiled({"uniqueItems": True})
    start = time.process_time()

    assert compiled.is_valid(items)
    assert not compiled.is_valid([*items, items[0]])
    assert compiled.credit([*items, items[0]])[0] == 0.0
    assert time.process_time() - start < 10.0


def test_unique_numbers_whose_hashes_collide_cost_no_more(backend: str) -> None:
    items = [i * (2**61 - 1) for i in range(40_000)]
    compiled = Compiled({"uniqueItems": True})
    start = time.process_time()

    assert compiled.is_valid(items)
    assert compiled.credit([*items, float(items[0])])[0] == 0.0
    assert compiled.credit([*items, str(items[1])])[0] == 1.0
    assert time.process_time() - start < 3.0


def test_pattern_that_runs_away_is_never_satisfied(backend: str) -> None:
    compiled = Compiled({"pattern": "^(a|aa)+$"})
    start = time.process_time()

    if backend == "python":
        with pytest.raises(LimitHit, match="takes over 1 s"):
            compiled.is_valid("a" * 60 + "c")
    else:
        assert compiled.is_valid("a" * 60 + "c") is False
    assert time.process_time() - start < 10.0


def test_pattern_at_its_limit_inside_not_is_no_verdict(backend: str) -> None:
    # Two look-aheads: no engine matches it in linear time.
    compiled = Compiled({"not": {"pattern": r"^(?=(a|aa)+$)(a|aa)+\1$"}})

    with pytest.raises(LimitHit):
        compiled.is_valid("a" * 70 + "b")


def test_anchors_of_python_are_no_part_of_a_pattern() -> None:
    assert translated(r"^\d[\]]$") == r"^[0-9][\]](?!\n)\Z"
    with pytest.raises(ValueError, match="ECMA-262"):
        translated(r"\Z")


def test_schema_is_the_same_in_any_order_of_keys(backend: str) -> None:
    from grpo_reward_schema.compiled import compiled
    from grpo_reward_schema.drafts import LATEST

    one = json.loads('{"type": "object", "required": ["a"]}')
    other = json.loads('{"required": ["a"], "type": "object"}')

    assert compiled(one, LATEST, False) is compiled(other, LATEST, False)
    assert compiled({"const": 1}, LATEST, False) is not compiled({"const": True}, LATEST, False)


@pytest.mark.parametrize(
    ("draft", "one", "other"),
    [
        ("2020-12", {"$anchor": "x"}, {"$anchor": "x"}),
        ("2020-12", {"$anchor": "x"}, {"$dynamicAnchor": "x"}),
        ("2019-09", {"$anchor": "x"}, {"$anchor": "x"}),
        ("2020-12", {"$id": "http://e.com/x"}, {"$id": "http://e.com/x"}),
        ("7", {"$id": "#x"}, {"$id": "#x"}),
        ("7", {"$id": "http://e.com/x"}, {"$id": "http://e.com/x"}),
        ("4", {"id": "#x"}, {"id": "#x"}),
    ],
)
def test_two_schemas_of_one_name_are_refused(
    backend: str, draft: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    names = {"a": {"type": "integer", **one}, "b": {"type": "string", **other}}
    key = "definitions" if draft in ("4", "7") else "$defs"

    with pytest.raises(ValueError, match="two schemas have the name"):
        Compiled({key: names}, draft=BY_NAME[draft])


def test_anchors_of_two_resources_may_be_the_same(backend: str) -> None:
    one, other = {"$id": "a", "$defs": {"x": {"$anchor": "x"}}}, {"$anchor": "x", "type": "integer"}
    compiled = Compiled({"$id": "http://e.com/", "$defs": {"a": one, "b": other}, "$ref": "#x"})

    assert compiled.is_valid(1)
    assert not compiled.is_valid("")


@pytest.mark.parametrize("keyword", ["prefixItems", "dependentRequired", "minContains"])
def test_credit_reads_no_keyword_of_a_later_draft(backend: str, keyword: str) -> None:
    wanted = {"prefixItems": [{"type": "string"}], "minContains": 9}
    value = {"dependentRequired": {"a": ["b"]}, **wanted}[keyword]
    schema = {keyword: value, "contains": {"type": "integer"}, "maxItems": 1, "maxProperties": 0}
    compiled = Compiled(schema, draft=BY_NAME["7"])

    assert compiled.is_valid([1])
    # contains 1, maxItems 0 of 1.
    assert compiled.credit([1, 1])[0] == 1 / 2
    assert compiled.credit({"a": 1})[0] == 0.0
