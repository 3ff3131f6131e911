"""`schema/json_fields`: values worked out by hand."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from grpo_reward_schema import JsonFields

from grpo_core import Completion, Fail, Score, load_reward

GOLD: dict[str, Any] = {"name": "Ada", "born": {"year": 1815, "city": "London"}, "tags": ["a", "b"]}


def scored(value: Any, gold: dict[str, Any] = GOLD, **options: Any) -> Score:
    result = JsonFields(**options)(Completion(json.dumps(value)), gold)
    assert isinstance(result, Score)
    return result


# Five fields: name, year, city and two tags.
@pytest.mark.parametrize(
    ("value", "points", "n_found", "reason"),
    [
        (GOLD, 5, 5, ""),
        ({**GOLD, "name": "Eva"}, 4.2, 5, '/name: "Eva" is not "Ada"'),
        ({**GOLD, "name": 1}, 4.1, 5, '/name: 1 is not "Ada"'),
        ({**GOLD, "name": None}, 4, 4, "/name: is missing"),
        ({**GOLD, "x": 1}, 5, 6, "/x: is not asked for"),
        ({**GOLD, "x": {"y": [1, 2]}}, 5, 7, "/x: is not asked for"),
        ({**GOLD, "tags": ["b", "a"]}, 3.4, 5, '/tags/0: "b" is not "a"'),
        ({**GOLD, "tags": ["a"]}, 4, 4, '/tags: lacks "b"'),
        ({**GOLD, "tags": ["a", "b", "b"]}, 5, 6, "/tags/2: is not asked for"),
        ({**GOLD, "tags": "a, b"}, 3.1, 4, '/tags: "a, b" is not an array of 2'),
        ({"name": "Ada"}, 1, 1, "/born: is missing"),
        ({}, 0, 0, "/name: is missing"),
    ],
)
def test_score_is_twice_the_points_by_the_fields_of_both(
    value: Any, points: float, n_found: int, reason: str
) -> None:
    found = scored(value)

    assert found.value == pytest.approx(2 * points / (5 + n_found))
    assert found.reason == reason
    assert found.metrics["recall"] == pytest.approx(points / 5)
    assert found.metrics["precision"] == pytest.approx(points / max(1, n_found))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "/: expected an object"),
        ("Ada, 1815", "no JSON in the text"),
        ('{"name": "Ada"', "not JSON: Expecting ',' delimiter at line 1 column 15"),
        ('{"name": "Ada", "name": "Ada"}', "the key 'name' is there twice"),
    ],
)
def test_what_is_no_object_earns_nothing(text: str, reason: str) -> None:
    found = JsonFields()(Completion(text), GOLD)

    assert isinstance(found, Score)
    assert (found.value, found.reason) == (0.0, reason)


def test_strict_mode_pays_for_all_fields_and_no_others() -> None:
    assert scored(GOLD, mode="strict").value == 1.0
    assert scored({**GOLD, "x": 1}, mode="strict").value == 0.0
    assert scored({**GOLD, "x": 1}, mode="strict", extra="ignore").value == 1.0


def test_extra_fields_may_be_free() -> None:
    assert scored({**GOLD, "x": 1}, extra="ignore").value == 1.0
    assert scored({"name": "Ada", "x": 1}, extra="ignore").value == pytest.approx(1 / 5)


def test_numbers_may_be_off_by_a_tolerance() -> None:
    gold = {"mass": 100.0}

    assert scored({"mass": 100}, gold).value == 1.0
    assert scored({"mass": 101}, gold).value == pytest.approx(0.2)
    assert scored({"mass": 101}, gold, tolerance=1.0).value == 1.0
    assert scored({"mass": 102}, gold, relative_tolerance=0.02).value == 1.0
    assert scored({"mass": True}, {"mass": 1}, tolerance=1.0).value == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("gold", "value", "is_equal"),
    [
        # No float lies between these two.
        (9007199254740992, 9007199254740993, False),
        (9007199254740993, 9007199254740993, True),
        (9007199254740992.0, 9007199254740993, False),
        (10**299, 10**299 + 1, False),
        # As written: the float 1e23 is not the integer.
        (1e23, 10**23, True),
        (1, 1.0, True),
        (0.1, 0.1, True),
        (0.3, 0.1 + 0.2, False),
    ],
)
def test_numbers_are_compared_as_they_are_written(
    gold: float, value: float, is_equal: bool
) -> None:
    assert (scored({"n": value}, {"n": gold}).value == 1.0) is is_equal


@pytest.mark.parametrize(
    ("gold", "value", "options", "is_equal"),
    [
        # In floats 1.01 - 1.0 is above 0.01.
        (1.0, 1.01, {"tolerance": 0.01}, True),
        (1.0, 1.0100001, {"tolerance": 0.01}, False),
        (9007199254740992, 9007199254740993, {"tolerance": 1}, True),
        (9007199254740992, 9007199254740994, {"tolerance": 1}, False),
        (10**299, 10**299 + 10**297, {"relative_tolerance": 0.01}, True),
        (10**299, 10**299 + 10**298, {"relative_tolerance": 0.01}, False),
        (0, 1e-300, {"relative_tolerance": 0.99}, False),
        (-1, 1, {"relative_tolerance": 0.99}, False),
    ],
)
def test_tolerances_are_exact(
    gold: float, value: float, options: dict[str, float], is_equal: bool
) -> None:
    assert (scored({"n": value}, {"n": gold}, **options).value == 1.0) is is_equal


def test_case_and_blanks_may_be_free() -> None:
    gold = {"city": "New York"}

    assert scored({"city": " new  york"}, gold, ignore_case=True).value == 1.0
    assert scored({"city": "new york"}, gold).value == pytest.approx(0.2)


def test_any_of_several_values_may_be_right() -> None:
    gold = {"city": {"$one_of": ["NYC", "New York", {"name": "New York"}]}}

    for city in ("NYC", "New York", {"name": "New York"}):
        assert scored({"city": city}, gold).value == 1.0
    assert scored({"city": "LA"}, gold).value == pytest.approx(0.2)
    assert scored({}, gold).value == 0.0


def test_lists_may_be_in_any_order() -> None:
    gold = {"people": [{"name": "Ada", "age": 1}, {"name": "Bob", "age": 2}]}
    swapped = {"people": [{"name": "Bob", "age": 2}, {"name": "Ada", "age": 3}]}

    assert scored({"people": gold["people"][::-1]}, gold, lists="unordered").value == 1.0
    assert scored(swapped, gold, lists="unordered").value == pytest.approx(3.2 / 4)
    assert scored(swapped, gold).value == pytest.approx(0.8 / 4)
    assert scored({"people": []}, gold, lists="unordered").value < 0.1


def test_points_for_type_and_presence_can_be_turned_off() -> None:
    found = scored({**GOLD, "name": "Eva"}, type_points=0.0, present_points=0.0)

    assert found.value == pytest.approx(4 / 5)


def test_null_counts_as_absent_on_both_sides() -> None:
    gold = {"a": 1, "b": None, "c": {"d": None}}

    assert scored({"a": 1, "c": {}}, gold).value == 1.0
    assert scored({"a": 1, "b": None, "c": {"d": None}}, gold).value == 1.0
    assert scored({"a": 1, "b": 2, "c": {}}, gold).value == pytest.approx(4 / 5)


@pytest.mark.parametrize(
    ("gold", "reason"),
    [
        ({}, "gold has no fields; leave the row out, or write what the reply should say"),
        ({"a": None}, "gold has no fields; leave the row out, or write what the reply should say"),
        (
            {"a": {"$one_of": []}},
            "gold/a: expected {\"$one_of\": [values]} and no other member, got {'$one_of': []}",
        ),
        (
            {"a": 1, "b": [float("nan")]},
            "gold/b/0: expected a finite number, got nan; no reply can have it",
        ),
        (
            {"a": {"$one_of": [1, float("inf")]}},
            "gold/a/$one_of/1: expected a finite number, got inf; no reply can have it",
        ),
        (
            {"a": {1: 2}},
            "gold/a: expected text as keys, got 1 of type int; no reply can have it",
        ),
        ({"a": {1}}, "gold/a: expected what JSON has, got a set; no reply can have it"),
        ({"a": "\ud800"}, "gold/a: holds half of a surrogate pair; no reply can have it"),
        (
            {"a": {"$one_of": [None]}},
            "gold/a: expected {\"$one_of\": [values]} and no other member, got {'$one_of': [None]}",
        ),
    ],
)
def test_gold_that_cannot_be_used_fails_the_row(gold: dict[str, Any], reason: str) -> None:
    reward = JsonFields()

    assert reward.check_inputs(gold) == reason
    assert reward(Completion("{}"), gold) == Fail(reason)


def test_gold_may_be_a_column_of_json_text() -> None:
    reward = load_reward("schema/json_fields")

    assert reward(Completion('{"name": "Ada"}'), gold='{"name": "Ada"}').value == 1.0


def test_key_twice_in_a_gold_of_json_text_is_refused() -> None:
    reward = load_reward("schema/json_fields")

    with pytest.raises(Exception, match="the key 'name' is there twice"):
        reward(Completion('{"name": "Ada"}'), gold='{"name": "Eva", "name": "Ada"}')


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lists": "sets"}, "lists must be one of 'ordered', 'unordered', got 'sets'"),
        ({"type_points": 2.0}, "type_points must be from 0 to 1, got 2.0"),
        ({"present_points": 0.3}, "present_points must be from 0 to 0.2, got 0.3"),
        ({"tolerance": float("nan")}, "tolerance must be from 0 to 1e+300, got nan"),
        ({"relative_tolerance": 1.0}, "relative_tolerance must be from 0 to below 1, got 1.0"),
        ({"max_depth": 1000}, "max_depth must be from 1 to 200, got 1000"),
        ({"after_tag": "</think>"}, "after_tag must be the bare name of a tag, got '</think>'"),
    ],
)
def test_option_that_is_none_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("+", "\\+")):
        JsonFields(**options)


def test_long_unordered_lists_are_compared_in_bounded_time() -> None:
    gold = {"list": [{"id": i, "x": i % 7} for i in range(3000)]}
    value = {"list": [{"id": -i, "x": i % 7} for i in range(3000)]}

    assert 0.0 < scored(value, gold, lists="unordered").value < 1.0


@pytest.mark.parametrize("content", [5, [], {}, [1, 2], [None]])
def test_choice_in_a_reply_is_a_member_as_any_other(content: Any) -> None:
    found = scored({"a": 1, "x": {"$one_of": content}}, {"a": 1})
    n_extra = 2 if content == [1, 2] else 1

    assert found.value == pytest.approx(2 / (2 + n_extra))
    assert found.reason == "/x/$one_of: is not asked for" or found.reason.startswith("/x: is not")


def test_choice_in_a_reply_is_not_the_choice_of_the_gold() -> None:
    choice = {"$one_of": ["a", "b"]}

    assert scored({"a": choice}, {"a": choice}).value == pytest.approx(2 * 0.1 / (1 + 2))
    assert scored({"a": [choice]}, {"a": [choice]}, lists="unordered").value < 0.1


def test_choice_of_null_may_be_left_out() -> None:
    gold = {"a": 1, "b": {"$one_of": [None, "x"]}}

    for value in ({"a": 1}, {"a": 1, "b": None}, {"a": 1, "b": "x"}):
        assert scored(value, gold) == Score(
            1.0, "", {"precision": 1.0, "recall": 1.0, "limit_hits": 0.0}
        )
    assert scored({"a": 1, "b": "y"}, gold).value == pytest.approx(1.2 * 2 / 4)
    assert scored({}, gold).value == 0.0
    assert scored({}, {"b": gold["b"]}).value == 1.0
    assert scored({"b": {"c": [1, 2]}}, {"b": gold["b"]}).value == pytest.approx(0.2 / 3)


def nested(depth: int, *inner: Any) -> Any:
    made: Any = list(inner)
    for _ in range(depth - 1):
        made = [made]
    return made


@pytest.mark.parametrize("depth", [22, 100, 198])
def test_unordered_lists_in_lists_cost_no_more_for_each_level(depth: int) -> None:
    start = time.process_time()
    found = scored(
        {"a": nested(depth, 1, 2)}, {"a": nested(depth, 1, 3)}, lists="unordered", max_depth=200
    )

    assert found.value == pytest.approx(1.2 / 2)
    assert time.process_time() - start < 2.0


def test_comparison_of_too_many_pairs_ends_at_the_limit() -> None:
    gold = {"a": [[[i, j] for j in range(40)] for i in range(40)]}
    value = {"a": [[[-i, -j - 1] for j in range(40)] for i in range(40)]}
    start = time.process_time()
    found = scored(value, gold, lists="unordered")

    assert (found.value, found.metrics["limit_hits"]) == (0.0, 1.0)
    assert found.reason == "limit: the comparison takes too many steps"
    assert time.process_time() - start < 10.0


def test_gold_deeper_than_any_reply_fails_the_row() -> None:
    result = JsonFields()(Completion("{}"), {"a": nested(900, 1)})

    assert result == Fail("gold: nested deeper than 200 levels; no reply can have it")


def test_numbers_whose_hashes_collide_cost_no_more() -> None:
    numbers = [i * (2**61 - 1) for i in range(20_000)]
    start = time.process_time()

    assert scored({"a": numbers[::-1]}, {"a": numbers}, lists="unordered").value == 1.0
    assert time.process_time() - start < 3.0


def test_reason_is_no_longer_than_a_line_whatever_the_key() -> None:
    found = scored({"a": 1, "k" * 100_000: 1}, {"a": 1})

    assert found.reason == f"/{'k' * 80}…: is not asked for"
