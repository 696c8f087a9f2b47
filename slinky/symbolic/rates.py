"""How fast an expression moves while some of its symbols do: `2*y - 1` twice as fast as `y`, `y // 4` a quarter.

Idea. Sums add rates, a quotient by a number divides one. Of what is limited, the limits stand still; of what moves
forward in the middle and back at an edge, such as mirrored coordinates, the rate is that of the middle.

Invariant: nothing rests on a rate but how good a schedule is.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from slinky.symbolic.expressions import (
    Constant,
    Expr,
    FloorDivide,
    Max,
    Metadata,
    Min,
    Node,
    Product,
    Select,
    Sum,
    Variable,
)
from slinky.symbolic.traversal import fold

Rate: TypeAlias = Fraction | int | None
"""How far something moves for each step; None where that is no number."""


def rate(e: Expr, moving: Mapping[Expr, Rate]) -> Rate:
    """How fast an expression moves, given how fast symbols do; all others stand still."""

    def visit(node: Node, parts: list[Rate]) -> Rate:
        match node:
            case Variable() | Metadata():
                return moving.get(node, 0)
            case Sum(terms=terms):
                found: Fraction | int = 0
                for part, (_, factor) in zip(parts, terms, strict=True):
                    if part is None:
                        return None
                    found += factor * part
                return found
            case FloorDivide(denominator=Constant(value=number)):
                return None if parts[0] is None else parts[0] / Fraction(number)
            case FloorDivide() | Product():
                return None if any(part != 0 for part in parts) else 0
            case Min() | Max():
                return fastest(parts)
            case Select():
                return fastest(parts[1:])
        return 0

    return fold(e, visit, {})


def fastest(rates: list[Rate]) -> Rate:
    """The rate of what moves by any of some rates: none that stands still, if another does not."""
    found = [each for each in rates if each is not None and each != 0]
    return None if None in rates else max(found, default=0)
