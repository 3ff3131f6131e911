"""The examples of a contract, in the class and in a file."""

from __future__ import annotations

import json
import re

import pytest
import sound_rewards
from contracts import contract, failed

from grpo_core import Completion, reward
from grpo_core.errors import DataError
from grpo_core.reward import info_of
from grpo_core.testing import Case
from grpo_core.testing.case_file import read_cases
from grpo_core.testing.cases import examples_of


@reward
def r(completion: Completion, *, x: int = 1, names: tuple[str, ...] = ("a",)) -> float:
    """1.0 or 0.0."""
    return 1.0


def read(path, **options):
    return read_cases(path, info_of(r), options)


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


@pytest.mark.parametrize("given", [("85", "85"), ("85", {"answer": "85"}, "q")])
def test_examples_tuple_that_is_no_pair_is_told_what_one_is(given):
    with pytest.raises(DataError) as caught:
        examples(given)

    assert str(caught.value).endswith(
        "; inputs of its own come second, by name, as in ('85', {'answer': '85'})"
    )


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

    found = [(kind, c.completion.text, c.name) for kind, c in read(path)]

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

    assert [c.completion.text for _, c in read(path, x=1)] == ["a", "c"]


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

    [(_, case)] = read(path)

    made = case.completion
    assert (made.text, made.prompt, made.prefill) == ("a", "q", "<think>")
    assert (made.truncated, made.token_ids, case.inputs) == (False, (1, 2), {"answer": "a"})


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("{", "cases.jsonl:1: expected an object in JSON, got '{'"),
        ([1], "cases.jsonl:1: expected an object, got '[1]'"),
        ({"completion": "a"}, "cases.jsonl:1: 'kind' is missing; a row needs 'kind' (gold"),
        ({"kind": "good", "completion": "a"}, "expected gold, near_miss or attack, got 'good'"),
        ({"kind": ["gold"], "completion": "a"}, "near_miss or attack, got ['gold']"),
        ({"kind": "gold", "completion": "a", "truncated": "yes"}, "expected true or false, got 'y"),
        ({"kind": "gold", "completion": "a", "truncated": 1}, "expected true or false, got 1"),
        ({"kind": "gold", "completion": "a", "raw_text": 1}, "raw_text: expected text, got 1"),
        ({"kind": "gold", "completion": "a", "token_ids": "1"}, "list of whole numbers, got '1'"),
        ({"kind": "gold", "completion": "a", "token_ids": [True]}, "whole numbers, got [True]"),
        ({"kind": "gold", "completion": "a", "why": 1}, "why: expected text, got 1"),
        ('{"kind": "gold", "kind": "attack", "completion": ""}', "key 'kind' is there 2 times"),
        ("[" * 10_000, "cases.jsonl:1: expected an object in JSON, got '[[["),
        ({"kind": "gold", "completion": "a", "options": {"y": 1}}, "1: options.y: 'r' has no such"),
        ({"kind": "gold", "completion": "a", "options": {"x": "1"}}, "cases.jsonl:1: options.x:"),
        ({"kind": "gold"}, "'completion' is missing"),
        ({"kind": "gold", "completion": 4}, "cases.jsonl:1: a completion must be a string"),
        ({"kind": "gold", "completion": "a", "input": {}}, "key 'input'. Did you mean 'inputs'?"),
        ({"kind": "gold", "completion": "a", "inputs": [1]}, "inputs: expected an object by name"),
    ],
)
def test_cases_row_that_is_none_is_named(write, row, text):
    with pytest.raises(DataError, match=re.escape(text)):
        read(write(row))


def test_cases_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"cases: .*none.jsonl cannot be read"):
        read(tmp_path / "none.jsonl")


def test_cases_options_that_spell_out_defaults_are_the_same(write):
    path = write(
        {"kind": "gold", "completion": "a", "options": {}},
        {"kind": "gold", "completion": "b", "options": {"x": 1}},
        {"kind": "gold", "completion": "c", "options": {"names": ["a"]}},
        {"kind": "gold", "completion": "d", "options": {"x": 2}},
    )

    assert [c.completion.text for _, c in read(path)] == ["a", "b", "c"]
    assert [c.completion.text for _, c in read(path, x=2)] == ["d"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([""], "it has no rows"),
        (
            [
                {"kind": "gold", "completion": "a", "reward": "other"},
                {"kind": "gold", "completion": "b", "reward": "other"},
                {"kind": "gold", "completion": "c", "options": {"x": 2}},
            ],
            "2 for another reward and 1 for other options",
        ),
    ],
)
def test_cases_file_without_a_row_for_the_reward_is_refused(write, rows, told):
    with pytest.raises(DataError) as caught:
        read(write(*rows))

    assert str(caught.value) == (
        f"cases: cases.jsonl has no row for 'r' with the contract's options: {told}"
    )


def test_cases_file_may_begin_with_a_mark_and_have_any_line_ends(tmp_path):
    path = tmp_path / "cases.jsonl"
    row = '{"kind": "gold", "completion": "a\u2028b"}'
    path.write_bytes(f"\ufeff{row}\r\n{row}\n".encode())

    assert [c.completion.text for _, c in read(path)] == ["a\u2028b", "a\u2028b"]


def test_cases_line_that_is_no_utf8_is_named(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b'{"kind": "gold", "completion": "a"}\n{"kind": "\xff"}\n')

    with pytest.raises(DataError, match=r"^cases.jsonl:2: expected UTF-8, got invalid start byte"):
        read(path)


def test_cases_attack_that_is_paid_is_told_with_text_and_why(write):
    path = write(
        {"kind": "attack", "completion": " 42", "id": "blank", "why": "Blanks are no answer."}
    )

    found = failed(contract(sound_rewards.answer_equals, cases=path))

    assert found == {
        "test_attacks_stay_below_the_lowest_good": (
            "The reward pays for attacks:\n"
            "  - cases.jsonl:1 (blank) ' 42' earns 1, and good[0] '42' 1 "
            "(why it is there: Blanks are no answer.)"
        )
    }
