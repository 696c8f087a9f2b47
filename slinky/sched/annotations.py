"""What users wrote on funcs and buffers, applied to the pipeline made of them: the primitives that they would call.

Funcs are gone through once, consumers first. Each is computed where its annotation says, else where `defaults` finds
the innermost loop that is worth it, and slides there; then its own loops are made. When all stand where they shall,
buffers are stored where their annotations say, else as far out as their windows need; then loops become parallel, for
only then each iteration has buffers of its own. If a loop is refused to be parallel because of something that was
placed by default, all is done again with loops that are parallel from the start, in which less can be placed.

Places are followed by cursors, so it does not matter what is called like what.

Invariant: what is asked for is there in the end, or refused with an `AnnotationError` that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import slinky as sl
from slinky.errors import AnnotationError
from slinky.graph.annotations import At, LoopAnnotation, Placement
from slinky.sched.defaults import (
    Placed,
    candidates,
    folded_along,
    outside,
    placed_as_asked,
    placed_at,
    stored_in_loops,
)
from slinky.sched.library import is_there


def with_annotations(
    p: sl.Pipeline, calls: Mapping[sl.Func, sl.CallCursor], allocs: Mapping[sl.BufferExpr, sl.AllocCursor]
) -> sl.Pipeline:
    """The pipeline as the annotations of its funcs and buffers say.

    `calls` are the calls of funcs, producers first, and `allocs` the allocations of buffers, of this version or of an
    earlier one; what is gone since is left alone. Raises `AnnotationError` for what is refused.
    """
    try:
        return _ParallelLast(p, calls, allocs).applied()
    except _ParallelRefusedError as refused:
        try:
            return _ParallelFirst(p, calls, allocs).applied()
        except AnnotationError:  # says what stands in the way of the loops, where these were refused
            raise refused from None


class _ParallelRefusedError(AnnotationError):
    """A loop cannot be parallel once all is placed in it."""


class _Schedule:
    """A pipeline on its way, and where its funcs, buffers and loops are."""

    def __init__(
        self, p: sl.Pipeline, calls: Mapping[sl.Func, sl.CallCursor], allocs: Mapping[sl.BufferExpr, sl.AllocCursor]
    ) -> None:
        self.p = p
        self.calls = {func: call for func, call in calls.items() if is_there(p, call)}
        self.allocs = {buffer: alloc for buffer, alloc in allocs.items() if is_there(p, alloc)}
        self.loops: dict[sl.Func, list[tuple[LoopAnnotation, sl.LoopCursor]]] = {}
        self.parallel: list[tuple[sl.Func, LoopAnnotation, sl.LoopCursor]] = []
        self.placed: dict[sl.Func, Placed] = {}

    def applied(self) -> sl.Pipeline:
        """The pipeline with all annotations applied."""
        for func in self.calls:
            for access in func.outputs:
                self._check_stored(access.buffer)
        for func in reversed(self.calls):
            if func.placement is None:
                self._place_by_default(func)
            else:
                self._place(func, func.placement)
                self._split(func)
        for func in self.calls:
            self._store(func)
        self._make_parallel()
        for func in self.calls:
            self._share(func)
        return self.p

    # Where funcs are computed -----------------------------------------------------------------------------------

    def _place(self, func: sl.Func, place: Placement) -> None:
        """Compute a func where it shall be."""
        if isinstance(place, At):
            annotation = f"compute_at({place})"
            loop = self._loop(place, _named(func), annotation)
            with _asked(_named(func), annotation):
                self.p, self.placed[func] = placed_as_asked(self.p, self.calls[func], loop, self._not_slid(func))

    def _place_by_default(self, func: sl.Func) -> None:
        """Compute a func in the innermost loop where that is worth it and its own loops can be made, and make them."""
        before, call, apart = self.p, self.calls[func], self._not_slid(func)
        for loop in candidates(before, call):
            try:
                self.p, self.placed[func] = placed_at(before, call, loop, apart)
                self._split(func)
            except sl.REFUSALS:
                self._forget(func, before)
            else:
                return
        self._split(func)

    def _forget(self, func: sl.Func, before: sl.Pipeline) -> None:
        """Go back to the pipeline in which nothing was done about a func."""
        self.p = before
        self.placed.pop(func, None)
        self.loops.pop(func, None)
        self.parallel = [each for each in self.parallel if each[0] is not func]

    def _not_slid(self, func: sl.Func) -> list[sl.LoopCursor]:
        """The loops from which on outwards a func does not slide: parallel ones, and those that its buffers are in."""
        found = [loop for _, _, loop in self.parallel]
        for access in func.outputs:
            stored = access.buffer.stored
            if isinstance(stored, At):
                found.append(self._loop(stored, _named(access.buffer), f"store_at({stored})"))
        return found

    def _loop(self, place: At, subject: str, annotation: str) -> sl.LoopCursor:
        """The loop that an annotation names."""
        if place.func not in self.calls:
            raise AnnotationError(subject, annotation, f"func {place.func.name!r} is no func of this pipeline")
        loops = self.loops.get(place.func, [])
        found = [loop for each, loop in loops if place.loop is each or place.loop is each.variable]
        if len(found) == 1:
            return found[0]
        have = ", ".join(str(each) for each, _ in loops) or "none"
        if found:
            why = f"func {place.func.name!r} has several loops over {place.loop}: name one, as sl.loop(...) made it"
        else:
            why = f"func {place.func.name!r} has no such loop when this is placed; it has {have}"
        raise AnnotationError(subject, annotation, why)

    # Their loops ------------------------------------------------------------------------------------------------

    def _split(self, func: sl.Func) -> None:
        """Make the loops of a func."""
        call = self.calls[func]
        for annotation in func.loop_annotations:
            with _asked(_named(func), _loops_text(func)):
                if annotation.variable in func.dims:
                    loop = self._split_dim(func, call, annotation)
                else:
                    self.p, pieces = sl.split_reduction(
                        self.p, call, annotation.variable.name, annotation.step, rc=True
                    )
                    loop, call = pieces.loop, pieces.update  # loops inside of this one are of what takes the pieces
            self.loops.setdefault(func, []).append((annotation, loop))
            if annotation.workers is not None:
                self._made_parallel_loop(func, annotation, loop)

    def _split_dim(self, func: sl.Func, call: sl.CallCursor, annotation: LoopAnnotation) -> sl.LoopCursor:
        """Make a loop over a dimension of a func; its own come last, behind the numbers of pieces."""
        dims = self.p.forward(call).dims()
        dim = dims[len(dims) - len(func.dims) + func.dims.index(annotation.variable)]
        more = {} if annotation.tail == "clamp" else {"tail": annotation.tail}  # as a user would write it
        self.p, split = sl.split_loop(self.p, dim, annotation.step, rc=True, **more)
        if annotation.align != 1:
            self.p = sl.align_loop(self.p, split.outer, annotation.align)
        return split.outer

    def _made_parallel_loop(self, func: sl.Func, annotation: LoopAnnotation, loop: sl.LoopCursor) -> None:
        """Take note of a loop that shall be parallel."""
        self.parallel.append((func, annotation, loop))

    def _make_parallel(self) -> None:
        """Make parallel what shall be, now that all is placed and stored."""

    def _parallelize(self, annotation: LoopAnnotation, loop: sl.LoopCursor) -> None:
        everybody = str(annotation.workers) == "0"
        self.p = sl.parallelize_loop(self.p, loop, *(() if everybody else (annotation.workers,)))

    # Where buffers are stored -----------------------------------------------------------------------------------

    def _check_stored(self, buffer: sl.BufferExpr) -> None:
        """Raise `AnnotationError` for an annotation of a buffer that is not slinky's to store."""
        if buffer in self.allocs:
            return
        for annotation in _storage_texts(buffer):
            raise AnnotationError(_named(buffer), annotation, "it is given to the pipeline, and lies where it lies")

    def _store(self, func: sl.Func) -> None:
        """Store the buffers that a func makes where they shall be."""
        placed = self.placed.get(func)
        for access in func.outputs:
            buffer = access.buffer
            alloc, stored = self.allocs.get(buffer), buffer.stored
            if alloc is None:
                continue
            if stored is None:
                if placed is None:
                    self._store_unread(func, alloc)
                else:
                    self.p = stored_in_loops(self.p, placed, alloc)
                continue
            around: tuple[sl.LoopCursor, ...] = ()
            if isinstance(stored, At):
                annotation = f"store_at({stored})"
                loop = self._loop(stored, _named(buffer), annotation)
                with _asked(_named(buffer), annotation):
                    self.p = sl.store_at(self.p, alloc, loop)
                around = (loop,)
            if placed is not None:
                self._fold_inside(placed, alloc, around)

    def _store_unread(self, func: sl.Func, alloc: sl.AllocCursor) -> None:
        """Store what nobody reads of a func in its own loops, in the innermost one where that is not refused."""
        if sl.consumers(self.p, self.p.forward(alloc)):
            return
        for _, loop in reversed(self.loops.get(func, ())):
            try:
                self.p = sl.store_at(self.p, alloc, loop)
            except sl.REFUSALS:
                continue
            return

    def _fold_inside(self, placed: Placed, alloc: sl.AllocCursor, around: tuple[sl.LoopCursor, ...]) -> None:
        """Fold a buffer along the outermost loop inside of those around it, if no parallel loop is in between."""
        names = [loop.name() for loop in around]
        inside = [loop for loop in placed.loops if loop.name() not in names]
        for loop in around:
            if loop.name() in [each.name() for each in placed.loops]:
                inside = inside[len(outside(placed.loops, loop)) :]
        parallel = {loop.name() for _, _, loop in self.parallel}
        for loop in inside:
            if loop.name() in parallel:
                return
            folded = folded_along(self.p, alloc, placed.call, placed.slides or loop)
            if folded is not self.p:
                self.p = folded
                return

    # Memory that is shared --------------------------------------------------------------------------------------

    def _share(self, func: sl.Func) -> None:
        """Put the buffers that a func makes in the memory where they shall be."""
        for access in func.outputs:
            memory = access.buffer.memory
            if memory is None or access.buffer not in self.allocs:
                continue
            subject, annotation = _named(access.buffer), f"store_in({memory})"
            other = self.allocs.get(memory.buffer)
            if other is None:
                raise AnnotationError(subject, annotation, f"{memory} is no intermediate of this pipeline")
            with _asked(subject, annotation):
                if any(read.buffer is memory.buffer for read in func.inputs) and len(func.outputs) == 1:
                    self.p = sl.compute_in_place(self.p, self.calls[func], self.p.forward(other).name())
                else:
                    self.p = sl.reuse_buffer(self.p, self.allocs[access.buffer], other)


