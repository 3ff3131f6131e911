"""Where the JSON of a reply is found; what is beside it does not count."""

from __future__ import annotations

from typing import Any

import pytest
from grpo_reward_schema.finding import NotFound, Place
from grpo_reward_schema.parsing import Limits, NotJson
from grpo_reward_schema.reply import Reader

from grpo_core import Completion

A, B = '{"a": 1}', '{"b": 2}'
TICKS = "```"


def read(text: str, prefill: str = "", prefer: str = "{", **place: Any) -> Any:
    reader = Reader(Place(**place), Limits())
    return reader.read(Completion(text, prefill=prefill), prefer)


@pytest.mark.parametrize(
    "text",
    [
        A,
        f" \n{A}\r\n\t",
        f"Here you are: {A}. Anything else?",
        f"{TICKS}json\n{A}\n{TICKS}",
        f"Sure.\n{TICKS}JSON\n{A}\n{TICKS}\nBye {{x}}.",
        f"{TICKS}\n{A}\n{TICKS}",
        f"~~~~json\n{A}\n~~~~",
        f"{TICKS}`json\n{A}\n{TICKS}`",
        f"{TICKS}json\n{A}",
        f"{TICKS}python\nx = {B}\n{TICKS}\nso it is {A}",
        f"{TICKS}json\n{B}\n{TICKS}\nNo:\n{TICKS}json\n{A}\n{TICKS}",
        f"First {B}, then {A}",
        f"A set {{x, y}}, a citation [see 3], and {A}",
        f"As in [1], it is {A}, see [2].",
        f"<think>{B}</think>{A}",
        f"<think>a</think>{B}</think>{A}",
        f"inline {TICKS}{A}{TICKS}",
        f"\ufeff{A}",
    ],
)
def test_object_is_found(text: str) -> None:
    assert read(text) == {"a": 1}


def test_braces_and_backticks_in_strings_are_text() -> None:
    value = '{"a": "} ``` { \\" ]", "b": ["]"]}'

    assert read(f"So: {value} .") == {"a": '} ``` { " ]', "b": ["]"]}
    assert read(f"{TICKS}json\n{value}\n{TICKS}") == {"a": '} ``` { " ]', "b": ["]"]}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the text is empty"),
        ("I am sorry.", "no JSON in the text"),
        (f"{TICKS}python\nx = {A}\n{TICKS}", "no JSON in the text"),
        (f"<think>{A}", "<think> is never closed"),
        (f"<think>{A}</think>", "behind the last </think>: the text is empty"),
        ("<think>a</think>I am sorry.", "behind the last </think>: no JSON in the text"),
        (
            '<think>a</think>{"tag": "</think>", "b": 1}',
            "no JSON behind the last </think>, which stands inside a string of JSON",
        ),
        (
            f'So:\n{TICKS}json\n{{"tag": "a </think> b"}}\n{TICKS}',
            "no JSON behind the last </think>, which stands inside a string of JSON",
        ),
        (
            'I open {"a": and stop.</think> Sorry.',
            "behind the last </think>: no JSON in the text",
        ),
    ],
)
def test_text_without_json_says_so(text: str, why: str) -> None:
    with pytest.raises(NotFound, match=why):
        read(text)


def test_reasoning_that_the_prompt_opened_must_be_closed() -> None:
    with pytest.raises(NotFound, match="never closed"):
        read(A, prefill="<think>\n")

    assert read(f"hm</think>{A}", prefill="<think>\n") == {"a": 1}


def test_part_of_an_object_that_is_cut_off_does_not_pass_for_the_whole() -> None:
    with pytest.raises(NotJson):
        read('The person: {"person": {"a": 1}, "more": ')
    with pytest.raises(NotJson):
        read('{"person": {"a": 1}')


def test_whole_allows_nothing_around() -> None:
    assert read(f" {A}\n", extract="whole") == {"a": 1}
    for text in (f"{A} .", f"{TICKS}json\n{A}\n{TICKS}", f"\ufeff{A}"):
        with pytest.raises(NotJson):
            read(text, extract="whole")


def test_pick_says_which_of_several_counts() -> None:
    text = f"{A} or {B}"

    assert read(text) == {"b": 2}
    assert read(text, pick="first") == {"a": 1}
    with pytest.raises(NotFound, match="2 pieces of JSON"):
        read(text, pick="only")
    assert read(A, pick="only") == {"a": 1}


def test_after_tag_is_any_tag_or_none() -> None:
    assert read(f"{A}<answer>{B}", after_tag="") == {"b": 2}
    assert read(f"{A}</plan>{B}", after_tag="plan", pick="first") == {"b": 2}


def test_piece_of_the_right_kind_is_preferred() -> None:
    assert read("[1] and {} and [2]", prefer="[") == [2]
    assert read("see [1]", prefer="{") == [1]


def test_scalars_count_as_a_whole_or_in_a_fence() -> None:
    assert read("42.0") == 42.0
    assert read(f"It is\n{TICKS}json\n42\n{TICKS}") == 42
    with pytest.raises(NotJson):
        read("42 is it")


def test_more_than_a_thousand_pieces_are_refused() -> None:
    with pytest.raises(NotFound, match="more than 1000 pieces"):
        read("It is " + "[1] " * 1001)
