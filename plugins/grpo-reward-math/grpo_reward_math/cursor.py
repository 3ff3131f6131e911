"""Where the parser is in the tokens, and how deep."""

from __future__ import annotations

from abc import ABC, abstractmethod

from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.rules import Rules
from grpo_reward_math.tokens import Token
from grpo_reward_math.tree import Node


class Cursor(ABC):
    """The state of one pass; the levels of the grammar are methods of the classes built on it."""

    def __init__(self, found: list[Token], rules: Rules) -> None:
        self.tokens = found
        self.rules = rules
        self.index = 0
        self.token = found[0]
        self.depth = 0
        self.bars = 0
        self.last_bar = max((i for i, t in enumerate(found) if t.text == "|"), default=-1)
        self.in_set = False
        self.congruence = False
        self.bound: set[str] = set()

    def take(self) -> Token:
        """The next token, and moves past it."""
        token = self.token
        if token.kind != "end":
            self.index += 1
            self.token = self.tokens[self.index]
        return token

    def ahead(self, offset: int = 1) -> Token:
        """The token that many places on."""
        return self.tokens[min(self.index + offset, len(self.tokens) - 1)]

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these signs or commands."""
        return self.token.text in texts and self.token.kind in ("op", "cmd")

    def expect(self, *texts: str) -> Token:
        """The next token if it is one of these; raises Unreadable otherwise."""
        if not self.at(*texts):
            raise Unreadable(f"{texts[0]!r} was expected, {self.token.text or 'the end'!r} came")
        return self.take()

    def deeper(self) -> None:
        """Counts one more level of nesting; raises LimitHit beyond the cap."""
        self.depth += 1
        if self.depth > self.rules.max_depth:
            raise LimitHit(f"more than {self.rules.max_depth} levels of brackets")

    def starts_condition(self) -> bool:
        r"""Whether `(k \in` follows: a condition in brackets behind a value."""
        if not (self.at("(") and self.ahead().kind in ("sym", "cmd")):
            return False
        sign = self.ahead(2)
        return sign.kind == "cmd" and sign.text == "in"

    @abstractmethod
    def listing(self) -> Node:
        """The highest level of the grammar."""

    @abstractmethod
    def statement(self) -> Node:
        """One item of a listing."""

    @abstractmethod
    def additive(self) -> Node:
        """A sum: the highest level that is one value."""

    @abstractmethod
    def product(self) -> Node:
        """A product: a term of a sum."""

    @abstractmethod
    def command(self, name: str) -> Node:
        """What a command and its arguments mean."""
