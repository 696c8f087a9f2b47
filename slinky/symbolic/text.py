"""Expressions as text that a person reads and that never changes from run to run.

Invariant: Python would read the text as the same expression (with `min`, `max` and `select` as functions), so it is
never ambiguous. Where parts that stand in several places would make it long, each is written once, with a name
(`(part1 := x // 3)`), and is that name further to the right. Positive terms come before negative ones, the constant
last; a comparison is written with its negative terms on the left (`a <= b - 1`); `n - d * (n // d)` is written `n % d`.

What languages write differently stands in a `Dialect`. That of messages and programs is here; the one of Python that
makes an expression is in `slinky.cursors.writing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import TypeAlias

import attrs

from slinky.symbolic.expressions import (
    And,
    Constant,
    Expr,
    FloorDivide,
    IsZero,
    Max,
    Metadata,
    Min,
    Node,
    NonNegative,
    Or,
    Product,
    Select,
    Sum,
    Truth,
    Variable,
    linear,
    linear_sum,
    multiply,
    product,
)
from slinky.symbolic.nodes import BEYOND, intern
from slinky.symbolic.order import weight
from slinky.symbolic.traversal import symbols

DimensionNames: TypeAlias = Callable[[str, int], str]
"""How to write a dimension of a buffer, given the buffer's name and the position of the dimension."""

JUNCTION, COMPARISON, SUM, QUOTIENT, PRODUCT, ATOM = range(6)
"""How tightly a text binds. A quotient binds like a product, but may not stand behind a factor or a minus."""

Piece: TypeAlias = str | tuple[Node, int]
"""Text, or a node still to be written, with the strength that its place asks for."""

Pieces: TypeAlias = tuple[int, list[Piece]]
"""How tightly the text of a node binds, and what it is made of."""


@attrs.frozen
class Dialect:
    """A language for expressions: what it writes in its own way."""

    simple: Callable[[Truth | Variable | Metadata], str]
    """What has no parts: a word that binds as tightly as any."""

    comparison: Callable[[NonNegative | IsZero], Pieces]
    sum: Callable[[Sum], Pieces | None]
    """Sums that are not written with signs; None for the others."""

    minimum: str = "min"
    maximum: str = "max"
    select: str = "select"
    times: str = "*"
    conjunction: str = " and "
    disjunction: str = " or "
    joined: int = COMPARISON
    """How tightly what stands between conjunctions must bind."""


_LONGEST = 2_000
"""The weight of the longest expressions in which nothing has a name."""

_LONGEST_REPEATED = 6
"""The weight of the longest parts that are written again and again, for a name says less."""


def positional(buffer: str, dim: int) -> str:
    """Write a dimension by its position: `inp.dim(0)`."""
    return f"{buffer}.dim({dim})"


def to_text(node: Node, names: DimensionNames = positional) -> str:
    """The text of an expression or condition, as messages and programs have it."""
    return written(node, _PLAIN if names is positional else plain_dialect(names), {})


def written(node: Node, dialect: Dialect, known: Mapping[Node, str]) -> str:
    """The text of an expression or condition in a dialect; parts that are `known` already are written by name."""
    unnamed = _shared(node, dialect, known) if weight(node) > _LONGEST else frozenset()
    taken = {symbol.name for symbol in symbols(node) if isinstance(symbol, Variable)} if unnamed else set()
    fresh = (name for k in count(1) if (name := f"part{k}") not in taken)
    named = dict(known)
    done: list[str] = []
    waiting: list[Piece] = [(node, JUNCTION)]
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, str):
            done.append(piece)
            continue
        inner, wanted = piece
        if inner in named:
            done.append(named[inner])
            continue
        strength, pieces = _pieces(inner, dialect)
        if inner in unnamed:
            named[inner] = next(fresh)
            pieces = [f"({named[inner]} := ", *pieces, ")"]
        elif strength < wanted:
            pieces = ["(", *pieces, ")"]
        waiting.extend(reversed(pieces))
    return "".join(done)


def _shared(root: Node, dialect: Dialect, known: Mapping[Node, str]) -> frozenset[Node]:
    """The parts that stand in several places of a text and are too long to be repeated."""
    met: set[Node] = set(known)
    shared: set[Node] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node not in met:
            met.add(node)
            waiting += [piece[0] for piece in _pieces(node, dialect)[1] if not isinstance(piece, str)]
        elif node not in known and weight(node) > _LONGEST_REPEATED:
            shared.add(node)
    return frozenset(shared)


