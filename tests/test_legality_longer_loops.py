"""Loops that start earlier or run longer for a call in them: the others do nothing wrong in the added iterations.

The cases are like those of `test_legality`, and are judged by its means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np
import pytest
from handmade import over
from scheduled import Array, compare, line, picture, stencils
from test_legality import calls, handmade, high, loop, low, numbers, refused_as_wrong, same, total, with_row, zeros

import slinky as sl
from slinky.ir.scopes import leading_checks
from slinky.ir.statements import Alloc, Statement
from slinky.symbolic.expressions import variable
from slinky.symbolic.intervals import Interval

y, x = sl.variables("y x")


def statements(p: sl.Pipeline) -> Sequence[Statement]:
    """The statements of a pipeline behind its checks."""
    return p.program.body[len(list(leading_checks(p.program))) :]


def fill(target: Array) -> None:
    """Something."""
    target[...] = 1


def shrinking(outputs: Sequence[str] = ("out",)) -> sl.Pipeline:
    """What `wide` computes shrinks from both sides, into a buffer of each iteration."""
    w, i, j = sl.variables("w i j")
    inp, wide, narrow, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "wide", "narrow", "out"))
    sl.Func(same, [inp[i]], [wide[i]], name="wide_func")
    sl.Func(same, [inp[j]], [narrow[j]], name="narrow_func")
    sl.Func(total, [wide[w], wide[5 - w], narrow[sl.interval(w - 1, w + 1)]], [out[w]], name="join")
    given = [b for b in (narrow, out) if b.name in outputs]
    p = sl.build_pipeline([inp], given, require=[out.dim(0).min >= 0, out.dim(0).max <= 2])
    p = sl.compute_at(sl.split_loop(p, "join.w", 1), "wide_func", "for w")
    return sl.store_at(p, "alloc wide", "for w")


def test_sliding_lets_a_neighbour_read_beyond_an_input() -> None:
    """What `wide` computes is more in the iterations that are added for `narrow`."""
    p = sl.compute_at(shrinking(), "narrow_func", "for w")
    inputs = numbers(7, min=(-1,)), zeros(3)
    p.run(*inputs, checked=True)
    refused_as_wrong(
        lambda: sl.slide_window(p, "narrow_func", "for w"),
        r"not shown that wide_func finds all of inp\[",
        *inputs,
        error=sl.ExecutionError,
    )


@pytest.mark.parametrize("source", ["inp", "early"])
def test_an_output_lets_a_neighbour_read_beyond_its_source(source: str) -> None:
    """The same in iterations that are added to compute all of an output; they read of an input, or of an intermediate
    that holds what the others need."""
    w, i, j, k = sl.variables("w i j k")
    inp, early, wide, narrow, out = (sl.BufferExpr(name, np.int32, 1) for name in
                                     ("inp", "early", "wide", "narrow", "out"))  # fmt: skip
    if source == "early":
        sl.Func(same, [inp[k]], [early[k]], name="early_func")
    sl.Func(same, [{"inp": inp, "early": early}[source][i]], [wide[i]], name="wide_func")
    sl.Func(same, [inp[j]], [narrow[j]], name="narrow_func")
    sl.Func(total, [wide[w], wide[5 - w], narrow[sl.interval(w - 1, w + 1)]], [out[w]], name="join")
    of_out, of_narrow = out.dim(0), narrow.dim(0)
    required = [of_out.min >= 0, of_out.max <= 2, of_out.extent >= 1, of_narrow.max <= of_out.max + 1]
    p = sl.build_pipeline([inp], [narrow, out], require=required)
    p = sl.store_at(sl.compute_at(sl.split_loop(p, "join.w", 1), "wide_func", "for w"), "alloc wide", "for w")
    around = p.find("for w")._loop
    longer = attrs.evolve(around, range=Interval(around.range.min, around.range.max + 2))
    p = handmade(p.program, *statements(p)[:-1], longer)
    inputs = numbers(9, min=(-3,)), zeros(7, min=(-3,)), zeros(3)
    p.run(*inputs, checked=True)
    refused_as_wrong(
        lambda: sl.compute_at(p, "narrow_func", "for w"),
        rf"not shown that wide_func finds all of {source}\[",
        *inputs,
        error=sl.ExecutionError,
    )


def test_what_does_not_move_forward_keeps_a_loop_as_it_is() -> None:
    """`wide` would start anew behind the last iteration; its window has no end that moves forward; and where one starts
    further down in each iteration, it cannot be kept from starting earlier than in the first."""
    with pytest.raises(sl.SchedulingError, match="would have to run longer, and wide_func is not shown to do nothing"):
        sl.compute_at(shrinking(("narrow", "out")), "narrow_func", "for w")
    p = sl.lift_alloc(shrinking(), "alloc wide")
    with pytest.raises(sl.SchedulingError, match="the end of what wide_func produces does not move forward"):
        sl.slide_window(p, "wide_func", "for w")
    w, i, j = sl.variables("w i j")
    inp, back, narrow, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "back", "narrow", "out"))
    sl.Func(same, [inp[i]], [back[i]], name="back_func")
    sl.Func(same, [inp[j]], [narrow[j]], name="narrow_func")
    sl.Func(total, [back[-w], narrow[sl.interval(w - 1, w + 1)]], [out[w]], name="join")
    p = sl.split_loop(sl.build_pipeline([inp], [out]), "join.w", 1)
    p = sl.compute_at(sl.compute_at(p, "back_func", "for w"), "narrow_func", "for w")
    with pytest.raises(sl.SchedulingError, match="not shown that what back_func computes moves forward"):
        sl.slide_window(p, "narrow_func", "for w")
    first = sl.slide_window(p, "narrow_func", "for w", warmup="first")
    compare(p, first, [line(-9, 9)], [zeros(5)])


def test_a_window_of_which_an_output_knows_nothing() -> None:
    """Sums of rows would be sums of what is new in each iteration."""
    inp, image, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "image", "out"))
    sums = sl.BufferExpr("sums", np.int32, 1)
    sl.Func(total, [inp[y, x]], [image[y, x], sums[y]], name="both")
    sl.Func(total, [image[y, sl.interval(x - 1, x + 1)], sums[y]], [out[y, x]], name="join")
    plain = sl.build_pipeline([inp], [out]).program
    found, column = calls(plain), variable("column")
    both = over(found["both"], (found["both"].box[0], Interval(column - 1, column + 1)))
    join = over(found["join"], (found["join"].box[0], Interval(column, column)))
    allocs = [s for s in plain.body if isinstance(s, Alloc)]
    p = handmade(plain, *allocs, loop(column, low("out", 1), high("out", 1), both, join))
    with pytest.raises(sl.SchedulingError, match="output sums of both does not have the dimension that moves"):
        sl.slide_window(p, "both", "for column")


def test_a_window_whose_end_stands_still_at_first() -> None:
    """No iteration before the first would produce just what comes before the fourth element: the first one of those
    that are added produces all of that."""
    i = sl.variables("i")[0]
    inp, b, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "b", "out"))
    sl.Func(same, [inp[i]], [b[i]], name="f")
    sl.Func(total, [b[sl.interval(x - 1, sl.maximum(x + 1, 3))]], [out[x]], name="g")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([inp], [out]), "g.x", 1), "f", "for x")
    slid = sl.slide_window(p, "f", "for x")
    assert str(slid.find("for x")).count("for x in out.x.min - 2 .. out.x.max:") == 1
    for scheduled in (slid, sl.slide_window(p, "f", "for x", warmup="first")):
        for first in (-4, 0, 3):
            before, after = compare(p, scheduled, [line(-9, 9)], [zeros(6, min=(first,))])
            assert after.elements["f"] == max(first + 6, 3) - first + 2 < before.elements["f"]


def grown(step: int) -> sl.Pipeline:
    """Two stencils, of which the first slides; the buffer that it reads was lifted out of the loop afterwards."""
    p = sl.split_loop(stencils(2), "s2.y", step)
    p = sl.compute_at(sl.compute_at(p, "s1", "for y"), "add", "for y")
    p = sl.slide_window(sl.store_at(p, "alloc b0", "for y"), "s1", "for y")
    return sl.lift_alloc(p, "alloc b0")


def test_a_buffer_that_has_grown_is_filled_from_the_first_window_on() -> None:
    """Three rows at a time, the added iterations reach further up than the first window, and than the input."""
    p = sl.slide_window(grown(3), "add", "for y")
    compare(stencils(2), p, *([b] for b in picture(6, 5, 2)))


def test_a_buffer_that_has_grown_is_not_filled() -> None:
    """Lifted out of a loop that starts earlier by now, a buffer has rows for which the input has none."""
    p, inputs = grown(1), picture(6, 5, 2)
    p.run(*inputs, checked=True)
    refused_as_wrong(
        lambda: sl.compute_root(p, "add"),
        r"not shown that add finds all of inp\[",
        *inputs,
        error=sl.ExecutionError,
    )


# Outputs --------------------------------------------------------------------------------------------------------------


def test_a_loop_that_started_earlier_starts_no_later_for_an_output() -> None:
    """What slides needs iterations before the first element of `row`."""
    i, j = sl.variables("i j")
    inp, b, row, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "b", "row", "out"))
    sl.Func(same, [inp[i]], [b[i]], name="f")
    sl.Func(same, [inp[j]], [row[j]], name="weights")
    sl.Func(total, [b[sl.interval(x - 1, x + 1)], row[x]], [out[x]], name="g")
    plain = sl.split_loop(sl.build_pipeline([inp], [row, out]), "g.x", 1)
    p = sl.slide_window(sl.compute_at(plain, "f", "for x"), "f", "for x")
    p = sl.compute_at(p, "weights", "for x")
    for first in (0, -5):
        compare(plain, p, [line(-9, 9)], [zeros(4 - first, min=(first,)), zeros(4)])


def neighbours(read: Callable[[sl.BufferExpr], object], given: Sequence[str], **ends: sl.Expr) -> sl.Pipeline:
    """In a loop over x, from 0 on, `h` computes from what `f` computes, and `g` from that and what it reads of `row`.

    The calls named compute all up to these ends, the others an element in each iteration.
    """
    i, j, k = sl.variables("i j k")
    inp, b, c, row, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "b", "c", "row", "out"))
    sl.Func(fill, [], [b[i]], name="f")
    sl.Func(same, [b[k]], [c[k]], name="h")
    sl.Func(same, [inp[j]], [row[j]], name="weights")
    sl.Func(total, [c[x], read(row)], [out[x]], name="g")
    outputs = [o for o in (row, out) if o.name in given]
    p = sl.build_pipeline([inp], outputs, require=[sl.equal(out.dim(0).min, 0)])
    p = sl.compute_at(sl.compute_at(sl.split_loop(p, "g.x", 1), "h", "for x"), "f", "for x")
    p = p if "row" in given else sl.compute_at(p, "weights", "for x")
    around = p.find("for x")._loop
    boxes = {name: (Interval(around.variable, end),) for name, end in ends.items()}
    body = [attrs.evolve(s, box=boxes.get(s.func.name, s.box)) for s in around.body]
    return handmade(p.program, *statements(p)[:-1], attrs.evolve(around, body=tuple(body)))


@pytest.mark.parametrize("row_is_output", [True, False])
def test_neighbours_fill_a_window_more_than_full(row_is_output: bool) -> None:
    """From 0 on `f` and `h` compute an element at a time; in the iterations before, several. These are added to compute
    all of `row`, an output, or where it slides."""
    end = sl.maximum(x, -2 * x)
    if row_is_output:
        p = neighbours(lambda row: row[x], ["row", "out"], f=end, h=end)
    else:
        p = neighbours(lambda row: row[sl.interval(x - 1, x + 1)], ["out"], f=end, h=end)
    p = sl.fold_storage(p, "alloc b", 0, 1)
    inputs = numbers(8, min=(-3,)), *([zeros(6, min=(-2,))] if row_is_output else []), zeros(4)
    p.run(*inputs, checked=True)
    refused_as_wrong(
        lambda: sl.compute_at(p, "weights", "for x") if row_is_output else sl.slide_window(p, "weights", "for x"),
        "a fold of 1 ",
        *inputs,
        error=sl.OverwrittenReadError,
    )


def test_a_neighbour_that_computes_but_its_first_element_is_not_idle() -> None:
    """In the iteration before 0, `h` would compute element 0 already, and `f` has not."""
    p = neighbours(lambda row: row[sl.interval(x, x + 1)], ["out"], h=sl.maximum(x, -x - 1))
    inputs = numbers(8, min=(-3,)), zeros(4)
    p.run(*inputs, checked=True)
    refused_as_wrong(
        lambda: sl.slide_window(p, "weights", "for x"),
        r"h does not find all of b\[|not shown that h finds all of b\[",
        *inputs,
        error=sl.UninitializedReadError,
    )


def test_a_loop_that_would_not_run_does_for_an_output() -> None:
    """Nothing reads the two elements of `row` where `out` is empty."""
    p = with_row(lambda row: row[sl.interval(x - 1, x + 1)])
    compare(p, sl.compute_at(p, "weights", "for x"), [line(0, 9)], [zeros(2, min=(8,)), zeros(0, min=(9,))])


def window(read: Interval, *, row_is_output: bool) -> sl.Pipeline:
    """What reads a window of `row`, in a loop over x."""
    j = sl.variables("j")[0]
    inp, row, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "row", "out"))
    sl.Func(same, [inp[j]], [row[j]], name="weights")
    sl.Func(total, [row[read]], [out[x]], name="g")
    return sl.split_loop(sl.build_pipeline([inp], [row, out] if row_is_output else [out]), "g.x", 1)


BENT = [sl.interval(at - 1, at + 1) for at in (x // 2 + x // 3, x + x // 2)]


@pytest.mark.parametrize("read", BENT)
def test_an_output_whose_end_is_no_line_upwards(read: Interval) -> None:
    """Which iterations it takes is not found out: that is a refusal, and nothing else."""
    with pytest.raises(sl.SchedulingError, match="it is not clear which iterations of loop x"):
        sl.compute_at(window(read, row_is_output=True), "weights", "for x")


def test_a_window_whose_end_is_no_line() -> None:
    """The number of iterations that one part asks for may be enough, or not; where that is not shown, the first one
    produces what is missing."""
    p = sl.compute_at(window(BENT[0], row_is_output=False), "weights", "for x")
    for settings in ({}, {"warmup": "first"}):
        compare(p, sl.slide_window(p, "weights", "for x", **settings), [line(-9, 20)], [zeros(6)])
    p = sl.compute_at(window(BENT[1], row_is_output=False), "weights", "for x")
    compare(p, sl.slide_window(p, "weights", "for x"), [line(-9, 20)], [zeros(6)])


def test_a_loop_inside_whose_end_depends_on_one_that_is_extended() -> None:
    """It would end elsewhere in the iterations that are added."""
    p = sl.compute_at(sl.split_loop(stencils(1), "s1.y", 1), "add", "for y")
    around = p.find("for y")._loop
    add, s1 = around.body
    again = loop(variable("again"), around.range.min, around.variable, s1)
    p = handmade(p.program, *statements(p)[:-1], attrs.evolve(around, body=(add, again)))
    with pytest.raises(sl.SchedulingError, match="the range of loop again depends on loop y"):
        sl.slide_window(p, "add", "for y")


def test_an_output_of_which_less_is_read_in_each_iteration() -> None:
    """Later iterations would produce no more of it."""
    w, i = sl.variables("w i")
    inp, wide, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "wide", "out"))
    sl.Func(same, [inp[i]], [wide[i]], name="wide_func")
    sl.Func(total, [wide[w], wide[5 - w]], [out[w]], name="join")
    required = [out.dim(0).min >= 0, out.dim(0).max <= 2]
    p = sl.split_loop(sl.build_pipeline([inp], [wide, out], require=required), "join.w", 1)
    with pytest.raises(sl.SchedulingError, match="it is not clear which iterations of loop w"):
        sl.compute_at(p, "wide_func", "for w")


def test_an_output_of_which_a_diagonal_is_read() -> None:
    """No iterations more would produce the rest."""
    i, j = sl.variables("i j")
    inp, square, out = (sl.BufferExpr(name, np.int32, rank) for name, rank in (("inp", 2), ("square", 2), ("out", 1)))
    sl.Func(same, [inp[i, j]], [square[i, j]], name="f")
    sl.Func(total, [square[x, x]], [out[x]], name="g")
    p = sl.split_loop(sl.build_pipeline([inp], [square, out]), "g.x", 1)
    with pytest.raises(sl.SchedulingError, match="it is not clear which iterations of loop x would produce all of it"):
        sl.compute_at(p, "f", "for x")


def test_a_loop_that_never_ran_reads_nothing_outside_once_it_does() -> None:
    """Of what never runs, anything can be proved. The window that slides makes an iteration, which must be right."""
    y, x = sl.variables("y x")
    a, b = (sl.BufferExpr(name, np.int64, 2) for name in "ab")
    sl.Func(lambda s, o: np.add(s[:, :-1], s[:, 1:], out=o), [a[y, sl.interval(x - 1, x)]], [b[y, x]], name="add")
    p, (_, nothing) = sl.cut_call(sl.build_pipeline([a], [b]), "add.x", b.dim(1).max + 1, rc=True)
    p, (loop, _, _) = sl.split_loop(p, p.forward(nothing).dims()[1], 1, rc=True)
    whole = [sl.interval(a.dim(d).min, a.dim(d).max) for d in (0, 1)]
    p, made = sl.stage_buffer(p, p.forward(loop).as_block(), "a", whole, rc=True)
    p = sl.align_dim(p, made.alloc, "y", 4, a.dim(0).min)
    with pytest.raises(sl.SchedulingError, match="not shown that load finds all of a"):
        sl.slide_window(sl.compute_at(p, made.load, loop), made.load, loop)
