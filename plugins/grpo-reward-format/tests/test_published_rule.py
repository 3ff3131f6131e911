"""`format/published_rule` beside the patterns that were published, and beside TRL itself."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from grpo_reward_format import PublishedRule

from grpo_core import Completion, load_reward

# huggingface/trl, trl/rewards/format_rewards.py; huggingface/open-r1, src/open_r1/rewards.py.
PATTERNS = {
    "trl_think_format": r"^<think>(?!.*<think>)(.*?)</think>.*$",
    "open_r1_format": r"^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$",
}
STRINGS = ["<think>\n", "\n</think>\n", "\n<answer>\n", "\n</answer>"]
PIECES = [
    *STRINGS,
    *STRINGS,
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "a",
    "\n",
    "\r\n",
    " ",
]
RIGHT = ["<think>\n", "a", "\n</think>\n", "<answer>\n", "4", "\n</answer>"]


def texts() -> list[str]:
    """Right texts with up to three pieces put in or left out, and mixtures of pieces."""
    made = []
    for seed in range(4000):
        generator = random.Random(seed)
        pieces = RIGHT[:] if seed % 2 else generator.choices(PIECES, k=generator.randint(0, 10))
        for _ in range(generator.randint(0, 3)):
            place = generator.randrange(len(pieces) + 1)
            if generator.random() < 0.5:
                pieces.insert(place, generator.choice(PIECES))
            else:
                del pieces[place : place + 1]
        made.append("".join(pieces))
    return made


@pytest.mark.parametrize("rule", ["trl_think_format", "open_r1_format"])
def test_published_rule_agrees_with_the_published_pattern(rule: str) -> None:
    pattern = re.compile(PATTERNS[rule], re.DOTALL | re.MULTILINE)
    score = PublishedRule(rule=rule)  # type: ignore[arg-type]  # a key of the table above
    values = []

    for text in texts():
        values.append(score(Completion(text)))
        assert values[-1] == float(pattern.match(text) is not None), repr(text)

    assert 100 < sum(values) < 3900


def test_published_rule_agrees_with_the_published_count() -> None:
    score = PublishedRule(rule="open_r1_tag_count")

    for text in texts():
        assert score(Completion(text)) == sum(0.25 for s in STRINGS if text.count(s) == 1)


def test_published_rule_agrees_with_trl() -> None:
    think_format: Callable[..., list[float]] = pytest.importorskip(
        "trl.rewards"
    ).think_format_reward
    score = PublishedRule(rule="trl_think_format")

    published = think_format([[{"content": text}] for text in texts()])

    assert [score(Completion(text)) for text in texts()] == published


def test_published_rule_does_not_see_the_prefill() -> None:
    completion = Completion("a</think>4", prefill="<think>")

    assert PublishedRule(rule="trl_think_format")(completion) == 0.0


@pytest.mark.parametrize("rule", [*PATTERNS, "open_r1_tag_count"])
def test_published_rule_megabyte_of_tags_is_scored(rule: str) -> None:
    text = "<think>\na\n</think>\n<answer>\n" * 40_000

    assert load_reward("format/published_rule", options={"rule": rule})(text).value == 0.0


def test_published_rule_unknown_rule_lists_the_known() -> None:
    with pytest.raises(ValueError, match=r"rule must be one of 'trl_think_format', .* got 'trl'"):
        PublishedRule(rule="trl")  # type: ignore[arg-type]  # on purpose
