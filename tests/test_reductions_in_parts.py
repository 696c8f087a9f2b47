"""Reductions in parts that begin anew, run at the same time, and are merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import slinky as sl

Y, ROW, COLUMN = sl.variables("y row column")

SHAPES = [(1, 0), (3, 1), (2, 8), (4, 7), (5, 301), (1, 64), (6, 33)]

WAYS: list[dict[str, Any]] = [{}, {"backend": "interpreter"}, {"checked": True}, {"threads": 3}]


def by_rows(reduce: Callable[..., Any], dtype: Any, out: Any = None, **options: Any) -> sl.Pipeline:
    """A reduction of each row."""
    a, s = sl.BufferExpr("a", dtype, 2), sl.BufferExpr("s", dtype if out is None else out, 1)
    reduce(a[Y, :], s[Y], name="total", **options)
    return sl.build_pipeline([a], [s])


def in_parts(p: sl.Pipeline, factor: int, pieces: int, call: str = "total", dim: str = "x") -> sl.Pipeline:
    """The same in parts, which run at the same time."""
    p, made = sl.split_reduction_in_parts(p, call, dim, factor, pieces, rc=True)
    return sl.parallelize_loop(p, made.parts, 2)


EXACT: list[tuple[Callable[..., Any], Callable[..., Any], Any, Any]] = [
    (sl.reductions.sum, np.sum, np.int64, None),
    (lambda *a, **k: sl.reductions.reduce(np.multiply, *a, **k), np.prod, np.int64, None),
    (lambda *a, **k: sl.reductions.reduce(np.maximum, *a, **k), np.max, np.float32, None),
    (lambda *a, **k: sl.reductions.reduce(np.minimum, *a, **k), np.min, np.int16, None),
    (sl.reductions.argmax, np.argmax, np.float64, np.intp),
    (sl.reductions.argmin, np.argmin, np.int64, np.intp),
]


@pytest.mark.sweep
@pytest.mark.parametrize(("factor", "pieces"), [(1, 1), (3, 2), (2, 5), (16, 4)])
@pytest.mark.parametrize(("reduce", "expected", "dtype", "out"), EXACT)
def test_what_is_exact_is_the_same_to_the_last_bit(
    reduce: Callable[..., Any], expected: Callable[..., Any], dtype: Any, out: Any, factor: int, pieces: int
) -> None:
    p = in_parts(by_rows(reduce, dtype, out), factor, pieces)
    for shape in SHAPES:
        if shape[1] == 0 and expected not in (np.sum, np.prod):
            continue
        values = np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(dtype)
        found = np.zeros(shape[0], dtype if out is None else out)
        for way in WAYS:
            p.run(values, found, **way)
            np.testing.assert_array_equal(found, expected(values, axis=1))


@pytest.mark.parametrize(("reduce", "expected"), [
    (sl.reductions.sum, np.sum),
    (sl.reductions.mean, np.mean),
    (sl.reductions.var, np.var),
    (lambda *a, **k: sl.reductions.var(*a, ddof=1, **k), lambda a, axis: np.var(a, axis=axis, ddof=1)),
])  # fmt: skip
def test_what_is_rounded_is_the_same_but_for_rounding(reduce: Callable[..., Any], expected: Callable[..., Any]) -> None:
    with pytest.raises(sl.SchedulingError, match="total gives other bits by pieces"):
        in_parts(by_rows(reduce, np.float64), 7, 3)
    p = in_parts(by_rows(reduce, np.float64, reassociate=True), 7, 3)
    for shape in [(3, 40), (2, 21), (5, 301), (4, 7), (1, 22)]:
        values, found = np.random.default_rng(sum(shape)).random(shape) + 1000, np.zeros(shape[0])
        for way in WAYS:
            p.run(values, found, **way)
            np.testing.assert_allclose(found, expected(values, axis=1), rtol=1e-9)


def test_the_first_largest_element_is_found_as_numpy_finds_it() -> None:
    p = in_parts(by_rows(sl.reductions.argmax, np.float64, np.intp), 2, 2)
    values = np.random.default_rng(5).integers(0, 3, (50, 11)).astype(float)
    values[10:30][np.random.default_rng(6).random((20, 11)) < 0.2] = np.nan
    values[30:40] = -np.inf
    values[40:] = -5
    found = np.zeros(50, np.intp)
    p(values, found)
    np.testing.assert_array_equal(found, np.argmax(values, axis=1))


def test_an_image_has_one_mean() -> None:
    """Two reduced dimensions: a piece, and a part, are of so many elements along the other one, too."""
    a, m, v = sl.BufferExpr("a", np.float64, 2), sl.BufferExpr("m", np.float64, 0), sl.BufferExpr("v", np.float64, 0)
    sl.reductions.mean(a[:, :], m[()], reassociate=True)
    sl.reductions.var(a[:, :], v[()], reassociate=True)
    p = in_parts(in_parts(sl.build_pipeline([a], [m, v]), 3, 2, "mean", "y"), 5, 1, "var", "x")
    values = np.random.default_rng(1).random((37, 11)) + 50
    found = np.zeros(()), np.zeros(())
    p.run(values, *found, checked=True)
    np.testing.assert_allclose(found[0], values.mean())
    np.testing.assert_allclose(found[1], values.var())


def test_parts_of_no_elements_change_nothing() -> None:
    """Along another reduced dimension there are none."""
    a, m = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("m", np.int64, 0)
    sl.reductions.sum(a[:, :], m[()])
    p = in_parts(sl.build_pipeline([a], [m]), 2, 2, "sum", "y")
    found = np.ones((), np.int64)
    p.run(np.zeros((9, 0), np.int64), found, checked=True)
    assert found == 0


def test_attention_in_parts() -> None:
    scores, v, o = (sl.BufferExpr(name, np.float64, 2) for name in ("s", "v", "o"))
    sl.reductions.softmax_dot(scores[ROW, :], v[:, COLUMN], o[ROW, COLUMN], reassociate=True)
    p = sl.build_pipeline([scores, v], [o], require=[sl.equal(scores.dim(1).extent, v.dim(0).extent)])
    q = in_parts(p, 4, 2, "softmax_dot", "k")
    random = np.random.default_rng(8)
    for rows, keys in [(5, 64), (3, 1), (2, 37)]:
        given, values = random.normal(size=(rows, keys)) * 30, random.normal(size=(keys, 3))
        given[0, : keys // 2] = -np.inf
        found = np.zeros((rows, 3))
        for way in WAYS:
            q.run(given, values, found, **way)
            np.testing.assert_allclose(found, p(given, values), rtol=1e-12)


def test_a_product_of_matrices_in_parts() -> None:
    a, b, c = (sl.BufferExpr(name, np.int64, 2) for name in "abc")
    sl.reductions.dot(a[ROW, :], b[:, COLUMN], c[ROW, COLUMN])
    p = sl.build_pipeline([a, b], [c], require=[sl.equal(a.dim(1).extent, b.dim(0).extent)])
    p = in_parts(p, 8, 3, "dot", "k")
    random = np.random.default_rng(3)
    for m, k, n in [(3, 50, 5), (1, 1, 1), (4, 24, 2), (2, 0, 3), (5, 25, 0)]:
        left, right = random.integers(0, 9, (m, k)), random.integers(0, 9, (k, n))
        found = np.ones((m, n), np.int64)
        p.run(left, right, found, checked=True)
        np.testing.assert_array_equal(found, left @ right)


def test_each_worker_has_a_state_of_its_own_and_a_piece_of_what_is_reduced() -> None:
    a, t = (sl.BufferExpr(name, np.int64, 2) for name in "at")
    s = sl.BufferExpr("s", np.int64, 1)
    (x,) = sl.variables("x")
    sl.Func(np.square, [a[Y, x]], [t[Y, x]])
    sl.reductions.sum(t[Y, :], s[Y], name="total")
    p, made = sl.split_reduction_in_parts(sl.build_pipeline([a], [s]), "total", "x", 64, 10, rc=True)
    p = sl.store_at(sl.compute_at(p, "square", made.loop), "alloc t", made.loop)
    p = sl.parallelize_loop(p, made.parts, 2)
    values = np.random.default_rng(0).integers(-9, 10, (10, 6400))
    for workers in (1, 2):
        statistics = p.run(values, threads=workers)
        np.testing.assert_array_equal(statistics.outputs[0], np.square(values).sum(axis=1))
        assert statistics.calls == {
            "square": 100, "total_init": 10, "total_update": 100, "total_keep": 10, "total_begin": 1,
            "total_merge": 10, "total_finish": 1,
        }  # fmt: skip
    own, kept, merged = (64 * 10 + 2 * 10) * 8, 10 * 10 * 8, 2 * 10 * 8
    assert p.estimate(values).program_bytes == kept + max(2 * own, merged)


def test_what_the_record_has() -> None:
    """And what scalars do: one of the two numbers may be one."""
    before = by_rows(sl.reductions.sum, np.int64)
    p, made = sl.split_reduction_in_parts(before, "total", "x", sl.scalar("n"), 3, rc=True)
    names = [(field, getattr(made, field).name()) for field in made.fields()]
    assert names == [
        ("parts", "x_part"), ("init", "total_init"), ("loop", "x"), ("update", "total_update"),
        ("merge", "total_merge"), ("final", "total_finish"),
    ]  # fmt: skip
    q = sl.split_reduction_in_parts(before, "total", "x", 4, sl.scalar("n"))
    values = np.arange(70).reshape(2, 35)
    for each in (p, q):
        assert "check 1 <= n" in str(each)
        for n in (1, 4, 7, 50):
            found = np.zeros(2, np.int64)
            each.run(values, found, checked=True, n=n)
            np.testing.assert_array_equal(found, values.sum(axis=1))
    with pytest.raises(sl.SchedulingError, match="not shown that total_keep finds all of partial"):
        sl.split_reduction_in_parts(before, "total", "x", sl.scalar("n"), sl.scalar("m"))


def test_what_is_known_of_a_part_is_not_known_of_another() -> None:
    """The states of one part hold nothing of another: neither can be begun, taken or merged without the other."""
    p, made = sl.split_reduction_in_parts(by_rows(sl.reductions.sum, np.int64), "total", "x", 4, 2, rc=True)
    with pytest.raises(sl.SchedulingError, match="total_update does not find all of partial"):
        sl.reorder_statements(p, p.find("total_init").expand(after=1))
    with pytest.raises(sl.SchedulingError, match="a fold of 1 holds"):
        sl.fold_storage(p, "alloc partial", 1, 1)
    with pytest.raises(sl.SchedulingError, match="partial"):
        sl.parallelize_loop(p, made.loop)
    with pytest.raises(sl.SchedulingError, match="merged"):
        sl.parallelize_loop(p, "for x_merged")
    with pytest.raises(sl.SchedulingError):
        sl.remove_call(p, "total_init")
    lifted = sl.lift_alloc(p, "alloc partial")
    with pytest.raises(sl.SchedulingError):
        sl.remove_call(lifted, "total_init")


def nothing(state: np.ndarray) -> None:
    """Of no elements."""
    state.fill(0)


def more(old: np.ndarray, piece: np.ndarray, new: np.ndarray) -> None:
    """With a piece more."""
    new[...] = old + piece.sum(axis=1)


def end(state: np.ndarray, out: np.ndarray) -> None:
    """Of all."""
    out[...] = state


def both(first: np.ndarray, second: np.ndarray, new: np.ndarray) -> None:
    """Of two parts."""
    new[...] = first + second


def whole(rows: np.ndarray, out: np.ndarray) -> None:
    """All at once."""
    np.sum(rows, axis=1, out=out)


def own(merge: Callable[..., Any] | None) -> sl.Pipeline:
    """A reduction of one's own."""
    a, s, t = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("s", np.int64, 1), sl.BufferExpr("t", np.int64, 1)
    reduction = sl.Reduction({"x": 1}, [t[Y]], nothing, more, end, merge=merge)
    sl.Func(whole, [a[Y, :]], [s[Y]], reduction=reduction)
    return sl.build_pipeline([a], [s])


