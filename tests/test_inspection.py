"""What a schedule asks of a program, compared with what a run does."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from followed import Followed
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, arguments, build, graphs
from random_schedules import Chain
from scheduled import stencil, stencils

import slinky as sl
from slinky.runtime.omitted import Completion
from slinky.runtime.stand_ins import values_of
from slinky.symbolic.intervals import evaluate_box
from slinky.symbolic.traversal import evaluate

y, x = sl.variables("y x")


def in_strips() -> sl.Pipeline:
    """Two stencils behind each other, all in one loop over strips of four rows."""
    p = sl.split_loop(stencils(2), "s2.y", 4)
    return sl.compute_at(sl.compute_at(p, "s1", "for y"), "add", "for y")


def diamond() -> sl.Pipeline:
    """One intermediate, read by two funcs, of which one output each; the second also reads the first's."""
    inp, t, a, b = (sl.BufferExpr(name, np.int32, 1) for name in ("inp", "t", "a", "b"))
    sl.Func(np.negative, [inp[x]], [t[x]], name="turn")
    sl.Func(np.negative, [t[x]], [a[x]], name="back")
    sl.Func(np.add, [t[x], a[x]], [b[x]], name="join")
    return sl.build_pipeline([inp], [a, b])


def names(cursors: Any) -> list[str]:
    return [cursor.name() for cursor in cursors]


def test_producers_and_consumers() -> None:
    p = diamond()
    assert names(sl.producers(p, "join")) == ["turn", "back"]
    assert names(sl.producers(p, "turn")) == []
    assert names(sl.consumers(p, "turn")) == ["back", "join"]
    assert names(sl.consumers(p, "back")) == ["join"]
    assert names(sl.consumers(p, "inp")) == ["turn"]
    assert names(sl.consumers(p, "alloc t")) == names(sl.consumers(p, "t")) == ["back", "join"]
    assert names(sl.producers(p, "a")) == ["back"]
    (arg,) = (arg for arg in p.args() if arg.name() == "b")
    assert names(sl.producers(p, arg)) == ["join"]
    assert sl.consumers(p, arg) == ()


def test_a_clone_is_the_producer_of_its_own_reader_only() -> None:
    p = diamond()
    p = sl.clone_call(p, "turn", "join")
    first, second = p.find("turn"), p.find("turn #1")
    assert sl.producers(p, "back") != sl.producers(p, "join")
    assert {*sl.producers(p, "back"), *sl.producers(p, "join")} == {first, second, p.find("back")}
    assert names(sl.consumers(p, first)) == ["back"]
    assert names(sl.consumers(p, second)) == ["join"]


def test_buffers_of_one_name_are_told_apart() -> None:
    """Cut, a loop that allocates has two allocations of that name; each has its own calls."""
    p = sl.store_at(sl.store_at(in_strips(), "alloc b1", "for y"), "alloc b0", "for y")
    p = sl.cut_loop(p, "for y", p.find("for y").bounds().min + 4)
    assert len(p.find_all("alloc b1")) == 2
    for k in range(2):
        (producer,) = sl.producers(p, f"alloc b1 #{k}")
        assert producer == p.find(f"s1 #{k}")
        assert sl.consumers(p, producer) == (p.find(f"s2 #{k}"),)


def test_loops() -> None:
    p = sl.split_loop(sl.split_loop(stencil(), "stencil.y", 4), "stencil.x", 8)
    outer, inner = p.find_all("for _")
    assert sl.enclosing_loops(p, "stencil") == sl.enclosing_loops(p, "stencil.y") == (outer, inner)
    assert sl.enclosing_loops(p, inner) == (outer,)
    assert sl.enclosing_loops(p, outer.before()) == ()
    assert sl.loop_nest(p, "for y") == (outer, inner)
    assert sl.common_loop(p, "stencil", inner) == inner
    assert sl.common_loop(p, "stencil", inner, outer.body()) == outer
    assert isinstance(sl.common_loop(p, "stencil", "add"), sl.InvalidCursor)
    p = sl.compute_at(p, "add", outer)
    assert sl.loop_nest(p, outer) == (p.forward(outer),)
    assert sl.common_loop(p, "stencil", "add") == p.forward(outer)


def test_the_iterations_of_a_loop() -> None:
    p = sl.split_loop(stencil(), "stencil.y", 4)
    assert p.text(sl.trip_count(p, "for y")) == "(out.y.max - out.y.min) // 4 + 1"
    q = sl.split_loop(stencil(), "stencil.y", 4, tail="cut")
    for height in (0, 1, 4, 5, 40):
        for pipeline in (p, q):
            values = _values(pipeline, height)
            for loop in pipeline.find_all("for _"):
                bounds, step = loop.bounds(), evaluate(loop.step(), values)
                expected = len(range(evaluate(bounds.min, values), evaluate(bounds.max, values) + 1, step))
                assert evaluate(sl.trip_count(pipeline, loop), values) == expected


