"""What rewrites cost grows with what they touch; what is kept between versions is used only where it still holds."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pytest
from judge_hook import resting

import examples
import slinky as sl
from slinky.cursors.editing import Edit, Gap
from slinky.ir.copies import with_box, with_fresh_identities, with_interval, with_range
from slinky.ir.statements import If
from slinky.sched.gate import settle
from slinky.sched.legality import coverage, stages
from slinky.sched.primitives.ranges import _AtRest, _Resting
from slinky.symbolic import proofs
from slinky.symbolic.expressions import as_expr, equal


def _chain(length: int, name: str) -> sl.Pipeline:
    """Stencils one after the other. Under another name, nothing that was found out about one chain helps another."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"{name}{k}", np.float32, rank=2) for k in range(length + 1)]
    for k in range(length):
        window = buffers[k][sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]
        sl.Func(np.negative, [window], [buffers[k + 1][y, x]], name=f"f{k}")
    return sl.build_pipeline([buffers[0]], [buffers[length]])


def _in_one_loop(length: int, rows: int) -> tuple[sl.Pipeline, list[int]]:
    """A chain, all of it computed and slid in a loop over strips, and how many functions each slide called."""
    p = _chain(length, f"b{length}_{rows}_")
    p, (loop, _, _) = sl.split_loop(p, f"f{length - 1}.y", rows, rc=True)
    counts = []
    for k in reversed(range(length - 1)):
        p, at = sl.compute_at(p, f"f{k}", loop, rc=True)
        p, count = _counted(sl.slide_window, p, at.call, loop)
        counts.append(count)
    return p, counts


