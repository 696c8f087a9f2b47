"""Histograms: how many elements lie between edges that are known, by pieces of what is counted.

Idea. NumPy finds the bin of each element by itself, and counts. So the counts of an array are those of its pieces, one
after the other, added: whatever is computed for them alone need never be there in full. That holds where edges do not
depend on the elements: they are given, or follow from their number and a range. Weights are floats, whose sums depend
on their order.

Invariant: a handler gives what NumPy gives for the same arguments, or refuses by `NotUnderstoodError`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from slinky.frontend.arrays import LazyArray, Value, made, placed, solid
from slinky.frontend.calling import is_number, lifted
from slinky.frontend.given import as_lazy, lazy_arrays, trace_of
from slinky.frontend.indexed import indexed_array, own_array
from slinky.frontend.nodes import Array, Node, Operation, exactly
from slinky.frontend.operations import Calling, UnderErrors
from slinky.frontend.sizes import Length, Size, known, same
from slinky.frontend.tables import EXACT, NotUnderstoodError, understood
from slinky.graph.buffers import Access, BufferExpr
from slinky.graph.reductions import Reduction
from slinky.symbolic.intervals import point

if TYPE_CHECKING:
    from slinky.frontend.lowering import Lowering

COUNTED = "counted by pieces, between edges that are known"


@attrs.frozen(eq=False)
class Counting(Operation):
    """How many elements of operands, which have one shape, lie in each bin: `count` says it of any piece of them. What
    it goes by is its `told`, which tells it from others."""

    name: str
    count: Callable[..., Array]
    told: Hashable
    exactness: str = EXACT

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """The counts of whole arrays."""
        return (self.count(*operands),)

    def lower(self, node: Node, lowering: Lowering) -> None:
        """One func that reads all, and computes all; it goes along the first axis of what it reads."""
        (result,) = node.results
        dims = lowering.dims(len(result.shape))
        reads = [lowering.read(view, [None] * len(view.shape), dims) for view in node.operands]
        callback = Calling(self.name, self.count, {}, tuple(read.adapter for read in reads))
        reduction = None
        if all(read.adapter is None for read in reads):
            target = lowering.access(result, list(map(point, dims)))
            reduction = Reduction(
                {"along_0": (0,) * len(reads)},
                [Access(BufferExpr("known", result.dtype, target.buffer.rank), target.box)],
                _none,
                _Further(self.count),
                _all,
            )
        lowering.func(node, callback, [read.access for read in reads], dims, whole=dims, reduction=reduction)

    def under(self, errors: tuple[tuple[str, Any], ...]) -> Operation:
        """The same, with other settings of what is done about floating-point errors."""
        return attrs.evolve(self, count=UnderErrors(self.count, errors), told=(self.told, errors))

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """What it counts between which edges."""
        return ("counting", self.name, self.told)


def _none(counts: Array) -> None:
    counts[...] = 0


@attrs.frozen(eq=False)
class _Further:
    """What has been counted, and what is in a further piece."""

    count: Callable[..., Array]

    def __call__(self, old: Array, *pieces: Array) -> None:
        *given, new = pieces
        np.add(old, self.count(*given), out=new)


def _all(counts: Array, result: Array) -> None:
    result[...] = counts


@attrs.frozen(eq=False)
class _Bins:
    """Bins along one axis that do not depend on elements: their edges, or how many there are in a range."""

    bins: Any
    range: Any = None

    def told(self) -> Hashable:
        """What tells them from others."""
        bins = self.bins
        return (bins.dtype.str, bins.tobytes()) if isinstance(bins, np.ndarray) else (bins, exactly(self.range))

    @staticmethod
    def of(bins: Any, range: Any) -> _Bins:
        """Those that some arguments say. Raises `NotUnderstoodError` where they depend on elements, or say none."""
        if lazy_arrays((bins, range)):
            raise NotUnderstoodError("edges that are lazy")
        if isinstance(bins, (list, tuple, np.ndarray)):
            own = np.asarray(own_array(bins))
            if own.ndim != 1 or own.dtype.kind not in "iuf":
                raise NotUnderstoodError("edges")  # NumPy says so
            return _Bins(own.copy())  # to which nobody writes
        count = known(bins) if type(bins) is Size else bins
        if isinstance(count, (bool, np.bool_)) or not hasattr(count, "__index__"):
            raise NotUnderstoodError("ways to choose edges")
        if not isinstance(range, (list, tuple)) or len(range) != 2 or not all(map(is_number, range)):
            raise NotUnderstoodError("the range of all elements")
        return _Bins(operator.index(count), tuple(known(each) if type(each) is Size else each for each in range))


@attrs.frozen(eq=False)
class _Count:
    """How a function of NumPy's counts what lies in bins, along one axis or several."""

    function: Callable[..., Any]
    bins: tuple[_Bins, ...]

    def all_of(self, *arrays: Array) -> Any:
        """The counts, and the edges."""
        several = len(self.bins) > 1
        bins, ranges = [each.bins for each in self.bins], [each.range for each in self.bins]
        return self.function(*arrays, bins=bins if several else bins[0], range=ranges if several else ranges[0])

    def __call__(self, *arrays: Array) -> Array:
        found: Array = self.all_of(*(array.reshape(-1) for array in arrays))[0]
        return found

    def counts_and_edges(self, arrays: Sequence[LazyArray], given: Sequence[Any]) -> tuple[LazyArray, list[Any]]:
        """The counts of lazy arrays, and the edges, which are known: arrays that are `given` for these, themselves.
        Raises what NumPy raises."""
        trace = trace_of(tuple(arrays))
        counts, *edges = self.all_of(*(np.empty(0, array.dtype) for array in arrays))
        told = (tuple(array.dtype.str for array in arrays), tuple(each.told() for each in self.bins))
        operation = Counting(self.function.__name__, self, told)
        views = [solid(array._view, trace) for array in arrays]
        (result,) = made(operation, views, [(counts.shape, counts.dtype, False)], trace)
        given = [own_array(each) for each in given]
        found = [g if isinstance(g, np.ndarray) else e.copy() for g, e in zip(given, edges, strict=True)]
        return placed(result, trace), found if trace.is_free else list(map(indexed_array, found))


