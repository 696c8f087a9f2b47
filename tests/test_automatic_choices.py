"""What automatic schedules choose: what goes into one loop, how high strips are, and what is computed once more.

Counted are elements, bytes and loops; what the model predicts is asked of a machine that is written down.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from scheduled import stencils

import slinky as sl
from benchmarks import first, pyramid
from benchmarks.apps import load
from slinky.cursors.editing import Edit
from slinky.ir.copies import with_bounds
from slinky.ir.operations import Callback
from slinky.sched import costs, grouping
from slinky.sched.callbacks import Operations, has_threads, operations_of
from slinky.sched.choices import ABOUT_AS_GOOD, Aims
from slinky.sched.explaining import Decision
from slinky.sched.grouping import grouping as grouped
from slinky.sched.relations import relations, relations_after, relations_for
from slinky.sched.tracks import lines_of

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]

SERVER = sl.Machine(
    near_bytes=1 << 20,
    shared_bytes=36 << 20,
    near_bandwidth=6e10,
    shared_bandwidth=2.3e10,
    memory_bandwidth=8e9,
    call_seconds=8.5e-6,
)
"""Of calls that are cheap, and caches that are fast."""


def scheduled(p: sl.Pipeline, *arrays: object, workers: int = 1, machine: sl.Machine = SERVER, **options: Any) -> Any:
    return sl.auto_schedule(p, *arrays, workers=workers, machine=machine, **options)


def gives_the_same(p: sl.Pipeline, q: sl.Pipeline, *arrays: Any) -> None:
    """Both give the same, bit for bit, in checked mode and by their plans."""
    *inputs, output = arrays
    expected = np.zeros_like(output)
    p(*inputs, expected)
    for checked in (False, True):
        output[...] = 0
        q.run(*inputs, output, checked=checked)
        np.testing.assert_array_equal(output, expected)


def decisions(q: sl.Pipeline) -> dict[str, Decision]:
    return {decision.func: decision for decision in sl.explain(q).decisions}


# ----------------------------------------------------------------------------------------------------------------
# What goes into one loop
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"max_bytes": 700_000}])
def test_a_pyramid_is_one_loop(options: dict[str, Any]) -> None:
    """Each level is read by the next one and by the one that mixes it with what comes from below."""
    p = pyramid.pipeline()
    image = np.random.default_rng(0).random((2048, 1024), np.float32)
    out = np.empty_like(image)
    q = scheduled(p, image, out, **options)
    (loop,) = q.find_all("for _")
    assert not any(decision.computed == "at once" for decision in sl.explain(q).decisions)
    assert q.memory(image, out).program_bytes * 10 < p.memory(image, out).program_bytes
    by_strips = sl.strips(p, int(str(loop.step())))
    assert q.memory(image, out).program_bytes <= by_strips.memory(image, out).program_bytes
    assert q.estimate(image, out).elements == p.estimate(image, out).elements
    gives_the_same(p, q, image, out)


@pytest.mark.parametrize(("name", "least"), [("interpolate", 2), ("local_laplacian", 4)])
def test_pyramids_with_windows_are_one_loop_over_rows(name: str, least: int) -> None:
    app = load(name)
    p, arrays = app.build(), app.arrays((512, 384))
    machine = sl.Machine(near_bytes=1 << 16, shared_bytes=12 << 20, memory_bandwidth=1e9)
    q = scheduled(p, *arrays, machine=machine)
    assert {decision.computed.split(" along ")[-1] for decision in sl.explain(q).decisions} == {"y"}
    assert len(q.find_all("for _")) == 1
    assert q.memory(*arrays).program_bytes * least < p.memory(*arrays).program_bytes
    before, after = (sum(each.estimate(*arrays).elements.values()) for each in (p, q))
    assert after <= 1.01 * before


def skipping(levels: int) -> sl.Pipeline:
    """A chain in which each func reads the one before, and the last one reads all of them."""
    inp, out = sl.BufferExpr("inp", np.int32, 2), sl.BufferExpr("out", np.int32, 2)
    made = [inp]
    for k in range(levels):
        made.append(sl.BufferExpr(f"b{k}", np.int32, 2))
        sl.Func(np.negative, [made[k][y, x]], [made[k + 1][y, x]], name=f"f{k}")
    sl.Func(add_all, [b[y, x] for b in made[1:]], [out[y, x]], name="last")
    return sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)])


def add_all(*arrays: Array) -> None:
    *sources, target = arrays
    target[...] = 0
    for source in sources:
        target += source


@pytest.mark.parametrize("levels", [3, 12])
def test_what_is_read_far_away_is_merged_with_all_on_the_way(levels: int) -> None:
    p = skipping(levels)
    image = np.arange(1500 * 900, dtype=np.int32).reshape(1500, 900)
    out = np.empty_like(image)
    q = scheduled(p, image, out)
    assert len(q.find_all("for _")) == 1
    assert {decision.computed.split(" along ")[1] for decision in sl.explain(q).decisions} == {"y"}
    gives_the_same(p, q, image, out)


def test_nothing_on_the_way_is_read_outside_alone() -> None:
    """What another loop reads, too, comes with all who read it, or stays."""
    inp, a, b, total, out = (sl.BufferExpr(n, np.int64, r) for n, r in zip("iabto", (2, 2, 2, 0, 2), strict=True))
    sl.Func(np.negative, [inp[y, x]], [a[y, x]], name="first")
    sl.Func(np.negative, [a[y, x]], [b[y, x]], name="second")
    sl.reductions.sum(b[:, :], total[()])
    sl.Func(lambda p, q, t, o: np.add(p, q * t, out=o), [a[y, x], b[y, x], total[()]], [out[y, x]], name="last")
    p = sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)])
    image = np.arange(1500 * 900).reshape(1500, 900) % 7
    q = scheduled(p, image, np.empty_like(image))
    gives_the_same(p, q, image, np.empty_like(image))


CHAINS = """
import attrs
import numpy as np, slinky as sl

