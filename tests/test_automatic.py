"""Schedules that nobody wrote: right on every graph, the same everywhere, within the memory that was asked for."""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from classic import EAGER
from graph_pipelines import build, run_and_compare
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, arguments, graphs, image_graphs, many_dimensions
from scheduled import add_1, stencils

import examples
import slinky as sl
from slinky.runtime import estimates
from slinky.sched import choices, grouping, machines
from slinky.sched.choices import Aims
from slinky.sched.grouping import Grouping

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]

LAPTOP = sl.Machine()


def scheduled(p: sl.Pipeline, *arrays: object, workers: int = 1, machine: sl.Machine = LAPTOP, **options: Any) -> Any:
    return sl.auto_schedule(p, *arrays, workers=workers, machine=machine, **options)


def random_pictures(shape: tuple[int, ...], margin: int, dtype: Any = np.float32) -> tuple[Array, sl.Buffer]:
    """An input of a shape, and the output of a pipeline that needs so much more of it at each side."""
    values = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    inner = tuple(n - 2 * margin for n in shape)
    return values, sl.Buffer(np.zeros(inner, dtype), min=(margin,) * len(shape))


def gives_the_same(p: sl.Pipeline, q: sl.Pipeline, *arrays: Any) -> None:
    """Both give the same, bit for bit, in checked mode and by their plans."""
    *inputs, output = arrays
    expected = sl.Buffer(np.zeros_like(output.array), min=output.min)
    p(*inputs, expected)
    for options in ({}, {"checked": True}, {"threads": 3}):
        output.array[...] = 0
        q.run(*inputs, output, **options)
        np.testing.assert_array_equal(output.array, expected.array)


# ----------------------------------------------------------------------------------------------------------------
# Right
# ----------------------------------------------------------------------------------------------------------------


@given(st.one_of(graphs(), image_graphs(), many_dimensions()), st.sampled_from((1, 2)), st.booleans())
def test_every_graph_gives_the_same_scheduled(graph: Graph, workers: int, alias: bool) -> None:
    p = build(graph, alias=alias)
    inputs, outputs = arguments(graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choices, "MOST_REPEATED", 10.0)
        patch.setattr(choices, "LEAST_TASK_SECONDS", 0.0)
        q = scheduled(p, *inputs, *outputs, workers=workers, machine=EAGER, **graph.scalars())
    q.verify()
    run_and_compare(graph, q)
    run_and_compare(graph, q, checked=False, threads=workers)


@pytest.mark.sweep
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_a_chain_of_stencils_in_line_buffers(count: int, workers: int) -> None:
    p = stencils(count)
    image, out = random_pictures((1500, 1100), count, np.int16)
    q = scheduled(p, image, out, workers=workers)
    gives_the_same(p, q, image, out)
    held, before = q.memory(image, out, threads=workers).program_bytes, p.memory(image, out).program_bytes
    assert held * 5 < (1 + (workers > 1)) * before
    per_row = p.estimate(image, out).elements
    now = q.estimate(image, out, threads=workers).elements
    assert sum(now.values()) <= 1.05 * sum(per_row.values())
    if workers == 1:
        assert now == per_row


def test_line_buffers_of_a_chain_as_a_person_would_write_them() -> None:
    p = stencils(2)
    image, out = random_pictures((2048, 2048), 2, np.int16)
    q = scheduled(p, image, out)
    (height,) = {int(str(loop.step())) for loop in q.find_all("for _")}
    by_hand, split = sl.split_loop(p, "s2.y", height, rc=True)
    for name in ("s1", "add"):
        by_hand, func = sl.compute_at(by_hand, name, split.outer, rc=True)
        by_hand = sl.slide_window(by_hand, func.call, split.outer)
        by_hand = sl.fold_storage(by_hand, func.alloc, "y")
    assert q.memory(image, out).program_bytes <= by_hand.memory(image, out).program_bytes
    assert q.estimate(image, out).elements == by_hand.estimate(image, out).elements


def test_small_arrays_run_as_they_did() -> None:
    p = stencils(4)
    image, out = random_pictures((40, 40), 4, np.int16)
    assert scheduled(p, image, out) is p
    assert {d.computed for d in sl.explain(p).decisions} == {"at once"}


