"""What is read back from generated expressions, in many notations, and from any text at all."""

import contextlib
import string
import sys
import time
from fractions import Fraction

import pytest
from grpo_reward_math.comparing import same
from grpo_reward_math.exact import exact
from grpo_reward_math.reading import LimitHit, Unreadable, read
from grpo_reward_math.rules import Rules
from hypothesis import assume, given, settings
from hypothesis import strategies as st

RULES = Rules()
# An expression for the tests: an int, or an operator with its operands.
numbers = st.integers(0, 60)
expressions = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*", "/"]), inner, inner),
        st.tuples(st.just("^"), inner, st.integers(0, 3)),
        st.tuples(st.just("neg"), inner),
    ),
    max_leaves=9,
)


def value(tree) -> Fraction:
    if isinstance(tree, int):
        return Fraction(tree)
    if tree[0] == "neg":
        return -value(tree[1])
    left, right = value(tree[1]), value(tree[2])
    if tree[0] == "^":
        assume(left != 0)
        return left ** int(right)
    if tree[0] == "/":
        assume(right != 0)
        return left / right
    return {"+": left + right, "-": left - right, "*": left * right}[tree[0]]


class Style:
    """One way to write an expression: the choices are drawn once for each node."""

    def __init__(self, draw, latex: bool) -> None:
        self.draw = draw
        self.latex = latex

    def choose(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def brackets(self, text: str) -> str:
        if not self.latex:
            return f"({text})"
        return self.choose("({})", r"\left({}\right)", "[{}]", r"\bigl( {} \bigr)").format(text)

    def write(self, tree, level: int = 0) -> str:
        """The text; `level` is how tightly what surrounds it binds (0 sum, 1 product, 2 power)."""
        if isinstance(tree, int):
            return str(tree)
        text, own = getattr(self, self.NAMES[tree[0]])(*tree[1:])
        return self.brackets(text) if own < level else text

    NAMES = {"+": "plus", "-": "minus", "*": "times", "/": "over", "^": "power", "neg": "negative"}

    def plus(self, left, right):
        return self.write(left, 0) + self.choose("+", " + ") + self.write(right, 1), 0

    def minus(self, left, right):
        return self.write(left, 0) + self.choose("-", " − ") + self.write(right, 1), 0

    def times(self, left, right):
        signs = (r"\cdot ", r" \times ", "×", "·") if self.latex else ("*", " * ", "·")
        return self.write(left, 1) + self.choose(*signs) + self.write(right, 2), 1

    def over(self, left, right):
        if self.latex:
            name = self.choose(r"\frac", r"\dfrac", r"\tfrac ")
            return f"{name}{{{self.write(left)}}}{{{self.write(right)}}}", 1
        return self.write(left, 1) + self.choose("/", " / ") + self.write(right, 2), 1

    def power(self, base, exponent):
        if self.latex:
            return f"{self.write(base, 3)}^{{{exponent}}}", 2
        return self.write(base, 3) + self.choose("^", "**") + str(exponent), 2

    def negative(self, inner):
        return "-" + self.write(inner, 1), 0


@settings(max_examples=400, deadline=None)
@given(st.data(), expressions, st.booleans())
def test_expression_written_in_any_style_has_its_value(data, tree, latex: bool) -> None:
    expected = value(tree)

    text = Style(data.draw, latex).write(tree)

    assert exact(read(text, RULES).tree, RULES) == expected, text


@settings(max_examples=25, deadline=None)
@given(st.data(), expressions)
def test_expression_has_the_value_that_latex2sympy2_extended_gives(data, tree) -> None:
    sympy = pytest.importorskip("sympy")
    latex2sympy = pytest.importorskip("latex2sympy2_extended").latex2sympy
    value(tree)  # leaves out what divides by zero

    text = Style(data.draw, latex=True).write(tree).replace("−", "-")
    text = text.replace("×", r"\times ").replace("·", r"\cdot ").replace(r"\bigl", "")
    text = text.replace(r"\bigr", "").replace("[", "(").replace("]", ")")
    oracle = sympy.Rational(latex2sympy(text).doit())

    assert exact(read(text, RULES).tree, RULES) == Fraction(int(oracle.p), int(oracle.q)), text


@settings(max_examples=300, deadline=None)
@given(st.fractions(max_denominator=400), st.fractions(max_denominator=400), st.data())
def test_numbers_are_the_same_exactly_if_their_fractions_are(first, second, data) -> None:
    def written(number: Fraction) -> str:
        above, below = abs(number.numerator), number.denominator
        sign = "-" if number < 0 else ""
        forms = [rf"{sign}\frac{{{above}}}{{{below}}}", f"{sign}{above}/{below}"]
        forms.append(rf"\dfrac{{{sign}{above * 3}}}{{{below * 3}}}")
        whole, rest = divmod(above, below)
        if whole and rest:
            forms += [rf"{sign}{whole}\frac{{{rest}}}{{{below}}}", f"{sign}{whole} {rest}/{below}"]
        if below == 1:
            forms += [f"{sign}{above:,}", f"{sign}{above}.0", f"{sign}{above}e0"]
        return data.draw(st.sampled_from(forms))

    a, b = read(written(first), RULES), read(written(second), RULES)

    assert same(a, b, RULES).equal is (first == second)
    assert same(a, read(written(first), RULES), RULES).equal


ALPHABET = string.printable + "\\{}^_$½²√π∞≤−×·°αОО０\x00\ud800\u202e"
PIECES = [
    r"\frac", "{", "}", "^", "_", "(", ")", "[", "]", "|", r"\{", r"\}", r"\sqrt", "1", "23", "x",
    "e", "i", ",", "+", "-", "*", "/", "=", "<", r"\le", r"\text{", "cm", r"\%", r"\$", "!", r"\pm",
    r"\cup", r"\infty", r"\begin{pmatrix}", "&", r"\\", r"\end{pmatrix}", r"\sum_{k=1}^{3}", "k",
    r"\sin", r"\log_2", " ", ".", ":", " or ", " and ", "0.5", r"\overline{3}", r"\circ", "_2", "A",
]  # fmt: skip


@settings(max_examples=800, deadline=None)
@given(st.one_of(st.text(ALPHABET, max_size=60), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_any_text_is_read_or_refused_and_equals_itself_both_ways(text: str) -> None:
    try:
        reading = read(text, RULES)
    except (Unreadable, LimitHit) as problem:
        reason = str(problem)
    else:
        reason = reading.how
        with contextlib.suppress(LimitHit):
            other = read("x+1", RULES)
            assert same(reading, reading, RULES).equal
            assert same(reading, other, RULES).equal is same(other, reading, RULES).equal

    assert reason


@settings(max_examples=200, deadline=None)
@given(st.data(), expressions)
def test_what_was_read_equals_itself(data, tree) -> None:
    value(tree)
    reading = read(Style(data.draw, latex=True).write(tree), RULES)

    assert same(reading, reading, RULES).equal


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("17", "number"),
        (r"\frac{3}{7}", "fraction"),
        ("[1,4)", "interval"),
        ("(1,4,6)", "tuple"),
        (r"\{2,5\}", "set"),
        ("2, 5", "list"),
        ("x > 3", "inequality"),
        ("y = 2x", "equation"),
        ("Thursday", "text"),
        ("(D)", "option letter"),
        ("7 cm", "number with a unit"),
        ("1011_2", "number in a base"),
        ("9:30", "ratio or time"),
        (r"\begin{pmatrix}1&2\end{pmatrix}", "matrix"),
    ],
)
def test_reading_says_what_it_was_read_as(text: str, how: str) -> None:
    assert read(text, RULES).how == how


@pytest.mark.parametrize("text", ["", "  ", "$$", r"\boxed{}", "{", r"\frac{1}{2", "1 +", "x ="])
def test_text_without_an_answer_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        read(text, RULES)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 300 + "1" + ")" * 300,
        r"\frac{1}{" * 100 + "2" + "}" * 100,
        r"\sqrt{" * 100 + "2" + "}" * 100,
        "1+" * 50_000 + "1",
        "7" * 100_000,
        "5" + "!" * 500,
        r"\begin{pmatrix}" + r"\\".join(["&".join(["1"] * 40)] * 40) + r"\end{pmatrix}",
        "1e99999",
    ],
    ids=lambda text: f"{text[:12]} of {len(text)}",
)
def test_text_beyond_a_limit_is_refused_at_once(text: str) -> None:
    start = time.process_time()

    with pytest.raises(LimitHit):
        read(text, RULES)

    assert time.process_time() - start < 0.5


def test_reading_and_comparing_numbers_imports_no_sympy() -> None:
    import subprocess

    code = (
        "import sys, grpo_reward_math.comparing as c, grpo_reward_math.reading as r\n"
        "from grpo_reward_math.rules import Rules\n"
        "assert c.same(r.read('0.5', Rules()), r.read('1/2', Rules()), Rules()).equal\n"
        "print([m for m in ('sympy', 'mpmath', 'antlr4') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
