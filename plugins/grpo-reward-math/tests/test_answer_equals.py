"""What `math/answer_equals` says of a completion, beside its value."""

from __future__ import annotations

from typing import Any

import pytest
from grpo_reward_math import AnswerEquals

from grpo_core import Completion, Score


def scored(text: str, answer: Any, **options: Any) -> Score:
    result = AnswerEquals(**options)(Completion(text), answer)
    assert isinstance(result, Score)
    return result


def test_the_reason_says_what_was_extracted_how_it_was_read_and_which_rule_decided() -> None:
    assert scored(r"so \boxed{0.375}", r"\frac{3}{8}").reason == (
        'box: "0.375" read as number, gold "\\frac{3}{8}" as fraction: equal as exact numbers'
    )
    assert scored("The answer is 5 km.", "5 cm").reason == (
        'phrase: "5 km" read as number with a unit, gold "5 cm" as number with a unit: '
        "unit km is not cm"
    )


@pytest.mark.parametrize(
    ("text", "metric", "reason"),
    [
        ("I do not know.", "no_answer", "no answer: nothing in the reply marks one"),
        ("<think>so \\boxed{5}", "no_answer", "no answer: <think> is never closed"),
        (r"\boxed{5} \boxed{6}", "hedges", 'hedge: "5" and "6" are both offered (box)'),
        (r"\boxed{\frac{5}{}", "no_answer", "no answer: the last box is never closed"),
        (r"\boxed{9^{9^{9^9}}}", "limit_hits", "limit: "),
        (r"\boxed{5 +}", "unreadable", 'box: "5 +" cannot be read'),
    ],
)
def test_what_is_no_answer_is_counted(text: str, metric: str, reason: str) -> None:
    result = scored(text, "5")

    assert result.value == 0.0
    assert result.reason.startswith(reason)
    assert {name for name, value in result.metrics.items() if value} == {metric}
    assert set(result.metrics) == {"no_answer", "hedges", "unreadable", "limit_hits"}


def test_a_row_of_many_boxes_is_a_hedge_that_is_not_read() -> None:
    result = scored(" ".join(rf"\boxed{{{i}}}" for i in range(100)), "99")

    assert (result.value, result.metrics["hedges"]) == (0.0, 1.0)
    assert result.reason.startswith("hedge: 100 different answers, such as")


@pytest.mark.parametrize(
    ("text", "gold", "value"),
    [
        (r"\boxed{0.5} and again \boxed{\frac{1}{2}}", "0.5", 1.0),
        (r"The legs are \boxed{9} and \boxed{40}.", "9, 40", 1.0),
        (r"First \boxed{9}, later on \boxed{40}.", "9, 40", 1.0),
        (r"The legs are \boxed{9} and \boxed{40}.", "40", 0.0),
        (r"The legs are \boxed{9} and \boxed{40}.", "9", 0.0),
        ("The answer is either 9 or 40.", "9, 40", 1.0),
        (r"\boxed{9}, \boxed{40}. So the answers are \boxed{9, 40}.", "9, 40", 1.0),
        (r"\boxed{9}, \boxed{41}. So the answers are \boxed{9, 40}.", "9, 40", 0.0),
        ("The answer is either 9 or 40.", "9", 0.0),
        (r"\boxed{1}, \boxed{234}", "1234", 0.0),
        (r"\boxed{5 \text{ or more}}", "5", 0.0),
        (r"\boxed{5\text{ (or 6)}}", "5", 0.0),
        (r"\boxed{5} (but maybe 6)", "5", 0.0),
        ("The answer is at least 5.", "5", 0.0),
        ("<answer>It is 5. Or 6.</answer>", "5", 0.0),
    ],
)
def test_several_answers(text: str, gold: str, value: float) -> None:
    assert scored(text, gold).value == value


@pytest.mark.parametrize(
    ("options", "text", "gold"),
    [
        ({"units": "ignored"}, r"\boxed{5 m}", "5 cm"),
        ({"percent_sign_optional": True}, r"\boxed{20}", r"20\%"),
        ({"base_optional": True}, r"\boxed{1101}", "1101_2"),
        ({"ratios_scale": True}, r"\boxed{6:8}", "3:4"),
        ({"ignore_letter_case": True}, r"\boxed{b}", "B"),
        ({"log_base": "10"}, r"\boxed{\log 100}", "2"),
        ({"last_number": True}, "She has 6 left.", "6"),
        ({"phrases": ("Antwort",)}, "Antwort: 6", "6"),
        ({"corrections": ("Moment",)}, r"\boxed{5} Moment, \boxed{6}", "6"),
        ({"answer_tags": ("final",)}, "<final>6</final>", "6"),
        ({"after_tag": "reasoning"}, r"\boxed{5}</reasoning>\boxed{6}", "6"),
    ],
)
def test_an_option_changes_the_verdict(options: dict[str, Any], text: str, gold: str) -> None:
    assert scored(text, gold).value == 0.0
    assert scored(text, gold, **options).value == 1.0


def test_units_can_be_required_and_case_can_matter() -> None:
    assert scored(r"\boxed{5}", "5 cm").value == 1.0
    assert scored(r"\boxed{5}", "5 cm", units="required").value == 0.0
    assert scored(r"\boxed{\text{monday}}", "Monday").value == 1.0
    assert scored(r"\boxed{\text{monday}}", "Monday", ignore_case=False).value == 0.0


def test_a_tag_that_stopped_the_generation_counts_if_the_reply_is_whole() -> None:
    reward = AnswerEquals()

    def value(truncated: bool | None) -> float:
        result = reward(Completion("<answer>56", truncated=truncated), "56")
        assert isinstance(result, Score)
        return result.value

    assert [value(False), value(True), value(None)] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"units": "some"}, "units must be one of 'optional', 'required', 'ignored', got 'some'"),
        ({"log_base": "2"}, "log_base must be one of 'e', '10', got '2'"),
        ({"answer_tags": ("<answer>",)}, "got '<answer>'; write 'answer'"),
        ({"after_tag": "</think>"}, "got '</think>'; write 'think'"),
    ],
)
def test_an_option_that_is_none_of_its_values_is_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        AnswerEquals(**options)
    assert message in str(caught.value)