def test_loops_by_hand_stay() -> None:
    p = sl.split_loop(stencils(3), "s3.x", 7)
    image, out = random_pictures((1200, 1200), 3, np.int16)
    q = scheduled(p, image, out)
    assert "for x in out.x.min..out.x.max step 7:" in str(q)
    gives_the_same(p, q, image, out)


def twins() -> sl.Pipeline:
    """Two outputs that read the same intermediate."""
    image, soft, a, b = (sl.BufferExpr(name, np.int32, 2) for name in ("image", "soft", "a", "b"))
    sl.Func(add_1, [image[y, x]], [soft[y, x]], name="soften")
    for out, name in ((a, "first"), (b, "second")):
        sl.Func(blurred, [soft[sl.interval(y - 1, y + 1), x]], [out[y, x]], name=name)
    return sl.build_pipeline([image], [a, b])


def blurred(source: Array, target: Array) -> None:
    n = len(target)
    target[...] = source[:n] + 2 * source[1 : n + 1] + source[2 : n + 2]


@pytest.mark.parametrize("workers", [1, 2])
def test_two_outputs_over_one_intermediate_share_a_loop(workers: int) -> None:
    p = twins()
    image = np.random.default_rng(0).integers(0, 100, (1500, 900)).astype(np.int32)
    bounds = {"min": (1, 0)}
    outs = [sl.Buffer(np.zeros((1498, 900), np.int32), **bounds) for _ in range(2)]
    expected = [sl.Buffer(np.zeros((1498, 900), np.int32), **bounds) for _ in range(2)]
    q = scheduled(p, image, *outs, workers=workers)
    p(image, *expected)
    q.run(image, *outs, checked=True)
    for out, right in zip(outs, expected, strict=True):
        np.testing.assert_array_equal(out.array, right.array)
    assert [loop.name() for loop in q.find_all("for _")] == (["y"] if workers == 1 else ["y_outer", "y"])
    assert q.memory(image, *outs).program_bytes * 5 < p.memory(image, *outs).program_bytes
    assert q.estimate(image, *outs, threads=1).calls["soften"] > 1


def test_a_sum_never_holds_what_it_adds() -> None:
    image, squared = sl.BufferExpr("image", np.int64, 2), sl.BufferExpr("squared", np.int64, 2)
    total = sl.BufferExpr("total", np.int64, 0)
    sl.Func(np.square, [image[y, x]], [squared[y, x]], name="square")
    sl.reductions.sum(squared[:, :], total[()])
    p = sl.build_pipeline([image], [total])
    given_image = np.arange(2000 * 700).reshape(2000, 700) % 1000
    out = np.zeros((), np.int64)
    q = scheduled(p, given_image, out)
    q(given_image, out)
    assert out == np.square(given_image).sum()
    assert q.memory(given_image, out).program_bytes * 5 < p.memory(given_image, out).program_bytes


def test_whole_rows_are_taken_row_by_row() -> None:
    """Softmax along x: what reads whole rows goes by strips of rows."""
    image, top, shifted, out = (sl.BufferExpr(n, np.float32, r) for n, r in (("i", 2), ("t", 1), ("s", 2), ("o", 2)))
    sl.Func(lambda a, t: np.max(a, axis=1, out=t), [image[y, :]], [top[y]], name="largest")
    sl.Func(lambda a, t, o: np.subtract(a, t[:, None], out=o), [image[y, x], top[y]], [shifted[y, x]], name="shift")
    sl.Func(lambda s, o: np.exp(s, out=o), [shifted[y, x]], [out[y, x]], name="exp")
    p = sl.build_pipeline([image], [out], require=[sl.same_shape(image, out)])
    values, target = random_pictures((3000, 500), 0)
    q = scheduled(p, values, target)
    gives_the_same(p, q, values, target)
    assert [d.computed.split(" along ")[1] for d in sl.explain(q).decisions] == ["y", "y", "y"]


