"""What every reward of the plugin keeps to on any text: finite, in range, the same each time."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from grpo_core import load_reward

BUILT: list[tuple[str, dict[str, Any]]] = [
    ("tags", {}),
    ("tags", {"mode": "soft", "ignore_code_fences": True, "strip_suffixes": ["</s>"]}),
    ("tag_count", {}),
    ("tag_count", {"layout_weight": 0.5, "ignore_code_fences": True, "outside_text": "allow"}),
    ("tag_count", {"tags": ["a", "b", "c"], "prompt_prefix": "<a>\n", "empty_body": "allow"}),
    ("pattern", {"patterns": [{"pattern": "(?s)<think>.+</think>", "where": "full"}]}),
    ("pattern", {"patterns": [{"pattern": "x"}, {"pattern": "sorry", "must": "not_match"}]}),
    ("published_rule", {"rule": "trl_think_format"}),
    ("published_rule", {"rule": "open_r1_format"}),
    ("published_rule", {"rule": "open_r1_tag_count"}),
]
JUNK = {
    "empty": "",
    "blanks": " \n\t\r\n",
    "NUL": "\x00<think>\x00</think>\x00",
    "lone surrogates": "\ud800<think>\udfff</think><answer>\ud83d</answer>",
    "unclosed": "<think>a<answer>4",
    "half a tag": "<think",
    "closers": "</answer></think>",
    "zero width": "\u200b\ufeff<think>\u200b</think>\u2060",
    "1 MB of blanks": " " * 1_000_000,
    "1 MB of letters": "x" * 1_000_000,
    "1 MB of openers": "<think>" * 140_000,
    "1 MB of pairs": "<think></think><answer></answer>" * 30_000,
    "1 MB of zero width in one block": "<think>" + "\ufe0f" * 330_000 + "</think>",
    "1 MB of fences": "```\n" * 250_000,
    "1 MB of an unclosed body": "<think>\n" + "a b\n" * 250_000,
    "1 MB of line feeds": "<think>\n" + "\n" * 1_000_000 + "</think>",
}


@pytest.mark.parametrize("name", JUNK)
@pytest.mark.parametrize(("reward", "options"), BUILT, ids=str)
def test_reward_junk_scores_in_range_twice_the_same(
    reward: str, options: dict[str, Any], name: str
) -> None:
    scored = load_reward(f"format/{reward}", options=options)

    first, second = scored(JUNK[name]), scored(JUNK[name])

    assert first.status == "scored"
    assert first.value is not None
    assert math.isfinite(first.value)
    assert 0.0 <= first.value <= 1.0
    assert len(first.reason) < 400
    assert first == second


@pytest.mark.parametrize(("reward", "options"), BUILT, ids=str)
def test_reward_in_threads_gives_the_same_outcomes(reward: str, options: dict[str, Any]) -> None:
    scored = load_reward(f"format/{reward}", options=options)
    texts = [text for text in JUNK.values() if len(text) < 1000] * 20

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(scored, texts))

    assert outcomes == [scored(text) for text in texts]
