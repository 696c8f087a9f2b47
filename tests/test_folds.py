"""Folds where windows are clamped at borders, where loops start earlier, and where a fold would save nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl
from slinky import ir
from slinky.runtime import mirrored, storage

HEIGHT, WIDTH, STRIP = 400, 7, 8


def sums(source: sl.Buffer, target: sl.Buffer, first: int, last: int) -> None:
    """The sum of three rows; beyond the border stands the row at the border."""
    y = np.arange(target.min[0], target.max[0] + 1)
    rows = (np.clip(y + k, first, last) - source.min[0] for k in (-1, 0, 1))
    target.array[...] = sum(source.array[r] for r in rows)


def plain(a: np.ndarray, stages: int) -> np.ndarray:
    for _ in range(stages):
        b = np.pad(a, ((1, 1), (0, 0)), mode="edge")
        a = b[:-2] + b[1:-1] + b[2:]
    return a


def clamped_sums(stages: int, *, ends: str, assigned: bool, equal: bool) -> sl.Pipeline:
    """Sums of three rows one after the other, their windows clamped to the borders of the input or the output;
    intermediates may be assigned these bounds, and both arrays required to have the same."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{k}", np.int64, rank=2) for k in range(stages + 1)]
    inp, out = buffers[0], buffers[-1]
    border = inp if ends == "input" else out
    first, last = border.dim(0).min, border.dim(0).max

    def clamp(e: Any) -> Any:
        return sl.minimum(sl.maximum(e, first), last)

    for k in range(stages):
        window = buffers[k][sl.interval(clamp(y - 1), clamp(y + 1)), x]
        arguments = {"first": first, "last": last}
        sl.Func(sums, [window], [buffers[k + 1][y, x]], name=f"f{k}", pass_buffers=True, arguments=arguments)
    if assigned:
        for b in buffers[1:-1]:
            b.dim(0).min, b.dim(0).max = first, last
    same = [sl.equal(inp.dim(0).min, out.dim(0).min), sl.equal(inp.dim(0).max, out.dim(0).max)]
    return sl.build_pipeline([inp], [out], require=same if equal else [])


def by_strips(p: sl.Pipeline, stages: int, warmup: str) -> sl.Pipeline:
    p, split = sl.split_loop(p, f"f{stages - 1}.y", STRIP, rc=True)
    for k in reversed(range(stages - 1)):
        p, at = sl.compute_at(p, f"f{k}", split.outer, rc=True)
        p = sl.slide_window(p, at.call, split.outer, warmup=warmup)
        p = sl.fold_storage(p, at.alloc, "y")
    return p


CLAMPED = [
    (ends, assigned, equal, warmup)
    for ends in ("input", "output")
    for assigned in (False, True)
    for equal, warmup in ((True, "earlier"), (True, "first"), (False, "first"))
    if equal or ends == "input"
]


@pytest.mark.sweep
@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize(("ends", "assigned", "equal", "warmup"), CLAMPED)
def test_clamped_windows_fold_to_their_rows(stages: int, ends: str, assigned: bool, equal: bool, warmup: str) -> None:
    described = clamped_sums(stages, ends=ends, assigned=assigned, equal=equal)
    p = by_strips(described, stages, warmup)
    p.verify()
    # What is computed beyond the border, with what is below it, is larger by at most two rows a stage.
    limit = STRIP + 2 * stages
    for k in range(1, stages):
        (fold, _) = p.find(f"alloc b{k}").storage()
        assert int(str(fold)) <= limit, str(fold)
    for height in (1, 2, 5, 8, 9, 50):
        a = np.random.default_rng(height).integers(0, 9, (height, WIDTH))
        got = np.zeros_like(a)
        p.run(a, got, checked=True)
        assert np.array_equal(got, plain(a, stages))
        assert np.array_equal(p(a, np.zeros_like(a)), got)


