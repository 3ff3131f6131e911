"""Numbers in every notation, words and units are told apart in one pass."""

import time
from fractions import Fraction

import pytest
from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.rules import Rules
from grpo_reward_math.tokens import tokens


def pieces(text: str) -> list[tuple[str, str]]:
    return [(t.kind, t.text) for t in tokens(text, Rules())[:-1]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", Fraction(42)),
        ("4,200", Fraction(4200)),
        ("4{,}200", Fraction(4200)),
        (r"4\,200\,000", Fraction(4_200_000)),
        (r"4,\!200", Fraction(4200)),
        ("4 200", Fraction(4200)),
        ("4,200.75", Fraction(16803, 4)),
        (".25", Fraction(1, 4)),
        ("7.", Fraction(7)),
        ("2e3", Fraction(2000)),
        ("1.5E-2", Fraction(3, 200)),
        (r"0.\overline{81}", Fraction(9, 11)),
        (r"0.2\overline{6}", Fraction(4, 15)),
        ("0.(45)", Fraction(5, 11)),
        (r"0.\dot{7}", Fraction(7, 9)),
        (r"0.\dot{1}2\dot{3}", Fraction(41, 333)),
        (r"0.1666\ldots", Fraction(1, 6)),
        ("0.142857142857...", Fraction(1, 7)),
    ],
)
def test_number_is_one_token_with_its_value(text: str, value: Fraction) -> None:
    (token, end) = tokens(text, Rules())

    assert (token.kind, token.value, end.kind) == ("num", value, "end")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2", [("num", "1"), ("op", ","), ("num", "2")]),
        ("(1,234)", [("op", "("), ("num", "1"), ("op", ","), ("num", "234"), ("op", ")")]),
        ("100,200,3", [("num", "100"), ("op", ","), ("num", "200"), ("op", ","), ("num", "3")]),
        ("3x", [("num", "3"), ("sym", "x")]),
        ("3ab", [("num", "3"), ("sym", "a"), ("sym", "b")]),
        ("sqrt(2)", [("cmd", "sqrt"), ("op", "("), ("num", "2"), ("op", ")")]),
        ("sinx", [("cmd", "sin"), ("sym", "x")]),
        ("7 cm", [("num", "7"), ("text", "cm")]),
        ("7 m", [("num", "7"), ("text", "m")]),
        ("7m", [("num", "7"), ("sym", "m")]),
        (r"7\text{ apples}", [("num", "7"), ("text", "apples")]),
        (r"7\ \mathrm{m}", [("num", "7"), ("text", "m")]),
        (r"\mathrm{e}^2", [("sym", "e"), ("op", "^"), ("num", "2")]),
        (r"1 \text{ or } 2", [("num", "1"), ("sep", "or"), ("num", "2")]),
        ("101_2", [("based", "101")]),
        ("7th", [("num", "7")]),
        ("2 million", [("num", "2"), ("op", "*"), ("num", "1000000")]),
    ],
)
def test_text_is_cut_into(text: str, expected: list[tuple[str, str]]) -> None:
    assert pieces(text) == expected


def test_decimal_that_goes_on_without_a_period_is_no_number() -> None:
    with pytest.raises(Unreadable, match="goes on"):
        tokens(r"3.1415\ldots", Rules())


@pytest.mark.parametrize("text", ["2e99999", "9" * 20_000])
def test_number_too_long_to_compute_is_refused(text: str) -> None:
    with pytest.raises(LimitHit):
        tokens(text, Rules())


@pytest.mark.parametrize("piece", ["A", "1,", "x_", "\\text{", "0.", "[", "1 ", "\\", "$", "aB1"])
def test_time_is_linear_in_the_text(piece: str) -> None:
    def seconds(times: int) -> float:
        start = time.process_time()
        try:
            tokens(piece * times, Rules(max_depth=10**6, max_digits=10**6))
        except Unreadable:
            pass
        return time.process_time() - start

    seconds(100)  # patterns are compiled once
    small, large = (min(seconds(times) for _ in range(3)) for times in (2000, 8000))
    # Four times the text: sixteen times as long if it were squared.
    assert large < 8 * max(small, 0.005)
