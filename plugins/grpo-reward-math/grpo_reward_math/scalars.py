"""Single values: exactly where both are rational, by numbers at several points otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from grpo_reward_math import tree
from grpo_reward_math.exact import NotExact, exact, residue
from grpo_reward_math.numeric import Comparison, TooLarge, Undefined
from grpo_reward_math.points import folds, near, points, steps
from grpo_reward_math.primes import draws
from grpo_reward_math.tree import Node
from grpo_reward_math.verdict import Comparer, Verdict, same_numbers

_ENOUGH = 5  # points for functions that are one formula everywhere
# Letters that stand for integers where an expression rounds.
_COUNTERS = frozenset("nmkjNMpqr")


class Scalars(Comparer):
    """Comparisons of single values."""

    def values(self, a: Node, g: Node) -> Verdict:
        """Two values, exactly if both are rational and by numbers otherwise."""
        first, second = exact(a, self.rules), exact(g, self.rules)
        if first is not None and second is not None:
            return same_numbers(first, second)
        names = tree.symbols(a) | tree.symbols(g)
        if names:
            return self.functions(a, g, names)
        try:
            equal = Comparison(a, g, self.rules).equal({})
        except Undefined:
            if a == g:
                return Verdict(True, "the same expression")
            return Verdict(False, "one side has no value")
        return Verdict(equal, "equal at two precisions" if equal else "different as numbers")

    def functions(self, a: Node, g: Node, names: frozenset[str]) -> Verdict:
        """Two values with free symbols."""
        try:
            for prime, residues in draws(self.seed, tuple(sorted(names))):
                if residue(a, residues, prime) != residue(g, residues, prime):
                    return Verdict(False, "different as rational functions")
            return Verdict(True, "equal as rational functions")
        except NotExact:
            pass
        comparison = Comparison(a, g, self.rules)
        tested = 0
        enough = None if folds(a) or folds(g) else _ENOUGH
        for point in self.points(a, g, names):
            try:
                equal = comparison.equal(point)
            except Undefined:
                continue
            except TooLarge:
                if tested < _ENOUGH:
                    raise
                continue
            if not equal:
                where = ", ".join(f"{n} = {float(v):.3g}" for n, v in sorted(point.items())[:3])
                return Verdict(False, f"different at {where}")
            tested += 1
            if tested == enough:
                break
        if tested >= 2:
            return Verdict(True, f"equal at {tested} points")
        return Verdict(a == g, "the same expression" if a == g else "no point where both are real")

    def multiples(self, a: Node, g: Node, *, positive: bool) -> Verdict:
        """Whether one side is the other times a constant that is not zero."""
        names = tree.symbols(a) | tree.symbols(g)
        if not names:
            return Verdict(False, "an equation that always or never holds")
        comparison = Comparison(a, g, self.rules)
        first: Mapping[str, Fraction] | None = None
        tested = 0
        enough = None if folds(a) or folds(g) else _ENOUGH
        for point in self.points(a, g, names):
            try:
                if first is None:
                    ratio = comparison.ratio(comparison.low, point)
                    first = point
                elif not comparison.equal_ratio(first, point):
                    return Verdict(False, "no multiple of the other equation")
                else:
                    tested += 1
            except Undefined:
                continue
            except TooLarge:
                if tested < _ENOUGH:
                    raise
            if tested == enough:
                break
        if not tested:
            return Verdict(False, "an equation that always or never holds")
        if positive and isinstance(ratio, comparison.complex_type):
            return Verdict(False, "a complex factor turns no inequality")
        if positive and ratio < 0:
            return Verdict(False, "the relation points the other way")
        return Verdict(True, "equal up to a constant factor")

    def points(self, a: Node, g: Node, names: frozenset[str]) -> list[dict[str, Fraction]]:
        """Where two functions are compared: more places where one may fold or step."""
        found = points(names, ",".join(sorted(names)))
        if folds(a) or folds(g):
            found += near(names, (a, g))
        if names <= _COUNTERS and (steps(a) or steps(g)):
            return [p for p in found if all(v.denominator == 1 and v > 0 for v in p.values())]
        return found