def stencil(source, target):
    np.add(source[:-2, 1:-1], source[2:, 1:-1], out=target)
    target += source[1:-1, :-2]

y, x = sl.variables("y x")
around = sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)
for count in (5, 50):
    buffers = [sl.BufferExpr(f"b{k}", np.float32, 2) for k in range(count + 1)]
    for k in range(count):
        sl.Func(stencil, [buffers[k][around]], [buffers[k + 1][y, x]], name=f"s{k}")
    p = sl.build_pipeline([buffers[0]], [buffers[-1]])
    arrays = (4096 + 2 * count, 4096 + 2 * count), sl.Buffer(np.empty((4096, 4096), np.float32), min=(count, count))
    q = sl.auto_schedule(p, *arrays, workers=1, machine=MACHINE)
    counted = q.estimate(*arrays)
    assert counted.elements == p.estimate(*arrays).elements, "each element is computed once"
    assert len(q.find_all("for _")) == 1
    print(sl.explain(q).seconds, counted.program_bytes, sum(counted.elements.values()))
"""
"""Chains of 5 and 50 stencils: the seconds that are predicted, bytes, and elements. It runs in a process of its own,
where nobody judges 150 rewrites of 50 calls."""


def test_fifty_stencils_take_ten_times_as_long_as_five() -> None:
    code = CHAINS.replace("MACHINE", f"sl.{SERVER!r}")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    five, fifty = ([float(number) for number in line.split()] for line in done.stdout.splitlines())
    for few, many in zip(five, fifty, strict=True):
        assert many <= 10.5 * few


# ----------------------------------------------------------------------------------------------------------------
# Along which dimension, and how high
# ----------------------------------------------------------------------------------------------------------------


def test_colours_beside_each_other_are_no_short_lines() -> None:
    """Where the last axis has three colours, a strip of rows is still in one piece, and a strip of columns is not."""
    app = load("max_filter")
    p, arrays = app.build(), app.arrays((768, 1280))
    q = scheduled(p, *arrays)
    assert {decision.computed.split(" along ")[-1] for decision in sl.explain(q).decisions} == {"y"}


def test_of_heights_that_are_about_as_good_the_one_that_holds_least() -> None:
    p = stencils(4)
    arrays = (1500, 1100), sl.Buffer(np.empty((1492, 1092), np.int16), min=(4, 4))
    relations, aims = sl.relations(p, *arrays), Aims(machine=SERVER)
    (group,) = grouped(relations, aims).groups
    asked = grouping._Grower(relations, aims, {}).choices
    choices = [c for t in group.tracks for c in asked._along(t, asked._fixed(group.calls), math.inf)]
    least = min(c.value for c in choices)
    good = [c for c in choices if c.value <= ABOUT_AS_GOOD * least]
    assert group.choice.live == min(c.live for c in good)
    assert group.choice.value <= 1.03 * least


def test_a_sobel_filter_holds_a_fiftieth() -> None:
    """Two gradients of a picture with reflected edges: nobody says how."""
    image, across, down, edges = (
        sl.BufferExpr(name, dtype, 2)
        for name, dtype in (("image", np.uint8), ("across", np.int16), ("down", np.int16), ("edges", np.uint8))
    )

    def gradient(source: Array, target: Array) -> None:
        wide = source.astype(np.int16)
        rows = wide[:-2] + 2 * wide[1:-1] + wide[2:]
        np.subtract(rows[:, 2:], rows[:, :-2], out=target)

    def magnitude(a: Array, b: Array, target: Array) -> None:
        np.copyto(target, np.minimum(np.abs(a) + np.abs(b), 255), casting="unsafe")

    around = image.extended("reflect")[sl.interval(y - 1, y + 1), sl.interval(x - 1, x + 1)]
    sl.Func(gradient, [around], [across[y, x]], name="across")
    sl.Func(lambda s, t: gradient(s.T, t.T), [around], [down[y, x]], name="down")
    sl.Func(magnitude, [across[y, x], down[y, x]], [edges[y, x]], name="magnitude")
    p = sl.build_pipeline([image], [edges], require=[sl.same_shape(image, edges)])
    shapes = (2160, 3840), (2160, 3840)
    q = scheduled(p, *shapes)
    assert q.memory(*shapes).program_bytes * 50 < p.memory(*shapes).program_bytes
    small = scheduled(p, *shapes, max_bytes=p.memory(*shapes).program_bytes // 447)
    assert small.memory(*shapes).program_bytes * 447 <= p.memory(*shapes).program_bytes
    assert small.estimate(*shapes).elements == p.estimate(*shapes).elements


def test_a_large_stencil_before_a_reduction_in_size_needs_no_hint() -> None:
    """A window of 31 rows, of which every eighth is taken: what is blurred is never held."""
    image, blurred, small = (sl.BufferExpr(name, np.float32, 2) for name in ("image", "blurred", "small"))

    def blur(source: Array, target: Array) -> None:
        np.copyto(target, source[: len(target)])
        for k in range(1, 31):
            target += source[k : k + len(target)]

    def shrink(source: Array, target: Array) -> None:
        np.copyto(target, source.reshape(len(target), 8, -1, 8).mean(axis=(1, 3)))

    sl.Func(blur, [image[sl.interval(y - 15, y + 15), x]], [blurred[y, x]], name="blur")
    eight = sl.interval(8 * y, 8 * y + 7), sl.interval(8 * x, 8 * x + 7)
    sl.Func(shrink, [blurred[eight]], [small[y, x]], name="shrink")
    p = sl.build_pipeline([image], [small])
    arrays = (4096 + 30, 4096), sl.Buffer(np.empty((508, 512), np.float32), min=(2, 0))
    q = scheduled(p, *arrays)
    assert decisions(q)["blur"].computed.endswith(" of 508 along y")
    assert q.memory(*arrays).program_bytes * 15 < p.memory(*arrays).program_bytes
    assert q.estimate(*arrays).elements == p.estimate(*arrays).elements


def test_columns_that_a_callback_goes_down_step_by_step_are_not_cut_small() -> None:
    """A recursive filter is as many calls of NumPy as there are rows, each time."""
    app = load("iir_blur")
    p, arrays = app.build(), app.arrays((1536, 2560))
    q = scheduled(p, *arrays)
    assert sum(q.estimate(*arrays).calls.values()) <= 40


# ----------------------------------------------------------------------------------------------------------------
# Once more, instead of kept
# ----------------------------------------------------------------------------------------------------------------


def test_a_picture_that_is_counted_first_is_computed_twice() -> None:
    app = load("histogram")
    p, arrays = app.build(), app.arrays((1536, 2560))
    q = scheduled(p, *arrays)
    assert "sl.clone_call(" in str(q.history())
    assert q.memory(*arrays).program_bytes * 10 < p.memory(*arrays).program_bytes
    elements = q.estimate(*arrays).elements
    assert elements["luma"] == 2 * p.estimate(*arrays).elements["luma"]
    assert elements["equalise"] == p.estimate(*arrays).elements["equalise"]
    assert [decision.func for decision in sl.explain(q).decisions].count("luma") == 2
    gives_the_same(p, q, *arrays)


def test_where_primitives_refuse_it_nothing_is_computed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was to be gained is not: the answer is the program as it was, not one that takes longer."""

    def refuse(p: sl.Pipeline, *_: object, **__: object) -> Any:
        raise sl.SchedulingError("compute_at: refused")

    app = load("histogram")
    p, arrays = app.build(), app.arrays((1536, 2560))
    monkeypatch.setattr(sl, "compute_at", refuse)
    q = scheduled(p, *arrays)
    told = sl.explain(q)
    assert told.seconds <= told.unscheduled_seconds * ABOUT_AS_GOOD
    assert "clone_call" not in str(q.history())


