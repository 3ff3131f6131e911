"""Unicode signs become LaTeX, wrappers go, letters of other alphabets stay what they are."""

import pytest
from grpo_reward_math.normal import closing, normal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("−7", "-7"),
        ("x²", "x^{2}"),
        ("x⁻¹⁰", "x^{-10}"),
        ("a₁₂", "a_{12}"),
        ("2½", r"2\frac{1}{2}"),
        ("√7", r"\usqrt 7"),
        ("6×7", r"6\times 7"),
        ("x≤∞", r"x\le \infty"),
        ("45°", r"45^\circ"),
        ("πr", r"\pi r"),
        ("１２，５", "12,5"),
        ("5\u200e", "5"),
        ("1\u202f234", "1 234"),
        ("𝑥+𝟑", "x+3"),
        ("ℝ", r"\mathbb{R}"),
        ("е", "е"),  # Cyrillic
        ("О", "О"),  # Cyrillic
        ("Α", "Α"),  # Greek
        ("α", r"\alpha"),
        ("\u202e12", "\u202e12"),  # written from right to left: not what it looks like
    ],
)
def test_sign_has_its_latex_form(text: str, expected: str) -> None:
    assert normal(text) == expected


@pytest.mark.parametrize(
    "text",
    ["17", " 17. ", "$17$", "$$17$$", r"\(17\)", r"\[ 17 \]", r"\boxed{17}", r"$\boxed{17}$.",
     "**17**", r"17\\", r"17\,", r"\fbox{17}", "`17`"],
)  # fmt: skip
def test_wrapper_of_the_whole_answer_is_taken_off(text: str) -> None:
    assert normal(text) == "17"


@pytest.mark.parametrize("text", [r"$1$ and $2$", r"\boxed{1}+\boxed{2}", r"\$5"])
def test_wrapper_of_a_part_stays(text: str) -> None:
    assert normal(text) == text


def test_closing_brace_is_found_past_nested_and_escaped_ones() -> None:
    assert closing(r"{a{b}\}c}d", 0) == 8
    assert closing("{a{b}", 0) == -1
