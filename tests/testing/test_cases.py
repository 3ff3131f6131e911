"""The examples of a contract, in the class and in a file."""

from __future__ import annotations

import json
import re

import pytest

from grpo_core import Completion
from grpo_core.errors import DataError
from grpo_core.testing import Case
from grpo_core.testing.cases import examples_of, read_cases


def examples(*good, inputs=None, rows=()):
    found = examples_of({"good": good, "bad": (), "attack": ()}, rows, inputs or {})
    return [(e.name, e.completion.text, dict(e.completion.columns)) for e in found]


def test_examples_text_has_the_inputs_of_the_contract():
    assert examples("42", inputs={"a": 1}) == [("good[0] '42'", "42", {"a": 1})]


def test_examples_pair_adds_its_inputs():
    assert examples(("42", {"a": 2}), inputs={"a": 1, "b": 3}) == [
        ("good[0] '42'", "42", {"a": 2, "b": 3})
    ]


def test_examples_chat_is_its_reply():
    chat = [{"role": "assistant", "content": "42"}]

    assert examples(chat, tuple(chat), tuple(chat * 2)) == [
        (f"good[{i}] '42'", "42", {}) for i in range(3)
    ]


def test_examples_completion_keeps_its_columns():
    given = Completion("42", truncated=True, columns={"a": 2})

    assert examples(given, inputs={"a": 1, "b": 3}) == [("good[0] '42'", "42", {"a": 2, "b": 3})]


def test_examples_case_has_its_name_and_prompt():
    [made] = examples_of(
        {"good": (Case("42", {"a": 1}, "6*7", name="plain"),), "bad": (), "attack": ()}, (), {}
    )

    assert (made.name, made.completion.prompt) == ("plain", "6*7")


def test_examples_long_text_is_cut():
    [(name, _, _)] = examples("x" * 100)

    assert name == "good[0] '" + "x" * 38 + "…'"


@pytest.mark.parametrize("given", ["42", {"a": 1}, 3])
def test_examples_that_are_no_tuple_are_refused(given):
    with pytest.raises(DataError, match="good: expected a tuple of examples, got"):
        examples_of({"good": given, "bad": (), "attack": ()}, (), {})


def test_examples_that_is_no_completion_is_named():
    with pytest.raises(DataError, match=r"good\[1\]: a completion must be a string"):
        examples("42", 42.0)


@pytest.fixture
def write(tmp_path):
    def write(*rows):
        path = tmp_path / "cases.jsonl"
        path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
        return path

    return write


def test_cases_have_their_kinds(write):
    path = write(
        {"kind": "gold", "completion": "a"},
        {"kind": "near_miss", "completion": "b"},
        "",
        {"kind": "near-miss", "completion": "c"},
        {"kind": "attack", "completion": "d", "id": "shotgun"},
    )

    found = [(kind, c.completion.text, c.name) for kind, c in read_cases(path, "r", {})]

    assert found == [
        ("good", "a", "cases.jsonl:1"),
        ("bad", "b", "cases.jsonl:2"),
        ("bad", "c", "cases.jsonl:4"),
        ("attack", "d", "cases.jsonl:5 (shotgun)"),
    ]


def test_cases_rows_of_another_reward_or_other_options_are_left_out(write):
    path = write(
        {"kind": "gold", "completion": "a", "reward": "r"},
        {"kind": "gold", "completion": "b", "reward": "other"},
        {"kind": "gold", "completion": "c", "options": {"x": 1}},
        {"kind": "gold", "completion": "d", "options": {"x": 2}},
    )

    assert [c.completion.text for _, c in read_cases(path, "r", {"x": 1})] == ["a", "c"]


def test_cases_row_brings_what_is_known_of_the_completion(write):
    path = write(
        {
            "kind": "gold",
            "completion": [{"role": "assistant", "content": "a"}],
            "prompt": "q",
            "prefill": "<think>",
            "truncated": False,
            "token_ids": [1, 2],
            "inputs": {"answer": "a"},
            "comment": "the author's own",
        }
    )

    [(_, case)] = read_cases(path, "r", {})

    made = case.completion
    assert (made.text, made.prompt, made.prefill) == ("a", "q", "<think>")
    assert (made.truncated, made.token_ids, case.inputs) == (False, (1, 2), {"answer": "a"})


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("{", "cases.jsonl:1: expected an object in JSON, got '{'"),
        ([1], "cases.jsonl:1: expected an object, got '[1]'"),
        ({"completion": "a"}, "kind: expected gold, near_miss or attack, got None"),
        ({"kind": "good", "completion": "a"}, "expected gold, near_miss or attack, got good"),
        ({"kind": "gold"}, "'completion' is missing"),
        ({"kind": "gold", "completion": 4}, "cases.jsonl:1: a completion must be a string"),
        ({"kind": "gold", "completion": "a", "input": {}}, "key 'input'. Did you mean 'inputs'?"),
        ({"kind": "gold", "completion": "a", "inputs": [1]}, "inputs: expected an object by name"),
    ],
)
def test_cases_row_that_is_none_is_named(write, row, text):
    with pytest.raises(DataError, match=re.escape(text)):
        read_cases(write(row), "r", {})


def test_cases_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"cases: .*none.jsonl cannot be read"):
        read_cases(tmp_path / "none.jsonl", "r", {})
