"""Traced functions move to C while they run: results stay the same in every bit, and nobody waits for it."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from random_arithmetic import numbers, plane, same_bits

import slinky as sl
from slinky.frontend import to_native
from slinky.ir.nesting import funcs_in
from slinky.ir.operations import Callback
from slinky.native import plans
from slinky.native.background import MOST_WAITING, Background
from slinky.native.kernels import is_exact
from slinky.sched.auto_pipeline import AutoPipeline

pytestmark = [
    needs_compiler,
    pytest.mark.usefixtures("moves_at_once"),
    pytest.mark.skipif(os.name != "posix", reason="compilers of these tests are shell scripts"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

ROOT = Path(__file__).parent.parent
SECONDS = 120
"""After so long, something hangs."""

Array = np.ndarray[Any, Any]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a shell script the compiler, which does this before it compiles."""

    def make(before: str) -> Path:
        path = tmp_path / "cc.sh"
        path.write_text(
            f'#!/bin/sh\ncd "{tmp_path}"\nif [ "$1" = --version ]; then exec cc "$@"; fi\n{before}\nexec cc "$@"\n'
        )
        path.chmod(0o755)
        monkeypatch.setenv("CC", str(path))
        return tmp_path

    return make


GATE = "touch begun; while [ ! -e open ]; do sleep 0.01; done"
"""Compile when there is a file called `open`."""


def jit(function: Any, **options: Any) -> Any:
    return sl.jit(smallest=0, workers=1, machine=sl.Machine(), **options)(function)


def soft(image: Array, gain: float = 0.5) -> Any:
    """Some of it moves: not the sine, and not the sum."""
    inner = image[1:-1, 1:-1]
    near = (image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:]) / 4
    found = np.maximum(inner + gain * (inner - near), 0)
    return found, np.sin(found) * 2, found.sum(axis=1)


def in_c(function: Any, *given: Any) -> bool:
    return "runs in C" in function.explain(*given)


# ----------------------------------------------------------------------------------------------------------------
# Results
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_not_a_bit_changes(dtype: Any, script: Any) -> None:
    folder = script(GATE)
    image = numbers((40, 30), dtype)
    with np.errstate(all="ignore"):
        expected = jit(soft, native=False)(image)
        function = jit(soft)
        for _ in range(3):
            for found, wanted in zip(function(image), expected, strict=True):
                same_bits(found, wanted)
        assert not in_c(function, image)
        (folder / "open").touch()
        assert function.wait_native(SECONDS)
        assert in_c(function, image)
        for shape in ((40, 30), (40, 30), (41, 17), (3, 3)):
            image = numbers(shape, dtype)
            for found, wanted in zip(function(image), jit(soft, native=False)(image), strict=True):
                same_bits(found, wanted)


