"""Every check of legality is there for a program that would be wrong without it.

Each case is a rewrite that is refused. Made with no check at all, the same rewrite gives a program that checked mode
finds wrong: it reads what is not there, leaves out elements of an output, or races.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from handmade import mode, over
from judge_hook import resting
from scheduled import Array, add_1, compare, line, picture, signal, stencil, stencils
from second_judge import WrongRewriteError

import slinky as sl
from slinky.ir.scopes import leading_checks
from slinky.ir.statements import Alloc, Call, For, Program, Serial, Statement, fresh_identity
from slinky.sched import gate
from slinky.sched.legality.sweeps import furthest_end
from slinky.sched.primitives import storage
from slinky.symbolic.expressions import Expr, as_expr, maximum, metadata, minimum, scalar, variable
from slinky.symbolic.intervals import Interval
from slinky.symbolic.traversal import evaluate

y, x = sl.variables("y x")

Run = Callable[[sl.Pipeline], object]


def unchecked(rewrite: Callable[[], sl.Pipeline]) -> sl.Pipeline:
    """What a rewrite makes if nothing checks what it makes."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (gate, storage):
            for name in vars(module):
                if name.startswith("check_"):
                    patch.setattr(module, name, lambda *_, **__: ())
        return rewrite()


def refused_as_wrong(
    rewrite: Callable[[], sl.Pipeline], reason: str, *arguments: object, error: type[Exception]
) -> None:
    """Check that a rewrite is refused, and that what it would have made is found wrong by the second judge, and fails
    with this error in checked mode."""
    refused_as_wrong_on_these(rewrite, reason, *arguments, error=error)
    with pytest.raises(WrongRewriteError):
        unchecked(rewrite)


def refused_as_wrong_on_these(
    rewrite: Callable[[], sl.Pipeline], reason: str, *arguments: object, error: type[Exception]
) -> None:
    """Check that a rewrite is refused, and that what it would have made fails with this error in checked mode; on these
    arguments, but not on those that the second judge tries."""
    with pytest.raises(sl.SchedulingError, match=reason):
        rewrite()
    with resting():
        wrong = unchecked(rewrite)
    with pytest.raises(error):
        wrong.run(*arguments, checked=True, threads=1)


def zeros(*shape: int, min: Sequence[int] | None = None, dtype: Any = np.int32) -> sl.Buffer:
    """An output."""
    return sl.Buffer(np.zeros(shape, dtype), min=tuple(min) if min is not None else (0,) * len(shape))


def numbers(*shape: int, min: Sequence[int] | None = None) -> sl.Buffer:
    """An input."""
    values = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    return sl.Buffer(values, min=tuple(min) if min is not None else (0,) * len(shape))


def total(*arrays: Array) -> None:
    """Every element is the sum of all that is read."""
    *sources, target = arrays
    target[...] = sum(int(source.sum()) for source in sources)


def same(source: Array, target: Array) -> None:
    """The same values."""
    target[...] = source


# Races ----------------------------------------------------------------------------------------------------------------


def test_a_parallel_loop_whose_pieces_shift() -> None:
    """The last piece does again what the one before it does at the same time."""
    p = sl.parallelize_loop(sl.split_loop(stencil(), "stencil.y", 1), "for y")
    refused_as_wrong(
        lambda: sl.split_loop(p, "for y", 4, tail="shift"),
        "iterations of loop y_outer write the same elements of out",
        *picture(6, 5, 1),
        error=sl.RaceError,
    )


