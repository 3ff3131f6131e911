"""Values of trees by mpmath: two precisions tell equal from near, real points test symbols."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from grpo_reward_math.failures import LimitHit
from grpo_reward_math.height import height_of
from grpo_reward_math.rules import Rules
from grpo_reward_math.tree import (
    Call,
    Constant,
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
    children,
)
from grpo_reward_math.work import Work

DIGITS = 30
GUARD = 15
_LARGEST_LOG = 10**5  # natural logarithm of the largest value that is computed
_MOST_DIGITS = 3000
_HUGE = 10**9


class Undefined(Exception):
    """The tree has no value at this point, or none that numbers can find."""


class TooLarge(LimitHit):
    """A value at one point is too large to be computed; elsewhere it need not be."""


_local = threading.local()


def context() -> Any:
    """The mpmath context of this thread, made when first needed; its precision is nobody else's."""
    if not hasattr(_local, "context"):
        from mpmath.ctx_mp import MPContext

        _local.context = MPContext()
    return _local.context


class Values:
    """Values of trees at one point and one precision."""

    def __init__(
        self,
        rules: Rules,
        digits: int,
        point: Mapping[str, Fraction],
        *,
        complex_roots: bool,
        work: Work | None = None,
    ) -> None:
        self.rules = rules
        self.ctx = context()
        self.ctx.dps = digits
        self.digits = digits
        self.work = work or Work()
        self.terms_left = rules.max_terms
        self.complex_roots = complex_roots
        self.point = {name: self.number(value) for name, value in point.items()}
        self.names = self.point

    def of(self, node: Node) -> Any:
        """The value of `node`; raises Undefined or LimitHit."""
        method = _METHODS.get(type(node))
        if method is None:
            raise Undefined
        self.work.spend(3 + self.digits / 100)
        try:
            return method(self, node)
        except (ZeroDivisionError, ValueError, OverflowError, TypeError):
            raise Undefined from None

    def number(self, value: Fraction) -> Any:
        """`value` at this precision."""
        if value.denominator == 1:
            return self.ctx.mpf(value.numerator)
        return self.ctx.mpf(value.numerator) / value.denominator

    def sum(self, node: Sum) -> Any:
        """The value of a sum."""
        total = self.of(node.terms[0])
        for term in node.terms[1:]:
            total = total + self.of(term)
        return total

    def product(self, node: Product) -> Any:
        """The value of a product."""
        total = self.of(node.factors[0])
        for factor in node.factors[1:]:
            total = total * self.of(factor)
        return total

    def power(self, node: Power) -> Any:
        """The value of a power; an odd root of a negative number is real unless i is at hand."""
        base = self.of(node.base)
        if type(node.exponent) is Number and node.exponent.value == -1:
            return 1 / base if base != 0 else self.undefined()
        exponent = self.of(node.exponent)
        ctx = self.ctx
        if base == 0:
            return ctx.mpf(0) if ctx.re(exponent) > 0 else self.undefined()
        if ctx.isinf(base) or ctx.isinf(exponent):
            raise Undefined
        if abs(exponent) * (abs(ctx.log(abs(base))) + 1) > _LARGEST_LOG:
            raise TooLarge("a value too large to compute")
        if not self.complex_roots and isinstance(base, ctx.mpf) and base < 0:
            ratio = _ratio(node.exponent)
            if ratio is not None and ratio.denominator % 2 == 1 and ratio.denominator > 1:
                root = -ctx.root(-base, ratio.denominator)
                return root**ratio.numerator
        return base**exponent

    def undefined(self) -> Any:
        """Raises Undefined, where an expression is wanted."""
        raise Undefined

    def constant(self, node: Constant) -> Any:
        """The value of a constant."""
        ctx = self.ctx
        return {"pi": +ctx.pi, "e": +ctx.e, "i": ctx.j, "infinity": ctx.inf}[node.name]

    def symbol(self, node: Symbol) -> Any:
        """The value that the point gives a variable."""
        try:
            return self.names[node.name]
        except KeyError:
            raise Undefined from None

    def call(self, node: Call) -> Any:
        """The value of a function; the sine of degrees is that of the angle."""
        if node.name == "det":
            return self.determinant(node.arguments[0])
        function = _CALLS.get(node.name)
        if function is None:
            raise Undefined
        cost = (self.digits / 20) ** 2 * (10 if node.name in _SLOW else 1)
        self.work.spend(20 + cost)
        arguments = [self.of(argument) for argument in node.arguments]
        if node.name in _CIRCULAR and isinstance(node.arguments[0], Quantity):
            arguments[0] = arguments[0] * self.ctx.pi / 180
        for argument in arguments:
            if abs(argument) > 1e30 and not self.ctx.isinf(argument) and node.name in _STEEP:
                raise TooLarge("a value too large to compute")
        return function(self, *arguments)

    def determinant(self, node: Node) -> Any:
        """The determinant of a square matrix."""
        if not isinstance(node, Matrix) or len(node.rows) != len(node.rows[0]):
            raise Undefined
        return self.ctx.det(self.ctx.matrix([[self.of(c) for c in row] for row in node.rows]))

    def factorial(self, value: Any) -> Any:
        """The gamma function, shifted."""
        if abs(value) > 10**5:
            raise TooLarge("a factorial too large to compute")
        return self.ctx.factorial(value)

    def binom(self, above: Any, below: Any) -> Any:
        """A binomial coefficient."""
        if abs(above) > 10**6 or abs(below) > 10**6:
            raise TooLarge("a binomial too large to compute")
        return self.ctx.binomial(above, below)

    def root(self, value: Any, index: Any) -> Any:
        """A root of whole index."""
        ctx = self.ctx
        if not ctx.isint(index) or index <= 0 or index > 1000:
            return value ** (1 / index)
        if isinstance(value, ctx.mpf) and value < 0 and int(index) % 2 == 1:
            return -ctx.root(-value, int(index))
        return ctx.root(value, int(index))

    def log(self, value: Any, base: Any = None) -> Any:
        """A logarithm to any base."""
        ctx = self.ctx
        if value == 0:
            raise Undefined
        if base is None:
            base = ctx.e if self.rules.log_base == "e" else ctx.mpf(10)
        return ctx.log(value) / ctx.log(base)

    def step(self, name: str, value: Any) -> Any:
        """Floor or ceiling, not thrown over by the last digit of what should be an integer."""
        ctx = self.ctx
        nearest = ctx.nint(value)
        if abs(value - nearest) < ctx.mpf(10) ** (-self.digits + GUARD) * (1 + abs(value)):
            return nearest
        return ctx.floor(value) if name == "floor" else ctx.ceil(value)

    def series(self, node: Series) -> Any:
        """The value of a sum or product sign."""
        ctx = self.ctx
        low, high = self.of(node.low), self.of(node.high)
        if not (ctx.isint(low) and ctx.isint(high)):
            raise Undefined
        self.terms_left -= max(0, int(high - low))
        if self.terms_left < 0:
            raise LimitHit(f"more than {self.rules.max_terms} terms")
        outer = self.names
        total = ctx.mpf(0 if node.kind == "sum" else 1)
        for value in range(int(low), int(high) + 1):
            self.names = {**outer, node.variable: ctx.mpf(value)}
            term = self.of(node.body)
            total = total + term if node.kind == "sum" else total * term
        self.names = outer
        return total


