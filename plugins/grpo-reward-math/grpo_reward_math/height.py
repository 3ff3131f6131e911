"""How many digits a comparison needs so that nothing written in a tree is too small to be seen."""

from __future__ import annotations

import math
from collections.abc import Callable

from grpo_reward_math.tree import (
    Call,
    Constant,
    Node,
    Number,
    Power,
    Product,
    Symbol,
    children,
)

_LOG_E = math.log10(math.e)
# The decimal logarithm of such a value is about that times the argument.
_STEEP = {
    **dict.fromkeys(("exp", "sinh", "cosh", "sech", "csch"), _LOG_E),
    **dict.fromkeys(("tanh", "coth"), 2 * _LOG_E),  # how near to 1
    **dict.fromkeys(("factorial", "double_factorial", "gamma"), 3.0),
    "binom": math.log10(2),
}
# The size of a node without free symbols; None if it has none.
Size = Callable[[Node], float | None]


def height_of(node: Node, size: Size) -> float:
    r"""A bound on the decimal logarithm of how large or how small the parts of `node` are.

    That of `10^{-50}` is 50, so that `\pi + 10^{-50}` is compared to more digits than that.

    Args:
        node: The tree.
        size: Gives the absolute value of a node.
    """
    kind = type(node)
    if kind is Number:
        value = node.value  # type: ignore[attr-defined]
        return max(_log(abs(value.numerator)), _log(value.denominator))
    if kind is Symbol:
        return 1.0
    if kind is Constant:
        return 0.5
    if kind is Power:
        exponent = node.exponent  # type: ignore[attr-defined]
        inner = height_of(node.base, size)  # type: ignore[attr-defined]
        if type(exponent) is Number and abs(exponent.value) <= 1:
            return inner
        # With a variable in it, it is tested where it is small, too.
        times = size(exponent)
        return inner + height_of(exponent, size) if times is None else inner * max(times, 1.0)
    parts = [height_of(child, size) for child in children(node)]
    if kind is Product:
        return sum(parts)
    if kind is Call and (factor := _STEEP.get(node.name)):  # type: ignore[attr-defined]
        times = size(node.arguments[0])  # type: ignore[attr-defined]
        return parts[0] if times is None else max(parts[0], factor * times)
    return max(parts, default=0.0)


def _log(value: int) -> float:
    return math.log10(value) if value else 0.0
