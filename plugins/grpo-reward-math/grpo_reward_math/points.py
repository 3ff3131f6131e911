"""Points that functions are compared at, more of them where one folds or steps."""

from __future__ import annotations

import random
from fractions import Fraction

from grpo_reward_math.tree import Call, Node, Number, Power, children

_FOLDING = {"abs", "sqrt", "root", "floor", "ceil", "mod", "max", "min", "sign", "ln", "log", "arg"}
_STEPPING = {"floor", "ceil", "mod", "double_factorial"}
_MOST_LITERALS = 4
_MOST_MARKS = 10
_MOST_MOVED = 3  # symbols that are put there, one at a time
_FARTHEST = 10**9
_ASIDE = Fraction(1, 97)


def points(names: frozenset[str], seed: str) -> list[dict[str, Fraction]]:
    """Points to test symbols at: small and larger positive ones, mixed signs, then integers."""
    draw = random.Random(seed)
    found: list[dict[str, Fraction]] = []
    ordered = sorted(names)

    def between(low: float, high: float) -> Fraction:
        return Fraction(round(draw.uniform(low, high) * 1009), 1009)

    for low, high in ((0.1, 1), (1, 3)):
        found.append({name: between(low, high) for name in ordered})
    found.append({name: -between(0.1, 2) for name in ordered})
    for first in (0, 1):
        signs = ((-1) ** (first + index) for index in range(len(ordered)))
        found.append({n: s * between(0.1, 3) for n, s in zip(ordered, signs, strict=True)})
    for low, high in ((0.01, 1), (2, 6), (5, 30), (30, 300)):
        found.append({name: between(low, high) for name in ordered})
    for number in range(8):  # integers, even and odd in every combination
        parities = (number >> index & 1 for index in range(len(ordered)))
        found.append(
            {
                n: Fraction(2 * draw.randint(1, 4) + p)
                for n, p in zip(ordered, parities, strict=True)
            }
        )
    return found


def folds(node: Node) -> bool:
    """Whether `node` may be one formula here and another one there: bars, roots, steps."""
    match node:
        case Call(name, _) if name in _FOLDING:
            return True
        case Power(_, Number(value)) if value.denominator > 1:
            return True
        case _:
            return any(map(folds, children(node)))


def steps(node: Node) -> bool:
    """Whether `node` rounds, or counts, so that whole numbers are what it is about."""
    rounds = isinstance(node, Call) and node.name in _STEPPING
    return rounds or any(map(steps, children(node)))


def near(names: frozenset[str], nodes: tuple[Node, ...]) -> list[dict[str, Fraction]]:
    """Points on both sides of every number written in `nodes`, and far beyond all of them."""
    marks = _marks(nodes)
    stepping = any(map(steps, nodes))
    places = {Fraction(0), Fraction(1)}
    for mark in marks:
        places |= {mark - _ASIDE, mark + _ASIDE}
        if stepping:
            places |= {Fraction(int(mark) + shift) for shift in (-1, 0, 1)}
    far = 10 * max([Fraction(100), *marks]) + 7
    places |= {far, far + Fraction(1, 3)}
    places |= {-place for place in places}
    draw = random.Random(len(places))
    ordered = sorted(names)
    found = []
    for place in sorted(places):
        for moved in ordered[:_MOST_MOVED]:
            point = {name: Fraction(draw.randint(2, 9)) for name in ordered}
            found.append(point | {moved: place})
    return found


def _marks(nodes: tuple[Node, ...]) -> list[Fraction]:
    """Numbers written in `nodes`, then those that two of them make, as many as are tried."""
    written = sorted({abs(value) for node in nodes for value in _literals(node)} - {0, 1})
    literals = written[:_MOST_LITERALS]
    pairs = [(x, y) for x in literals for y in literals]
    marks = dict.fromkeys(written[-_MOST_LITERALS:] + literals)
    for made in (
        [x / y for x, y in pairs if x > y],
        [abs(x - y) for x, y in pairs if x > y],
        [x + y for x, y in pairs],
        [x * y for x, y in pairs],
    ):
        marks |= dict.fromkeys(made)
    return [mark for mark in marks if 0 < mark <= _FARTHEST][:_MOST_MARKS]


def _literals(node: Node) -> set[Fraction]:
    if isinstance(node, Number):
        return {node.value}
    return {value for child in children(node) for value in _literals(child)}
