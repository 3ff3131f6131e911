"""Whether two answers are the same, and which rule says so."""

from __future__ import annotations

import re

from grpo_reward_math import fallback, regions, tree
from grpo_reward_math.equations import SCALARS, assignments, heads, values_of
from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.measures import Measures, has_unit, split_unit
from grpo_reward_math.reading import Reading, kind
from grpo_reward_math.rules import Rules
from grpo_reward_math.several import as_vector, scaled, spread, unquantified
from grpo_reward_math.tree import Node
from grpo_reward_math.verdict import Verdict, same_numbers

__all__ = ["Verdict", "same", "split_unit", "value_of"]

# What counts of a text: words, and numbers with the signs inside them.
_AND = re.compile(r"(?:,|\band\b)(?:\s*\band\b)?")
_WORDS = re.compile(r"-?\d+(?:[./:,]\d+)*%?|[^\W\d_]+")


def same(answer: Reading, gold: Reading, rules: Rules) -> Verdict:
    """Whether `answer` says what `gold` says.

    Raises:
        LimitHit: A value is too large to be computed.
    """
    try:
        return _Comparing(rules, gold.text).compare(answer.tree, gold.tree)
    except RecursionError:  # the caller's own stack is deep already
        raise LimitHit("nesting deeper than the stack allows") from None


def value_of(node: Node, rules: Rules) -> Node:
    """The value that `x = 5` gives to x; `node` itself if it is no such relation."""
    return _Comparing(rules, "").unnamed(node)


class _Comparing(Measures):
    """The kinds of answers, each handed to the comparison that it needs."""

    def compare(self, a: Node, g: Node) -> Verdict:
        """Whether two trees are one answer; symmetric in the two."""
        if type(a) is tree.Number and type(g) is tree.Number:
            return same_numbers(a.value, g.value)
        if isinstance(a, tree.Letter) or isinstance(g, tree.Letter):
            return self.letters(a, g)
        if isinstance(a, tree.Verbatim) or isinstance(g, tree.Verbatim):
            return Verdict(a == g, "the same text" if a == g else "not the same text")
        if isinstance(a, tree.Text) or isinstance(g, tree.Text):
            return self.texts(a, g)
        if isinstance(a, tree.Foreign) or isinstance(g, tree.Foreign):
            return _foreign(a, g)
        if has_unit(a) or has_unit(g):
            return self.quantities(a, g)
        if isinstance(a, tree.Based) or isinstance(g, tree.Based):
            return self.based(a, g)
        if isinstance(a, tree.Ratio) or isinstance(g, tree.Ratio):
            return self.ratios(a, g)
        return self.structures(a, g)

    def letters(self, a: Node, g: Node) -> Verdict:
        """Option letters; what an option says counts where the letter is missing."""
        first, second = _as_letter(a), _as_letter(g)
        if first and second:
            mine, other = first.letter, second.letter
            if self.rules.ignore_letter_case:
                mine, other = mine.upper(), other.upper()
            if mine == other:
                return Verdict(True, f"both are option {mine}")
            return Verdict(False, f"option {mine} is not option {other}")
        rests = [n.rest for n in (a, g) if isinstance(n, tree.Letter)]
        other_side = g if isinstance(a, tree.Letter) else a
        if rests[0] is not None:
            return self.compare(rests[0], other_side)
        if isinstance(other_side, SCALARS):
            letter = a if isinstance(a, tree.Letter) else g
            assert isinstance(letter, tree.Letter)
            return self.compare(tree.Symbol(letter.letter), other_side)
        return Verdict(False, f"an option letter is not a {kind(other_side)}")

    def texts(self, a: Node, g: Node) -> Verdict:
        """Words, and a word that may be a product of letters."""
        if isinstance(a, tree.Text) and isinstance(g, tree.Text):
            if self.plain(a.text) == self.plain(g.text):
                return Verdict(True, "the same words")
            if self.names(a.text) == self.names(g.text):
                return Verdict(True, "the same names in another order")
            if a.product and g.product and {a.text, g.text}.isdisjoint(("no", "on")):
                return self.compare(a.product, g.product)
            return Verdict(False, "other words")
        text, other = (a, g) if isinstance(a, tree.Text) else (g, a)
        assert isinstance(text, tree.Text)
        if regions.is_all(text.text) and regions.region(other, self.rules) == regions.ALL:
            return Verdict(True, "all real numbers")
        if text.product is not None:
            return self.compare(text.product, other)
        return Verdict(False, f"words are not a {kind(other)}")

    def structures(self, a: Node, g: Node) -> Verdict:
        """Everything that has no unit of its own."""
        if a == g:
            return Verdict(True, "the same expression")
        a, g = unquantified(a, g), unquantified(g, a)
        a, g = self.shortened(spread(a)), self.shortened(spread(g))
        names_a, names_g = assignments(a), assignments(g)
        if names_a and names_g and (len(names_a) > 1 or len(names_g) > 1):
            return self.named(names_a, names_g)
        heads_a, heads_g = heads(a), heads(g)
        if isinstance(a, tree.Listing | tree.Relation) and heads_a and heads_g:
            if (isinstance(a, tree.Listing) or isinstance(g, tree.Listing)) and heads_a != heads_g:
                return Verdict(False, "values of other unknowns")
        if isinstance(a, tree.Relation) != isinstance(g, tree.Relation):
            a, g = self.unnamed(a), self.unnamed(g)
        a, g = values_of(a, names_a, g), values_of(g, names_g, a)
        if regions.is_region(a) or regions.is_region(g):
            verdict = self.regions(a, g)
            if verdict is not None:
                return verdict
        if isinstance(a, tree.Relation) or isinstance(g, tree.Relation):
            return self.relations(a, g)
        if isinstance(a, tree.SetOf | tree.Listing) or isinstance(g, tree.SetOf | tree.Listing):
            return self.unordered(a, g)
        a, g = as_vector(a, g), as_vector(g, a)
        if isinstance(a, tree.Group) or isinstance(g, tree.Group):
            return self.groups(a, g)
        a, g = scaled(a), scaled(g)
        if isinstance(a, tree.Matrix) or isinstance(g, tree.Matrix):
            return self.matrices(a, g)
        if type(a) is tree.Quantity or type(g) is tree.Quantity:
            return self.compare(a, g)
        return self.congruent(a, g) or self.values(a, g)

    def names(self, text: str) -> list[str]:
        """What a text lists, in one order; a text that lists nothing is one name."""
        return sorted(self.plain(part) for part in _AND.split(text))

    def plain(self, text: str) -> str:
        joined = " ".join(_WORDS.findall(text.replace("'", "")))
        return joined.casefold() if self.rules.ignore_case else joined


def _as_letter(node: Node) -> tree.Letter | None:
    if isinstance(node, tree.Letter):
        return node
    if isinstance(node, tree.Symbol) and len(node.name) == 1:
        return tree.Letter(node.name, None)
    if isinstance(node, tree.Constant) and len(node.name) == 1:
        return tree.Letter(node.name, None)
    return None


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
        unvalued = fallback.formula(foreign.latex)
        if fallback.is_far(unvalued, other):
            return Verdict(False, "another number by quadrature")
        found = fallback.worked_out(unvalued)
    except Unreadable as problem:
        return Verdict(False, str(problem))
    equal = fallback.equals_tree(found, other)
    return Verdict(equal, "equal by sympy" if equal else "different by sympy")
