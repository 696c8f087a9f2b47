"""Two calls that become one, of a fused func that is declared."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from in_one_dimension import agree_in_sizes as agree
from scheduled import refusal

import slinky as sl
from slinky.ir.copies import with_func, with_operands
from slinky.ir.families import is_member, relatives
from slinky.ir.operations import Callback
from slinky.ir.scopes import leading_checks
from slinky.ir.statements import Call, fresh_identity

y, x = sl.variables("y x")


def add(source: Any, other: Any, target: Any) -> None:
    np.subtract(source[:-3], source[3:], out=target)
    target += other[1:]


def add_turned(source: Any, other: Any, target: Any) -> None:
    np.subtract(source[3:], source[:-3], out=target)
    target += other[1:]


def pair(rate: int = 1, **more: Any) -> sl.Pipeline:
    """`turn`, and `add`, which reads a window of it (at every `rate`-th element) and another input."""
    a, b, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "b", "t", "out"))

    def strided(source: Any, other: Any, target: Any) -> None:
        np.subtract(source[:-3:rate], source[3::rate], out=target)
        target += other[1:]

    def strided_turned(source: Any, other: Any, target: Any) -> None:
        strided(-source, other, target)

    turn = sl.Func(np.negative, [a[x]], [t[x]], name="turn", variants={"other": lambda s, o: np.copyto(o, -s)})
    window = t[sl.interval(rate * x - 2, rate * x + 1)]
    join = sl.Func(strided, [window, b[sl.interval(x - 1, x)]], [out[x]], name="add", variants={"same": strided})
    sl.fuse(turn, join, strided_turned, "add_turned")
    return sl.build_pipeline([a, b], [out], **more)


def fused(p: sl.Pipeline) -> sl.Pipeline:
    return sl.fuse_calls(p, "turn", "add", "add_turned")


def test_two_calls_become_one() -> None:
    before = pair()
    p, (call,) = sl.fuse_calls(before, "turn", "add", "add_turned", rc=True)
    assert str(p).splitlines()[-1] == (
        "  out[:] = add_turned(a[out.x.min - 2 .. out.x.max + 1], b[out.x.min - 1 .. out.x.max])"
    )
    assert "alloc" not in str(p)
    assert call == p.find("add_turned") == p.forward(before.find("turn"))
    with pytest.raises(sl.InvalidCursorError, match="is gone: fuse_calls merged it into the call before"):
        p.forward(before.find("add"))
    with pytest.raises(sl.InvalidCursorError, match="is gone: fuse_calls"):
        p.forward(before.find("alloc t"))
    assert 'p = sl.fuse_calls(p, "turn", "add", "add_turned")' in str(p.history())
    agree(before, p)


@pytest.mark.parametrize("rate", [1, 2, 3])
def test_at_other_rates_and_in_loops(rate: int) -> None:
    before = pair(rate)
    p = fused(before)
    agree(before, p)
    agree(before, sl.split_loop(p, "add_turned.x", 3))
    q = sl.compute_at(sl.split_loop(before, "add.x", 3), "turn", "for x")
    q = fused(q)
    assert "turn(" not in str(q).replace("add_turned(", "")
    agree(before, q)


def test_what_slid_is_computed_by_each_piece() -> None:
    """A buffer that was kept for a few rows is gone, and what pieces share is read twice."""
    before = pair()
    p = sl.compute_at(sl.split_loop(before, "add.x", 1), "turn", "for x")
    p = sl.fold_storage(sl.slide_window(p, "turn", "for x"), "alloc t", "x")
    p = fused(p)
    assert "out[x] = add_turned(a[x - 2 .. x + 1], b[x - 1 .. x])" in str(p)
    agree(before, p)


def test_pieces_of_the_first_call_all_end() -> None:
    before = pair()
    p = fused(sl.cut_call(before, "turn.x", 3))
    assert str(p) == str(fused(before))


def test_calls_of_variants_are_fused_as_well() -> None:
    before = pair()
    p = sl.choose_variant(sl.choose_variant(before, "turn", "other"), "add", "same")
    assert str(fused(p)) == str(fused(before))


def test_fused_programs_pickle() -> None:
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    turn = sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    square = sl.Func(np.square, [t[x]], [out[x]], name="square")
    sl.fuse(turn, square, np.square, "squares")
    before = sl.build_pipeline([a], [out])
    p = sl.fuse_calls(pickle.loads(pickle.dumps(before)), "turn", "square", "squares")
    assert str(pickle.loads(pickle.dumps(p))) == str(p) == str(sl.fuse_calls(before, "turn", "square", "squares"))


def test_fused_programs_as_json() -> None:
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    turn = sl.Func(np.negative, [a[x]], [t[x]], name="turn", variants={"same": np.negative})
    square = sl.Func(np.square, [t[x]], [out[x]], name="square", variants={"same": np.square})
    sl.fuse(turn, square, np.square, "squares")
    before = sl.choose_variant(sl.build_pipeline([a], [out]), "turn", "same")
    names = {"negative": np.negative, "square": np.square}
    p = sl.Pipeline.from_json(before.to_json(), callbacks=names)
    assert p.same_program(before)
    q = sl.fuse_calls(p, "turn", "square", "squares")
    assert str(q) == str(sl.fuse_calls(before, "turn", "square", "squares"))
    assert str(sl.Pipeline.from_json(q.to_json(), callbacks=names)) == str(q)


def test_several_accesses_dimensions_and_outputs() -> None:
    a, t, low, high = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "t", "low", "high"))

    def ends(near: Any, far: Any, low: Any, high: Any) -> None:
        np.copyto(low, near)
        np.copyto(high, far[:, 2:] + far[:, :-2])

    def of_transposed(source: Any, low: Any, high: Any) -> None:
        rows = source.T * 2
        ends(rows[:-1, 1:-1], rows[1:], low, high)

    first = sl.Func(lambda s, o: np.copyto(o, s.T * 2), [a[x, y]], [t[y, x]], name="turn")
    window = t[y + 1, sl.interval(x - 1, x + 1)]
    second = sl.Func(ends, [t[y, x], window], [low[y, x], high[y, x]], name="ends")
    sl.fuse(first, second, of_transposed, "both")
    before = sl.build_pipeline([a], [low, high])
    p = sl.fuse_calls(before, "turn", "ends", "both")
    assert "both(a[low.x.min - 1 .. low.x.max + 1, low.y.min .. low.y.max + 1])" in str(p)
    data = sl.Buffer(np.arange(120).reshape(10, 12), min=(-1, -2))
    for q in (p, sl.split_loop(p, "both.y", 2)):
        expected, found = ([sl.Buffer(np.zeros((5, 4), np.int64)) for _ in range(2)] for _ in range(2))
        before(data, *expected)
        q.run(data, *found, checked=True)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one.array, other.array)


# What is refused ------------------------------------------------------------------------------------------------------


def test_what_is_not_declared() -> None:
    p = pair()
    assert refusal(lambda: sl.fuse_calls(p, "turn", "add", "quick")) == (
        "add has no fused func 'quick': it declares add_turned"
    )
    assert refusal(lambda: sl.fuse_calls(p, "add", "turn", "add_turned")) == (
        "turn has no fused func 'add_turned': it declares none"
    )
    assert refusal(lambda: sl.fuse_calls(p, "add", "add", "add_turned")) == (
        "add_turned is declared for turn and add, not for add as it is here"
    )


def chain(outputs: Callable[..., Any]) -> sl.Pipeline:
    """`turn`, `square` of it, and `join`, which reads both, or only one; `square` is declared to fuse with `turn`."""
    a, t, s, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "s", "out"))
    turn = sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    square = sl.Func(np.square, [t[x]], [s[x]], name="square")
    sl.fuse(turn, square, np.square, "squares")
    sl.Func(np.multiply, [s[x], t[x]], [out[x]], name="join")
    return sl.build_pipeline([a], outputs(t, s, out))


def test_what_others_read_must_stay() -> None:
    p = chain(lambda t, s, out: [out])
    with pytest.raises(sl.SchedulingError) as caught:
        sl.fuse_calls(p, "turn", "square", "squares")
    assert caught.value.reason == "join reads t, too"
    assert 'hint: clone the producer first:\n  p = sl.clone_call(p, "turn", "join")' in str(caught.value)
    q = sl.fuse_calls(sl.clone_call(p, "turn", "join"), "turn #0", "square", "squares")
    assert "s[:] = squares(a[:])" in str(q)
    q = chain(lambda t, s, out: [t, s])
    assert refusal(lambda: sl.fuse_calls(q, "turn", "square", "squares")) == (
        "t is an output of the pipeline, which must be written"
    )


def test_another_call_of_the_first_func() -> None:
    p = sl.clone_call(chain(lambda t, s, out: [out]), "turn", "join")
    assert refusal(lambda: sl.fuse_calls(p, "turn #1", "square", "squares")) == (
        "square does not read what this call of turn writes"
    )


def test_shared_memory_and_changed_funcs() -> None:
    p = sl.clone_call(chain(lambda t, s, out: [out]), "turn", "join")
    q = sl.compute_in_place(p, "square")
    assert refusal(lambda: sl.fuse_calls(q, "turn #0", "square", "squares")) == "other buffers lie in the memory of t"
    a, c, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "c", "t", "out"))
    sl.copies.copy(a[x + 3], c[x], name="shift")
    turn = sl.Func(np.negative, [c[x]], [t[x]], name="turn")
    square = sl.Func(np.square, [t[x]], [out[x]], name="square")
    sl.fuse(turn, square, np.square, "squares")
    p = sl.build_pipeline([a], [out], alias=False)
    assert "squares(c[:])" in str(sl.fuse_calls(p, "turn", "square", "squares"))
    q = sl.alias_copy(p, "shift")
    assert refusal(lambda: sl.fuse_calls(q, "turn", "square", "squares")) == (
        "squares is declared for turn and square, not for turn as it is here"
    )
    q = sl.alias_copy(sl.fuse_calls(p, "turn", "square", "squares"), "shift")
    assert str(q).endswith("out[:] = squares(a[out.x.min + 3 .. out.x.max + 3])")


def test_a_fused_func_reads_and_writes_past_copies() -> None:
    a, b, c, t, u, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "b", "c", "t", "u", "out"))
    sl.copies.copy(b[x + 3], c[x], name="shift")
    turn = sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    window = t[sl.interval(x - 2, x + 1)]
    join = sl.Func(add, [window, c[sl.interval(x - 1, x)]], [u[x]], name="add", variants={"same": add})
    sl.fuse(turn, join, add_turned, "add_turned")
    sl.copies.copy(u[x - 5], out[x], name="back")
    before = sl.build_pipeline([a, b], [out], alias=False)
    p = sl.alias_copy(sl.alias_copy(fused(before), "shift"), "back")
    assert "alloc" not in str(p)
    agree(before, p)
    stands_for = p.find("add_turned")._call.func.fused
    assert stands_for is not None
    assert is_member(stands_for.second)


def test_a_source_that_a_fold_has_let_go_of() -> None:
    """Where the second call stands, the first one's source is not there in full."""
    a, r, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "r", "t", "out"))
    sl.Func(np.negative, [a[x]], [r[x]], name="raw")
    turn = sl.Func(lambda s, o: np.add(s[:-1], s[1:], out=o), [r[sl.interval(x - 1, x)]], [t[x]], name="turn")
    late = sl.Func(np.square, [t[x]], [out[x]], name="late")
    sl.fuse(turn, late, lambda s, o: np.square(s[:-1] + s[1:], out=o), "late_turned")
    before = sl.build_pipeline([a], [out])
    p = sl.compute_at(sl.split_loop(before, "turn.x", 1), "raw", "for x")
    p = sl.slide_window(p, "raw", "for x")
    assert "late_turned(r[:])" in str(sl.fuse_calls(p, "turn", "late", "late_turned"))
    p = sl.fold_storage(p, "alloc r", "x")
    assert refusal(lambda: sl.fuse_calls(p, "turn", "late", "late_turned")) == (
        "a fold of 2 does not hold all that is live of r.x at once"
    )