@understood(np.histogram, how=COUNTED)
def histogram(a: Value, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """How many elements lie in each bin, and the edges of these."""
    if weights is not None or not (density is None or isinstance(density, (bool, np.bool_))):
        raise NotUnderstoodError("weights")
    counts, (edges,) = _Count(np.histogram, (_Bins.of(bins, range),)).counts_and_edges([_counted(a)], [bins])
    return (counts / np.diff(edges).astype(float) / counts.sum() if density else counts), edges


@understood(np.histogram_bin_edges, how=COUNTED)
def histogram_bin_edges(a: Value, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of bins, where no element is looked at for them."""
    return histogram(a, bins, range, None, weights)[1]


@understood(np.histogram2d, how=COUNTED)
def histogram2d(
    x: Value,
    y: Value,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    """How many pairs of elements lie in each bin, and the edges of these along each axis."""
    trace = trace_of((x, y))
    arrays = [_counted(lifted(each, trace)) for each in (x, y)]
    if weights is not None or not (density is None or density is False):
        raise NotUnderstoodError("weights, or densities")
    if any(len(each._shape) != 1 for each in arrays) or not same(arrays[0]._shape[0], arrays[1]._shape[0]):
        raise NotUnderstoodError("other shapes")  # NumPy says so
    count = len(bins) if isinstance(bins, (list, tuple, np.ndarray)) else 0
    if count == 1 or (count == 2 and isinstance(bins, np.ndarray)):
        raise NotUnderstoodError("edges")
    ranges = (None, None) if range is None else range
    if not isinstance(ranges, (list, tuple)) or len(ranges) != 2:
        raise NotUnderstoodError("ranges")  # NumPy says so
    each_bins = bins if count == 2 else (bins, bins)
    own = tuple(_Bins.of(*each) for each in zip(each_bins, ranges, strict=True))
    counts, edges = _Count(np.histogram2d, own).counts_and_edges(arrays, each_bins)
    return counts, *edges


def _counted(given: Value) -> LazyArray:
    """An array whose elements NumPy counts without a warning."""
    array = as_lazy(given)
    if not array._shape or array.dtype.kind not in "iuf":
        raise NotUnderstoodError("no axes, or truths, or complex numbers")
    return array
