"""Reductions by pieces: what is declared, `split_reduction`, and the funcs of `sl.reductions`."""

from __future__ import annotations

import gc
import shutil
import weakref
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

import slinky as sl
from slinky.ir.effects import calls_in
from slinky.ir.operations import Accumulation, Stage
from slinky.runtime.reductions import stage_carrier

Y, X = sl.variables("y x")
ROW, COLUMN = sl.variables("i j")
SHAPES = [(3, 40), (1, 1), (5, 16), (4, 17), (2, 31), (7, 2), (0, 5)]


def of_squares(reduce: Callable[..., Any], dtype: Any = np.int64, out: Any = None, **options: Any) -> sl.Pipeline:
    """A reduction of the rows of the squares of an array."""
    a, t = (sl.BufferExpr(name, dtype, 2) for name in "at")
    s = sl.BufferExpr("s", dtype if out is None else out, 1)
    sl.Func(np.square, [a[Y, X]], [t[Y, X]])
    reduce(t[Y, :], s[Y], name="total", **options)
    return sl.build_pipeline([a], [s])


def in_pieces(p: sl.Pipeline, factor: Any, dim: str = "x", call: str = "total") -> sl.Pipeline:
    """A reduction by pieces, with its producer computed and stored in the loop."""
    p, pieces = sl.split_reduction(p, call, dim, factor, rc=True)
    p = sl.compute_at(p, "square", pieces.loop)
    return sl.store_at(p, "alloc t", pieces.loop)


def squares(shape: tuple[int, ...], dtype: Any = np.int64) -> np.ndarray:
    """An array, some of whose squares are alike."""
    values = np.random.default_rng(sum(shape)).integers(-9, 10, shape)
    return values.astype(dtype)


REDUCED: list[tuple[Callable[..., Any], Callable[..., Any], Any, Any]] = [
    (sl.reductions.sum, np.sum, np.int64, None),
    (lambda *a, **k: sl.reductions.reduce(np.multiply, *a, **k), np.prod, np.int64, None),
    (lambda *a, **k: sl.reductions.reduce(np.maximum, *a, **k), np.max, np.float32, None),
    (lambda *a, **k: sl.reductions.reduce(np.minimum, *a, **k), np.min, np.int16, None),
    (sl.reductions.argmax, np.argmax, np.float64, np.intp),
    (sl.reductions.argmin, np.argmin, np.int64, np.intp),
]


@pytest.mark.sweep
@pytest.mark.parametrize("factor", [1, 3, 16])
@pytest.mark.parametrize(("reduce", "expected", "dtype", "out"), REDUCED)
def test_what_is_exact_is_the_same_to_the_last_bit(
    reduce: Callable[..., Any], expected: Callable[..., Any], dtype: Any, out: Any, factor: int
) -> None:
    p = in_pieces(of_squares(reduce, dtype, out), factor)
    for shape in SHAPES:
        values = squares(shape, dtype)
        for options in ({"checked": True}, {}, {"backend": "interpreter"}):
            found = np.zeros(shape[0], dtype if out is None else out)
            statistics = p.run(values, found, **options)
            np.testing.assert_array_equal(found, expected(np.square(values), axis=1))
            assert statistics.elements["square"] == values.size


@pytest.mark.parametrize(("reduce", "expected"), [
    (sl.reductions.sum, np.sum),
    (sl.reductions.mean, np.mean),
    (sl.reductions.var, np.var),
    (lambda *a, **k: sl.reductions.var(*a, ddof=1, **k), lambda a, axis: np.var(a, axis=axis, ddof=1)),
])  # fmt: skip
def test_what_is_rounded_is_the_same_but_for_rounding(reduce: Callable[..., Any], expected: Callable[..., Any]) -> None:
    p = in_pieces(of_squares(reduce, np.float64, reassociate=True), 7)
    for shape in [(3, 40), (2, 8), (5, 301), (4, 7)]:
        values, found = squares(shape, np.float64) + 1000.5, np.zeros(shape[0])
        p.run(values, found, checked=True)
        np.testing.assert_allclose(found, expected(np.square(values), axis=1), rtol=1e-12)


def test_what_is_reduced_is_never_there_in_full() -> None:
    p = in_pieces(of_squares(sl.reductions.sum), 64)
    values, found = squares((10, 6400)), np.zeros(10, np.int64)
    statistics = p.run(values, found)
    np.testing.assert_array_equal(found, np.square(values).sum(axis=1))
    assert statistics.program_bytes == (64 * 10 + 2 * 10) * 8
    assert statistics.calls == {"square": 100, "total_init": 1, "total_update": 100, "total_finish": 1}