def test_only_what_is_declared_is_taken_for_the_same() -> None:
    p = pair()
    call = p.find("add")._call
    (declared,) = call.func.fusions

    def edited(func: Any, reads: tuple[str, ...]) -> sl.Pipeline:
        edit = sl.edit(p)
        edit.replace("add", with_operands(with_func(edit.statement(p.find("add")), func), reads, ("out",)))
        return edit.finish()

    assert "add_turned(a" in str(edited(declared, ("a", "b")))
    evil = Callback(add)
    for func in (attrs.evolve(declared, operation=evil), pair().find("add")._call.func.fusions[0]):
        assert refusal(lambda func=func: edited(func, ("a", "b"))).startswith("add_turned(a, b) would give out other")
    for reads in (("b", "a"), ("t", "b"), ("a", "a")):
        assert refusal(lambda reads=reads: edited(declared, reads)).startswith("add_turned(")


def test_a_fused_func_writes_what_the_second_one_wrote() -> None:
    """Neither what another func makes of the same, nor of what nobody makes here."""
    a, t, out, more = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out", "more"))
    turn = sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    square = sl.Func(np.square, [t[x]], [out[x]], name="square")
    sl.Func(np.positive, [t[x]], [more[x]], name="rest")
    sl.fuse(turn, square, np.square, "squares")
    p = sl.build_pipeline([a], [out, more])
    (declared,) = p.find("square")._call.func.fusions

    def edited(p: sl.Pipeline, call: str, target: str) -> sl.Pipeline:
        edit = sl.edit(p)
        edit.replace(call, Call(declared, p.find(call)._call.box, ("a",), (target,)))
        return edit.finish()

    assert "out[:] = squares(a[:])" in str(edited(p, "square", "out"))
    assert refusal(lambda: edited(p, "rest", "more")).startswith("squares(a) would give more other values")
    given = attrs.evolve(p.find("square")._call, reads=("a",))
    body = (*leading_checks(p.program), given, attrs.evolve(p.find("rest")._call, reads=("a",)))
    q = sl.Pipeline(attrs.evolve(p.program, body=body))
    q.verify()
    assert refusal(lambda: edited(q, "square", "out")).startswith("squares(a) would give out other values")