def test_sliding_lets_a_neighbour_compute_more() -> None:
    """What `wide` computes shrinks from both sides, so it is more in the iterations that are added for `narrow`: there
    it reaches into what the next iteration of the parallel loop computes."""
    t, w, i, j = sl.variables("t w i j")
    inp, wide, narrow, out = (sl.BufferExpr(name, np.int32, rank) for name, rank in
                              (("inp", 1), ("wide", 1), ("narrow", 1), ("out", 2)))  # fmt: skip
    sl.Func(same, [inp[i]], [wide[i]], name="wide_func")
    sl.Func(same, [inp[j]], [narrow[j]], name="narrow_func")
    reads = [wide[6 * t + w], wide[6 * t + 5 - w], narrow[sl.interval(w - 1, w + 1)]]
    sl.Func(total, reads, [out[t, w]], name="join")
    p = sl.build_pipeline([inp], [out], require=[out.dim(1).min >= 0, out.dim(1).max <= 2])
    p = sl.split_loop(sl.split_loop(p, "join.t", 1), "join.w", 1)
    p = sl.compute_at(p, "wide_func", "for w")
    p = sl.compute_at(p, "narrow_func", "for w")
    p = sl.store_at(p, "alloc narrow", "for t")
    p = sl.parallelize_loop(p, "for t")
    inputs = numbers(40, min=(-5,)), zeros(3, 2)
    p.run(*inputs, checked=True)
    refused_as_wrong(
        lambda: sl.slide_window(p, "narrow_func", "for w"),
        "iterations of loop t write the same elements of wide",
        *inputs,
        error=sl.RaceError,
    )


def diagonal() -> sl.Pipeline:
    """A func that reads along diagonals what is computed for each element anew."""
    i, *_ = sl.variables("i")
    inp, b, out = (sl.BufferExpr(name, np.int32, rank) for name, rank in (("inp", 1), ("b", 1), ("out", 2)))
    sl.Func(same, [inp[i]], [b[i]], name="f")
    sl.Func(total, [b[x + y]], [out[y, x]], name="g")
    p = sl.build_pipeline([inp], [out])
    return sl.compute_at(sl.split_loop(sl.split_loop(p, "g.y", 1), "g.x", 1), "f", "for x")


def test_a_parallel_loop_that_becomes_the_outer_one() -> None:
    """In one row, iterations over x write different elements of b, in different rows the same ones."""
    p = sl.parallelize_loop(diagonal(), "for x")
    inputs = numbers(9), zeros(3, 4)
    p.run(*inputs, checked=True, threads=1)
    refused_as_wrong(lambda: sl.reorder_loops(p, "for y"), "loop x write the same", *inputs, error=sl.RaceError)


def test_a_producer_in_a_serial_loop_of_a_parallel_one() -> None:
    """Of the loops around a call, one further out may race."""
    i = sl.variables("i")[0]
    inp, b, out = (sl.BufferExpr(name, np.int32, rank) for name, rank in (("inp", 1), ("b", 1), ("out", 2)))
    sl.Func(same, [inp[i]], [b[i]], name="f")
    sl.Func(total, [b[x + y]], [out[y, x]], name="g")
    p = sl.split_loop(sl.split_loop(sl.build_pipeline([inp], [out]), "g.y", 1), "g.x", 1)
    p = sl.parallelize_loop(p, "for y")
    refused_as_wrong(
        lambda: sl.compute_at(p, "f", "for x"),
        "iterations of loop y write the same elements of b",
        numbers(9),
        zeros(3, 4),
        error=sl.RaceError,
    )


def test_beginnings_that_move_back() -> None:
    """Iterations 0, 1 and 2 write 0..5, nothing (6..2), and 3..8. Each ends before the next one begins, and yet the
    first and the last write the same elements."""
    i = sl.variables("i")[0]
    inp, out = sl.BufferExpr("inp", np.int32, 1), sl.BufferExpr("out", np.int32, 1)
    sl.Func(same, [inp[i]], [out[i]], name="f")
    plain = sl.build_pipeline([inp], [out]).program
    call, t, w = calls(plain)["f"], variable("t"), variable("w")
    first, last = sl.minimum(6 * t, 9 - 3 * t), sl.maximum(5 - 3 * t, 6 * t - 4)
    p = handmade(plain, loop(t, 0, 2, loop(w, first, last, over(call, (Interval(w, w),)))))
    inputs = numbers(9), zeros(9)
    p.run(*inputs, checked=True)
    refused_as_wrong(
        lambda: sl.parallelize_loop(p, "for t"), "iterations of loop t write the same", *inputs, error=sl.RaceError
    )