def test_refusals() -> None:
    with pytest.raises(sl.SchedulingError, match="whole does not say how states of two parts are merged") as caught:
        sl.split_reduction_in_parts(own(None), "whole", "x", 4, 2)
    assert "sl.Reduction(..., merge=...) says it" in str(caught.value)
    for arguments, message in [
        (("x", 0, 2), "the factor must be 1 or more, got 0"),
        (("x", 2, 0), "the number of pieces must be 1 or more, got 0"),
        (("z", 2, 2), "whole reduces x, and not z"),
    ]:
        with pytest.raises((sl.SchedulingError, sl.OperationError), match=message):
            sl.split_reduction_in_parts(own(both), "whole", *arguments)
    with pytest.raises(sl.GraphError, match="merge of a reduction must be callable, got 3"):
        own(3)  # type: ignore[arg-type]


def test_json() -> None:
    p = sl.split_reduction_in_parts(own(both), "whole", "x", 4, 2)
    callbacks = {f.__name__: f for f in (nothing, more, end, both, whole)}
    text = p.to_json()
    again = sl.Pipeline.from_json(text, callbacks)
    assert again.same_program(p)
    assert again.to_json() == text
    values = np.arange(60).reshape(3, 20)
    np.testing.assert_array_equal(again(values), values.sum(axis=1))
    for old, new, message in [
        ('"stage": "merge"', '"stage": "keep"', "reads 1 buffers"),
        ('"merge": "both"', '"merge": null', "a reduction that says no merge has no stage that merges"),
        ('"part_pieces"', '"pieces"', "takes the argument part_pieces"),
    ]:
        assert old in text
        with pytest.raises(sl.FormatError, match=message):
            sl.Pipeline.from_json(text.replace(old, new), callbacks)
