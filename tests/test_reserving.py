"""What `p.memory` knows without a plan: the same as a run reserves, or nothing."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from graph_pipelines import arguments, build
from graphs_as_data import Graph
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import graphs
from random_schedules import Chain
from test_estimates import line_buffers
from test_plan_properties import ring_wherever_possible

import slinky as sl
from slinky.ir.statements import For, Serial, walk
from slinky.pipeline import Pipeline
from slinky.runtime import arena, estimates, mirrored, ramps, storage
from slinky.runtime.reserving import estimated_memory

y, x = sl.variables("y x")

needs_mirror = pytest.mark.skipif(not mirrored.available(), reason="this platform cannot map memory twice")


def known(p: sl.Pipeline, *arrays: Any, **scalars: Any) -> sl.Memory | None:
    """What is found without a plan."""
    return estimated_memory(p._completing(), arrays, scalars, None)


def ran(p: sl.Pipeline, *arrays: Any, **scalars: Any) -> sl.Memory:
    """What a run takes, of a plan that has not run before."""
    statistics = Pipeline(p._version).run(*arrays, **scalars)
    return sl.Memory(statistics.program_bytes, statistics.peak_bytes)


def plain(source: Any, target: Any) -> None:
    """A callback of which nobody knows what it does."""
    np.copyto(target, source)


def chain(*margins: int) -> sl.Pipeline:
    """Funcs s0, s1, ..., each of which reads so many rows more on both sides than it writes, of buffers b0, b1, ..."""
    buffers = [sl.BufferExpr(name, np.float32, 2) for name in ("a", *(f"b{k}" for k in range(len(margins) - 1)), "out")]
    for k, margin in enumerate(margins):
        rows = sl.interval(y - margin, y + margin)
        sl.Func(
            lambda s, t, m=margin: np.copyto(t, s[m : len(s) - m]),
            [buffers[k][rows, x]],
            [buffers[k + 1][y, x]],
            f"s{k}",
        )
    return sl.build_pipeline([buffers[0]], [buffers[-1]])


def large(p: sl.Pipeline, rows: int, columns: int) -> tuple[sl.Buffer, sl.Buffer]:
    """Arrays for a chain, whose output has so many rows and columns."""
    source = sl.Buffer(np.zeros((rows + 40, columns), np.float32), min=(-20, 0))
    return source, sl.Buffer(np.zeros((rows, columns), np.float32))


# Where there is an answer ---------------------------------------------------------------------------------------------


def test_no_plan_is_made() -> None:
    p = line_buffers(20)
    memory = p.memory((400, 300))
    assert p._plan is None
    assert memory == ran(p, np.zeros((400, 300), p.program.inputs[0].dtype))
    assert p._rehearse(((400, 300),), {}, None).peak_bytes == memory.peak_bytes


@pytest.mark.parametrize("rows", [0, 1, 7, 64])
@pytest.mark.parametrize("columns", [0, 1, 100])
def test_buffers_that_share_bytes(rows: int, columns: int) -> None:
    """Each is needed with the next: three of the six sizes lie at the beginning."""
    p = chain(0, 3, 1, 2, 0, 0)
    arrays = large(p, rows, columns)
    found = known(p, *arrays)
    assert found is not None
    assert found == ran(p, *arrays)
    if rows and columns:
        assert 0 < found.peak_bytes <= found.program_bytes + 2 * 64


@pytest.mark.parametrize("rows", [0, 1, 7, 64])
def test_rows_that_slide(rows: int) -> None:
    p = sl.split_loop(chain(1, 2, 0), "s2.y", 4)
    for func in ("s1", "s0"):
        p, at = sl.compute_at(p, func, "for y", rc=True)
        p = sl.slide_window(p, at.call, "for y")
        p = sl.fold_storage(p, at.alloc, "y")
    arrays = large(p, rows, 3000)
    found = known(p, *arrays)
    assert found is not None
    assert found == ran(p, *arrays)


@pytest.mark.parametrize("rows", [0, 1, 7, 64])
def test_tiles_of_any_length(rows: int) -> None:
    """One buffer at a time: the last tile is smaller, and no other site is there."""
    p = sl.split_loop(chain(0, 0), "s1.y", 4)
    p, at = sl.compute_at(p, "s0", "for y", rc=True)
    p = sl.store_at(p, at.alloc, "for y")
    arrays = large(p, rows, 30)
    found = known(p, *arrays)
    assert found == ran(p, *arrays)
    assert found == sl.Memory(min(rows, 4) * 30 * 4, min(rows, 4) * 30 * 4)


def rings_one_after_the_other(*margins: int) -> sl.Pipeline:
    """Loops with a ring each, of which one at a time is alive, so that all may have their memory of one pool."""
    p = chain(*(each for margin in margins for each in (0, margin)))
    for k in reversed(range(len(margins))):
        p, (loop, *_) = sl.split_loop(p, f"s{2 * k + 1}.y", 1, rc=True)
        p, at = sl.compute_at(p, f"s{2 * k}", loop, rc=True)
        p = sl.fold_storage(sl.slide_window(p, at.call, loop), at.alloc, "y")
    return p


@needs_mirror
@pytest.mark.parametrize(
    ("margins", "is_known"),
    [((1, 1), True), ((1, 2), True), ((1, 6), True), ((1, 6, 9, 3), True), ((9, 1, 6, 0, 2), False)],
)
def test_rings_of_several_sizes_one_after_the_other(margins: tuple[int, ...], is_known: bool) -> None:
    """A pool keeps the memory of other sizes, if that is not too much beside the largest that is asked for."""
    p = rings_one_after_the_other(*margins)
    arrays = large(p, 64, 5000)
    found, right = known(p, *arrays), ran(p, *arrays)
    assert found == (right if is_known else None)
    assert p.memory(*arrays) == right


@needs_mirror
@pytest.mark.parametrize("margins", [(1, 6), (6, 1), (9, 1, 6, 2)])
def test_rings_are_there_for_the_next_run(monkeypatch: pytest.MonkeyPatch, margins: tuple[int, ...]) -> None:
    """A small ring does not drive out a large one of the same pool, so that each run would make both again."""
    p = rings_one_after_the_other(*margins)
    arrays = large(p, 64, 5000)
    made = list[int]()
    make = mirrored.mirrored
    monkeypatch.setattr(mirrored, "mirrored", lambda size: made.append(size) or make(size))
    p(*arrays)
    assert len(made) == len(margins)
    p(*arrays)
    assert len(made) == len(margins)
    few = large(p, 64, 500)
    p(*few)
    p(*few)
    made.clear()
    p(*few)
    assert not made


def test_layouts_and_branches_have_memory_of_their_own() -> None:
    for buffer in ("b0", "b1"):
        p = sl.set_layout(chain(0, 3, 1, 2), f"alloc {buffer}", ("y", "x"), alignment=64)
        arrays = large(p, 9, 33)
        found = known(p, *arrays)
        assert found is not None
        assert found == ran(p, *arrays)
    p = sl.specialize(chain(0, 3, 1), "alloc b1 .. s2", sl.scalar("n") >= 4)
    for n in (3, 4):
        found = known(p, *arrays, n=n)
        assert found is not None
        assert found == ran(p, *arrays, n=n)


def promised(p: sl.Pipeline, *arrays: Any) -> sl.Memory:
    """The most that a run takes, by its plan: how many iterations overlap in a run is chance."""
    most = p._rehearse(arrays, {}, None)
    return sl.Memory(most.program_bytes, most.peak_bytes)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("rows", [0, 1, 7, 8, 64])
def test_iterations_that_run_at_the_same_time(monkeypatch: pytest.MonkeyPatch, rows: int, workers: int) -> None:
    """Tiles, the last of which is smaller; two buffers beside each other; one of each row of a tile; rings."""
    monkeypatch.setenv("SLINKY_NUM_THREADS", str(workers))
    p, (loop, *_) = sl.split_loop(chain(0, 1, 0, 0), "s3.y", 4, rc=True)
    for func in ("s2", "s1"):
        p, at = sl.compute_at(p, func, p.forward(loop), rc=True)
        p = sl.store_at(p, at.alloc, p.forward(loop))
    tiles = sl.parallelize_loop(p, loop)
    p, (inner, *_) = sl.split_loop(p, "s3.y", 1, rc=True)
    p, at = sl.compute_at(p, "s0", p.forward(loop), rc=True)
    p = sl.store_at(p, at.alloc, p.forward(loop))
    three = sl.parallelize_loop(p, p.forward(loop))
    rings = sl.split_loop(chain(1, 1), "s1.y", 8)
    rings, (inner, *_) = sl.split_loop(rings, "s1.y", 1, rc=True)
    rings, at = sl.compute_at(rings, "s0", inner, rc=True)
    rings = sl.store_at(sl.slide_window(rings, at.call, inner), at.alloc, "for y")
    rings = sl.parallelize_loop(sl.fold_storage(rings, at.alloc, "y"), "for y")
    for q in (tiles, three, rings):
        arrays = large(q, rows, 3000)
        found = known(q, *arrays)
        assert found is not None
        assert found == promised(q, *arrays)
        assert found.peak_bytes > 0 or not rows


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_parallel_loops_in_others(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    monkeypatch.setenv("SLINKY_NUM_THREADS", str(workers))
    p, (outer, *_) = sl.split_loop(chain(0, 0, 0), "s2.y", 8, rc=True)
    p, (inner, *_) = sl.split_loop(p, "s2.x", 16, rc=True)
    for func, loop in (("s1", inner), ("s0", outer)):
        p, at = sl.compute_at(p, func, p.forward(loop), rc=True)
        p = sl.store_at(p, at.alloc, p.forward(loop))
    p = sl.parallelize_loop(sl.parallelize_loop(p, p.forward(inner), 3), p.forward(outer), 2)
    for rows, columns in ((64, 64), (7, 64), (64, 5), (9, 20)):
        arrays = large(p, rows, columns)
        found = known(p, *arrays)
        assert found is not None
        assert found == promised(p, *arrays)


# Where there is none --------------------------------------------------------------------------------------------------


def test_what_may_lie_in_an_output() -> None:
    a, t, out = (sl.BufferExpr(name, np.float32, 1) for name in ("a", "t", "out"))
    sl.Func(np.negative, [a[x]], [t[x]], name="first")
    sl.Func(np.square, [t[x]], [out[x]], name="second")
    p = sl.build_pipeline([a], [out])
    assert known(p, (8,), (8,)) is None
    assert p.memory((8,), (8,)) == ran(p, np.zeros(8, np.float32)) == sl.Memory(32, 0)


def test_in_place_only_at_the_origin() -> None:
    """Boxes that are the same where all arrays begin at 0, as the plan of such arrays sees, and as others do not."""
    a, t, u, out = (sl.BufferExpr(name, np.float32, 1) for name in ("a", "t", "u", "out"))
    sl.Func(np.negative, [a[x]], [t[x]], name="first")
    sl.Func(np.square, [t[x]], [u[x]], name="second")
    sl.Func(plain, [u[x]], [out[x]], name="third")
    p = sl.resize_dim(
        sl.build_pipeline([a], [out]), "alloc u", "x", sl.interval(sl.minimum(out.dim(0).min, 0), out.dim(0).max)
    )
    for start in (0, 3):
        arrays = [sl.Buffer(np.zeros(8, np.float32), min=(start,)) for _ in range(2)]
        if start:
            arrays[0] = sl.Buffer(np.zeros(8 + start, np.float32))
        found = known(p, *arrays)
        assert found == ran(p, *arrays)


def test_pipelines_inside() -> None:
    q = sl.extract_pipeline(chain(0, 0), "s0 .. s1", "inner")
    assert known(q, *large(q, 9, 9)) is None
    assert q.memory(*large(q, 9, 9)) == ran(q, *large(q, 9, 9))


def test_tiles_beside_others() -> None:
    """How much room a plan makes for what is smaller in the last iteration is its own: others may begin behind it."""
    p = sl.split_loop(chain(0, 0, 0), "s2.y", 4)
    for func in ("s1", "s0"):
        p, at = sl.compute_at(p, func, "for y", rc=True)
        p = sl.store_at(p, at.alloc, "for y")
    arrays = large(p, 7, 33)
    assert known(p, *arrays) == ran(p, *arrays)  # it is just enough
    p = sl.split_loop(chain(0, 1, 1, 0), "s3.y", 4)
    for func in ("s2", "s1", "s0"):
        p, at = sl.compute_at(p, func, "for y", rc=True)
        p = sl.store_at(p, at.alloc, "for y")
    arrays = large(p, 7, 33)
    assert known(p, *arrays) == ran(p, *arrays)


@pytest.mark.parametrize("rows", [24, 25, 26])
@pytest.mark.parametrize("columns", [10, 13])
def test_tiles_in_parallel_strips(rows: int, columns: int) -> None:
    """Sizes go by both loops: the last strip and the last tile are smaller."""
    p = sl.split_loop(sl.split_loop(chain(1, 1, 1), "s2.y", 3), "s2.x", 4)
    for func in ("s1", "s0"):
        p, at = sl.compute_at(p, func, "for x", rc=True)
        p = sl.store_at(p, at.alloc, "for x")
    p = sl.parallelize_loop(p, "for y", 2)
    arrays = large(p, rows, columns)
    rehearsed = p._rehearse(arrays, {}, None)
    assert known(p, *arrays) == sl.Memory(rehearsed.program_bytes, rehearsed.peak_bytes)
    with pytest.MonkeyPatch.context() as patch:  # in pieces, where all iterations at once are too many
        patch.setattr(ramps, "MOST_ITERATIONS", 16)
        patch.setattr(estimates, "_PIECES", (8, 4))
        assert known(p, *arrays) == sl.Memory(rehearsed.program_bytes, rehearsed.peak_bytes)


def test_a_piece_of_one_iteration() -> None:
    p = sl.strips(chain(1, 1), 4)
    arrays = large(p, 4 * 16, 3)  # and one before, in which the window is filled
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ramps, "MOST_ITERATIONS", 16)
        assert p.estimate(*arrays).program_bytes == ran(p, *arrays).program_bytes


def test_no_iteration_is_rehearsed_of_many() -> None:
    buffers = [sl.BufferExpr(name, np.int32, 2) for name in ("a", "b", "out")]
    for source, target in pairwise(buffers):
        window = source.extended("mirror", dims=[0])[sl.interval(y - 1, y + 1), x]
        sl.Func(lambda s, t: np.copyto(t, s[1:-1]), [window], [target[y, x]], f"to_{target.name}")
    q = sl.strips(sl.build_pipeline(buffers[:1], buffers[-1:]), 1)
    assert known(q, (1 << 18, 3), (1 << 18, 3)) is not None
    small = [sl.Buffer(np.zeros((50, 3), np.int32)) for _ in range(2)]
    assert known(q, *small) == ran(q, *small)


def test_tiles_beside_a_buffer_that_is_there_in_full() -> None:
    """The two never lie side by side, but each does with the buffer between the loops."""
    p = chain(0, 0, 0, 0)
    for reader, func in (("s3", "s2"), ("s1", "s0")):
        p, (loop, *_) = sl.split_loop(p, f"{reader}.y", 4, rc=True)
        p, at = sl.compute_at(p, func, loop, rc=True)
        p = sl.store_at(p, at.alloc, loop)
    arrays = large(p, 7, 33)
    assert known(p, *arrays) == ran(p, *arrays)  # b1 is needed with each of them


def test_wrong_arguments_are_refused_as_by_a_run() -> None:
    p = chain(1, 1)
    for arrays in (((3, 3), (3, 3)), ((8, 8), (4,)), (np.zeros((8, 8)),)):
        with pytest.raises(sl.SlinkyError) as said:
            p.memory(*arrays)
        with pytest.raises(type(said.value)) as counted:
            p._rehearse(arrays, {}, None)
        assert str(said.value) == str(counted.value)


# Schedules that nobody thought of -------------------------------------------------------------------------------------


@pytest.mark.long
@given(graphs(max_stages=5), st.integers(0, 2**32), st.integers(0, 16), st.booleans())
@settings(max_examples=settings().max_examples * 2)
def test_it_is_what_a_run_reserves(graph: Graph, seed: int, steps: int, rings: bool) -> None:
    """With rings even where these take more than the buffer in full."""
    step = Chain(build(graph), random.Random(seed).choice)
    for _ in range(steps):
        step.step()
    p = step.pipeline
    with pytest.MonkeyPatch.context() as patch:
        if rings:
            patch.setattr(storage, "ring_size", ring_wherever_possible)
            patch.setattr(arena, "ring_size", ring_wherever_possible)
        inputs, outputs = arguments(graph)
        found = estimated_memory(p._completing(), (*inputs, *outputs), graph.scalars(), 3)
        if found is None:
            return
        if any(isinstance(s, For) and not isinstance(s.mode, Serial) for s in walk(p.program.body)):
            promised = p._rehearse((*inputs, *outputs), graph.scalars(), 3)
            assert found == sl.Memory(promised.program_bytes, promised.peak_bytes)
        else:
            assert found == ran(p, *inputs, *outputs, **graph.scalars())