def test_the_first_largest_element_is_found_as_numpy_finds_it() -> None:
    a, i = sl.BufferExpr("a", np.float64, 2), sl.BufferExpr("i", np.intp, 1)
    sl.reductions.argmax(a[Y, :], i[Y])
    p = sl.split_reduction(sl.build_pipeline([a], [i]), "argmax", "x", 3)
    nan, values = np.nan, np.random.default_rng(5).integers(0, 3, (50, 11)).astype(float)
    values[10:30][np.random.default_rng(6).random((20, 11)) < 0.2] = nan
    values[30:40] = -np.inf
    found = np.zeros(50, np.intp)
    p(values, found)
    np.testing.assert_array_equal(found, np.argmax(values, axis=1))


def test_an_image_is_summed_by_rows() -> None:
    """Two reduced dimensions, one of them in pieces; what is left has no dimension."""
    a, m = sl.BufferExpr("a", np.float64, 2), sl.BufferExpr("m", np.float64, 0)
    sl.reductions.mean(a[:, :], m[()], reassociate=True)
    unscheduled = sl.build_pipeline([a], [m])
    values = np.random.default_rng(1).random((37, 11))
    for dim in ("y", "x"):
        p = sl.split_reduction(unscheduled, "mean", dim, 5)
        found = np.zeros(())
        p.run(values, found, checked=True)
        np.testing.assert_allclose(found, values.mean())


def test_two_reductions_by_pieces_have_states_of_their_own() -> None:
    """What both call alike gets another name in the second."""
    a, s, t = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("s", np.int64, 1), sl.BufferExpr("t", np.int64, 1)
    sl.reductions.sum(a[Y, :], s[Y], name="rows")
    sl.reductions.sum(a[:, X], t[X], name="columns")
    p = sl.split_reduction(sl.build_pipeline([a], [s, t]), "rows", "x", 3)
    p = sl.split_reduction(p, "columns", "y", 4)
    assert [alloc.name() for alloc in p.find_all("alloc _")] == ["partial", "partial_1"]
    values = squares((9, 7))
    found = np.zeros(9, np.int64), np.zeros(7, np.int64)
    p.run(values, *found, checked=True)
    np.testing.assert_array_equal(found[0], values.sum(axis=1))
    np.testing.assert_array_equal(found[1], values.sum(axis=0))


def test_rows_of_pieces_run_in_parallel() -> None:
    """Rows are split first, each with states of its own."""
    p = of_squares(sl.reductions.sum)
    p, rows = sl.split_loop(p, "total.y", 4, rc=True)
    p = in_pieces(p, 8)
    p = sl.parallelize_loop(p, rows.outer, 2)
    for shape in SHAPES:
        values, found = squares(shape), np.zeros(shape[0], np.int64)
        p.run(values, found, checked=True)
        np.testing.assert_array_equal(found, np.square(values).sum(axis=1))
    with pytest.raises(sl.SchedulingError, match="share the folded buffer partial"):
        sl.parallelize_loop(sl.split_reduction(of_squares(sl.reductions.sum), "total", "x", 8), "for x")


def test_states_cannot_be_kept_in_less_than_two_steps() -> None:
    p = sl.split_reduction(of_squares(sl.reductions.sum), "total", "x", 8)
    with pytest.raises(sl.SchedulingError, match="not shown that a fold of 1 holds"):
        sl.fold_storage(p, "alloc partial", 0, 1)
    wider = sl.fold_storage(p, "alloc partial", 0, 3)
    values, found = squares((3, 50)), np.zeros(3, np.int64)
    wider.run(values, found, checked=True)
    np.testing.assert_array_equal(found, np.square(values).sum(axis=1))


def test_pieces_cannot_be_taken_in_another_order() -> None:
    """An update without the one before it does not find what it needs, nor the end without the last."""
    p = sl.split_reduction(of_squares(sl.reductions.sum), "total", "x", 8)
    with pytest.raises(sl.SchedulingError, match="total_update does not find all of partial"):
        sl.reorder_statements(p, p.find("total_init").expand(after=1))
    with pytest.raises(sl.SchedulingError, match="total_finish does not find all of partial"):
        sl.reorder_statements(p, p.find("for x").expand(after=1))


