"""Values with units, percentages, digits in a base, ratios."""

from __future__ import annotations

from grpo_reward_math import tree, units
from grpo_reward_math.reading import kind
from grpo_reward_math.several import Several
from grpo_reward_math.tree import Node
from grpo_reward_math.verdict import Verdict


class Measures(Several):
    """Comparisons of values with a unit or in a notation that matters."""

    def quantities(self, a: Node, g: Node) -> Verdict:
        """Values with units or percent signs."""
        if isinstance(a, tree.Relation) and not isinstance(g, tree.Relation):
            a = self.unnamed(a)
        if isinstance(g, tree.Relation) and not isinstance(a, tree.Relation):
            g = self.unnamed(g)
        if isinstance(a, tree.Relation) and isinstance(g, tree.Relation):
            return self.different_units(a.terms[-1], g.terms[-1]) or self.structures(a, g)
        if isinstance(a, tree.Relation) or isinstance(g, tree.Relation):
            return self.structures(a, g)
        if isinstance(a, tree.Percent) and isinstance(g, tree.Percent):
            return self.compare(a.value, g.value)
        if isinstance(a, tree.Percent) or isinstance(g, tree.Percent):
            return self.percent(a, g)
        different = self.different_units(a, g)
        if different:
            return different
        (value, unit), (gold, gold_unit) = split_unit(a), split_unit(g)
        if not unit and not gold_unit:
            return self.structures(a, g)
        return self.compare(value, gold)

    def different_units(self, a: Node, g: Node) -> Verdict | None:
        """The verdict that the units of two values differ; None if they do not."""
        unit, gold_unit = split_unit(a)[1], split_unit(g)[1]
        if self.rules.units != "ignored":
            if unit and gold_unit and not units.same(unit, gold_unit):
                return Verdict(False, f"unit {unit} is not {gold_unit}")
            if bool(unit) != bool(gold_unit) and self.rules.units == "required":
                return Verdict(False, "one side has no unit")
        return None

    def percent(self, a: Node, g: Node) -> Verdict:
        """A percentage and any value."""
        percent, other = (a, g) if isinstance(a, tree.Percent) else (g, a)
        assert isinstance(percent, tree.Percent)
        if isinstance(other, tree.Quantity):
            return Verdict(False, f"a percentage is not a number of {other.unit}")
        verdict = self.structures(a, g)
        if not verdict.equal and self.rules.percent_sign_optional:
            return self.compare(percent.value, other)
        return verdict

    def based(self, a: Node, g: Node) -> Verdict:
        """Digits with a base."""
        if isinstance(a, tree.Based) and isinstance(g, tree.Based):
            if a.base != g.base:
                return Verdict(False, f"base {a.base} is not base {g.base}")
            return Verdict(a.digits == g.digits, f"digits in base {a.base}")
        based, other = (a, g) if isinstance(a, tree.Based) else (g, a)
        assert isinstance(based, tree.Based)
        if isinstance(other, tree.Relation):
            value = self.unnamed(other)
            if value is other:
                return Verdict(False, "a number in a base is no relation")
            return self.compare(value, based)
        if self.rules.base_optional and isinstance(other, tree.Number) and based.digits.isdigit():
            return Verdict(
                other.value == int(based.digits), f"digits without the base {based.base}"
            )
        return Verdict(False, f"a {kind(other)} is not a number written in base {based.base}")

    def ratios(self, a: Node, g: Node) -> Verdict:
        """Ratios and times of day."""
        a, g = self.unnamed(a), self.unnamed(g)
        if not (isinstance(a, tree.Ratio) and isinstance(g, tree.Ratio)):
            return Verdict(False, "a ratio or time is not a plain value")
        if len(a.parts) != len(g.parts):
            return Verdict(False, "ratios of different length")
        if all(self.compare(x, y).equal for x, y in zip(a.parts, g.parts, strict=True)):
            return Verdict(True, "equal part by part")
        if self.rules.ratios_scale:
            pairs = zip(a.parts[1:], g.parts[1:], strict=True)
            head, gold_head = a.parts[0], g.parts[0]
            equal = all(
                self.compare(tree.Product((head, y)), tree.Product((gold_head, x))).equal
                for x, y in pairs
            )
            return Verdict(equal, "ratios scaled")
        return Verdict(False, "the parts differ")


def has_unit(node: Node) -> bool:
    """Whether `node` is a value with a unit or a percent sign, or says so of an unknown."""
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
