"""Schedules made of steps: what is forwarded, what is caught, and where a step is taken."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import slinky as sl
from slinky.sched.combinators import REFUSALS
from tests.scheduled import add_1, compare, picture, stencil, stencils


def by_rows(p: sl.Pipeline, dim: sl.DimCursor, factor: int = 1) -> Any:
    return sl.split_loop(p, dim, factor, rc=True)


def loops(p: sl.Pipeline) -> list[str]:
    return [loop.name() for loop in p.find_all("for _")]


def refused(p: sl.Pipeline, place: Any = None) -> sl.Pipeline:
    raise sl.SchedulingError("it never works")


def test_steps_go_on_at_the_places_that_operations_return() -> None:
    line_buffer = sl.seq(
        by_rows,
        sl.at("outer"),
        lambda p, loop: sl.compute_at(p, "add", loop, rc=True),
        sl.at("call"),
        lambda p, call: sl.slide_window(p, call, "for y", rc=True),
        sl.at("alloc"),
        partial(sl.fold_storage, dim="y"),
    )
    p, place = line_buffer(stencil(), "stencil.y", rc=True)
    assert place == p.find("alloc intm")
    by_hand = sl.split_loop(stencil(), "stencil.y", 1)
    by_hand = sl.slide_window(sl.compute_at(by_hand, "add", "for y"), "add", "for y")
    assert str(p) == str(sl.fold_storage(by_hand, "alloc intm", "y"))
    assert [step.operation for step in p.history()] == ["split_loop", "compute_at", "slide_window", "fold_storage"]
    image, out = picture(9, 7, 1)
    before, after = compare(stencil(), p, [image], [out])
    assert (before.program_bytes, after.program_bytes) == (11 * 9 * 2, 3 * 9 * 2)
    assert after.elements == before.elements


def test_a_place_is_forwarded_to_the_result_of_every_step() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 1)
    early = p.find("stencil")
    seen: list[Any] = []

    def look(p: sl.Pipeline, place: sl.CallCursor) -> sl.Pipeline:
        seen.append((place == p.find("stencil"), place.parent() == p.find("for y")))
        return sl.compute_at(p, "add", "for y") if len(seen) == 1 else p

    new, place = sl.seq(look, look)(p, early, rc=True)
    assert seen == [(True, True), (True, True)]
    assert place == new.find("stencil")


def test_an_older_cursor_may_be_given_and_a_pattern() -> None:
    p = stencil()
    dim = p.find("stencil.y")
    later = sl.compute_root(p, "add")
    assert sl.seq(by_rows)(later, dim).same_program(sl.seq(by_rows)(later, "stencil.y"))


def test_without_a_place_steps_get_the_pipeline_alone() -> None:
    whole = sl.seq(lambda p: sl.split_loop(p, "stencil.y", 1), sl.simplify)
    p, place = whole(stencil(), rc=True)
    assert loops(p) == ["y"]
    assert not place
    # A step that takes no place is given none, either, where there is one.
    assert sl.seq(by_rows, sl.simplify)(stencil(), "stencil.y").same_program(p)


def test_attempt_leaves_no_trace_of_a_refusal() -> None:
    p = stencil()
    new, place = sl.attempt(sl.seq(by_rows, sl.at("outer"), refused))(p, "stencil.y", rc=True)
    assert new is p
    assert place == p.find("stencil.y")


def test_what_is_a_refusal() -> None:
    assert REFUSALS is sl.REFUSALS
    assert list(REFUSALS) == [sl.SchedulingError, sl.InvalidCursorError, sl.PatternError]


@pytest.mark.parametrize("error", [sl.SchedulingError("no"), sl.InvalidCursorError("gone"), sl.PatternError("none")])
@pytest.mark.parametrize("catching", [sl.attempt, sl.repeat, lambda step: sl.or_else(step, lambda p: p)])
def test_refusals_are_caught(error: Exception, catching: Any) -> None:
    def fail(p: sl.Pipeline) -> sl.Pipeline:
        raise error

    p = stencil()
    assert catching(fail)(p) is p


@pytest.mark.parametrize(
    "error", [sl.OperationError("wrong"), sl.GraphError("no graph"), KeyError("x"), KeyboardInterrupt()]
)
@pytest.mark.parametrize(
    "catching",
    [sl.attempt, sl.repeat, lambda step: sl.or_else(step, lambda p: p), lambda step: sl.outermost("for _", step)],
)
def test_nothing_else_is_caught(error: BaseException, catching: Any) -> None:
    def fail(p: sl.Pipeline, place: Any = None) -> sl.Pipeline:
        raise error

    with pytest.raises(type(error)):
        catching(fail)(sl.split_loop(stencil(), "stencil.y", 1))


def test_or_else_takes_the_first_step_that_is_accepted() -> None:
    split = sl.or_else(refused, by_rows, lambda p, dim: by_rows(p, dim, 8))
    assert str(split(stencil(), "stencil.y").find("for y").step()) == "1"
    with pytest.raises(sl.SchedulingError, match="it never works"):
        sl.or_else(refused, refused)(stencil())


def test_repeat_stops_when_nothing_changes() -> None:
    tried: list[int] = []

    def simplify(p: sl.Pipeline) -> sl.Pipeline:
        tried.append(len(tried))
        return sl.simplify(p)

    p = sl.split_loop(stencil(), "stencil.y", 1)
    assert sl.repeat(simplify)(p).same_program(p)
    assert len(tried) <= 2


def test_repeat_stops_when_it_is_refused_and_keeps_what_was_made() -> None:
    p = sl.split_loop(sl.split_loop(stencil(), "stencil.y", 4), "stencil.x", 4)
    lift = sl.repeat(lambda p, call: sl.store_at(p, "alloc intm", call.parent()))
    assert lift(p, "stencil") is p
    up = sl.repeat(sl.navigate(lambda c: c.parent()))
    new, place = up(p, "stencil", rc=True)
    assert new is p
    assert place == p.find("for _")


@pytest.mark.parametrize("most", [0, 1, 3])
def test_repeat_is_bounded(most: int) -> None:
    def deeper(p: sl.Pipeline, dim: Any) -> sl.Pipeline:
        return sl.split_loop(p, dim, 2)

    assert len(loops(sl.repeat(deeper, most)(stencil(), "stencil.y"))) == most
    assert len(loops(sl.repeat(deeper, 1)(stencil(), "stencil.y"))) == 1


def test_when_asks_first() -> None:
    only_stencils = sl.when(lambda p, call: call.name() != "add", lambda p, call: sl.split_loop(p, call.dim("y"), 1))
    p = sl.each("_ = _", only_stencils)(stencils(2))
    assert [loop.body().find("_ = _").name() for loop in p.find_all("for _")] == ["s1", "s2"]
    assert sl.when(lambda p: False, refused)(p) is p


def test_each_takes_the_places_from_before_the_first_step() -> None:
    p = stencils(2)
    split = sl.each("_ = _", lambda p, call: sl.split_loop(p, call.dim("y"), 1))
    new, place = split(p, "s1", rc=True)
    assert loops(new) == ["y"], "only those inside the place"
    assert place == new.find("s1")
    assert len(loops(split(p))) == 3
    listed = sl.each(lambda p: [p.find("s2"), p.find("add")], lambda p, call: sl.split_loop(p, call.dim("x"), 1))
    assert [loop.body().find("_ = _").name() for loop in listed(p).find_all("for _")] == ["add", "s2"]


def two_loops() -> sl.Pipeline:
    """Two loops next to each other, over rows of two outputs."""
    y, x = sl.variables("y x")
    inp, left, right = (sl.BufferExpr(name, np.int16, 2) for name in ("inp", "left", "right"))
    for name, out in (("add", left), ("sub", right)):
        sl.Func(add_1, [inp[y, x]], [out[y, x]], name=name)
    p = sl.build_pipeline([inp], [left, right])
    return sl.split_loop(sl.split_loop(p, "add.y", 1), "sub.y", 1)


def fuse(p: sl.Pipeline, loop: Any) -> Any:
    return sl.fuse_loops(p, loop, loop.next(), rc=True)


def test_each_raises_where_a_place_is_gone() -> None:
    p = two_loops()
    with pytest.raises(sl.InvalidCursorError, match="is gone: fuse_loops"):
        sl.each("for _", fuse)(p)
    assert sl.each("for _", sl.attempt(fuse))(p).same_program(sl.fuse_loops(p, "for y", "for y #1"))


def nested() -> sl.Pipeline:
    p = sl.split_loop(stencil(), "stencil.y", 4)
    return sl.split_loop(p, "stencil.x", 4)


def test_top_down_and_bottom_up_differ_in_the_order_of_places() -> None:
    p = nested()
    outer, inner = p.find("for y"), p.find("for x")
    assert outer.is_ancestor_of(inner)
    parallel = sl.top_down("for _", sl.parallelize_loop)(p)
    assert [loop.workers() for loop in parallel.find_all("for _")] == [0, None]
    parallel = sl.bottom_up("for _", sl.parallelize_loop)(p)
    assert [loop.workers() for loop in parallel.find_all("for _")] == [None, 0]


def test_a_step_that_changes_nothing_goes_to_the_next_place() -> None:
    p = sl.parallelize_loop(nested(), "for y")

    def parallelize(p: sl.Pipeline, loop: sl.LoopCursor) -> sl.Pipeline:
        return p if loop.workers() is not None else sl.parallelize_loop(p, loop)

    assert [loop.workers() for loop in sl.top_down("for _", parallelize)(p).find_all("for _")] == [0, 0]


def test_outermost_and_innermost_go_on_until_a_step_applies_nowhere() -> None:
    order: list[str] = []

    def parallelize(p: sl.Pipeline, loop: sl.LoopCursor) -> sl.Pipeline:
        if loop.workers() is not None:
            raise sl.SchedulingError("it is parallel")
        order.append(loop.name())
        return sl.parallelize_loop(p, loop)

    for combinator, expected in ((sl.outermost, ["y", "x"]), (sl.innermost, ["x", "y"])):
        order.clear()
        new = combinator("for _", parallelize)(nested())
        assert [loop.workers() for loop in new.find_all("for _")] == [0, 0]
        assert order == expected
    assert [w.workers() for w in sl.outermost("for _", parallelize, 1)(nested()).find_all("for _")] == [0, None]


def test_places_inside_one_another_are_in_order_behind_an_if_and_siblings() -> None:
    p = sl.split_loop(stencils(2), "s1.y", 4)
    p = sl.split_loop(p, "s1.x", 4)
    p = sl.split_loop(p, "s2.y", 4)
    seen: list[str] = []

    def look(p: sl.Pipeline, loop: sl.LoopCursor) -> sl.Pipeline:
        seen.append(f"{loop.name()} {len(loop.find_all('for _'))} {loop.find('_ = _').name()}")
        raise sl.SchedulingError("only looking")

    for combinator, expected in (
        (sl.top_down, ["y 2 s1", "x 1 s1", "y 1 s2"]),
        (sl.bottom_up, ["x 1 s1", "y 2 s1", "y 1 s2"]),
    ):
        seen.clear()
        with pytest.raises(sl.SchedulingError, match=r"applies at none of 3 places: 3 refused it.*only looking"):
            combinator("for _", look)(p)
        assert seen == expected


def test_navigate_and_savepoint() -> None:
    p = nested()
    assert sl.seq(sl.navigate("for x"), sl.navigate(lambda c: c.parent()))(p, rc=True)[1] == p.find("for y")
    there_and_back = sl.savepoint(sl.seq(sl.navigate("for x"), sl.parallelize_loop))
    new, place = there_and_back(p, "for y", rc=True)
    assert place == new.find("for y")
    assert [loop.workers() for loop in new.find_all("for _")] == [None, 0]
    assert sl.navigate("stencil")(p, "for x", rc=True)[1] == p.find("stencil")
    with pytest.raises(sl.PatternError):
        sl.navigate("add")(p, "for x")


def test_nowhere_is_a_refusal() -> None:
    off_the_edge = sl.navigate(lambda c: c.parent())
    with pytest.raises(sl.InvalidCursorError, match="stands for no place"):
        off_the_edge(stencil(), "stencil")
    with pytest.raises(sl.InvalidCursorError, match="no place to go on from"):
        off_the_edge(stencil())
    with pytest.raises(sl.PatternError, match="returned no record"):
        sl.at("outer")(stencil(), "stencil")
    with pytest.raises(sl.PatternError, match="has no cursor 'other'"):
        sl.seq(by_rows, sl.at("other"))(stencil(), "stencil.y")
    with pytest.raises(sl.InvalidCursorError, match="stands for no place"):
        sl.seq(by_rows, sl.at("tail"))(stencil(), "stencil.y")  # there is no tail


def test_the_place_of_a_result_that_is_gone() -> None:
    p = two_loops()
    merge = sl.seq(lambda p, second: sl.fuse_loops(p, "for y", second))
    new, place = merge(p, "for y #1", rc=True)
    assert len(new.find_all("for _")) == 1
    assert isinstance(place, sl.InvalidCursor)
    with pytest.raises(sl.InvalidCursorError, match="is gone: fuse_loops"):
        sl.seq(merge, sl.parallelize_loop)(p, "for y #1")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: sl.seq(3), "seq: expected a step"),
        (lambda: sl.attempt("for y"), "attempt: expected a step"),
        (lambda: sl.or_else(), "at least one step"),
        (lambda: sl.repeat(refused, -1), "at least 0, got -1"),
        (lambda: sl.repeat(refused, True), "at least 0, got True"),
        (lambda: sl.each(3, refused), "each: expected a step"),
        (lambda: sl.at(3), "at: expected the name"),
        (lambda: sl.navigate(3), "navigate: expected a pattern"),
        (lambda: sl.seq(refused)(3), "first argument must be a Pipeline, got int"),
        (lambda: sl.seq(refused)(stencil(), 3), "expected a cursor or a pattern, got 3"),
        (lambda: sl.seq(lambda p: 3)(stencil()), "a step returns a pipeline"),
        (lambda: sl.seq(lambda p: (p, 3))(stencil()), "a step returns a pipeline"),
        (lambda: sl.each(lambda p: [3], refused)(stencil()), "must give cursors, got 3"),
        (lambda: sl.each(lambda p: p.find("add"), refused)(stencil()), "several cursors, or none, got <CallCursor"),
        (lambda: sl.top_down(lambda p: None, refused)(stencil()), "several cursors, or none, got None"),
        (lambda: sl.navigate(lambda c: 3)(stencil(), "add"), "must give one cursor, got 3"),
        (
            lambda: sl.seq(lambda p, d: sl.split_loop(p, d, 1, rc=True), sl.navigate(lambda c: (c, c)))(
                stencil(), "add.y"
            ),
            "must give one cursor",
        ),
    ],
)
def test_mistakes(make: Any, says: str) -> None:
    with pytest.raises(sl.OperationError, match=says):
        make()


def test_a_schedule_says_what_it_does() -> None:
    schedule = sl.seq(partial(sl.split_loop, factor=8), sl.at("outer"), sl.attempt(sl.repeat(sl.parallelize_loop)))
    assert repr(schedule) == "seq(partial(split_loop, factor=8), at('outer'), attempt(repeat(parallelize_loop)))"
    assert repr(sl.outermost("for _", sl.parallelize_loop)) == "outermost('for _', parallelize_loop)"


def test_a_schedule_is_a_step_of_an_operation() -> None:
    @sl.sched_op("loop")
    def rows(p: sl.Pipeline, dim: sl.DimCursor) -> Any:
        p, loop = sl.seq(partial(sl.split_loop, factor=1), sl.at("outer"))(p, dim, rc=True)
        return p, (loop,)

    p, found = rows(stencil(), "stencil.y", rc=True)
    assert found.loop == p.find("for y")
    out = np.empty((4, 3), np.int16)
    p(sl.Buffer(np.ones((6, 5), np.int16), min=(-1, -1)), out)
    assert (out == 2 * 36).all()


def test_a_generator_of_places_is_read_before_the_first_step() -> None:
    def places(p: sl.Pipeline) -> Iterator[sl.Cursor]:
        yield from p.find_all("_ = _")

    p = sl.each(places, lambda p, call: sl.split_loop(p, call.dim("y"), 1))(stencils(1))
    assert loops(p) == ["y", "y"]
