"""Tokens to a tree: recursive descent over the grammar of answers, with a cap on the depth."""

from __future__ import annotations

from fractions import Fraction

from . import tree, units
from .failures import LimitHit, Unreadable
from .rules import Rules
from .tokens import FUNCTIONS, GREEK, Token, tokens
from .tree import Node, Number

RELATIONS = {"=": "=", "<": "<", ">": ">", "le": "<=", "ge": ">=", "ne": "!=", "in": "in"}
RELATIONS |= {"equiv": "=", "approx": "~", "notin": "notin", "to": "->", "sim": "~", "≈": "~"}
_SETS = {"cup": "union", "cap": "intersection", "setminus": "minus"}
_CLOSERS = {")", "]", "}", "\\}", "rfloor", "rceil", "rangle"}
_INVERSES = {
    "sin": "asin", "cos": "acos", "tan": "atan", "cot": "acot", "sec": "asec", "csc": "acsc",
    "sinh": "asinh", "cosh": "acosh", "tanh": "atanh",
}  # fmt: skip
_MATRICES = {"matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array", "psmallmatrix"}
_MATRICES |= {"bsmallmatrix", "vmatrix", "Vmatrix"}
_LINES = {
    "cases",
    "aligned",
    "align",
    "align*",
    "gathered",
    "split",
    "gather",
    "gather*",
    "eqnarray",
}
_LINES |= {"equation", "equation*"}
_FOREIGN = {"int", "iint", "oint", "lim", "frac{d}{dx}", "partial", "bigoplus", "liminf", "limsup"}
_PLAIN = {"pi": "pi", "infty": "infinity"}
_NAMED_SETS = {"R": "R", "Z": "Z", "N": "N", "Q": "Q", "C": "C"}


def parse(text: str, rules: Rules) -> Node:
    """The tree of normal `text`; raises Unreadable where the grammar has no such answer."""
    parser = _Parser(tokens(text, rules), rules)
    node = parser.listing()
    if parser.token.kind != "end":
        raise Unreadable(f"{parser.token.text!r} was not expected")
    return node