@pytest.mark.parametrize(("stages", "equal"), [(2, False), (2, True), (4, True)])
@pytest.mark.parametrize("strip", [1, STRIP])
def test_clamped_windows_fold_inside_tiles_where_the_first_iteration_produces_more(
    stages: int, equal: bool, strip: int
) -> None:
    """Each tile has buffers of its own, whose bounds clamp what is produced once more."""
    p, tiles = sl.split_loop(
        clamped_sums(stages, ends="input", assigned=False, equal=equal), f"f{stages - 1}.y", 24, names="tile", rc=True
    )
    p, rows = sl.split_loop(p, f"f{stages - 1}.y", strip, rc=True)
    for k in reversed(range(stages - 1)):
        p, at = sl.compute_at(p, f"f{k}", rows.outer, rc=True)
        p = sl.store_at(p, at.alloc, tiles.outer)
        p = sl.slide_window(p, at.call, rows.outer, warmup="first")
        p = sl.fold_storage(p, at.alloc, "y")
        (fold, _) = p.find(f"alloc b{k + 1}").storage()
        assert int(str(fold)) <= strip + 2 * stages
    p = sl.parallelize_loop(p, tiles.outer)
    p.verify()
    for height in (1, 2, 23, 24, 25, 61):
        a = np.random.default_rng(height).integers(0, 9, (height, WIDTH))
        got = np.zeros_like(a)
        p.run(a, got, checked=True)
        assert np.array_equal(got, plain(a, stages))
        assert np.array_equal(p(a, np.zeros_like(a)), got)


def test_clamped_windows_fold_where_the_output_lies_elsewhere() -> None:
    """Nothing relates the output to the input: the same rows as of the whole picture, before and behind it, too."""
    described = clamped_sums(3, ends="input", assigned=False, equal=False)
    p = by_strips(described, 3, "first")
    a = np.random.default_rng(0).integers(0, 9, (20, WIDTH))
    for start, height in ((-30, 5), (-5, 40), (3, 4), (10, 30), (60, 3)):
        expected, got = (sl.Buffer(np.zeros((height, WIDTH), np.int64), min=(start, 0)) for _ in range(2))
        described(a, expected)
        p.run(a, got, checked=True)
        assert np.array_equal(got.array, expected.array)


@pytest.mark.parametrize("stages", [2, 5, 12])
def test_bounds_of_clamped_chains_do_not_grow(stages: int) -> None:
    p = clamped_sums(stages, ends="input", assigned=False, equal=False)
    lengths = [len(str(alloc.bounds("y"))) for alloc in p.find_all("alloc _")]
    assert max(lengths) <= 240


def chain(stages: int, radius: int) -> sl.Pipeline:
    """Funcs f0, f1, ... that read this many rows around theirs; the last but one has a second output, nobody's."""
    y, x = sl.variables("y x")
    inp, out, unread = (sl.BufferExpr(name, np.int64, rank=2) for name in ("inp", "out", "unread"))
    between = [sl.BufferExpr(f"b{k}", np.int64, rank=2) for k in range(stages - 1)]

    def middle(source: np.ndarray, *targets: np.ndarray) -> None:
        for target in targets:
            target[...] = source[radius:-radius]

    for k, (source, target) in enumerate(zip((inp, *between), (*between, out), strict=True)):
        outputs = [target[y, x], unread[y, x]] if k == stages - 2 else [target[y, x]]
        window = source[sl.interval(y - radius, y + radius), x]
        sl.Func(middle, [window], outputs, name=f"f{k}")
    return sl.build_pipeline([inp], [out])


@pytest.mark.parametrize("factor", ["growing", "default"])
def test_a_fold_in_a_loop_that_then_starts_earlier_stays_positive(factor: str) -> None:
    described = chain(4, 2)
    p = sl.split_loop(sl.split_loop(described, "f3.y", 1), "f3.x", 4)
    p = sl.store_at(sl.compute_at(p, "f2", "for y"), "alloc b2", "for y")
    p = sl.compute_at(sl.store_at(p, "alloc unread", "for y"), "f2", "for x")
    p = sl.slide_window(sl.compute_at(p, "f1", "for y"), "f1", "for y")
    if factor == "growing":
        (y,) = sl.variables("y")
        for buffer in ("b2", "unread"):
            p = sl.fold_storage(p, f"alloc {buffer}", "y", sl.maximum(y - p.find("for y").bounds().min + 1, 1))
    else:
        p = sl.fold_storage(p, "alloc unread", "y")
    p = sl.slide_window(sl.compute_at(p, "f0", "for y"), "f0", "for y")
    p.verify()
    source = sl.Buffer(np.arange(3200).reshape(80, 40), min=(-20, -10))
    for shape in ((9, 9), (1, 1), (2, 5)):
        expected, got = (np.zeros(shape, np.int64) for _ in range(2))
        described(source, expected)
        p.run(source, got, checked=True)
        assert np.array_equal(got, expected)
        assert np.array_equal(p(source, np.zeros(shape, np.int64)), expected)


