"""What is shown inside of a loop may be shown because the loop runs: outside of it, or once it runs where it did not,
it is to be shown anew.

The cases are like those of `test_legality`, and are judged by its means: on an output that is empty, or by a loop that
never runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_legality import numbers, refused_as_wrong, refused_as_wrong_on_these, same, total, zeros

import slinky as sl

y, x = sl.variables("y x")
DIVISOR = r"not shown that the divisor of 10 // \(.*\) is 1 or more"


def extent(out: sl.BufferExpr, d: int) -> sl.Expr:
    """The extent of a dimension of the output: at least 1 in a loop over it, and 0 where that does not run."""
    return out.dim(d).max - out.dim(d).min + 1


def two_stages(read: Callable[[sl.BufferExpr], Any] = lambda b: b[y, x]) -> tuple[sl.BufferExpr, sl.Pipeline]:
    """`g` reads what `f` computes in `b`, in a loop over each dimension of the output."""
    i, j = sl.variables("i j")
    inp, b, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "b", "out"))
    sl.Func(same, [inp[i, j]], [b[i, j]], name="f")
    sl.Func(total, [read(b)], [out[y, x]], name="g")
    p = sl.split_loop(sl.build_pipeline([inp], [out]), "g.y", 1)
    return out, sl.split_loop(p, "g.x", 4)


def divided(read: Callable[[sl.BufferExpr], Any] = lambda b: b[y, x]) -> tuple[sl.BufferExpr, sl.Pipeline]:
    """The same, with a call of `g` cut where the extent of the inner loop divides."""
    out, p = two_stages(read)
    return out, sl.cut_call(p, "g.x", x + 10 // extent(out, 1))


def cloned() -> tuple[sl.Pipeline, sl.AllocCursor, sl.CallCursor]:
    """The same, and a call of `f` in the inner loop for the first part, into a buffer that is allocated at the top."""
    out, p = divided()
    p, ((alloc,), call) = sl.clone_call(p, "f", "g #0", rc=True)
    for dim, d in (("i", 0), ("j", 1)):
        p = sl.resize_dim(p, p.forward(alloc), dim, sl.interval(out.dim(d).min, out.dim(d).max))
    p = sl.lift_alloc(p, p.forward(alloc), 2)
    return p, p.forward(alloc), p.forward(call)


def refused_as_undefined(rewrite: Callable[[], sl.Pipeline], reason: str, error: type[Exception]) -> None:
    """Check that a rewrite is refused that would be wrong of an output without columns."""
    refused_as_wrong_on_these(rewrite, reason, numbers(9, 9, min=(-2, -2)), zeros(3, 0), error=error)


def test_loops_of_which_the_outer_one_shows_the_step_of_the_inner_one() -> None:
    """Of an output without rows, the inner loop would go on by 0."""
    out, p = two_stages()
    p = sl.split_loop(p, "for x", extent(out, 0), names=("x_outer", "x"))
    refused_as_wrong_on_these(
        lambda: sl.reorder_loops(p, "for y"),
        "not shown that the step of loop x_outer is 1 or more",
        numbers(9, 9),
        zeros(0, 3),
        error=sl.ExecutionError,
    )


def test_bounds_that_divide_by_the_extent_of_a_loop_stay_in_it() -> None:
    out, p = two_stages()
    p = sl.store_at(sl.compute_at(p, "f", "for x"), "alloc b", "for x")
    p = sl.resize_dim(p, "alloc b", "j", sl.interval(x - 10 // extent(out, 1), x + 3))
    refused_as_undefined(lambda: sl.lift_alloc(p, "alloc b"), DIVISOR, sl.ExpressionError)


def test_bounds_of_what_a_loop_inside_reads() -> None:
    p, alloc, _ = cloned()
    refused_as_undefined(lambda: sl.store_at(p, alloc, "for y"), DIVISOR, sl.ExpressionError)


def test_a_fold_for_what_a_loop_inside_reads() -> None:
    p, alloc, _ = cloned()
    refused_as_undefined(lambda: sl.fold_storage(p, alloc, "j"), DIVISOR, sl.ExpressionError)


def test_a_call_that_computes_what_all_iterations_of_a_loop_read() -> None:
    """Before the loop, and in a loop around it."""
    p, _, call = cloned()
    refused_as_undefined(lambda: sl.lift_call(p, call), DIVISOR, sl.ExpressionError)
    p = sl.compute_root(p, call)
    refused_as_undefined(lambda: sl.compute_at(p, p.forward(call), "for y"), DIVISOR, sl.ExpressionError)


def test_a_neighbour_that_divides_by_the_extent_of_a_loop_that_slides() -> None:
    _, p = divided(lambda b: b[y, sl.interval(x - 1, x + 1)])
    p = sl.compute_at(p, "f", "for x")
    refused_as_undefined(lambda: sl.slide_window(p, "f", "for x"), DIVISOR, sl.ExpressionError)
    leaves_the_range(p)


def leaves_the_range(p: sl.Pipeline) -> None:
    """Check that the hint of a refusal to slide is to leave the range of the loop as it is, and that this goes on."""
    with pytest.raises(sl.SchedulingError) as caught:
        sl.slide_window(p, "f", "for x")
    words = "produce the first window in the first iteration, and leave the range of the loop"
    assert caught.value.hint == f'{words}:\n  p = sl.slide_window(p, "f", "for x", warmup="first")'
    slid = sl.slide_window(p, "f", "for x", warmup="first")
    for rows, columns in ((3, 5), (3, 1), (1, 6), (3, 0)):
        results = [zeros(rows, columns) for _ in range(2)]
        for each, target in zip((p, slid), results, strict=True):
            each.run(numbers(9, 9, min=(-2, -2)), target, checked=True)
        np.testing.assert_array_equal(*(result.array for result in results))


def test_a_step_inside_of_a_loop_that_slides() -> None:
    """The loop over columns starts two iterations earlier, of which those inside of it went on by their number."""
    i, j = sl.variables("i j")
    inp, b, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "b", "out"))
    sl.Func(same, [inp[i, j]], [b[i, j]], name="f")
    sl.Func(total, [b[y, sl.interval(x - 1, x + 1)]], [out[y, x]], name="g")
    p = sl.split_loop(sl.build_pipeline([inp], [out]), "g.x", 1)
    p = sl.compute_at(sl.split_loop(p, "g.y", extent(out, 1)), "f", "for x")
    refused_as_undefined(
        lambda: sl.slide_window(p, "f", "for x"), "not shown that the step of loop y is 1 or more", sl.ExecutionError
    )
    leaves_the_range(p)


def test_a_step_inside_of_a_loop_that_runs_for_an_output() -> None:
    """The loop over columns computes all of `row`, of which it reads nothing where there are none."""
    j = sl.variables("j")[0]
    inp, row, out = (sl.BufferExpr(name, np.int32, rank) for name, rank in (("inp", 2), ("row", 1), ("out", 2)))
    sl.Func(total, [inp[0, j]], [row[j]], name="f")
    sl.Func(total, [row[x], inp[y, x]], [out[y, x]], name="g")
    p = sl.split_loop(sl.build_pipeline([inp], [row, out]), "g.x", 1)
    p = sl.split_loop(p, "g.y", extent(out, 1))
    refused_as_wrong_on_these(
        lambda: sl.compute_at(p, "f", "for x"),
        "not shown that the step of loop y is 1 or more",
        numbers(9, 9),
        zeros(5),
        zeros(3, 0),
        error=sl.ExecutionError,
    )


def test_a_parallel_loop_inside_of_one_that_never_ran() -> None:
    """Of its iterations anything can be proved; those of the iterations that are added write the same."""
    i, j = sl.variables("i j")
    inp, b, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "b", "out"))
    sl.Func(same, [inp[i, j]], [b[i, j]], name="f")
    row = sl.interval(out.dim(1).min, out.dim(1).max)
    sl.Func(total, [b[sl.interval(y - 1, y + 1), row]], [out[y, x]], name="g")
    p, (_, nothing) = sl.cut_call(sl.build_pipeline([inp], [out]), "g.y", out.dim(0).max + 1, rc=True)
    p, (loop, _, _) = sl.split_loop(p, p.forward(nothing).dims()[0], 1, rc=True)
    p, (inner, _, _) = sl.split_loop(p, p.forward(nothing).dims()[1], 1, rc=True)
    p, ((alloc,), call) = sl.clone_call(p, "f", p.forward(nothing), rc=True)
    p = sl.lift_alloc(p, alloc, 2)
    p = sl.parallelize_loop(p, inner)
    refused_as_wrong(
        lambda: sl.slide_window(p, call, loop),
        "iterations of loop x write the same elements of b_1",
        numbers(9, 9, min=(-2, -2)),
        zeros(3, 5),
        error=sl.RaceError,
    )


def past_an_edge_where_nothing_runs() -> tuple[sl.BufferExpr, sl.Pipeline]:
    """A loop that never runs, before one that does: in the first, `g` reads past the copy that puts 0 around `s`. It is
    moved out of that loop, where it computes two elements, in front of all others."""
    s, t, b, out = (sl.BufferExpr(name, np.int32, 1) for name in ("s", "t", "b", "out"))
    s.dim(0).bounds = sl.interval(0, 9)
    sl.Func(places, [], [s[x]], name="f", pass_buffers=True)
    sl.copies.copy(s[x], t[x], outside=0)
    sl.Func(same, [t[x]], [b[x]], name="g")
    sl.Func(total, [b[sl.interval(x - 1, x + 1)]], [out[x]], name="h")
    p = sl.split_loop(sl.build_pipeline([], [out], alias=False), "h.x", 1)
    p = sl.compute_at(sl.compute_at(p, "g", "for x"), "copy", "for x")
    lo, hi = out.dim(0).min, out.dim(0).max
    p, (idle, _) = sl.cut_loop(sl.store_at(p, "alloc t", "for x"), "for x", lo, rc=True)
    p, ((alloc,), call) = sl.clone_call(p, "f", "copy #0", rc=True)
    p = sl.alias_copy(p, "copy #0")
    p = sl.resize_dim(p, p.forward(alloc), "x", sl.interval(lo - 5, hi + 5))
    p = sl.lift_alloc(p, p.forward(alloc))
    p = sl.compute_at(sl.lift_call(p, p.forward(call)), p.forward(call), p.forward(idle))
    return out, sl.lift_call(sl.lift_call(p, p.forward(call)), "g #0")


def places(target: sl.Buffer) -> None:
    """Where each element is, and 100."""
    target.array[...] = np.arange(len(target.array)) + target.min[0] + 100


def test_what_is_read_past_where_nothing_runs_gives_no_value_beyond_an_edge() -> None:
    """Else the values of `g` there would do for those that the loop computes of the padded buffer."""
    out, p = past_an_edge_where_nothing_runs()
    assert "b[max(out.x.min - 1, 0) .. out.x.min] = g(s_1[max(out.x.min - 1, 0) .. out.x.min]) where x <= 9" in str(p)
    found = zeros(8, min=(-2,))
    p(found)
    np.testing.assert_array_equal(found.array[:3], [0, 100, 100 + 101])
    p = sl.cut_loop(p, p.find_all("for x")[-1], out.dim(0).min + 1)
    p, (twice, _) = sl.cut_call(p, p.find_all("g")[1].dims()[0], x + 1, rc=True)
    refused_as_wrong_on_these(
        lambda: sl.remove_call(p, twice),
        r"h does not find all of b\[.*\], which it reads, written",
        zeros(8, min=(-2,)),
        error=sl.UninitializedReadError,
    )
