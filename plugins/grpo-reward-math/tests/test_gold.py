"""The forms in which a data set holds its gold answers."""

from __future__ import annotations

import pytest
from grpo_reward_math import AnswerEquals
from grpo_reward_math.gold import BadGold, NoGold, gold_of, gold_text
from grpo_reward_math.rules import Rules

from grpo_core import Completion, Fail, Score, Skip


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("48", "48"),
        (r"\frac{3}{8}", r"\frac{3}{8}"),
        (r"$\boxed{12}$", "12"),
        (r"\fbox{12}", "12"),
        (r"Adding up, we get $x = \boxed{\frac{1}{2}}$. This is less than 1.", r"\frac{1}{2}"),
        (r"The legs are $\boxed{9}$ and $\boxed{40}$.", "9, 40"),
        (r"First $\boxed{5}$ and then the total, which is $\boxed{7}$.", "7"),
        ("Nora reads 15*6=<<15*6=90>>90 pages.\n#### 90", "90"),
        ("#### 1,200", "1,200"),
        (r"\{\}", r"\{\}"),
        (5, "5"),
        (5.0, "5"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (10**30, "1" + "0" * 30),
        ([2, "7"], "2, 7"),
        (["x"], "x"),
    ],
)
def test_the_bare_text_of_a_gold(answer: object, text: str) -> None:
    assert gold_text(answer) == text  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", ["", " \n", "$$", r"\boxed{}", "####", [], [""]])
def test_an_empty_gold_is_skipped_and_named_by_the_check(answer: object) -> None:
    reward = AnswerEquals()

    with pytest.raises(NoGold):
        gold_of(answer, Rules())  # type: ignore[arg-type]
    skipped = reward(Completion(r"\boxed{7}"), answer)  # type: ignore[arg-type]
    assert isinstance(skipped, Skip)
    assert "empty" in skipped.reason
    assert "leave it out" in str(reward.check_inputs(answer))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answer", [float("nan"), float("inf"), r"\frac{1}{", "(" * 500 + "1" + ")" * 500, "9" * 5000]
)
def test_a_gold_that_cannot_be_read_fails_and_is_named_by_the_check(answer: object) -> None:
    reward = AnswerEquals()

    with pytest.raises(BadGold):
        gold_of(answer, Rules())  # type: ignore[arg-type]
    assert isinstance(reward(Completion(r"\boxed{7}"), answer), Fail)  # type: ignore[arg-type]
    assert "the gold" in str(reward.check_inputs(answer))  # type: ignore[arg-type]


def test_a_gold_that_can_be_read_passes_the_check() -> None:
    assert AnswerEquals().check_inputs(r"$\frac{3}{8}$") is None


def test_a_gold_is_read_once() -> None:
    first = gold_of("1/7 + 2/7", Rules())

    assert gold_of("1/7 + 2/7", Rules()) is first


def test_a_list_asks_for_all_of_its_parts_in_any_order() -> None:
    reward = AnswerEquals()

    def value(text: str) -> float:
        scored = reward(Completion(text), [2, 7])
        assert isinstance(scored, Score)
        return scored.value

    assert [value(rf"\boxed{{{text}}}") for text in ("7, 2", "2", "2, 7, 9")] == [1.0, 0.0, 0.0]


def test_a_gold_over_a_limit_is_bad() -> None:
    with pytest.raises(BadGold, match="over a limit: a number of more than 10000 digits"):
        gold_of("7^{7^{7^7}}", Rules())


@pytest.mark.parametrize(
    "text", ["Adding up, 3 + 4 = 7. So the answer is 7.", r"The final answer is $7$."]
)
def test_a_gold_in_prose_is_behind_its_phrase(text: str) -> None:
    assert gold_text(text) == "7"
