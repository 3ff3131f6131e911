"""Pairs of a completion and a gold whose truth is known, made by a seeded generator.

The weights follow real sets: mostly integers. Half of the completions are wrong. A completion is
prose of up to 300 words with formulas in it and gives its answer in a box, an answer tag, after
`####` or after "the answer is".
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple


class Pair(NamedTuple):
    """What the model wrote, the gold, whether the answer is right, and the kind of gold."""

    completion: str
    gold: str
    right: bool
    kind: str


class Problem(NamedTuple):
    """A gold, texts that are equal to it and texts that are not."""

    gold: str
    right: list[str]
    wrong: list[str]


def pairs(n: int, seed: int = 0) -> list[Pair]:
    """`n` pairs, each with a gold of its own."""
    rng = random.Random(seed)
    return [pair(rng, kind, MAKERS[kind](rng)) for kind in kinds(rng, n)]


def grouped(n: int, size: int, seed: int = 0) -> list[Pair]:
    """`n` pairs in groups of `size` that share a gold, as a trainer scores them."""
    rng = random.Random(seed)
    made = []
    for kind in kinds(rng, n // size):
        problem = MAKERS[kind](rng)
        made += [pair(rng, kind, problem) for _ in range(size)]
    return made


def kinds(rng: random.Random, n: int) -> list[str]:
    """`n` kinds of gold, as often as their weights say."""
    return rng.choices(list(WEIGHTS), list(WEIGHTS.values()), k=n)


def pair(rng: random.Random, kind: str, problem: Problem) -> Pair:
    """A completion whose answer is right or wrong with equal chance."""
    right = rng.random() < 0.5
    answer = rng.choice(problem.right if right else problem.wrong)
    return Pair(completion(rng, answer), problem.gold, right, kind)


def completion(rng: random.Random, answer: str) -> str:
    """Prose that ends in the answer."""
    words, steps = rng.randint(0, 280), []
    while sum(step.count(" ") + 1 for step in steps) < words:
        a, b = rng.randint(2, 99), rng.randint(2, 99)
        steps.append(rng.choice(STEPS).format(a=a, b=b, sum=a + b, product=a * b))
    prose = "".join(step + rng.choice((" ", " ", "\n\n")) for step in steps)
    form = rng.choices(("box", "display", "phrase", "tag", "hash"), (60, 15, 12, 10, 3))[0]
    if form == "hash" and _plain(answer):
        return f"{prose}\n#### {answer}"
    if form == "tag":
        inside = answer if _plain(answer) else f"${answer}$"
        return f"<think>{prose}</think>\n<answer>{inside}</answer>"
    if form == "phrase":
        return f"{prose}The answer is ${answer}$."
    if form == "display":
        return f"{prose}Therefore\n\\[\n\\boxed{{{answer}}}\n\\]"
    return f"{prose}So the answer is $\\boxed{{{answer}}}$."


STEPS = (
    "First we collect what is given and write it down in one line, so that nothing is lost.",
    "Adding both parts gives ${a} + {b} = {sum}$, which we keep for later.",
    "The product of the two lengths is ${a} \\cdot {b} = {product}$.",
    "Let $x$ be the number that we look for; then $x + {a} = {sum}$ must hold.",
    "There are {a} ways for the first choice and {b} for the second one.",
    "We divide both sides by {a} and see that the ratio is $\\frac{{{b}}}{{{a}}}$.",
    "Note that ${b}^2 - {a}$ has no influence on the final result here.",
    "By symmetry the other case leads to the same equation, hence we can leave it out.",
    "Check: the value is between {a} and {sum}, as it has to be.",
    "Now it remains to put these pieces together.",
)


def integer(rng: random.Random) -> Problem:
    """Of one to seven digits, with or without thousands commas, a unit or an equation."""
    n = rng.choice((1, 1, 1, -1)) * rng.randint(1, 10 ** rng.choice((1, 2, 2, 3, 3, 4, 7)))
    right = [f"{n}"] * 5 + [f"{n}.0", f"x = {n}", f"\\frac{{{2 * n}}}{{2}}", f"{n}\\text{{ cm}}"]
    if abs(n) >= 1000:
        right += [f"{n:,}", f"{n:,}".replace(",", "{,}")]
    return Problem(f"{n}", right, [f"{n + 1}", f"{-n}", f"{n}0", f"{n - 2}", f"{n}.5"])


def fraction(rng: random.Random) -> Problem:
    """In lowest terms; answers may be unreduced, plain or decimals."""
    value = Fraction(rng.randint(1, 60), rng.randint(2, 40))
    while value.denominator == 1:
        value = Fraction(rng.randint(1, 60), rng.randint(2, 40))
    p, q = value.numerator, value.denominator
    right = [_frac(p, q), f"\\dfrac{{{p}}}{{{q}}}", f"{p}/{q}", _frac(3 * p, 3 * q)]
    if 1000 % q == 0:
        right.append(f"{float(value)}")
    return Problem(_frac(p, q), right, [_frac(q, p), _frac(p + 1, q), f"-{_frac(p, q)}", f"{p}"])


def decimal(rng: random.Random) -> Problem:
    """Of up to three places."""
    places = rng.randint(1, 3)
    value = Fraction(10 * rng.randint(1, 5000) + rng.randint(1, 9), 10**places)
    text = f"{float(value):.{places}f}"
    right = [text, text, text + "0", _frac(value.numerator, value.denominator)]
    return Problem(text, right, [f"-{text}", f"1{text}", f"{float(value * 10)}", f"{text}1"])


def radical(rng: random.Random) -> Problem:
    """A multiple of a square root, alone or in a sum."""
    a, b, c = rng.randint(2, 12), rng.choice((2, 3, 5, 6, 7, 10, 11, 13)), rng.randint(1, 9)
    root = f"{a}\\sqrt{{{b}}}"
    if rng.random() < 0.5:
        right = [root, f"\\sqrt{{{a * a * b}}}", f"\\frac{{{a * b}}}{{\\sqrt{{{b}}}}}"]
        wrong = [f"{a + 1}\\sqrt{{{b}}}", f"\\sqrt{{{a * b}}}", f"{a}", f"{(a * a * b) ** 0.5:.2f}"]
        return Problem(root, right, wrong)
    gold = f"\\frac{{{c}+{root}}}{{{a + 3}}}"
    twice = f"\\frac{{{2 * c}+{2 * a}\\sqrt{{{b}}}}}{{{2 * a + 6}}}"
    right = [gold, f"\\frac{{{root}+{c}}}{{{a + 3}}}", twice]
    wrong = [f"\\frac{{{c}-{root}}}{{{a + 3}}}", f"\\frac{{{c + 1}+{root}}}{{{a + 3}}}", root]
    return Problem(gold, right, wrong)


def polynomial(rng: random.Random) -> Problem:
    """A quadratic with two roots."""
    r, s = rng.sample(range(1, 12), 2)
    gold = f"x^2+{r + s}x+{r * s}"
    right = [gold, f"(x+{r})(x+{s})", f"{r * s}+{r + s}x+x^2", f"x^{{2}} + {r + s}x + {r * s}"]
    wrong = [f"x^2+{r + s}x-{r * s}", f"(x+{r})(x-{s})", f"x^2+{r + s + 1}x+{r * s}", f"x+{r}"]
    return Problem(gold, right, wrong)


def ordered(rng: random.Random) -> Problem:
    """A pair or a triple."""
    numbers = rng.sample(range(-20, 21), rng.choice((2, 2, 3)))
    text, swapped = ([f"{x}" for x in row] for row in (numbers, numbers[::-1]))
    gold = f"({', '.join(text)})"
    right = [gold, gold.replace(" ", ""), f"\\left({', '.join(text)}\\right)"]
    wrong = [f"({', '.join(swapped)})", f"({', '.join(text[:-1])}, 21)", text[0]]
    return Problem(gold, right, wrong)


def unordered(rng: random.Random) -> Problem:
    """A set of two to four integers."""
    numbers = rng.sample(range(-20, 21), rng.randint(2, 4))
    text, other = ([f"{x}" for x in row] for row in (numbers, rng.sample(numbers, len(numbers))))
    gold = f"\\{{{', '.join(text)}\\}}"
    right = [gold, f"\\{{{','.join(other)}\\}}", f"\\left\\{{{', '.join(other)}\\right\\}}"]
    wrong = [f"\\{{{', '.join(text[1:])}\\}}", f"\\{{{', '.join(text[1:])}, 21\\}}", text[0]]
    return Problem(gold, right, wrong)


def interval(rng: random.Random) -> Problem:
    """Bounded or not, or a union of two."""
    a, b, c = sorted(rng.sample(range(-20, 21), 3))
    if rng.random() < 0.3:
        gold = f"(-\\infty, {a}) \\cup ({b}, \\infty)"
        right = [gold, f"\\left(-\\infty,{a}\\right)\\cup\\left({b},\\infty\\right)"]
        wrong = [f"(-\\infty, {a}] \\cup ({b}, \\infty)", f"(-\\infty, {a}) \\cup [{b}, {c}]"]
        return Problem(gold, right, wrong)
    gold = f"[{a}, {b})"
    right = [gold, f"\\left[{a}, {b}\\right)", f"[{a},{b})"]
    return Problem(gold, right, [f"({a}, {b})", f"[{a}, {b}]", f"[{a}, {c})", f"({a}, {b}]"])


def matrix(rng: random.Random) -> Problem:
    """Two by two, of integers and a fraction."""
    a, b, c = (rng.randint(-9, 9) for _ in range(3))
    half = 2 * rng.randint(1, 9) + 1
    rows = "\\begin{{pmatrix}} {} & {} \\\\ {} & {} \\end{{pmatrix}}"
    gold = rows.format(a, b, c, _frac(half, 2))
    right = [gold, gold.replace(" ", ""), rows.format(a, b, c, f"{half / 2}")]
    wrong = [rows.format(a, b, c, half), rows.format(a, b + 1, c, _frac(half, 2))]
    return Problem(gold, right, wrong)


def word(rng: random.Random) -> Problem:
    """The name of a day."""
    gold, other = rng.sample(("Monday", "Tuesday", "Wednesday", "Friday", "Sunday"), 2)
    right = [f"\\text{{{gold}}}", f"\\textbf{{{gold}}}", f"\\text{{ {gold} }}"]
    return Problem(f"\\text{{{gold}}}", right, [f"\\text{{{other}}}", f"\\textbf{{{other}}}"])


def letter(rng: random.Random) -> Problem:
    """An option."""
    gold, other = rng.sample("ABCDE", 2)
    right, wrong = ([x, f"\\text{{{x}}}", f"\\text{{({x})}}"] for x in (gold, other))
    return Problem(gold, right, wrong)


def _plain(answer: str) -> bool:
    return answer.strip("-").replace(",", "").replace(".", "").isdigit()


def _frac(p: int, q: int) -> str:
    return f"\\frac{{{p}}}{{{q}}}"


WEIGHTS: Mapping[str, int] = {
    "integer": 40,
    "fraction": 12,
    "decimal": 8,
    "radical": 8,
    "polynomial": 8,
    "tuple": 6,
    "set": 4,
    "interval": 5,
    "matrix": 3,
    "text": 3,
    "letter": 3,
}
MAKERS: Mapping[str, Callable[[random.Random], Problem]] = {
    "integer": integer,
    "fraction": fraction,
    "decimal": decimal,
    "radical": radical,
    "polynomial": polynomial,
    "tuple": ordered,
    "set": unordered,
    "interval": interval,
    "matrix": matrix,
    "text": word,
    "letter": letter,
}
