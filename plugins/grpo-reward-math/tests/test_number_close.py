"""What `math/number_close` takes for close."""

from __future__ import annotations

from typing import Any

import pytest
from grpo_reward_math import NumberClose

from grpo_core import Completion, Fail, Score, Skip


def scored(text: str, answer: Any, **options: Any) -> Score:
    result = NumberClose(**options)(Completion(text), answer)
    assert isinstance(result, Score)
    return result


@pytest.mark.parametrize(
    ("text", "gold", "options", "value"),
    [
        (r"\boxed{101}", 100, {}, 1.0),
        (r"\boxed{101.01}", 100, {}, 0.0),
        (r"\boxed{-100}", 100, {}, 0.0),
        (r"\boxed{100}", 100, {"relative_tolerance": 0.0}, 1.0),
        (r"\boxed{100.1}", 100, {"relative_tolerance": 0.0}, 0.0),
        (r"\boxed{0.3}", 0.2, {"tolerance": 0.1, "relative_tolerance": 0.0}, 1.0),
        (r"\boxed{0.001}", 0, {}, 0.0),
        (r"\boxed{0.001}", 0, {"tolerance": 0.01}, 1.0),
        (r"\boxed{3.14}", r"\pi", {}, 1.0),
        (r"\boxed{3.2}", r"\pi", {}, 0.0),
        (r"\boxed{x \approx 3.14}", r"\pi", {}, 1.0),
        (r"\boxed{\frac{22}{7}}", r"\pi", {}, 1.0),
        (r"\boxed{35\%}", 0.35, {}, 1.0),
        (r"\boxed{35}", 0.35, {}, 0.0),
        (r"\boxed{6.0\times10^{23}}", "6.02e23", {}, 1.0),
        (r"\boxed{5.01\text{ m}}", "5", {}, 1.0),
        (r"\boxed{5.01\text{ m}}", "5 m", {}, 1.0),
        (r"\boxed{5.01\text{ m}}", "5 cm", {}, 0.0),
        (r"\boxed{5.01\text{ m}}", "5 cm", {"units": "ignored"}, 1.0),
        (r"\boxed{5.01}", "5 cm", {"units": "required"}, 0.0),
        (r"\boxed{99.5} \boxed{100.5}", 100, {}, 1.0),
        (r"\boxed{99.5} \boxed{150}", 100, {}, 0.0),
        (r"\boxed{(1, 2)}", 1, {}, 0.0),
        (r"\boxed{\infty}", 1, {}, 0.0),
        (r"\boxed{x}", 1, {}, 0.0),
        ("about 6", 6, {"last_number": True}, 1.0),
    ],
)
def test_close(text: str, gold: Any, options: dict[str, Any], value: float) -> None:
    assert scored(text, gold, **options).value == value


def test_the_reason_names_both_numbers() -> None:
    assert scored(r"\boxed{3.2}", r"\pi").reason == '"3.2" is too far from 3.14159'
    assert scored("", 3).reason == "no answer: the reply is empty"
    assert scored(r"\boxed{3} or \boxed{9}", 3).reason == 'hedge: "3" and "9" are both offered'


def test_a_gold_that_is_no_number() -> None:
    reward = NumberClose()

    assert isinstance(reward(Completion("5"), ""), Skip)
    assert isinstance(reward(Completion("5"), "x + 1"), Fail)
    assert reward.check_inputs("x + 1") == "the gold is no number: it is no single real number"
    assert "leave it out" in str(reward.check_inputs(" "))
    assert reward.check_inputs(5) is None


@pytest.mark.parametrize("options", [{"tolerance": -1.0}, {"relative_tolerance": float("nan")}])
def test_a_tolerance_outside_of_its_bounds_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="olerance must be from 0 to"):
        NumberClose(**options)


@pytest.mark.parametrize("answer", ["3=8", r"3\approx 8", r"\pi=8", r"8\text{ is wrong}", "x=3=8"])
def test_chain_that_does_not_hold_is_no_number(answer: str) -> None:
    assert NumberClose()(Completion(rf"\boxed{{{answer}}}"), "8").value == 0.0
