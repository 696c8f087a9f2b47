"""Native plans that another process has made do what those do that this one makes, and traced functions begin with
them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from c_programs import needs_compiler
from hypothesis import HealthCheck, given, settings
from random_arithmetic import Program, in_pieces, numbers, plane, programs, same_bits, term
from traced import PIECES, assert_same

import slinky as sl
from slinky.cursors.lineages import origin
from slinky.cursors.versions import Version
from slinky.frontend import choosing, to_native, tracing
from slinky.native import compiling, plans
from slinky.native.compiling import compiler
from slinky.native.plans import NativePlan

pytestmark = [needs_compiler, pytest.mark.skipif(os.name != "posix", reason="it loads what others have made")]

ROOT = Path(__file__).parent.parent


@pytest.fixture
def printed(keeps: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The programs whose nests are printed, while the test runs."""
    found: list[Any] = []
    real = plans.in_nests

    def in_nests(tree: Any, program: Any, may_do: Any) -> Any:
        found.append(program)
        return real(tree, program, may_do)

    monkeypatch.setattr(plans, "in_nests", in_nests)
    return found


def smoothed(gain: float = 0.5, dtype: Any = np.float32, between: Any = None) -> sl.Pipeline:
    """Two stages by 8 rows, slid and folded; and a callback between them, if there is one."""
    y, x = sl.variables("y x")
    image, across, mid, out = (plane(name, dtype) for name in ("image", "across", "mid", "out"))
    sl.arithmetic((image[y, x - 1] + image[y, x + 1]) * gain, across[y, x], name="across")
    if between is None:
        sl.arithmetic(-across[y, x], mid[y, x], name="mid")
    else:
        sl.Func(between, [across[y, x]], [mid[y, x]], name="mid")
    sl.arithmetic(np.sqrt(np.maximum(mid[y - 1, x] + mid[y + 1, x], 0)), out[y, x], name="down")
    p, (loop, _, _) = sl.split_loop(sl.build_pipeline([image], [out]), "down.y", 8, rc=True)
    for name in ("mid", "across"):
        p, func = sl.compute_at(p, name, loop, rc=True)
        p = sl.fold_storage(sl.slide_window(p, func.call, loop), func.alloc, "y")
    return p


def ran(plan: Any, image: Any) -> Any:
    """The output of a plan for an image; and what is written around it."""
    whole = np.full(image.shape, -1, image.dtype)
    inner = sl.Buffer(whole[1:-1, 1:-1], min=(1, 1))
    plan(sl.Buffer(image, min=(0, 0)), inner)
    return whole


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("backend", ["native", "native-exact", "native-fast", "auto"])
def test_what_is_printed_once_is_read_then(printed: list[Any], backend: str, dtype: Any) -> None:
    first, second = (smoothed(dtype=dtype).compile(backend=backend) for _ in range(2))
    assert len(printed) == 1
    assert first.source == second.source
    assert "nest_1(" in second.source
    assert isinstance(second, NativePlan)
    assert second.runs_c
    image = numbers((45, 33), dtype)
    expected = ran(smoothed(dtype=dtype).compile(), image)
    same_bits(ran(first, image), expected) if backend != "native-fast" else None
    same_bits(ran(second, image), ran(first, image))


def test_whatever_a_nest_declines_is_done_by_the_plan(printed: list[Any]) -> None:
    """Elements that lie apart go to the second library, and places that are too large for C to NumPy."""
    smoothed().compile(backend="native")
    plan = smoothed().compile(backend="native")
    assert len(printed) == 1
    image = numbers((45, 66), np.float32)
    expected = ran(smoothed().compile(), image[:, ::2])
    same_bits(ran(plan, image[:, ::2]), expected)
    far = 1 << 40
    whole = np.full((45, 33), -1, np.float32)
    given = np.ascontiguousarray(image[:, ::2])
    plan(sl.Buffer(given, min=(far, 0)), sl.Buffer(whole[1:-1, 1:-1], min=(far + 1, 1)))
    same_bits(whole, expected)


