"""Calls that serve the readers of others, and calls that nobody needs: `share_calls` and `remove_call`."""

from __future__ import annotations

import numpy as np
import pytest
from in_one_dimension import agree_in_sizes as agree
from scheduled import compare, picture, refusal, stencil, stencils
from test_calls import diamond
from test_primitives import same

import slinky as sl
from slinky import ir

y, x = sl.variables("y x")


# share_calls ----------------------------------------------------------------------------------------------------------


def test_sharing_undoes_a_clone() -> None:
    before = diamond()
    p, (_, clone) = sl.clone_call(before, "start", "join", rc=True)
    q, (call,) = sl.share_calls(p, "start #0", clone, rc=True)
    assert str(q) == str(before)
    assert call == q.find("start")
    assert call == q.forward(before.find("start"))
    with pytest.raises(sl.InvalidCursorError, match="is gone: share_calls let another call serve its readers"):
        q.forward(clone)
    with pytest.raises(sl.InvalidCursorError, match="is gone: share_calls let its readers read another"):
        q.forward(p.find("alloc low_1"))
    assert "share_calls" in str(q.history())
    agree(before, q)


def two_windows() -> sl.Pipeline:
    """Two funcs that read different windows of one intermediate."""
    a, low, left, right, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "low", "left", "right", "out"))
    sl.Func(np.negative, [a[x]], [low[x]], name="start")
    sl.Func(lambda s, o: np.copyto(o, s[:-2] + s[2:]), [low[sl.interval(x - 2, x)]], [left[x]], name="l")
    sl.Func(lambda s, o: np.copyto(o, s[:-3] - s[3:]), [low[sl.interval(x, x + 3)]], [right[x]], name="r")
    sl.Func(np.multiply, [left[x], right[x]], [out[x]], name="join")
    return sl.build_pipeline([a], [out])


def in_a_loop(p: sl.Pipeline, step: int = 4) -> sl.Pipeline:
    """Both windows, and what each is made of, computed in one loop; `low_1` is the one that is computed first."""
    p = sl.clone_call(p, "start", "l")
    p = sl.split_loop(p, "join.x", step)
    for call in ("l", "r", "low = _", "low_1 = _"):
        p = sl.compute_at(p, call, "for x")
    return p


def test_the_call_that_stays_grows_to_what_both_compute() -> None:
    before = two_windows()
    p = sl.share_calls(in_a_loop(before), "low_1 = _", "low = _")
    same(
        p,
        """
        alloc left: int64[out.x.min..out.x.max]
        alloc low_1: int64[out.x.min - 2 .. out.x.max + 3]
        alloc right: int64[out.x.min..out.x.max]
        for x in out.x.min..out.x.max step 4:
          low_1[x - 2 .. x + 6] = start(a[x - 2 .. x + 6])
          left[x .. x + 3] = l(low_1[x - 2 .. x + 3])
          right[x .. x + 3] = r(low_1[x .. x + 6])
          out[x .. x + 3] = join(left[x .. x + 3], right[x .. x + 3])
        """,
    )
    agree(before, p)


def test_what_is_shared_then_slides_and_folds() -> None:
    before = two_windows()
    p = sl.share_calls(in_a_loop(before, 1), "low_1 = _", "low = _")
    p = sl.fold_storage(sl.slide_window(p, "start", "for x"), "alloc low_1", "x")
    assert "fold 6" in str(p)
    agree(before, p)
    data, out = sl.Buffer(np.arange(30), min=(-5,)), np.zeros(20, np.int64)
    assert p.run(data, out).elements["start"] == 20 + 5


def test_a_buffer_in_the_loop_grows_too() -> None:
    before = two_windows()
    p = in_a_loop(before)
    p = sl.store_at(p, "alloc low_1", "for x")
    p = sl.share_calls(p, "low_1 = _", "low = _")
    assert "for x in out.x.min..out.x.max step 4:\n    alloc low_1: int64[x - 2 .. min(out.x.max + 3, x + 6)]\n" in str(
        p
    )
    agree(before, p)


def test_a_call_in_a_loop_is_served_by_one_before_it() -> None:
    before = two_windows()
    p = sl.compute_at(sl.split_loop(sl.clone_call(before, "start", "l"), "r.x", 4), "low = _", "for x")
    p = sl.share_calls(p, "low_1 = _", "low = _")
    same(
        p,
        """
        alloc left: int64[out.x.min..out.x.max]
        alloc low_1: int64[out.x.min - 2 .. out.x.max + 3]
        low_1[:] = start(a[:])
        left[:] = l(low_1[out.x.min - 2 .. out.x.max])
        alloc right: int64[out.x.min..out.x.max]
        for x in out.x.min..out.x.max step 4:
          right[x .. x + 3] = r(low_1[x .. x + 6])
        out[:] = join(left[:], right[:])
        """,
    )
    agree(before, p)


