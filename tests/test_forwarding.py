"""Cursors from version to version: what they mean later, what ended them, and versions that know nothing of them."""

from __future__ import annotations

import gc
import weakref

import pytest
from scheduled import by_rows, stencil, stencils

import examples
import slinky as sl

# Forwarding -----------------------------------------------------------------------------------------------------------


def test_a_cursor_follows_its_statement_through_a_schedule() -> None:
    p = stencil()
    add, call, alloc, last = p.find("add"), p.find("stencil"), p.find("alloc intm"), p.find("stencil.x")
    q, loop, _ = by_rows(p)
    assert q.forward(add).parent() == loop
    assert q.forward(call) == q.find("stencil")
    assert str(q.forward(alloc).storage()[0]) == "3"
    assert q.forward(last) == q.find("stencil.x")
    assert q.forward(add.before()) == q.forward(add).before()
    assert q.forward(add.after()).anchor() == q.forward(add)
    assert q.forward(p.args()[1]) == q.args()[1]
    assert q.forward(q.find("add")) == q.find("add")


def test_what_is_gone_says_what_ended_it() -> None:
    p, (loop, _, tail) = sl.split_loop(examples.blur(), "scale.x", 4, tail="cut", rc=True)
    q = sl.rename(sl.compute_root(p, "scale"), "other")
    with pytest.raises(sl.InvalidCursorError) as caught:
        q.forward(loop)
    text = "for x in out.x.min - 1 .. out.x.max - 2 step 4:"
    reason = "compute_root found that nothing is left in it, and deleted it"
    assert str(caught.value) == f"the statement '{text}' is gone: {reason}"
    with pytest.raises(sl.InvalidCursorError, match="is gone: compute_root computed it elsewhere"):
        q.forward(tail)
    for place in (loop.before(), loop.as_block(), loop.expression("min"), tail.dim("x")):
        with pytest.raises(sl.InvalidCursorError, match="is gone: compute_root "):
            q.forward(place)


def test_versions_that_are_not_descendants() -> None:
    p = stencil()
    older = p.find("add")
    newer, (loop, _, _) = sl.split_loop(p, "stencil.y", 1, rc=True)
    sibling = sl.rename(p, "sibling")
    with pytest.raises(sl.InvalidCursorError, match="belongs to a newer version of pipeline stencil: cursors forward"):
        p.forward(loop)
    with pytest.raises(sl.InvalidCursorError, match="belongs to a sibling version of pipeline stencil"):
        sibling.forward(loop)
    with pytest.raises(sl.InvalidCursorError, match="belongs to an unrelated pipeline scale, not to a version of sib"):
        sibling.forward(examples.scale2d().find("scale"))
    for place in (loop.before(), loop.body(), loop.expression("min"), newer.find("add.y"), newer.args()[0]):
        with pytest.raises(sl.InvalidCursorError, match="newer version"):
            p.forward(place)
    with pytest.raises(sl.InvalidCursorError, match="expects a cursor, got 'add'"):
        p.forward("add")  # type: ignore[type-var]
    assert newer.forward(older) == newer.find("add")


def test_a_block_becomes_the_range_of_what_is_left_of_it() -> None:
    p = examples.two_branches()
    block = p.find("alloc l").expand(after=3)
    assert [type(s).__name__ for s in block] == ["AllocCursor", "CallCursor", "AllocCursor", "CallCursor"]
    q = sl.reorder_statements(p, p.find("left").expand(after=1))
    assert q.forward(block) == q.find("alloc l").expand(after=3)
    assert [s.describe()[:7] for s in q.forward(block)] == ["alloc l", "alloc r", "l[:] = ", "r[:] = "]
    r = sl.split_loop(p, "left.x", 4)
    assert r.forward(block) == r.find("alloc l").expand(after=3)
    assert [s.describe()[:7] for s in r.forward(block)] == ["alloc l", "for x i", "alloc r", "r[:] = "]
    assert r.forward(p.find("left").as_block()) == r.find("left").as_block()
    r = sl.split_loop(p, "right.x", 4)
    with pytest.raises(
        sl.InvalidCursorError, match=r"first and the last statement of the block .* do not stand in one block any more"
    ):
        r.forward(block)


