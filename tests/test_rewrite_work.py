"""What rewrites cost grows with what they touch; what is kept between versions is used only where it still holds."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from judge_hook import resting

import slinky as sl
from slinky.cursors.editing import Edit
from slinky.ir.copies import with_box, with_interval, with_range
from slinky.sched.gate import settle
from slinky.sched.primitives.ranges import _Resting


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
    assert kept.has(p._version, f2)
    assert not kept.has(p._version, with_box(f2, f2.box))  # another statement, though it says the same
    assert not kept.has(p._version, p.find("f1")._call)  # it is what the loop starts earlier for
    y, _ = p.find("alloc b3").bounds()
    assert not kept.has(sl.resize_dim(p, "alloc b3", "y", sl.interval(y.min - 5, y.max))._version, f2)
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
