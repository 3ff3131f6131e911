"""Sets, lists, tuples and matrices."""

from __future__ import annotations

from dataclasses import replace

from grpo_reward_math import tree
from grpo_reward_math.equations import Equations
from grpo_reward_math.exact import exact
from grpo_reward_math.failures import LimitHit
from grpo_reward_math.reading import kind
from grpo_reward_math.tree import Node
from grpo_reward_math.verdict import Verdict

_MOST_INEXACT_ITEMS = 24
_MOST_ROWS = 5  # of matrices that are multiplied


class Several(Equations):
    """Comparisons of several values at once."""

    def unordered(self, a: Node, g: Node) -> Verdict:
        """Sets and lists."""
        mine, other = _items(a), _items(g)
        if mine is None or other is None:
            return Verdict(False, f"a {kind(a)} is not a {kind(g)}")
        exact_mine = [exact(item, self.rules) for item in mine]
        exact_other = [exact(item, self.rules) for item in other]
        measured = any(isinstance(item, tree.Quantity) for item in (*mine, *other))
        if not measured and None not in exact_mine and None not in exact_other:
            single = len(mine) == 1 or len(other) == 1
            if single or isinstance(a, tree.SetOf) or isinstance(g, tree.SetOf):
                equal = set(exact_mine) == set(exact_other)
            else:
                equal = sorted(exact_mine) == sorted(exact_other)  # type: ignore[type-var]
            return Verdict(equal, "the same values in any order" if equal else "other values")
        if len(mine) != len(other):
            return Verdict(False, f"{len(mine)} values are not {len(other)}")
        if len(mine) > _MOST_INEXACT_ITEMS:
            raise LimitHit(f"more than {_MOST_INEXACT_ITEMS} values that are not plain numbers")
        left = list(other)
        for item in mine:
            found = next((i for i, o in enumerate(left) if self.compare(item, o).equal), None)
            if found is None:
                return Verdict(False, "a value has no partner")
            del left[found]
        return Verdict(True, "the same values in any order")

    def groups(self, a: Node, g: Node) -> Verdict:
        """Tuples and intervals, in order."""
        if not (isinstance(a, tree.Group) and isinstance(g, tree.Group)):
            return Verdict(False, f"a {kind(a)} is not a {kind(g)}")
        if len(a.items) != len(g.items):
            return Verdict(False, f"{len(a.items)} values are not {len(g.items)}")
        if len(a.items) == 2 and _brackets(a) != _brackets(g):
            return Verdict(False, "other brackets")
        for x, y in zip(a.items, g.items, strict=True):
            verdict = self.compare(x, y)
            if not verdict.equal:
                return Verdict(False, f"a value differs: {verdict.rule}")
        return Verdict(True, "equal value by value")

    def matrices(self, a: Node, g: Node) -> Verdict:
        """Matrices, entry by entry."""
        if not (isinstance(a, tree.Matrix) and isinstance(g, tree.Matrix)):
            return Verdict(False, f"a {kind(a)} is not a {kind(g)}")
        if (len(a.rows), len(a.rows[0])) != (len(g.rows), len(g.rows[0])):
            return Verdict(False, "matrices of other sizes")
        for mine, other in zip(a.rows, g.rows, strict=True):
            for x, y in zip(mine, other, strict=True):
                verdict = self.compare(x, y)
                if not verdict.equal:
                    return Verdict(False, f"an entry differs: {verdict.rule}")
        return Verdict(True, "equal entry by entry")


def spread(node: Node) -> Node:
    """`node` with every plus-minus sign written out as two values."""
    if isinstance(node, tree.Listing | tree.SetOf):
        items: list[Node] = []
        for item in node.items:
            both = spread(item)
            items.extend(both.items if isinstance(both, tree.Listing) else (both,))
        return replace(node, items=tuple(items))
    if not _has_plus_minus(node):
        return node
    if isinstance(node, tree.Sum):
        free = [i for i, t in enumerate(node.terms) if isinstance(t, tree.PlusMinus) and t.sign > 0]
        if len(free) == 2 and not any(
            isinstance(t, tree.PlusMinus) and t.sign < 0 for t in node.terms
        ):
            return _independent(node, free[0])  # 2 \\pm a \\pm b: four values
    return tree.Listing((_signed(node, 1), _signed(node, -1)), "or")


def _independent(node: tree.Sum, place: int) -> Node:
    """`node` with both signs of one term, and for each those of the others."""
    found: list[Node] = []
    for sign in (1, -1):
        chosen = _signed(node.terms[place], sign)
        rest = spread(tree.Sum((*node.terms[:place], chosen, *node.terms[place + 1 :])))
        found.extend(rest.items if isinstance(rest, tree.Listing) else (rest,))
    return tree.Listing(tuple(found), "or")


