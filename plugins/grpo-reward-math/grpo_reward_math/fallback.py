"""LaTeX that only sympy can value: integrals, limits, derivatives, infinite sums.

latex2sympy2_extended parses with ANTLR, which takes a second for ten nested brackets, so a text
is looked at before it is handed over. Neither it nor sympy is imported before it is needed, and
neither ever evaluates a text as code.
"""

from __future__ import annotations

import math
import re
from typing import Any

from grpo_reward_math.failures import LimitHit, Unreadable
from grpo_reward_math.height import height_of
from grpo_reward_math.numeric import Undefined, Values, context
from grpo_reward_math.rules import Rules

_COMMANDS = re.compile(r"\\(?:int|lim|sum|prod|frac\s*\{\s*d)(?![A-Za-z])")
_SERIES = re.compile(r"\\(?:sum|prod)(?![A-Za-z])")
_DIFFERENTIAL = re.compile(r"d\s*\\?[A-Za-z]")
_TOWARDS = re.compile(r"\\to(?![A-Za-z])|\\rightarrow")
_DIGITS = re.compile(r"\d+")
_GROWS = re.compile(r"\^\s*\{[^{}]*\^|!")
_SIGNS = re.compile(r"\\(?:i+nt|sum|prod)(?![A-Za-z])")
_FUNCTION = re.compile(r"\\(?:sin|cos|tan|ln|log|exp|arctan|arcsin|sinh|cosh)(?![A-Za-z])|e\^")
MAX_FUNCTIONS = 2
MAX_CHARS = 200
MAX_BRACKETS = 12
MAX_NUMBER = 10_000
MAX_DIGITS = 500
DIGITS = 20


def may_read(latex: str) -> bool:
    """Whether `latex` is of a kind that sympy can value, with all its parts."""
    if not _COMMANDS.search(latex) or latex.count("{") != latex.count("}"):
        return False
    if "\\int" in latex and not _DIFFERENTIAL.search(latex):
        return False
    if "\\lim" in latex and not _TOWARDS.search(latex):
        return False
    signs = list(_SERIES.finditer(latex))
    rest = latex[signs[-1].end() :] if signs else "_^"
    return "_" in rest and "^" in rest


def value(latex: str) -> Any:
    """The sympy value of `latex`.

    Raises:
        Unreadable: It is not read, or has no value.
        LimitHit: It is too long or too deep for the parser.
    """
    return worked_out(formula(latex))


def worked_out(unvalued: Any) -> Any:
    """The value of what `formula` read; raises Unreadable if it has none."""
    try:
        return unvalued.doit()
    except Exception as problem:
        # Sympy raises whatever it meets; to a grader each means the same.
        raise Unreadable(f"sympy cannot value it ({type(problem).__name__})") from None


def formula(latex: str) -> Any:
    """What `latex` says to sympy, its integrals and sums not yet worked out.

    Raises:
        Unreadable: It is not read.
        LimitHit: It is too long or too deep for the parser.
    """
    if len(latex) > MAX_CHARS:
        raise LimitHit(f"a formula of more than {MAX_CHARS} characters for sympy")
    if sum(latex.count(sign) for sign in "([{") > MAX_BRACKETS:
        raise LimitHit(f"a formula of more than {MAX_BRACKETS} brackets for sympy")
    if any(int(number) > MAX_NUMBER for number in _DIGITS.findall(latex)):
        raise LimitHit(f"a formula with numbers above {MAX_NUMBER} for sympy")
    if len(_SIGNS.findall(latex)) > 1:
        raise LimitHit("more than one integral, limit or sum in each other for sympy")
    if "\\int" in latex and len(set(_FUNCTION.findall(latex))) > MAX_FUNCTIONS:
        raise LimitHit(f"an integral over more than {MAX_FUNCTIONS} functions for sympy")
    if _GROWS.search(latex):
        raise LimitHit("a tower of powers or a factorial for sympy")
    from latex2sympy2_extended import latex2sympy

    try:
        return latex2sympy(latex)
    except Exception as problem:
        raise Unreadable(f"sympy cannot read it ({type(problem).__name__})") from None


def is_far(unvalued: Any, other: Any) -> bool:
    """Whether quadrature says that an integral is another number than a tree.

    It takes a moment where the search for a closed form may never end.
    """
    import sympy

    if not isinstance(unvalued, sympy.Integral) or unvalued.free_symbols:
        return False
    try:
        its = complex(unvalued.evalf(15))
        mine = complex(Values(Rules(), 30, {}, complex_roots=True).of(other))
    except Exception:
        return False
    return abs(mine - its) > 1e-3 * max(abs(mine), abs(its))


def same(first: str, second: str) -> bool:
    """Whether two formulas have one value."""
    import sympy

    try:
        difference = sympy.simplify(value(first) - value(second))
        return bool(difference == 0 or difference.equals(0))
    except (TypeError, AttributeError, ValueError, NotImplementedError):
        return False


def equals_tree(found: Any, other: Any) -> bool:
    """Whether the sympy value `found` is that of a tree without free symbols."""
    try:
        # More digits than any number in the tree has, so that a long decimal is not an integral.
        digits = 2 * DIGITS + math.ceil(height_of(other, lambda _: None))
        if digits > MAX_DIGITS:
            raise LimitHit(f"a value of more than {MAX_DIGITS} digits beside one of sympy")
        mine = Values(Rules(), digits, {}, complex_roots=True).of(other)
        ctx = context()
        value = found.evalf(digits)
        its = ctx.mpf(str(value)) if value.is_real else ctx.mpc(*map(str, value.as_real_imag()))
    except (Undefined, ValueError, TypeError, AttributeError):
        return False
    return bool(abs(mine - its) <= ctx.mpf(10) ** (DIGITS - digits) * max(abs(mine), abs(its)))
