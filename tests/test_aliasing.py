"""Copies that need not be made: readers that read the source, producers that write to the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scheduled import refusal

import slinky as sl
from slinky import ir
from slinky.ir.operations import Copy
from slinky.ir.statements import Call, Limit, walk
from slinky.symbolic.expressions import as_expr

Array = np.ndarray[Any, Any]

y, x, i, j = sl.variables("y x i j")


def buffers(names: str, rank: int = 2, dtype: Any = np.int64) -> list[sl.BufferExpr]:
    return [sl.BufferExpr(name, dtype, rank) for name in names.split()]


def negative(source: sl.BufferExpr, target: sl.BufferExpr, name: str) -> None:
    dims = (y, x)[-source.rank :] if source.rank else ()
    sl.Func(np.negative, [source[dims]], [target[dims]], name=name)


def three_rows(a: Array, o: Array) -> None:
    o[...] = a[:-2] + 10 * a[1:-1] + 100 * a[2:]


def copies_in(p: sl.Pipeline) -> list[str]:
    calls = [s for s in walk(p._program.body) if isinstance(s, Call)]
    return [call.func.name for call in calls if isinstance(call.func.operation, Copy)]


def allocations(p: sl.Pipeline, *arrays: Any) -> int:
    return p.run(*arrays).allocations


def agree(p: sl.Pipeline, q: sl.Pipeline, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Both pipelines give the same, in all back ends and in checked mode."""
    expected = [o.copy() for o in outputs]
    p(*inputs, *expected)
    for how in ({}, {"backend": "interpreter"}, {"checked": True}):
        found = [np.full_like(o, -1) for o in outputs]
        q.run(*inputs, *found, **how)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, other)


IMAGE = np.arange(20).reshape(4, 5)
OTHER = np.arange(100, 115).reshape(3, 5)

# ----------------------------------------------------------------------------------------------------------------
# No copy is left
# ----------------------------------------------------------------------------------------------------------------


def built(
    make: Callable[[list[sl.BufferExpr], sl.BufferExpr], object], count: int, rank: int = 2, **options: Any
) -> sl.Pipeline:
    """Negatives of inputs, and what is made of them."""
    inputs = buffers(" ".join("ab"[:count]))
    inner = buffers(" ".join(f"{b.name}_negative" for b in inputs))
    (out,) = buffers("out", rank)
    for source, target in zip(inputs, inner, strict=True):
        negative(source, target, f"negative_{source.name}")
    make(inner, out)
    return sl.build_pipeline(inputs, [out], **options)


