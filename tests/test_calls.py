"""Primitives on single calls: `cut_call` and `clone_call`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scheduled import compare, picture, refusal, signal, stencil, stencils
from test_primitives import same

import examples
import slinky as sl

y, x = sl.variables("y x")


# cut_call -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [-7, 0, 3, 8, 50])
def test_cut_call(at: int) -> None:
    """In two calls: one is empty where the place is not in the box."""
    before = signal(1, 2)
    p, (first, second) = sl.cut_call(before, "f1.x", at, rc=True)
    assert first == p.forward(before.find("f1"))
    assert first.next() == second
    data = np.arange(20, dtype=np.int32)
    expected, found = np.zeros(14, np.int32), np.zeros(14, np.int32)
    image = sl.Buffer(data, min=(-3,))
    before(image, expected)
    assert p.run(image, found, checked=True).elements["f1"] == 14
    np.testing.assert_array_equal(found, expected)


def test_cut_call_by_a_scalar_and_in_a_loop() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 4)
    p = sl.cut_call(p, "stencil.x", sl.scalar("k") // sl.scalar("n"))
    first, second = (c.region("intm")[1] for c in p.find_all("stencil"))
    assert str(first) == "out.x.min - 1 .. min(k // n, out.x.max + 1)"
    assert str(second) == "max(k // n - 1, out.x.min - 1) .. out.x.max + 1"
    assert "  check 1 <= n\n" in str(p)


def test_what_cut_call_refuses() -> None:
    a, b, total = (sl.BufferExpr(name, np.int64, rank) for name, rank in (("a", 2), ("b", 2), ("total", 1)))

    def both(source: Any, copy: Any, sums: Any) -> None:
        copy[...] = source
        sums[...] = source.sum(axis=1)

    sl.Func(both, [a[y, x]], [b[y, x], total[y]], name="both")
    p = sl.build_pipeline([a], [b, total])
    assert "output total of both has no dimension x" in refusal(lambda: sl.cut_call(p, "both.x", 3))
    q = sl.cut_call(p, "both.y", 3)
    image, copy, sums = np.arange(35).reshape(7, 5), np.zeros((7, 5), np.int64), np.zeros(7, np.int64)
    q.run(image, copy, sums, checked=True)
    np.testing.assert_array_equal(sums, image.sum(axis=1))
    with pytest.raises(sl.OperationError, match="the place to cut"):
        sl.cut_call(q, "both.y #1", sl.variables("unknown")[0])


# clone_call -----------------------------------------------------------------------------------------------------------


def diamond() -> sl.Pipeline:
    """`low` is read by `near` and, much later, by `join`."""
    a, low, near, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "low", "near", "out"))
    sl.Func(np.negative, [a[x]], [low[x]], name="start")
    sl.Func(lambda s, o: np.copyto(o, s[:-2] + s[2:]), [low[sl.interval(x - 1, x + 1)]], [near[x]], name="around")
    sl.Func(np.multiply, [near[x], low[x]], [out[x]], name="join")
    return sl.build_pipeline([a], [out])


def test_clone_call() -> None:
    before = diamond()
    p, ((alloc,), call) = sl.clone_call(before, "start", "join", rc=True)
    same(
        p,
        """
        alloc low: int64[out.x.min - 1 .. out.x.max + 1]
        low[:] = start(a[:])
        alloc near: int64[out.x.min..out.x.max]
        near[:] = around(low[:])
        alloc low_1: int64[out.x.min..out.x.max]
        low_1[:] = start(a[:])
        out[:] = join(near[:], low_1[:])
        """,
    )
    assert alloc.name() == "low_1"
    assert call.outputs() == ("low_1",)
    data = sl.Buffer(np.arange(12), min=(-1,))
    expected, found = np.zeros(10, np.int64), np.zeros(10, np.int64)
    before(data, expected)
    assert p.run(data, found, checked=True).elements["start"] == 12 + 10
    np.testing.assert_array_equal(found, expected)


def test_each_reader_then_has_the_producer_in_its_own_loop() -> None:
    """Two loops over what needs the same intermediate: after cloning, each computes it by pieces."""
    p = sl.split_loop(diamond(), "around.x", 4)
    p = sl.split_loop(p, "join.x", 4)
    assert "reads it outside loop" in refusal(lambda: sl.compute_at(p, "start", "for x"))
    p = sl.clone_call(p, "start", "join")
    p = sl.compute_at(p, "start #0", "for x #0")
    same(
        p,
        """
        alloc low: int64[out.x.min - 1 .. out.x.max + 1]
        alloc near: int64[out.x.min..out.x.max]
        for x in out.x.min..out.x.max step 4:
          low[x - 1 .. x + 4] = start(a[x - 1 .. x + 4])
          near[x .. x + 3] = around(low[x - 1 .. x + 4])
        for x in out.x.min..out.x.max step 4:
          alloc low_1: int64[x .. min(out.x.max, x + 3)]
          low_1[:] = start(a[:])
          out[x .. x + 3] = join(near[x .. x + 3], low_1[x .. x + 3])
        """,
    )


def test_what_clone_call_refuses() -> None:
    p = diamond()
    assert refusal(lambda: sl.clone_call(p, "start", "start")) == "start reads nothing that start writes here"
    assert refusal(lambda: sl.clone_call(p, "around", "join")) == "join alone reads what around writes"
    assert (
        refusal(lambda: sl.clone_call(p, "join", "around"))
        == "out is an output of the pipeline: no reader can have it for itself"
    )


def test_a_source_that_a_fold_has_let_go_of() -> None:
    """What the cloned call reads is kept for a few rows only: later it is gone."""
    p = sl.split_loop(stencils(3), "s3.y", 1)
    for name in ("s2", "s1"):
        p = sl.compute_at(p, name, "for y")
        p = sl.slide_window(p, name, "for y")
    p = sl.fold_storage(p, "alloc b1", "y")
    p = sl.cut_call(p, "s3.x", 4)
    assert (
        refusal(lambda: sl.clone_call(p, "s2", "s3 #1")) == "a fold of 3 does not hold all that is live of b1.y at once"
    )


def test_cut_and_cloned_pieces_compute_the_same() -> None:
    before = stencils(2)
    p = sl.cut_call(before, "s2.y", 5)
    p = sl.cut_call(p, "s2.x #1", 3)
    for reader in ("s2 #2", "s2 #1"):
        p = sl.clone_call(p, "s1", reader)
    image, out = picture(9, 7, 2)
    compare(before, p, [image], [out])


def test_the_blur_of_the_examples() -> None:
    p = sl.clone_call(sl.cut_call(examples.blur(), "blur.x", 4), "scale", "blur #0")
    data = sl.Buffer(np.arange(12, dtype=np.float32), min=(-1,))
    expected, found = np.zeros(10, np.float32), np.zeros(10, np.float32)
    examples.blur()(data, expected)
    p.run(data, found, checked=True)
    np.testing.assert_array_equal(found, expected)