def test_chains_are_shared_from_the_end() -> None:
    """The last calls of two equal chains read buffers of different names that hold the same."""
    a, low, mid, left, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "low", "mid", "left", "out"))
    sl.Func(np.negative, [a[x]], [low[x]], name="start")
    sl.Func(np.square, [low[x]], [mid[x]], name="mid")
    sl.Func(lambda s, o: np.copyto(o, s[:-2] + s[2:]), [mid[sl.interval(x - 2, x)]], [left[x]], name="l")
    sl.Func(np.multiply, [left[x], mid[x]], [out[x]], name="join")
    before = sl.build_pipeline([a], [out])
    p = sl.clone_call(before, "mid(_)", "join")
    p = sl.clone_call(p, "start", "mid(_) #1")
    assert "mid_1[:] = mid(low_1[:])" in str(p)
    q = sl.share_calls(p, "mid(_) #0", "mid(_) #1")
    assert "mid(low[:])" in str(q)
    q = sl.remove_call(q, "start #1")
    assert str(q) == str(before)
    agree(before, q)
    assert str(sl.share_calls(sl.share_calls(p, "start #0", "start #1"), "mid(_) #0", "mid(_) #1")) == str(before)


# What share_calls refuses ---------------------------------------------------------------------------------------------


def test_other_funcs_and_other_sources() -> None:
    a, b, s, t, u, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "b", "s", "t", "u", "out"))
    sl.Func(np.negative, [a[x]], [s[x]], name="f")
    sl.Func(np.negative, [b[x]], [t[x]], name="g")
    sl.Func(np.square, [s[x]], [u[x]], name="h")
    sl.Func(lambda s, t, u, o: np.copyto(o, s - t * u), [s[x], t[x], u[x]], [out[x]], name="join")
    p = sl.build_pipeline([a, b], [out])
    assert refusal(lambda: sl.share_calls(p, "f", "g")) == "f and g are different funcs"
    assert refusal(lambda: sl.share_calls(p, "f", "f")) == "there is but one call of f here"
    assert refusal(lambda: sl.share_calls(p, "f", "join")) == "f and join are different funcs"


def padded() -> sl.Pipeline:
    """What `pad` gives is read along the output, and where the first element of the input is."""
    a, t, s, r, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "s", "r", "out"))
    start = a.dim(0).min + 2
    sl.copies.pad(a, t, 2, 1)
    sl.Func(np.negative, [t[x]], [s[x]], name="f")
    sl.Func(lambda t, o: np.copyto(o, t[0]), [t[sl.interval(start, start)]], [r[x]], name="at_start")
    sl.Func(np.multiply, [s[x], r[x]], [out[x]], name="join")
    return sl.build_pipeline([a], [out], alias=False, require=[a.dim(0).min <= a.dim(0).max])


def test_sources_that_are_made_in_other_ways() -> None:
    """They may hold the same, but one is made by other funcs: nobody can tell."""
    a, t, s, left, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "s", "left", "out"))
    sl.copies.pad(a, t, 2, 1)
    sl.Func(np.negative, [t[x]], [s[x]], name="f")
    sl.Func(np.square, [s[x]], [left[x]], name="l")
    sl.Func(np.multiply, [s[x], left[x]], [out[x]], name="join")
    p = sl.build_pipeline([a], [out], alias=False)
    p = sl.clone_call(p, "f", "join")
    p = sl.clone_call(p, "pad", "f #1")
    assert str(sl.share_calls(p, "f #0", "f #1")).count("f(") == 1
    p = sl.split_boundary(p, "pad #1")
    assert refusal(lambda: sl.share_calls(p, "f #0", "f #1")) == "the two calls of f do not read the same"


def test_sources_of_sources_that_are_made_in_other_ways() -> None:
    """The last calls of two chains of the same funcs, at the beginning of which not the same funcs stand."""
    a, t, s, u, left, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "s", "u", "left", "out"))
    sl.copies.pad(a, t, 2, 1)
    sl.Func(np.negative, [t[x]], [s[x]], name="f")
    sl.Func(np.absolute, [s[x]], [u[x]], name="g")
    sl.Func(np.square, [u[x]], [left[x]], name="l")
    sl.Func(np.multiply, [u[x], left[x]], [out[x]], name="join")
    p = sl.build_pipeline([a], [out], alias=False)
    p = sl.clone_call(sl.clone_call(p, "g", "join"), "f", "g #1")
    p = sl.clone_call(p, "pad", "f #1")
    assert str(sl.share_calls(p, "g #0", "g #1")).count("g(") == 1
    p = sl.split_boundary(p, "pad #1")
    assert refusal(lambda: sl.share_calls(p, "g #0", "g #1")) == "the two calls of g do not read the same"


