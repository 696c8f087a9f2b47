"""The footprints of copies that pad: padded stencils, and what is padded in parts, in loops and in parallel."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from copy_footprints import (
    SPLITS,
    Array,
    add_1,
    buffers,
    in_pieces,
    picture,
    pointwise,
    run,
    same,
    sum_3x3,
    sums,
    x,
    y,
    z,
)

import slinky as sl

# ----------------------------------------------------------------------------------------------------------------
# What is padded
# ----------------------------------------------------------------------------------------------------------------


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


@pytest.mark.sweep(2)
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


@pytest.mark.sweep(2)
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
