"""The text of a new config: what the templates hold, what cannot be seen."""

from __future__ import annotations

import tomllib
from importlib import resources

import pytest

from grpo_core import load_reward
from grpo_core.new_run.text import visible

TEMPLATES = resources.files("grpo_core") / "templates"


def test_system_messages_are_of_rewards_that_exist():
    for name in tomllib.loads((TEMPLATES / "system.toml").read_text()):
        assert load_reward(name)("<think>a</think><answer>b</answer>").value == 1.0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é漢😀", "plain é漢😀"),
        ("a\nb\x00\u202e", "a\\U0000000ab\\U00000000\\U0000202e"),
        ("\ud800", "\\U0000d800"),
        ("123456", "1234…"),
    ],
)
def test_visible_text_is_one_line_of_at_most_so_many_characters(text, shown):
    assert visible(text, 5 if text == "123456" else 100) == shown
