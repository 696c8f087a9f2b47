"""The footprints of copies: how much memory is reserved and how much is copied, with and without aliasing.

The cases are those of C++ slinky's tests of copies, padded stencils, and what may not be aliased. Where its tests say
that nothing is allocated or copied, so do these, however the loop over rows is split (0: not at all). Where a figure
differs from the one there, a comment says why. Sizes are those of its tests, as (rows, columns).
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from copy_footprints import (
    MOVED,
    SPLITS,
    WINDOWS,
    add_1,
    buffers,
    by_rows,
    footprint,
    in_pieces,
    j,
    k,
    picture,
    pointwise,
    run,
    sum_3x3,
    sums,
    x,
    y,
    z,
)
from scheduled import refusal

import slinky as sl

# ----------------------------------------------------------------------------------------------------------------
# Nothing is allocated, and nothing is copied
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.sweep
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
    assert footprint(statistics) == ((0, 0, 0) if alias else (1, rows * 20 * 2, expected.nbytes))


@pytest.mark.sweep
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
    assert footprint(statistics) == ((0, 0, 0) if alias else (1, rows * 22 * 2, image.array.nbytes))


@pytest.mark.sweep(2)
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


@pytest.mark.sweep(2)
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
    assert footprint(statistics) == ((0, 0, 0) if alias else (2, expected.nbytes, expected.nbytes))


@pytest.mark.sweep
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
        assert footprint(statistics) == (1, image.nbytes, expected.nbytes)


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
    assert footprint(statistics) == ((0, 0, 0) if alias else (2, 2 * (split or 30) * 20 * 2, image.nbytes))


@pytest.mark.sweep(2)
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
    assert footprint(statistics) == ((0, 0, 0) if alias else (1, (split or 10) * kernel * 2, 10 * kernel * 2))


@pytest.mark.sweep(2)
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
    row = 10 * kernel**2 * 2
    assert footprint(statistics) == ((0, 0, 0) if alias else (1, (split or 5) * row, 5 * row))


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
        assert footprint(statistics) == (1, (split or 10) * size * 2, 10 * size * 2)


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


@pytest.mark.sweep(2)
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
    assert footprint(statistics) == ((0, 0, 0) if alias else (1, (split or 4) * 20 * 2, image.nbytes))


@pytest.mark.sweep(2)
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
    wide_bytes, copied = (0, 0) if alias else ((split or 4) * 20 * 2, image.nbytes)
    assert footprint(statistics) == (1 if alias else 2, operand.nbytes + wide_bytes, copied)


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


@pytest.mark.sweep("count", "mask")
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
    assert footprint(statistics) == ((0, 0, image.nbytes) if alias else (1, 8 * 12 * 2, 2 * image.nbytes))
