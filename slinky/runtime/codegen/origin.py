"""Programs on arguments that all begin at coordinate 0, as NumPy's arrays do.

Where every first coordinate is 0, and the last one less than the extent, most sums become shorter, and what is left is
the code that a person would write. Not every program can run so: a stencil usually asks for an output that begins later
than its input.
"""

from __future__ import annotations

from collections.abc import Mapping

from slinky.errors import ExpressionError
from slinky.ir.statements import BufferParameter, Check, Program
from slinky.ir.substitution import substitute_program
from slinky.symbolic.expressions import FALSE, Expr, constant, metadata, variable


def extents(parameter: BufferParameter) -> tuple[Expr, ...]:
    """Symbols for the extents of the dimensions of an input or output."""
    return tuple(variable(f"<extent {d} of {parameter.name}>") for d in range(parameter.rank))


def ends(program: Program) -> Mapping[Expr, Expr]:
    """What the first and the last coordinate of every dimension of the inputs and outputs are at the origin."""
    found: dict[Expr, Expr] = {}
    for p in (*program.inputs, *program.outputs):
        for d, extent in enumerate(extents(p)):
            found[metadata(p.name, d, "min")] = constant(0)
            found[metadata(p.name, d, "max")] = extent - 1
    return found


def at_origin(program: Program) -> Program | None:
    """The program with these ends; None if it cannot run so, because a check rules it out."""
    try:
        moved = substitute_program(program, ends(program))
    except (ExpressionError, ZeroDivisionError):  # a division by a first coordinate
        return None
    return None if any(isinstance(s, Check) and s.condition is FALSE for s in moved.body) else moved