def test_a_fused_func_stands_for_calls_that_read_one_buffer_by_all_its_ports() -> None:
    """And not for one that is given what the first func makes of two, nor where others make some of that, or all."""
    a, b, t, u, out, more = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "b", "t", "u", "out", "more"))
    turn = sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    square = sl.Func(np.multiply, [t[x], t[x]], [out[x]], name="square")
    sl.Func(np.positive, [b[x]], [u[x]], name="keep")
    sl.Func(np.positive, [u[x]], [more[x]], name="rest")
    sl.fuse(turn, square, np.square, "squares")
    p = sl.build_pipeline([a, b], [out, more])
    (declared,) = p.find("square")._call.func.fusions
    found: dict[str, Any] = {s.func.name: s for s in p.program.body if isinstance(s, Call)}
    body = [s for s in p.program.body if not isinstance(s, Call)]
    again, other = (attrs.evolve(found[name], box=found["turn"].box, id=fresh_identity()) for name in ("turn", "keep"))
    into_u = attrs.evolve(again, box=found["keep"].box, reads=("b",), writes=("u",))
    of_both = attrs.evolve(found["square"], reads=("t", "u"))
    for calls in (
        (found["turn"], into_u, of_both),
        (found["turn"], attrs.evolve(again, reads=("b",)), found["keep"], found["square"]),
        (attrs.evolve(other, reads=("a",), writes=("t",)), found["keep"], found["square"]),
    ):
        q = sl.Pipeline(attrs.evolve(p.program, body=(*body, *calls, found["rest"])))
        q.verify()
        for source in ("a", "b"):
            edit = sl.edit(q)
            edit.replace("square", Call(declared, found["square"].box, (source,), ("out",)))
            assert refusal(edit.finish).startswith(f"squares({source}) would give out other values")


