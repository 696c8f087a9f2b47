"""Buffers that share memory because a user asks for it: calls in place, and buffers that take another one's place."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
import second_judge
from hypothesis import given, settings
from hypothesis import strategies as st
from sharing_memory import (
    BACKENDS,
    WIDTH,
    Array,
    Step,
    buffers,
    elementwise,
    given_to,
    in_memory,
    lines,
    refusal,
    require_same,
    stencils,
)

import slinky as sl
from slinky import ir
from slinky.ir.statements import fresh_identity
from slinky.sched import gate
from slinky.sched.legality.memory import check_memory

# What is asked for happens --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 7, WIDTH])
def test_ping_pong_in_a_chain_of_stencils(width: int) -> None:
    """Two buffers for any number of stencils, seen in the program, counted in its memory and at the same addresses."""
    p, steps = stencils(6)
    q = p
    for n in (3, 5):
        q = sl.reuse_buffer(q, f"alloc b{n}", f"alloc b{n - 2}")
    q = sl.reuse_buffer(q, "alloc b4", "alloc b2")
    assert [line.rpartition("]")[2] for line in lines(q)] == ["", "", " in b1", " in b2", " in b1"]
    found = require_same(p, q, 6, width)
    assert found.allocations == 2
    assert found.program_bytes == 8 * (width + 10) + 8 * (width + 8)
    for step in steps:
        step.places.clear()
    source, out = given_to(p, width, 6)
    q(source, out)
    assert steps[0].places[0][1] == steps[2].places[0][1] == steps[4].places[0][1]
    assert steps[1].places[0][1] == steps[3].places[0][1] != steps[0].places[0][1]


def test_program_bytes_of_buffers_that_are_allocated_early() -> None:
    """Both allocations come before the first call: by the program both are there at once, unless they share memory."""
    p, _ = stencils(4)
    edit = sl.edit(p)
    for name in ("b2", "b3"):
        edit.move(f"alloc {name}", p.find("alloc b1").after())
    early = edit.finish()
    q = sl.reuse_buffer(early, "alloc b3", "alloc b1")
    assert require_same(p, early, 4).program_bytes == 8 * (WIDTH + 6 + WIDTH + 4 + WIDTH + 2)
    assert require_same(p, q, 4).program_bytes == 8 * (WIDTH + 6 + WIDTH + 4)
    assert lines(q)[-1].startswith("alloc b2")


def test_an_allocation_moves_behind_its_host() -> None:
    p, _ = stencils(4)
    edit = sl.edit(p)
    edit.move("alloc b3", p.find("alloc b1").before())
    early = edit.finish()
    q = sl.reuse_buffer(early, "alloc b3", "alloc b1")
    assert [line.split(":")[0] for line in lines(q)] == ["alloc b1", "alloc b3", "alloc b2"]
    require_same(p, q, 4)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_memory_is_taken_by_whoever_uses_it_first(dtype: Any) -> None:
    """The buffer that is allocated first is used last: what lives at the same time as its guest lies elsewhere."""
    (x,) = sl.variables("x")
    a, c, d, e, o = (sl.BufferExpr(name, np.int64, 1) for name in "acdeo")
    b = sl.BufferExpr("b", dtype, 1)

    def both(source: Array, one: Array, other: Array) -> None:
        np.negative(source, out=one, casting="unsafe")
        np.add(source, 100, out=other)

    sl.Func(both, [a[x]], [b[x], d[x]], name="both")
    sl.Func(lambda s, t, out: np.subtract(s, t, out=out), [b[x], d[x]], [e[x]], name="apart")
    sl.Func(lambda s, out: np.multiply(s, 3, out=out), [e[x]], [c[x]], name="more")
    sl.Func(lambda s, t, out: np.add(s, t, out=out), [c[x], e[x]], [o[x]], name="sum")
    p = sl.build_pipeline([a], [o], alias=False)
    while "alloc c" not in str(p).splitlines()[1]:
        p = sl.reorder_statements(p, p.find("alloc c").expand(before=1))
    q = sl.reuse_buffer(p, "alloc b", "alloc c")
    values = np.arange(6)
    for how in BACKENDS:
        found = np.zeros(6, np.int64)
        q.run(values, found, **how)
        np.testing.assert_array_equal(found, 4 * (-values - (values + 100)))


@pytest.mark.parametrize("names", [("b1", "b3"), ("b3", "b1")])
def test_memory_is_as_large_as_the_larger_one(names: tuple[str, str]) -> None:
    """Of elements of 1 and of 8 bytes, the second or the first larger."""
    first, second = (np.uint8, np.float64) if names[0] == "b1" else (np.float64, np.uint8)
    p, _ = stencils(4, dtypes=(np.float64, first, np.float64, second))
    q = sl.reuse_buffer(p, "alloc b3", "alloc b1")
    found = require_same(p, q, 4)
    sizes = {np.dtype(np.uint8): 1, np.dtype(np.float64): 8}
    b1, b3 = (sizes[np.dtype(t)] * n for t, n in ((first, WIDTH + 6), (second, WIDTH + 2)))
    assert found.program_bytes == max(b1, b3) + 8 * (WIDTH + 4)
    assert found.peak_bytes <= found.program_bytes + 64


def test_a_call_in_place_is_seen_and_counted() -> None:
    p, steps = elementwise(4)
    source, out = given_to(p, WIDTH, 1)
    before = p.run(source, out)
    q, at = sl.compute_in_place(p, "f1", rc=True)
    q = sl.compute_in_place(q, "f2", "b2")
    assert at.call.name() == "f1"
    assert at.alloc.name() == "b2"
    assert at.alloc.host() == "b1"
    assert [line.rpartition("]")[2] for line in lines(q)] == ["", " in b1", " in b1"]
    found = require_same(p, q, 1)
    size = 8 * (WIDTH + 2)
    assert (before.allocations, before.program_bytes, before.peak_bytes) == (3, 2 * size, size)
    assert (found.allocations, found.program_bytes, found.peak_bytes) == (1, size, size)
    assert q.run(source, out, backend="interpreter").peak_bytes == size
    for how in ({}, {"backend": "interpreter"}):
        for step in steps:
            step.places.clear()
        q.run(source, out, **how)
        assert steps[1].places[0][0] == steps[1].places[0][1] == steps[2].places[0][1]


def test_what_is_asked_for_goes_on_as_a_plan_would() -> None:
    """Marks in a chain that would lie in the output leave it there."""
    (i,) = sl.variables("i")
    chain = buffers("b0 b1 b2 b3 b4")
    for n in range(4):
        sl.Func(Step(f"f{n}"), [chain[n][i]], [chain[n + 1][i]], in_place=True)
    p = sl.build_pipeline([chain[0]], [chain[4]])
    for calls in (("f1",), ("f2",), ("f2", "f1"), ("f1", "f2")):
        q = p
        for call in calls:
            q = sl.compute_in_place(q, call)
        assert require_same(p, q, 0).peak_bytes == 0


def test_what_lies_there_later_keeps_a_plan_from_writing_over_it() -> None:
    """b1 dies in a call that works in place, but b4 lies in its memory while what that wrote is still read."""
    (i,) = sl.variables("i")
    b0, b1, b2, b3, b4, out = buffers("b0 b1 b2 b3 b4 out")
    sl.Func(Step("f0"), [b0[i]], [b1[i]], name="f0")
    sl.Func(Step("f1"), [b1[i]], [b2[i]], name="f1", in_place=True)
    sl.Func(Step("f2"), [b0[i]], [b3[i]], name="f2")
    sl.Func(Step("f3"), [b3[i], b3[i]], [b4[i]], name="f3")
    sl.Func(Step("f4"), [b2[i], b4[i]], [out[i]], name="f4")
    p = sl.build_pipeline([b0], [out])
    q = sl.reuse_buffer(p, "alloc b4", "alloc b1")
    require_same(p, q, 0)


def test_what_lay_there_before_keeps_a_plan_from_taking_it_over() -> None:
    """b1 dies in a call that writes b3 in place, but in the memory of b3 lies b2, which was used while b1 was there."""
    (i,) = sl.variables("i")
    b0, b1, b2, b3, b4, out = buffers("b0 b1 b2 b3 b4 out")
    sl.Func(Step("f0"), [b0[i]], [b1[i]], name="f0")
    sl.Func(Step("f1"), [b1[i]], [b2[i]], name="f1")
    sl.Func(Step("f2"), [b2[i]], [b4[i]], name="f2")
    sl.Func(Step("f3"), [b1[i], b4[i]], [b3[i]], name="f3", in_place=True)
    sl.Func(Step("f4"), [b3[i], b4[i]], [out[i]], name="f4")
    p = sl.build_pipeline([b0], [out])
    edit = sl.edit(p)
    edit.move("alloc b3", p.find("alloc b2").before())
    q = sl.reuse_buffer(edit.finish(), "alloc b2", "alloc b3")
    require_same(p, q, 0)


def test_what_lies_there_later_keeps_a_buffer_out_of_an_output() -> None:
    """b1 could lie in the output that is written over it, but b3 is written in its memory after that."""
    i, j = sl.variables("i j")
    b0, b1, b2, b3, first, second = buffers("b0 b1 b2 b3 first second")
    sl.Func(Step("f0"), [b0[i]], [b1[i]], name="f0", in_place=True)
    sl.Func(Step("f1"), [b1[i]], [first[i]], name="f1", in_place=True)
    sl.Func(Step("f2"), [b0[i]], [b2[i]], name="f2")
    sl.Func(Step("f3"), [b2[i], b0[i]], [b3[i]], name="f3", in_place=True)

    def total(source: Array, target: Array) -> None:
        target[...] = source.sum()

    whole = sl.interval(first.dim(0).min, first.dim(0).max)
    sl.Func(total, [b3[whole]], [second[j]], name="f4", in_place=True)
    p = sl.build_pipeline([b0], [first, second])
    q = sl.reuse_buffer(p, "alloc b3", "alloc b1")
    source = np.random.default_rng(0).random(WIDTH)
    for expected, found in zip(
        p(source, np.zeros(WIDTH), np.zeros(3)), q(source, np.zeros(WIDTH), np.zeros(3)), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_what_is_used_with_the_last_of_them_lies_elsewhere() -> None:
    """b4 is used with b3, which lies in the memory of b1, but not with b1."""
    p, _ = stencils(5)
    assert require_same(p, sl.reuse_buffer(p, "alloc b3", "alloc b1"), 5).allocations == 3


def test_two_dimensions_in_loops_of_strips() -> None:
    """Buffers of strips share memory in each iteration, and in each of the iterations of a parallel loop."""
    y, x = sl.variables("y x")
    b0, b1, b2, b3, b4 = buffers("b0 b1 b2 b3 b4", 2)
    steps = [Step(f"s{n}") for n in range(4)]
    for step, s, t in zip(steps, (b0, b1, b2, b3), (b1, b2, b3, b4), strict=True):
        sl.Func(step, [s[sl.interval(y - 1, y + 1), x]], [t[y, x]])
    p = sl.build_pipeline([b0], [b4])
    q, (rows, _, _) = sl.split_loop(p, "s3.y", 5, rc=True)
    for n in (2, 1, 0):
        q, at = sl.compute_at(q, f"s{n}", rows, rc=True)
        q = sl.store_at(q, at.alloc, rows)
    q = sl.reuse_buffer(q, "alloc b3", "alloc b1")
    source = sl.Buffer(np.random.default_rng(0).random((23 + 8, 9)), min=(-4, 0))
    expected, out = np.zeros((23, 9)), np.zeros((23, 9))
    p(source, expected)
    for workers in (None, 3):
        r = q if workers is None else sl.parallelize_loop(q, "for y", workers)
        for how in BACKENDS:
            out[...] = 0
            found = r.run(source, out, **how)
            np.testing.assert_array_equal(out, expected)
            assert found.allocations == 2 * 5
        if workers is None:
            assert found.program_bytes == 8 * 9 * (5 + 6) + 8 * 9 * (5 + 4)
            assert r.memory(source, out).peak_bytes <= found.program_bytes + 64


def test_a_buffer_in_a_loop_in_the_memory_of_one_around() -> None:
    """The largest that it is in any iteration counts."""
    p, _ = stencils(4)
    q, (loop, _, _) = sl.split_loop(p, "s3.i", 8, rc=True)
    q, at = sl.compute_at(q, "s2", loop, rc=True)
    q = sl.store_at(q, at.alloc, loop)
    q = sl.reuse_buffer(q, "alloc b3", "alloc b1")
    assert lines(q)[-1].endswith(" in b1")
    for width in (1, 7, 20, WIDTH):
        found = require_same(p, q, 4, width)
        assert found.allocations == 2
        assert found.program_bytes == 8 * (width + 6) + 8 * (width + 4)


def test_a_call_in_place_in_a_loop_of_its_own() -> None:
    """Pieces that do not overlap; the automatic way does not see that."""
    p, _ = elementwise(3)
    q = sl.compute_in_place(sl.split_loop(p, "f1.i", 4), "f1")
    assert require_same(p, q, 1).peak_bytes == 8 * (WIDTH + 2)
    q = sl.split_loop(sl.compute_in_place(p, "f1"), "f1.i", 4)
    assert require_same(p, q, 1).peak_bytes == 8 * (WIDTH + 2)
    q = sl.parallelize_loop(q, "for i", 2)
    assert require_same(p, q, 1).peak_bytes == 8 * (WIDTH + 2)


@settings(max_examples=settings().max_examples * 5 // 12, deadline=None)
@given(st.data())
def test_random_sizes_and_pairs(data: st.DataObject) -> None:
    """Whatever is accepted gives the same."""
    count = data.draw(st.integers(2, 6), "count")
    maker = data.draw(st.sampled_from([stencils, elementwise]))
    p, _ = maker(count)
    reach = count if maker is stencils else 1
    q = p
    for _ in range(data.draw(st.integers(1, 4), "marks")):
        names = [f"b{n}" for n in range(1, count)]
        one, other = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(names))
        try:
            if data.draw(st.booleans()):
                q = sl.reuse_buffer(q, f"alloc {one}", f"alloc {other}")
            else:
                q = sl.compute_in_place(q, f"f{one[1:]}" if maker is elementwise else f"s{one[1:]}")
        except (sl.SchedulingError, sl.OperationError):
            continue
        q.verify()
    require_same(p, q, reach, data.draw(st.integers(0, 40), "width"))


def test_history_and_records() -> None:
    p, _ = stencils(4)
    q, (alloc,) = sl.reuse_buffer(p, "alloc b3", "alloc b1", rc=True)
    assert alloc.name() == "b3"
    assert str(q.history()).splitlines()[-1] == 'p = sl.reuse_buffer(p, "alloc b3", "alloc b1")'
    p2, _ = elementwise(3)
    r = sl.compute_in_place(p2, "f1", "b1")
    for old, new in ((p, q), (p2, r)):
        line = str(new.history()).splitlines()[-1].removeprefix("p = ")
        assert str(eval(line, {"sl": sl, "p": old})) == str(new)


# Rewrites that follow -------------------------------------------------------------------------------------------------


def test_later_rewrites_keep_it_or_are_refused() -> None:
    p, _ = stencils(4)
    q = sl.reuse_buffer(p, "alloc b3", "alloc b1")
    r, (loop, _, _) = sl.split_loop(q, "s3.i", 8, rc=True)
    moved = sl.compute_at(r, "s2", loop)
    require_same(p, moved, 4)
    sunk = sl.store_at(moved, "alloc b3", loop)
    require_same(p, sunk, 4)
    require_same(p, sl.lift_alloc(sunk, "alloc b3"), 4)
    assert refusal(sl.compute_at, moved, "s1", loop) == (
        "b1 and b3, which lie in the same memory, are both used in each iteration of loop i"
    )
    assert sl.simplify(q).find("alloc b3").host() == "b1"
    assert sl.rename(q, "other").find("alloc b3").host() == "b1"


def test_simplify_keeps_what_shows_that_iterations_leave_each_other_alone() -> None:
    p, _ = elementwise(3)
    q = sl.compute_in_place(p, "f1", "b1")
    for factor in (2, 4, 2, 2):
        q = sl.split_loop(q, "f1.i", factor)
    simple = sl.simplify(q)
    assert "for i_3 in i_2..i_2 step 2:" in str(simple)
    require_same(p, simple, 1)
    assert sl.simplify(simple).same_program(simple)


def test_a_host_that_moves_into_a_loop_without_its_guest_is_refused() -> None:
    i, *_ = sl.variables("i")
    b0, b1, b2, out = buffers("b0 b1 b2 out")
    sl.Func(Step("f0"), [b0[i]], [b1[i]])
    sl.Func(Step("f1"), [b1[sl.interval(i, i + 1)]], [b2[i]])
    sl.Func(Step("f2"), [b2[i]], [out[i]])
    b3, last = buffers("b3 last")
    sl.Func(Step("f3"), [out[i]], [b3[i]])
    sl.Func(Step("f4"), [b3[i]], [last[i]])
    p = sl.build_pipeline([b0], [out, last])
    q, (loop, _, _) = sl.split_loop(p, "f1.i", 4, rc=True)
    q = sl.compute_at(q, "f0", loop)
    q = sl.reuse_buffer(q, "alloc b3", "alloc b1")
    assert refusal(sl.store_at, q, "alloc b1", loop) == "b3 lies in the memory of b1, which is not allocated here"


def test_editing_by_hand_is_under_the_same_gate() -> None:
    p, _ = elementwise(4)
    q = sl.compute_in_place(p, "f1")
    again = sl.edit(q)
    again.insert(q.find("f2").after(), *again.copy("f1"))
    assert refusal(again.finish) == "f1 reads b1 after f1 writes b2, which lies in the same memory"
    larger = sl.edit(q)
    alloc = larger.statement(q.find("alloc b1"))
    (i,) = alloc.box
    larger.replace("alloc b1", ir.with_bounds(alloc, (sl.interval(i.min - 1, i.max),), alloc.folds))
    assert refusal(larger.finish) == (
        "b1 and b2 are not shown to have the same bounds, so that their elements lie at the same bytes"
    )
    nested = sl.edit(q)
    nested.replace("alloc b3", ir.with_memory(nested.statement(q.find("alloc b3")), ir.Within("b2")))
    assert refusal(nested.finish) == "b3 lies in the memory of b2, which has none: it lies in b1"
    renamed = sl.edit(q)
    renamed.rename_buffer("alloc b1", "first")
    r = renamed.finish()
    assert lines(r)[1].endswith(" in first")
    require_same(p, r, 1)
    apart = sl.edit(q)
    apart.replace("alloc b2", ir.with_memory(apart.statement(q.find("alloc b2")), ir.Heap()))
    assert str(apart.finish()) == str(p)
    by_hand = sl.edit(p)
    by_hand.replace("alloc b2", ir.with_memory(by_hand.statement(p.find("alloc b2")), ir.Within("b1")))
    assert str(by_hand.finish()) == str(q)
    nowhere = sl.edit(p)
    nowhere.replace("alloc b2", ir.with_memory(nowhere.statement(p.find("alloc b2")), ir.Within("b9")))
    assert refusal(nowhere.finish) == "b2 lies in the memory of b9, which is not allocated here"
    with pytest.raises(sl.OperationError, match="memory of Alloc must be a memory"):
        by_hand.replace("alloc b2", ir.with_memory(by_hand.statement(p.find("alloc b2")), "b1"))  # type: ignore[arg-type]


def test_what_is_not_one_after_the_other_though_each_alone_could_be() -> None:
    """Programs that no rewrite makes, of statements that each could be there."""
    p, _ = elementwise(3)
    q = sl.compute_in_place(sl.split_loop(p, "f1.i", 4), "f1")
    *before, loop, last = q.program.body
    assert isinstance(loop, ir.For)
    (call,) = loop.body
    assert isinstance(call, ir.Call)

    def checked(*statements: ir.Statement) -> str:
        return refusal(check_memory, sl.Pipeline(attrs.evolve(q.program, body=statements))._version)

    in_one = "b1 and b2, which lie in the same memory, are both used in each iteration of loop i"
    other = attrs.evolve(call, func=attrs.evolve(call.func, name="other"), reads=("b0",), id=fresh_identity())
    assert checked(*before, attrs.evolve(loop, body=(call, other)), last) == in_one  # another writer of b2
    reader = attrs.evolve(other, reads=("b1",), writes=("b3",))
    assert checked(*before, attrs.evolve(loop, body=(call, reader)), last) == in_one  # another reader of b1
    twin = attrs.evolve(call, id=fresh_identity())
    assert checked(*before, attrs.evolve(loop, body=(call, twin)), last) == in_one  # twice in place
    alone = (ir.with_memory(s, ir.Within("b2")) if isinstance(s, ir.Alloc) and s.buffer == "b2" else s for s in before)
    assert checked(*alone, loop, last) == "b2 lies in the memory of b2, which has none: it lies in b2"
    branch = ir.If(sl.scalar("r") >= 0, (*before[-1:], loop, last))
    assert checked(*before[:-1], branch) == (
        "b2 is allocated in a branch, which may never be taken: it cannot lie in the memory of b1"
    )


@pytest.mark.parametrize("unused", ["b2", "b3"])
def test_a_buffer_that_nobody_uses_lets_all_others_be(unused: str) -> None:
    p, _ = stencils(4)
    edit = sl.edit(p)
    spare = attrs.evolve(edit.statement("alloc b3"), buffer="spare", id=fresh_identity())
    edit.insert(p.find("alloc b3").before(), spare if unused == "b3" else attrs.evolve(spare, memory=ir.Within("b2")))
    q = edit.finish()
    q = sl.reuse_buffer(q, "alloc b3", "alloc spare") if unused == "b3" else q
    assert any(line.endswith(f" in {'spare' if unused == 'b3' else 'b2'}") for line in lines(q))
    require_same(p, q, 4)


@pytest.mark.parametrize("workers", [None, 2])
def test_a_call_in_place_by_rows_of_strips(workers: int | None) -> None:
    """Rows are apart though columns are not, and strips need not be: each has its buffers."""
    y, x = sl.variables("y x")
    b0, b1, b2, b3 = buffers("b0 b1 b2 b3", 2)
    near = sl.interval(y - 1, y + 1)
    for step, read, target in (("f0", b0[y, x], b1), ("f1", b1[y, x], b2), ("f2", b2[near, x], b3)):
        sl.Func(Step(step), [read], [target[y, x]], in_place=step == "f1")
    p = sl.build_pipeline([b0], [b3])
    q, (strip, _, _) = sl.split_loop(p, "f2.y", 4, names="strip", rc=True)
    for name in ("f1", "f0"):
        q, at = sl.compute_at(q, name, strip, rc=True)
        q = sl.store_at(q, at.alloc, strip)
    q = sl.compute_in_place(sl.split_loop(q, "f1.y", 2), "f1")
    q = q if workers is None else sl.parallelize_loop(q, "for strip", workers)
    source = sl.Buffer(np.random.default_rng(0).random((15, 5)), min=(-1, 0))
    expected, found = np.zeros((13, 5)), np.zeros((13, 5))
    p(source, expected)
    for how in BACKENDS:
        q.run(source, found, **how)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("divisor", "is_known"), [(3, True), (sl.scalar("r"), False)])
def test_the_size_must_be_known_where_the_host_is(divisor: Any, is_known: bool) -> None:
    p, _ = stencils(4)
    q, (loop, _, _) = sl.split_loop(p, "s3.i", 8, rc=True)
    q, at = sl.compute_at(q, "s2", loop, rc=True)
    q = sl.reuse_buffer(sl.store_at(q, at.alloc, loop), "alloc b3", "alloc b1")
    *before, found = q.program.body
    assert isinstance(found, ir.For)
    alloc, *calls = found.body
    assert isinstance(alloc, ir.Alloc)
    (i,) = alloc.box
    odd = ir.with_bounds(alloc, (sl.interval(i.min, i.max + found.range.max // divisor),), alloc.folds)
    program = attrs.evolve(q.program, body=(*before, attrs.evolve(found, body=(odd, *calls))))
    if is_known:
        check_memory(sl.Pipeline(program)._version)
    else:
        assert refusal(check_memory, sl.Pipeline(program)._version) == (
            "not known where b1 is allocated how far b3, which lies in its memory, extends along i"
        )


def test_programs_that_are_not_well_formed() -> None:
    p, _ = stencils(6)
    for change, message in (
        ({"b3": ir.Within("b9")}, "alloc b3: it lies in 'b9', which is not allocated here"),
        ({"b3": ir.Within("b0")}, "alloc b3: it lies in 'b0', which is not allocated here"),
        ({"b3": ir.Within("b1"), "b5": ir.Within("b3")}, "alloc b5: it lies in 'b3', which has no memory of its own"),
    ):
        body = (
            ir.with_memory(s, change[s.buffer]) if isinstance(s, ir.Alloc) and s.buffer in change else s
            for s in p.program.body
        )  # fmt: skip
        with pytest.raises(sl.ProgramError) as caught:
            sl.Pipeline(attrs.evolve(p.program, body=tuple(body))).verify()
        assert str(caught.value).endswith(message)
    shared = sl.reuse_buffer(p, "alloc b3", "alloc b1")
    for name in ("b1", "b3"):
        laid = (
            attrs.evolve(s, layout=ir.Layout((None,), 64)) if isinstance(s, ir.Alloc) and s.buffer == name else s
            for s in shared.program.body
        )  # fmt: skip
        with pytest.raises(sl.ProgramError, match=f"alloc {name}: a buffer that shares memory is not folded, and has"):
            sl.Pipeline(attrs.evolve(shared.program, body=tuple(laid))).verify()


# Broken proofs --------------------------------------------------------------------------------------------------------


def test_what_a_broken_proof_lets_through_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """b1 is read again after b3 is written in its memory."""
    i, *_ = sl.variables("i")
    b0, b1, b2, b3, out = buffers("b0 b1 b2 b3 out")
    for name, reads, t in (("f0", [b0], b1), ("f1", [b1], b2), ("f2", [b2], b3), ("f3", [b3, b1], out)):
        sl.Func(Step(name), [r[i] for r in reads], [t[i]])
    p = sl.build_pipeline([b0], [out])
    wrong = in_memory(p, "b3", "b1")
    source, result = np.arange(9.0), np.zeros(9)
    with pytest.raises(
        sl.OverwrittenReadError, match=r"f3\[0..8\] reads b1\[0..8\]: element \[0\] was overwritten by b3"
    ):
        wrong.run(source, result, checked=True)
    with pytest.raises(
        second_judge.WrongRewriteError, match=r"reads b1\[-?\d+\], whose place another element has taken"
    ):
        second_judge.judge(p.program, wrong.program)
    for how in ({}, {"backend": "interpreter"}):
        wrong.run(source, result, **how)
        assert not np.array_equal(result, p(source, np.zeros(9)))
    monkeypatch.setattr(gate, "check_memory", lambda version: None)
    with pytest.raises(second_judge.WrongRewriteError, match="whose place another element has taken"):
        sl.reuse_buffer(p, "alloc b3", "alloc b1")


def test_a_call_that_does_not_work_in_place_is_found() -> None:
    p, _ = stencils(3)
    wrong = in_memory(p, "b2", "b1")
    source, out = given_to(p, 9, 3)
    with pytest.raises(sl.OverwrittenReadError, match="writes b2 over b1, which it reads"):
        wrong.run(source, out, checked=True)
    with pytest.raises(second_judge.WrongRewriteError, match="writes b2 over b1, which it reads, and does not work in"):
        second_judge.judge(p.program, wrong.program)


def test_an_elementwise_call_that_is_not_declared_is_found() -> None:
    (i,) = sl.variables("i")
    b0, b1, b2, out = buffers("b0 b1 b2 out")
    for name, s, t in (("f0", b0, b1), ("f1", b1, b2), ("f2", b2, out)):
        sl.Func(Step(name), [s[i]], [t[i]])
    p = sl.build_pipeline([b0], [out])
    wrong = in_memory(p, "b2", "b1")
    with pytest.raises(sl.OverwrittenReadError, match=r"f1\[0..8\] writes b2 over b1, which it reads"):
        wrong.run(np.arange(9.0), np.zeros(9), checked=True)
    with pytest.raises(second_judge.WrongRewriteError, match="writes b2 over b1, which it reads, and does not work in"):
        second_judge.judge(p.program, wrong.program)
