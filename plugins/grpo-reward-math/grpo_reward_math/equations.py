"""Equations, definitions and inequalities, and the values that unknowns are given."""

from __future__ import annotations

from fractions import Fraction

from grpo_reward_math import regions, tree
from grpo_reward_math.numeric import DIGITS, Undefined, Values
from grpo_reward_math.reading import kind
from grpo_reward_math.scalars import Scalars
from grpo_reward_math.tree import Node
from grpo_reward_math.verdict import Verdict

SCALARS = (
    tree.Number, tree.Constant, tree.Symbol, tree.Sum, tree.Product, tree.Power, tree.Call,
    tree.Quantity, tree.Percent, tree.Series,
)  # fmt: skip


_NEARLY = 0.02


class Equations(Scalars):
    """Comparisons of relations."""

    def named(self, a: dict[str, Node], g: dict[str, Node]) -> Verdict:
        """Values of named unknowns."""
        if a.keys() != g.keys():
            return Verdict(
                False, f"values of {', '.join(sorted(a))}, not of {', '.join(sorted(g))}"
            )
        for name in a:
            verdict = self.compare(a[name], g[name])
            if not verdict.equal:
                return Verdict(False, f"{name}: {verdict.rule}")
        return Verdict(True, "equal name by name")

    def unnamed(self, node: Node) -> Node:
        r"""The value that a relation gives its left side; `node` itself if it gives it none.

        That of `m + n = 113` and of `x = 1/3 \approx 0.33`, and the right side of `x \in S`.
        A chain whose numbers are not equal, like `4 = 5`, gives none.
        """
        if not isinstance(node, tree.Relation):
            return node
        first, last, signs = node.terms[0], node.terms[-1], node.signs
        if signs == ("in",) and (is_name(first) or isinstance(first, tree.Group)):
            return last
        if not set(signs) <= {"=", "~"}:
            return node
        if isinstance(first, tree.Group) and isinstance(last, tree.Group):
            return last
        if len(signs) == 1 and isinstance(last, tree.Symbol) and not tree.symbols(first):
            return first
        if _may_be_unknown(first) and not (is_name(first) or _is_defined(first, last)):
            return node
        exact_to = signs.index("~") if "~" in signs else len(signs)
        unknown = _may_be_unknown(first)
        if exact_to == 0 and isinstance(first, tree.Constant):
            unknown = not self.nearly(first, node.terms[1])  # e is about 2.718
        value = node.terms[max(exact_to, 1) if unknown else exact_to]
        return value if self.holds(node, value, exact_to) else node

    def shortened(self, node: Node) -> Node:
        """`x = 1 + 1 = 2` as `x = 2`."""
        if not isinstance(node, tree.Relation) or len(node.terms) < 3 or set(node.signs) != {"="}:
            return node
        if not is_name(node.terms[0]) or all(map(is_name, node.terms[:-1])):
            return node
        if not self.holds(node, node.terms[-1], len(node.signs)):
            return node
        return tree.Relation((node.terms[0], node.terms[-1]), ("=",))

    def holds(self, node: tree.Relation, value: Node, exact_to: int) -> bool:
        """Whether the numbers of a chain are `value`, those behind a sign of rounding nearly."""
        for index, term in enumerate(node.terms):
            if term is value or _may_be_unknown(term):
                continue
            if index > exact_to:
                if not self.nearly(value, term):
                    return False
            elif not self.compare(term, value).equal:
                return False
        return True

    def nearly(self, value: Node, rounded: Node) -> bool:
        """Whether `rounded` may be what `value` is rounded to."""
        try:
            numbers = Values(self.rules, DIGITS, {}, complex_roots=False)
            exactly, about = (numbers.of(split[0]) for split in map(_plain, (value, rounded)))
            return bool(abs(exactly - about) <= _NEARLY * abs(exactly))
        except (Undefined, TypeError):
            return False

    def regions(self, a: Node, g: Node) -> Verdict | None:
        """Intervals and inequalities; None if one side is no region."""
        first, second = regions.region(a, self.rules), regions.region(g, self.rules)
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
                verdict = self.values(x, y)
                if not verdict.equal:
                    return Verdict(False, f"an end differs: {verdict.rule}")
        return Verdict(True, "the same region")

    def relations(self, a: Node, g: Node) -> Verdict:
        """Equations and inequalities in several unknowns."""
        if not (isinstance(a, tree.Relation) and isinstance(g, tree.Relation)):
            return Verdict(False, f"a {kind(a)} is not a {kind(g)}")
        if len(a.terms) != len(g.terms):
            return Verdict(False, "chains of different length")
        if len(a.terms) > 2:
            return self.chains(a, g)
        sign, gold_sign = a.signs[0], g.signs[0]
        first, second = _zero_form(a), _zero_form(g)
        if first is None or second is None:
            return self.chains(a, g)
        if (sign, gold_sign) == ("=", "="):
            return self.multiples(first, second, positive=False)
        turned = {">": "<", ">=": "<="}
        if turned.get(sign, sign) != turned.get(gold_sign, gold_sign):
            return Verdict(False, f"{sign} is not {gold_sign}")
        if sign in turned:
            first = tree.negative(first)
        if gold_sign in turned:
            second = tree.negative(second)
        return self.multiples(first, second, positive=sign != "!=")

    def congruent(self, a: Node, g: Node) -> Verdict | None:
        r"""`1 \pmod 4`: residue and modulus; None if neither side is one."""
        match a, g:
            case tree.Call("congruence", mine), tree.Call("congruence", other):
                pairs = zip(mine, other, strict=True)
                equal = all(self.compare(x, y).equal for x, y in pairs)
                return Verdict(equal, "residue and modulus compared")
            case (tree.Call("congruence", _), _) | (_, tree.Call("congruence", _)):
                return Verdict(False, "only one side has a modulus")
            case _:
                return None

    def chains(self, a: tree.Relation, g: tree.Relation) -> Verdict:
        """Relations term by term."""
        turned = {">": "<", ">=": "<="}
        if all(s in turned for s in a.signs):
            a = tree.Relation(a.terms[::-1], tuple(turned[s] for s in a.signs[::-1]))
        if all(s in turned for s in g.signs):
            g = tree.Relation(g.terms[::-1], tuple(turned[s] for s in g.signs[::-1]))
        if a.signs != g.signs:
            return Verdict(False, "other relation signs")
        for x, y in zip(a.terms, g.terms, strict=True):
            verdict = self.compare(x, y)
            if not verdict.equal:
                return Verdict(False, f"a term differs: {verdict.rule}")
        return Verdict(True, "equal term by term")


