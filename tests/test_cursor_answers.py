"""What cursors answer: types, ranks, bounds, regions with names; what lies inside what; the same place; pickling."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scheduled import by_rows, stencil, stencils

import examples
import slinky as sl
from slinky.symbolic.intervals import Interval


def upwind() -> sl.Pipeline:
    """A func that reads one buffer three times, at other places each, by rows."""
    y, x = sl.variables("y x")
    inp, table = sl.BufferExpr("inp", np.int16, 2), sl.constant("table", np.arange(5.0), min=(-2,))
    out = sl.BufferExpr("out", np.float32, 2)
    reads = [inp[y - 1, sl.interval(x - 2, x)], inp[y, x], inp[sl.interval(y, y + 3), x + 1]]
    sl.Func(lambda *_: None, [*reads, table[:]], [out[y, x]], name="upwind", arguments={"n": sl.scalar("n")})
    return sl.split_loop(sl.build_pipeline([inp], [out]), "upwind.y", 4)


# Types, ranks, bounds -------------------------------------------------------------------------------------------------


def test_an_allocation_says_its_type_rank_and_bounds() -> None:
    alloc = by_rows(stencil())[0].find("alloc intm")
    assert (alloc.dtype(), alloc.rank()) == (np.dtype(np.int16), 2)
    assert str(alloc.bounds()) == "(<out.y.min - 1 .. out.y.max + 1>, <out.x.min - 1 .. out.x.max + 1>)"
    assert alloc.bounds() == (alloc.bounds("y"), alloc.bounds(-1))
    assert str(alloc.shape()) == "(<out.y.max - out.y.min + 3>, <out.x.max - out.x.min + 3>)"
    assert alloc.shape() == tuple(i.extent for i in alloc.bounds())
    assert str(alloc.storage()) == "(<3>, None)"
    with pytest.raises(sl.InvalidCursorError, match="buffer intm has no dimension 'z'; its dimensions are y, x"):
        alloc.bounds("z")


def test_a_parameter_says_its_type_rank_and_bounds() -> None:
    inp, out, n, table = upwind().args()
    assert [(a.name(), a.dtype(), a.rank(), a.dims()) for a in (inp, out, table)] == [
        ("inp", np.int16, 2, ("y", "x")),
        ("out", np.float32, 2, ("y", "x")),
        ("table", np.float64, 1, table.dims()),
    ]
    assert str(inp.bounds()) == "(<inp.y.min..inp.y.max>, <inp.x.min..inp.x.max>)"
    assert str(out.bounds("x")) == str(out.bounds(1)) == "out.x.min..out.x.max"
    assert str(table.bounds(0)) == "-2..2"
    with pytest.raises(sl.InvalidCursorError, match="buffer inp has no dimension 2; its dimensions are y, x"):
        inp.bounds(2)
    for question in (n.dtype, n.rank, n.dims, n.bounds):
        with pytest.raises(sl.InvalidCursorError, match=r"^n is a scalar, an integer, so it has no "):
            question()


def test_a_call_says_the_box_that_it_computes() -> None:
    call = upwind().find("upwind")
    assert str(call.bounds()) == "(<y .. y + 3>, <out.x.min..out.x.max>)"
    assert call.bounds("y") == call.bounds(0) == call.dim("y").bounds()
    with pytest.raises(sl.InvalidCursorError, match="func upwind has no dimension 'z'; its dimensions are y, x"):
        call.bounds("z")


# Regions --------------------------------------------------------------------------------------------------------------


def test_every_access_has_a_region_and_the_buffer_one_that_holds_them_all() -> None:
    call = upwind().find("upwind")
    assert [str(region) for region in call.regions("inp")] == [
        "(<y - 1 .. y + 2>, <out.x.min - 2 .. out.x.max>)",
        "(<y .. y + 3>, <out.x.min..out.x.max>)",
        "(<y .. y + 6>, <out.x.min + 1 .. out.x.max + 1>)",
    ]
    assert str(call.region("inp")) == "(<y - 1 .. y + 6>, <out.x.min - 2 .. out.x.max + 1>)"
    assert call.regions("out") == (call.region("out"),) == (call.bounds(),)
    assert str(call.region("table")) == "(<-2..2>,)"
    for question in (call.region, call.regions):
        with pytest.raises(sl.InvalidCursorError, match=r"does not touch buffer 'in'; it touches out, inp, table$"):
            question("in")


# Names ----------------------------------------------------------------------------------------------------------------


def test_intervals_print_as_the_program_does_and_are_equal_to_plain_ones() -> None:
    p = by_rows(stencil())[0]
    bounds = p.find("for y").bounds()
    assert (str(bounds), repr(bounds)) == ("out.y.min - 2 .. out.y.max", "<out.y.min - 2 .. out.y.max>")
    plain = Interval(bounds.min, bounds.max)
    assert bounds == plain
    assert plain == bounds
    assert hash(bounds) == hash(plain)
    assert bounds != Interval(bounds.min, bounds.max + 1)
    assert bounds != 3
    assert pickle.loads(pickle.dumps(bounds)) == plain
    assert pickle.loads(pickle.dumps(p.find("alloc intm").shape())) == p.find("alloc intm").shape()


def test_a_pipeline_prints_expressions_with_its_names() -> None:
    p = by_rows(stencil())[0]
    loop = p.find("for y")
    assert str(loop.bounds().min) == "out.dim(0).min - 2", "an expression alone knows no names"
    assert p.text(loop.bounds().min) == loop.expression("min").text() == "out.y.min - 2"
    assert p.text(p.find("check _").condition()) == "inp.y.min <= out.y.min - 1"
    assert p.text(p.find("add").region("inp")) == "[y + 1, out.x.min - 1 .. out.x.max + 1]"
    assert p.text(p.find("alloc intm").storage()) == "[3, None]"
    with pytest.raises(sl.OperationError, match="expects an expression, a condition, an interval or a box, got 'y'"):
        p.text("y")


# What lies inside what ------------------------------------------------------------------------------------------------


def test_a_gap_lies_where_its_neighbours_do() -> None:
    p = by_rows(stencil())[0]
    loop, add = p.find("for y"), p.find("add")
    assert loop.is_ancestor_of(add.before())
    assert loop.is_ancestor_of(add.next().after())
    assert not loop.is_ancestor_of(loop.before())
    assert not loop.is_ancestor_of(loop.after())
    assert loop.body().is_ancestor_of(add.after())
    assert loop.body().is_ancestor_of(add.next().before())
    assert not loop.body().is_ancestor_of(add.before())
    assert not loop.body().is_ancestor_of(add.next().after())
    assert not add.as_block().is_ancestor_of(add.after())


def test_a_block_lies_inside_only_with_all_its_statements() -> None:
    p = by_rows(stencil())[0]
    loop, add = p.find("for y"), p.find("add")
    assert loop.is_ancestor_of(loop.body())
    assert add.is_ancestor_of(add.as_block())
    assert not add.is_ancestor_of(loop.body())
    assert p.body().is_ancestor_of(p.body()[2:4])
    assert not p.body()[:3].is_ancestor_of(p.body()[2:4])
    assert p.body()[-2:].is_ancestor_of(loop.body())


def test_the_older_of_two_places_is_forwarded_before_one_is_looked_for_in_the_other() -> None:
    before = stencil()
    p, loop, _ = by_rows(before)
    assert loop.is_ancestor_of(before.find("add"))
    assert loop.body().is_ancestor_of(before.find("add.y"))
    assert not loop.is_ancestor_of(before.find("alloc intm"))
    assert not loop.is_ancestor_of(before.args()[0])
    assert not loop.is_ancestor_of(loop.parent())
    later = sl.compute_root(p, "add")
    assert not loop.is_ancestor_of(later.find("add")), "in the later version, it stands before the loop"
    assert loop.is_ancestor_of(later.find("stencil"))
    assert loop.is_ancestor_of(later.find("stencil.y"))
    with pytest.raises(sl.InvalidCursorError, match=r"^is_ancestor_of: the first and the last statement of the block"):
        loop.body().is_ancestor_of(later.find("stencil"))
    sibling = sl.rename(before, "sibling")
    with pytest.raises(sl.InvalidCursorError, match=r"^is_ancestor_of: the cursor belongs to a sibling version of "):
        loop.is_ancestor_of(sibling.find("add"))
    with pytest.raises(sl.InvalidCursorError, match=r"^is_ancestor_of: the cursor belongs to an unrelated pipeline"):
        loop.body().is_ancestor_of(stencil().find("add"))
    split = sl.split_loop(examples.blur(), "scale.x", 4, names="y")
    body = sl.compute_root(split, "scale").body()
    with pytest.raises(sl.InvalidCursorError, match=r"^is_ancestor_of: the statement 'for y .*' is gone: compute_root"):
        body.is_ancestor_of(split.find("for y"))
    with pytest.raises(sl.OperationError, match=r"^is_ancestor_of\(\) expects a cursor, got 'add'"):
        loop.is_ancestor_of("add")


# The same place -------------------------------------------------------------------------------------------------------


def test_cursors_of_several_versions_that_mean_the_same_place() -> None:
    before = stencil()
    p, loop, alloc = by_rows(before)
    assert before.find("add") != p.find("add")
    assert p.same(before.find("add"), p.find("intm = _"))
    assert p.same(alloc, before.find("alloc intm"))
    assert p.same(before.args()[1], p.args()[1])
    assert not p.same(before.find("add"), p.find("stencil"))
    assert not p.same(before.find("add"), before.find("add").as_block()), "a block is another kind of place"
    assert not before.same(before.find("add.y"), before.find("add.x"))
    with pytest.raises(sl.InvalidCursorError, match="newer version"):
        before.same(before.find("add"), loop)
    with pytest.raises(sl.InvalidCursorError, match="stands for no place"):
        p.same(loop, loop.parent())


def test_gaps_with_nothing_between_them_are_the_same() -> None:
    before = stencil()
    p, loop, _ = by_rows(before)
    add, call = p.find("add"), p.find("stencil")
    assert add.after() != call.before()
    assert p.same(add.after(), call.before())
    assert p.same(before.find("add").after(), call.before())
    assert not p.same(add.before(), call.before())
    assert not p.same(add.before(), loop.before())
    assert not p.same(call.after(), loop.after())
    assert p.same(add.before(), loop.body().before())


# Pickling -------------------------------------------------------------------------------------------------------------


def places(p: sl.Pipeline) -> list[sl.Cursor]:
    """A cursor of each kind."""
    call, loop = p.find("b0 = _"), p.find("for y")
    return [
        call, loop, p.find("alloc b0"), p.find("check _"), loop.body(), p.body()[1:4], call.after(), loop.before(),
        call.dim("x"), loop.expression("min"), p.args()[1],
    ]  # fmt: skip


def copies_in_numpy() -> sl.Pipeline:
    """A pipeline that can be pickled: its callbacks are ufuncs."""
    y, x = sl.variables("y x")
    inp, b0, out = (sl.BufferExpr(name, np.int16, 2) for name in ("inp", "b0", "out"))
    sl.Func(np.negative, [inp[y, x]], [b0[y, x]], name="first")
    sl.Func(np.negative, [b0[y, x]], [out[y, x]], name="last")
    return sl.build_pipeline([inp], [out])


def test_cursors_pickled_with_their_pipeline_point_into_it() -> None:
    p = sl.compute_at(sl.split_loop(copies_in_numpy(), "last.y", 2), "first", "for y")
    q, found = pickle.loads(pickle.dumps((p, places(p))))
    assert str(q) == str(p)
    assert found == places(q)
    assert [str(c) for c in found] == [str(c) for c in places(p)]
    assert [q.forward(c) for c in found] == found
    later = sl.store_at(q, found[2], found[1])
    assert later.forward(found[0]).prev() == later.find("alloc b0")


def test_a_cursor_pickled_alone_brings_its_program() -> None:
    p = sl.split_loop(copies_in_numpy(), "last.y", 2)
    cursor = p.find("last")
    restored = pickle.loads(pickle.dumps(cursor))
    assert (str(restored), str(restored.parent())) == (str(cursor), str(cursor.parent()))
    for pipeline, stranger in ((p, restored), (pickle.loads(pickle.dumps(p)), restored)):
        with pytest.raises(sl.InvalidCursorError, match="belongs to an unrelated pipeline"):
            pipeline.forward(stranger)
    nowhere = pickle.loads(pickle.dumps(cursor.next()))
    assert nowhere == sl.InvalidCursor()


def test_an_older_cursor_pickled_with_a_pipeline_says_what_to_do() -> None:
    older = copies_in_numpy()
    p = sl.split_loop(older, "last.y", 2)
    q, cursor = pickle.loads(pickle.dumps((p, older.find("first"))))
    assert cursor.describe() == "b0[:, :] = first(inp[:, :])"
    with pytest.raises(sl.InvalidCursorError) as caught:
        q.forward(cursor)
    assert str(caught.value) == (
        "the cursor belongs to an unrelated pipeline that is called last, too; "
        "what is pickled forgets its earlier versions: forward the cursor first, and pickle it with the pipeline"
    )
    with pytest.raises(sl.InvalidCursorError, match=r"unrelated pipeline that is called last, too$"):
        copies_in_numpy().forward(older.find("first"))


def test_records_can_be_pickled() -> None:
    p = sl.split_loop(copies_in_numpy(), "last.y", 2)
    made: tuple[sl.Pipeline, Any] = sl.compute_at(p, "first", "for y", rc=True)
    q, record = pickle.loads(pickle.dumps(made))
    assert type(record) is type(made[1])
    assert record == sl.compute_at.cursors((q.find("alloc b0"),), q.find("for y"), q.find("first"))
    assert (record.alloc, record["call"]) == (q.find("alloc b0"), q.find("first"))
    _, cut = pickle.loads(pickle.dumps(sl.split_loop(copies_in_numpy(), "last.y", 2, rc=True)))
    assert not cut.tail

    @sl.sched_op("calls")
    def look(p: sl.Pipeline) -> Any:
        """All calls."""
        return p, (p.find_all("_ = _"),)

    q, seen = pickle.loads(pickle.dumps(look(p, rc=True)))
    assert seen.calls == q.find_all("_ = _")


def test_a_copy_of_a_cursor_or_a_record_is_of_the_same_place() -> None:
    p, record = sl.split_loop(stencils(1), "s1.y", 2, rc=True)
    for place in (*p.body(), p.body(), p.args()[0], record.outer.before()):
        assert copy.copy(place) is copy.deepcopy(place) is place
    assert copy.deepcopy(record) == copy.copy(record) == record
    assert copy.deepcopy({p: record})[p].outer == p.find("for y")


@pytest.mark.parametrize("wrong", [None, 2.5, "for y", np.zeros((2, 3)), stencil()])
def test_cursors_are_forwarded_to_versions_alone(wrong: Any) -> None:
    p = by_rows(stencil())[0]
    add = p.find("add")
    for place in (add, add.dim("y"), add.before(), add.as_block(), add.expressions()[0], p.args()[0]):
        with pytest.raises(sl.InvalidCursorError, match="expects a version of a program, got"):
            place.forward_to(wrong)


@pytest.mark.parametrize("wrong", [None, 2, np.zeros((2, 3)), ("y.min",)])
def test_roles_and_buffers_are_asked_for_by_name(wrong: Any) -> None:
    call = by_rows(stencil())[0].find("add")
    with pytest.raises(sl.InvalidCursorError, match=r"a role is a text such as 'min' or 'y\.max', got"):
        call.expression(wrong)
    for ask in (call.region, call.regions):
        with pytest.raises(sl.InvalidCursorError, match="a buffer is given by its name, got"):
            ask(wrong)
