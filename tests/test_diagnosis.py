"""Findings about schedules: each says where, how much, and the line that mends it; run, the line mends it, and nothing
else changes. Good schedules have none."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from best_schedules import BEST, best
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, arguments, build, graphs, image_graphs
from random_schedules import Chain
from scheduled import stencil, stencils
from test_calls import diamond
from test_estimates import line_buffers
from test_shared_calls import unread

import slinky as sl
from slinky import ir
from slinky.runtime import statistics
from slinky.sched.diagnosis import Diagnosis, Finding, evidence, measured, memory, pieces, turned, work
from slinky.sched.diagnosis.evidence import Evidence

Shapes = tuple[tuple[int, ...], ...]


def recomputed() -> sl.Pipeline:
    return sl.compute_at(sl.split_loop(stencil(), "stencil.y", 16), "add", "for y")


def overlapping() -> sl.Pipeline:
    p, split = sl.split_loop(stencil(), "stencil.y", 4, rc=True)
    return sl.parallelize_loop(sl.fuse_chain(p, split.outer), split.outer, 2)


def slid() -> sl.Pipeline:
    return sl.slide_window(recomputed(), "add", "for y")


def loose() -> sl.Pipeline:
    return sl.fold_storage(slid(), "alloc intm", "y", 30)


def cloned() -> sl.Pipeline:
    return sl.clone_call(diamond(), "start", "join")


def twice() -> sl.Pipeline:
    """The output is written as a whole, and then again."""
    p = stencil()
    edit = sl.edit(p)
    call = edit.statement(p.find("stencil"))
    assert isinstance(call, ir.Call)
    edit.insert(p.find("stencil").after(), ir.Call(call.func, call.box, call.reads, call.writes))
    return edit.finish()


def copied() -> sl.Pipeline:
    y, x = sl.variables("y x")
    a, t, b = (sl.BufferExpr(name, np.int16, 2) for name in "atb")
    sl.copies.copy(a[y, x], t[y, x], name="copy")
    sl.Func(np.negative, [t[y, x]], [b[y, x]], name="negative")
    return sl.build_pipeline([a], [b], alias=False)


def transposed() -> sl.Pipeline:
    y, x = sl.variables("y x")
    a, t, b = (sl.BufferExpr(name, np.int16, 2) for name in "atb")
    sl.copies.transpose(a, t, axes=(1, 0), name="transpose")
    sl.Func(np.negative, [t[y, x]], [b[y, x]], name="negative")
    return sl.build_pipeline([a], [b], alias=False)


def stored(rows: int) -> sl.Pipeline:
    """Buffers that each iteration has for itself."""
    p, split = sl.split_loop(pointwise(), "last.y", rows, rc=True)
    return sl.fuse_chain(p, split.outer)


def pointwise() -> sl.Pipeline:
    y, x = sl.variables("y x")
    a, t, b = (sl.BufferExpr(name, np.int16, 2) for name in "atb")
    sl.Func(np.negative, [a[y, x]], [t[y, x]], name="first")
    sl.Func(np.positive, [t[y, x]], [b[y, x]], name="last")
    return sl.build_pipeline([a], [b])


def parallel(rows: int, workers: int = 4) -> sl.Pipeline:
    return sl.parallelize_loop(stored(rows), "for y", workers)


def inner_parallel() -> sl.Pipeline:
    p = sl.split_loop(sl.split_loop(pointwise(), "last.y", 64), "last.y", 1)
    return sl.parallelize_loop(p, p.find_all("for _")[1], 2)


CASES: dict[str, tuple[Callable[[], sl.Pipeline], Shapes, dict[str, Any], str]] = {
    "window not slid": (recomputed, ((302, 402),), {}, 'p = sl.slide_window(p, "add", "for y")'),
    "tiles overlap": (overlapping, ((802, 402),), {}, 'p = sl.resize_pieces(p, "for y", 8)'),
    "computed by two calls": (cloned, ((60,),), {}, 'p = sl.share_calls(p, "start #0", "start #1")'),
    "unread result": (unread, ((60,),), {}, 'p = sl.remove_call(p, "start #1")'),
    "written twice": (twice, ((40, 50),), {}, 'p = sl.remove_call(p, "stencil #1")'),
    "copy": (copied, ((80, 90),), {}, 'p = sl.alias_copy(p, "copy")'),
    "not folded": (slid, ((302, 402),), {}, 'p = sl.fold_storage(p, "alloc intm", "y")'),
    "fold too large": (
        loose,
        ((302, 402),),
        {},
        'p = sl.unfold_storage(p, "alloc intm", "y")\np = sl.fold_storage(p, "alloc intm", "y")',
    ),
    "larger than the cache": (
        partial(stencils, 3),
        ((302, 402),),
        {"cache_bytes": 1 << 17},
        'p = sl.line_buffer(p, "s3", "y", 16)',
    ),
    "pieces too large": (
        partial(line_buffers, 3, 64),
        ((302, 402),),
        {"cache_bytes": 1 << 11},
        'p = sl.resize_pieces(p, "for y", 1)',
    ),
    "allocated in a hot loop": (partial(stored, 1), ((302, 402),), {}, ""),
    "pieces too small": (partial(line_buffers, 3), ((302, 402),), {}, 'p = sl.resize_pieces(p, "for y", 16)'),
    "too few tasks": (partial(parallel, 400), ((800, 800),), {}, 'p = sl.resize_pieces(p, "for y", 64)'),
    "starved": (inner_parallel, ((302, 402),), {}, ""),
}


def about(found: Diagnosis, rule: str) -> list[Finding]:
    return [finding for finding in found if finding.rule == rule]


@pytest.mark.parametrize("rule", CASES)
def test_a_mend_mends(rule: str) -> None:
    make, shapes, options, mend = CASES[rule]
    p = make()
    finding, *_ = about(p.diagnose(*shapes, **options), rule)
    assert finding.line == finding.place.describe()
    assert finding.line in str(p)
    if mend:
        assert finding.mend == mend
    names: dict[str, Any] = {"p": p, "sl": sl}
    exec(finding.mend, names)
    q = names["p"]
    assert q.same_program(finding.mended)
    left = about(q.diagnose(*shapes, **options), rule)
    assert [other for other in left if other.line == finding.line] == []
    inputs = [np.arange(np.prod(shape)).reshape(shape).astype(p.args()[i].dtype()) for i, shape in enumerate(shapes)]
    np.testing.assert_array_equal(q(*inputs), p(*inputs))


@pytest.mark.parametrize("name", BEST)
def test_the_best_schedules_have_nothing_to_mend(name: str) -> None:
    p, shapes = best(name)
    found = p.diagnose(*shapes, cache_bytes=1 << 20, threads=2)
    assert not found
    assert str(found) == "nothing to mend"


def test_figures() -> None:
    p = recomputed()
    found = p.diagnose((302, 402))
    assert str(found[1]) == (
        "window not slid: add computes 12 % more than is needed\n"
        "  at:   intm[y - 1 .. y + 16, :] = add(inp[y - 1 .. y + 16, :])\n"
        '  mend: p = sl.slide_window(p, "add", "for y")'
    )
    assert str(found).startswith("1. not folded: intm takes 237.1 KiB, of which 14.1 KiB are needed at a time\n")
    assert [finding.rule for finding in found] == ["not folded", "window not slid"]
    assert repr(found) == "<Diagnosis: not folded, window not slid>"
    assert all(a.bytes_wasted >= b.bytes_wasted for a, b in pairwise(found))


def test_a_step_that_may_mend_many_spots_is_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many producers of one sum that are larger than the cache are all mended by the same loop over strips."""
    y, x = sl.variables("y x")
    inp, out, *sums = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "out", *(f"w{k}" for k in range(6))))
    for each in sums:
        sl.Func(lambda s, t: None, [inp[y, x]], [each[y, x]], name=f"to_{each.name}")
    sl.Func(lambda *arrays: None, [each[y, x] for each in sums], [out[y, x]], name="all")
    p = sl.build_pipeline([inp], [out])
    taken: list[int] = []
    line_buffer = sl.line_buffer

    def counted(p: sl.Pipeline, consumer: sl.CallCursor, dim: str, rows: int) -> sl.Pipeline:
        taken.append(rows)
        return line_buffer(p, consumer, dim, rows)

    monkeypatch.setattr(sl, "line_buffer", counted)
    found = p.diagnose((500, 600), (500, 600), cache_bytes=100_000)
    assert len(found) == len(sums)
    assert len(taken) == len(set(taken))


