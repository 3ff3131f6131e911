"""The contract of grpo-core for every reward of the plugin, with the rows of cases.jsonl."""

from __future__ import annotations

from grpo_core.testing import RewardContract

_HOLES = {"test_attacks_stay_below_the_lowest_good": "the holes of the published rule are kept"}


class TestTags(RewardContract):
    reward = "format/tags"
    cases = "cases.jsonl"


class TestTagsSoft(RewardContract):
    reward = "format/tags"
    options = {"mode": "soft"}
    cases = "cases.jsonl"


class TestTagCount(RewardContract):
    reward = "format/tag_count"
    cases = "cases.jsonl"
    waived = {
        "test_attacks_stay_below_the_lowest_good": "one character is a body; the README says so"
    }


class TestPattern(RewardContract):
    reward = "format/pattern"
    options = {"patterns": [{"pattern": "(?s)<think>.+</think>\\s*[0-9]+", "where": "full"}]}
    good = ("<think>a</think>4", "<think>a\nb</think>\n12")
    bad = ("<think>a</think>", "4", "<think></think>4")
    attacks = ("", "<think>" * 1000, "4" * 1000)


class TestTrlThinkFormat(RewardContract):
    reward = "format/published_rule"
    options = {"rule": "trl_think_format"}
    cases = "cases.jsonl"
    waived = _HOLES


class TestOpenR1Format(RewardContract):
    reward = "format/published_rule"
    options = {"rule": "open_r1_format"}
    cases = "cases.jsonl"
    waived = _HOLES


class TestOpenR1TagCount(RewardContract):
    reward = "format/published_rule"
    options = {"rule": "open_r1_tag_count"}
    cases = "cases.jsonl"
    waived = _HOLES