def test_a_product_of_matrices_takes_pieces_of_both() -> None:
    a, b, c = (sl.BufferExpr(name, np.int64, 2) for name in "abc")
    sl.reductions.dot(a[ROW, :], b[:, COLUMN], c[ROW, COLUMN])
    unknown = sl.build_pipeline([a, b], [c])
    with pytest.raises(sl.SchedulingError, match="not shown that the inputs of dot are as long as each other along k"):
        sl.split_reduction(unknown, "dot", "k", 8)
    a, b, c = (sl.BufferExpr(name, np.int64, 2) for name in "abc")
    sl.reductions.dot(a[ROW, :], b[:, COLUMN], c[ROW, COLUMN])
    p = sl.build_pipeline([a, b], [c], require=[sl.equal(a.dim(1).extent, b.dim(0).extent)])
    p = sl.split_reduction(p, "dot", "k", 8)
    random = np.random.default_rng(3)
    for m, k, n in [(3, 20, 5), (1, 1, 1), (4, 8, 2), (2, 0, 3), (5, 7, 0)]:
        left, right = random.integers(0, 9, (m, k)), random.integers(0, 9, (k, n))
        found = np.ones((m, n), np.int64)
        p.run(left, right, found, checked=True)
        np.testing.assert_array_equal(found, left @ right)


def test_attention_never_holds_its_scores() -> None:
    q, k, v, scores, o = (sl.BufferExpr(name, np.float64, 2) for name in ("q", "k", "v", "scores", "o"))
    sl.Func(lambda q, k, s: np.matmul(q, k.T, out=s), [q[ROW, :], k[COLUMN, :]], [scores[ROW, COLUMN]], name="score")
    sl.reductions.softmax_dot(scores[ROW, :], v[:, COLUMN], o[ROW, COLUMN], reassociate=True)
    require = [sl.equal(k.dim(0).extent, v.dim(0).extent)]
    p = sl.build_pipeline([q, k, v], [o], require=require)
    random = np.random.default_rng(8)
    for queries, keys in [(5, 64), (3, 1), (2, 37)]:
        given = [random.normal(size=(n, 8)) * 4 for n in (queries, keys, keys)]
        weights = np.exp(given[0] @ given[1].T)
        expected = weights @ given[2] / weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(p(*given), expected)
        r, pieces = sl.split_reduction(p, "softmax_dot", "k", 16, rc=True)
        r = sl.store_at(sl.compute_at(r, "score", pieces.loop), "alloc scores", pieces.loop)
        found = np.zeros((queries, 8))
        statistics = r.run(*given, found, checked=True)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert statistics.elements["score"] == queries * keys
        assert statistics.program_bytes == 8 * queries * (min(keys, 16) + 2 * (8 + 1 + 1))


def test_scores_that_are_masked_first_do_not_spoil_what_follows() -> None:
    scores, v, o = (sl.BufferExpr(name, np.float64, 2) for name in ("s", "v", "o"))
    sl.reductions.softmax_dot(scores[ROW, :], v[:, COLUMN], o[ROW, COLUMN], reassociate=True)
    p = sl.build_pipeline([scores, v], [o], require=[sl.equal(scores.dim(1).extent, v.dim(0).extent)])
    p = sl.split_reduction(p, "softmax_dot", "k", 2)
    given, values = np.array([[-np.inf, -np.inf, 1.0, 2.0], [0.0, -np.inf, -np.inf, -np.inf]]), np.eye(4)
    weights = np.exp(given)
    np.testing.assert_allclose(p(given, values), weights / weights.sum(axis=1, keepdims=True))


def test_a_reduction_of_ones_own() -> None:
    """States of another dtype, arguments, and a scalar as the extent of pieces."""
    a, s, count = sl.BufferExpr("a", np.uint8, 2), sl.BufferExpr("s", np.float32, 1), sl.BufferExpr("n", np.int64, 1)
    limit, n = sl.scalar("limit"), sl.scalar("n_piece")

    def share(rows: np.ndarray, out: np.ndarray, *, limit: int) -> None:
        out[...] = (rows > limit).mean(axis=0)

    def update(old: np.ndarray, piece: np.ndarray, new: np.ndarray, *, start: int, limit: int) -> None:
        assert start % 6 == 0
        new[...] = old + (piece > limit).sum(axis=0)

    def finish(found: np.ndarray, out: np.ndarray, *, count: int, limit: int) -> None:
        out[...] = found / count

    reduction = sl.Reduction(
        {"y": 0}, [count[X]], lambda found, *, limit: found.fill(0), update, finish, positions=True
    )
    sl.Func(share, [a[:, X]], [s[X]], name="share", arguments={"limit": limit}, reduction=reduction)
    p = sl.build_pipeline([a], [s])
    p, pieces = sl.split_reduction(p, "share", "y", n, rc=True)
    assert (pieces.init.name(), pieces.loop.name(), pieces.update.name(), pieces.final.name()) == (
        "share_init", "y", "share_update", "share_finish",
    )  # fmt: skip
    assert "check 1 <= n_piece" in str(p)
    values = np.random.default_rng(2).integers(0, 256, (40, 6), np.uint8)
    for options in ({"checked": True}, {}, {"backend": "interpreter"}):
        found = np.zeros(6, np.float32)
        p.run(values, found, limit=99, n_piece=6, **options)
        np.testing.assert_allclose(found, (values > 99).mean(axis=0), rtol=1e-6)


