"""Tokens to a tree: recursive descent over the grammar of answers, with a cap on the depth."""

from __future__ import annotations

from grpo_reward_math import tree, units
from grpo_reward_math.commands import Commands
from grpo_reward_math.failures import Unreadable
from grpo_reward_math.rules import Rules
from grpo_reward_math.tokens import tokens
from grpo_reward_math.tree import Node

RELATIONS = {"=": "=", "<": "<", ">": ">", "le": "<=", "ge": ">=", "ne": "!=", "in": "in"}
RELATIONS |= {"equiv": "=", "approx": "~", "notin": "notin", "to": "->", "sim": "~", "≈": "~"}
_SETS = {"cup": "union", "cap": "intersection", "setminus": "minus"}
_CLOSERS = {")", "]", "}", "\\}", "rfloor", "rceil", "rangle"}


def parse(text: str, rules: Rules) -> Node:
    """The tree of normal `text`; raises Unreadable where the grammar has no such answer."""
    parser = _Parser(tokens(text, rules), rules)
    node = parser.listing()
    if parser.at("over"):
        parser.take()
        node = tree.quotient(node, parser.listing())
    if parser.token.kind != "end":
        raise Unreadable(f"{parser.token.text!r} was not expected")
    return node


class _Parser(Commands):
    """The levels of the grammar from the whole answer down to a sum."""

    def listing(self) -> Node:
        """Statements side by side: `2, 7`, `x < 1 or x > 3`."""
        items = [self.statement()]
        joiner = ","
        while (
            self.token.kind == "sep" or self.at(",", "\\", "Rightarrow") or self.starts_condition()
        ):
            if self.starts_condition():
                items.append(self.bracket(self.take().text))
                continue
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
        """A value, or a chain of relations."""
        terms, signs = [self.measured()], []
        while self.token.kind in ("op", "cmd") and self.token.text in RELATIONS:
            self.congruence = self.congruence or self.at("equiv")
            signs.append(RELATIONS[self.take().text])
            terms.append(self.measured())
        if not signs:
            return terms[0]
        return tree.Relation(tuple(terms), tuple(signs))

    def measured(self) -> Node:
        """A value with its currency or unit, a ratio, a time of day."""
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
        if not units.may_be(unit):
            raise Unreadable(f"{unit!r} is no unit")
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
        """The words and signs of a unit, as one text; empty if none follows."""
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
        """Sets joined by union, intersection or difference."""
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
        """A sum."""
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
        return terms[0] if len(terms) == 1 else tree.Sum(tuple(terms))


def _is_compound(items: list[Node]) -> bool:
    """Whether these are parts of one measure: `5 feet` and `6 inches`."""
    found = [item.unit for item in items if isinstance(item, tree.Quantity)]
    return len(found) == len(items) == len(set(found))