def _values(p: sl.Pipeline, height: int) -> Any:
    image = sl.Buffer(np.zeros((height + 2, 9), np.int16), min=(-1, -1))
    return values_of(Completion(p.program), [image, (height, 7)], {})


def test_regions_of_a_call_of_an_iteration_and_of_a_loop() -> None:
    p = in_strips()
    call, loop = p.find("s1"), p.find("for y")
    assert [str(access) for access in sl.region(p, call)] == [
        "read b0[y - 2 .. min(out.y.max + 2, y + 5), out.x.min - 2 .. out.x.max + 2]",
        "write b1[y - 1 .. min(out.y.max + 1, y + 4), out.x.min - 1 .. out.x.max + 1]",
    ]
    one = sl.region(p, loop.body(), "b0")
    assert [(access.call.name(), access.kind) for access in one] == [("add", "write"), ("s1", "read")]
    assert str(one[1]) == str(sl.region(p, call, "b0")[0])
    (written, _) = sl.region(p, loop, "b0")
    assert str(written) == "write b0[out.y.min - 2 .. out.y.max + 2, out.x.min - 2 .. out.x.max + 2]"
    two = sl.region(diamond(), "join")
    assert [(access.buffer, access.kind) for access in two] == [("t", "read"), ("a", "read"), ("b", "write")]


def test_footprints() -> None:
    p = in_strips()
    given = (24, 14), sl.Buffer(np.zeros((20, 10), np.int16), min=(2, 2))
    assert sl.footprint(p, "alloc b0").of(*given) == 24 * 14 * 2
    assert sl.footprint(p, "alloc b1").of(*given) == 22 * 12 * 2
    slid = sl.slide_window(sl.slide_window(p, "s1", "for y"), "add", "for y")
    folded = sl.fold_storage(sl.fold_storage(slid, "alloc b1", "y"), "alloc b0", "y")
    assert sl.footprint(folded, "alloc b1").of(*given) == 6 * 12 * 2
    assert folded.memory(*given).program_bytes == sum(
        sl.footprint(folded, alloc).of(*given) for alloc in folded.find_all("alloc _")
    )
    inside = sl.store_at(p, "alloc b1", "for y")
    assert sl.footprint(inside, "alloc b1").of(*given) == 6 * 12 * 2
    assert str(sl.footprint(diamond(), "alloc t")) == "4*a.x.max - 4*a.x.min + 4"
    # One iteration reads 8 rows of inp, writes and reads 8 of b0 and 6 of b1, and writes 4 of out.
    assert sl.footprint(p, p.find("for y").body()).of(*given) == 2 * (8 * 14 + 8 * 14 + 6 * 12 + 4 * 10)
    assert sl.footprint(p, "for y").of(*given) == 2 * (24 * 14 + 24 * 14 + 22 * 12 + 20 * 10)
    assert sl.footprint(p, "s2").of(*given) == 2 * (6 * 12 + 4 * 10)


def test_live_ranges() -> None:
    p = diamond()
    block = sl.live_range(p, "t")
    assert block[0] == p.find("alloc t")
    assert block[-1] == p.find("join")
    p = sl.split_loop(p, "join.x", 2)
    assert sl.live_range(p, "t")[-1] == p.find("for x")


def test_dependences() -> None:
    p = diamond()
    assert [str(d) for d in sl.dependences(p)] == [
        "back after turn: read after write of t",
        "join after turn: read after write of t",
        "join after back: read after write of a",
    ]
    first, *_ = sl.dependences(p)
    assert (first.earlier, first.later) == (p.find("turn"), p.find("back"))
    cut = sl.cut_call(p, "back.x", p.find("back").bounds("x").min + 3)
    halves = [d for d in sl.dependences(cut) if d.earlier.name() == d.later.name() == "back"]
    assert len(cut.find_all("back")) == 2
    assert not halves, "the halves write different elements"
    q = in_strips()
    assert sl.dependences(q, "for y") == sl.dependences(q)
    assert sl.dependences(q, "s1") == ()


