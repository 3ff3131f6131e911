"""Integrals, limits and infinite sums go to sympy, guarded; nothing is run as code."""

import time

import pytest
from grpo_reward_math import fallback
from grpo_reward_math.comparing import same
from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.reading import read
from grpo_reward_math.rules import Rules

RULES = Rules()


@pytest.mark.parametrize(
    ("answer", "gold", "equal"),
    [
        (r"\int_0^2 x\,dx", "2", True),
        (r"\int_0^2 x\,dx", "3", False),
        (r"\lim_{x\to 0}\frac{\sin 3x}{x}", "3", True),
        (r"\sum_{n=1}^{\infty}\frac{1}{2^n}", "1", True),
    ],
)
def test_formula_has_the_value_that_sympy_gives(answer: str, gold: str, equal: bool) -> None:
    assert same(read(answer, RULES), read(gold, RULES), RULES).equal is equal


@pytest.mark.parametrize(
    "latex",
    [
        r"\int " + "x" * 300,
        r"\int " + "(" * 20 + "x" + ")" * 20,
        r"\int_0^1 x^{x^{x}} dx",
        r"\sum_{k=1}^{\infty} k!",
        r"\int_0^{99999} x dx",
    ],
)
def test_formula_that_could_take_long_is_refused(latex: str) -> None:
    with pytest.raises(LimitHit):
        fallback.value(latex)


def test_code_is_not_handed_to_sympy() -> None:
    with pytest.raises(Unreadable):
        read("__import__('os').system('true')", RULES)


def test_integral_without_a_closed_form_is_another_number() -> None:
    answer = read(r"\int_0^1 \frac{\sin(x^x)}{\sqrt{1+x^{17}}} \, dx", RULES)

    start = time.process_time()
    verdict = same(answer, read("5", RULES), RULES)

    assert not verdict.equal
    assert verdict.rule == "another number by quadrature"
    assert time.process_time() - start < 10