def test_a_library_that_is_gone_is_compiled_again(printed: list[Any], keeps: Path) -> None:
    smoothed().compile(backend="native")
    libraries = set((keeps / "native").glob("*.so"))
    shutil.rmtree(keeps / "native")
    plan = smoothed().compile(backend="native")
    assert len(printed) == 1
    assert set((keeps / "native").glob("*.so")) <= libraries
    image = numbers((45, 33), np.float32)
    same_bits(ran(plan, image), ran(smoothed().compile(), image))


@pytest.mark.parametrize(
    "other",
    [
        lambda: smoothed(0.25).compile(backend="native"),
        lambda: smoothed(dtype=np.float64).compile(backend="native"),
        lambda: smoothed().compile(backend="auto"),
        lambda: smoothed().compile(backend="native-fast"),
        lambda: sl.rename(smoothed(), "other").compile(backend="native"),
        lambda: sl.unfold_storage(smoothed(), "mid", "y").compile(backend="native"),
    ],
)
def test_another_program_or_back_end_has_a_plan_of_its_own(printed: list[Any], other: Any) -> None:
    smoothed().compile(backend="native")
    other()
    other()
    assert len(printed) == 2


def test_other_flags_have_plans_of_their_own(printed: list[Any]) -> None:
    found = compiler()
    assert found is not None
    for extra, count in (((), 1), (("-DOTHER",), 2), ((), 2), (("-DOTHER",), 2)):
        NativePlan(smoothed().program, attrs.evolve(found, flags=(*found.flags, *extra))).make_ready()
        assert len(printed) == count


def twice(a: Any, o: Any) -> None:
    np.multiply(a, 2, out=o)


def test_what_somebody_has_written_is_not_kept(printed: list[Any]) -> None:
    """Its name may stay while it changes. NumPy's functions, and how they are called, are known."""
    y, x = sl.variables("y x")
    for _ in range(2):
        a, b, c, d = (plane(name, np.float32) for name in "abcd")
        sl.arithmetic(a[y, x] * 2, b[y, x], name="f")
        sl.arithmetic(b[y, x] + 1, c[y, x], name="g")
        sl.Func(twice, [c[y, x]], [d[y, x]], name="twice")
        p, (loop, _, _) = sl.split_loop(sl.build_pipeline([a], [d]), "g.y", 4, rc=True)
        plan = sl.compute_at(p, "f", loop).compile(backend="native")
        assert "nest_1(" in plan.source
        image = numbers((9, 7), np.float32)
        same_bits(plan(image, np.empty((9, 7), np.float32)), (image * 2 + 1) * 2)
    assert len(printed) == 2
    printed.clear()
    for between, count in ((np.square, 1), (np.square, 1), (np.negative, 2)):
        plan = smoothed(between=between).compile(backend="native")
        assert len(printed) == count
        image = numbers((45, 33), np.float32)
        same_bits(ran(plan, image), ran(smoothed(between=between).compile(), image))


def test_constants_are_those_of_the_program(printed: list[Any]) -> None:
    (x,) = sl.variables("x")

    def weighted(weights: Any) -> sl.Pipeline:
        a, b, out = (sl.BufferExpr(name, float, 1) for name in ("a", "b", "out"))
        sl.arithmetic(a[x] * sl.constant("w", weights)[x], b[x], name="f")
        sl.arithmetic(b[x] + sl.constant("v", np.full(20, 3.0))[x], out[x], name="g")
        p, (loop, _, _) = sl.split_loop(sl.build_pipeline([a], [out]), "g.x", 4, rc=True)
        return sl.compute_at(p, "f", loop)

    given = np.arange(10.0)
    for weights, count in ((np.arange(10.0), 1), (np.arange(10.0), 1), (np.ones(10), 2), (np.arange(20000.0), 3)):
        found = weighted(weights).compile(backend="native")(given, np.empty(10))
        np.testing.assert_array_equal(found, given * weights[:10] + 3)
        assert len(printed) == count