@pytest.mark.parametrize(
    ("make", "inputs", "expected"),
    [
        (lambda s, o: sl.copies.concatenate(s, o), [IMAGE, OTHER], -np.concatenate([IMAGE, OTHER])),
        (lambda s, o: sl.copies.concatenate(s, o, axis=1), [IMAGE, IMAGE], -np.concatenate([IMAGE, IMAGE], axis=1)),
        (lambda s, o: sl.copies.stack(s, o), [IMAGE, IMAGE + 1], -np.stack([IMAGE, IMAGE + 1])),
        (lambda s, o: sl.copies.stack(s, o, axis=1), [IMAGE, IMAGE + 1], -np.stack([IMAGE, IMAGE + 1], axis=1)),
        (lambda s, o: sl.copies.stack(s, o, axis=2), [IMAGE, IMAGE + 1], -np.stack([IMAGE, IMAGE + 1], axis=2)),
        (lambda s, o: sl.copies.transpose(*s, o), [IMAGE], -IMAGE.T),
        (lambda s, o: sl.copies.flip(*s, o), [IMAGE], -IMAGE[::-1, ::-1]),
        (lambda s, o: sl.copies.flip(*s, o, axes=1), [IMAGE], -IMAGE[:, ::-1]),
        (lambda s, o: sl.copies.copy(s[0][y + 1, x], o[y, x]), [IMAGE], -IMAGE[1:]),
    ],
    ids=["rows", "columns", "stack", "stack_1", "stack_2", "transpose", "flip", "flip_1", "translate"],
)
def test_producers_write_where_the_copy_would_have_put_it(
    make: Callable[[list[sl.BufferExpr], sl.BufferExpr], object], inputs: list[Array], expected: Array
) -> None:
    p = built(make, len(inputs), expected.ndim, alias=False)
    q = built(make, len(inputs), expected.ndim)
    assert copies_in(p)
    assert not copies_in(q)
    out = np.empty_like(expected)
    stats = q.run(*inputs, out)
    np.testing.assert_array_equal(out, expected)
    assert stats.allocations == 0
    assert stats.bytes_copied == 0
    assert p.run(*inputs, out).bytes_copied == out.nbytes
    agree(p, q, inputs, [expected])


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("rows", "columns"), [(1, 3), (2, 2), (3, 2), (2, 4), (3, 3)])
@pytest.mark.parametrize("inner", [0, 1])
@pytest.mark.parametrize("framed", [False, True])
def test_tiles_of_tiles_are_made_where_they_belong(rows: int, columns: int, inner: int, framed: bool) -> None:
    """Concatenated along one dimension, and those along the other one; with a frame around all."""
    (a,) = buffers("a")
    tiles = [buffers(" ".join(f"t{r}{c}" for c in range(columns))) for r in range(rows)]
    lines = buffers(" ".join(f"line{r}" for r in range(rows)))
    whole, out = buffers("whole out")
    for r, line in enumerate(tiles):
        for c, tile in enumerate(line):
            weight = 10 * r + c
            sl.Func(lambda s, o, w=weight: np.add(s, w, out=o), [a[y, x]], [tile[y, x]], name=f"add_{weight}")
        sl.copies.concatenate(line, lines[r], axis=inner)
    sl.copies.concatenate(lines, whole if framed else out, axis=1 - inner)
    if framed:
        sl.copies.pad(whole, out, 1, 2, value=-7)
    counts = (rows, columns) if inner == 1 else (columns, rows)
    for d, count in enumerate(counts):
        out.dim(d).min = a.dim(d).min
        out.dim(d).extent = count * a.dim(d).extent + (3 if framed else 0)
    p = sl.build_pipeline([a], [out], alias=False)
    q = sl.alias_copies(sl.split_boundary(p, "pad") if framed else p)
    image = np.arange(6).reshape(2, 3)
    expected = np.concatenate(
        [np.concatenate([image + 10 * r + c for c in range(columns)], axis=inner) for r in range(rows)], axis=1 - inner
    )
    inside = expected.size
    if framed:
        expected = np.pad(expected, (1, 2), constant_values=-7)
    found = np.zeros_like(expected)
    statistics = q.run(image, found)
    np.testing.assert_array_equal(found, expected)
    assert (statistics.allocations, statistics.bytes_copied) == (0, 8 * (expected.size - inside))
    agree(p, q, [image], [expected])


def test_a_part_of_an_assembly_may_be_asked_for() -> None:
    p, q = (built(lambda s, o: sl.copies.concatenate(s, o), 2, alias=alias) for alias in (False, True))
    for lo, hi in ((0, 7), (0, 2), (5, 7), (3, 5), (4, 4), (7, 7)):
        outputs = [sl.Buffer(np.full((hi - lo, 5), -1), min=(lo, 0)) for _ in range(2)]
        for pipeline, out in zip((p, q), outputs, strict=True):
            pipeline(IMAGE, OTHER, out)
        np.testing.assert_array_equal(outputs[0].array, outputs[1].array)


