"""Tests of what authors of funcs declare, on random data.

Idea. A func is put into a pipeline of its own, and so is what its variant runs, on buffers of the dtypes, and in the
order in memory, in which that takes them; both run over boxes of several sizes and places. A difference shows that the
declaration is wrong; that none is found does not show that it is right.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from slinky.build import build_pipeline
from slinky.errors import ArgumentError, CheckFailedError, DeclarationError, GraphError, cited
from slinky.graph.buffers import Access, BufferExpr
from slinky.graph.built import Built
from slinky.graph.collecting import Graph
from slinky.graph.funcs import Func
from slinky.graph.variants import DeclaredVariant
from slinky.ir.effects import NumericBox, numeric_reads, numeric_writes
from slinky.ir.given import as_float, is_iterable, is_one_of
from slinky.ir.operations import Callback
from slinky.ir.statements import Call, FloatParameter, Order, ScalarParameter
from slinky.pipeline import Pipeline
from slinky.runtime.buffers import Buffer
from slinky.runtime.strided import Strided, array_at, bytes_at, laid
from slinky.symbolic.expressions import Expr, as_expr, is_integer, metadata
from slinky.symbolic.expressions import scalar as scalar_symbol

_STEPS_TO_GROW = 20


def verify_variant(
    func: Func,
    name: str,
    *,
    sizes: Iterable[int] = (1, 2, 3, 5, 8, 13),
    seeds: Iterable[int] = range(3),
    rtol: float = 0.0,
    scalars: Mapping[str, int | float] | None = None,
) -> None:
    """Test on random data that a variant of a func computes what the func computes.

    Parameters:

    * `sizes`: how many elements to compute along a dimension, all of them along each in turn.
    * `seeds`: of the random data, each with other data and another place of the box.
    * `rtol`: by how much results may differ, as for `numpy.isclose`; by default, not at all. What a variant computes in
      another dtype is compared in that of the func; what it reads, both dtypes hold.
    * `scalars`: values of the func's scalars, by name. Those that are not given are small random numbers.

    Raises `DeclarationError` at the first element that differs; `GraphError` if there is no such variant, or the func
    cannot be run on these sizes. What callbacks raise passes through.
    """
    if not isinstance(func, Func):
        raise GraphError(f"verify_variant takes a Func, got {cited(func)}")
    variant = next((each for each in func.variants if is_one_of(name, [each.name])), None)
    if variant is None:
        names = ", ".join(variant.name for variant in func.variants) or "none"
        raise GraphError(f"func {func.name!r} has no variant {cited(name)}; it declares {names}")
    p, q = alone(func), alone(func, variant)
    extents, seeds = checked_options("verify_variant", sizes, seeds, {"rtol": rtol}, scalars)
    refused: CheckFailedError | None = None
    count = 0
    for seed, shift in itertools.product(seeds, range(len(extents))):
        rng = np.random.default_rng([seed, shift])
        values: dict[str, int | float] = {}
        values |= random_scalars(p, rng) | random_scalars(q, rng) | dict(scalars or {})
        try:
            shape = [extents[(shift + d) % len(extents)] for d in range(len(func.dims))]
            _compare(p, q, variant, shape, rng, values, rtol)
        except CheckFailedError as error:
            refused = error
        else:
            count += 1
    if count == 0:
        why = f": {refused}" if refused is not None else ""
        raise GraphError(f"func {func.name!r} could not be run on any of the sizes {extents}{why}")


def checked_options(
    who: str, sizes: object, seeds: object, tolerances: Mapping[str, object], scalars: object
) -> tuple[list[int], list[int]]:
    """The sizes and seeds of a test. Raises `ArgumentError` for options that make no sense."""
    found = []
    for what, given in (("sizes", sizes), ("seeds", seeds)):
        each = list(given) if is_iterable(given) and not isinstance(given, str) else [None]
        if not all(is_integer(n) and 0 <= cast(int, n) < 1 << 63 for n in each):
            raise ArgumentError(f"{who}: {what} must be integers of at least 0, such as [5, 8], got {cited(given)}")
        found.append([int(cast(int, n)) for n in each])
    if not found[1]:
        raise ArgumentError(f"{who}: seeds must have one or more, such as [5, 8], got {cited(seeds)}")
    for what, tolerance in tolerances.items():
        if (number := as_float(tolerance)) is None or not number >= 0:
            raise ArgumentError(f"{who}: {what} must be a number of at least 0, got {cited(tolerance)}")
    of = {} if scalars is None else scalars
    is_named = isinstance(of, Mapping) and all(isinstance(name, str) for name in of)
    if not is_named or any(as_float(number) is None for number in cast("Mapping[str, object]", of).values()):
        raise ArgumentError(f"{who}: scalars must be a dictionary, numbers by name, got {cited(scalars)}")
    return found[0], found[1]


def alone(func: Func, variant: DeclaredVariant | None = None) -> Pipeline:
    """A pipeline of a func, of buffers of its own; or of what a variant of it runs, of buffers that this takes."""
    operation = func.lowered_operation() if variant is None else variant.operation
    assert isinstance(operation, Callback)
    buffers: dict[BufferExpr, BufferExpr] = {}

    def own(access: Access) -> Access:
        buffer = access.buffer
        if buffer.value is not None:
            return access
        if buffer not in buffers:
            dtype = buffer.dtype if variant is None else variant.dtype_of(buffer)
            buffers[buffer] = BufferExpr(buffer.name, dtype, buffer.rank)
            buffers[buffer].multiples.update(buffer.multiples)
        return Access(buffers[buffer], access.box)

    inputs = tuple(map(own, func.inputs if variant is None else variant.inputs))
    outputs = tuple(map(own, func.outputs))
    Func(
        operation.function,
        inputs,
        outputs,
        func.name,
        arguments=dict(operation.arguments),
        pass_buffers=operation.pass_buffers,
        in_place=operation.in_place,
        writable_inputs=operation.writable_inputs,
        whole=func.whole,
    )
    given = dict.fromkeys(access.buffer for access in inputs if access.buffer.value is None)
    return build_pipeline(list(given), [access.buffer for access in outputs])


def _compare(
    p: Pipeline,
    q: Pipeline,
    variant: DeclaredVariant,
    extents: Sequence[int],
    rng: np.random.Generator,
    scalars: Mapping[str, int | float],
    rtol: float,
) -> None:
    """Run both on one box, and raise `DeclarationError` where they differ."""
    call = call_in(p)
    box = random_box(call, extents, rng)
    regions = dict(numeric_writes(call, box))
    read = input_boxes(p, call, box, regions, scalars)
    given = [random_elements(rng, i.dtype, read[i.name]) for i in p.program.inputs]
    with np.errstate(invalid="ignore", over="ignore"):
        taken = [array.astype(i.dtype) for array, i in zip(given, q.program.inputs, strict=True)]
        given = [array.astype(i.dtype) for array, i in zip(taken, p.program.inputs, strict=True)]
    found = []
    orders = {buffer.name: order for buffer, order in variant.orders.items()}
    for pipeline, elements, own in ((p, given, {}), (q, taken, orders)):
        starts = [start_of(read[parameter.name]) for parameter in p.program.inputs]
        laid = [_laid_out(array, own.get(i.name)) for array, i in zip(elements, p.program.inputs, strict=True)]
        arrays = [Buffer(array, min=start) for array, start in zip(laid, starts, strict=True)]
        written = [random_elements(rng, o.dtype, regions[o.name]) for o in pipeline.program.outputs]
        outputs = [
            Buffer(_laid_out(array, own.get(o.name)), min=start_of(regions[o.name]))
            for array, o in zip(written, pipeline.program.outputs, strict=True)
        ]
        pipeline(*arrays, *outputs, **_own_scalars(pipeline, q if pipeline is p else p, scalars))
        found.append([output.array for output in outputs])
    for parameter, ours, theirs in zip(p.program.outputs, *found, strict=True):
        place = _first_difference(ours, theirs.astype(ours.dtype), rtol)
        if place is not None:
            at = ", ".join(str(lo + int(k)) for (lo, _), k in zip(regions[parameter.name], place, strict=True))
            whole = ", ".join(f"{lo}..{hi}" for lo, hi in regions[parameter.name])
            raise DeclarationError(
                f"variant {variant.name!r} of func {call.func.name!r} computes {theirs[place]} for "
                f"{parameter.name}[{at}], and the func {ours[place]}, where {parameter.name}[{whole}] is computed"
            )


def _laid_out(array: np.ndarray[Any, Any], order: Order | None) -> np.ndarray[Any, Any]:
    """An array of the same elements that lies in an order; itself, if none is asked for."""
    if order is None:
        return array
    turned = array.transpose(order.dims)
    strides = [order.strides[d] if order.strides else None for d in order.dims]
    fixed = {place: stride for place, stride in enumerate(strides) if stride is not None}
    layout = Strided(order.alignment, tuple(fixed))
    where = laid("a buffer", array.itemsize, turned.shape, layout, tuple(fixed.values()))
    memory = bytes_at(lambda size: np.empty(size, np.uint8), where.size, order.alignment)
    new = array_at(memory, array.dtype, turned.shape, where)
    new[...] = turned
    return new.transpose(np.argsort(order.dims))


def _own_scalars(p: Pipeline, other: Pipeline, scalars: Mapping[str, int | float]) -> dict[str, int | float]:
    """The scalars of a pipeline, without those that only another one has."""
    own, others = ({*_names(each.program.scalars), *_names(each.program.floats)} for each in (p, other))
    return {name: value for name, value in scalars.items() if name in own or name not in others}


def _names(parameters: Iterable[ScalarParameter | FloatParameter]) -> list[str]:
    return [parameter.name for parameter in parameters]


def call_in(p: Pipeline) -> Call:
    """The call of the func of a pipeline that has but one."""
    return next(s for s in p.program.body if isinstance(s, Call))


def random_box(call: Call, extents: Sequence[int], rng: np.random.Generator) -> NumericBox:
    """A box of a call's dimensions, of so many pieces that it can compute along each, at some place."""
    multiples = dict(call.func.multiples)
    first = [int(rng.integers(-3, 4)) for _ in extents]
    return tuple(
        (lo * multiples.get(d, 1), (lo + extent) * multiples.get(d, 1) - 1)
        for d, (lo, extent) in enumerate(zip(first, extents, strict=True))
    )


