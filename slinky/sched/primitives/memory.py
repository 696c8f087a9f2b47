"""Primitives on memory that several buffers share: a call that works in place, a buffer that takes another one's place.

Both put an allocation *in* the memory of another. That the buffers let each other be is proved by the gate, now and in
every rewrite that follows (`legality.memory`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from slinky.cursors.cursors import AllocCursor, CallCursor, statement_cursor
from slinky.cursors.editing import Edit, Gap
from slinky.cursors.versions import Version
from slinky.errors import OperationError, SchedulingError, cited
from slinky.ir.copies import with_memory
from slinky.ir.sharing import host_of
from slinky.ir.statements import Alloc, Call, Within
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.memory import why_not_in_place
from slinky.sched.legality.reasons import ALL_BUT_CHECKS, MEMORY_ALONE, Kept
from slinky.sched.operation import sched_op
from slinky.sched.remedies import PlaceOf, instead
from slinky.sched.returned import ComputeInPlaceCursors, ReuseBufferCursors
from slinky.sched.small_runs import taken_over


@sched_op(ComputeInPlaceCursors)
def compute_in_place(p: Pipeline, call: CallCursor, buffer: str | None = None) -> Any:
    """Let a call write its output over an intermediate that it reads, and that nobody reads any more.

        >>> import slinky as sl, numpy as np
        >>> (x,) = sl.variables("x")
        >>> a, b, c, d = (sl.BufferExpr(name, np.float32, 1) for name in "abcd")
        >>> window = c[sl.interval(x - 1, x + 1)]
        >>> funcs = sl.Func(np.sqrt, [a[x]], [b[x]]), sl.Func(np.negative, [b[x]], [c[x]])
        >>> blur = sl.Func(lambda c, d: np.add(c[:-2], c[2:], out=d), [window], [d[x]], name="blur")
        >>> p = sl.build_pipeline([a], [d])
        >>> print(compute_in_place(p, "negative"))
        pipeline blur(a: float32[1]) -> (d: float32[1]):
          check a.x.min <= d.x.min - 1
          check d.x.max <= a.x.max - 1
          alloc b: float32[d.x.min - 1 .. d.x.max + 1]
          b[:] = sqrt(a[:])
          alloc c: float32[d.x.min - 1 .. d.x.max + 1] in b
          c[:] = negative(b[:])
          d[:] = blur(c[:])

    A plan does so by itself where it sees that it can; asked for, it is seen in the program, counts in the memory that
    the program says, and stays: a later rewrite that would end it is refused.

    Parameters:
        buffer: the intermediate, by name. Without it, the first that the call reads for which it is possible.

    Refused: a func that is not declared to work in place (`sl.Func(..., in_place=True)`; elementwise ufuncs are), or of
    several outputs; what is no intermediate; a buffer that the call reads elsewhere than at the element that it writes;
    other dtypes or bounds; folds and layouts; a buffer that somebody uses later, or in another iteration; one that is
    stored in another loop than the output.

    Cursors:
        alloc: the allocation of its output.
        call: the call.
    """
    version, old = p._version, call._call
    target = _output(version, call)
    names = [_read(call, buffer)] if buffer is not None else list(dict.fromkeys(old.reads))
    first: SchedulingError | None = None
    for name in names:
        try:
            new = _in_place(version, old, name, target)
        except SchedulingError as error:
            first = first or error
        else:
            return new, (AllocCursor(new._version, target.id), CallCursor(new._version, old.id))
    raise first or SchedulingError(f"{old.func.name} reads no buffer", place=call)


def _output(version: Version, call: CallCursor) -> Alloc:
    """The intermediate that a call writes, over what it reads."""
    func, writes = call._call.func, call._call.writes
    if not func.operation.in_place:
        raise SchedulingError(
            f"{func.name} is not declared to work in place",
            place=call,
            hint="a callback that is elementwise, and reads no element after it has written it, may be: in_place=True",
        )
    found = version.alloc_of(writes[0], call._id)
    if found is None:
        raise SchedulingError(f"{writes[0]} is an output of the pipeline, whose memory is the caller's", place=call)
    return found


def _read(call: CallCursor, buffer: object) -> str:
    if not isinstance(buffer, str) or buffer not in call.inputs():
        raise OperationError(
            f"expected a buffer that {call.name()} reads, {' or '.join(dict.fromkeys(call.inputs()))}, "
            f"got {cited(buffer)}"
        )
    return buffer


def _in_place(version: Version, call: Call, name: str, target: Alloc) -> Pipeline:
    """The pipeline in which a call writes an allocation over a buffer that it reads."""
    place = statement_cursor(version, call.id)
    source = version.alloc_of(name, call.id)
    if source is None:
        kind = "an input of the pipeline" if version.global_box(name) is not None else "no intermediate"
        raise SchedulingError(f"{name} is {kind}, whose memory is the caller's", place=place)
    why = why_not_in_place(version, call, source, target)
    if why:
        raise SchedulingError(why, place=place, example=lambda: _example(version, target, source))
    return _share(version, target, source, "compute_in_place")


def _example(version: Version, guest: Alloc, source: Alloc) -> str:
    """A small run in which one is written over the other while that is read; empty if none is found."""
    host = version.memory_of(source)
    shared = _sharing(version, guest, host).finish("compute_in_place")
    return str(taken_over(shared.program, host.id, source.id, guest.id) or "")


@sched_op(ReuseBufferCursors)
def reuse_buffer(p: Pipeline, alloc: AllocCursor, other: AllocCursor) -> Any:
    """Let a buffer lie in the memory of another one, which nobody uses any more when it is written first.

        >>> import slinky as sl, numpy as np
        >>> (x,) = sl.variables("x")
        >>> a, b, c, d, e = (sl.BufferExpr(name, np.float32, 1) for name in "abcde")
        >>> def both(source, target):
        ...     np.add(source[:-1], source[1:], out=target)
        >>> pairs = zip((a, b, c, d), (b, c, d, e))
        >>> funcs = [sl.Func(both, [s[sl.interval(x, x + 1)]], [t[x]], name=f"to_{t.name}") for s, t in pairs]
        >>> p = sl.build_pipeline([a], [e])
        >>> print(reuse_buffer(p, "alloc d", "alloc b"))
        pipeline to_e(a: float32[1]) -> (e: float32[1]):
          check a.x.min <= e.x.min
          check e.x.max <= a.x.max - 4
          alloc b: float32[e.x.min .. e.x.max + 3]
          b[:] = to_b(a[e.x.min .. e.x.max + 4])
          alloc c: float32[e.x.min .. e.x.max + 2]
          c[:] = to_c(b[:])
          alloc d: float32[e.x.min .. e.x.max + 1] in b
          d[:] = to_d(c[:])
          e[:] = to_e(d[:])

    The memory is as large as the larger of them needs, whatever their dtypes. A plan shares bytes by itself where it
    can; asked for, it is seen in the program, counts in the memory that the program says, and stays: a later rewrite
    that would end it is refused. So it is best one of the last steps of a schedule.

    Parameters:
        other: the buffer whose memory it takes, allocated in the same block or around. If that lies in the memory of a
            third one, so does this.

    Refused: buffers that are used at the same time, or both in one loop that neither is stored in; folds, which have a
    ring of their own, and layouts; a buffer that is stored in a parallel loop, and the other one outside of it; one
    whose size is not known where the other one is allocated.

    Cursors:
        alloc: the allocation.
    """
    version, old, source = p._version, alloc._alloc, other._alloc
    if old.id == source.id:
        raise OperationError(f"expected two buffers, got {old.buffer} twice")
    in_scope = version.alloc_of(source.buffer, old.id) is source
    if not in_scope and version.alloc_of(old.buffer, source.id) is not old:
        raise SchedulingError(f"{source.buffer} is not in scope where {old.buffer} is allocated", place=alloc)
    new = _share(version, old, source, "reuse_buffer")
    return new, (AllocCursor(new._version, old.id),)


# What both do ---------------------------------------------------------------------------------------------------------


def _share(version: Version, guest: Alloc, source: Alloc, operation: str) -> Pipeline:
    """Let a buffer, and all that lie in its memory, lie in that of another."""
    host = version.memory_of(source)
    if host.id == guest.id or host_of(guest) == host.buffer:
        raise SchedulingError(
            f"{guest.buffer} and {source.buffer} lie in one memory already", place=statement_cursor(version, guest.id)
        )
    _require_unused_before(version, guest, host)
    return settle(_sharing(version, guest, host), operation, Kept(MEMORY_ALONE, ALL_BUT_CHECKS))


def _sharing(version: Version, guest: Alloc, host: Alloc) -> Edit:
    """The edit that lets a buffer, and all that lie in its memory, lie in that of another."""
    edit = Edit(version)
    for each in (guest, *_guests_of(version, guest)):
        edit.update(with_memory(each, Within(host.buffer)))
    _move_behind(edit, guest, host)
    return edit


def _guests_of(version: Version, alloc: Alloc) -> Iterable[Alloc]:
    """The allocations that lie in the memory of one."""
    found = (version.statement(i) for i in sorted(version.guests(), key=version.place))
    return [s for s in found if isinstance(s, Alloc) and version.alloc_of(host_of(s) or "", s.id) is alloc]


def _require_unused_before(version: Version, guest: Alloc, host: Alloc) -> None:
    """Check that nobody uses a buffer before the one is allocated in whose memory it shall lie."""
    uses = (*version.writers_of(guest), *version.readers_of(guest))
    early = [i for i in uses if version.place(i) < version.place(host.id)]
    if early:
        raise SchedulingError(
            f"{guest.buffer} is used before {host.buffer} is allocated",
            place=statement_cursor(version, min(early, key=version.place)),
            remedies=lambda: [
                instead(
                    f"let {host.buffer} take the memory of {guest.buffer}",
                    alloc=PlaceOf(host.id),
                    other=PlaceOf(guest.id),
                )
            ],
        )


def _move_behind(edit: Edit, guest: Alloc, host: Alloc) -> None:
    """Let an allocation come after that of its host, if they stand in one block the other way round. Whoever uses it
    comes after all that use the host, or it is refused."""
    version = edit.version
    a, b = version.entries[guest.id], version.entries[host.id]
    if (a.parent, a.field) == (b.parent, b.field) and version.position(guest.id) < version.position(host.id):
        edit.move(guest.id, Gap.after(host.id))
