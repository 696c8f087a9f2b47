"""Loops that ask for a value in each iteration: what they compute is known again, moves to C, and is held no longer."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from simulations import OPTIONS, around, field, heat
from traced import PIECES, assert_same, jit

import slinky as sl
from slinky.frontend import tracing
from slinky.frontend.legs import InLegs
from slinky.frontend.nodes import Source
from slinky.frontend.tracing import computed_whole


def settled(u: Any, most: float) -> Any:
    count = 0
    while True:
        new = u + 0.25 * around(u)
        change = np.abs(new - u).max()
        u = new
        count += 1
        if change < most or count >= 40:
            return u, count


@pytest.fixture
def forced() -> Iterator[None]:
    with pytest.warns(sl.ForcedValueWarning):
        yield


@pytest.mark.usefixtures("quick_libraries", "forced")
@pytest.mark.parametrize("options", OPTIONS)
def test_loops_that_ask_for_values_know_their_graphs(options: dict[str, Any]) -> None:
    traced = jit(settled, **options)
    for shape in ((97, 95), (120, 90), (97, 95), (1, 6)):
        assert_same(traced(field(*shape), 0.01), settled(field(*shape), 0.01))
    assert len(traced._forced._known) <= 3  # for three shapes, of which one is small


@needs_compiler
@pytest.mark.usefixtures("moves_at_once", "forced")
@pytest.mark.skipif(os.name != "posix", reason="as of other tests of this")
def test_loops_that_ask_for_values_move_to_c() -> None:
    traced = jit(settled, native=None, machine=PIECES)
    want = settled(field(140, 130), 1e-9)
    assert_same(traced(field(140, 130), 1e-9), want)
    assert traced.wait_native()
    assert any(getattr(link.plan, "runs_c", False) for link in traced._forced._known.values())
    assert_same(traced(field(140, 130), 1e-9), want)


@pytest.mark.usefixtures("forced")
def test_loops_that_ask_for_values_keep_no_arrays() -> None:
    def longer(u: Any, steps: int) -> Any:
        for _ in range(steps):
            u = u + 0.25 * around(u)
            if u.max() > 1e6:
                break
            u = u - u.__array__() / 2
        return u

    traced = jit(longer)
    array = field(90, 100)
    assert_same(traced(array, 3), longer(array, 3))
    tracemalloc.start()
    assert_same(traced(array, 60), longer(array, 60))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 30 * array.nbytes  # 60 iterations have two arrays each


@pytest.mark.usefixtures("forced")
def test_many_steps_between_two_questions_are_stretches() -> None:
    def checked(u: Any, steps: int) -> Any:
        for step in range(steps):
            u = heat(u, 1)
            if step % 40 == 39 and u.max() > 1e6:
                break
        return u

    traced = jit(checked, machine=PIECES)
    array = field(90, 100)
    for _ in range(2):
        assert_same(traced(array, 130), checked(array, 130))
    assert [type(known) for known in traced._forced._known.values()] == [InLegs]
    assert "for values, 120 times, a stretch of 8 operations" in traced.explain(array, 130)
    assert_same(traced(field(80, 120), 130), checked(field(80, 120), 130))

    def unlike(u: Any, steps: int) -> Any:
        found = u
        for step in range(steps):
            found = np.sort(found[step % 7 :: step + 1], axis=1)[:1] + np.sort(u, axis=0)
        return found if found.max() > 0 else u

    traced = jit(unlike)
    assert_same(traced(array, 230), unlike(array, 230))
    assert list(traced._forced._known.values()) == [None]


@pytest.mark.usefixtures("forced")
def test_what_was_asked_for_and_is_held_is_computed_once() -> None:
    computed = []

    def noted(a: Any) -> Any:
        computed.append(a.shape)
        return np.sort(a, axis=0)

    own = sl.rowwise(axis=0)(noted)

    def function(u: Any) -> Any:
        ordered = own(u)
        whole = np.asarray(ordered)
        if whole[0, 0] > 0:
            return ordered
        return ordered + whole[-1]

    assert_same(jit(function)(field(6, 5)), np.sort(field(6, 5), axis=0) + np.sort(field(6, 5), axis=0)[-1])
    assert len(computed) <= 2  # to see what comes of it, and for the values


def test_what_is_computed_whole_is_held_as_long_as_it_is_needed() -> None:
    def parts(u: Any) -> Any:
        whole, _rest = np.divmod(np.sort(u + 1, axis=0), 2)
        return np.cumsum(whole, axis=0), u * 3

    traced = jit(parts)
    trace, _ = traced._asked((field(6, 7),), {})
    (argument,) = (node for node in trace.nodes if isinstance(node.operation, Source))
    argument.operation = Source(field(6, 7))
    wanted = [view.result for view in trace.outputs]
    values = computed_whole(trace.nodes, wanted)
    assert set(values) == set(wanted)
    for result, want in zip(wanted, parts(field(6, 7)), strict=True):
        np.testing.assert_array_equal(values[result], want, strict=True)


def test_a_list_of_elements_is_computed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each comes of what the one before comes of: to compute them one by one took the square of the steps."""

    def collected(u: Any, steps: int) -> Any:
        sums = []
        for _ in range(steps):
            u = u + 0.25 * around(u)
            sums.append((u.sum(), u.max()))
        return np.array(sums)

    computed, found = [], tracing.computed
    monkeypatch.setattr(tracing, "computed", lambda views, trace: computed.append(len(views)) or found(views, trace))
    array = field(30, 40)
    with pytest.warns(sl.ForcedValueWarning):
        np.testing.assert_allclose(jit(collected)(array, 50), collected(array, 50))
    assert computed[0] == 100
