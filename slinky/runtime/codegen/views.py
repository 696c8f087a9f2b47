"""The arrays that callbacks are given: views of exactly their regions.

Each dimension of a region is cropped in the outermost scope that knows both of its ends, so that a crop that does not
change in a loop is made before it, and a dimension that is not cropped is not sliced.

What a callback reads, it is given read-only: views of one read-only view of the whole buffer, so that it costs nothing
where the callback is called. Ufuncs, which never write to what they read, are given plain views.

Invariant: a view that is made in an outer scope is the one that would be made where it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from slinky.ir.effects import calls_in
from slinky.ir.regions import factors_of, is_translation
from slinky.ir.statements import Call, InputPort, LoweredFunc, OutputPort, Port, Program, walk
from slinky.runtime.codegen.peeling import steady_rate
from slinky.runtime.codegen.scopes import CodeScope, Course
from slinky.runtime.codegen.writer import Writer, is_costly
from slinky.runtime.operations import only_reads
from slinky.runtime.plan_tree import Assign, At, Crop, Located, Name, Onward, Rows, Sealed, Seen, Span, Value, Window
from slinky.symbolic.bounds import decide
from slinky.symbolic.expressions import Expr, Truth, all_of, constant, constant_value, equal, maximum, minimum
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import substitute


@attrs.frozen(eq=False)
class Stored:
    """A buffer of the plan: its name, and the scope that has the name.

    It is an array, or where dimensions are `folded`, a ring that gives windows (see `plan_tree.Window`). `read_only` is
    the name of what is the same but read-only, if there is one. The array of one that is stored by `blocks` has
    dimensions more, which come first (see `ir.blocks`). The windows of a ring may be void once another one has been
    asked for, where it `moves`.
    """

    name: Name
    scope: CodeScope
    folded: tuple[int, ...] = ()
    read_only: Name | None = None
    blocks: tuple[int | None, ...] = ()
    moves: bool = False


@attrs.frozen(eq=False)
class DimCrop:
    """How to crop one dimension: the distance of the first coordinate, how many, and the scope that knows both."""

    dim: int
    buffer: str
    name: str
    first: Expr
    extent: Expr
    home: CodeScope
    block: Expr | None = None
    """In which block all of it lies; then the distance is that from the first coordinate of the block."""

    @property
    def key(self) -> tuple[int, Expr, Expr]:
        """Equal for equal crops."""
        return self.dim, self.first, self.extent

    @property
    def hint(self) -> str:
        """A name for what is computed for it."""
        return f"{self.buffer}_{self.name}"


def is_given_read_only(func: LoweredFunc) -> bool:
    """Whether what a func reads is given to its callback read-only."""
    return not func.operation.writable_inputs and not only_reads(func.operation)


def buffers_given_read_only(program: Program) -> frozenset[str]:
    """The buffers of which any callback is given a read-only view."""
    calls = (s for s in walk(program.body) if isinstance(s, Call) and is_given_read_only(s.func))
    return frozenset(buffer for call in calls for buffer in call.reads)


def buffers_read_once(program: Program) -> frozenset[str]:
    """The buffers that are read by one call alone, which is in no loop."""
    read = Counter(buffer for call in calls_in(program.body) for buffer in call.reads)
    here = {buffer for s in program.body if isinstance(s, Call) for buffer in s.reads}
    return frozenset(buffer for buffer in here if read[buffer] == 1)


class Views:
    """Makes views. `stored` are the buffers that there are; `dims` names the dimensions of those not allocated.

    `contiguous` are the names of what says whether an output is contiguous, `given_read_only` the buffers that a
    callback is given read-only, `read_once` those of which one crop is enough.
    """

    def __init__(
        self,
        writer: Writer,
        dims: Mapping[str, Sequence[str]],
        given_read_only: frozenset[str],
        read_once: frozenset[str],
    ) -> None:
        self._writer = writer
        self._dims = dims
        self.given_read_only = given_read_only
        self._read_once = read_once.intersection(dims)
        self.stored: dict[str, Stored] = {}
        self.contiguous: dict[str, Name] = {}

    def input(self, func: LoweredFunc, port: InputPort, buffer: str, region: Box, own: Box | None) -> Value:
        """What a callback is given for a region that it reads: an array, or a buffer where it asks for buffers.

        `own` is the box in its own coordinates, if the port has a view.
        """
        stored = self.stored[buffer]
        name = stored.name
        view: Value | None = None
        if buffer in self._read_once:
            crop = self._view(stored, name, buffer, region)
            if isinstance(crop, Crop):
                crop = self._or_all(crop, buffer, region)
                view = Sealed(crop) if is_given_read_only(func) else crop
        if view is None:
            if is_given_read_only(func):
                assert stored.read_only is not None  # the buffer is among those given read-only
                name = stored.read_only
            view = self._view(stored, name, buffer, region)
        return self._operand(func, port, view, region, own)

    def _or_all(self, crop: Crop, buffer: str, region: Box) -> Crop:
        """A crop for a region, with a question whether that is all of the buffer, if it may be and is soon asked."""
        writer = self._writer
        limits = writer.facts.boxes[buffer]
        if any(is_costly(end) for i in region for end in (i.min, i.max)):
            return crop
        same = [equal(a, b) for i, j in zip(region, limits, strict=True) for a, b in ((i.min, j.min), (i.max, j.max))]
        is_all = decide(all_of(*same), writer.known)
        return crop if isinstance(is_all, Truth) else attrs.evolve(crop, is_all=writer.value(is_all))

    def output(self, func: LoweredFunc, port: OutputPort, buffer: str, region: Box, own: Box | None) -> Value:
        """What a callback is given for a region that it writes."""
        stored = self.stored[buffer]
        return self._operand(func, port, self._view(stored, stored.name, buffer, region), region, own)

    def _operand(self, func: LoweredFunc, port: Port, view: Value, region: Box, own: Box | None) -> Value:
        if port.view is not None and own is not None:
            region = own
            if not is_translation(port.view):
                view = Seen(view, factors_of(port.view), tuple([self._extent(i) for i in own]))
        if not func.operation.pass_buffers:
            return view
        return Located(view, tuple([self._writer.value(i.min) for i in region]))

    def _extent(self, i: Interval) -> Value:
        extent = self._writer.difference(i.max, i.min) + 1
        return self._writer.value(
            extent if self._writer.is_not_negative(extent, self._writer.known) else maximum(extent, 0)
        )

    def part(self, output: str, region: Box) -> tuple[Name, Name]:
        """The name of the part of an output for a region, and of what says whether the output is contiguous."""
        stored = self.stored[output]
        part = self._view(stored, stored.name, output, region, keep=True)
        assert isinstance(part, Name)  # it is kept, or the whole output
        return part, self.contiguous[output]

    def rows(self, buffer: str, dim: int) -> Rows:
        """How many coordinates of a folded dimension there may be in a view."""
        stored = self.stored[buffer]
        return Rows(stored.name, stored.folded.index(dim))

    def _view(self, stored: Stored, name: Name, buffer: str, region: Box, *, keep: bool = False) -> Value:
        """The view of what has this name for a region: made where it is used, unless it shall be kept under a name."""
        crops = self._crops(buffer, region)
        array: Value = name
        base = stored.scope
        if stored.folded:
            folded = [c for c in crops if c.dim in stored.folded]
            base = max([base, *(c.home for c in folded)], key=lambda scope: scope.level)
            if stored.moves:
                base = max(base, self._where_it_lies_still(buffer), key=lambda scope: scope.level)
            are_there = self._there_are_such_windows(buffer, folded, base.facts.known)
            if not are_there:
                base = self._writer.scope
            array = self._window(stored, name, buffer, folded, self._around(base), may_go_along=are_there)
            crops = [c for c in crops if c.dim not in stored.folded]
        if stored.blocks:
            blocks = [c for c in crops if c.block is not None]
            home = self._writer.home(*(c.block for c in blocks if c.block is not None))
            base = max(base, home, key=lambda scope: scope.level)
            if not self._there_are_such_blocks(buffer, blocks, base.facts.known):
                base = self._writer.scope
            array = self._block(name, buffer, blocks, self._around(base))
        for level in sorted({max(crop.home.level, base.level) for crop in crops}):
            group = [crop for crop in crops if max(crop.home.level, base.level) == level]
            target = self._around(group[0].home if group[0].home.level == level else base)
            array = self._cropped(array, buffer, group, target, keep)
        return array

    def _there_are_such_windows(self, buffer: str, crops: Iterable[DimCrop], known: Facts) -> bool:
        """Whether windows of these lengths are shown to exist: unlike a slice, a window of no such length fails.

        Where a loop or a branch never runs, its regions may have any length; what is shown there holds there alone.
        """
        folds = self._writer.facts.allocs[buffer].folds
        writer = self._writer
        return all(
            writer.is_not_negative(c.extent, known)
            and (fold := folds[c.dim]) is not None
            and writer.is_at_most(c.extent, fold, known)
            for c in crops
        )

    def _there_are_such_blocks(self, buffer: str, crops: Iterable[DimCrop], known: Facts) -> bool:
        """Whether these blocks are shown to exist: unlike a slice, a position beyond an array fails."""
        box = self._writer.facts.allocs[buffer].box
        lengths = self.stored[buffer].blocks
        return all(
            c.block is not None
            and (length := lengths[c.dim]) is not None
            and prove(c.block >= 0, known)
            and prove(c.block * length <= box[c.dim].max - box[c.dim].min, known)
            for c in crops
        )

    def _block(self, array: Value, buffer: str, crops: Sequence[DimCrop], target: CodeScope) -> Value:
        """The view of one block of an array: made where it is used, or under a name of an outer scope."""
        value = self._writer.value

        def make() -> Value:
            return Crop(array, tuple([At(value(c.block, f"{c.hint}_block")) for c in crops if c.block is not None]))

        return self._placed(("block", array, *(c.block for c in crops)), buffer, crops, target, make)

    def _around(self, scope: CodeScope) -> CodeScope:
        """The scope of this level around the current one."""
        return next(around for around in self._writer.scope.chain() if around.level == scope.level)

    def _where_it_lies_still(self, buffer: str) -> CodeScope:
        """The outermost scope around the current one from which on nobody writes a buffer whose rows may move.

        Every loop between has iterations: a window that is asked for in vain would make the rows move elsewhere.
        """
        scope = self._writer.scope
        while scope.around is not None and scope.is_certain and len(scope.facts.loops) > len(scope.around.facts.loops):
            if any(buffer in call.writes for call in calls_in(scope.facts.loops[-1].body)):
                break
            scope = scope.around
        return scope

    def _window(
        self,
        stored: Stored,
        ring: Name,
        buffer: str,
        crops: Sequence[DimCrop],
        target: CodeScope,
        *,
        may_go_along: bool,
    ) -> Value:
        """The view of a folded buffer: made where it is used, or under a name of an outer scope.

        It may go along with a loop only if it is shown that there are such windows: all are asked for before the body,
        and so before what stops a run there. And the buffer must be there before the loop.
        """
        key: tuple[object, ...] = ("window", ring, *(crop.key for crop in crops))
        is_before = may_go_along and stored.scope.level < target.level
        if is_before and not stored.moves and target.course is not None and len(crops) == 1:
            known: Name | None = target.lookup(key)
            along = known or self._along(ring, crops[0], target, target.course)
            if along is not None:
                target.values[key] = along
                return along
        if stored.moves:
            key = (*key, object())  # whoever asks for the same one later may find it elsewhere
        value = self._writer.value

        def make() -> Value:
            return Window(ring, tuple([(value(c.first, c.hint), value(c.extent, c.hint)) for c in crops]))

        return self._placed(key, buffer, crops, target, make)

    def _along(self, ring: Name, crop: DimCrop, target: CodeScope, course: Course) -> Name | None:
        """The name of a window that comes with the variable of a loop; None if it does not go on at a steady rate."""
        writer, around = self._writer, target.around
        assert around is not None
        rate = steady_rate(crop.first, course.variable)
        if not rate:
            return None
        first = substitute(crop.first, {course.variable: course.first})
        step = rate * course.step
        ends = (first, crop.extent, step, course.first)
        if any(writer.home(e).level > around.level or not writer.is_safe(e, around.facts.known) for e in ends):
            return None
        with writer.at(around):
            values = [writer.value(e, crop.hint) for e in ends]
        name = writer.names.fresh(f"{crop.buffer}_{crop.name}")
        course.beside.append((name, Onward(ring, values[0], values[1], values[2], values[3], rate)))
        return Name(name)

    def _cropped(self, array: Value, buffer: str, crops: Sequence[DimCrop], target: CodeScope, keep: bool) -> Value:
        """An array cropped in some dimensions: made where it is used, or under a name of an outer scope."""
        value = self._writer.value

        def make() -> Value:
            spans: list[Span | None] = [None] * (max(c.dim for c in crops) + 1)
            for c in crops:
                spans[c.dim] = Span(value(c.first, c.hint), value(c.first + c.extent, f"{c.hint}_end"))
            return Crop(array, tuple(spans))

        return self._placed(("view", array, *(crop.key for crop in crops)), buffer, crops, target, make, keep)

    def _placed(
        self,
        key: object,
        buffer: str,
        crops: Iterable[DimCrop],
        target: CodeScope,
        make: Callable[[], Value],
        keep: bool = False,
    ) -> Value:
        """A view, made in the target scope: named there, unless that is where it is used and it is not to be kept.

        One that is known in a scope within the target has no name there, where a crop of it may be made.
        """
        writer = self._writer
        known: Name | None = target.lookup(key)
        if known is not None:
            return known
        with writer.at(target) as current:
            view = make()
            if keep or target is not current:
                name = writer.names.fresh("_".join([buffer, *(crop.name for crop in crops)]))
                target.add(Assign(name, view))
                target.values[key] = view = Name(name)
        return view

    def _crops(self, buffer: str, region: Box) -> list[DimCrop]:
        limits = self._writer.facts.boxes[buffer]
        crops = [self._crop(buffer, d, i, limit) for d, (i, limit) in enumerate(zip(region, limits, strict=True))]
        return [crop for crop in crops if crop is not None]

    def _crop(self, buffer: str, d: int, i: Interval, limit: Interval) -> DimCrop | None:
        """How to crop a dimension; None where the region is all of it."""
        writer = self._writer
        offset, rest = writer.difference(i.min, limit.min), writer.difference(limit.max, i.max)
        is_whole = constant_value(offset) == 0 and constant_value(rest) == 0
        blocks = self.stored[buffer].blocks
        length = blocks[d] if blocks else None
        if is_whole and d not in self.stored[buffer].folded and length is None:
            return None
        extent = writer.difference(i.max, i.min) + 1
        if not writer.is_not_negative(extent, writer.known):
            extent = maximum(extent, 0)
        if self._holds_one_row(buffer, d):
            offset = constant(0)  # wherever it is: so the view of it need not be made again in each iteration
        name = self._dim_name(buffer, d)
        if length is not None:
            block = writer.simplify(self._existing_block(offset // length, limit, length), writer.known)
            first = writer.simplify(offset % length, writer.known)
            return DimCrop(d, buffer, name, first, extent, writer.home(first, extent, block), block)
        return DimCrop(d, buffer, name, offset, extent, writer.home(offset, extent))

    def _existing_block(self, block: Expr, limit: Interval, length: int) -> Expr:
        """The block in which a region begins; where it may be a region of nothing, anywhere, one that there is."""
        known = self._writer.known
        if prove(block >= 0, known) and prove(block * length <= limit.max - limit.min, known):
            return block
        return maximum(minimum(block, (limit.max - limit.min) // length), 0)

    def _holds_one_row(self, buffer: str, d: int) -> bool:
        """Whether a dimension is folded by one: whatever is in it lies at the same place."""
        alloc = self._writer.facts.allocs.get(buffer)
        fold = None if alloc is None else alloc.folds[d]
        return fold is not None and constant_value(fold) == 1

    def _dim_name(self, buffer: str, d: int) -> str:
        alloc = self._writer.facts.allocs.get(buffer)
        if alloc is not None:
            return alloc.dims[d]
        return self._dims[buffer][d] if buffer in self._dims else str(d)