def test_a_fold_that_depends_on_the_loop_is_proved_again_when_it_starts_earlier() -> None:
    """Five rows are live; five and more are kept in each iteration that there is. Two more then come before them."""
    described = chain(3, 2)
    p = sl.split_loop(sl.split_loop(described, "f2.y", 1), "f2.x", 4)
    p = sl.store_at(sl.compute_at(p, "f1", "for y"), "alloc b1", "for y")
    p = sl.compute_at(p, "f1", "for x")
    (y,) = sl.variables("y")
    p = sl.fold_storage(p, "alloc b1", "y", y - p.find("for y").bounds().min + 5)
    assert "fold y - out.y.min + 5" in str(p)
    p = sl.slide_window(sl.compute_at(p, "f0", "for y"), "f0", "for y")
    assert "fold max(y - out.y.min + 5, 1)" in str(p)
    source = sl.Buffer(np.arange(1600).reshape(40, 40), min=(-10, -10))
    expected, got = (np.zeros((9, 9), np.int64) for _ in range(2))
    described(source, expected)
    p.run(source, got, checked=True)
    assert np.array_equal(got, expected)
    assert np.array_equal(p(source, np.zeros((9, 9), np.int64)), expected)


def test_a_fold_that_saves_nothing_says_so() -> None:
    y, x = sl.variables("y x")
    inp, b, out = (sl.BufferExpr(name, np.int64, rank=2) for name in ("inp", "b", "out"))
    sl.Func(np.square, [inp[y, x]], [b[y, x]], name="square")
    sl.Func(np.negative, [b[y, x]], [out[y, x]], name="negative")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([inp], [out]), "negative.y", 1), "square", "for y")
    with pytest.raises(sl.SchedulingError) as refused:
        sl.fold_storage(p, "alloc b", "x")
    assert refused.value.reason == (
        "the default fold along x would save nothing: not shown that less than all of b.x is live at once"
    )
    assert str(sl.fold_storage(p, "alloc b", "y").find("alloc b").storage()[0]) == "1"
    assert str(sl.fold_storage(p, "alloc b", "y", 100).find("alloc b").storage()[0]) == "100", "asked for"


def blurred_in_two_loops(at: int) -> sl.Pipeline:
    """A window that slides through two loops, one after the other, which were one."""
    (x,) = sl.variables("x")
    a, t, b = (sl.BufferExpr(name, np.int64, rank=1) for name in "atb")
    sl.Func(np.square, [a[x]], [t[x]])
    sl.Func(lambda s, o: np.add(s[:-2] + s[1:-1], s[2:], out=o), [t[sl.interval(x - 1, x + 1)]], [b[x]], name="blur")
    p = sl.split_loop(sl.build_pipeline([a], [b]), "blur.x", 1)
    p, at_loop = sl.compute_at(p, "square", "for x", rc=True)
    p = sl.slide_window(p, at_loop.call, at_loop.loop)
    return sl.cut_loop(p, "for x", p.find("for x").bounds().min + at)


@pytest.mark.parametrize("at", [1, 2, 3, 5])
def test_a_fold_holds_what_loops_touch_one_after_the_other(at: int) -> None:
    cut = blurred_in_two_loops(at)
    for factor in (1, 2):
        with pytest.raises(sl.SchedulingError, match=f"a fold of {factor} does not hold all that is live of t.x"):
            sl.fold_storage(cut, "alloc t", "x", factor)
    for factor in (3, 4):
        p = sl.fold_storage(cut, "alloc t", "x", factor)
        for size in (1, 2, 3, 8):
            values, found = np.arange(size + 2) + 1, np.zeros(size, np.int64)
            statistics = p.run(sl.Buffer(values, min=(-1,)), found, checked=True)
            squares = values**2
            np.testing.assert_array_equal(found, squares[:-2] + squares[1:-1] + squares[2:])
            assert statistics.program_bytes == 8 * min(factor, size + 2)


