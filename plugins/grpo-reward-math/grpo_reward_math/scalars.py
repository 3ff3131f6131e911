"""Single values: exactly where both are rational, by numbers at several points otherwise."""

from __future__ import annotations

from grpo_reward_math import tree
from grpo_reward_math.exact import NotExact, exact, residue
from grpo_reward_math.numeric import Comparison, Undefined, points
from grpo_reward_math.primes import draws
from grpo_reward_math.tree import Node
from grpo_reward_math.verdict import Comparer, Verdict, same_numbers

_ENOUGH = 4
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
            for prime, point in draws(self.seed, tuple(sorted(names))):
                if residue(a, point, prime) != residue(g, point, prime):
                    return Verdict(False, "different as rational functions")
            return Verdict(True, "equal as rational functions")
        except NotExact:
            pass
        comparison = Comparison(a, g, self.rules)
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
            whole = all(value.denominator == 1 for value in values.values())
            if tested > _ENOUGH and not whole:
                break
        if tested >= 2:
            return Verdict(True, f"equal at {tested} points")
        return Verdict(a == g, "the same expression" if a == g else "no point where both are real")

    def multiples(self, a: Node, g: Node, *, positive: bool) -> Verdict:
        """Whether one side is the other times a constant that is not zero."""
        names = tree.symbols(a) | tree.symbols(g)
        if not names:
            return Verdict(False, "an equation that always or never holds")
        ratios = []
        comparison = Comparison(a, g, self.rules)
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


def _has_steps(node: Node) -> bool:
    steps = isinstance(node, tree.Call) and node.name in (
        "floor",
        "ceil",
        "mod",
        "double_factorial",
    )
    return steps or any(map(_has_steps, tree.children(node)))
