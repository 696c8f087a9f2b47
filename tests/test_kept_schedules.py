"""Schedules that another process has found run as those do that this one makes, and nothing else is taken for them."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from random_graphs import Graph, arguments, build, graphs, in_arithmetic, run_and_compare
from traced import PIECES, assert_same

import slinky as sl
from slinky.frontend import choosing, tracing
from slinky.ir.nesting import funcs_in
from slinky.sched import auto_pipeline, kept_schedules

ROOT = Path(__file__).parent.parent
LAPTOP = sl.Machine()


@pytest.fixture
def makings(keeps: Path, monkeypatch: pytest.MonkeyPatch) -> list[sl.Pipeline]:
    """The pipelines for which schedules are made, while the test runs."""
    found: list[sl.Pipeline] = []
    real = kept_schedules.made

    def made(p: sl.Pipeline, *given: Any) -> sl.Pipeline:
        found.append(p)
        return real(p, *given)

    for module in (kept_schedules, auto_pipeline):
        monkeypatch.setattr(module, "made", made)
    return found


def halves(a: Any, o: Any) -> None:
    o[...] = (a[:-2] + a[2:]) / 2


def thirds(a: Any, o: Any) -> None:
    o[...] = (a[:-2] + a[1:-1] + a[2:]) / 3


def smoothed(function: Any = halves, stages: int = 3, dtype: Any = np.float64) -> sl.Pipeline:
    """Stages along y, each of which reads three rows."""
    y, x = sl.variables("y x")
    buffers = [sl.BufferExpr(f"b{n}", dtype, 2) for n in range(stages + 1)]
    for one, other in itertools.pairwise(buffers):
        sl.Func(function, [one[sl.interval(y, y + 2), x]], [other[y, x]], name=f"to_{other.name}")
    return sl.build_pipeline([buffers[0]], [buffers[-1]])


def scheduled(p: sl.Pipeline, shape: tuple[int, int] = (2000, 1000), **options: Any) -> sl.Pipeline:
    """What runs on arrays of a shape."""
    return p.auto(**{"machine": LAPTOP, "workers": 1, **options})._running_for((shape[0] + 6, shape[1]), shape)


def test_what_is_made_once_is_read_then(makings: list[sl.Pipeline]) -> None:
    first, second = scheduled(smoothed()), scheduled(smoothed())
    assert len(makings) == 1
    assert str(first) == str(second) != str(smoothed())
    assert "fold" in str(second)
    second.verify()
    image = np.random.default_rng(1).random((46, 30))
    expected = smoothed()(image, np.empty((40, 30)))
    np.testing.assert_array_equal(second(image, np.empty((40, 30))), expected)
    assert not {id(each) for each in funcs_in(first.program)} & {id(each) for each in funcs_in(second.program)}


def test_what_is_known_of_it_is_what_is_known_where_it_was_made(makings: list[sl.Pipeline]) -> None:
    """But for the steps, and the reasons, for which it is made again."""
    made = sl.explain(smoothed().auto((2006, 1000), (2000, 1000), machine=LAPTOP, workers=1))
    scheduled(smoothed())
    automatic = smoothed().auto(machine=LAPTOP, workers=1)
    shapes = (2006, 1000), (2000, 1000)
    read = automatic._running_for(*shapes)
    assert len(makings) == 2
    told = sl.explain(read)
    for name in (
        "machine",
        "workers",
        "seconds",
        "unscheduled_seconds",
        "program_bytes",
        "unscheduled_bytes",
        "backend",
    ):
        assert getattr(told, name) == getattr(made, name)
    again = automatic.scheduled_for(*shapes)
    assert len(makings) == 3
    assert again is automatic.scheduled_for(*shapes)
    assert automatic._running_for(*shapes) is read
    assert str(sl.explain(again)) == str(made)
    assert len(again.history()) > 3
    again.forward(automatic.find("to_b1"))


def test_a_schedule_that_was_asked_for_is_what_runs(makings: list[sl.Pipeline]) -> None:
    automatic = smoothed().auto(machine=LAPTOP, workers=1)
    shapes = (2006, 1000), (2000, 1000)
    made = automatic.scheduled_for(*shapes)
    assert automatic._running_for(*shapes) is made
    other = smoothed().auto(machine=LAPTOP, workers=1)
    running = other._running_for(*shapes)
    assert other.scheduled_for(*shapes) is running
    assert len(makings) == 2  # what was asked for is not kept


@pytest.mark.parametrize(
    "other",
    [
        lambda: scheduled(smoothed(thirds)),
        lambda: scheduled(smoothed(lambda a, o: halves(a, o))),
        lambda: scheduled(smoothed(stages=2)),
        lambda: scheduled(smoothed(dtype=np.float32)),
        lambda: scheduled(smoothed(), (2001, 1000)),
        lambda: scheduled(smoothed(), workers=2),
        lambda: scheduled(smoothed(), workers=None),
        lambda: scheduled(smoothed(), machine=sl.Machine(near_bytes=1 << 19)),
        lambda: scheduled(smoothed(), max_bytes=1 << 20),
        lambda: scheduled(smoothed(), backend="native"),
    ],
)
def test_another_question_has_another_answer(makings: list[sl.Pipeline], other: Any) -> None:
    scheduled(smoothed())
    other()
    other()
    assert len(makings) == 2


def test_nobody_holds_the_arrays(makings: list[sl.Pipeline]) -> None:
    """Neither where a schedule is made, nor where it is read."""
    for _ in range(2):
        p = smoothed().auto(machine=LAPTOP, workers=1)
        image, out = np.zeros((2006, 1000)), np.zeros((2000, 1000))
        p(image, out)
        held = weakref.ref(image), weakref.ref(out)
        told = sl.explain(p._running_for(image, out))
        del image, out
        gc.collect()
        assert [each() for each in held] == [None, None]
        assert told.program_bytes < told.unscheduled_bytes
    assert len(makings) == 1


def test_pipelines_whose_schedules_were_read_end_with_what_they_call(makings: list[sl.Pipeline]) -> None:
    """What explains one does not hold it."""
    held = []
    for _ in range(4):
        counting = Counting()
        held.append(weakref.ref(counting))
        smoothed(counting).auto(machine=LAPTOP, workers=1)(np.ones((2006, 50)), np.empty((2000, 50)))
        counting.lock.close()
        del counting
    assert len(makings) == 1
    makings.clear()
    gc.collect()
    assert [each() for each in held] == [None] * 4


def test_callbacks_are_asked_about_by_their_code(makings: list[sl.Pipeline]) -> None:
    """Whatever their names are."""
    texts = ["o[...] = (a[:-2] + a[2:]) / 2", "o[...] = a[1:-1] * 3", "o[...] = (lambda b: b * 4)(a[1:-1])"]
    for count, text in enumerate(texts, 1):
        for _ in range(2):
            space: dict[str, Any] = {}
            exec(f"def function(a, o):\n    {text}\n", space)
            scheduled(smoothed(space["function"]))
            assert len(makings) == count


def test_scalars_are_asked_about_but_for_the_values_of_floats(makings: list[sl.Pipeline]) -> None:
    def scaled(size: Any, gain: Any) -> None:
        x, n, amount = sl.variables("x")[0], sl.scalar("n"), sl.scalar("amount", float)
        a, b, c = (sl.BufferExpr(name, float, 1) for name in "abc")
        sl.arithmetic(a[x + n] * amount, b[x], name="f")
        sl.arithmetic(b[x - 1] + b[x + 1], c[x], name="g")
        p = sl.build_pipeline([a], [c]).auto(machine=LAPTOP, workers=1)
        given = np.arange(100_000.0)
        np.testing.assert_array_equal(
            p(given, np.empty(1000), n=size, amount=gain),
            gain * (given[size - 1 : size + 999] + given[size + 1 : size + 1001]),
        )

    for size, gain, count in ((5, 2.0, 1), (5, 3.0, 1), (6, 2.0, 2), (5, -0.0, 2)):
        scaled(size, gain)
        assert len(makings) == count


class Counting:
    """A callback with a state, which cannot be pickled."""

    def __init__(self) -> None:
        self.calls = 0
        self.lock = open(os.devnull)  # noqa: SIM115

    def __call__(self, a: Any, o: Any) -> None:
        self.calls += 1
        halves(a, o)


def test_callbacks_are_those_of_the_pipeline_that_is_given(makings: list[sl.Pipeline]) -> None:
    image = np.random.default_rng(1).random((2006, 50))
    counts = []
    for _ in range(2):
        counting = Counting()
        smoothed(counting).auto(machine=LAPTOP, workers=1)(image, np.empty((2000, 50)))
        counts.append(counting.calls)
        counting.lock.close()
    assert counts[0] == counts[1] > 3
    assert len(makings) == 1


def test_a_back_end_of_somebody_else_is_not_asked_about(
    makings: list[sl.Pipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    from slinky.runtime import backends

    monkeypatch.setitem(backends._registered, "theirs", "theirs.plans:Plan")
    monkeypatch.setattr(kept_schedules, "made", lambda p, *given: p)
    p = smoothed()
    for _ in range(2):
        assert kept_schedules.kept_or_made(p, ((20, 3), (14, 3)), {}, {"backend": "theirs"}) == (p, True)


@pytest.mark.parametrize("given", [(3, (2, 2)), ("ab", (2, 2)), ([[1.0]], (2, 2))])
def test_arguments_that_make_no_sense_are_refused_as_ever(keeps: Path, given: Any) -> None:
    for _ in range(2):
        with pytest.raises(sl.ArgumentError):
            smoothed().auto(machine=LAPTOP)._running_for(*given)


def test_options_that_make_no_sense_are_refused_as_ever(keeps: Path) -> None:
    scheduled(smoothed())
    for options in ({"workers": 0}, {"machine": 3}, {"max_bytes": -1}, {"backend": "no"}):
        with pytest.raises((sl.OperationError, sl.ArgumentError)):
            scheduled(smoothed(), **options)
        with pytest.raises((sl.OperationError, sl.ArgumentError)):
            sl.AutoPipeline(smoothed(), **options)(np.zeros((26, 3)), np.zeros((20, 3)))
    with pytest.raises(sl.SchedulingError):
        scheduled(smoothed(), max_bytes=1)
    with pytest.raises(sl.SchedulingError):  # refusals are not kept
        scheduled(smoothed(), max_bytes=1)


@given(graphs())
@settings(suppress_health_check=[*HealthCheck])
def test_schedules_that_are_read_give_what_those_give_that_are_made(keeps: Path, graph: Graph) -> None:
    for make in (build, lambda graph: build(in_arithmetic(graph))):
        inputs, outputs = arguments(graph)
        given = [each.array.shape for each in (*inputs, *outputs)]
        if any(lo for each in (*inputs, *outputs) for lo in each.min) or not make(graph).program.inputs:
            continue
        first, second = (make(graph).auto(machine=PIECES, workers=1) for _ in range(2))
        one, other = (each._running_for(*given, **graph.scalars()) for each in (first, second))
        assert str(one) == str(other)
        other.verify()
        run_and_compare(graph, other)


SCRIPT = """
import numpy as np
import slinky as sl
from slinky.sched import kept_schedules
made = []
real = kept_schedules.made
kept_schedules.made = lambda *given: made.append(1) or real(*given)

