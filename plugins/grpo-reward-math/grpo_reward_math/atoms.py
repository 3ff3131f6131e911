"""Powers and what they are made of: numbers, symbols, everything in brackets."""

from __future__ import annotations

from fractions import Fraction

from grpo_reward_math import tree
from grpo_reward_math.cursor import Cursor
from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.tree import Node, Number

_SAME = ("()", "[]")


class Atoms(Cursor):
    """The levels of the grammar from a power down."""

    def power(self) -> Node:
        """An atom with its exponent."""
        node = self.postfix(self.atom())
        if self.at("^"):
            node = tree.Power(node, self.exponent())
            node = self.postfix(node)
        return node

    def postfix(self, node: Node) -> Node:
        """`node` with the signs that follow it: factorial, percent, degrees, a base."""
        start = self.index
        while True:
            if self.index - start > 3 * self.rules.max_depth:
                raise LimitHit(f"more than {self.rules.max_depth} signs after one value")
            if self.at("!"):
                self.take()
                double = self.at("!")
                if double:
                    self.take()
                node = tree.Call("double_factorial" if double else "factorial", (node,))
            elif self.at("%"):
                self.take()
                node = tree.Percent(node)
            elif self.token.kind == "text" and self.token.text.lower() in ("percent", "per cent"):
                self.take()
                node = tree.Percent(node)
            elif self.at("degree"):
                self.take()
                node = tree.Quantity(node, "degree")
            elif self.at("^") and self.ahead(2).text in ("th", "st", "nd", "rd"):
                for _ in range(4):
                    self.take()
            elif self.at("^") and self.is_degree():
                node = self.degrees(node)
            elif self.at("_") and isinstance(node, Number):
                return self.based(node)
            else:
                return node

    def is_degree(self) -> bool:
        """Whether the exponent here is a degree sign."""
        after = self.ahead()
        if after.text == "{":
            after = self.ahead(2)
        return after.text in ("circ", "degree") or (after.kind == "text" and after.text == "o")

    def degrees(self, node: Node) -> Node:
        """`node` as so many degrees, of an angle or of a temperature."""
        self.take()
        if self.at("{"):
            self.take()
            self.take()
            self.expect("}")
        else:
            self.take()
        scale = ""
        token = self.token
        if token.text in ("C", "F") and token.kind in ("sym", "text"):
            scale = {"C": "celsius", "F": "fahrenheit"}[self.take().text]
        if not scale and isinstance(node, Number):
            node = Number(node.value + self.minutes())
        return tree.Quantity(node, scale or "degree")

    def minutes(self) -> Fraction:
        """The minutes and seconds of an angle that follow its degrees, in degrees."""
        total = Fraction(0)
        for part in (60, 3600):
            marks = 1 if part == 60 else 2
            if self.token.kind != "num" or any(
                self.ahead(n).text != "'" for n in range(1, marks + 1)
            ):
                break
            total += (self.take().value or Fraction(0)) / part
            for _ in range(marks):
                self.take()
        return total

    def based(self, node: Number) -> Node:
        """`(1101)_2`: brackets around digits with a base."""
        self.take()
        base = self.group_or_atom()
        digits = str(node.value)
        if not (isinstance(base, Number) and digits.isdigit() and 2 <= base.value <= 36):
            raise Unreadable("a number with a subscript that is no base")
        return tree.Based(digits, int(base.value))

    def exponent(self) -> Node:
        """What stands after `^`; towers bind to the right."""
        self.expect("^")
        self.deeper()
        sign, _ = self.signs() if self.at("+", "-") else (1, 0)
        if self.at("{"):
            node = self.braces()
        else:
            node = self.postfix(self.atom())
        if self.at("^"):
            node = tree.Power(node, self.exponent())
        self.depth -= 1
        return tree.negative(node) if sign < 0 else node

    def signs(self) -> tuple[int, int]:
        """The signs before a term: -1 or 1, and 1 or -1 for plus-minus or minus-plus, else 0."""
        sign, plus_minus = 1, 0
        while self.at("+", "-", "pm", "mp"):
            text = self.take().text
            if text == "+" and self.at("/") and self.ahead().text == "-":
                self.take()
                self.take()
                text = "pm"
            sign = -sign if text == "-" else sign
            plus_minus = {"pm": 1, "mp": -1}.get(text, plus_minus)
        return sign, plus_minus

    def group_or_atom(self) -> Node:
        """A group in braces or a single atom."""
        return self.braces() if self.at("{") else self.atom()

    def digit_or_group(self) -> Node:
        r"""An argument of \frac or \sqrt without braces: one digit, letter or command."""
        token = self.token
        if token.kind == "num" and len(token.text) > 1 and token.text.isdigit():
            first, rest = token.text[0], token.text[1:]
            self.tokens[self.index] = token._replace(text=rest, value=Fraction(int(rest)))
            self.token = self.tokens[self.index]
            return Number(Fraction(int(first)))
        return self.group_or_atom()

    def braces(self) -> Node:
        r"""What stands between braces, also `{n \choose k}` and plain sets."""
        self.expect("{")
        self.deeper()
        bars, self.bars = self.bars, 0
        node = self.listing()
        if self.at("choose"):
            self.take()
            node = tree.Call("binom", (node, self.listing()))
        elif self.at("over"):
            self.take()
            node = tree.quotient(node, self.listing())
        self.expect("}")
        self.bars = bars
        self.depth -= 1
        if isinstance(node, tree.Listing):
            return tree.SetOf(node.items)
        return node

    def atom(self) -> Node:
        """A number, a symbol, something in brackets, or a command."""
        token = self.take()
        if token.kind == "num":
            return Number(token.value or Fraction(0))
        if token.kind == "based":
            return tree.Based(token.text.lstrip("0") or "0", int(token.value or 0))
        if token.kind == "sym":
            return self.symbol(token.text)
        if token.kind == "text" and self.at("="):
            return tree.Symbol(token.text)
        if token.kind == "op":
            if token.text in ("(", "["):
                return self.bracket(token.text)
            if token.text == "\\{":
                return self.set_of()
            if token.text == "|":
                return self.absolute()
            if token.text == "{":
                self.index -= 1
                self.token = self.tokens[self.index]
                return self.braces()
        if token.kind == "cmd":
            return self.command(token.text)
        raise Unreadable(f"{token.text or 'the end'!r} was not expected")

    def symbol(self, name: str) -> Node:
        """A variable with subscript and primes, or one of the constants e and i."""
        if name in ("e", "i") and name not in self.bound and not self.at("_"):
            return tree.Constant(name)
        if name == "C" and self.at("(") and self.ahead(2).text == ",":
            pair = self.atom()
            if isinstance(pair, tree.Group) and len(pair.items) == 2:
                return tree.Call("binom", pair.items)
            raise Unreadable("C of two numbers was expected")
        if self.at("_"):
            self.take()
            start = self.index
            self.group_or_atom_raw()
            below = "".join(t.text for t in self.tokens[start : self.index]).strip("{}")
            if name in ("C", "A") and self.at("^") and (below.isdigit() or below == "n"):
                return self.counted(name, below)
            name += "_" + below
        while self.at("'") or (self.at("^") and self.ahead().text == "prime"):
            if self.take().text == "^":
                self.take()
            name += "'"
        return tree.Symbol(name)

    def counted(self, name: str, below: str) -> Node:
        """`C_5^2` and `A_5^2`: how many choices and arrangements there are."""
        above = self.exponent()
        total: Node = tree.Symbol("n")
        if below.isdigit():
            total = Number(Fraction(int(below)))
        if not (isinstance(above, Number) and (below == "n" or above.value <= int(below) > 1)):
            return tree.Power(tree.Symbol(f"{name}_{below}"), above)
        choices = tree.Call("binom", (total, above))
        if name == "C":
            return choices
        return tree.Product((choices, tree.Call("factorial", (above,))))

    def group_or_atom_raw(self) -> None:
        """Moves past a group or token whose text alone matters."""
        if not self.at("{"):
            self.take()
            return
        depth = 0
        while self.token.kind != "end":
            token = self.take()
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            if depth == 0:
                return
        raise Unreadable("a brace is not closed")

    def bracket(self, opener: str) -> Node:
        """What stands in round or square brackets: a value, a tuple, an interval."""
        self.deeper()
        bars, self.bars = self.bars, 0
        if self.at(")", "]"):
            raise Unreadable("brackets with nothing between them")
        node = self.listing()
        if self.at("choose"):
            self.take()
            node = tree.Call("binom", (node, self.listing()))
        closer = self.expect(")", "]").text
        self.bars = bars
        self.depth -= 1
        if isinstance(node, tree.Listing) and (len(node.items) == 2 or opener + closer in _SAME):
            return tree.Group(opener, closer, node.items)
        if (opener, closer) in (("(", "]"), ("[", ")")):
            raise Unreadable(f"{opener} is closed by {closer}")
        return node

    def set_of(self) -> Node:
        """What stands in set braces; a condition on a variable stands for itself."""
        self.deeper()
        bars, self.bars = self.bars, 1
        in_set, self.in_set = self.in_set, True
        if self.at("\\}"):
            self.in_set = in_set
            self.take()
            self.bars = bars
            self.depth -= 1
            return tree.SetOf(())
        if self.at("begin"):
            node = self.system()
            self.bars, self.in_set = bars, in_set
            self.depth -= 1
            return node
        node = self.listing()
        if self.at("|", ":", "such"):
            self.take()
            condition = self.listing()
            if isinstance(node, tree.Symbol) and node.name not in tree.symbols(condition):
                raise Unreadable("a set whose condition is on another variable")
            node = condition if not isinstance(node, tree.Relation) else _both(node, condition)
        self.expect("\\}")
        self.in_set = in_set
        self.bars = bars
        self.depth -= 1
        if isinstance(node, tree.Listing):
            if all(isinstance(n, tree.Relation) for n in node.items):
                return node
            return tree.SetOf(node.items)
        return node if isinstance(node, tree.Relation) else tree.SetOf((node,))

    def system(self) -> Node:
        """Lines behind one brace, which need not be closed."""
        node = self.atom()
        if self.at("\\}"):
            self.take()
        if isinstance(node, tree.Matrix) and len(node.rows[0]) == 1:
            return tree.Listing(tuple(row[0] for row in node.rows), ",")
        return node

    def absolute(self) -> Node:
        """What stands between bars; of a matrix, its determinant."""
        self.deeper()
        self.bars += 1
        node = self.additive()
        self.expect("|")
        self.bars -= 1
        self.depth -= 1
        if isinstance(node, tree.Matrix):
            return tree.Call("det", (node,))
        return tree.Call("abs", (node,))


def _both(first: Node, second: Node) -> Node:
    return tree.Listing((first, second), "and")
