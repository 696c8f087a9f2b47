"""Rewrites written outside of slinky, with `sl.edit` and public names alone: the gate refuses what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

import slinky as sl
from slinky import ir
from slinky.symbolic import variable

y, x = sl.variables("y x")


@sl.sched_op("loop")
def fuse_loops(p: sl.Pipeline, first: sl.LoopCursor, second: sl.LoopCursor) -> Any:
    """Two loops become one over the hull of their ranges. Each body runs where it ran.

    Cursors:
        loop: the loop.
    """
    edit = sl.edit(p)
    a, b = edit.statement(first), edit.statement(second)
    hull = sl.interval(sl.minimum(a.range.min, b.range.min), sl.maximum(a.range.max, b.range.max))
    bodies = (a.range, a.body), (b.range, ir.substitute_block(b.body, {b.variable: a.variable}))
    body = []
    for range_, block in bodies:
        inside = (range_.min <= a.variable) & (a.variable <= range_.max)
        body += block if range_ == hull else [ir.If(inside, block)]
    edit.merge(first, second, ir.with_body(ir.with_range(a, hull), tuple(body)))
    return edit.finish(), (first,)


def rows(source: np.ndarray, target: np.ndarray) -> None:
    """The sum of three rows."""
    target[...] = source[:-2] + source[1:-1] + source[2:]


def two_outputs(*, ahead: int = 0) -> sl.Pipeline:
    """`t = -inp; a = rows(t); b = t * t`, with bounds that have nothing to do with each other."""
    inp, t, a, b = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "t", "a", "b"))
    sl.Func(np.negative, [inp[y, x]], [t[y, x]], name="make")
    sl.Func(rows, [t[sl.interval(y - 1, y + 1), x]], [a[y, x]], name="f")
    sl.Func(np.square, [t[y + ahead, x]], [b[y, x]], name="g")
    return sl.build_pipeline([inp], [a, b])


def chain() -> sl.Pipeline:
    """`t = -inp; a = rows(t)`."""
    inp, t, a = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "t", "a"))
    sl.Func(np.negative, [inp[y, x]], [t[y, x]], name="make")
    sl.Func(rows, [t[sl.interval(y - 1, y + 1), x]], [a[y, x]], name="f")
    return sl.build_pipeline([inp], [a])


def in_loops(p: sl.Pipeline, *funcs: str) -> sl.Pipeline:
    """Each func in a loop of its own over rows."""
    for func in funcs:
        p = sl.split_loop(p, f"{func}.y", 1)
    return p


SPANS = [((0, 5), (0, 5)), ((2, 9), (-3, 4)), ((0, 1), (20, 22)), ((0, -1), (3, 5))]


@pytest.mark.parametrize(("first", "second"), SPANS)
def test_two_outputs_in_one_loop(first: tuple[int, int], second: tuple[int, int]) -> None:
    """What no primitive of slinky does: an intermediate that two outputs share slides through both, and is folded."""
    p = in_loops(two_outputs(), "f", "g")
    p, (loop,) = fuse_loops(p, "for y", "for y #1", rc=True)
    p, at = sl.compute_at(p, "make", loop, rc=True)
    p = sl.slide_window(p, at.call, loop)
    p = sl.fold_storage(p, at.alloc, "y")
    assert str(p.forward(at.alloc).storage()) == "(<3>, None)"
    p.verify()
    source = np.arange(40.0 * 3).reshape(40, 3) % 17
    inp = sl.Buffer(source, min=(-8, 0))
    outs = [sl.Buffer(np.full((hi - lo + 1, 3), np.nan), min=(lo, 0)) for lo, hi in (first, second)]
    p.run(inp, *outs, checked=True)
    t = -source
    np.testing.assert_array_equal(outs[0].array, rows_of(t, first))
    np.testing.assert_array_equal(outs[1].array, t[second[0] + 8 : second[1] + 9] ** 2)


def rows_of(t: np.ndarray, span: tuple[int, int]) -> np.ndarray:
    """What `f` makes of t for rows from the first to the last."""
    return np.array([t[k + 7 : k + 10].sum(axis=0) for k in range(span[0], span[1] + 1)]).reshape(-1, 3)


def test_a_consumer_that_reads_ahead_cannot_be_fused_with_its_producer() -> None:
    p = in_loops(chain(), "make", "f")
    with pytest.raises(sl.SchedulingError, match=r"fuse_loops: f does not find all of t\["):
        fuse_loops(p, "for y", "for y #1")


def test_a_consumer_that_reads_behind_can_be_fused() -> None:
    inp, t, a = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "t", "a"))
    sl.Func(np.negative, [inp[y, x]], [t[y, x]], name="make")
    sl.Func(np.square, [t[y, x]], [a[y, x]], name="f")
    p = fuse_loops(in_loops(sl.build_pipeline([inp], [a]), "make", "f"), "for y", "for y #1")
    source, target = np.arange(12.0).reshape(4, 3), np.zeros((4, 3))
    p.run(source, target, checked=True)
    np.testing.assert_array_equal(target, source**2)


def test_a_loop_is_not_fused_with_one_inside_itself() -> None:
    p = sl.split_loop(in_loops(chain(), "f"), "f.x", 1)
    with pytest.raises(sl.OperationError, match="must not stand one in the other"):
        fuse_loops(p, "for y", "for x")


def test_a_name_is_not_captured() -> None:
    """`for y: for x` into `for x`: the loop inside gets another name, and the rows stay rows."""
    inp, a, b = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "a", "b"))
    sl.Func(np.negative, [inp[y, x]], [a[y, x]], name="f")
    sl.Func(np.square, [inp[y, x]], [b[y, x]], name="g")
    p = sl.build_pipeline([inp], [a, b])
    p = sl.split_loop(p, "f.y", 1, names="x")
    p = sl.split_loop(sl.split_loop(p, "g.y", 1), "g.x", 1)
    p = fuse_loops(p, "for x", "for y")
    assert "for x_1 in" in str(p)
    source, first, second = np.arange(12.0).reshape(4, 3), np.zeros((4, 3)), np.zeros((4, 3))
    p.run(source, first, second, checked=True)
    np.testing.assert_array_equal(first, -source)
    np.testing.assert_array_equal(second, source**2)


# What is wrong --------------------------------------------------------------------------------------------------------


def sharpen(source: np.ndarray, target: np.ndarray) -> None:
    """Something else than `rows`."""
    target[...] = 3 * source[1:-1] - source[:-2] - source[2:]


def with_another_func(edit: sl.Editor) -> None:
    call = edit.statement("f")
    other = attrs.evolve(call.func, operation=attrs.evolve(call.func.operation, function=sharpen))
    edit.replace("f", attrs.evolve(call, func=other))


def with_another_source(edit: sl.Editor) -> None:
    edit.replace("f", attrs.evolve(edit.statement("f"), reads=("inp",)))


def with_rows_left_out(edit: sl.Editor) -> None:
    loop = edit.statement("for y")
    edit.replace("for y", ir.with_range(loop, sl.interval(loop.range.min + 1, loop.range.max)))


def with_rows_computed_late(edit: sl.Editor) -> None:
    edit.move("make", sl.LoopCursor.after(edit.pipeline.find("for y")))


def with_the_alloc_behind_its_use(edit: sl.Editor) -> None:
    edit.move("alloc t", edit.pipeline.find("make").after())


def without_a_producer(edit: sl.Editor) -> None:
    edit.delete("make")


def without_a_check(edit: sl.Editor) -> None:
    edit.delete("check _")


def before_the_checks(edit: sl.Editor) -> None:
    edit.move("alloc t", edit.pipeline.find("check _").before())


def with_a_fold(edit: sl.Editor) -> None:
    alloc = edit.statement("alloc t")
    edit.replace("alloc t", ir.with_folds(alloc, (alloc.box[0].extent - 1, None)))


def with_a_fold_of_0(edit: sl.Editor) -> None:
    alloc = edit.statement("alloc t")
    edit.replace("alloc t", ir.with_folds(alloc, (alloc.box[0].extent * 0, None)))


def with_a_smaller_buffer(edit: sl.Editor) -> None:
    alloc = edit.statement("alloc t")
    short = sl.interval(alloc.box[0].min + 1, alloc.box[0].max)
    edit.replace("alloc t", ir.with_bounds(alloc, (short, alloc.box[1]), alloc.folds))


def with_a_step_of_0(edit: sl.Editor) -> None:
    loop = edit.statement("for y")
    edit.replace("for y", ir.with_range(loop, loop.range, loop.range.max - loop.range.min))


def under_a_condition(edit: sl.Editor) -> None:
    loop = edit.statement("for y")
    edit.wrap("f", lambda block: ir.If(loop.variable > loop.range.min, block))


def with_a_name_that_means_nothing(edit: sl.Editor) -> None:
    edit.substitute("f", {edit.statement("for y").variable: variable("z")})


def with_a_scalar_that_nobody_gives(edit: sl.Editor) -> None:
    edit.substitute("f", {edit.statement("for y").variable: sl.scalar("z")})


def in_a_loop_of_the_same_variable(edit: sl.Editor) -> None:
    loop = edit.statement("for y")
    edit.wrap("f", lambda block: ir.For(loop.variable, loop.range, loop.step, ir.SERIAL, block))


def with_a_loop_called_like_a_buffer(edit: sl.Editor) -> None:
    loop = edit.statement("for y")
    edit.wrap("f", lambda block: ir.For(variable("t"), loop.range, loop.step, ir.SERIAL, block))


def with_two_buffers_of_one_name(edit: sl.Editor) -> None:
    edit.insert(edit.pipeline.find("make").before(), attrs.evolve(edit.copy("alloc t")[0], buffer="t"))


def with_every_row_in_every_iteration(edit: sl.Editor) -> None:
    loop, call = edit.statement("for y"), edit.statement("f")
    edit.replace("f", ir.with_interval(call, 0, loop.range))
    edit.replace("for y", ir.with_mode(edit.statement("for y"), ir.Parallel()))


WRONG: dict[Callable[[sl.Editor], None], str] = {
    with_another_func: r"f\(t\) would give a other values; it is produced by another func that is called f",
    with_another_source: r"f\(inp\) would give a other values; it is produced by f\(t\)",
    with_rows_left_out: "not all of output a is written",
    with_rows_computed_late: "f does not find all of t",
    with_the_alloc_behind_its_use: "t is not allocated here",
    without_a_producer: "f does not find all of t",
    without_a_check: "a check must stay as it is, where it is",
    before_the_checks: "a check must stay as it is, where it is",
    with_a_fold: r"a fold of .* does not hold all that is live of t\.y|the fold of t\.y is 1 or more",
    with_a_fold_of_0: r"the fold of t\.y is less than 1",
    with_a_smaller_buffer: "f does not find all of t",
    with_a_step_of_0: "not shown that the step of loop y is 1 or more",
    under_a_condition: "not all of output a is written",
    with_a_name_that_means_nothing: "z means nothing here",
    with_a_scalar_that_nobody_gives: "z means nothing here",
    in_a_loop_of_the_same_variable: "an enclosing loop has the variable y, too",
    with_a_loop_called_like_a_buffer: "the name 't' of a loop means something else already",
    with_two_buffers_of_one_name: "another buffer called t is in scope",
    with_every_row_in_every_iteration: "iterations of loop y write the same elements of a",
}


@pytest.mark.parametrize("change", WRONG, ids=lambda change: change.__name__)
def test_what_is_wrong_is_refused(change: Callable[[sl.Editor], None]) -> None:
    p = in_loops(chain(), "f")
    before = str(p)
    edit = sl.edit(p)
    change(edit)
    with pytest.raises(sl.SchedulingError, match=WRONG[change]):
        edit.finish()
    assert str(p) == before


def test_a_refused_edit_can_be_mended() -> None:
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    with_rows_left_out(edit)
    with pytest.raises(sl.SchedulingError) as refused:
        edit.finish()
    text = str(refused.value)
    loop = edit.statement("for y")
    edit.replace("for y", ir.with_range(loop, p.find("for y").bounds()))
    assert edit.finish().same_program(p)
    assert str(refused.value) == text
    with pytest.raises(sl.PatternError):
        edit.delete("for z")


# Places ---------------------------------------------------------------------------------------------------------------


def test_verbs_ask_for_places() -> None:
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    call, alloc = edit.statement("f"), p.find("alloc t")
    with pytest.raises(sl.OperationError, match="stands somewhere already"):
        edit.insert(p.find("for y").after(), call)
    with pytest.raises(sl.OperationError, match="expected a gap, such as"):
        edit.insert("for y", ir.Pass())  # type: ignore[arg-type]
    with pytest.raises(sl.OperationError, match="expected a statement of slinky"):
        edit.replace("f", "g")  # type: ignore[arg-type]
    with pytest.raises(sl.OperationError, match="inside or beside itself"):
        edit.move("for y", p.find("f").after())
    with pytest.raises(sl.OperationError, match="cannot add checks"):
        edit.insert(p.find("for y").after(), ir.Check(sl.scalar("n") >= 0, "n"))
    with pytest.raises(sl.OperationError, match="expected a statement or a block"):
        edit.delete(3)  # type: ignore[arg-type]
    with pytest.raises(sl.OperationError, match="expected a function of a block, such as"):
        edit.wrap("f", ir.If(x >= x, (call,)))  # type: ignore[arg-type]
    for key in (3, x + 1):
        with pytest.raises(sl.OperationError, match="only symbols can be replaced"):
            edit.substitute("f", {key: 2})  # type: ignore[dict-item]
    with pytest.raises(sl.OperationError, match="an editor edits a Pipeline, got int"):
        sl.edit(3)  # type: ignore[arg-type]
    assert str(edit.finish()) == str(p)
    edit.delete(alloc)
    with pytest.raises(sl.InvalidCursorError, match="deleted it"):
        edit.statement(alloc)


def test_buffers_are_renamed_and_blocks_copied() -> None:
    p = in_loops(chain(), "f")
    edit = sl.edit(p)
    edit.rename_buffer("alloc t", "turned")
    q = edit.finish("rename_buffer")
    assert "turned[:, :] = make(inp[:, :])" in str(q)
    assert "a[y, :] = f(turned[y - 1 .. y + 1, :])" in str(q)
    edit.rename_buffer("alloc turned", "inp")
    with pytest.raises(sl.SchedulingError, match="another buffer called inp is in scope"):
        edit.finish()
    again = sl.edit(p)
    both = again.copy(p.find("alloc t").expand(after=1))
    again.insert(p.find("for y").before(), *both)
    twice = again.finish("compute_again")
    assert "alloc t_1: float64[" in str(twice)
    source, target = np.arange(18.0).reshape(6, 3), sl.Buffer(np.zeros((4, 3)), min=(1, 0))
    assert twice.run(source, target, checked=True).calls == {"make": 2, "f": 4}
    np.testing.assert_array_equal(target.array, -source[:-2] - source[1:-1] - source[2:])


def test_a_reader_reads_a_copy_of_what_it_read() -> None:
    p = two_outputs()
    edit = sl.edit(p)
    edit.insert(p.find("g").before(), *edit.copy(p.find("alloc t").expand(after=1)))
    reader = edit.statement("g")
    edit.replace("g", ir.with_operands(reader, ("t_1",), reader.writes))
    q = edit.finish()
    assert "\n  t_1[:, :] = make(inp[:, :])\n  b[:, :] = g(t_1[:, :])" in str(q)
    edit.replace("g", ir.with_operands(reader, ("inp",), reader.writes))
    with pytest.raises(sl.SchedulingError, match="would give b other values"):
        edit.finish()