def input_boxes(
    p: Pipeline,
    call: Call,
    box: NumericBox,
    regions: Mapping[str, NumericBox],
    scalars: Mapping[str, int | float],
) -> dict[str, NumericBox]:
    """Bounds of the inputs that hold all that is read; what is read may in turn depend on these bounds."""
    found = _first_guess(p, call, box)
    for _ in range(_STEPS_TO_GROW):
        values: dict[Expr, int] = {scalar_symbol(s): int(v) for s, v in scalars.items()}
        for buffer, known in (*found.items(), *regions.items()):
            for d, (lo, hi) in enumerate(known):
                values[as_expr(metadata(buffer, d, "min"))] = lo
                values[as_expr(metadata(buffer, d, "max"))] = hi
        before = dict(found)
        for buffer, region in numeric_reads(call, box, values):
            if buffer in found:
                pairs = zip(found[buffer], region, strict=True)
                found[buffer] = tuple((min(a, lo), max(b, hi)) for (a, b), (lo, hi) in pairs)
        if found == before:
            break
    return {buffer: _in_multiples(p, buffer, region) for buffer, region in found.items()}


def _first_guess(p: Pipeline, call: Call, box: NumericBox) -> dict[str, NumericBox]:
    """Bounds of the inputs to begin with: those of dimensions that are read whole are chosen, not found.

    Where dimensions are computed whole, too, a dimension is as long as the one that it stands for, by their order.
    """
    largest = (0, max(hi - lo for lo, hi in box) if box else 0)
    found = {i.name: [largest] * i.rank for i in p.program.inputs}
    whole = [box[d] for d, _ in call.func.whole]
    for access in _graph_of(p).funcs[-1].inputs:
        read_whole = [d for d, item in enumerate(access.box) if item is None]
        for d, own in zip(read_whole, whole, strict=False):
            if access.buffer.name in found:
                found[access.buffer.name][d] = own
    return {name: tuple(bounds) for name, bounds in found.items()}


