"""Kernels with halos on lazy arrays: `sl.stencil` and its kin, `sl.ndimage`.

A kernel says what it reads and makes its own func, so a node needs only buffers that begin at 0. Without a boundary
rule the result of a kernel begins where the first whole window is; it is copied to where NumPy counts from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from slinky.errors import ArgumentError
from slinky.frontend.arrays import LazyArray, made, placed
from slinky.frontend.calling import broadcast_to, lifted
from slinky.frontend.given import trace_of
from slinky.frontend.kernels_in_columns import reversed_kernel
from slinky.frontend.nodes import Array, Node, Operation, exactly, told
from slinky.frontend.sizes import Length, same
from slinky.frontend.tables import EXACT, NotUnderstoodError
from slinky.frontend.views import common_shape
from slinky.graph.buffers import BufferExpr, variables
from slinky.graph.copying import Source
from slinky.graph.formulas import arithmetic
from slinky.ir.formulas import ERRORS

if TYPE_CHECKING:
    from slinky.frontend.kernels import KernelCall
    from slinky.frontend.lowering import Lowering


@attrs.frozen(eq=False)
class Filter(Operation):
    """A kernel with its other arguments, of operands of one shape."""

    name: str
    call: KernelCall
    exactness: str = "exact"
    keeps_order = True

    def compute(self, operands: Sequence[Array], node: Node) -> tuple[Array, ...]:
        """What the kernel gives for whole arrays."""
        return (attrs.evolve(self.call, arrays=tuple(operands)).run(),)

    def lower(self, node: Node, lowering: Lowering) -> None:
        """The func of the kernel, and where its result does not begin at 0, a copy that does."""
        (result,) = node.results
        sources = [lowering.buffer_of(view) for view in node.operands]
        target = lowering.buffer(result)
        windows = self.call.kernel.windows(len(result.shape))
        first = [window.first for window in windows]
        is_variable = node.name != self.name
        if not any(first):
            dims = lowering.dims(len(windows))
            term = self.call.kernel.term(sources, dims) if lowering.in_loops else None
            if term is not None:  # SciPy says nothing of floating-point errors
                arithmetic(term, target[tuple(dims)], lowering.name(node.name), ignored=ERRORS)
                return
            function = self.call.kernel.in_c(sources) if lowering.in_loops else None
            if function is not None:
                self.call.func_in_c(target, sources[0], function).name = lowering.name(node.name)
                return
            func = self.call.func(target, sources)
            func.name = lowering.name(node.name) if is_variable else func.name
            return
        raw = BufferExpr(lowering.buffer_name(f"{self.name}_inside"), result.dtype, len(result.shape))
        func = self.call.func(raw, sources)
        func.name = lowering.name(node.name) if is_variable else func.name
        dims = lowering.dims(len(result.shape))
        places = [dim + begin for dim, begin in zip(dims, first, strict=True)]
        none = (None,) * len(dims)
        lowering.copy(node, [Source(raw[tuple(places)], none, none)], dims, None)

    def reversed(self, node: Node) -> Operation | None:
        """The same kernel for transposes."""
        (result,) = node.results
        rank = len(result.shape)
        kernel = reversed_kernel(self.call.kernel, rank)
        if kernel is None or any(len(view.shape) != rank for view in node.operands):
            return None
        return attrs.evolve(self, call=attrs.evolve(self.call, kernel=kernel))

    @property
    def effort_of_each(self) -> float | None:
        """How long the kernel computes each element that it is given, if it says that."""
        found: float | None = getattr(self.call.kernel.function, "effort_of_each", None)
        return found

    @property
    def axis_of_lines(self) -> int | None:
        """The axis along which it goes line by line, if it says that."""
        found: int | None = getattr(self.call.kernel.function, "axis_of_lines", None)
        return found

    def window_in_c(self, node: Node) -> int | None:
        """How many elements are in the window of each, where loops in C can be made of the kernel, or it has C of its
        own; None where not."""
        (result,) = node.results
        rank = len(result.shape)
        windows = self.call.kernel.windows(rank)
        if any(window.first for window in windows):
            return None
        sources = [BufferExpr("given", view.dtype, rank) for view in node.operands]
        kernel = self.call.kernel
        is_term = kernel.term(sources, variables(" ".join(f"d{d}" for d in range(rank)))) is not None
        if not is_term and kernel.in_c(sources) is None:
            return None
        return math.prod(window.before + window.after + 1 for window in windows)

    def key(self, of: Callable[[Length], Hashable]) -> Hashable | None:
        """The kernel, and what it is given."""
        try:
            hash(self.call.kernel)
            return ("filter", self.call.kernel, exactly(self.call.template), exactly(self.call.named))
        except TypeError:
            return None


def filtered(kernel: Any, given: Sequence[Any], keywords: dict[str, Any], *, exactness: str = EXACT) -> LazyArray:
    """What a kernel gives for lazy arrays.

    Raises `ArgumentError` for arrays that do not fit.
    """
    trace = trace_of((tuple(given), keywords))
    call: KernelCall = kernel.bind(given, keywords)
    try:
        arrays = [lifted(each, trace) for each in call.arrays]
    except NotUnderstoodError as error:
        raise ArgumentError(f"kernel {kernel.name!r} takes arrays of numbers: {error}") from None
    shape = common_shape([array._shape for array in arrays])
    for array in arrays:
        alike = len(array._shape) == len(shape) and all(map(same, array._shape, shape))
        if not alike and not kernel.is_elementwise:
            raise ArgumentError(
                f"kernel {kernel.name!r} takes arrays of one shape, got "
                f"{' and '.join(str(told(a._shape)) for a in arrays)}"
            )
    windows = kernel.windows(len(shape))
    wanted = tuple(window.extent(n) for window, n in zip(windows, shape, strict=True))
    dtype = np.dtype(attrs.evolve(call, arrays=tuple(arrays)).dtype)
    operation = Filter(kernel.name, attrs.evolve(call, arrays=()), exactness)
    views = [broadcast_to(array, shape) for array in arrays]
    return placed(made(operation, views, [(wanted, dtype, False)], trace)[0], trace)
