"""Arithmetic of which C computes a part, and NumPy the rest."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from natively import Array, computed, of
from random_arithmetic import chains_of, compare_drawn, in_pieces, plane, programs_with, same_bits

import slinky as sl
from slinky.native import compiling
from slinky.native.carriers import native_carrier
from slinky.native.functions import FUNCTIONS

y, x = sl.variables("y x")
pytestmark = [needs_compiler, pytest.mark.usefixtures("own_libraries")]


def lines_of(make: Callable[..., Any], *arrays: Array) -> list[str]:
    """What computes a formula, line by line."""
    made_by = compiling.compiler()
    assert made_by is not None
    carrier = native_carrier(of(make, *arrays)[1], made_by)
    assert carrier is not None
    return [line.strip() for line in (carrier.__doc__ or "").splitlines()]


def names_of(lines: list[str]) -> list[str]:
    return [line.split("(")[0].rstrip("0123456789").rstrip("_") for line in lines if ", out=" in line]


A, B = (np.random.default_rng(seed).uniform(0.1, 3, (50, 41)) for seed in (1, 2))
ROW = np.random.default_rng(3).uniform(0.1, 3, 41)


def test_a_step_that_c_does_not_know_costs_itself_alone() -> None:
    def make(a: Any, b: Any) -> Any:
        return np.sinh(a * 2 + b) * b + np.where(a > b, a, b - 1)

    assert names_of(lines_of(make, A, B)) == ["kernel", "sinh", "kernel"]
    same_bits(computed(make, A, B, whole=False), make(A, B))


def test_the_fewest_kernels() -> None:
    """Steps that wait for no other go together, whatever the order in which they are written."""

    def make(a: Any, b: Any) -> Any:
        first, second = np.sinh(a * b + 1), np.arctanh(np.sqrt(b) / 2)
        third = np.arcsinh(first * second - a)
        return third * third + (a * 2 + b)

    lines = lines_of(make, A, B)
    assert names_of(lines) == ["kernel", "sinh", "arctanh", "kernel", "arcsinh", "kernel"]
    same_bits(computed(make, A, B, whole=False), make(A, B))


def test_what_is_the_same_along_a_dimension_is_computed_once() -> None:
    def make(a: Any, row: Any) -> Any:
        return np.exp(row * 2 + row) * a + a * 3 - row

    lines = lines_of(make, A, ROW)
    assert names_of(lines) == ["kernel", "exp", "kernel"]
    assert any("empty((1, o.shape[1])" in line for line in lines)
    same_bits(computed(make, A, ROW, whole=False), make(A, ROW))


def test_too_little_for_c_is_left_to_numpy() -> None:
    made_by = compiling.compiler()
    assert made_by is not None
    assert native_carrier(of(lambda a: np.sinh(a) * 2, A)[1], made_by) is None
    assert names_of(lines_of(lambda a, b: np.sinh(a) * 2 * b + np.sqrt(np.arcsinh(b)), A, B)) == [
        "sinh",
        "arcsinh",
        "kernel",
    ]


def test_results_of_several_outputs_and_types_without_c() -> None:
    def make(a: Any, b: Any) -> Any:
        fraction, whole = np.modf(a * b + 1)
        return (fraction * 2 + whole * b - a) * np.abs((a + b * 1j) * 2)

    computed_, expected = computed(make, A, B, whole=False), make(A, B)
    same_bits(computed_, expected)


def test_numbers_of_the_run_and_coordinates() -> None:
    amount, a, out = sl.scalar("amount", float), plane("a", np.float64), plane("out", np.float64)
    sl.arithmetic(np.sinh(a[y, x] * amount + x) * y + (a[y, x] * 2 + x) * amount, out[y, x], name="term")
    p = sl.build_pipeline([a], [out])
    rows, columns = np.arange(50)[:, None] - 3, np.arange(41) + 2
    for q in in_pieces(p, "term"):
        found = sl.Buffer(np.zeros((50, 41)), min=(-3, 2))
        q.run(sl.Buffer(A, min=(-3, 2)), found, amount=0.3, backend="native")
        same_bits(found.array, np.sinh(A * 0.3 + columns) * rows + (A * 2 + columns) * 0.3)


def test_elements_that_are_not_where_their_dtype_wants_them() -> None:
    odd = np.zeros(8 * A.size + 1, np.uint8)[1:].view(np.float64).reshape(A.shape)
    odd[...] = A

    def make(a: Any, b: Any) -> Any:
        return np.sinh(a * b + 1) * b + a

    p, _ = of(make, odd, B)
    target = np.zeros(8 * A.size + 1, np.uint8)[1:].view(np.float64).reshape(A.shape)
    p.run(odd, B, target, backend="native")
    same_bits(target, make(A, B))


def test_many_elements_and_threads() -> None:
    """More than a block of them, in more than one thread."""
    a = np.random.default_rng(0).uniform(0.1, 3, (300, 401))

    def make(a: Any) -> Any:
        return np.sinh(a * 2 + 1) * a + np.arcsinh(a * a - 1)

    p, _ = of(make, a)
    for q in (p, sl.parallelize_loop(sl.split_loop(p, "term.y", 70), "for y")):
        found = np.zeros_like(a)
        q.run(a, found, backend="native", threads=2)
        same_bits(found, make(a))


def test_exceptions_of_all_parts_are_told() -> None:
    p, _ = of(lambda a: np.log10(1 / a - 5) * 2 + np.sqrt(a) * a, A)
    plan, found = p.compile(backend="native"), np.zeros_like(A)
    for value, words in ((0.0, "divide by zero"), (-1.0, "invalid value")):
        values = np.full_like(A, value)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            plan(values, found)
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match=words):
            plan(values, found)


def in_c(function: np.ufunc) -> Callable[..., Any]:
    """A function whose results, of planes of floats, are those of C: by itself. Of half floats NumPy computes it."""

    def applied(*operands: Any) -> Any:
        if not all(isinstance(each, np.ndarray) for each in operands[:1]):
            return function(*operands)
        expected = function(*operands)
        if (function.__name__, expected.dtype.char) not in FUNCTIONS or expected.ndim < 2:
            return expected
        if any(np.asarray(each).dtype == np.float16 for each in operands):
            return expected
        given_ = [np.broadcast_to(np.asarray(each, expected.dtype), expected.shape) for each in operands]
        if not expected.size:
            return expected
        p, _ = of(function, *given_)
        found = np.zeros_like(expected)
        p.run(*given_, found, backend="native")
        return found

    return applied


def always_in_c(*functions: np.ufunc) -> list[Callable[..., Any]]:
    """Those that are C's wherever they stand. What NumPy computes sooner by itself on this processor is C's among other
    steps that are, and else NumPy's."""
    own = [[FUNCTIONS[key] for dtype in "fd" if (key := (each.__name__, dtype)) in FUNCTIONS] for each in functions]
    return [in_c(each) for each, found in zip(functions, own, strict=True) if all(f.is_faster_alone for f in found)]


