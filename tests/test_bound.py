"""Bound pipelines: arguments that are checked once, and runs that do the rest."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from planned import chain, in_pieces
from scheduled import by_rows, picture, stencil
from test_plan_source import AT_ORIGIN

import slinky as sl
from slinky.runtime.codegen.generator import Kind


def test_a_bound_pipeline_runs_on_its_arrays_as_often_as_wanted() -> None:
    p, _, _ = by_rows(stencil())
    inp, out = picture(9, 7, 1)
    run = p.bind(inp, out)
    assert not out.array.any()
    for shift in (0, 5, -3):
        inp.array += shift
        right = picture(9, 7, 1)[1]
        p(inp, right)
        assert run() is out
        np.testing.assert_array_equal(out.array, right.array)


def test_what_it_prints() -> None:
    a, b = np.zeros(3), np.zeros(3)
    assert repr(chain(np.negative).bind(a, b)) == (
        "<BoundPipeline f0(b0=Buffer(float64[0..2]), b1=Buffer(float64[0..2]))>"
    )


def test_what_does_not_change_between_runs_is_computed_once() -> None:
    p = in_pieces(chain(np.negative, np.square), 2, 16)
    comment, _, *lines = AT_ORIGIN.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("    for i in "))
    once = [comment, "def bind_f1(arena, b0, b2):", *lines[:first], ""]
    each = ["    def run_f1():", *(f"    {line}" for line in lines[first:]), ""]
    source = p.compile().variant(Kind(at_origin=True, bound=True)).text.source
    assert source.splitlines() == [*once, *each, "    return run_f1"]


def add(source: np.ndarray, target: np.ndarray, amount: int) -> None:
    np.add(source, amount, out=target)


def test_scalars_are_bound_too() -> None:
    (i,) = sl.variables("i")
    a, b = (sl.BufferExpr(name, np.int64, 1) for name in "ab")
    r = sl.scalar("r")
    sl.Func(add, [a[i]], [b[i]], name="add", arguments={"amount": r})
    p = sl.build_pipeline([a], [b])
    inp, out = np.arange(5), np.zeros(5, np.int64)
    run, other = p.bind(inp, out, r=3), p.bind(inp, out, r=np.int64(10))
    assert "r=3" in repr(run)
    assert run().tolist() == [3, 4, 5, 6, 7]
    assert other().tolist() == [10, 11, 12, 13, 14]
    assert run().tolist() == [3, 4, 5, 6, 7]
    with pytest.raises(sl.ArgumentError, match="needs a value for scalar r"):
        p.bind(inp, out)


def test_several_outputs() -> None:
    (i,) = sl.variables("i")
    a, b, c = (sl.BufferExpr(name, np.float64, 1) for name in "abc")
    sl.Func(np.modf, [a[i]], [b[i], c[i]], name="modf")
    outputs = np.zeros(3), np.zeros(3)
    run = sl.build_pipeline([a], [b, c]).bind(np.array([0.5, 1.25, -2.5]), *outputs)
    results = run()
    assert all(result is output for result, output in zip(results, outputs, strict=True))
    assert outputs[0].tolist() == [0.5, 0.25, -0.5]


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1, 1)])
def test_odd_shapes(shape: tuple[int, int]) -> None:
    inp, out = picture(*shape, 1)
    right = picture(*shape, 1)[1]
    stencil()(inp, right)
    by_rows(stencil(), 2)[0].bind(inp, out)()
    np.testing.assert_array_equal(out.array, right.array)


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ([], "takes 2 arrays"),
        ([[1.0], np.zeros(1)], "argument b0: expected an array that NumPy can see without copying, got list"),
        ([np.zeros(3, np.float32), np.zeros(3)], "argument b0: expected dtype float64, got float32"),
        ([np.zeros((3, 1)), np.zeros(3)], "argument b0: expected rank 1, got rank 2"),
        ([np.zeros(3), np.zeros(4)], "requires b2.i.max <= b0.i.max, got"),
        ([np.zeros(3), np.broadcast_to(0.0, 3)], "argument b2: an output must be writable"),
    ],
)
def test_what_calling_the_pipeline_refuses_cannot_be_bound(arrays: list[Any], expected: str) -> None:
    p = chain(np.negative, np.square)
    messages = []
    for attempt in (p, p.bind):
        with pytest.raises(sl.ArgumentError) as refused:
            attempt(*arrays)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]
    assert expected in messages[0]


def test_an_input_that_overlaps_an_output_cannot_be_bound() -> None:
    array = np.zeros(6)
    with pytest.raises(sl.ArgumentError, match="must not overlap argument b0"):
        chain(np.negative, np.square).bind(array[:4], array[2:])


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_what_happens_to_the_shape_of_an_array_later_changes_nothing() -> None:
    inp, out = np.arange(12.0), np.zeros(12)
    run = in_pieces(chain(np.negative, np.square), 2, 5).bind(inp, out)
    inp.shape = (3, 4)
    out.shape = (4, 3)
    out.flags.writeable = False
    assert run() is out
    np.testing.assert_array_equal(out.reshape(-1), np.arange(12.0) ** 2)


class Failing:
    """Fails in call number `at`, and keeps weak references to the targets that it was given."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.calls = 0
        self.targets: list[weakref.ref[np.ndarray]] = []

    def __call__(self, source: np.ndarray, target: np.ndarray) -> None:
        self.calls += 1
        memory = target
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        self.targets.append(weakref.ref(memory))
        if self.calls == self.at:
            raise ValueError("boom")
        np.add(source, 1, out=target)