@pytest.mark.parametrize("factor", [2, 3, 7])
def test_what_is_read_after_all_is_written_is_not_folded_away(factor: int) -> None:
    """Two calls write all of a buffer in turn, and a loop reads it from the first element on."""
    (x,) = sl.variables("x")
    a, t, b = (sl.BufferExpr(name, np.int64, rank=1) for name in "atb")
    sl.Func(np.square, [a[x]], [t[x]])
    sl.Func(lambda s, o: np.copyto(o, s), [t[x]], [b[x]], name="last")
    p = sl.split_loop(sl.build_pipeline([a], [b]), "last.x", 1)
    for q in (p, sl.cut_call(p, "square.x", 1), sl.cut_loop(sl.split_loop(p, "square.x", 1), "for x #0", 2)):
        with pytest.raises(sl.SchedulingError, match=f"a fold of {factor} does not hold all that is live of t.x"):
            sl.fold_storage(q, "alloc t", "x", factor)


def squares_and_last(**shape: Any) -> sl.Pipeline:
    """Squares, and a copy of them."""
    (x,) = sl.variables("x")
    a, t, b = (sl.BufferExpr(name, np.int64, rank=1) for name in "atb")
    sl.Func(np.square, [a[x]], [t[x]])
    sl.Func(lambda s, o: np.copyto(o, s), [t[x]], [b[x]], name="last")
    p = sl.build_pipeline([a], [b])
    return sl.assume_shape(p, **shape) if shape else p


def refuses_to_fold(p: sl.Pipeline, factor: int) -> None:
    """Check that a fold is refused, and that somebody would read another element."""
    with pytest.raises(sl.SchedulingError, match=f"a fold of {factor} does not hold all that is live of t.x") as caught:
        sl.fold_storage(p, "alloc t", "x", factor)
    assert "last reads t[" in caught.value.example
    assert "whose place another element has taken" in caught.value.example


def test_a_fold_by_one_too_few_is_refused_in_turn() -> None:
    p = sl.split_loop(squares_and_last(b=(sl.interval(0, 1),)), "square.x", 1)
    refuses_to_fold(p, 1)


def test_what_is_read_after_others_have_read_is_not_folded_away() -> None:
    """A loop writes all; one call reads the last element, and then another one those before."""
    p = sl.split_loop(squares_and_last(), "square.x", 1)
    p = sl.cut_call(p, "last.x", sl.BufferExpr("b", np.int64, 1).dim(0).max)
    p = sl.reorder_statements(p, p.find("last").expand(after=1))
    for factor in (1, 2, 5):
        refuses_to_fold(p, factor)


def test_iterations_of_a_parallel_loop_share_no_fold_in_turn() -> None:
    p = sl.compute_at(sl.split_loop(squares_and_last(), "last.x", 1), "square", "for x")
    p = sl.cut_loop(p, "for x", p.find("for x").bounds().min + 3)
    assert "fold 1" in str(sl.fold_storage(p, "alloc t", "x", 1))
    for loop in p.find_all("for x"):
        with pytest.raises(sl.SchedulingError, match="not shown that a fold of 1 holds"):
            sl.fold_storage(sl.parallelize_loop(p, loop), "alloc t", "x", 1)
        with pytest.raises(sl.SchedulingError, match="share the folded buffer"):
            sl.parallelize_loop(sl.fold_storage(p, "alloc t", "x", 1), loop)


def test_what_is_written_in_between_overwrites_nothing() -> None:
    """The first element, once more, after the second one was written and before that is read."""
    p = squares_and_last(b=(sl.interval(0, 1),))
    p = sl.cut_call(sl.cut_call(p, "square.x", 1), "last.x", 1)
    p = sl.reorder_statements(p, p.find("square #1").expand(after=1))
    assert [str(c.bounds("x").min) for c in p.find_all("_ = _")] == ["0", "0", "1", "1"]
    assert "fold 1" in str(sl.fold_storage(p, "alloc t", "x", 1))
    edit = sl.edit(p)
    edit.insert(p.find("last #1").before(), edit.copy("square #0")[0])
    refuses_to_fold(edit.finish(), 1)


def test_what_lies_further_back_than_a_call_before_the_loop_has_left_is_not_folded_away() -> None:
    """A call writes two elements; then a loop takes the place of one of them before it reads that, and moves back."""
    (x,) = sl.variables("x")
    a, t, b = (sl.BufferExpr(name, np.int64, rank=1) for name in "atb")
    sl.Func(np.square, [a[x]], [t[x]])
    sl.Func(lambda s, o: np.copyto(o, s), [t[4 - 3 * x]], [b[x]], name="last")
    p = sl.assume_shape(sl.build_pipeline([a], [b]), b=(sl.interval(0, 1),))
    p = sl.split_loop(p, "last.x", 1)
    edit = sl.edit(p)
    v, (again,) = edit.statement("for x").variable, edit.copy("square")
    edit.replace("square", ir.with_interval(edit.statement("square"), 0, sl.interval(1, 2)))
    edit.insert(p.find("last").before(), ir.with_interval(again, 0, sl.interval(4 - 2 * v, 4 - 2 * v)))
    p = edit.finish()
    assert [str(c.bounds("x").min) for c in p.find_all("square")] == ["1", "-2*x + 4"]
    refuses_to_fold(p, 3)
    assert "fold 4" in str(sl.fold_storage(p, "alloc t", "x", 4))


