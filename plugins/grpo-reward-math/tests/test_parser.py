"""How tightly the parts of an expression bind, and what the grammar refuses."""

from fractions import Fraction

import pytest
from grpo_reward_math import tree
from grpo_reward_math.exact import exact
from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.parser import parse
from grpo_reward_math.rules import Rules

RULES = Rules()
X = tree.Symbol("x")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2+3*4", 14),
        ("2^3^2", 512),
        ("-2^2", -4),
        ("(-2)^2", 4),
        ("12/3/2", 2),
        ("12/(3*2)", 2),
        (r"12 \div 4 \cdot 3", 9),
        ("2^{-1}", Fraction(1, 2)),
        (r"\frac12+\frac34", Fraction(5, 4)),
        (r"2\frac12", Fraction(5, 2)),
        (r"2\frac72", 7),
        (r"-2\frac12", Fraction(-5, 2)),
        ("2 1/4", Fraction(9, 4)),
        (r"2\cdot\frac12", 1),
        (r"\sqrt[3]{8}\sqrt{9}", 6),
        ("3!+2", 8),
        ("2^3!", 64),
        (r"\binom{5}{2}\cdot 3", 30),
        (r"\left|3-8\right|", 5),
        ("|3-8|+|1|", 6),
        (r"\log_2 8 + 1", 4),
        (r"\lfloor 7/2 \rfloor", 3),
        (r"\sum_{k=1}^{4} k^2 + 1", 31),
        (r"\sum_{k=1}^{3} 2k", 12),
        ("50\\%", Fraction(1, 2)),
        (r"17 \bmod 5", 2),
        (r"\begin{vmatrix}2&1\\4&3\end{vmatrix}", 2),
    ],
)
def test_expression_has_the_value_of_its_precedence(text: str, value: Fraction | int) -> None:
    assert exact(parse(text, RULES), RULES) == value


def test_power_of_a_function_is_the_power_of_its_value() -> None:
    sine = tree.Call("sin", (X,))

    assert parse(r"\sin^2 x", RULES) == tree.Power(sine, tree.Number(Fraction(2)))
    assert parse(r"\sin^{-1} x", RULES) == tree.Call("asin", (X,))


def test_function_takes_the_factors_up_to_the_next_function() -> None:
    two_x = tree.Product((tree.Number(Fraction(2)), X))

    assert parse(r"\sin 2x\cos x", RULES) == tree.Product(
        (tree.Call("sin", (two_x,)), tree.Call("cos", (X,)))
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("(1,2)", tree.Group),
        ("[1,2)", tree.Group),
        (r"\langle 1,2\rangle", tree.Group),
        (r"\{1,2\}", tree.SetOf),
        ("{1,2}", tree.SetOf),
        ("1,2", tree.Listing),
        ("1<x<2", tree.Relation),
        (r"(1,2)\cup(3,4)", tree.SetOperation),
        (r"\mathbb{R}", tree.NamedSet),
        ("3:4", tree.Ratio),
        (r"\pm 3", tree.PlusMinus),
        (r"\begin{bmatrix}1\\2\end{bmatrix}", tree.Matrix),
        (r"\{x\mid x>2\}", tree.Relation),
    ],
)
def test_structure_is(text: str, kind: type) -> None:
    assert isinstance(parse(text, RULES), kind)


@pytest.mark.parametrize(
    "text",
    ["1+", "(1", "1)", "(1]", r"\frac{1}", "2 3", "x^", "*3", "|x", r"\unknown", r"\sqrt", "1,,(",
     r"\begin{pmatrix}1&2\\3\end{pmatrix}", r"\begin{pmatrix}1", "()", "9_"],
)  # fmt: skip
def test_text_outside_the_grammar_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text, RULES)


@pytest.mark.parametrize(
    "text",
    ["(" * 40 + "1" + ")" * 40, "2^" * 40 + "2", r"\sqrt" * 40 + "2", r"\sin" * 40 + "x",
     "5" + "%" * 200],
)  # fmt: skip
def test_depth_is_capped(text: str) -> None:
    with pytest.raises(LimitHit):
        parse(text, RULES)