def _in_multiples(p: Pipeline, name: str, region: NumericBox) -> NumericBox:
    """A region that ends where the buffer may."""
    buffer = next(each for each in _graph_of(p).inputs if each.name == name)
    bounds = list(region)
    for d, n in buffer.multiples.items():
        lo, hi = bounds[d]
        bounds[d] = lo // n * n, -(-(hi + 1) // n) * n - 1
    return tuple(bounds)


def _graph_of(p: Pipeline) -> Graph:
    built = p._version.lineage.start.built
    assert isinstance(built, Built)
    return built.graph


def random_scalars(p: Pipeline, rng: np.random.Generator) -> dict[str, int | float]:
    """Values of the scalars of a pipeline: small positive integers, normal floats."""
    found: dict[str, int | float] = {scalar.name: int(rng.integers(1, 5)) for scalar in p.program.scalars}
    return found | {scalar.name: float(rng.normal()) for scalar in p.program.floats}


def start_of(box: NumericBox) -> tuple[int, ...]:
    """Its first coordinates."""
    return tuple(lo for lo, _ in box)


def random_elements(rng: np.random.Generator, dtype: np.dtype[Any], box: NumericBox) -> np.ndarray[Any, Any]:
    """Random elements over a box: small integers, normal floats, and of other dtypes any bytes."""
    shape = tuple(max(hi - lo + 1, 0) for lo, hi in box)
    match dtype.kind:
        case "b":
            return rng.integers(0, 2, shape).astype(dtype)
        case "i":
            return rng.integers(-100, 101, shape).astype(dtype)
        case "u":
            return rng.integers(0, 201, shape).astype(dtype)
        case "f":
            return np.asarray(rng.normal(0, 10, shape)).astype(dtype)
        case "c":
            return np.asarray(rng.normal(0, 10, shape) + 1j * rng.normal(0, 10, shape)).astype(dtype)
        case _:
            count = int(np.prod(shape, dtype=int)) * dtype.itemsize
            return np.frombuffer(rng.bytes(count), dtype).reshape(shape).copy()


def _first_difference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], rtol: float) -> tuple[int, ...] | None:
    if a.dtype.kind in "fc":
        same = np.isclose(a, b, rtol=rtol, atol=rtol, equal_nan=True)
    else:
        same = np.asarray(a == b) if rtol == 0 else np.isclose(a, b, rtol=rtol, atol=rtol)
    different = np.argwhere(~same)
    return None if len(different) == 0 else tuple(int(k) for k in different[0])