@functools.cache
def made_for_a_large_picture() -> tuple[sl.Pipeline, sl.Pipeline]:
    """A pipeline, not scheduled and scheduled."""
    p = stencils(3)
    made_for, _ = random_pictures((1503, 1103), 3, np.int16)
    return p, scheduled(p, made_for, sl.Buffer(np.zeros((1497, 1097), np.int16), min=(3, 3)), workers=2)


@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (7, 0), (13, 4000), (4001, 3)])
def test_odd_sizes(shape: tuple[int, int]) -> None:
    """A schedule made for some sizes is right for all others, and one can be made for any."""
    p, q = made_for_a_large_picture()
    image = np.random.default_rng(1).integers(0, 99, (shape[0] + 6, shape[1] + 6)).astype(np.int16)
    out = sl.Buffer(np.zeros(shape, np.int16), min=(3, 3))
    gives_the_same(p, q, image, out)
    gives_the_same(p, scheduled(p, image, out, machine=EAGER, workers=2), image, out)


# ----------------------------------------------------------------------------------------------------------------
# The same everywhere, and by primitives
# ----------------------------------------------------------------------------------------------------------------


def test_the_history_is_made_of_primitives_and_makes_the_program_again() -> None:
    p = examples.blur()
    values, out = random_pictures((100_000,), 1)
    q = scheduled(p, values, out, machine=attrs.evolve(LAPTOP, near_bytes=1 << 14, call_seconds=1e-7))
    text = str(q.history())
    assert "auto_schedule" not in text
    assert all(f"sl.{name}(" in text for name in ("split_loop", "compute_at", "slide_window", "fold_storage"))
    space = {"sl": sl, "p": p}
    exec(text, space)
    again = space["p"]
    assert isinstance(again, sl.Pipeline)
    assert again.same_program(q)


SCRIPT = """
import sys
sys.path.insert(0, "tests")
import numpy as np, slinky as sl
from scheduled import stencils
p = stencils(12)
out = sl.Buffer(np.zeros((1476, 876), np.int16), min=(12, 12))
q = sl.auto_schedule(p, (1500, 900), out, workers=2, machine=sl.Machine())
print(q)
print(sl.explain(q))
"""


def test_the_same_in_every_process() -> None:
    root = Path(__file__).parent.parent
    texts = set()
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], cwd=root, env=environment, capture_output=True, text=True, check=True
        )
        texts.add(done.stdout)
    assert len(texts) == 1


def test_cursors_to_the_loops() -> None:
    p = stencils(2)
    image, out = random_pictures((1500, 1100), 2, np.int16)
    q, record = scheduled(p, image, out, rc=True)
    assert record.loops == q.find_all("for _")
    assert isinstance(record, sl.AutoScheduleCursors)


# ----------------------------------------------------------------------------------------------------------------
# Memory
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [3_000_000, 400_000, 150_000, 60_000])
def test_memory_is_a_promise(most: int) -> None:
    p = stencils(4)
    image, out = random_pictures((1500, 1100), 4, np.int16)
    q = scheduled(p, image, out, workers=2, max_bytes=most)
    assert q.memory(image, out, threads=2).program_bytes <= most
    gives_the_same(p, q, image, out)


def test_too_little_memory_is_refused_by_name() -> None:
    p = stencils(4)
    image, out = random_pictures((300, 200), 4, np.int16)
    with pytest.raises(sl.SchedulingError) as caught:
        scheduled(p, image, out, max_bytes=100)
    message = str(caught.value)
    assert "no schedule was found that takes at most 100 bytes: the least is" in message
    assert all(name in message for name in ("add (", "s1 (", "s2 (", "s3 ("))


def test_what_a_group_holds_is_what_its_schedule_takes() -> None:
    """The bytes of the formula are those that the buffers of the loop take."""
    for count in (2, 3, 6):
        p = stencils(count)
        image, out = random_pictures((1500, 1100), count, np.int16)
        found = grouped(p, image, out)
        (group,) = found.groups
        q = scheduled(p, image, out)
        out_strip = group.choice.height * out.array.shape[1] * 2
        assert abs(group.choice.live - out_strip - q.estimate(image, out).program_bytes) < 0.01 * group.choice.live


# ----------------------------------------------------------------------------------------------------------------
# Groups
# ----------------------------------------------------------------------------------------------------------------


