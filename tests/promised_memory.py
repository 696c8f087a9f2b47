"""What a program says that it needs at once, counted apart from slinky's own runs: for tests that compare.

All buffers of a block, as long as their boxes and no longer than their folds, laid out as is asked for; and the worst
of what stands inside of the block: an iteration of a loop, or as many as may be under way; a pipeline that a func is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from slinky.ir.blocks import blocks_of_dims
from slinky.ir.effects import clamped_numbers
from slinky.ir.nesting import parameter_values
from slinky.ir.operations import Nested
from slinky.ir.regions import global_boxes
from slinky.ir.statements import Alloc, Block, Call, For, Parallel, Pipelined, Program, Statement, blocks_of
from slinky.symbolic.expressions import Constant, Expr
from slinky.symbolic.intervals import Interval, evaluate_box
from slinky.symbolic.traversal import evaluate

Boxes: TypeAlias = Mapping[str, tuple[tuple[int, int], ...]]


def promised_bytes(program: Program, values: Mapping[Expr, int], threads: int) -> int:
    """The most that a program needs at once, for given values of its parameters, on so many threads."""
    boxes = {name: evaluate_box(box, values) for name, box in global_boxes(program).items()}
    return _of_block(program.body, _Here(dict(values), boxes, threads))


@attrs.frozen
class _Here:
    values: dict[Expr, int]
    boxes: Boxes
    threads: int


def _of_block(block: Block, here: _Here) -> int:
    own = inner = 0
    for statement in block:
        if isinstance(statement, Alloc):
            own += _of_buffer(statement, here)
            box = evaluate_box(statement.box, here.values)
            here = attrs.evolve(here, boxes={**here.boxes, statement.buffer: box})
        else:
            inner = max(inner, _inside(statement, here))
    return own + inner


def _inside(statement: Statement, here: _Here) -> int:
    if isinstance(statement, For):
        return _of_loop(statement, here)
    if isinstance(statement, Call):
        return _of_call(statement, here)
    return max((_of_block(block, here) for _, block in blocks_of(statement)), default=0)


def _of_buffer(alloc: Alloc, here: _Here) -> int:
    extents = []
    blocks = blocks_of_dims(alloc) or (None,) * len(alloc.box)
    for (lo, hi), fold, block_length in zip(evaluate_box(alloc.box, here.values), alloc.folds, blocks, strict=True):
        extent = max(hi - lo + 1, 0)
        if block_length is not None:  # whole blocks, at least one
            extent = max(-(-extent // block_length), 1) * block_length
        extents.append(extent if fold is None else min(extent, evaluate(fold, here.values)))
    layout, size = alloc.layout, alloc.dtype.itemsize
    if layout is None or any(layout.blocks) or 0 in extents:
        return math.prod(extents) * size
    strides = [None if stride is None else evaluate(stride, here.values) for stride in layout.strides]
    given = [stride * extent for stride, extent in zip(strides, extents, strict=True) if stride is not None]
    last, reach = size, max(given, default=size)  # beside all that are given: there is no need to go further
    for stride, extent in zip(reversed(strides), reversed(extents), strict=True):
        step = stride or (reach if reach == size else _rounded(reach, layout.alignment))
        last += step * (extent - 1)
        reach = max(reach, step * extent)
    return _rounded(last, layout.alignment)


def _rounded(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _of_loop(loop: For, here: _Here) -> int:
    first, last = evaluate(loop.range.min, here.values), evaluate(loop.range.max, here.values)
    iterations = range(first, last + 1, evaluate(loop.step, here.values))
    each = [_of_block(loop.body, attrs.evolve(here, values={**here.values, loop.variable: at})) for at in iterations]
    at_once = 1
    match loop.mode:
        case Parallel(workers=workers):
            at_once = here.threads if workers is None else evaluate(workers, here.values)
        case Pipelined(depth=depth):
            at_once = depth
    return sum(sorted(each)[-at_once:])


def _of_call(call: Call, here: _Here) -> int:
    if not isinstance(call.func.operation, Nested):
        return 0
    box = clamped_numbers(call, here.values, here.boxes.__getitem__)
    if any(hi < lo for lo, hi in box):
        return 0
    symbols = parameter_values(call, tuple(Interval(Constant(lo), Constant(hi)) for lo, hi in box))
    inner: dict[Any, int] = {symbol: evaluate(e, here.values) for symbol, e in symbols.items()}
    return promised_bytes(call.func.operation.program, inner, here.threads)