def _ratio(node: Node) -> Fraction | None:
    """The exponent as a fraction where it is written as one."""
    match node:
        case Number(value):
            return value
        case Product((Number(above), Power(Number(below), Number(minus)))) if minus == -1 and below:
            return above / below
        case Product((Number(sign), inner)):
            ratio = _ratio(inner)
            return None if ratio is None else sign * ratio
        case _:
            return None


_SLOW = {"gamma", "factorial", "double_factorial", "binom"}
_CIRCULAR = {"sin", "cos", "tan", "cot", "sec", "csc"}
_STEEP = _CIRCULAR | {"sinh", "cosh", "tanh", "coth", "sech", "csch", "gamma"}
_METHODS: dict[type, Callable[[Values, Any], Any]] = {
    Number: lambda values, node: values.number(node.value),
    Sum: Values.sum,
    Product: Values.product,
    Power: Values.power,
    Constant: Values.constant,
    Symbol: Values.symbol,
    Call: Values.call,
    Percent: lambda values, node: values.of(node.value) / 100,
    Quantity: lambda values, node: values.of(node.value),
    Series: Values.series,
}
_NAMES = (
    "sin cos tan cot sec csc asin acos atan acot asec acsc sinh cosh tanh coth sech csch asinh "
    "acosh atanh gamma sqrt sign arg re im"
)


def _named(name: str) -> Callable[..., Any]:
    return lambda values, x: getattr(values.ctx, name)(x)