def test_an_error_names_the_call_releases_the_memory_and_ends_nothing() -> None:
    callback = Failing(at=7)
    p = in_pieces(chain(callback, np.square), 2, 4)
    inp, out = np.arange(17.0), np.zeros(17)
    run = p.bind(inp, out)
    run()
    with pytest.raises(ValueError, match="boom") as raised:
        run()
    assert raised.value.__notes__ == ["in the call f0[4..7] of pipeline f1"]
    del raised
    gc.collect()
    assert callback.targets[0]() is None
    run()
    np.testing.assert_array_equal(out, (np.arange(17.0) + 1) ** 2)


def test_the_second_run_allocates_nothing_and_release_gives_back() -> None:
    callback = Failing(at=0)
    run = in_pieces(chain(callback, np.square), 2, 4).bind(np.arange(17.0), np.zeros(17))
    run()
    run()
    assert callback.targets[0]() is not None
    assert len({id(target()) for target in callback.targets}) == 1
    run.release()
    gc.collect()
    assert callback.targets[0]() is None
    np.testing.assert_array_equal(run(), (np.arange(17.0) + 1) ** 2)


def test_runs_at_the_same_time_have_memory_each() -> None:
    both = threading.Barrier(2, timeout=60)
    targets: list[int] = []

    def first(source: np.ndarray, target: np.ndarray) -> None:
        targets.append(target.ctypes.data)
        both.wait()
        np.add(source, 1, out=target)

    run = chain(first, np.square).bind(np.arange(17.0), np.zeros(17))
    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(targets)) == 2


def test_parallel_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    inp, out = np.arange(100.0), np.zeros(100)
    run = in_pieces(chain(np.negative, np.square), 2, 7, workers=None).bind(inp, out)
    for threads in ("3", "1"):
        monkeypatch.setenv("SLINKY_NUM_THREADS", threads)
        out[...] = 0
        np.testing.assert_array_equal(run(), np.arange(100.0) ** 2)


def test_the_plan_outlives_its_pipeline() -> None:
    run = in_pieces(chain(np.negative, np.square), 2, 7).bind(np.arange(30.0), np.zeros(30))
    gc.collect()
    np.testing.assert_array_equal(run(), np.arange(30.0) ** 2)