def unquantified(node: Node, other: Node) -> Node:
    r"""`k\pi, k \in Z` without what it says of k, if `other` says nothing of the kind."""
    if not isinstance(node, tree.Listing) or isinstance(other, tree.Relation):
        return node
    if isinstance(other, tree.Listing) and any(map(_is_quantifier, other.items)):
        return node
    rest = [item for item in node.items if not _is_quantifier(item)]
    used = frozenset().union(*map(tree.symbols, rest)) if rest else frozenset()
    dropped = [item for item in node.items if _is_quantifier(item)]
    if not rest or not dropped or not all(tree.symbols(item) <= used for item in dropped):
        return node
    return rest[0] if len(rest) == 1 else tree.Listing(tuple(rest), node.joiner)


def _is_quantifier(node: Node) -> bool:
    return (
        isinstance(node, tree.Relation)
        and node.signs == ("in",)
        and isinstance(node.terms[0], tree.Symbol)
        and isinstance(node.terms[1], tree.NamedSet)
        and node.terms[1].name[0] == "Z"
    )


def _has_plus_minus(node: Node) -> bool:
    return isinstance(node, tree.PlusMinus) or any(map(_has_plus_minus, tree.children(node)))


def _signed(node: Node, sign: int) -> Node:
    match node:
        case tree.PlusMinus(term, own):
            inner = _signed(term, sign)
            return inner if own * sign > 0 else tree.negative(inner)
        case tree.Sum(terms):
            return tree.Sum(tuple(_signed(t, sign) for t in terms))
        case tree.Product(factors):
            return tree.Product(tuple(_signed(f, sign) for f in factors))
        case tree.Power(base, exponent):
            return tree.Power(_signed(base, sign), _signed(exponent, sign))
        case tree.Call(name, arguments):
            return tree.Call(name, tuple(_signed(n, sign) for n in arguments))
        case tree.Group(opener, closer, items):
            return tree.Group(opener, closer, tuple(_signed(n, sign) for n in items))
        case tree.Relation(terms, signs):
            return tree.Relation(tuple(_signed(t, sign) for t in terms), signs)
        case tree.Quantity(value, unit):
            return tree.Quantity(_signed(value, sign), unit)
        case tree.Percent(value):
            return tree.Percent(_signed(value, sign))
        case _:
            return node


def _items(node: Node) -> tuple[Node, ...] | None:
    if isinstance(node, tree.SetOf | tree.Listing):
        return node.items
    if isinstance(node, tree.Group | tree.SetOperation | tree.NamedSet):
        return None
    return (node,)


def as_vector(node: Node, other: Node) -> Node:
    """A matrix of one column or row as a tuple, if the other side is one."""
    if isinstance(node, tree.Matrix) and isinstance(other, tree.Group):
        if all(len(row) == 1 for row in node.rows):
            return tree.Group("(", ")", tuple(row[0] for row in node.rows))
        if len(node.rows) == 1:
            return tree.Group("(", ")", node.rows[0])
    return node


def _brackets(node: tree.Group) -> str:
    found = node.opener + node.closer
    return "()" if found == "<>" else found


def scaled(node: Node) -> Node:
    """Products and sums of matrices, and numbers times a matrix, as one matrix."""
    if isinstance(node, tree.Product):
        matrices = [f for f in node.factors if isinstance(f, tree.Matrix)]
        others = tuple(f for f in node.factors if not isinstance(f, tree.Matrix))
        if not matrices or (len(matrices) > 1 and max(map(_side, matrices)) > _MOST_ROWS):
            return node
        total = matrices[0]
        for matrix in matrices[1:3]:
            if len(total.rows[0]) != len(matrix.rows):
                return node
            columns = tuple(zip(*matrix.rows, strict=True))
            total = tree.Matrix(
                tuple(tuple(_dot(row, column) for column in columns) for row in total.rows)
            )
        if len(matrices) > 3:
            return node
        if not others:
            return total
        return tree.Matrix(
            tuple(tuple(tree.Product((*others, c)) for c in row) for row in total.rows)
        )
    if isinstance(node, tree.Sum):
        parts = [scaled(t) for t in node.terms]
        shapes = {(len(p.rows), len(p.rows[0])) for p in parts if isinstance(p, tree.Matrix)}
        if len(shapes) == 1 and all(isinstance(p, tree.Matrix) for p in parts):
            rows = zip(*(p.rows for p in parts), strict=True)  # type: ignore[attr-defined]
            return tree.Matrix(tuple(tuple(map(_added, zip(*r, strict=True))) for r in rows))
    return node


def _side(matrix: tree.Matrix) -> int:
    return max(len(matrix.rows), len(matrix.rows[0]))


def _dot(row: tuple[Node, ...], column: tuple[Node, ...]) -> Node:
    return tree.Sum(tuple(map(tree.Product, zip(row, column, strict=True))))


def _added(cells: tuple[Node, ...]) -> Node:
    return tree.Sum(cells)
