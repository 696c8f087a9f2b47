"""`default_schedule`: where producers stand, given the loops of those who read them. Never refused, never wrong."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, build, graphs, image_graphs, run_and_compare

import slinky as sl


def with_loops(data: st.DataObject, p: sl.Pipeline) -> sl.Pipeline:
    """The pipeline with loops around some of its calls, serial and parallel ones."""
    calls = p.find_all("_ = _")
    for call in data.draw(st.lists(st.sampled_from(calls), max_size=2, unique=True)) or calls[-1:]:
        dims = p.forward(call).dims()
        for dim in data.draw(st.lists(st.sampled_from(dims), max_size=2, unique=True)) if dims else ():
            step, workers = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([0, 0, None, 2]))
            try:
                new, split = sl.split_loop(p, dim, step, rc=True)
                p = new if workers == 0 else sl.parallelize_loop(new, split.outer, workers)
            except sl.SchedulingError:
                continue
    return p


def sizes_in(graph: Graph, p: sl.Pipeline) -> dict[str, int]:
    """The largest size of each buffer that is allocated in a checked run, which is compared."""
    sizes: dict[str, int] = {}

    def allocate(buffer: str, size: int) -> None:
        sizes[buffer] = max(sizes.get(buffer, 0), size)

    run_and_compare(graph, p, hooks=sl.Hooks(allocate=allocate))
    return sizes


@given(st.one_of(graphs(), image_graphs()), st.data())
@settings(max_examples=settings().max_examples // 3)
def test_gives_the_same_and_computes_no_more_in_serial_loops(graph: Graph, data: st.DataObject) -> None:
    plain = build(graph)
    p = with_loops(data, plain)
    found, placed = sl.default_schedule(p, rc=True)
    found.verify()
    before, after = sizes_in(graph, p), sizes_in(graph, found)
    run_and_compare(graph, found, checked=False)
    if all(loop.workers() is None for loop in p.find_all("for _")):
        # Each by itself: what lived one after the other before may be needed at the same time in a loop, where windows
        # of a tiny picture are all of it.
        assert all(size <= before[buffer] for buffer, size in after.items())
    again: dict[str, Any] = {"p": p}
    exec(str(found.history()), again) if found is not p else None
    assert placed.calls == tuple(found.forward(call) for call in placed.calls)
