"""Intervals, inequalities and unions of them as one thing: a region of the real line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from grpo_reward_math import tree
from grpo_reward_math.exact import exact
from grpo_reward_math.failures import LimitHit
from grpo_reward_math.numeric import Undefined, Values
from grpo_reward_math.rules import Rules
from grpo_reward_math.tree import Constant, Node

_INFINITY = Constant("infinity")
_MINUS_INFINITY = tree.negative(_INFINITY)
_MOST_PIECES = 40
_KEY_DIGITS = 40  # equal ends that are not rational agree in so many
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "=": "="}
_WORDS_FOR_ALL = {
    "all real numbers", "all reals", "any real number", "all real number", "the real numbers",
    "real numbers", "all real values", "all values", "every real number",
}  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """An interval; an end at infinity is open."""

    low: Node
    high: Node
    low_closed: bool
    high_closed: bool


@dataclass(frozen=True)
class Region:
    """Intervals in order; `variable` is the name an inequality gave, or "" for none."""

    pieces: tuple[Piece, ...]
    variable: str = ""


ALL = Region((Piece(_MINUS_INFINITY, _INFINITY, False, False),))


def is_all(text: str) -> bool:
    """Whether `text` says in words that every real number is meant."""
    return text.lower().strip() in _WORDS_FOR_ALL


def is_region(node: Node) -> bool:
    """Whether `node` can only be a region: an inequality, a union, an interval with a bracket."""
    if isinstance(node, tree.SetOperation | tree.NamedSet):
        return True
    if isinstance(node, tree.Relation):
        return node.signs[0] != "="
    if isinstance(node, tree.Listing):
        return any(map(is_region, node.items)) and all(
            is_region(item) or (node.joiner == "or" and _is_point(item)) for item in node.items
        )
    if isinstance(node, tree.Group):
        return len(node.items) == 2 and (node.opener, node.closer) in (("(", "]"), ("[", ")"))
    return False


def _is_point(node: Node) -> bool:
    """Whether `node` gives a variable one value."""
    return (
        isinstance(node, tree.Relation)
        and node.signs == ("=",)
        and isinstance(node.terms[0], tree.Symbol)
        and not tree.symbols(node.terms[1])
    )


def region(node: Node, rules: Rules) -> Region | None:
    """The region that `node` describes, None if it describes none."""
    match node:
        case tree.NamedSet("R"):
            return ALL
        case tree.Group(opener, closer, (low, high)) if opener in "([":
            return _sorted((Piece(low, high, opener == "[", closer == "]"),), "", rules)
        case tree.SetOf(items):
            points = tuple(Piece(item, item, True, True) for item in items)
            return _sorted(points, "", rules)
        case tree.SetOperation(operation, parts):
            found = [region(part, rules) for part in parts]
            if None in found:
                return None
            return _joined([f for f in found if f], operation, rules)
        case tree.Listing(items, joiner) if is_region(node):
            found = [region(item, rules) for item in items]
            known = [f for f in found if f]
            if len(known) < len(found) or len({f.variable for f in known}) > 1:
                return None
            return _joined(known, "union" if joiner == "or" else "intersection", rules)
        case tree.Relation():
            return _relation(node, rules)
        case _:
            return None


def _relation(node: tree.Relation, rules: Rules) -> Region | None:
    terms, signs = node.terms, node.signs
    if signs == ("in",) and isinstance(terms[0], tree.Symbol):
        inner = region(terms[1], rules)
        return None if inner is None else Region(inner.pieces, terms[0].name)
    if _is_point(node) and isinstance(terms[0], tree.Symbol):
        return Region((Piece(terms[1], terms[1], True, True),), terms[0].name)
    if len(terms) == 2:
        return _one_sided(terms[0], signs[0], terms[1], rules)
    if len(terms) == 3 and isinstance(terms[1], tree.Symbol):
        first = _one_sided(terms[0], signs[0], terms[1], rules)
        second = _one_sided(terms[1], signs[1], terms[2], rules)
        if first is None or second is None:
            return None
        same_way = {s[0] for s in signs} in ({"<"}, {">"})
        return _joined([first, second], "intersection", rules) if same_way else None
    return None


def _one_sided(left: Node, sign: str, right: Node, rules: Rules) -> Region | None:
    if tree.symbols(left) and tree.symbols(right):
        return None
    if tree.symbols(right):
        left, right, sign = right, left, _TURNED.get(sign, sign)
    match left:
        case tree.Symbol(name):
            pass
        case tree.Call("abs", (tree.Symbol(name),)):
            return _around_zero(name, sign, right, rules)
        case _:
            return _linear(left, sign, right, rules)
    closed = sign.endswith("=")
    if sign in ("<", "<="):
        return Region((Piece(_MINUS_INFINITY, right, False, closed),), name)
    if sign in (">", ">="):
        return Region((Piece(right, _INFINITY, closed, False),), name)
    if sign == "!=":
        below = Piece(_MINUS_INFINITY, right, False, False)
        return Region((below, Piece(right, _INFINITY, False, False)), name)
    return None


def _around_zero(name: str, sign: str, bound: Node, rules: Rules) -> Region | None:
    value = exact(bound, rules)
    if value is None or value <= 0:
        return None
    minus, closed = tree.negative(bound), sign.endswith("=")
    if sign in ("<", "<="):
        return Region((Piece(minus, bound, closed, closed),), name)
    if sign in (">", ">="):
        below = Piece(_MINUS_INFINITY, minus, False, closed)
        return Region((below, Piece(bound, _INFINITY, closed, False)), name)
    return None


def _linear(left: Node, sign: str, right: Node, rules: Rules) -> Region | None:
    """`2x + 1 < 5` solved for its one variable."""
    names = tree.symbols(left)
    bound = exact(right, rules)
    if len(names) != 1 or bound is None or sign not in _TURNED or not _is_polynomial(left):
        return None
    (name,) = names
    values = [exact(left, rules, {name: Fraction(x)}) for x in (0, 1, 2, 7)]
    if None in values:
        return None
    v0, v1, v2, v7 = (v for v in values if v is not None)
    slope = v1 - v0
    if slope == 0 or v2 - v0 != 2 * slope or v7 - v0 != 7 * slope:
        return None
    solved = tree.Number((bound - v0) / slope)
    return _one_sided(tree.Symbol(name), sign if slope > 0 else _TURNED[sign], solved, rules)


def _is_polynomial(node: Node) -> bool:
    known = tree.Sum | tree.Product | tree.Number | tree.Symbol
    if isinstance(node, tree.Power):
        return not tree.symbols(node)
    return isinstance(node, known) and all(map(_is_polynomial, tree.children(node)))


def _joined(found: list[Region], operation: str, rules: Rules) -> Region | None:
    variable = next((f.variable for f in found if f.variable), "")
    if operation == "union":
        pieces = tuple(piece for f in found for piece in f.pieces)
        return _sorted(pieces, variable, rules)
    if operation == "intersection":
        total: tuple[Piece, ...] = found[0].pieces
        for other in found[1:]:
            both = [_common(x, y, rules) for x in total for y in other.pieces]
            total = tuple(p for p in both if p is not None)
            _check(len(total))
        return _sorted(total, variable, rules)
    total = found[0].pieces
    for other in found[1:]:
        for hole in other.pieces:
            total = tuple(rest for piece in total for rest in _without(piece, hole, rules))
            _check(len(total))
    return _sorted(total, variable, rules)


def _check(size: int) -> None:
    if size > _MOST_PIECES:
        raise LimitHit(f"more than {_MOST_PIECES} intervals")


def _key(node: Node, rules: Rules) -> float | Fraction:
    """The value of an end to many digits; raises Undefined where it is no real number."""
    value = exact(node, rules)
    if value is not None:
        return value
    values = Values(rules, 2 * _KEY_DIGITS, {}, complex_roots=False)
    number = values.of(node)
    if isinstance(number, values.ctx.mpc):
        raise Undefined
    if values.ctx.isinf(number):
        return math.inf if number > 0 else -math.inf
    return Fraction(values.ctx.nstr(number, _KEY_DIGITS))


def _sorted(pieces: tuple[Piece, ...], variable: str, rules: Rules) -> Region | None:
    """Pieces in order, those that touch or overlap as one, empty ones left out."""
    if len(pieces) == 1 and (tree.symbols(pieces[0].low) or tree.symbols(pieces[0].high)):
        return Region(pieces, variable)
    try:
        keyed = [(_key(p.low, rules), not p.low_closed, _key(p.high, rules), p) for p in pieces]
    except Undefined:
        return Region(pieces, variable)
    keyed = [
        k for k in keyed if k[0] < k[2] or (k[0] == k[2] and k[3].low_closed and k[3].high_closed)
    ]
    keyed.sort(key=lambda k: k[:3])
    merged: list[Piece] = []
    end: float | Fraction = -math.inf
    for low, _, high, piece in keyed:
        last = merged[-1] if merged else None
        if last is not None and (
            low < end or (low == end and (piece.low_closed or last.high_closed))
        ):
            if high > end:
                merged[-1] = Piece(last.low, piece.high, last.low_closed, piece.high_closed)
                end = high
            elif high == end and piece.high_closed:
                merged[-1] = Piece(last.low, last.high, last.low_closed, True)
            continue
        merged.append(piece)
        end = high
    return Region(tuple(merged), variable)


def _common(x: Piece, y: Piece, rules: Rules) -> Piece | None:
    try:
        x_low, y_low = _key(x.low, rules), _key(y.low, rules)
        x_high, y_high = _key(x.high, rules), _key(y.high, rules)
    except Undefined:
        if x.low == _MINUS_INFINITY and y.high == _INFINITY:
            return Piece(y.low, x.high, y.low_closed, x.high_closed)
        if y.low == _MINUS_INFINITY and x.high == _INFINITY:
            return Piece(x.low, y.high, x.low_closed, y.high_closed)
        return None
    low, low_closed = (x.low, x.low_closed) if x_low >= y_low else (y.low, y.low_closed)
    if x_low == y_low:
        low_closed = x.low_closed and y.low_closed
    high, high_closed = (x.high, x.high_closed) if x_high <= y_high else (y.high, y.high_closed)
    if x_high == y_high:
        high_closed = x.high_closed and y.high_closed
    return Piece(low, high, low_closed, high_closed)


def _without(piece: Piece, hole: Piece, rules: Rules) -> list[Piece]:
    below = Piece(_MINUS_INFINITY, hole.low, False, not hole.low_closed)
    above = Piece(hole.high, _INFINITY, not hole.high_closed, False)
    found = [_common(piece, side, rules) for side in (below, above)]
    return [f for f in found if f is not None]