# Folds ----------------------------------------------------------------------------------------------------------------


def slid_twice() -> sl.Pipeline:
    """The stencil, each element of its producer computed once in a nest of loops over rows and columns."""
    p = sl.split_loop(sl.split_loop(stencil(), "stencil.y", 1), "stencil.x", 1)
    p = sl.compute_at(p, "add", "for x")
    return sl.slide_window(sl.slide_window(p, "add", "for x"), "add", "for y")


def test_loops_that_swap_around_a_fold() -> None:
    """By columns, a window of three rows no longer holds what the next column reads."""
    plain, p = stencil(), slid_twice()
    compare(plain, sl.reorder_loops(p, "for y"), *([b] for b in picture(6, 5, 1)))
    folded = sl.fold_storage(p, "alloc intm", "y")
    refused_as_wrong(
        lambda: sl.reorder_loops(folded, "for y"), "fold", *picture(6, 5, 1), error=sl.OverwrittenReadError
    )


def chain_by_elements() -> sl.Pipeline:
    """Two stencils one after the other, the second one element by element."""
    return sl.split_loop(sl.split_loop(stencils(2), "s2.y", 1), "s2.x", 1)


def test_loops_that_swap_around_the_second_of_two_buffers() -> None:
    """What the calls read first has no fold, what they write has one."""
    p = sl.compute_at(chain_by_elements(), "s1", "for x")
    p = sl.slide_window(sl.slide_window(p, "s1", "for x"), "s1", "for y")
    p = sl.fold_storage(p, "alloc b1", "y")
    refused_as_wrong(lambda: sl.reorder_loops(p, "for y"), "fold", *picture(6, 5, 2), error=sl.OverwrittenReadError)


def test_a_call_that_reads_more_of_a_fold_where_it_goes() -> None:
    """Anew for each element, s1 reads rows that the window, made for one new row of it, has let go of."""
    p = sl.compute_at(sl.compute_at(chain_by_elements(), "s1", "for y"), "add", "for y")
    p = sl.slide_window(sl.slide_window(p, "s1", "for y"), "add", "for y")
    p = sl.fold_storage(p, "alloc b0", "y")
    refused_as_wrong(lambda: sl.compute_at(p, "s1", "for x"), "fold", *picture(6, 5, 2), error=sl.OverwrittenReadError)


def test_pieces_of_a_loop_that_shift_over_a_fold() -> None:
    """The last piece starts with rows of which the fold keeps nothing any more."""
    p = sl.compute_at(sl.split_loop(stencil(), "stencil.y", 1), "add", "for y")
    p = sl.fold_storage(sl.slide_window(p, "add", "for y"), "alloc intm", "y")
    refused_as_wrong(
        lambda: sl.split_loop(p, "for y", 4, tail="shift"),
        "fold",
        *picture(7, 5, 1),
        error=sl.OverwrittenReadError,
    )


def test_a_fold_goes_where_its_buffer_goes() -> None:
    """A window of rows in tiles of columns: lifted out of the tiles, it still holds what is live; and sunk again."""
    plain = stencil()
    p = sl.split_loop(sl.split_loop(plain, "stencil.x", 4, names="tile"), "stencil.y", 1)
    p = sl.store_at(sl.compute_at(p, "add", "for y"), "alloc intm", "for tile")
    folded = sl.fold_storage(sl.slide_window(p, "add", "for y"), "alloc intm", "y")
    lifted = sl.lift_alloc(folded, "alloc intm")
    sunk = sl.store_at(lifted, "alloc intm", "for tile")
    for size in ((6, 11), (2, 4), (0, 3)):
        images = [[b] for b in picture(*size, 1)]
        _, before = compare(plain, folded, *images)
        _, outside = compare(plain, lifted, *images)
        assert compare(plain, sunk, *images)[1] == before
        assert outside.elements == before.elements
        assert outside.program_bytes <= 3 * (size[1] + 2) * 2
    assert str(sunk) == str(folded)


