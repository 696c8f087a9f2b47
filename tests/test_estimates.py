"""What a run will count, said without running."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from followed import Followed, hull, points
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, arguments, build, graphs, image_graphs, many_dimensions
from random_schedules import Chain
from scheduled import by_rows, picture, stencil, stencils

import slinky as sl
from slinky import ir
from slinky.ir.nesting import funcs_in
from slinky.ir.operations import Nested
from slinky.ir.statements import Alloc, Call, For, Parallel, Program, walk
from slinky.runtime import estimates, iterations, ramps

COUNTED = ("program_bytes", "allocations", "calls", "elements", "bytes_copied")


def agree(p: sl.Pipeline, *arrays: Any, **options: Any) -> Any:
    """The estimate is what the rehearsal of a run counts. Gives the estimate."""
    said, counted = p.estimate(*arrays, **options), p._rehearse(arrays, options, None)
    assert said.is_exact
    assert {name: getattr(said, name) for name in COUNTED} == {name: getattr(counted, name) for name in COUNTED}
    return said


def line_buffers(count: int, rows: int = 1) -> sl.Pipeline:
    """A chain of stencils, all in one loop over strips, slid and folded."""
    p = sl.split_loop(stencils(count), f"s{count}.y", rows)
    for k in range(count - 1, -1, -1):
        p, at = sl.compute_at(p, f"s{k}" if k else "add", "for y", rc=True)
        p = sl.slide_window(p, at.call, "for y")
        p = sl.fold_storage(p, at.alloc, "y")
    return p


def test_what_is_said_of_a_stencil() -> None:
    p, *_ = by_rows(stencil(), 4)
    said = agree(p, (32, 22))
    # Eight strips; the first call of add has two rows for the strip before.
    assert said.calls == {"add": 9, "stencil": 8}
    assert said.elements == {"add": 32 * 22, "stencil": 30 * 20}
    assert said.program_bytes == 6 * 22 * 2
    assert said.funcs["add"] == estimates.Work(9, 32 * 22, 32 * 22, 32 * 22 * 2, 32 * 22 * 2)
    stencil_reads = (7 * 6 + 4) * 22 * 2
    assert said.funcs["stencil"] == estimates.Work(8, 600, 600, stencil_reads, 1200)
    assert said.total == estimates.Work(17, 1304, 1304, 1408 + stencil_reads, 1408 + 1200)


def test_what_is_computed_again() -> None:
    p = sl.compute_at(sl.split_loop(stencil(), "stencil.y", 1), "add", "for y")
    said = agree(p, (32, 22))
    add = said.funcs["add"]
    assert (add.elements, add.needed) == (30 * 3 * 22, 32 * 22)


@pytest.mark.sweep
@pytest.mark.parametrize("rows", [1, 2, 5, 100])
@pytest.mark.parametrize("size", [(5, 5), (6, 20), (7, 9), (40, 33), (4, 8)])
def test_line_buffers(rows: int, size: tuple[int, int]) -> None:
    inp, out = picture(size[0], size[1], 3, (-5, 7))
    said = agree(line_buffers(3, rows), inp, out)
    ran = line_buffers(3, rows).run(inp, out)
    assert {name: getattr(said, name) for name in COUNTED} == {name: getattr(ran, name) for name in COUNTED}


def test_tiles_go_by_two_loops() -> None:
    p = sl.split_loop(sl.split_loop(stencils(2), "s2.y", 8), "s2.x", 16)
    for name in ("s1", "add"):
        p, at = sl.compute_at(p, name, "for x", rc=True)
        p = sl.store_at(p, at.alloc, "for x")
    said = agree(p, (101, 77))
    assert said.allocations == 2 * 13 * 5
    agree(p, (4, 4))


def test_arguments_by_name_scalars_and_shapes() -> None:
    p = stencil()
    inp, out = picture(6, 5, 1)
    expected = p.estimate(inp, out)
    assert p.estimate(inp, out=out) == p.estimate(inp=inp, out=out) == p.estimate(inp) == p.estimate((8, 7)) == expected
    y, x = sl.variables("y x")
    r = sl.scalar("r")
    a, b = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "b"))
    sl.Func(lambda s, t: None, [a[sl.interval(y - r, y + r), x]], [b[y, x]], name="f")
    q = sl.build_pipeline([a], [b])
    assert agree(q, (9, 4), r=2).elements == {"f": 5 * 4}
    with pytest.raises(sl.ArgumentError, match="needs a value for scalar r"):
        q.estimate((9, 4))


def test_what_floats_are_need_not_be_told() -> None:
    """No bound depends on one: what is asked of the sizes of a traced function asked for numbers of its text."""

    def soft(a: Any, weight: float) -> Any:
        b = a * weight
        return b[1:] * 0.5 + b[:-1]

    a = np.ones((500, 400), np.float32)
    p = sl.jit(smallest=0, native=False)(soft).pipeline(a, 0.25)
    told = {"weight": 0.25}
    assert p.memory(a) == p.memory((500, 400)) == p.memory(a, **told)
    assert p.estimate(a) == p.estimate(a, **told)
    assert str(sl.loop_tree(p, (500, 400))) == str(sl.loop_tree(p, (500, 400), **told))
    scheduled = p.auto(a, workers=1, machine=sl.Machine())
    assert str(scheduled.history()) == str(p.auto(a, workers=1, machine=sl.Machine(), **told).history())
    assert np.array_equal(scheduled(a, **told), soft(a, 0.25))
    with pytest.raises(sl.ArgumentError, match="needs a value for scalar weight"):
        scheduled(a)
    with pytest.raises(sl.ArgumentError, match="has no scalar 'float_2'"):
        p.memory(a, float_2=1.0)


@pytest.mark.parametrize(
    "given_",
    [((8, 7), (7, 7)), ((-1, 3),), ((8,),), ("no array",), ((8, 7), (6, 5), (1, 1)), ()],
)
def test_what_a_run_refuses_is_refused(given_: tuple[Any, ...]) -> None:
    with pytest.raises(sl.ArgumentError):
        stencil().estimate(*given_)
    with pytest.raises(sl.ArgumentError, match="threads"):
        stencil().estimate((8, 7), threads=0)


def test_nothing_runs_and_no_plan_is_made() -> None:
    def never(*_: Any) -> None:
        raise AssertionError

    y, x = sl.variables("y x")
    a, b = (sl.BufferExpr(name, np.float32, 2) for name in ("a", "b"))
    sl.Func(never, [a[y, x]], [b[y, x]], name="f")
    p = sl.split_loop(sl.build_pipeline([a], [b]), "f.y", 1)
    assert p.estimate((1 << 15, 1 << 20)).elements == {"f": 1 << 35}
    assert p._plan is None


def test_the_work_goes_by_the_statements_not_by_the_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand times as many rows are looked at in as many steps."""
    p = line_buffers(4)
    steps: list[int] = []
    followed = estimates._Follower._call

    def counted(self: Any, *given_: Any) -> Any:
        steps.append(1)
        return followed(self, *given_)

    monkeypatch.setattr(estimates._Follower, "_call", counted)
    for rows in (20, 20_000):
        steps.clear()
        p.estimate((rows, 30))
        assert len(steps) == 5