class _Parser:
    """The state of one pass: where it is and how deep."""

    def __init__(self, found: list[Token], rules: Rules) -> None:
        self.tokens = found
        self.rules = rules
        self.index = 0
        self.token = found[0]
        self.depth = 0
        self.bars = 0
        self.in_set = False
        self.bound: set[str] = set()

    # Moving on.

    def take(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.index += 1
            self.token = self.tokens[self.index]
        return token

    def ahead(self, offset: int = 1) -> Token:
        return self.tokens[min(self.index + offset, len(self.tokens) - 1)]

    def at(self, *texts: str) -> bool:
        return self.token.text in texts and self.token.kind in ("op", "cmd")

    def expect(self, *texts: str) -> Token:
        if not self.at(*texts):
            raise Unreadable(f"{texts[0]!r} was expected, {self.token.text or 'the end'!r} came")
        return self.take()

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > self.rules.max_depth:
            raise LimitHit(f"more than {self.rules.max_depth} levels of brackets")

    # From the whole answer down.

    def listing(self) -> Node:
        items = [self.statement()]
        joiner = ","
        while self.token.kind == "sep" or self.at(",", "\\", "Rightarrow"):
            token = self.take()
            if token.kind == "sep" and token.text != ",":
                joiner = token.text
            while self.token.kind == "sep" or self.at(",", "\\"):
                token = self.take()
                joiner = token.text if token.kind == "sep" and token.text != "," else joiner
            if self.token.kind == "end" or self.at(*_CLOSERS):
                break
            items.append(self.statement())
        if len(items) == 1:
            return items[0]
        if joiner == "and" and _is_compound(items):
            return tree.Group("", "", tuple(items))
        return tree.Listing(tuple(items), joiner)

    def statement(self) -> Node:
        terms, signs = [self.measured()], []
        while self.token.kind in ("op", "cmd") and self.token.text in RELATIONS:
            signs.append(RELATIONS[self.take().text])
            terms.append(self.measured())
        if not signs:
            return terms[0]
        return tree.Relation(tuple(terms), tuple(signs))

    def measured(self) -> Node:
        currency = ""
        sign = 1
        if self.at("-", "+") and self.ahead().text in ("$", "€", "£", "¥", "₹"):
            sign = -1 if self.take().text == "-" else 1
        if self.at("$", "€", "£", "¥", "₹"):
            currency = self.take().text
        value = self.sets()
        if self.at(":") and not self.in_set:
            parts = [value]
            while self.at(":"):
                self.take()
                parts.append(self.additive())
            value = tree.Ratio(tuple(parts))
        unit = self.unit()
        if sign < 0:
            value = tree.negative(value)
        named = units.canonical(currency + " " + unit) if currency or unit else ""
        if not named:
            return value
        first = tree.Quantity(value, named)
        if self.token.kind == "num":  # 2 hours 30 minutes
            rest = self.measured()
            others = rest.items if isinstance(rest, tree.Group) else (rest,)
            if _is_compound([first, *others]):
                return tree.Group("", "", (first, *others))
            raise Unreadable("a number after a unit")
        return first

    def unit(self) -> str:
        pieces: list[str] = []
        while True:
            token = self.token
            if token.kind == "text":
                pieces.append(self.take().text)
            elif token.text in ("$", "€", "£", "¥", "¢", "₹") and token.kind == "op":
                pieces.append(self.take().text)
            elif self.at("frac") and self.ahead().text == "{" and self.ahead(2).kind == "text":
                self.take()
                for joint in ("", "/"):
                    pieces.append(joint)
                    self.expect("{")
                    pieces.append(self.unit())
                    self.expect("}")
            elif not pieces:
                return ""
            elif self.at("^"):
                self.take()
                braced = self.at("{")
                if braced:
                    self.take()
                sign = self.take().text if self.at("-") else ""
                pieces.append(f"^{sign}{self.take().text}")
                if braced:
                    self.expect("}")
            elif self.at("/", "cdot", "*", "(", ")") and not (
                self.at(")") and not any("(" in p for p in pieces)
            ):
                name = self.take().text
                pieces.append("*" if name == "cdot" else name)
            elif token.kind == "sym" and pieces[-1] in ("/", "*"):
                pieces.append(self.take().text)
            else:
                return " ".join(pieces)

    def sets(self) -> Node:
        left = self.additive()
        while self.token.kind == "cmd" and self.token.text in _SETS:
            operation = _SETS[self.take().text]
            right = self.additive()
            if isinstance(left, tree.SetOperation) and left.operation == operation != "minus":
                left = tree.SetOperation(operation, (*left.parts, right))
            else:
                left = tree.SetOperation(operation, (left, right))
        return left

    def additive(self) -> Node:
        self.deeper()
        terms: list[Node] = []
        sign, plus_minus = self.signs()
        while True:
            term = self.product()
            if plus_minus:
                term = tree.PlusMinus(term, sign * plus_minus)
            elif sign < 0:
                term = tree.negative(term)
            terms.append(term)
            if not self.at("+", "-", "pm", "mp"):
                break
            sign, plus_minus = self.signs()
        self.depth -= 1
        return terms[0] if len(terms) == 1 else tree.Sum(tuple(terms))

    def signs(self) -> tuple[int, int]:
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

    def product(self) -> Node:
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
                if name == "pmod":
                    self.group_or_atom()
                    continue
                left = tree.Product(tuple(factors)) if len(factors) > 1 else factors[0]
                factors = [tree.Call("mod", (left, self.signed_power()))]
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
        sign, _ = self.signs() if self.at("+", "-") else (1, 0)
        node = self.power()
        return tree.negative(node) if sign < 0 else node

    def starts_factor(self) -> bool:
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
        return token.text in _ATOMS or token.text in FUNCTIONS or token.text in GREEK

    def closed_bar(self) -> bool:
        return any(t.text == "|" for t in self.tokens[self.index + 1 :])

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

    # Powers and what they are made of.

    def power(self) -> Node:
        self.deeper()
        node = self.postfix(self.atom())
        if self.at("^"):
            node = tree.Power(node, self.exponent())
            node = self.postfix(node)
        self.depth -= 1
        return node

    def postfix(self, node: Node) -> Node:
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
        after = self.ahead()
        if after.text == "{":
            after = self.ahead(2)
        return after.text in ("circ", "degree") or (after.kind == "text" and after.text == "o")

    def degrees(self, node: Node) -> Node:
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
        return tree.Quantity(node, scale or "degree")

    def based(self, node: Number) -> Node:
        """`(1101)_2`: brackets around digits with a base."""
        self.take()
        base = self.group_or_atom()
        digits = str(node.value)
        if not (isinstance(base, Number) and digits.isdigit() and 2 <= base.value <= 36):
            raise Unreadable("a number with a subscript that is no base")
        return tree.Based(digits, int(base.value))

    def exponent(self) -> Node:
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

    def group_or_atom(self) -> Node:
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
        token = self.take()
        if token.kind == "num":
            return Number(token.value or Fraction(0))
        if token.kind == "based":
            return tree.Based(token.text.lstrip("0") or "0", int(token.value or 0))
        if token.kind == "sym":
            return self.symbol(token.text)
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
            name += "_" + "".join(t.text for t in self.tokens[start : self.index]).strip("{}")
        while self.at("'") or (self.at("^") and self.ahead().text == "prime"):
            if self.take().text == "^":
                self.take()
            name += "'"
        return tree.Symbol(name)

    def group_or_atom_raw(self) -> None:
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
        if isinstance(node, tree.Listing):
            return tree.Group(opener, closer, node.items)
        if (opener, closer) in (("(", "]"), ("[", ")")):
            raise Unreadable(f"{opener} is closed by {closer}")
        return node

    def set_of(self) -> Node:
        self.deeper()
        bars, self.bars = self.bars, 1
        in_set, self.in_set = self.in_set, True
        if self.at("\\}"):
            self.in_set = in_set
            self.take()
            self.bars = bars
            self.depth -= 1
            return tree.SetOf(())
        node = self.listing()
        if self.at("|", ":", "such"):
            self.take()
            condition = self.listing()
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

    def absolute(self) -> Node:
        self.deeper()
        self.bars += 1
        node = self.additive()
        self.expect("|")
        self.bars -= 1
        self.depth -= 1
        if isinstance(node, tree.Matrix):
            return tree.Call("det", (node,))
        return tree.Call("abs", (node,))

    def command(self, name: str) -> Node:
        if name in _PLAIN:
            return tree.Constant(_PLAIN[name])
        if name in FUNCTIONS:
            return self.function(FUNCTIONS[name])
        if name in GREEK:
            return self.symbol(name)
        handler = _ATOMS.get(name)
        if handler is None:
            if name in _FOREIGN:
                raise Unreadable(f"\\{name} needs the fallback")
            raise Unreadable(f"\\{name} is not known here")
        return handler(self)

    def fraction(self) -> Node:
        if self.at("(") and self.ahead(2).text == ",":  # frac(a, b) in plain text
            raise Unreadable("frac in plain text")
        return tree.quotient(self.digit_or_group(), self.digit_or_group())

    def root(self) -> Node:
        index: Node | None = None
        if self.at("["):
            self.take()
            index = self.additive()
            self.expect("]")
        radicand = self.digit_or_group() if not self.at("(") else self.atom()
        return self.rooted(radicand, index)

    def plain_root(self) -> Node:
        return self.rooted(self.group_or_atom(), None)

    def cube_root(self) -> Node:
        return self.rooted(self.group_or_atom(), Number(Fraction(3)))

    def rooted(self, radicand: Node, index: Node | None) -> Node:
        if index is None:
            return tree.Call("sqrt", (radicand,))
        return tree.Call("root", (radicand, index))

    def binomial(self) -> Node:
        if self.at("("):
            group = self.atom()
            if isinstance(group, tree.Group) and len(group.items) == 2:
                return tree.Call("binom", group.items)
            raise Unreadable("binom of two numbers was expected")
        return tree.Call("binom", (self.digit_or_group(), self.digit_or_group()))

    def floor(self) -> Node:
        return self.enclosed("floor", "rfloor")

    def ceiling(self) -> Node:
        return self.enclosed("ceil", "rceil")

    def norm(self) -> Node:
        return self.enclosed("abs", "\\|")

    def enclosed(self, name: str, closer: str) -> Node:
        self.deeper()
        node = self.additive()
        self.expect(closer)
        self.depth -= 1
        return tree.Call(name, (node,))

    def angle(self) -> Node:
        self.deeper()
        node = self.listing()
        self.expect("rangle")
        self.depth -= 1
        items = node.items if isinstance(node, tree.Listing) else (node,)
        return tree.Group("<", ">", items)

    def empty(self) -> Node:
        return tree.SetOf(())

    def named_set(self) -> Node:
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
        return tree.NamedSet("R")

    def group_token(self) -> str:
        if self.at("{"):
            self.take()
            name = self.take().text
            self.expect("}")
            return name
        return self.take().text

    def overlined(self) -> Node:
        start = self.index
        self.group_or_atom_raw()
        return tree.Symbol("overline " + "".join(t.text for t in self.tokens[start : self.index]))

    def points(self) -> Node:
        return tree.Symbol("...")

    def named_figure(self) -> Node:
        r"""`\triangle ABC`, `\angle BAC`: the name as it is written."""
        name = self.tokens[self.index - 1].text
        while self.token.kind == "sym":
            name += " " + self.take().text
        return tree.Symbol(name)

    def function(self, name: str) -> Node:
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
        if name == "exp":
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
        return self.series("sum")

    def multiplication(self) -> Node:
        return self.series("prod")

    def series(self, kind: str) -> Node:
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
        name = self.environment_name()
        if name in ("array", "tabular") and self.at("{"):
            self.group_or_atom_raw()
        elif name not in _MATRICES and name not in _LINES:
            raise Unreadable(f"\\begin{{{name}}} is not known here")
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
            raise Unreadable("cases with conditions")
        matrix = tree.Matrix(tuple(rows))
        return tree.Call("det", (matrix,)) if name == "vmatrix" else matrix

    def environment_name(self) -> str:
        self.expect("{")
        name = ""
        while not self.at("}"):
            if self.token.kind == "end":
                raise Unreadable("an environment without a name")
            name += self.take().text
        self.take()
        return name


def _is_compound(items: list[Node]) -> bool:
    """Whether these are parts of one measure: `5 feet` and `6 inches`."""
    found = [item.unit for item in items if isinstance(item, tree.Quantity)]
    return len(found) == len(items) == len(set(found))


def _both(first: Node, second: Node) -> Node:
    return tree.Listing((first, second), "and")


def _proper(above: str, below: str) -> Fraction | None:
    if not (above.isdigit() and below.isdigit()):
        return None
    return Fraction(int(above), int(below)) if 0 < int(above) < int(below) else None


_ATOMS = {
    "frac": _Parser.fraction, "sqrt": _Parser.root, "usqrt": _Parser.plain_root,
    "ucbrt": _Parser.cube_root, "binom": _Parser.binomial, "lfloor": _Parser.floor,
    "lceil": _Parser.ceiling, "\\|": _Parser.norm, "langle": _Parser.angle,
    "emptyset": _Parser.empty, "mathbb": _Parser.named_set, "reals": _Parser.reals,
    "overline": _Parser.overlined, "bar": _Parser.overlined, "ldots": _Parser.points,
    "triangle": _Parser.named_figure, "angle": _Parser.named_figure, "sum": _Parser.summation,
    "prod": _Parser.multiplication, "begin": _Parser.environment, "pi": None, "infty": None,
}  # fmt: skip