class _ParallelLast(_Schedule):
    """Loops become parallel when all is placed in them."""

    def _make_parallel(self) -> None:
        for func, annotation, loop in self.parallel:
            try:
                self._parallelize(annotation, loop)
            except (*sl.REFUSALS, sl.OperationError) as error:
                raise _ParallelRefusedError(_named(func), _loops_text(func), error) from error


class _ParallelFirst(_Schedule):
    """Loops are parallel from the start."""

    def _made_parallel_loop(self, func: sl.Func, annotation: LoopAnnotation, loop: sl.LoopCursor) -> None:
        super()._made_parallel_loop(func, annotation, loop)
        with _asked(_named(func), _loops_text(func)):
            self._parallelize(annotation, loop)


# ----------------------------------------------------------------------------------------------------------------
# Words
# ----------------------------------------------------------------------------------------------------------------


@contextmanager
def _asked(subject: str, annotation: str) -> Iterator[None]:
    """Turn refusals of what was asked for into an `AnnotationError` that says what that was."""
    try:
        yield
    except (*sl.REFUSALS, sl.OperationError) as error:
        if isinstance(error, AnnotationError):
            raise
        raise AnnotationError(subject, annotation, error) from error


def _named(subject: sl.Func | sl.BufferExpr) -> str:
    return f"{'func' if isinstance(subject, sl.Func) else 'buffer'} {subject.name!r}"


def _loops_text(func: sl.Func) -> str:
    return f"loops([{', '.join(map(str, func.loop_annotations))}])"


def _storage_texts(buffer: sl.BufferExpr) -> Iterable[str]:
    """What is written on a buffer of where it is stored."""
    stored = buffer.stored
    if stored is not None:
        yield f"store_at({stored})" if isinstance(stored, At) else "store_root()"
    if buffer.memory is not None:
        yield f"store_in({buffer.memory})"
