"""Vectors: so many elements at a time, along the dimension along which elements follow each other.

A call over a constant number of elements of arithmetic is one loop of known length in C (see `native.tiles`), which
compilers turn into vector instructions; to everybody else it is a call as any other. So to ask for vectors is to split:
a dimension, or a loop over single elements, whose call becomes one over several. What else there is to it are
questions: whether C knows what is computed, whether its elements lie side by side, and whether none goes on from
another one.
"""

from __future__ import annotations

from typing import Any

from slinky.cursors.cursors import CallCursor, DimCursor, LoopCursor
from slinky.cursors.editing import Edit
from slinky.errors import OperationError, SchedulingError, cited
from slinky.ir.combined import formula_of
from slinky.ir.copies import with_body, with_interval, with_range
from slinky.ir.effects import bounds_of_dim
from slinky.ir.operations import Accumulation, Stage
from slinky.ir.statements import Call
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.operation import sched_op
from slinky.sched.primitives.loops import split_loop
from slinky.sched.primitives.rewriting import is_one
from slinky.sched.returned import VectorizeCursors
from slinky.symbolic.expressions import as_expr, is_integer, minimum
from slinky.symbolic.intervals import Interval, moves_with
from slinky.symbolic.proofs import prove

WIDTHS = (2, 4, 8, 16, 32, 64)
"""Numbers of elements that a vector may have, or several together."""


@sched_op(VectorizeCursors)
def vectorize(p: Pipeline, loop: LoopCursor | DimCursor, width: int) -> Any:
    """Compute so many elements at a time, along a dimension of a call or in a loop over single elements.

        >>> import slinky as sl
        >>> (x,) = sl.variables("x")
        >>> a, out = sl.BufferExpr("a", "f4", 1), sl.BufferExpr("out", "f4", 1)
        >>> _ = sl.arithmetic(a[x] * 2 + 1, out[x], name="line")
        >>> p, (loop, _) = vectorize(sl.build_pipeline([a], [out]), "line.x", 8, rc=True)
        >>> print(loop)
          pipeline line(a: float32[1]) -> (out: float32[1]):
            check a.x.min <= out.x.min
            check out.x.max <= a.x.max
        >   for x in out.x.min..out.x.max step 8:
              out[x .. x + 7] = line(a[x .. x + 7])

    That is a loop over vectors. The last one may be smaller: in C, where calls of few elements are expressions
    ([native.md](native.md#down-to-the-element)), it is a function, and all others are vector instructions. Elsewhere it
    is a call of fewer elements. `absorb_loop` takes the vectors together again.

    Parameters:
        loop: the dimension, such as `"line.x"`, or a loop whose body is one call over one element along it.
        width: how many elements: 2, 4, 8, 16, 32 or 64.

    Refused: a call that is not arithmetic, of which C knows nothing; another dimension than the last, along which
    elements follow each other; pieces of a reduction, each of which goes on from the one before; a loop with more or
    less in it than such a call.

    Cursors:
        loop: the loop over vectors.
        call: the call in it.
    """
    if not is_integer(width) or width not in WIDTHS:
        raise OperationError(f"width must be one of {', '.join(map(str, WIDTHS))}, got {cited(width)}")
    if isinstance(loop, DimCursor):
        _require_vectors(p, loop.call(), loop.position())
        p, made = split_loop(p, loop, width, rc=True)
        return p, (made.outer, p.forward(loop.call()))
    return _of_loop(p, loop, int(width))


def _of_loop(p: Pipeline, cursor: LoopCursor, width: int) -> Any:
    """A loop over single elements in steps of a vector."""
    version, loop = p._version, cursor._loop
    call = loop.body[0]
    if len(loop.body) != 1 or not isinstance(call, Call):
        raise SchedulingError(
            f"the body of loop {loop.variable} is not just one call",
            place=cursor,
            hint="fission_loop gives each call a loop of its own; of nested loops, the innermost is over elements",
        )
    place = CallCursor(version, call.id)
    moving = [d for d, i in enumerate(call.box) if moves_with(i, loop.variable)]
    one = moving[0] if len(moving) == 1 else 0
    i = call.box[one]
    if len(moving) != 1 or i.min is not loop.variable or i.max is not i.min or not is_one(loop.step):
        raise SchedulingError(
            f"an iteration of loop {loop.variable} is not one element of {call.func.name}",
            place=cursor,
            hint="vectorize takes a dimension of a call, or a loop that splits one by 1",
        )
    _require_vectors(p, place, one)
    known = version.facts_at(call.id)
    end, limit = loop.variable + (width - 1), bounds_of_dim(call, one, version.box_at(call.id))
    piece = Interval(loop.variable, end if prove(limit.max <= loop.range.max, known) else minimum(end, loop.range.max))
    changed = with_body(with_range(loop, loop.range, as_expr(width)), (with_interval(call, one, piece),))
    edit = Edit(version)
    edit.replace(loop.id, (changed,), "made it a loop over vectors")
    new = settle(edit, "vectorize")
    return new, (LoopCursor(new._version, loop.id), CallCursor(new._version, call.id))


def _require_vectors(p: Pipeline, place: CallCursor, d: int) -> None:
    """Raises `SchedulingError` where C makes no vectors of a call along a dimension."""
    func = place._call.func
    operation, names = func.operation, func.dim_names()
    if isinstance(operation, Accumulation) and operation.stage is not Stage.FINISH and d == 0:
        raise SchedulingError(f"each piece of {func.name} goes on from the one before it", place=place)
    if formula_of(func) is None:
        raise SchedulingError(
            f"{func.name} is no arithmetic that C knows",
            place=place,
            hint="sl.arithmetic describes what a func computes; split_loop gives a callback pieces",
        )
    if d != len(names) - 1:
        raise SchedulingError(
            f"elements of {func.name} follow each other along {names[-1]}, and not along {names[d]}",
            place=place,
            hint=f'vectorize "{func.name}.{names[-1]}", or split_loop along {names[d]}',
        )
