"""Buffers taken to pieces: one for each coordinate of a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from round_trips import again
from scheduled import refused

import slinky as sl
from slinky.ir.copies import with_names
from slinky.sched.primitives.pieces import MOST_PIECES

c, y, x = sl.variables("c y x")

Array = np.ndarray[Any, Any]


def mix(*arrays: Array) -> None:
    """A weighted sum of what it is given, so that no two are alike."""
    *sources, target = arrays
    assert all(source.shape == (1, *target.shape) for source in sources)
    target[...] = sum((k + 2) * source[0] for k, source in enumerate(sources))


def channels(count: int = 3, first: int = 0) -> sl.Pipeline:
    """`t[c, x] = 3 a[c, x]` and a mixture of all rows, in another order; callbacks see arrays of rank 2."""
    a, t = (sl.BufferExpr(name, np.int32, 2) for name in ("a", "t"))
    out = sl.BufferExpr("out", np.int32, 1)

    def triple(source: Array, target: Array) -> None:
        np.multiply(source, 3, out=target)

    sl.Func(triple, [a[c, x]], [t[c, x]], name="triple")
    sl.Func(mix, [t[first + k, x] for k in reversed(range(count))], [out[x]], name="mix")
    return sl.build_pipeline([a], [out])


def by_rows(count: int = 3, first: int = 0) -> sl.Pipeline:
    """The same, with a call for each row."""
    return sl.unroll_loop(sl.split_loop(channels(count, first), "triple.c", 1), "for c")


def agree(before: sl.Pipeline, after: sl.Pipeline, count: int = 3, first: int = 0, threads: int = 1) -> None:
    """Both give the same for several sizes and places, checked, by the interpreter and by plan, with equal counts."""
    after.verify()
    for low, extent in ((0, 7), (-3, 1), (5, 0), (-11, 13)):
        rows = np.random.default_rng(extent).integers(-9, 99, (count, extent)).astype(np.int32)
        a = sl.Buffer(rows, min=(first, low))
        expected = sl.Buffer(np.zeros(extent, np.int32), min=(low,))
        counted = before.run(a, expected, checked=True)
        for how in ({"checked": True}, {"backend": "interpreter"}, {"backend": "python"}):
            found = sl.Buffer(np.zeros(extent, np.int32), min=(low,))
            stats = after.run(a, found, threads=threads, **how)
            np.testing.assert_array_equal(found.array, expected.array)
            assert stats.elements == counted.elements
        said = after.estimate(a, found, threads=threads)
        assert said.elements == stats.elements
        assert said.program_bytes == stats.program_bytes or threads > 1
    assert str(again(after)) == str(after)


def body(p: sl.Pipeline) -> list[str]:
    return [line.strip() for line in str(p).splitlines() if "check" not in line][1:]


def test_each_coordinate_has_a_buffer() -> None:
    before = by_rows()
    p, record = sl.unroll_buffer(before, "alloc t", "c", rc=True)
    assert body(p) == [
        "alloc t: int32[0, out.x.min..out.x.max]",
        "alloc t_1: int32[1, out.x.min..out.x.max]",
        "alloc t_2: int32[2, out.x.min..out.x.max]",
        "t[:, :] = triple(a[:, :])",
        "t_1[:, :] = triple(a[:, :])",
        "t_2[:, :] = triple(a[:, :])",
        "out[:] = mix(t_2[:, :], t_1[:, :], t[:, :])",
    ]
    assert [a.name() for a in record.allocs] == ["t", "t_1", "t_2"]
    assert record.allocs[0] == p.forward(before.find("alloc t"))
    assert str(p.history()).splitlines()[-1] == 'p = sl.unroll_buffer(p, "alloc t", "c")'
    agree(channels(), p)


@pytest.mark.parametrize(("count", "first"), [(2, 0), (3, -2), (5, 4)])
def test_any_number_from_any_coordinate_on(count: int, first: int) -> None:
    p = sl.unroll_buffer(by_rows(count, first), "alloc t", 0)
    assert len(p.find_all("alloc _")) == count
    agree(channels(count, first), p, count, first)


def test_the_pieces_are_scheduled_each_on_its_own() -> None:
    """One is computed in a loop, another before it; so they need not all be there at once."""
    p = sl.unroll_buffer(by_rows(), "alloc t", "c")
    q, (loop, _, _) = sl.split_loop(p, "mix.x", 4, rc=True)
    q, at = sl.compute_at(q, "triple #1", loop, rc=True)
    q = sl.store_at(q, at.alloc, at.loop)
    agree(channels(), q)
    assert q.find("alloc t_1").parent() == q.forward(loop)
    assert not q.find("alloc t_2").parent()


def test_an_extent_that_is_known_where_sizes_are() -> None:
    """The first coordinate may be any: pieces go by how far one is from that."""
    a, t, out = (sl.BufferExpr(name, np.int32, 2) for name in ("a", "t", "out"))
    sl.Func(lambda s, o: np.multiply(s, 3, out=o), [a[c, x]], [t[c, x]], name="triple")
    sl.Func(lambda s, o: np.add(s, 1, out=o), [t[c, x]], [out[c, x]], name="more")
    before = sl.build_pipeline([a], [out])
    error = refused(lambda: sl.unroll_buffer(before, "alloc t", "c"))
    assert error.reason == "not shown that t.c has as many coordinates in every run"
    assert "assume_shape" in str(error)
    p = sl.assume_shape(before, out=(2, None))
    for name in ("triple", "more"):
        p = sl.cut_call(p, f"{name}.c", out.dim(0).min + 1)
    q = sl.unroll_buffer(p, "alloc t", "c")
    assert len(q.find_all("alloc _")) == 2
    data = np.arange(10, dtype=np.int32).reshape(2, 5)
    for low in (0, -7):
        found = sl.Buffer(np.zeros((2, 5), np.int32), min=(low, 0))
        q.run(sl.Buffer(data, min=(low, 0)), found, checked=True)
        np.testing.assert_array_equal(found.array, before(data))


def test_what_nobody_touches_has_no_buffer() -> None:
    p = sl.resize_dim(by_rows(), "alloc t", "c", sl.interval(-2, 6))
    q = sl.unroll_buffer(p, "alloc t", "c")
    assert body(q)[:3] == body(sl.unroll_buffer(by_rows(), "alloc t", "c"))[:3]
    agree(channels(), q)


def test_in_a_parallel_loop_and_with_folds() -> None:
    p, (loop, _, _) = sl.split_loop(channels(), "mix.x", 3, rc=True)
    p = sl.compute_at(p, "triple", loop)
    p = sl.unroll_loop(sl.split_loop(p, "triple.c", 1), "for c")
    q = sl.unroll_buffer(sl.fold_storage(p, "alloc t", "x"), "alloc t", "c")
    assert str(q).count("fold 3") == 3
    agree(channels(), q)
    alone = sl.parallelize_loop(sl.unroll_buffer(sl.store_at(p, "alloc t", loop), "alloc t", "c"), loop)
    agree(channels(), alone, threads=2)


def test_layouts_stay() -> None:
    p = sl.set_layout(by_rows(), "alloc t", ("c", "x"), alignment=64)
    q = sl.unroll_buffer(p, "alloc t", "c")
    assert str(q).count("aligned 64") == 3
    agree(channels(), q)


def test_pieces_that_lie_in_one_memory_take_turns() -> None:
    p = sl.unroll_buffer(by_rows(), "alloc t", "c")
    error = refused(lambda: sl.reuse_buffer(p, "alloc t_1", "alloc t"))
    assert "lie in the same memory, are both used" in error.reason or "same memory" in error.reason


def test_stages_of_a_reduction() -> None:
    """What an update reads was written for the piece before: each state has a buffer."""
    a, out = sl.BufferExpr("a", np.float64, 2), sl.BufferExpr("out", np.float64, 1)
    sl.reductions.sum(a[y, sl.interval(0, 5)], out[y], reassociate=True)
    before = sl.build_pipeline([a], [out])
    p, split = sl.split_reduction(before, "sum", "x", 2, rc=True)
    p = sl.unroll_loop(sl.unfold_storage(p, "alloc partial", 0), split.loop)
    q = sl.unroll_buffer(p, "alloc partial", 0)
    assert "partial_2[:, :] = sum_update(partial_1[:, :], a[:, 2..3])" in str(q)
    for rows in (0, 1, 5):
        data, found = np.arange(6.0 * rows).reshape(rows, 6), np.zeros(rows)
        q.run(data, found, checked=True)
        np.testing.assert_array_equal(found, data.sum(1))
        np.testing.assert_array_equal(q(data), found)


# What is refused ------------------------------------------------------------------------------------------------------


def test_an_access_of_several_coordinates() -> None:
    p = channels()
    error = refused(lambda: sl.unroll_buffer(p, "alloc t", "c"))
    assert error.operation == "unroll_buffer"
    assert error.reason == "not shown that triple writes one known coordinate of t along c"
    assert "cut_call takes a call to pieces" in str(error)
    looped = sl.split_loop(p, "triple.c", 1)
    error = refused(lambda: sl.unroll_buffer(looped, "alloc t", "c"))
    assert 'p = sl.unroll_loop(p, "for c")\n  p = sl.unroll_buffer(p, "alloc t", "c")' in str(error)


def test_a_reader_of_several_coordinates() -> None:
    a, t = (sl.BufferExpr(name, np.int32, 2) for name in ("a", "t"))
    out = sl.BufferExpr("out", np.int32, 1)
    sl.Func(lambda s, o: np.multiply(s, 3, out=o), [a[c, x]], [t[c, x]], name="triple")
    sl.Func(lambda s, o: np.copyto(o, s.sum(0)), [t[sl.interval(0, 1), x]], [out[x]], name="sum")
    p = sl.cut_call(sl.build_pipeline([a], [out]), "triple.c", 1)
    error = refused(lambda: sl.unroll_buffer(p, "alloc t", "c"))
    assert error.reason == "not shown that sum reads one known coordinate of t along c"


def test_other_refusals() -> None:
    p = by_rows()
    assert refused(lambda: sl.unroll_buffer(p, "alloc t", "x")).reason == (
        "not shown that t.x has as many coordinates in every run"
    )
    done = sl.unroll_buffer(p, "alloc t", "c")
    assert refused(lambda: sl.unroll_buffer(done, "alloc t_1", "c")).reason == "t_1.c has one coordinate"
    none = sl.resize_dim(p, "alloc t", "c", sl.interval(0, MOST_PIECES))
    assert refused(lambda: sl.unroll_buffer(none, "alloc t", "c")).reason == "t.c has 65 coordinates, more than 64"
    with pytest.raises(sl.InvalidCursorError, match="buffer t has no dimension 'q'"):
        sl.unroll_buffer(p, "alloc t", "q")
    folded = sl.fold_storage(p, "alloc t", "c", 3)
    error = refused(lambda: sl.unroll_buffer(folded, "alloc t", "c"))
    assert error.reason == "t is folded along c: its coordinates share memory"
    assert 'p = sl.unfold_storage(p, "alloc t", "c")' in str(error)


def test_the_wrong_piece_is_refused() -> None:
    """An access of a buffer that holds another coordinate finds nothing there."""
    p = sl.unroll_buffer(by_rows(), "alloc t", "c")
    edit = sl.edit(p)
    edit.replace("mix", with_names(edit.statement("mix"), {"t_1": "t", "t": "t_1"}))
    error = refused(edit.finish)
    assert "would give out other values" in error.reason or "does not find all of" in error.reason
