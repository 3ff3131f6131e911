"""Rows of a data set: making prompts, columns that Arrow keeps."""

import json
from typing import Any

import pytest

from grpo_core.dataset import columns_of, template_fields, to_columns, with_prompts
from grpo_core.errors import DataError

CHAT = [{"role": "user", "content": "hi"}]


def test_columns_are_in_order_of_first_appearance():
    assert columns_of([{"b": 1}, {"a": 1, "b": 2}, {"c": 3}]) == ["b", "a", "c"]


def prompts(rows: list[dict[str, Any]], **kwargs: Any) -> list[Any]:
    return [row["prompt"] for row in with_prompts(rows, **kwargs)]


def error(rows: list[dict[str, Any]], **kwargs: Any) -> str:
    with pytest.raises(DataError) as caught:
        with_prompts(rows, **kwargs)
    return str(caught.value)


def test_prompts_default_to_the_column_prompt():
    assert prompts([{"prompt": "p"}, {"prompt": "q"}]) == ["p", "q"]


def test_prompts_of_another_column_keep_that_column():
    assert with_prompts([{"question": "q", "prompt": "old"}], prompt="question") == [
        {"question": "q", "prompt": "q"}
    ]


def test_prompts_leave_the_rows_alone():
    rows = [{"q": "x"}]

    with_prompts(rows, prompt="q")

    assert rows == [{"q": "x"}]


@pytest.mark.parametrize(
    ("template", "row", "expected"),
    [
        ("Q: {q}", {"q": "2+2"}, "Q: 2+2"),
        ("{q} {q}", {"q": 4}, "4 4"),
        ("{{{q}}}", {"q": 0.5}, "{0.5}"),
        ("{q}", {"q": "{x} {0}"}, "{x} {0}"),
        ("{q}", {"q": False}, "False"),
        ("{q}", {"q": {"a": ["ä", None]}}, '{"a": ["ä", null]}'),
        ("{my column}", {"my column": "x"}, "x"),
        ("{0}", {"0": "x"}, "x"),
    ],
)
def test_template_is_filled(template, row, expected):
    assert prompts([row], template=template) == [expected]


@pytest.mark.parametrize("template", ["{", "}", "{q", "{}", "{q.a}", "{q[0]}", "{q!r}", "{q:>3}"])
def test_template_of_another_form_is_refused(template):
    text = error([{"q": 1}], template=template)

    assert text.startswith(f"data.template {template!r}: ")
    assert "write {{ and }} for literal braces" in text


@pytest.mark.parametrize("field", ["{q!r}", "{q:>3}", "{q!s:>{w}}", "{q.a}", "{q[0]}", "{}"])
def test_template_of_more_than_a_column_is_quoted_in_full(field):
    assert error([{"q": 1}], template=f"x {field}") == (
        f"data.template 'x {field}': expected {{column}} alone, got {field}; nothing is "
        "converted, formatted or looked up in a value, so put the finished text into a column, or "
        "write {{ and }} for literal braces"
    )


def test_template_fields_are_listed_once():
    assert template_fields("{b} {{x}} {a} {b}") == ["b", "a"]


def test_template_of_a_missing_column_gets_near_names():
    assert error([{"question": 1}], template="{questoin}") == (
        "data.template: the data has no column 'questoin'. Did you mean 'question'? Columns are "
        "question."
    )


@pytest.mark.parametrize("rows", [[{"q": "x"}, {"q": None}], [{"q": "x"}, {"a": 1}]])
def test_template_without_a_value_names_the_row(rows):
    assert error(rows, template="{q}") == "data.template: row 1 has no value in column 'q'"


@pytest.mark.parametrize("template", ["Answer the question.", "{{q}}", ""])
def test_template_without_a_column_is_refused(template):
    assert error([{"q": "x"}, {"q": "y"}], template=template) == (
        f"data.template {template!r} names no column, so every prompt would be the same; write a "
        f"column in single braces, such as {{q}} ({{{{ and }}}} are literal braces)"
    )


def test_prompts_of_two_sources_are_refused():
    assert error([{"q": "x"}], prompt="q", template="{q}") == (
        "give data.prompt or data.template, not both"
    )


