"""Numbers at two precisions: near is not equal, rounding is not different."""

import threading

import pytest
from grpo_reward_math.failures import LimitHit
from grpo_reward_math.numeric import Comparison, Undefined, context
from grpo_reward_math.parser import parse
from grpo_reward_math.points import points
from grpo_reward_math.rules import Rules

RULES = Rules()


def equal(first: str, second: str) -> bool:
    return Comparison(parse(first, RULES), parse(second, RULES), RULES).equal({})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (r"\sqrt{7+4\sqrt3}", r"2+\sqrt3"),
        (r"\sin\frac{\pi}{10}", r"\frac{\sqrt5-1}{4}"),
        (r"(\sqrt2-1)^{40}(\sqrt2+1)^{40}", "1"),
        (r"\sqrt[3]{2+\sqrt5}+\sqrt[3]{2-\sqrt5}", "1"),
        (r"4\arctan\frac15-\arctan\frac1{239}", r"\frac{\pi}{4}"),
        (r"\sin\pi", "0"),
        (r"e^{i\pi}+1", "0"),
        (r"\sin 150^\circ", r"\frac12"),
        (r"\infty", r"\infty"),
    ],
)
def test_equal_values_are_found_equal(first: str, second: str) -> None:
    assert equal(first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (r"e^{\pi\sqrt{163}}", "262537412640768744"),
        (r"\sqrt{2}", "1." + "41421356237309504880168872420969807856967187537694807317667973799"),
        (r"\sqrt2+10^{-28}", r"\sqrt2"),
        (r"10^{-40}\sqrt2", r"10^{-41}\sqrt2"),
        (r"(\sqrt2-1)^{50}", "0"),
        (r"\infty", r"-\infty"),
        (r"\infty", "10^{500}"),
        (r"\sin(10^{-12})", "10^{-12}"),
    ],
)
def test_near_values_are_found_different(first: str, second: str) -> None:
    assert not equal(first, second)


@pytest.mark.parametrize("text", [r"e^{e^{e^{e^e}}}", r"\sin(10^{400})", r"\pi^{10^{10}}"])
def test_what_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(LimitHit):
        equal(text, r"\pi")


def test_point_where_one_side_is_not_real_counts_for_nothing() -> None:
    from fractions import Fraction

    comparison = Comparison(parse(r"\sqrt{x}", RULES), parse("x", RULES), RULES)

    with pytest.raises(Undefined):
        comparison.equal({"x": Fraction(-2)})


def test_points_are_the_same_for_the_same_seed_and_of_both_signs() -> None:
    names = frozenset("ab")

    assert points(names, "seed") == points(names, "seed")
    assert points(names, "seed") != points(names, "other")
    signs = {tuple(v > 0 for _, v in sorted(p.items())) for p in points(names, "seed")[:5]}
    assert signs == {(True, True), (False, False), (True, False), (False, True)}


def test_precision_of_one_thread_is_not_that_of_another() -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(context()))
    thread.start()
    thread.join()

    assert found[0] is not context()
