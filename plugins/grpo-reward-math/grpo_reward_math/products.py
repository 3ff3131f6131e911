"""Products: written out, by juxtaposition, and the mixed numbers that look like one."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

from grpo_reward_math import tree
from grpo_reward_math.atoms import Atoms
from grpo_reward_math.failures import Unreadable
from grpo_reward_math.tree import Node, Number


class Products(Atoms):
    """The level of the grammar between a sum and a power."""

    @abstractmethod
    def fraction(self) -> Node:
        r"""Arguments of `\frac`."""

    @abstractmethod
    def is_value(self, name: str) -> bool:
        """Whether the command `name` begins a value."""

    def product(self) -> Node:
        """A product, written out or by juxtaposition."""
        factors = [self.power()]
        while True:
            if self.at("*", "cdot", "times"):
                self.take()
                factors.append(self.signed_power())
            elif self.at("/", "div"):
                self.take()
                if self.at("+", "-") and self.ahead().text == "-":
                    raise Unreadable("two signs in a row")
                factors.append(tree.Power(self.signed_power(), tree.MINUS_ONE))
            elif self.at("bmod", "pmod", "mod"):
                name = self.take().text
                left = tree.Product(tuple(factors)) if len(factors) > 1 else factors[0]
                congruence = name == "pmod" or self.congruence
                factors = [
                    tree.Call("congruence" if congruence else "mod", (left, self.signed_power()))
                ]
            elif self.at("(") and self.ahead().text in ("bmod", "pmod", "mod"):
                self.take()
                self.take()
                left = tree.Product(tuple(factors)) if len(factors) > 1 else factors[0]
                factors = [tree.Call("congruence", (left, self.additive()))]
                self.expect(")")
            elif self.starts_condition():
                break
            elif self.starts_factor():
                mixed = self.mixed(factors[-1])
                if mixed is not None:
                    factors[-1] = self.postfix(mixed)
                    continue
                if self.token.kind == "num" and self.tokens[self.index - 1].kind == "num":
                    raise Unreadable("two numbers side by side")
                factors.append(self.power())
            else:
                break
        return factors[0] if len(factors) == 1 else tree.Product(tuple(factors))

    def signed_power(self) -> Node:
        r"""A power that may have a sign: `2 \cdot -3`."""
        sign, _ = self.signs() if self.at("+", "-") else (1, 0)
        node = self.power()
        return tree.negative(node) if sign < 0 else node

    def starts_factor(self) -> bool:
        """Whether the next token begins another factor."""
        token = self.token
        if token.kind in ("num", "sym", "based"):
            return True
        if token.kind == "op":
            if token.text == "|":
                return self.bars == 0 and self.closed_bar()
            return token.text in ("(", "{", "[", "\\{")
        if token.kind != "cmd":
            return False
        if token.text == "frac" and self.ahead().text == "{" and self.ahead(2).kind == "text":
            return False
        return self.is_value(token.text)

    def closed_bar(self) -> bool:
        """Whether another bar follows, so that this one may open."""
        return self.index < self.last_bar

    def mixed(self, whole: Node) -> Node | None:
        r"""`3 1/2` or `3\frac12` right after the integer `whole`, else None."""
        before = self.tokens[self.index - 1]
        if not (isinstance(whole, Number) and before.kind == "num" and before.text.isdigit()):
            return None
        if self.token.kind == "num" and self.token.spaced:
            above, slash, below = self.token, self.ahead(1), self.ahead(2)
            if slash.text != "/" or below.kind != "num":
                return None
            part = _proper(above.text, below.text)
            if part is None:
                return None
            for _ in range(3):
                self.take()
            return Number(whole.value + part)
        if self.at("frac"):
            mark, argument = self.index, self.ahead()
            self.take()
            node = self.fraction()
            match node:
                case tree.Product((Number(above_value), tree.Power(Number(below_value), _))) if (
                    above_value.denominator == below_value.denominator == 1
                    and 0 < above_value < below_value
                ):
                    return Number(whole.value + above_value / below_value)
            self.tokens[mark + 1] = argument  # \frac72 took its first digit off
            self.index = mark
            self.token = self.tokens[mark]
        return None


def _proper(above: str, below: str) -> Fraction | None:
    if not (above.isdigit() and below.isdigit()):
        return None
    return Fraction(int(above), int(below)) if 0 < int(above) < int(below) else None
