"""Which option a completion names."""

from __future__ import annotations

from typing import Any

import pytest
from grpo_reward_math import AnswerEquals, Choice

from grpo_core import Completion, Fail, Score, Skip

PLANETS = ["Mars", "Venus", "the Moon", "24"]


def scored(text: str, answer: Any = "B", choices: list[str] | None = None) -> Score:
    result = Choice()(Completion(text), answer, choices)
    assert isinstance(result, Score)
    return result


@pytest.mark.parametrize(
    "text",
    [
        r"\boxed{B}",
        r"\boxed{b}",
        r"\boxed{(B)}",
        r"\boxed{\text{B}}",
        r"\boxed{\textbf{(B)}\ 24}",
        r"\boxed{B) 24}",
        "<answer>B</answer>",
        "<answer>(B)</answer>",
        "Answer: B",
        "ANSWER: **B**",
        "The answer is B.",
        "The answer is B because it is the hottest.",
        "The answer is option B.",
        "The correct option is (B).",
        "The best choice is B: Venus.",
        "I choose B.",
        "B",
        "B.",
        "(B) Venus",
        "The answer is A. Wait, that is wrong. The answer is B.",
    ],
)
def test_the_letter_names_the_option(text: str) -> None:
    assert scored(text).value == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        r"\boxed{A}",
        r"\boxed{A} \boxed{B}",
        "The answer is A or B.",
        "The answer is B or C.",
        "The answer is not B.",
        "A B C D",
        "It is either (B) or (C).",
        r"\boxed{Venus}",
        r"\boxed{BC}",
        "Because of this I cannot say.",
    ],
)
def test_what_names_another_none_or_several_scores_nothing(text: str) -> None:
    assert scored(text).value == 0.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<answer>Venus</answer>", 1.0),
        ("<answer>venus.</answer>", 1.0),
        ("<answer>B) Venus</answer>", 1.0),
        ("<answer>B) Mars</answer>", 0.0),
        ("<answer>B) 24</answer>", 0.0),
        ("<answer>B</answer>", 1.0),
        ("<answer>Mars</answer>", 0.0),
        ("<answer>Pluto</answer>", 0.0),
        ("<answer>E</answer>", 0.0),
        ("The answer is Venus.", 1.0),
    ],
)
def test_the_text_of_an_option_names_it_where_the_choices_are_known(
    text: str, value: float
) -> None:
    assert scored(text, "B", PLANETS).value == value


@pytest.mark.parametrize(
    ("answer", "choices"),
    [
        ("B", None),
        ("(B)", None),
        ("b", None),
        ("B) Venus", PLANETS),
        ("Venus", PLANETS),
        (1, PLANETS),
    ],
)
def test_the_gold_may_be_a_letter_a_text_or_a_number_that_counts_from_0(
    answer: Any, choices: list[str] | None
) -> None:
    assert scored(r"\boxed{B}", answer, choices).value == 1.0
    assert scored(r"\boxed{C}", answer, choices).value == 0.0


def test_the_reason_says_which_option_was_read() -> None:
    assert scored(r"\boxed{B}").reason == 'box: "B" read as option B, the gold'
    assert scored(r"\boxed{C}").reason == 'box: "C" read as option C, gold is B'
    assert scored(r"\boxed{C} \boxed{B}").reason == "hedge: B and C are both offered"


def test_a_gold_that_names_no_option() -> None:
    reward = Choice()

    assert isinstance(reward(Completion("B"), " "), Skip)
    assert isinstance(reward(Completion("B"), "Pluto", PLANETS), Fail)
    assert isinstance(reward(Completion("B"), 4, PLANETS), Fail)
    assert reward.check_inputs("Pluto", PLANETS) == (
        'the gold "Pluto" is no option: it names no option'
    )
    assert reward.check_inputs("E", PLANETS) == 'the gold "E" is no option: there is no option E'
    assert reward.check_inputs("C", PLANETS) is None


@pytest.mark.parametrize(
    "reply",
    [
        "The answer is (A) (C).",
        r"\boxed{(A)\ (B)\ (C)\ (D)}",
        "Answer: (A) 12 (B) 14",
        r"\boxed{A: C}",
        r"\boxed{A) C)}",
        r"\boxed{\textbf{(A)} \text{ or } \textbf{(C)}}",
        "<answer>(A) not (C)</answer>",
    ],
)
def test_a_row_of_options_is_a_hedge(reply: str) -> None:
    for reward in (Choice(), AnswerEquals()):
        result = reward(Completion(reply), "A")

        assert isinstance(result, Score)
        assert result.value == 0.0, result.reason


@pytest.mark.parametrize(
    ("reply", "gold", "choices", "value"),
    [
        (r"\boxed{3}", "3", ["2", "3", "4"], 1.0),
        (r"\boxed{B}", "3", ["2", "3", "4"], 1.0),
        (r"\boxed{4}", "3", ["2", "3", "4"], 0.0),
        (r"\boxed{y}", "y", ["x", "y"], 1.0),
        (r"\boxed{A}", "A", ["B", "A"], 1.0),
        (r"\boxed{A}", "B", ["B", "A"], 0.0),
        (r"\boxed{(C) Both (A) and (B)}", "C", ["x is odd", "y is odd", "Both (A) and (B)"], 1.0),
        (r"\boxed{(A) vitamin C}", "A", None, 1.0),
    ],
)
def test_options_of_one_character_and_of_letters(
    reply: str, gold: str, choices: list[str] | None, value: float
) -> None:
    result = Choice()(Completion(reply), gold, choices)

    assert isinstance(result, Score)
    assert result.value == value, result.reason