def grouped(p: sl.Pipeline, *arrays: object, machine: sl.Machine = LAPTOP, **scalars: Any) -> Grouping:
    return grouping.grouping(sl.relations(p, *arrays, **scalars), Aims(machine=machine))


@given(graphs(), st.sampled_from((1e-9, 1e-8, 1e-7, 1e-6)), st.sampled_from((64, 1024, 16384)))
@settings(max_examples=settings().max_examples * 2 // 3)
def test_few_calls_are_grouped_at_least_as_well_as_greedily(graph: Graph, call_seconds: float, near: int) -> None:
    p = build(graph)
    inputs, outputs = arguments(graph)
    machine = sl.Machine(
        near_bytes=near, shared_bytes=16 * near, near_bandwidth=1e10, memory_bandwidth=1e9, call_seconds=call_seconds
    )
    relations = sl.relations(p, *inputs, *outputs, **graph.scalars())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "FEW_CALLS", 0)
        patch.setattr(choices, "MEMORY_WORTH", 0.0)
        greedy = grouping.grouping(relations, Aims(machine=machine))
        patch.setattr(grouping, "FEW_CALLS", 8)
        best = total(grouping.grouping(relations, Aims(machine=machine)))
    assert best <= total(greedy) * (1 + 1e-6)
    assert total(greedy) <= greedy.unscheduled_seconds * (1 + 1e-6)


@given(
    graphs(),
    st.sampled_from((1e-9, 1e-7, 1e-5)),
    st.sampled_from((64, 1024, 16384)),
    st.sampled_from((1, 2, 5)),
    st.sampled_from((0.0, 500.0, float("inf"))),
)
@settings(max_examples=settings().max_examples * 2 // 3)
def test_heights_that_are_not_looked_at_are_not_better(
    graph: Graph, call_seconds: float, near: int, workers: int, most: float
) -> None:
    p = build(graph)
    inputs, outputs = arguments(graph)
    machine = sl.Machine(near_bytes=near, shared_bytes=16 * near, call_seconds=call_seconds)
    relations = sl.relations(p, *inputs, *outputs, **graph.scalars())
    aims = Aims(machine=machine, workers=workers, most_live=most)
    found = grouping.grouping(relations, aims)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choices, "_SURELY", float("inf"))  # nothing takes surely longer than another
        everything = grouping.grouping(relations, aims)
    assert [(g.lasts, g.members, g.choice) for g in found.groups] == [
        (g.lasts, g.members, g.choice) for g in everything.groups
    ]
    assert found.cost == everything.cost


@given(graphs(), st.sampled_from((1e-9, 1e-7, 1e-5)), st.sampled_from((1, 64, 1024)), st.sampled_from((0.0, 1e6)))
def test_memory_is_not_saved_by_taking_longer(graph: Graph, call_seconds: float, near: int, worth: float) -> None:
    """By the model; whatever memory is worth, it is worth no more than the time that is about as good."""
    p = build(graph)
    inputs, outputs = arguments(graph)
    machine = sl.Machine(near_bytes=near, shared_bytes=16 * near, call_seconds=call_seconds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choices, "MEMORY_WORTH", worth)
        found = sl.auto_schedule(p, *inputs, *outputs, machine=machine, workers=1, **graph.scalars())
    told = sl.explain(found)
    assert told.seconds <= told.unscheduled_seconds * choices.ABOUT_AS_GOOD * (1 + 1e-6)


def test_where_memory_is_bounded_nothing_else_is_asked_for() -> None:
    """What would take longer than the program as it was is the answer where that takes too much memory."""
    p = stencils(3)
    image, out = random_pictures((1500, 1100), 3, np.int16)
    dear = attrs.evolve(LAPTOP, call_seconds=0.1)
    assert scheduled(p, image, out, machine=dear) is p
    found = scheduled(p, image, out, machine=dear, max_bytes=200_000)
    assert found.memory(image, out).program_bytes <= 200_000
    assert sl.explain(found).seconds > choices.ABOUT_AS_GOOD * sl.explain(found).unscheduled_seconds


def total(found: Grouping) -> float:
    return sum(group.choice.seconds for group in found.groups)


