"""Exact values, residues of rational functions, and the caps before anything large is computed."""

import time
from fractions import Fraction

import pytest
from grpo_reward_math.exact import NotExact, exact, integer_root, residue
from grpo_reward_math.failures import LimitHit
from grpo_reward_math.parser import parse
from grpo_reward_math.rules import Rules

RULES = Rules()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"\sqrt{\frac{9}{16}}", Fraction(3, 4)),
        ("8^{2/3}", 4),
        (r"\sqrt[3]{-27}", -3),
        (r"\log_9 27", None),
        (r"\log_3 \frac{1}{9}", -2),
        (r"\sqrt{2}", None),
        (r"\pi", None),
        ("1/0", None),
        ("0^0", None),
        (r"\binom{10}{3}", 120),
        ("7!!", 105),
        (r"\gcd(18, 24)", 6),
    ],
)
def test_value_is_exact_or_none(text: str, value: Fraction | int | None) -> None:
    assert exact(parse(text, RULES), RULES) == value


@pytest.mark.parametrize(
    "text",
    ["9^{9^9}", "2^{40000}", "(10^9)!", "5000!", r"\binom{10^6}{5\cdot10^5}",
     r"\sum_{k=1}^{10^8} k", r"\prod_{k=1}^{10^7} k", "1.000001^{10^9}",
     r"\sum_{a=1}^{2000}\sum_{b=1}^{2000} ab"],
)  # fmt: skip
def test_what_is_too_large_is_refused_before_it_is_computed(text: str) -> None:
    node = parse(text, RULES)
    start = time.process_time()

    with pytest.raises(LimitHit):
        exact(node, RULES)

    assert time.process_time() - start < 0.2


def test_residues_agree_exactly_for_equal_rational_functions() -> None:
    point = {"x": 123_456_789, "y": 987_654_321}

    def of(text: str) -> int:
        return residue(parse(text, RULES), point, 2**61 - 1)

    assert of("(x+y)^2") == of("x^2+2xy+y^2")
    assert of(r"\frac{x^2-y^2}{x-y}") == of("x+y")
    assert of("(x+y)^2") != of("x^2+y^2")
    with pytest.raises(NotExact):
        of(r"\sqrt{x}")


def test_integer_root() -> None:
    assert integer_root(10**60, 20) == 1000
    assert integer_root(10**60 + 1, 20) is None
