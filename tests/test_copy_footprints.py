"""The footprints of copies: how much memory is reserved and how much is copied, with and without aliasing.

The cases are those of C++ slinky's tests of copies, padded stencils, and what may not be aliased. Where its tests say
that nothing is allocated or copied, so do these, however the loop over rows is split (0: not at all). Where a figure
differs from the one there, a comment says why. Sizes are those of its tests, as (rows, columns).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

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


def refusal(make: Callable[[], object]) -> str:
    with pytest.raises(sl.SchedulingError) as caught:
        make()
    return caught.value.reason


# ----------------------------------------------------------------------------------------------------------------
# Nothing is allocated, and nothing is copied
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("offset", "split"), MOVED)
@pytest.mark.parametrize("alias", [False, True])
def test_a_copied_output(alias: bool, offset: tuple[int, int], split: int) -> None:
    """Whatever is copied to the output last is made there."""
    a, t, out = buffers("a t out")
    sl.Func(sum_3x3, [a[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]], [t[y, x]], name="stencil")
    sl.copies.copy(t[y + offset[0], x + offset[1]], out[y, x])
    p = sl.build_pipeline([a], [out], alias=alias)
    p = by_rows(p, "stencil" if alias else "copy", split, *() if alias else ("stencil",))
    image = sl.Buffer(picture(12, 22), min=(offset[0] - 1, offset[1] - 1))
    statistics = run(p, [image], expected := sums(image.array))
    rows = split if split else 10
    assert statistics.allocations == (0 if alias else 1)
    assert statistics.program_bytes == (0 if alias else rows * 20 * 2)
    assert statistics.bytes_copied == (0 if alias else expected.nbytes)


@pytest.mark.parametrize(("offset", "split"), MOVED)
@pytest.mark.parametrize("alias", [False, True])
def test_a_copied_input(alias: bool, offset: tuple[int, int], split: int) -> None:
    """Whatever is copied from the input first is read there."""
    a, t, out = buffers("a t out")
    sl.copies.copy(a[y + offset[0], x + offset[1]], t[y, x])
    sl.Func(sum_3x3, [t[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]], [out[y, x]], name="stencil")
    p = by_rows(sl.build_pipeline([a], [out], alias=alias), "stencil", split, "copy")
    image = sl.Buffer(picture(12, 22), min=(offset[0] - 1, offset[1] - 1))
    statistics = run(p, [image], sums(image.array))
    rows = split + 2 if split else 12
    assert statistics.allocations == (0 if alias else 1)
    assert statistics.program_bytes == (0 if alias else rows * 22 * 2)
    assert statistics.bytes_copied == (0 if alias else image.array.nbytes)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("alias", [False, True])
def test_a_concatenated_output(alias: bool, axis: int, split: int) -> None:
    """The branches write their parts of the output, in loops of their own, too."""
    a, b, t, u, out = buffers("a b t u out")
    pointwise(add_1, a, t, "left")
    pointwise(add_1, b, u, "right")
    sl.copies.concatenate([t, u], out, axis=axis)
    p = sl.build_pipeline([a, b], [out], alias=alias)
    if alias:
        p = by_rows(by_rows(p, "left", split), "right", split)
    elif split and axis == 1:
        p = by_rows(p, "concatenate", split, "right", "left")
    inputs = [picture(4, 20), picture(7, 20, first=100)]
    inputs = inputs if axis == 0 else [np.ascontiguousarray(i.T) for i in inputs]
    statistics = run(p, inputs, expected := np.concatenate(inputs, axis=axis) + np.int16(1))
    assert statistics.allocations == (0 if alias else 2)
    assert statistics.bytes_copied == (0 if alias else expected.nbytes)
    if alias:
        assert statistics.program_bytes == 0
    elif split and axis == 1:
        assert statistics.program_bytes == split * (4 + 7) * 2
    else:
        assert statistics.program_bytes == expected.nbytes


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("alias", [False, True])
def test_a_stacked_output(alias: bool, axis: int, split: int) -> None:
    a, b, t, u, out = (*buffers("a b t u"), *buffers("out", 3))
    pointwise(add_1, a, t, "left")
    pointwise(add_1, b, u, "right")
    sl.copies.stack([t, u], out, axis=axis)
    p = sl.build_pipeline([a, b], [out], alias=alias)
    if alias:
        p = by_rows(by_rows(p, "left", split), "right", split)
    inputs = [picture(8, 20), picture(8, 20, first=77)]
    statistics = run(p, inputs, expected := np.stack(inputs, axis=axis) + np.int16(1))
    assert statistics.allocations == (0 if alias else 2)
    assert statistics.program_bytes == (0 if alias else expected.nbytes)
    assert statistics.bytes_copied == (0 if alias else expected.nbytes)


@pytest.mark.parametrize("order", list(itertools.product(range(3), repeat=3)))
@pytest.mark.parametrize("alias", [False, True])
def test_a_transposed_output(alias: bool, order: tuple[int, int, int]) -> None:
    """All permutations; what is no permutation takes a diagonal, which cannot be written to its place."""
    a, t, out = buffers("a t out", 3)
    pointwise(add_1, a, t, "add")
    dims = (z, y, x)
    sl.copies.copy(t[tuple(dims[d] for d in order)], out[dims])
    p = sl.build_pipeline([a], [out], alias=alias)
    shape = (7, 4, 20)
    image = picture(*(shape[d] for d in order))
    grid = np.indices(shape)
    statistics = run(p, [image], expected := image[tuple(grid[d] for d in order)] + np.int16(1))
    if alias and sorted(order) == [0, 1, 2]:
        assert (statistics.allocations, statistics.program_bytes, statistics.bytes_copied) == (0, 0, 0)
    else:
        assert statistics.allocations == 1
        assert statistics.program_bytes == image.nbytes
        assert statistics.bytes_copied == expected.nbytes


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("alias", [False, True])
def test_slices_that_are_added(alias: bool, split: int) -> None:
    a, t, u, out = (*buffers("a", 3), *buffers("t u out"))
    sl.copies.copy(a[y, 0, x], t[y, x], name="slice_0")
    sl.copies.copy(a[y, 1, x], u[y, x], name="slice_1")
    sl.Func(np.subtract, [t[y, x], u[y, x]], [out[y, x]], name="subtract")
    p = by_rows(sl.build_pipeline([a], [out], alias=alias), "subtract", split, "slice_0", "slice_1")
    image = picture(30, 2, 20) * np.int16(3)
    statistics = run(p, [image], image[:, 0] - image[:, 1])
    assert statistics.allocations == (0 if alias else 2)
    assert statistics.program_bytes == (0 if alias else 2 * (split or 30) * 20 * 2)
    assert statistics.bytes_copied == (0 if alias else image.nbytes)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("stride", "dilation", "kernel"), WINDOWS)
@pytest.mark.parametrize("alias", [False, True])
def test_strided_and_dilated_stencils_of_a_signal(
    alias: bool, stride: int, dilation: int, kernel: int, split: int
) -> None:
    """A copy to a further dimension for the taps, and a sum over that; the sum reads the input itself."""
    a, t, out = (*buffers("a", 1), *buffers("t"), *buffers("out", 1))
    sl.copies.copy(a[y * stride + k * dilation], t[y, k], name="windows")
    sl.Func(lambda w, o: np.sum(w, 1, out=o), [t[y, sl.interval(0, kernel - 1)]], [out[y]], name="sum")
    p = by_rows(sl.build_pipeline([a], [out], alias=alias), "sum", split, "windows")
    image = picture(9 * stride + (kernel - 1) * dilation + 1)
    expected = np.array([sum(image[n * stride + i * dilation] for i in range(kernel)) for n in range(10)], np.int16)
    statistics = run(p, [image], expected)
    assert statistics.allocations == (0 if alias else 1)
    assert statistics.program_bytes == (0 if alias else (split or 10) * kernel * 2)
    assert statistics.bytes_copied == (0 if alias else 10 * kernel * 2)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("stride", "dilation", "kernel"), WINDOWS[1::2])
@pytest.mark.parametrize("alias", [False, True])
def test_strided_and_dilated_stencils_of_an_image(
    alias: bool, stride: int, dilation: int, kernel: int, split: int
) -> None:
    a, t, out = (*buffers("a"), *buffers("t", 4), *buffers("out"))
    sl.copies.copy(a[y * stride + k * dilation, x * stride + j * dilation], t[y, x, k, j], name="windows")
    taps = sl.interval(0, kernel - 1)
    sl.Func(lambda w, o: np.sum(w, (2, 3), out=o), [t[y, x, taps, taps]], [out[y, x]], name="sum")
    p = by_rows(sl.build_pipeline([a], [out], alias=alias), "sum", split, "windows")
    image = picture(*(n * stride + (kernel - 1) * dilation + 1 for n in (4, 9)))
    rows, columns = ([[n * stride + i * dilation for i in range(kernel)] for n in range(size)] for size in (5, 10))
    expected = np.array([[image[np.ix_(r, c)].sum() for c in columns] for r in rows], np.int16)
    statistics = run(p, [image], expected)
    assert statistics.allocations == (0 if alias else 1)
    assert statistics.program_bytes == (0 if alias else (split or 5) * 10 * kernel**2 * 2)
    assert statistics.bytes_copied == (0 if alias else 5 * 10 * kernel**2 * 2)


@pytest.mark.parametrize("split", SPLITS)
def test_stencils_whose_stride_dilation_and_size_are_scalars(split: int) -> None:
    """C++ slinky makes no windows here either. A `view` has strides that are whole numbers, so they are copied."""
    a, t, out = (*buffers("a", 1), *buffers("t"), *buffers("out", 1))
    stride, dilation, kernel = (sl.scalar(name) for name in ("stride", "dilation", "kernel"))
    sl.copies.copy(a[y * sl.maximum(1, stride) + k * sl.maximum(1, dilation)], t[y, k], name="windows")
    sl.Func(lambda w, o: np.sum(w, 1, out=o), [t[y, sl.interval(0, kernel - 1)]], [out[y]], name="sum")
    p = sl.build_pipeline([a], [out])
    assert refusal(lambda: sl.alias_copy(p, "windows")) == "sum cannot be given t as a view of the source"
    p = by_rows(p, "sum", split, "windows")
    for s, d, size in itertools.product((1, 2, 3), repeat=3):
        image = picture(9 * s + (size - 1) * d + 1)
        expected = np.array([sum(image[n * s + i * d] for i in range(size)) for n in range(10)], np.int16)
        statistics = run(p, [image], expected, stride=s, dilation=d, kernel=size)
        assert statistics.allocations == 1
        assert statistics.program_bytes == (split or 10) * size * 2
        assert statistics.bytes_copied == 10 * size * 2


def test_stencils_whose_taps_alone_are_a_scalar() -> None:
    a, t, out = (*buffers("a", 1), *buffers("t"), *buffers("out", 1))
    kernel = sl.scalar("kernel")
    sl.copies.copy(a[2 * y + 3 * k], t[y, k], name="windows")
    sl.Func(lambda w, o: np.sum(w, 1, out=o), [t[y, sl.interval(0, kernel - 1)]], [out[y]], name="sum")
    p = sl.build_pipeline([a], [out])
    for size in (1, 2, 3):
        image = picture(9 * 2 + (size - 1) * 3 + 1)
        expected = np.array([sum(image[n * 2 + i * 3] for i in range(size)) for n in range(10)], np.int16)
        statistics = run(p, [image], expected, kernel=size)
        assert (statistics.allocations, statistics.bytes_copied) == (0, 0)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("alias", [False, True])
def test_an_operand_that_is_repeated(alias: bool, axis: int, split: int) -> None:
    """C++ slinky allocates its broadcast input again; here it is read where it is."""
    a, b, wide, out = buffers("a b wide out")
    sl.copies.broadcast(b, wide, axes=[axis])
    sl.Func(np.subtract, [a[y, x], wide[y, x]], [out[y, x]], name="subtract")
    p = by_rows(sl.build_pipeline([a, b], [out], alias=alias), "subtract", split, "broadcast")
    image, operand = picture(4, 20), picture(*((1, 20), (4, 1))[axis], first=50)
    statistics = run(p, [image, operand], image - operand)
    assert statistics.allocations == (0 if alias else 1)
    assert statistics.program_bytes == (0 if alias else (split or 4) * 20 * 2)
    assert statistics.bytes_copied == (0 if alias else image.nbytes)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("alias", [False, True])
def test_a_computed_operand_that_is_repeated(alias: bool, axis: int, split: int) -> None:
    """One allocation: of the operand, as large as it is."""
    a, b, t, wide, out = buffers("a b t wide out")
    pointwise(add_1, b, t, "add")
    sl.copies.copy(t[(0, x) if axis == 0 else (y, 0)], wide[y, x], name="broadcast")
    sl.Func(np.subtract, [a[y, x], wide[y, x]], [out[y, x]], name="subtract")
    p = by_rows(sl.build_pipeline([a, b], [out], alias=alias), "subtract", split, "broadcast")
    image, operand = picture(4, 20), picture(*((1, 20), (4, 1))[axis], first=50)
    statistics = run(p, [image, operand], image - operand - np.int16(1))
    assert statistics.allocations == (1 if alias else 2)
    assert statistics.program_bytes == operand.nbytes + (0 if alias else (split or 4) * 20 * 2)
    assert statistics.bytes_copied == (0 if alias else image.nbytes)


def test_a_dimension_that_is_dropped() -> None:
    a, t, u, out = (*buffers("a"), *buffers("t", 3), *buffers("u out"))
    sl.copies.copy(a[y, x], t[z, y, x], name="repeat")
    sl.copies.copy(t[0, y, x], u[y, x], name="slice")
    pointwise(add_1, u, out, "add")
    p, q = (sl.build_pipeline([a], [out], alias=alias) for alias in (False, True))
    image = picture(5, 8)
    assert run(p, [image], image + np.int16(1)).allocations == 2
    statistics = run(q, [image], image + np.int16(1))
    assert (statistics.allocations, statistics.bytes_copied) == (0, 0)


# ----------------------------------------------------------------------------------------------------------------
# Sequences of copies
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("alias", [False, True])
def test_a_sequence_of_copies_is_one(alias: bool, count: int) -> None:
    bufs = buffers(" ".join(f"b{n}" for n in range(count + 2)), 1, np.int8)
    for n, (source, target) in enumerate(itertools.pairwise(bufs)):
        sl.copies.copy(source[x + 1], target[x], name=f"copy_{n}")
    p = sl.build_pipeline(bufs[:1], bufs[-1:], alias=alias)
    signal = sl.Buffer(picture(32, dtype=np.int8), min=(count + 1,))
    statistics = run(p, [signal], signal.array)
    assert statistics.allocations == (0 if alias else count)
    assert statistics.bytes_copied == (32 if alias else 32 * (count + 1))


@pytest.mark.parametrize(("count", "mask"), [(n, mask) for n in (1, 2, 3, 4) for mask in range(1, 2 ** (n + 1))])
def test_a_sequence_of_copies_some_of_which_pad(count: int, mask: int) -> None:
    """Each copy whose bit is set fills what lies beyond bounds of its own with its number.

    C++ slinky allocates at most one buffer, two where the first and the third of five pad. As they are, those that pad
    are copies one of another here; taken to pieces, they all fill their part of the output, and copy once.
    """
    bufs = buffers(" ".join(f"b{n}" for n in range(count + 2)), 1, np.int8)
    signal = sl.Buffer(picture(32, dtype=np.int8), min=(count + 1,))
    expected = signal.array.copy()
    for n, (source, target) in enumerate(itertools.pairwise(bufs)):
        if not mask >> n & 1:
            sl.copies.copy(source[x + 1], target[x], name=f"copy_{n}")
            continue
        lo, hi = 20 - (n * 2 + 8), 20 + 8
        source.dim(0).domain = sl.interval(lo, hi)
        sl.copies.copy(source[x + 1], target[x], outside=n, name=f"copy_{n}")
        places = np.arange(32) + count + 1 - n
        expected[(places < lo) | (places > hi)] = n
    p, q = (sl.build_pipeline(bufs[:1], bufs[-1:], alias=alias) for alias in (False, True))
    assert run(p, [signal], expected).allocations == count
    assert run(q, [signal], expected).allocations == mask.bit_count() - 1
    statistics = run(sl.alias_copies(in_pieces(p)), [signal], expected)
    assert (statistics.allocations, statistics.bytes_copied) == (0, 32)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("alias", [False, True])
def test_tiles_that_are_put_together_again(alias: bool, split: int) -> None:
    """C++ slinky makes the tiles; here they are gone, and one copy is left, of the input to the output."""
    a, tiles, out = (*buffers("a"), *buffers("tiles", 4), *buffers("out"))
    sl.copies.copy(a[4 * y + k, 4 * x + j], tiles[y, x, k, j], name="tile")
    sl.copies.copy(tiles[y // 4, x // 4, y % 4, x % 4], out[y, x], name="untile")
    p = sl.build_pipeline([a], [out], alias=alias)
    if split:
        p, loops = sl.split_loop(p, "untile.y", 4 * split, rc=True)
        p = p if alias else sl.compute_at(p, "tile", loops.outer)
    image = picture(8, 12)
    statistics = run(p, [image], image)
    assert statistics.allocations == (0 if alias else 1)
    assert statistics.program_bytes == (0 if alias else 8 * 12 * 2)
    assert statistics.bytes_copied == image.nbytes * (1 if alias else 2)


# ----------------------------------------------------------------------------------------------------------------
# What is padded
# ----------------------------------------------------------------------------------------------------------------


def in_pieces(p: sl.Pipeline) -> sl.Pipeline:
    """A pipeline whose copies are taken to pieces, those that have more than one."""
    for copy in [c for c in p.find_all("_ = _") if c.name() in copies_in(p)]:
        with contextlib.suppress(sl.SchedulingError):
            p = sl.split_boundary(p, copy)
    return p


@pytest.mark.parametrize("schedule", ["whole", "padded first", "by rows"])
@pytest.mark.parametrize("pieces", [False, True])
def test_a_padded_stencil(pieces: bool, schedule: str) -> None:
    """3 x 3 sums of an image that is padded with sixes; the stencil's rows one by one where it is by rows.

    C++ slinky has one allocation where it is not by rows: what is padded, in which the image is made. So it is here,
    once the copy is taken to pieces. By rows it has two, a row of the image and three of what is padded; here it is the
    same, whether the copy is whole or in pieces: that rows which are slid find all in what the calls of an iteration
    write together is not shown, so the row of the image stays.
    """
    a, t, out = buffers("a t out")
    pointwise(add_1, a, t, "add")
    around = t.extended("constant", value=6)[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]
    sl.Func(sum_3x3, [around], [out[y, x]], name="stencil")
    p = sl.build_pipeline([a], [out])
    rows = None
    if schedule != "whole":
        p, loops = sl.split_loop(p, "stencil.y", 1, rc=True)
        rows = loops.outer
    if schedule == "by rows":
        p, at = sl.compute_at(p, "constant", rows, rc=True)
        p = sl.slide_window(p, at.call, rows)
        p = sl.fold_storage(p, at.alloc, "y")
        p, made = sl.compute_at(p, "add", rows, rc=True)
        p = sl.store_at(p, made.alloc, rows)
    if pieces:
        p = sl.alias_copies(in_pieces(p))
    height, width = 30, 20
    image = picture(height, width)
    statistics = run(p, [image], sums(np.pad(image + np.int16(1), 1, constant_values=6)))
    once, whole = image.nbytes, (height + 2) * (width + 2) * 2
    if schedule == "by rows":
        once, whole = width * 2, (width + 2) * 3 * 2
    in_one = pieces and schedule != "by rows"
    assert statistics.program_bytes == whole + (0 if in_one else once)
    assert statistics.elements["add"] == image.size
    assert statistics.elements["stencil"] == image.size
    border = (height + 2) * (width + 2) * 2 - image.nbytes
    assert statistics.bytes_copied == border + (0 if in_one else image.nbytes)
    if schedule != "by rows":
        assert statistics.allocations == (1 if pieces else 2)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("pieces", [False, True])
@pytest.mark.parametrize("alias", [False, True])
def test_a_padded_stencil_that_is_separable(alias: bool, pieces: bool, split: int) -> None:
    """Sums over three columns of the image turned, then over three rows of it turned back.

    C++ slinky has two allocations where it is not split, the larger of those that share one: so it is here once the
    padding is taken to pieces. For single rows it has 204 bytes: a row of what is padded, one of sums, three of these
    turned back. Here that is 164, for these are the same three.
    """
    a, t, turned, summed, back, out = buffers("a t turned summed back out")
    pointwise(add_1, a, t, "add")
    sl.copies.copy(t[y, x], turned[x, y], outside=6, name="pad")

    def sum_3(source: Array, target: Array) -> None:
        np.sum([source[n : n + len(target)] for n in range(3)], 0, target.dtype, target)

    sl.Func(sum_3, [turned[sl.interval(y - 1, y + 1), x]], [summed[y, x]], name="columns")
    sl.copies.transpose(summed, back, name="back")
    sl.Func(sum_3, [back[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="rows")
    p = sl.build_pipeline([a], [out], alias=alias)
    if split:
        p, loops = sl.split_loop(p, "rows.y", split, rc=True)
        if not alias:
            p, at = sl.compute_at(p, "back", loops.outer, rc=True)
            p = sl.fold_storage(sl.slide_window(p, at.call, loops.outer), at.alloc, "y")
        p, at = sl.compute_at(p, "columns", loops.outer, rc=True)
        if alias:
            p = sl.fold_storage(sl.slide_window(p, at.call, loops.outer), at.alloc, 1)
        else:
            p = sl.store_at(p, at.alloc, loops.outer)
        for name in ("pad", "add"):
            p, at = sl.compute_at(p, name, loops.outer, rc=True)
            p = sl.store_at(p, at.alloc, loops.outer)
    if pieces:
        p = sl.alias_copies(in_pieces(p))
    height, width = 30, 20
    image = picture(height, width)
    padded = np.pad(image + np.int16(1), 1, constant_values=6)
    statistics = run(p, [image], sums(padded))
    rows = split + 2 if split else height + 2  # of what the sums over rows read, and what is made for them at a time
    each = split or height + 2
    made, padding = width * (split or height), (width + 2) * each
    summed = width * rows if alias or pieces else width * rows + width * each
    if split:
        assert statistics.program_bytes == 2 * (padding + summed + (0 if pieces else made))
    else:  # one after the other
        assert statistics.program_bytes == 2 * (padding + width * rows)
        assert statistics.allocations == 4 - (alias or pieces) - pieces
    padded_once = padded.size - (image.size if pieces else 0)
    turned_back = 0 if alias or pieces else width * (height + 2)
    assert statistics.bytes_copied == 2 * (padded_once + turned_back)
    assert statistics.elements["add"] == height * width
    assert statistics.elements["columns"] == width * (height + 2)
    assert statistics.elements["rows"] == height * width


@pytest.mark.parametrize("split", [0, 1, 2])
@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("offset", [(0, 0), (1, 0), (-10, 0), (0, -1), (0, 10), (-2, 3)])
def test_a_padded_copy(offset: tuple[int, int], inside: bool, computed: bool, split: int) -> None:
    """A copy that fills, with a number or with what another func makes, between funcs that slinky knows nothing of.

    C++ slinky has one allocation, and one for what is filled with, if that is made: so it is here in pieces. As it is,
    the copy has what it reads and what it writes. It runs once for each piece of rows.
    """
    a, t, filling, padded, out = buffers("a t filling padded out", dtype=np.int8)
    pointwise(same, a, t, "copy_in")

    def coordinates(target: sl.Buffer) -> None:
        rows, columns = (np.arange(n) + lo for n, lo in zip(target.array.shape, target.min, strict=True))
        target.array[...] = 2 * rows[:, None] + columns

    outside: Any = 3
    if computed:
        sl.Func(coordinates, [], [filling[y, x]], name="fill", pass_buffers=True)
        outside = filling[y, x]
    sl.copies.copy(t[y + offset[0], x + offset[1]], padded[y, x], outside=outside, name="pad")
    pointwise(same, padded, out, "copy_out")
    p = sl.build_pipeline([a], [out], alias=False)
    image = sl.Buffer(picture(5, 8, dtype=np.int8), min=offset if inside else (0, 0))
    rows, columns = np.indices((5, 8))
    expected = (2 * rows + columns if computed else np.full((5, 8), 3)).astype(np.int8)
    found = (rows + offset[0] - image.min[0], columns + offset[1] - image.min[1])
    there = (found[0] >= 0) & (found[0] < 5) & (found[1] >= 0) & (found[1] < 8)
    expected[there] = image.array[found[0][there], found[1][there]]
    if split:
        p, loops = sl.split_loop(p, "copy_out.y", split, rc=True)
        p, at = sl.compute_at(p, "pad", loops.outer, rc=True)
        p = sl.store_at(p, at.alloc, loops.outer)
    statistics = run(p, [image], expected)
    assert statistics.calls["pad"] == (-(-5 // split) if split else 1)
    filled = 40 if computed else 0
    assert statistics.program_bytes == filled + there.sum() + (split or 5) * 8
    assert statistics.bytes_copied == 40
    if split == 0:
        statistics = run(sl.alias_copies(in_pieces(p)), [image], expected)
        assert statistics.program_bytes == filled + 40
        assert statistics.bytes_copied == 40 - there.sum()
        assert statistics.allocations == (2 if computed else 1)


@pytest.mark.parametrize("order", list(itertools.product(range(3), repeat=3)))
def test_a_padded_copy_that_is_transposed(order: tuple[int, int, int]) -> None:
    a, t, padded, out = buffers("a t padded out", 3)
    pointwise(add_1, a, t, "add")
    dims = (z, y, x)
    sl.copies.copy(t[tuple(dims[d] for d in order)], padded[dims], outside=0, name="pad")
    pointwise(same, padded, out, "copy_out")
    p = sl.alias_copies(in_pieces(sl.build_pipeline([a], [out])))
    shape = (3, 5, 8)
    image = picture(*(shape[d] for d in order))
    statistics = run(p, [image], image[tuple(np.indices(shape)[d] for d in order)] + np.int16(1))
    if sorted(order) == [0, 1, 2]:
        assert (statistics.allocations, statistics.program_bytes, statistics.bytes_copied) == (1, image.nbytes, 0)
    else:
        assert (statistics.allocations, statistics.program_bytes) == (2, image.nbytes + 240)
        assert statistics.bytes_copied == 240


@pytest.mark.parametrize("alias", [False, True])
def test_a_buffer_and_its_copy_in_a_parallel_loop(alias: bool) -> None:
    """Two buffers for each of three pieces, or one."""
    a, t, moved, out = buffers("a t moved out", dtype=np.int32)
    pointwise(add_1, a, t, "add")
    sl.copies.copy(t[y, x + 1], moved[y, x], name="move")
    sl.Func(np.subtract, [t[y, x], moved[y, x]], [out[y, x]], name="subtract")
    p = sl.build_pipeline([a], [out], alias=alias)
    p, loops = sl.split_loop(p, "subtract.y", 2, rc=True)
    for name in ("add",) if alias else ("move", "add"):
        p, at = sl.compute_at(p, name, loops.outer, rc=True)
        p = sl.store_at(p, at.alloc, loops.outer)
    p = sl.parallelize_loop(p, loops.outer)
    image = picture(5, 9, dtype=np.int32) ** 2
    statistics = run(p, [image], image[:, :-1] - image[:, 1:])
    assert statistics.allocations == (3 if alias else 6)
    assert statistics.bytes_copied == (0 if alias else 5 * 8 * 4)


def test_two_copies_of_one_buffer_that_pad() -> None:
    a, t, u, v, out = buffers("a t u v out", 1, np.int32)
    pointwise(add_1, a, t, "add")
    t.dim(0).domain = sl.interval(0, 1)
    sl.copies.copy(t[x - 6], u[x], outside=0, name="later")
    sl.copies.copy(t[x - 4], v[x], outside=0, name="earlier")
    sl.Func(np.subtract, [u[x], v[x]], [out[x]], name="subtract")
    p = sl.build_pipeline([a], [out])
    signal = picture(2, dtype=np.int32, first=10)
    expected = np.zeros(12, np.int32)
    expected[6:8], expected[4:6] = signal + 1, -signal - 1
    split, loops = sl.split_loop(p, "subtract.x", 1, rc=True)
    for name in ("later", "earlier"):
        split, at = sl.compute_at(split, name, loops.outer, rc=True)
        split = sl.store_at(split, at.alloc, loops.outer)
    assert run(p, [signal], expected).allocations == 3
    assert run(split, [signal], expected).program_bytes == 8 + 4 + 4
    assert run(sl.alias_copies(in_pieces(p)), [signal], expected).allocations == 3  # as large as what is padded


# ----------------------------------------------------------------------------------------------------------------
# Strides that are asked for
# ----------------------------------------------------------------------------------------------------------------


def dense(buffer: sl.BufferExpr) -> None:
    buffer.dim(buffer.rank - 1).stride = buffer.dtype.itemsize


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("alias", [False, True])
def test_a_transpose_between_strides_that_are_asked_for(alias: bool, first: bool, second: bool) -> None:
    """One buffer is enough unless both ask for strides; it is the one that does."""
    a, t, u, out = buffers("a t u out", 3)
    for buffer, fixed in ((t, first), (u, second)):
        if fixed:
            dense(buffer)
    pointwise(add_1, a, t, "add")
    sl.copies.copy(t[y, z, x], u[z, y, x], name="transpose")
    pointwise(add_1, u, out, "again")
    p = sl.build_pipeline([a], [out], alias=alias)
    image = picture(4, 7, 20)
    statistics = run(p, [image], image.transpose(1, 0, 2) + np.int16(2))
    both = not alias or (first and second)
    assert statistics.allocations == (2 if both else 1)
    assert statistics.bytes_copied == (image.nbytes if both else 0)
    if first and second:
        assert refusal(lambda: sl.alias_copy(p, "transpose")) == (
            "u has strides or an alignment that are asked for, which t has not; nor can u be written in its place: "
            "t has strides or an alignment that are asked for, which u has not"
        )


@pytest.mark.parametrize("fixed", [False, True])
def test_a_callback_that_needs_its_rows_dense(fixed: bool) -> None:
    """An input that is transposed is read where it is, unless the strides of the copy are asked for; and an output that
    is transposed is written, unless the strides of what is copied are."""

    def strict(source: Array, target: Array) -> None:
        assert not fixed or 4 in (source.strides[1], target.strides[1])
        np.add(source, 1, out=target)

    a, t, out = buffers("a t out", dtype=np.int32)
    sl.copies.transpose(a, t)
    pointwise(strict, t, out, "add")
    b, u, into = buffers("b u into", dtype=np.int32)
    pointwise(strict, b, u, "add")
    sl.copies.transpose(u, into)
    if fixed:
        dense(t)
        dense(u)
    image = picture(20, 10, dtype=np.int32)
    for p in (sl.build_pipeline([a], [out]), sl.build_pipeline([b], [into])):
        statistics = run(p, [image], image.T + np.int32(1))
        assert statistics.allocations == int(fixed)
        assert statistics.bytes_copied == (image.nbytes if fixed else 0)
        if fixed:
            assert "has strides or an alignment that are asked for" in refusal(
                lambda p=p: sl.alias_copy(p, "transpose")
            )


@pytest.mark.parametrize("stride", [1, 5])
def test_windows_that_must_be_contiguous_are_copied(stride: int) -> None:
    a, t, windows, out = (*buffers("a t", 1), *buffers("windows out"))
    windows.dim(0).stride, windows.dim(1).stride = 10, 2
    pointwise(same, a, t, "before")
    sl.copies.copy(t[stride * y + x], windows[y, x], name="windows")
    pointwise(same, windows, out, "behind")
    p = sl.build_pipeline([a], [out])
    signal = picture(9 * stride + 5)
    expected = np.array([signal[stride * n : stride * n + 5] for n in range(10)])
    statistics = run(p, [signal], expected)
    assert statistics.allocations == 2
    assert statistics.bytes_copied == expected.nbytes
    assert refusal(lambda: sl.alias_copy(p, "windows")) == (
        "windows has strides or an alignment that are asked for, which t has not; nor can windows be written in its "
        "place: elements of t do not stand for one of windows each"
    )


@pytest.mark.parametrize("fixed", [False, True])
def test_what_is_padded_keeps_strides_that_are_asked_for(fixed: bool) -> None:
    """C++ slinky writes to the padded buffer where only the innermost stride is asked for; here none may be."""
    a, t, u, out = buffers("a t u out", dtype=np.int32)
    if fixed:
        dense(t)
    pointwise(add_1, a, t, "add")
    sl.copies.pad(t, u, 1, 1)
    sl.copies.copy(u[y, x], out[y, x])
    p = sl.alias_copies(in_pieces(sl.build_pipeline([a], [out], alias=False)))
    image = picture(8, 8, dtype=np.int32)
    statistics = run(p, [image], expected := np.pad(image + np.int32(1), 1))
    assert statistics.allocations == int(fixed)
    assert statistics.bytes_copied == expected.nbytes - (0 if fixed else image.nbytes)


# ----------------------------------------------------------------------------------------------------------------
# Never
# ----------------------------------------------------------------------------------------------------------------


def test_an_output_that_is_not_known_to_be_large_enough() -> None:
    """Two parts of one buffer go to two outputs: it is in neither."""
    a, t, upper, lower = buffers("a t upper lower")
    pointwise(add_1, a, t, "add")
    sl.copies.copy(t[y, x], upper[y, x], name="first")
    sl.copies.copy(t[y + upper.dim(0).extent, x], lower[y, x], name="second")
    p = sl.build_pipeline([a], [upper, lower])
    image = picture(11, 20)
    statistics = run(p, [image], image[:4] + np.int16(1), image[4:] + np.int16(1))
    assert statistics.allocations == 1
    assert statistics.bytes_copied == image.nbytes
    for copy, other in (("first", "second finds all of upper"), ("second", "first finds all of lower")):
        what = refusal(lambda copy=copy: sl.alias_copy(p, copy))
        assert "is an output of the pipeline, which must be written; nor can" in what
        assert other.replace("finds", "does not find") in what


@pytest.mark.parametrize("shared", [False, True])
def test_two_outputs_that_are_copies_of_one_buffer(shared: bool) -> None:
    """One is made, and the other copied from it, where both are known to be as large."""
    a, t, one, two = buffers("a t one two")
    pointwise(add_1, a, t, "add")
    sl.copies.copy(t[y, x], one[y, x], name="first")
    sl.copies.copy(t[y, x], two[y, x], name="second")
    p = sl.build_pipeline([a], [one, two], require=[sl.same_shape(one, two)] if shared else [])
    image = picture(10, 20)
    statistics = run(p, [image], image + np.int16(1), image + np.int16(1))
    assert statistics.allocations == (0 if shared else 1)
    assert statistics.bytes_copied == image.nbytes * (1 if shared else 2)
    if not shared:
        assert "not shown that second finds all of one" in refusal(lambda: sl.alias_copy(p, "first"))


def test_two_writers_of_one_element() -> None:
    """What another func needs beyond a part of an assembly would lie in the next part."""
    a, b, t, u, out, sums_ = buffers("a b t u out sums_")
    pointwise(add_1, a, t, "left")
    pointwise(same, b, u, "right")
    sl.copies.concatenate([t, u], out)
    window = t[sl.interval(y - 1, y + 1), x]
    sl.Func(lambda w, o: np.add(w[:-2], w[2:], out=o), [window], [sums_[y, x]], name="sum")
    p = sl.build_pipeline([a, b], [out, sums_], alias=False)
    p, (pieces,) = sl.split_boundary(p, "concatenate", rc=True)
    assert "not shown that all of t has its place in what the copy writes of out" in refusal(
        lambda: sl.alias_copy(p, pieces[0])
    )
    left, right = picture(5, 3), picture(4, 3, first=50)
    made = left + np.int16(1)
    statistics = run(p, [left, right], np.concatenate([made, right]), sl.Buffer(made[:-2] + made[2:], min=(1, 0)))
    assert statistics.allocations == 2


def test_an_element_in_two_places() -> None:
    a, t, out = buffers("a t out")
    pointwise(add_1, a, t, "add")
    sl.copies.concatenate([t, t], out)
    p, (pieces,) = sl.split_boundary(sl.build_pipeline([a], [out], alias=False), "concatenate", rc=True)
    for piece in pieces:
        what = refusal(lambda piece=piece: sl.alias_copy(p, piece))
        assert "not shown that all of t has its place in what the copy writes of out" in what
    image = picture(4, 3)
    assert run(p, [image], np.concatenate([image, image]) + np.int16(1)).allocations == 1


def test_a_use_after_overwriting_and_folds_that_differ() -> None:
    """A row of what is repeated is there for one iteration, a copy of it for three."""
    a, t, wide, out = (*buffers("a t", 1), *buffers("wide out"))
    pointwise(add_1, a, t, "add")
    sl.copies.copy(t[y], wide[y, x], name="broadcast")
    window = wide[sl.interval(y - 1, y + 1), x]
    sl.Func(lambda w, o: np.add(w[:-2], w[2:], out=o), [window], [out[y, x]], name="sum")
    p = by_rows(sl.build_pipeline([a], [out], alias=False), "sum", 1, "broadcast")
    p, at = sl.compute_at(p, "add", "for y", rc=True)
    p = sl.fold_storage(sl.slide_window(p, at.call, "for y"), at.alloc, 0)
    assert "fold 1]" in str(p)
    assert "fold 3," in str(p)
    what = refusal(lambda: sl.alias_copy(p, "broadcast"))
    assert what == (
        "a fold of 1 does not hold all that is live of t.x at once; nor can wide be written in its place: "
        "elements of t do not stand for one of wide each"
    )
    signal = sl.Buffer(picture(8), min=(-1,))
    made = signal.array + np.int16(1)
    run(p, [signal], np.repeat((made[:-2] + made[2:])[:, None], 4, axis=1))


@pytest.mark.parametrize("alias", [False, True])
def test_bounds_that_are_assigned(alias: bool) -> None:
    """What is asked of an input for an intermediate of fixed bounds is asked without the intermediate, too."""
    a, t, out = buffers("a t out")
    t.dim(0).bounds = sl.interval(0, 9)
    pointwise(add_1, a, t, "add")
    sl.copies.copy(t[y, x], out[y, x])
    p = sl.build_pipeline([a], [out], alias=alias)
    image = picture(10, 3)
    run(p, [image], sl.Buffer(image[2:7] + np.int16(1), min=(2, 0)))
    for inputs, outputs in ((image[:9], image[:4].copy()), (image, sl.Buffer(np.zeros((3, 3), np.int16), min=(8, 0)))):
        with pytest.raises(sl.CheckFailedError):
            p(inputs, outputs)


def test_bounds_that_must_be_multiples() -> None:
    """An intermediate that is made in pairs is more than an output may have."""
    a, t, out = buffers("a t out")
    t.dim(1).multiple = 2
    pointwise(add_1, a, t, "add")
    sl.copies.copy(t[y, x], out[y, x])
    p = sl.build_pipeline([a], [out])
    assert refusal(lambda: sl.alias_copy(p, "copy")) == (
        "out is an output of the pipeline, which must be written; nor can out be written in its place: "
        "add computes whole pieces of t, which out may have not"
    )
    image = picture(4, 6)
    assert run(p, [image], image[:, :5] + np.int16(1)).bytes_copied == 4 * 5 * 2


def test_a_source_that_is_written_over_while_its_copy_is_read() -> None:
    """A func that works in place on what was copied does so only where nobody reads it any more."""
    a, t, turned, changed, out = buffers("a t turned changed out")
    pointwise(add_1, a, t, "add")
    sl.copies.flip(t, turned, axes=1)
    sl.Func(lambda s, o: np.multiply(s, 2, out=o), [t[y, x]], [changed[y, x]], name="change", in_place=True)
    sl.Func(np.subtract, [turned[y, x], changed[y, x]], [out[y, x]], name="subtract")
    image = picture(5, 7)
    made = image + np.int16(1)
    for alias in (False, True):
        p = sl.build_pipeline([a], [out], alias=alias)
        assert bool(copies_in(p)) is not alias
        run(p, [image], made[:, ::-1] - 2 * made)
        split, loops = sl.split_loop(p, "subtract.y", 2, rc=True)
        split = sl.compute_at(split, "change", loops.outer)
        run(split, [image], made[:, ::-1] - 2 * made)
