"""`check_inputs` runs in the trainer's own process: it reads golds and loads nothing heavy."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from grpo_reward_math import NumberClose

CODE = r"""
import sys
from grpo_reward_math import AnswerEquals, Choice, NumberClose
golds = [
    r"\int_0^1 x\,dx", r"\lim_{x \to 0} \frac{\sin x}{x}", r"\sum_{n=1}^{\infty} \frac{1}{n^2}",
    r"\frac{d}{dx} x^2", r"\sqrt{2}", r"\pi", r"e^{i\pi/3}", r"\ln 7", r"\sin 40^\circ", "x^2+1",
    r"(-\sqrt2, \infty)", r"\begin{pmatrix} 1 & \pi \\ 0 & e \end{pmatrix}", r"\{\sqrt2, \pi\}",
    "7", "(", r"10^{10^{10}}", r"\sqrt{x", "(B) 24", "3\\text{ cm}", r"x = \pm\sqrt{2}",
]
for reward in (AnswerEquals(), NumberClose(), Choice()):
    for gold in golds:
        reward.check_inputs(gold)
heavy = {"sympy", "mpmath", "latex2sympy2_extended", "antlr4", "numpy"}
print(sorted(heavy & set(sys.modules)))
"""


def test_check_inputs_loads_neither_sympy_nor_mpmath() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"PYTHONWARNINGS": "error"},
        check=False,
    )

    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize(
    "gold", ["7", r"\pi", r"x = \sqrt{2}", "3\\text{ cm}", r"\frac{\ln 7}{2}", r"12\%", "2^{10}"]
)
def test_numbers_are_golds_of_number_close(gold: str) -> None:
    assert NumberClose().check_inputs(gold) is None


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("x+1", "no single real number"),
        ("(1, 2)", "no single real number"),
        (r"\{\pi\}", "no single real number"),
        ("3+4i", "no single real number"),
        (r"\text{Monday}", "no single real number"),
        (r"\int_0^1 x\,dx", "no single real number"),
        ("1/0", "no single real number"),
        ("(5", "cannot be read"),
    ],
)
def test_what_is_no_number_is_named(gold: str, said: str) -> None:
    assert said in (NumberClose().check_inputs(gold) or "")
