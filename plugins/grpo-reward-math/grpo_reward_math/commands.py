"""LaTeX commands: fractions, roots, functions, sums, matrices and the rest."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from grpo_reward_math import tree
from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.products import Products
from grpo_reward_math.tokens import FUNCTIONS, GREEK
from grpo_reward_math.tree import Node, Number

_INVERSES = {
    "sin": "asin", "cos": "acos", "tan": "atan", "cot": "acot", "sec": "asec", "csc": "acsc",
    "sinh": "asinh", "cosh": "acosh", "tanh": "atanh",
}  # fmt: skip
_MATRICES = {"matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array", "psmallmatrix"}
_MATRICES |= {"bsmallmatrix", "vmatrix", "Vmatrix"}
_LINES = frozenset(
    "cases aligned align align* gathered split gather gather* eqnarray equation equation*".split()
)
_PLAIN = {"pi": "pi", "infty": "infinity"}
_NAMED_SETS = {"R": "R", "Z": "Z", "N": "N", "Q": "Q", "C": "C"}


class Commands(Products):
    """The commands that begin a value."""

    def is_value(self, name: str) -> bool:
        """Whether the command `name` begins a value."""
        return name in _ATOMS or name in FUNCTIONS or name in GREEK or name in _PLAIN

    def command(self, name: str) -> Node:
        """What a LaTeX command and its arguments mean."""
        if name in _PLAIN:
            return tree.Constant(_PLAIN[name])
        if name in FUNCTIONS:
            return self.function(FUNCTIONS[name])
        if name in GREEK:
            return self.symbol(name)
        handler = _ATOMS.get(name)
        if handler is None:
            raise Unreadable(f"\\{name} is not known here")
        self.deeper()
        node = handler(self)
        self.depth -= 1
        return node

    def fraction(self) -> Node:
        r"""Arguments of `\frac`."""
        if self.at("(") and self.ahead(2).text == ",":  # frac(a, b) in plain text
            raise Unreadable("frac in plain text")
        return tree.quotient(self.digit_or_group(), self.digit_or_group())

    def root(self) -> Node:
        r"""Arguments of `\sqrt`."""
        index: Node | None = None
        if self.at("["):
            self.take()
            index = self.additive()
            self.expect("]")
        radicand = self.digit_or_group() if not self.at("(") else self.atom()
        return self.rooted(radicand, index)

    def plain_root(self) -> Node:
        """Argument of a root sign."""
        return self.rooted(self.group_or_atom(), None)

    def cube_root(self) -> Node:
        """Argument of a cube root sign."""
        return self.rooted(self.group_or_atom(), Number(Fraction(3)))

    def rooted(self, radicand: Node, index: Node | None) -> Node:
        """The root of `radicand`."""
        if index is None:
            return tree.Call("sqrt", (radicand,))
        return tree.Call("root", (radicand, index))

    def binomial(self) -> Node:
        r"""Arguments of `\binom`."""
        if self.at("("):
            group = self.atom()
            if isinstance(group, tree.Group) and len(group.items) == 2:
                return tree.Call("binom", group.items)
            raise Unreadable("binom of two numbers was expected")
        return tree.Call("binom", (self.digit_or_group(), self.digit_or_group()))

    def floor(self) -> Node:
        r"""Up to `\rfloor`."""
        return self.enclosed("floor", "rfloor")

    def ceiling(self) -> Node:
        r"""Up to `\rceil`."""
        return self.enclosed("ceil", "rceil")

    def norm(self) -> Node:
        """Up to the closing double bar."""
        return self.enclosed("abs", "\\|")

    def enclosed(self, name: str, closer: str) -> Node:
        """What stands before `closer`, as the argument of `name`."""
        self.deeper()
        node = self.additive()
        self.expect(closer)
        self.depth -= 1
        return tree.Call(name, (node,))

    def angle(self) -> Node:
        """A vector in angle brackets."""
        self.deeper()
        node = self.listing()
        self.expect("rangle")
        self.depth -= 1
        items = node.items if isinstance(node, tree.Listing) else (node,)
        return tree.Group("<", ">", items)

    def empty(self) -> Node:
        """The empty set."""
        return tree.SetOf(())

    def named_set(self) -> Node:
        """A letter in blackboard bold."""
        token = self.group_token()
        if token not in _NAMED_SETS:
            return tree.Symbol(token)
        name = _NAMED_SETS[token]
        if self.at("^") or self.at("_"):
            mark = self.take().text
            start = self.index
            self.group_or_atom_raw()
            name += mark + "".join(t.text for t in self.tokens[start : self.index]).strip("{}")
        return tree.NamedSet(name)

    def reals(self) -> Node:
        """The real numbers."""
        return tree.NamedSet("R")

    def group_token(self) -> str:
        """The one token of a group."""
        if self.at("{"):
            self.take()
            name = self.take().text
            self.expect("}")
            return name
        return self.take().text

    def overlined(self) -> Node:
        """The conjugate of a number with i; anything else under a bar as it is written."""
        start = self.index
        self.group_or_atom_raw()
        under = self.tokens[start : self.index]
        letters = {t.text for t in under if t.kind == "sym"}
        if letters == {"i"} and any(t.kind == "num" for t in under):
            self.index = start
            self.token = self.tokens[start]
            return tree.Call("conjugate", (self.group_or_atom(),))
        return tree.Symbol("overline " + "".join(t.text for t in self.tokens[start : self.index]))

    def points(self) -> Node:
        """Three points."""
        return tree.Symbol("...")

    def named_figure(self) -> Node:
        r"""`\triangle ABC`, `\angle BAC`: the name as it is written."""
        name = self.tokens[self.index - 1].text
        while self.token.kind == "sym":
            name += " " + self.take().text
        return tree.Symbol(name)

    def function(self, name: str) -> Node:
        """A function with its exponent, base and argument."""
        exponent: Node | None = None
        base: Node | None = None
        for _ in range(2):
            if self.at("_"):
                self.take()
                base = self.digit_or_group()
            elif self.at("^"):
                exponent = self.exponent()
        if exponent == tree.MINUS_ONE and name in _INVERSES:
            name, exponent = _INVERSES[name], None
        arguments = self.arguments()
        if name == "log" and base is not None:
            arguments = (*arguments, base)
        elif name == "lg":
            name, arguments = "log", (*arguments, Number(Fraction(10)))
        node: Node
        if name == "cis":
            turned = tree.Product((tree.Constant("i"), tree.Call("sin", arguments)))
            node = tree.Sum((tree.Call("cos", arguments), turned))
        elif name == "exp":
            node = tree.Power(tree.Constant("e"), arguments[0])
        else:
            node = tree.Call(name, arguments)
        return node if exponent is None else tree.Power(node, exponent)

    def arguments(self) -> tuple[Node, ...]:
        """What a function is applied to: brackets, or the factors up to the next function."""
        self.deeper()
        if self.at("(", "[", "{"):
            node = self.atom()
            self.depth -= 1
            if isinstance(node, tree.Group | tree.SetOf):
                return node.items
            return (node,)
        sign, _ = self.signs()
        factors = [self.power()]
        while self.starts_factor() and not self.at("(", "[", *FUNCTIONS, "sum", "prod", "int"):
            mixed = self.mixed(factors[-1])
            if mixed is not None:
                factors[-1] = mixed
                continue
            factors.append(self.power())
        self.depth -= 1
        node = factors[0] if len(factors) == 1 else tree.Product(tuple(factors))
        return (tree.negative(node) if sign < 0 else node,)

    def summation(self) -> Node:
        """A sum sign."""
        return self.series("sum")

    def multiplication(self) -> Node:
        """A product sign."""
        return self.series("prod")

    def series(self, kind: str) -> Node:
        """Bounds and body of a sum or product sign."""
        low: Node | None = None
        high: Node | None = None
        variable = ""
        for _ in range(2):
            if self.at("_"):
                self.take()
                self.expect("{")
                variable = self.take().text
                self.bound.add(variable)
                self.expect("=")
                low = self.additive()
                self.expect("}")
            elif self.at("^"):
                high = self.exponent()
        if low is None or high is None:
            raise Unreadable("a sum without both bounds")
        if tree.holds(high, tree.Constant("infinity")):
            raise Unreadable("an infinite sum needs the fallback")
        body = self.product()
        self.bound.discard(variable)
        return tree.Series(kind, variable, low, high, body)

    def environment(self) -> Node:
        """A matrix, or lines of equations."""
        name = self.environment_name()
        if name in ("array", "tabular") and self.at("{"):
            self.group_or_atom_raw()
        elif name not in _MATRICES and name not in _LINES:
            raise Unreadable(f"\\begin{{{name}}} is not known here")
        if name == "cases" and self.has_conditions():
            return self.cases()
        if name in _LINES:
            rest = [t for t in self.tokens[self.index :] if t.text != "&"]
            self.tokens[self.index :] = rest
            self.token = rest[0]
        self.deeper()
        rows: list[tuple[Node, ...]] = []
        row: list[Node] = []
        while not self.at("end"):
            if self.at("\\"):
                self.take()
                if self.at("["):  # \\[2pt]
                    while not self.at("]") and self.token.kind != "end":
                        self.take()
                    self.take()
                if row:
                    rows.append(tuple(row))
                row = []
            elif self.at("&"):
                self.take()
            elif self.token.kind == "end":
                raise Unreadable(f"\\begin{{{name}}} is not closed")
            elif self.at(","):
                self.take()
            else:
                row.append(self.statement())
            if len(rows) > self.rules.max_side or len(row) > self.rules.max_side:
                raise LimitHit(f"a matrix of more than {self.rules.max_side} rows or columns")
        if row:
            rows.append(tuple(row))
        self.take()
        if self.environment_name() != name:
            raise Unreadable(f"\\begin{{{name}}} is closed by another \\end")
        self.depth -= 1
        if not rows or len({len(r) for r in rows}) != 1:
            raise Unreadable("a matrix whose rows differ in length")
        if name in _LINES:
            if len(rows[0]) == 1:
                return tree.Listing(tuple(r[0] for r in rows), ",") if len(rows) > 1 else rows[0][0]
            raise Unreadable("lines of several columns")
        if name == "array" and len(rows) == len(rows[0]) == 1:
            return rows[0][0]
        matrix = tree.Matrix(tuple(rows))
        return tree.Call("det", (matrix,)) if name == "vmatrix" else matrix

    def has_conditions(self) -> bool:
        """Whether a value stands before each `&`, and no sign of an equation behind it."""
        found = False
        for i in range(self.index, len(self.tokens) - 1):
            token, following = self.tokens[i], self.tokens[i + 1]
            if token.kind == "cmd" and token.text == "end":
                break
            if token.text == "&":
                found = True
                if following.text in ("=", "<", ">", "le", "ge", "&", "+", "equiv", "approx"):
                    return False
        return found

    def cases(self) -> Node:
        """Values with their conditions, as a group of pairs."""
        self.deeper()
        rows: list[Node] = []
        while not self.at("end"):
            value = self.statement()
            while self.at(","):
                self.take()
            self.expect("&")
            rows.append(tree.Group("cases", "when", (value, self.condition())))
            while self.at("\\", ","):
                self.take()
        self.take()
        if self.environment_name() != "cases":
            raise Unreadable("cases are closed by another \\end")
        self.depth -= 1
        return tree.Group("cases", "cases", tuple(rows))

    def condition(self) -> Node:
        """What stands behind `&` in a line of cases; the words around it are not read."""
        words = []
        while self.token.kind == "text":
            words.append(self.take().text.lower())
        if self.token.kind == "end" or self.at("\\", "end"):
            if not words:
                raise Unreadable("a case without a condition")
            return tree.Text(" ".join(words))
        items = [self.statement()]
        while self.at(",") or self.token.kind == "sep":
            self.take()
            if self.at("\\", "end"):
                break
            items.append(self.statement())
        return items[0] if len(items) == 1 else tree.Listing(tuple(items), ",")

    def environment_name(self) -> str:
        r"""The name in braces after `\begin` or `\end`."""
        self.expect("{")
        name = ""
        while not self.at("}"):
            if self.token.kind == "end":
                raise Unreadable("an environment without a name")
            name += self.take().text
        self.take()
        return name


_ATOMS: dict[str, Callable[[Commands], Node]] = {
    "frac": Commands.fraction, "sqrt": Commands.root, "usqrt": Commands.plain_root,
    "ucbrt": Commands.cube_root, "binom": Commands.binomial, "lfloor": Commands.floor,
    "lceil": Commands.ceiling, "\\|": Commands.norm, "langle": Commands.angle,
    "emptyset": Commands.empty, "mathbb": Commands.named_set, "reals": Commands.reals,
    "overline": Commands.overlined, "bar": Commands.overlined, "ldots": Commands.points,
    "triangle": Commands.named_figure, "angle": Commands.named_figure, "sum": Commands.summation,
    "prod": Commands.multiplication, "begin": Commands.environment,
}  # fmt: skip
