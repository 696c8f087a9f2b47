"""What tests of the footprints of copies share: pictures, callbacks, and runs in all ways with what they copied."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import slinky as sl
from slinky.ir.operations import Copy
from slinky.ir.statements import Call, walk

Array = np.ndarray[Any, Any]

SPLITS = [0, 1, 2, 3, 4]
MOVED = [
    *(((-1, 0), split) for split in SPLITS),
    *(((n, 0), 2) for n in (0, 1, 10, -10)),
    *(((0, n), 2) for n in (1, -1, 10, -10)),
]
"""Offsets by rows and columns, and splits."""

WINDOWS = [(1, 1, 1), (1, 1, 3), (2, 1, 3), (1, 3, 2), (3, 3, 1), (3, 2, 3)]
"""Strides, dilations and numbers of taps."""

z, y, x, k, j = sl.variables("z y x k j")


def buffers(names: str, rank: int = 2, dtype: Any = np.int16) -> list[sl.BufferExpr]:
    return [sl.BufferExpr(name, dtype, rank) for name in names.split()]


def picture(*shape: int, first: int = 1, dtype: Any = np.int16) -> Array:
    """An array whose elements differ."""
    return (np.arange(first, first + int(np.prod(shape))) % 251).astype(dtype).reshape(shape)


def add_1(source: Array, target: Array) -> None:
    np.add(source, 1, out=target)


def same(source: Array, target: Array) -> None:
    """A copy that slinky does not understand."""
    target[...] = source


def sum_3x3(source: Array, target: Array) -> None:
    height, width = target.shape
    assert source.shape == (height + 2, width + 2)
    target[...] = sum(source[i : i + height, j : j + width] for i in range(3) for j in range(3))


def sums(image: Array) -> Array:
    """The 3 x 3 sums of all that is inside."""
    found = np.empty((image.shape[0] - 2, image.shape[1] - 2), image.dtype)
    sum_3x3(image, found)
    return found


def pointwise(function: Callable[..., Any], source: sl.BufferExpr, target: sl.BufferExpr, name: str) -> sl.Func:
    dims = (z, y, x)[-source.rank :]
    return sl.Func(function, [source[dims]], [target[dims]], name=name)


def copies_in(p: sl.Pipeline) -> list[str]:
    calls = [s for s in walk(p._program.body) if isinstance(s, Call)]
    return [call.func.name for call in calls if isinstance(call.func.operation, Copy)]


def by_rows(p: sl.Pipeline, consumer: str, split: int, *producers: str) -> sl.Pipeline:
    """Rows of the consumer, and for each piece the rows that its producers lack, the nearest first, in folded buffers;
    those that are in the program."""
    if split == 0:
        return p
    p, loops = sl.split_loop(p, f"{consumer}.y", split, rc=True)
    for name in producers:
        if p.find_all(f"{name}(_)") or any(call.name() == name for call in p.find_all("_ = _")):
            p, at = sl.compute_at(p, name, loops.outer, rc=True)
            p = sl.slide_window(p, at.call, loops.outer)
            p = sl.fold_storage(p, at.alloc, "y")
    return p


def run(p: sl.Pipeline, inputs: Sequence[Any], *expected: Array | sl.Buffer, **scalars: int) -> sl.RunStatistics:
    """The statistics of a run whose results are as expected, in all ways to run."""
    found = []
    for how in ({}, {"backend": "interpreter"}, {"checked": True}):
        targets = [e if isinstance(e, sl.Buffer) else sl.Buffer(e) for e in expected]
        outputs = [sl.Buffer(np.full_like(t.array, -1), min=t.min) for t in targets]
        found.append(p.run(*inputs, *outputs, **how, **scalars))
        for target, output in zip(targets, outputs, strict=True):
            np.testing.assert_array_equal(output.array, target.array)
    one, *others = found
    for other in others:
        assert (one.allocations, one.bytes_copied, one.calls) == (other.allocations, other.bytes_copied, other.calls)
        assert one.program_bytes == other.program_bytes or "parallel" in str(p)
    return one


def footprint(statistics: sl.RunStatistics) -> tuple[int, int, int]:
    """How many buffers are allocated, how many bytes the program has at once, and how many are copied."""
    return statistics.allocations, statistics.program_bytes, statistics.bytes_copied


def in_pieces(p: sl.Pipeline) -> sl.Pipeline:
    """A pipeline whose copies are taken to pieces, those that have more than one."""
    for copy in [c for c in p.find_all("_ = _") if c.name() in copies_in(p)]:
        with contextlib.suppress(sl.SchedulingError):
            p = sl.split_boundary(p, copy)
    return p
