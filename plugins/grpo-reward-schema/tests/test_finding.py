"""Where the JSON of a reply is found; what is beside it does not count."""

from __future__ import annotations

import time
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


@pytest.mark.parametrize(
    "text",
    [
        f'{TICKS}json title="a.json"\n{A}\n{TICKS}',
        f"{TICKS}{{.json}}\n{A}\n{TICKS}",
        f"{TICKS}json\n{A}{TICKS}",
        f"{TICKS}json\n{A} {TICKS} \nThat is {{x}} and {B}",
        f"{TICKS}\n{A}{TICKS}",
        f"{TICKS}json {A}{TICKS}",
        f"{TICKS}json\n{TICKS}\nIt is {A}",
        f"{TICKS}`\n{TICKS}json\n{A}\n{TICKS}\n{TICKS}`",
        f"{TICKS}`markdown\nIt is\n{TICKS}json\n{A}\n{TICKS}\n{TICKS}`",
        f"{TICKS}json5\n{B}\n{TICKS}\nso it is {A}",
        f"{TICKS}jsonc\n{B}\n{TICKS}\nso it is {A}",
    ],
)
def test_fence_is_read_as_a_person_would(text: str) -> None:
    assert read(text) == {"a": 1}


@pytest.mark.parametrize(
    "text",
    [
        f"<Think>{A}",
        f"<think x='1'>{A}",
        f"Sure. <think>{A}",
        f"{A} <think>{B}",
        f"<think>a</think> Now <think> {A}",
        f"{TICKS}json\n{A}\n{TICKS}\n<THINK>\nno",
    ],
)
def test_reasoning_that_is_never_closed_leaves_nothing_wherever_it_begins(text: str) -> None:
    with pytest.raises(NotFound, match="<think> is never closed"):
        read(text)


def test_tag_of_reasoning_has_any_case_and_may_stand_inside_a_string() -> None:
    assert read(f"<Think>{B}</Think>{A}") == {"a": 1}
    assert read(f"<think x='1'>{B}</think >{A}") == {"a": 1}
    assert read('{"tag": "<think>"}') == {"tag": "<think>"}
    assert read(A, prefill="<think>\n\n</think>\n\n") == {"a": 1}


@pytest.mark.parametrize(
    ("prefill", "text"),
    [
        ("{", '"a": 1}'),
        ('{"a":', " 1} is it"),
        (f"{TICKS}json\n", f"{A}\n{TICKS}"),
        (f"{TICKS}json\n{{", f'"a": 1}}\n{TICKS}\nor {B}'),
        ("<think>\n</think>\nHere it is: {", '"a": 1}'),
        (f"For {B} say: ", A),
        ("It is:", A),
    ],
)
def test_what_the_prefill_opens_is_continued(prefill: str, text: str) -> None:
    assert read(text, prefill=prefill) == {"a": 1}


def test_prefill_that_opens_json_is_continued_as_a_whole() -> None:
    assert read('"a": 1}', prefill="Here: {", extract="whole") == {"a": 1}
    assert read(A, prefill="Here: ", extract="whole") == {"a": 1}
    # One that says it again is read as well.
    assert read(A, prefill="{") == {"a": 1}


@pytest.mark.parametrize(
    "text", ["`" * 200_000, "a```\n" * 200_000, "<think " * 150_000, "</think " * 120_000]
)
def test_hostile_text_is_looked_through_in_no_time(text: str) -> None:
    start = time.process_time()
    with pytest.raises((NotFound, NotJson)):
        read(text)
    with pytest.raises((NotFound, NotJson)):
        read("", prefill=text)
    assert time.process_time() - start < 3.0
