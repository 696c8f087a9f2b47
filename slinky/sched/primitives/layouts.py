"""Primitives on how buffers lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slinky.cursors.answers import dim_position
from slinky.cursors.cursors import AllocCursor
from slinky.cursors.editing import Edit
from slinky.errors import OperationError, SchedulingError
from slinky.ir.copies import with_fields
from slinky.ir.statements import LARGEST_ALIGNMENT, Alloc, Layout
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, LAYOUT_ALONE, Kept
from slinky.sched.operation import sched_op
from slinky.sched.returned import SetLayoutCursors
from slinky.symbolic.expressions import Expr, constant, is_power_of_two, maximum


@sched_op(SetLayoutCursors)
def set_layout(p: Pipeline, alloc: AllocCursor, order: Sequence[str | int], *, alignment: int = 1) -> Any:
    """Store a buffer with its dimensions in another order: the last of them is contiguous.

        >>> import slinky as sl, numpy as np
        >>> y, x = sl.variables("y x")
        >>> a, t, b = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "t", "b"))
        >>> funcs = sl.Func(np.negative, [a[y, x]], [t[y, x]], name="f"), sl.Func(np.square, [t[y, x]], [b[y, x]])
        >>> p = sl.build_pipeline([a], [b])
        >>> p = set_layout(p, "alloc t", ("x", "y"))
        >>> print(p)
        pipeline square(a: float32[2]) -> (b: float32[2]):
          check a.y.min <= b.y.min
          check b.y.max <= a.y.max
          check a.x.min <= b.x.min
          check b.x.max <= a.x.max
          alloc t: float32[b.y.min..b.y.max, b.x.min..b.x.max] strides (4, max(4*b.y.max - 4*b.y.min + 4, 4))
          t[:, :] = f(a[:, :])
          b[:, :] = square(t[:, :])

    Callbacks see the same elements at the same coordinates; only the strides of their arrays are others. Good where a
    buffer is written or read along another dimension than its last.

    Parameters:
        order: all dimensions, by name or position, the outermost first.
        alignment: the first element, and each row of a dimension whose elements are apart, begin at a multiple of so
            many bytes: a power of two, up to 4096.

    Refused: a buffer that is folded, which lies row behind row.

    Cursors:
        alloc: the allocation.
    """
    old = alloc._alloc
    dims = _order(old, order)
    if not is_power_of_two(alignment) or alignment > LARGEST_ALIGNMENT:
        raise OperationError(f"an alignment is a power of two, up to {LARGEST_ALIGNMENT}, got {alignment!r}")
    for d, fold in enumerate(old.folds):
        if fold is not None:
            raise SchedulingError(
                f"{old.buffer} is folded along {old.dims[d]}, so its rows lie one behind the other", place=alloc
            )
    edit = Edit(p._version)
    edit.update(with_fields(old, layout=Layout(_strides(old, dims, int(alignment)), int(alignment))))
    new = settle(edit, "set_layout", Kept(LAYOUT_ALONE, ALL_BUT_CHECKS))
    return new, (AllocCursor(new._version, old.id),)


def _order(alloc: Alloc, order: object) -> list[int]:
    """The dimensions by position, each once."""
    if isinstance(order, str) or not isinstance(order, Sequence):
        raise OperationError(f"an order is a list of all dimensions, such as {tuple(alloc.dims)}, got {order!r}")
    found = [dim_position(alloc.dims, dim, f"buffer {alloc.buffer}") for dim in order]
    if sorted(found) != list(range(len(alloc.dims))):
        raise OperationError(f"an order names each of the dimensions {', '.join(alloc.dims)} once, got {order!r}")
    return found


def _strides(alloc: Alloc, order: Sequence[int], alignment: int) -> tuple[Expr, ...]:
    """The strides of the dimensions, in bytes. Those of rows are rounded up to the alignment."""
    strides: dict[int, Expr] = {}
    stride: Expr = constant(alloc.dtype.itemsize)
    for place, d in enumerate(reversed(order)):
        if place:
            stride = (stride + alignment - 1) // alignment * alignment
        strides[d] = stride
        stride = stride * maximum(alloc.box[d].extent, 1)
    return tuple(strides[d] for d in range(len(order)))
