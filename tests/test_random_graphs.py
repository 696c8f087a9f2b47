"""Any graph gives what its callbacks give by hand, computes what it must and no more, and stays inside its arrays."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import random_graphs
from handmade import by_the_program
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, are_enough, arguments, boxes, build, graphs, many_dimensions, run_and_compare, volume

import slinky as sl


@pytest.mark.long
@given(st.one_of(graphs(), graphs(), graphs(), many_dimensions()))
@settings(max_examples=settings().max_examples * 4)
def test_result_equals_running_the_callbacks_by_hand(graph: Graph) -> None:
    pipeline = build(graph)
    pipeline.verify()
    statistics = run_and_compare(graph, pipeline)
    bounds = boxes(graph)
    assert statistics.elements == {name: volume(box) for name, box in bounds.funcs.items()}
    assert statistics.calls == {name: int(volume(box) > 0) for name, box in bounds.funcs.items()}
    assert statistics.allocations == len(bounds.buffers) - len(graph.inputs) - len(graph.outputs)
    if graph.limited() and graph.seed % 2 == 0:
        assert run_and_compare(graph, build(graph, alias=True)).bytes_copied <= statistics.bytes_copied
    expected = by_the_program(statistics)
    assert by_the_program(run_and_compare(graph, pipeline, checked=False)) == expected
    assert by_the_program(run_and_compare(graph, pipeline, checked=False, backend="interpreter")) == expected


def smaller_by_one(buffer: sl.Buffer, d: int, from_below: bool) -> sl.Buffer:
    """The buffer without the first or last place of a dimension."""
    kept = slice(1, None) if from_below else slice(None, -1)
    array = buffer.array[(slice(None),) * d + (kept,)]
    lo = tuple(first + 1 if from_below and k == d else first for k, first in enumerate(buffer.min))
    return sl.Buffer(array, min=lo)


@given(graphs())
def test_an_input_smaller_than_what_is_read_is_refused(graph: Graph) -> None:
    """Checks are exact: what is read suffices (see the test above), and one place less does not."""
    inputs, outputs = arguments(graph)
    names = list(graph.inputs)
    pipeline = build(graph)
    given = {
        name: tuple(zip(array.min, array.max, strict=True))
        for name, array in zip((*names, *graph.outputs), (*inputs, *outputs), strict=True)
    }
    for (name, d), (lo, hi) in boxes(graph).needed.items():
        if name not in names or lo > hi:
            continue
        at = names.index(name)
        for from_below in (True, False):
            short = inputs[at]
            while short.min[d] <= lo and short.max[d] >= hi:
                short = smaller_by_one(short, d, from_below)
            if are_enough(graph, {**given, name: tuple(zip(short.min, short.max, strict=True))}):
                continue  # what is read depends on how large the inputs are
            with pytest.raises(sl.CheckFailedError):
                pipeline.run(*inputs[:at], short, *inputs[at + 1 :], *outputs, **graph.scalars())
    assert all((output.array == -1).all() for output in outputs)


@given(st.one_of(graphs(), many_dimensions()))
def test_a_graph_can_be_made_again_from_its_repr(graph: Graph) -> None:
    again = eval(repr(graph), vars(random_graphs))
    assert again == graph
    assert str(build(again)) == str(build(graph))
    for one, other in zip(arguments(graph)[0], arguments(again)[0], strict=True):
        np.testing.assert_array_equal(one.array, other.array)
        assert one.min == other.min
        assert one.array.strides == other.array.strides


@given(graphs())
def test_a_graph_is_not_changed_by_being_built_and_run(graph: Graph) -> None:
    before = copy.deepcopy(graph)
    pipeline = build(graph)
    text = str(pipeline)
    run_and_compare(graph, pipeline)
    run_and_compare(graph, pipeline)
    assert graph == before
    assert str(pipeline) == text