def test_an_update_over_several_pieces_takes_them_in_turn() -> None:
    """No schedule asks for it while a piece needs the one before it: but what runs a call may not depend on that."""
    from slinky.ir.operations import Accumulation
    from slinky.runtime.buffers import buffer_at
    from slinky.runtime.operations import function_of

    a, m = sl.BufferExpr("a", np.float64, 2), sl.BufferExpr("m", np.float64, 1)
    sl.reductions.var(a[Y, :], m[Y], reassociate=True)
    p = sl.split_reduction(sl.build_pipeline([a], [m]), "var", "x", 4)
    operation = p.find("var_update")._call.func.operation
    assert isinstance(operation, Accumulation)
    values = np.random.default_rng(4).random((3, 10))
    means, spreads = np.zeros((4, 3)), np.zeros((4, 3))
    operands = (means[:-1], spreads[:-1], values, means[1:], spreads[1:])
    origins = ((-1, 0), (-1, 0), (0, 0), (0, 0), (0, 0))
    function_of(operation)(*map(buffer_at, operands, origins), piece_extent=4, each=1)
    np.testing.assert_allclose(means[-1], values.mean(axis=1))
    np.testing.assert_allclose(spreads[-1] / 10, values.var(axis=1))


def refused(p: sl.Pipeline, *arguments: Any) -> str:
    """The refusal of a `split_reduction`."""
    with pytest.raises(sl.SchedulingError) as error:
        sl.split_reduction(p, *arguments)
    return str(error.value)


def test_refusals() -> None:
    p = of_squares(sl.reductions.sum, np.float32)
    assert "square does not say how it reduces" in refused(p, "square", "x", 4)
    assert "sl.Func(..., reduction=sl.Reduction(...)) says it" in refused(p, "square", "x", 4)
    assert "total reduces x, and not y" in refused(p, "total", "y", 4)
    assert "total gives other bits by pieces: what it rounds comes in another order" in refused(p, "total", "x", 4)
    assert "reassociate=True, where the func is made" in refused(p, "total", "x", 4)
    p = of_squares(sl.reductions.sum)
    assert "the factor must be 1 or more, got 0" in refused(p, "total", "x", 0)
    split = sl.split_loop(p, "total.y", 2)
    with pytest.raises(sl.OperationError, match="no loop may be in it"):
        sl.split_reduction(split, "total", "x", sl.variables("y")[0])
    a, b, s = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("b", np.int64, 2), sl.BufferExpr("s", np.int64, 1)
    sl.copies.transpose(a, b)
    sl.reductions.sum(b[Y, :], s[Y])
    assert "sum reads or writes past a copy" in refused(sl.build_pipeline([a], [s]), "sum", "x", 4)


@pytest.mark.parametrize(("make", "message"), [
    (lambda a, s: sl.Reduction({}, [s[Y]], print, print, print), "a reduction is over one dimension or more"),
    (lambda a, s: sl.Reduction({"x": 1}, s[Y], print, print, print), "must be a list of accesses"),
    (lambda a, s: sl.Reduction({"x": 1}, [], print, print, print), "must be accesses"),
    (lambda a, s: sl.Reduction({"x": 1}, [s[Y]], 3, print, print), "init of a reduction must be callable"),
    (lambda a, s: sl.Reduction({"x": 1}, [s[Y]], print, print, print, exact=3), "exact of a reduction must be True"),
])  # fmt: skip
def test_what_is_no_reduction(make: Callable[..., Any], message: str) -> None:
    with pytest.raises(sl.GraphError, match=message):
        make(sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("state", np.int64, 1))