def _counted(work: Callable[..., Any], *args: object) -> tuple[Any, int]:
    """What a function returns, and how many functions written in Python were called on the way."""
    count = 0

    def note(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = work(*args)
    finally:
        sys.setprofile(before)
    return result, count


@pytest.mark.parametrize("rows", [1, 32])
def test_sliding_many_in_one_loop_costs_about_the_same_each(rows: int) -> None:
    with resting():
        _, counts = _in_one_loop(36, rows)
    assert sum(counts[-5:]) < 1.6 * sum(counts[5:10])


def test_a_slide_hardly_looks_at_calls_that_rest_before_the_loop_as_they_did() -> None:
    with resting():
        _, counts = _in_one_loop(90, 2)
    early, late = median(counts[20:30]), median(counts[70:80])  # one may find a memory full, and fill it anew
    assert late - early <= 50 * 4


@pytest.mark.parametrize(
    ("rewrite", "most"),
    [
        (lambda p: sl.unfold_storage(p, p.find("alloc b3"), "y"), 135),
        (lambda p: sl.reorder_statements(p, p.find("b1 = _").expand(after=1)), 320),
        (lambda p: sl.split_loop(p, p.find("f1").dim("y"), 2), 357),
        (lambda p: sl.compute_at(p, "f1", "for y"), 700),
        (lambda p: sl.slide_window(sl.compute_at(p, "f1", "for y"), "f1", "for y"), 2070),
    ],
)
def test_small_rewrites_take_few_calls(rewrite: Callable[[sl.Pipeline], sl.Pipeline], most: int) -> None:
    p = sl.split_loop(_chain(5, "b"), "f4.y", 2)
    p, at = sl.compute_at(p, "f3", "for y", rc=True)
    p, at = sl.compute_at(p, "f2", "for y", rc=True)
    p = sl.fold_storage(sl.slide_window(p, at.call, "for y"), at.alloc, "y")
    with resting():
        rewrite(p)
        _, count = _counted(rewrite, p)
    assert count <= most


def _in_one_parallel_loop(length: int) -> int:
    """How many functions it takes to let a loop over a chain run in parallel, each iteration with its own buffers."""
    p, split = sl.split_loop(_chain(length, f"par{length}_"), f"f{length - 1}.y", 4, rc=True)
    p = sl.fuse_chain(p, split.outer)
    with resting():
        return _counted(sl.parallelize_loop, p, split.outer, 2)[1]


def test_to_look_for_races_costs_as_much_for_each_call() -> None:
    few, many = _in_one_parallel_loop(20), _in_one_parallel_loop(80)
    assert many < 1.2 * 80 / 20 * few


def test_windows_in_deep_nests_take_no_longer_than_the_patience_of_a_rewrite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each loop of a nest of one-iteration loops bounds the window, which is compared with what comes next, all with
    all."""
    asked: list[object] = []
    not_negative = proofs._not_negative

    def counted(*question: Any) -> bool:
        asked.append(question)
        return not_negative(*question)

    p = _chain(3, "nest")
    for _ in range(21):
        p = sl.split_loop(p, "f2.y", 8)
    p = sl.compute_at(sl.compute_at(p, "f1", "for y_17"), "f0", "for y_17")
    monkeypatch.setattr(proofs, "_not_negative", counted)
    with resting(), pytest.raises(sl.SchedulingError):
        sl.slide_window(p, "f0", "for y_17")
    assert len(asked) < 10_000


def _by_itself(p: sl.Pipeline, *arrays: object) -> sl.Pipeline:
    scheduled: sl.Pipeline = sl.auto_schedule(p, *arrays, workers=1, machine=sl.Machine())
    return scheduled


def _scheduled(length: int) -> int:
    """How many functions it takes to schedule a chain."""
    p = _chain(length, f"auto{length}_")
    given = sl.Buffer(np.zeros((3000, 2000), np.float32), min=(-length, -length))
    out = sl.Buffer(np.zeros((3000 - 2 * length, 2000 - 2 * length), np.float32))
    with resting():
        return _counted(_by_itself, p, given, out)[1]


def test_what_automatic_schedules_cost_grows_with_the_program() -> None:
    few, many = _scheduled(16), _scheduled(80)
    assert many < 1.25 * 80 / 16 * few
    assert many <= 80 * 4500


def test_statements_of_long_programs_stand_where_they_are_found() -> None:
    """Most are looked for near where they stood in the version before, or were found in one with the same block."""
    p = _chain(40, "b")
    versions = [p]
    with resting():
        p, (loop, _, _) = sl.split_loop(p, "f39.y", 1, rc=True)
        for k in reversed(range(25, 39)):
            versions.append(p)
            p, at = sl.compute_at(p, f"f{k}", loop, rc=True)
            versions.append(p)
            p = sl.slide_window(p, at.call, loop)
            assert p.find(f"f{k}").parent() == p.forward(loop)
            versions.append(p)
            p = sl.fold_storage(p, at.alloc, "y")
        p = sl.reorder_statements(p, p.find("alloc b3").expand(before=1))
        versions += [p, sl.compute_root(p, "f25")]
        versions.append(sl.unfold_storage(versions[-1], "alloc b30", "y"))
    for version in (q._version for q in versions):
        body = version.program.body
        assert len(body) > 50
        some = body[:: len(body) // 7]
        assert [version.position(s.id) for s in (*some, *body)] == [body.index(s) for s in (*some, *body)]


def _slide(name: str, strips: int | None) -> int:
    """How many functions it takes to slide what the output reads, in a loop over rows or in tasks of some strips."""
    p = _chain(2, name)
    p, (loop, _, _) = sl.split_loop(p, "f1.y", 4, rc=True)
    tasks = None
    if strips is not None:
        p, (tasks, loop, _) = sl.split_loop(p, loop, strips, rc=True)
    p, at = sl.compute_at(p, "f0", loop, rc=True)
    if tasks is not None:
        p = sl.store_at(p, at.alloc, tasks)
    return _counted(sl.slide_window, p, at.call, loop)[1]


def test_a_window_slides_in_tasks_about_as_fast_as_in_one_loop() -> None:
    with resting():
        _slide("warm", 8)
        alone, in_tasks = _slide("alone", None), _slide("tasks", 8)
    assert in_tasks < 2 * alone


def test_allocations_that_move_are_asked_for_where_they_are_used_alone() -> None:
    """An edit that moves an allocation behind one of those who use it is refused, whatever else these use."""
    p = _chain(4, "b")
    for name, users in (("b1", ("f0", "f1")), ("b2", ("f1", "f2")), ("b3", ("f2", "f3"))):
        for user in users:
            edit = Edit(p._version)
            edit.move(p.find(f"alloc {name}")._id, Gap.after(p.find(user)._id))
            with resting(), pytest.raises(sl.SchedulingError, match=f"{name} is not allocated here|would give"):
                settle(edit, "edit")
        edit = Edit(p._version)
        edit.move(p.find(f"alloc {name}")._id, Gap.before(p.find("f0")._id))
        with resting():
            settle(edit, "edit").verify()


def test_what_leaves_its_loop_is_asked_for_the_variable() -> None:
    p = sl.split_loop(_chain(2, "b"), "f1.y", 2)
    p, at = sl.compute_at(p, "f0", "for y", rc=True)
    edit = Edit(p._version)
    edit.move(at.call._id, Gap.before(at.loop._id))
    with resting(), pytest.raises(sl.SchedulingError, match="y means nothing here"):
        settle(edit, "edit")


def test_a_call_that_writes_one_of_two_buffers_of_a_name_is_not_kept() -> None:
    p = sl.split_loop(_chain(4, "b"), "f3.y", 1)
    for func in ("f2", "f1"):
        p = sl.slide_window(sl.compute_at(p, func, "for y"), func, "for y")
    version, call = p._version, p.find("f2")._call
    alloc = p.find("alloc b3")._alloc
    assert _AtRest.of(version, call)
    edit = Edit(version)
    edit.insert(Gap.before(p.find("for y")._id), (If(equal(as_expr(1), 1), (with_fresh_identities(alloc),)),))
    assert not _AtRest.of(edit.finish("edit"), call)


def _nothing(p: sl.Pipeline) -> sl.Pipeline:
    return p


def _with_more_room(p: sl.Pipeline) -> sl.Pipeline:
    y, _ = p.find("alloc b3").bounds()
    return sl.resize_dim(p, "alloc b3", "y", sl.interval(y.min - 5, y.max))


def _as_it_was(p: sl.Pipeline) -> sl.Pipeline:
    return sl.unslide_window(p, "f2", "for y")


def _split(p: sl.Pipeline) -> sl.Pipeline:
    return sl.split_loop(p, "for y", 4)


@pytest.mark.parametrize("change", [_nothing, _with_more_room, _as_it_was, _split])
def test_what_was_found_for_one_slide_is_used_for_the_next_only_where_it_holds(
    change: Callable[[sl.Pipeline], sl.Pipeline],
) -> None:
    p = sl.split_loop(_chain(5, "b"), "f4.y", 1)
    for func in ("f3", "f2"):
        p = sl.slide_window(sl.compute_at(p, func, "for y"), func, "for y")
    p = change(p)
    loop = p.find("f4").parent()
    p, at = sl.compute_at(p, "f1", loop, rc=True)
    forgetful = pickle.loads(pickle.dumps(p))
    again = forgetful.find_all("for _")[p.find_all("for _").index(at.loop)]
    assert str(sl.slide_window(p, at.call, at.loop)) == str(sl.slide_window(forgetful, "f1", again))


def test_what_is_kept_of_a_loop_tells_what_it_rests_on() -> None:
    p = sl.split_loop(_chain(4, "b"), "f3.y", 1)
    for func in ("f2", "f1"):
        p = sl.slide_window(sl.compute_at(p, func, "for y"), func, "for y")
    loop, f2 = p.find("for y")._loop, p.find("f2")._call
    kept = _Resting.before(p._version, loop)
    assert kept is not None
    assert kept.among(p._version, [f2])
    assert not kept.among(p._version, [with_box(f2, f2.box)])  # another statement, though it says the same
    assert not kept.among(p._version, [p.find("f1")._call])  # it is what the loop starts earlier for
    y, _ = p.find("alloc b3").bounds()
    resized = sl.resize_dim(p, "alloc b3", "y", sl.interval(y.min - 5, y.max))
    assert not kept.among(resized._version, [f2])
    assert _Resting.before(p._version, with_range(loop, sl.interval(loop.range.min + 1, loop.range.max))) is None
    assert _Resting.before(p._version, with_range(loop, loop.range, loop.step + 1)) is None


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(
    ("what", "first", "last"),
    [("nothing", 0, 0), ("more", -2, 0), ("a gap", 1, 0), ("too little", 0, -1), ("less, and earlier", -1, -1)],
)
def test_a_window_is_covered_only_without_a_gap(rows: int, what: str, first: int, last: int) -> None:
    p = sl.split_loop(_chain(2, "b"), "f1.y", rows)
    p = sl.slide_window(sl.compute_at(p, "f0", "for y"), "f0", "for y")
    call = p.find("f0")._call
    edit = Edit(p._version)
    edit.update(with_interval(call, 0, sl.interval(call.box[0].min + first, call.box[0].max + last)))
    with resting():
        if what in ("nothing", "more"):
            settle(edit, "edit").verify()
        else:
            with pytest.raises(sl.SchedulingError, match=r"f1 does not find all of b1|not shown that f1 finds"):
                settle(edit, "edit")


@pytest.mark.parametrize(("first", "last"), [(0, 0), (-1, 0), (0, 1), (1, 0), (0, -1)])
def test_what_tasks_compute_for_themselves_is_covered_where_it_is_long_enough(first: int, last: int) -> None:
    """That a strip lies in its task says the loop alone, so constants do not tell."""
    p = sl.split_loop(_chain(2, "b"), "f1.y", 4)
    p, (tasks, loop, _) = sl.split_loop(p, "for y", 2, rc=True)
    p, at = sl.compute_at(p, "f0", loop, rc=True)
    p = sl.store_at(p, at.alloc, tasks)
    call = p.find("f0")._call
    edit = Edit(p._version)
    edit.update(with_interval(call, 0, sl.interval(call.box[0].min + first, call.box[0].max + last)))
    with resting():
        if first <= 0 <= last:
            settle(edit, "edit").verify()
        else:
            with pytest.raises(sl.SchedulingError, match=r"f1 does not find all of b1|not shown that f1 finds"):
                settle(edit, "edit")


@pytest.mark.parametrize(("later", "is_right"), [(-1, True), (0, True), (1, False), (2, False)])
def test_a_loop_starts_early_enough_for_the_first_window(later: int, is_right: bool) -> None:
    p = sl.split_loop(_chain(2, "b"), "f1.y", 1)
    p = sl.slide_window(sl.compute_at(p, "f0", "for y"), "f0", "for y")
    loop = p.find("for y")._loop
    edit = Edit(p._version)
    edit.update(with_range(loop, sl.interval(loop.range.min + later, loop.range.max)))
    with resting():
        if is_right:
            settle(edit, "edit").verify()
        else:
            with pytest.raises(sl.SchedulingError, match=r"does not find all of b1|not shown that f1 finds"):
                settle(edit, "edit")


def _nested(steps: list[int]) -> tuple[sl.Pipeline, sl.LoopCursor]:
    """Windows computed in the innermost of loops with these steps."""
    (x,) = sl.variables("x")
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    sl.Func(np.negative, [a[x]], [t[x]], name="make")
    sl.Func(lambda s, o: np.add(s[:-2], s[2:], out=o), [t[sl.interval(x - 1, x + 1)]], [out[x]], name="use")
    p = sl.build_pipeline([a], [out])
    for step in steps:
        p = sl.split_loop(p, "use.x", step)
    inner = p.find_all("for _")[-1]
    return sl.compute_at(p, "make", inner), inner


def test_loops_of_one_iteration_have_no_later_ones_to_look_at() -> None:
    def work(depth: int) -> int:
        p, inner = _nested([1] * depth)
        _, count = _counted(lambda: sl.slide_window(p, "make", inner, warmup="first"))
        return int(count)

    assert work(16) < 3.5 * work(8)


def test_only_so_many_cases_of_first_and_later_iterations_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each loop doubles the cases: where there are more than are looked at, it is not shown that a window may slide."""
    p, inner = _nested([8, 4, 2, 1])
    sl.slide_window(p, "make", inner, warmup="first")
    p, inner = _nested([8, 4, 2, 1])
    monkeypatch.setattr(coverage, "_MOST_CASES", 10)
    with pytest.raises(sl.SchedulingError, match="not shown that use finds all of t"):
        sl.slide_window(p, "make", inner, warmup="first")


@pytest.mark.parametrize("depth", [1_000, 10**30])
def test_only_so_many_iterations_ahead_are_looked_at(monkeypatch: pytest.MonkeyPatch, depth: int) -> None:
    """More of them under way than can be looked at is refused, however many."""
    looked_at: list[int] = []
    overlap = stages._overlap

    def counted(*given: Any) -> stages.Overlap:
        looked_at.append(given[-1])
        return overlap(*given)

    p = sl.line_buffer(_chain(3, "ahead"), "f2", "y")
    monkeypatch.setattr(stages, "_overlap", counted)
    with resting(), pytest.raises(sl.SchedulingError) as refused:
        sl.pipeline_loop(p, "for y", depth=depth)
    assert len(looked_at) < 2_000
    assert "not shown that stage" in refused.value.reason
    assert refused.value.hint == "so many iterations under way are more than can be looked at: let fewer be (depth)"
    assert sl.pipeline_loop(p, "for y", depth=100).find("for y").depth() == 100


def _in_other_order(rank: int) -> sl.Pipeline:
    """A stencil of so many dimensions, whose buffer has its strides written out: a product of lengths each."""
    dims = sl.variables(" ".join(f"d{k}" for k in range(rank)))
    a, b, out = (sl.BufferExpr(f"{name}{rank}", np.float32, rank) for name in ("a", "b", "out"))
    sl.Func(np.negative, [a[tuple(sl.interval(d - 1, d + 1) for d in dims)]], [b[dims]], name="f0")
    sl.Func(np.negative, [b[tuple(sl.interval(d - 1, d + 1) for d in dims)]], [out[dims]], name="f1")
    p = sl.build_pipeline([a], [out])
    return sl.set_layout(p, f"alloc b{rank}", [f"d{k}" for k in reversed(range(rank))])


def test_what_a_product_of_lengths_costs_does_not_grow_with_the_power_of_their_number() -> None:
    few, many = _in_other_order(6), _in_other_order(12)
    with resting():
        (short, less), (long, more) = _counted(sl.simplify, few), _counted(sl.simplify, many)
    assert more < 3 * less
    assert len(str(long)) < 4 * len(str(short))


def test_more_iterations_under_way_than_can_be_looked_at_are_refused_at_once() -> None:
    """How many are looked at goes by the patience of a rewrite, so what is beyond it needs no look at any."""
    p = examples.two_branches()
    counts = []
    for distance in (10**4, 10**400):
        with pytest.raises(sl.SchedulingError, match="stage 1 of loop x would"):
            sl.double_buffer(p, "left", "join", "x", 8, distance)
        counts.append(_counted(_refused, p, distance)[1])
    _, few = _counted(sl.double_buffer, p, "left", "join", "x", 8, 2)
    assert max(counts) < 3 * few


def _refused(p: sl.Pipeline, distance: int) -> None:
    with pytest.raises(sl.SchedulingError):
        sl.double_buffer(p, "left", "join", "x", 8, distance)