def test_buffers_in_one_memory_depend_on_each_other() -> None:
    order = [sl.BufferExpr(name, np.int32, 1) for name in ("inp", "a", "b", "c", "out")]
    for k, (source, target) in enumerate(pairwise(order)):
        sl.Func(np.negative, [source[x]], [target[x]], name=f"f{k}")
    p = sl.build_pipeline([order[0]], [order[-1]])
    p = sl.reuse_buffer(p, "alloc c", "alloc a")
    found = {(d.earlier.name(), d.later.name(), d.kind) for d in sl.dependences(p)}
    assert ("f1", "f2", "write after read") in found, "f2 writes c over a, which f1 reads"
    assert ("f0", "f2", "write after write") in found


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda p: sl.producers(p, "for y"), "producers: expected a CallCursor or AllocCursor or ArgCursor"),
        (lambda p: sl.trip_count(p, "stencil"), "trip_count: expected a LoopCursor, got <CallCursor"),
        (lambda p: sl.trip_count(p, 3), "trip_count: expected a cursor or a pattern, got 3"),
        (lambda p: sl.trip_count(3, "for y"), "trip_count: the first argument must be a Pipeline, got int"),
        (lambda p: sl.common_loop(p), "at least one place"),
        (lambda p: sl.common_loop(3, "for y"), "common_loop: the first argument must be a Pipeline, got int"),
        (lambda p: sl.enclosing_loops(3, "for y"), "enclosing_loops: the first argument must be a Pipeline, got int"),
        (lambda p: sl.enclosing_loops(p, p.args()[0]), "expected a place in the body"),
    ],
)
def test_mistakes(ask: Any, says: str) -> None:
    with pytest.raises(sl.OperationError, match=says):
        ask(sl.split_loop(stencil(), "stencil.y", 1))


def test_what_is_not_there() -> None:
    p = stencil()
    with pytest.raises(sl.PatternError):
        sl.producers(p, "other")
    with pytest.raises(sl.InvalidCursorError, match="does not touch buffer 'inp'; it touches intm, out"):
        sl.region(p, "stencil", "inp")
    with pytest.raises(sl.ArgumentError):
        sl.footprint(p, "intm").of((3, 3), (-1, 2))


# ----------------------------------------------------------------------------------------------------------------
# Any program
# ----------------------------------------------------------------------------------------------------------------


@given(graphs(max_stages=4), st.integers(0, 2**32), st.integers(1, 8))
@settings(max_examples=max(settings().max_examples // 2, 10))
def test_answers_hold_in_runs(graph: Graph, seed: int, steps: int) -> None:
    """Of any schedule: counts of iterations are those of the run, and what is touched lies in the regions."""
    chain = Chain(build(graph), random.Random(seed).choice)
    for _ in range(steps):
        chain.step()
    p = chain.pipeline
    inputs, outputs = arguments(graph)
    run = Followed(p, [*inputs, *outputs], graph.scalars())
    for loop in p.find_all("for _"):
        count = sl.trip_count(p, loop)
        assert all(evaluate(count, values) == rounds for values, rounds in run.entered[loop._id])
    whole = p.body()
    regions = {(a.call._id, a.kind, a.buffer): [] for a in sl.region(p, whole)}
    for access in sl.region(p, whole):
        regions[access.call._id, access.kind, access.buffer].append(evaluate_box(access.box, run.values))
    for key, touched in run.touched.items():
        for box in touched:
            assert any(_holds(region, box) for region in regions[key])
    writers = defaultdict(set)
    for identity, kind, buffer in run.touched:
        if kind == "write":
            writers[buffer].add(identity)
    for call in p.find_all("_ = _"):
        produced = {c._id for c in sl.producers(p, call)}
        for name in call.inputs():
            alloc = p._version.alloc_of(name, call._id)
            assert {i for i in writers[name] if p._version.alloc_of(name, i) is alloc} - {call._id} <= produced
    _dependences_hold(p, run)


def _holds(region: Any, box: Any) -> bool:
    return all(lo <= first and last <= hi for (lo, hi), (first, last) in zip(region, box, strict=True))


def _dependences_hold(p: sl.Pipeline, run: Followed) -> None:
    """Calls that touch the same elements of a parameter or of a buffer outside of all loops are said to."""
    said = {frozenset((d.earlier._id, d.later._id)) for d in sl.dependences(p)}
    items = list(run.touched.items())
    for (a, kind_a, name_a), boxes_a in items:
        for (b, kind_b, name_b), boxes_b in items:
            if a >= b or name_a != name_b or "write" not in (kind_a, kind_b):
                continue
            alloc = p._version.alloc_of(name_a, a)
            if alloc is not p._version.alloc_of(name_b, b):
                continue
            if alloc is not None and p._version.ancestors(alloc.id):
                continue
            if any(_meet(one, other) for one in boxes_a for other in boxes_b):
                assert frozenset((a, b)) in said


def _meet(a: Any, b: Any) -> bool:
    return all(max(lo, first) <= min(hi, last) for (lo, hi), (first, last) in zip(a, b, strict=True))
