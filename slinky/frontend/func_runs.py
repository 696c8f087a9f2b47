"""Runs of one func on one piece of its work, in all the ways in which a schedule may run it.

Idea. The reference interpreter runs the func's call over any box within the same arrays, as loops do: so what a
callback is given here is what it would be given by a schedule, regions, coordinates and all.

Invariant: each run has arrays of its own. What a callback does to them is seen, and reaches no other run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np

from slinky.ir.copies import with_box
from slinky.ir.effects import NumericBox, numeric_reads, numeric_writes
from slinky.ir.statements import Call, Program
from slinky.pipeline import Pipeline
from slinky.runtime.arguments import take_arguments
from slinky.runtime.buffers import Array, Buffer
from slinky.runtime.interpreter import interpret
from slinky.runtime.run_options import RunOptions
from slinky.symbolic.expressions import Expr, as_expr, metadata
from slinky.symbolic.expressions import scalar as scalar_symbol
from slinky.symbolic.intervals import Interval
from slinky.verifying import call_in, input_boxes, random_elements, start_of

Layout: TypeAlias = Callable[[Array], Array]
"""Makes an array of the same elements, that lie in memory in another way."""


_ALIGNMENT = 64


def contiguous(array: Array) -> Array:
    """Row after row, without gaps, from an address that suits everybody."""
    return _placed(array, 0)


def beside(array: Array) -> Array:
    """Row after row, without gaps, from an address that suits its elements and nothing larger."""
    return _placed(array, array.itemsize)


def _placed(array: Array, offset: int) -> Array:
    """A copy that begins so many bytes after a multiple of `_ALIGNMENT`."""
    memory = np.zeros(array.nbytes + offset + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT + offset
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def by_columns(array: Array) -> Array:
    """Column after column."""
    return np.array(array, order="F", copy=True)


def every_second(array: Array) -> Array:
    """With a gap after each element."""
    larger = np.zeros((*array.shape, 2), array.dtype)
    larger[..., 0] = array
    return larger[..., 0]


def inside_another(array: Array) -> Array:
    """As a part of a larger array: rows begin anywhere, with gaps between them."""
    larger = np.zeros(tuple(n + 3 for n in array.shape), array.dtype)
    inside: tuple[Any, ...] = tuple(slice(1, n + 1) for n in array.shape)
    view = larger[(*inside, ...)]
    view[...] = array
    return view


def backwards(array: Array) -> Array:
    """From the last element to the first."""
    every: tuple[Any, ...] = (slice(None, None, -1),) * array.ndim
    return contiguous(array[(*every, ...)])[(*every, ...)]


LAYOUTS: dict[str, Layout] = {
    "row after row without gaps": contiguous,
    "beside multiples of 64 bytes": beside,
    "by columns": by_columns,
    "with gaps between elements": every_second,
    "as parts of larger arrays": inside_another,
    "backwards in memory": backwards,
}
"""How arrays may lie in memory, by what messages call it."""


@attrs.frozen
class Outcome:
    """What a run left: the outputs, in full, and whether it wrote to its inputs."""

    outputs: dict[str, Array]
    inputs_changed: str | None


@attrs.frozen(eq=False)
class FuncRun:
    """A func, a box that it is to compute, and what it reads for that: a *whole*, of which pieces are run.

    `inputs` are arrays with their coordinates, by name; `outputs` the boxes of the outputs; `fill` what stands in them
    before.
    """

    pipeline: Pipeline
    call: Call
    box: NumericBox
    inputs: Mapping[str, Buffer]
    outputs: Mapping[str, NumericBox]
    fill: Mapping[str, Array]
    scalars: Mapping[str, int | float]

    def run(
        self,
        box: NumericBox | None = None,
        *,
        inputs: Mapping[str, Array] | None = None,
        fill: Mapping[str, Array] | None = None,
        layout: Layout = contiguous,
        checked: bool = False,
    ) -> Outcome:
        """Run the func over a box of the whole, or all of it. What callbacks raise passes through."""
        given = {name: buffer.array for name, buffer in self.inputs.items()} | dict(inputs or {})
        arrays = {name: layout(array) for name, array in given.items()}
        written = {name: layout(array) for name, array in (fill or self.fill).items()}
        buffers = [Buffer(arrays[i.name], min=self.inputs[i.name].min) for i in self.pipeline.program.inputs]
        buffers += [Buffer(written[o.name], min=start_of(self.outputs[o.name])) for o in self.pipeline.program.outputs]
        with np.errstate(all="ignore"):
            interpret(self._program_of(box), buffers, self.scalars, RunOptions(checked=checked))
        changed = [name for name, array in arrays.items() if array.tobytes() != given[name].tobytes()]
        return Outcome(written, changed[0] if changed else None)

    def require(self) -> None:
        """Raise `CheckFailedError` if the func cannot be run over this whole; no callback runs."""
        buffers = [*self.inputs.values()]
        buffers += [
            Buffer(self.fill[o.name], min=start_of(self.outputs[o.name])) for o in self.pipeline.program.outputs
        ]
        take_arguments(self.pipeline.program, buffers, self.scalars)

    def alone(self, box: NumericBox) -> FuncRun:
        """The same piece as a whole of its own: its arrays hold just what it reads and writes."""
        regions = self.regions_read(box)
        inputs = {name: Buffer(self._part(buffer, regions[name])) for name, buffer in self.inputs.items()}
        inputs = {name: Buffer(part, min=start_of(regions[name])) for name, part in inputs.items()}
        outputs = dict(numeric_writes(self.call, box))
        fill = {name: self.of_piece(name, self.fill[name], box) for name in outputs}
        return attrs.evolve(self, box=box, inputs=inputs, outputs=outputs, fill=fill)

    def of_piece(self, output: str, array: Array, box: NumericBox) -> Array:
        """The part of the array of an output that a piece computes."""
        region = dict(numeric_writes(self.call, box))[output]
        return _cut(array, self.outputs[output], region)

    def regions_read(self, box: NumericBox) -> dict[str, NumericBox]:
        """What is read of each input for a piece; of what is read twice, the hull."""
        values: dict[Expr, int] = {scalar_symbol(s): int(v) for s, v in self.scalars.items()}
        bounds = {name: tuple(zip(b.min, b.max, strict=True)) for name, b in self.inputs.items()}
        for buffer, known in (*bounds.items(), *self.outputs.items()):
            for d, (lo, hi) in enumerate(known):
                values[as_expr(metadata(buffer, d, "min"))] = lo
                values[as_expr(metadata(buffer, d, "max"))] = hi
        found: dict[str, NumericBox] = {}
        for buffer, region in numeric_reads(self.call, box, values):
            if buffer in self.inputs:
                before = found.get(buffer, region)
                found[buffer] = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(before, region, strict=True))
        return found

    def cuttable(self) -> tuple[int, ...]:
        """The dimensions along which a schedule may cut the call."""
        ports = self.call.func.outputs
        whole = {d for d, _ in self.call.func.whole}
        return tuple(d for d in range(len(self.box)) if d not in whole and all(d in port.dims for port in ports))

    def _part(self, buffer: Buffer, region: NumericBox) -> Array:
        return _cut(buffer.array, tuple(zip(buffer.min, buffer.max, strict=True)), region)

    def _program_of(self, box: NumericBox | None) -> Program:
        if box is None:
            box = self.box
        symbolic = tuple(Interval(as_expr(lo), as_expr(hi)) for lo, hi in box)
        call = with_box(self.call, symbolic)
        return attrs.evolve(self.pipeline.program, body=(call,))  # what it checks was checked of the whole: `require`


def _cut(array: Array, bounds: NumericBox, region: NumericBox) -> Array:
    index: tuple[Any, ...] = tuple(
        slice(lo - first, hi - first + 1) for (first, _), (lo, hi) in zip(bounds, region, strict=True)
    )
    return array[(*index, ...)]


def random_run(p: Pipeline, box: NumericBox, rng: np.random.Generator, scalars: Mapping[str, int | float]) -> FuncRun:
    """The run of the one func of a pipeline over a box, on random data."""
    call = call_in(p)
    regions = dict(numeric_writes(call, box))
    read = input_boxes(p, call, box, regions, scalars)
    inputs = {
        i.name: Buffer(random_elements(rng, i.dtype, read[i.name]), min=start_of(read[i.name]))
        for i in p.program.inputs
    }
    return run_on(p, box, inputs, rng, scalars)


def run_on(
    p: Pipeline,
    box: NumericBox,
    inputs: Mapping[str, Buffer],
    rng: np.random.Generator,
    scalars: Mapping[str, int | float],
) -> FuncRun:
    """The run of the one func of a pipeline over a box, on given inputs."""
    call = call_in(p)
    regions = dict(numeric_writes(call, box))
    fill = {o.name: random_elements(rng, o.dtype, regions[o.name]) for o in p.program.outputs}
    return FuncRun(p, call, box, inputs, regions, fill, scalars)


def same_elements(a: Array, b: Array, rtol: float, atol: float) -> Array:
    """Where two arrays hold the same: the same bits, or numbers as near as that, and NaN where NaN is."""
    if a.dtype.kind not in "fc":
        if (rtol or atol) and a.dtype.kind in "iu":
            return np.isclose(a.astype(np.float64), b.astype(np.float64), rtol=rtol, atol=atol)
        if a.dtype.kind in "mM":
            return np.asarray(a.view(np.int64) == b.view(np.int64))
        return np.asarray(a == b)
    with np.errstate(all="ignore"):
        if rtol or atol:
            return np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
        if a.dtype.kind == "c":
            return same_elements(a.real, b.real, 0, 0) & same_elements(a.imag, b.imag, 0, 0)
        return np.asarray(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)))


def other_than(array: Array, rng: np.random.Generator) -> Array:
    """Elements of which each is another than that of an array."""
    match array.dtype.kind:
        case "b" | "i" | "u":
            return np.asarray(~array).astype(array.dtype, copy=False)  # in the byte order that it has
        case "f" | "c":
            return np.asarray(array * 0 + 1 + rng.integers(200, 300, array.shape)).astype(array.dtype)
        case _:
            flipped = bytes(byte ^ 0x55 for byte in array.tobytes())
            return np.frombuffer(flipped, array.dtype).reshape(array.shape).copy()


def places(found: Array) -> Sequence[tuple[int, ...]]:
    """The indices of what is true in an array."""
    return [tuple(int(k) for k in place) for place in np.argwhere(found)]
