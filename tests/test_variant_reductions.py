"""Variants of funcs that declare how they reduce: split as their func is, or in a way of their own."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scheduled import agree_on_rows, refusal
from second_judge import judge

import slinky as sl
from slinky.ir.copies import with_func

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


def test_a_variant_that_says_nothing_is_split_as_its_func() -> None:
    before = squares()
    p = by_pieces(sl.choose_variant(before, "sum", "columns"))
    assert str(p) == str(by_pieces(before))
    agree_on_rows(before, p)


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_variant_has_states_of_its_own(is_declared: bool) -> None:
    before = squares(is_declared)
    chosen = sl.choose_variant(before, "sum", "behind")
    p = by_pieces(chosen)
    assert "alloc total: int32[-1 .. " in str(p)
    agree_on_rows(before, p)
    split = sl.split_reduction(chosen, "sum", "x", 4)
    assert judge(chosen.program, split.program, "split_reduction") > 0
    assert judge(before.program, chosen.program, "choose_variant") > 0


def test_a_variant_of_another_dtype_says_itself_how_it_reduces() -> None:
    before = squares()
    short = sl.choose_variant(before, "square", "short")
    assert short.find("sum").variant() == "short"
    agree_on_rows(before, short)
    with pytest.raises(sl.SchedulingError) as caught:
        sl.split_reduction(short, "sum", "x", 4)
    assert "sum[short] takes other dtypes than sum, and does not say how it reduces" in str(caught.value)
    assert "sl.Variant(..., reduction=sl.Reduction(...)) says it" in str(caught.value)
    both = sl.choose_variant(before, "sum", "both")
    assert both.find("alloc t").dtype() == np.int32
    p = by_pieces(both)
    assert "alloc total: int64" in str(p)
    assert "alloc t: int32" in str(p)
    agree_on_rows(before, p)


def test_nobody_says_it() -> None:
    p = sl.choose_variant(squares(is_declared=False), "sum", "columns")
    assert refusal(lambda: sl.split_reduction(p, "sum", "x", 4)) == "sum does not say how it reduces"


# Variants of what was taken to pieces ---------------------------------------------------------------------------------


def both_less(one: Any, other: Any, both: Any) -> None:
    np.add(one, other, out=both)


def finish_less(total: Any, out: Any) -> None:
    np.negative(total, out=out)


CALLBACKS |= {each.__name__: each for each in (both_less, finish_less)}


def negatives(dtype: Any = np.int32) -> sl.Pipeline:
    """`sum`, and a variant whose state is the negative of the sum, of this dtype: with one, nobody can go on from the
    other."""
    a, s = sl.BufferExpr("a", np.int64, 2), sl.BufferExpr("s", np.int64, 1)
    of_func = sl.Reduction({"x": 1}, [sl.BufferExpr("total", "i8", 1)[y]], clear, add, finish, merge=both_less)
    short = sl.BufferExpr("short", dtype, 1)
    negative = sl.Reduction({"x": 1}, [short[y]], clear, less_short, finish_less, merge=both_less)
    two = sl.Reduction({"x": 1}, [sl.BufferExpr(n, "i8", 1)[y] for n in "uv"], clear_both, add_both, finish_both)
    variants = {
        "negative": sl.Variant(sums, reduction=negative),
        "two": sl.Variant(sums, reduction=two),
        "columns": sums_of_columns,
    }
    sl.Func(sums, [a[y, :]], [s[y]], name="sum", reduction=of_func, variants=variants)
    return sl.build_pipeline([a], [s])


def less_short(old: Any, piece: Any, new: Any) -> None:
    np.subtract(old, piece.sum(axis=1), out=new, casting="same_kind")


def clear_both(one: Any, other: Any) -> None:
    one.fill(0)
    other.fill(0)


def add_both(u: Any, v: Any, piece: Any, new_u: Any, new_v: Any) -> None:
    np.add(u, piece.sum(axis=1), out=new_u)
    np.copyto(new_v, v)


def finish_both(u: Any, v: Any, out: Any) -> None:
    np.add(u, v, out=out)


CALLBACKS |= {each.__name__: each for each in (less_short, clear_both, add_both, finish_both)}


@pytest.mark.parametrize("stage", ["sum_init", "sum_update", "sum_finish"])
def test_all_stages_go_over_to_a_variant(stage: str) -> None:
    before = negatives()
    split = sl.split_reduction(before, "sum", "x", 4)
    assert split.find(stage).variants() == ("negative",)
    p, (call,) = sl.choose_variant(split, stage, "negative", rc=True)
    assert (call.name(), call.variant()) == (stage, "negative")
    assert [each.variant() for each in p.find_all("_ = _")] == ["negative"] * 3
    assert "alloc total: int32[" in str(p)
    assert "sum_update[negative](total[x - 1, :], a[:, " in str(p)
    assert p.find("sum_update[negative]") == p.find("sum_update")
    agree_on_rows(before, p)
    assert judge(split.program, p.program, "choose_variant") > 0
    assert sl.choose_variant(p, stage, None).same_program(split)
    assert sl.choose_variant(p, stage, "negative").same_program(p)
    assert f'p = sl.choose_variant(p, "{stage}", "negative")' in str(p.history())


def test_it_is_what_the_variant_becomes_but_for_names() -> None:
    before = negatives()
    one = sl.choose_variant(sl.split_reduction(before, "sum", "x", 4), "sum_update", "negative")
    other = sl.split_reduction(sl.choose_variant(before, "sum", "negative"), "sum", "x", 4)
    assert str(one).replace("total", "short") == str(other)
    agree_on_rows(before, other)
    assert sl.choose_variant(other, "sum_update", None).find("alloc short").dtype() == np.int64


def test_parts_and_pieces_of_calls_go_over_together() -> None:
    before = negatives()
    p, made = sl.split_reduction_in_parts(before, "sum", "x", 2, 2, rc=True)
    p = sl.parallelize_loop(p, made.parts, 2)
    q = sl.choose_variant(p, made.merge, "negative")
    assert {each.variant() for each in q.find_all("_ = _")} == {"negative"}
    assert str(q).count(": int32[") == 3
    agree_on_rows(before, q)
    p = sl.split_loop(before, "sum.y", 2)
    p = sl.cut_call(sl.split_reduction(p, "sum", "x", 3), "sum_update.y", 1)
    q = sl.choose_variant(p, "sum_update #1", "negative")
    assert [each.variant() for each in q.find_all("_ = _")] == ["negative"] * len(q.find_all("_ = _"))
    agree_on_rows(before, q)


def test_which_variants_stages_have() -> None:
    """Those that say how they reduce, with states like these: `two` has more, and `columns` says nothing."""
    p = sl.split_reduction(squares(), "sum", "x", 4)
    for name, declared in (("columns", "behind"), ("both", "behind")):
        with pytest.raises(sl.SchedulingError) as caught:
            sl.choose_variant(p, "sum_update", name)
        assert f"sum_update has no variant {name!r}: it declares {declared}" in str(caught.value)
        assert "choose a variant of sum before it is taken to pieces" in str(caught.value)
    agree_on_rows(squares(), sl.choose_variant(p, "sum_update", "behind"))
    p = sl.split_reduction(negatives(), "sum", "x", 4)
    assert "it declares negative" in refusal(lambda: sl.choose_variant(p, "sum_update", "two"))
    p = sl.split_reduction(sl.choose_variant(negatives(), "sum", "two"), "sum", "x", 4)
    assert refusal(lambda: sl.choose_variant(p, "sum_update", "negative")) == (
        "sum_update has no variant 'negative': it declares none"
    )
    assert sl.choose_variant(p, "sum_update", None) is not None


def test_states_that_others_use() -> None:
    """A copy of a state would hold what the variant does not understand; what is in a pipeline of its own, nobody
    sees."""
    p = sl.split_reduction(negatives(), "sum", "x", 4)
    staged = sl.stage_buffer(p, "sum_finish", "total")
    text = refusal(lambda: sl.choose_variant(staged, "sum_update", "negative"))
    assert text == "load uses total, a state of sum, too"
    assert refusal(lambda: sl.choose_variant(staged, "sum_finish", "negative")) == (
        "load uses total_1, a state of sum, too"
    )
    inside = sl.extract_pipeline(p, p.find("sum_finish").as_block(), "inner")
    assert refusal(lambda: sl.choose_variant(inside, "sum_init", "negative")) == "inner uses total, a state of sum, too"
    laid = sl.set_layout(sl.unfold_storage(p, "alloc total", "x_piece"), "alloc total", ("y", "x_piece"))
    assert refusal(lambda: sl.choose_variant(laid, "sum_init", "negative")) == (
        "total lies in memory as it is asked for: it cannot hold int32"
    )


def test_no_edit_lets_one_stage_go_over_alone() -> None:
    p = sl.split_reduction(negatives(np.int64), "sum", "x", 4)
    q = sl.choose_variant(p, "sum_update", "negative")
    agree_on_rows(negatives(), q)
    other = q.find("sum_finish")._call.func
    edit = sl.edit(p)
    edit.replace("sum_finish", with_func(edit.statement(p.find("sum_finish")), other))
    assert refusal(edit.finish).startswith("sum_finish(total) would give s other values")


def test_stages_of_variants_are_kept() -> None:
    p = sl.split_reduction(negatives(), "sum", "x", 4)
    for each in (p, sl.choose_variant(p, "sum_update", "negative")):
        assert pickle.loads(pickle.dumps(each)).same_program(each)
        text = each.to_json(CALLBACKS)
        q = sl.Pipeline.from_json(text, callbacks=CALLBACKS)
        assert q.same_program(each)
        assert q.to_json(CALLBACKS) == text
        agree_on_rows(negatives(), sl.choose_variant(q, "sum_init", "negative"))
    document = json.loads(p.to_json(CALLBACKS))
    stage = next(f for f in document["funcs"] if f["operation"]["kind"] == "Accumulation")
    stage["operation"]["variants"][1][1]["states"] *= 2
    with pytest.raises(sl.FormatError, match="variants of a stage have states along the same dimensions"):
        sl.Pipeline.from_json(json.dumps(document), callbacks=CALLBACKS)


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
        agree_on_rows(before, p)
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
    agree_on_rows(squares(), by_pieces(q))
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
