"""A bare answer, LaTeX or plain, to its tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from grpo_reward_math import tree
from grpo_reward_math.exact import exact
from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.normal import normal
from grpo_reward_math.parser import parse
from grpo_reward_math.rules import Rules
from grpo_reward_math.tree import Node

__all__ = ["LimitHit", "Reading", "Unreadable", "read"]

_PLAIN_NUMBER = re.compile(r"[+-]?(?:\d{1,18}|\d{1,15}\.\d{1,15})$", re.ASCII)
_BREAK = r"(?:[\s:.~]|\\[,;:! ]|\\q?quad(?![A-Za-z]))"
_OPENING = r"(?:\\(?:text(?:bf|rm|sf|it)?|math(?:bf|rm))\s*\{\s*|\*\*)"
_LETTER = re.compile(
    rf"(?P<wrap>{_OPENING})?(?P<name>(?:option|choice|answer)(?:\s*+:)?\s++)?"
    r"(?:\(\s*(?P<round>[A-Ja-j])\s*\)|(?P<bare>[A-J])\s*[.):](?=\W|$)|(?P<alone>[A-J])(?=\s*(?:\}|\*|$)))"
    rf"(?(wrap)\s*(?:\}}|\*\*))(?P<gap>{_BREAK}*)(?P<rest>.*)$",
    re.DOTALL | re.IGNORECASE,
)
_LEADING_SIGN = re.compile(r"^\s*(?:=|\\approx(?![A-Za-z])|\\simeq(?![A-Za-z])|:)\s*")
_WRAPPED_TEXT = re.compile(
    r"^\s*\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|operatorname)\s*\{([^{}\\$]*)\}\s*$"
)
# "The answer is" before the answer, as text in a formula.
_LEADING_TEXT = re.compile(
    r"\\(?:text(?:bf|rm|it)?|mathrm|mbox)\s*+\{(?![^{}]*\b(?i:not?|wrong|incorrect|false|unsure|guess)\b)[^{}\\$\d]{0,80}?"
    r"(?:\b(?:is|are|equals)\b(?: equal to)?\s*+:?|[A-Za-z]\s*+:)\s*+\}(?:\s|~|\\[,;:! ])*+(?=\S)"
)
_PLAIN_WORDS = re.compile(r"^[^\W\d_][\w\s.,:;'\"’()&/?!%-]*$")
_ONLY_WORDS = re.compile(r"[^\W\d_]+(?:(?:\s+|['-])[^\W\d_]+)*")
_WORD = re.compile(r"[^\W\d_]{2,}")
# A value, and the same again in brackets.
_AGAIN = re.compile(r"\\text\s?\{\s?\(([\w\s.%/\\-]{1,40})\)\s?\}$")
_MOST_AGAIN = 60
# What the grammar cannot read, equal to what it may: P(\text{heads}) = 1/2.
_DEFINED = re.compile(
    r"^(?P<name>(?!\s*[-+\d.])(?:[^=<>\\]|\\(?!(?:n?e|neq|l[et]q?|g[et]q?|leqslant|geqslant|approx|"
    r"equiv|sim|simeq|in|notin|to|not)(?![A-Za-z])).)*?)=(?P<value>[^=].*)$",
    re.DOTALL,
)
# Notation without a value of its own, which is compared as it is written.
_NOTATION = re.compile(r"\\[A-Za-z]|\|")
_UNFINISHED = re.compile(r"(?:[-+*/^_=<>,(&]|\\(?:cdot|times|pm|le|ge|frac|sqrt|in|to|\\))$")
_LAYOUT = re.compile(r"\\(?:left|right|displaystyle|quad|qquad)(?![A-Za-z])|\\[,;:! ]|\s")
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()
_KINDS: dict[type, str] = {
    tree.Number: "number", tree.Constant: "constant", tree.Symbol: "symbol", tree.Sum: "sum",
    tree.Product: "product", tree.Power: "power", tree.Call: "function", tree.Series: "sum",
    tree.PlusMinus: "two values", tree.Percent: "percentage", tree.Quantity: "number with a unit",
    tree.Based: "number in a base", tree.Ratio: "ratio or time", tree.Letter: "option letter",
    tree.Text: "text", tree.SetOf: "set", tree.Listing: "list", tree.SetOperation: "union",
    tree.NamedSet: "set", tree.Matrix: "matrix", tree.Foreign: "formula for sympy",
    tree.Verbatim: "text as it is written",
}  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """An answer as it was read.

    Attributes:
        text: The answer as it was written.
        tree: What it means.
        how: What it was read as, in a word or two: "number", "fraction", "interval", "text".
    """

    text: str
    tree: Node
    how: str

    def __hash__(self) -> int:
        """That of the text: a tree is not walked to look up a verdict."""
        return hash(self.text)


def read(text: str, rules: Rules) -> Reading:
    """The bare answer `text` as a tree.

    Raises:
        Unreadable: No answer can be read from it.
        LimitHit: It is too long or too deeply nested to be read.
    """
    stripped = text.strip()
    if _PLAIN_NUMBER.match(stripped):
        return Reading(text, tree.Number(Fraction(stripped)), "number")
    if len(stripped) > rules.max_chars:
        raise LimitHit(f"an answer of more than {rules.max_chars} characters")
    plain = _LEADING_SIGN.sub("", normal(stripped))
    if lead := _LEADING_TEXT.match(plain):
        plain = plain[lead.end() :]
    if not plain:
        raise Unreadable("the answer is empty")
    try:
        node = _read(plain, rules)
    except RecursionError:  # the caller's own stack is deep already
        raise LimitHit("nesting deeper than the stack allows") from None
    return Reading(text, node, kind(node))


def kind(node: Node) -> str:
    """What `node` is, in a word or two."""
    match node:
        case tree.Product((_, tree.Power(_, minus))) if minus == tree.MINUS_ONE:
            return "fraction"
        case tree.Relation(_, signs):
            return "equation" if signs[0] == "=" else "inequality"
        case tree.Group(opener, closer, items):
            if opener == "cases":
                return "cases"
            mixed = len(items) == 2 and opener + closer not in ("()", "<>")
            return "interval" if mixed else "tuple"
        case _:
            return _KINDS.get(type(node), "value")


def _read(plain: str, rules: Rules) -> Node:
    letter = _letter(plain, rules)
    if letter is not None:
        return letter
    words = _words(plain)
    if words is not None:
        return words
    again = _AGAIN.search(plain, max(0, len(plain) - _MOST_AGAIN))
    if again is not None and 0 < again.start() < _MOST_AGAIN and "(" not in plain[: again.start()]:
        return _said_twice(plain[: again.start()], again[1], rules)
    wrapped = _WRAPPED_TEXT.match(plain)
    try:
        return parse(wrapped[1] if wrapped else plain, rules)
    except Unreadable as problem:
        return _otherwise(plain, rules, problem)


def _letter(plain: str, rules: Rules) -> Node | None:
    match = _LETTER.match(plain)
    if match is None:
        return None
    letter = match["round"] or match["bare"] or match["alone"]
    rest = match["rest"].strip()
    marked = match["wrap"] or match["name"]
    if not rest:
        plain_symbol = letter.islower() and not (match["round"] or match["name"])
        return None if plain_symbol else tree.Letter(letter, None)
    if letter.islower() or rest[0] in "+-*/^=<>_!,'|" or not (marked or match["gap"]):
        return None
    if match["alone"] and not marked:
        return None
    try:
        return tree.Letter(letter, _read(normal(rest), rules))
    except Unreadable:
        return tree.Letter(letter, tree.Text(rest))


def _words(plain: str) -> Node | None:
    """Words that are no maths, as text; None if `plain` is something else."""
    wrapped = _WRAPPED_TEXT.match(plain)
    body = wrapped[1].strip() if wrapped else plain
    if body.lower() in _NUMBERS:
        return tree.Number(Fraction(_NUMBERS.index(body.lower())))
    if not _ONLY_WORDS.fullmatch(body):
        return None
    if "-" in body and max(map(len, body.split("-"))) < 4:  # n-k
        return None
    words = body.split()
    if len(words) == 1 and (len(body) == 1 or body in _MATHS):
        return None
    if any(word in ("and", "or") for word in words) and all(len(w) < 4 for w in words):
        return None
    if len(words) > 1 and all(len(word) == 1 for word in words):
        return None
    return tree.Text(" ".join(words), None if wrapped else _letters(words))


_MATHS = {"pi", "infinity", "infty", "inf", "oo", "alpha", "beta", "gamma", "theta", "phi", "omega"}
_MATHS |= {"lambda", "mu", "sigma", "tau", "rho", "delta", "epsilon"}


def _letters(words: list[str]) -> Node | None:
    """The product that a short word may also be: `ab`."""
    if len(words) != 1 or len(words[0]) > 4 or not words[0].isascii():
        return None
    if len(words[0]) > 2 and words[0].isupper():  # HTT is not THT
        return tree.Symbol(words[0])
    constants = ("e", "i")
    factors = (tree.Constant(c) if c in constants else tree.Symbol(c) for c in words[0])
    return tree.Product(tuple(factors))


def _said_twice(value: str, again: str, rules: Rules) -> Node:
    """`0.5 (50%)` and `9 (nine)`; raises Unreadable where the second is another value."""
    first, second = parse(value, rules), _read(again, rules)
    number = exact(first, rules)
    if number is None or number != exact(second, rules):
        raise Unreadable(f"{again!r} in brackets is another value")
    return first


def _otherwise(plain: str, rules: Rules, problem: Unreadable) -> Node:
    """What the grammar does not know: words with signs, a formula for sympy, or as it is."""
    if defined := _DEFINED.match(plain):
        try:
            value = parse(defined["value"], rules)
        except Unreadable:
            pass
        else:
            name = tree.Text(" ".join(defined["name"].split()))
            if isinstance(value, tree.Relation):
                return tree.Relation((name, *value.terms), ("=", *value.signs))
            return tree.Relation((name, value), ("=",))
    wrapped = _WRAPPED_TEXT.match(plain)
    body = wrapped[1].strip() if wrapped else plain
    if _PLAIN_WORDS.match(body) and _WORD.search(body):
        return tree.Text(" ".join(body.split()))
    from grpo_reward_math import fallback

    if fallback.may_read(plain):
        return tree.Foreign(plain)
    if _is_whole(plain):
        return tree.Verbatim(_LAYOUT.sub("", plain))
    raise problem


def _is_whole(plain: str) -> bool:
    """Whether `plain` is a statement in a notation that the grammar lacks, not a piece of one."""
    if not _NOTATION.search(plain) or _UNFINISHED.search(plain) or "|" == plain[-1]:
        return False
    return all(plain.count(a) == plain.count(b) for a, b in ("{}", "()", "[]", ("\\{", "\\}")))