# Declarations ---------------------------------------------------------------------------------------------------------


def test_what_cannot_be_declared() -> None:
    a, t, u, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "u", "out"))
    turn = sl.Func(np.negative, [a[x]], [t[x]], name="turn")
    scan = sl.Func(np.cumsum, [t[x]], [u[x]], name="scan", whole=["x"])
    square = sl.Func(np.square, [u[x]], [out[x]], name="square")
    copy = sl.copies.copy(a[x], sl.BufferExpr("c", np.int64, 1)[x])
    for given, message in (
        ((turn, 3, np.square, "f"), "fuse takes two funcs with callbacks, got 3"),
        ((copy, turn, np.square, "f"), "fuse takes two funcs with callbacks, got <"),
        ((turn, square, np.square, "f"), "the fused func 'f': turn must have one output, which square reads"),
        ((scan, square, np.square, "f"), "the fused func 'f': scan computes x whole, and would have to compute parts"),
        ((turn, scan, np.add, "f"), "the fused func 'f': the ufunc add takes 2 inputs and 1 outputs, got 1 and 1"),
        ((turn, scan, 3, "f"), "the fused func 'f' needs a callable, got 3"),
        ((turn, scan, np.square, "two words"), "a fused func"),
    ):
        with pytest.raises(sl.GraphError, match=message):
            sl.fuse(*given)  # type: ignore[arg-type]
    sl.fuse(turn, scan, np.cumsum, "f")
    with pytest.raises(sl.GraphError, match="the fused func 'f' is declared twice"):
        sl.fuse(turn, scan, np.cumsum, "f")
    sl.fuse(turn, scan, np.cumsum, "square")
    with pytest.raises(sl.GraphError, match="two funcs are called 'square': a fused func needs a name of its own"):
        sl.build_pipeline([a], [out])


