"""Primitives that take a buffer to pieces: one buffer for each coordinate of a dimension.

Idea. A buffer of which each access touches a single known coordinate of a dimension is as many buffers in one. Each of
these has all dimensions, and holds one coordinate of this one: so a callback is given arrays of the shape that it knew,
and coordinates stay what they are. As a copy of the buffer, it stands for that: its elements are produced by the same
funcs from the same sources. What is asked of everybody who reads it is asked by the gate.

Invariant: each access of the buffer before is an access of the piece that holds its coordinate, and of no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from slinky.cursors.answers import dim_position
from slinky.cursors.cursors import AllocCursor, statement_cursor
from slinky.cursors.editing import Edit, Gap
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.blocks import blocks_of_dims
from slinky.ir.copies import with_bounds, with_fields, with_identity, with_operands
from slinky.ir.statements import Alloc, Call, Layout, fresh_identity
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.refusals import Unproved
from slinky.sched.legality.touches import Touch, reads_of_call, writes_of_call
from slinky.sched.operation import sched_op
from slinky.sched.remedies import PlaceOf, Remedy, first, unfold_first
from slinky.sched.returned import UnrollBufferCursors
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import constant_value, equal
from slinky.symbolic.intervals import Interval, point
from slinky.symbolic.proofs import prove
from slinky.symbolic.traversal import symbols

MOST_PIECES = 64
"""A buffer of more coordinates than this is not meant."""


@sched_op(UnrollBufferCursors)
def unroll_buffer(p: Pipeline, alloc: AllocCursor, dim: str | int) -> Any:
    """Let each coordinate of a dimension have a buffer of its own, where every access touches a known one.

        >>> import slinky as sl, numpy as np
        >>> c, x = sl.variables("c x")
        >>> a, t = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "t"))
        >>> b = sl.BufferExpr("b", np.float32, 1)
        >>> root = sl.Func(np.sqrt, [a[c, x]], [t[c, x]], name="root")
        >>> gap = sl.Func(np.subtract, [t[1, x], t[0, x]], [b[x]], name="gap")
        >>> p = cut_call(sl.build_pipeline([a], [b]), "root.c", 1)
        >>> print(p.body()[4:])
          pipeline gap(a: float32[2]) -> (b: float32[1]):
            check a.c.min <= 0
            check 1 <= a.c.max
            check a.x.min <= b.x.min
            check b.x.max <= a.x.max
        >   alloc t: float32[0..1, b.x.min..b.x.max]
        >   t[0, :] = root(a[0, :])
        >   t[1, :] = root(a[1, :])
        >   b[:] = gap(t[1, :], t[0, :])
        >>> print(unroll_buffer(p, "alloc t", "c").body()[4:])
          pipeline gap(a: float32[2]) -> (b: float32[1]):
            check a.c.min <= 0
            check 1 <= a.c.max
            check a.x.min <= b.x.min
            check b.x.max <= a.x.max
        >   alloc t: float32[0, b.x.min..b.x.max]
        >   alloc t_1: float32[1, b.x.min..b.x.max]
        >   t[:, :] = root(a[:, :])
        >   t_1[:, :] = root(a[:, :])
        >   b[:] = gap(t_1[:, :], t[:, :])

    The buffers have the dimension still, with one coordinate: callbacks see arrays of the shapes that they know. Each
    can now be computed, stored, folded and reused on its own. The first keeps the name; coordinates that nobody touches
    have no buffer.

    Parameters:
        dim: the dimension, by name or position: its extent is the same number in every run, 2 to 64.

    Refused: an extent that is another in every run, or one that is too large; an access that is not shown to touch just
    one coordinate (cut or unroll it first); a dimension that is folded; a buffer that nobody uses; pieces that lie in
    one memory, and are used at the same time.

    Cursors:
        allocs: the allocations, by coordinate.
    """
    version, old = p._version, alloc._alloc
    d = dim_position(old.dims, dim, f"buffer {old.buffer}")
    if old.folds[d] is not None:
        raise SchedulingError(
            f"{old.buffer} is folded along {old.dims[d]}: its coordinates share memory",
            place=alloc,
            remedies=lambda: [unfold_first("store it in full first", old, d)],
        )
    split = _Split(version, old, d, _count(alloc, d))
    uses = [*split.uses()]
    if not uses:
        raise SchedulingError(f"nobody uses {old.buffer}", place=alloc)
    edit = Edit(version)
    pieces = _pieces(edit, old, d, sorted({use.coordinate for use in uses}))
    _redirect(edit, uses, {k: piece.buffer for k, piece in pieces.items()})
    new = settle(edit, "unroll_buffer")
    return new, (tuple(AllocCursor(new._version, piece.id) for piece in pieces.values()),)


def _count(alloc: AllocCursor, d: int) -> int:
    """How many coordinates a dimension has in every run."""
    old, version = alloc._alloc, alloc._version
    name = f"{old.buffer}.{old.dims[d]}"
    count = constant_value(simplify(old.box[d].extent, version.facts_at(old.id)))
    if count is None:
        raise SchedulingError(
            f"not shown that {name} has as many coordinates in every run",
            place=alloc,
            hint="resize_dim says what it holds, assume_shape how large the outputs are",
        )
    if count > MOST_PIECES:
        raise SchedulingError(f"{name} has {count} coordinates, more than {MOST_PIECES}", place=alloc)
    if count < 2:
        raise SchedulingError(f"{name} has {'one coordinate' if count == 1 else 'no coordinates'}", place=alloc)
    return count


@attrs.frozen
class _Use:
    """An access of a buffer by a port of a call, given by position, that touches this coordinate."""

    call: int
    port: int
    is_read: bool
    coordinate: int


@attrs.frozen
class _Split:
    """A buffer, of so many coordinates along a dimension."""

    version: Version
    alloc: Alloc
    dim: int
    count: int

    def uses(self) -> Iterator[_Use]:
        """Who touches which coordinate: numbers of coordinates from the first on. Raises `SchedulingError` for an
        access of which that is not shown."""
        version = self.version
        users = dict.fromkeys((*version.writers_of(self.alloc), *version.readers_of(self.alloc)))
        for identity in users:
            call = version.statement(identity)
            assert isinstance(call, Call)
            for is_read, touches in ((False, writes_of_call(version, call)), (True, reads_of_call(version, call))):
                for port, (buffer, touch) in enumerate(touches):
                    if buffer == self.alloc.buffer:
                        yield _Use(identity, port, is_read, self._coordinate(touch, "reads" if is_read else "writes"))

    def _coordinate(self, touch: Touch, does: str) -> int:
        i, low, known = touch.region[self.dim], self.alloc.box[self.dim].min, touch.known
        if prove(i.max <= i.min, known):
            guess = constant_value(simplify(i.min - low, known))
            if guess is not None and 0 <= guess < self.count:
                return guess
            for k in range(self.count):
                if prove(equal(i.min, low + k), known):
                    return k
            lacking = Unproved(self.version, equal(i.min, low), known)
        else:
            lacking = Unproved(self.version, i.max <= i.min, known)
        raise SchedulingError(
            f"not shown that {touch.call.func.name} {does} one known coordinate of {self.alloc.buffer} along "
            f"{self.alloc.dims[self.dim]}",
            place=statement_cursor(self.version, touch.call.id),
            condition=lacking,
            hint="cut_call takes a call to pieces, split_loop by 1 and unroll_loop to single coordinates",
            remedies=lambda: self._remedies(touch.call, i),
        )

    def _remedies(self, call: Call, i: Interval) -> list[Remedy]:
        moving = symbols(i.min) | symbols(i.max)
        loops = [loop for loop in reversed(self.version.loops_around(call.id)) if loop.variable in moving]
        return [first("unroll the loop first", ("unroll_loop", PlaceOf(loop.id))) for loop in loops]


def _pieces(edit: Edit, old: Alloc, d: int, coordinates: list[int]) -> dict[int, Alloc]:
    """Put an allocation for each of these coordinates, counted from the first, in the place of one for all of them."""
    pieces: dict[int, Alloc] = {}
    for k in coordinates:
        box = (*old.box[:d], point(old.box[d].min + k), *old.box[d + 1 :])
        piece = with_fields(with_bounds(old, box, old.folds), layout=_layout(old, d))
        if pieces:
            last = [*pieces.values()][-1].id
            piece = with_identity(piece, fresh_identity())
            piece = with_fields(piece, buffer=edit.fresh_buffer(old.buffer))
            edit.copies[piece.id] = old.id
            edit.insert(Gap.after(last), (piece,))
        else:
            edit.update(piece)
        pieces[k] = piece
    return pieces


def _layout(old: Alloc, d: int) -> Layout | None:
    """The layout of a piece: one coordinate needs no blocks."""
    blocks = blocks_of_dims(old)
    if not blocks or blocks[d] is None:
        return old.layout
    others = (*blocks[:d], None, *blocks[d + 1 :])
    return Layout((None,) * len(blocks), blocks=others) if any(others) else None


def _redirect(edit: Edit, uses: list[_Use], names: dict[int, str]) -> None:
    """Let each access go to the buffer of its coordinate."""
    for use in uses:
        call = edit.statement(use.call)
        assert isinstance(call, Call)
        reads, writes = list(call.reads), list(call.writes)
        (reads if use.is_read else writes)[use.port] = names[use.coordinate]
        edit.update(with_operands(call, tuple(reads), tuple(writes)))