def test_a_group_is_as_large_as_the_cache_makes_worth_it() -> None:
    """Where memory is as fast as the cache, nothing is gained by strips; where calls are dear, neither."""
    p = stencils(3)
    image, out = random_pictures((1500, 1100), 3, np.int16)
    even = attrs.evolve(LAPTOP, near_bandwidth=5e9, shared_bandwidth=5e9, memory_bandwidth=5e9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choices, "MEMORY_WORTH", 0.0)
        assert scheduled(p, image, out, machine=even) is p
    assert scheduled(p, image, out, machine=attrs.evolve(LAPTOP, call_seconds=10.0)) is p


@pytest.mark.parametrize(
    ("rate", "reads"),
    [
        (2.0, lambda: (sl.interval(2 * y, 2 * y + 1), x)),
        (0.5, lambda: (y // 2, x)),
        (1.0, lambda: (sl.interval(y - 2, y + 1), x)),
        (-1.0, lambda: (-y, x)),
    ],
)
def test_relations_find_rates(rate: float, reads: Any) -> None:
    inp, mid, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "mid", "out"))
    sl.Func(add_1, [inp[y, x]], [mid[y, x]], name="mid")
    sl.Func(add_1, [mid[reads()]], [out[y, x]], name="last")
    p = sl.build_pipeline([inp], [out])
    given_input = sl.Buffer(np.zeros((3000, 40), np.int32), min=(-1500, -5))
    found = sl.relations(p, given_input, sl.Buffer(np.zeros((400, 20), np.int32), min=(10, 0)))
    strips = next(s for s in found.calls[-1].strips if s.dim == "y")
    ((buffer, motion),) = strips.reads
    assert (buffer, motion.axis, motion.rate) == ("mid", 0, rate)
    low, high = motion.needs(100, 107)
    ends = {2.0: (200, 215), 0.5: (50, 53), 1.0: (98, 108), -1.0: (-107, -100)}[rate]
    assert (round(low), round(high + 0.01)) == ends


def test_relations_know_what_does_not_move() -> None:
    p = twins()
    none = sl.Buffer(np.zeros((0, 50), np.int32), min=(1, 0))
    whole = sl.relations(p, (100, 50), sl.Buffer(np.zeros((98, 50), np.int32), min=(1, 0)), none)
    assert [call.call.name() for call in whole.calls] == ["soften", "first", "second"]
    assert whole.calls[2].elements == 0
    assert whole.calls[2].strips == ()
    assert whole.outputs == {"a", "b"}


# ----------------------------------------------------------------------------------------------------------------
# Explained
# ----------------------------------------------------------------------------------------------------------------


def test_a_schedule_is_explained_call_by_call() -> None:
    p = stencils(2)
    image, out = random_pictures((2048, 1024), 2, np.int16)
    explanation = sl.explain(scheduled(p, image, out))
    lines = str(explanation).splitlines()
    assert lines[0].startswith("predicted for 1 worker: ")
    assert lines[1].split() == ["func", "computed", "stored", "because"]
    assert [line.split()[0] for line in lines[2:]] == ["add", "s1", "s2"]
    assert explanation.decisions[-1].reason == "it is one of the last"
    assert all(d.reason.startswith("saves ") for d in explanation.decisions[:-1])
    assert explanation.seconds < explanation.unscheduled_seconds
    assert explanation.program_bytes * 10 < explanation.unscheduled_bytes


def test_what_intermediates_take_is_counted_when_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[object] = []
    follow = estimates._follow

    def noted(follower: Any, program: Any, *more: Any) -> Any:
        counted.append(program)
        return follow(follower, program, *more)

    monkeypatch.setattr(estimates, "_follow", noted)
    p, shapes = stencils(2), ((2048, 1024), sl.Buffer(np.zeros((2044, 1020), np.int16), min=(2, 2)))
    q = scheduled(p, *shapes)
    assert counted == []
    explanation = sl.explain(q)
    again = pickle.loads(pickle.dumps(explanation))
    assert counted == [q.program, p.program]
    assert explanation.program_bytes == q.estimate(*shapes, threads=1).program_bytes
    assert explanation.unscheduled_bytes == p.estimate(*shapes, threads=1).program_bytes
    assert len(counted) == 4
    assert (again.program_bytes, again.unscheduled_bytes) == (explanation.program_bytes, explanation.unscheduled_bytes)