@pytest.mark.parametrize("variants", [{}, {"same": lambda point, everything, target: None}])
def test_what_a_fused_func_stands_for_goes_along_into_a_pipeline(variants: dict[str, Any]) -> None:
    """Inside, `a` is what the call reads of it; the ends of all of `a`, which `c` has, are scalars."""
    a, c, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "c", "t", "out"))

    def add_all(point: Any, everything: Any, target: Any) -> None:
        np.add(point, everything.sum(), out=target)

    sl.Func(np.negative, [a[x]], [c[x]], name="turn")
    c.dim(0).bounds = a.dim(0).bounds
    square = sl.Func(np.square, [a[x]], [t[x]], name="square")
    add = sl.Func(add_all, [t[x], c[:]], [out[x]], name="add", variants=variants)
    sl.fuse(square, add, lambda s, e, o: add_all(s * s, e, o), "add_square")
    before = sl.build_pipeline([a], [out])
    p, (call,) = sl.fuse_calls(before, "square", "add", "add_square", rc=True)
    p = sl.extract_pipeline(p, call, "both")
    values, window = np.arange(9) ** 2, (sl.Buffer(np.empty(2, np.int64), min=(k,)) for k in (3, 3))
    expected, found = (each(values, target) for each, target in zip((before, p), window, strict=True))
    np.testing.assert_array_equal(found.array, expected.array)
    inner = sl.inner_pipeline(p, "both").find("add_square")._call.func
    assert inner.fused is not None
    second = inner.fused.second
    assert len(relatives(second)) == 1 + len(variants)
    assert all("a_min_0" in str(each.inputs[1]) for each in relatives(second).values())
