"""Primitives that put what a block touches of a buffer into a buffer of its own.

The copies on the way in and out are copies that slinky understands, from coordinates to the same coordinates. So what
the block touches holds, at each coordinate, the element that the buffer has there; that it is there in time, and that
the buffer has it again before somebody asks for it, is proved like anything else.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from slinky.cursors.base import InvalidCursor
from slinky.cursors.cursors import AllocCursor, BlockCursor, CallCursor
from slinky.cursors.editing import Edit, Gap
from slinky.cursors.versions import Version
from slinky.errors import OperationError, SchedulingError, cited
from slinky.ir.copies import with_names
from slinky.ir.operations import Copy, CopySource
from slinky.ir.regions import global_dtypes
from slinky.ir.scopes import over_loops
from slinky.ir.statements import Alloc, Call, InputPort, LoweredFunc, OutputPort
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.touches import calls_inside, reads_of_call, writes_of_call
from slinky.sched.operation import sched_op
from slinky.sched.passing import named_dims
from slinky.sched.primitives.rewriting import require_divisors, require_known_symbols
from slinky.sched.returned import StageBufferCursors
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import maximum, minimum, variable
from slinky.symbolic.intervals import Box, Interval, hull, point
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import symbols


@sched_op(StageBufferCursors)
def stage_buffer(p: Pipeline, block: BlockCursor, buffer: str, region: Sequence[Interval] | None = None) -> Any:
    """Let a block use a copy of what it touches of a buffer: what it reads is loaded before, what it writes is stored
    behind it.

        >>> import examples  # small pipelines, in the repository of slinky
        >>> p = split_loop(examples.blur(), "blur.x", 64)
        >>> print(p.body()[2:])
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
        >   alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   scaled[:] = scale(inp[:])
        >   for x in out.x.min..out.x.max step 64:
              out[x .. x + 63] = blur(scaled[x - 1 .. x + 64])
        >>> print(stage_buffer(p, "blur", "scaled").body()[2:])
          pipeline blur(inp: float32[1]) -> (out: float32[1]):
            check inp.x.min <= out.x.min - 1
            check out.x.max <= inp.x.max - 1
        >   alloc scaled: float32[out.x.min - 1 .. out.x.max + 1]
        >   scaled[:] = scale(inp[:])
        >   for x in out.x.min..out.x.max step 64:
              alloc scaled_1: float32[x - 1 .. min(out.x.max + 1, x + 64)]
              scaled_1[:] = load(scaled[:])
              out[x .. x + 63] = blur(scaled_1[x - 1 .. x + 64])

    So a callback can be given rows that lie side by side (`set_layout`), or write to memory that is small and near. Of
    what the block writes itself, nothing is loaded where that is shown to suffice.

    Parameters:
        region: what to copy, an interval for each dimension, of parameters and loops around. By default what the block
            touches, over all iterations of the loops in it.

    Refused: a buffer that the block does not touch, or that is not there before it; a region that does not hold what
    the block touches; a block of which it is not shown that it writes all of the box that is stored, and loads that do
    not find all that they copy.

    Cursors:
        alloc: the allocation of the copy.
        load: the copy in; an invalid cursor if nothing is loaded.
        block: the block.
        store: the copy out; an invalid cursor if nothing is stored.
    """
    version, ids = p._version, block._ids()
    if not isinstance(buffer, str):
        raise OperationError(f"the buffer to stage is given by its name, got {cited(buffer)}")
    source = _Source.of(version, ids[0], buffer, block)
    read, written = source.touched(version, ids)
    if read is None and written is None:
        raise SchedulingError(f"the block neither reads nor writes {buffer}", place=block)
    if region is not None:
        _require_region(version, ids[0], region, source)
    refused: SchedulingError | None = None
    for loaded in _what_to_load(read, written, region, version.facts_at(ids[0])):
        edit = Edit(version)
        alloc = source.staged(edit, _region(edit, version, ids[0], region, (read, written)))
        load = None if loaded is None else _copy(version, alloc, "load", loaded, (buffer, alloc.buffer))
        store = None if written is None else _copy(version, alloc, "store", written, (alloc.buffer, buffer))
        edit.insert(Gap.before(ids[0]), (alloc,) if load is None else (alloc, load))
        if store is not None:
            edit.insert(Gap.after(ids[-1]), (store,))
        source.redirect(edit, ids, alloc.buffer)
        try:
            new = settle(edit, "stage_buffer")
        except SchedulingError as error:
            refused = error
            continue
        changed = new._version
        first, last = (InvalidCursor() if call is None else CallCursor(changed, call.id) for call in (load, store))
        return new, (AllocCursor(changed, alloc.id), first, BlockCursor(changed, ids[0], ids[-1]), last)
    assert refused is not None
    raise refused


def _what_to_load(
    read: Box | None, written: Box | None, region: Sequence[Interval] | None, known: Facts
) -> Iterator[Box | None]:
    """What to load, in the order in which to try. Of a block that writes what it reads, nothing, or what it does not
    write, if it writes one end of that."""
    if written is None:
        yield read if region is None else tuple(region)
        return
    yield None
    if read is None:
        return
    if region is not None:
        yield tuple(region)
        return
    for d, (i, own) in enumerate(zip(read, written, strict=True)):
        if prove(i.max <= own.max, known):
            yield (*read[:d], Interval(i.min, simplify(minimum(i.max, own.min - 1), known)), *read[d + 1 :])
        if prove(own.min <= i.min, known):
            yield (*read[:d], Interval(simplify(maximum(i.min, own.max + 1), known), i.max), *read[d + 1 :])
    yield read


@attrs.frozen
class _Source:
    """A buffer, as it is seen where a block begins: its allocation is None if it is a parameter."""

    name: str
    dtype: np.dtype[Any]
    dims: tuple[str, ...]
    alloc: Alloc | None

    @classmethod
    def of(cls, version: Version, at: int, name: str, block: BlockCursor) -> _Source:
        """The buffer of a name. Raises `SchedulingError` if there is none."""
        alloc = version.alloc_of(name, at)
        if alloc is not None and alloc.id != at:
            return cls(name, alloc.dtype, alloc.dims, alloc)
        program = version.program
        dims = {p.name: p.dims for p in (*program.inputs, *program.outputs)}
        dims.update((constant.name, constant.dims) for constant in program.constants)
        if name not in dims:
            raise SchedulingError(f"there is no buffer {name!r} where the block begins", place=block)
        return cls(name, global_dtypes(program)[name], dims[name], None)

    def calls(self, version: Version, ids: Sequence[int]) -> list[Call]:
        """The calls in a block that touch it."""
        inside = [call for i in ids for call in calls_inside(version, i)]
        return [
            c for c in inside if self.name in (*c.reads, *c.writes) and version.alloc_of(self.name, c.id) is self.alloc
        ]

    def touched(self, version: Version, ids: Sequence[int]) -> tuple[Box | None, Box | None]:
        """What a block reads of it, and what it writes, over all iterations of the loops inside."""
        around = {loop.id for loop in version.loops_around(ids[0])}
        known = version.facts_at(ids[0])
        found: list[Box | None] = []
        for touches_of in (reads_of_call, writes_of_call):
            boxes: list[Box] = []
            for call in self.calls(version, ids):
                inner = [loop for loop in reversed(version.loops_around(call.id)) if loop.id not in around]
                for name, touch in touches_of(version, call):
                    if name == self.name:
                        boxes.append(tuple(over_loops(i, inner, touch.known) for i in touch.region))
            whole = functools.reduce(lambda a, b: tuple(map(hull, a, b)), boxes) if boxes else None
            found.append(None if whole is None else _simplified(whole, known))
        return found[0], found[1]

    def staged(self, edit: Edit, box: Box) -> Alloc:
        """An allocation that stands for it; not yet placed."""
        alloc = Alloc(edit.fresh_buffer(self.name), self.dtype, self.dims, box, (None,) * len(box))
        if self.alloc is None:
            edit.staged[alloc.id] = self.name
        else:
            edit.copies[alloc.id] = edit.copies.get(self.alloc.id, self.alloc.id)
        return alloc

    def redirect(self, edit: Edit, ids: Sequence[int], name: str) -> None:
        """Let the calls of a block use another buffer in its place."""
        for call in self.calls(edit.version, ids):
            edit.update(with_names(call, {self.name: name}))


def _require_region(version: Version, at: int, region: object, source: _Source) -> None:
    """Raise `OperationError` unless a region has an interval for each dimension, of what is known at a place."""
    is_region = isinstance(region, (tuple, list)) and all(isinstance(i, Interval) for i in region)
    if not is_region or len(region) != len(source.dims):  # type: ignore[arg-type]
        raise OperationError(
            f"the region must be a list of {len(source.dims)} intervals, such as sl.interval(0, 3), got {cited(region)}"
        )
    for i in region:  # type: ignore[attr-defined]
        for end in (i.min, i.max):
            require_known_symbols(version, end, "the region", version.loops_around(at))


def _region(
    edit: Edit, version: Version, at: int, region: Sequence[Interval] | None, touched: tuple[Box | None, Box | None]
) -> Box:
    """What the copy holds: a region that is given, or all that is touched."""
    known = version.facts_at(at)
    if region is None:
        boxes = [box for box in touched if box is not None]
        return _simplified(functools.reduce(lambda a, b: tuple(map(hull, a, b)), boxes), known)
    for i in region:
        for end in (i.min, i.max):
            edit.add_scalars(symbols(end))
            require_divisors(edit, end, "the region", known)
    return tuple(region)


def _simplified(box: Box, known: Facts) -> Box:
    return tuple(Interval(simplify(i.min, known), simplify(i.max, known)) for i in box)


def _copy(version: Version, alloc: Alloc, name: str, box: Box, operands: tuple[str, str]) -> Call:
    """A call that copies a box from one buffer to the same coordinates of another."""
    source, target = operands
    func = _plain_copy(_free_name(version, name), alloc.dims, alloc.dtype)
    return Call(func, box, (source,), (target,))


def _free_name(version: Version, name: str) -> str:
    """A name that no func has: the one that is wanted, or that with a number."""
    taken = version.names()
    names = itertools.chain((name,), (f"{name}_{k}" for k in itertools.count(1)))
    return next(each for each in names if ("call", each) not in taken)


def _plain_copy(name: str, dims: Sequence[str], dtype: np.dtype[Any]) -> LoweredFunc:
    own = tuple(variable(f"{name}.{dim}") for dim in named_dims(dims))  # loops are named after them
    places = tuple(variable(f"d{n}") for n in range(len(dims)))
    source = CopySource(places, (None,) * len(dims), (None,) * len(dims))
    return LoweredFunc(
        name,
        Copy(dims=places, sources=(source,)),
        own,
        (InputPort(tuple(map(point, own)), dtype),),
        (OutputPort(tuple(range(len(dims))), dtype),),
    )