def _held_in_full(length: int) -> sl.Pipeline:
    """A chain in one loop over strips, all of which is slid and none of it folded."""
    p = sl.line_buffer(stencils(length), f"s{length}", "y", 8)
    for alloc in p.find_all("alloc _"):
        p = sl.unfold_storage(p, alloc, "y")
    return p


def _counted_estimates(monkeypatch: pytest.MonkeyPatch, p: sl.Pipeline) -> tuple[Diagnosis, int]:
    """What is found, and how many pipelines were looked at for it."""
    looked_at: list[sl.Pipeline] = []
    estimate = sl.Pipeline.estimate

    def counted(p: sl.Pipeline, /, *given: Any, **options: Any) -> Any:
        looked_at.append(p)
        return estimate(p, *given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(sl.Pipeline, "estimate", counted)
        return p.diagnose((1000, 300), cache_bytes=1 << 20), len(looked_at)


def test_of_many_spots_each_is_looked_at_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline in which one of them is mended is not searched for all others."""
    found, looked_at = _counted_estimates(monkeypatch, _held_in_full(12))
    assert [finding.rule for finding in found] == 12 * ["not folded"]
    assert looked_at == 1 + 12


def test_a_fold_that_is_as_large_as_before_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    found, looked_at = _counted_estimates(monkeypatch, sl.line_buffer(stencils(12), "s12", "y", 8))
    assert (len(found), looked_at) == (0, 1)


def test_what_readers_of_readers_read_is_asked_once_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[sl.CallCursor] = []
    consumers = sl.consumers

    def counted(p: sl.Pipeline, place: Any) -> tuple[sl.CallCursor, ...]:
        asked.append(place)
        return consumers(p, place)

    monkeypatch.setattr(sl, "consumers", counted)
    p = stencils(12)
    p.diagnose((1000, 300), cache_bytes=1 << 12)
    by_call = [place for place in asked if isinstance(place, sl.CallCursor) and p.find(place.name()) == place]
    assert len(by_call) <= 3 * len(p.find_all("_ = _"))


def test_a_diagnosis_of_a_program_that_is_too_large_ends_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    p = _held_in_full(12)
    assert p.diagnose((1000, 300), cache_bytes=1 << 20).is_complete
    monkeypatch.setattr(evidence, "MOST_TRIED", 20_000)
    found, looked_at = _counted_estimates(monkeypatch, p)
    assert 0 < len(found) < 12
    assert looked_at <= 2 + len(found)
    assert not found.is_complete
    said = f"{len(found)} found: the program is too large to try all that may mend something"
    assert str(found).splitlines()[-1] == said
    assert found[0].mend == 'p = sl.fold_storage(p, "alloc b0", "y")'
    monkeypatch.setattr(evidence, "MOST_TRIED", 1)
    said = "no found: the program is too large to try all that may mend something"
    assert str(p.diagnose((1000, 300), cache_bytes=1 << 20)) == said


def test_a_mend_is_none_where_not_all_was_looked_at_that_speaks_against_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be spotted again after a step is not spotted if its own steps are not tried any more."""
    p = _held_in_full(3)
    every = {finding.mend for finding in p.diagnose((1000, 300))}
    for most in range(1000, 40_000, 1000):
        monkeypatch.setattr(evidence, "MOST_TRIED", most)
        assert {finding.mend for finding in p.diagnose((1000, 300))} <= every


def test_a_result_that_nobody_reads_in_a_parallel_loop() -> None:
    y, x = sl.variables("y x")
    a, b, u = (sl.BufferExpr(name, np.int32, 2) for name in "abu")
    sl.Func(lambda s, t, u: None, [a[y, x]], [b[y, x], u[y, x]], name="two")
    p = sl.parallelize_loop(sl.split_loop(sl.build_pipeline([a], [b]), "two.y", 8), "for y", 2)
    (finding,) = p.diagnose((400, 300))
    assert (finding.rule, finding.mend) == ("not folded", 'p = sl.store_at(p, "alloc u", "for y")')


def test_findings_are_mended_one_after_the_other() -> None:
    """Until there is nothing to mend: in a few steps, with the memory and the work of a schedule by hand."""
    p = stencils(3)
    for _ in range(6):
        found = p.diagnose((1502, 1202), cache_bytes=1 << 18)
        if not found:
            break
        p = found[0].mended
    assert not found
    said = p.estimate((1502, 1202))
    assert said.program_bytes <= 1 << 18
    assert all(work.elements == work.needed for work in said.funcs.values())


def test_what_a_primitive_refuses_is_no_finding() -> None:
    """Tiles that run in parallel compute their edges twice: no window slides there."""
    p = sl.parallel_tiles(stencils(1), "s1", {"y": 16}, 8)
    assert p.estimate((302, 402)).funcs["add"].elements > evidence.REPEATED * p.estimate((302, 402)).funcs["add"].needed
    assert about(p.diagnose((302, 402)), "window not slid") == []


def test_a_loop_without_calls_has_nothing_to_mend() -> None:
    """A loop that was cut where it begins holds nothing."""
    p = sl.split_loop(sl.split_loop(stencil(), "stencil.y", 5), "for y", 4, tail="cut")
    p = sl.cut_loop(p, "for y_outer", p.find("for y_outer").bounds().min)
    assert not p.find("for y_outer").find_all("_ = _")
    assert not p.diagnose((302, 402), cache_bytes=1 << 20)


def test_a_buffer_of_a_loop_that_never_runs_is_stored_in_it() -> None:
    (x,) = sl.variables("x")
    a, b = (sl.BufferExpr(name, np.float32, 1) for name in "ab")
    sl.Func(np.negative, [a[x]], [b[x]])
    p = sl.split_loop(sl.build_pipeline([a], [b]), "negative.x", 8)
    p = sl.cut_loop(p, "for x", b.dim(0).min + 10_000)
    p = sl.lift_alloc(sl.stage_buffer(p, "negative #1", "a", [a.dim(0).bounds]), "alloc a_1")
    (finding,) = about(p.diagnose((2000,), (2000,)), "not folded")
    assert finding.mended.same_program(sl.store_at(p, "alloc a_1", "for x #1"))


def test_a_copy_that_turns_its_source_is_made_for_those_who_read_by_rows() -> None:
    assert not transposed().diagnose((80, 90))


def test_arguments_are_those_of_a_run() -> None:
    with pytest.raises(sl.ArgumentError):
        stencil().diagnose((302,))
    with pytest.raises(sl.ArgumentError, match="threads"):
        stencil().diagnose((302, 402), threads=0)
    with pytest.raises(sl.ArgumentError, match="cache_bytes"):
        stencil().diagnose((302, 402), cache_bytes=0)


def test_shapes_run_nothing() -> None:
    def never(*_: Any) -> None:
        raise AssertionError

    (x,) = sl.variables("x")
    a, b = (sl.BufferExpr(name, np.int16, 1) for name in "ab")
    sl.Func(never, [a[x]], [b[x]], name="f")
    assert not sl.build_pipeline([a], [b]).diagnose((1 << 30,))


@given(st.one_of(image_graphs(), graphs(max_stages=4)), st.integers(0, 2**32), st.integers(0, 12))
@settings(max_examples=max(settings().max_examples // 10, 4))
def test_any_schedule_can_be_diagnosed(graph: Graph, seed: int, steps: int) -> None:
    """Whatever is found has a line that mends it and changes no result."""
    chain = Chain(build(graph), random.Random(seed).choice)
    for _ in range(steps):
        chain.step()
    p = chain.pipeline
    inputs, outputs = arguments(graph)
    p.run(*inputs, *outputs, **graph.scalars())
    expected = [np.array(out.array) for out in outputs]
    with pytest.MonkeyPatch.context() as patch:  # so that small arrays are worth a thought
        patch.setattr(Evidence, "can_run", lambda self: False)
        patch.setattr(memory, "PAGE", 16)
        patch.setattr(pieces, "MANY_CALLS", 2)
        patch.setattr(pieces, "WORTH_SHARING", 1)
        found = p.diagnose(*inputs, *outputs, cache_bytes=256, threads=2, **graph.scalars())
        for finding in found:
            for out in outputs:
                out.array.fill(99)
            finding.mended.verify()
            finding.mended.run(*inputs, *outputs, **graph.scalars())
            for out, values in zip(outputs, expected, strict=True):
                np.testing.assert_array_equal(out.array, values)


# ----------------------------------------------------------------------------------------------------------------
# What is measured
# ----------------------------------------------------------------------------------------------------------------


class Clock:
    """Time that passes only where callbacks say so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(statistics, "perf_counter", clock)
    monkeypatch.setattr(measured, "_is_quiet", lambda seconds, at_work: True)
    return clock


def timed(seconds: Callable[[int], float], clock: Clock, rows: int) -> sl.Pipeline:
    """Two funcs in a loop over rows, the second of which takes so long on so many rows."""

    def slow(source: Any, target: Any) -> None:
        clock.now += seconds(len(source))
        np.negative(source, target)

    y, x = sl.variables("y x")
    a, t, b = (sl.BufferExpr(name, np.float32, 2) for name in "atb")
    sl.Func(np.negative, [a[y, x]], [t[y, x]], name="quick")
    sl.Func(slow, [t[y, x]], [b[y, x]], name="slow")
    return sl.line_buffer(sl.build_pipeline([a], [b]), "slow", "y", rows)


@pytest.mark.parametrize(
    ("seconds", "rows", "best_rows"),
    [(lambda n: 0.001, 16, 64), (lambda n: 0.001 * n * n, 16, 4), (lambda n: 0.001 * n, 16, None)],
)
def test_a_callback_that_is_slow_on_such_pieces(
    seconds: Callable[[int], float], rows: int, best_rows: int | None, clock: Clock
) -> None:
    p, image = timed(seconds, clock, rows), np.ones((128, 400), np.float32)
    found = about(p.diagnose(image), "slow on such pieces")
    if best_rows is None:
        assert not found
        return
    (finding,) = found
    assert finding.line.startswith("b[")
    assert finding.mend == f'p = sl.resize_pieces(p, "for y", {best_rows})'
    assert f"on pieces of {rows}" in finding.figure
    assert finding.figure.startswith("slow takes")
    np.testing.assert_array_equal(finding.mended(image), image)


def test_callbacks_that_hold_the_lock() -> None:
    p = parallel(40, workers=2)
    known = Evidence(p, ((800, 800),), {}, None, 1 << 20)
    for alone, is_found in ((0.05, True), (0.09, False)):
        times = measured.Measured({"first": 0.05, "last": 0.05}, serial={"y": {"first": alone / 2, "last": alone / 2}})
        spots = list(measured.holds_the_lock(known, times))
        assert bool(spots) == is_found
        if spots:
            assert "100 ms on 2 workers, and 50 ms on one" in spots[0].figure
            assert str(spots[0].steps[0](p)) == str(sl.serialize_loop(p, "for y"))


@pytest.mark.parametrize(
    ("whole", "alone", "processors", "is_found"),
    [(0.2, 0.1, 1.9, True), (0.1, 0.1, 1.4, True), (0.2, 0.1, 1.0, False), (0.06, 0.1, 1.9, False)],
)
def test_callbacks_with_threads_of_their_own(whole: float, alone: float, processors: float, is_found: bool) -> None:
    """Serially, they compute on several processors at once; with workers, nothing is gained. The lock has no part."""
    p = parallel(40, workers=2)
    known = Evidence(p, ((800, 800),), {}, None, 1 << 20)
    seconds, serial = {"first": whole / 2, "last": whole / 2}, {"first": alone / 2, "last": alone / 2}
    timing = measured.Timing(serial, alone, processors)
    times = measured.Measured(seconds, serial={"y": serial}, whole=whole, alone={"y": timing})
    spots = list(measured.own_threads(known, times))
    assert bool(spots) == is_found
    if is_found:
        assert f"{1000 * whole:.3g} ms on 2 workers, and 100 ms on one, where callbacks compute on" in spots[0].figure
        assert re.search(r"with [A-Z]+_[A-Z_]+=1, set before NumPy is imported", spots[0].figure)
        assert str(spots[0].steps[0](p)) == str(sl.serialize_loop(p, "for y"))
        assert not list(measured.holds_the_lock(known, times))


def test_how_many_processors_work_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """With callbacks that are at work on three processors for a second at a time; serially, for two seconds in all."""
    now, worked = Clock(), Clock()
    for module in (measured, statistics):
        monkeypatch.setattr(module, "perf_counter", now)
    monkeypatch.setattr(measured, "process_time", worked)

    def on_three_processors(source: Any, target: Any) -> None:
        now.now, worked.now = now.now + 1, worked.now + 3
        np.negative(source, out=target)

    y, x = sl.variables("y x")
    a, b = (sl.BufferExpr(name, np.float32, 2) for name in "ab")
    sl.Func(on_three_processors, [a[y, x]], [b[y, x]], name="threaded")
    p = sl.parallelize_loop(sl.split_loop(sl.build_pipeline([a], [b]), "threaded.y", 64), "for y", 2)
    times = measured.measure(Evidence(p, (np.ones((128, 40), np.float32),), {}, None, 1 << 20))
    assert times is not None
    assert times.alone["y"] == measured.Timing({"threaded": 2.0}, 2.0, 3.0)
    (finding,) = about(p.diagnose(np.ones((128, 40), np.float32)), "threads in threads")
    assert finding.mend == 'p = sl.serialize_loop(p, "for y")'


def along_rows(clock: Clock, *, alias: bool = True, slower: int = 10) -> sl.Pipeline:
    """A filter along the rows of a transposed image, which takes so many times as long where these are columns."""

    def sums(source: Any, target: Any) -> None:
        clock.now += source.size * 1e-6 * (slower if abs(source.strides[-1]) != source.itemsize else 1)
        np.cumsum(source, axis=1, out=target)

    y, x = sl.variables("y x")
    a, t, b = (sl.BufferExpr(name, np.float32, 2) for name in "atb")
    sl.copies.transpose(a, t, axes=(1, 0), name="transpose")
    sl.Func(sums, [t[y, x]], [b[y, x]], name="sums", whole=[x])
    return sl.build_pipeline([a], [b], alias=alias)


def test_a_callback_that_reads_across_lines(clock: Clock) -> None:
    p, image = along_rows(clock), np.random.default_rng(0).random((150, 200), np.float32)
    assert "view(a[:, :], [x, y])" in str(p)
    finding, *_ = about(p.diagnose(image, cache_bytes=1 << 16), "reads across lines")
    assert finding.figure == (
        "sums takes 300 ms on a, whose lines lie across its own, and 30 ms with a copy that is turned; "
        "build_pipeline(alias=False) makes the copies that were described"
    )
    assert finding.mend.splitlines()[-2:] == [
        'p = sl.stage_buffer(p, "sums", "a")',
        'p = sl.set_layout(p, "alloc a_1", (1, 0))',
    ]
    q = finding.mended
    np.testing.assert_array_equal(q(image), np.cumsum(image.T, axis=1))
    assert q.memory(image).program_bytes <= 1 << 15
    assert about(q.diagnose(image, cache_bytes=1 << 16), "reads across lines") == []


def test_lines_that_are_there_already(clock: Clock) -> None:
    """Of an array whose columns are contiguous, of a copy that is made, and where it is all the same."""
    image = np.ones((150, 200), np.float32)
    cases = [(along_rows(clock), np.asfortranarray(image)), (along_rows(clock, alias=False), image)]
    for p, array in [*cases, (along_rows(clock, slower=1), image)]:
        assert about(p.diagnose(array), "reads across lines") == []


def test_a_parallel_loop_is_timed_alone_too(clock: Clock) -> None:
    p = sl.compute_root(timed(lambda n: 0.001, clock, 16), "quick")
    p = sl.parallelize_loop(p, "for y", 2)
    times = measured.measure(Evidence(p, (np.ones((128, 400), np.float32),), {}, None, 1 << 20))
    assert times
    assert 0.008 - 1e-9 <= times.seconds["slow"] <= 0.016 + 1e-9  # a worker's clock goes on while the other one works
    assert times.serial == {"y": {"quick": 0, "slow": pytest.approx(0.008)}}
    assert set(times.resized) == {("y", length) for length in (4, 8, 32, 64)}


def test_a_busy_machine_measures_nothing(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "_is_quiet", lambda seconds, at_work: False)
    p, image = timed(lambda n: 0.001, clock, 16), np.ones((128, 400), np.float32)
    assert about(p.diagnose(image), "slow on such pieces") == []


def test_every_threshold_has_a_reason() -> None:
    """A number that stands alone says nothing: each is followed by a sentence."""
    for module in (evidence, work, memory, pieces, measured, turned):
        assert module.__file__
        with open(module.__file__, encoding="utf-8") as file:
            lines = file.read().splitlines()
        constants = [i for i, line in enumerate(lines) if re.match(r"[A-Z_]+ = ", line)]
        assert constants
        assert all(lines[i + 1].startswith('"""') for i in constants)
