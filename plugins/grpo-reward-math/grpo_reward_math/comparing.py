"""Whether two answers are the same, and which rule says so."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from fractions import Fraction

from . import fallback, regions, tree, units
from .exact import PRIME, NotExact, exact, residue
from .failures import LimitHit, Unreadable
from .numeric import Comparison, Undefined, points
from .reading import Reading, kind
from .rules import Rules
from .tree import Node

__all__ = ["Verdict", "same"]

_ENOUGH = 4
# What counts of a text: words, and numbers with the signs inside them.
_WORDS = re.compile(r"-?\d+(?:[./:,]\d+)*%?|[^\W\d_]+")
_SCALARS = (
    tree.Number, tree.Constant, tree.Symbol, tree.Sum, tree.Product, tree.Power, tree.Call,
    tree.Quantity, tree.Percent, tree.Series,
)  # fmt: skip
# Letters that stand for integers where an expression rounds.
_COUNTERS = frozenset("nmkjNMpqr")
_MOST_INEXACT_ITEMS = 24


@dataclass(frozen=True)
class Verdict:
    """Whether two answers are equal.

    Attributes:
        equal: The answer.
        rule: What decided, in a few words.
    """

    equal: bool
    rule: str


def same(answer: Reading, gold: Reading, rules: Rules) -> Verdict:
    """Whether `answer` says what `gold` says.

    Raises:
        LimitHit: A value is too large to be computed.
    """
    return compare(answer.tree, gold.tree, rules)


def compare(a: Node, g: Node, rules: Rules) -> Verdict:
    """Whether two trees are one answer; symmetric in the two."""
    if type(a) is tree.Number and type(g) is tree.Number:
        return _numbers(a.value, g.value)
    if isinstance(a, tree.Letter) or isinstance(g, tree.Letter):
        return _letters(a, g, rules)
    if isinstance(a, tree.Text) or isinstance(g, tree.Text):
        return _texts(a, g, rules)
    if isinstance(a, tree.Foreign) or isinstance(g, tree.Foreign):
        return _foreign(a, g)
    if _has_unit(a) or _has_unit(g):
        return _quantities(a, g, rules)
    if isinstance(a, tree.Based) or isinstance(g, tree.Based):
        return _based(a, g, rules)
    if isinstance(a, tree.Ratio) or isinstance(g, tree.Ratio):
        return _ratios(a, g, rules)
    return _structures(a, g, rules)


def _numbers(a: Fraction, g: Fraction) -> Verdict:
    if a == g:
        return Verdict(True, "equal as exact numbers")
    return Verdict(False, f"{_shown(a)} is not {_shown(g)}")


def _shown(value: Fraction) -> str:
    large = max(value.numerator.bit_length(), value.denominator.bit_length()) > 60
    return "one exact number" if large else str(value)


def _letters(a: Node, g: Node, rules: Rules) -> Verdict:
    first, second = _as_letter(a), _as_letter(g)
    if first and second:
        mine, other = first.letter, second.letter
        if rules.ignore_letter_case:
            mine, other = mine.upper(), other.upper()
        if mine == other:
            return Verdict(True, f"both are option {mine}")
        return Verdict(False, f"option {mine} is not option {other}")
    rests = [n.rest for n in (a, g) if isinstance(n, tree.Letter)]
    other_side = g if isinstance(a, tree.Letter) else a
    if rests[0] is not None:
        return compare(rests[0], other_side, rules)
    if isinstance(other_side, _SCALARS):
        letter = a if isinstance(a, tree.Letter) else g
        assert isinstance(letter, tree.Letter)
        return compare(tree.Symbol(letter.letter), other_side, rules)
    return Verdict(False, f"an option letter is not a {kind(other_side)}")


def _as_letter(node: Node) -> tree.Letter | None:
    if isinstance(node, tree.Letter):
        return node
    if isinstance(node, tree.Symbol) and len(node.name) == 1:
        return tree.Letter(node.name, None)
    if isinstance(node, tree.Constant) and len(node.name) == 1:
        return tree.Letter(node.name, None)
    return None


def _texts(a: Node, g: Node, rules: Rules) -> Verdict:
    if isinstance(a, tree.Text) and isinstance(g, tree.Text):
        if _plain(a.text, rules) == _plain(g.text, rules):
            return Verdict(True, "the same words")
        if a.product and g.product and {a.text, g.text}.isdisjoint(("no", "on")):
            return compare(a.product, g.product, rules)
        return Verdict(False, "other words")
    text, other = (a, g) if isinstance(a, tree.Text) else (g, a)
    assert isinstance(text, tree.Text)
    if regions.is_all(text.text) and regions.region(other, rules) == regions.ALL:
        return Verdict(True, "all real numbers")
    if text.product is not None:
        return compare(text.product, other, rules)
    return Verdict(False, f"words are not a {kind(other)}")


def _plain(text: str, rules: Rules) -> str:
    joined = " ".join(_WORDS.findall(text.replace("'", "")))
    return joined.casefold() if rules.ignore_case else joined


def _foreign(a: Node, g: Node) -> Verdict:
    if a == g:
        return Verdict(True, "the same formula")
    if not (isinstance(a, tree.Foreign) and isinstance(g, tree.Foreign)):
        foreign, other = (a, g) if isinstance(a, tree.Foreign) else (g, a)
        assert isinstance(foreign, tree.Foreign)
        return _against_sympy(foreign, other)
    try:
        equal = fallback.same(a.latex, g.latex)
    except Unreadable as problem:
        return Verdict(False, str(problem))
    return Verdict(equal, "equal by sympy" if equal else "different by sympy")


def _against_sympy(foreign: tree.Foreign, other: Node) -> Verdict:
    try:
        found = fallback.value(foreign.latex)
    except Unreadable as problem:
        return Verdict(False, str(problem))
    equal = fallback.equals_tree(found, other)
    return Verdict(equal, "equal by sympy" if equal else "different by sympy")


# Units, bases, ratios.


def _has_unit(node: Node) -> bool:
    if isinstance(node, tree.Quantity | tree.Percent):
        return True
    if isinstance(node, tree.Relation):
        return isinstance(node.terms[-1], tree.Quantity | tree.Percent)
    return isinstance(node, tree.Product) and isinstance(node.factors[-1], tree.Quantity)


def split_unit(node: Node) -> tuple[Node, str]:
    """The value of `node` and its unit, "" if it has none."""
    if isinstance(node, tree.Quantity):
        return node.value, node.unit
    if isinstance(node, tree.Product) and isinstance(node.factors[-1], tree.Quantity):
        last = node.factors[-1]
        return tree.Product((*node.factors[:-1], last.value)), last.unit
    if isinstance(node, tree.Product) and isinstance(node.factors[0], tree.Number):
        pieces = [_unit_piece(factor) for factor in node.factors[1:]]
        word = "".join(pieces)
        if all(pieces) and word in units.SHORT:
            return node.factors[0], units.canonical(word)
        if all(piece[:1] in units.SINGLE for piece in pieces):
            return node.factors[0], units.canonical(" ".join(pieces))
    return node, ""


def _unit_piece(node: Node) -> str:
    """A letter or its power as a piece of a unit: `m`, `s^-2`; "" if it can be none."""
    match node:
        case tree.Symbol(name) if len(name) == 1:
            return name
        case tree.Power(tree.Symbol(name), tree.Number(power)) if len(name) == 1:
            return f"{name}^{power}"
        case _:
            return ""


def _quantities(a: Node, g: Node, rules: Rules) -> Verdict:
    if isinstance(a, tree.Relation) and not isinstance(g, tree.Relation):
        a = _right_side(a)
    if isinstance(g, tree.Relation) and not isinstance(a, tree.Relation):
        g = _right_side(g)
    if isinstance(a, tree.Relation) or isinstance(g, tree.Relation):
        return _structures(a, g, rules)
    if isinstance(a, tree.Percent) and isinstance(g, tree.Percent):
        return compare(a.value, g.value, rules)
    if isinstance(a, tree.Percent) or isinstance(g, tree.Percent):
        return _percent(a, g, rules)
    (value, unit), (gold, gold_unit) = split_unit(a), split_unit(g)
    if rules.units != "ignored":
        if unit and gold_unit and not units.same(unit, gold_unit):
            return Verdict(False, f"unit {unit} is not {gold_unit}")
        if bool(unit) != bool(gold_unit) and rules.units == "required":
            return Verdict(False, "one side has no unit")
    if not unit and not gold_unit:
        return _structures(a, g, rules)
    return compare(value, gold, rules)


def _right_side(node: tree.Relation) -> Node:
    simple = node.signs == ("=",) and _is_name(node.terms[0])
    return node.terms[1] if simple else node


def _percent(a: Node, g: Node, rules: Rules) -> Verdict:
    percent, other = (a, g) if isinstance(a, tree.Percent) else (g, a)
    assert isinstance(percent, tree.Percent)
    if isinstance(other, tree.Quantity):
        return Verdict(False, f"a percentage is not a number of {other.unit}")
    verdict = _structures(a, g, rules)
    if not verdict.equal and rules.percent_sign_optional:
        return compare(percent.value, other, rules)
    return verdict


def _based(a: Node, g: Node, rules: Rules) -> Verdict:
    if isinstance(a, tree.Based) and isinstance(g, tree.Based):
        if a.base != g.base:
            return Verdict(False, f"base {a.base} is not base {g.base}")
        return Verdict(a.digits == g.digits, f"digits in base {a.base}")
    based, other = (a, g) if isinstance(a, tree.Based) else (g, a)
    assert isinstance(based, tree.Based)
    if isinstance(other, tree.Relation):
        return (
            compare(_right_side(other), based, rules)
            if _right_side(other) is not other
            else (Verdict(False, "a number in a base is no relation"))
        )
    if rules.base_optional and isinstance(other, tree.Number) and based.digits.isdigit():
        return Verdict(other.value == int(based.digits), f"digits without the base {based.base}")
    return Verdict(False, f"a {kind(other)} is not a number written in base {based.base}")


def _ratios(a: Node, g: Node, rules: Rules) -> Verdict:
    if isinstance(a, tree.Relation):
        a = a.terms[-1]
    if isinstance(g, tree.Relation):
        g = g.terms[-1]
    if not (isinstance(a, tree.Ratio) and isinstance(g, tree.Ratio)):
        return Verdict(False, "a ratio or time is not a plain value")
    if len(a.parts) != len(g.parts):
        return Verdict(False, "ratios of different length")
    if all(compare(x, y, rules).equal for x, y in zip(a.parts, g.parts, strict=True)):
        return Verdict(True, "equal part by part")
    if rules.ratios_scale:
        pairs = zip(a.parts[1:], g.parts[1:], strict=True)
        head, gold_head = a.parts[0], g.parts[0]
        equal = all(
            compare(tree.Product((head, y)), tree.Product((gold_head, x)), rules).equal
            for x, y in pairs
        )
        return Verdict(equal, "ratios scaled")
    return Verdict(False, "the parts differ")


# Lists, sets, tuples, regions, equations.


def _structures(a: Node, g: Node, rules: Rules) -> Verdict:
    if a == g:
        return Verdict(True, "the same expression")
    a, g = _spread(a), _spread(g)
    names_a, names_g = _assignments(a), _assignments(g)
    if names_a and names_g and (len(names_a) > 1 or len(names_g) > 1):
        return _named(names_a, names_g, rules)
    if isinstance(a, tree.Relation) != isinstance(g, tree.Relation):
        a, g = _unnamed(a), _unnamed(g)
    a, g = _values_of(a, names_a, g), _values_of(g, names_g, a)
    if regions.is_region(a) or regions.is_region(g):
        verdict = _regions(a, g, rules)
        if verdict is not None:
            return verdict
    if isinstance(a, tree.Relation) or isinstance(g, tree.Relation):
        return _relations(a, g, rules)
    if isinstance(a, tree.SetOf | tree.Listing) or isinstance(g, tree.SetOf | tree.Listing):
        return _unordered(a, g, rules)
    a, g = _as_vector(a, g), _as_vector(g, a)
    if isinstance(a, tree.Group) or isinstance(g, tree.Group):
        return _groups(a, g, rules)
    a, g = _scaled(a), _scaled(g)
    if isinstance(a, tree.Matrix) or isinstance(g, tree.Matrix):
        return _matrices(a, g, rules)
    if type(a) is tree.Quantity or type(g) is tree.Quantity:
        return compare(a, g, rules)
    return _values(a, g, rules)


def _is_name(node: Node) -> bool:
    """`x`, `f(x)` or `f(x, y)`: what a definition has on its left."""
    if isinstance(node, tree.Symbol | tree.Constant):
        return True
    match node:
        case tree.Product((tree.Symbol(), tree.Symbol() | tree.Number())):
            return True
        case tree.Product((tree.Symbol(), tree.Group(_, _, items))):
            return all(isinstance(item, tree.Symbol) for item in items)
        case tree.Text():
            return True
        case _:
            return False


def _spread(node: Node) -> Node:
    """`node` with every plus-minus sign written out as two values."""
    if isinstance(node, tree.Listing | tree.SetOf):
        items: list[Node] = []
        for item in node.items:
            spread = _spread(item)
            items.extend(spread.items if isinstance(spread, tree.Listing) else (spread,))
        return replace(node, items=tuple(items))
    if not _has_plus_minus(node):
        return node
    return tree.Listing((_signed(node, 1), _signed(node, -1)), "or")


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


def _assignments(node: Node) -> dict[str, Node] | None:
    """`x = 1, y = 2` and `(x, y) = (1, 2)` as names and values; None if it is something else."""
    match node:
        case tree.Relation((tree.Group(_, _, names), tree.Group(_, _, values)), ("=",)):
            if len(names) == len(values) and all(isinstance(n, tree.Symbol) for n in names):
                return {n.name: v for n, v in zip(names, values, strict=True)}  # type: ignore[attr-defined]
            return None
        case tree.Relation((*names, value), signs) if len(names) > 1 and set(signs) == {"="}:
            if all(isinstance(n, tree.Symbol) for n in names):
                return {n.name: value for n in names}  # type: ignore[attr-defined]
            return None
        case tree.Listing(items, _):
            found: dict[str, Node] = {}
            for item in items:
                match item:
                    case tree.Relation((tree.Symbol(name), value), ("=",)) if name not in found:
                        found[name] = value
                    case _:
                        return None
            return found
        case _:
            return None


def _named(a: dict[str, Node], g: dict[str, Node], rules: Rules) -> Verdict:
    if a.keys() != g.keys():
        return Verdict(False, f"values of {', '.join(sorted(a))}, not of {', '.join(sorted(g))}")
    for name in a:
        verdict = compare(a[name], g[name], rules)
        if not verdict.equal:
            return Verdict(False, f"{name}: {verdict.rule}")
    return Verdict(True, "equal name by name")


def _unnamed(node: Node) -> Node:
    r"""The right side of a definition, of `x \in S`, or the end of a chain that holds."""
    if not isinstance(node, tree.Relation):
        return node
    first, last, signs = node.terms[0], node.terms[-1], set(node.signs)
    if signs <= {"=", "~"}:
        if _is_name(first):
            return node.terms[1] if "~" in signs else last
        if isinstance(first, tree.Group) and isinstance(last, tree.Group):
            return last
        if len(node.terms) == 2 and isinstance(last, tree.Symbol) and not tree.symbols(first):
            return first
        if "~" in signs and not tree.symbols(node):
            return first
        if not tree.symbols(node) and _holds(node):
            return last
    if node.signs == ("in",) and _is_name(first):
        return last
    return node


def _holds(node: tree.Relation) -> bool:
    return all(_values(t, node.terms[0], Rules()).equal for t in node.terms[1:])


def _values_of(node: Node, names: dict[str, Node] | None, other: Node) -> Node:
    """`x = 2 or x = 7` as its values, and named values as a tuple where the other side is one."""
    if names and len(names) > 1 and not isinstance(other, tree.Relation):
        if isinstance(other, tree.Group | tree.Matrix):
            ordered = (
                names.values()
                if isinstance(node, tree.Relation)
                else (names[name] for name in sorted(names))
            )
            return tree.Group("(", ")", tuple(ordered))
        if isinstance(other, tree.Listing | tree.SetOf):
            return tree.Listing(tuple(names.values()), ",")
    if isinstance(node, tree.Listing):
        heads = {
            i.terms[0] for i in node.items if isinstance(i, tree.Relation) and i.signs == ("=",)
        }
        if len(heads) == 1 and _is_name(next(iter(heads))):
            items = [i.terms[-1] if isinstance(i, tree.Relation) else i for i in node.items]
            return tree.Listing(tuple(items), node.joiner)
    return node


def _regions(a: Node, g: Node, rules: Rules) -> Verdict | None:
    first, second = regions.region(a, rules), regions.region(g, rules)
    if first is None or second is None:
        return None
    if first.variable and second.variable and first.variable != second.variable:
        return Verdict(False, f"{first.variable} is not {second.variable}")
    if len(first.pieces) != len(second.pieces):
        return Verdict(False, "regions of other intervals")
    for mine, other in zip(first.pieces, second.pieces, strict=True):
        if (mine.low_closed, mine.high_closed) != (other.low_closed, other.high_closed):
            return Verdict(False, "an end belongs to one interval only")
        for x, y in ((mine.low, other.low), (mine.high, other.high)):
            verdict = _values(x, y, rules)
            if not verdict.equal:
                return Verdict(False, f"an end differs: {verdict.rule}")
    return Verdict(True, "the same region")


def _relations(a: Node, g: Node, rules: Rules) -> Verdict:
    if not (isinstance(a, tree.Relation) and isinstance(g, tree.Relation)):
        return Verdict(False, f"a {kind(a)} is not a {kind(g)}")
    if len(a.terms) != len(g.terms):
        return Verdict(False, "chains of different length")
    if len(a.terms) > 2:
        return _chains(a, g, rules)
    sign, gold_sign = a.signs[0], g.signs[0]
    first, second = _zero_form(a), _zero_form(g)
    if first is None or second is None:
        return _chains(a, g, rules)
    if (sign, gold_sign) == ("=", "="):
        return _multiples(first, second, rules, positive=False)
    turned = {">": "<", ">=": "<="}
    if turned.get(sign, sign) != turned.get(gold_sign, gold_sign):
        return Verdict(False, f"{sign} is not {gold_sign}")
    if sign in turned:
        first = tree.negative(first)
    if gold_sign in turned:
        second = tree.negative(second)
    return _multiples(first, second, rules, positive=sign != "!=")


def _chains(a: tree.Relation, g: tree.Relation, rules: Rules) -> Verdict:
    turned = {">": "<", ">=": "<="}
    if all(s in turned for s in a.signs):
        a = tree.Relation(a.terms[::-1], tuple(turned[s] for s in a.signs[::-1]))
    if all(s in turned for s in g.signs):
        g = tree.Relation(g.terms[::-1], tuple(turned[s] for s in g.signs[::-1]))
    if a.signs != g.signs:
        return Verdict(False, "other relation signs")
    for x, y in zip(a.terms, g.terms, strict=True):
        verdict = compare(x, y, rules)
        if not verdict.equal:
            return Verdict(False, f"a term differs: {verdict.rule}")
    return Verdict(True, "equal term by term")


def _zero_form(node: tree.Relation) -> Node | None:
    """The left side minus the right one, None where a side is no single value."""
    left, right = node.terms
    if node.signs[0] not in ("=", "<", ">", "<=", ">=", "!="):
        return None
    if not (isinstance(left, _SCALARS) and isinstance(right, _SCALARS)):
        return None
    return tree.Sum((left, tree.negative(right)))


def _multiples(a: Node, g: Node, rules: Rules, *, positive: bool) -> Verdict:
    """Whether one side is the other times a constant that is not zero."""
    names = tree.symbols(a) | tree.symbols(g)
    if not names:
        return Verdict(False, "an equation that always or never holds")
    ratios = []
    comparison = Comparison(a, g, rules)
    for point in points(names, repr((sorted(names), positive))):
        try:
            ratios.append(comparison.ratio(point))
        except (Undefined, NotExact):
            continue
        apart = abs(ratios[-1] - ratios[0])
        if apart > abs(ratios[0]) * 1e-15:
            return Verdict(False, "no multiple of the other equation")
        if len(ratios) > _ENOUGH:
            break
    if len(ratios) < 2:
        return Verdict(False, "an equation that always or never holds")
    try:
        if positive and ratios[0] < 0:
            return Verdict(False, "the relation points the other way")
    except TypeError:
        return Verdict(False, "a complex factor turns no inequality")
    return Verdict(True, "equal up to a constant factor")


def _unordered(a: Node, g: Node, rules: Rules) -> Verdict:
    mine, other = _items(a), _items(g)
    if mine is None or other is None:
        return Verdict(False, f"a {kind(a)} is not a {kind(g)}")
    exact_mine = [exact(item, rules) for item in mine]
    exact_other = [exact(item, rules) for item in other]
    if None not in exact_mine and None not in exact_other:
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
        found = next((i for i, o in enumerate(left) if compare(item, o, rules).equal), None)
        if found is None:
            return Verdict(False, "a value has no partner")
        del left[found]
    return Verdict(True, "the same values in any order")


def _items(node: Node) -> tuple[Node, ...] | None:
    if isinstance(node, tree.SetOf | tree.Listing):
        return node.items
    if isinstance(node, tree.Group | tree.SetOperation | tree.NamedSet):
        return None
    return (node,)


def _as_vector(node: Node, other: Node) -> Node:
    """A matrix of one column or row as a tuple, if the other side is one."""
    if isinstance(node, tree.Matrix) and isinstance(other, tree.Group):
        if all(len(row) == 1 for row in node.rows):
            return tree.Group("(", ")", tuple(row[0] for row in node.rows))
        if len(node.rows) == 1:
            return tree.Group("(", ")", node.rows[0])
    return node


def _groups(a: Node, g: Node, rules: Rules) -> Verdict:
    if not (isinstance(a, tree.Group) and isinstance(g, tree.Group)):
        return Verdict(False, f"a {kind(a)} is not a {kind(g)}")
    if len(a.items) != len(g.items):
        return Verdict(False, f"{len(a.items)} values are not {len(g.items)}")
    if len(a.items) == 2 and _brackets(a) != _brackets(g):
        return Verdict(False, "other brackets")
    for x, y in zip(a.items, g.items, strict=True):
        verdict = compare(x, y, rules)
        if not verdict.equal:
            return Verdict(False, f"a value differs: {verdict.rule}")
    return Verdict(True, "equal value by value")


def _brackets(node: tree.Group) -> str:
    found = node.opener + node.closer
    return "()" if found == "<>" else found


def _scaled(node: Node) -> Node:
    """A number times a matrix, and sums of matrices, as one matrix."""
    if isinstance(node, tree.Product):
        matrices = [f for f in node.factors if isinstance(f, tree.Matrix)]
        if len(matrices) == 1:
            others = tuple(f for f in node.factors if f is not matrices[0])
            return tree.Matrix(
                tuple(tuple(tree.Product((*others, c)) for c in row) for row in matrices[0].rows)
            )
    if isinstance(node, tree.Sum):
        parts = [_scaled(t) for t in node.terms]
        shapes = {(len(p.rows), len(p.rows[0])) for p in parts if isinstance(p, tree.Matrix)}
        if len(shapes) == 1 and all(isinstance(p, tree.Matrix) for p in parts):
            rows = zip(*(p.rows for p in parts), strict=True)  # type: ignore[attr-defined]
            return tree.Matrix(tuple(tuple(map(_added, zip(*r, strict=True))) for r in rows))
    return node


def _added(cells: tuple[Node, ...]) -> Node:
    return tree.Sum(cells)


def _matrices(a: Node, g: Node, rules: Rules) -> Verdict:
    if not (isinstance(a, tree.Matrix) and isinstance(g, tree.Matrix)):
        return Verdict(False, f"a {kind(a)} is not a {kind(g)}")
    if (len(a.rows), len(a.rows[0])) != (len(g.rows), len(g.rows[0])):
        return Verdict(False, "matrices of other sizes")
    for mine, other in zip(a.rows, g.rows, strict=True):
        for x, y in zip(mine, other, strict=True):
            verdict = compare(x, y, rules)
            if not verdict.equal:
                return Verdict(False, f"an entry differs: {verdict.rule}")
    return Verdict(True, "equal entry by entry")


# Single values.


def _values(a: Node, g: Node, rules: Rules) -> Verdict:
    first, second = exact(a, rules), exact(g, rules)
    if first is not None and second is not None:
        return _numbers(first, second)
    names = tree.symbols(a) | tree.symbols(g)
    if names:
        return _functions(a, g, names, rules)
    try:
        equal = Comparison(a, g, rules).equal({})
    except Undefined:
        if a == g:
            return Verdict(True, "the same expression")
        return Verdict(False, "one side has no value")
    return Verdict(equal, "equal at two precisions" if equal else "different as numbers")


def _has_steps(node: Node) -> bool:
    steps = isinstance(node, tree.Call) and node.name in ("floor", "ceil", "mod")
    return steps or any(map(_has_steps, tree.children(node)))


def _functions(a: Node, g: Node, names: frozenset[str], rules: Rules) -> Verdict:
    draw = random.Random(len(names))
    try:
        for _ in range(2):
            point = {name: draw.randrange(2**20, PRIME) for name in sorted(names)}
            if residue(a, point) != residue(g, point):
                return Verdict(False, "different as rational functions")
        return Verdict(True, "equal as rational functions")
    except NotExact:
        pass
    comparison = Comparison(a, g, rules)
    tested = 0
    found = points(names, ",".join(sorted(names)))
    if names <= _COUNTERS and (_has_steps(a) or _has_steps(g)):
        found = [p for p in found if all(v.denominator == 1 for v in p.values())]
    for values in found:
        try:
            equal = comparison.equal(values)
        except Undefined:
            continue
        if not equal:
            where = ", ".join(f"{n} = {float(v):.3g}" for n, v in sorted(values.items())[:3])
            return Verdict(False, f"different at {where}")
        tested += 1
        if tested > _ENOUGH:
            break
    if tested >= 2:
        return Verdict(True, f"equal at {tested} points")
    return Verdict(a == g, "the same expression" if a == g else "no point where both are real")