def test_readers_read_the_source_by_views() -> None:
    """Strided and dilated windows of an image, and operands that are repeated, move nothing."""
    a, t, windows, out = *buffers("a t"), *buffers("windows", 4), *buffers("out")
    negative(a, t, "make")
    sl.copies.copy(t[2 * y + 3 * i, x + 2 * j], windows[y, x, i, j], name="im2col")

    def corners(w: Array, o: Array) -> None:
        assert w.shape == (*o.shape, 2, 2)
        assert not w.flags.writeable
        o[...] = w[..., 0, 0] + 10 * w[..., 1, 0] + 100 * w[..., 0, 1] + 1000 * w[..., 1, 1]

    sl.Func(corners, [windows[y, x, sl.interval(0, 1), sl.interval(0, 1)]], [out[y, x]], name="corners")
    p, q = (sl.build_pipeline([a], [out], alias=alias) for alias in (False, True))
    assert "corners(view(t[:, :], [3*i + 2*y, 2*j + x]))" in str(q)
    assert not copies_in(q)
    image = np.arange(9 * 8).reshape(9, 8)
    agree(p, q, [image], [np.zeros((3, 6), np.int64)])


def test_operands_are_repeated_without_a_copy() -> None:
    (row,), (a, wide, out) = buffers("row", 1), buffers("a wide out")
    sl.copies.broadcast(row, wide)
    sl.Func(lambda p, q, o: np.add(p, q, out=o), [a[y, x], wide[y, x]], [out[y, x]], name="add")
    p, q = (sl.build_pipeline([a, row], [out], alias=alias) for alias in (False, True))
    assert not copies_in(q)
    agree(p, q, [IMAGE, np.arange(5)], [IMAGE])
    assert allocations(q, IMAGE, np.arange(5), np.zeros((4, 5), np.int64)) == 0


