"""The tables of README.md, whose numbers were worked out by hand, against what the rewards give."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from grpo_reward_format import Pattern, PublishedRule, TagCount, Tags

from grpo_core import Completion

README = Path(__file__).parents[1].joinpath("README.md").read_text("utf-8")
TITLE = "| completion | TRL think |"
# ms-swift's `Format` as it was published, matched by re.match with DOTALL and MULTILINE.
MS_SWIFT = r"^<think>.*?</think>\s*<answer>.*?</answer>(?![\s\S])"
AS_PATTERN = r"(?s)\A<think>.*?</think>\s*<answer>.*?</answer>\Z"


def published(rule: Any) -> Callable[[Completion], float]:
    return PublishedRule(rule=rule)


def ms_swift(completion: Completion) -> float:
    given = float(re.match(MS_SWIFT, completion.text, re.DOTALL | re.MULTILINE) is not None)
    ours = Pattern(patterns=[{"pattern": AS_PATTERN}], timeout_s=60.0, prompt_prefix="")
    assert ours(completion).value == given
    return given


COLUMNS: list[Callable[[Completion], float]] = [
    published("trl_think_format"),
    published("open_r1_format"),
    ms_swift,
    published("open_r1_tag_count"),
    lambda completion: Tags()(completion).value,
    lambda completion: Tags(mode="soft")(completion).value,
    lambda completion: TagCount()(completion).value,
]


def rows() -> list[list[str]]:
    lines = README[README.index(TITLE) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def completion_of(cell: str) -> Completion:
    """The completion between the last two backticks; an earlier pair holds the prompt's end."""
    *prompts, text = [
        found.replace("⏎", "\n").replace("CRLF", "\r\n").replace("\\|", "|")
        for found in re.findall("`([^`]*)`", cell)
    ]
    return Completion(text, prefill="".join(prompts))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0].split(":")[0])
def test_readme_row_is_what_the_rewards_give(row: list[str]) -> None:
    completion = completion_of(row[0])

    given = [Fraction(score(completion)).limit_denominator(1000) for score in COLUMNS]

    assert given == [Fraction(cell) for cell in row[1:]]


def test_readme_table_has_all_rows() -> None:
    assert len(rows()) == 18
    assert f"`{AS_PATTERN}`" in README


def test_special_token_cut_off_is_right_everywhere() -> None:
    completion = completion_of(rows()[-1][0])
    suffixes = ["<|im_end|>"]

    assert completion.text.endswith("</answer><|im_end|>")
    assert Tags(strip_suffixes=suffixes)(completion).value == 1.0
    assert TagCount(strip_suffixes=suffixes)(completion).value == 1.0


@pytest.mark.parametrize(
    ("hole", "completion", "published_value", "ours"),
    [
        ("both blocks empty", "<think>\n\n</think>\n<answer>\n\n</answer>", 1.0, 0.0),
        ("prose", "Hi <think>\na\n</think>\n<answer>\n4\n</answer>", 1.0, 0.75),
        ("prose", "<think>\na\n</think>\nSo\n<answer>\n4\n</answer>", 1.0, 0.75),
        ("prose", "<think>\na\n</think>\n<answer>\n4\n</answer> Bye", 1.0, 0.75),
        ("reversed order", "\n<answer>\n4\n</answer>\n<think>\na\n</think>\n", 1.0, 0.25),
        ("closing tags alone", "\n</think>\n\n</answer>", 0.5, 0.0),
        ("second", "<think>\n<answer>3</answer>\n</think>\n<answer>\n4\n</answer>", 1.0, 0.5),
        ("without line breaks", "<think>a</think><answer>4</answer>", 0.0, 1.0),
        ("CRLF", "<think>\r\na\r\n</think>\r\n<answer>\r\n4\r\n</answer>", 0.25, 1.0),
    ],
)
def test_hole_of_the_published_count_is_closed(
    hole: str, completion: str, published_value: float, ours: float
) -> None:
    assert PublishedRule(rule="open_r1_tag_count")(Completion(completion)) == published_value
    assert TagCount()(Completion(completion)).value == ours
    assert hole in README