def test_prompts_of_a_missing_column_get_near_names():
    assert error([{"promt": "x"}]).startswith(
        "data.prompt: the data has no column 'prompt'. Did you mean 'promt'?"
    )


@pytest.mark.parametrize(
    "bad",
    [
        None,
        5,
        [],
        {"role": "user", "content": "x"},
        ["text"],
        [{"role": "user"}],
        [{"content": "x"}],
        [{"role": None, "content": "x"}],
        [{"role": "user", "content": 5}],
    ],
)
def test_prompt_of_another_kind_names_the_row(bad):
    text = error([{"prompt": "p"}, {"prompt": bad}])

    assert text.startswith(
        "row 1: a prompt must be a text or a list of messages with role and content, got "
    )


@pytest.mark.parametrize("blank", ["", " \n\t", "\u00a0", [{"role": "user", "content": " "}]])
def test_prompt_that_is_blank_names_the_row(blank):
    asked = CHAT if isinstance(blank, list) else "p"

    assert error([{"prompt": asked}, {"prompt": blank}]) == (
        "the prompt is blank in 1 row: row 1; leave the row out"
    )


def test_prompts_that_are_blank_are_counted():
    assert error([{"q": " "}] * 4 + [{"q": "x"}], template="{q}\n") == (
        "the prompt is blank in 4 rows: row 0, row 1, row 2, …; leave these rows out"
    )


def test_chat_whose_user_says_nothing_but_whose_system_does_is_taken():
    chat = [{"role": "system", "content": "S"}, {"role": "user", "content": ""}]

    assert prompts([{"prompt": chat}]) == [chat]


def test_prompts_of_texts_and_chats_are_refused():
    assert error([{"prompt": "p"}, {"prompt": CHAT}]) == (
        "some prompts are texts (row 0) and some are chats (row 1); make them of one kind"
    )


def test_chat_makes_a_users_message_of_a_text_and_leaves_a_chat_alone():
    chat = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]

    assert prompts([{"prompt": "q"}], chat=True) == [[{"role": "user", "content": "q"}]]
    assert prompts([{"prompt": "q"}], chat=True, system="s") == [chat]
    assert prompts([{"prompt": chat}], chat=True) == [chat]
    assert prompts([{"prompt": "q"}], chat=False) == ["q"]


def test_chat_that_is_false_beside_a_system_message_is_refused():
    assert error([{"prompt": "q"}], chat=False, system="s") == (
        "data.chat is false, but the system message makes a chat of each text; leave one out"
    )


def test_system_makes_a_chat_of_a_text():
    assert prompts([{"prompt": "hi"}], system="S") == [
        [{"role": "system", "content": "S"}, {"role": "user", "content": "hi"}]
    ]


def test_system_stands_in_front_of_a_chat():
    assert prompts([{"prompt": CHAT}], system="S") == [[{"role": "system", "content": "S"}, *CHAT]]


def test_system_is_a_block_where_the_contents_are_blocks():
    chat = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    system = {"role": "system", "content": [{"type": "text", "text": "S"}]}

    rows = with_prompts([{"prompt": chat}], system="S")

    assert rows == [{"prompt": [system, *chat]}]
    assert through_arrow(rows) == rows


def test_system_of_a_chat_goes_before_the_configs():
    chat = [{"role": "system", "content": "own"}, *CHAT]

    assert prompts([{"prompt": chat}], system="S") == [chat]


