"""`Completion` and `Message`: whatever the data looks like, a reward sees the same shape."""

import dataclasses
import pickle

import pytest

from grpo_core import Completion, Message

TOOL_CALL = {"type": "function", "function": {"name": "add", "arguments": "{}"}}
TOOL_TALK = [
    {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]},
    {"role": "tool", "name": "add", "content": "4"},
    {"role": "assistant", "content": "It is 4."},
]
# A value for every field, each different from the default.
FULL = {
    "text": "four",
    "prompt": "2+2?",
    "prompt_messages": (Message("user", "2+2?"),),
    "reply": (Message("assistant", "four"),),
    "raw_text": "four<eos>",
    "token_ids": (7, 8),
    "truncated": False,
    "prefill": "<think>\n",
    "columns": {"answer": "4"},
    "group": 3,
    "index_in_group": 1,
    "group_size": 4,
}


def test_from_data_string_is_the_text_and_no_chat():
    made = Completion.from_data("four", "2+2?")

    assert (made.text, made.prompt) == ("four", "2+2?")
    assert (made.reply, made.prompt_messages) == (None, None)


def test_from_data_none_is_an_empty_reply():
    made = Completion.from_data(None, None)

    assert (made.text, made.prompt) == ("", "")


def test_from_data_nothing_else_known_leaves_it_none():
    made = Completion.from_data("four")

    assert (made.raw_text, made.token_ids, made.truncated) == (None, None, None)
    assert (made.group, made.index_in_group, made.group_size) == (None, None, None)


def test_from_data_chat_reads_the_reply_and_joins_the_prompt():
    made = Completion.from_data(
        [{"role": "assistant", "content": "four"}],
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}],
    )

    assert made.text == "four"
    assert made.reply == (Message("assistant", "four"),)
    assert made.prompt == "Be brief.\n2+2?"
    assert made.prompt_messages == (Message("system", "Be brief."), Message("user", "2+2?"))


def test_from_data_single_message_counts_as_a_chat():
    assert Completion.from_data({"role": "assistant", "content": "four"}).text == "four"


def test_from_data_empty_chat_has_empty_text():
    made = Completion.from_data([])

    assert (made.text, made.reply) == ("", ())


def test_from_data_decoded_text_wins_over_the_content():
    made = Completion.from_data([{"role": "assistant", "content": "four"}], text="<b>four</b>")

    assert made.text == "<b>four</b>"


def test_from_data_content_blocks_are_joined_and_images_left_out():
    blocks = [{"type": "text", "text": "fo"}, {"type": "image"}, {"type": "text", "text": "ur"}]

    assert Completion.from_data([{"role": "assistant", "content": blocks}]).text == "four"


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_from_data_split_off_reasoning_stands_in_front_again(key):
    made = Completion.from_data([{"role": "assistant", "content": "four", key: "2 and 2"}])

    assert made.text == "<think>\n2 and 2\n</think>\n\nfour"
    assert made.reply == (Message("assistant", "four", "2 and 2"),)


@pytest.mark.parametrize("nothing", [None, ""])
def test_from_data_empty_reasoning_adds_no_tags(nothing):
    message = {"role": "assistant", "content": "four", "reasoning_content": nothing}

    assert Completion.from_data([message]).text == "four"


def test_from_data_tool_conversation_is_its_last_assistant_message():
    made = Completion.from_data(TOOL_TALK)

    assert made.text == "It is 4."
    assert made.reply is not None
    assert [m.role for m in made.reply] == ["assistant", "tool", "assistant"]


def test_from_data_tool_conversation_that_ends_in_a_tool_is_the_assistant_before():
    assert Completion.from_data(TOOL_TALK[:2]).text == ""


def test_from_data_tool_conversation_drops_ids_and_decoded_text():
    made = Completion.from_data(TOOL_TALK, text="4It is 4.", raw_text="4It is 4.", token_ids=[1])

    assert made.text == "It is 4."
    assert (made.raw_text, made.token_ids) == (None, None)


def test_from_data_tool_call_without_content_has_empty_text_and_keeps_the_call():
    made = Completion.from_data(TOOL_TALK[:1])

    assert made.text == ""
    assert made.reply == (Message("assistant", "", "", {"tool_calls": [TOOL_CALL]}),)


def test_from_data_token_ids_become_a_tuple():
    assert Completion.from_data("four", token_ids=[7, 8]).token_ids == (7, 8)


@pytest.mark.parametrize("wrong", [3, b"four", 1.5, {"four"}])
def test_from_data_other_kinds_are_refused_by_name(wrong):
    with pytest.raises(TypeError, match="a completion must be a string, None or a list of mess"):
        Completion.from_data(wrong)


@pytest.mark.parametrize("wrong", ["four", 3, {"text": "four"}])
def test_message_that_is_none_is_refused(wrong):
    with pytest.raises(TypeError, match="a mapping with 'role' and 'content'"):
        Message.from_dict(wrong)


def test_message_content_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="content must be a string, None or a list of blocks"):
        Message.from_dict({"role": "user", "content": 3})


def test_message_without_role_speaks_for_the_assistant():
    assert Message.from_dict({"role": None, "content": "four"}).role == "assistant"


def test_completion_fields_all_have_a_case_here():
    assert set(FULL) == {f.name for f in dataclasses.fields(Completion)}


def test_with_columns_changes_nothing_else():
    made = Completion(**FULL)

    copy = made.with_columns({"answer": "5"})

    assert copy == dataclasses.replace(made, columns={"answer": "5"})
    assert made.columns == {"answer": "4"}


def test_completion_pickled_is_equal():
    made = Completion(**FULL)

    assert pickle.loads(pickle.dumps(made)) == made


def test_completion_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Completion("four").text = "five"
