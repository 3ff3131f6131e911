"""What a prompt has already opened for the reply."""

from __future__ import annotations

import pytest
from tiny_model import make_tokenizer

from grpo_core.training.prefill import prefill_of_chat, prefill_of_text

HEAD = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}"
    "{% endfor %}"
)
TURN = "{{ '<|im_start|>assistant\n' }}"

# The reply of an assistant turn gets an empty think block unless it has one, as some models' do.
THINKING = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
    "{% if m.role == 'assistant' and '</think>' not in m.content %}"
    "{{ '<think>\n\n</think>\n\n' }}{% endif %}"
    "{{ m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}" + TURN + "{{ '<think>\n' }}{% endif %}"
)
CASES = {
    "nothing": (HEAD + "{% if add_generation_prompt %}" + TURN + "{% endif %}", ""),
    "think": (
        HEAD + "{% if add_generation_prompt %}" + TURN + "{{ '<think>\n' }}{% endif %}",
        "<think>\n",
    ),
    "think_and_words": (
        HEAD + "{% if add_generation_prompt %}" + TURN + "{{ '<think>\nOkay,' }}{% endif %}",
        "<think>\nOkay,",
    ),
    "empty_think_block": (
        HEAD
        + "{% if add_generation_prompt %}"
        + TURN
        + "{{ '<think>\n\n</think>\n\n' }}{% endif %}",
        "<think>\n\n</think>\n\n",
    ),
    "block_in_every_reply": (THINKING, "<think>\n"),
    "header_that_looks_like_a_tag": (
        "{% for m in messages %}{{ '<' + m.role + '>\n' + m.content + '</s>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<assistant>\n' }}{% endif %}",
        "",
    ),
    "tag_header_and_think": (
        "{% for m in messages %}{{ '<' + m.role + '>\n' + m.content + '</s>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<assistant>\n<think>' }}{% endif %}",
        "<think>",
    ),
    "template_without_replies": (
        "{% for m in messages %}{% if m.role == 'assistant' %}{{ raise_exception('no') }}"
        "{% endif %}{{ m.content }}{% endfor %}",
        "",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_prefill_of_chat_is_what_follows_the_header(case):
    template, expected = CASES[case]

    found = prefill_of_chat(make_tokenizer(template), [{"role": "user", "content": "hi"}], {})

    assert found == expected


def test_prefill_of_chat_follows_template_arguments():
    template = (
        HEAD + "{% if add_generation_prompt %}" + TURN + "{% if not enable_thinking %}"
        "{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}"
    )
    tokenizer, chat = make_tokenizer(template), [{"role": "user", "content": "hi"}]

    assert prefill_of_chat(tokenizer, chat, {"enable_thinking": True}) == ""
    assert prefill_of_chat(tokenizer, chat, {"enable_thinking": False}) == "<think>\n\n</think>\n\n"


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Solve 1+1.", ""),
        ("Solve 1+1.\n<think>\n", "<think>\n"),
        ("Solve 1+1. <think>", "<think>"),
        ("Use <think> and </think>\n", ""),
        ("a < b and c > d\n", ""),
        ("<|im_start|>assistant\n", ""),
        ("", ""),
    ],
)
def test_prefill_of_text_is_an_opening_tag_at_the_end(prompt, expected):
    assert prefill_of_text(prompt) == expected