def test_a_fold_that_has_room_for_all_may_be_written_by_a_parallel_loop() -> None:
    p = sl.split_loop(squares_and_last(b=(sl.interval(0, 1),)), "square.x", 1)
    p = sl.parallelize_loop(p, "for x")
    refuses_to_fold(p, 1)
    p = sl.fold_storage(p, "alloc t", "x", 2)
    for checked in (True, False):
        found = np.zeros(2, np.int64)
        p.run(np.array([3, 4]), found, checked=checked)
        assert found.tolist() == [9, 16]


def test_a_window_that_an_if_begins_is_folded() -> None:
    """The first rows of a window are written before its loop, where there are any, and not in it."""
    (x,) = sl.variables("x")
    a, t, b = (sl.BufferExpr(name, np.int64, rank=1) for name in "atb")
    sl.Func(np.square, [a[x]], [t[x]])
    sl.Func(lambda s, o: np.add(s[:-2] + s[1:-1], s[2:], out=o), [t[sl.interval(x - 1, x + 1)]], [b[x]], name="blur")
    p = sl.split_loop(sl.build_pipeline([a], [b]), "blur.x", 1)
    edit = sl.edit(p)
    loop, (again,) = edit.statement("for x"), edit.copy("square")
    low, v = loop.range.min, loop.variable
    edit.insert(p.find("blur").before(), ir.with_interval(again, 0, sl.interval(v + 1, v + 1)))
    edit.replace("square", ir.with_interval(edit.statement("square"), 0, sl.interval(low - 1, low)))
    edit.wrap("square", lambda block: ir.If(low <= loop.range.max, block))
    p = edit.finish()
    with pytest.raises(sl.SchedulingError, match=r"a fold of 2 does not hold all that is live of t\.x"):
        sl.fold_storage(p, "alloc t", "x", 2)
    p = sl.fold_storage(p, "alloc t", "x", 3)
    for size in (1, 2, 3, 8):
        values, found = np.arange(size + 2) + 1, np.zeros(size, np.int64)
        statistics = p.run(sl.Buffer(values, min=(-1,)), found, checked=True)
        squares = values**2
        np.testing.assert_array_equal(found, squares[:-2] + squares[1:-1] + squares[2:])
        assert statistics.program_bytes == 8 * 3


# ----------------------------------------------------------------------------------------------------------------
# Folds of one row
# ----------------------------------------------------------------------------------------------------------------


def double(source: np.ndarray, target: np.ndarray) -> None:
    """Twice as much."""
    np.multiply(source, 2, out=target)


def negate(source: np.ndarray, target: np.ndarray) -> None:
    """The opposite."""
    np.negative(source, out=target)


def one_row_between() -> sl.Pipeline:
    """`out = -(inp * 2)` by rows; what is between is folded to one."""
    y, x = sl.variables("y x")
    inp, between, out = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "between", "out"))
    sl.Func(double, [inp[y, x]], [between[y, x]])
    sl.Func(negate, [between[y, x]], [out[y, x]])
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([inp], [out]), "negate.y", 1, rc=True)
    p, producer = sl.compute_at(p, "double", loop, rc=True)
    return sl.fold_storage(p, producer.alloc, "y")


def test_the_window_of_a_fold_of_one_row_is_made_once_and_before_the_loop() -> None:
    p = sl.cut_call(one_row_between(), "double.x", 3)  # which two calls write
    assert "alloc between: int64[out.y.min..out.y.max fold 1, " in str(p)
    before, loop, inside = p.to_python().partition("    for y in ")
    assert loop
    assert before.count("between_window(0, 1)") == 1
    assert "between_window" not in inside