def process(image, weights={"one": 1.5, "two": 2.5}):
    near = {name: (image[:-2] + image[2:]) * value for name, value in weights.items()}
    smooth = sl.ndimage.gaussian_filter(near["one"] - near["two"], 1.5)
    rows = smooth - smooth.mean(axis=1, keepdims=True)
    return np.maximum(np.sqrt(abs(rows)), rows.sum(axis=0)), np.pad(rows, 2, mode="reflect")[1:] * 2

image = np.random.default_rng(1).random((300, 200))
traced = sl.jit(process, smallest=0, machine=sl.Machine(near_bytes=4096, shared_bytes=8192), workers=1)
for one, other in zip(traced(image), process(image)):
    np.testing.assert_allclose(one, other, rtol=1e-12)
print(len(made))
"""


@pytest.mark.parametrize("seeds", [("0", "1", "2")])
def test_other_processes_read_it(tmp_path: Path, seeds: tuple[str, ...]) -> None:
    """Whatever their hashes are, by which sets have their order."""
    pytest.importorskip("scipy")
    told = []
    for seed in seeds:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "SLINKY_KEPT": "1", "SLINKY_CACHE": str(tmp_path)}
        environment["PYTHONHASHSEED"] = seed
        command = [sys.executable, "-W", "error", "-c", SCRIPT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.strip())
    assert told == ["1", *["0"] * (len(seeds) - 1)]


def test_traced_functions_read_schedules(makings: list[sl.Pipeline], monkeypatch: pytest.MonkeyPatch) -> None:
    def sharpened(image: Any, amount: float = 1.5) -> Any:
        smooth = (image[:-2] + image[1:-1] + image[2:]) / 3
        return np.clip(image[1:-1] + amount * (image[1:-1] - smooth), 0, 1), smooth.max()

    image = np.random.default_rng(1).random((300, 200))
    told = []
    for amount in (1.5, 1.5, 2.5):
        monkeypatch.setattr(choosing, "PLANS", tracing.Plans())
        traced = sl.jit(smallest=0, machine=PIECES, workers=1, exact=True)(sharpened)
        assert_same(traced(image, amount), sharpened(image, amount))
        assert len(makings) == 1
        told.append(traced.explain(image, amount))
        assert "strips" in told[-1]
        makings[1:] = []
    assert told[0] == told[1]