def test_large_numbers_do_not_wrap() -> None:
    p = sl.split_loop(stencil(), "stencil.x", 1 << 20)
    huge = np.broadcast_to(np.int16(1), (1 << 22, 1 << 22))
    assert p.estimate(sl.Buffer(huge, min=(-1, -1))).elements["add"] == 1 << 44
    far = sl.Buffer(np.zeros((40, 9), np.int16), min=(1 << 61, -(1 << 61)))
    q = line_buffers(2)
    assert q.estimate(far).elements == q.estimate((40, 9)).elements


# ----------------------------------------------------------------------------------------------------------------
# Bounds
# ----------------------------------------------------------------------------------------------------------------


def at_least(said: Any, exact: Any) -> None:
    """Every number of one estimate is at least that of the other."""
    assert said.program_bytes >= exact.program_bytes
    assert said.allocations >= exact.allocations
    assert all(said.buffers[name].times >= own.times for name, own in exact.buffers.items())
    assert all(said.buffers[name].bytes >= own.bytes for name, own in exact.buffers.items())
    assert all(said.peaks[name] >= size for name, size in exact.peaks.items())
    assert said.bytes_copied >= exact.bytes_copied
    assert said.funcs.keys() == exact.funcs.keys()
    for name, work in exact.funcs.items():
        more = said.funcs[name]
        for field in ("calls", "elements", "needed", "bytes_read", "bytes_written"):
            assert getattr(more, field) >= getattr(work, field), (name, field)


