"""Any chain of primitives on any graph: the same results, memory as the program says, cursors that hold, and no old
version changed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from judge_hook import resting
from promised_memory import promised_bytes
from random_chains import NothingToDoError
from random_graphs import Graph, arguments, build, graphs, image_graphs, many_dimensions, run_and_compare
from random_schedules import Chain
from refusals import NOT_LISTED, note_refusal
from scheduled import by_rows, picture, stencil

import slinky as sl
from slinky.cursors.editing import Edit
from slinky.ir.copies import with_mode
from slinky.ir.statements import Alloc, Call, Parallel
from slinky.runtime import interpreter
from slinky.symbolic.expressions import metadata
from slinky.symbolic.intervals import Interval

APPLIED: Counter[str] = Counter()
REFUSED: Counter[str] = Counter()


@given(st.one_of(image_graphs(), image_graphs(), graphs(max_stages=5)), st.integers(0, 2**32), st.integers(1, 20))
@settings(max_examples=settings().max_examples * 4)
def schedules_change_nothing_but_the_order(graph: Graph, seed: int, steps: int) -> None:
    schedule_and_compare(graph, seed, steps)


@pytest.mark.long
@pytest.mark.draws
def test_random_schedules_change_nothing_but_the_order() -> None:
    """And half of their steps apply; what refuses the others stands in the help of the primitives."""
    schedules_change_nothing_but_the_order()
    assert APPLIED.total() >= REFUSED.total(), (APPLIED, REFUSED)
    assert not NOT_LISTED


@given(many_dimensions(), st.integers(0, 2**32), st.integers(1, 8))
@settings(max_examples=settings().max_examples // 3)
def test_random_schedules_of_many_dimensions_change_nothing_but_the_order(graph: Graph, seed: int, steps: int) -> None:
    schedule_and_compare(graph, seed, steps)
    assert not NOT_LISTED


def schedule_and_compare(graph: Graph, seed: int, steps: int) -> None:
    """Apply random primitives, compare what the results compute, and look at every refusal."""
    p = build(graph, alias=seed % 2 == 0)
    outputs = zip(p.program.outputs, arguments(graph)[1], strict=True)
    shapes = {parameter.name: tuple(map(sl.interval, buffer.min, buffer.max)) for parameter, buffer in outputs}
    chain = Chain(p, random.Random(seed).choice, shapes=shapes, prepares=True)
    for _ in range(steps):
        chain.step()
    APPLIED.update(chain.applied)
    REFUSED.update(chain.refused)
    run_and_compare(graph, chain.pipeline)
    run_and_compare(graph, random.Random(seed).choice(chain.versions)[0])
    chain.check_old_versions()
    for error in chain.errors:
        note_refusal(error)
        assert error.operation.isidentifier()
        assert str(error).startswith(f"{error.operation}: ")


# ----------------------------------------------------------------------------------------------------------------
# Parallel loops
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.long
@given(st.one_of(image_graphs(), graphs(max_stages=5)), st.integers(0, 2**32), st.integers(2, 20))
def test_iterations_of_parallel_loops_may_run_in_any_order(graph: Graph, seed: int, steps: int) -> None:
    """Threads overlap by chance, so that a race shows now and then. Iterations run backwards, or shuffled, show at once
    that one needs what another writes: checked mode then reads what is not there. And in any order it finds what two
    iterations write, or one writes and another reads, even if the values are right."""
    draw = random.Random(seed)
    chain = Chain(build(graph), draw.choice)
    chain.primitives["parallelize_loop"] = (chain.primitives["parallelize_loop"][0], 15)
    for _ in range(steps):
        chain.step()
    in_order = interpreter.run_parallel

    def shuffled(iterations: Sequence[int], body: Callable[[int], None], workers: int) -> None:
        in_order(draw.sample(iterations, len(iterations)), body, 1)

    def backwards(iterations: Sequence[int], body: Callable[[int], None], workers: int) -> None:
        in_order(iterations[::-1], body, 1)

    for order in (backwards, shuffled):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(interpreter, "run_parallel", order)
            run_and_compare(graph, chain.pipeline)


def test_iterations_in_another_order_show_a_dependence() -> None:
    """The check above finds what it is for: a loop whose iterations need each other, marked parallel by force."""
    p, loop, _ = by_rows(stencil())
    edit = Edit(p._version)
    edit.update(with_mode(loop._loop, Parallel()))
    lie = sl.Pipeline(edit.finish("parallelize_by_force"))
    source, target = picture(10, 7, 1)
    with pytest.raises(sl.RaceError):
        lie.run(source, target, checked=True, threads=1)
    in_order = interpreter.run_parallel
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "run_parallel", lambda iterations, body, _: in_order(iterations[::-1], body, 1))
        with pytest.raises(sl.ExecutionError):
            lie.run(source, target, checked=True, threads=1)


# ----------------------------------------------------------------------------------------------------------------
# Memory
# ----------------------------------------------------------------------------------------------------------------


THREADS = 2


@pytest.mark.long
@given(image_graphs(), st.integers(0, 2**32), st.integers(1, 20))
def test_memory_is_within_what_the_program_says(graph: Graph, seed: int, steps: int) -> None:
    chain = Chain(build(graph), random.Random(seed).choice)
    for _ in range(steps):
        chain.step()
    program = chain.pipeline.program
    values: dict[Any, int] = {sl.scalar(name): value for name, value in graph.scalars().items()}
    inputs, outputs = arguments(graph)
    for parameter, buffer in zip((*program.inputs, *program.outputs), (*inputs, *outputs), strict=True):
        for d, (lo, hi) in enumerate(zip(buffer.min, buffer.max, strict=True)):
            values[metadata(parameter.name, d, "min")] = lo
            values[metadata(parameter.name, d, "max")] = hi
    statistics = run_and_compare(graph, chain.pipeline, threads=THREADS)
    assert statistics.program_bytes <= promised_bytes(program, values, THREADS)


# ----------------------------------------------------------------------------------------------------------------
# The property finds what it is for
# ----------------------------------------------------------------------------------------------------------------


def forget_all_but_the_last_row(chain: Chain) -> sl.Pipeline:
    """A primitive that lies: like a slide, but it asks nobody whether the rest was produced before."""
    call, _ = chain.call_and_loop_around()
    version = chain.pipeline._version
    old = version.statement(call._id)
    assert isinstance(old, Call)
    edit = Edit(version)
    edit.update(attrs.evolve(old, box=tuple(Interval(i.max, i.max) for i in old.box)))
    return sl.Pipeline(edit.finish("forget_all_but_the_last_row"))


def store_half(chain: Chain) -> sl.Pipeline:
    """A primitive that lies: it folds by half of what is live."""
    alloc = chain.pick("alloc _")
    if not alloc.dims():
        raise NothingToDoError
    version = chain.pipeline._version
    old = version.statement(alloc._id)
    assert isinstance(old, Alloc)
    edit = Edit(version)
    half = sl.maximum(old.box[0].extent // 2, 1)
    edit.update(attrs.evolve(old, folds=(half, *old.folds[1:])))
    return sl.Pipeline(edit.finish("store_half"))


@pytest.mark.parametrize("lie", [forget_all_but_the_last_row, store_half])
def test_an_unsound_primitive_is_caught_within_200_examples(lie: Any) -> None:
    class CaughtError(Exception):
        """The first wrong result; there is no need to look for others."""

    @settings(max_examples=200, database=None, derandomize=True, phases=[Phase.generate], report_multiple_bugs=False)
    @given(image_graphs(), st.integers(0, 2**32))
    def property_holds(graph: Graph, seed: int) -> None:
        chain = Chain(build(graph), random.Random(seed).choice)
        chain.primitives["a lie"] = (lie, 20)
        with resting():
            for _ in range(12):
                chain.step()
        try:
            run_and_compare(graph, chain.pipeline)
        except (AssertionError, sl.ExecutionError) as error:
            raise CaughtError from error

    with pytest.raises(CaughtError):
        property_holds()