@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (3, 700), (50, 3), (70, 700)])
@pytest.mark.parametrize("is_available", [True, False])
def test_a_fold_of_one_row_holds_what_was_written_last(
    shape: tuple[int, int], is_available: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the system cannot map memory twice, and in a buffer that is too small for a ring."""
    if not is_available:
        monkeypatch.setattr(mirrored, "available", lambda: False)
        monkeypatch.setattr(storage, "_warned", True)
    source = np.arange(shape[0] * shape[1]).reshape(shape)
    for origin in ((0, 0), (-7, 5)):
        target = sl.Buffer(np.zeros(shape, np.int64), origin)
        one_row_between()(sl.Buffer(source, origin), target)
        np.testing.assert_array_equal(target.array, -2 * source)


# Folds and parallel loops, in either order ----------------------------------------------------------------------------


def of_rows(reach: int) -> sl.Pipeline:
    """`b = -a`, and the sums of the first and the last of its rows that are up to so far away."""
    y, x = sl.variables("y x")
    a, b, c = (sl.BufferExpr(name, np.int64, 2) for name in "abc")
    sl.Func(np.negative, [a[y, x]], [b[y, x]], name="make")
    window = b[sl.interval(y - reach, y + reach), x]
    sl.Func(lambda s, t: np.add(s[: len(t)], s[-len(t) :], out=t), [window], [c[y, x]], name="use")
    return sl.build_pipeline([a], [c])


def inside_a_loop_that_slides() -> tuple[sl.Pipeline, sl.Pipeline, Any]:
    p, loop = sl.split_loop(of_rows(1), "use.y", 1, rc=True)
    p, at = sl.compute_at(p, "make", loop.outer, rc=True)
    return of_rows(1), sl.split_loop(sl.slide_window(p, at.call, "for y"), "make.x", 4), 3


def in_front_of_the_reader() -> tuple[sl.Pipeline, sl.Pipeline, Any]:
    rows = sl.BufferExpr("c", np.int64, 2).dim(0)
    return of_rows(1), sl.split_loop(of_rows(1), "make.y", 4), rows.max - rows.min + 3


def around_all() -> tuple[sl.Pipeline, sl.Pipeline, Any]:
    p = sl.compute_at(sl.split_loop(of_rows(0), "use.y", 4), "make", "for y")
    rows = sl.BufferExpr("c", np.int64, 2).dim(0)
    return of_rows(0), p, sl.maximum(rows.max - rows.min + 1, 1)


@pytest.mark.parametrize("made", [inside_a_loop_that_slides, in_front_of_the_reader, around_all])
@pytest.mark.parametrize("backend", ["python", "interpreter"])
def test_a_fold_that_holds_all_that_a_parallel_loop_touches_may_come_before_or_behind_it(
    made: Callable[[], tuple[sl.Pipeline, sl.Pipeline, Any]], backend: str
) -> None:
    plain, p, factor = made()
    loop = "for x" if made is inside_a_loop_that_slides else "for y"
    folded = sl.parallelize_loop(sl.fold_storage(p, "alloc b", "y", factor), loop, 2)
    assert str(folded) == str(sl.fold_storage(sl.parallelize_loop(p, loop, 2), "alloc b", "y", factor))
    for shape in ((37, 11), (5, 3), (1, 1)):
        source = sl.Buffer(np.random.default_rng(0).integers(0, 99, (shape[0] + 2, shape[1])), min=(-1, 0))
        expected, found, checked = (np.zeros(shape, np.int64) for _ in range(3))
        plain(source, expected)
        folded.run(source, found, backend=backend)
        folded.run(source, checked, checked=True)
        assert np.array_equal(found, expected)
        assert np.array_equal(checked, expected)


def test_a_fold_that_does_not_hold_it_all_comes_neither_before_nor_behind_a_parallel_loop() -> None:
    _, p, factor = around_all()
    for less in (4, sl.maximum(factor - 1, 1)):
        with pytest.raises(sl.SchedulingError, match="iterations of loop y share the folded buffer b"):
            sl.parallelize_loop(sl.fold_storage(p, "alloc b", "y", sl.maximum(less, 4)), "for y")
        with pytest.raises(sl.SchedulingError, match="the parallel loop y would share the folded buffer b"):
            sl.fold_storage(sl.parallelize_loop(p, "for y"), "alloc b", "y", sl.maximum(less, 4))
    _, p, factor = in_front_of_the_reader()
    with pytest.raises(sl.SchedulingError, match="does not hold all that is live"):
        sl.fold_storage(sl.parallelize_loop(p, "for y"), "alloc b", "y", sl.maximum(factor - 1, 1))