@pytest.mark.parametrize("make", [lambda: line_buffers(3), lambda: sl.parallel_tiles(stencils(2), "s2", {"y": 3}, 2)])
def test_long_loops_are_taken_in_pieces(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    p = make()
    expected = [p.estimate((rows, 20), threads=2) for rows in (6, 7, 14, 33)]
    monkeypatch.setattr(ramps, "MOST_ITERATIONS", 7)
    assert [p.estimate((rows, 20), threads=2) for rows in (6, 7, 14, 33)] == expected
    assert all(said.is_exact for said in expected)


def test_too_many_iterations_give_bounds_that_are_marked() -> None:
    p = sl.split_loop(line_buffers(2), "for y", 3)  # an inner loop that ends as the outer one says
    said = p.estimate((6_000_000, 8))
    assert not said.is_exact
    assert said.program_bytes == 3 * 8 * 2 + 3 * 6 * 2
    assert 5_999_996 * 4 <= said.elements["s2"] <= 6_000_002 * 4
    assert p.estimate((600_000, 8)).is_exact


@pytest.mark.parametrize("rows", [1, 7])
def test_even_loops_are_never_too_long(rows: int) -> None:
    """What goes evenly with a loop has a closed form: the figures are those of a short run, as many times."""
    p, short, far = line_buffers(2, rows), (1 << 12) * rows + 4, (1 << 30) * rows + 4
    said, counted = p.estimate((far, 8)), agree(p, (short, 8))
    assert said.is_exact
    assert said.program_bytes == counted.program_bytes
    assert said.elements == {"add": far * 8, "s1": (far - 2) * 6, "s2": (far - 4) * 4}
    more = dict.fromkeys(said.calls, (far - short) // rows)
    assert said.calls == {name: calls + more[name] for name, calls in counted.calls.items()}


@pytest.mark.parametrize("rows", [7, 22, 41])
def test_buffers_and_peaks_are_what_the_hooks_are_told(rows: int) -> None:
    p = sl.split_loop(stencils(3), "s3.y", 4)
    for name in ("s2", "s1"):
        p, at = sl.compute_at(p, name, "for y", rc=True)
        p = sl.store_at(p, at.alloc, "for y")
    live: dict[str, int] = {}
    sizes: dict[str, list[int]] = {}
    peaks: dict[str, int] = {}

    def allocate(name: str, size: int) -> None:
        live[name] = size
        sizes.setdefault(name, []).append(size)

    def call(name: str, box: Any) -> None:
        peaks[name] = max(peaks.get(name, 0), sum(live.values()))

    hooks = sl.Hooks(call_begin=call, allocate=allocate, free=lambda name, size: live.pop(name) and None)
    p.run(np.zeros((rows, 12), np.int16), hooks=hooks)
    said = p.estimate((rows, 12))
    assert said.buffers == {name: estimates.Allocated(len(own), max(own)) for name, own in sizes.items()}
    assert said.peaks == peaks


def steps_of(run: Callable[[], object]) -> int:
    """How many instructions of Python something executes."""
    steps = 0

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal steps
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return steps


def test_line_buffers_cost_little_more_than_no_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """No array is made of the iterations, and of each func no more is asked than must be."""

    def never(self: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(ramps.Axis, "numbers", never)
    plain, slid = stencils(19), line_buffers(19)
    for p in (plain, slid):
        p.estimate((500, 640))
    whole = steps_of(lambda: plain.estimate((501, 640)))
    assert whole < 20 * 2600
    assert steps_of(lambda: slid.estimate((501, 640))) < 1.6 * whole


@given(st.one_of(image_graphs(), graphs(max_stages=4)), st.integers(0, 2**32), st.integers(1, 12))
@settings(max_examples=max(settings().max_examples // 2, 10))
def test_bounds_are_bounds(graph: Graph, seed: int, steps: int) -> None:
    p = scheduled(graph, seed, steps)
    inputs, outputs = arguments(graph)
    exact = p.estimate(*inputs, *outputs, **graph.scalars())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ramps, "MOST_ITERATIONS", 1)
        patch.setattr(iterations, "MOST_IN_ALL", 1)
        said = p.estimate(*inputs, *outputs, **graph.scalars())
    at_least(said, exact)
    assert said == exact or not said.is_exact


# ----------------------------------------------------------------------------------------------------------------
# Any schedule
# ----------------------------------------------------------------------------------------------------------------


def scheduled(graph: Graph, seed: int, steps: int) -> sl.Pipeline:
    chain = Chain(build(graph), random.Random(seed).choice)
    for _ in range(steps):
        chain.step()
    return chain.pipeline


def overlaps(p: sl.Pipeline) -> bool:
    """Whether buffers are allocated in a parallel loop: their number at a time is chance."""
    loops = [s for q in programs(p) for s in walk(q.body) if isinstance(s, For) and isinstance(s.mode, Parallel)]
    inside = [s for loop in loops for s in walk(loop.body)]
    return any(isinstance(s, Alloc) or (isinstance(s, Call) and isinstance(s.func.operation, Nested)) for s in inside)


def programs(p: sl.Pipeline) -> list[Program]:
    """A program, and those that are in it."""
    operations = [func.operation for func in funcs_in(p.program)]
    return [p.program, *(operation.program for operation in operations if isinstance(operation, Nested))]


@given(st.one_of(image_graphs(), graphs(max_stages=5), many_dimensions()), st.integers(0, 2**32), st.integers(0, 20))
@settings(max_examples=max(settings().max_examples // 2, 10))
def test_a_run_counts_what_was_said(graph: Graph, seed: int, steps: int) -> None:
    p = scheduled(graph, seed, steps)
    inputs, outputs = arguments(graph)
    said = agree(p, *inputs, *outputs, **graph.scalars())
    ran = p.run(*inputs, *outputs, backend="interpreter", **graph.scalars())
    for name in COUNTED:
        if name != "program_bytes" or not overlaps(p):
            assert getattr(said, name) == getattr(ran, name)
    assert said.program_bytes >= ran.program_bytes
    run = Followed(p, [*inputs, *outputs], graph.scalars())
    inside = {s.func.name for q in programs(p)[1:] for s in walk(q.body) if isinstance(s, Call)}
    for name, work in said.funcs.items():
        if name in inside:
            continue  # who follows it looks at calls, and not into them
        assert (work.bytes_read, work.bytes_written) == (run.read[name], run.written[name])
        assert work.needed == (points(hull(run.boxes[name])) if run.boxes[name] else 0)


def test_conditions_and_ranges_that_go_by_loops_outside() -> None:
    """A triangle: an inner loop as long as the outer one has come, and an `if` by both."""
    y, x = sl.variables("y x")
    a, b, c = (sl.BufferExpr(name, np.int32, 2) for name in ("a", "b", "c"))
    sl.Func(np.negative, [a[y, x]], [b[y, x]], name="f")
    sl.Func(np.negative, [b[y, x]], [c[y, x]], name="g")
    p = sl.split_loop(sl.split_loop(sl.build_pipeline([a], [c]), "g.y", 1), "g.x", 1)
    p = sl.compute_at(p, "f", "for x")
    p = sl.store_at(p, "alloc b", "for x")
    program = p.program
    (outer,) = (s for s in program.body if isinstance(s, For))
    (inner,) = outer.body
    assert isinstance(inner, For)
    triangle = ir.with_range(inner, sl.interval(inner.range.min, sl.minimum(inner.range.max, outer.variable * 2 - 1)))
    guarded = ir.with_body(triangle, (ir.If(inner.variable <= outer.variable + 2, triangle.body),))
    body = tuple(ir.with_body(outer, (guarded,)) if s is outer else s for s in program.body)
    q = sl.Pipeline(attrs.evolve(program, body=body))
    for size in ((7, 9), (1, 1), (12, 3), (3, 12)):
        said = agree(q, size)
        run = Followed(q, [size])
        assert said.elements == {name: sum(map(points, run.boxes[name])) for name in ("f", "g")}
        assert said.funcs["f"].needed == (points(hull(run.boxes["f"])) if run.boxes["f"] else 0)
