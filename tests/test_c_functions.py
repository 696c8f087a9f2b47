"""Functions of others in C: what callbacks in Python would give, in every plan; what is refused, and said of errors."""

from __future__ import annotations

import ctypes
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import c_sources
import numpy as np
import pytest
from c_programs import COMMAND, COMPILER, FLAGS, SANITIZED, is_whole, needs_compiler, run_in_c
from c_sources import PLANE, across, blur, down, negated, where
from hypothesis import settings
from random_arithmetic import numbers, plane, same_bits
from random_nests import LAYOUTS, arguments, pipeline, scheduled
from test_nests import SHAPES, blurred
from test_nests import told as told  # a fixture
from test_plan_properties import ring_wherever_possible

import slinky as sl
from slinky.native import compiling
from slinky.native.scanning import file_scope
from slinky.runtime import arena, storage

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]
pytestmark = [needs_compiler, pytest.mark.usefixtures("quick_libraries")]


def run_by(p: sl.Pipeline, backend: str) -> Callable[..., Any]:
    """What runs a pipeline by a back end, as a whole where that is a plan."""
    if backend == "interpreter":
        return lambda *given, **names: p.run(*given, backend=backend, **names)
    return p.compile(backend=backend)


# ----------------------------------------------------------------------------------------------------------------
# Results
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(100, 100 + settings().max_examples // 6))
def test_kernels_give_what_callbacks_give(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among random arithmetic under random schedules, on arrays of many layouts."""
    if seed % 2:
        monkeypatch.setattr(storage, "ring_size", ring_wherever_possible)
        monkeypatch.setattr(arena, "ring_size", ring_wherever_possible)
    usual = pipeline(seed, callbacks=0.6)
    p = scheduled(pipeline(seed, callbacks=0.6, negated=negated), seed, 10)
    plan = p.compile(backend="native")
    with np.errstate(all="ignore"):
        for shape in SHAPES[seed % 2 :: 2]:
            results = []
            for run in (lambda *given, **names: usual.run(*given, backend="interpreter", **names), p, plan):
                inputs, out, names = arguments(p, shape, seed)
                run(*inputs, out, **names)
                results.append(out.array)
            same_bits(results[1], results[0])
            same_bits(results[2], results[0])


@pytest.mark.sweep(2)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("height", [1, 3])
@pytest.mark.parametrize("shape", [(13, 7), (1, 1), (0, 4), (4, 0)])
def test_windows_that_slide_are_given_as_they_lie(
    shape: tuple[int, int], height: int, layout: Callable[[Array], Array], told: list[bool]
) -> None:
    p = blur(by_rows=height)
    values = sl.Buffer(layout(numbers((shape[0] + 2, shape[1] + 2), np.float32)), min=(-5, -9))
    found = sl.Buffer(layout(np.zeros(shape, np.float32)), min=(-4, -8))
    p.compile(backend="native")(values, found)
    same_bits(found.array, blurred(values.array))
    assert not any(told)
    if min(shape):
        assert told
    counted, usual = (p.run(values, found, backend=backend) for backend in ("native", "interpreter"))
    assert (counted.calls, counted.elements) == (usual.calls, usual.elements)


def test_iterations_of_a_parallel_loop(told: list[bool]) -> None:
    p = sl.compute_at(sl.split_loop(blur(by_rows=0), "down.y", 4), "across", "for y")
    p = sl.parallelize_loop(sl.store_at(p, "alloc mid", "for y"), "for y")
    values, found = numbers((42, 19), np.float32), sl.Buffer(np.zeros((40, 17), np.float32), min=(1, 1))
    p.compile(backend="native")(values, found)
    same_bits(found.array, blurred(values))
    assert told == [False] * 10


def test_a_bound_plan_keeps_what_runs_again_uses() -> None:
    """A buffer that is made in a loop is fetched there only where nothing that runs again has it from outside."""
    copied = sl.c_kernel(
        "int copied(const slinky_buffer *from_, const slinky_buffer *to) {"
        " for (int64_t i = 0; i < to->extent[1]; i++) ((uint8_t *)to->data)[i] = ((const uint8_t *)from_->data)[i];"
        " return 0; }",
        "copied",
        inputs={"from_": (np.uint8, 2)},
        outputs={"to": (np.uint8, 2)},
        dense=1,
    )
    source, middle, target = (plane(name, np.uint8) for name in ("source", "middle", "target"))
    sl.Func(copied, [source[y, x]], [middle[y, x]], name="load")
    sl.Func(copied, [middle[y, x]], [target[y, x]], name="store")
    p = sl.split_loop(sl.build_pipeline([source], [target]), "store.y", 1)
    p = sl.store_at(sl.compute_at(p, "load", "for y"), "alloc middle", "for y")
    values, found = numbers((4, 16), np.uint8), np.zeros((4, 16), np.uint8)
    bound = p.compile(backend="native").bind([values, found], {})
    for _ in range(2):
        found[...] = 0
        bound()
        same_bits(found, values)


@pytest.mark.parametrize("backend", ["python", "native", "interpreter"])
def test_coordinates_are_known_with_pass_buffers_alone(backend: str) -> None:
    for knows in (True, False):
        out = plane("out", np.int64)
        sl.Func(where(), [], [out[y, x]], name="where", arguments={"fails_at": -99}, pass_buffers=knows)
        p = sl.split_loop(sl.build_pipeline([], [out]), "where.y", 1)
        found = sl.Buffer(np.zeros((3, 4), np.int64), min=(-2, 5))
        run_by(p, backend)(found)
        rows, columns = (np.arange(-2, 1)[:, None], np.arange(5, 9)) if knows else (np.zeros((3, 1)), np.arange(4))
        assert (found.array == 1000 * rows + columns).all()


@pytest.mark.parametrize("backend", ["native", "python", "interpreter"])
@pytest.mark.parametrize(
    ("dtype", "of", "good", "bad"),
    [
        ("i1", "int8_t", (3, -128, np.int64(-7), 3.0, True), (300, np.int64(200), np.int64(-129), 2.7, np.nan, "3")),
        ("u1", "uint8_t", (255, np.int16(3)), (-1, np.int64(-1), 256, b"3", [3])),
        ("f4", "float", (2.5, 3, np.float64(1e30), np.int64(7), np.inf, 1e-99), ("3", None, [3], 1j, -1e39, 10**400)),
        ("?", "uint8_t", (True, False, np.bool_(True), 1), (2, "yes", None, 0.5)),
    ],
)
def test_numbers_are_those_that_the_declared_dtype_holds(
    backend: str, dtype: str, of: str, good: tuple[Any, ...], bad: tuple[Any, ...]
) -> None:
    """Neither are they wrapped, nor cut off, nor read from text."""
    told = sl.c_kernel(
        f"int told(const slinky_buffer *to, {of} by) {{ *(double *)to->data = by; return 0; }}",
        "told",
        outputs={"to": (np.float64, 1)},
        scalars={"by": dtype},
    )

    def run(number: Any) -> Any:
        out = sl.BufferExpr("out", np.float64, 1)
        sl.Func(told, [], [out[x]], name="told", arguments={"by": number})
        found = np.zeros(1)
        run_by(sl.build_pipeline([], [out]), backend)(found)
        return found[0]

    for number in good:
        assert run(number) == np.dtype(dtype).type(number)
    for number in bad:
        with pytest.raises(sl.CallbackError, match=f"takes its number by as {np.dtype(dtype).name}"):
            run(number)


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize("is_told", [False, True])
@pytest.mark.parametrize(
    ("dtype", "of", "bad"),
    [
        ("i1", "int8_t", (np.int64(200), 2.7)),
        ("u1", "uint8_t", (np.int64(-1),)),
        ("f4", "float", (1e39, np.float64(-1e300), 2.0**128 - 2.0**103)),
        ("?", "uint8_t", (2, 0.5)),
    ],
)
def test_numbers_are_those_that_the_declared_dtype_holds_in_loops(
    dtype: str, of: str, bad: tuple[Any, ...], is_told: bool, backend: str
) -> None:
    """Also where the file of a nest has them as constants: these were wrapped, or cut off."""
    scaled = sl.c_kernel(
        f"""int scaled(const slinky_buffer *a, const slinky_buffer *to, {of} by)
        {{
            for (int64_t x = 0; x < to->extent[0]; x++) ((double *)to->data)[x] = ((const double *)a->data)[x] * by;
            return 0;
        }}""",
        "scaled",
        inputs={"a": (np.float64, 1)},
        outputs={"to": (np.float64, 1)},
        scalars={"by": dtype},
        dense=1,
    )
    for number in bad:
        if is_told and not isinstance(number, float):
            continue  # a scalar of a pipeline is a float, or an index
        a, mid, out = (sl.BufferExpr(name, np.float64, 1) for name in ("a", "mid", "out"))
        given = sl.scalar("number", float) if is_told else number
        sl.Func(scaled, [a[x]], [mid[x]], name="scaled", arguments={"by": given})
        sl.arithmetic(mid[x] + 1, out[x], name="more")
        p = sl.compute_at(sl.split_loop(sl.build_pipeline([a], [out]), "more.x", 2), "scaled", "for x")
        names = {"number": number} if is_told else {}
        with pytest.raises(sl.CallbackError, match=f"takes its number by as {np.dtype(dtype).name}"):
            p.compile(backend=backend)(np.ones(3), np.zeros(3), **names)


@pytest.mark.parametrize("backend", ["native", "python", "interpreter"])
def test_expressions_are_truths_where_they_are_one_or_zero(backend: str) -> None:
    told = sl.c_kernel(
        "int told(const slinky_buffer *to, uint8_t by) { ((double *)to->data)[0] = by; return 0; }",
        "told",
        outputs={"to": (np.float64, 1)},
        scalars={"by": bool},
    )
    mid, out = (sl.BufferExpr(name, np.float64, 1) for name in ("mid", "out"))
    sl.Func(told, [], [mid[x]], name="told", arguments={"by": sl.scalar("n") - 3})
    sl.arithmetic(mid[x] + 1, out[x], name="more")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([], [out]), "more.x", 1), "told", "for x")
    found = np.zeros(2)
    for n in (3, 4):
        run_by(p, backend)(found, n=n)
        assert (found == n - 2).all()
    for n in (2, 5, 1 << 40):
        with pytest.raises(sl.CallbackError, match="takes its number by as bool"):
            run_by(p, backend)(found, n=n)


@pytest.mark.parametrize("dense", [1, 2])
def test_arrays_with_gaps_are_copied_for_those_that_know_of_none(dense: int) -> None:
    source = c_sources.DOWN.replace("x * b->stride[1]", "x * (int64_t)sizeof(float)")
    if dense == 2:
        source = source.replace("y * b->stride[0]", "y * b->extent[1] * (int64_t)sizeof(float)")
    kernel = sl.c_kernel(
        source, "down", inputs={"a": PLANE}, outputs={"out": PLANE}, scalars={"by": np.float32}, dense=dense
    )
    p = blur(second=kernel)
    for layout in LAYOUTS:
        values = layout(numbers((12, 9), np.float32))
        for run in (p.compile(backend="native"), p):
            found = sl.Buffer(layout(np.zeros((10, 7), np.float32)), min=(1, 1))
            run(values, found)
            same_bits(found.array, blurred(values))


@pytest.mark.parametrize("backend", ["native", "python", "interpreter"])
def test_steps_are_whole_numbers_of_elements(backend: str) -> None:
    """A complex number of 16 bytes is aligned to 8 of them, so in records of 24 one follows after a step and a half."""
    line = (np.complex128, 1)
    source = """
        #include <stdint.h>
        int turned(const double *from, int64_t from_step, double *to, int64_t to_step, int64_t count)
        {
            for (int64_t i = 0; i < count; i++) {
                to[2 * i * to_step] = from[2 * i * from_step + 1];
                to[2 * i * to_step + 1] = from[2 * i * from_step];
            }
            return 0;
        }
    """
    assert COMPILER is not None
    turned = sl.c_function(
        compiling.library(source, COMPILER).turned,
        inputs={"a": line},
        outputs={"out": line},
        parameters=["a", "a.step[0]", "out", "out.step[0]", "out.extent[0]"],
        name="turned",
    )
    a, mid, out = (sl.BufferExpr(name, np.complex128, 1) for name in ("a", "mid", "out"))
    sl.Func(turned, [a[x]], [mid[x]], name="first")
    sl.Func(turned, [mid[x]], [out[x]], name="second")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([a], [out]), "second.x", 2), "first", "for x")
    plain = np.arange(5) * (1 - 2j)
    records = np.zeros((2, 5), [("z", np.complex128), ("other", np.float64)])
    records[0]["z"] = plain
    for values in (plain, records[0]["z"], records[0]["z"][::-1]):
        for found in (np.zeros(5, np.complex128), records[1]["z"]):
            run_by(p, backend)(values, found)
            same_bits(found, values)
    assert not records["other"].any()


def test_elements_that_are_not_where_their_dtype_wants_them() -> None:
    values = np.zeros(12 * 9 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(12, 9)
    values[...] = numbers((12, 9), np.float32)
    for backend in ("native", "python"):
        found = np.zeros(10 * 7 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(10, 7)
        blur().compile(backend=backend)(values, sl.Buffer(found, min=(1, 1)))
        same_bits(found, blurred(values))


def test_exceptions_of_floats_are_those_of_arithmetic() -> None:
    """What a function of somebody else divides by 0 is its own affair; what arithmetic beside it does is told."""
    source = c_sources.NEGATED.format(of="float", to="float").replace("(-*", "(1 / *")
    kernel = sl.c_kernel(source, "negated", inputs={"a": PLANE}, outputs={"out": PLANE})
    a, mid, out = (plane(name, np.float32) for name in ("a", "mid", "out"))
    sl.Func(kernel, [a[y, x]], [mid[y, x]], name="inverse")
    sl.arithmetic(mid[y, x] * 2, out[y, x], name="twice")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([a], [out]), "twice.y", 1), "inverse", "for y")
    plan, found = p.compile(backend="native"), np.zeros((3, 4), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan(np.zeros((3, 4), np.float32), found)
    assert np.isinf(found).all()
    with pytest.warns(RuntimeWarning, match="overflow encountered"):
        plan(np.full((3, 4), 4e-39, np.float32), found)


# ----------------------------------------------------------------------------------------------------------------
# Functions that are compiled already
# ----------------------------------------------------------------------------------------------------------------

ITEMS = ["a", "out", "a.extent[0]: int", "out.extent[1]: size_t", "a.step[0]", "out.stride[0]: ptrdiff_t", "by"]


def of_ctypes() -> Any:
    """A function that takes what C functions like to take: pointers, sizes as `int`, leading dimensions."""
    source = """
    #include <stddef.h>
    int bare(const float *a, float *out, int rows, size_t columns, int64_t lead, ptrdiff_t bytes, float by)
    {
        for (int y = 0; y + 2 < rows; y++)
            for (size_t x = 0; x < columns; x++) {
                const float *from = a + y * lead + x;
                float *to = (float *)((char *)out + y * bytes) + x;
                *to = (from[0] + from[lead] * 2 + from[2 * lead]) * by;
            }
        return rows > 0 ? 1 : 0;
    }
    int unused(const slinky_buffer *out) { (void)out; return 0; }
    """
    made = compiling.compiler()
    assert made is not None
    text = f"#include <stdint.h>\ntypedef struct {{ int x; }} slinky_buffer;\n{source}"
    return compiling.library(text, made).bare


@pytest.mark.parametrize("wrap", ["ctypes", "address", "capsule", "cffi"])
def test_compiled_functions(wrap: str, told: list[bool]) -> None:
    """They are called in the nest, with what they ask for, and stay what they are."""
    given = function = of_ctypes()
    address = ctypes.cast(function, ctypes.c_void_p).value
    if wrap == "address":
        given = address
    elif wrap == "capsule":
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        given = make(address, b"signature", None)
    elif wrap == "cffi":
        cffi = pytest.importorskip("cffi").FFI()
        given = cffi.cast("int(*)(float *, float *, int, size_t, int64_t, ptrdiff_t, float)", address)
    kernel = sl.c_function(
        given, inputs={"a": PLANE}, outputs={"out": PLANE}, scalars={"by": np.float32}, parameters=ITEMS, success=1
    )
    p = blur(second=kernel)
    values = numbers((14, 9), np.float32)
    for layout in LAYOUTS:
        for run in (p.compile(backend="native"), p):
            found = sl.Buffer(layout(np.zeros((12, 7), np.float32)), min=(1, 1))
            run(layout(values), found)
            same_bits(found.array, blurred(values))
    assert told == [False] * len(LAYOUTS)


def test_without_a_compiler_functions_are_called_by_ctypes(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = {"inputs": {"a": PLANE}, "outputs": {"out": PLANE}}
    function = of_ctypes()
    monkeypatch.setattr("slinky.native.entries.compiler", lambda: None)
    kernel = sl.c_function(function, **arrays, scalars={"by": np.float32}, parameters=ITEMS, success=1)
    values = numbers((12, 9), np.float32)
    for layout in LAYOUTS:
        found = layout(np.zeros((10, 9), np.float32))
        kernel(layout(values), found, by=0.5)
        same_bits(found, (values[:-2] + values[1:-1] * np.float32(2) + values[2:]) * np.float32(0.5))
    with pytest.raises(sl.CallbackError, match="bare failed: it returned 0, where 1 says that all went well"):
        kernel(values[:0], np.zeros((0, 9), np.float32), by=1)


def test_low_level_callables_have_data_of_their_own() -> None:
    scipy = pytest.importorskip("scipy")
    source = """
    int shifted(const double *line, intptr_t length, double *out, const double *data)
    {
        for (intptr_t x = 0; x < length; x++) out[x] = line[x] + *data;
        return 1;
    }
    """
    made = compiling.compiler()
    assert made is not None
    function = compiling.library(f"#include <stdint.h>\n{source}", made).shifted
    function.restype = ctypes.c_int
    function.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p]
    amount = ctypes.c_double(2.5)
    low_level = scipy.LowLevelCallable(function, ctypes.cast(ctypes.pointer(amount), ctypes.c_void_p))
    kernel = sl.c_function(
        low_level,
        inputs={"a": (np.float64, 1)},
        outputs={"out": (np.float64, 1)},
        parameters=["a", "a.extent[0]: intptr_t", "out", "user_data"],
        success=1,
        name="shifted",
    )
    a, mid, out = (plane(name, np.float64, 1) for name in ("a", "mid", "out"))
    sl.Func(kernel, [a[x]], [mid[x]], name="first")
    sl.Func(kernel, [mid[x]], [out[x]], name="second")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([a], [out]), "second.x", 3), "first", "for x")
    for backend in ("native", "python"):
        found = np.zeros(10)
        p.compile(backend=backend)(np.arange(10.0), found)
        assert (found == np.arange(10.0) + 5).all()


def test_functions_of_numba(told: list[bool]) -> None:
    numba = pytest.importorskip("numba")

    @numba.njit
    def down(a: Array, out: Array, by: float) -> None:
        if a.shape[0] != out.shape[0] + 2:
            raise ValueError("another shape")
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = (a[i, j] + a[i + 1, j] * np.float32(2) + a[i + 2, j]) * by

    kernel = sl.c_function(down, inputs={"a": PLANE}, outputs={"out": PLANE}, scalars={"by": np.float32})
    p = blur(second=kernel, by_rows=2)
    values = numbers((14, 9), np.float32)
    for layout in LAYOUTS[:3]:
        for run in (p.compile(backend="native"), p):
            found = sl.Buffer(layout(np.zeros((12, 7), np.float32)), min=(1, 1))
            run(layout(values), found)
            same_bits(found.array, blurred(values))
    assert told == [False] * 3
    with pytest.raises(sl.CallbackError, match="down failed: it returned 1"):
        kernel(values, values, by=1)
    signature = "int32(CPointer(uint8), CPointer(uint8), int64)"

    @numba.cfunc(signature)
    def twice(a: Any, out: Any, n: int) -> int:
        for i in range(n):
            out[i] = 2 * a[i]
        return 0

    line = (np.uint8, 1)
    doubled = sl.c_function(twice, inputs={"a": line}, outputs={"out": line}, parameters=["a", "out", "a.extent[0]"])
    result = np.zeros(5, np.uint8)
    doubled(np.arange(5, dtype=np.uint8), result)
    assert list(result) == [0, 2, 4, 6, 8]
    with pytest.raises(sl.GraphError, match="is not compiled by numba for such arrays"):
        sl.c_function(down, inputs={"a": (np.float32, 1)}, outputs={"out": line}, scalars={"by": np.float32})
    half = (np.float16, 1)
    with pytest.raises(sl.GraphError, match="is not compiled by numba for such arrays"):
        sl.c_function(down, inputs={"a": half}, outputs={"out": half}, scalars={"by": np.float32})


# ----------------------------------------------------------------------------------------------------------------
# Errors
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["rows", "parallel", "none"])
def test_a_function_that_fails_ends_the_run(schedule: str) -> None:
    """With an error that says which call it was, the same by every back end; nothing is computed behind it."""
    mid, out = plane("mid", np.int64), plane("out", np.int64)
    sl.Func(where(), [], [mid[y, x]], name="where", arguments={"fails_at": sl.scalar("n")}, pass_buffers=True)
    sl.Func(negated(np.dtype(np.int64), np.dtype(np.int64)), [mid[y, x]], [out[y, x]], name="turned")
    p = sl.build_pipeline([], [out])
    if schedule != "none":
        p = sl.compute_at(sl.split_loop(p, "turned.y", 1), "where", "for y")
    if schedule == "parallel":
        p = sl.parallelize_loop(sl.store_at(p, "alloc mid", "for y"), "for y", workers=1)
    said = []
    for backend in ("native", "python", "interpreter"):
        run, found = run_by(p, backend), sl.Buffer(np.ones((6, 4), np.int64), min=(-3, 2))
        with pytest.raises(sl.CallbackError) as caught:
            run(found, n=1)
        said.append((str(caught.value), caught.value.__notes__))
        if schedule == "rows":
            assert (found.array[4:] == 1).all()
            assert (found.array[:4] != 1).all()
        run(found, n=99)
        assert (found.array[4] == -1000 - np.arange(2, 6)).all()
    row = "1" if schedule != "none" else "-3..2"
    note = f"in the call where[{row}, 2..5] of pipeline {p.program.name}"
    assert said[0] == ("where failed: it returned 7, where 0 says that all went well", [note])
    assert said[1] == said[2] == said[0]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("int f(const slinky_buffer *a, const slinky_buffer *out) { return nothing_is_called_so; }", "f:1:.*error"),
        ("int f(const slinky_buffer *a) { return 0; }", "conflicting types"),
        ("void f(const slinky_buffer *a, const slinky_buffer *out) {}", "conflicting types"),
        (
            "int g(const slinky_buffer *a, const slinky_buffer *out) { return 0; }",
            "nothing in it defines 'f', which it uses",
        ),
        ("", "nothing in it defines 'f', which it uses"),
        ("/* int f(void); */\n#define f", "nothing in it defines 'f', which it uses"),
    ],
)
def test_sources_that_are_no_such_function(source: str, words: str) -> None:
    with pytest.raises(sl.CompilationError, match=f"(?s){words}"):
        sl.c_kernel(source, "f", inputs={"a": PLANE}, outputs={"out": PLANE})


def test_without_a_compiler_there_is_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slinky.native.c_functions.compiler", lambda: None)
    with pytest.raises(sl.CompilationError, match="'across' needs a C compiler"):
        sl.c_kernel(c_sources.ACROSS, "across", inputs={"a": PLANE}, outputs={"out": PLANE})


def test_funcs_that_would_give_it_something_else() -> None:
    a, wide, out = plane("a", np.float32), plane("wide", np.float64), plane("out", np.float32)
    line, swapped = plane("line", np.float32, 1), plane("swapped", np.dtype(">f4"))
    for inputs, named, words in (
        ([wide[y, x]], {"by": 1}, r"takes float32\[2\] as its input 0, got float64\[2\]"),
        ([swapped[y, x]], {"by": 1}, r"takes float32\[2\] as its input 0, got >f4\[2\]"),
        ([line[x]], {"by": 1}, r"takes float32\[2\] as its input 0, got float32\[1\]"),
        ([a[y, x], a[y, x]], {"by": 1}, "takes 1 input, got 2"),
        ([a[y, x]], {}, "takes the arguments by, got no arguments"),
    ):
        with pytest.raises(sl.GraphError, match=f"func 'down': down {words}"):
            sl.Func(down(), inputs, [out[y, x]], arguments=named)
    array = np.zeros((3, 3), np.float32)
    with pytest.raises(sl.CallbackError, match=r"down takes float32\[2\] as its output 0, got int16\[2\]"):
        down()(array, np.zeros((3, 3), np.int16), by=1)
    with pytest.raises(sl.CallbackError, match=r"takes arrays of NumPy, got list"):
        down()([[1.0]], array, by=1)  # type: ignore[arg-type]
    array.flags.writeable = False
    with pytest.raises(sl.CallbackError, match=r"writes out, but was given a read-only array"):
        down()(array, array, by=1)
    with pytest.raises(sl.CallbackError, match=r"its number by as float32"):
        down()(array, array.copy(), by="x")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"outputs": {}}, "writes nothing"),
        ({"inputs": [PLANE]}, "inputs must be a dictionary"),
        ({"inputs": {"a": np.float32}}, "'a' must be a dtype and a rank"),
        ({"inputs": {"a": (object, 1)}}, "is of object, which C has not"),
        ({"inputs": {"a": ("nothing", 1)}}, "the dtype of 'a'"),
        ({"inputs": {"out": PLANE}}, "'out' must be the name of one array"),
        ({"scalars": {"by": np.complex64}}, "its number by is complex64"),
        ({"parameters": ["a", "out", "b.extent[0]"]}, "of none of a, out"),
        ({"parameters": ["a", "out", "a.extent[2]"]}, "of dimension 2, but a has 2"),
        ({"parameters": ["a", "out", "a.extent[0]: char"]}, "is of type 'char'"),
        ({"parameters": ["a", "out", "a.step"]}, r"passed by dimension: a\.step\[0\]"),
        ({"parameters": ["a", "out.extent[0]"]}, "no parameter is 'out'"),
        ({"parameters": ["a", "out", "a+1"]}, "a parameter is the name"),
        ({"parameters": ["a", "out", "user_data"]}, "has no user_data"),
        ({"parameters": "a out"}, "parameters must be a list"),
        ({"success": "yes"}, "success is an integer or None"),
        ({"success": 2**40}, "success is what an int of C holds, -2147483648 to 2147483647, got 1099511627776"),
        ({"name": "no name"}, "Python identifier"),
    ],
)
def test_declarations_that_cannot_be(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(sl.GraphError, match=words):
        sl.c_function(**{"pointer": down().address, "inputs": {"a": PLANE}, "outputs": {"out": PLANE}, **changes})


def test_no_more_dimensions_are_dense_than_there_are() -> None:
    source = "int f(const slinky_buffer *a, const slinky_buffer *out) { return 0; }"
    with pytest.raises(sl.GraphError, match="of which its arrays have 2 at most, got 3"):
        sl.c_kernel(source, "f", inputs={"a": PLANE}, outputs={"out": PLANE}, dense=3)


@pytest.mark.parametrize("given", [np.sin, len, "f", 0, -4, 1 << 64, True])
def test_what_is_no_compiled_function(given: object) -> None:
    with pytest.raises(sl.GraphError, match=r"no compiled function|where no function is"):
        sl.c_function(given, outputs={"out": PLANE})


def test_functions_that_need_the_lock_of_the_interpreter_are_refused() -> None:
    """It is given away before a call; a function of Python's takes it itself."""
    options: dict[str, Any] = {"outputs": {"out": (np.float64, 1)}, "parameters": ["out"], "success": None}
    clear = ctypes.pythonapi.PyErr_Clear
    for given in (clear, ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyErr_Clear", ctypes.pythonapi))):
        with pytest.raises(sl.GraphError, match="need the lock of Python's interpreter"):
            sl.c_function(given, name="clear", **options)
    seen: list[int] = []
    kernel = sl.c_function(ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(seen.append), name="see", **options)
    found = np.zeros(3)
    kernel(found)
    assert seen == [found.ctypes.data]


def test_an_address_is_an_integer_of_any_kind() -> None:
    made = down().address
    for address in (made, np.int64(made), np.uint64(made)):
        kernel = sl.c_function(address, inputs={"a": PLANE}, outputs={"out": PLANE}, name="down")
        assert kernel.address == made


def test_functions_of_numba_cannot_write_what_they_read() -> None:
    """One that is compiled for arrays that its author gave is called with these."""
    numba = pytest.importorskip("numba")
    line = (np.float32, 1)

    @numba.njit
    def spoiling(a: Array, out: Array) -> None:
        for i in range(out.shape[0]):
            out[i] = a[i]
            a[i] = -1

    @numba.njit("void(float32[:], float32[:])")
    def copying(a: Array, out: Array) -> None:
        for i in range(out.shape[0]):
            out[i] = a[i]

    with pytest.raises(sl.GraphError, match="is not compiled by numba for such arrays"):
        sl.c_function(spoiling, inputs={"a": line}, outputs={"out": line})
    kernel = sl.c_function(spoiling, outputs={"a": line, "out": line})
    values, found = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    kernel(values, found)
    assert (found == [0, 1, 2]).all()
    assert (values == -1).all()
    sl.c_function(copying, inputs={"a": line}, outputs={"out": line})(found, values)
    assert (values == found).all()


def test_integers_that_a_parameter_does_not_hold() -> None:
    """The 300 columns are no `uint8_t`, and the rows go backwards, which no `size_t` says."""
    for item, words in (("out.extent[1]: uint8_t", "cannot hold"), ("out.stride[0]: size_t", "cannot hold")):
        kernel = sl.c_function(
            of_ctypes(), inputs={"a": PLANE}, outputs={"out": PLANE}, parameters=["a", "out", item], name="f"
        )
        a, mid, out = (plane(name, np.float32) for name in ("a", "mid", "out"))
        sl.Func(across(), [a[y, sl.interval(x - 1, x + 1)]], [mid[y, x]], name="across")
        sl.Func(kernel, [mid[y, x]], [out[y, x]], name="f")
        p = sl.split_loop(sl.build_pipeline([a], [out]), "f.y", 1)
        p = sl.compute_at(p, "across", "for y")
        found = sl.Buffer(np.zeros((5, 300), np.float32)[::-1], min=(0, 1))
        for backend in ("native", "python"):
            with pytest.raises(sl.CallbackError, match=words):
                p.compile(backend=backend)(np.zeros((5, 302), np.float32), found)


# ----------------------------------------------------------------------------------------------------------------
# Files
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sanitized", [False, True])
@pytest.mark.parametrize("height", [1, 3])
def test_sources_stand_in_the_file_of_a_program(height: int, sanitized: bool, tmp_path: Path) -> None:
    """A buffer of which a kernel takes several rows at once is not folded there: rows lie apart where it is."""
    p = blur(by_rows=height, second=down(1 if sanitized else 0))
    text = p.to_c()
    assert is_whole(text)
    assert "static float sum3(float a" in text
    assert "3 says that a function which the file has from its author failed" in text
    values = sl.Buffer(numbers((13, 9), np.float32), min=(-4, 2))
    found = sl.Buffer(np.zeros((11, 7), np.float32), min=(-3, 3))
    flags = [*FLAGS, *(SANITIZED if sanitized and height == 1 else ())]
    status, result = run_in_c(p, [values], found, {}, [*COMMAND, *flags], tmp_path)
    assert status == 0
    same_bits(result, blurred(values.array))


def test_a_function_that_fails_in_a_program(tmp_path: Path) -> None:
    out = plane("out", np.int64)
    sl.Func(where(), [], [out[y, x]], name="where", arguments={"fails_at": 2}, pass_buffers=True)
    p = sl.split_loop(sl.build_pipeline([], [out]), "where.y", 1)
    found = sl.Buffer(np.zeros((4, 3), np.int64))
    status, result = run_in_c(p, [], found, {}, [*COMMAND, *FLAGS], tmp_path)
    assert status == 3
    assert (result[3] == 0).all()


@pytest.mark.parametrize("number", [2.0, 1e38, -1e39])
def test_a_file_takes_the_numbers_that_the_declared_dtype_holds(number: float, tmp_path: Path) -> None:
    told = sl.c_kernel(
        "int told(const slinky_buffer *to, float by) { *(double *)to->data = by; return 0; }",
        "told",
        outputs={"to": (np.float64, 2)},
        scalars={"by": np.float32},
    )
    out = plane("out", np.float64)
    sl.Func(told, [], [out[y, x]], name="told", arguments={"by": sl.scalar("by", float)})
    p = sl.build_pipeline([], [out])
    found = sl.Buffer(np.full((1, 1), 7.0))
    status, result = run_in_c(p, [], found, {"by": number}, [*COMMAND, *FLAGS], tmp_path)
    assert (status, result[0, 0]) == ((1, 7.0) if number == -1e39 else (0, np.float32(number)))


def test_a_file_cannot_hold_an_address() -> None:
    named = sl.c_function(
        of_ctypes(),
        inputs={"a": PLANE},
        outputs={"out": PLANE},
        scalars={"by": np.float32},
        parameters=ITEMS,
        name="bare",
    )
    with pytest.raises(sl.CompilationError, match=r"bare is known by its address alone\. Describe .* sl\.c_kernel"):
        blur(second=named).to_c()
    a, out = plane("a", np.float32), plane("out", np.float32)
    sl.Func(named, [a[sl.interval(y, y + 2), x]], [out[y, x]], arguments={"by": 1})
    with pytest.raises(sl.CompilationError, match="bare is known by its address alone"):
        sl.build_pipeline([a], [out]).to_c()


def test_sources_that_give_the_same_names(told: list[bool]) -> None:
    """One is called by its address, as a file of C cannot."""
    other = sl.c_kernel(
        c_sources.DOWN + "static int sum3;\nint unused(void) { return sum3; }",
        "down",
        inputs={"a": PLANE},
        outputs={"out": PLANE},
        scalars={"by": np.float32},
    )
    p = blur(second=other)
    values, found = numbers((9, 8), np.float32), sl.Buffer(np.zeros((7, 6), np.float32), min=(1, 1))
    p.compile(backend="native")(values, found)
    same_bits(found.array, blurred(values))
    assert told == [False]
    with pytest.raises(sl.CompilationError, match="the source of down has a name sum3, as has that of across"):
        p.to_c()


@pytest.mark.parametrize(
    ("name", "before"),
    [
        *((name, "") for name in ("a0", "b1", "code", "data", "e0", "extents", "k0", "made0", "p0", "s0")),
        *(("twice", f"#define {name} 5") for name in ("code", "p0", "b0", "k0")),
    ],
)
def test_names_that_stand_in_what_calls_a_function(name: str, before: str, tmp_path: Path) -> None:
    """A function may be called as what is declared where it is called, and macros of its source end with that."""
    source = f"""{before}
    int {name}(const slinky_buffer *of, const slinky_buffer *to, double by)
    {{
        for (int64_t x = 0; x < to->extent[1]; x++) ((double *)to->data)[x] = ((const double *)of->data)[x] * by;
        return 0;
    }}"""
    line = (np.float64, 2)
    kernel = sl.c_kernel(source, name, inputs={"of": line}, outputs={"to": line}, scalars={"by": np.float64}, dense=2)
    a, mid, out = (plane(each, np.float64) for each in ("a", "mid", "out"))
    sl.Func(kernel, [a[y, x]], [mid[y, x]], name="first", arguments={"by": 2.0})
    sl.arithmetic(mid[y, x] + 1, out[y, x], name="more")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([a], [out]), "more.y", 1), "first", "for y")
    values, found = numbers((3, 4), np.float64), np.zeros((3, 4))
    plan = p.compile(backend="native")
    assert "# in C: first, more" in plan.source
    for run in (plan, p):
        found[...] = 0
        run(values, found)
        same_bits(found, values * 2 + 1)
    status, result = run_in_c(p, [sl.Buffer(values)], sl.Buffer(np.zeros((3, 4))), {}, [*COMMAND, *FLAGS], tmp_path)
    assert status == 0
    same_bits(result, values * 2 + 1)


@pytest.mark.parametrize(
    "before",
    [
        "#undef NAN",
        "#undef NAN\n#define NAN (0.0f / 0.0f)",
        "#ifndef INFINITY\n#define INFINITY HUGE_VAL\n#endif",
        "#pragma GCC visibility push(hidden)",
        "#ifdef __clang__\n#pragma clang fp contract(fast)\n#endif",
        "#ifdef __clang__\n#pragma float_control(precise, off)\n#endif",
        '#pragma GCC optimize ("O3", "fp-contract=fast")',
        '_Pragma("GCC optimize (\\"O3\\", \\"fp-contract=fast\\")")',
    ],
)
def test_what_a_source_says_to_the_compiler_ends_with_it(before: str, tmp_path: Path) -> None:
    """Macros of others are there again behind it, and arithmetic is rounded as NumPy rounds it."""
    kernel = sl.c_kernel(
        f"{before}\n{c_sources.DOWN}",
        "down",
        inputs={"a": PLANE},
        outputs={"out": PLANE},
        scalars={"by": np.float32},
    )
    a, mid, out = (plane(each, np.float32) for each in ("a", "mid", "out"))
    sl.Func(kernel, [a[sl.interval(y, y + 2), x]], [mid[y, x]], name="first", arguments={"by": 0.3})
    value = mid[y, x] * mid[y, x] + mid[y, x] * np.float32(1.1)
    nan, infinity = np.float32(np.nan), np.float32(np.inf)
    sl.arithmetic(np.where(value > 2, infinity, np.where(value < 0, nan, value)), out[y, x], name="more")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([a], [out]), "more.y", 1), "first", "for y")
    plan, values = p.compile(backend="native"), np.random.default_rng(0).random((9, 400), np.float32) - np.float32(0.5)
    assert "# in C: first, more" in plan.source
    expected = p(values)
    same_bits(plan(values), expected)
    given = [sl.Buffer(values)]
    status, result = run_in_c(p, given, sl.Buffer(np.zeros((7, 400), np.float32)), {}, [*COMMAND, *FLAGS], tmp_path)
    assert status == 0
    same_bits(result, expected)