def test_what_c_computes_otherwise_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exponential of C differs from NumPy's in some bits: in `native=True`, and nowhere else."""
    values = np.linspace(-3, 3, 20001)

    def curve(x: Array) -> Any:
        return np.exp(x * 0.7) * 3 + 1

    expected = jit(curve, native=False)(values)
    function = jit(curve)
    function(values)
    assert function.wait_native(SECONDS)
    same_bits(function(values), expected)
    np.testing.assert_array_max_ulp(jit(curve, native=True)(values), expected, 8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_that_are_products_in_c_stay_with_numpy(dtype: Any) -> None:
    """They are nearer the true value than NumPy's; squares and roots are NumPy's, bit by bit."""
    y, x = sl.variables("y x")
    for exponent, is_moved in ((2, True), (0.5, True), (3, False), (4, False)):
        a, out = plane("a", dtype), plane("out", dtype)
        sl.arithmetic(a[y, x] ** exponent + 1, out[y, x], name="term")
        plan: Any = sl.build_pipeline([a], [out]).compile(backend="native-exact")
        assert plan.runs_c == is_moved


@pytest.mark.parametrize("backend", ["auto", "native-exact"])
def test_back_ends_that_choose(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    y, x = sl.variables("y x")
    cases: dict[str, tuple[Any, bool, bool]] = {
        "one step": (lambda a: a * 2, False, False),
        "several": (lambda a: a * 2 + 1, True, True),
        "exponential": (lambda a: np.exp(a * 0.5) + 1, True, False),
        "unknown to C": (lambda a: np.spacing(a), False, False),
    }
    given = numbers((20, 30), np.float64)
    for name, (value, by_auto, by_exact) in cases.items():
        a, out = plane("a", np.float64), plane("out", np.float64)
        sl.arithmetic(value(a[y, x]), out[y, x], name="term")
        p = sl.build_pipeline([a], [out])
        plan: Any = p.compile(backend=backend)
        assert plan.runs_c == (by_auto if backend == "auto" else by_exact), name
        with np.errstate(all="ignore"):
            expected, found = p(given), np.empty_like(given)
            plan(given, found)
        if not (backend == "auto" and name == "exponential"):
            same_bits(found, expected)
    monkeypatch.setattr(plans, "compiler", lambda: None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not sl.Pipeline(p.program).compile(backend=backend).runs_c  # type: ignore[attr-defined]


# ----------------------------------------------------------------------------------------------------------------
# When
# ----------------------------------------------------------------------------------------------------------------


def test_what_has_not_run_long_starts_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    times = itertools.count()
    monkeypatch.setattr(to_native, "perf_counter", lambda: next(times) / 10)
    monkeypatch.setattr(to_native, "PATIENCE", 0.35)
    taken: list[Any] = []
    monkeypatch.setattr(Background, "take", lambda self, work: taken.append(work))
    function, image = jit(soft), numbers((10, 12), np.float32)
    with np.errstate(all="ignore"):
        for calls in range(1, 10):
            function(image)
            assert len(taken) == calls // 4  # nobody took it: it is asked again when as much time has gone by
    assert "moves to C when it has run for 0.35 s" in function.explain(image)
    assert not (tmp_path / "cache").exists()


def test_traces_of_one_pipeline_move_together() -> None:
    """A function that is traced at each call moves, too; and another one of the same structure has moved already."""

    def centered(image: Array) -> Any:
        return np.maximum(image - float(image.max()), -1) * 2 + 1

    function, image = jit(centered), numbers((20, 30), np.float32)
    with pytest.warns(sl.ForcedValueWarning):
        expected = jit(centered, native=False)(image)
    with pytest.warns(sl.ForcedValueWarning):
        function(image)
    pipelines = list(to_native._progress)
    for pipeline in pipelines:
        progress = to_native._progress[pipeline]
        assert progress.job is not None
        assert progress.job.wait(SECONDS)
    same_bits(function(image), expected)
    assert len(pipelines) == 1
    assert list(to_native._progress) == pipelines


@pytest.mark.parametrize(("said", "native"), [("0", None), ("1", False)])
def test_where_nobody_asks_for_it(said: str, native: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SLINKY_NATIVE", said)
    function, image = jit(soft, native=native), numbers((10, 12), np.float32)
    with np.errstate(all="ignore"):
        for _ in range(3):
            function(image)
    assert function.wait_native(0)
    assert not in_c(function, image)
    assert not (tmp_path / "cache").exists()


def moved_plan(function: Any) -> Any:
    """What runs the only schedule of a function."""
    (plan,) = (plan for traced in function._traces for plan in traced.scheduled.values())
    return plan


def mixed(u: Array, gain: float) -> Any:
    """Some of it is a loop in C that gives the same bits, and some of it is not."""
    curved = np.exp(u[1:-1] * gain + 1)
    return (curved + u[:-2] * u[2:] - u[1:-1]) * np.exp(u[1:-1])


def test_steps_that_c_computes_otherwise_take_no_others_along() -> None:
    """NumPy's plan computes all of it at once; so a schedule that moves has funcs of its own."""
    function, values = jit(mixed), np.linspace(-2, 2, 250000).reshape(500, 500)
    function(values, 2.0)
    assert len(list(funcs_in(moved_plan(function)._python_plan().program))) == 1
    assert function.wait_native(SECONDS)
    plan = moved_plan(function)
    told = {func.name: is_exact(func.operation.formula) for func in funcs_in(plan.program)}
    assert told == {"add": True, "curved": False, "exp": False, "multiply": True}
    for gain in (2.0, 0.5, -3.0):  # scalars of the one are those of the other
        same_bits(function(values, gain), mixed(values, gain))
    assert moved_plan(function) is plan


def test_filters_are_loops_once_they_have_moved() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")

    def sharp(image: Array, library: Any = sl.ndimage) -> Any:
        return np.clip(image + 1.5 * (image - library.gaussian_filter(image, 1)), 0, 1)

    image = np.random.default_rng(0).random((40, 30), np.float32)
    function, expected = jit(sharp), sharp(image, ndimage)
    same_bits(function(image), expected)
    assert "gaussian" in function.explain(image)
    assert any(isinstance(func.operation, Callback) for func in funcs_in(moved_plan(function)._python_plan().program))
    assert function.wait_native(SECONDS)
    assert not any(isinstance(func.operation, Callback) for func in funcs_in(moved_plan(function).program))
    for shape in ((40, 30), (1, 1), (3, 50)):
        image = np.random.default_rng(1).random(shape, np.float32)
        same_bits(function(image), sharp(image, ndimage))


def test_a_schedule_that_keeps_no_bound_in_c_is_compiled_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    running_for = AutoPipeline._running_for

    def refuse(self: AutoPipeline, *given: Any, **named: Any) -> Any:
        if self._backend == "native-exact":
            raise sl.SchedulingError("max_bytes")
        return running_for(self, *given, **named)

    monkeypatch.setattr(AutoPipeline, "_running_for", refuse)
    function, image = jit(soft), numbers((12, 10), np.float32)
    with np.errstate(all="ignore"):
        expected = soft(image)
        function(image)
        by_numpy = moved_plan(function)._python_plan().program
        assert function.wait_native(SECONDS)
        assert moved_plan(function).program is by_numpy
        assert in_c(function, image)
        same_bits(function(image)[0], expected[0])


def test_copies_move_too() -> None:
    function = jit(_module_level)
    again = pickle.loads(pickle.dumps(function))
    values = np.linspace(0, 1, 1000)
    again(values)
    assert again.wait_native(SECONDS)
    assert in_c(again, values)


def _module_level(x: Array) -> Any:
    return x * 2 + 1


# ----------------------------------------------------------------------------------------------------------------
# Compilers
# ----------------------------------------------------------------------------------------------------------------


def test_without_a_compiler_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "compiler", lambda: None)
    function, image = jit(soft), numbers((10, 12), np.float32)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = soft(image)
        for _ in range(3):
            found = function(image)
        assert function.wait_native(SECONDS)
    same_bits(found[0], expected[0])
    assert not in_c(function, image)


def test_a_compiler_that_was_named_and_is_none_is_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/no/such/compiler")
    function, image = jit(soft), numbers((10, 12), np.float32)
    with np.errstate(all="ignore"):
        expected = soft(image)
        function(image)
        with pytest.warns(sl.CompilationFailedWarning, match=r"stays with NumPy's loops: CC says '/no/such/compiler'"):
            function.wait_native(SECONDS)
        same_bits(function(image)[0], expected[0])  # is not said again: warnings are errors here


def test_a_compiler_that_fails_is_told_of_once(script: Any) -> None:
    script("echo 'out of registers' >&2; exit 1")
    function, image = jit(soft), numbers((10, 12), np.float32)
    with np.errstate(all="ignore"):
        function(image)
        with pytest.warns(sl.CompilationFailedWarning, match=r"(?s)soft stays with NumPy's loops.*out of registers"):
            assert function.wait_native(SECONDS)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found, *_ = function(image)
            assert function.wait_native(SECONDS)
        same_bits(found, soft(image)[0])
    assert not in_c(function, image)


def test_threads_compile_a_library_once(script: Any) -> None:
    folder = script(f"echo x >> count; {GATE}")
    p = _pipeline()
    plans: list[Any] = []
    threads = [threading.Thread(target=lambda: plans.append(p.compile(backend="native"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    (folder / "open").touch()
    for thread in threads:
        thread.join(SECONDS)
    assert len(plans) == 3
    libraries = list((folder / "cache" / "native").glob("*.so"))
    assert (folder / "count").read_text().count("x") == len(libraries)


def _pipeline() -> sl.Pipeline:
    y, x = sl.variables("y x")
    a, out = plane("a", np.float32), plane("out", np.float32)
    sl.arithmetic(a[y, x] * 2 + 1, out[y, x], name="term")
    return sl.build_pipeline([a], [out])


# ----------------------------------------------------------------------------------------------------------------
# Processes
# ----------------------------------------------------------------------------------------------------------------


def test_a_fork_does_not_wait_for_the_compiler(script: Any) -> None:
    """While it runs, a child is forked, which has not got the thread: it computes, and moves by itself."""
    folder = script(GATE)
    function, image = jit(soft), numbers((40, 30), np.float32)

    def child() -> None:
        same_bits(function(image)[0], expected)
        (folder / "open").touch()
        assert function.wait_native(SECONDS)
        same_bits(function(image)[0], expected)
        assert in_c(function, image)

    with np.errstate(all="ignore"):
        expected = function(image)[0]
        _until(folder / "begun")
        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join(SECONDS)
        assert process.exitcode == 0
        assert function.wait_native(SECONDS)
        same_bits(function(image)[0], expected)
    assert in_c(function, image)


def _until(path: Path) -> None:
    done = threading.Event()
    for _ in range(SECONDS * 100):
        if path.exists():
            return
        done.wait(0.01)
    pytest.fail(f"there is no {path}")


EXITING = """
import sys, time, numpy as np, slinky as sl
from pathlib import Path
from slinky.frontend import jitting, to_native
from slinky.frontend.tracing import Plans
to_native.PATIENCE = 0.0
@sl.jit(smallest=0, workers=1, machine=sl.Machine())
def soft(a):
    return a * 2 + 1
print(soft(np.ones(1000)).sum())
while not Path(sys.argv[1]).exists():
    time.sleep(0.01)
"""


def test_a_process_exits_while_the_compiler_runs(script: Any) -> None:
    folder = script("echo $$ > begun.part; mv begun.part begun; exec sleep 1000")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", EXITING, str(folder / "begun")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3000.0\n", "")
    assert not list((folder / "cache" / "native").glob("making-*"))
    status = Path(f"/proc/{int((folder / 'begun').read_text())}/stat")
    assert not status.exists() or status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"


# ----------------------------------------------------------------------------------------------------------------
# The thread
# ----------------------------------------------------------------------------------------------------------------


def test_jobs_wait_in_a_queue_that_ends_somewhere() -> None:
    background, goes_on, begun = Background(), threading.Event(), threading.Event()

    def first() -> int:
        begun.set()
        assert goes_on.wait(SECONDS)
        return 0

    jobs = [background.take(first)]
    assert begun.wait(SECONDS)
    jobs += [background.take(lambda k=k: k) for k in range(1, MOST_WAITING + 1)]  # type: ignore[misc]
    assert background.take(lambda: 1) is None
    goes_on.set()
    results = []
    for job in jobs:
        assert job is not None
        assert job.wait(SECONDS)
        results.append(job.result)
    assert results == list(range(MOST_WAITING + 1))
    again = background.take(lambda: 1 / 0)
    assert again is not None
    assert again.wait(SECONDS)
    assert isinstance(again.error, ZeroDivisionError)


def test_a_process_that_ends_takes_no_more() -> None:
    background, begun, goes_on = Background(), threading.Event(), threading.Event()

    def goes_on_later() -> None:
        begun.set()
        goes_on.wait(SECONDS)

    first = background.take(goes_on_later)
    assert first is not None
    assert begun.wait(SECONDS)
    second = background.take(lambda: 1)
    assert second is not None
    background.end()
    assert second.is_lost
    assert second.wait(SECONDS)
    assert background.take(lambda: 1) is None
    goes_on.set()
    assert first.wait(SECONDS)
    assert not first.is_lost


HELD = """
import sys, threading
import slinky as sl
from slinky.native.background import BACKGROUND
from slinky.symbolic import nodes

begun = threading.Event()

def work():
    with nodes._lock:
        begun.set()
        while True:
            sum(range(1000))

class Cycle:
    pass

kept = Cycle()
kept.own = kept
kept.nodes = [sl.variables("y x")[0] + k for k in range(20000)]  # which die at the very end
if sys.argv[1] == "job":
    BACKGROUND.take(work)
else:
    threading.Thread(target=work, daemon=True).start()
begun.wait()
print("done", flush=True)
"""
"""Something is still under way, with a lock that is taken once more at the very end."""


@pytest.mark.parametrize("what", ["job", "thread of somebody else"])
def test_a_process_ends_with_what_is_under_way(what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELD, what],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
