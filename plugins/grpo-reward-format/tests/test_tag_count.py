from __future__ import annotations

import pickle
from typing import Any

import pytest
from grpo_reward_format import TagCount

from grpo_core import Completion, Score

RIGHT = "<think>a</think><answer>4</answer>"


def test_tag_count_right_text_scores_one_without_reason() -> None:
    assert TagCount()(Completion(RIGHT)) == Score(1.0)


@pytest.mark.parametrize("weight", [0.0, 0.1, 0.3, 0.7, 1 / 3, 1.0])
def test_tag_count_right_lines_score_exactly_one_at_any_weight(weight: float) -> None:
    text = "<think>\na\n</think>\n<answer>\n4\n</answer>"

    assert TagCount(layout_weight=weight)(Completion(text)).value == 1.0


def test_tag_count_layout_weight_of_one_pays_for_lines_alone() -> None:
    assert TagCount(layout_weight=1.0)(Completion(RIGHT)).value == 0.0


def test_tag_count_lenient_prefix_is_not_counted_twice() -> None:
    completion = Completion(RIGHT, prefill="<think>")

    assert TagCount()(completion).value == 0.5  # of four: the prompt's tag was spoilt
    assert TagCount(prefix_policy="lenient")(completion).value == 1.0


def test_tag_count_empty_block_of_the_prompt_costs_unless_allowed() -> None:
    completion = Completion("<answer>4</answer>", prefill="<think>\n\n</think>\n\n")

    assert TagCount()(completion).value == pytest.approx(2 / 3)
    assert TagCount()(completion).reason == "<think> is empty"
    assert TagCount(empty_body="allow")(completion).value == 1.0


def test_tag_count_fifty_blocks_each_count() -> None:
    names = [f"t{i}" for i in range(50)]
    text = "".join(f"<{name}>a</{name}>" for name in names)

    assert TagCount(tags=names)(Completion(text)).value == 1.0
    assert TagCount(tags=names)(Completion(text[:-1])).value == 0.99


def test_tag_count_too_many_fences_is_a_verdict() -> None:
    score = TagCount(ignore_code_fences=True)(Completion("```\n" * 10_001))

    assert score == Score(0.0, reason="limit: more than 10000 lines that look like code fences")


def test_tag_count_instance_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(TagCount(layout_weight=0.5)))

    assert copy(Completion(RIGHT)).value == 0.5


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tags": []}, "tags must name at least one block, got an empty list"),
        ({"tags": ["a", "a"]}, r"tags\[1\] is 'a' again"),
        ({"outside_text": "no"}, "outside_text must be one of 'forbid', 'allow_after', 'allow'"),
        ({"empty_body": "yes"}, "empty_body must be one of 'reject', 'allow', got 'yes'"),
        ({"prefix_policy": ""}, "prefix_policy must be one of 'exact', 'lenient', got ''"),
        ({"layout_weight": 1.5}, "layout_weight must be a number from 0 to 1, got 1.5"),
        ({"layout_weight": -0.1}, "got -0.1; write for example 0.2"),
        ({"layout_weight": float("nan")}, "layout_weight must be a number from 0 to 1, got nan"),
        ({"strip_suffixes": ["</answer>"]}, "would cut into the required '</answer>'"),
    ],
)
def test_tag_count_bad_option_says_what_to_do(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        TagCount(**options)
