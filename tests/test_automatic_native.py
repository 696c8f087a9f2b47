"""Automatic schedules for loops in C: calls cost next to nothing there, so strips are as low as the caches like."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from c_programs import needs_compiler
from scheduled import compare

import slinky as sl
from slinky.sched import machines
from slinky.sched.machines import this_machine_for
from slinky.sched.measured_loops import measured_loops

pytestmark = needs_compiler

y, x = sl.variables("y x")
LAPTOP = sl.Machine()
Array = np.ndarray[Any, Any]


def double(a: Array, out: Array) -> None:
    np.multiply(a, np.float32(2), out=out)


def chain(*, with_callback: bool = False) -> sl.Pipeline:
    """Three stencils of arithmetic; instead of the second one, maybe a callback."""
    buffers = [sl.BufferExpr(name, np.float32, 2) for name in ("inp", "first", "second", "out")]
    for k, (a, b) in enumerate(itertools.pairwise(buffers)):
        if with_callback and k == 1:
            sl.Func(double, [a[y, x]], [b[y, x]], name="stage_1")
        else:
            sl.arithmetic((a[y - 1, x] + a[y, x] + a[y + 1, x]) / np.float32(3), b[y, x], name=f"stage_{k}")
    return sl.build_pipeline([buffers[0]], [buffers[-1]])


def image(height: int = 1206, width: int = 2000) -> tuple[sl.Buffer, sl.Buffer]:
    values = np.random.default_rng(0).random((height, width), np.float32)
    return sl.Buffer(values), sl.Buffer(np.zeros((height - 6, width), np.float32), min=(3, 0))


def height(p: sl.Pipeline) -> int:
    """How high the strips are."""
    return int(sl.explain(p).decisions[-1].computed.split(" of ")[0])


def scheduled(p: sl.Pipeline, arrays: tuple[sl.Buffer, ...], **options: Any) -> sl.Pipeline:
    found: sl.Pipeline = sl.auto_schedule(p, *arrays, **{"workers": 1, "machine": LAPTOP, **options})
    return found


@pytest.mark.parametrize("workers", [1, 2])
def test_strips_for_loops_in_c_are_low_and_hold_little(workers: int) -> None:
    p, arrays = chain(), image()
    for_python = scheduled(p, arrays, workers=workers)
    for_c = scheduled(p, arrays, workers=workers, backend="native")
    assert height(for_c) <= 8 <= height(for_python) / 2
    before, after = (q.memory(*arrays, threads=workers).program_bytes for q in (for_python, for_c))
    assert 4 * after < before
    small_in, small_out = image(40, 30)
    compare(p, for_c, [small_in], [small_out], threads=workers)
    results = [np.zeros((1200, 2000), np.float32) for _ in range(2)]
    p(arrays[0], sl.Buffer(results[0], min=(3, 0)))
    for_c.compile(backend="native")(arrays[0], sl.Buffer(results[1], min=(3, 0)))
    assert np.array_equal(results[0], results[1])


def test_the_same_is_found_again_and_said_in_the_explanation() -> None:
    p, arrays = chain(), image()
    found = [scheduled(p, arrays, backend="native") for _ in range(2)]
    assert str(found[0]) == str(found[1])
    assert "1 worker, back end native" in str(sl.explain(found[0]))
    assert sl.explain(found[0]).backend == "native"
    assert "back end" not in str(sl.explain(scheduled(p, arrays)))


def test_what_calls_cost_in_c_decides() -> None:
    p, arrays = chain(), image()
    dear = attrs.evolve(LAPTOP, loop_call_seconds=1e-5)
    cheap, costly = (scheduled(p, arrays, backend="native", machine=machine) for machine in (LAPTOP, dear))
    assert height(cheap) < height(costly)
    assert sl.explain(cheap).seconds < sl.explain(costly).seconds


@pytest.mark.parametrize("side", range(300, 4000, 100))
def test_two_workers_get_rows_never_columns_that_take_longer(side: int) -> None:
    """Tasks of columns last long enough to be worth telling where those of rows do not, as columns are slow."""
    a, out = (sl.BufferExpr(name, np.float64, 2) for name in ("a", "out"))
    sl.arithmetic(a[y, x] * 2 + 1, out[y, x], name="f")
    p = sl.build_pipeline([a], [out])
    told = sl.explain(sl.auto_schedule(p, *[(side, side)] * 2, workers=2, machine=LAPTOP, backend="native"))
    (decision,) = told.decisions
    assert "along x" not in decision.computed
    alone = sl.explain(sl.auto_schedule(p, *[(side, side)] * 2, workers=1, machine=LAPTOP, backend="native"))
    assert ("2 tasks" in decision.computed) == (4e-4 <= alone.seconds < 8e-4)
    assert ("4 tasks" in decision.computed) == (alone.seconds >= 8e-4)


def test_a_callback_in_between_makes_calls_as_dear_as_those_of_python() -> None:
    arrays = image(1204)
    p = chain(with_callback=True)
    arrays = (arrays[0], sl.Buffer(np.zeros((1200, 2000), np.float32), min=(2, 0)))
    mixed, alone = scheduled(p, arrays, backend="native"), scheduled(chain(), image(), backend="native")
    assert height(mixed) > height(alone)
    assert sl.explain(mixed).seconds > sl.explain(alone).seconds
    assert sl.explain(mixed).seconds < sl.explain(scheduled(p, arrays)).seconds


def test_memory_is_a_promise_there_too() -> None:
    p, arrays = chain(), image()
    found = scheduled(p, arrays, backend="native", max_bytes=60_000)
    assert found.memory(*arrays).program_bytes <= 60_000


def test_pipelines_that_schedule_themselves_do_so_for_the_back_end_that_runs() -> None:
    p, arrays = chain(), image()
    for_both = p.auto(workers=1, machine=LAPTOP)
    low = for_both.run(*arrays, backend="native").program_bytes
    high = for_both.run(*arrays).program_bytes
    assert 4 * low < high
    for_c = p.auto(workers=1, machine=LAPTOP, backend="native")
    assert for_c.run(*arrays).program_bytes == low
    assert for_c.memory(*arrays).program_bytes == low
    results = []
    for run in (p, for_c, for_c.bind(*arrays)):
        arrays[1].array[...] = 0
        if run is p or run is for_c:
            run(*arrays)
        else:
            run()
        results.append(arrays[1].array.copy())
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_traced_functions_that_run_in_c_are_scheduled_for_it() -> None:
    def sobel(image: Array) -> Array:
        wide = image.astype(np.int16)
        smooth = wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]
        steep = wide[:, 2:] - wide[:, :-2]
        along = steep[:-2] + 2 * steep[1:-1] + steep[2:]
        down = smooth[2:] - smooth[:-2]
        size: Array = np.minimum(np.abs(along) + np.abs(down), 255).astype(np.uint8)
        return size

    given = np.random.default_rng(0).integers(0, 256, (1080, 1920), np.uint8)
    in_c = sl.jit(native=True, workers=1, machine=LAPTOP)(sobel)
    assert np.array_equal(in_c(given), sobel(given))
    assert "back end native" in in_c.explain(given)
    explanation = sl.explain(scheduled(in_c.pipeline(given), (given,), backend="native"))  # type: ignore[arg-type]
    strips = {d.func: d.stored for d in explanation.decisions}
    assert set(strips) == {"wide", "smooth", "steep", "size"}
    assert explanation.program_bytes * 200 < 5 * given.size * 2


def test_reductions_that_c_computes_do_not_keep_strips_high() -> None:
    def steep_rows(image: Array) -> Array:
        rows = image[1:] - image[:-1]
        found: Array = np.abs(rows).max(axis=1)
        return found

    given = np.random.default_rng(0).random((2000, 1500))
    p = sl.jit(steep_rows).pipeline(given)
    for_python, for_c = (scheduled(p, (given,), backend=backend) for backend in ("python", "native"))  # type: ignore[arg-type]
    assert 4 * sl.explain(for_c).program_bytes < sl.explain(for_python).program_bytes
    result = np.empty(1999)
    for_c.compile(backend="native")(given, result)
    assert np.array_equal(result, steep_rows(given))


@pytest.mark.parametrize(
    ("backend", "error", "words"),
    [
        ("fortran", sl.ArgumentError, "there is no back end 'fortran'"),
        (3, sl.OperationError, "backend must be the name of a back end, got 3"),
    ],
)
def test_back_ends_that_are_none_are_refused(backend: Any, error: type[Exception], words: str) -> None:
    p, arrays = chain(), image(40, 30)
    for refused in (
        lambda: scheduled(p, arrays, backend=backend),
        lambda: p.auto(backend=backend),
        lambda: p.auto(machine=LAPTOP).run(*arrays, backend=backend),
    ):
        with pytest.raises(error, match=words):
            refused()


def test_what_loops_take_is_measured_once_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path))
    machines.this_machine()
    (kept,) = tmp_path.glob("machine-*.json")
    assert "loop_call_seconds" not in json.loads(kept.read_text())
    found = this_machine_for("native")
    (kept,) = tmp_path.glob("loops-*.json")
    told = json.loads(kept.read_text())
    assert told == {name: getattr(found, name) for name in told}
    assert found.near_bytes == machines.this_machine().near_bytes
    kept.write_text(json.dumps({**told, "loop_call_seconds": 1.5}))
    machines._this_machine_in_c.cache_clear()
    assert this_machine_for("native").loop_call_seconds == 1.5
    machines._this_machine_in_c.cache_clear()


def test_without_a_compiler_nothing_is_measured_and_all_is_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slinky.native.plans.compiler", lambda: None)
    assert measured_loops(LAPTOP) is LAPTOP
    p, arrays = chain(), image()
    assert height(scheduled(p, arrays, backend="native")) == height(scheduled(p, arrays))
