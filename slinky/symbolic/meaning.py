"""What atoms mean, as inequalities: the rows that hold for an atom whatever its symbols are.

Invariant: every row yielded here holds for all integers that meet the facts given, by the meaning of the atom alone.
"""

from __future__ import annotations

from functools import lru_cache

from slinky.symbolic.expressions import (
    Constant,
    Expr,
    FloorDivide,
    Max,
    Metadata,
    Min,
    difference,
    linear,
    metadata,
    multiply,
)
from slinky.symbolic.facts import Rows

_NONE: tuple[Rows, Rows] = ((), ())
_MEANINGFUL = frozenset((Metadata, FloorDivide, Min, Max))


def lasting_rows(atom: Expr) -> tuple[Rows, Rows]:
    """Rows that hold whatever the facts: those in which the atom is positive, and those in which it is negative."""
    return _lasting_rows(atom) if type(atom) in _MEANINGFUL else _NONE


@lru_cache(maxsize=4096)
def _lasting_rows(atom: Expr) -> tuple[Rows, Rows]:
    match atom:
        case Metadata(buffer=buffer, dim=dim, field="min"):
            return (), (linear(metadata(buffer, dim, "extent")),)
        case Metadata(buffer=buffer, dim=dim, field="max"):
            return (linear(metadata(buffer, dim, "extent")),), ()
        case Metadata(field="fold_factor"):
            return ((-1, ((atom, 1),)),), ()
        case Min(operands=operands):
            return (), tuple(difference(operand, atom) for operand in operands)
        case Max(operands=operands):
            return tuple(difference(atom, operand) for operand in operands), ()
        case FloorDivide(numerator=numerator, denominator=Constant() as denominator):
            multiple = multiply(denominator, atom)
            above, below = difference(multiple + denominator - 1, numerator), difference(numerator, multiple)
            return (above,), (below,)
    return _NONE
