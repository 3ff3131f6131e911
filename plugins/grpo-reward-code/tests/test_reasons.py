"""Reasons hold nothing that a terminal or a file chokes on."""

from __future__ import annotations

import pytest
from grpo_reward_code import TestsPass
from grpo_reward_code.reasons import plain

from grpo_core import Completion


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("it is ümlaut 'a'", "it is ümlaut 'a'"),
        ("a\nb\tc", "a b c"),
        ("\x1b[31m\0", "\\x1b[31m\\x00"),
        ("\ud800", "\\ud800"),
        ("\u202e\x9b", "\\u202e\\x9b"),
    ],
)
def test_plain(text, shown):
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("code", "tests"),
    [
        ("raise ValueError('\\x1b[31m\\0')", [{"type": "stdin", "input": "", "output": ""}]),
        ("print('\\x1b[31m\\0')", [{"type": "stdin", "input": "", "output": "\ud800\x1b"}]),
        ("def f(): raise ValueError('\\x1b\\0\\ud800')", ["assert f()"]),
        ("def f(): return '\\x1b\\0\\ud800'", ["assert f() == 1, f()"]),
        ("x", [{"type": "\x1b\ud800"}]),
    ],
)
def test_reason_of_a_program_is_plain(code, tests):
    reward = TestsPass(extract="whole")
    try:
        (scored,) = reward([Completion(code)], [tests])
    finally:
        reward.close()
    assert scored.reason.isprintable()
    scored.reason.encode()