def test_a_fold_that_depends_on_the_loop_stays_in_it() -> None:
    p = sl.split_loop(sl.split_loop(stencil(), "stencil.x", 4, names="tile"), "stencil.y", 1)
    p = sl.store_at(sl.compute_at(p, "add", "for y"), "alloc intm", "for tile")
    tile = variable("tile")
    p = sl.fold_storage(p, "alloc intm", "y", tile - p.find("for tile").bounds().min + 3)
    with pytest.raises(sl.SchedulingError, match="the fold of intm depends on loop tile"):
        sl.lift_alloc(p, "alloc intm")


def test_a_fold_that_is_positive_in_its_loop_alone_is_lifted() -> None:
    """Where there are no columns, a multiple of how many there are is no fold; no tile of columns runs then."""
    out = sl.BufferExpr("out", np.int16, 2)
    p = sl.split_loop(sl.split_loop(stencil(), "stencil.x", 4, names="tile"), "stencil.y", 1)
    p = sl.store_at(sl.compute_at(p, "add", "for y"), "alloc intm", "for tile")
    folded = sl.fold_storage(p, "alloc intm", "y", 3 * out.dim(1).extent)
    lifted = sl.lift_alloc(folded, "alloc intm")
    for size in ((6, 5), (3, 0)):
        images = [[b] for b in picture(*size, 1)]
        compare(stencil(), folded, *images)
        compare(stencil(), lifted, *images)


def test_a_buffer_that_is_lifted_keeps_cutting_off_what_it_cut_off() -> None:
    """A call that asks for eleven rows writes the three that the buffer has, in the loop as well as outside of it."""
    program = stencil().program
    found, row = calls(program), variable("row")
    add, apply = found["add"], found["stencil"]
    columns = add.box[1]
    alloc = attrs.evolve(
        next(s for s in program.body if isinstance(s, Alloc)), box=(Interval(row - 1, row + 1), columns)
    )
    body = (alloc, over(add, (Interval(row - 5, row + 5), columns)))
    body = (*body, over(apply, (Interval(row, row), apply.box[1])))
    p = handmade(program, loop(row, low("out", 0), high("out", 0), *body))
    _, before = compare(stencil(), p, *([b] for b in picture(6, 5, 1)))
    _, after = compare(stencil(), sl.lift_alloc(p, "alloc intm"), *([b] for b in picture(6, 5, 1)))
    assert before.elements == after.elements == {"add": 6 * 3 * 7, "stencil": 6 * 5}


def test_a_fold_in_a_parallel_loop() -> None:
    """Iterations that have an element each would share its place."""
    p = sl.compute_at(sl.split_loop(signal(0, 0), "f1.x", 1), "f0", "for x")
    p = sl.parallelize_loop(p, "for x", 1)
    inputs = line(0, 5), zeros(6)
    p.run(*inputs, checked=True)
    refused_as_wrong(lambda: sl.fold_storage(p, "alloc b0", "x", 1), "parallel", *inputs, error=sl.RaceError)


# Coverage -------------------------------------------------------------------------------------------------------------


def with_row(read: Callable[[sl.BufferExpr], object], **settings: Any) -> sl.Pipeline:
    """Rows of weights, an output as well, that all elements of another output read; in a loop over these."""
    i = sl.variables("i")[0]
    inp, row, out = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "row", "out"))
    sl.Func(same, [inp[i]], [row[i]], name="weights")
    sl.Func(total, [read(row)], [out[x]], name="apply")
    return sl.split_loop(sl.build_pipeline([inp], [row, out], **settings), "apply.x", 1)


def test_what_is_read_of_an_output_has_been_written() -> None:
    """Unlike an input, it holds nothing before."""
    a, b, c = (sl.BufferExpr(name, np.int32, 1) for name in "abc")
    sl.Func(same, [a[x]], [b[x]], name="first")
    sl.Func(same, [b[x]], [c[x]], name="second")
    p = sl.build_pipeline([a], [b, c])
    refused_as_wrong(
        lambda: sl.reorder_statements(p, p.find("first").expand(after=1)),
        r"second does not find all of b\[",
        numbers(4),
        zeros(4),
        zeros(4),
        error=sl.UninitializedReadError,
    )


