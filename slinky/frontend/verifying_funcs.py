"""Tests that a callback does what its func declares, on random data.

Idea. A schedule may compute any box of a func's dimensions, in any order, on arrays that lie in memory in any way. So a
func is run whole, and again by pieces, and each element must come out the same. That nothing is found does not show
that nothing is wrong; what is found is wrong.

Invariant: a callback that keeps its word passes: each element of the outputs depends on nothing but the elements that
the accesses say for it, and equals what it is in any other run, within the tolerance that is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from slinky.errors import ArgumentError, CheckFailedError, GraphError, cited
from slinky.frontend.func_judging import Judge
from slinky.frontend.func_runs import FuncRun, random_run, run_on
from slinky.frontend.kernels import Kernel
from slinky.frontend.reports import FuncReport
from slinky.frontend.windows import AxisWindow
from slinky.graph.buffers import BufferExpr
from slinky.graph.funcs import Func
from slinky.ir.effects import NumericBox
from slinky.ir.given import as_dtype
from slinky.ir.operations import Callback
from slinky.ir.statements import BufferParameter
from slinky.pipeline import Pipeline
from slinky.runtime.buffers import Array, Buffer
from slinky.symbolic.expressions import Constant
from slinky.verifying import alone, call_in, checked_options, random_box, random_elements, random_scalars


def verify_func(
    func: Func | Kernel,
    *shapes_or_arrays: object,
    sizes: Iterable[int] = (1, 2, 3, 5, 8, 13),
    seeds: Iterable[int] = range(3),
    rtol: float = 0.0,
    atol: float = 0.0,
    scalars: Mapping[str, int | float] | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> FuncReport:
    """Test on random data that a func's callback computes each element of its outputs from what the func says, whatever
    piece is computed, in whatever order, on arrays that lie in memory in whatever way.

    >>> import numpy as np, slinky as sl
    >>> x, = sl.variables("x")
    >>> a, b = sl.BufferExpr("a", float, 1), sl.BufferExpr("b", float, 1)
    >>> centred = sl.Func(sl.returns(lambda a: a - a.mean()), [a[x]], [b[x]], name="centred")
    >>> report = sl.verify_func(centred)
    >>> bool(report), report.findings[0].kind
    (False, 'depends on the piece')

    Parameters:

    * `shapes_or_arrays`: an array, or a shape, for each buffer that the func reads, constants apart, in their order,
      and for each that it writes, where this does not follow. Arrays that are read are the data; those of shapes are
      random. Without any, boxes of several sizes at several places are computed.
    * `sizes`: how many elements to compute along a dimension, all of them along each in turn.
    * `seeds`: of the random data.
    * `rtol`, `atol`: by how much results may differ, as for `numpy.isclose`; by default, not by a bit. NaN equals NaN.
    * `scalars`: values of the func's scalars, by name. Those that are not given are small random numbers.
    * `dtype`: of the arrays of which shapes are given, for a kernel (`sl.stencil` and its like), which needs a shape or
      an array for each of its arrays.

    The report is false if something is wrong, and prints what, where, and what to declare instead; `report.check()`
    raises it as a `DeclarationError`. What is random is so by the seeds alone. Raises `GraphError` for a func that runs
    no callback, or cannot be run on these sizes, `ArgumentError` for arrays that do not fit.
    """
    extents, seeds = checked_options("verify_func", sizes, seeds, {"rtol": rtol, "atol": atol}, scalars)
    if isinstance(func, Kernel):
        func, shapes_or_arrays = _func_of_kernel(func, shapes_or_arrays, dtype_of_arrays(dtype, "verify_func"))
    if not isinstance(func, Func):
        raise GraphError(f"verify_func takes a Func or a kernel, got {cited(func)}")
    if not isinstance(func.lowered_operation(), Callback):
        raise GraphError(f"verify_func tests callbacks; what func {func.name!r} does, slinky does itself")
    p = alone(func)
    judge = Judge(func.name, [dim.name for dim in func.dims], rtol, atol)
    refused: Exception | None = None
    count = 0
    for seed in seeds:
        rng = np.random.default_rng([seed, 15])
        values = random_scalars(p, rng) | dict(scalars or {})
        for make in _wholes(func, p, shapes_or_arrays, extents, rng, values):
            whole = make()
            try:
                whole.require()
            except CheckFailedError as error:
                refused = error
                continue
            count += 1
            judge.judge(whole, rng)
            if judge.findings:
                return judge.report()
    if count == 0:
        why = f": {refused}" if refused is not None else ""
        raise GraphError(f"func {func.name!r} could not be run on any of the sizes{why}")
    return judge.report()


# ----------------------------------------------------------------------------------------------------------------
# What to run
# ----------------------------------------------------------------------------------------------------------------


def _wholes(
    func: Func,
    p: Pipeline,
    given: Sequence[object],
    sizes: Sequence[int],
    rng: np.random.Generator,
    scalars: Mapping[str, int | float],
) -> Iterator[Callable[[], FuncRun]]:
    """What makes each of the runs that are cut into pieces."""
    if given:
        yield partial(_on_given, p, given, rng, scalars)
        return
    rank = len(call_in(p).box)
    for shift in range(len(sizes) if rank else 1):
        extents = [sizes[(shift + d) % len(sizes)] for d in range(rank)]
        box = _within_assigned(func, random_box(call_in(p), extents, rng))
        yield partial(random_run, p, box, rng, scalars)


def _within_assigned(func: Func, box: NumericBox) -> NumericBox:
    """A box that has along each dimension the bounds that were assigned to an output, if these are numbers."""
    found = list(box)
    for access in func.outputs:
        for d, i in enumerate(access.box):
            ends = [access.buffer.assigned.get((d, end)) for end in ("min", "max")]
            if i is not None and all(isinstance(end, Constant) for end in ends):
                lo, hi = (end.value for end in ends if isinstance(end, Constant))
                found[[*func.dims].index(i.min)] = (lo, hi)  # type: ignore[arg-type]
    return tuple(found)


def _on_given(
    p: Pipeline, given: Sequence[object], rng: np.random.Generator, scalars: Mapping[str, int | float]
) -> FuncRun:
    """A run on arrays, or on random ones of given shapes: of all that these allow to compute."""
    parameters = p.program.inputs
    if len(given) == len(parameters) + len(p.program.outputs):
        parameters = (*parameters, *p.program.outputs)
    if len(given) != len(parameters):
        names = ", ".join(i.name for i in p.program.inputs)
        raise ArgumentError(
            f"verify_func needs an array or a shape for each buffer that the func reads ({names}), got {len(given)}"
        )
    buffers = [_buffer(each, parameter, rng) for parameter, each in zip(parameters, given, strict=True)]
    complete, _ = p._completing().complete(buffers, scalars)
    count = len(p.program.inputs)
    inputs = {i.name: buffer for i, buffer in zip(p.program.inputs, buffers, strict=False)}
    outputs = {o.name: Buffer(array) for o, array in zip(p.program.outputs, complete[count:], strict=True)}
    regions = {name: tuple(zip(b.min, b.max, strict=True)) for name, b in outputs.items()}
    call = call_in(p)
    box = [(0, 0)] * len(call.box)
    for port, name in zip(call.func.outputs, call.writes, strict=True):
        for d, bounds in zip(port.dims, regions[name], strict=True):
            box[d] = bounds
    return run_on(p, tuple(box), inputs, rng, scalars)


def dtype_of_arrays(given: Any, who: str) -> np.dtype[Any]:
    """The dtype of random arrays. Raises `ArgumentError` for what is none."""
    try:
        return as_dtype(given)
    except TypeError as error:
        raise ArgumentError(
            f"{who}: dtype must be a dtype of NumPy, such as np.float32, got {cited(given)}: {error}"
        ) from None


def _func_of_kernel(kernel: Kernel, given: Sequence[object], dtype: np.dtype[Any]) -> tuple[Func, tuple[Buffer, ...]]:
    """A func of a kernel, and the arrays that it reads, with what is beyond their edges, and writes."""
    if not given:
        raise ArgumentError(f"verify_func needs a shape or an array for each array of kernel {kernel.name!r}, got none")
    rng = np.random.default_rng(15)
    arrays = [_random_array(rng, dtype, each) if _is_shape(each) else Buffer(each).array for each in given]
    rank = max(array.ndim for array in arrays)
    windows = kernel.windows(rank)
    buffers = [BufferExpr(f"in{k}", array.dtype, array.ndim) for k, array in enumerate(arrays)]
    out = BufferExpr("out", kernel.result_dtype(*(array.dtype for array in arrays)), rank)
    func = kernel.func(*buffers, out)
    result = np.empty(kernel.result_shape(*(array.shape for array in arrays)), out.dtype)
    target = Buffer(result, min=tuple(window.first for window in windows))
    return func, (*(_padded(array, windows[rank - array.ndim :]) for array in arrays), target)


def _padded(array: Array, windows: Sequence[AxisWindow]) -> Buffer:
    """An array with what is read beyond its edges, or without what is not read."""
    start = []
    for d, window in enumerate(windows):
        n = array.shape[d]
        before, after = window.padding(n) if window.is_extended else (0, 0)
        at = np.clip(np.arange(-before, n + after), 0, max(n - 1, 0))  # what exactly stands there does not matter
        array = np.take(array, at, axis=d)
        start.append(-before)
    return Buffer(np.asarray(array, order="C"), min=start)


def _is_shape(given: Any) -> bool:
    return isinstance(given, (tuple, list)) and all(isinstance(n, (int, np.integer)) for n in given)


MOST_BYTES = 1 << 28
"""What a random array may take: pieces of smaller ones tell as much."""


def _random_array(rng: np.random.Generator, dtype: np.dtype[Any], shape: Any) -> Array:
    """Random elements in a shape. Raises `ArgumentError` for shapes that no array has, or none of a usual size."""
    extents = [int(n) for n in shape]
    if any(n < 0 for n in extents):
        raise ArgumentError(f"verify_func: no array has a negative extent, got shape {cited(shape)}")
    needed = math.prod(extents) * dtype.itemsize
    if needed > MOST_BYTES:
        raise ArgumentError(
            f"verify_func: a random array of shape {cited(shape)} would take {needed:,} bytes; at most {MOST_BYTES:,} "
            "are allowed. Give it a smaller shape, whose pieces tell as much, or an array"
        )
    return random_elements(rng, dtype, _box_of(extents))


def _box_of(shape: Any) -> NumericBox:
    return tuple((0, int(n) - 1) for n in shape)


def _buffer(given: object, parameter: BufferParameter, rng: np.random.Generator) -> Buffer:
    """An array, or a random one of a shape."""
    if _is_shape(given):
        return Buffer(_random_array(rng, parameter.dtype, given))
    return Buffer(given)
