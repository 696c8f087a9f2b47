"""Variants of funcs that declare how they reduce: split as their func is, or in a way of their own."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scheduled import refusal
from second_judge import judge

import slinky as sl

y, x = sl.variables("y x")


def sums(rows: Any, out: Any) -> None:
    np.sum(rows, axis=1, out=out)


def sums_of_columns(rows: Any, out: Any) -> None:
    out[...] = 0
    for column in rows.T:
        out += column.astype(out.dtype)


def clear(total: Any) -> None:
    total.fill(0)


def add(old: Any, piece: Any, new: Any) -> None:
    np.add(old, piece.sum(axis=1), out=new)


def add_from_behind(old: Any, piece: Any, new: Any) -> None:
    np.add(old, piece[:, ::-1].sum(axis=1), out=new, casting="same_kind")


def finish(total: Any, out: Any) -> None:
    np.copyto(out, total)


CALLBACKS: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (sums, sums_of_columns, clear, add, add_from_behind, finish)
} | {"square": np.square}


def reduction(dtype: Any, update: Callable[..., Any]) -> sl.Reduction:
    """Of rows, with a state of this dtype."""
    total = sl.BufferExpr("total", dtype, 1)
    return sl.Reduction({"x": 1}, [total[y]], clear, update, finish)


def squares(is_declared: bool = True) -> sl.Pipeline:
    """`sum` of squares, as it says itself, and with variants: one without a word, one of which the states have 32 bits,
    and one that takes what it sums in 32 bits."""
    a, t, s = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("t", np.int64, 2), sl.BufferExpr("s", np.int64, 1)
    short = sl.Variant(_square, dtypes={t: np.int32})
    sl.Func(np.square, [a[y, x]], [t[y, x]], name="square", variants={"short": short})
    sl.Func(
        sums,
        [t[y, :]],
        [s[y]],
        name="sum",
        reduction=reduction(np.int64, add) if is_declared else None,
        variants={
            "columns": sums_of_columns,
            "behind": sl.Variant(sums_of_columns, reduction=reduction(np.int32, add_from_behind)),
            "short": sl.Variant(sums_of_columns, dtypes={t: np.int32}),
            "both": sl.Variant(sums, dtypes={t: np.int32}, reduction=reduction(np.int64, add_from_behind)),
        },
    )
    return sl.build_pipeline([a], [s])


def _square(source: Any, target: Any) -> None:
    np.copyto(target, source * source, casting="same_kind")


CALLBACKS["_square"] = _square


def by_pieces(p: sl.Pipeline) -> sl.Pipeline:
    """The sum taken to pieces, with the squares computed by pieces, too."""
    p, pieces = sl.split_reduction(p, "sum", "x", 4, rc=True)
    return sl.store_at(sl.compute_at(p, "square", pieces.loop), "alloc t", pieces.loop)


def agree(before: sl.Pipeline, p: sl.Pipeline) -> None:
    """Both give the same, by all back ends."""
    p.verify()
    for rows, columns in ((3, 10), (1, 1), (2, 4), (3, 0)):
        source = np.arange(rows * columns).reshape(rows, columns) % 13
        expected = before(source)
        for how in ({"checked": True}, {"backend": "interpreter"}, {"backend": "python"}):
            np.testing.assert_array_equal(p.run(source, **how).outputs[0], expected)


def test_a_variant_that_says_nothing_is_split_as_its_func() -> None:
    before = squares()
    p = by_pieces(sl.choose_variant(before, "sum", "columns"))
    assert str(p) == str(by_pieces(before))
    agree(before, p)


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_variant_has_states_of_its_own(is_declared: bool) -> None:
    before = squares(is_declared)
    chosen = sl.choose_variant(before, "sum", "behind")
    p = by_pieces(chosen)
    assert "alloc total: int32[-1 .. " in str(p)
    agree(before, p)
    split = sl.split_reduction(chosen, "sum", "x", 4)
    assert judge(chosen.program, split.program, "split_reduction") > 0
    assert judge(before.program, chosen.program, "choose_variant") > 0


def test_a_variant_of_another_dtype_says_itself_how_it_reduces() -> None:
    before = squares()
    short = sl.choose_variant(before, "square", "short")
    assert short.find("sum").variant() == "short"
    agree(before, short)
    with pytest.raises(sl.SchedulingError) as caught:
        sl.split_reduction(short, "sum", "x", 4)
    assert "sum[short] takes other dtypes than sum, and does not say how it reduces" in str(caught.value)
    assert "sl.Variant(..., reduction=sl.Reduction(...)) says it" in str(caught.value)
    both = sl.choose_variant(before, "sum", "both")
    assert both.find("alloc t").dtype() == np.int32
    p = by_pieces(both)
    assert "alloc total: int64" in str(p)
    assert "alloc t: int32" in str(p)
    agree(before, p)


def test_nobody_says_it() -> None:
    p = sl.choose_variant(squares(is_declared=False), "sum", "columns")
    assert refusal(lambda: sl.split_reduction(p, "sum", "x", 4)) == "sum does not say how it reduces"


def test_stages_have_no_variants() -> None:
    p = sl.split_reduction(squares(), "sum", "x", 4)
    with pytest.raises(sl.SchedulingError) as caught:
        sl.choose_variant(p, "sum_update", "columns")
    assert "sum_update has no variant 'columns': it declares none" in str(caught.value)
    assert "choose a variant of sum before it is taken to pieces" in str(caught.value)


def test_fused_calls_of_funcs_that_reduce() -> None:
    """A fused func takes the place of one that reduces, whether that is the first of the two or the second."""
    a, t, s, out = (sl.BufferExpr(name, np.int64, rank) for name, rank in (("a", 2), ("t", 2), ("s", 1), ("out", 1)))
    square = sl.Func(np.square, [a[y, x]], [t[y, x]], name="square")
    total = sl.Func(sums, [t[y, :]], [s[y]], name="sum", reduction=reduction(np.int64, add))
    turn = sl.Func(np.negative, [s[y]], [out[y]], name="turn")
    sl.fuse(square, total, lambda rows, o: np.sum(rows * rows, axis=1, out=o), "squares")
    sl.fuse(total, turn, lambda rows, o: np.negative(rows.sum(axis=1), out=o), "minus")
    before = sl.build_pipeline([a], [out])
    for first, second, name in (("square", "sum", "squares"), ("sum", "turn", "minus")):
        p = sl.fuse_calls(before, first, second, name)
        agree(before, p)
        assert (
            refusal(lambda p=p, name=name: sl.split_reduction(p, name, "x", 4)) == f"{name} does not say how it reduces"
        )
        assert judge(before.program, p.program, "fuse_calls") > 0


def test_they_are_kept() -> None:
    p = sl.choose_variant(squares(), "sum", "both")
    q = pickle.loads(pickle.dumps(p))
    assert q.same_program(p)
    text = p.to_json(CALLBACKS)
    q = sl.Pipeline.from_json(text, callbacks=CALLBACKS)
    assert q.same_program(p)
    assert q.to_json(CALLBACKS) == text
    agree(squares(), by_pieces(q))
    again: dict[str, Any] = dict(CALLBACKS)
    exec(squares().to_graph_code(CALLBACKS), again)
    assert again["p"].same_program(squares())


def test_what_cannot_be_declared() -> None:
    t, s = sl.BufferExpr("t", np.int64, 2), sl.BufferExpr("s", np.int64, 1)
    for given, message in (
        (3, "variant 'v' of func 'sum': reduction must be a Reduction, got 3"),
        (sl.Reduction({"x": 2}, [sl.BufferExpr("o", "i8", 1)[y]], clear, add, finish), "has no axis 2"),
        (sl.Reduction({"x": 0}, [sl.BufferExpr("o", "i8", 1)[y]], clear, add, finish), "moves with y"),
    ):
        with pytest.raises(sl.GraphError, match=message):
            sl.Func(sums, [t[y, :]], [s[y]], name="sum", variants={"v": sl.Variant(sums, reduction=given)})
