"""The cyclic garbage collector waits while programs and plans are made, and is as it was afterwards."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from test_forks import Child

import slinky as sl
from slinky.runtime import collector
from slinky.runtime import plan as plans
from slinky.runtime.collector import collector_paused

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


@pytest.fixture(autouse=True)
def collector_on() -> Iterator[None]:
    """Tests begin with the collector on, and end with it as it was, whatever they find."""
    was_on = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was_on else gc.disable)()


def graph(length: int = 3) -> tuple[sl.BufferExpr, sl.BufferExpr]:
    """The ends of a chain of funcs."""
    (x,) = sl.variables("x")
    buffers = [sl.BufferExpr(f"b{k}", np.float32, rank=1) for k in range(length + 1)]
    for k in range(length):
        sl.Func(np.negative, [buffers[k][x]], [buffers[k + 1][x]], name=f"f{k}")
    return buffers[0], buffers[-1]


def pipeline(length: int = 3) -> sl.Pipeline:
    """The chain as a pipeline."""
    first, last = graph(length)
    return sl.build_pipeline([first], [last])


def watched(monkeypatch: pytest.MonkeyPatch, while_made: Callable[[], None]) -> None:
    """Have something done in the middle of the making of plans."""
    make = plans.plan_tree

    def made(*given: Any) -> Any:
        while_made()
        return make(*given)

    monkeypatch.setattr(plans, "plan_tree", made)


def collections(work: Callable[[], object]) -> int:
    """How often the collector ran while some work was done."""
    found: list[str] = []

    def note(phase: str, _: dict[str, int]) -> None:
        found.append(phase)

    gc.callbacks.append(note)
    try:
        kept = work()
    finally:
        gc.callbacks.remove(note)
    del kept
    return found.count("start")


@pytest.fixture
def nothing_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the tests have frozen is not, for one of them, and was never seen to be."""
    monkeypatch.setattr(collector, "_pauses", collector._Pauses())
    gc.unfreeze()
    gc.collect()
    yield
    gc.freeze()


def test_it_does_not_look_at_what_was_made_just_because_it_is_new(nothing_frozen: None) -> None:
    first, last = graph(400)
    made: list[sl.Pipeline] = []
    gc.collect()
    assert collections(lambda: made.append(sl.build_pipeline([first], [last]))) == 0
    assert not gc.get_freeze_count()


def test_cycles_that_were_left_while_it_waited_are_found(nothing_frozen: None) -> None:
    class Node:
        """Something that can be watched, and points to itself."""

    with collector_paused():
        node = Node()
        vars(node)["itself"] = node
        watch = weakref.ref(node)
        del node
    assert watch() is not None
    gc.collect()
    assert watch() is None


def test_what_somebody_froze_stays_frozen(nothing_frozen: None) -> None:
    kept: list[list[object]] = [[] for _ in range(100)]
    gc.freeze()
    pipeline()
    assert {id(each) for each in gc.get_objects()}.isdisjoint(map(id, kept))


def test_what_is_frozen_is_counted_once(nothing_frozen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes as long as there is much of it."""
    counted: list[int] = []

    def count() -> int:
        counted.append(1)
        return 1

    gc.freeze()
    monkeypatch.setattr(gc, "get_freeze_count", count)
    for _ in range(3):
        pipeline()
    assert len(counted) == 1


def test_it_looks_at_no_program_and_no_plan_that_is_being_made() -> None:
    first, last = graph(400)
    made: list[sl.Pipeline] = []
    assert collections(lambda: [object.__new__(sl.Pipeline) for _ in range(20_000)]) > 0, "so many objects call it"
    gc.collect()
    assert collections(lambda: made.append(sl.build_pipeline([first], [last]))) <= 1  # behind the making
    gc.collect()
    assert collections(made[0].compile) <= 1


@pytest.mark.parametrize("was_on", [True, False])
def test_it_is_as_it_was_afterwards(was_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    watched(monkeypatch, lambda: seen.append(gc.isenabled()))
    (gc.enable if was_on else gc.disable)()
    p = pipeline()
    assert gc.isenabled() is was_on
    p.compile()
    assert seen == [False]
    assert gc.isenabled() is was_on


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, sl.ExecutionError])
def test_it_is_as_it_was_where_the_making_ends_early(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise error

    with monkeypatch.context() as patch:
        watched(patch, fail)
        p = pipeline()
        with pytest.raises(error):
            p.compile()
        assert gc.isenabled()
    assert p(np.ones(3, np.float32), np.empty(3, np.float32)).tolist() == [-1, -1, -1]
    assert gc.isenabled()


def test_it_is_as_it_was_where_no_program_is_made() -> None:
    (x,) = sl.variables("x")
    a, b = sl.BufferExpr("a", np.float32, 1), sl.BufferExpr("b", np.float32, 1)
    sl.Func(np.negative, [a[x]], [b[x]], name="f")
    with pytest.raises(sl.GraphError):
        sl.build_pipeline([b], [a])
    assert gc.isenabled()


def test_it_waits_until_the_last_of_several_threads_has_made_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    both, first_is_done = threading.Barrier(2, timeout=60), threading.Event()
    seen: list[bool] = []
    here = threading.current_thread()

    def meet() -> None:
        both.wait()
        if threading.current_thread() is here:
            return
        assert first_is_done.wait(60)
        seen.append(gc.isenabled())

    watched(monkeypatch, meet)
    p, q = pipeline(), pipeline()
    other = threading.Thread(target=q.compile)
    other.start()
    p.compile()
    first_is_done.set()
    other.join(60)
    assert seen == [False]
    assert gc.isenabled()


@forks
def test_a_child_collects_though_another_thread_of_its_parent_was_making_a_plan() -> None:
    is_paused, may_end = threading.Event(), threading.Event()

    def pause() -> None:
        with collector_paused():
            is_paused.set()
            may_end.wait(60)

    other = threading.Thread(target=pause)
    other.start()
    assert is_paused.wait(60)
    try:
        Child(lambda: _require(gc.isenabled())).succeeds()
        assert not gc.isenabled()
    finally:
        may_end.set()
        other.join(60)
    assert gc.isenabled()


@forks
def test_a_child_that_is_forked_within_goes_on_where_its_parent_was() -> None:
    def within() -> None:
        _require(not gc.isenabled())

    with collector_paused():
        Child(within).succeeds()
    assert gc.isenabled()


def _require(holds: bool) -> None:
    if not holds:
        raise AssertionError


class Held:
    """An object with an array, and methods that read it, set it and write to it."""

    def __init__(self) -> None:
        self.values = np.ones((3, 4))

    def twice(self) -> Any:
        """Reads."""
        return self.values * 2 + 1

    def set(self) -> None:
        """Sets another array."""
        self.values = self.values[::-1] * 2

    def add(self) -> None:
        """Writes to the array."""
        self.values += 1


@pytest.mark.parametrize("call", [Held.twice, Held.set, Held.add, lambda held: [held.values[1:], held.values.sum()]])
def test_traces_of_functions_that_keep_nothing_do_not_go_through_all_objects(
    call: Callable[[Held], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def collect(*_: Any) -> int:
        pytest.fail("the collector was asked to look at all that there is")

    held, want = Held(), Held()
    with monkeypatch.context() as patched:
        patched.setattr(gc, "collect", collect)
        found = sl.jit(call, smallest=0)(held)
    np.testing.assert_equal(found, call(want))
    np.testing.assert_equal(held.values, want.values)