def test_a_buffer_that_others_write_too() -> None:
    p = sl.split_boundary(padded(), "pad")
    p = sl.clone_call(p, "pad #0", "at_start")
    assert refusal(lambda: sl.share_calls(p, "pad #0", "t_1 = _")) == "t is written by others than pad, too"
    assert refusal(lambda: sl.share_calls(p, "t_1 = _", "pad #0")) == "t is written by others than pad, too"


def test_calls_that_must_stay() -> None:
    p = sl.cut_call(diamond(), "join.x", 3)
    assert refusal(lambda: sl.share_calls(p, "join #0", "join #1")) == (
        "out is an output of the pipeline, which must be written"
    )
    p = sl.cut_call(diamond(), "start.x", 3)
    assert refusal(lambda: sl.share_calls(p, "start #0", "start #1")) == "both calls of start write low"


def test_a_call_that_comes_too_late() -> None:
    """The readers of the one are there before the other is computed: shared the other way round, it works."""
    p = sl.clone_call(diamond(), "start", "join")
    with pytest.raises(sl.SchedulingError) as caught:
        sl.share_calls(p, "start #1", "start #0")
    assert caught.value.reason == "low_1 is not there at the call of around, which reads low"
    assert "hint: share them the other way round:\n  p = sl.share_calls(p, " in str(caught.value)
    lifted = sl.share_calls(p, "start #0", "start #1")
    assert str(lifted) == str(diamond())


def test_a_call_behind_the_readers_of_the_other() -> None:
    """In one loop, where both buffers are in scope: what is shared must be computed first."""
    p = in_a_loop(two_windows())
    with pytest.raises(sl.SchedulingError) as caught:
        sl.share_calls(p, "low = _", "low_1 = _")
    assert caught.value.reason == (
        "l does not find all of low[max(out.x.min - 2, x - 2) .. min(out.x.max, x + 3)], which it reads, written"
    )
    assert "for example: with out.x = 0..0, in iteration x = 0, l reads low[-2], not written by then" in str(
        caught.value
    )
    assert "hint: share them the other way round:" in str(caught.value)


def test_a_fold_that_does_not_hold_more() -> None:
    p = in_a_loop(two_windows(), 1)
    p = sl.fold_storage(sl.slide_window(p, "low_1 = _", "for x"), "alloc low_1", "x")
    assert refusal(lambda: sl.share_calls(p, "low_1 = _", "low = _")) == (
        "a fold of 3 does not hold all that is live of low_1.x at once"
    )


def test_layouts_and_shared_memory() -> None:
    p = sl.clone_call(diamond(), "start", "join")
    q = sl.set_layout(p, "alloc low_1", ["x"], alignment=64)
    assert refusal(lambda: sl.share_calls(q, "start #0", "start #1")) == (
        "low_1 has strides or an alignment that are asked for, which low has not"
    )


# remove_call ----------------------------------------------------------------------------------------------------------


def unread() -> sl.Pipeline:
    """`low_1` was computed for `join`, which reads `low` again."""
    p = sl.clone_call(diamond(), "start", "join")
    edit = sl.edit(p)
    join = edit.statement(p.find("join"))
    assert isinstance(join, ir.Call)
    edit.replace("join", ir.with_operands(join, ("near", "low"), join.writes))
    return edit.finish()


def test_what_nobody_reads_goes_with_its_buffer() -> None:
    before = unread()
    p, cursors = sl.remove_call(before, "low_1 = _", rc=True)
    assert len(cursors) == 0
    assert str(p) == str(diamond())
    with pytest.raises(sl.InvalidCursorError, match="is gone: remove_call found that nobody needs it, and deleted it"):
        p.forward(before.find("low_1 = _"))
    agree(before, p)


def test_what_was_computed_before_is_not_computed_again() -> None:
    """Of a cut call whose second part begins before the first one ends, where all is there already."""
    before = sl.cut_call(stencils(2), "s1.y", sl.BufferExpr("out", np.int16, 2).dim(0).max + 5)
    p = sl.remove_call(before, "s1 #1")
    image, out = picture(7, 5, 2)
    compare(before, p, [image], [out])
    assert str(p) == str(stencils(2))


def test_idle_loops_go_too() -> None:
    p = sl.split_loop(unread(), "start.x #1", 3)
    q = sl.remove_call(p, "low_1 = _")
    assert str(q) == str(diamond())
    with pytest.raises(sl.InvalidCursorError, match="is gone: remove_call"):
        q.forward(p.find("for x"))