def _pieces(node: Node, dialect: Dialect) -> Pieces:
    """How tightly the text of a node binds, and what it is made of."""
    match node:
        case Constant(value=value):
            return ATOM if value >= 0 else SUM, [number_text(value)]
        case Truth() | Variable() | Metadata():
            return ATOM, [dialect.simple(node)]
        case Product(factors=factors):
            return PRODUCT, pieces_between(dialect.times, factors, ATOM)
        case FloorDivide(numerator=numerator, denominator=denominator):
            return QUOTIENT, [(numerator, ATOM), " // ", (denominator, ATOM)]
        case Min(operands=operands):
            return ATOM, [f"{dialect.minimum}(", *pieces_between(", ", operands, JUNCTION), ")"]
        case Max(operands=operands):
            return ATOM, [f"{dialect.maximum}(", *pieces_between(", ", operands, JUNCTION), ")"]
        case Select(condition=condition, then=then, otherwise=otherwise):
            return ATOM, [f"{dialect.select}(", *pieces_between(", ", (condition, then, otherwise), JUNCTION), ")"]
        case Sum():
            return dialect.sum(node) or _sum(node, dialect.times)
        case NonNegative() | IsZero():
            return dialect.comparison(node)
        case And(operands=conditions):
            return JUNCTION, pieces_between(dialect.conjunction, conditions, dialect.joined)
        case Or(operands=conditions):
            return JUNCTION, pieces_between(dialect.disjunction, conditions, dialect.joined)
    raise TypeError(f"cannot write {type(node).__name__}")


def plain_dialect(names: DimensionNames) -> Dialect:
    """The language of messages and programs."""

    def simple(node: Truth | Variable | Metadata) -> str:
        match node:
            case Truth(value=value):
                return str(value)
            case Variable(name=name):
                return name
            case Metadata(buffer=buffer, dim=dim, field=field):
                return f"{names(buffer, dim)}.{field}"

    return Dialect(simple, _plain_comparison, lambda node: None)


def _plain_comparison(node: NonNegative | IsZero) -> Pieces:
    left, right = sides(node.expr)
    return COMPARISON, [(left, SUM), " <= " if isinstance(node, NonNegative) else " == ", (right, SUM)]


_PLAIN = plain_dialect(positional)


def pieces_between(separator: str, nodes: Iterable[Node], strength: int) -> list[Piece]:
    """Nodes with a text between each two of them."""
    pieces: list[Piece] = []
    for node in nodes:
        pieces += [separator, (node, strength)]
    return pieces[1:]


def number_text(value: int) -> str:
    """An integer in digits, of which Python writes no more than so many; with more, which only computing makes, in
    hexadecimal ones."""
    return str(value) if -BEYOND < value < BEYOND else hex(value)


def _sum(node: Sum, times: str) -> Pieces:
    found = remainder(node)
    if found is not None:
        numerator, denominator = found
        return QUOTIENT, [(numerator, ATOM), " % ", (denominator, ATOM)]
    shown = [_rounded_down(*term) for term in node.terms]
    terms = [term for term in shown if term[1] > 0] + [term for term in shown if term[1] < 0]
    pieces: list[Piece] = []
    for atom, c in terms:
        sign = "-" if c < 0 else "+"
        pieces.append(f" {sign} " if pieces else sign.strip("+"))
        if abs(c) != 1:
            pieces.append(f"{number_text(abs(c))}{times}")
        pieces.append((atom, QUOTIENT if c == 1 else PRODUCT))
    if node.constant:
        pieces.append(f" {'+' if node.constant > 0 else '-'} {number_text(abs(node.constant))}")
    single = len(terms) == 1 and terms[0][1] > 0 and not node.constant
    return PRODUCT if single else SUM, pieces


def _rounded_down(atom: Expr, factor: int) -> tuple[Expr, int]:
    """A term, where it is a quotient rounded up of what is taken away, as one rounded down of what is added."""
    if factor < 0 and isinstance(atom, FloorDivide) and isinstance(atom.denominator, Constant):
        offset, terms = linear(atom.numerator)
        if offset == atom.denominator.value - 1:
            added = linear_sum(0, [(symbol, -c) for symbol, c in terms])
            return intern(FloorDivide, added, atom.denominator), -factor
    return atom, factor


def sides(expr: Expr) -> tuple[Expr, Expr]:
    """The left and right side to show `0 <= expr` with: terms with a minus go to the left."""
    offset, terms = linear(expr)
    left = [(atom, -c) for atom, c in terms if c < 0]
    right = [(atom, c) for atom, c in terms if c > 0]
    if not right:
        return linear_sum(0, left), linear_sum(offset, ())
    if not left:
        return linear_sum(-offset, ()), linear_sum(0, right)
    return linear_sum(0, left), linear_sum(offset, right)


def remainder(node: Sum) -> tuple[Expr, Expr] | None:
    """`(n, d)` if the whole sum is `n - d * (n // d)`."""
    for atom, c in node.terms:
        for quotient in atom.factors if isinstance(atom, Product) else (atom,):
            if isinstance(quotient, FloorDivide) and _multiple(quotient, atom, -c) is quotient.denominator:
                rest = linear_sum(node.constant, [term for term in node.terms if term[0] is not atom])
                if rest is quotient.numerator:
                    return rest, quotient.denominator
    return None


def _multiple(quotient: FloorDivide, atom: Expr, factor: int) -> Expr | None:
    """What the quotient is multiplied by in `factor * atom`, unless that is a sum."""
    if atom is quotient:
        return linear_sum(factor, ())
    others = list(atom.factors) if isinstance(atom, Product) else []
    others.remove(quotient)
    return multiply(product(others), linear_sum(factor, ()))