def test_a_loop_that_may_not_run_writes_nothing() -> None:
    p = with_row(lambda row: row[sl.interval(0, 3)])
    refused_as_wrong(
        lambda: sl.compute_at(p, "weights", "for x"),
        "not shown that all of output row is written",
        numbers(4),
        zeros(4),
        zeros(0),
        error=sl.UninitializedReadError,
    )


def test_a_loop_that_runs_writes() -> None:
    """The same where the pipeline takes no empty output."""
    out = sl.BufferExpr("out", np.int32, 1)
    plain = with_row(lambda row: row[sl.interval(0, 3)], require=[out.dim(0).extent >= 1])
    compare(plain, sl.compute_at(plain, "weights", "for x"), [line(0, 3)], [zeros(4), zeros(2)])


def test_what_lies_between_the_elements_that_are_read() -> None:
    """Every second element of an output is read: computed where it is read, the others would be left out."""
    p = with_row(lambda row: row[2 * x])
    refused_as_wrong(
        lambda: sl.compute_at(p, "weights", "for x"),
        "not shown that all of output row is written",
        numbers(7),
        zeros(7),
        zeros(4),
        error=sl.UninitializedReadError,
    )
    p = with_row(lambda row: row[sl.interval(2 * x, 2 * x + 1)])
    compare(p, sl.compute_at(p, "weights", "for x"), [line(0, 7)], [zeros(8), zeros(4)])


def test_loops_that_swap_around_what_the_next_column_wrote() -> None:
    """An element reads the one above and to the right: by rows that was written before, by columns it comes later."""
    inp, b, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "b", "out"))
    sl.Func(add_1, [inp[y, x]], [b[y, x]], name="f")
    sl.Func(same, [b[y - 1, x + 1]], [out[y, x]], name="g")
    plain = sl.build_pipeline([inp], [out]).program
    found, rows, columns = calls(plain), variable("row"), variable("column")
    box = (Interval(rows, rows), Interval(columns, columns))
    inner = loop(columns, low("out", 1), high("out", 1) + 1, over(found["f"], box), over(found["g"], box))
    alloc = next(s for s in plain.body if isinstance(s, Alloc))
    p = handmade(plain, alloc, loop(rows, low("out", 0) - 1, high("out", 0), inner))
    inputs = numbers(4, 6, min=(-1, 0)), zeros(3, 4)
    p.run(*inputs, checked=True)
    refused_as_wrong(
        lambda: sl.reorder_loops(p, "for row"), "g does not find", *inputs, error=sl.UninitializedReadError
    )


def test_loops_that_swap_around_the_second_output_of_a_call() -> None:
    """The same with a func of two outputs, of which the first is read where it is written."""
    inp, a, b, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "a", "b", "out"))

    def twice(source: Array, one: Array, other: Array) -> None:
        one[...] = other[...] = source

    sl.Func(twice, [inp[y, x]], [a[y, x], b[y, x]], name="f")
    sl.Func(total, [a[y, x], b[y - 1, x + 1]], [out[y, x]], name="g")
    plain = sl.build_pipeline([inp], [out]).program
    found, rows, columns = calls(plain), variable("row"), variable("column")
    box = (Interval(rows, rows), Interval(columns, columns))
    inner = loop(columns, low("out", 1), high("out", 1) + 1, over(found["f"], box), over(found["g"], box))
    allocs = [s for s in plain.body if isinstance(s, Alloc)]
    p = handmade(plain, *allocs, loop(rows, low("out", 0) - 1, high("out", 0), inner))
    inputs = numbers(4, 6, min=(-1, 0)), zeros(3, 4)
    p.run(*inputs, checked=True)
    refused_as_wrong(
        lambda: sl.reorder_loops(p, "for row"), r"g does not find all of b\[", *inputs, error=sl.UninitializedReadError
    )


