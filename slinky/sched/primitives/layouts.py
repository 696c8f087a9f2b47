"""Primitives on how buffers lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slinky.cursors.answers import dim_position
from slinky.cursors.cursors import AllocCursor, statement_cursor
from slinky.cursors.editing import Edit
from slinky.errors import OperationError, SchedulingError, cited
from slinky.ir.blocks import blocks_of_dims, is_stored_by_blocks, words_of_layout
from slinky.ir.copies import with_fields
from slinky.ir.statements import LARGEST_ALIGNMENT, Alloc, Layout
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, LAYOUT_ALONE, Kept
from slinky.sched.legality.refusals import Unproved
from slinky.sched.operation import sched_op
from slinky.sched.primitives.rewriting import require_divisors, require_known_symbols
from slinky.sched.remedies import PlaceOf, first, unfold_first
from slinky.sched.returned import DivideDimCursors, MergeDimsCursors, SetLayoutCursors
from slinky.symbolic.expressions import Expr, constant, equal, is_integer, is_power_of_two, maximum
from slinky.symbolic.intervals import not_empty
from slinky.symbolic.proofs import prove
from slinky.symbolic.traversal import symbols


@sched_op(SetLayoutCursors)
def set_layout(
    p: Pipeline,
    alloc: AllocCursor,
    order: Sequence[str | int],
    *,
    strides: Sequence[Expr | None] | None = None,
    alignment: int = 1,
) -> Any:
    """Store a buffer with its dimensions in another order: the last of them is contiguous, unless strides are given.

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
        strides: for each dimension of the buffer, how many bytes neighbours along it are apart, an expression of
            parameters, or None for as few as there can be. Rows so far apart that they do not fall on the same lines of
            a cache, say, or with room for whole vectors behind them.
        alignment: the first element, and each row of a dimension whose elements are apart, begin at a multiple of so
            many bytes: a power of two, up to 4096.

    Refused: a buffer that is folded, which lies row behind row; strides that are not shown to leave room for the
    dimensions that lie within, in the order given, now and in every rewrite that follows, or to be multiples of the
    alignment.

    Cursors:
        alloc: the allocation.
    """
    old = alloc._alloc
    dims = _order(old, order)
    if not is_power_of_two(alignment) or alignment > LARGEST_ALIGNMENT:
        raise OperationError(f"an alignment is a power of two, up to {LARGEST_ALIGNMENT}, got {cited(alignment)}")
    for d, fold in enumerate(old.folds):
        if fold is not None:
            raise SchedulingError(
                f"{old.buffer} is folded along {old.dims[d]}, so its rows lie one behind the other", place=alloc
            )
    edit = Edit(p._version)
    layout = Layout(strides_in_order(edit, old, dims, strides, int(alignment)), int(alignment))
    edit.update(with_fields(old, layout=layout))
    new = settle(edit, "set_layout", Kept(LAYOUT_ALONE, ALL_BUT_CHECKS))
    return new, (AllocCursor(new._version, old.id),)


@sched_op(DivideDimCursors)
def divide_dim(p: Pipeline, alloc: AllocCursor, dim: str | int, factor: int) -> Any:
    """Store a dimension by blocks: what lies in one block lies together, and blocks one behind the other.

        >>> import slinky as sl, numpy as np
        >>> y, x = sl.variables("y x")
        >>> a, t, b = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "t", "b"))
        >>> funcs = sl.Func(np.negative, [a[y, x]], [t[y, x]], name="f"), sl.Func(np.square, [t[y, x]], [b[y, x]])
        >>> p = split_loop(split_loop(sl.build_pipeline([a], [b]), "f.x", 16), "square.x", 16)
        >>> p = divide_dim(p, "alloc t", "x", 16)
        >>> print(p.body()[4:])
          pipeline square(a: float32[2]) -> (b: float32[2]):
            check a.y.min <= b.y.min
            check b.y.max <= a.y.max
            check a.x.min <= b.x.min
            check b.x.max <= a.x.max
        >   alloc t: float32[b.y.min..b.y.max, b.x.min..b.x.max] blocks (_, 16)
        >   for x in b.x.min..b.x.max step 16:
              t[:, x .. x + 15] = f(a[:, x .. x + 15])
        >   for x in b.x.min..b.x.max step 16:
              b[:, x .. x + 15] = square(t[:, x .. x + 15])

    Callbacks see the same elements at the same coordinates, in arrays of the rank that they know; of a whole block they
    are contiguous. So panels of a matrix are packed, say, by a copy (`stage_buffer`) that is stored by blocks. Several
    dimensions may be: tiles then lie together. Blocks begin at the first coordinate; room is made for whole ones.

    Parameters:
        dim: the dimension, by name or position.
        factor: how many coordinates a block has, 1 or more.

    Refused: an access that is not shown to lie in one block (split the call by the length of one first), now and in
    every rewrite that follows; a buffer that is folded, or lies in the memory of another, or has strides that are asked
    for; a dimension that is divided already.

    Cursors:
        alloc: the allocation.
    """
    old = alloc._alloc
    d = dim_position(old.dims, dim, f"buffer {old.buffer}")
    if not is_integer(factor) or factor < 1:
        raise OperationError(f"a block has a number of coordinates, 1 or more, got {cited(factor)}")
    _require_plain_rows(alloc)
    blocks = blocks_of_dims(old) or (None,) * len(old.dims)
    if blocks[d] is not None:
        raise SchedulingError(
            f"{old.buffer}.{old.dims[d]} is stored by blocks of {blocks[d]} already",
            place=alloc,
            remedies=lambda: [first("merge them first", ("merge_dims", PlaceOf(old.id), old.dims[d]))],
        )
    return _by_blocks(p, old, (*blocks[:d], int(factor), *blocks[d + 1 :]), "divide_dim")


@sched_op(MergeDimsCursors)
def merge_dims(p: Pipeline, alloc: AllocCursor, dim: str | int) -> Any:
    """Store a dimension in one piece again: the inverse of `divide_dim`. Always legal.

        >>> import slinky as sl, numpy as np
        >>> (x,) = sl.variables("x")
        >>> a, t, b = (sl.BufferExpr(name, np.float32, 1) for name in ("a", "t", "b"))
        >>> funcs = sl.Func(np.negative, [a[x]], [t[x]], name="f"), sl.Func(np.square, [t[x]], [b[x]])
        >>> p = split_loop(split_loop(sl.build_pipeline([a], [b]), "f.x", 16), "square.x", 16)
        >>> p, (alloc,) = divide_dim(p, "alloc t", "x", 16, rc=True)
        >>> print(alloc.blocks(), merge_dims(p, alloc, "x").forward(alloc).blocks())
        (16,) (None,)

    Parameters:
        dim: the dimension, by name or position.

    Refused: a dimension that is not divided.

    Cursors:
        alloc: the allocation.
    """
    old = alloc._alloc
    d = dim_position(old.dims, dim, f"buffer {old.buffer}")
    blocks = blocks_of_dims(old) or (None,) * len(old.dims)
    if blocks[d] is None:
        raise SchedulingError(f"{old.buffer}.{old.dims[d]} is not stored by blocks", place=alloc)
    return _by_blocks(p, old, (*blocks[:d], None, *blocks[d + 1 :]), "merge_dims")


def _require_plain_rows(alloc: AllocCursor) -> None:
    """Raise `SchedulingError` for a buffer that lies in memory in a way of its own."""
    old = alloc._alloc
    folded = next((d for d, fold in enumerate(old.folds) if fold is not None), None)
    if folded is not None:
        raise SchedulingError(
            f"{old.buffer} is folded along {old.dims[folded]}, so its rows lie one behind the other",
            place=alloc,
            remedies=lambda: [unfold_first("store it in full first", old, folded)],
        )
    if old.layout is not None and not is_stored_by_blocks(old):
        raise SchedulingError(f"{old.buffer} {words_of_layout(old)}", place=alloc)


def _by_blocks(p: Pipeline, old: Alloc, blocks: tuple[int | None, ...], operation: str) -> Any:
    """A buffer stored by blocks of these lengths."""
    layout = Layout((None,) * len(old.dims), blocks=blocks) if any(blocks) else None
    edit = Edit(p._version)
    edit.update(with_fields(old, layout=layout))
    new = settle(edit, operation, Kept(LAYOUT_ALONE, ALL_BUT_CHECKS))
    return new, (AllocCursor(new._version, old.id),)


def _order(alloc: Alloc, order: object) -> list[int]:
    """The dimensions by position, each once."""
    if isinstance(order, str) or not isinstance(order, Sequence):
        raise OperationError(f"an order is a list of all dimensions, such as {tuple(alloc.dims)}, got {cited(order)}")
    found = [dim_position(alloc.dims, dim, f"buffer {alloc.buffer}") for dim in order]
    if sorted(found) != list(range(len(alloc.dims))):
        raise OperationError(f"an order names each of the dimensions {', '.join(alloc.dims)} once, got {cited(order)}")
    return found


def strides_in_order(
    edit: Edit, alloc: Alloc, order: Sequence[int], given: Sequence[Expr | None] | None, alignment: int
) -> tuple[Expr, ...]:
    """The strides of the dimensions, in bytes: those that are given, or else the least, rounded up to the alignment."""
    wanted = [None] * len(order) if given is None else list(given)
    if len(wanted) != len(order):
        raise OperationError(
            f"strides are one for each of the dimensions {', '.join(alloc.dims)}, or None, got {len(wanted)}"
        )
    strides: dict[int, Expr] = {}
    stride: Expr = constant(alloc.dtype.itemsize)
    for place, d in enumerate(reversed(order)):
        own = wanted[d]
        if own is not None:
            _require_room(edit, alloc, d, own, stride, alignment)
            stride = own
        elif place:
            stride = (stride + alignment - 1) // alignment * alignment
        strides[d] = stride
        stride = stride * maximum(alloc.box[d].extent, 1)
    return tuple(strides[d] for d in range(len(order)))


def _require_room(edit: Edit, alloc: Alloc, d: int, given: Expr, least: Expr, alignment: int) -> None:
    """Raise `SchedulingError` for a stride that is not shown to leave room for what lies within, and to be aligned."""
    version, what = edit.version, f"the stride of {alloc.buffer} along {alloc.dims[d]}"
    require_known_symbols(version, given, what, version.loops_around(alloc.id))
    edit.add_scalars(symbols(given))
    known = version.facts_at(alloc.id)
    require_divisors(edit, given, what, known)
    known, place = known.also(not_empty(alloc.box)), statement_cursor(version, alloc.id)
    has_room, is_aligned = given >= least, equal(given % alignment, 0)
    if not prove(has_room, known):
        raise Unproved(version, has_room, known).refuse(
            f"{what} leaves room for what lies within", f"{what} leaves no room for what lies within", place=place
        )
    if not prove(is_aligned, known):
        rest = f"multiple of the alignment, {alignment}"
        raise Unproved(version, is_aligned, known).refuse(f"{what} is a {rest}", f"{what} is no {rest}", place=place)