FUNCTIONS_OF_ONE = [np.sinh, *always_in_c(np.sin, np.arctan, np.tan), np.arcsinh]
FUNCTIONS_OF_TWO = [np.fmod, *always_in_c(np.hypot), np.floor_divide, np.remainder, np.heaviside]
FUNCTIONS_OF_TWO += [lambda a, b: np.fmax(a, b) + 0]  # which of two zeros it takes, NumPy does by where they stand


@given(programs_with(FUNCTIONS_OF_ONE, FUNCTIONS_OF_TWO), st.sampled_from([(5, 7), (1, 1), (2, 600), (33, 18)]))
@settings(max_examples=settings().max_examples * 5 // 12, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_random_arithmetic_with_functions(program: Any, shape: tuple[int, int]) -> None:
    """Whatever stands around a function, its results are those that it has by itself, and all else is NumPy's."""
    compare_drawn(program, shape, backend="native")


EXACT = [np.fmod, np.floor_divide, np.remainder]
IN_C = [in_c(np.hypot), in_c(np.arctan2), lambda a, _: in_c(np.sin)(a)]


@given(chains_of([*EXACT, *EXACT, *IN_C]), st.sampled_from([(5, 7), (1, 1), (2, 600)]))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_chains_of_functions_of_several_dtypes(program: Any, shape: tuple[int, int]) -> None:
    """What one function gives is another dtype to the next one: a loop stands between them."""
    compare_drawn(program, shape, backend="native")


MIXED_CHAINS: list[Callable[..., Any]] = [
    lambda a, b, d: d % (a // b),
    lambda a, b, d: d // (a // b),
    lambda a, b, d: d.astype(np.int64) % (a // b),
    lambda a, b, d: np.fmod(d.astype(np.int64), a // b) % d,
    lambda a, b, d: d % (a // b) + (a // b).astype(np.float64),
    lambda a, b, d: np.fmod(d, a % b) // (d % (a % b)) - (a % b) * 2,
]


@pytest.mark.parametrize("make", MIXED_CHAINS)
@pytest.mark.parametrize("way", ["pipeline", "trace", "tensors"])
def test_a_function_of_what_another_gives_in_another_dtype(make: Callable[..., Any], way: str) -> None:
    a, b = (np.tile(np.array(each, np.float32), (3, 200)) for each in ([3, -7, 5.5, 1], [2, 2, -1, 3]))
    d = np.arange(a.size, dtype=np.float64).reshape(a.shape)
    arrays = (a, b, d)
    with np.errstate(all="ignore"):
        expected = make(*arrays)
        if way == "pipeline":
            found = computed(make, *arrays)
        elif way == "trace":
            found = sl.jit(native=True, smallest=0)(make)(*arrays)
        else:
            dims = sl.dims("y x")
            found = make(*(sl.Tensor(each)[dims.y, dims.x] for each in arrays)).numpy(backend="native")
    same_bits(found, expected)
