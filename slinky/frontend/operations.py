"""What nodes do: one class for each way in which elements of results depend on elements of operands.

* `Pointwise`: each element on the elements at its place (ufuncs, `where`, `clip`).
* `Along`: each element on whole axes of the operands, the same for all places of the others (sums, sorts, transforms).
* `Contraction`: each element on a row or column of each operand (matrix products).
* `Opaque`: on everything; run whole, once: a fence.

Copies to parts of a result are in `assembling`. All run NumPy's own functions, on pieces.

Invariant: `lower` makes funcs that give what `compute` gives.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from slinky.frontend.accumulating import RUNNING, run_into
from slinky.frontend.gathering import Rows
from slinky.frontend.nodes import Array, Node, Operation, Shape, Source, exactly, numbers
from slinky.frontend.reals import Told, now
from slinky.frontend.sizes import Length, are_same, value_of
from slinky.frontend.streaming import TOTAL, streamed
from slinky.frontend.taking import Taking
from slinky.ir.formulas import ERRORS
from slinky.ir.reducing import Reducing, only_reads, reduced, write_result
from slinky.runtime.careful import careful
from slinky.sched.callbacks import Operations
from slinky.symbolic.expressions import Expr, Variable, as_expr
from slinky.symbolic.intervals import point

if TYPE_CHECKING:
    from slinky.frontend.lowering import Lowering


def as_it_is(value: Any) -> Any:
    """What is converted by where it is written to."""
    return value


@attrs.frozen
class UnderErrors:
    """A function that runs with settings of its own of what is done about floating-point errors."""

    function: Callable[..., Any]
    errors: tuple[tuple[str, Any], ...]

    def __call__(self, *given: Any, **keywords: Any) -> Any:
        with np.errstate(**dict(self.errors)):
            return self.function(*given, **keywords)


@attrs.frozen
class Operand:
    """Stands for an operand among the arguments of a function, by its number."""

    number: int


@attrs.frozen
class Extent:
    """Stands for a size among the arguments, by its number: a Python integer that is known when the pipeline runs."""

    number: int


@attrs.frozen
class Number:
    """Stands for a float among the arguments, by its number: it is known when the pipeline runs. It is a scalar of
    NumPy's where it has a dtype, else one of Python's."""

    number: int
    dtype: np.dtype[Any] | None = None


Argument = Any
"""An `Operand`, a `Number`, an `Extent`, or a value."""


@attrs.frozen(eq=False)
class Pointwise(Operation):
    """A function of elements: `function(*arguments, **keywords)`.

    `floats` are the values of the `Number`s, `extents` those of the `Extent`s. A bare ufunc writes to `out=`; with
    `into`, any function does. With `masked`, the last two operands are a mask, and what stays where it is false (ufuncs
    with `where=`). With `unpacked`, operands without axes are given as scalars, whose arithmetic is another one. Of the
    floating-point errors that are `ignored` nothing is said; about others is done what is set when it runs.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Argument, ...]
    keywords: tuple[tuple[str, Any], ...] = ()
    floats: tuple[float | Told, ...] = ()
    extents: tuple[Length, ...] = ()
    into: bool = False
    masked: bool = False
    unpacked: bool = False
    exactness: str = "exact"
    ignored: tuple[str, ...] = ()
    keeps_order = True

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """The results of whole arrays."""
        targets = tuple(np.empty(numbers(r.shape), r.dtype) for r in node.results)
        self._callback([None] * len(operands))(*operands, *targets, **self._named())
        return targets

    def lower(self, node: Node, lowering: Lowering) -> None:
        """One func; a ufunc whose operands are read as they are is its own callback."""
        dims = lowering.dims(len(node.results[0].shape))
        reads = [lowering.read_elements(view, dims) for view in node.operands]
        adapters = [read.adapter for read in reads]
        arguments: dict[str, Any] = {f"float_{k}": lowering.number(node, k) for k in range(len(self.floats))}
        arguments |= {f"extent_{k}": lowering.expr(value) for k, value in enumerate(self.extents)}
        lowering.func(
            node,
            self.function if self._is_bare and not any(adapters) else self._callback(adapters),
            [read.access for read in reads],
            dims,
            arguments=arguments,
            in_place=isinstance(self.function, np.ufunc) and not any(adapters) and not (self.masked or self.ignored),
        )

    def reversed(self, node: Node) -> Operation:
        """The same: it knows of no axes."""
        return self

    def lengths(self) -> Iterator[Length]:
        """The sizes among the arguments."""
        return iter(self.extents)

    @property
    def _is_bare(self) -> bool:
        plain = tuple(map(Operand, range(len(self.arguments))))
        is_plain = self.arguments == plain and not self.keywords and not (self.masked or self.ignored)
        return isinstance(self.function, np.ufunc) and is_plain

    def _named(self) -> dict[str, Any]:
        named: dict[str, Any] = {f"float_{k}": now(value) for k, value in enumerate(self.floats)}
        return named | {f"extent_{k}": value_of(value) for k, value in enumerate(self.extents)}

    def _callback(self, adapters: Sequence[Any]) -> PointwiseCallback:
        return PointwiseCallback(
            self.name,
            self._under(tuple([(error, "ignore") for error in self.ignored])) if self.ignored else self.function,
            self.arguments,
            dict(self.keywords),
            tuple(adapters),
            self.into,
            self.masked,
            self.unpacked,
        )

    def under(self, errors: tuple[tuple[str, Any], ...]) -> Operation:
        """The same, with other settings of what is done about floating-point errors."""
        if all(how == "ignore" for _, how in errors):
            return attrs.evolve(self, ignored=tuple(kind for kind in ERRORS if kind in dict(errors)))
        return attrs.evolve(self, function=self._under(errors))

    def _under(self, errors: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
        return UnderErrors(careful(self.function) if self.into else self.function, errors)

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """The function, and what is given to it."""
        if any(callable(value) for _, value in self.keywords):
            return None
        shown = tuple(a if isinstance(a, (Operand, Number, Extent)) else exactly(a) for a in self.arguments)
        extents = tuple(map(of, self.extents))
        return (
            "pointwise",
            self.function,
            shown,
            extents,
            exactly(dict(self.keywords)),
            self.into,
            self.masked,
            self.unpacked,
            self.ignored,
        )


@attrs.frozen(eq=False)
class PointwiseCallback:
    """A function of elements as a callback: it is called with pieces, and writes to pieces."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Argument, ...]
    keywords: dict[str, Any]
    adapters: tuple[Any, ...]
    into: bool
    masked: bool
    unpacked: bool

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, /, *operands: Array, **numbers: Any) -> None:
        count = len(self.adapters)
        made = operands[count].shape
        sources = [s if a is None else a(s, made) for s, a in zip(operands, self.adapters, strict=False)]
        if self.unpacked:
            sources = [s[()] for s in sources]
        targets = operands[count:]
        given = [self._value(a, sources, numbers) for a in self.arguments]
        if self.masked:
            mask, old = sources[-2:]
            np.copyto(targets[0], old)
            careful(self.function)(*given, out=targets[0], where=mask, **self.keywords)
        elif self.into:
            careful(self.function)(*given, out=targets if len(targets) > 1 else targets[0], **self.keywords)
        else:
            result = self.function(*given, **self.keywords)
            for target, each in zip(targets, result if len(targets) > 1 else (result,), strict=True):
                target[...] = each

    def _value(self, argument: Argument, sources: Sequence[Array], numbers: dict[str, Any]) -> Any:
        if type(argument) is Operand:
            return sources[argument.number]
        if type(argument) is Number:
            value = numbers[f"float_{argument.number}"]
            return value if argument.dtype is None else argument.dtype.type(value)
        return numbers[f"extent_{argument.number}"] if type(argument) is Extent else argument


@attrs.frozen(eq=False)
class Along(Operation):
    """A function of whole axes: `function(*operands, **keywords)`, whose results have the `kept` axes of the operands.

    Each operand has as many axes as the result would have if none was reduced; `axes` are those that are read whole,
    and `removed` those among them that the results have not. Where an axis stays, a call computes all of it, too.
    Those that are `wide` have more elements than one, which decides in which order NumPy adds floats along others.
    """

    name: str
    function: Callable[..., Any]
    axes: tuple[int, ...]
    removed: tuple[int, ...]
    keywords: tuple[tuple[str, Any], ...] = ()
    exactness: str = "exact along whole axes"
    wide: tuple[int, ...] = ()
    keeps_order = True

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """The results of whole arrays."""
        result = self.function(*operands, **dict(self.keywords))
        return tuple(np.asarray(r) for r in (result if len(node.results) > 1 else (result,)))

    def lower(self, node: Node, lowering: Lowering) -> None:
        """One func that reads the axes whole."""
        rank = len(node.results[0].shape)
        dims = self._dims(rank, lowering)
        own = list(dims)
        places: list[Expr | None] = []
        for axis in range(rank + len(self.removed)):
            kept = None if axis in self.removed else own.pop(0)
            places.append(None if axis in self.axes else kept)
        whole = [dim for dim, axis in zip(dims, self._kept(rank), strict=True) if axis in self.axes]
        reads = [lowering.read(view, places, dims) for view in node.operands]
        callback: Callable[..., Any] = Calling(
            self.name,
            self._of_pieces if self.wide else self.function,
            dict(self.keywords),
            tuple(read.adapter for read in reads),
            reads_in_order=self.exactness == "tolerance" or (self.exactness != "exact" and bool(self.removed)),
            goes_by_steps=self.function in RUNNING and rank - 1 not in self.axes,
        )
        arguments, reduction = {}, None
        is_plain = len(reads) == 1 and reads[0].adapter is None and self.axes == self.removed
        if is_plain and not lowering.as_one_piece:
            (view,) = node.operands
            is_made = not isinstance(view.result.node.operation, Source) and view.is_turned_nowhere
            in_order = bool(self.wide) and is_made  # arguments may lie otherwise, and are added as they lie
            callback = Reducing(self.name, self.function, self.removed, self.keywords, (), self.wide, in_order)
            target = lowering.access(node.results[0], list(map(point, dims)))
            reduction = streamed(callback, reads[0].access, target)
            if reduction is not None:
                callback = attrs.evolve(callback, sizes=(TOTAL,))
                arguments[TOTAL] = math.prod(lowering.expr(node.operands[0].shape[d]) for d in self.removed)
        lowering.func(
            node,
            callback,
            [read.access for read in reads],
            dims,
            whole=whole,
            arguments=arguments,
            reduction=reduction,
        )

    def reversed(self, node: Node) -> Operation | None:
        """The same along the same axes, if it is a function of NumPy's that does the same along all."""
        if self.function not in _OF_AXES:
            return None
        shape = node.operands[0].shape
        last = len(shape) - 1
        axes, removed = (tuple(sorted(last - axis for axis in own)) for own in (self.axes, self.removed))
        axis = dict(self.keywords)["axis"]
        if axis is not None:
            axis = tuple(last - each for each in axis) if isinstance(axis, tuple) else last - axis
        keywords = tuple((key, axis if key == "axis" else value) for key, value in self.keywords)
        return attrs.evolve(self, axes=axes, removed=removed, keywords=keywords, wide=self._wide_in_reverse(shape))

    def _wide_in_reverse(self, shape: Shape) -> tuple[int, ...]:
        """Which axes of operands of a shape are wide if all are in reverse: as it is known of those behind the first
        one removed; others are taken to be."""
        if self.exactness == "exact" or not self.removed:
            return ()
        first, end = min(self.removed), max(self.removed)
        kept = [d for d in range(end) if d not in self.removed]
        wide = [d for d in kept if (d in self.wide if d > first else not are_same(1, shape[d]))]
        return tuple(len(shape) - 1 - d for d in reversed(wide))

    def _dims(self, rank: int, lowering: Lowering) -> tuple[Variable, ...]:
        """The dimensions of a result of some rank, by the names that its operands' have, but for those removed."""
        of_operands = lowering.dims(rank + len(self.removed))
        return tuple(dim for axis, dim in enumerate(of_operands) if axis not in self.removed)

    def _of_pieces(self, *operands: Array, **keywords: Any) -> Any:
        """What it gives of pieces seen through adapters, whose axes of one element may be said to lie anywhere."""
        is_one = [n == 1 for n in operands[0].shape]
        without = [operand[tuple(0 if one else slice(None) for one in is_one)] for operand in operands]
        pieces = [operand[tuple(None if one else slice(None) for one in is_one)] for operand in without]
        return reduced(self.function, pieces, keywords, self.removed, self.wide)

    def _kept(self, rank: int) -> list[int]:
        return [axis for axis in range(rank + len(self.removed)) if axis not in self.removed]

    def under(self, errors: tuple[tuple[str, Any], ...]) -> Operation:
        """The same, with other settings of what is done about floating-point errors."""
        return attrs.evolve(self, function=UnderErrors(self.function, errors))

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """The function, the axes, and what else is given to it."""
        if any(callable(value) for _, value in self.keywords):
            return None
        return ("along", self.function, self.axes, self.removed, self.wide, exactly(dict(self.keywords)))


_OF_AXES = frozenset(
    {
        *(np.sum, np.prod, np.mean, np.var, np.std, np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd),
        *(np.min, np.max, np.amin, np.amax, np.ptp, np.nanmin, np.nanmax, np.any, np.all, np.count_nonzero),
        *(np.median, np.nanmedian, np.cumsum, np.cumprod, np.nancumsum, np.nancumprod, np.sort),
    }
)
"""Functions that do the same along an axis whichever it is, to all axes that they are given in any order."""


def _lies_as_made(target: Array) -> bool:
    """Whether an array lies in memory as one that NumPy makes, also along axes of one element, whose strides decide
    which routine multiplies matrices, and so how they are rounded."""
    if not target.flags.carray:
        return False
    follows = target.itemsize
    for extent, stride in zip(reversed(target.shape), reversed(target.strides), strict=True):
        if stride != follows:
            return False
        follows *= extent
    return True


@attrs.frozen(eq=False)
class Calling:
    """A function that returns its results as a callback, which sees its operands through adapters."""

    name: str
    function: Callable[..., Any]
    keywords: dict[str, Any]
    adapters: tuple[Any, ...]
    reads_in_order: bool = False
    """Whether its bits depend on the order of its operands in memory (see `slinky.sched.callbacks`)."""
    goes_by_steps: bool = False
    """Whether it makes a call for each place along the axis that it reads whole (see `accumulating`)."""

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def operations(self) -> Operations:
        """How many calls it makes."""
        return Operations(1, each_turn=1 if self.goes_by_steps else 0)

    @property
    def has_threads(self) -> bool:
        """Whether it runs on all cores by itself (see `slinky.sched.callbacks`)."""
        return self.name == "matmul"

    @property
    def only_reads(self) -> bool:
        """Whether it is known to write to nothing that it is given (see `slinky.runtime.operations`)."""
        return only_reads(self.function)

    @property
    def _writes_by_itself(self) -> bool:
        """Whether it gives the same bits where it is told what to write to, if that lies as what it would make."""
        return self.function is np.matmul and not self.keywords

    def __call__(self, /, *operands: Array) -> None:
        count = len(self.adapters)
        made = operands[count].shape
        sources = [s if a is None else a(s, made) for s, a in zip(operands, self.adapters, strict=False)]
        targets = operands[count:]
        if self.function in RUNNING:
            run_into(self.function, sources[0], targets[0], self.keywords)
            return
        if isinstance(self.function, (Taking, Rows)):
            self.function.into(*targets, *sources)
            return
        if self._writes_by_itself and _lies_as_made(targets[0]):
            self.function(*sources, out=targets[0])
            return
        result = self.function(*sources, **self.keywords)
        for target, each in zip(targets, result if len(targets) > 1 else (result,), strict=True):
            write_result(self.name, each, target)


@attrs.frozen(eq=False)
class Contraction(Operation):
    """A function each of whose elements is made of a row or column of each operand, as matrix products are.

    `labels` say of each axis of each operand which axis of the result it goes along; None: it is read whole. Each call
    makes all along those axes of the result that are `whole`.
    """

    name: str
    function: Callable[..., Any]
    labels: tuple[tuple[int | None, ...], ...]
    arguments: tuple[Any, ...] = ()
    exactness: str = "tolerance"
    whole: tuple[int, ...] = ()

    @property
    def keeps_order(self) -> bool:  # type: ignore[override]
        """Of the functions of rows and columns, `matmul` does."""
        return self.name == "matmul"

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """The result of whole arrays."""
        return (np.asarray(self.function(*self.arguments, *operands)),)

    def lower(self, node: Node, lowering: Lowering) -> None:
        """One func that computes any box of the result."""
        dims = lowering.dims(len(node.results[0].shape))
        places = [[None if k is None else dims[k] for k in labels] for labels in self.labels]
        reads = [lowering.read(view, own, dims) for view, own in zip(node.operands, places, strict=True)]
        called = self._called if self.arguments else self.function
        in_order = self.exactness != "exact"
        callback = Calling(self.name, called, {}, tuple(read.adapter for read in reads), reads_in_order=in_order)
        whole = dims[-2:] if self._is_symmetric(node) else [dims[axis] for axis in self.whole]
        lowering.func(node, callback, [read.access for read in reads], dims, whole=whole)

    def _is_symmetric(self, node: Node) -> bool:
        """Whether a matrix is multiplied by itself turned round: of the whole, NumPy computes but one half."""
        if self.name != "matmul" or len(node.operands) != 2 or len(node.results[0].shape) < 2:
            return False
        left, right = node.operands
        return left.result is right.result and all(map(are_same, left.shape[-2:], right.shape[:-3:-1]))

    def _called(self, *operands: Array) -> Any:
        return self.function(*self.arguments, *operands)

    def under(self, errors: tuple[tuple[str, Any], ...]) -> Operation:
        """The same, with other settings of what is done about floating-point errors."""
        return attrs.evolve(self, function=UnderErrors(self.function, errors))

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """The function, and what goes along what."""
        return ("contraction", self.function, self.labels, exactly(self.arguments), self.whole)


@attrs.frozen(eq=False)
class Fused(Operation):
    """A copy in which each axis is one of the operand, or several ones after each other, the last one fastest.

    The operand is no windows: what is read of an axis is told by how long the piece is there.
    """

    groups: tuple[tuple[int, ...], ...]
    name: str = "reshape"
    exactness: str = "exact"
    keeps_order = True

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """The elements, in their order."""
        return (np.array(operands[0].reshape(numbers(node.results[0].shape))),)

    def lower(self, node: Node, lowering: Lowering) -> None:
        """One func that reads whole rows: those in which the first and the last element are."""
        (view,) = node.operands
        dims = lowering.dims(len(self.groups))
        places: list[Expr | None] = [None] * len(view.shape)
        for group, dim in zip(self.groups, dims, strict=True):
            rows: Expr = dim
            for axis in reversed(group[1:]):
                extent = lowering.expr(view.shape[axis])
                lowering.require(as_expr(1) <= extent)
                rows = rows // extent
            places[group[0]] = rows
        read = lowering.read(view, places)
        lowering.func(node, Fusing(self.groups, read.adapter), [read.access], dims, pass_buffers=True)

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """Which axes become one."""
        return ("fused", self.groups)


@attrs.frozen(eq=False)
class Fusing:
    """What makes axes of several ones, as a callback: of the rows that it is given, it takes what is asked for."""

    groups: tuple[tuple[int, ...], ...]
    adapter: Any
    __name__ = "reshape"

    def __call__(self, source: Any, target: Any) -> None:
        made = target.array.shape
        rows = source.array if self.adapter is None else self.adapter(source.array, made)
        extents = [tuple(rows.shape[axis] for axis in group) for group in self.groups]
        first = [low % math.prod(own[1:]) for low, own in zip(target.min, extents, strict=True)]
        if rows.flags.c_contiguous:
            flat = rows.reshape([math.prod(own) for own in extents])
            target.array[...] = flat[tuple(slice(at, at + n) for at, n in zip(first, made, strict=True))]
            return
        parts = [[*_boxes(at, at + n, own)] for at, n, own in zip(first, made, extents, strict=True)]
        for boxes in itertools.product(*parts):
            read = rows[tuple(itertools.chain.from_iterable(box for _, _, box in boxes))]
            places = (slice(low - at, high - at) for (low, high, _), at in zip(boxes, first, strict=True))
            target.array[tuple(places)].reshape(read.shape)[...] = read  # to split axes needs no copy


def _boxes(low: int, high: int, extents: tuple[int, ...]) -> Iterator[tuple[int, int, tuple[slice, ...]]]:
    """Boxes that have the elements `low .. high - 1` of axes that follow each other, each with those that it has."""
    if len(extents) == 1:
        yield low, high, (slice(low, high),)
        return
    inner = math.prod(extents[1:])
    while low < high:
        row, at = divmod(low, inner)
        if at == 0 and high - low >= inner:
            rows = (high - low) // inner
            yield low, low + rows * inner, (slice(row, row + rows), *map(slice, extents[1:]))
            low += rows * inner
        else:
            begin = row * inner
            end = min(high, begin + inner)
            for first, last, box in _boxes(at, end - begin, extents[1:]):
                yield first + begin, last + begin, (slice(row, row + 1), *box)
            low = end


@attrs.frozen(eq=False)
class Ramp(Operation):
    """The numbers `start + step * k`, where k is the place."""

    start: Length
    step: int
    name: str = "arange"
    exactness: str = "exact"
    keeps_order = True

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """All of them."""
        (result,) = node.results
        return (value_of(self.start) + self.step * np.arange(value_of(result.shape[0]), dtype=result.dtype),)

    def lower(self, node: Node, lowering: Lowering) -> None:
        """A func without operands."""
        arguments = {"start": lowering.expr(self.start), "step": self.step}
        lowering.func(node, _ramp, [], lowering.dims(1), arguments=arguments, pass_buffers=True)

    def reversed(self, node: Node) -> Operation:
        """The same: it has one axis."""
        return self

    def lengths(self) -> Iterator[Length]:
        """The first number."""
        yield self.start

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """The first number and the step."""
        return ("ramp", of(self.start), self.step)


def _ramp(target: Any, *, start: int, step: int) -> None:
    (first,) = target.min
    target.array[...] = start + step * np.arange(first, first + len(target.array), dtype=target.array.dtype)


@attrs.frozen(eq=False)
class Opaque(Operation):
    """A function that is not understood: `call` gives its results, for whole arrays."""

    name: str
    call: Callable[..., Any]
    known: Hashable | None
    exactness: str = "exact"

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """The results."""
        result = self.call(*operands)
        return tuple(np.asarray(r) for r in (result if len(node.results) > 1 else (result,)))

    def lower(self, node: Node, lowering: Lowering) -> None:
        """One func that reads all, and computes all."""
        reads = [lowering.read(view, [None] * len(view.shape)) for view in node.operands]
        callback = Calling(self.name, self.call, {}, tuple(read.adapter for read in reads), reads_in_order=True)
        dims = [lowering.dims(len(result.shape), k) for k, result in enumerate(node.results)]
        lowering.func_of_all(node, callback, [read.access for read in reads], dims)

    def under(self, errors: tuple[tuple[str, Any], ...]) -> Operation:
        """The same, with other settings of what is done about floating-point errors."""
        return attrs.evolve(self, call=UnderErrors(self.call, errors))

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """The function and what is given to it, if that can be told."""
        return None if self.known is None else ("opaque", self.known)
