from __future__ import annotations

import pickle
from typing import Any

import pytest
from grpo_reward_format import Pattern, PublishedRule, TagCount, Tags, grpo_rewards

from grpo_core import Completion, Score

RIGHT = "<think>a</think><answer>4</answer>"


def test_grpo_rewards_lists_all_rewards() -> None:
    assert grpo_rewards() == [Tags, TagCount, Pattern, PublishedRule]


def test_tags_right_text_scores_one_without_reason() -> None:
    assert Tags()(Completion(RIGHT)) == Score(1.0)


def test_tags_many_faults_shows_three_and_counts_the_rest() -> None:
    score = Tags()(Completion("hello"))

    assert score == Score(0.0, reason="no <think>; no </think>; no <answer>; 1 more")


def test_tags_given_prefix_overrides_the_prefill() -> None:
    completion = Completion("a</think><answer>4</answer>", prefill="<think>\n")

    assert Tags()(completion).value == 1.0
    assert Tags(prompt_prefix="")(completion).value == 0.0
    assert Tags(prompt_prefix="<think>")(completion).value == 1.0


def test_tags_lenient_prefix_repeated_twice_is_a_double_tag() -> None:
    tags = Tags(prefix_policy="lenient")
    completion = Completion(f"<think>\n{RIGHT}", prefill="<think>\n")

    assert tags(completion).value == 0.0


def test_tags_lenient_prefix_with_crlf_is_recognised() -> None:
    tags = Tags(prefix_policy="lenient", outside_text="allow")
    completion = Completion(f"Go:\r\n{RIGHT}", prefill="Go:\n<think>")

    assert tags(completion).value == 1.0


def test_tags_suffix_of_another_suffix_is_cut_whole() -> None:
    tags = Tags(strip_suffixes=["end|>", "<|im_end|>"])

    assert tags(Completion(RIGHT + "<|im_end|>")).value == 1.0


def test_tags_suffix_before_the_end_stays() -> None:
    tags = Tags(strip_suffixes=["</s>"])

    assert tags(Completion("<think>a</think></s><answer>4</answer>")).value == 0.0


def test_tags_too_many_fences_is_a_verdict() -> None:
    tags = Tags(ignore_code_fences=True)
    flood = "```\n" * 10_001

    score = tags(Completion(f"<think>\n{flood}</think><answer>4</answer>"))

    assert score == Score(0.0, reason="limit: more than 10000 lines that look like code fences")


def test_tags_same_flood_is_read_where_fences_do_not_matter() -> None:
    flood = "```\n" * 10_001

    assert Tags()(Completion(f"<think>\n{flood}</think><answer>4</answer>")).value == 1.0


def test_tags_lone_surrogates_and_nul_are_text() -> None:
    assert Tags()(Completion("<think>\ud800</think><answer>4\x00</answer>")).value == 1.0


def test_tags_instance_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(Tags(mode="soft")))

    assert copy(Completion(RIGHT)).value == 1.0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tags": []}, "tags must name at least one block, got an empty list"),
        ({"tags": "think"}, "tags must be a list of names, got the text 'think'"),
        ({"tags": ["<think>"]}, "got '<think>'; write 'think'"),
        ({"tags": ["a", "/b"]}, r"tags\[1\] must be the bare name .* got '/b'; write 'b'"),
        ({"tags": [""]}, "got ''; rename it"),
        ({"tags": ["my tag"]}, "got 'my tag'; rename it"),
        ({"tags": ["2nd"]}, "got '2nd'; rename it"),
        ({"tags": ["-a"]}, "got '-a'; rename it"),
        ({"tags": ["a>b"]}, "got 'a>b'; rename it"),
        ({"tags": [7]}, "got 7; rename it"),
        ({"tags": ["a", "b", "a"]}, r"tags\[2\] is 'a' again"),
        ({"mode": "soft "}, "mode must be one of 'strict', 'soft', got 'soft '"),
        ({"outside_text": "no"}, "outside_text must be one of 'forbid', 'allow_after', 'allow'"),
        ({"layout": "line"}, "layout must be one of 'any', 'lines', got 'line'"),
        ({"prefix_policy": "absent"}, "prefix_policy must be one of 'exact', 'lenient'"),
        ({"empty_body": ""}, "empty_body must be one of 'reject', 'allow', got ''"),
        ({"tail": "absent"}, "tail must be one of 'optional', 'require', got 'absent'"),
        ({"tail": "require"}, "set outside_text to 'allow_after', or leave tail out"),
        ({"strip_suffixes": "</s>"}, r"got the text '</s>'; write strip_suffixes = \['</s>'\]"),
        ({"strip_suffixes": ["</s>", " "]}, r"strip_suffixes\[1\] must hold more than white space"),
        ({"strip_suffixes": ["</answer>"]}, "would cut into the required '</answer>'"),
        ({"strip_suffixes": [">"]}, "would cut into the required '</think>'"),
        ({"strip_suffixes": ["x</answer>"]}, "would cut into the required '</answer>'"),
        ({"strip_suffixes": ["r></s>"]}, "would cut into the required '</answer>'"),
    ],
)
def test_tags_bad_option_says_what_to_do(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Tags(**options)
