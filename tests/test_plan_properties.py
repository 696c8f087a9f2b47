"""Plans and the interpreter do the same, for any graph and any schedule: results, statistics, calls in order."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from handmade import by_the_program
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, arguments, build, expected, graphs, many_dimensions
from random_schedules import Chain

import slinky as sl
from slinky.runtime import arena, mirrored, storage


def is_parallel(pipeline: sl.Pipeline) -> bool:
    return " parallel" in str(pipeline)


def run(graph: Graph, pipeline: sl.Pipeline, backend: str) -> tuple[sl.RunStatistics, list[tuple[Any, ...]]]:
    """Run on new arrays, compare them with what they must be, and return the statistics and what happened."""
    events: list[tuple[Any, ...]] = []
    hooks = sl.Hooks(
        call_begin=lambda *what: events.append(("begin", *what)),
        call_end=lambda *what: events.append(("end", *what)),
        allocate=lambda *what: events.append(("allocate", *what)),
        free=lambda *what: events.append(("free", *what)),
    )
    inputs, outputs = arguments(graph)
    statistics = pipeline.run(*inputs, *outputs, backend=backend, hooks=hooks, threads=3, **graph.scalars())
    compare(graph, inputs, outputs)
    return statistics, events


def compare(graph: Graph, inputs: list[sl.Buffer], outputs: list[sl.Buffer]) -> None:
    right = expected(graph)
    for name, buffer in zip((*graph.inputs, *graph.outputs), (*inputs, *outputs), strict=True):
        np.testing.assert_array_equal(buffer.array, right[name], err_msg=f"buffer {name}")


def ring_wherever_possible(dtype: np.dtype, shape: tuple[int, ...], dim: int, factor: int) -> int | None:
    """In place of `storage.ring_size`, which leaves small buffers unfolded."""
    row = storage.row_bytes(dtype, shape, dim)
    return mirrored.whole_pages(factor * row) if row and mirrored.available() else None


def switching(seed: int) -> sl.Hooks:
    """Let other threads go on between one call and the next, now and then: what they share shows."""
    choose = random.Random(seed)

    def pause(*_: object) -> None:
        if choose.random() < 0.2:
            time.sleep(1e-4)

    return sl.Hooks(call_begin=pause, call_end=pause)


@pytest.mark.long
@given(
    st.one_of(graphs(max_stages=5), graphs(max_stages=5), graphs(max_stages=5), many_dimensions(max_stages=2)),
    st.integers(0, 2**32),
    st.integers(0, 16),
    st.booleans(),
)
@settings(max_examples=settings().max_examples * 2)
def test_plan_and_interpreter_agree(graph: Graph, seed: int, steps: int, rings: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if rings:
            patch.setattr(storage, "ring_size", ring_wherever_possible)
            patch.setattr(arena, "ring_size", ring_wherever_possible)
        check_agreement(graph, seed, steps)


def check_agreement(graph: Graph, seed: int, steps: int) -> None:
    chain = Chain(build(graph), random.Random(seed).choice)
    for _ in range(steps):
        chain.step()
    pipeline = chain.pipeline
    right, events_of_interpreter = run(graph, pipeline, "interpreter")
    found, events = run(graph, pipeline, "python")

    for _ in range(2):
        inputs, outputs = arguments(graph)
        pipeline(*inputs, *outputs, **graph.scalars())
        compare(graph, inputs, outputs)

    inputs, outputs = arguments(graph)
    bound = pipeline.bind(*inputs, *outputs, **graph.scalars())
    assert all((buffer.array == -1).all() for buffer in outputs)
    for _ in range(3):
        for buffer in outputs:
            buffer.array[...] = -1
        bound()
        compare(graph, inputs, outputs)

    inputs, outputs = arguments(graph)
    promised = pipeline.memory(*inputs, *outputs, threads=3, **graph.scalars())
    assert all((buffer.array == -1).all() for buffer in outputs)
    if is_parallel(pipeline):
        # How the iterations overlap is chance; everything else is not.
        assert Counter(events) == Counter(events_of_interpreter)
        assert (found.calls, found.elements, found.allocations) == (right.calls, right.elements, right.allocations)
        assert max(found.program_bytes, right.program_bytes) <= promised.program_bytes
        assert found.peak_bytes <= promised.peak_bytes
        inputs, outputs = arguments(graph)
        pipeline.run(*inputs, *outputs, hooks=switching(seed), threads=3, **graph.scalars())
        compare(graph, inputs, outputs)
    else:
        assert events == events_of_interpreter
        assert by_the_program(found) == by_the_program(right)
        assert sl.Memory(found.program_bytes, found.peak_bytes) == promised