def _plain(node: Node) -> tuple[Node, str]:
    return (node.value, node.unit) if isinstance(node, tree.Quantity) else (node, "")


def _may_be_unknown(node: Node) -> bool:
    """Whether `node` stands for something that is not written out as a number."""
    if isinstance(node, tree.Text) or node in (tree.Constant("e"), tree.Constant("i")):
        return True
    return bool(tree.symbols(node))


def _is_defined(left: Node, value: Node) -> bool:
    """Whether `left = value` says what `left` is, as `m + n = 7` does and `x - 3 = 7` does not."""
    for term in left.terms if isinstance(left, tree.Sum) else (left,):
        if not _may_be_unknown(term):
            return False
        factors = term.factors if isinstance(term, tree.Product) else ()
        if any(isinstance(f, tree.Number) and abs(f.value) != 1 for f in factors):
            return False  # 2x = 10 may be an equation to solve, too
    # An equation to solve, brought to zero.
    return value != tree.Number(Fraction(0)) or not isinstance(left, tree.Sum)


def is_name(node: Node) -> bool:
    """`x`, `f(x)` or `f(x, y)`: what a definition has on its left."""
    if isinstance(node, tree.Symbol):
        return True
    match node:
        case tree.Constant(name):
            return name in ("e", "i")
        case tree.Product((tree.Symbol(), tree.Symbol() | tree.Number())):
            return True
        case tree.Product((tree.Power(tree.Symbol(), power), tree.Symbol())):
            return power == tree.MINUS_ONE
        case tree.Product((tree.Symbol(), tree.Group(_, _, items))):
            return all(isinstance(item, tree.Symbol) for item in items)
        case tree.Product(
            (
                tree.Product((tree.Symbol("d"), tree.Symbol())),
                tree.Power(tree.Product((tree.Symbol("d"), tree.Symbol())), power),
            )
        ):
            return power == tree.MINUS_ONE  # dy/dx
        case tree.Text():
            return True
        case _:
            return False


def assignments(node: Node) -> dict[str, Node] | None:
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


def values_of(node: Node, names: dict[str, Node] | None, other: Node) -> Node:
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
    if isinstance(node, tree.Listing) and not regions.is_region(node):
        heads = {
            i.terms[0] for i in node.items if isinstance(i, tree.Relation) and i.signs == ("=",)
        }
        if len(heads) == 1 and is_name(next(iter(heads))):
            items = [i.terms[-1] if isinstance(i, tree.Relation) else i for i in node.items]
            return tree.Listing(tuple(items), node.joiner)
    return node


def heads(node: Node) -> frozenset[str]:
    """Names of the unknowns whose values `node` lists, without subscripts."""
    found = set()
    for item in node.items if isinstance(node, tree.Listing) else (node,):
        if isinstance(item, tree.Relation) and item.signs == ("=",) and is_name(item.terms[0]):
            first = item.terms[0]
            head = first.factors[0] if isinstance(first, tree.Product) else first
            found.add(head.name.split("_")[0] if isinstance(head, tree.Symbol) else "")
    return frozenset(found)


def _zero_form(node: tree.Relation) -> Node | None:
    """The left side minus the right one, None where a side is no single value."""
    left, right = node.terms
    if isinstance(right, tree.Call) and right.name == "congruence":
        return None
    if node.signs[0] not in ("=", "<", ">", "<=", ">=", "!="):
        return None
    if not (isinstance(left, SCALARS) and isinstance(right, SCALARS)):
        return None
    return tree.Sum((left, tree.negative(right)))