def through_arrow(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_dict(to_columns(rows)).to_list()


@pytest.mark.parametrize(
    "values",
    [
        ["a", "ä\u2028😀", None],
        [1, 2, None],
        [2**63 - 1, -(2**63)],
        [0.5, 1e300],
        [True, False, None],
        [["a"], [], None],
        [[1, 2], [3]],
        [[0.5], [1.5]],
        [[True], [False]],
        [None, None],
    ],
)
def test_columns_of_scalars_and_their_lists_come_back_as_they_were(values):
    back = [row["x"] for row in through_arrow([{"x": v} for v in values])]

    assert back == values
    assert [type(b) for b in back] == [type(v) for v in values]


@pytest.mark.parametrize(
    "values",
    [
        [{"a": 1}, {"b": "x"}],
        [{"a": {"b": [1, None]}}, None],
        [[{"in": 1}], [{"out": "ä"}]],
        [[1, "a"], [None]],
        [[1], [0.5]],
        [[[1]], [["a"]]],
        [{"a": 2**70}, [1]],
        [[], []],
    ],
)
def test_columns_of_nested_values_come_back_as_json_without_foreign_keys(values):
    back = [row["x"] for row in through_arrow([{"x": v} for v in values])]

    assert [None if b is None else json.loads(b) for b in back] == values


def test_columns_that_a_row_lacks_are_none():
    assert to_columns([{"a": 1}, {"b": "x"}]) == {"a": [1, None], "b": [None, "x"]}


def test_columns_of_integers_and_decimals_become_decimals():
    assert [row["x"] for row in through_arrow([{"x": 1}, {"x": 0.5}])] == [1.0, 0.5]


def test_columns_keep_a_chat_as_it_is():
    assert through_arrow([{"prompt": CHAT}, {"prompt": CHAT * 2}]) == [
        {"prompt": CHAT},
        {"prompt": CHAT * 2},
    ]


def column_error(*values: Any, name: str = "x") -> str:
    with pytest.raises(DataError) as caught:
        to_columns([{name: v} for v in values])
    return str(caught.value)


@pytest.mark.parametrize(
    ("first", "second", "kinds"),
    [
        ("a", 1, "holds 'a' (str), row 2 holds 1 (number)"),
        (1, True, "holds 1 (number), row 2 holds True (bool)"),
        ("a", ["a"], "holds 'a' (str), row 2 holds ['a'] (nested)"),
        ({"a": 1}, 0.5, "holds {'a': 1} (nested), row 2 holds 0.5 (number)"),
    ],
)
def test_columns_of_mixed_kinds_name_two_rows(first, second, kinds):
    assert column_error(first, None, second) == (
        f"column 'x' mixes kinds: row 0 {kinds}; make them one kind"
    )


@pytest.mark.parametrize(
    "values", [(1, 2**63), (1, -(2**63) - 1), ([1], [2**64]), (0.5, 2**53 + 1)]
)
def test_columns_with_an_integer_that_arrow_cannot_hold_name_the_row(values):
    text = column_error(*values)

    assert text.startswith("column 'x', row 1: expected an integer of at most ")
    assert text.endswith("; write it as a text")


def test_columns_whose_name_holds_a_nul_are_refused():
    with pytest.raises(DataError) as caught:
        to_columns([{"prompt": "?", "an\0swer": "1"}])

    assert str(caught.value) == (
        "column 'an\\x00swer': a name cannot hold the character NUL, at which Arrow cuts it off; "
        "rename the column"
    )


def test_columns_of_prompts_with_texts_and_blocks_name_two_rows():
    blocks = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]

    assert column_error(CHAT, CHAT, blocks, name="prompt") == (
        "the prompts' contents are texts (row 0) and lists of blocks (row 2); make them of one kind"
    )


def test_errors_name_the_section_and_the_place_that_are_given():
    def place(i):
        return f"d.jsonl, line {i + 5}"

    with pytest.raises(DataError) as caught:
        with_prompts([{"q": "x"}, {"q": None}], template="{q}", where="eval", place=place)
    assert str(caught.value) == "eval.template: d.jsonl, line 6 has no value in column 'q'"

    with pytest.raises(DataError) as caught:
        to_columns([{"x": 1}, {"x": "a"}], place)
    assert "d.jsonl, line 5 holds 1 (number), d.jsonl, line 6 holds 'a' (str)" in str(caught.value)


@pytest.mark.parametrize("value", [{"a": float("nan")}, {"a": b"x"}, {"a": {1, 2}}])
def test_columns_of_nested_values_that_json_does_not_have_name_the_row(value):
    assert column_error(None, value).startswith(
        "column 'x', row 1: expected what JSON can hold, got {'a': "
    )


def test_prompt_that_is_empty_is_refused_under_a_system_message_too():
    assert error([{"prompt": ""}], system="S") == (
        "the prompt is blank in 1 row: row 0; leave the row out"
    )