def test_what_does_not_move_stays_and_that_is_said() -> None:
    """A func of which every strip of its reader needs the whole is computed at once."""
    inp, mid, out = (sl.BufferExpr(name, np.int32, 2) for name in ("inp", "mid", "out"))
    sl.Func(add_1, [inp[y, x]], [mid[y, x]], name="mid")
    sl.Func(lambda a, o: np.copyto(o, a.max()), [mid[:, :]], [out[y, x]], name="last")
    p = sl.build_pipeline([inp], [out])
    explanation = sl.explain(scheduled(p, (4000, 1000), (4000, 1000)))
    first, last = explanation.decisions
    assert (first.computed, last.computed) == ("at once", "at once")
    assert first.reason == "it does not move with the strips of what reads it"


def test_only_what_was_scheduled_is_explained() -> None:
    with pytest.raises(sl.OperationError, match="not what auto_schedule returned"):
        sl.explain(examples.blur())
    with pytest.raises(sl.OperationError, match="expected a Pipeline, got int"):
        sl.explain(3)  # type: ignore[arg-type]
    by_itself, out = examples.blur().auto(), sl.Buffer(np.zeros(98, np.float32), min=(1,))
    with pytest.raises(sl.OperationError, match=r"sl\.explain\(p\.scheduled_for\(\*arrays\)\) explains the one for"):
        sl.explain(by_itself)
    assert sl.explain(by_itself.scheduled_for((100,), out)).decisions
    for_arrays = by_itself.auto((100,), out)
    assert type(for_arrays) is sl.Pipeline
    assert for_arrays.scheduled_for((100,), out) is for_arrays


# ----------------------------------------------------------------------------------------------------------------
# What is asked for
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be an integer of at least 1, got 0"),
        ({"workers": True}, "workers must be an integer of at least 1, got True"),
        ({"max_bytes": -1}, "max_bytes must be an integer of at least 0, got -1"),
        ({"max_bytes": 1.5}, "max_bytes must be an integer of at least 0, got 1.5"),
        ({"machine": "mine"}, "machine must be a Machine, got 'mine'"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sl.OperationError, match=message):
        sl.auto_schedule(examples.blur(), (10,), sl.Buffer(np.zeros(8, np.float32), min=(1,)), **options)
    with pytest.raises(sl.OperationError, match=message):
        examples.blur().auto(**options)


def test_arguments_that_a_run_refuses() -> None:
    with pytest.raises(sl.ArgumentError):
        scheduled(examples.blur(), (10,), (20,))
    with pytest.raises(sl.OperationError, match="auto_schedule: the first argument must be a Pipeline, got int"):
        sl.auto_schedule(3)  # type: ignore[arg-type]
    with pytest.raises(sl.OperationError, match="relations: the first argument must be a Pipeline, got int"):
        sl.relations(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), "fast", True])
def test_machines_that_make_no_sense(value: Any) -> None:
    with pytest.raises(sl.OperationError, match="Machine: call_seconds must be a number above 0"):
        sl.Machine(call_seconds=value)


def test_a_machine_is_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path / "kept"))
    first = sl.this_machine()
    (path,) = (tmp_path / "kept").glob("machine-*.json")
    cores = first.cores + 1
    other = attrs.evolve(first, cores=cores, product_threads=machines._product_threads(cores))
    code = "import slinky as sl; print(sl.this_machine())"
    path.write_text(path.read_text().replace(f'"cores": {first.cores}', f'"cores": {other.cores}'))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(other)


