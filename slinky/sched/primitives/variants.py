"""Primitives on what calls run: another variant of their func, or a fused func for two of them.

That a variant computes the same is the word of the func's author, declared where the func is made, and so is that one
func computes what two do. What a variant reads may be less, never more; a fused func reads what the first of the two
reads for what the second reads of it. That they find it is proved as for any call.

A variant may take buffers in another dtype. A buffer has one dtype, so all calls that write or read it must take it so:
each by a variant that its func declares, which may take further buffers in other dtypes, and so on, until all agree.
What callers hold has the dtype that it has. A variant may also take buffers in some order of their dimensions in memory
only. Then they are stored so, and whoever says nothing takes them; only who asks for another order stands in the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slinky.cursors.cursors import CallCursor, statement_cursor
from slinky.cursors.editing import Edit
from slinky.cursors.versions import Version
from slinky.errors import OperationError, SchedulingError, cited
from slinky.ir.blocks import blocks_of_dims, is_stored_by_blocks, words_of_layout
from slinky.ir.copies import with_fields, with_func, with_identity, with_operands
from slinky.ir.families import is_member, names_of_variants, original, relative, relatives
from slinky.ir.operations import Accumulation, Copy
from slinky.ir.orders import takes_as_stored, words_of_order
from slinky.ir.regions import global_dtypes
from slinky.ir.statements import Alloc, Call, Layout, LoweredFunc, Port
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import DECLARED, Kept, Obligation
from slinky.sched.legality.values import are_equal_productions
from slinky.sched.operation import sched_op
from slinky.sched.primitives.layouts import strides_in_order
from slinky.sched.primitives.other_stages import choose_stages
from slinky.sched.primitives.rewriting import delete_with_idle_blocks
from slinky.sched.remedies import PlaceOf, unfold_first
from slinky.sched.remedies import first as do_first
from slinky.sched.returned import ChooseVariantCursors, FuseCallsCursors
from slinky.symbolic.expressions import constant


@sched_op(ChooseVariantCursors)
def choose_variant(p: Pipeline, call: CallCursor, name: str | None) -> Any:
    """Let a call run a variant of its func, by the name that the func gives it; with None, the func itself.

        >>> import slinky as sl, numpy as np
        >>> (x,) = sl.variables("x")
        >>> a, b = (sl.BufferExpr(name, np.float32, 1) for name in ("a", "b"))
        >>> def slow(source, target):
        ...     for k in range(len(target)):
        ...         target[k] = source[k] + source[k + 2]
        >>> def fast(source, target):
        ...     np.add(source[:-2], source[2:], out=target)
        >>> window = a[sl.interval(x - 1, x + 1)]
        >>> blur = sl.Func(slow, [window], [b[x]], name="blur", variants={"fast": fast})
        >>> p = sl.build_pipeline([a], [b])
        >>> print(p)
        pipeline blur(a: float32[1]) -> (b: float32[1]):
          check a.x.min <= b.x.min - 1
          check b.x.max <= a.x.max - 1
          b[:] = blur(a[b.x.min - 1 .. b.x.max + 1])
        >>> print(choose_variant(p, "blur", "fast"))
        pipeline blur(a: float32[1]) -> (b: float32[1]):
          check a.x.min <= b.x.min - 1
          check b.x.max <= a.x.max - 1
          b[:] = blur[fast](a[b.x.min - 1 .. b.x.max + 1])

    Other calls of the func run what they ran. A variant may read less than its func (`sl.Variant`), so that producers
    need not compute the rest for it. `sl.verify_variant` tests whether both compute the same.

    A variant may also take an intermediate in another dtype. Then that is what the intermediate has, and whoever else
    writes or reads it runs a variant, too, that takes it so: the one of the same name, or else the only one.

        >>> a, t, b = (sl.BufferExpr(name, np.float64, 1) for name in ("a", "t", "b"))
        >>> single = sl.Variant(lambda s, o: np.multiply(s, s, out=o, casting="same_kind"), dtypes={t: np.float32})
        >>> square = sl.Func(np.square, [a[x]], [t[x]], variants={"single": single})
        >>> root = sl.Func(np.sqrt, [t[x]], [b[x]], variants={"single": sl.Variant(np.sqrt, dtypes={t: np.float32})})
        >>> print(choose_variant(sl.build_pipeline([a], [b]), "square", "single").body()[2:])
          pipeline sqrt(a: float64[1]) -> (b: float64[1]):
            check a.x.min <= b.x.min
            check b.x.max <= a.x.max
        >   alloc t: float32[b.x.min..b.x.max]
        >   t[:] = square[single](a[:])
        >   b[:] = sqrt[single](t[:])

    Or it takes an intermediate in some order of its dimensions only, with strides and an alignment, if it says some
    (`sl.StorageOrder`): then the intermediate is stored so, as `set_layout` does it. Whoever says nothing takes any.

        >>> (y,) = sl.variables("y")
        >>> a, t, b = (sl.BufferExpr(name, np.float64, 2) for name in ("a", "t", "b"))
        >>> square = sl.Func(np.square, [a[y, x]], [t[y, x]])
        >>> columns = {"columns": sl.Variant(lambda s, o: np.cumsum(s, 0, out=o), layouts={t: ("x", "y")})}
        >>> add = sl.Func(lambda s, o: np.cumsum(s, 0, out=o), [t[y, x]], [b[y, x]], "add", whole=[y], variants=columns)
        >>> p = sl.build_pipeline([a], [b])
        >>> print(str(p.find("alloc t")).splitlines()[6])
        >   alloc t: float64[b.y.min..b.y.max, b.x.min..b.x.max]
        >>> print(str(choose_variant(p, "add", "columns").find("alloc t")).splitlines()[6])
        >   alloc t: float64[b.y.min..b.y.max, b.x.min..b.x.max] strides (8, max(8*b.y.max - 8*b.y.min + 8, 8))

    It stays so if another variant is chosen, unless that asks for another order; then `set_layout` may say otherwise.

    Of a stage of a reduction that was taken to pieces (`split_reduction`), all stages that share states with it go over
    to the variant: those that declare how they reduce can be chosen, if they read the same, and have as many states
    along the same dimensions, of whatever dtypes.

    Refused: a name under which the func declares nothing; a variant that does not work in place, where the call does
    (`compute_in_place`); one that takes an input or output of the pipeline in another dtype, or in an order; one that
    takes an intermediate so that somebody else uses who does not take it so, and has no variant that does, or several
    of other names; an intermediate in another dtype that lies in memory by strides that are asked for, or in an order
    that is folded, or stored by blocks, or of so many dimensions that its strides are not shown to leave room for what
    lies within; a stage whose states somebody else uses.

    Cursors:
        call: the call.
    """
    if name is not None and not isinstance(name, str):
        raise OperationError(f"a variant is given by its name, or None for the func itself, got {cited(name)}")
    version, old = p._version, call._call
    edit, stage = Edit(version), old.func.operation
    if isinstance(stage, Accumulation):
        if name != stage.variant:
            choose_stages(edit, old, stage, name)
        new = settle(edit, "choose_variant", Kept(DECLARED, (Obligation.VALUES,)))
        return new, (CallCursor(new._version, old.id),)
    func = relative(old.func, name)
    if func is None:
        names = names_of_variants(old.func)
        declared = f"declares {', '.join(names)}" if names else "declares none"
        raise SchedulingError(f"{old.func.name} has no variant {name!r}: it {declared}", place=call)
    if func is not old.func:
        agreement = _Agreement(edit, old, func)
        for alloc in agreement.allocs.values():
            edit.update(alloc)
        for identity, member in agreement.funcs.items():
            edit.update(with_func(_call(version, identity), member))
    new = settle(edit, "choose_variant")
    return new, (CallCursor(new._version, old.id),)


class _Agreement:
    """What calls run, and how buffers are stored, so that all who use a buffer take it so, once a call runs a variant.

    `funcs` has each call that runs another func than before, `allocs` each allocation of another dtype or layout; by
    identity.
    """

    def __init__(self, edit: Edit, call: Call, func: LoweredFunc) -> None:
        self._edit = edit
        self._version = version = edit.version
        self._name = func.variant
        self.funcs = {call.id: func}
        self.allocs: dict[int, Alloc] = {}
        waiting = [call.id]
        while waiting:
            identity = waiting.pop()
            for buffer, port in _operands(_call(version, identity), self.funcs[identity]):
                waiting += self._take(identity, buffer, port)

    def _take(self, identity: int, buffer: str, port: Port) -> list[int]:
        """Let a buffer be stored as a call takes it; the calls that run another func for that."""
        version = self._version
        alloc = version.alloc_of(buffer, identity)
        if alloc is None:
            self._require_given(identity, buffer, port)
            return []
        now = self.allocs.get(alloc.id, alloc)
        if takes_as_stored(port, now, version.facts_at(alloc.id)):
            return []
        new = self._stored(now, port)
        self.allocs[alloc.id] = new
        what = f"{self.funcs[identity].label} takes {buffer} {_words(port, now)}"
        changed = []
        for user in dict.fromkeys((*version.writers_of(alloc), *version.readers_of(alloc))):
            call = _call(version, user)
            if user in self.funcs:
                self._require(user, buffer, new, f"others take {buffer} {_words(port, now)}")
            elif not self._takes(call, call.func, buffer, new):
                self.funcs[user] = self._member(call, buffer, new, what)
                changed.append(user)
        return changed

    def _require_given(self, identity: int, buffer: str, port: Port) -> None:
        """Raise `SchedulingError` unless a call takes what is given to the pipeline as it is."""
        version, label = self._version, self.funcs[identity].label
        given, place = global_dtypes(version.program)[buffer], statement_cursor(version, identity)
        if given != port.dtype:
            raise SchedulingError(
                f"{label} takes {buffer} as {port.dtype}, and the pipeline is given {given}",
                place=place,
                hint="only intermediates can be stored in another dtype",
            )
        if port.order is not None:
            words = words_of_order(port.order, _dims_of_parameter(version, buffer))
            raise SchedulingError(
                f"{label} takes {buffer} {words}, and the pipeline is given it as it lies",
                place=place,
                hint="only intermediates can be stored in some order",
            )

    def _stored(self, alloc: Alloc, port: Port) -> Alloc:
        """An allocation that is stored as a port takes it. Raises `SchedulingError` where it cannot be."""
        place = statement_cursor(self._version, alloc.id)
        if alloc.dtype != port.dtype:
            if port.order is None and alloc.layout is not None and not is_stored_by_blocks(alloc):
                raise SchedulingError(
                    f"{alloc.buffer} {words_of_layout(alloc)}, in bytes of {alloc.dtype}: it cannot hold {port.dtype}",
                    place=place,
                    hint="choose the variant first, then set_layout",
                )
            alloc = with_fields(alloc, dtype=port.dtype)
        if port.order is None:
            return alloc
        order, folded = port.order, next((d for d, fold in enumerate(alloc.folds) if fold is not None), None)
        words = words_of_order(order, alloc.dims)
        if folded is not None:
            raise SchedulingError(
                f"{alloc.buffer} is folded along {alloc.dims[folded]}, so it cannot lie {words}",
                place=place,
                remedies=lambda: [unfold_first("store it in full first", alloc, folded)],
            )
        blocked = next((d for d, length in enumerate(blocks_of_dims(alloc)) if length is not None), None)
        if blocked is not None:
            merge = ("merge_dims", PlaceOf(alloc.id), alloc.dims[blocked])
            raise SchedulingError(
                f"{alloc.buffer} is stored by blocks, so it cannot lie {words}",
                place=place,
                remedies=lambda: [do_first("store it in one piece first", merge)],
            )
        given = [None if n is None else constant(n) for n in order.strides] or None
        strides = strides_in_order(self._edit, alloc, order.dims, given, order.alignment)
        return with_fields(alloc, layout=Layout(strides, order.alignment))

    def _require(self, identity: int, buffer: str, alloc: Alloc, others: str) -> None:
        """Raise `SchedulingError` where a call runs what does not take a buffer as it is stored."""
        func = self.funcs[identity]
        if not self._takes(_call(self._version, identity), func, buffer, alloc):
            raise self._refusal(identity, f"{others}, and {func.label} does not")

    def _takes(self, call: Call, func: LoweredFunc, buffer: str, alloc: Alloc) -> bool:
        """Whether a func, run by a call, takes a buffer as it is stored by all of its ports."""
        known = self._version.facts_at(alloc.id)
        return all(takes_as_stored(port, alloc, known) for name, port in _operands(call, func) if name == buffer)

    def _member(self, call: Call, buffer: str, alloc: Alloc, what: str) -> LoweredFunc:
        """Of the variants of what a call runs, the one that takes a buffer as it is stored; `what` says how that is."""
        family = relatives(call.func) if is_member(call.func) else {call.func.variant: call.func}
        able = {name: func for name, func in family.items() if self._takes(call, func, buffer, alloc)}
        if self._name in able:
            return able[self._name]
        if len(able) == 1:
            (member,) = able.values()
            return member
        if able:
            names = ", ".join(func.label for func in able.values())
            raise self._refusal(call.id, f"{what}, and so do several: {names}")
        if isinstance(call.func.operation, Copy):
            raise SchedulingError(
                f"{what}, and the copy {call.func.name} takes it as it is",
                place=statement_cursor(self._version, call.id),
                remedies=lambda: [do_first("do without the copy first", ("alias_copy", PlaceOf(call.id)))],
            )
        dtypes = [own.dtype for name, own in _operands(call, call.func) if name == buffer]
        says = "layouts" if all(dtype == alloc.dtype for dtype in dtypes) else "dtypes"
        raise SchedulingError(
            f"{what}, and {call.func.name} has no variant that does",
            place=statement_cursor(self._version, call.id),
            hint=f"sl.Variant(..., {says}={{{buffer}: ...}}), where {call.func.name} is made, declares one",
        )

    def _refusal(self, identity: int, message: str) -> SchedulingError:
        return SchedulingError(
            message,
            place=statement_cursor(self._version, identity),
            hint="variants that go together are found where they have one name",
        )


def _operands(call: Call, func: LoweredFunc) -> Iterator[tuple[str, Port]]:
    """The buffers of a call, each with the port of a func by which it uses it."""
    yield from zip(call.writes, func.outputs, strict=True)
    yield from zip(call.reads, func.inputs, strict=True)


def _words(port: Port, alloc: Alloc) -> str:
    """How a port takes a buffer, where that is otherwise than it is stored."""
    said = [f"as {port.dtype}"] if port.dtype != alloc.dtype or port.order is None else []
    return " ".join([*said, *([] if port.order is None else [words_of_order(port.order, alloc.dims)])])


def _dims_of_parameter(version: Version, buffer: str) -> tuple[str, ...]:
    """The names of the dimensions of an input, output or constant."""
    program = version.program
    dims = {p.name: p.dims for p in (*program.inputs, *program.outputs)}
    return {**dims, **{c.name: c.dims for c in program.constants}}[buffer]


def _call(version: Version, identity: int) -> Call:
    call = version.statement(identity)
    assert isinstance(call, Call)
    return call


@sched_op(FuseCallsCursors)
def fuse_calls(p: Pipeline, first: CallCursor, second: CallCursor, name: str) -> Any:
    """Make one call of two, by a fused func that is declared (`sl.fuse`); what lay between them need not be stored.

        >>> import slinky as sl, numpy as np
        >>> (x,) = sl.variables("x")
        >>> a, t, b = (sl.BufferExpr(name, np.float32, 1) for name in "atb")
        >>> square = sl.Func(np.square, [a[x]], [t[x]], name="square")
        >>> add = sl.Func(lambda s, o: np.add(s[:-1], s[1:], out=o), [t[sl.interval(x - 1, x)]], [b[x]], name="add")
        >>> def both(source, target):
        ...     np.add(source[:-1] ** 2, source[1:] ** 2, out=target)
        >>> sl.fuse(square, add, both, "add_squares")
        >>> p = sl.build_pipeline([a], [b])
        >>> print(p)
        pipeline add(a: float32[1]) -> (b: float32[1]):
          check a.x.min <= b.x.min - 1
          check b.x.max <= a.x.max
          alloc t: float32[b.x.min - 1 .. b.x.max]
          t[:] = square(a[:])
          b[:] = add(t[:])
        >>> print(fuse_calls(p, "square", "add", "add_squares"))
        pipeline add(a: float32[1]) -> (b: float32[1]):
          check a.x.min <= b.x.min - 1
          check b.x.max <= a.x.max
          b[:] = add_squares(a[b.x.min - 1 .. b.x.max])

    The call stands where the second one stood, and computes what that computed. Where that is a piece, it computes for
    itself what it needs of the first func, even if another piece needs that, too. A fused func that says how it reduces
    (`sl.fuse(..., reduction=)`) can be taken to pieces then (`split_reduction`).

    Refused: a name under which nothing is declared for the two funcs, or for what they were before they were changed to
    read or write past a copy; a buffer between the two that others read (`clone_call`), that others write, or that is
    an output of the pipeline; what the first one read, if it is no longer there where the second one stands, or is not
    seen to be what it was (copies of copies that were made again).

    Cursors:
        call: the one call.
    """
    version, one, other = p._version, first._call, second._call
    func, alloc = _fusion(version, first, second, name)
    assert func.fused is not None
    edit = Edit(version)
    edit.delete(alloc.id, "made one call of those that it lay between")
    for identity in version.writers_of(alloc):
        delete_with_idle_blocks(edit, identity, "made one call of it and of its reader")
    reads = (*one.reads, *(buffer for k, buffer in enumerate(other.reads) if k not in func.fused.ports))
    new_call = with_identity(with_operands(with_func(other, func), reads, other.writes), one.id)
    edit.replace(other.id, (new_call,), "merged it into the call before")
    new = settle(edit, "fuse_calls")
    return new, (CallCursor(new._version, one.id),)


def _fusion(version: Version, first: CallCursor, second: CallCursor, name: str) -> tuple[LoweredFunc, Alloc]:
    """The fused func of a name, and the buffer that lies between two calls.

    Raises `SchedulingError` where there is no such, or others use the buffer.
    """
    one, other = first._call, second._call
    declared = original(other.func).fusions
    func = next((fused for fused in declared if fused.name == name), None)
    if func is None or func.fused is None:
        names = ", ".join(fused.name for fused in declared)
        raise SchedulingError(
            f"{other.func.name} has no fused func {cited(name)}: it declares {names or 'none'}", place=second
        )
    if func.fused.first is not original(one.func):
        raise SchedulingError(
            f"{name} is declared for {func.fused.first.name} and {other.func.name}, not for {one.func.name} as it is "
            f"here",
            place=first,
        )
    (between,) = one.writes
    alloc = version.alloc_of(between, one.id)
    if alloc is None:
        raise SchedulingError(f"{between} is an output of the pipeline, which must be written", place=first)
    if any(other.reads[k] != between for k in func.fused.ports) or version.alloc_of(between, other.id) is not alloc:
        raise SchedulingError(f"{other.func.name} does not read what this call of {one.func.name} writes", place=second)
    reader = next((i for i in version.readers_of(alloc) if i != other.id), None)
    if reader is not None:
        raise SchedulingError(
            f"{_name(version, reader)} reads {between}, too",
            place=statement_cursor(version, reader),
            remedies=lambda: [do_first("clone the producer first", ("clone_call", PlaceOf(one.id), PlaceOf(reader)))],
        )
    writer = next((i for i in version.writers_of(alloc) if not _makes_the_same(version, i, one)), None)
    if writer is not None:
        raise SchedulingError(
            f"{_name(version, writer)} writes {between}, too", place=statement_cursor(version, writer)
        )
    if any(version.alloc_of(between, i) is alloc for i in version.named(("within", between))):
        raise SchedulingError(f"other buffers lie in the memory of {between}", place=first)
    return func, alloc


def _makes_the_same(version: Version, identity: int, call: Call) -> bool:
    statement = version.statement(identity)
    return isinstance(statement, Call) and are_equal_productions(version, statement, call)


def _name(version: Version, identity: int) -> str:
    statement = version.statement(identity)
    assert isinstance(statement, Call)
    return statement.func.name