@pytest.mark.parametrize("backend", ["python", "native"])
def test_of_a_program_with_a_call_more_only_what_changed_is_asked_again(backend: str) -> None:
    """What is found is what asking everything again finds."""
    app = load("histogram")
    p, arrays = app.build(), app.arrays((1536, 2560))
    before = relations_for(backend, p, arrays, {})
    new = sl.clone_call(p, "luma", "equalise")
    after, anew = relations_after(backend, new, before), relations_for(backend, new, arrays, {})
    assert len(after.calls) == len(anew.calls) == len(before.calls) + 1
    for one, other in zip(after.calls, anew.calls, strict=True):
        assert attrs.evolve(one, call=other.call) == other
        assert new.same(one.call, other.call)
    assert (after.outputs, after.held) == (anew.outputs, anew.held)
    assert len([call for call in after.calls if not any(call is known for known in before.calls)]) == 2


def test_a_call_is_asked_again_whose_buffers_have_other_bounds() -> None:
    """The bounds of a buffer clamp the call that writes it, which is the very one that it was."""
    p, around = stencils(1), sl.Buffer(np.zeros((66, 66), np.int16), min=(-1, -1))
    before = relations(p, around, (64, 64))
    alloc = p.find("alloc b0")._alloc
    edit = Edit(p._version)
    edit.update(with_bounds(alloc, tuple(sl.interval(i.min + 8, i.max) for i in alloc.box), alloc.folds))
    new = sl.Pipeline(edit.finish_with("a test", edit.changes()))
    after = relations_after("python", new, before)
    assert [call.elements for call in before.calls] == [66 * 66, 64 * 64]
    assert [call.elements for call in after.calls] == [58 * 58, 64 * 64]