def test_recorded_runs_and_guarded_ones_are_printed_as_ever(printed: list[Any]) -> None:
    smoothed().compile(backend="native")
    p = smoothed()
    image = numbers((45, 33), np.float32)
    for options in ({}, {"checked": "first"}):
        whole = np.empty_like(image)
        statistics = p.run(sl.Buffer(image), sl.Buffer(whole[1:-1, 1:-1], min=(1, 1)), backend="native", **options)
        assert statistics.calls == smoothed().run(sl.Buffer(image), sl.Buffer(whole[1:-1, 1:-1], min=(1, 1))).calls


def test_an_error_says_which_call_it_was(printed: list[Any]) -> None:
    """Also in the plan that stands behind a nest, which has been read."""
    told = []
    for far in (0, 1 << 40):
        for _ in range(2):
            plan = smoothed(between=np.square).compile(backend="native")
            image, out = sl.Buffer(np.full((45, 33), 1e30, np.float32), min=(far, 0)), np.empty((43, 31), np.float32)
            with pytest.raises(FloatingPointError) as error, np.errstate(all="raise"):
                plan(image, sl.Buffer(out, min=(far + 1, 1)))
            told.append((str(error.value), *getattr(error.value, "__notes__", ())))
    assert len(printed) == 1
    assert told[0] == told[1]
    assert told[2] == told[3] != told[0]
    assert "mid" in "".join(told[2])


@given(programs())
@settings(suppress_health_check=[*HealthCheck], max_examples=5)
def test_plans_that_are_read_give_the_bits_of_those_that_are_printed(printed: list[Any], program: Program) -> None:
    drawn = term(program, (13, 9))
    if drawn is None:
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        for p in in_pieces(drawn.pipeline, "term"):
            found = []
            for _ in range(2):
                out = np.zeros((13, 9), drawn.expected.dtype)
                again = sl.Pipeline(Version(p.program, origin()))
                again.compile(backend="native")(*drawn.arrays, out)
                found.append(out)
            same_bits(found[0], drawn.expected)
            same_bits(found[1], drawn.expected)


# ----------------------------------------------------------------------------------------------------------------
# From the beginning
# ----------------------------------------------------------------------------------------------------------------


def soft(image: Any, gain: float = 0.5) -> Any:
    near = (image[:-2] + image[2:]) / 2
    found = image[1:-1] + gain * (image[1:-1] - near)
    return np.maximum(found[:-2], 0) * found[2:] + near[1:-1], near


def waves(image: Any) -> Any:
    """Nothing in it is C to the last bit."""
    return np.sin(image[1:]) - np.cos(image[:-1])