def test_a_block_whose_last_statement_moves_away_shrinks() -> None:
    p = sl.split_loop(stencils(1), "s1.y", 1)
    block = p.find("alloc b0").expand(after=1)
    assert len(block) == 2
    q = sl.store_at(sl.compute_at(p, "add", "for y"), "alloc b0", "for y")
    assert [s.describe()[:5] for s in q.forward(block)] == ["alloc", "b0[:,"]
    assert q.forward(block).parent() == q.find("for y")


def test_a_cursor_to_a_whole_body_lives_through_splits_and_cuts() -> None:
    p = sl.compute_at(sl.split_loop(stencil(), "stencil.y", 1), "add", "for y")
    body = p.find("for y").body()
    q = sl.split_loop(p, "for y", 4)
    assert q.forward(body) == q.find("for y").body()
    q = sl.cut_loop(q, "for y_outer", 7)
    assert q.forward(body) == q.find("for y #0").body()
    assert [s.name() for s in q.forward(body)] == ["add", "stencil"]
    q = sl.slide_window(p, "add", "for y")
    assert q.forward(body) == q.find("for y").body()


def test_an_expression_lives_until_it_is_rewritten() -> None:
    p = sl.compute_at(sl.split_loop(stencil(), "stencil.y", 1), "add", "for y")
    low, high = p.find("for y").expression("min"), p.find("for y").expression("max")
    q = sl.slide_window(p, "add", "for y")
    assert q.forward(high) == q.find("for y").expression("max")
    with pytest.raises(sl.InvalidCursorError, match=r"the expression min = out.y.min of: for y in .* was rewritten"):
        q.forward(low)


def test_the_first_copy_keeps_the_identity() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 1)
    loop, call = p.find("for y"), p.find("stencil")
    q, (first, second) = sl.cut_loop(p, loop, 5, rc=True)
    assert q.forward(loop) == first != second
    assert q.forward(call).parent() == first
    assert q.find("stencil #1").parent() == second
    r = sl.cut_loop(q, second, 9)
    assert r.forward(second) == r.find("for y #1")
    assert r.forward(call) == r.find("stencil #0")


def test_next_of_an_old_cursor_answers_for_the_old_program() -> None:
    """`forward(c.next())` is where the old neighbour is now, `forward(c).next()` is the new neighbour."""
    p = stencil()
    call = p.find("add")
    q, (loop, _, tail) = sl.split_loop(p, "stencil.y", 4, tail="cut", rc=True)
    assert q.forward(call).next() == loop
    assert q.forward(call.next()) == q.find("stencil #0")
    assert q.forward(call).next(2) == tail


def test_cursors_hold_across_a_thousand_versions() -> None:
    p = q = stencil()
    places = [p.find("add"), p.find("stencil.y"), p.find("add").before(), p.body(), p.args()[0]]
    for k in range(1000):
        q = sl.rename(q, f"version_{k}")
    moved = [q.forward(place) for place in places]
    assert moved == [q.find("add"), q.find("stencil.y"), q.find("add").before(), q.body(), q.args()[0]]
    with pytest.raises(sl.InvalidCursorError, match="newer version of pipeline version_999"):
        p.forward(moved[0])
    end, (loop, _, _) = sl.split_loop(q, places[1], 2, rc=True)
    assert end.forward(places[1]).call().parent() == loop


def test_old_versions_are_not_kept_alive() -> None:
    p = stencil()
    first = weakref.ref(p._version)
    cursor = p.find("add")
    middle = []
    for k in range(50):
        p = sl.rename(p, f"version_{k}")
        middle.append(weakref.ref(p._version))
    gc.collect()
    assert first() is not None, "the cursor keeps the version that it belongs to"
    assert all(version() is None for version in middle[:-1])
    assert p.forward(cursor) == p.find("add")
    del cursor
    gc.collect()
    assert first() is None