def counted_first(heavy: Callable[..., object]) -> sl.Pipeline:
    """What a callback makes is summed up, and then each element is compared with the sum."""
    inp, made, total, out = (sl.BufferExpr(n, np.int64, r) for n, r in zip("imto", (2, 2, 0, 2), strict=True))
    sl.Func(heavy, [inp[y, x]], [made[y, x]], name="made")
    sl.reductions.sum(made[:, :], total[()])
    sl.Func(lambda m, t, o: np.subtract(m, t, out=o), [made[y, x], total[()]], [out[y, x]], name="last")
    return sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)])


def test_of_calls_that_write_as_much_the_last_is_made_again_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it is made of is then computed with it, and need not be tried."""
    jit: Any = sl.jit
    p = jit(first.reductions, smallest=0).pipeline(np.zeros((2048, 2048)), np.zeros(2048))
    tried, clone_call = [], sl.clone_call

    def noted(p: sl.Pipeline, call: sl.CallCursor, *given: Any) -> Any:
        tried.append(call.name())
        return clone_call(p, call, *given)

    monkeypatch.setattr(sl, "clone_call", noted)
    scheduled(p, (2048, 2048), (2048,))
    assert tried == ["e"]


def long(source: Array, target: Array) -> None:
    """Takes longer than to keep what it makes."""
    for _ in range(3):
        for _ in range(3):
            target[...] = np.sin(source) + np.cos(source) + np.tan(source) + np.exp(source) + np.log(source)


def test_what_takes_long_to_compute_is_kept() -> None:
    shapes = (2000, 1500), (2000, 1500)
    cheap, dear = (scheduled(counted_first(each), *shapes) for each in (np.negative, long))
    assert "clone_call" in str(cheap.history())
    assert "clone_call" not in str(dear.history())
    small = scheduled(counted_first(np.negative), (30, 20), (30, 20))
    assert "clone_call" not in str(small.history())


def test_where_memory_is_scarce_it_is_computed_twice_all_the_same() -> None:
    shapes = (2000, 1500), (2000, 1500)
    p = counted_first(long)
    q = scheduled(p, *shapes, max_bytes=1_000_000)
    assert q.memory(*shapes).program_bytes <= 1_000_000
    assert q.estimate(*shapes).elements["made"] == 2 * p.estimate(*shapes).elements["made"]


# ----------------------------------------------------------------------------------------------------------------
# Several threads, one of which runs Python at a time
# ----------------------------------------------------------------------------------------------------------------


def step_by_step(source: Array, target: Array) -> None:
    """As many NumPy calls as there are planes."""
    target[0] = source[0]
    for plane in range(1, len(target)):
        np.add(target[plane - 1], source[plane], out=target[plane])


def planes_of(callback: Callable[..., object]) -> sl.Pipeline:
    """A callback that goes from one plane to the next."""
    (z,) = sl.variables("z")
    inp, out = (sl.BufferExpr(name, np.float32, 3) for name in ("inp", "out"))
    sl.Func(callback, [inp[:, y, x]], [out[z, y, x]], name="planes", whole=["z"])
    return sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)])


@pytest.mark.parametrize(
    ("planes", "has_one_lock", "is_parallel"), [(1000, True, False), (1000, False, True), (2, True, True)]
)
def test_threads_that_wait_for_each_other_are_not_made(
    planes: int, has_one_lock: bool, is_parallel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "has_one_lock", lambda: has_one_lock)
    shapes = [(planes, 16_000_000 // planes, 10)] * 2
    p = planes_of(step_by_step)
    q = scheduled(p, *shapes, workers=2)
    assert ("parallel" in str(q)) == is_parallel
    assert sl.explain(q).seconds <= sl.explain(scheduled(p, *shapes)).seconds


def test_two_threads_work_on_larger_pieces() -> None:
    """What is handed over is worth it where there is more to do in between."""
    p = stencils(6)
    shapes = (4000 + 12, 16000 + 12), sl.Buffer(np.empty((4000, 16000), np.int16), min=(6, 6))
    one, two = (scheduled(p, *shapes, workers=workers) for workers in (1, 2))
    assert "parallel" in str(two)
    heights = [int(decisions(q)["s1"].computed.split()[0]) for q in (one, two)]
    assert heights[1] > heights[0], heights


# ----------------------------------------------------------------------------------------------------------------
# What callbacks do
# ----------------------------------------------------------------------------------------------------------------


def made_of(callback: Callable[..., object]) -> Operations:
    return operations_of(Callback(callback))


def helper(a: Array) -> Array:
    return a * 2 + 1


def direct(source: Array, target: Array) -> None:
    np.add(source[1:], source[:-1], out=target)


def calling(source: Array, target: Array) -> None:
    np.copyto(target, helper(source))


def looping(source: Array, target: Array) -> None:
    np.copyto(target, source)
    for _ in range(len(source)):
        target += source


def endless(source: Array, target: Array) -> None:
    endless(source, target)


@pytest.mark.parametrize(("one", "other"), [(np.negative, direct), (direct, calling), (calling, looping)])
def test_callbacks_that_do_more_count_for_more(one: Any, other: Any) -> None:
    assert made_of(one).count() <= made_of(other).count()


def test_operations_of_callbacks() -> None:
    assert made_of(np.negative) == made_of(partial(np.negative)) == Operations(1)
    assert made_of(direct) == Operations(1)
    assert made_of(calling).count() > made_of(direct).count() + 2
    assert made_of(looping).each_turn >= 1
    assert made_of(looping).count(100) >= 100
    assert made_of(endless).count() >= 1


def with_an_operator(a: Array, b: Array, target: Array) -> None:
    target[...] = a @ b


def by_a_function(a: Array, b: Array, target: Array) -> None:
    np.dot(a, b, out=target)


def by_another(a: Array, b: Array, target: Array) -> None:
    with_an_operator(a, b, target)


class Said:
    """A callback that says it by itself."""

    has_threads = True

    def __call__(self, *arrays: Array) -> None:
        """Nothing."""


@pytest.mark.parametrize("callback", [np.matmul, partial(np.dot), with_an_operator, by_a_function, by_another, Said()])
def test_products_of_matrices_are_found(callback: Any) -> None:
    assert has_threads(Callback(callback))


@pytest.mark.parametrize("callback", [np.negative, np.add, direct, calling, looping, endless])
def test_other_callbacks_have_no_threads(callback: Any) -> None:
    assert not has_threads(Callback(callback))


def added(a: Array, b: Array, target: Array) -> None:
    target[...] = a.sum() + b.sum()


@pytest.mark.parametrize(("callback", "threads", "tasks"), [(np.matmul, 2, 1), (np.matmul, 1, 4), (added, 2, 4)])
def test_what_has_threads_of_its_own_is_computed_by_one_worker(callback: Any, threads: int, tasks: int) -> None:
    """Where NumPy multiplies matrices on several cores, several at a time are no faster."""
    a, mid, out = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "mid", "out"))
    b = sl.BufferExpr("b", np.float32, 2)
    sl.Func(callback, [a[y, sl.interval(0, 511)], b[sl.interval(0, 511), x]], [mid[y, x]], name="mid")
    sl.Func(np.sqrt, [mid[y, x]], [out[y, x]], name="last")
    p = sl.build_pipeline([a, b], [out], alias=False)
    machine = sl.Machine(product_threads=threads)
    found = sl.auto_schedule(p, (20000, 512), (512, 512), (20000, 512), workers=2, machine=machine)
    assert ("tasks" in str(sl.explain(found))) == (tasks > 1)


def test_columns_are_added_up_in_wide_strips() -> None:
    """A strip of columns is as many lines of its input as that has rows, however few it writes."""
    a, mid, out = (sl.BufferExpr(name, np.float32, n) for name, n in (("a", 2), ("mid", 1), ("out", 1)))
    sl.Func(lambda a, mid: np.sum(a, axis=0, out=mid), [a[sl.interval(0, 9999), x]], [mid[x]], name="mid")
    sl.Func(
        lambda a, mid, out: np.max(a - mid, axis=0, out=out),
        [a[sl.interval(0, 9999), x], mid[x]],
        [out[x]],
        name="last",
    )
    p = sl.build_pipeline([a], [out], alias=False)
    found = relations(p, (10000, 2000), (2000,))
    for call in found.calls:
        lines = lines_of(call, 0)
        assert lines.is_cut
        assert lines.count(10) == 10000 * 2000 / 10
    assert lines_of(found.calls[0], None).count(10) == 1


# ----------------------------------------------------------------------------------------------------------------
# What does not move along an axis
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reads", "computed"),
    [
        ([(-y, x)], "along x"),
        ([(y, x), (2 * y, x)], "along x"),
        ([(x, y)], "along x"),
        ([(y + x, x)], "at once"),
    ],
    ids=["backwards", "two rates", "transposed", "diagonal"],
)
def test_what_does_not_move_along_an_axis_goes_along_another(reads: list[Any], computed: str) -> None:
    inp, mid, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "mid", "out"))

    def add_up(*arrays: Array) -> None:
        arrays[-1][...] = sum(map(np.sum, arrays[:-1]))

    sl.Func(np.negative, [inp[y, x]], [mid[y, x]], name="mid")
    sl.Func(add_up, [mid[read] for read in reads], [out[y, x]], name="last")
    p = sl.build_pipeline([inp], [out], alias=False)
    image = sl.Buffer(np.zeros((6000, 3000), np.int32), min=(-2000, 0))
    machine = attrs.evolve(SERVER, memory_bandwidth=SERVER.memory_bandwidth / 4)
    found = decisions(scheduled(p, image, (1900, 1900), machine=machine))["mid"]
    assert found.computed.endswith(computed)
    assert found.reason.startswith("saves ") == (computed != "at once")
    assert ("more" in found.reason) == (computed == "at once")
