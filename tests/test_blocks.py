"""Buffers that are stored by blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from round_trips import again
from scheduled import compare, picture, refused, stencil

import slinky as sl
from slinky import ir
from slinky.ir.copies import with_fields
from slinky.runtime.storage import allocate_blocks

y, x = sl.variables("y x")

Array = np.ndarray[Any, Any]


class Seen(list[tuple[tuple[int, ...], bool]]):
    """A callback, `-2 a`, that remembers the shapes of what it writes, and whether that is contiguous."""

    def __call__(self, source: Array, target: Array) -> None:
        """Of both operands, the ranks are those of the ports."""
        assert source.ndim == target.ndim == 2
        assert source.shape == target.shape != (0, 0)
        self.append((target.shape, target.flags.c_contiguous))
        np.multiply(source, -2, out=target)


def elementwise(make: Callable[..., Any] | None = None) -> sl.Pipeline:
    """`t = -2 a`, and one more than that."""
    a, t, out = (sl.BufferExpr(name, np.int16, 2) for name in ("a", "t", "out"))
    sl.Func(Seen() if make is None else make, [a[y, x]], [t[y, x]], name="make")
    sl.Func(lambda s, o: np.add(s, 1, out=o), [t[y, x]], [out[y, x]], name="more")
    return sl.build_pipeline([a], [out])


def split(p: sl.Pipeline, dim: str, factor: Any) -> sl.Pipeline:
    """Both calls by pieces."""
    return sl.split_loop(sl.split_loop(p, f"make.{dim}", factor), f"more.{dim}", factor)


def test_a_block_of_which_a_part_changes_in_a_loop_and_another_does_not() -> None:
    """The part that does not is made before the loop, so the block it is a part of is known there, too."""
    a, t, b, c = (sl.BufferExpr(name, np.float32, rank) for name, rank in zip("atbc", (1, 1, 2, 2), strict=True))
    sl.Func(np.negative, [a[y]], [t[y]], name="make")
    for window, target, name in (
        (sl.interval(0, sl.maximum(0, sl.minimum(y, 3))), b, "some"),
        (sl.interval(0, 2), c, "three"),
    ):
        sl.Func(lambda s, o: np.copyto(o, s.sum()), [t[window]], [target[y, x]], name=name)
    sizes = [condition for d in (b.dim(0), b.dim(1)) for condition in (d.min >= 0, d.max >= 5, d.max <= 5)]
    p = sl.build_pipeline([a], [b, c], require=[*sizes, sl.same_shape(b, c)])
    for name in ("some", "three"):
        p = sl.split_loop(sl.split_loop(p, f"{name}.y", 1), f"{name}.x", 1)
    p = sl.divide_dim(sl.fuse_loops(p, "for y #0", "for y #1"), "alloc t", 0, 4)
    some, three = np.zeros((2, 6, 6), np.float32)
    p(np.arange(12, dtype=np.float32), some, three)
    np.testing.assert_array_equal(some, np.repeat([[0], [-1], [-3], [-6], [-6], [-6]], 6, axis=1))
    np.testing.assert_array_equal(three, np.full((6, 6), -3))


def test_a_block_in_a_loop_that_has_no_iterations() -> None:
    """A plan takes the view of the one block before it is known whether there are any."""
    p = elementwise()
    p, (rows, _, _) = sl.split_loop(p, "more.y", 3, rc=True)
    p, made = sl.compute_at(p, "make", rows, rc=True)
    p = sl.divide_dim(sl.store_at(p, made.alloc, rows), made.alloc, 0, 3)
    p = sl.cut_loop(p, rows, p.args()[1].bounds("y").min + 4)
    for height in (10, 6, 3, 1, 0):
        for width in (2, 0):
            image = np.arange(height * width, dtype=np.int16).reshape(height, width)
            np.testing.assert_array_equal(p(image), image * -2 + 1)


SIZES = ((7, 5, (0, 0)), (1, 1, (-3, 2)), (0, 4, (0, 0)), (4, 0, (1, 1)), (5, 13, (-2, -7)), (3, 16, (9, -16)))


def agree(before: sl.Pipeline, after: sl.Pipeline, threads: int = 1) -> None:
    """Both give the same for pictures of several sizes and places, checked and by plan, and compute as much; the plan
    and the interpreter count the bytes that are said beforehand; written and read again, it is the same."""
    for height, width, origin in SIZES:
        image, out = picture(height, width, 0, origin)
        first, second = compare(before, after, [image], [out], threads)
        assert first.elements == second.elements
        other = after.run(image, out, threads=threads, backend="interpreter")
        said = after.estimate(image, out, threads=threads)
        if threads == 1:
            assert said.program_bytes == second.program_bytes == other.program_bytes
    assert str(again(after)) == str(after)


# Blocks ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1, 2, 3, 5, 16])
def test_what_lies_in_one_block_lies_together(factor: int) -> None:
    seen = Seen()
    before = split(elementwise(seen), "x", factor)
    p, (alloc,) = sl.divide_dim(before, "alloc t", "x", factor, rc=True)
    assert f"alloc t: int16[out.y.min..out.y.max, out.x.min..out.x.max] blocks (_, {factor})" in str(p)
    assert alloc == p.forward(before.find("alloc t"))
    assert alloc.blocks() == (None, factor)
    assert str(p.history()).splitlines()[-1] == f'p = sl.divide_dim(p, "alloc t", "x", {factor})'
    agree(before, p)
    seen.clear()
    image, out = picture(4, 3 * factor, 0)
    stats = p.run(image, out)
    assert seen == [((4, factor), True)] * 3
    assert stats.program_bytes == 2 * 4 * 3 * factor


def test_room_is_made_for_whole_blocks() -> None:
    p = sl.divide_dim(split(elementwise(), "x", 8), "alloc t", "x", 8)
    image, out = picture(3, 17, 0)
    assert p.run(image, out).program_bytes == 2 * 3 * 24
    assert sl.footprint(p, "alloc t").of(image, out) == 2 * 3 * 24


def test_tiles() -> None:
    """Several dimensions by blocks: a tile lies together."""
    seen = Seen()
    before = split(split(elementwise(seen), "x", 4), "y", 2)
    p = sl.divide_dim(sl.divide_dim(before, "alloc t", "x", 4), "alloc t", 0, 2)
    assert "blocks (2, 4)" in str(p)
    agree(before, p)
    seen.clear()
    image, out = picture(6, 8, 0)
    p.run(image, out)
    assert seen == [((2, 4), True)] * 6
    back = sl.merge_dims(p, "alloc t", "x")
    assert "blocks (2, _)" in str(back)
    agree(before, back)
    assert str(sl.merge_dims(back, "alloc t", "y")) == str(before)


def test_panels_of_a_matrix_are_packed_by_a_copy() -> None:
    """Each panel of b is copied to where it lies together, and read from there for all rows of a."""
    i, j = sl.variables("i j")
    a, b, c = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "b", "c"))
    shapes = []

    def product(left: Array, right: Array, target: Array) -> None:
        shapes.append((right.shape, right.flags.c_contiguous))
        np.matmul(left, right, out=target)

    inner = sl.interval(0, 6)
    sl.Func(product, [a[i, inner], b[inner, j]], [c[i, j]], name="product")
    p = sl.build_pipeline([a, b], [c])
    p, (columns, _, _) = sl.split_loop(p, "product.j", 4, rc=True)
    p, staged = sl.stage_buffer(p, columns, "b", rc=True)
    p = sl.split_loop(p, "load.j", 4)
    p = sl.divide_dim(p, staged.alloc, 1, 4)
    left, right = np.arange(21).reshape(3, 7), np.arange(7 * 12).reshape(7, 12)
    np.testing.assert_array_equal(p(left, right), left @ right)
    assert shapes == [((7, 4), True)] * 3
    p.run(left, right, np.zeros((3, 12), np.int64), checked=True)


def test_points_and_parts_of_blocks() -> None:
    p = elementwise()
    single = sl.divide_dim(split(p, "x", 1), "alloc t", "x", 6)
    agree(p, single)
    parts = split(split(p, "x", 6), "y", 1)
    agree(p, sl.divide_dim(sl.divide_dim(parts, "alloc t", "x", 6), "alloc t", "y", 3))
    pairs = sl.divide_dim(split(p, "x", 2), "alloc t", "x", 6)
    agree(p, pairs)


def test_iterations_of_parallel_loops_and_buffers_in_loops() -> None:
    p = split(elementwise(), "x", 4)
    q = sl.divide_dim(p, "alloc t", "x", 4)
    for loop in q.find_all("for _"):
        q = sl.parallelize_loop(q, loop)
    agree(p, q, threads=2)
    rows, (loop, _, _) = sl.split_loop(elementwise(), "more.y", 2, rc=True)
    rows, at = sl.compute_at(rows, "make", loop, rc=True)
    rows = sl.store_at(rows, at.alloc, loop)
    tiles = sl.divide_dim(split(rows, "x", 4), "alloc t", "x", 4)
    agree(rows, tiles)
    agree(rows, sl.parallelize_loop(tiles, loop), threads=2)


def test_what_it_holds_may_change_as_long_as_blocks_do_not_move() -> None:
    p = sl.divide_dim(split(elementwise(), "x", 4), "alloc t", "x", 4)
    i = p.find("alloc t").bounds()[1]
    agree(elementwise(), sl.resize_dim(p, "alloc t", "x", sl.interval(i.min - 4, i.max)))
    error = refused(lambda: sl.resize_dim(p, "alloc t", "x", sl.interval(i.min - 1, i.max)))
    assert error.reason == "not shown that what make touches of t.x lies in one block of 4"
    agree(elementwise(), sl.align_dim(p, "alloc t", "x", 4, i.min))


def test_pieces_of_what_is_stored_by_blocks() -> None:
    a, t = (sl.BufferExpr(name, np.int16, 2) for name in ("a", "t"))
    out = sl.BufferExpr("out", np.int16, 1)
    sl.Func(Seen(), [a[y, x]], [t[y, x]], name="make")
    sl.Func(lambda s, r, o: np.add(s[0], r[0], out=o), [t[0, x], t[1, x]], [out[x]], name="add")
    p = sl.cut_call(sl.build_pipeline([a], [out]), "make.y", 1)
    for call in ("make", "make #1", "add"):
        p = sl.split_loop(p, f"{call.split()[0]}.x{call[4:] if ' ' in call else ''}", 4)
    p = sl.divide_dim(sl.divide_dim(p, "alloc t", "x", 4), "alloc t", "y", 1)
    q = sl.unroll_buffer(p, "alloc t", "y")
    assert [alloc.blocks() for alloc in q.find_all("alloc _")] == [(None, 4)] * 2
    data = np.arange(22, dtype=np.int16).reshape(2, 11)
    np.testing.assert_array_equal(q(data), -2 * data.sum(0))
    q.run(data, np.zeros(11, np.int16), checked=True)
    only = sl.unroll_buffer(sl.merge_dims(p, "alloc t", "x"), "alloc t", "y")
    assert [alloc.blocks() for alloc in only.find_all("alloc _")] == [(None, None)] * 2


def beyond(step: int) -> sl.Pipeline:
    """What `make` gives, and 5 beyond its edges, by pieces: copies that understand edges read nothing out there."""
    a, t, out = (sl.BufferExpr(name, np.int16, 2) for name in ("a", "t", "out"))
    sl.Func(Seen(), [a[y, x]], [t[y, x]], name="make")
    sl.Func(lambda s, o: np.add(s, 1, out=o), [t.extended("constant", value=5)[y, x]], [out[y, x]], name="more")
    p = sl.build_pipeline([a], [out])
    return sl.split_loop(sl.split_loop(p, "make.x", step), "constant.x", step)


def test_views_of_nothing() -> None:
    """Of a buffer without elements, and where a call reads nothing of one, at coordinates that there are not."""
    before = beyond(1)
    p = sl.divide_dim(before, "alloc t", "x", 4)
    a = sl.Buffer(np.arange(33, dtype=np.int16).reshape(3, 11), min=(0, 0))
    for low, extent in ((0, 7), (-3, 16), (30, 5), (-40, 5), (2, 0)):
        expected, found = (sl.Buffer(np.zeros((3, extent), np.int16), min=(0, low)) for _ in range(2))
        before.run(a, expected)
        for how in ({}, {"checked": True}, {"backend": "interpreter"}):
            counted = p.run(a, found, **how)
            np.testing.assert_array_equal(found.array, expected.array)
            assert counted.program_bytes == p.estimate(a, found).program_bytes


# What is refused ------------------------------------------------------------------------------------------------------


def test_accesses_of_several_blocks() -> None:
    p = elementwise()
    error = refused(lambda: sl.divide_dim(p, "alloc t", "x", 4))
    assert error.operation == "divide_dim"
    assert error.reason == "not shown that what make touches of t.x lies in one block of 4"
    assert "split the call by the length of a block first" in str(error)
    for factor, length in ((4, 3), (3, 4), (8, 4)):
        error = refused(lambda f=factor, n=length: sl.divide_dim(split(p, "x", f), "alloc t", "x", n))  # type: ignore[misc]
        assert "lies in one block of" in error.reason
    least = p.find("alloc t").bounds()[1].min
    cut, (_, rest) = sl.cut_call(p, "make.x", least + 2, rc=True)
    shifted = sl.split_loop(sl.split_loop(cut, "more.x", 4), rest.dim("x"), 4)
    assert "lies in one block of" in refused(lambda: sl.divide_dim(shifted, "alloc t", "x", 4)).reason
    agree(p, sl.divide_dim(sl.cut_loop(split(p, "x", 4), "for x", least + 2), "alloc t", "x", 4))
    window = sl.split_loop(sl.split_loop(stencil(), "add.y", 4), "stencil.y", 4)
    error = refused(lambda: sl.divide_dim(window, "alloc intm", "y", 4))
    assert error.reason == "not shown that what stencil touches of intm.y lies in one block of 4"


def test_a_first_coordinate_that_is_a_choice() -> None:
    """Where the array begins between two pieces, the first of them is shorter, and the others are not blocks."""
    error = refused(lambda: sl.divide_dim(beyond(4), "alloc t", "x", 4))
    assert error.reason == "not shown that what constant touches of t.x lies in one block of 4"


def test_later_rewrites_keep_to_blocks() -> None:
    p = sl.divide_dim(split(elementwise(), "x", 4), "alloc t", "x", 4)
    error = refused(lambda: sl.absorb_loop(p, "for x"))
    assert error.operation == "absorb_loop"
    assert error.reason == "not shown that what make touches of t.x lies in one block of 4"
    assert 'p = sl.merge_dims(p, "alloc t", "x")' in str(error)
    agree(elementwise(), sl.split_loop(p, "for x", 2))
    agree(elementwise(), sl.simplify(p))


@pytest.mark.parametrize("length", [3, 4])
def test_a_pipeline_of_a_block_takes_any_box_by_blocks(length: int) -> None:
    """What lies in one block of the box that is computed here would not in that of a larger one."""
    p, (loop, _, _) = sl.split_loop(elementwise(), "more.x", length, rc=True)
    p = sl.store_at(sl.compute_at(p, "make", loop), "alloc t", loop)
    p = sl.divide_dim(p, "alloc t", "x", length)
    reason = refused(lambda: sl.extract_pipeline(p, p.forward(loop).body(), "inner")).reason
    assert reason.startswith("as a pipeline over any box, the block is not shown to be right: ")
    assert f"touches of t.x lies in one block of {length}" in reason
    piece = split(p, "x", 1)
    inner = sl.extract_pipeline(piece, piece.forward(loop).body(), "inner")
    for height, width, origin in SIZES:
        image, out = picture(height, width, 0, origin)
        compare(elementwise(), sl.absorb_loop(inner, loop), [image], [out])


def test_layouts_and_folds_and_shared_memory() -> None:
    p = split(elementwise(), "x", 4)
    laid = sl.set_layout(p, "alloc t", ("y", "x"), alignment=64)
    assert refused(lambda: sl.divide_dim(laid, "alloc t", "x", 4)).reason == (
        "t has strides or an alignment that are asked for"
    )
    q = sl.divide_dim(p, "alloc t", "x", 4)
    assert refused(lambda: sl.divide_dim(q, "alloc t", "x", 2)).reason == "t.x is stored by blocks of 4 already"
    assert refused(lambda: sl.merge_dims(q, "alloc t", "y")).reason == "t.y is not stored by blocks"
    assert "blocks" not in str(sl.set_layout(q, "alloc t", ("x", "y")))
    fused, (loop, _, _) = sl.split_loop(elementwise(), "more.y", 1, rc=True)
    fused, at = sl.compute_at(fused, "make", loop, rc=True)
    folded = sl.fold_storage(fused, at.alloc, "y")
    error = refused(lambda: sl.divide_dim(folded, at.alloc, "x", 4))
    assert error.reason == "t is folded along y, so its rows lie one behind the other"
    blocks = sl.divide_dim(split(fused, "x", 4), at.alloc, "x", 4)
    error = refused(lambda: sl.fold_storage(blocks, at.alloc, "y"))
    assert error.reason.startswith("t is stored by blocks, and a fold along y")
    with pytest.raises(sl.OperationError, match="a block has a number of coordinates, 1 or more, got 0"):
        sl.divide_dim(p, "alloc t", "x", 0)
    with pytest.raises(sl.OperationError, match="a block has a number of coordinates, 1 or more, got 'x'"):
        sl.divide_dim(p, "alloc t", "x", "x")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (ir.Layout((None, None), blocks=(4,)), "2 dimensions, 1 lengths of blocks"),
        (ir.Layout((None, None), blocks=(None, 0)), "a block has 1 coordinate or more, got 0"),
        (ir.Layout((None, None), 64, blocks=(None, 4)), "has no strides and no alignment of its own"),
    ],
)
def test_layouts_that_there_are_not(layout: ir.Layout, reason: str) -> None:
    edit = sl.edit(split(elementwise(), "x", 4))

    def replaced() -> None:
        edit.replace("alloc t", with_fields(edit.statement("alloc t"), layout=layout))
        edit.finish().verify()

    with pytest.raises(sl.SlinkyError, match=reason):
        replaced()


def test_an_edit_by_hand_is_proved() -> None:
    edit = sl.edit(elementwise())
    blocks = ir.Layout((None, None), blocks=(None, 4))
    edit.replace("alloc t", with_fields(edit.statement("alloc t"), layout=blocks))
    assert "lies in one block of 4" in refused(edit.finish).reason


def test_what_lies_in_the_memory_of_another_is_not_by_blocks() -> None:
    """Neither a buffer that another one lies in, nor that one."""
    a, b, c, d, out = (sl.BufferExpr(name, np.float32, 1) for name in ("a", "b", "c", "d", "out"))
    for source, target in ((a, b), (b, c), (c, d), (d, out)):
        sl.Func(np.negative, [source[x]], [target[x]], name=f"to_{target.name}")
    p = sl.build_pipeline([a], [out])
    for made in "bcd":
        p = sl.split_loop(p, f"to_{made}.x", 1)
    p = sl.split_loop(p, "to_out.x", 1)
    shared = sl.reuse_buffer(p, "alloc d", "alloc b")
    for name in ("b", "d"):
        error = refused(lambda name=name: sl.divide_dim(shared, f"alloc {name}", "x", 4))  # type: ignore[misc]
        assert error.reason == f"d lies in the memory of b, but {name} is stored by blocks"
        divided = sl.divide_dim(p, f"alloc {name}", "x", 4)
        assert refused(lambda q=divided: sl.reuse_buffer(q, "alloc d", "alloc b")).reason == error.reason  # type: ignore[misc]


def test_a_run_refuses_what_lies_in_several_blocks() -> None:
    """Were something not proved, the interpreter would say so."""
    storage = allocate_blocks("t", np.dtype(np.int8), ((0, 2), (-3, 8)), (None, 4))
    assert storage.nbytes == 36
    storage.view(((0, 2), (1, 4)))[...] = 7
    assert (storage.view(((1, 1), (2, 3))) == 7).all()
    assert storage.view(((0, 2), (5, 4))).shape == (3, 0)
    assert allocate_blocks("t", np.dtype(np.int8), ((0, 2), (5, 4)), (None, 4)).view(((0, 2), (5, 4))).shape == (3, 0)
    for columns in ((0, 1), (-3, 8), (4, 5)):
        with pytest.raises(sl.ExecutionError, match=r"lies in several blocks of 4, from -3 on: no array shows it"):
            storage.view(((0, 2), columns))
    assert attrs.has(type(storage))
