"""Arithmetic in C: what NumPy gives, bit for bit, with its warnings; and what is said where it cannot be compiled."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from natively import of_dtypes as of
from random_arithmetic import ELSEWHERE, compare_drawn, in_pieces, numbers, plane, programs, same_bits

import slinky as sl
from slinky.native import carriers, compiling
from slinky.native.kernels import kernel_text

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]


pytestmark = pytest.mark.usefixtures("own_libraries")


# ----------------------------------------------------------------------------------------------------------------
# What NumPy gives
# ----------------------------------------------------------------------------------------------------------------


@needs_compiler
@given(programs(), st.sampled_from([(5, 7), (1, 1), (0, 4), (33, 18)]))
@settings(max_examples=settings().max_examples * 5 // 12, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_what_numpy_gives(program: Any, shape: tuple[int, int]) -> None:
    compare_drawn(program, shape, backend="native")


SPECIAL = [0.0, -0.0, 1.0, -1.5, 2.5, np.inf, -np.inf, np.nan, 1e-320, 3e38, -7.0, 0.1]
FLOATS: list[Callable[..., Any]] = [
    *(np.add, np.subtract, np.multiply, np.true_divide, np.maximum, np.minimum, np.copysign),
    *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
    *(np.logical_and, np.logical_or, np.logical_xor),
    *(
        lambda a, b: np.sqrt(a) - np.abs(b),
        lambda a, b: np.floor(a) + np.ceil(b),
        lambda a, b: np.rint(a) * np.trunc(b),
    ),
    *(lambda a, b: np.where(np.isnan(a), b, np.reciprocal(b)), lambda a, b: np.isinf(a) | np.isfinite(b)),
    *(lambda a, b: (a * b + a) * b - a / b, lambda a, b: np.square(-a) + (+b), lambda a, b: a.astype(np.float64) * b),
    *(lambda a, b: np.fabs(a) < b, lambda a, b: ~(a > b)),
    *(lambda a, b: np.clip(a, 0, 2.5) * b, lambda a, b: np.clip(a, -0.0, 1) + b, lambda a, b: np.clip(b - a, 3, 1)),
    *(
        lambda a, b: np.clip(a, None, 0.0) - b,
        lambda a, b: np.clip(b, 0.0, -0.0) - a,
        lambda a, b: np.clip(a, 0, np.inf) / b,
    ),
]
INTEGERS: list[Callable[..., Any]] = [
    *(np.add, np.subtract, np.multiply, np.true_divide, np.maximum, np.minimum),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.less, np.greater_equal, np.equal, np.logical_or),
    *(lambda a, b: -a + np.abs(b), lambda a, b: np.sign(a) * np.square(b), lambda a, b: ~a ^ b),
    *(lambda a, b: (a != 0) | (b == 5),),
    *(lambda a, b: np.clip(a, 3, b), lambda a, b: np.where(a > b, a, b) * 3, lambda a, b: a * np.float32(0.1) + b),
    *(lambda a, b: a.astype(np.uint16) * b.astype(np.uint16), lambda a, b: a.astype(np.int8) - b.astype(np.int8)),
]


@needs_compiler
@pytest.mark.sweep
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", FLOATS)
def test_floats(make: Callable[..., Any], dtype: Any) -> None:
    values = np.array(SPECIAL).astype(dtype)
    a, b = np.repeat(values, len(values)).reshape(12, 12), np.tile(values, len(values)).reshape(12, 12)
    check(make, a, b)


@needs_compiler
@pytest.mark.sweep
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
@pytest.mark.parametrize("make", INTEGERS)
def test_integers_wrap(make: Callable[..., Any], dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = np.array([limits.min, limits.max, 0, 1, 2, 5, limits.max - 1, limits.min + 1, 100], dtype)
    check(make, np.repeat(values, 9).reshape(9, 9), np.tile(values, 9).reshape(9, 9))


@needs_compiler
@pytest.mark.parametrize(
    "make", [np.add, np.multiply, np.maximum, np.minimum, np.bitwise_xor, np.logical_and, np.equal]
)
def test_truths(make: Callable[..., Any]) -> None:
    values = np.array([[False, True], [True, False]])
    check(lambda a, b: make(~a, b), values, values.T.copy())
    check(lambda a, b: make(a, b) + 1.5, values, np.ones_like(values))


def check(make: Callable[..., Any], *arrays: Array) -> None:
    """It is C that runs, and gives what NumPy gives: in whole, backwards, and from columns."""
    p, formula = of(make, *(array.dtype for array in arrays))
    assert kernel_text(formula) is not None
    plan = p.compile(backend="native")
    for given_ in (arrays, tuple(a[::-1, ::2] for a in arrays), tuple(a.T for a in arrays)):
        with np.errstate(all="ignore"):
            expected = make(*given_)
            found = np.zeros(expected.shape, expected.dtype)
            plan(*given_, found)
            same_bits(found, expected)
            turned = np.zeros(expected.shape[::-1], expected.dtype).T
            plan(*given_, turned)
            same_bits(turned, expected)


@needs_compiler
@pytest.mark.parametrize(("reads", "taken"), ELSEWHERE)
def test_elements_from_elsewhere(reads: Callable[..., Any], taken: Callable[..., Any]) -> None:
    a, out = plane("a", np.float32), plane("out", np.float32)
    func = sl.arithmetic(reads(a) * 2, out[y, x], name="term")
    assert kernel_text(func.formula) is not None
    values = numbers((20, 20), np.float32)
    for q in in_pieces(sl.build_pipeline([a], [out]), "term"):
        found = np.zeros((5, 6), np.float32)
        q.run(values, found, backend="native")
        same_bits(found, taken(values) * np.float32(2))


@needs_compiler
def test_coordinates_and_numbers_of_the_run() -> None:
    amount, shift = sl.scalar("amount", float), sl.scalar("shift")
    a, out = plane("a", np.float32), plane("out", np.float64)
    func = sl.arithmetic(a[y, x] * amount + sl.coordinate(y) * 0.5 - x + shift, out[y, x], name="term")
    assert kernel_text(func.formula) is not None
    values = sl.Buffer(numbers((7, 5), np.float32), min=(-3, 2))
    rows, columns = np.arange(7)[:, None] - 3, np.arange(5) + 2
    for q in in_pieces(sl.build_pipeline([a], [out]), "term"):
        found = sl.Buffer(np.zeros((7, 5)), min=(-3, 2))
        q.run(values, found, amount=0.1, shift=3, backend="native")
        same_bits(found.array, values.array * np.float32(0.1) + rows * 0.5 - columns + 3)


@needs_compiler
def test_callbacks_in_between_run_as_ever() -> None:
    a, t, u, out = (plane(name, np.float32) for name in "atuo")
    sl.arithmetic(a[y, x] * 2, t[y, x], name="first")
    sl.Func(np.exp, [t[sl.interval(y, y), x]], [u[y, x]], name="exp")
    sl.arithmetic((u[y - 1, x] + u[y + 1, x]) / 2, out[y, x], name="last")
    p = sl.parallelize_loop(sl.split_loop(sl.build_pipeline([a], [out]), "last.y", 3), "for y")
    values = numbers((30, 8), np.float32)
    found, expected = (sl.Buffer(np.zeros((28, 8), np.float32), min=(1, 0)) for _ in range(2))
    counted = p.run(values, found, backend="native", threads=2)
    usual = p.run(values, expected, threads=2)
    same_bits(found.array, expected.array)
    assert (counted.calls, counted.elements, counted.program_bytes) == (
        usual.calls,
        usual.elements,
        usual.program_bytes,
    )


@needs_compiler
def test_elements_that_are_not_where_their_dtype_wants_them() -> None:
    p, _ = of(lambda a: a * 2 + 1, np.float64)
    values = np.zeros(8 * 12 + 1, np.uint8)[1:].view(np.float64).reshape(3, 4)
    values[...] = np.arange(12).reshape(3, 4)
    found = np.zeros((3, 4))
    p.run(values, found, backend="native")
    same_bits(found, values * 2 + 1)


@needs_compiler
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_given_when_it_runs(dtype: Any) -> None:
    """NaN among them: all elements are it then."""
    a, out = plane("a", dtype), plane("out", dtype)
    low, high = sl.scalar("low", float), sl.scalar("high", float)
    func = sl.arithmetic(np.clip(a[y, x], low, high), out[y, x], name="clipped")
    assert kernel_text(func.formula) is not None
    plan = sl.build_pipeline([a], [out]).compile(backend="native")
    values = np.array(SPECIAL * 4).astype(dtype).reshape(4, 12)
    for bounds in ((0.0, 1.0), (-0.0, 0.5), (2.0, -1.0), (np.nan, 1.0), (-1.0, -np.nan), (np.nan, -np.nan)):
        found = np.zeros_like(values)
        plan(values, found, low=bounds[0], high=bounds[1])
        same_bits(found, np.clip(values, *map(dtype, bounds)))


@needs_compiler
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="NumPy leaves it to the processor")
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "i4", "i8"])
@pytest.mark.parametrize("own", [np.float32, np.float64])
@pytest.mark.parametrize(
    "bounds", [None, (0, 255), (-0.5, 7), (0.9, 3), (1, 9), (-(2.0**31), 2**31 - 256), (-1e30, 7), (3, 1), (0, -5)]
)
def test_floats_as_integers(own: Any, dtype: str, bounds: tuple[float, float] | None) -> None:
    """Also those that are none, of which NumPy tells."""

    def make(a: Any) -> Any:
        return (a if bounds is None else np.clip(a, *bounds)).astype(dtype)

    p, formula = of(make, own)
    assert kernel_text(formula) is not None
    plan = p.compile(backend="native")
    numbers = np.array([0.0, -0.9, 1.5, 254.7, 255.0, 3e9, -3e9, 2.0**31, -(2.0**31), 1e30, -1e30, 70000.5, -128.5])
    for values in (numbers, np.array([1.0, np.nan]), np.array([np.inf]), np.array([-np.inf])):
        array = np.resize(values, (3, 37)).astype(own)
        with np.errstate(all="ignore"):
            expected = make(array)
            found = np.zeros_like(expected)
            plan(array, found)
        same_bits(found, expected)
        assert complaint(plan, array, found) == complaint(make, array)


@needs_compiler
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="NumPy leaves it to the processor")
def test_what_is_clipped_may_have_other_readers() -> None:
    """And several conversions, of which one asks for something else for NaN."""

    def make(a: Any) -> Any:
        held = np.clip(a * 3, 0, 200)
        return held.astype(np.uint8) * np.uint8(3) + held.astype(np.int32) + (held / 7).astype(np.uint8) + held

    p, formula = of(make, np.float32)
    assert kernel_text(formula) is not None
    values = np.resize(np.array([1.5, np.nan, -3, 1e30, 60, np.inf, -np.inf, -0.0], np.float32), (3, 37))
    with np.errstate(all="ignore"):
        expected = make(values)
        found = np.zeros_like(expected)
        p.compile(backend="native")(values, found)
    same_bits(found, expected)


def complaint(run: Callable[..., Any], *arrays: Array) -> str:
    """What a run tells of exceptions of floating point arithmetic."""
    try:
        with np.errstate(all="raise"):
            run(*arrays)
    except FloatingPointError as error:
        return str(error).partition(" encountered")[0]
    return ""


@pytest.mark.parametrize(
    "make",
    [
        lambda a: np.clip(a, a - 1, 3),
        lambda a: np.clip(a, 1, a + 2),
        lambda a: np.arcsinh(a),
        lambda a: np.sinh(a),
        lambda a: a.astype(np.uint32),
        lambda a: a * 1j,
        lambda a: np.modf(a)[0],
        lambda a: a.astype(np.float16),
    ],
)
def test_what_is_left_to_numpy(make: Callable[..., Any]) -> None:
    p, formula = of(make, np.float32)
    assert kernel_text(formula) is None
    values = numbers((4, 5), np.float32)
    expected = make(values)
    found = np.zeros_like(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.MissingCompilerWarning)
        p.run(values, found, backend="native")
    same_bits(found, expected)


# ----------------------------------------------------------------------------------------------------------------
# What NumPy says
# ----------------------------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize(
    ("make", "values", "words"),
    [
        (lambda a: 1 / a, [1.0, 0.0], "divide by zero"),
        (lambda a: a * a, [1e300, 1.0], "overflow"),
        (lambda a: a - a, [np.inf, 1.0], "invalid value"),
        (lambda a: np.sqrt(a), [-1.0, 1.0], "invalid value"),
    ],
)
def test_exceptions_of_floats_are_warnings_or_errors_as_asked(
    make: Callable[..., Any], values: list[float], words: str
) -> None:
    p, _ = of(make, np.float64)
    plan, array, found = p.compile(backend="native"), np.array([values]), np.zeros((1, 2))
    with pytest.warns(RuntimeWarning, match=words):
        plan(array, found)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match=words):
        plan(array, found)
    said: list[str] = []
    with np.errstate(all="call", call=lambda kind, _: said.append(kind)):
        plan(array, found)
    assert said[0] == words
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        plan(array, found)


class Told(list[Any]):
    """What NumPy is told to tell, by a call or by writing."""

    def write(self, text: str) -> None:
        self.append(text)

    def __call__(self, *what: Any) -> None:
        self.append(what)


@needs_compiler
@pytest.mark.parametrize("how", ["call", "log", "print"])
@pytest.mark.parametrize(
    ("make", "name", "value"), [(lambda a: 1 / a, "divide", 0.0), (lambda a: a * a, "multiply", 1e300)]
)
def test_exceptions_of_floats_are_told_as_numpy_tells_them(
    how: Any, make: Callable[..., Any], name: str, value: float, capfd: pytest.CaptureFixture[str]
) -> None:
    """With its numbers, and where it says them; and with its errors, if there is nobody to say them to."""
    plan, array, found = of(make, np.float64)[0].compile(backend="native"), np.array([[value, 1]]), np.zeros((1, 2))
    runs: list[Callable[[], Any]] = [lambda: make(array), lambda: plan(array, found)]
    words, errors = [], []
    nobody: Any = None
    for run in runs:
        told = Told()
        with np.errstate(all=how, call=told):
            run()
        words.append(str([list(told), *capfd.readouterr()]).replace(f"in {name}", "in arithmetic"))
        if how != "print":
            with np.errstate(all=how, call=nobody), pytest.raises(NameError) as caught:
                run()
            errors.append(" ".join(str(caught.value).split()).replace(f"in {name}", "in arithmetic"))
    assert words[0] == words[1]
    assert len(set(errors)) == (how != "print")


@needs_compiler
def test_comparing_with_nan_is_no_exception() -> None:
    """Nor is it to take the larger of two, or to choose."""
    p, formula = of(lambda a, b: np.where(a < b, np.maximum(a, b), np.minimum(a, b)) * (a >= b), np.float32, np.float32)
    assert kernel_text(formula) is not None
    values = np.tile(np.array([np.nan, 1.0, -2.0], np.float32), 40).reshape(4, 30)
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        for other in (values[:, ::-1], values[:, ::-1].copy()):
            p.run(values, other, np.zeros((4, 30), np.float32), backend="native")


@needs_compiler
@pytest.mark.sweep
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "make",
    [
        *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.maximum, np.minimum),
        *(lambda a, b: np.sign(a) + np.sign(b), lambda a, b: np.isfinite(a) | np.isinf(b) | np.isnan(a)),
        *(lambda a, b: np.where(a > b, a, b), lambda a, b: np.heaviside(a, b), lambda a, b: np.where(b < 1, b, a)),
        lambda a, b: np.clip(a, 0, 2) + b,
    ],
)
def test_nan_is_no_exception_in_vectors(make: Callable[..., Any], dtype: Any) -> None:
    p, formula = of(make, dtype, dtype)
    assert kernel_text(formula) is not None
    a = np.tile(np.array([np.nan, 1.0, -2.0, np.nan], dtype), 64).reshape(1, 256)
    b = np.repeat(np.array([3.0, np.nan], dtype), 128).reshape(1, 256)
    with np.errstate(all="raise"):
        expected = make(a, b)
        found = np.zeros_like(expected)
        p.run(a, b, found, backend="native")
    same_bits(found, expected)


# ----------------------------------------------------------------------------------------------------------------
# Compiling
# ----------------------------------------------------------------------------------------------------------------


def test_without_a_compiler_it_is_python_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slinky.native.plans.compiler", lambda: None)
    p, _ = of(lambda a: a * 2, np.float32)
    found = np.zeros((2, 3), np.float32)
    with pytest.warns(sl.MissingCompilerWarning, match=r"pip install 'slinky\[native\]'") as told:
        p.run(np.ones((2, 3), np.float32), found, backend="native")
    assert [each.filename for each in told] == [__file__]
    p.run(np.ones((2, 3), np.float32), found, backend="native")  # is not said again: warnings are errors here
    np.testing.assert_array_equal(found, 2)


@needs_compiler
def test_a_compiler_that_fails_is_an_error_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carriers, "kernel_text", lambda formula: "int no_such_thing(;")
    p, _ = of(lambda a: a * 12345, np.float32)  # which nobody else has compiled
    with pytest.raises(sl.CompilationError, match=r"(?s)failed:.*error"):
        p.compile(backend="native")


def test_no_compiler_where_one_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/no/such/compiler -x")
    p, _ = of(lambda a: a * 2, np.float32)
    for backend in NATIVE:
        with pytest.raises(sl.CompilationError, match="CC says '/no/such/compiler -x', which is no C compiler"):
            p.compile(backend=backend)


@pytest.mark.skipif(os.name != "posix", reason="the compiler of this test is a shell script")
@pytest.mark.parametrize(
    ("said", "words"),
    [("{cc} -x", "(?s)cc.sh -x --version failed \\(3\\):\nno licence \ufffd$"), ('{cc} "x', "No closing quotation")],
)
def test_what_a_compiler_says_that_does_not_run(
    said: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "cc.sh"
    script.write_text("#!/bin/sh\nprintf 'no licence \\377\\n' >&2\nexit 3\n")
    script.chmod(0o755)
    monkeypatch.setenv("CC", said.format(cc=script))
    p, _ = of(lambda a: a * 2, np.float32)
    for backend in NATIVE:
        with pytest.raises(sl.CompilationError, match=words):
            p.compile(backend=backend)


@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no compiler of C++")
def test_a_compiler_of_another_language_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "g++")
    p, _ = of(lambda a: a * 2, np.float32)
    with pytest.raises(sl.CompilationError, match="this is C, and the compiler is one of C\\+\\+"):
        p.compile(backend="native")
    assert not list(folder.glob("*.so"))


@needs_compiler
@pytest.mark.parametrize("name", ["-o", "-x c", "relative"])
def test_a_folder_by_any_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLINKY_CACHE", name)
    factor = 1000 + len(name)  # which has no library yet
    p, _ = of(lambda a: a * factor, np.float32)
    found = p.compile(backend="native")(np.ones((2, 5), np.float32), np.zeros((2, 5), np.float32))
    np.testing.assert_array_equal(found, factor)
    assert list((tmp_path / name / "native").glob("*.so"))


@needs_compiler
def test_no_word_is_no_compiler_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", " ")
    found = compiling.compiler()
    monkeypatch.delenv("CC")
    assert found is not None
    assert found == compiling.compiler()


@pytest.mark.parametrize("backend", ["interpreter", "fortran"])
def test_back_ends_without_plans(backend: str) -> None:
    p, _ = of(lambda a: a * 2, np.float32)
    with pytest.raises(sl.ArgumentError, match=f"(the back end 'interpreter' makes no plan|no back end '{backend}')"):
        p.compile(backend=backend)


NATIVE = ("native", "native-fast", "auto", "native-exact")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "native"


@needs_compiler
def test_what_is_compiled_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_by = compiling.compiler()
    assert made_by is not None
    compiling.library("int three(void) { return 3; }\n", made_by)
    assert [path.suffix for path in sorted(folder.iterdir())] == [".c", ".so"]
    with monkeypatch.context() as patch:
        patch.setattr(compiling, "_compile", None)
        assert compiling.library("int three(void) { return 3; }\n", made_by).three() == 3
    (text,) = folder.glob("*.c")
    kept = text.read_bytes()
    assert kept.startswith(b"int three(void) { return 3; }\n")
    for other in (kept.replace(b"3;", b"4;"), b"\xff\xfe", b""):
        text.write_bytes(other)
        assert compiling.library("int three(void) { return 3; }\n", made_by).three() == 3
        assert text.read_bytes().startswith(b"int three(void) { return 3; }\n")


@needs_compiler
@pytest.mark.parametrize("damage", ["empty", "cut", "zeros", "garbage", "writable", "folder", "pipe"])
def test_a_library_that_was_damaged_is_compiled_again(folder: Path, damage: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    run = partial(subprocess.run, [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    first = run(check=True)
    libraries = {path: path.read_bytes() for path in folder.glob("*.so")}
    for path, whole in libraries.items():
        if damage == "folder":
            path.unlink()
            path.mkdir()
            continue
        if damage == "pipe":  # of which reading has no end
            path.unlink()
            os.mkfifo(path)
            continue
        damaged = {
            "empty": b"",
            "cut": whole[:1000],
            "zeros": whole[:4096] + bytes(len(whole) - 4096),
            "garbage": b"x" * len(whole),
            "writable": whole,
        }
        path.write_bytes(damaged[damage])
        if damage == "writable":
            path.chmod(0o777)
    again = run(check=False, timeout=120)
    assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
    assert {path: path.read_bytes() for path in folder.glob("*.so")} == libraries
    assert not any(path.stat().st_mode & 0o077 for path in folder.iterdir())


@needs_compiler
def test_a_library_that_cannot_be_loaded_is_compiled_once_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where it was compiled beside libraries that are not installed here, in a folder that machines share."""
    made_by = compiling.compiler()
    assert made_by is not None
    text = "int four(void) { return 4; }\n"
    library = made_by.file(text)
    library.write_bytes(b"of another system")
    library.with_suffix(".c").write_bytes(compiling._kept_text(text, library.read_bytes()))
    assert compiling.library(text, made_by).four() == 4
    made: list[str] = []

    def useless(text: str, made_by: object, path: Path) -> None:
        made.append(text)
        path.touch(0o700)
        path.write_bytes(b"of another system")
        path.with_suffix(".c").write_bytes(compiling._kept_text(text, path.read_bytes()))

    monkeypatch.setattr(compiling, "_compile", useless)
    with pytest.raises(sl.CompilationError, match="compiled cannot be loaded"):
        compiling.library("int five(void) { return 5; }\n", made_by)
    assert len(made) == 2