def test_a_loop_goes_with_the_buffer_that_only_the_call_used() -> None:
    p, (loop, _, _) = sl.split_loop(unread(), "start.x #1", 3, rc=True)
    edit = sl.edit(p)
    edit.move("alloc low_1", loop.body().before())
    q = edit.finish()
    assert [s.name() for s in q.forward(loop).body()] == ["low_1", "start"]
    assert str(sl.remove_call(q, "low_1 = _")) == str(diamond())


def test_a_loop_with_more_to_do_stays() -> None:
    """A warm-up that the loop before has computed already."""
    p = sl.split_loop(unread(), "join.x", 3)
    edit = sl.edit(p)
    edit.move("low_1 = _", p.find("join").before())
    q = sl.remove_call(edit.finish(), "low_1 = _")
    assert str(q) == str(sl.split_loop(diamond(), "join.x", 3))
    agree(diamond(), q)


def test_what_remove_call_refuses() -> None:
    p = sl.cut_call(diamond(), "start.x", 3)
    assert refusal(lambda: sl.remove_call(p, "start #1")) == (
        "around does not find all of low[out.x.min - 1 .. out.x.max + 1], which it reads, written"
    )
    assert refusal(lambda: sl.remove_call(p, "join")) == "not all of output out is written"
    out = sl.BufferExpr("out", np.int64, 1).dim(0)
    late = sl.cut_call(sl.split_loop(diamond(), "join.x", 4), "join.x", out.max + 9)
    agree(diamond(), sl.remove_call(late, "join #1"))


def test_of_two_parts_each_is_needed_unless_it_is_empty() -> None:
    for at, removed in ((-50, "join #0"), (50, "join #1")):
        p = sl.cut_call(diamond(), "join.x", at)
        assert refusal(lambda p=p, removed=removed: sl.remove_call(p, removed)) == (
            "not shown that all of output out is written"
        )


def test_a_fold_that_rested_on_what_the_call_wrote() -> None:
    """What is produced does not go forward, which a fold bears where each iteration writes all that it reads."""
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    sl.Func(np.negative, [a[x]], [t[x]], name="start")
    sl.Func(lambda s, o: np.copyto(o, s[:-1] + s[1:]), [t[sl.interval(x - 1, x)]], [out[x]], name="end")
    before = sl.build_pipeline([a], [out])
    p = sl.compute_at(sl.split_loop(before, "end.x", 1), "start", "for x")
    loop = p.find("for x")._loop
    at = loop.variable
    edit = sl.edit(p)
    boxes = sl.interval(at - 1, at - 1), sl.interval(at - 2 * (at % 2), at - 2 * (at % 2))
    first, older = (ir.with_box(edit.copy("start")[0], (box,)) for box in boxes)  # type: ignore[arg-type]
    edit.insert(p.find("start").before(), ir.If(sl.equal(at, loop.range.min), (first,)), older)
    p = edit.finish()
    p = sl.cut_call(p, "start.x #2", at)
    back = sl.remove_call(p, "start #2")
    agree(before, back)
    edit = sl.edit(back)
    lowest = sl.interval(loop.range.min - 1, loop.range.min - 1)
    edit.insert(back.find("for x").before(), ir.with_box(edit.copy("start #1")[0], (lowest,)))  # type: ignore[arg-type]
    in_turn = edit.finish()
    agree(before, in_turn)
    assert refusal(lambda: sl.fold_storage(back, "alloc t", "x", 3)) == (
        "not shown that what is produced of t.x moves forward with loop x"
    )
    assert refusal(lambda: sl.fold_storage(in_turn, "alloc t", "x", 3)) == (
        "not shown that a fold of 3 holds all that is live of t.x at once"
    )
    p = sl.fold_storage(p, "alloc t", "x", 3)
    agree(before, p)
    assert refusal(lambda: sl.remove_call(p, "start #2")) == (
        "not shown that what is produced of t.x moves forward with loop x"
    )


def test_a_copy_between_the_two_buffers_does_not_copy_to_itself() -> None:
    """What is stored of a staged buffer in the buffer itself has nothing to do if both are one; such a call would read
    what it writes."""
    p = sl.cut_call(stencil(), "stencil.y", 3)
    p, staged = sl.stage_buffer(p, "stencil #1", "out", rc=True)
    with pytest.raises(sl.SchedulingError, match="store would write out, and touch it by another port, too"):
        sl.share_calls(p, "stencil #0", "stencil #1")
    kept = sl.alias_copy(p, staged.store)
    assert not kept.find_all("store")
