"""What an answer is once it is read: a tree of small frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


class Node:
    """Base of everything an answer can be."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A rational number that was written out: `3`, `0.25`, `1,234`, `0.(6)`, `3e8`."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """One of `pi`, `e`, `i`, `infinity`."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol(Node):
    """A variable with its subscript and primes."""

    name: str


@dataclass(frozen=True, slots=True)
class Sum(Node):
    """Terms added up."""

    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Product(Node):
    """Factors multiplied; a quotient holds a power of -1."""

    factors: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Power(Node):
    """A base and its exponent."""

    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A known function of its arguments: `sin`, `sqrt`, `root`, `log`, `binom`, `abs`, `det`."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Series(Node):
    """A sum or product sign with its bound variable; `kind` is "sum" or "prod"."""

    kind: str
    variable: str
    low: Node
    high: Node
    body: Node


@dataclass(frozen=True, slots=True)
class PlusMinus(Node):
    r"""`term` with both signs; `sign` is -1 for `\mp`."""

    term: Node
    sign: int


@dataclass(frozen=True, slots=True)
class Percent(Node):
    """A value followed by a percent sign."""

    value: Node


@dataclass(frozen=True, slots=True)
class Quantity(Node):
    """A value with a unit in canonical form (`units.canonical`)."""

    value: Node
    unit: str


@dataclass(frozen=True, slots=True)
class Based(Node):
    """Digits with the base they are written in."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Ratio(Node):
    """Parts joined by colons: a ratio or a time of day."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Letter(Node):
    """An option letter and, if it was written too, what the option says."""

    letter: str
    rest: Node | None


@dataclass(frozen=True, slots=True)
class Text(Node):
    """Words; `product` is their reading as a product of letters where that is possible."""

    text: str
    product: Node | None = None


@dataclass(frozen=True, slots=True)
class Group(Node):
    """Ordered values in brackets: a tuple, a vector or an interval."""

    opener: str
    closer: str
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class SetOf(Node):
    """Values in braces."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Listing(Node):
    """Values side by side without brackets; `joiner` is `,`, `and` or `or`."""

    items: tuple[Node, ...]
    joiner: str


@dataclass(frozen=True, slots=True)
class SetOperation(Node):
    """Sets joined by `union`, `intersection` or `minus`."""

    operation: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class NamedSet(Node):
    """One of the sets `R`, `Z`, `N`, `Q`, `C`."""

    name: str


@dataclass(frozen=True, slots=True)
class Relation(Node):
    """A chain of terms with the relation signs between them."""

    terms: tuple[Node, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Matrix(Node):
    """Rows of equal length."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Foreign(Node):
    """LaTeX that only the fallback can value: integrals, limits, infinite sums."""

    latex: str


@dataclass(frozen=True, slots=True)
class Verbatim(Node):
    """LaTeX that is only the same as itself: a notation without a value that the grammar knows."""

    latex: str


MINUS_ONE = Number(Fraction(-1))


def negative(node: Node) -> Node:
    """`node` with the other sign."""
    if isinstance(node, Number):
        return Number(-node.value)
    return Product((MINUS_ONE, node))


def quotient(above: Node, below: Node) -> Node:
    """`above` over `below`."""
    return Product((above, Power(below, MINUS_ONE)))


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside `node`."""
    match node:
        case Sum(parts) | Product(parts) | Call(_, parts) | Group(_, _, parts) | SetOf(parts):
            return parts
        case Listing(parts, _) | SetOperation(_, parts) | Relation(parts, _) | Ratio(parts):
            return parts
        case Power(base, exponent):
            return (base, exponent)
        case Series(_, _, low, high, body):
            return (low, high, body)
        case PlusMinus(inner, _) | Percent(inner) | Quantity(inner, _):
            return (inner,)
        case Matrix(rows):
            return tuple(cell for row in rows for cell in row)
        case _:
            return ()


def symbols(node: Node) -> frozenset[str]:
    """Names of the free variables of `node`."""
    if isinstance(node, Symbol):
        return frozenset((node.name,))
    found: frozenset[str] = frozenset()
    for child in children(node):
        found |= symbols(child)
    return found - {node.variable} if isinstance(node, Series) else found


def holds(node: Node, what: Node) -> bool:
    """Whether `what` stands anywhere in `node`."""
    return node == what or any(holds(child, what) for child in children(node))
