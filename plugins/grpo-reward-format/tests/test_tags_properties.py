"""Properties of `format/tags` on random texts, and a second opinion on small ones."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from grpo_reward_format import Tags

from grpo_core import Completion

REQUIRED = ["<think>", "</think>", "<answer>", "</answer>"]
PIECES = [
    *REQUIRED,
    *REQUIRED,
    "a",
    "a",
    " ",
    "\n",
    "\r\n",
    "\u200b",
    "<Think>",
    "```\n",
    "\n~~~\n",
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"outside_text": "allow_after", "tail": "require"},
    {"outside_text": "allow", "empty_body": "allow"},
    {"layout": "lines", "prompt_prefix": "<think>\n"},
    {"prompt_prefix": "<think>", "prefix_policy": "lenient", "outside_text": "allow"},
    {"prompt_prefix": "<think>\n\n</think>\n\n", "empty_body": "allow"},
    {"prompt_prefix": "<answer>", "outside_text": "allow", "empty_body": "allow"},
    {"ignore_code_fences": True},
    {"strip_suffixes": ["a"], "layout": "lines"},
    {"tags": ["answer"], "outside_text": "allow"},
]
# Where nothing but the tags themselves depends on a tag: whether a prefix is repeated depends on
# what stands in front of it, whether a line is a fence on what stands beside it.
PLAIN_OPTIONS = [o for o in OPTIONS if not {"prefix_policy", "ignore_code_fences"} & set(o)]
SEEDS = range(400)


def random_text(seed: int, prefix: str = "") -> str:
    """A text near the contract (behind the prefix) half of the time, else a mixture of pieces."""
    generator = random.Random(seed)
    if seed % 2:
        return "".join(generator.choices(PIECES, k=generator.randint(0, 12)))
    right = ["<think>", "a", "</think>", "<answer>", "4", "</answer>"]
    pieces = [piece for piece in right if piece not in prefix]
    for _ in range(generator.randint(0, 3)):
        place = generator.randrange(len(pieces) + 1)
        action = generator.choice(["insert", "delete", "swap"])
        if action == "insert":
            pieces.insert(place, generator.choice(PIECES))
        elif pieces[place:]:
            piece = pieces.pop(place)
            if action == "swap":
                pieces.insert(generator.randrange(len(pieces) + 1), piece)
    return generator.choice(["", "\n", " "]).join(pieces)


def required(options: dict[str, Any]) -> list[str]:
    return [
        f"<{mark}{name}>" for name in options.get("tags", ["think", "answer"]) for mark in ("", "/")
    ]


def soft(text: str, options: dict[str, Any]) -> float:
    return Tags(mode="soft", **options)(Completion(text)).value


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_tags_random_text_is_right_in_both_modes_or_in_none(options: dict[str, Any]) -> None:
    strict, share = Tags(mode="strict", **options), Tags(mode="soft", **options)
    n_right = 0

    for seed in SEEDS:
        completion = Completion(random_text(seed, options.get("prompt_prefix", "")))
        hard, easy = strict(completion), share(completion)
        assert hard.value in (0.0, 1.0), f"seed {seed}"
        assert 0.0 <= easy.value <= 1.0, f"seed {seed}"
        assert (hard.value == 1.0) == (easy.value == 1.0), f"seed {seed}"
        assert (hard.value == 1.0) == (hard.reason == ""), f"seed {seed}"
        n_right += hard.value == 1.0

    reachable = options.get("prompt_prefix") != "<answer>"  # else the order is lost already
    assert (n_right > 0) == reachable


@pytest.mark.parametrize("options", PLAIN_OPTIONS, ids=str)
def test_tags_taking_a_tag_away_never_pays(options: dict[str, Any]) -> None:
    for seed in SEEDS:
        text = random_text(seed)
        for tag in required(options):
            if tag in options.get("prompt_prefix", ""):
                continue  # the prompt's tag stays, so this would repair a double one
            assert soft(text.replace(tag, ""), options) <= soft(text, options), (
                f"seed {seed}: {text!r} without {tag}"
            )


@pytest.mark.parametrize("options", PLAIN_OPTIONS, ids=str)
def test_tags_one_more_of_a_tag_never_pays(options: dict[str, Any]) -> None:
    for seed in SEEDS:
        text = random_text(seed)
        place = random.Random(seed).randint(0, len(text))
        for tag in required(options):
            if tag not in text or re.search(r"<[^>]*$", text[:place]):
                continue  # not inside another tag: that would take one away
            assert soft(text[:place] + tag + text[place:], options) <= soft(text, options), (
                f"seed {seed}: {text!r} with {tag} at {place}"
            )


def test_tags_emptying_a_body_never_pays() -> None:
    for seed in SEEDS:
        text = random_text(seed)
        emptied = re.sub(r"<(think|answer)>[^<]*</\1>", r"<\1></\1>", text)
        assert soft(emptied, {}) <= soft(text, {}), f"seed {seed}: {text!r}"


def test_tags_text_without_tags_earns_nothing() -> None:
    for seed in SEEDS:
        text = re.sub("</?(think|answer)>", "", random_text(seed))
        for options in OPTIONS:
            assert soft(text, options) == 0.0, f"seed {seed}: {text!r} under {options}"


def test_tags_strict_agrees_with_a_pattern() -> None:
    strict = Tags()
    body = r"(?:(?!</?(?:think|answer)>).)*"
    whole = re.compile(rf"\s*<think>({body})</think>\s*<answer>({body})</answer>\s*", re.DOTALL)

    for seed in range(4000):
        text = random_text(seed)
        match = whole.fullmatch(text)
        bodies = [re.sub(r"[\s\u200b]", "", group) for group in match.groups()] if match else [""]
        assert strict(Completion(text)).value == float(all(bodies)), f"seed {seed}: {text!r}"
