"""Properties of `format/tags` and `format/tag_count` on random texts, with second opinions."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from grpo_reward_format import TagCount, Tags

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


def count_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options as `format/tag_count` has them."""
    kept = {key: value for key, value in options.items() if key not in ("layout", "tail")}
    return kept | ({"layout_weight": 0.25} if "layout" in options else {})


def count(text: str, options: dict[str, Any]) -> float:
    return TagCount(**count_options(options))(Completion(text)).value


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


@pytest.mark.parametrize("pay", [soft, count])
@pytest.mark.parametrize("options", PLAIN_OPTIONS, ids=str)
def test_tags_taking_a_tag_away_never_pays(
    options: dict[str, Any], pay: Callable[[str, dict[str, Any]], float]
) -> None:
    for seed in SEEDS:
        text = random_text(seed)
        for tag in required(options):
            if tag in options.get("prompt_prefix", ""):
                continue  # the prompt's tag stays, so this would repair a double one
            assert pay(text.replace(tag, ""), options) <= pay(text, options), (
                f"seed {seed}: {text!r} without {tag}"
            )


@pytest.mark.parametrize("pay", [soft, count])
@pytest.mark.parametrize("options", PLAIN_OPTIONS, ids=str)
def test_tags_one_more_of_a_tag_never_pays(
    options: dict[str, Any], pay: Callable[[str, dict[str, Any]], float]
) -> None:
    for seed in SEEDS:
        text = random_text(seed)
        place = random.Random(seed).randint(0, len(text))
        for tag in required(options):
            if tag not in text or re.search(r"<[^>]*$", text[:place]):
                continue  # not inside another tag: that would take one away
            assert pay(text[:place] + tag + text[place:], options) <= pay(text, options), (
                f"seed {seed}: {text!r} with {tag} at {place}"
            )


def test_tags_emptying_a_body_never_pays() -> None:
    for seed in SEEDS:
        text = random_text(seed)
        emptied = re.sub(r"<(think|answer)>[^<]*</\1>", r"<\1></\1>", text)
        assert soft(emptied, {}) <= soft(text, {}), f"seed {seed}: {text!r}"
        # Where text outside costs, emptying a block too many takes such text away: that may pay.
        free = {"outside_text": "allow"}
        assert count(emptied, free) <= count(text, free), f"seed {seed}: {text!r}"


def test_tags_text_without_tags_earns_nothing() -> None:
    for seed in SEEDS:
        text = re.sub("</?(think|answer)>", "", random_text(seed))
        for options in OPTIONS:
            assert soft(text, options) == 0.0, f"seed {seed}: {text!r} under {options}"
            assert count(text, options) == 0.0, f"seed {seed}: {text!r} under {options}"


def test_tags_strict_agrees_with_a_pattern() -> None:
    strict = Tags()
    body = r"(?:(?!</?(?:think|answer)>).)*"
    whole = re.compile(rf"\s*<think>({body})</think>\s*<answer>({body})</answer>\s*", re.DOTALL)

    for seed in range(4000):
        text = random_text(seed)
        match = whole.fullmatch(text)
        bodies = [re.sub(r"[\s\u200b]", "", group) for group in match.groups()] if match else [""]
        assert strict(Completion(text)).value == float(all(bodies)), f"seed {seed}: {text!r}"


@pytest.mark.parametrize("options", [o for o in OPTIONS if "tail" not in o], ids=str)
def test_tag_count_is_one_exactly_where_strict_tags_are(options: dict[str, Any]) -> None:
    counted, strict = TagCount(**count_options(options)), Tags(**options)

    for seed in SEEDS:
        completion = Completion(random_text(seed, options.get("prompt_prefix", "")))
        score = counted(completion)
        assert 0.0 <= score.value <= 1.0, f"seed {seed}"
        assert (score.value == 1.0) == (strict(completion).value == 1.0), f"seed {seed}"
        assert (score.value == 1.0) == (score.reason == ""), f"seed {seed}"


def test_tag_count_agrees_with_trying_all_subsets() -> None:
    for seed in range(3000):
        text = random_text(seed)
        subsets = itertools.product([False, True], repeat=4)
        expected = max(
            in_place(text, [t for t, on in zip(REQUIRED, s, strict=True) if on]) for s in subsets
        )
        assert count(text, {}) == expected / 4, f"seed {seed}: {text!r}"


def in_place(text: str, chain: list[str]) -> int:
    """How many tags of a chain are in their place under the default options, else 0."""
    if any(text.count(tag) != 1 for tag in chain):
        return 0
    if any(f"<{name}>" not in chain and f"</{name}>" in chain for name in ("think", "answer")):
        return 0
    starts = [text.index(tag) for tag in chain]
    if starts != sorted(starts):
        return 0
    ends = [0, *(start + len(tag) for start, tag in zip(starts, chain, strict=True))]
    gaps = [text[end:start] for end, start in zip(ends, [*starts, len(text)], strict=True)]
    gaps = [re.sub("</?(think|answer)>", "", gap) for gap in gaps]
    filled = [bool(re.sub(r"[\s\u200b]", "", gap)) for gap in gaps]
    outside = [bool(gap.strip()) for gap in gaps]
    right = 0
    for i, tag in enumerate(chain):
        if tag.startswith("</"):
            right += filled[i] and not (tag == "</answer>" and outside[i + 1])
        else:
            before = chain[i - 1] if i else ""
            is_next = before == {"<think>": "", "<answer>": "</think>"}[tag]
            right += filled[i + 1] and not (is_next and outside[i])
    return right
