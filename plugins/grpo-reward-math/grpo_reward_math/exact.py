"""The exact rational value of a tree, or its value modulo a prime where it has free symbols."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from grpo_reward_math.failures import LimitHit
from grpo_reward_math.rules import Rules
from grpo_reward_math.tree import (
    Call,
    Matrix,
    Node,
    Number,
    Percent,
    Power,
    Product,
    Quantity,
    Series,
    Sum,
    Symbol,
)
from grpo_reward_math.work import Work

_BITS_PER_DIGIT = 3.3219280948873626
_HUGE = 10**6


class NotExact(Exception):
    """The value is not rational, or not defined."""


def exact(node: Node, rules: Rules, point: Mapping[str, Fraction] | None = None) -> Fraction | None:
    """The rational value of `node` with its symbols as in `point`; None if it has none."""
    if type(node) is Number:
        return node.value
    try:
        return _Exact(rules, point or {}).of(node)
    except (NotExact, ZeroDivisionError):
        return None


class _Exact:
    """Values of the nodes of one tree."""

    def __init__(self, rules: Rules, point: Mapping[str, Fraction]) -> None:
        self.rules = rules
        self.point = dict(point)
        self.terms_left = rules.max_terms
        self.work = Work()
        self.max_bits = int(rules.max_digits * _BITS_PER_DIGIT)

    def of(self, node: Node) -> Fraction:
        kind = type(node)
        if kind is Number:
            return node.value  # type: ignore[attr-defined,no-any-return]
        method = _METHODS.get(kind)
        if method is None:
            raise NotExact
        return method(self, node)

    def sum(self, node: Sum) -> Fraction:
        total = self.of(node.terms[0])
        for term in node.terms[1:]:
            total += self.of(term)
            self.check(total)
        return total

    def product(self, node: Product) -> Fraction:
        total = self.of(node.factors[0])
        for factor in node.factors[1:]:
            total *= self.of(factor)
            self.check(total)
        return total

    def check(self, value: Fraction) -> None:
        bits = max(value.numerator.bit_length(), value.denominator.bit_length())
        if bits > self.max_bits:
            raise LimitHit(f"a number of more than {self.rules.max_digits} digits")
        words = bits >> 6
        self.work.spend(1 + words / 4 if value.denominator == 1 else 3 + words * words / 100)

    def power(self, node: Power) -> Fraction:
        return self.raised(self.of(node.base), self.of(node.exponent))

    def raised(self, base: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator != 1:
            return self.rooted(base, exponent)
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if base not in (0, 1, -1) and abs(exponent) * (bits - 1 or 1) > self.max_bits:
            raise LimitHit(f"a number of more than {self.rules.max_digits} digits")
        if base == 0 and exponent <= 0:
            raise NotExact
        return base ** int(exponent)

    def rooted(self, base: Fraction, exponent: Fraction) -> Fraction:
        """A rational power that is rational: `4^{3/2}`, and `(-8)^{1/3}` as the real root."""
        degree = exponent.denominator
        if degree > 1000 or (base < 0 and degree % 2 == 0):
            raise NotExact
        above = integer_root(abs(base.numerator), degree)
        below = integer_root(base.denominator, degree)
        if above is None or below is None:
            raise NotExact
        root = Fraction(-above if base < 0 else above, below)
        return self.raised(root, Fraction(exponent.numerator))

    def percent(self, node: Percent) -> Fraction:
        return self.of(node.value) / 100

    def quantity(self, node: Quantity) -> Fraction:
        return self.of(node.value)

    def symbol(self, node: Symbol) -> Fraction:
        try:
            return self.point[node.name]
        except KeyError:
            raise NotExact from None

    def call(self, node: Call) -> Fraction:
        function = _CALLS.get(node.name)
        if function is None:
            raise NotExact
        if node.name == "det":
            return self.determinant(node.arguments[0])
        arguments = [self.of(argument) for argument in node.arguments]
        for argument in arguments:
            words = argument.numerator.bit_length() >> 6
            self.work.spend(2 + words * words / 50)
        return function(self, *arguments)

    def whole(self, value: Fraction, most: int) -> int:
        if value.denominator != 1 or value < 0:
            raise NotExact
        if value > most:
            raise LimitHit(f"a number of more than {self.rules.max_digits} digits")
        return int(value)

    def factorial(self, value: Fraction) -> Fraction:
        n = self.whole(value, 100_000)
        digits = math.lgamma(n + 1) / math.log(10)
        if digits > self.rules.max_digits:
            raise LimitHit(f"a number of more than {self.rules.max_digits} digits")
        self.work.spend(2 + (digits / 20) ** 2 / 50)
        return Fraction(math.factorial(n))

    def double_factorial(self, value: Fraction) -> Fraction:
        return Fraction(math.prod(range(self.whole(value, 4000), 0, -2)))

    def binom(self, above: Fraction, below: Fraction) -> Fraction:
        n, k = self.whole(above, _HUGE), self.whole(below, _HUGE)
        if k > n:
            return Fraction(0)
        logarithm = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        if logarithm / math.log(10) > self.rules.max_digits:
            raise LimitHit(f"a number of more than {self.rules.max_digits} digits")
        words = logarithm / math.log(2) / 64
        self.work.spend(2 + words * words / 20)
        return Fraction(math.comb(n, k))

    def mod(self, value: Fraction, modulus: Fraction) -> Fraction:
        return value % modulus

    def sqrt(self, value: Fraction) -> Fraction:
        return self.rooted(value, Fraction(1, 2)) if value >= 0 else self.fail()

    def root(self, value: Fraction, index: Fraction) -> Fraction:
        if index.denominator != 1 or index <= 0:
            raise NotExact
        return self.rooted(value, 1 / index)

    def log(self, value: Fraction, *base: Fraction) -> Fraction:
        """A logarithm that is an integer; every other one is left to numbers."""
        if value == 1:
            return Fraction(0)
        if not base or base[0] <= 0 or base[0] == 1 or value <= 0:
            raise NotExact
        bits = max(value.numerator, value.denominator).bit_length()
        for candidate in range(1, min(bits, 400) + 1):
            for exponent in (candidate, -candidate):
                if base[0] ** exponent == value:
                    return Fraction(exponent)
            size = max(base[0].numerator, base[0].denominator).bit_length()
            if (size - 1) * candidate > bits:
                break
        raise NotExact

    def fail(self) -> Fraction:
        raise NotExact

    def determinant(self, node: Node) -> Fraction:
        if not isinstance(node, Matrix) or len(node.rows) != len(node.rows[0]):
            raise NotExact
        rows = [[self.of(cell) for cell in row] for row in node.rows]
        total = Fraction(1)
        for column in range(len(rows)):
            pivot = next((r for r in range(column, len(rows)) if rows[r][column]), None)
            if pivot is None:
                return Fraction(0)
            if pivot != column:
                rows[pivot], rows[column] = rows[column], rows[pivot]
                total = -total
            head = rows[column]
            total *= head[column]
            self.check(total)
            for row in rows[column + 1 :]:
                share = row[column] / head[column]
                for index in range(column, len(rows)):
                    row[index] -= share * head[index]
        return total

    def series(self, node: Series) -> Fraction:
        low, high = self.of(node.low), self.of(node.high)
        if low.denominator != 1 or high.denominator != 1:
            raise NotExact
        self.terms_left -= max(0, int(high - low))
        if self.terms_left < 0:
            raise LimitHit(f"more than {self.rules.max_terms} terms")
        outer = self.point.get(node.variable)
        total = Fraction(0 if node.kind == "sum" else 1)
        for value in range(int(low), int(high) + 1):
            self.point[node.variable] = Fraction(value)
            term = self.of(node.body)
            total = total + term if node.kind == "sum" else total * term
            self.check(total)
        self.point.pop(node.variable, None)
        if outer is not None:
            self.point[node.variable] = outer
        return total


def integer_root(value: int, degree: int) -> int | None:
    """The integer whose `degree`-th power is `value`, or None."""
    if value < 2:
        return value
    if degree == 2:
        root = math.isqrt(value)
        return root if root * root == value else None
    low, high = 1, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < value:
            low = middle + 1
        else:
            high = middle
    return low if low**degree == value else None


def _integer(value: Fraction) -> int:
    if value.denominator != 1:
        raise NotExact
    return value.numerator


_METHODS: dict[type, Callable[[_Exact, Any], Fraction]] = {
    Sum: _Exact.sum,
    Product: _Exact.product,
    Power: _Exact.power,
    Percent: _Exact.percent,
    Quantity: _Exact.quantity,
    Symbol: _Exact.symbol,
    Call: _Exact.call,
    Series: _Exact.series,
}
_CALLS: dict[str, Callable[..., Fraction]] = {
    "factorial": _Exact.factorial,
    "double_factorial": _Exact.double_factorial,
    "binom": _Exact.binom,
    "mod": _Exact.mod,
    "sqrt": _Exact.sqrt,
    "root": _Exact.root,
    "log": _Exact.log,
    "det": _Exact.fail,
    "abs": lambda _, x: abs(x),
    "floor": lambda _, x: Fraction(math.floor(x)),
    "ceil": lambda _, x: Fraction(math.ceil(x)),
    "sign": lambda _, x: Fraction((x > 0) - (x < 0)),
    "max": lambda _, *xs: max(xs),
    "min": lambda _, *xs: min(xs),
    "gcd": lambda _, *xs: Fraction(math.gcd(*map(_integer, xs))),
    "lcm": lambda _, *xs: Fraction(math.lcm(*map(_integer, xs))),
}


def residue(node: Node, point: Mapping[str, int], prime: int) -> int:
    """The value of a rational function modulo a prime at `point`.

    Two such functions that agree at random points modulo random primes are the same function.

    Raises:
        NotExact: It is no rational function, or not defined there.
    """
    kind = type(node)
    if kind is Number:
        value: Fraction = node.value  # type: ignore[attr-defined]
        if value.denominator == 1:
            return value.numerator % prime
        return _over(value.numerator, value.denominator, prime)
    if kind is Symbol:
        return point[node.name]  # type: ignore[attr-defined]
    if kind is Sum:
        terms: tuple[Node, ...] = node.terms  # type: ignore[attr-defined]
        return sum([residue(term, point, prime) for term in terms]) % prime
    if kind is Product:
        total = 1
        for factor in node.factors:  # type: ignore[attr-defined]
            total = total * residue(factor, point, prime) % prime
        return total
    if kind is Power:
        exponent = node.exponent  # type: ignore[attr-defined]
        if type(exponent) is not Number or exponent.value.denominator != 1:
            raise NotExact
        base = residue(node.base, point, prime)  # type: ignore[attr-defined]
        power = exponent.value.numerator
        if power < 0 or (power == 0 and base == 0):
            base = _over(1, base, prime)
        return pow(base, abs(power), prime)
    if kind is Percent or kind is Quantity:
        inner = residue(node.value, point, prime)  # type: ignore[attr-defined]
        return _over(inner, 100, prime) if kind is Percent else inner
    raise NotExact


def _over(above: int, below: int, prime: int) -> int:
    if below % prime == 0:
        raise NotExact
    return above * pow(below, -1, prime) % prime
