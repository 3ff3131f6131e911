"""What a comparison says, and the levels of comparing that build on each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from grpo_reward_math.rules import Rules
from grpo_reward_math.tree import Node


@dataclass(frozen=True)
class Verdict:
    """Whether two answers are equal.

    Attributes:
        equal: The answer.
        rule: What decided, in a few words.
    """

    equal: bool
    rule: str


class Comparer(ABC):
    """Comparisons under one set of rules; kinds of answers are methods of classes built on it.

    Args:
        rules: The conventions.
        seed: What the primes that functions are compared by are drawn from.
    """

    def __init__(self, rules: Rules, seed: str) -> None:
        self.rules = rules
        self.seed = seed

    @abstractmethod
    def compare(self, a: Node, g: Node) -> Verdict:
        """Whether two trees are one answer; symmetric in the two."""

    @abstractmethod
    def structures(self, a: Node, g: Node) -> Verdict:
        """Whether they are, units and words left aside."""


def same_numbers(a: Fraction, g: Fraction) -> Verdict:
    """Two exact numbers."""
    if a == g:
        return Verdict(True, "equal as exact numbers")
    return Verdict(False, f"{_shown(a)} is not {_shown(g)}")


def _shown(value: Fraction) -> str:
    large = max(value.numerator.bit_length(), value.denominator.bit_length()) > 60
    return "one exact number" if large else str(value)