@pytest.mark.parametrize(
    ("said", "threads"),
    [({}, 4), ({"OMP_NUM_THREADS": "1"}, 1), ({"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "1"}, 2),
     ({"MKL_NUM_THREADS": "many"}, 4), ({"OMP_NUM_THREADS": "64"}, 4), ({"OMP_NUM_THREADS": "0"}, 4)],
)  # fmt: skip
def test_products_of_matrices_have_the_threads_that_the_environment_says(
    said: dict[str, str], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    assert machines._product_threads(4) == threads


MB = 1 << 20


@pytest.mark.parametrize(
    ("found", "held"),
    [
        ({MB: 60, 8 * MB: 27, 16 * MB: 27, 32 * MB: 26, 64 * MB: 25, 128 * MB: 18, 256 * MB: 17}, 64 * MB),
        ({MB: 60, 8 * MB: 27, 16 * MB: 12, 32 * MB: 25, 64 * MB: 10}, 8 * MB),  # one that is faster again is noise
        ({MB: 60, 8 * MB: 27, 16 * MB: 26, 32 * MB: 25, 64 * MB: 24}, 64 * MB),  # no level is told from the next
        ({MB: 60, 8 * MB: 10, 16 * MB: 11, 32 * MB: 12}, 32 * MB),
        ({MB: 60, 8 * MB: 20, 9 * MB: 5}, 8 * MB),
    ],
)
def test_what_the_last_level_holds_is_where_bandwidth_falls(found: dict[int, float], held: int) -> None:
    assert machines.held_by_the_last_level(found, 8 * MB) == held


def test_a_machine_that_is_told_of_a_large_cache_has_what_it_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "_cache_sizes", lambda: (MB, 480 * MB))
    monkeypatch.setattr(machines, "_seconds_of_a_call", lambda: 1e-6)
    asked = []

    def bandwidth(size: int, arrays: list[Any]) -> float:
        assert all(12 * len(array) >= size - 12 for array in arrays)
        asked.append(size)
        return 6e10 if size <= MB else 3e10 if size <= 40 * MB else 1e10

    monkeypatch.setattr(machines, "_bandwidth", bandwidth)
    machine = machines.measure()
    assert max(asked) == 256 * MB
    assert machine.shared_bytes == 32 * MB
    assert (machine.near_bandwidth, machine.shared_bandwidth, machine.memory_bandwidth) == (6e10, 3e10, 1e10)
    monkeypatch.setattr(machines, "_cache_sizes", lambda: (MB, 4 * MB))
    assert machines.measure().shared_bytes == 4 * MB  # never more than the system says


@pytest.mark.parametrize(
    ("near", "shared", "memory", "found"),
    [(6e10, 3e10, 1e10, (6e10, 3e10, 1e10)), (4e10, 6e10, 1e10, (6e10, 6e10, 1e10)),
     (4e10, 1e10, 2e10, (4e10, 2e10, 2e10)), (1e10, 2e10, 3e10, (3e10, 3e10, 3e10))],
)  # fmt: skip
def test_no_level_of_a_machine_is_slower_than_what_lies_behind(
    near: float, shared: float, memory: float, found: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machines, "_cache_sizes", lambda: (MB, 32 * MB))
    monkeypatch.setattr(machines, "_seconds_of_a_call", lambda: 1e-6)
    monkeypatch.setattr(
        machines, "_bandwidth", lambda size, _: near if size < MB else shared if size <= 32 * MB else memory
    )
    machine = machines.measure()
    assert (machine.near_bandwidth, machine.shared_bandwidth, machine.memory_bandwidth) == found


@pytest.mark.parametrize("text", ["", "[]", "{}x", '{"cores": 0}', '{"cores": "two"}', '{"what": 1}'])
def test_a_kept_machine_that_makes_no_sense_is_measured_again(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path))
    monkeypatch.setattr("slinky.sched.machines.measure", lambda: sl.Machine(cores=77))
    path = tmp_path / f"machine-{machines._MEASURED}-{machines._name()}.json"
    path.write_text(text)
    machines._this_machine.cache_clear()
    assert sl.this_machine().cores == 77
    assert '"cores": 77' in path.read_text()
    machines._this_machine.cache_clear()


def test_a_process_without_memory_to_measure_the_machine_goes_by_usual_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Traced functions of little arrays ended there with a `MemoryError`, under `ulimit -v`, say."""

    def ones(shape: Any, *options: Any) -> Any:
        raise MemoryError(shape)

    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path))
    monkeypatch.setattr(np, "ones", ones)
    for machine in (sl.this_machine(), machines.this_machine_for("native")):
        assert machine.shared_bytes == sl.Machine().shared_bytes
    assert not list(tmp_path.glob("machine*"))
    machines._this_machine.cache_clear()
    machines._this_machine_in_c.cache_clear()


# ----------------------------------------------------------------------------------------------------------------
# By itself
# ----------------------------------------------------------------------------------------------------------------


def test_a_pipeline_that_is_scheduled_at_its_first_run() -> None:
    p = stencils(3)
    q = p.auto(workers=1, machine=LAPTOP)
    assert isinstance(q, sl.AutoPipeline)
    assert repr(q).startswith("<AutoPipeline stencils(inp")
    assert str(q) == str(p)
    for shape in ((1500, 1100), (1400, 1050), (40, 30)):
        image, out = random_pictures(shape, 3, np.int16)
        gives_the_same(p, q, image, out)
    image, out = random_pictures((1500, 1100), 3, np.int16)
    assert q.scheduled_for(image, out).find_all("for _")
    assert q.scheduled_for((1400, 1050), sl.Buffer(np.zeros((1394, 1044), np.int16), min=(3, 3))) is q.scheduled_for(
        image, out
    )
    small = random_pictures((40, 30), 3, np.int16)
    assert not q.scheduled_for(*small).find_all("for _")
    assert q.memory(image, out).program_bytes == q.scheduled_for(image, out).memory(image, out).program_bytes
    assert q.estimate(image, out).calls["add"] > 1
    q.bind(image, out)()
    again = pickle.loads(pickle.dumps(stencils(1).auto(workers=1)))
    assert isinstance(again, sl.AutoPipeline)


def test_rewriting_it_gives_an_ordinary_pipeline() -> None:
    q = sl.split_loop(examples.blur().auto(workers=1, machine=LAPTOP), "blur.x", 8)
    assert type(q) is sl.Pipeline
    assert "for x" in str(q)


def test_a_graph_is_built_to_be_scheduled_by_itself() -> None:
    inp, mid, out = (sl.BufferExpr(name, np.int16, 2) for name in ("inp", "mid", "out"))
    sl.Func(add_1, [inp[y, x]], [mid[y, x]], name="one")
    last = sl.Func(add_1, [mid[y, x]], [out[y, x]], name="two")
    p = sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)], schedule="auto")
    assert isinstance(p, sl.AutoPipeline)
    values = np.arange(1200 * 1100).reshape(1200, 1100).astype(np.int16)
    np.testing.assert_array_equal(p(values), values + 2)
    last.loops([(y, 8)])
    by_hand = sl.build_pipeline([inp], [out], require=[sl.same_shape(inp, out)], schedule="auto")
    assert "for y in out.y.min..out.y.max step 8:" in str(by_hand)
    np.testing.assert_array_equal(by_hand(values), values + 2)


def test_with_arrays_it_is_auto_schedule() -> None:
    p = stencils(2)
    image, out = random_pictures((1500, 1100), 2, np.int16)
    assert str(p.auto(image, out, workers=1, machine=LAPTOP)) == str(scheduled(p, image, out))


def test_options_without_arrays() -> None:
    with pytest.raises(
        sl.OperationError, match="auto: without arrays it takes max_bytes, workers, machine, backend, got rows=3"
    ):
        examples.blur().auto(rows=3)


def test_a_concatenation_of_which_a_part_is_not_read_is_scheduled() -> None:
    """Nothing is read of that part, not less: an effort below nothing was no way to run it."""
    y, x = sl.variables("y x")
    a, b, joined, out = (sl.BufferExpr(name, np.int64, 2) for name in ("a", "b", "joined", "out"))
    sl.copies.concatenate([a, b, b], joined)
    sl.Func(np.negative, [joined[y, x]], [out[y, x]], name="negative")
    p = sl.build_pipeline([a, b], [out], alias=False)
    shapes = ((4, 4), (4, 4), (1, 4))
    shown = sl.relations(p, *shapes).calls[0].shapes
    assert shown == ((1, 4), (0, 4), (0, 4))
    assert isinstance(sl.auto_schedule(p, *shapes, machine=LAPTOP), sl.Pipeline)
