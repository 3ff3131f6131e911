"""The verdict names the rule that decided."""

import pytest
from grpo_reward_math.comparing import same
from grpo_reward_math.reading import read
from grpo_reward_math.rules import Rules

RULES = Rules()


@pytest.mark.parametrize(
    ("answer", "gold", "equal", "rule"),
    [
        ("0.5", r"\frac12", True, "equal as exact numbers"),
        ("3", "4", False, "3 is not 4"),
        (r"\sqrt8", r"2\sqrt2", True, "equal at two precisions"),
        ("(x+1)^2", "x^2+2x+1", True, "equal as rational functions"),
        ("x+1", "x+2", False, "different as rational functions"),
        (r"\sqrt{x^2}", "x", False, "different at x = "),
        ("6 m", "6 cm", False, "unit m is not cm"),
        ("B", "C", False, "option B is not option C"),
        ("11_3", "11_4", False, "base 3 is not base 4"),
        ("[1,2]", "(1,2)", False, "other brackets"),
        ("1<x<3", "(1,3)", True, "the same region"),
        ("2x+2y=4", "x+y=2", True, "equal up to a constant factor"),
        ("1=1", "x+y=2", False, "always or never holds"),
        ("1, 2", "2, 1", True, "the same values in any order"),
        ("1, 2", r"\pi", False, "2 values are not 1"),
        ("Tuesday", "Friday", False, "other words"),
        ("x=1, y=2", "x=1, y=3", False, "y: 2 is not 3"),
    ],
)
def test_verdict_names_its_rule(answer: str, gold: str, equal: bool, rule: str) -> None:
    verdict = same(read(answer, RULES), read(gold, RULES), RULES)

    assert verdict.equal is equal
    assert rule in verdict.rule


def test_verdict_is_the_same_each_time() -> None:
    pair = read(r"\sin 2x", RULES), read(r"2\sin x", RULES)

    assert same(*pair, RULES) == same(*pair, RULES)
