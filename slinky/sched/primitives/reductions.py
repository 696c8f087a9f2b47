"""Primitives on calls that reduce: take one to pieces along a dimension that its outputs have not.

Idea. `s[y] = sums(a[y, :])` becomes a recurrence over pieces of x, with what is summed so far as a buffer of its own,
along one dimension more: the number of the piece,

    t[-1, y] = 0,    t[k, y] = t[k - 1, y] + (the piece k of a[y, :]),    s[y] = t[last, y].

So each element has one value, as everywhere: an update does not change what is there, it computes the next. Calls of
funcs that read what they wrote one step before, no more; so coverage, folds and races are proved of them like of any
other. The buffer is folded by 2: what was, and what comes.

Invariant: the three funcs compute what the one did, on the word of its author; that they find what they need is proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from slinky.cursors.cursors import CallCursor, LoopCursor, statement_cursor
from slinky.cursors.editing import Edit
from slinky.cursors.versions import Version
from slinky.errors import OperationError, SchedulingError
from slinky.ir.copies import with_func
from slinky.ir.families import original
from slinky.ir.given import is_one_of
from slinky.ir.operations import Accumulation, Callback, Reduction, Stage
from slinky.ir.statements import SERIAL, Alloc, Call, For, InputPort, Limit, LoweredFunc, OutputPort
from slinky.pipeline import Pipeline
from slinky.sched.gate import settle
from slinky.sched.legality.reasons import DECLARED, Kept, Obligation
from slinky.sched.legality.refusals import Unproved
from slinky.sched.legality.touches import effective_box
from slinky.sched.operation import sched_op
from slinky.sched.primitives.other_stages import alike
from slinky.sched.primitives.rewriting import (
    free_name,
    fresh_variable,
    require_divisors,
    require_known_symbols,
    require_positive,
)
from slinky.sched.returned import SplitReductionCursors, SplitReductionInPartsCursors
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import Constant, Expr, Variable, constant, equal, maximum, minimum, variable
from slinky.symbolic.intervals import Box, Interval, box_symbols, point, substitute_box
from slinky.symbolic.proofs import prove
from slinky.symbolic.traversal import symbols


@sched_op(SplitReductionCursors)
def split_reduction(p: Pipeline, call: CallCursor, dim: str, factor: Expr) -> Any:
    """Let a call reduce a dimension piece by piece, in a loop over pieces of `factor` coordinates.

    What it reads can then be computed in the loop, and need never be there in full.

        >>> import slinky as sl, numpy as np
        >>> y, x = sl.variables("y x")
        >>> a, t = (sl.BufferExpr(name, np.int64, 2) for name in "at")
        >>> s = sl.BufferExpr("s", np.int64, 1)
        >>> square = sl.Func(np.square, [a[y, x]], [t[y, x]])
        >>> total = sl.reductions.sum(t[y, :], s[y], name="total")
        >>> p = sl.build_pipeline([a], [s])
        >>> print(p.body()[2:])
          pipeline total(a: int64[2]) -> (s: int64[1]):
            check a.y.min <= s.y.min
            check s.y.max <= a.y.max
        >   alloc t: int64[s.y.min..s.y.max, a.x.min..a.x.max]
        >   t[:, :] = square(a[:, :])
        >   s[:] = total(t[:, :])
        >>> p, pieces = split_reduction(p, "total", "x", 16, rc=True)
        >>> p = store_at(compute_at(p, "square", pieces.loop), "alloc t", pieces.loop)
        >>> print(p.body()[2:])
          pipeline total(a: int64[2]) -> (s: int64[1]):
            check a.y.min <= s.y.min
            check s.y.max <= a.y.max
        >   alloc partial: int64[-1 .. (a.x.max - a.x.min) // 16 fold 2, s.y.min..s.y.max]
        >   partial[-1, :] = total_init()
        >   for x in 0 .. (a.x.max - a.x.min) // 16:
              alloc t: int64[s.y.min..s.y.max, 16*x + a.x.min .. min(a.x.max, 16*x + a.x.min + 15)]
              t[:, :] = square(a[:, :])
              partial[x, :] = total_update(partial[x - 1, :], t[:, :]) where 0 <= x_piece <= (a.x.max - a.x.min) // 16
        >   s[:] = total_finish(partial[(a.x.max - a.x.min) // 16, :])

    The func must declare how it reduces (`Func(..., reduction=...)`; `sl.reductions` makes funcs that do); a variant of
    it may have a way of its own (`sl.Variant(..., reduction=...)`), with other states, say, and else goes its way.
    Each piece takes what is known of the ones before it, in a buffer that holds two steps: what was, and what comes.
    The last piece may have fewer coordinates; of no coordinates at all, there are no pieces.

    Refused: a func that does not declare it, or another dimension; sums of floats, unless the func says that they may
    be rounded elsewhere (`reassociate=True`); inputs that are not shown to be as long as each other, or of which a
    piece is not shown to be there; inputs that move with a dimension that no state has; calls that read or write past a
    copy.

    Parameters:
        dim: the reduced dimension, by the name that the func's reduction gives it.
        factor: how many coordinates a piece has, at least 1.

    Cursors:
        init: the call that writes what is known of no elements.
        loop: the loop over pieces.
        update: the call that takes a piece.
        final: the call that writes what the original wrote; it keeps its identity.
    """
    version = p._version
    old, reduction, axes = _declared(version, call._call, dim)
    edit = Edit(version)
    _require_the_same_everywhere(edit, old, factor, "the factor")
    pieces = _Pieces(version, old, reduction, dim, axes, factor)
    edit.replace(old.id, pieces.statements(fresh_variable(version, old.id, dim, factor)), "took it to pieces")
    new = settle(edit, "split_reduction", Kept(DECLARED, (Obligation.VALUES,)))
    changed = new._version
    init, loop, update = pieces.identities
    return new, (
        CallCursor(changed, init),
        LoopCursor(changed, loop),
        CallCursor(changed, update),
        CallCursor(changed, old.id),
    )


@sched_op(SplitReductionInPartsCursors)
def split_reduction_in_parts(p: Pipeline, call: CallCursor, dim: str, factor: Expr, pieces: Expr) -> Any:
    """Let a call reduce a dimension in parts of so many `pieces` each, of `factor` coordinates; each part begins anew,
    so that all may run at the same time, and what they end with is merged.

        >>> import slinky as sl, numpy as np
        >>> a, s = sl.BufferExpr("a", np.int64, 1), sl.BufferExpr("s", np.int64, 0)
        >>> total = sl.reductions.sum(a[:], s[()], name="total")
        >>> p = sl.build_pipeline([a], [s])
        >>> p, made = split_reduction_in_parts(p, "total", "x", 1000, 16, rc=True)
        >>> p = parallelize_loop(p, made.parts, 2)
        >>> [p.forward(each).name() for each in made]
        ['x_part', 'total_init', 'x', 'total_update', 'total_merge', 'total_finish']
        >>> a_million = np.arange(1000000)
        >>> int(p(a_million)), int(a_million.sum()), p.estimate(a_million).calls["total_merge"]
        (499999500000, 499999500000, 63)

    The func must declare how states are merged (`Reduction(merge=...)`; all of `sl.reductions` do). The states of a
    part are its own, in a buffer that holds two steps; what it ends with is kept until all are merged, in order.

    Refused: what `split_reduction` refuses; a func that does not declare how states are merged.

    Parameters:
        dim: the reduced dimension, by the name that the func's reduction gives it.
        factor: how many coordinates a piece has, at least 1.
        pieces: how many pieces a part has, at least 1.

    Cursors:
        parts: the loop over parts.
        init: the call that writes what is known where a part begins.
        loop: the loop over the pieces of a part.
        update: the call that takes a piece.
        merge: the call that merges a part with all before it, in a loop of its own.
        final: the call that writes what the original wrote; it keeps its identity.
    """
    version = p._version
    old, reduction, axes = _declared(version, call._call, dim)
    if reduction.merge is None:
        raise SchedulingError(
            f"{old.func.name} does not say how states of two parts are merged",
            place=call,
            hint="sl.Reduction(..., merge=...) says it",
        )
    edit = Edit(version)
    for e, what in ((factor, "the factor"), (pieces, "the number of pieces")):
        _require_the_same_everywhere(edit, old, e, what)
    made = _Parts(version, old, reduction, dim, axes, factor, pieces)
    loop = fresh_variable(version, old.id, dim, factor)
    parts, merging = (fresh_variable(version, old.id, f"{loop.name}_{what}", pieces) for what in ("part", "merged"))
    edit.replace(old.id, made.in_parts(loop, parts, merging), "took it to parts")
    new = settle(edit, "split_reduction_in_parts", Kept(DECLARED, (Obligation.VALUES,)))
    changed = new._version
    around, init, inner, update, merge = made.places
    return new, (
        LoopCursor(changed, around),
        CallCursor(changed, init),
        LoopCursor(changed, inner),
        CallCursor(changed, update),
        CallCursor(changed, merge),
        CallCursor(changed, old.id),
    )


def _require_the_same_everywhere(edit: Edit, call: Call, e: Expr, what: str) -> None:
    """Raise an error unless an expression is known, at least 1, and the same in all iterations of all loops."""
    version = edit.version
    known = version.facts_at(call.id)
    require_known_symbols(version, e, what, version.loops_around(call.id))
    if not {loop.variable for loop in version.loops_around(call.id)}.isdisjoint(symbols(e)):
        raise OperationError(f"{what} of a reduction must be the same everywhere: no loop may be in it")
    edit.add_scalars(symbols(e))
    require_divisors(edit, e, what, known)
    require_positive(edit, e, what, known)


def _declared(version: Version, call: Call, dim: str) -> tuple[Call, Reduction, tuple[int | None, ...]]:
    """The call, how it reduces a dimension, and the axis of each input along it.

    A variant that does not say how it reduces is what its func is, so the call of that comes back. Raises
    `SchedulingError` where nobody says it, or not to the last bit.
    """
    place, first = statement_cursor(version, call.id), original(call.func)
    if call.func.reduction is None and first.reduction is not None:
        if [port.dtype for port in first.ports] != [port.dtype for port in call.func.ports]:
            raise SchedulingError(
                f"{call.func.label} takes other dtypes than {first.name}, and does not say how it reduces",
                place=place,
                hint="sl.Variant(..., reduction=sl.Reduction(...)) says it",
            )
        call = with_func(call, first)
    func = call.func
    reduction = func.reduction
    if reduction is None:
        raise SchedulingError(
            f"{func.name} does not say how it reduces",
            place=place,
            hint="sl.Func(..., reduction=sl.Reduction(...)) says it, and sl.reductions has funcs that do",
        )
    over = dict(reduction.over)
    if not is_one_of(dim, over):
        raise SchedulingError(f"{func.name} reduces {' and '.join(over)}, and not {dim}", place=place)
    if not (reduction.is_exact or reduction.may_reassociate):
        raise SchedulingError(
            f"{func.name} gives other bits by pieces: what it rounds comes in another order",
            place=place,
            hint="reassociate=True, where the func is made, says that this is all right",
        )
    if any(port.view is not None for port in func.ports):
        raise SchedulingError(f"{func.name} reads or writes past a copy", place=place)
    along = {d for state in reduction.states for d in state.dims}
    moving = {symbol for port in func.inputs for symbol in box_symbols(port.box)}
    for d, own in enumerate(func.dims):
        if d not in along and own in moving:
            raise SchedulingError(
                f"what {func.name} reads moves with {func.dim_names()[d]}, along which it has no state", place=place
            )
    return call, reduction, over[dim]


class _Pieces:
    """The statements that stand for a call that reduces."""

    in_two_steps = False
    """Whether there are parts, and pieces of these."""

    def __init__(
        self, version: Version, call: Call, reduction: Reduction, dim: str, axes: tuple[int | None, ...], factor: Expr
    ) -> None:
        self.version = version
        self.call = call
        self.func = call.func
        self.reduction = reduction
        self.axes = axes
        self.factor = factor
        self.known = version.facts_at(call.id)
        self.along = tuple(sorted({d for state in reduction.states for d in state.dims}))
        """The dimensions of the func that some state has: the calls that write states have just these."""
        self.box = self._own_box()
        self.extent = self._extent(dim)
        self.each = self._each(dim)
        self.last = (self.extent - 1) // factor
        self.positive = () if isinstance(factor, Constant) else (factor >= 1,)
        self.piece_name = f"{dim}_piece"
        self.states = self._names()
        self.variants = alike(call.func, reduction, in_parts=self.in_two_steps)
        self.identities: tuple[int, int, int] = (0, 0, 0)

    def statements(self, loop: Variable) -> tuple[Alloc | Call | For, ...]:
        """All of them, for a loop with this variable."""
        own = tuple(self.box[d] for d in self.along)
        init = Call(self._init(), (point(-1), *own), (), self.states)
        reads = (*self.states, *self.call.reads)
        update = Call(self._update(), (point(loop), *own), reads, self.states)
        around = For(loop, Interval(constant(0), self.last), constant(1), SERIAL, (update,))
        final = Call(self._finish(), self.call.box, self.states, self.call.writes, id=self.call.id)
        self.identities = (init.id, around.id, update.id)
        return (*self._allocs(), init, around, final)

    def _own_box(self) -> Box:
        """What the call computes, within the bounds of its outputs: states are there for nothing else."""
        box = effective_box(self.version, self.call)
        return tuple(Interval(simplify(i.min, self.known), simplify(i.max, self.known)) for i in box)

    def _reduced(self) -> list[tuple[InputPort, int]]:
        return [(port, axis) for port, axis in zip(self.func.inputs, self.axes, strict=True) if axis is not None]

    def _extent(self, dim: str) -> Expr:
        """How many coordinates are reduced. Raises `SchedulingError` where inputs are not shown to have as many."""
        (first, axis), *others = self._reduced()
        extent = first.box[axis].extent
        for port, own in others:
            same = equal(port.box[own].extent, extent)
            if not prove(same, self.known):
                raise Unproved(self.version, same, self.known).refuse(
                    f"the inputs of {self.func.name} are as long as each other along {dim}",
                    f"the inputs of {self.func.name} are not as long as each other along {dim}",
                    place=statement_cursor(self.version, self.call.id),
                )
        return self._at_least_none(extent)

    def _at_least_none(self, extent: Expr) -> Expr:
        return extent if prove(extent >= 0, self.known) else maximum(extent, 0)

    def _each(self, dim: str) -> Expr:
        """How many elements are reduced at each coordinate, along other dimensions."""
        extents = [
            next(port.box[axis].extent for port, axis in zip(self.func.inputs, axes, strict=True) if axis is not None)
            for name, axes in self.reduction.over
            if name != dim
        ]
        return math.prod(map(self._at_least_none, extents), start=constant(1))

    # Funcs ----------------------------------------------------------------------------------------------------------

    def _names(self) -> tuple[str, ...]:
        found: list[str] = []
        for state in self.reduction.states:
            found.append(free_name(self.version, self.call.id, state.name, found))
        return tuple(found)

    def _allocs(self) -> list[Alloc]:
        names = self.func.dim_names()
        pieces = Interval(constant(-1), self.last)
        return [
            Alloc(
                name,
                state.dtype,
                (self.piece_name, *(names[d] for d in state.dims)),
                (pieces, *(self.box[d] for d in state.dims)),
                (constant(2), *(None for _ in state.dims)),
            )
            for name, state in zip(self.states, self.reduction.states, strict=True)
        ]

    def _name(self, stage: Stage) -> str:
        return free_name(self.version, self.call.id, f"{self.func.name}_{stage.value}", self.states)

    def _operation(self, stage: Stage, *arguments: tuple[str, Expr], pass_buffers: bool = False) -> Accumulation:
        operation, function = self.func.operation, original(self.func).operation
        assert isinstance(operation, Callback)
        assert isinstance(function, Callback)
        return Accumulation(
            arguments=(*operation.arguments, *arguments),
            pass_buffers=pass_buffers,
            reduction=self.reduction,
            stage=stage,
            func=self.func.name,
            function=function.function,
            axes=self.axes,
            parts=self.in_two_steps,
            variant=self.func.variant if self.variants else None,
            variants=self.variants,
        )

    def _dims(self, name: str) -> tuple[Variable, ...]:
        names = self.func.dim_names()
        return tuple(variable(f"{name}.{d}") for d in (self.piece_name, *(names[d] for d in self.along)))

    def _position(self, d: int) -> int:
        """Where a dimension of the func is, of a func that writes the states."""
        return self.along.index(d) + 1

    def _along_pieces(
        self, name: str, operation: Accumulation, inputs: tuple[InputPort, ...], part: Limit
    ) -> LoweredFunc:
        """A func that writes the states, along the pieces, too."""
        func, place = self.func, self._position
        limits = (Limit(place(limit.dim), limit.first, limit.last) for limit in func.part if limit.dim in self.along)
        return LoweredFunc(
            name,
            operation,
            self._dims(name),
            inputs,
            tuple(OutputPort((0, *map(place, s.dims)), s.dtype) for s in self.reduction.states),
            whole=tuple((place(d), i) for d, i in func.whole if d in self.along),
            known=(*func.known, *self.positive),
            multiples=tuple((place(d), n) for d, n in func.multiples if d in self.along),
            part=(part, *limits),
        )

    def _init(self) -> LoweredFunc:
        part = Limit(0, None, constant(-1))
        return self._along_pieces(self._name(Stage.INIT), self._operation(Stage.INIT), (), part)

    def _update(self) -> LoweredFunc:
        name = self._name(Stage.UPDATE)
        dims = self._dims(name)
        piece = dims[0]
        own: dict[Expr, Expr] = {self.func.dims[d]: dims[self._position(d)] for d in self.along}
        states = [
            InputPort((point(piece - 1), *(point(dims[self._position(d)]) for d in s.dims)), s.dtype)
            for s in self.reduction.states
        ]
        inputs: list[InputPort] = []
        for port, axis in zip(self.func.inputs, self.axes, strict=True):
            box = list(substitute_box(port.box, own))
            if axis is not None:
                whole = box[axis]
                begin = whole.min + self.factor * piece
                box[axis] = Interval(begin, minimum(begin + self.factor - 1, whole.max))
            inputs.append(attrs.evolve(port, box=tuple(box)))
        positions = self.reduction.positions
        arguments = [("piece_extent", self.factor), *([("each", self.each)] if positions else [])]
        operation = self._operation(Stage.UPDATE, *arguments, pass_buffers=positions)
        return self._along_pieces(name, operation, (*states, *inputs), Limit(0, constant(0), self.last))

    def _last_state(self) -> Expr:
        """Where the states stand that are of all elements."""
        return self.last

    def _finish(self) -> LoweredFunc:
        func, name = self.func, self._name(Stage.FINISH)
        dims = tuple(variable(f"{name}.{d}") for d in func.dim_names())
        states = tuple(
            InputPort((point(self._last_state()), *(point(dims[d]) for d in s.dims)), s.dtype)
            for s in self.reduction.states
        )
        count = (("count", self.extent * self.each),) if self.reduction.positions else ()
        return LoweredFunc(
            name,
            self._operation(Stage.FINISH, *count),
            dims,
            states,
            func.outputs,
            whole=func.whole,
            known=(*func.known, *self.positive),
            multiples=func.multiples,
            part=func.part,
        )


class _Parts(_Pieces):
    """The same, of parts that begin anew and are merged: their states have the number of the part as first dimension,
    then that of the piece in it."""

    in_two_steps = True

    def __init__(
        self,
        version: Version,
        call: Call,
        reduction: Reduction,
        dim: str,
        axes: tuple[int | None, ...],
        factor: Expr,
        pieces: Expr,
    ) -> None:
        super().__init__(version, call, reduction, dim, axes, factor)
        self.pieces = pieces
        self.part_name = f"{dim}_part"
        self.last_part = (self.extent - 1) // (factor * pieces)
        if not isinstance(pieces, Constant):
            self.positive = (*self.positive, pieces >= 1)
        self.kept = self._more_names("kept")
        self.merged = self._more_names("merged")
        self.places: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)

    def _more_names(self, what: str) -> tuple[str, ...]:
        found = [*self.states, *getattr(self, "kept", ())]
        own: list[str] = []
        for state in self.reduction.states:
            wanted = what if len(self.reduction.states) == 1 else f"{what}_{state.name}"
            own.append(free_name(self.version, self.call.id, wanted, (*found, *own)))
        return tuple(own)

    def in_parts(self, loop: Variable, part: Variable, merging: Variable) -> tuple[Alloc | Call | For, ...]:
        """All of them, for loops with these variables."""
        last_piece = self._last_piece(part)
        own = tuple(self.box[d] for d in self.along)
        init = Call(self._init(), (point(part), point(-1), *own), (), self.states)
        reads = (*self.states, *self.call.reads)
        update = Call(self._update(), (point(part), point(loop), *own), reads, self.states)
        pieces = For(loop, Interval(constant(0), last_piece), constant(1), SERIAL, (update,))
        keep = Call(self._keep(), (point(part), *own), self.states, self.kept)
        states = self._buffers(
            self.states, [(self.part_name, point(part), None), (self.piece_name, Interval(constant(-1), last_piece), 2)]
        )
        around = For(part, Interval(constant(0), self.last_part), constant(1), SERIAL, (*states, init, pieces, keep))
        begin = Call(self._begin(), (point(-1), *own), (), self.merged)
        merge = Call(self._merge(), (point(merging), *own), (*self.merged, *self.kept), self.merged)
        after = For(merging, Interval(constant(0), self.last_part), constant(1), SERIAL, (merge,))
        final = Call(self._finish(), self.call.box, self.merged, self.call.writes, id=self.call.id)
        self.places = (around.id, init.id, pieces.id, update.id, merge.id)
        kept = self._buffers(self.kept, [(self.part_name, Interval(constant(0), self.last_part), None)])
        merged = self._buffers(self.merged, [(self.part_name, Interval(constant(-1), self.last_part), 2)])
        return (*kept, around, *merged, begin, after, final)

    def _last_piece(self, part: Expr) -> Expr:
        """The number of the last piece of a part, in it."""
        return minimum(self.pieces - 1, self.last - self.pieces * part)

    def _buffers(self, names: tuple[str, ...], leading: Sequence[tuple[str, Interval, int | None]]) -> list[Alloc]:
        dims = self.func.dim_names()
        return [
            Alloc(
                name,
                state.dtype,
                (*(each for each, _, _ in leading), *(dims[d] for d in state.dims)),
                (*(i for _, i, _ in leading), *(self.box[d] for d in state.dims)),
                (*(None if fold is None else constant(fold) for *_, fold in leading), *(None for _ in state.dims)),
            )
            for name, state in zip(names, self.reduction.states, strict=True)
        ]

    def _stage(
        self,
        wanted: str,
        leading: Sequence[str],
        operation: Accumulation,
        inputs: Callable[[tuple[Variable, ...]], Sequence[InputPort]],
        *parts: Limit,
    ) -> LoweredFunc:
        """A func that writes states along these dimensions before those that some state has."""
        func, more, names = self.func, len(leading), self.func.dim_names()
        name = free_name(self.version, self.call.id, wanted, (*self.states, *self.kept, *self.merged))
        dims = tuple(variable(f"{name}.{d}") for d in (*leading, *(names[d] for d in self.along)))
        own = tuple(range(more))
        place = {d: n + more for n, d in enumerate(self.along)}
        return LoweredFunc(
            name,
            operation,
            dims,
            tuple(inputs(dims)),
            tuple(OutputPort((*own, *(place[d] for d in s.dims)), s.dtype) for s in self.reduction.states),
            whole=tuple((place[d], i) for d, i in func.whole if d in place),
            known=(*func.known, *self.positive),
            multiples=tuple((place[d], n) for d, n in func.multiples if d in place),
            part=(*parts, *(Limit(place[i.dim], i.first, i.last) for i in func.part if i.dim in place)),
        )

    def _ports(self, leading: Sequence[Expr], own: Sequence[Variable]) -> list[InputPort]:
        """What is read of states, where their first dimensions are these, and the others are of those of the func that
        states have."""
        place = dict(zip(self.along, own, strict=True))
        return [
            InputPort((*map(point, leading), *(point(place[d]) for d in s.dims)), s.dtype)
            for s in self.reduction.states
        ]

    def _init(self) -> LoweredFunc:
        operation = self._operation(Stage.INIT)
        within = Limit(0, constant(0), self.last_part), Limit(1, None, constant(-1))
        leading = (self.part_name, self.piece_name)
        return self._stage(f"{self.func.name}_init", leading, operation, lambda dims: (), *within)

    def _update(self) -> LoweredFunc:
        func = self.func

        def inputs(dims: tuple[Variable, ...]) -> list[InputPort]:
            part, piece, *rest = dims
            own = dict[Expr, Expr](zip((func.dims[d] for d in self.along), rest, strict=True))
            found = self._ports((part, piece - 1), rest)
            for port, axis in zip(func.inputs, self.axes, strict=True):
                box = list(substitute_box(port.box, own))
                if axis is not None:
                    whole = box[axis]
                    begin = whole.min + self.factor * self.pieces * part + self.factor * piece
                    box[axis] = Interval(begin, minimum(begin + self.factor - 1, whole.max))
                found.append(attrs.evolve(port, box=tuple(box)))
            return found

        arguments = [("piece_extent", self.factor), ("part_pieces", self.pieces)]
        arguments += [("each", self.each)] if self.reduction.positions else []
        operation = self._operation(Stage.UPDATE, *arguments, pass_buffers=True)
        within = Limit(0, constant(0), self.last_part), Limit(1, constant(0), self.pieces - 1)
        leading = (self.part_name, self.piece_name)
        return self._stage(f"{func.name}_update", leading, operation, inputs, *within)

    def _keep(self) -> LoweredFunc:
        def inputs(dims: tuple[Variable, ...]) -> list[InputPort]:
            part, *own = dims
            return self._ports((part, self._last_piece(part)), own)

        arguments = (("part_pieces", self.pieces), ("extent", self.last + 1))
        operation = self._operation(Stage.KEEP, *arguments, pass_buffers=True)
        within = Limit(0, constant(0), self.last_part)
        return self._stage(f"{self.func.name}_keep", (self.part_name,), operation, inputs, within)

    def _begin(self) -> LoweredFunc:
        operation = attrs.evolve(self._operation(Stage.INIT), parts=False)
        name = f"{self.func.name}_begin"
        return self._stage(name, (self.part_name,), operation, lambda dims: (), Limit(0, None, constant(-1)))

    def _merge(self) -> LoweredFunc:
        def inputs(dims: tuple[Variable, ...]) -> list[InputPort]:
            part, *own = dims
            return [*self._ports((part - 1,), own), *self._ports((part,), own)]

        positions = self.reduction.positions
        arguments = (("piece_extent", self.factor * self.pieces), ("extent", self.extent), ("each", self.each))
        operation = self._operation(Stage.MERGE, *(arguments if positions else ()), pass_buffers=positions)
        within = Limit(0, constant(0), self.last_part)
        return self._stage(f"{self.func.name}_merge", (self.part_name,), operation, inputs, within)

    def _last_state(self) -> Expr:
        return self.last_part