def test_names_at_file_scope() -> None:
    found = file_scope(r"""
        #define WIDTH 5
        #define LONG(a) \
            static int not_here(int)
        /* static int nor(int here); */ // int nor_here;
        static inline int64_t least(int64_t a, int64_t b) { int local = 3, other = 4; return a < b ? a : b; }
        typedef struct { int field; } thing;
        struct tag { int field; };
        enum colour { RED, GREEN = 2, BLUE };
        typedef int (*pointer)(int);
        static const float weights[3] = {1, 2, 3}, further = 2;
        static const char *text = "int hidden; { \" (";
        __attribute__((noinline)) int kernel(const slinky_buffer *a) { return 0; }
    """)
    names = "least thing tag colour RED GREEN BLUE pointer weights further text kernel"
    assert found.names == set(names.split())
    assert found.macros == {"WIDTH", "LONG"}


def test_json_and_pickles_know_kernels_by_name_and_source() -> None:
    p = blur()
    again = sl.Pipeline.from_json(p.to_json(), callbacks={"across": across(), "down": down()})
    pickled = pickle.loads(pickle.dumps(p))
    values = numbers((9, 8), np.float32)
    for q in (again, pickled):
        found = sl.Buffer(np.zeros((7, 6), np.float32), min=(1, 1))
        q.compile(backend="native")(values, found)
        same_bits(found.array, blurred(values))
    kernel = sl.c_function(
        of_ctypes(), inputs={"a": PLANE}, outputs={"out": PLANE}, parameters=["a", "out"], name="bare"
    )
    with pytest.raises(pickle.PicklingError, match="known by its address"):
        pickle.dumps(kernel)
