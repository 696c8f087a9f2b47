"""What buffers hold: more or less of a dimension, or whole blocks of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from round_trips import again
from scheduled import by_rows, compare, line, picture, refused, signal, stencil
from test_primitives import same
from test_whole import head_and_tail

import slinky as sl
from slinky.ir.copies import with_bounds

y, x = sl.variables("y x")
OUT = sl.BufferExpr("out", np.int16, 2)
K = sl.scalar("k")


def agree(before: sl.Pipeline, after: sl.Pipeline, threads: int = 1, **scalars: int) -> None:
    """Both give the same for pictures of several sizes and places, checked and by plan, and compute as much; what is
    said beforehand of the second is what a run counts; written and read again, it is the same."""
    for height, width, origin in ((7, 5, (0, 0)), (1, 1, (-3, 2)), (0, 4, (0, 0)), (4, 0, (1, 1)), (5, 13, (-2, -7))):
        image, out = picture(height, width, 1, origin)
        first, second = compare(before, after, [image], [out], threads, **scalars)
        assert first.elements == second.elements
        said = after.estimate(image, out, threads=threads, **scalars)
        assert said.elements == second.elements
        assert said.program_bytes == second.program_bytes or threads > 1
    assert str(again(after)) == str(after)


def tiles(factor: int = 4) -> sl.Pipeline:
    """The stencil by strips of rows, each with a buffer of its own."""
    p, (loop, _, _) = sl.split_loop(stencil(), "stencil.y", factor, rc=True)
    p, at = sl.compute_at(p, "add", loop, rc=True)
    return sl.store_at(p, at.alloc, loop)


def rows_of(p: sl.Pipeline, buffer: str = "intm", dim: int = 0) -> Any:
    return p.find(f"alloc {buffer}").bounds()[dim]


# More -----------------------------------------------------------------------------------------------------------------


def test_a_buffer_that_holds_more_is_written_as_before() -> None:
    before = tiles()
    rows = rows_of(before)
    p, (alloc,) = sl.resize_dim(before, "alloc intm", "y", sl.interval(rows.min - 2, rows.max + 7), rc=True)
    same(
        p,
        """
        for y in out.y.min..out.y.max step 4:
          alloc intm: int16[y - 3 .. min(out.y.max + 8, y + 11), out.x.min - 1 .. out.x.max + 1]
          intm[y - 1 .. min(out.y.max + 1, y + 4), :] = add(inp[y - 1 .. min(out.y.max + 1, y + 4), :])
          out[y .. y + 3, :] = stencil(intm[y - 1 .. y + 4, :])
        """,
    )
    assert alloc == p.forward(before.find("alloc intm"))
    agree(before, p)
    back = sl.resize_dim(p, alloc, 0, rows)
    assert str(rows_of(back)) == str(rows)
    agree(before, back)


def test_buffers_of_one_size_can_take_each_others_place() -> None:
    """A call works in place only if both buffers hold the same."""
    p = signal(0, 1, 0, 0)
    whole = rows_of(p, "b0")
    assert str(whole) != str(rows_of(p, "b1"))
    p = sl.resize_dim(p, "alloc b1", "x", whole)
    assert str(rows_of(p, "b1")) == str(whole)
    for first, last in ((0, 10), (3, 3), (0, -1), (-5, 1)):
        compare(signal(0, 1, 0, 0), p, [line(first - 1, last + 1)], [line(first, last)])


def test_the_fold_stays() -> None:
    before, _, alloc = by_rows(stencil())
    p = sl.resize_dim(before, alloc, "y", sl.interval(OUT.dim(0).min - 9, OUT.dim(0).max + 9))
    assert p.find("alloc intm").storage()[0] is not None
    agree(before, p)
    wide = sl.resize_dim(before, alloc, "x", sl.interval(OUT.dim(1).min - 9, OUT.dim(1).max + 9))
    assert "intm[y + 1, out.x.min - 1 .. out.x.max + 1] = add(" in str(wide)
    agree(before, wide)


def test_by_scalars_loops_and_divisions() -> None:
    before = tiles()
    rows, loop = rows_of(before), before.find("for y")._loop.variable
    p = sl.resize_dim(before, "alloc intm", "y", sl.interval(sl.minimum(loop - K, rows.min), loop + 12))
    assert [a.name() for a in p.args()] == ["inp", "out", "k"]
    for k in (-1, 0, 6):
        agree(before, p, k=k)
    q = sl.resize_dim(before, "alloc intm", "y", sl.interval(rows.min // K * K, rows.max))
    assert "check 1 <= k" in str(q)
    agree(before, q, k=3)
    assert str(eval(str(q.history()).splitlines()[-1].removeprefix("p = "), {"sl": sl, "p": before})) == str(q)


def test_iterations_of_a_parallel_loop() -> None:
    before = tiles(2)
    rows = rows_of(before)
    p = sl.resize_dim(before, "alloc intm", "y", sl.interval(rows.min, rows.max + 3))
    agree(before, sl.parallelize_loop(p, "for y"), threads=2)
    parallel = sl.parallelize_loop(before, "for y")
    agree(before, sl.resize_dim(parallel, "alloc intm", "y", sl.interval(rows.min, rows.max + 3)), threads=2)


def test_without_the_clamps_a_call_would_read_what_is_not_there() -> None:
    """An edit that lets a buffer hold more, and no more than that, is refused."""
    p = sl.split_loop(stencil(), "add.y", 4)
    edit = sl.edit(p)
    alloc = edit.statement("alloc intm")
    wide = (sl.interval(alloc.box[0].min, alloc.box[0].max + 3), alloc.box[1])
    edit.replace("alloc intm", with_bounds(alloc, wide, alloc.folds))
    assert (
        "finds all of inp" in refused(edit.finish).reason or "does not find all of inp" in refused(edit.finish).reason
    )
    agree(p, sl.resize_dim(p, "alloc intm", "y", wide[0]))


# Less -----------------------------------------------------------------------------------------------------------------


def test_what_a_larger_buffer_no_longer_cuts_off_is_proved() -> None:
    """The last piece goes beyond the end; what is computed for it was cut off there while the buffer ended, too."""
    (x,) = sl.variables("x")
    a, t, b = (sl.BufferExpr(name, np.int64, 1) for name in "atb")
    sl.Func(np.negative, [a[x]], [t[x]], name="make")
    sl.Func(np.square, [t[x]], [b[x]], name="last")
    p = sl.split_loop(sl.build_pipeline([a], [b]), "last.x", 3)
    low, high = b.dim(0).min, b.dim(0).max
    assert "t[x .. x + 2] = make(a[x .. x + 2])" in str(sl.compute_at(p, "make", "for x"))
    larger = sl.resize_dim(p, "alloc t", "x", sl.interval(low - 5, high + 5))
    assert "not shown that make finds all of a" in refused(lambda: sl.compute_at(larger, "make", "for x")).reason


def test_what_nobody_reads_need_not_be_held() -> None:
    wide = sl.interval(OUT.dim(0).min - 4, OUT.dim(0).max + 9)
    p = sl.resize_dim(stencil(), "alloc intm", "y", wide)
    back = sl.resize_dim(p, "alloc intm", "y", rows_of(stencil()))
    assert str(back) == str(stencil())


def test_too_few_are_refused_with_an_example() -> None:
    p = stencil()
    rows = rows_of(p)
    error = refused(lambda: sl.resize_dim(p, "alloc intm", "y", sl.interval(rows.min, rows.max - 1)))
    assert error.operation == "resize_dim"
    assert error.reason.startswith("stencil does not find all of intm[")
    assert error.example
    error = refused(lambda: sl.resize_dim(p, "alloc intm", "y", sl.interval(rows.min + K, rows.max)))
    assert error.reason.startswith("stencil does not find all of intm[")
    error = refused(lambda: sl.resize_dim(p, "alloc intm", "y", sl.interval(0, 3)))
    assert error.reason.startswith("stencil does not find all of intm[")


def test_what_is_written_together_is_not_cut_off() -> None:
    """The bounds of one output of a call clamp what it writes to the others."""
    a, low, high, out = (sl.BufferExpr(name, np.int32, 1) for name in ("a", "low", "high", "out"))

    def both(source: Any, least: Any, most: Any) -> None:
        np.subtract(source, 1, out=least)
        np.add(source, 1, out=most)

    sl.Func(both, [a[x]], [low[x], high[x]], name="both")
    window = high[sl.interval(x - 2, x + 2)]
    sl.Func(lambda s, t, o: np.add(s, t[2:-2], out=o), [low[x], window], [out[x]], name="join")
    p = sl.build_pipeline([a], [out])
    ends = sl.BufferExpr("out", np.int32, 1).dim(0)
    error = refused(lambda: sl.resize_dim(p, "alloc low", "x", sl.interval(ends.min, ends.max)))
    assert error.reason.startswith("join does not find all of high[")


def test_what_is_computed_whole_stays_whole() -> None:
    p = head_and_tail(whole=["x"])
    columns = rows_of(p, "soft", 1)
    error = refused(lambda: sl.resize_dim(p, "alloc soft", "x", sl.interval(columns.min, columns.max - 1)))
    assert error.reason == "softmax computes x whole, and would compute part of it here"
    q = sl.resize_dim(p, "alloc soft", "x", sl.interval(columns.min - 3, columns.max + 5))
    image = np.arange(21.0).reshape(3, 7)
    np.testing.assert_array_equal(p(image), q(image))


# Whole blocks ---------------------------------------------------------------------------------------------------------


def test_a_buffer_of_whole_blocks() -> None:
    before = tiles()
    p, (alloc,) = sl.align_dim(before, "alloc intm", "x", 16, rc=True)
    same(
        p,
        """
        for y in out.y.min..out.y.max step 4:
          alloc intm: int16[y - 1 .. min(out.y.max + 1, y + 4), 16*((out.x.min + 15) // 16) - 16 .. 16*((out.x.max + 1) // 16) + 15]
          intm[y - 1 .. y + 4, out.x.min - 1 .. out.x.max + 1] = add(inp[y - 1 .. y + 4, out.x.min - 1 .. out.x.max + 1])
          out[y .. y + 3, :] = stencil(intm[y - 1 .. y + 4, out.x.min - 1 .. out.x.max + 1])
        """,  # noqa: E501
    )
    assert alloc == p.forward(before.find("alloc intm"))
    assert str(p.history()).splitlines()[-1] == 'p = sl.align_dim(p, "alloc intm", "x", 16)'
    agree(before, p)
    agree(before, sl.align_dim(p, "alloc intm", "y", 3))


@pytest.mark.parametrize("begin", [None, 0, 3, -7, "least", K])
@pytest.mark.parametrize("multiple", [1, 2, 5, 16])
def test_it_begins_and_ends_where_blocks_do(begin: Any, multiple: int) -> None:
    before = signal(0, 1)
    least = rows_of(before, "b0").min
    p = sl.align_dim(before, "alloc b0", "x", multiple, least if begin == "least" else begin)
    for first, last in ((0, 10), (3, 3), (-5, 1), (-17, -4), (0, 14)):
        at = {None: 0, "least": first - 1, K: 4}.get(begin, begin)
        scalars = {"k": 4} if begin is K else {}
        stats = compare(before, p, [line(first - 1, last + 1)], [line(first, last)], **scalars)
        low = at + (first - 1 - at) // multiple * multiple
        high = at - -(last + 2 - at) // multiple * multiple
        assert (low - at) % multiple == (high - at) % multiple == 0
        assert stats[1].program_bytes == 4 * (high - low)
        assert stats[0].elements == stats[1].elements


def test_blocks_as_long_as_a_scalar_says() -> None:
    before = tiles()
    p = sl.align_dim(before, "alloc intm", "x", K)
    assert "check 1 <= k" in str(p)
    for k in (1, 3, 8):
        agree(before, p, k=k)


def test_what_was_aligned_goes_on_to_be_scheduled() -> None:
    p = sl.align_dim(stencil(), "alloc intm", "x", 16)
    p, (loop, _, _) = sl.split_loop(p, "stencil.y", 2, rc=True)
    p, at = sl.compute_at(p, "add", loop, rc=True)
    p = sl.slide_window(p, at.call, loop)
    p = sl.fold_storage(p, at.alloc, "y")
    agree(sl.unfold_storage(p, at.alloc, "y"), p)
    image, out = picture(7, 5, 1)
    compare(stencil(), p, [image], [out])


# Room for all iterations of a parallel loop ---------------------------------------------------------------------------


def elementwise() -> sl.Pipeline:
    """The square of what is one more, by strips of rows, each with a buffer of its own, at the same time."""
    inp, intm, out = (sl.BufferExpr(name, np.int16, 2) for name in ("inp", "intm", "out"))
    sl.Func(lambda s, t: np.add(s, 1, out=t), [inp[y, x]], [intm[y, x]], name="add")
    sl.Func(lambda s, t: np.multiply(s, s, out=t), [intm[y, x]], [out[y, x]], name="square")
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([inp], [out]), "square.y", 3, rc=True)
    p, at = sl.compute_at(p, "add", loop, rc=True)
    return sl.parallelize_loop(sl.store_at(p, at.alloc, loop), loop)


def test_each_iteration_of_a_parallel_loop_has_a_part() -> None:
    before = elementwise()
    p, (alloc,) = sl.lift_alloc(before, "alloc intm", rc=True)
    assert not alloc.parent()
    assert str(alloc.bounds()[0]) == "out.y.min..out.y.max"
    agree(before, p, threads=2)


def test_parts_that_overlap_are_refused_with_an_example() -> None:
    p = sl.parallelize_loop(tiles(2), "for y")
    error = refused(lambda: sl.lift_alloc(p, "alloc intm"))
    assert error.reason == "the iterations of the parallel loop y would share intm"
    assert "which is also written in iteration" in error.example


def test_a_fold_is_not_shared() -> None:
    """Each iteration writes rows of its own, but a ring has not room for all."""
    p = sl.fold_storage(elementwise(), "alloc intm", "y", 3)
    error = refused(lambda: sl.lift_alloc(p, "alloc intm"))
    assert error.reason == "the iterations of the parallel loop y would share intm"


# What is refused ------------------------------------------------------------------------------------------------------


def test_strides_that_were_asked_for() -> None:
    p = sl.set_layout(stencil(), "alloc intm", ("y", "x"), alignment=64)
    for rewrite in (
        lambda: sl.resize_dim(p, "alloc intm", "y", sl.interval(0, 3)),
        lambda: sl.align_dim(p, "alloc intm", "x", 16),
    ):
        error = refused(rewrite)
        assert error.reason == "intm has strides that are asked for, made for what it holds"
        assert "say what it holds first, and set its layout then" in str(error)
    q = sl.set_layout(sl.align_dim(stencil(), "alloc intm", "x", 16), "alloc intm", ("y", "x"), alignment=32)
    agree(stencil(), q)


def test_what_reads_nothing_reads_it_inside() -> None:
    """Nobody has to write what has no elements; but who reads it asks for a part of what the buffer holds."""
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    t.dim(0).min, t.dim(0).max = 0, -1
    sl.Func(np.negative, [a[x]], [t[x]], name="make")
    sl.Func(lambda s, o: np.copyto(o, 7 + s.size), [t[:]], [out[x]], name="fill")
    before = sl.split_loop(sl.build_pipeline([a], [out]), "fill.x", 1)
    p = sl.stage_buffer(before, "fill", "t", (sl.interval(0, -1),))
    p = sl.lift_alloc(p, "alloc t_1", 1)
    p = sl.remove_call(sl.cut_call(p, "load.x", 0), "load #1")
    for outside in (sl.interval(0, -2), sl.interval(5, 4)):
        error = refused(lambda interval=outside: sl.resize_dim(p, "alloc t_1", 0, interval))
        assert error.reason == (
            "what fill reads of t_1 along x may be no elements, and is not shown to lie in the interval even so: "
            f"0..-1, and {outside}"
        )
    far = sl.maximum(*(n * out.dim(0).max - 20 * n * out.dim(0).min for n in range(1, 20)))
    told = refused(lambda: sl.resize_dim(p, "alloc t_1", 0, sl.interval(far, far))).reason
    assert told.endswith(" is not shown to lie in the interval even so")
    for inside in (sl.interval(0, -1), sl.interval(-3, 4), sl.interval(0, 0)):
        resized = sl.resize_dim(p, "alloc t_1", 0, inside)
        resized.verify()
        for count in (1, 5):
            out_buffer = sl.Buffer(np.zeros(count, np.int64), min=(2,))
            compare(before, resized, [sl.Buffer(np.arange(4))], [out_buffer])


def test_an_alignment_holds_for_any_bounds() -> None:
    inp, intm, out = (sl.BufferExpr(name, np.int16, 2) for name in ("inp", "intm", "out"))
    intm.alignment = 64
    strides = []
    sl.Func(lambda s, t: np.add(s, 1, out=t), [inp[y, x]], [intm[y, x]], name="add")
    sl.Func(lambda s, t: strides.append(s.strides) or np.add(s, s, out=t), [intm[y, x]], [out[y, x]], name="twice")
    before = sl.build_pipeline([inp], [out])
    p = sl.align_dim(before, "alloc intm", "x", 48)
    image = np.arange(21, dtype=np.int16).reshape(3, 7)
    np.testing.assert_array_equal(p(image), 2 * image + 2)
    np.testing.assert_array_equal(before(image), 2 * image + 2)
    assert strides == [(128, 2), (64, 2)]


def test_what_is_no_interval_and_no_block() -> None:
    p = stencil()
    with pytest.raises(sl.OperationError, match=r"an interval, such as sl\.interval\(0, 3\), got \(0, 3\)"):
        sl.resize_dim(p, "alloc intm", "y", (0, 3))  # type: ignore[arg-type]
    with pytest.raises(sl.OperationError, match="the interval names u, which is no scalar and no enclosing loop"):
        sl.resize_dim(p, "alloc intm", "y", sl.interval(sl.variables("u")[0], 3))
    with pytest.raises(sl.InvalidCursorError, match="buffer intm has no dimension 'z'"):
        sl.align_dim(p, "alloc intm", "z", 3)
    with pytest.raises(sl.OperationError, match="the beginning names u"):
        sl.align_dim(p, "alloc intm", "y", 3, sl.variables("u")[0])
    assert refused(lambda: sl.align_dim(p, "alloc intm", "y", 0)).reason == "the multiple must be 1 or more, got 0"
    assert refused(lambda: sl.align_dim(p, "alloc intm", "y", OUT.dim(0).extent)).reason == (
        "not shown that the multiple is 1 or more"
    )


def in_place() -> sl.Pipeline:
    """`b = sqrt(a)`, `c = -b`, then windows of c, and wider ones of b."""
    a, b, c, out = (sl.BufferExpr(name, np.float64, 1) for name in ("a", "b", "c", "out"))
    sl.Func(np.sqrt, [a[x]], [b[x]])
    sl.Func(np.negative, [b[x]], [c[x]])
    sl.Func(lambda s, o: np.add(s[:-2], s[2:], out=o), [c[sl.interval(x - 1, x + 1)]], [out[x]], name="pairs")
    return sl.build_pipeline([a], [out])


def test_buffers_in_one_memory_hold_the_same() -> None:
    """A call works in place if both hold the same: what would end that is refused, what makes it so helps."""
    p = in_place()
    held = rows_of(p, "c", 0)
    shared = sl.compute_in_place(p, "negative")
    for name in ("b", "c"):
        wider = sl.interval(held.min - 1, held.max)
        error = refused(lambda name=name, wider=wider: sl.resize_dim(shared, f"alloc {name}", "x", wider))  # type: ignore[misc]
        assert "elements do not lie at the same bytes" in error.reason or "that their elements lie at" in error.reason
    q = sl.align_dim(p, "alloc b", "x", 8)
    with pytest.raises(sl.SchedulingError):
        sl.compute_in_place(q, "negative")
    r = sl.compute_in_place(sl.align_dim(q, "alloc c", "x", 8), "negative")
    for last in (-1, 0, 11):
        data = sl.Buffer(np.arange(last + 3.0), min=(-1,))
        expected, found, again = (np.zeros(last + 1) for _ in range(3))
        p.run(data, expected)
        for each in (q, r):
            each.run(data, found, checked=True)
            each.run(data, again)
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(again, expected)


def test_what_lies_in_anothers_memory_may_hold_more() -> None:
    p = in_place()
    wide = sl.BufferExpr("out", np.float64, 1).dim(0)
    q = sl.resize_dim(p, "alloc b", "x", sl.interval(wide.min - 4, wide.max + 4))
    data, found = sl.Buffer(np.arange(9.0), min=(-1,)), [np.zeros(7), np.zeros(7)]
    before, after = p.run(data, found[0]), q.run(data, found[1])
    np.testing.assert_array_equal(*found)
    assert after.program_bytes == before.program_bytes + 8 * 6


def mirrored(behind: int) -> sl.Pipeline:
    """Sums of two neighbours in a mirrored line, this far behind, which are mirrored again and read one further on."""
    inp, sums, again_, out = (sl.BufferExpr(name, np.int64, 1) for name in ("inp", "sums", "again", "out"))

    def add(a: Any, o: Any) -> None:
        np.add(a[:-1], 2 * a[1:], out=o)

    def take(a: Any, o: Any) -> None:
        np.copyto(o, a)

    sl.Func(add, [inp.extended("reflect")[sl.interval(x + behind, x + behind + 1)]], [sums[x]], name="add")
    sl.Func(take, [sums.extended("reflect")[x]], [again_[x]], name="take")
    sl.Func(take, [again_[x + 1]], [out[x]], name="end")
    return sl.build_pipeline([inp], [out])


def by_pieces(p: sl.Pipeline, multiple: int, factor: int) -> sl.Pipeline:
    """The mirrored line in blocks of elements, computed where pieces of the sums are."""
    p = sl.align_dim(p, "alloc inp_reflect", 0, multiple, 1)
    p = sl.split_loop(p, "add.x", factor)
    return sl.compute_at(p, "reflect", "for x")


def test_a_mirrored_copy_is_not_given_room_for_more_than_it_reads_for() -> None:
    """Its region reaches as deep as readers ask: computed in a loop, it would fill the block, and read too little."""
    p = mirrored(0)
    (held,) = p.find("alloc inp_reflect").bounds()
    for rewrite in (
        lambda: sl.align_dim(p, "alloc inp_reflect", 0, 2, 1),
        lambda: sl.resize_dim(p, "alloc inp_reflect", 0, sl.interval(held.min, held.max + 1)),
    ):
        error = refused(rewrite)
        assert "inp_reflect is not shown to stay where reflect reads enough to mirror" in error.reason
        assert "reflect(" in str(error)


def test_an_edit_gives_a_mirrored_copy_no_more_room_either() -> None:
    """A refused edit is still there, and can be mended."""
    p = mirrored(0)
    cursor = p.find("alloc inp_reflect")
    (held,) = cursor.bounds()
    editor = sl.edit(p)
    alloc = editor.statement(cursor)
    editor.replace(cursor, with_bounds(alloc, (sl.interval(held.min, held.max + 1),), alloc.folds))
    error = refused(editor.finish)
    assert "inp_reflect is not shown to stay where reflect reads enough to mirror" in error.reason
    editor.rename_buffer(cursor, "mirrored")
    error = refused(editor.finish)
    assert "mirrored is not shown to stay where reflect reads enough to mirror" in error.reason
    editor.rename_buffer(cursor, "inp_reflect")
    editor.replace(cursor, alloc)
    assert str(editor.finish()) == str(p)


@pytest.mark.parametrize("factor", [1, 2, 3])
@pytest.mark.parametrize("multiple", [2, 8])
def test_a_deeply_mirrored_copy_may_have_more_room(multiple: int, factor: int) -> None:
    """It reads exactly what mirroring asks for, however far out it computes."""
    before = mirrored(20)
    after = by_pieces(before, multiple, factor)
    for low in (-3, 0, 1):
        for size in (1, 2, 3, 7, 30):
            given = sl.Buffer(np.arange(size) ** 2 + 1, min=(low,))
            compare(before, after, [given], [sl.Buffer(np.zeros(size, np.int64), min=(low,))])
