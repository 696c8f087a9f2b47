"""Variants that take intermediates in some order of their dimensions in memory only."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import re
from typing import Any

import attrs
import numpy as np
import pytest
from second_judge import WrongRewriteError, judge

import slinky as sl
from slinky.cursors.lineages import origin
from slinky.cursors.versions import Version
from slinky.ir.copies import with_func
from slinky.pipeline import Pipeline

y, x = sl.variables("y x")


def square(source: Any, target: Any) -> None:
    np.multiply(source, source, out=target)


def differences(source: Any, target: Any) -> None:
    np.subtract(source[1:], source[:-1], out=target)


def total(one: Any, other: Any, target: Any) -> None:
    np.add(one, other, out=target)


class InOrder:
    """What a callback does, on arrays of which some lie in an order: by number, the axes from the outermost in."""

    def __init__(self, callback: Any, **orders: tuple[int, ...]) -> None:
        self.callback, self.orders = callback, {int(key[1:]): order for key, order in orders.items()}
        self.__name__ = f"{callback.__name__}_in_order"
        self.seen = 0

    def __call__(self, *operands: Any, **scalars: Any) -> None:
        for number, order in self.orders.items():
            array = operands[number]
            strides = [array.strides[d] for d in order]
            assert strides == sorted(strides, reverse=True), (self.__name__, array.shape, array.strides)
            assert strides[-1] == array.itemsize
        self.seen += 1
        self.callback(*operands, **scalars)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InOrder) and (self.callback, self.orders) == (other.callback, other.orders)

    def __hash__(self) -> int:
        return hash(self.callback)


SQUARE = InOrder(square, a1=(1, 0))
DIFFERENCES = InOrder(differences, a0=(1, 0), a1=(1, 0))
TOTAL = InOrder(total, a1=(1, 0))
ROWS = InOrder(differences, a0=(0, 1))


def chain(**more: dict[str, Any]) -> sl.Pipeline:
    """`first` writes t, of which `second` makes u, and `third` both to out. `second` has variants that take columns, or
    rows; the others take what there is, but for what is given by the name of a func."""
    a, t, u, out = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "t", "u", "out"))
    columns = ("x", "y")
    declared: dict[str, dict[str, Any]] = {
        "second": {
            "columns": lambda t, u, a, out: sl.Variant(DIFFERENCES, layouts={t: columns, u: (1, 0)}),
            "rows": lambda t, u, a, out: sl.Variant(ROWS, layouts={t: (y, x)}),
        },
        "first": {"columns": lambda t, u, a, out: sl.Variant(SQUARE, layouts={t: (x, y)})},
        "third": {"columns": lambda t, u, a, out: sl.Variant(TOTAL, layouts={u: columns})},
    } | more
    given = {name: {k: v(t, u, a, out) for k, v in variants.items()} for name, variants in declared.items()}
    sl.Func(square, [a[y, x]], [t[y, x]], name="first", variants=given["first"])
    sl.Func(differences, [t[sl.interval(y - 1, y), x]], [u[y, x]], name="second", variants=given["second"])
    sl.Func(total, [t[y, x], u[y, x]], [out[y, x]], name="third", variants=given["third"])
    return sl.build_pipeline([a], [out])


def layouts(p: sl.Pipeline) -> dict[str, bool]:
    """Of each allocation whether its layout is said."""
    return {alloc.name(): alloc._alloc.layout is not None for alloc in p.find_all("alloc _")}


def variants(p: sl.Pipeline) -> dict[str, str | None]:
    return {call.name(): call.variant() for call in p.find_all("_ = _")}


def agree(before: sl.Pipeline, p: sl.Pipeline) -> None:
    p.verify()
    for rows, columns in ((5, 4), (2, 1), (2, 0), (9, 3)):
        source = sl.Buffer(np.arange(rows * columns).reshape(rows, columns) % 17, min=(-1, 2))
        shape = (rows - 1, columns)
        expected = before(source, sl.Buffer(np.zeros(shape, np.int64), min=(0, 2)))
        for how in ({"checked": True}, {"backend": "interpreter"}, {"backend": "python"}, {"backend": "native"}):
            target = sl.Buffer(np.zeros(shape, np.int64), min=(0, 2))
            p.run(source, target, **how)
            np.testing.assert_array_equal(target.array, expected.array)


# What is chosen -------------------------------------------------------------------------------------------------------


def test_what_it_takes_is_stored_so() -> None:
    before = chain()
    p, (call,) = sl.choose_variant(before, "second", "columns", rc=True)
    assert (call.name(), call.variant()) == ("second", "columns")
    assert [line for line in str(p).splitlines() if "alloc" in line] == [
        "  alloc t: int64[out.y.min - 1 .. out.y.max, out.x.min..out.x.max] "
        "strides (8, max(8*out.y.max - 8*out.y.min + 16, 8))",
        "  alloc u: int64[out.y.min..out.y.max, out.x.min..out.x.max] "
        "strides (8, max(8*out.y.max - 8*out.y.min + 8, 8))",
    ]
    assert variants(p) == {"first": None, "second": "columns", "third": None}
    DIFFERENCES.seen = 0
    agree(before, p)
    assert DIFFERENCES.seen > 0
    assert str(p.history()) == 'import slinky as sl\np = sl.choose_variant(p, "second", "columns")'
    assert judge(before.program, p.program, "choose_variant") > 0
    by_hand = sl.set_layout(sl.set_layout(before, "alloc t", ("x", "y")), "alloc u", ("x", "y"))
    assert [alloc._alloc.layout for alloc in p.find_all("alloc _")] == [
        alloc._alloc.layout for alloc in by_hand.find_all("alloc _")
    ]
    assert str(sl.choose_variant(by_hand, "second", "columns")) == str(p)


def test_who_takes_any_order_runs_what_it_ran() -> None:
    before = chain()
    p = sl.choose_variant(before, "first", "columns")
    assert variants(p) == {"first": "columns", "second": None, "third": None}
    assert layouts(p) == {"t": True, "u": False}
    p = sl.choose_variant(p, "third", "columns")
    assert layouts(p) == {"t": True, "u": True}
    agree(before, p)
    q = sl.choose_variant(p, "second", "columns")
    assert variants(q) == dict.fromkeys(("first", "second", "third"), "columns")
    assert str(q.find("alloc t")) == str(p.find("alloc t")).replace("= second(", "= second[columns](")
    agree(before, q)


def test_who_asks_for_another_order_runs_another_variant_or_stands_in_the_way() -> None:
    before = chain()
    rows = sl.choose_variant(before, "second", "rows")
    agree(before, rows)
    p = sl.choose_variant(rows, "first", "columns")
    assert variants(p) == {"first": "columns", "second": "columns", "third": None}
    agree(before, p)
    p = chain(second={"rows": lambda t, u, a, out: sl.Variant(ROWS, layouts={t: (y, x)})})
    q = sl.choose_variant(sl.choose_variant(p, "second", "rows"), "first", "columns")
    assert variants(q) == {"first": "columns", "second": None, "third": None}
    agree(p, q)


def test_the_order_stays_when_nobody_asks_for_it() -> None:
    p = sl.choose_variant(chain(), "second", "columns")
    q = sl.choose_variant(p, "second", None)
    assert layouts(q) == {"t": True, "u": True}
    agree(chain(), sl.set_layout(q, "alloc t", ("y", "x")))


def test_strides_and_alignment() -> None:
    padded = sl.StorageOrder(("x", "y"), strides=(None, 512), alignment=64)
    before = chain(second={"padded": lambda t, u, a, out: sl.Variant(differences, layouts={t: padded})})
    p = sl.choose_variant(sl.assume_shape(before, out=(20, 6)), "second", "padded")
    assert "strides (8, 512) aligned 64" in str(p)
    p.verify()
    source = np.arange(21 * 6).reshape(21, 6)
    expected = before(sl.Buffer(source, min=(-1, 0)), np.zeros((20, 6), np.int64))
    np.testing.assert_array_equal(p(sl.Buffer(source, min=(-1, 0)), np.zeros((20, 6), np.int64)), expected)
    with pytest.raises(sl.SchedulingError, match=r"leaves .*room for what lies within"):
        sl.choose_variant(before, "second", "padded")


def of_many_dimensions(rank: int, alignment: int) -> sl.Pipeline:
    """A chain of two funcs, the second of which may take the first one's results from the last dimension to the
    first."""
    dims = sl.variables(" ".join(f"v{d}" for d in range(rank)))
    a, t, out = (sl.BufferExpr(name, np.int64, rank) for name in ("a", "t", "out"))
    turned = sl.StorageOrder(range(rank)[::-1], alignment=alignment)
    sl.Func(np.square, [a[dims]], [t[dims]], name="first")
    variants = {"turned": sl.Variant(np.negative, layouts={t: turned})}
    sl.Func(np.negative, [t[dims]], [out[dims]], name="second", variants=variants)
    return sl.build_pipeline([a], [out])


@pytest.mark.parametrize(("rank", "alignment"), [(2, 1), (5, 1), (8, 1), (5, 64)])
def test_strides_of_many_dimensions_are_nested(rank: int, alignment: int) -> None:
    """Each dimension lies within a step along the next, and so within one along all behind that."""
    before = of_many_dimensions(rank, alignment)
    p = sl.choose_variant(before, "second", "turned")
    source = np.arange(3 * 2 ** (rank - 1)).reshape(3, *[2] * (rank - 1))
    np.testing.assert_array_equal(p(source), before(source))


def test_strides_that_are_too_much_to_compare() -> None:
    with pytest.raises(sl.SchedulingError, match=r"not shown to leave room") as caught:
        sl.choose_variant(of_many_dimensions(7, 64), "second", "turned")
    assert "set_layout" not in str(caught.value)


@pytest.mark.parametrize("alignment", [1, 64])
def test_three_dimensions_in_a_loop(alignment: int) -> None:
    (z,) = sl.variables("z")
    a, t, out = (sl.BufferExpr(name, np.float32, 3) for name in ("a", "t", "out"))
    order = sl.StorageOrder((z, x, y), alignment=alignment)
    columns = sl.Variant(InOrder(np.negative, a0=(0, 2, 1)), layouts={t: order})
    sl.Func(np.square, [a[z, y, x]], [t[z, y, x]], name="first")
    sl.Func(np.negative, [t[z, y, x]], [out[z, y, x]], name="second", variants={"columns": columns})
    before = sl.build_pipeline([a], [out])
    p = sl.choose_variant(before, "second", "columns")
    source = np.random.default_rng(0).random((4, 5, 6), np.float32)
    p = sl.compute_at(sl.split_loop(p, "second.z", 2), "first", "for z")
    np.testing.assert_array_equal(p(source), -(source**2))
    q = sl.choose_variant(sl.store_at(sl.choose_variant(p, "second", None), "alloc t", "for z"), "second", "columns")
    np.testing.assert_array_equal(q(source), -(source**2))
    if alignment == 1:
        np.testing.assert_array_equal(sl.store_at(p, "alloc t", "for z")(source), -(source**2))


def test_what_lies_almost_so_is_stored_anew() -> None:
    """With too small an alignment, or with gaps along the last dimension of the order."""
    aligned = sl.StorageOrder((1, 0), alignment=64)
    before = chain(second={"aligned": lambda t, u, a, out: sl.Variant(differences, layouts={t: aligned})})
    p = sl.choose_variant(sl.set_layout(before, "alloc t", (1, 0), alignment=32), "second", "aligned")
    assert p.find("alloc t").alignment() == 64
    assert p.same_program(sl.choose_variant(before, "second", "aligned"))
    more = sl.set_layout(before, "alloc t", (1, 0), alignment=128)
    assert sl.choose_variant(more, "second", "aligned").find("alloc t").alignment() == 128
    gaps = sl.set_layout(chain(), "alloc t", (1, 0), strides=(16, None))
    p = sl.choose_variant(gaps, "second", "columns")
    assert p.same_program(sl.choose_variant(chain(), "second", "columns"))


def test_all_dimensions_are_in_order() -> None:
    (z,) = sl.variables("z")
    a, t, out = (sl.BufferExpr(name, np.float32, 3) for name in ("a", "t", "out"))
    turned = sl.Variant(InOrder(np.negative, a0=(0, 2, 1)), layouts={t: (z, x, y)})
    sl.Func(np.square, [a[z, y, x]], [t[z, y, x]], name="first")
    sl.Func(np.negative, [t[z, y, x]], [out[z, y, x]], name="second", variants={"turned": turned})
    p = sl.choose_variant(sl.build_pipeline([a], [out]), "second", "turned")
    assert "takes t in the order (z, x, y)" in refused(lambda: sl.set_layout(p, "alloc t", ("x", "z", "y")))
    assert sl.set_layout(p, "alloc t", ("z", "x", "y"), alignment=32).find("alloc t").alignment() == 32


def test_with_a_dtype() -> None:
    def both_of(t: Any, u: Any, a: Any, out: Any) -> sl.Variant:
        return sl.Variant(differences, layouts={t: (1, 0)}, dtypes={t: np.int32})

    def single(source: Any, target: Any) -> None:
        np.multiply(source, source, out=target, casting="same_kind")

    both = {"both": both_of}
    first = {"both": lambda t, u, a, out: sl.Variant(single, dtypes={t: np.int32})}
    third = {"single": lambda t, u, a, out: sl.Variant(total, dtypes={t: "i4"})}
    before = chain(second=both, first=first, third=third)
    p = sl.choose_variant(before, "second", "both")
    assert "alloc t: int32[out.y.min - 1 .. out.y.max, out.x.min..out.x.max] strides (4, " in str(p)
    assert variants(p) == {"first": "both", "second": "both", "third": "single"}
    agree(before, p)


def test_what_works_in_place_is_not_tried_in_another_order() -> None:
    """What lies in an order has memory of its own, so that checked mode has no copies to test it on."""
    a, t, out = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "t", "out"))
    columns = sl.Variant(InOrder(square, a0=(1, 0)), layouts={t: (1, 0)}, in_place=True)
    sl.Func(square, [a[y, x]], [t[y, x]], name="first")
    sl.Func(square, [t[y, x]], [out[y, x]], name="second", variants={"columns": columns}, in_place=True)
    before = sl.build_pipeline([a], [out])
    p = sl.choose_variant(before, "second", "columns")
    source = np.arange(12).reshape(3, 4)
    for how in ({"checked": True}, {"checked": "first"}, {}):
        np.testing.assert_array_equal(p.run(source, **how).outputs[0], source**4)


# What is not ----------------------------------------------------------------------------------------------------------


def refused(rewrite: Any) -> str:
    with pytest.raises(sl.SchedulingError) as caught:
        rewrite()
    return str(caught.value)


def test_what_the_caller_holds_lies_as_it_lies() -> None:
    p = chain(
        first={"of_a": lambda t, u, a, out: sl.Variant(square, layouts={a: (1, 0)})},
        third={"of_out": lambda t, u, a, out: sl.Variant(total, layouts={out: (1, 0)})},
    )
    for func, name, buffer in (("first", "of_a", "a"), ("third", "of_out", "out")):
        text = refused(lambda func=func, name=name: sl.choose_variant(p, func, name))
        assert f"{func}[{name}] takes {buffer} in the order (x, y), and the pipeline is given it as it lies" in text
        assert "only intermediates can be stored in some order" in text


def test_folds_and_blocks() -> None:
    before = sl.split_loop(chain(), "third.y", 1)
    for func in ("second", "first"):
        before = sl.compute_at(before, func, "for y")
    folded = sl.fold_storage(sl.slide_window(before, "first", "for y"), "alloc t", "y")
    text = refused(lambda: sl.choose_variant(folded, "second", "columns"))
    assert "t is folded along y, so it cannot lie in the order (x, y)" in text
    assert 'hint: store it in full first:\n  p = sl.unfold_storage(p, "alloc t", "y")\n  p = sl.choose_variant(' in text
    blocked = sl.divide_dim(before, "alloc u", "y", 1)
    text = refused(lambda: sl.choose_variant(blocked, "second", "columns"))
    assert "u is stored by blocks, so it cannot lie in the order (x, y)" in text
    assert 'p = sl.merge_dims(p, "alloc u", "y")' in text


def test_others_who_ask_for_another_order() -> None:
    """The call itself runs what was asked for; and who has nothing else is named."""

    def asked(t: Any, u: Any, a: Any, out: Any) -> sl.Variant:
        return sl.Variant(differences, layouts={t: (1, 0), u: (1, 0)})

    p = chain(
        second={
            "asked": asked,
            "rows": lambda t, u, a, out: sl.Variant(ROWS, layouts={t: (0, 1)}),
            "more": lambda t, u, a, out: sl.Variant(differences, layouts={t: (1, 0)}),
        },
        third={
            "asked": lambda t, u, a, out: sl.Variant(total, layouts={t: (1, 0), u: (0, 1)}),
            "other": lambda t, u, a, out: sl.Variant(total, layouts={t: (1, 0)}),
        },
    )
    p = sl.choose_variant(p, "second", "rows")
    text = refused(lambda: sl.choose_variant(p, "third", "asked"))
    assert "others take u in the order (y, x), and second[asked] does not" in text
    text = refused(lambda: sl.choose_variant(p, "third", "other"))
    assert "third[other] takes t in the order (x, y), and so do several: second, second[asked], second[more]" in text


def test_a_stage_asks_for_what_its_func_did() -> None:
    a, t, s = (sl.BufferExpr(name, np.int64, rank) for name, rank in (("a", 2), ("t", 2), ("s", 1)))
    state = sl.BufferExpr("state", np.int64, 1)
    update = InOrder(lambda old, piece, new: np.add(old, piece.sum(axis=1), out=new), a1=(1, 0))

    def sums(rows: Any, out: Any) -> None:
        np.sum(rows, axis=1, out=out)

    reduction = sl.Reduction({"x": 1}, [state[y]], lambda z: z.fill(0), update, lambda z, o: np.copyto(o, z))
    columns = sl.Variant(InOrder(sums, a0=(1, 0)), layouts={t: (1, 0)}, reduction=reduction)
    turn = {"rows": sl.Variant(square, layouts={t: (0, 1)})}
    sl.Func(square, [a[y, x]], [t[y, x]], name="first", variants=turn)
    sl.Func(sums, [t[y, :]], [s[y]], name="sum", variants={"columns": columns})
    before = sl.build_pipeline([a], [s])
    p = sl.split_reduction(sl.choose_variant(before, "sum", "columns"), "sum", "x", 3)
    source = np.arange(40).reshape(4, 10)
    np.testing.assert_array_equal(p(source), before(source))
    assert update.seen == 4
    text = refused(lambda: sl.choose_variant(p, "first", "rows"))
    assert "first[rows] takes t in the order (y, x), and sum_update has no variant that does" in text
    assert "sl.Variant(..., layouts={t: ...}), where sum_update is made, declares one" in text
    text = refused(lambda: sl.set_layout(p, "alloc t", ("y", "x")))
    assert "sum_update takes t in the order (x, y), and it is not shown to lie so" in text


def test_one_call_by_two_ports() -> None:
    a, t, out = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "t", "out"))
    sl.Func(square, [a[y, x]], [t[y, x]], name="first", variants={"columns": sl.Variant(square, layouts={t: (1, 0)})})
    s = sl.BufferExpr("s", np.int64, 2)
    sl.copies.copy(t[y, x + 1], s[y, x], name="shift")
    asks = {"rows": sl.Variant(total, layouts={t: (0, 1), s: (1, 0)})}
    sl.Func(total, [t[y, x], s[y, x]], [out[y, x]], name="last", variants=asks)
    p = sl.build_pipeline([a], [out], alias=False)
    rows = sl.choose_variant(p, "last", "rows")
    assert rows.find("last").variant() == "rows"
    text = refused(lambda: sl.alias_copy(rows, "shift"))
    assert text
    assert sl.alias_copy(p, "shift").find("last").variants() == ()


# Nothing slips in -----------------------------------------------------------------------------------------------------


def test_later_rewrites_keep_the_order() -> None:
    """Or are refused: what a call asks for is asked after every edit."""
    p = sl.choose_variant(chain(), "second", "columns")
    text = refused(lambda: sl.set_layout(p, "alloc t", ("y", "x")))
    assert "second[columns] takes t in the order (x, y), and it is not shown to lie so" in text
    assert 'let second run what takes it as it is first:\n  p = sl.choose_variant(p, "second", None)' in text
    agree(chain(), sl.set_layout(p, "alloc t", ("x", "y"), alignment=64))
    text = refused(lambda: sl.stage_buffer(p, "second", "t"))
    assert "in the order (x, y), and it is not shown to lie so" in text
    q = sl.compute_at(sl.split_loop(p, "third.y", 2), "second", "for y")
    agree(chain(), q)
    agree(chain(), sl.store_at(q, "alloc u", "for y"))
    clone = sl.clone_call(p, "first", "third")
    agree(chain(), clone)
    share = sl.share_calls
    assert refused(lambda: share(clone, "first #0", "first #1"))


def test_edits_from_outside_are_held_to_the_same() -> None:
    p = chain()
    edit = sl.edit(p)
    old = edit.statement(p.find("second"))
    edit.replace("second", with_func(old, old.func.family.members["columns"]))
    assert "second[columns] takes t in the order (x, y), and it is not shown to lie so" in refused(edit.finish)
    laid = sl.set_layout(sl.set_layout(p, "alloc t", ("x", "y")), "alloc u", ("x", "y"))
    edit = sl.edit(laid)
    old = edit.statement(laid.find("second"))
    edit.replace("second", with_func(old, old.func.family.members["columns"]))
    assert str(edit.finish()) == str(sl.choose_variant(p, "second", "columns"))


def forged(p: sl.Pipeline) -> Pipeline:
    """A program in which `second` asks for columns of what lies in rows."""
    call = p.find("second")._call
    other = with_func(call, call.func.family.members["columns"])
    body = tuple(other if s.id == call.id else s for s in p.program.body)
    return Pipeline(Version(attrs.evolve(p.program, body=body), origin()))


def test_the_verifier_and_the_second_judge_find_a_buffer_in_another_order() -> None:
    p = chain()
    with pytest.raises(sl.ProgramError, match=r"buffer 'u' is not shown to lie in the order \(x, y\)"):
        forged(p).verify()
    with pytest.raises(WrongRewriteError, match="second takes t in another order than it lies"):
        judge(p.program, forged(p).program, "choose_variant")


def test_in_a_pipeline_of_its_own() -> None:
    """What is stored inside lies as it is asked for; what is stored outside, nobody inside knows how."""
    p = sl.choose_variant(chain(third={}), "second", "columns")
    block = p.find("alloc t").expand(after=4)
    q = sl.extract_pipeline(p, block, "inner")
    assert "inner(" in str(q)
    agree(chain(), q)
    text = refused(lambda: sl.extract_pipeline(p, p.find("second").as_block(), "inner"))
    assert "in the order" in text


# As data --------------------------------------------------------------------------------------------------------------

CALLBACKS: dict[str, Any] = {
    "square": square, "differences": differences, "total": total, "in_order": DIFFERENCES, "rows": ROWS,
    "square_in_order": SQUARE, "total_in_order": TOTAL,
}  # fmt: skip


def test_they_are_kept_and_compared() -> None:
    before = chain()
    p = sl.choose_variant(before, "second", "columns")
    assert p.same_program(sl.choose_variant(chain(), "second", "columns"))
    assert not p.same_program(sl.choose_variant(before, "second", None))
    assert pickle.loads(pickle.dumps(before)).same_program(before)
    text = p.to_json(CALLBACKS)
    q = sl.Pipeline.from_json(text, callbacks=CALLBACKS)
    assert q.same_program(p)
    assert q.to_json(CALLBACKS) == text
    assert sl.choose_variant(q, "first", "columns").same_program(sl.choose_variant(p, "first", "columns"))
    again: dict[str, Any] = dict(CALLBACKS)
    exec(before.to_graph_code(CALLBACKS), again)
    assert again["p"].same_program(before)
    padded = sl.StorageOrder((0, 1), strides=(512, None), alignment=64)
    other = chain(second={"padded": lambda t, u, a, out: sl.Variant(differences, layouts={t: padded})})
    exec(other.to_graph_code(CALLBACKS), again)
    assert again["p"].same_program(other)
    assert not other.same_program(
        chain(second={"padded": lambda t, u, a, out: sl.Variant(differences, layouts={t: (0, 1)})})
    )


def test_json_of_orders_that_is_wrong() -> None:
    text = json.loads(chain().to_json(CALLBACKS))
    at = next(k for k, func in enumerate(text["funcs"]) if func.get("name") == "second")

    def refusal(change: Any) -> str:
        changed = copy.deepcopy(text)
        change(changed["funcs"][at]["variants"][0])
        with pytest.raises(sl.FormatError) as caught:
            sl.Pipeline.from_json(json.dumps(changed), callbacks=CALLBACKS)
        return str(caught.value)

    def put(value: Any) -> Any:
        return lambda variant: variant.__setitem__(5, value)

    assert len(text["funcs"][at]["variants"][0]) == 6
    assert "says 2 orders of its 1 outputs" in refusal(put([{"dims": [0, 1]}] * 2))
    assert "an order has each of the 2 dimensions once, got (0, 0)" in refusal(put([{"dims": [0, 0]}]))
    assert "an order has a stride of 1 or more" in refusal(put([{"dims": [0, 1], "strides": [0, 1]}]))
    for wrong in (3, 8192):
        words = f"an alignment is a power of two, up to 4096, got {wrong}"
        assert words in refusal(put([{"dims": [0, 1], "alignment": wrong}]))
    assert "expected a list" in refusal(put(3))
    assert "expected a list of 1, got 2" in refusal(lambda variant: variant.append(None))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda t, c: [t], "layouts must be a dictionary, layouts by buffer"),
        (lambda t, c: {"t": (0, 1)}, r"layouts are of buffers that the func uses \(t, c, out\), got 't'"),
        (lambda t, c: {c: (0,)}, "c is a constant, whose layout is that of its array"),
        (lambda t, c: {t: "yx"}, "the layout of t is an order of its dimensions, such as"),
        (lambda t, c: {t: 3}, "the layout of t is an order of its dimensions, such as"),
        (lambda t, c: {t: (0,)}, "names each of its 2 dimensions once, got"),
        (lambda t, c: {t: (0, 0)}, "names each of its 2 dimensions once, got"),
        (lambda t, c: {t: ("y", "z")}, "names each of its 2 dimensions once, got"),
        (lambda t, c: {t: (0, 1, 2)}, "names each of its 2 dimensions once, got"),
        (
            lambda t, c: {t: sl.StorageOrder((0, 1), strides=(8,))},
            "has a stride, or None, for each of its 2 dimensions",
        ),
        (lambda t, c: {t: sl.StorageOrder((0, 1), strides=(0, 8))}, "strides are numbers of bytes, 1 or more"),
        (lambda t, c: {t: sl.StorageOrder((0, 1), alignment=3)}, "an alignment is a power of two, up to 4096, got 3"),
    ],
)
def test_what_cannot_be_declared(given: Any, message: str) -> None:
    t, out = sl.BufferExpr("t", np.int64, 2), sl.BufferExpr("out", np.int64, 2)
    c = sl.constant("c", np.arange(3))
    with pytest.raises(sl.GraphError, match=message):
        sl.Func(total, [t[y, x], c[:]], [out[y, x]], name="f", variants={"v": sl.Variant(total, layouts=given(t, c))})
    assert out.producer is None


# verify_variant and C -------------------------------------------------------------------------------------------------


def test_verify_variant_gives_it_arrays_that_lie_so() -> None:
    t, out = (sl.BufferExpr(name, np.float64, 2) for name in ("t", "out"))
    columns = InOrder(differences, a0=(1, 0), a1=(1, 0))
    padded = sl.StorageOrder((1, 0), alignment=64)

    def wrong(source: Any, target: Any) -> None:
        differences(source, target)
        if target.strides[1] > target.strides[0]:
            target[...] += 1

    declared = {
        "columns": sl.Variant(columns, layouts={t: ("x", "y"), out: padded}),
        "wrong": sl.Variant(wrong, layouts={out: (1, 0)}),
    }
    func = sl.Func(differences, [t[sl.interval(y - 1, y), x]], [out[y, x]], name="f", variants=declared)
    sl.verify_variant(func, "columns", sizes=[2, 3, 5])
    assert columns.seen > 0
    with pytest.raises(sl.DeclarationError, match="variant 'wrong' of func 'f' computes"):
        sl.verify_variant(func, "wrong", sizes=[2, 3, 5])


@pytest.mark.parametrize("alignment", [1, 64])
@pytest.mark.parametrize("order", [*itertools.permutations("zyx")])
def test_simplified_strides_show_the_order_still(order: tuple[str, ...], alignment: int) -> None:
    z, y, x = sl.variables("z y x")
    a, t, b = (sl.BufferExpr(name, np.float64, 3) for name in "atb")

    def second(source: np.ndarray[Any, Any], target: np.ndarray[Any, Any]) -> None:
        np.subtract(source[1:, 1:], source[:-1, :-1], out=target)

    asked = {"ordered": sl.Variant(second, layouts={t: sl.StorageOrder(order, alignment=alignment)})}
    sl.Func(np.negative, [a[z, y, x]], [t[z, y, x]], "first")
    window = t[sl.interval(z - 1, z), sl.interval(y - 1, y), x]
    sl.Func(second, [window], [b[z, y, x]], variants=asked)
    p = sl.simplify(sl.choose_variant(sl.build_pipeline([a], [b]), "second", "ordered"))
    p.verify()
    values, found = np.random.default_rng(0).random((3, 4, 5)), np.zeros((2, 3, 5))
    p(values, sl.Buffer(found, min=(1, 1, 0)))
    np.testing.assert_array_equal(found, values[:-1, :-1] - values[1:, 1:])


def test_strides_are_simplified_where_the_order_is_shown_all_the_same() -> None:
    a, t, b = (sl.BufferExpr(name, np.float64, 2) for name in "atb")
    sl.Func(np.negative, [a[y, x]], [t[y, x]], "first")
    sl.Func(np.negative, [t[y, x]], [b[y, x]], "second")
    p, rows = sl.split_loop(sl.build_pipeline([a], [b]), "second.y", 4, rc=True)
    p = sl.store_at(sl.compute_at(p, "first", rows.outer), "alloc t", rows.outer)
    p = sl.set_layout(p, "alloc t", ("x", "y"))
    said = [re.search(r"strides .*", str(q))[0] for q in (p, sl.simplify(p))]  # type: ignore[index]
    assert said == [
        "strides (8, max(min(8*b.y.max - 8*y + 8, 32), 8))",
        "strides (8, min(8*b.y.max - 8*y + 8, 32))",
    ]