@needs_compiler
def test_what_cannot_be_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_by = compiling.compiler()
    assert made_by is not None
    text = "int six(void) { return 6; }\n"
    monkeypatch.setattr(compiling, "_forget", lambda path: None)  # as if it were in use
    (folder / f"{made_by.digest(text)}.so" / "a folder").mkdir(parents=True)
    with pytest.raises(sl.CompilationError, match="what is compiled cannot be kept in "):
        compiling.library(text, made_by)
    assert not list(folder.glob("making-*"))


@needs_compiler
@pytest.mark.parametrize("where", ["file", "compiler"])
def test_a_folder_that_is_full_is_none_to_compile_in(folder: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Neither for what is written by ourselves, nor for the compiler, which has words of its own for that. What is kept
    there is used."""
    own = folder.parent.parent / "own"
    own.mkdir()
    monkeypatch.setattr(compiling, "_usable_own_folder", lambda: own)
    made_by = compiling.compiler()
    assert made_by is not None
    kept = "int seven(void) { return 7; }\n"
    assert made_by.file(kept).parent == folder
    run, write_through, require_room = compiling._run, compiling._write_through, compiling._require_room
    tried: list[Path] = []

    def full(path: Path) -> None:
        if folder in path.parents:
            tried.append(path)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def running(command: list[str], made: Path) -> None:
        try:
            full(made)
        except OSError as error:
            raise sl.CompilationError(f"ld: {error}") from None
        run(command, made)

    if where == "file":
        monkeypatch.setattr(compiling, "_write_through", lambda path, mode: (full(path), write_through(path, mode)))
    else:
        monkeypatch.setattr(compiling, "_run", running)
        monkeypatch.setattr(compiling, "_require_room", lambda path: (full(path), require_room(path)))
    for n in (8, 9):
        text = f"int f(void) {{ return {n}; }}\n"
        assert made_by.file(text).parent == own
        assert compiling.library(text, made_by).f() == n
    assert len(tried) == (1 if where == "file" else 2)  # and not again
    assert made_by.file(kept).parent == folder
    assert len(list(folder.iterdir())) == 2


@needs_compiler
def test_what_cannot_be_compiled_is_said_where_there_is_room(folder: Path) -> None:
    made_by = compiling.compiler()
    assert made_by is not None
    with pytest.raises(sl.CompilationError, match="failed:\n"):
        made_by.file("int no\n")
    assert made_by.file("int ten(void) { return 10; }\n").parent == folder


@pytest.mark.skipif(not hasattr(os, "ST_NOEXEC"), reason="disks are never for data alone here")
def test_a_folder_on_a_disk_for_data_alone_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = os.environ["SLINKY_CACHE"]
    assert compiling._folder(asked) == folder
    statvfs = os.statvfs

    def for_data(path: Path) -> Any:
        fields = list(statvfs(path))
        fields[8] |= os.ST_NOEXEC if path == folder else 0
        return os.statvfs_result(fields)

    monkeypatch.setattr(os, "statvfs", for_data)
    assert compiling._folder(asked) != folder


@needs_compiler
def test_texts_are_the_same_wherever_a_process_runs(folder: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment = {**os.environ, **plain, "PYTHONPATH": str(Path(__file__).parent.parent)}
    kernel = """
source = "/* \\u00e9 */ int k(const slinky_buffer *a) { return 0; }"
sl.c_kernel(source, "k", outputs={"a": (np.float32, 1)})
"""
    script = SCRIPT.replace('"a", "out"', r'"\u00e9", "out"') + kernel
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "4000.0\n"), done.stderr


@needs_compiler
def test_the_folder_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "MOST_LIBRARIES", 2)
    made_by = compiling.compiler()
    assert made_by is not None
    for name, age in (("making-old", 2 * compiling.LONGEST), ("making-new", 0)):
        (folder / name).mkdir(parents=True)
        (folder / name / "kernel.c").touch()
        os.utime(folder / name, (time.time() - age,) * 2)
        text = folder / f"{name}.c"  # of a process that ended before the library was there
        text.touch()
        os.utime(text, (time.time() - age,) * 2)
    for n in range(4):
        assert getattr(compiling.library(f"int f{n}(void) {{ return {n}; }}\n", made_by), f"f{n}")() == n
    assert len(list(folder.glob("*.so"))) == 2
    assert len(list(folder.glob("*.c"))) == 2 + 1
    assert sorted(path.name for path in folder.glob("making-*")) == ["making-new", "making-new.c"]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owners here")
def test_a_folder_that_others_can_write_to_is_not_used(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    found = compiling._folder(os.environ["SLINKY_CACHE"])
    assert found != folder
    assert not found.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    assert compiling._folder(os.environ["SLINKY_CACHE"]) == found
    folder.chmod(0o700)  # that is asked each time
    assert compiling._folder(os.environ["SLINKY_CACHE"]) == folder
    folder.chmod(0o770)
    assert compiling._folder(os.environ["SLINKY_CACHE"]) == found
    shutil.rmtree(found)  # with what others have compiled there, whose folders went meanwhile
    assert compiling._folder(os.environ["SLINKY_CACHE"]).is_dir()


SCRIPT = """
import numpy as np, slinky as sl
x, = sl.variables("x")
a, out = (sl.BufferExpr(name, np.float32, 1) for name in ("a", "out"))
sl.arithmetic(a[x] * 3 + 1, out[x])
found = np.zeros(1000, np.float32)
sl.build_pipeline([a], [out]).run(np.ones(1000, np.float32), found, backend="native")
print(found.sum())
"""


@needs_compiler
def test_processes_that_compile_at_the_same_time(folder: Path) -> None:
    root = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(root)}
    running = [
        subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [each.communicate()[0].strip() for each in running] == ["4000.0"] * 3
    assert not list(folder.glob("making-*"))


def test_the_text_is_readable() -> None:
    _, formula = of(lambda a, b: np.maximum(a * 0.5, b), np.float32, np.float32)
    text = kernel_text(formula)
    assert text is not None
    lines = [line.strip() for line in text.splitlines()]
    assert "const float t0 = a0_ * (float)0x1.0000000000000p-1;" in lines
    assert "const float t1 = slinky_eitherf(slinky_lessf(a1_, t0) | (t0 != t0), t0, a1_);" in lines
    assert "v_o[i] = t1;" in lines


@needs_compiler
def test_functions_of_numpy_in_c() -> None:
    """A traced function runs its arithmetic in C, at all sizes."""

    def sharpen(image: Array, amount: float = 0.5) -> Any:
        inner = image[1:-1, 1:-1]
        soft = (image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:]) / 4
        return np.maximum(inner + amount * (inner - soft), 0), np.exp(inner)

    traced = sl.jit(smallest=0, native=True, workers=1, machine=sl.Machine())(sharpen)
    for shape in ((40, 30), (41, 7), (3, 3)):
        image = numbers(shape, np.float32)
        for found, expected in zip(traced(image), sharpen(image), strict=True):
            same_bits(found, expected)