def test_copies_of_copies_and_tiles_taken_apart_again() -> None:
    a, u, v, w, out = buffers("a u v w out")
    (tiles,) = buffers("tiles", 4)
    negative(a, u, "make")
    sl.copies.copy(u[y - 1, x], v[y, x], name="down")
    sl.copies.copy(v[4 * y + i, 4 * x + j], tiles[y, x, i, j], name="tile")
    sl.copies.copy(tiles[y // 4, x // 4, y % 4, x % 4], w[y, x], name="untile")
    sl.copies.transpose(w, out)
    p, q = (sl.build_pipeline([a], [out], alias=alias) for alias in (False, True))
    assert len(copies_in(p)) == 4
    assert not copies_in(q)
    outputs = [sl.Buffer(np.zeros((6, 7), np.int64), min=(1, 1)) for _ in range(2)]
    image = sl.Buffer(np.arange(400).reshape(20, 20), min=(-4, -4))
    for pipeline, out_array in zip((p, q), outputs, strict=True):
        pipeline(image, out_array)
    np.testing.assert_array_equal(outputs[0].array, outputs[1].array)


BOXES = [(0, 7, 0, 7), (0, 7, 2, 6), (3, 4, 0, 7), (3, 3, 0, 7), (5, 9, 2, 6), (1, 2, 6, 7)]


@pytest.mark.parametrize("box", BOXES)
def test_parts_of_tiles_are_read_of_whole_ones(box: tuple[int, int, int, int]) -> None:
    """A view of tiles has all rows of each, whichever are read: the region behind it has them, too."""
    a, w = buffers("a w")
    (tiles,) = buffers("tiles", 4)
    sl.copies.copy(a[4 * y + i, 4 * x + j], tiles[y, x, i, j], name="tile")
    sl.copies.copy(tiles[y // 4, x // 4, y % 4, x % 4], w[y, x], name="untile")
    p = sl.build_pipeline([a], [w], alias=False)
    image, (first, last, left, right) = np.arange(400).reshape(20, 20), box
    aliased = sl.alias_copy(p, "tile")
    for q in (p, aliased, sl.split_loop(aliased, "untile.y", 3)):
        found = np.zeros((last - first + 1, right - left + 1), np.int64)
        q(image, sl.Buffer(found, (first, left)))
        np.testing.assert_array_equal(found, image[first : last + 1, left : right + 1])


def test_a_diagonal_of_windows_is_read_of_all_of_them() -> None:
    a, t, b = (sl.BufferExpr(name, np.int64, rank) for name, rank in (("a", 1), ("t", 2), ("b", 1)))
    sl.copies.copy(a[y - 2 * x + 2], t[y, x], name="copy")
    sl.Func(lambda source, target: np.copyto(target, source.diagonal()), [t[y, y]], [b[y]], name="diagonal")
    p = sl.build_pipeline([a], [b], alias=False)
    given = np.arange(20) ** 2
    for q in (p, sl.alias_copy(p, "copy"), sl.split_loop(sl.alias_copy(p, "copy"), "diagonal.y", 2)):
        found = np.empty(5, np.int64)
        q(sl.Buffer(given, (-10,)), sl.Buffer(found, (0,)))
        np.testing.assert_array_equal(found, given[[12, 11, 10, 9, 8]])


def test_callbacks_that_know_their_coordinates_are_told_the_ones_they_knew() -> None:
    seen: list[tuple[int, ...]] = []

    def look(a: sl.Buffer, o: sl.Buffer) -> None:
        seen.append(a.min + o.min)
        o.array[...] = a.array

    a, t, out = buffers("a t out")
    sl.copies.copy(a[x + 2, y + 1], t[y, x])
    sl.Func(look, [t[y, x]], [out[y, x]], name="look", pass_buffers=True)
    p, q = (sl.build_pipeline([a], [out], alias=alias) for alias in (False, True))
    assert not copies_in(q)
    image = np.arange(20).reshape(5, 4)
    for pipeline in (p, q):
        found = np.zeros((3, 2), np.int64)
        pipeline(image, sl.Buffer(found, min=(0, 1)))
        np.testing.assert_array_equal(found, image.T[1:4, 3:5])
    assert seen == [(0, 1, 0, 1)] * 2


# ----------------------------------------------------------------------------------------------------------------
# Boundaries
# ----------------------------------------------------------------------------------------------------------------


def padded(**options: Any) -> sl.Pipeline:
    a, t, out = buffers("a t out")
    negative(a, t, "make")
    sl.Func(three_rows, [t.extended("constant", value=7)[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="rows")
    return sl.build_pipeline([a], [out], require=[sl.same_shape(a, out)], **options)


def test_what_is_padded_is_one_call_until_it_is_split() -> None:
    p = padded()
    assert copies_in(p) == ["constant"]
    q, ((inside, *border),) = sl.split_boundary(p, "constant", rc=True)
    assert len(border) == 2
    q, (calls,) = sl.alias_copy(q, inside, rc=True)
    assert [call.name() for call in calls] == ["make"]
    agree(p, q, [IMAGE], [IMAGE])
    out = np.zeros_like(IMAGE)
    assert p.run(IMAGE, out).bytes_copied == 6 * 5 * 8
    assert q.run(IMAGE, out).bytes_copied == 2 * 5 * 8
    assert q.run(IMAGE, out).allocations == 1


@pytest.mark.parametrize("mode", ["nearest", "reflect", "mirror", "wrap"])
def test_the_border_of_a_reflection_is_split_off(mode: str) -> None:
    a, out = buffers("a out")
    sl.Func(three_rows, [a.extended(mode)[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="rows")
    p = sl.build_pipeline([a], [out])
    q = sl.split_boundary(p, mode)
    assert len(copies_in(q)) > len(copies_in(p))
    for shape in ((4, 5), (1, 1), (2, 3)):
        image = np.arange(np.prod(shape)).reshape(shape)
        agree(p, q, [image], [image])
    larger = [sl.Buffer(np.zeros((9, 8), np.int64), min=(-3, -1)) for _ in range(2)]
    for pipeline, target in zip((p, q), larger, strict=True):
        pipeline(IMAGE, target)
    np.testing.assert_array_equal(larger[0].array, larger[1].array)


# ----------------------------------------------------------------------------------------------------------------
# With other rewrites
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", [0, 1, 2, 3, 4])
def test_schedules_go_on_without_the_copies(split: int) -> None:
    """A stencil of what a copy gave, by rows: the source slides and folds as it would without a copy between."""
    a, t, u, out = buffers("a t u out")
    negative(a, t, "make")
    sl.copies.copy(t[y + 2, x - 1], u[y, x])
    sl.Func(three_rows, [u[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="rows")
    p = sl.build_pipeline([a], [out], alias=False)
    q = sl.build_pipeline([a], [out])
    assert not copies_in(q)
    if split:
        q, loops = sl.split_loop(q, "rows.y", split, rc=True)
        q, made = sl.compute_at(q, "make", loops.outer, rc=True)
        q = sl.slide_window(q, made.call, loops.outer)
        q = sl.fold_storage(q, made.alloc, "y")
        assert f"fold {split + 2}" in str(q)
    outputs = [sl.Buffer(np.zeros((6, 5), np.int64), min=(0, 1)) for _ in range(2)]
    image = np.arange(90).reshape(10, 9)
    for pipeline, target in zip((p, q), outputs, strict=True):
        pipeline.run(image, target, checked=True)
    np.testing.assert_array_equal(outputs[0].array, outputs[1].array)


def test_copies_are_done_without_in_schedules_too() -> None:
    a, t, u, out = buffers("a t u out")
    negative(a, t, "make")
    sl.copies.copy(t[x, y], u[y, x], name="turn")
    sl.Func(three_rows, [u[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="rows")
    p = sl.build_pipeline([a], [out], alias=False)
    q, loops = sl.split_loop(p, "rows.y", 2, rc=True)
    q = sl.compute_at(q, "turn", loops.outer)
    q = sl.compute_at(q, "make", loops.outer)
    r = sl.alias_copy(q, "turn")
    assert not copies_in(r)
    image = np.arange(90).reshape(9, 10)
    outputs = [sl.Buffer(np.zeros((5, 5), np.int64), min=(1, 0)) for _ in range(3)]
    for pipeline, target in zip((p, q, r), outputs, strict=True):
        pipeline.run(image, target, checked=True)
    for other in outputs[1:]:
        np.testing.assert_array_equal(outputs[0].array, other.array)
    assert str(r.history()).count("alias_copy") == 1


# ----------------------------------------------------------------------------------------------------------------
# Refusals
# ----------------------------------------------------------------------------------------------------------------


def test_what_is_no_copy_is_refused() -> None:
    p = padded()
    assert refusal(lambda: sl.alias_copy(p, "make")) == "make is no copy that slinky understands"
    assert refusal(lambda: sl.split_boundary(p, "rows")) == "rows is no copy that slinky understands"


def test_copies_of_several_sources_are_to_be_split() -> None:
    p = built(lambda s, o: sl.copies.concatenate(s, o), 2, alias=False)
    with pytest.raises(sl.SchedulingError, match="concatenate copies from 2 sources") as caught:
        sl.alias_copy(p, "concatenate")
    assert "split_boundary" in caught.value.hint


def test_what_reaches_beyond_the_edges_is_refused() -> None:
    what = refusal(lambda: sl.alias_copy(padded(), "constant"))
    assert what.startswith("not shown that all that rows reads of t_constant lies within the edges of t")


def test_an_input_cannot_be_written_elsewhere() -> None:
    a, out = buffers("a out")
    sl.copies.transpose(a, out)
    p = sl.build_pipeline([a], [out])
    assert copies_in(p) == ["transpose"]
    assert refusal(lambda: sl.alias_copy(p, "transpose")) == "out is an output of the pipeline, which must be written"
    assert refusal(lambda: sl.split_boundary(p, "transpose")) == "transpose is one piece"


def test_elements_that_stand_for_several_are_refused() -> None:
    (a, t), (out,) = buffers("a t", 1), buffers("out")
    sl.Func(np.negative, [a[x]], [t[x]], name="make")
    sl.copies.broadcast(t, out)
    p = sl.build_pipeline([a], [out])
    assert copies_in(p) == ["broadcast"]
    assert "elements of t do not stand for one of out each" in refusal(lambda: sl.alias_copy(p, "broadcast"))


@pytest.mark.parametrize(
    ("at", "branches"),
    [
        pytest.param("transpose", lambda known, asked, call, other: ir.If(known, call), id="inside"),
        pytest.param("for y", lambda known, asked, call, other: ir.If(known, call), id="outside"),
        pytest.param("for y", lambda known, asked, call, other: ir.If(known, call, (ir.Pass(),)), id="idle else"),
        pytest.param("for y", lambda known, asked, call, other: ir.If(asked, call, other), id="in both"),
    ],
)
def test_what_holds_nothing_but_the_copy_is_gone_with_it(at: str, branches: Callable[..., ir.If]) -> None:
    a, t, b = buffers("a t b")
    sl.copies.transpose(a, t)
    negative(t, b, "negative")
    p = sl.split_loop(sl.build_pipeline([a], [b], alias=False), "transpose.y", 4)
    edit = sl.edit(p)
    known, asked = b.dim(0).extent >= 0, b.dim(0).extent >= 8
    edit.wrap(at, lambda block: branches(known, asked, block, edit.copy(at)))
    chosen = edit.finish()
    done = sl.alias_copy(chosen, "transpose #0")
    assert [type(s) for s in walk(done._program.body) if not isinstance(s, ir.Check)] == [Call]
    agree(p, done, [IMAGE], [np.zeros((5, 4), np.int64)])


def test_what_else_stands_beside_the_copy_stays() -> None:
    a, t, b, c = buffers("a t b c")
    sl.copies.transpose(a, t)
    negative(t, b, "negative")
    negative(a, c, "other")
    p = sl.build_pipeline([a], [b, c], alias=False)
    edit = sl.edit(p)
    edit.wrap("transpose", lambda block: ir.If(b.dim(0).extent >= 0, block, edit.copy("other")))
    done = sl.alias_copy(edit.finish(), "transpose")
    assert "if" in str(done)
    assert "else:" in str(done)
    agree(p, done, [IMAGE], [np.zeros((5, 4), np.int64), np.zeros((4, 5), np.int64)])


def test_the_same_buffer_twice_has_one_place() -> None:
    """What is assembled of one buffer twice cannot lie in both places."""
    a, t, out = buffers("a t out")
    negative(a, t, "make")
    sl.copies.concatenate([t, t], out)
    p = sl.build_pipeline([a], [out], alias=False)
    q = sl.build_pipeline([a], [out])
    agree(p, q, [IMAGE], [np.zeros((8, 5), np.int64)])


def test_other_readers_of_the_source_read_where_it_lies_now() -> None:
    a, t, out, twice = buffers("a t out twice")
    negative(a, t, "make")
    sl.copies.transpose(t, out)
    sl.Func(lambda p, o: np.multiply(p, 2, out=o), [t[y, x]], [twice[y, x]], name="double")
    p, q = (
        sl.build_pipeline([a], [out, twice], require=[sl.same_shape(a, twice)], alias=alias) for alias in (False, True)
    )
    agree(p, q, [IMAGE], [IMAGE.T.copy(), IMAGE])


@pytest.mark.parametrize("last", [None, 14, 9])
def test_who_reads_at_the_place_of_a_part_gives_values_within_that_alone(last: int | None) -> None:
    """Wherever it is computed later: behind the part, the target holds something else. Where the target is an output
    with the bounds of the part, nothing needs to be said."""
    b, s, t, u, out = buffers("b s t u out", 1)
    s.dim(0).bounds = sl.interval(0, 9)
    sl.Func(np.negative, [b[x]], [s[x]], name="make")
    sl.copies.concatenate([s, b], t)
    sl.Func(lambda p, o: np.add(p[:-1], p[1:], out=o), [s[sl.interval(x, x + 1)]], [u[x]], name="pairs")
    if last is None:
        sl.Func(total, [t[sl.interval(0, 14)]], [out[x]], name="total")
        p = sl.build_pipeline([b], [out, u], alias=False)
    else:
        i = t.dim(0)
        p = sl.build_pipeline([b], [t, u], require=[i.min <= 0, i.min >= 0, i.max <= last, i.max >= last], alias=False)
    split, pieces = sl.split_boundary(p, "concatenate", rc=True)
    q, found = sl.alias_copy(split, pieces.calls[0], rc=True)
    part = next(call._call.func.part for call in found.calls if call.name() == "pairs")
    begin, end = Limit(0, as_expr(0), None), Limit(0, None, as_expr(8))
    assert part == {None: (begin, end), 14: (end,), 9: ()}[last]
    agree(p, q, [np.arange(20)], [np.zeros(1 if last is None else last + 1, np.int64), np.zeros(9, np.int64)])


def total(source: Array, target: Array) -> None:
    target[...] = source.sum()


def test_two_parts_that_overlap_keep_their_values() -> None:
    """A producer that would write more than its part of an assembly does not write it there."""
    a, t, u, out, sums = buffers("a t u out sums")
    negative(a, t, "make_t")
    negative(a, u, "make_u")
    sl.copies.concatenate([t, u], out)
    sl.Func(three_rows, [t[sl.interval(y - 1, y + 1), x]], [sums[y, x]], name="rows")
    p, q = (sl.build_pipeline([a], [out, sums], alias=alias) for alias in (False, True))
    for lo in (0, 2, 4):
        found = []
        for pipeline in (p, q):
            one, two = sl.Buffer(np.zeros((4, 5), np.int64), min=(lo, 0)), sl.Buffer(np.zeros((2, 5), int), min=(1, 0))
            pipeline(IMAGE, one, two)
            found.append((one.array, two.array))
        for first, second in zip(*found, strict=True):
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("number", range(3))
def test_pieces_write_nothing_but_their_parts_wherever_they_are_computed(number: int) -> None:
    """A fill, or who writes an inside, gives other values elsewhere: it must not be computed there."""
    p = padded()
    q, ((inside, *_),) = sl.split_boundary(p, "constant", rc=True)
    q = sl.alias_copy(q, inside)
    q, loops = sl.split_loop(q, "rows.y", 1, rc=True)
    q = sl.compute_at(q, ["make", "constant #0", "constant #1"][number], loops.outer)
    agree(p, q, [IMAGE], [IMAGE])


def test_pieces_of_what_is_divided_are_no_boxes() -> None:
    """Where an index is a remainder, or a quotient, what edges leave of it is no box of the target."""
    for index in (x % 2, x // 2, x - 2 * (x // 2)):
        a, out = buffers("a out", 1)
        sl.copies.copy(a[index], out[x], outside=5)
        p = sl.build_pipeline([a], [out])
        for q in (p, sl.split_loop(p, "copy.x", 1), sl.split_loop(p, "copy.x", 2)):
            assert refusal(lambda q=q: sl.split_boundary(q, "copy")) == "a piece of copy would be no box"


def test_a_row_that_a_loop_says_is_no_part_of_a_func() -> None:
    """A producer that writes one row, which one the loop around it knows, would write one where it computes several: in
    the loop taken into it, or computed before the loop."""
    (a, t), (out,) = buffers("a t", 1), buffers("out")
    sl.Func(np.negative, [a[x]], [t[x]], name="make")
    sl.copies.copy(t[x], out[y, x])
    p = sl.build_pipeline([a], [out], alias=False)
    q, loops = sl.split_loop(p, "copy.y", 1, rc=True)
    q, made = sl.compute_at(q, "make", loops.outer, rc=True)
    q = sl.store_at(q, made.alloc, loops.outer)
    assert "elements of t do not stand for one of out each" in refusal(lambda: sl.alias_copy(q, "copy"))
    agree(p, q, [np.arange(4)], [np.zeros((3, 4), np.int64)])


def test_a_row_that_is_the_same_in_all_iterations_may_be_written() -> None:
    """Here it is one that a scalar says."""
    (a, t), (out,) = buffers("a t", 1), buffers("out")
    sl.Func(np.negative, [a[x]], [t[x]], name="make")
    sl.copies.copy(t[x], out[y, x])
    row = sl.scalar("row")
    p = sl.assume_shape(sl.build_pipeline([a], [out], alias=False), out=(sl.interval(row, row), None))
    q = sl.alias_copy(p, "copy")
    assert "view(out[row, :], [row, x]) = make(a[:])" in str(q)
    out_1, out_2 = (sl.Buffer(np.zeros((1, 4), np.int64), min=(3, 0)) for _ in range(2))
    p(np.arange(4), out_1, row=3)
    q.run(np.arange(4), out_2, row=3, checked=True)
    np.testing.assert_array_equal(out_1.array, out_2.array)


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "constant"])
def test_the_steady_state_reads_the_input_itself(mode: str) -> None:
    """Where rows alone reach beyond the edges, the loop over strips is cut into first, steady and last ones: those in
    between copy nothing, whatever the height and whatever part is asked for."""

    def nine_rows(a: Array, o: Array) -> None:
        o[...] = sum((k + 1) * a[k : k + len(o)] for k in range(9))

    a, out = buffers("a out")
    sl.Func(nine_rows, [a.extended(mode, dims=[0])[sl.interval(y - 4, y + 4), x]], [out[y, x]], name="blur")
    p = sl.build_pipeline([a], [out])
    q, strips = sl.split_loop(p, "blur.y", 16, rc=True)
    q, made = sl.compute_at(q, mode, strips.outer, rc=True)
    q = sl.store_at(q, made.alloc, strips.outer)
    q, first = sl.cut_loop(q, strips.outer, a.dim(0).min + 4, rc=True)
    q, last = sl.cut_loop(q, first.second, a.dim(0).max - 4 - 15, rc=True)
    q = sl.alias_copy(q, q.forward(last.first).body().find(mode))
    assert "    out[y .. y + 15, :] = blur(a[y - 4 .. y + 19, :])\n" in str(q)
    for height in (101, 99, 17, 8, 3, 1, 0):
        image = np.arange(7 * height).reshape(height, 7)
        agree(p, q, [image], [image])
        for lo, hi in ((height // 3, height - height // 4), (0, height)):
            found = [sl.Buffer(np.full((hi - lo, 7), -1), min=(lo, 0)) for _ in range(2)]
            p(image, found[0])
            statistics = q.run(image, found[1])
            np.testing.assert_array_equal(found[0].array, found[1].array)
            strips_at_edges = sum(y < 4 or y > height - 20 for y in range(lo, hi, 16))
            assert statistics.bytes_copied <= strips_at_edges * 24 * 7 * 8
        # three strips at most: one at the beginning, and two that reach the end
        assert statistics.bytes_copied <= 3 * 24 * 7 * 8
    middle = sl.Buffer(np.zeros((48, 7), np.int64), min=(20, 0))
    statistics = q.run(np.arange(7 * 101).reshape(101, 7), middle)
    assert (statistics.allocations, statistics.program_bytes, statistics.bytes_copied) == (0, 0, 0)


def test_pieces_that_were_made_twice_say_the_same() -> None:
    """Several pieces of a border may have funcs that say the same; which is which does not matter."""
    a, out = buffers("a out", 3)
    sl.copies.copy(a[y, x, i], out[y, x, i], outside="wrap")
    p = sl.build_pipeline([a], [out], alias=False)
    first, second = (sl.split_boundary(p, "copy") for _ in range(2))
    assert first.same_program(second)
    assert not first.same_program(sl.split_loop(second, "copy.y #3", 2))