_CALLS: dict[str, Callable[..., Any]] = {name: _named(name) for name in _NAMES.split()} | {
    "abs": lambda values, x: abs(x),
    "conjugate": lambda values, x: values.ctx.conj(x),
    "ln": lambda values, x: values.ctx.log(x) if x != 0 else values.undefined(),
    "log": Values.log,
    "root": Values.root,
    "factorial": Values.factorial,
    "double_factorial": lambda values, x: (
        values.ctx.fac2(x) if abs(x) < 5000 else values.undefined()
    ),
    "binom": Values.binom,
    "floor": lambda values, x: values.step("floor", x),
    "ceil": lambda values, x: values.step("ceil", x),
    "mod": lambda values, x, y: x - y * values.step("floor", x / y),
    "max": lambda values, *xs: max(xs),
    "min": lambda values, *xs: min(xs),
}


class Comparison:
    """Two trees compared at points."""

    def __init__(self, first: Node, second: Node, rules: Rules) -> None:
        self.pair = (first, second)
        self.rules = rules
        self.work = Work()
        height = height_of(first, self.size) + height_of(second, self.size)
        if height > _MOST_DIGITS:
            raise LimitHit("numbers too large or too small beside a value that is not rational")
        self.low = DIGITS + math.ceil(height)
        self.high = self.low + DIGITS
        self.complex_roots = any(_has_i(node) for node in self.pair)

    def size(self, node: Node) -> float | None:
        """The absolute value of `node`; None if it has none, as with free symbols."""
        if isinstance(node, Number):
            return float(abs(node.value)) if abs(node.value) < _HUGE else float(_HUGE)
        try:
            value = abs(Values(self.rules, DIGITS, {}, complex_roots=True).of(node))
        except Undefined:
            return None
        except LimitHit:
            return float(_HUGE)
        return float(value) if value < _HUGE else float(_HUGE)

    def values(self, digits: int, point: Mapping[str, Fraction]) -> tuple[Any, Any]:
        """Both values at `point`; raises Undefined unless both are real (or i is at hand)."""
        values = Values(self.rules, digits, point, complex_roots=self.complex_roots, work=self.work)
        found = tuple(values.of(node) for node in self.pair)
        ctx = values.ctx
        if any(ctx.isnan(value) for value in found):
            raise Undefined
        if not self.complex_roots and point:
            found = tuple(self.real(value, digits) for value in found)
        return found[0], found[1]

    def real(self, value: Any, digits: int) -> Any:
        """`value` if it is real up to rounding; raises Undefined otherwise."""
        ctx = context()
        if not isinstance(value, ctx.mpc):
            return value
        if abs(value.imag) > abs(value.real) * ctx.mpf(10) ** (GUARD - digits):
            raise Undefined
        return value.real

    def equal(self, point: Mapping[str, Fraction]) -> bool:
        """Whether both have one value at `point`; raises Undefined where one has none."""
        return self.settled(self.distance(self.low, point), lambda: self.distance(self.high, point))

    def settled(self, near: tuple[Any, Any], far: Callable[[], tuple[Any, Any]]) -> bool:
        """Whether a distance, beside its size, is rounding: it shrinks as the precision grows."""
        apart, size = near
        if apart > size * 1e-8 and size > 1e-8:
            return False
        further, size = far()
        if further == 0:
            return True
        ctx = context()
        return bool(further < apart * ctx.mpf(10) ** -GUARD) or bool(
            further < size * ctx.mpf(10) ** (GUARD - self.high)
        )

    def distance(self, digits: int, point: Mapping[str, Fraction]) -> tuple[Any, Any]:
        """How far apart the values are and how large."""
        first, second = self.values(digits, point)
        ctx = context()
        if first == second:
            return ctx.mpf(0), ctx.mpf(1)
        if ctx.isinf(first) or ctx.isinf(second):
            return ctx.mpf(1), ctx.mpf(1)
        return abs(first - second), max(abs(first), abs(second))

    def ratio(self, digits: int, point: Mapping[str, Fraction]) -> Any:
        """The first value over the second at `point`; raises Undefined where there is none."""
        first, second = self.values(digits, point)
        if second == 0 or first == 0:
            raise Undefined
        return first / second

    def equal_ratio(self, one: Mapping[str, Fraction], other: Mapping[str, Fraction]) -> bool:
        """Whether the ratio of both is the same at two points; raises Undefined where none is."""

        def distance(digits: int) -> tuple[Any, Any]:
            first, second = self.ratio(digits, one), self.ratio(digits, other)
            return abs(first - second), max(abs(first), abs(second))

        return self.settled(distance(self.low), lambda: distance(self.high))

    @property
    def complex_type(self) -> type:
        """What a value that is not real is an instance of."""
        return context().mpc  # type: ignore[no-any-return]


def _has_i(node: Node) -> bool:
    return (isinstance(node, Constant) and node.name == "i") or any(map(_has_i, children(node)))
