"""The number that an answer is, with its unit: what can be close to another."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from grpo_reward_math import tree, units
from grpo_reward_math.comparing import split_unit, value_of
from grpo_reward_math.exact import exact
from grpo_reward_math.failures import Unreadable
from grpo_reward_math.numeric import Undefined, Values
from grpo_reward_math.reading import Reading
from grpo_reward_math.rules import Rules

_DIGITS = 40
_NO_NUMBER = "it is no single real number"


@dataclass(frozen=True)
class Measure:
    """A number with a unit.

    Attributes:
        value: The number; one that is not rational is rounded to 40 digits.
        unit: The unit in one spelling, or "".
    """

    value: Fraction
    unit: str


def measure(reading: Reading, rules: Rules) -> Measure:
    """The number that an answer is.

    Raises:
        Unreadable: It is no single number.
        LimitHit: It is too large to be computed.
    """
    node, unit = split_unit(value_of(reading.tree, rules))
    value = exact(node, rules)
    if value is None:
        value = _rounded(node, rules)
    return Measure(value, unit)


def check_shape(reading: Reading, rules: Rules) -> None:
    """Checks that an answer looks like a number, without computing one that is not rational.

    Raises:
        Unreadable: It is no single number.
        LimitHit: It is too large to be computed.
    """
    node, _ = split_unit(value_of(reading.tree, rules))
    if exact(node, rules) is None and not _is_real(node, rules):
        raise Unreadable(_NO_NUMBER)


def _is_real(node: tree.Node, rules: Rules) -> bool:
    match node:
        case tree.Constant(name):
            return name in ("pi", "e")
        case tree.Power(base, tree.Number(power)) if power < 0 and exact(base, rules) == 0:
            return False
        case tree.Number():
            return True
        case (
            tree.Sum()
            | tree.Product()
            | tree.Power()
            | tree.Call()
            | tree.Percent()
            | tree.Quantity()
        ):
            return all(_is_real(child, rules) for child in tree.children(node))
        case tree.Series():
            return True
        case _:
            return False


def _rounded(node: tree.Node, rules: Rules) -> Fraction:
    values = Values(rules, _DIGITS, {}, complex_roots=False)
    try:
        found = values.of(node)
        if isinstance(found, values.ctx.mpc) or not values.ctx.isfinite(found):
            raise Undefined
    except Undefined:
        raise Unreadable(_NO_NUMBER) from None
    return Fraction(values.ctx.nstr(found, _DIGITS))


def unit_fault(answer: Measure, gold: Measure, rules: Rules) -> str:
    """What is wrong with the unit of an answer, or ""."""
    if rules.units == "ignored":
        return ""
    if answer.unit and gold.unit and not units.same(answer.unit, gold.unit):
        return f"unit {answer.unit} is not {gold.unit}"
    if rules.units == "required" and bool(answer.unit) != bool(gold.unit):
        return "one side has no unit"
    return ""
