from __future__ import annotations

import pytest
from grpo_reward_format.blocks import Contract, judge

THINK_ANSWER = Contract(("think", "answer"))


@pytest.mark.parametrize(
    ("text", "passed"),
    [
        ("", 0),
        ("<think>", 1),
        ("<think>a", 1),
        ("<think>a</think>", 3),
        ("<think>a</think><answer>", 4),
        ("<think>a</think><answer>4", 4),
        ("<think>a</think><answer>4</answer>", 7),
    ],
)
def test_judge_share_grows_with_tags_placed_right(text: str, passed: int) -> None:
    verdict = judge(text, THINK_ANSWER)

    assert (verdict.passed, verdict.checks) == (passed, 7)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("<think>a</think>4", ("no <answer>", "no </answer>")),
        ("a</think><answer>4</answer>", ("no <think>", "</think> without a right <think>")),
        ("</think><think>a<answer>4</answer>", ("</think> before <think>",)),
        ("<think>a</think></think><answer>4</answer>", ("2 times </think>",)),
        (
            "<answer>4</answer><think>a</think>",
            ("<answer> out of order", "</answer> without a right <answer>"),
        ),
        ("<think> </think><answer>4</answer>", ("<think> is empty",)),
        ("x<think>a</think><answer>4</answer>", ("text before <think>: 'x'",)),
        ("<think>a</think>\ny\n<answer>4</answer>", ("text before <answer>: 'y'",)),
        ("<think>a</think><answer>4</answer> z", ("text after </answer>: 'z'",)),
    ],
)
def test_judge_faults_name_the_failing_checks(text: str, faults: tuple[str, ...]) -> None:
    assert judge(text, THINK_ANSWER).faults == faults


def test_judge_swapped_blocks_takes_the_better_one() -> None:
    # The first block alone would pass two checks, the second three: taking the first away from
    # the text must not pay.
    verdict = judge("<answer>4</answer><think></think>", THINK_ANSWER)

    assert (verdict.passed, verdict.checks) == (3, 7)


def test_judge_tags_in_a_body_do_not_fill_it() -> None:
    verdict = judge("<think><answer><answer><answer></think>", THINK_ANSWER)

    assert (verdict.passed, verdict.checks) == (2, 7)


def test_judge_given_tag_is_required_but_not_paid() -> None:
    verdict = judge("<think>\na</think>", THINK_ANSWER, prefix="<think>\n")

    assert (verdict.passed, verdict.checks) == (2, 6)


def test_judge_given_tag_repeated_costs_a_check() -> None:
    verdict = judge("<think>\n<think>a</think><answer>4</answer>", THINK_ANSWER, prefix="<think>\n")

    assert (verdict.passed, verdict.checks) == (3, 7)
    assert verdict.faults == (
        "2 times <think>, one of them in the prompt",
        "</think> without a right <think>",
    )


def test_judge_given_block_spoilt_is_below_one_without_further_checks() -> None:
    # Both tags of the answer are right, and they are all that can be earned.
    contract = Contract(("think", "answer"), outside_text="allow", empty_body="allow")
    text = "<think>a</think>" + "<think><answer>4</answer>"

    verdict = judge(text, contract, prefix="<think>a</think>")

    assert (verdict.passed, verdict.checks) == (2, 3)
    assert verdict.share < 1.0


def test_judge_given_empty_block_says_who_wrote_it() -> None:
    prefix = "<think>\n\n</think>\n\n"

    verdict = judge(prefix + "<answer>4</answer>", THINK_ANSWER, prefix=prefix)

    assert verdict.faults == ("<think> is empty, and the prompt wrote it so",)


def test_judge_lines_names_the_first_crowded_tag() -> None:
    contract = Contract(("think", "answer"), layout="lines")

    verdict = judge("<think>\na\n</think> <answer>\n4\n</answer>", contract)

    assert verdict.faults == ("</think> is not alone on its line",)


def test_judge_required_tail_missing_names_the_tag() -> None:
    contract = Contract(("think",), outside_text="allow_after", tail="require")

    assert judge("<think>a</think>\n", contract).faults == ("no text after </think>",)


def test_judge_long_stray_text_is_cut_in_the_fault() -> None:
    text = "<think>a</think><answer>4</answer>" + "z" * 1000

    assert judge(text, THINK_ANSWER).faults == (f"text after </answer>: '{'z' * 30}'",)
