"""Primitives on copies: read or write past them, so that they need not run, or take them to pieces.

A copy that is read past is gone, with its memory: who read it reads the source. One that is written past is gone, too,
with the memory of its source: who made the source writes where the copy would have put it. In both cases no two names
share memory; it is the funcs that see a buffer in another way (`passing`), and what legality asks, it asks as always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import attrs

from slinky.cursors.cursors import CallCursor, statement_cursor
from slinky.cursors.editing import Edit, Gap
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.blocks import is_stored_by_blocks, words_of_layout
from slinky.ir.copies import with_box, with_func, with_operands
from slinky.ir.effects import bounds_of_dim
from slinky.ir.families import original, relative
from slinky.ir.operations import Copy, CopySource
from slinky.ir.regions import output_region
from slinky.ir.statements import Alloc, Call, InputPort, Limit, LoweredFunc, fresh_identity
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.containing import contains
from slinky.sched.legality.reasons import COPIES_SAY, SAME_ORDER_TWICE, Kept, Obligation
from slinky.sched.legality.refusals import with_more
from slinky.sched.legality.touches import reads_of_call
from slinky.sched.legality.values import are_equal_productions, equal_allocations
from slinky.sched.operation import sched_op
from slinky.sched.passing import (
    Passage,
    Range,
    inverse,
    known_source,
    not_implied,
    parts_of,
    passage_of,
    ranges_back,
    ranges_of,
    reading_through,
    writing_through,
)
from slinky.sched.primitives.rewriting import delete_with_idle_blocks, within
from slinky.sched.primitives.steady_state import has_steady_state, with_steady_state
from slinky.sched.returned import AliasCopyCursors, SplitBoundaryCursors
from slinky.symbolic.expressions import Expr, maximum, minimum
from slinky.symbolic.followed import followed
from slinky.symbolic.intervals import Box, Interval, not_empty, point
from slinky.symbolic.proofs import Facts, prove


@sched_op(AliasCopyCursors)
def alias_copy(p: Pipeline, copy: CallCursor) -> Any:
    """Do without a copy: let its readers read the source, or let what makes the source write to the target.

    A copy of an intermediate, transposed, that a func reads: it reads the source instead. Its callback is given the
    same array as before, as a view of the source (`view` in the program says how).

        >>> import slinky as sl, numpy as np
        >>> y, x = sl.variables("y x")
        >>> a, t, b = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "t", "b"))
        >>> transposed = sl.copies.transpose(a, t)
        >>> negative = sl.Func(np.negative, [t[y, x]], [b[y, x]])
        >>> p = sl.build_pipeline([a], [b], alias=False)
        >>> print(p.body()[4:])
          pipeline negative(a: float32[2]) -> (b: float32[2]):
            check a.x.min <= b.x.min
            check b.x.max <= a.x.max
            check a.y.min <= b.y.min
            check b.y.max <= a.y.max
        >   alloc t: float32[b.y.min..b.y.max, b.x.min..b.x.max]
        >   t[:, :] = transpose(a[:, :])
        >   b[:, :] = negative(t[:, :])
        >>> print(alias_copy(p, "transpose").body()[4:])
          pipeline negative(a: float32[2]) -> (b: float32[2]):
            check a.x.min <= b.x.min
            check b.x.max <= a.x.max
            check a.y.min <= b.y.min
            check b.y.max <= a.y.max
        >   b[:, :] = negative(view(a[:, :], [x, y]))

    If the target is an output of the pipeline, or is read where the source is not known to be, what produces the source
    writes to the target instead: parts of a concatenation come to lie where they belong from the start.

    Refused: calls that are no copies, and copies of several sources (`split_boundary` takes these to pieces); elements
    that are not shown to be within the edges of the source; for reading, a target that others write, too, or readers
    for which the source's name is another buffer's; for writing, a source that is an input of the pipeline, elements
    that stand for several, and what a copy divides. What is read or written otherwise is proved as for any rewrite.

    What is computed of the source and lies beyond the bounds of the target is not computed any more. Who reads past a
    copy gives values where it reads within the edges, and nowhere else, whatever comes later (`where` in the program,
    if the bounds of the caller's arrays do not say so by themselves).

    Cursors:
        calls: the calls that read the source, or write the target, in its place.
    """
    version, call = p._version, copy._call
    passage = passage_of(version, call)
    try:
        return _read_past(version, call, passage)
    except SchedulingError as error:
        reading = error
    if version.alloc_of(call.reads[0], call.id) is None:
        raise reading
    try:
        return _write_past(version, call, passage)
    except SchedulingError as error:
        writing = error
    neither = f"; nor can {call.writes[0]} be written in its place"
    raise SchedulingError(lambda: with_more(reading.reason + neither, f": {writing.reason}"), place=copy)


def _calls_on(version: Version, ids: Sequence[int], buffer: str, alloc: Alloc | None) -> list[Call]:
    """Of some calls, those for which a name stands for an allocation."""
    found = []
    for identity in ids:
        call = version.statement(identity)
        if isinstance(call, Call) and version.alloc_of(buffer, identity) is alloc:
            found.append(call)
    return found


def _require_no_layout(alloc: Alloc, other: str) -> None:
    """Raise `SchedulingError` for a buffer that lies as the user says, where another one would take its place."""
    if alloc.layout is not None:
        lies = "is" if is_stored_by_blocks(alloc) else "has"
        raise SchedulingError(f"{alloc.buffer} {words_of_layout(alloc)}, which {other} {lies} not")


# Reading the source ---------------------------------------------------------------------------------------------------


def _read_past(version: Version, call: Call, passage: Passage) -> Any:
    """Let the readers of a copy read its source."""
    (source,), (target,) = call.reads, call.writes
    alloc = version.alloc_of(target, call.id)
    if alloc is None:
        raise SchedulingError(f"{target} is an output of the pipeline, which must be written")
    _require_no_layout(alloc, source)
    writers = _calls_on(version, version.writers(target), target, alloc)
    if not all(are_equal_productions(version, w, call) for w in writers):
        raise SchedulingError(f"{target} is written by others than {call.func.name}, too")
    edit = Edit(version)
    funcs: dict[tuple[LoweredFunc, tuple[int, ...]], LoweredFunc] = {}
    readers = _calls_on(version, version.readers(target), target, alloc)
    known = version.base_facts()
    ranges = not_implied(ranges_of(passage, call.func), passage.index, version.global_box(source), known)
    for reader in readers:
        _require_equal_source(version, call, reader, source)
        ports = tuple(k for k, buffer in enumerate(reader.reads) if buffer == target)
        touches = reads_of_call(version, reader)
        for k in ports:
            touch = touches[k][1]
            if not passage.holds_in(touch.region, touch.known):
                raise SchedulingError(
                    f"not shown that all that {reader.func.name} reads of {target} lies within the edges of {source}"
                )
        key = (original(reader.func), ports)
        func = relative(funcs[key], reader.func.variant) if key in funcs else None
        if func is None:
            func = funcs[key] = _readable(reader, ports, passage, ranges, known, target)
        edit.update(_with_source(reader, ports, func, source))
    edit.delete(alloc.id, "read past it")
    for writer in writers:
        delete_with_idle_blocks(edit, writer.id, "read or wrote past it")
    new = settle(edit, "alias_copy", Kept(COPIES_SAY, (Obligation.VALUES,)))
    return new, (tuple(CallCursor(new._version, reader.id) for reader in readers),)


def _require_equal_source(version: Version, copy: Call, reader: Call, source: str) -> None:
    """Raise `SchedulingError` where the source of a copy has another name at a reader, or rather another buffer its
    name: one that is not shown to hold the same."""
    here, there = version.alloc_of(source, copy.id), version.alloc_of(source, reader.id)
    if here is None or there is None or here is there:
        return  # that it is in scope is shown as for any read
    same = equal_allocations(version)
    if same.get(here.id, here.id) != same.get(there.id, there.id):
        raise SchedulingError(f"{source} is another buffer where {reader.func.name} reads {copy.writes[0]}")


def _readable(
    reader: Call, ports: Sequence[int], passage: Passage, ranges: Sequence[Range], known: Facts, target: str
) -> LoweredFunc:
    func = reading_through(reader.func, ports, passage, ranges, known)
    if func is None:
        raise SchedulingError(f"{reader.func.name} cannot be given {target} as a view of the source")
    return func


def _with_source(reader: Call, ports: Sequence[int], func: LoweredFunc, buffer: str) -> Call:
    """A call of another func that reads a buffer by some of its ports."""
    reads = tuple(buffer if k in ports else other for k, other in enumerate(reader.reads))
    return with_operands(with_func(reader, func), reads, reader.writes)


# Writing the target ---------------------------------------------------------------------------------------------------


def _write_past(version: Version, call: Call, passage: Passage) -> Any:
    """Let what makes the source of a copy write to the target."""
    (source,), (target,) = call.reads, call.writes
    alloc, home = version.alloc_of(source, call.id), version.alloc_of(target, call.id)
    assert alloc is not None
    _require_no_layout(alloc, target)
    back = inverse(passage, output_region(call.func.outputs[0], call.box), alloc.dims)
    if back is None:
        raise SchedulingError(f"elements of {source} do not stand for one of {target} each")
    readers = _calls_on(version, version.readers(source), source, alloc)
    copies = [c for c in readers if c.func is call.func and c.writes == call.writes]
    others = [c for c in _calls_on(version, version.writers(target), target, home) if c.func is not call.func]
    _require_places(version, passage, back, alloc, copies, others)
    parts = parts_of(call.func, passage)
    if parts is None:
        raise SchedulingError(f"where {call.func.name} gives elements of {target} is no box")
    producers = _calls_on(version, version.writers(source), source, alloc)
    changed = [_writing_to(version, producer, alloc, target, back, parts) for producer in producers]
    known = version.base_facts()
    ranges = not_implied(ranges_of(passage, call.func), passage.dims, version.global_box(target), known)
    ranges = ranges_back(ranges, passage, back)
    changed += [_reading_from(r, source, target, back, ranges, known) for r in readers if r not in copies]
    edit = Edit(version)
    if home is not None:
        _move_before(edit, home, alloc)
    for each in changed:
        edit.update(each)
    edit.delete(alloc.id, "wrote past it")
    for copy in copies:
        delete_with_idle_blocks(edit, copy.id, "read or wrote past it")
    new = settle(edit, "alias_copy", Kept(COPIES_SAY, (Obligation.VALUES,)))
    for each in changed:
        found = new._version.alloc_of(target, each.id)
        if found is not None and (home is None or found.id != home.id):
            raise SchedulingError(f"{target} is another buffer where {each.func.name} uses {source}")
    return new, (tuple(CallCursor(new._version, each.id) for each in changed),)


def _require_places(
    version: Version, passage: Passage, back: Passage, alloc: Alloc, copies: Sequence[Call], others: Sequence[Call]
) -> None:
    """Raise `SchedulingError` where elements of the source are not shown to be copied, or, if the target has elements
    of others, to be copied by the one copy that there is."""
    box, known = back.box(alloc.box), version.facts_at(alloc.id).also(not_empty(alloc.box))
    if not passage.holds_in(box, known):
        raise SchedulingError(f"not shown that all of {alloc.buffer} lies within the edges that the copy has")
    places = [output_region(copy.func.outputs[0], copy.box) for copy in copies]
    if others and not (len(places) == 1 and contains(places[0], box, known)):
        (target,) = copies[0].writes
        raise SchedulingError(f"not shown that all of {alloc.buffer} has its place in what the copy writes of {target}")


def _writing_to(
    version: Version, producer: Call, alloc: Alloc, target: str, back: Passage, parts: Sequence[Limit]
) -> Call:
    """A call that makes the source, or a part of it, as one that writes it to the target."""
    if producer.func.multiples:
        raise SchedulingError(
            f"{producer.func.name} computes whole pieces of {alloc.buffer}, which {target} may have not"
        )
    if target in producer.reads:
        raise SchedulingError(f"{producer.func.name} reads {target}, and writes {alloc.buffer}")
    rewritten = writing_through(producer.func, back, parts)
    if rewritten is None:
        raise SchedulingError(f"{producer.func.name} cannot write {target} as it is")
    (port,) = producer.func.outputs
    own = list(producer.box)
    for d, limit in zip(port.dims, alloc.box, strict=True):
        own[d] = within(own[d], limit, version.facts_at(producer.id))
    new = with_func(with_box(producer, rewritten.box(tuple(own))), rewritten.func)
    return with_operands(new, producer.reads, (target,))


def _reading_from(reader: Call, source: str, target: str, back: Passage, ranges: Sequence[Range], known: Facts) -> Call:
    """Another reader of the source, as one that reads the target."""
    if target in reader.writes:
        raise SchedulingError(f"{reader.func.name} reads {source}, and writes {target}")
    ports = tuple(k for k, buffer in enumerate(reader.reads) if buffer == source)
    return _with_source(reader, ports, _readable(reader, ports, back, ranges, known, source), target)


def _move_before(edit: Edit, home: Alloc, alloc: Alloc) -> None:
    """Let the target be there before the source was: where it is not, right before the source's allocation."""
    version = edit.version
    a, b = version.entries[home.id], version.entries[alloc.id]
    if (a.parent, a.field) == (b.parent, b.field) and version.position(home.id) > version.position(alloc.id):
        edit.move(home.id, Gap.before(alloc.id))


# Pieces ---------------------------------------------------------------------------------------------------------------


@sched_op(SplitBoundaryCursors)
def split_boundary(p: Pipeline, copy: CallCursor) -> Any:
    """Take a copy to pieces: the inside, which is a plain copy, and the border; or the parts of an assembly.

        >>> import slinky as sl, numpy as np
        >>> a, b = (sl.BufferExpr(name, np.float32, 1) for name in ("a", "b"))
        >>> padded = sl.copies.pad(a, b, 2, 1)
        >>> p = sl.build_pipeline([a], [b], alias=False)
        >>> print(p)
        pipeline pad(a: float32[1]) -> (b: float32[1]):
          b[:] = pad(a[max(a.x.min, b.x.min - 2) .. min(a.x.max, b.x.max - 2)], fill=0.0)
        >>> print(split_boundary(p, "pad"))
        pipeline pad(a: float32[1]) -> (b: float32[1]):
          b[max(b.x.min, a.x.min + 2) .. min(b.x.max, a.x.max + 2)] = pad(a[max(a.x.min, b.x.min - 2) .. \
min(a.x.max, b.x.max - 2)])
          b[b.x.min .. min(b.x.max, a.x.min + 1)] = pad(fill=0.0)
          b[max(b.x.min, a.x.max + 3) .. b.x.max] = pad(fill=0.0)

    The inside of what is padded or extended, and the pieces of a concatenation or a stack, are plain copies, which
    `alias_copy` may do without. Pieces that are shown to be empty are left out.

    A copy of an input that is stored in a loop is made anew in each iteration, and most of these read nothing beyond an
    edge: the loop is cut into first iterations, steady state and last ones, and the steady state reads the input.

        >>> y, x = sl.variables("y x")
        >>> image, out = (sl.BufferExpr(name, np.float32, 2) for name in ("image", "out"))
        >>> rows = image.extended("mirror", dims=[0])[sl.interval(y - 1, y + 1), x]
        >>> blur = sl.Func(lambda rows, out: np.sum(rows, axis=0, out=out[0]), [rows], [out[y, x]], name="blur")
        >>> p, loop = sl.split_loop(sl.build_pipeline([image], [out]), "blur.y", 1, rc=True)
        >>> p = sl.store_at(sl.compute_at(p, "mirror", loop.outer), "alloc image_mirror", loop.outer)
        >>> print(p.body()[3:])
          pipeline blur(image: float32[2]) -> (out: float32[2]):
            check image.y.min <= image.y.max or out.y.max <= out.y.min - 1 or out.x.max <= out.x.min - 1
            check image.x.min <= out.x.min
            check out.x.max <= image.x.max
        >   for y in out.y.min..out.y.max:
              alloc image_mirror: float32[y - 1 .. y + 1, out.x.min..out.x.max]
              image_mirror[:, :] = mirror(image[max(image.y.min, min(2*image.y.max - y - 1, y - 1)) .. \
min(image.y.max, max(2*image.y.min - y + 1, y + 1)), :])
              out[y, :] = blur(image_mirror[:, :])
        >>> print(split_boundary(p, "mirror").body()[3:])
          pipeline blur(image: float32[2]) -> (out: float32[2]):
            check image.y.min <= image.y.max or out.y.max <= out.y.min - 1 or out.x.max <= out.x.min - 1
            check image.x.min <= out.x.min
            check out.x.max <= image.x.max
        >   for y in out.y.min .. min(image.y.min, out.y.max):
              alloc image_mirror: float32[y - 1 .. y + 1, out.x.min..out.x.max]
              image_mirror[:, :] = mirror(image[max(image.y.min, min(2*image.y.max - y - 1, y - 1)) .. \
min(image.y.max, max(2*image.y.min - y + 1, y + 1)), :])
              out[y, :] = blur(image_mirror[:, :])
        >   for y in max(out.y.min, image.y.min + 1) .. min(out.y.max, image.y.max - 1):
              out[y, :] = blur(image[y - 1 .. y + 1, :])
        >   for y in max(image.y.max, out.y.min, image.y.min + 1) .. out.y.max:
              alloc image_mirror: float32[y - 1 .. y + 1, out.x.min..out.x.max]
              image_mirror[:, :] = mirror(image[max(image.y.min, min(2*image.y.max - y - 1, y - 1)) .. \
min(image.y.max, max(2*image.y.min - y + 1, y + 1)), :])
              out[y, :] = blur(image_mirror[:, :])

    Where it reads beyond an edge in every iteration (rows that are padded at both sides), its readers are cut, too, and
    read strips there (`cut_call`, `clone_call`). These are further calls, so padded rows are often the faster way.

    One call becomes several, so all this is best the last step of a schedule.

    Refused: calls that are no copies, copies that have one piece only, and those whose pieces are no boxes: where a
    source has edges, its coordinate there must be a dimension of the copy, forward or backward, and something added.
    In a loop, what is read must move over the edges in a way that says where it reaches them; and what `alias_copy`
    refuses.

    Cursors:
        calls: the pieces; in a loop, the calls that read the source in its steady state.
    """
    version, call = p._version, copy._call
    if has_steady_state(version, call):
        return alias_copy(*with_steady_state(p, copy), rc=True)
    pieces = _Pieces(version, call).found()
    if not pieces:
        raise SchedulingError(f"{call.func.name} is shown to copy nothing", place=copy)
    operation = call.func.operation
    assert isinstance(operation, Copy)
    if len(pieces) < 2 and not any(known_source(operation, source)[1] for source in operation.sources):
        raise SchedulingError(f"{call.func.name} is one piece", place=copy)
    edit = Edit(version)
    edit.replace(call.id, pieces, "took it to pieces")
    # All that the copy wrote is written still. What the pieces read is said by other expressions: that is proved.
    written = Kept(SAME_ORDER_TWICE, (Obligation.READERS, Obligation.OUTPUTS))
    new = settle(edit, "split_boundary", written, Kept(COPIES_SAY, (Obligation.VALUES,)))
    return new, (tuple(CallCursor(new._version, piece.id) for piece in pieces),)


_Part: TypeAlias = "dict[int, tuple[Expr | None, Expr | None]]"
"""By dimension, from where to where; None for no end."""


def _narrowed(part: _Part, d: int, first: Expr | None, last: Expr | None) -> _Part:
    """The part of a part from here to there along a dimension."""
    known_first, known_last = part.get(d, (None, None))
    firsts = [e for e in (known_first, first) if e is not None]
    lasts = [e for e in (known_last, last) if e is not None]
    ends = (maximum(*firsts) if firsts else None, minimum(*lasts) if lasts else None)
    return {**part, d: ends}


class _Pieces:
    """Makes the pieces of a copy, as calls; the first has the identity of the copy."""

    def __init__(self, version: Version, call: Call) -> None:
        operation = call.func.operation
        self.place = statement_cursor(version, call.id)
        if not isinstance(operation, Copy):
            raise SchedulingError(f"{call.func.name} is no copy that slinky understands", place=self.place)
        if any(port.view is not None for port in call.func.ports):
            raise SchedulingError(f"{call.func.name} sees its buffers by views", place=self.place)
        self.version, self.call, self.operation = version, call, operation
        self.known = version.facts_at(call.id)
        self.bounds = version.box_at(call.id)
        self.calls: list[Call] = []

    def found(self) -> list[Call]:
        """The pieces."""
        self._split(self.call.box, tuple(range(len(self.operation.sources))), {})
        return self.calls

    def _split(self, box: Box, sources: tuple[int, ...], part: _Part) -> None:
        """Split a box of the copy, in which no source before these gives anything: `part` says where that is so."""
        if any(prove(i.max < i.min, self.known) for i in box):
            return
        operation, func = self.operation, self.call.func
        if not sources:
            if operation.fill is None:
                raise SchedulingError(f"not shown that some source of {func.name} gives each element", place=self.place)
            self._add(box, (), (), part)
            return
        source = operation.sources[sources[0]]
        limits = self._limits(source)
        nothing = (None,) * len(source.edges)
        plain = attrs.evolve(source, edges=nothing, boundaries=nothing, where=())
        inside = tuple(self._inside(i, limits[d], d) if d in limits else i for d, i in enumerate(box))
        if not any(prove(i.max < i.min, self.known) for i in inside):
            given = part
            for d, limit in limits.items():
                given = _narrowed(given, d, limit.min, limit.max)
            self._add(inside, sources[:1], (plain,), given)
        has_boundary = any(boundary is not None for boundary in source.boundaries)
        rest = list(box)
        left = part
        for d, limit in limits.items():
            i = box[d]
            before = Interval(i.min, within(i, Interval(i.min, limit.min - 1), self.known).max)
            after = Interval(within(i, Interval(self._behind(limit), i.max), self.known).min, i.max)
            for beyond, where in (
                (before, _narrowed(left, d, None, limit.min - 1)),
                (after, _narrowed(left, d, limit.max + 1, None)),
            ):
                piece = (*rest[:d], beyond, *rest[d + 1 :])
                if has_boundary:
                    if not any(prove(j.max < j.min, self.known) for j in piece):
                        # What goes by a boundary rule gives every element, also inside.
                        self._add(piece, sources, tuple(operation.sources[s] for s in sources), part)
                else:
                    self._split(piece, sources[1:], where)
            rest[d] = inside[d]
            left = _narrowed(left, d, limit.min, limit.max)

    def _needed(self, limit: Limit) -> Limit | None:
        """A limit without ends that the bounds of an output of the pipeline, which never change, imply."""
        (target,) = self.call.writes
        box = self.version.global_box(target)
        if box is None:
            return limit
        bound = box[self.call.func.outputs[0].dims.index(limit.dim)]
        known = self.version.base_facts()
        first = None if limit.first is not None and prove(limit.first <= bound.min, known) else limit.first
        last = None if limit.last is not None and prove(bound.max <= limit.last, known) else limit.last
        return None if first is None and last is None else Limit(limit.dim, first, last)

    def _behind(self, limit: Interval) -> Expr:
        """Where the border behind a limit begins. Of one that is less than empty, the border in front of it reaches
        further, and nothing is written twice."""
        behind = limit.max + 1
        return behind if prove(limit.min <= behind, self.known) else maximum(limit.min, behind)

    def _inside(self, i: Interval, limit: Interval, d: int) -> Interval:
        """The part of a dimension that lies in a limit; a point stays one where the bounds of the target clamp it."""
        if limit.min is limit.max:
            bound = bounds_of_dim(self.call, d, self.bounds)
            least, most = maximum(limit.min, bound.min), minimum(limit.max, bound.max)
            if prove(i.min <= least, self.known) and prove(most <= i.max, self.known):
                return limit
        return within(i, limit, self.known)

    def _limits(self, source: CopySource) -> dict[int, Interval]:
        """For each dimension of the copy that edges of a source limit, where these are."""
        found: dict[int, Interval] = {}
        for e, edges in known_source(self.operation, source)[1]:
            which = followed(e, self.operation.dims)
            if which is None:
                raise SchedulingError(f"a piece of {self.call.func.name} would be no box", place=self.place)
            d, limit = which.dim, which.within(edges)
            found[d] = within(found[d], limit, self.known) if d in found else limit
        return found

    def _add(self, box: Box, sources: tuple[int, ...], read: tuple[CopySource, ...], part: _Part) -> None:
        """Add a piece that copies from some of the sources, given by position, as `read` says, and only in a part."""
        func = self.call.func
        operation = attrs.evolve(self.operation, sources=read, implementation=None)
        ports = [func.inputs[s] for s in sources]
        if read and not any(known_source(operation, s)[1] for s in read):
            own: dict[Expr, Expr] = dict(zip(self.operation.dims, func.dims, strict=True))
            (source,) = read
            index, _ = known_source(self.operation, source, own)
            ports = [InputPort(tuple(map(point, index)), ports[0].dtype)]
            operation = attrs.evolve(operation, fill=None)
        limits = [limit for d, ends in sorted(part.items()) if (limit := self._needed(Limit(d, *ends))) is not None]
        piece = attrs.evolve(func, operation=operation, inputs=tuple(ports), part=(*func.part, *limits))
        reads = tuple(self.call.reads[s] for s in sources)
        identity = fresh_identity() if self.calls else self.call.id
        self.calls.append(Call(piece, box, reads, self.call.writes, id=identity))