def test_a_window_that_slides_over_other_columns_in_each_row() -> None:
    """Row y has columns from y to y + 3, so the rows before it have not produced the last of what it reads."""
    program = stencil().program
    found = calls(program)
    row, column = variable("row"), variable("column")
    columns = found["add"].box[1]
    alloc = next(s for s in program.body if isinstance(s, Alloc))
    add = over(found["add"], (Interval(row - 1, row + 1), Interval(column - 1, column + 1)))
    apply = over(found["stencil"], (Interval(row, row), Interval(column, column)))
    before = loop(row, low("out", 0), high("out", 0), over(apply, (Interval(row, row), found["stencil"].box[1])))
    whole = over(found["add"], (Interval(low("out", 0) - 1, high("out", 0) + 1), columns))
    again = attrs.evolve(alloc)
    inner = loop(column, row, row + 3, add, apply)
    p = handmade(
        program,
        loop(variable("first"), 0, 0, alloc, whole, before),
        loop(variable("then"), 0, 0, attrs.evolve(again, id=fresh_identity()), loop(row, 0, 5, inner)),
    )
    inputs = picture(6, 9, 1)
    p.run(*inputs, checked=True)
    refused_as_wrong_on_these(
        lambda: sl.slide_window(p, p.find("add #1"), p.find("for row #1"), warmup="first"),
        r"stencil does not find all of intm\[",
        *inputs,
        error=sl.UninitializedReadError,
    )


def test_an_output_that_slides_over_other_columns_in_each_row() -> None:
    """The second iteration over rows has one column more than the first, also of the rows that the first produced."""
    inp, out = sl.BufferExpr("inp", np.int32, 2), sl.BufferExpr("out", np.int32, 2)
    sl.Func(same, [inp[y, x]], [out[y, x]], name="f")
    plain = sl.build_pipeline([inp], [out]).program
    row, column = variable("row"), variable("column")
    call = over(calls(plain)["f"], (Interval(row - 1, row + 1), Interval(column - 1, column + 1)))
    p = handmade(plain, loop(row, 0, 1, loop(column, row, row + 3, call)))
    inputs = numbers(3, 6), zeros(3, 6)
    p.run(*inputs, checked=True)
    refused_as_wrong(
        lambda: sl.slide_window(p, "f", "for row", warmup="first"),
        "all of output out is written",
        *inputs,
        error=sl.UninitializedReadError,
    )


def test_what_an_outer_loop_wrote_in_columns_that_the_inner_one_had_not_come_to() -> None:
    """Row i has columns up to i, so that nothing has been written of the row above the last of them. (Before all is
    computed once more, in full.)"""
    i, j = sl.variables("i j")
    inp, t, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "t", "out"))
    first, last = out.dim(0).min, out.dim(0).max
    sl.Func(same, [inp[i, j]], [t[i, j]], name="make")
    sl.Func(total, [t[sl.interval(sl.maximum(i - 1, first), i), j]], [out[i, j]], name="join")
    p = sl.build_pipeline([inp], [out])
    make, join = (calls(p.program)[name] for name in ("make", "join"))
    row, column, left = variable("row"), variable("column"), low("out", 1)
    box = (Interval(row, row), Interval(column, column))

    def in_columns(right: Any) -> sl.Pipeline:
        edit = sl.edit(p)
        inner = loop(column, left, right, over(make, box), over(join, box))
        edit.insert(p.find("make").before(), loop(row, first, last, inner))
        return edit.finish()

    compare(p, in_columns(high("out", 1)), [numbers(3, 3)], [zeros(3, 3)])
    refused_as_wrong(
        lambda: in_columns(left + row - first),
        r"join does not find all of t\[",
        numbers(3, 3),
        zeros(3, 3),
        error=sl.UninitializedReadError,
    )