@pytest.mark.parametrize(("over", "message"), [
    ({"x": 2}, "a of rank 2 has no axis 2"),
    ({"x": True}, "a of rank 2 has no axis True|needs an axis for each"),
    ({"x": (1, 0)}, "needs an axis for each of its 1 inputs"),
    ({"x": (None,)}, "needs an axis of some input"),
    ({"y": 0}, "moves with y; what is reduced must be the same"),
])  # fmt: skip
def test_what_does_not_fit_a_func(over: Any, message: str) -> None:
    a, s, state = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("s", np.int64, 1), sl.BufferExpr("t", np.int64, 1)
    reduction = sl.Reduction(over, [state[Y]], print, print, print)
    with pytest.raises(sl.GraphError, match=message):
        sl.Func(print, [a[Y, :]], [s[Y]], name="f", reduction=reduction)
    assert s.producer is None


def test_states_that_do_not_fit_a_func() -> None:
    a, s, t = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("s", np.int64, 1), sl.BufferExpr("t", np.int64, 1)
    fitting = sl.Reduction({"x": 1}, [t[Y]], print, print, print)
    with pytest.raises(sl.GraphError, match="a state must be along different variables of its outputs, got"):
        sl.Func(print, [a[Y, :]], [s[Y]], reduction=sl.Reduction({"x": 1}, [t[X]], print, print, print))
    with pytest.raises(sl.GraphError, match="an argument cannot be called 'count'"):
        sl.Func(print, [a[Y, :]], [s[Y]], arguments={"count": 3}, reduction=fitting)
    sl.Func(print, [a[Y, :]], [t[Y]])
    with pytest.raises(sl.GraphError, match="its state 't' is a buffer of the graph"):
        sl.Func(print, [a[Y, :]], [s[Y]], reduction=sl.Reduction({"x": 1}, [t[Y]], print, print, print))
    with pytest.raises(sl.GraphError, match="reduction must be a Reduction"):
        sl.Func(print, [a[Y, :]], [s[Y]], reduction=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(("make", "message"), [
    (lambda a, s: sl.reductions.reduce(np.subtract, a[Y, :], s[Y]), "reduce\\(\\) knows add, multiply"),
    (lambda a, s: sl.reductions.sum(a[Y, X], s[Y]), "x is no dimension of s"),
    (lambda a, s: sl.reductions.sum(a[:, :], s[Y]), "in this order"),
    (lambda a, s: sl.reductions.sum(a[2 * Y, :], s[Y]), "must be a point such as y"),
    (lambda a, s: sl.reductions.sum(a, s), "takes accesses"),
    (lambda a, s: sl.reductions.mean(a[Y, :], s[Y]), "gives floats, and 's' is int64"),
    (lambda a, s: sl.reductions.reduce(np.logical_or, a[Y, :], s[Y]), "gives bools, and 's' is int64"),
    (lambda a, s: sl.reductions.argmax(a[:, :], sl.BufferExpr("o", np.intp, 0)[()]), "along one axis"),
    (lambda a, s: sl.reductions.dot(a[ROW, :], s[ROW], a[ROW, COLUMN]), "is no product"),
    (lambda a, s: sl.reductions.reduce(np.maximum, a[Y, :], sl.BufferExpr("o", np.int8, 1)[Y]), "are not int8"),
])  # fmt: skip
def test_funcs_that_reduce_refuse_what_does_not_fit(make: Callable[..., Any], message: str) -> None:
    with pytest.raises(sl.GraphError, match=message):
        make(sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("s", np.int64, 1))


def test_reductions_and_their_stages_come_back_from_json() -> None:
    """With callbacks by name; what does not fit together is refused."""
    a, s, state = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("s", np.int64, 1), sl.BufferExpr("t", np.int64, 1)
    reduction = sl.Reduction({"x": 1}, [state[Y]], nothing, more, end)
    sl.Func(whole, [a[Y, :]], [s[Y]], reduction=reduction)
    p = sl.build_pipeline([a], [s])
    callbacks = {f.__name__: f for f in (nothing, more, end, whole)}
    values = squares((3, 50))
    for each in (p, sl.split_reduction(p, "whole", "x", 8)):
        again = sl.Pipeline.from_json(each.to_json(), callbacks)
        assert again.same_program(each)
        assert str(again) == str(each)
        assert again.to_json() == each.to_json()
        np.testing.assert_array_equal(again(values, np.zeros(3, np.int64)), values.sum(axis=1))
    split = sl.split_reduction(p, "whole", "x", 8).to_json()
    for old, new, message in [
        ('"axes": [1]', '"axes": [2]', "an input of rank 2 has no axis 2"),
        ('"axes": [1]', '"axes": []', "the stage update of a reduction with 1 states reads 1 buffers"),
        ('"stage": "init"', '"stage": "begin"', "expected one of init, update, keep, merge, finish, got 'begin'"),
        ('"piece_extent"', '"piece"', "the stage update of a reduction takes the argument piece_extent"),
        ('"over": [["x", [1]]]', '"over": []', "what is reduced has names"),
    ]:
        text = p.to_json() if old in p.to_json() else split
        assert old in text
        with pytest.raises(sl.FormatError, match=message):
            sl.Pipeline.from_json(text.replace(old, new), callbacks)
    assert not sl.split_reduction(p, "whole", "x", 8).same_program(sl.split_reduction(p, "whole", "x", 9))


def whole(rows: np.ndarray, out: np.ndarray) -> None:
    np.sum(rows, axis=1, out=out)


def nothing(state: np.ndarray) -> None:
    state.fill(0)


def more(old: np.ndarray, piece: np.ndarray, new: np.ndarray) -> None:
    np.add(old, piece.sum(axis=1), out=new)


def end(state: np.ndarray, out: np.ndarray) -> None:
    out[...] = state


def test_of_less_than_nothing_there_are_no_pieces() -> None:
    """An intermediate is as long as windows of an input leave it: with a short input, as long as less than nothing."""
    (x,) = sl.variables("x")
    a, t, s = sl.BufferExpr("a", np.int64, 1), sl.BufferExpr("t", np.int64, 1), sl.BufferExpr("s", np.int64, 0)
    sl.Func(lambda i, o: np.add(i[:-5], i[5:], out=o), [a[sl.interval(x, x + 5)]], [t[x]], name="ends")
    sl.reductions.sum(t[:], s[()])
    unscheduled = sl.build_pipeline([a], [s])
    p = sl.split_reduction(unscheduled, "sum", "x", 3)
    for size in (0, 1, 4, 5, 6, 14):
        values, found = np.arange(size), np.full((), -1)
        p.run(values, found, checked=True)
        assert found == (values[:-5] + values[5:]).sum()


@pytest.mark.parametrize("reduce", [sl.reductions.sum, sl.reductions.mean, sl.reductions.var])
@pytest.mark.parametrize("dim", ["y", "x"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_pieces_of_no_elements_change_nothing(reduce: Callable[..., Any], dim: str) -> None:
    """Of two reduced dimensions, the one that is not in pieces may be empty, or less than that."""
    a, t, m = sl.BufferExpr("a", np.float64, 2), sl.BufferExpr("t", np.float64, 2), sl.BufferExpr("m", np.float64, 0)
    window = a[Y, sl.interval(X, X + 5)]
    sl.Func(lambda i, o: np.add(i[:, : i.shape[1] - 5], i[:, 5:], out=o), [window], [t[Y, X]], name="ends")
    reduce(t[:, :], m[()], reassociate=True, name="total")
    unscheduled = sl.build_pipeline([a], [m])
    p = sl.split_reduction(unscheduled, "total", dim, 2)
    for shape in [(4, 9), (4, 6), (4, 5), (4, 4), (4, 0), (0, 9), (0, 4), (1, 6)]:
        values, expected, found = np.random.default_rng(4).random(shape), np.full((), -7.0), np.full((), -7.0)
        unscheduled.run(values, expected)
        p.run(values, found, checked=True)
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(("reduce", "out"), [
    (lambda *a, **k: sl.reductions.reduce(np.maximum, *a, **k), np.int64),
    (lambda *a, **k: sl.reductions.reduce(np.minimum, *a, **k), np.int64),
    (sl.reductions.argmax, np.intp),
    (sl.reductions.argmin, np.intp),
])  # fmt: skip
def test_of_no_elements_there_is_no_extremum(reduce: Callable[..., Any], out: Any) -> None:
    unscheduled = of_squares(reduce, np.int64, out)
    for p in (unscheduled, in_pieces(unscheduled, 4)):
        with pytest.raises(ValueError, match=r"zero-size|empty sequence|of no elements"):
            p(np.zeros((3, 0), np.int64), np.zeros(3, out))
        assert p(np.zeros((0, 0), np.int64), np.zeros(0, out)).shape == (0,)


def test_an_update_does_not_stop_to_slide() -> None:
    """It alone reads what it writes, in the loop."""
    p = sl.split_reduction(of_squares(sl.reductions.sum), "total", "x", 8)
    with pytest.raises(sl.SchedulingError, match="total_update"):
        sl.unslide_window(p, "total_update", "for x")


def sums_in_two_shapes(inputs: Callable[..., list[Any]]) -> sl.Pipeline:
    """Sums of rows, and once more as a picture whose columns are all alike: what is known so far has no columns."""
    a, more = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("more", np.int64, 1)
    s, m, state = sl.BufferExpr("s", np.int64, 1), sl.BufferExpr("m", np.int64, 2), sl.BufferExpr("p", np.int64, 1)

    def whole(rows: np.ndarray, *rest: np.ndarray) -> None:
        finish(rows.sum(axis=1), *rest[-2:])

    def update(old: np.ndarray, rows: np.ndarray, *rest: np.ndarray) -> None:
        np.add(old, rows.sum(axis=1), out=rest[-1])

    def finish(total: np.ndarray, sums: np.ndarray, picture: np.ndarray) -> None:
        sums[...] = total
        picture[...] = total[:, np.newaxis]

    def merge(one: np.ndarray, other: np.ndarray, both: np.ndarray) -> None:
        np.add(one, other, out=both)

    sources = inputs(a, more)
    over = {"k": (1, *(None for _ in sources[1:]))}
    reduction = sl.Reduction(over, [state[Y]], lambda p: p.fill(0), update, finish, merge=merge)
    sl.Func(whole, sources, [s[Y], m[Y, X]], name="total", reduction=reduction)
    return sl.build_pipeline([access.buffer for access in sources], [s, m])


def test_an_output_may_have_dimensions_that_no_state_has() -> None:
    """The calls that write states have the dimensions of these alone, so that they move like any other call."""
    before = sums_in_two_shapes(lambda a, more: [a[Y, :]])
    p, pieces = sl.split_reduction(before, "total", "k", 4, rc=True)
    assert [dim.name() for dim in pieces.update.dims()] == ["k_piece", "y"]
    with pytest.raises(sl.SchedulingError, match="total_update does not find all of p"):
        sl.lift_call(p, pieces.update)
    parts = sl.split_reduction_in_parts(before, "total", "k", 2, 3)
    stages = {call.name(): call for call in parts.find_all("_ = _")}
    assert {name: [dim.name() for dim in call.dims()] for name, call in stages.items()} == {
        "total_init": ["k_part", "k_piece", "y"],
        "total_update": ["k_part", "k_piece", "y"],
        "total_keep": ["k_part", "y"],
        "total_begin": ["k_part", "y"],
        "total_merge": ["k_part", "y"],
        "total_finish": ["y", "x"],
    }
    for name in ("total_update", "total_merge"):
        with pytest.raises(sl.SchedulingError, match=f"{name} does not find all of"):
            sl.lift_call(parts, stages[name])
    moved = sl.split_loop(sl.split_loop(parts, "total_keep.y", 2), "total_merge.y", 1)
    for q in (p, sl.split_loop(p, "total_update.y", 2), sl.split_loop(p, "total_finish.y", 2), parts, moved):
        for rows, columns, low in ((3, 2, 0), (1, 7, -4), (4, 1, 2)):
            values = np.random.default_rng(rows).integers(-9, 10, (rows, 11))
            s, m = sl.Buffer(np.zeros(rows, np.int64)), sl.Buffer(np.zeros((rows, columns), np.int64), min=(0, low))
            q.run(values, s, m, checked=True)
            np.testing.assert_array_equal(s.array, values.sum(axis=1))
            np.testing.assert_array_equal(m.array, np.repeat(s.array[:, np.newaxis], columns, axis=1))


def test_inputs_that_move_with_a_dimension_that_no_state_has() -> None:
    p = sums_in_two_shapes(lambda a, more: [a[Y, :], more[X]])
    with pytest.raises(sl.SchedulingError, match="what total reads moves with x, along which it has no state"):
        sl.split_reduction(p, "total", "k", 4)


def test_what_combines_is_a_ufunc_of_one_state_and_one_input() -> None:
    (y,) = sl.variables("y")
    a, b, out = (sl.BufferExpr(name, np.int64, rank) for name, rank in (("a", 2), ("b", 2), ("out", 1)))

    def made(inputs: list[Any], states: list[str], combine: Any) -> sl.Func:
        return sl.Func(
            lambda *arrays: None,
            inputs,
            [out[y]],
            name="total",
            reduction=sl.Reduction(
                {"x": (1,) * len(inputs)},
                [sl.BufferExpr(name, np.int64, 1)[y] for name in states],
                init=lambda *arrays: None,
                update=lambda *arrays: None,
                finish=lambda *arrays: None,
                combine=combine,
            ),
        )

    for combine in (max, np.sin, np.matmul, np.divmod):
        with pytest.raises(sl.GraphError, match="combine of a reduction must be a ufunc of two elements"):
            made([a[y, :]], ["t"], combine)
    with pytest.raises(sl.GraphError, match="combine is of one state and one input"):
        made([a[y, :], b[y, :]], ["t"], np.add)
    with pytest.raises(sl.GraphError, match="combine is of one state and one input"):
        made([a[y, :]], ["t", "u"], np.add)


def test_a_nest_of_sums_by_elements_is_one_function_in_c() -> None:
    (y,), x = sl.variables("y"), sl.variables("x")[0]
    a, t, s = (sl.BufferExpr(name, np.float32, rank) for name, rank in (("a", 2), ("t", 2), ("s", 1)))
    sl.arithmetic(a[y, x] * 2, t[y, x], "twice")
    sl.reductions.sum(t[y, :], s[y], name="total", reassociate=True)
    p = sl.split_loop(sl.build_pipeline([a], [s]), "total.y", 4)
    for factor, is_in_c in ((1, True), (2, False)):
        q, pieces = sl.split_reduction(p, "total", "x", factor, rc=True)
        q = sl.store_at(sl.compute_at(q, "twice", pieces.loop), "alloc t", pieces.loop)
        plan = q.compile(backend="native")
        if shutil.which("cc"):
            assert ("# in C: total_init, twice, total_update, total_finish;" in plan.source) is is_in_c
        for shape in ((9, 7), (4, 1), (1, 5), (3, 0)):
            values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            np.testing.assert_array_equal(plan(values), (values * 2).sum(1))


def test_what_carries_out_a_stage_goes_with_it() -> None:
    """Nothing is kept of the operations of a program that is gone."""
    p = in_pieces(of_squares(sl.reductions.sum), 4)
    parts = sl.split_reduction(of_squares(sl.reductions.argmax), "total", "x", 4)
    operations = [call.func.operation for q in (p, parts) for call in calls_in(q.program.body)]
    stages = [attrs.evolve(each) for each in operations if isinstance(each, Accumulation)]
    stages += [attrs.evolve(each, parts=True) for each in stages]
    assert {each.stage for each in stages} >= {Stage.INIT, Stage.UPDATE, Stage.FINISH}
    for stage in stages:
        stage_carrier(stage)
    left = [weakref.ref(stage) for stage in stages]
    del stages, stage
    gc.collect()
    assert not any(reference() for reference in left)


@pytest.mark.parametrize("dtype", [np.dtype(np.float64).newbyteorder(), np.dtype("m8[ms]")], ids=str)
def test_a_dtype_that_numpy_cannot_be_told_is_refused_where_the_func_is_made(dtype: np.dtype[Any]) -> None:
    """It would be refused by NumPy in each run."""
    (y,) = sl.variables("y")
    rows, total = sl.BufferExpr("rows", dtype, 2), sl.BufferExpr("total", dtype, 1)
    with pytest.raises(sl.GraphError, match="neither another byte order nor a unit of time"):
        sl.reductions.sum(rows[y, :], total[y])


def test_a_softmax_may_be_of_another_byte_order() -> None:
    """Its stages tell NumPy no dtype."""
    i, j = sl.variables("i j")
    turned = np.dtype(np.float64).newbyteorder()
    scores, values, out = (sl.BufferExpr(name, turned, 2) for name in ("scores", "values", "out"))
    sl.reductions.softmax_dot(scores[i, :], values[:, j], out[i, j], reassociate=True)
    equal = sl.equal(scores.dim(1).extent, values.dim(0).extent)
    p = sl.split_reduction(sl.build_pipeline([scores, values], [out], require=[equal]), "softmax_dot", "k", 2)
    given = np.zeros((3, 4), scores.dtype), np.arange(8.0).reshape(4, 2).astype(values.dtype)
    np.testing.assert_allclose(np.asarray(p(*given)), np.full((3, 2), [3.0, 4.0]))