@pytest.fixture
def traced(keeps: Path, moves_at_once: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Traces a function as if nothing had been traced before."""
    monkeypatch.setattr(to_native, "PATIENCE", 0.0)

    def trace(function: Any, **options: Any) -> Any:
        monkeypatch.setattr(choosing, "PLANS", tracing.Plans())
        return sl.jit(smallest=0, workers=1, machine=PIECES, **options)(function)

    return trace


def moved(traced: Any) -> Any:
    """The image for which a function has moved to C."""
    image = np.random.default_rng(1).random((60, 40))
    first = traced(soft)
    first(image)
    assert first.wait_native()
    return image


def test_what_has_moved_to_c_is_there_from_the_first_call_on(traced: Any) -> None:
    image = np.random.default_rng(1).random((60, 40))
    first = traced(soft)
    assert_same(first(image), soft(image))
    assert "runs in C" not in first.explain(image)
    assert first.wait_native()
    assert_same(first(image), soft(image))
    told = first.explain(image)
    assert "runs in C" in told
    second = traced(soft)
    assert_same(second(image), soft(image))
    assert second.explain(image) == told
    assert_same(second(image[:, ::2]), soft(image[:, ::2]))
    third = traced(soft)
    assert_same(third(image[:-1]), soft(image[:-1]))  # of another size, which has the same schedule
    assert "runs in C" in third.explain(image[:-1])


def test_what_has_nothing_to_do_in_c_is_not_tried_again(traced: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.random.default_rng(1).random((60, 40))
    first = traced(waves)
    first(image)
    first.wait_native()
    first(image)
    told = first.explain(image)
    tried: list[Any] = []
    monkeypatch.setattr(to_native, "_native_plan", lambda *given, **named: tried.append(given))
    second = traced(waves)
    for _ in range(3):
        assert_same(second(image), waves(image))
    assert not tried
    assert second.explain(image) == told


def test_what_has_nothing_to_do_in_c_is_known_of_just_that(traced: Any) -> None:
    """Of a function that differs by what it calls, or where there was no compiler, nothing is."""
    image = np.random.default_rng(1).random((60, 40))

    def quotients(image: Any) -> Any:
        return np.sqrt(image[1:]) - np.negative(image[:-1])

    quotients.__name__ = "waves"
    for function, is_in_c in ((waves, False), (quotients, True), (waves, False)):
        found = traced(function)
        found(image)
        found.wait_native()
        assert_same(found(image), function(image))
        assert ("runs in C" in found.explain(image)) == is_in_c


def test_without_a_compiler_nothing_is_known(traced: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    image = np.random.default_rng(1).random((60, 40))
    with monkeypatch.context() as patch:
        patch.setattr(plans, "compiler", lambda: None)
        patch.setattr(compiling, "compiler", lambda: None)
        first = traced(soft)
        first(image)
        first.wait_native()
        assert_same(first(image), soft(image))
    second = traced(soft)
    second(image)
    assert second.wait_native()
    assert_same(second(image), soft(image))
    assert "runs in C" in second.explain(image)


def test_a_compiler_that_is_none_is_told_of_as_ever(traced: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    image = moved(traced)
    monkeypatch.setenv("CC", "/nowhere/cc")
    second = traced(soft)
    assert_same(second(image), soft(image))
    with pytest.warns(sl.CompilationFailedWarning, match="/nowhere/cc"):
        second.wait_native()
    assert_same(second(image), soft(image))


def test_nobody_waits_for_a_library_that_is_gone(traced: Any, keeps: Path) -> None:
    image = moved(traced)
    shutil.rmtree(keeps / "native")
    second = traced(soft)
    assert_same(second(image), soft(image))
    assert "runs in C" not in second.explain(image)
    assert second.wait_native()
    assert_same(second(image), soft(image))
    assert "runs in C" in second.explain(image)


def test_a_forgotten_plan_or_schedule_is_made_again(traced: Any, keeps: Path) -> None:
    image = moved(traced)
    for kind in ("plans", "schedules", "moves"):
        shutil.rmtree(keeps / kind)
        second = traced(soft)
        assert_same(second(image), soft(image))
        assert second.wait_native()
        assert_same(second(image), soft(image))
        assert "runs in C" in second.explain(image)


def test_where_nothing_is_compiled_nothing_is_loaded(traced: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    image = moved(traced)
    monkeypatch.setenv(to_native.SWITCH, "0")
    second = traced(soft)
    assert_same(second(image), soft(image))
    assert "runs in C" not in second.explain(image)


SCRIPT = """
import numpy as np
import slinky as sl
from slinky.native import plans
printed = []
real = plans.in_nests
plans.in_nests = lambda *given: printed.append(1) or real(*given)

def soft(image, gain=0.5):
    inner = image[1:-1, 1:-1]
    near = (image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:]) / 4
    rows = near.sum(axis=1, keepdims=True)
    return np.maximum(inner + gain * (inner - near), 0) / (1 + abs(rows)), near.max()

image = np.random.default_rng(1).random((60, 40))
traced = sl.jit(smallest=0, machine=sl.Machine(near_bytes=256, shared_bytes=512), workers=1)(soft)
first = [np.array(each) for each in traced(image)]
began = "runs in C" in traced.explain(image)
traced.wait_native()
for one, other, third in zip(first, traced(image), soft(image)):
    assert one.tobytes() == np.array(other).tobytes()
    np.testing.assert_allclose(one, third, rtol=1e-12)
print(began, len(printed))
"""


def test_other_processes_begin_in_c(tmp_path: Path) -> None:
    told = []
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "SLINKY_KEPT": "1", "SLINKY_CACHE": str(tmp_path)}
        environment |= {"PYTHONHASHSEED": seed, "SLINKY_NATIVE": "1"}
        command = [sys.executable, "-W", "error", "-c", SCRIPT]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        told.append(done.stdout.strip())
    assert told == ["False 1", "True 0", "True 0"]
