"""What packages say of functions that they have compiled, beside what is declared of these."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler

import slinky as sl
from slinky.native import compiling
from slinky.native.prototypes import prototype_of

pytestmark = [needs_compiler, pytest.mark.usefixtures("own_libraries")]

TEXT = """
#include <stdint.h>
int twice(const double *from, double *to, int64_t n, float by)
{
    for (int64_t i = 0; i < n; i++) to[i] = from[i] * by;
    return 0;
}
"""
TOLD = "int32_t (double *, double *, int64_t, float)"
NAME = TOLD.encode()
POINTER = ctypes.POINTER(ctypes.c_double)
ARRAY = np.ctypeslib.ndpointer(np.float64, 1)
ITEMS = ["a", "out", "out.extent[0]", "by"]


def function(result: Any, *parameters: Any) -> Any:
    """The function, as ctypes is told of it."""
    made = compiling.compiler()
    assert made is not None
    found = compiling.library(TEXT, made).twice
    found.restype, found.argtypes = result, parameters
    return found


def capsule(name: bytes | None) -> Any:
    """The function in a capsule of that name, which is to live as long as it."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.cast(function(ctypes.c_int), ctypes.c_void_p), name, None)


def declared(given: Any, **others: Any) -> Any:
    said: dict[str, Any] = {"parameters": ITEMS, "scalars": {"by": np.float32}} | others
    line = (said.pop("dtype", np.float64), 1)
    return sl.c_function(given, inputs={"a": line}, outputs={"out": line}, **said)


FIT = (POINTER, POINTER, ctypes.c_int64, ctypes.c_float)


@pytest.mark.parametrize(
    "parameters",
    [
        FIT,
        (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_ssize_t, ctypes.c_float),
        (ARRAY, ctypes.POINTER(ctypes.c_char), ctypes.c_uint64, ctypes.c_float),
        (POINTER, ctypes.py_object, ctypes.c_longlong, ctypes.c_float),
    ],
)
def test_what_fits_is_taken(parameters: tuple[Any, ...]) -> None:
    found = np.zeros(3)
    declared(function(ctypes.c_int, *parameters))(np.arange(3.0), found, by=2)
    np.testing.assert_array_equal(found, [0, 2, 4])


@pytest.mark.parametrize(
    ("given", "others", "words"),
    [
        ((ctypes.c_int, *FIT), {"parameters": ["a", "out", "by"]}, "takes 4 parameters, .* passed 3$"),
        ((ctypes.c_int, *FIT), {"parameters": None}, "takes 4 parameters, .* passed 7$"),
        ((ctypes.c_int, *FIT), {"dtype": np.float32}, r"takes double \* as its parameter 0, .* passed float \*$"),
        ((ctypes.c_int, *FIT), {"dtype": np.int64}, r"takes double \* as its parameter 0, .* passed int64_t \*$"),
        ((ctypes.c_int, *FIT), {"scalars": {"by": np.float64}}, "takes float as its parameter 3, .* passed double$"),
        (
            (ctypes.c_int, *FIT),
            {"parameters": ["a", "out", "out.extent[0]: int", "by"]},
            "takes int64_t as its parameter 2, .* passed int32_t$",
        ),
        (
            (ctypes.c_int, *FIT),
            {"parameters": ["a", "out", "out.extent", "by"]},
            r"takes int64_t .* passed int64_t \*$",
        ),
        ((ctypes.c_int, ARRAY, *FIT[1:]), {"dtype": np.float32}, r"takes double \* as its parameter 0"),
        ((None, *FIT), {}, "returns void, .* and no int: declare success=None"),
        ((ctypes.c_double, *FIT), {}, "returns double, "),
        ((ctypes.c_bool, *FIT), {}, "returns int8_t, "),
    ],
)
def test_what_would_be_undefined_is_refused(given: tuple[Any, ...], others: dict[str, Any], words: str) -> None:
    with pytest.raises(sl.GraphError, match=f"the C function .* {words}"):
        declared(function(*given), **others)
    if words.startswith("returns"):
        declared(function(*given), success=None)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (b"int (double *, double *, int64_t, float)", TOLD),
        (b"int (const double *, double const*, npy_intp, float)", TOLD),
        (b"void (void)", "void ()"),
        (b"long double (__pyx_t_float64 *, Py_ssize_t, some_type)", "unknown (void *, int64_t, unknown)"),
        (b"int (int (*)(double), void *)", None),
        (b"package.module.api", None),
        (None, None),
    ],
)
def test_names_of_capsules_are_declarations_of_c(name: bytes | None, told: str | None) -> None:
    found = prototype_of(capsule(name))
    assert (None if found is None else str(found)) == told


def test_what_others_say_of_their_functions() -> None:
    numba = pytest.importorskip("numba")
    scipy = pytest.importorskip("scipy")

    @numba.cfunc("int32(CPointer(double), CPointer(double), int64, float32)")
    def twice(a: Any, out: Any, n: int, by: float) -> int:
        for i in range(n):
            out[i] = by * a[i]
        return 0

    for given in (twice, twice.ctypes, scipy.LowLevelCallable(twice.ctypes), capsule(NAME)):
        assert str(prototype_of(given)) == TOLD
        with pytest.raises(sl.GraphError, match="takes 4 parameters"):
            declared(given, parameters=["a", "out", "by"])
        found = np.zeros(3)
        declared(given)(np.arange(3.0), found, by=2)
        np.testing.assert_array_equal(found, [0, 2, 4])


def test_what_cffi_says_of_functions() -> None:
    ffi = pytest.importorskip("cffi").FFI()
    given = ffi.cast("int(*)(double *, double *, int64_t, float)", ctypes.cast(function(None), ctypes.c_void_p).value)
    assert str(prototype_of(given)) == TOLD
    with pytest.raises(sl.GraphError, match=r"takes double \* as its parameter 0"):
        declared(given, dtype=np.float32)
    found = np.zeros(3)
    declared(given)(np.arange(3.0), found, by=2)
    np.testing.assert_array_equal(found, [0, 2, 4])


def test_of_an_address_nothing_is_known() -> None:
    address = ctypes.cast(function(None), ctypes.c_void_p).value
    assert prototype_of(address) is None
    assert prototype_of(function(ctypes.c_int)) is not None