# Values ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sums_are_output", [False, True])
def test_sums_of_rows_are_sums_of_whole_rows(sums_are_output: bool) -> None:
    """A func that writes rows and their sums computes whole rows wherever it stands, also for a reader of columns."""
    inp, image, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "image", "out"))
    sums = sl.BufferExpr("sums", np.int32, 1)

    def both(source: Array, target: Array, row_sums: Array) -> None:
        target[...] = source
        row_sums[...] = source.sum(axis=1)

    def join(a: Array, b: Array, target: Array) -> None:
        target[...] = a + b[:, None]

    sl.Func(both, [inp[y, x]], [image[y, x], sums[y]], name="both")
    sl.Func(join, [image[y, x], sums[y]], [out[y, x]], name="join")
    plain = sl.build_pipeline([inp], [sums, out] if sums_are_output else [out])
    outputs = [zeros(5), zeros(3, 4)] if sums_are_output else [zeros(3, 4)]
    for dim in "xy":
        p = sl.compute_at(sl.split_loop(plain, f"join.{dim}", 2), "both", f"for {dim}")
        compare(plain, p, [numbers(5, 4)], outputs)
        if not sums_are_output:
            p = sl.store_at(sl.store_at(p, "alloc image", f"for {dim}"), "alloc sums", f"for {dim}")
            compare(plain, p, [numbers(5, 4)], outputs)


# Loops that depend on each other --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "first", "last", "step"),
    [("start", y, 5, 1), ("end", 0, y, 1), ("step", 0, 5, sl.maximum(y, 1))],
)
def test_an_inner_loop_that_depends_on_the_outer_one_stays_inside(what: str, first: Any, last: Any, step: Any) -> None:
    program = stencil().program
    box = (Interval(y, y), Interval(x, x))
    inner = loop(x, first, last, over(calls(program)["stencil"], box), step=step)
    rest = [s for s in program.body if isinstance(s, Alloc) or (isinstance(s, Call) and s.func.name == "add")]
    p = handmade(program, *rest, loop(y, low("out", 0), high("out", 0), inner))
    with pytest.raises(sl.SchedulingError, match=f"the {what} of loop x depends on loop y"):
        sl.reorder_loops(p, "for y")


def test_iterations_that_do_not_come_out_even() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 1)
    with pytest.raises(sl.SchedulingError, match="not shown that the pieces come out even"):
        sl.split_loop(p, "for y", 4, tail="perfect")
    out = sl.BufferExpr("out", np.int16, 2)
    even = sl.split_loop(stencil(require=[sl.equal(out.dim(0).extent % 4, 0)]), "stencil.y", 1)
    compare(stencil(), sl.split_loop(even, "for y", 4, tail="perfect"), *([b] for b in picture(8, 5, 1)))


# Programs made by hand ------------------------------------------------------------------------------------------------


def calls(program: Program) -> dict[str, Call]:
    """The calls of a program, by func."""
    return {s.func.name: s for s in program.body if isinstance(s, Call)}


def low(name: str, dim: int) -> Any:
    """The first coordinate of an input or output."""
    return metadata(name, dim, "min")


def high(name: str, dim: int) -> Any:
    """The last coordinate of an input or output."""
    return metadata(name, dim, "max")


def loop(v: Any, first: Any, last: Any, *body: Statement, step: Any = 1, workers: int | None = None) -> For:
    """A loop."""
    return For(v, Interval(first, last), as_expr(step), mode(workers), body)


def handmade(program: Program, *body: Statement) -> sl.Pipeline:
    """A program with another body, which is well formed."""
    p = sl.Pipeline(attrs.evolve(program, body=(*leading_checks(program), *body)))
    p.verify()
    return p


V, LAST = variable("v"), scalar("last")


@pytest.mark.parametrize(
    "end",
    [V + 3, 2 - V, minimum(V + 1, 4), minimum(5 - V, 2 * V), minimum(V // 2, V), minimum(maximum(V, 3 - V), V + 2)],
    ids=str,
)
def test_an_end_with_what_it_keeps_to_in_a_loop_is_where_it_was(end: Expr) -> None:
    """What moves back, or neither way, keeps to nothing because the loop ends."""
    loop = For(V, Interval(as_expr(-4), LAST), as_expr(1), Serial(), ())
    for last in range(-4, 8):
        for v in range(-4, last + 1):
            values: dict[Expr, int] = {V: v, LAST: last}
            assert evaluate(furthest_end(end, loop), values) == evaluate(end, values)
