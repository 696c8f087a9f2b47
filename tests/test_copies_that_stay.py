"""Copies that are made: where strides are asked for, and where the copy and its source cannot be one."""

from __future__ import annotations

import numpy as np
import pytest
from copy_footprints import (
    Array,
    add_1,
    buffers,
    by_rows,
    copies_in,
    in_pieces,
    picture,
    pointwise,
    run,
    same,
    x,
    y,
    z,
)
from scheduled import refusal

import slinky as sl

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


def in_eights(source: np.ndarray, target: np.ndarray) -> None:
    """A callback that works on eight elements at a time."""
    assert target.shape[0] % 8 == 0
    np.add(source, 1, out=target)


@pytest.mark.parametrize("size", [1, 8, 13])
def test_what_is_computed_beyond_what_is_copied_is_still_computed(size: int) -> None:
    """The callback relies on the extent that is assigned to what it makes, of which an output would cut off a part."""
    a, t, out = buffers("a t out", 1)
    t.dim(0).extent = (t.dim(0).extent + 7) // 8 * 8
    sl.Func(in_eights, [a[y]], [t[y]], name="add")
    sl.copies.copy(t[y], out[y])
    p = sl.build_pipeline([a], [out])
    signal = picture(-(-size // 8) * 8)
    assert run(p, [signal], signal[:size] + np.int16(1)).bytes_copied == size * 2
    asked = sl.alias_copies(p)
    assert copies_in(asked) == []
    assert "out[out.y.min .. " in str(asked)


def test_where_there_is_room_for_all_that_is_computed_it_is_written() -> None:
    a, t, out = buffers("a t out", 1)
    t.dim(0).bounds = sl.interval(0, 15)
    sl.Func(in_eights, [a[y]], [t[y]], name="add")
    sl.copies.copy(t[y], out[y])
    inside = [out.dim(0).min <= 0, out.dim(0).max >= 15]
    p = sl.build_pipeline([a], [out], require=inside)
    assert copies_in(p) == []
    signal = picture(16)
    run(p, [signal], signal + np.int16(1))


def test_of_two_copies_the_one_that_would_cut_off_stays() -> None:
    a, t, u, out = buffers("a t u out", 1)
    t.dim(0).extent = (t.dim(0).extent + 7) // 8 * 8
    u.dim(0).extent = (u.dim(0).extent + 7) // 8 * 8
    sl.Func(in_eights, [a[y]], [t[y]], name="add")
    sl.copies.copy(t[y], u[y], name="first")
    sl.copies.copy(u[y], out[y], name="second")
    p = sl.build_pipeline([a], [out])
    assert len(copies_in(p)) == 1
    signal = picture(16)
    run(p, [signal], signal[:13] + np.int16(1))


def test_what_is_kept_is_in_the_history() -> None:
    a, t, turned, out = buffers("a t turned out", 1)
    t.dim(0).max = t.dim(0).max + 3
    pointwise(add_1, a, t, "add")
    sl.copies.flip(t, turned)
    pointwise(add_1, turned, out, "again")
    unscheduled = sl.build_pipeline([a], [out], alias=False)
    p = sl.build_pipeline([a], [out])
    assert copies_in(p) == []
    line = str(p.history()).splitlines()[-1]
    assert line == 'p = sl.alias_copies(p, keep=("t",))'
    assert str(sl.alias_copies(unscheduled, keep="t")) == str(p)
    for keep in ("out", ["t", "u"], 3, [3]):
        with pytest.raises(sl.OperationError, match="keep must be names of intermediates of the pipeline, got"):
            sl.alias_copies(unscheduled, keep=keep)  # type: ignore[arg-type]
