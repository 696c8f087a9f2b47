"""Functions in C, how far they are from NumPy's, and what they tell of; and arithmetic of which C computes a part."""

from __future__ import annotations

import itertools
import pickle
import platform
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import FLAGS, SANITIZED, run_in_c
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_arithmetic import in_pieces, numbers, plane, programs_with, same_bits

import slinky as sl
from slinky.native import compiling
from slinky.native.carriers import native_carrier
from slinky.native.functions import FUNCTIONS
from slinky.native.kernels import kernel_text

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.skipif(compiling.compiler() is None, reason="there is no C compiler")


@pytest.fixture(scope="module", autouse=True)
def _own_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Libraries of tests are no other's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLINKY_CACHE", str(tmp_path_factory.mktemp("compiled")))
        yield


def of(make: Callable[..., Any], *arrays: Array) -> tuple[sl.Pipeline, Any]:
    """A pipeline of arithmetic on such planes and rows, and the formula."""
    inputs = [plane(name, array.dtype, array.ndim) for name, array in zip("abcd", arrays, strict=False)]
    value = make(*(each[y, x] if each.rank == 2 else each[x] for each in inputs))
    out = plane("out", value.dtype)
    func = sl.arithmetic(value, out[y, x], name="term")
    return sl.build_pipeline(inputs, [out]), func.formula


def computed(make: Callable[..., Any], *arrays: Array, whole: bool = True) -> Array:
    """What native plans give, which is the same in whole, in pieces, and from columns; `whole`: it is all C."""
    p, formula = of(make, *arrays)
    assert (kernel_text(formula) is not None) == whole
    shape = np.broadcast_shapes(*(each.shape for each in arrays))
    found = np.zeros(shape, formula.dtype_of(formula.result))
    with np.errstate(all="ignore"):
        p.run(*arrays, found, backend="native")
        for q in in_pieces(p, "term")[1:]:
            again = np.zeros_like(found)
            q.run(*arrays, again, backend="native")
            same_bits(again, found)
        columns = np.zeros(shape[::-1], found.dtype).T
        p.run(*(np.asfortranarray(each) for each in arrays), columns, backend="native")
        same_bits(columns, found)
    return found


def told(run: Callable[[], Any]) -> set[str]:
    """Which exceptions there are; not that a result is small, of which NumPy tells differently on every processor."""
    found = set()
    for kind in ("divide", "over", "invalid"):
        try:
            with np.errstate(all="ignore"), np.errstate(**{kind: "raise"}):  # type: ignore[arg-type]
                run()
        except FloatingPointError:
            found.add(kind)
    return found


def compared(make: Callable[..., Any], *arrays: Array) -> None:
    """Element by element in vectors of one value, the same exceptions as NumPy; together, the same values."""
    with np.errstate(all="ignore"):
        same_bits(computed(make, *arrays), make(*arrays))
    exceptions_compared(make, *arrays)


def exceptions_compared(make: Callable[..., Any], *arrays: Array) -> None:
    p, formula = of(make, *arrays)
    plan = p.compile(backend="native")
    for values in zip(*(each.ravel() for each in arrays), strict=True):
        many = [np.full((1, 17), value) for value in values]
        found = np.zeros((1, 17), formula.dtype_of(formula.result))
        assert told(lambda: plan(*many, found)) == told(lambda: make(*many)), values  # noqa: B023


def pairs(values: Array) -> tuple[Array, Array]:
    return np.repeat(values, len(values)).reshape(len(values), -1), np.tile(values, (len(values), 1))


def steps_between(a: Array, b: Array) -> Array:
    """How many floats there are from one to the other; NaN is one of them."""
    whole = np.dtype(f"i{a.itemsize}")

    def ordered(values: Array) -> Array:
        bits = values.view(whole).astype(object)
        return np.where(bits < 0, np.iinfo(whole).min - bits, bits)

    np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
    return np.where(np.isnan(a), 0, abs(ordered(a) - ordered(b)))


# ----------------------------------------------------------------------------------------------------------------
# Functions
# ----------------------------------------------------------------------------------------------------------------

EXACT = ("fmod", "remainder", "floor_divide")


def hostile(dtype: Any) -> Array:
    limits = np.finfo(dtype)
    small, large = float(limits.smallest_subnormal), float(limits.max)
    values = [0.0, -0.0, 1, -1, 2, 0.5, -2.5, 7, 0.1, np.pi, 1e5, -1e9, 1e12, 1e25, np.inf, -np.inf, np.nan, 700, -700]
    values += [small, -small, 9 * small, float(limits.tiny), large, -large, 708.1, -708.5, 709.9, -745, -746, 1e-20]
    with np.errstate(over="ignore"):
        return np.array(values, dtype)


def among_others(function: np.ufunc) -> Callable[..., Any]:
    """A function, and steps that change nothing: alone, some functions are left to NumPy."""
    return lambda *given_: np.negative(np.negative(function(*given_)))


@pytest.mark.parametrize(("name", "dtype"), FUNCTIONS)
def test_functions_are_no_further_from_numpy_than_said(name: str, dtype: str) -> None:
    function, random = getattr(np, name), np.random.default_rng(0)
    whole = np.dtype(f"u{np.dtype(dtype).itemsize}")
    bits = random.integers(0, np.iinfo(whole).max, 3000, whole, endpoint=True).view(dtype)
    near, wide = random.uniform(-9, 9, 3000).astype(dtype), random.uniform(-700, 700, 3000).astype(dtype)
    values = np.concatenate([bits, near, wide]).reshape(2, -1)
    arrays = (values, random.permutation(values.ravel()).reshape(2, -1))[: function.nin]
    found = computed(among_others(function), *arrays)
    with np.errstate(all="ignore"):
        expected = function(*arrays)
    if name in EXACT:
        same_bits(found, expected)
    assert steps_between(found, expected).max() <= 1
    numbers_ = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers_]), np.signbit(expected[numbers_]))


@pytest.mark.parametrize(("name", "dtype"), FUNCTIONS)
def test_functions_of_hostile_values_tell_what_numpy_tells(name: str, dtype: str) -> None:
    function, values = getattr(np, name), hostile(dtype)
    arrays = pairs(values) if function.nin == 2 else (values[None, :],)

    make = among_others(function)
    with np.errstate(all="ignore"):
        assert steps_between(computed(make, *arrays), make(*arrays)).max() <= (name not in EXACT)
    if function.nin == 2:
        arrays = tuple(each[::3, ::2] for each in arrays)
    exceptions_compared(make, *arrays)


def test_elements_that_need_another_method_stand_among_others() -> None:
    angles = np.linspace(-50, 50, 1500).reshape(3, 500)
    angles[1, ::7], angles[2, 499] = 1e300, -1e200
    found = computed(lambda a: np.sin(a) + np.cos(a * 2), angles)
    np.testing.assert_allclose(found, np.sin(angles) + np.cos(angles * 2), rtol=0, atol=4e-16)


def test_a_formula_with_functions_may_write_where_it_reads() -> None:
    """The output is written after all that is read, strip by strip, also where elements need another method."""
    t = np.linspace(-3, 3, 4000).reshape(2, 2000)
    t[:, ::13] = 1e40
    p, _ = of(lambda a: np.sin(a) * a + np.fmod(np.cos(a), a), t)
    expected = np.zeros_like(t)
    p.run(t, expected, backend="native")
    carrier = native_carrier(of(lambda a: np.sin(a) * a + np.fmod(np.cos(a), a), t)[1], compiling.compiler())  # type: ignore[arg-type]
    assert carrier is not None
    carrier(t, t)
    same_bits(t, expected)


def test_more_functions_than_there_are_arrays_for() -> None:
    """What would need too much of the stack is not C."""
    values = np.linspace(0.1, 2, 60).reshape(2, 30)

    def many(a: Any) -> Any:
        given_ = [np.sin(a * k) for k in range(1, 70)]
        total = given_[0]
        for each in given_[1:]:
            total = total * each + a
        return total

    p, _ = of(many, values)
    found = np.zeros_like(values)
    p.run(values, found, backend="native")
    np.testing.assert_allclose(found, many(values), rtol=1e-9)


@pytest.mark.parametrize("more", [(), ("-march=native",)])
def test_functions_in_programs_without_python(more: tuple[str, ...], tmp_path: Path) -> None:
    """They compile without a warning, with fused multiply-adds or without, and sanitizers have nothing to say."""
    made_by = compiling.compiler()
    assert made_by is not None
    a, b, out = (plane(name, np.float64) for name in ("a", "b", "out"))
    parts = [np.sin(a[y, x]), np.exp(a[y, x]), np.log(b[y, x]), a[y, x] % b[y, x], np.hypot(a[y, x], b[y, x])]
    whole = (a[y, x].astype(np.int16) // 7).astype(np.float64) + np.maximum(a[y, x], b[y, x])
    value = np.where(a[y, x] < b[y, x], whole, np.cos(b[y, x]))
    for each in parts:
        value = np.where(b[y, x] != each, value, each)
    sl.arithmetic(value, out[y, x], name="term")
    p = sl.build_pipeline([a, b], [out])
    values = [*pairs(hostile(np.float64))]
    usual = np.zeros_like(values[0])
    with np.errstate(all="ignore"):
        p.run(*values, usual)
    found = sl.Buffer(np.zeros_like(usual))
    command = (*made_by.command, *FLAGS, *SANITIZED, *more)
    if subprocess.run(
        [*command, "-x", "c", "-", "-o", str(tmp_path / "x")],
        input="int main(void) { return 0; }",
        text=True,
        capture_output=True,
        check=False,
    ).returncode:
        command = (*made_by.command, *FLAGS, *more)
    status, result = run_in_c(p, [sl.Buffer(each) for each in values], found, {}, command, tmp_path)
    assert status == 0
    assert steps_between(result, usual).max() <= 1


def test_functions_in_nests() -> None:
    """A nest in C gives the bits that calls one by one give, also where several kernels have functions in common."""
    a, mid, out = (plane(name, np.float64) for name in ("a", "mid", "out"))
    sl.arithmetic(np.maximum(np.sin(a[y, x]) * a[y, x], -a[y, x] % 3), mid[y, x], name="first")
    sl.arithmetic(np.maximum(np.sin(mid[y - 1, x] + mid[y + 1, x]) % 3, mid[y, x]), out[y, x], name="last")
    p = sl.build_pipeline([a], [out])
    p = sl.compute_at(sl.split_loop(p, "last.y", 1), "first", "for y")
    p = sl.fold_storage(sl.slide_window(p, "first", "for y", warmup="first"), "alloc mid", "y")
    values = np.random.default_rng(0).uniform(-9, 9, (30, 700))
    values[::4, ::5] = 1e200
    plan = p.compile(backend="native")
    assert "# in C" in plan.source
    found, counted = (sl.Buffer(np.zeros((28, 700)), min=(1, 0)) for _ in range(2))
    plan(values, found)
    p.run(values, counted, backend="native")
    same_bits(found.array, counted.array)
    first = np.maximum(np.sin(values) * values, -values % 3)
    expected = np.maximum(np.sin(first[:-2] + first[2:]) % 3, first[1:-1])
    np.testing.assert_allclose(found.array[3], expected[3], rtol=1e-6, atol=1e-6)


# ----------------------------------------------------------------------------------------------------------------
# Integers, signs, powers, conversions
# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
@pytest.mark.parametrize("function", [np.floor_divide, np.remainder, np.fmod])
def test_integers_are_divided_as_numpy_divides(function: np.ufunc, dtype: str) -> None:
    limits = np.iinfo(dtype)
    values = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 2, 3, 7, 100]
    values += [-1, -2, -3, -7] if limits.min else [11, 13, 64, 65]
    compared(function, *pairs(np.array(values, dtype)))
    random = np.random.default_rng(1)
    many = random.integers(limits.min, limits.max, (20, 91), dtype, endpoint=True)
    others = many[::-1] >> random.integers(0, limits.bits, (20, 91)).astype(dtype)
    with np.errstate(all="ignore"):
        same_bits(computed(function, many, others), function(many, others))
        for number in (np.array(n, dtype)[()] for n in (0, values[-1])):
            same_bits(computed(lambda a: function(a, number), many), function(many, number))  # noqa: B023


def test_divmod_of_integers_is_both() -> None:
    a, b = (numbers((9, 31), np.int16, seed) for seed in (1, 2))

    def both(a: Any, b: Any) -> Any:
        quotient, rest = np.divmod(a, b)
        return quotient * 100 + rest

    with np.errstate(all="ignore"):
        same_bits(computed(both, a, b), both(a, b))


@pytest.mark.parametrize(("dtype", "exponent"), [("i1", 2), ("u2", 3), ("i4", 4), ("u8", 3), ("i8", 1)])
def test_powers_of_integers_wrap(dtype: str, exponent: int) -> None:
    limits = np.iinfo(dtype)
    values = np.array([limits.min, limits.max, 0, 1, 2, 3, 5, 11, limits.max // 2], dtype).reshape(3, 3)
    compared(lambda a: a**exponent, values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares_and_signs_of_floats(dtype: Any) -> None:
    a, b = pairs(hostile(dtype)[::2])
    compared(lambda a, b: a**2 + np.sign(b), a, b)
    compared(np.heaviside, a, b)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="other processors convert otherwise")
@pytest.mark.parametrize(("own", "to"), list(itertools.product(["f4", "f8"], ["i1", "i2", "i4", "i8", "u1", "u2"])))
def test_floats_become_integers_as_on_this_processor(own: str, to: str) -> None:
    edges = [2.0**31, 2.0**31 - 1, 2.0**31 - 0.5, 2.0**63, 2.0**32, 300.7, 40000.5, 0.999, 1e10, 1e30, 2.0**15]
    values = np.array([*edges, *(-each for each in edges), -(2.0**31) - 1, -(2.0**31) - 0.5], own)
    values = np.concatenate([values, hostile(own), np.nextafter(values, values.dtype.type(0))])
    compared(lambda a: a.astype(to), values[None, :])


# ----------------------------------------------------------------------------------------------------------------
# Formulas of which C computes a part
# ----------------------------------------------------------------------------------------------------------------


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
    """A function whose results, of planes of floats, are those of C: by itself."""

    def applied(*operands: Any) -> Any:
        if not all(isinstance(each, np.ndarray) for each in operands[:1]):
            return function(*operands)
        expected = function(*operands)
        if (function.__name__, expected.dtype.char) not in FUNCTIONS or expected.ndim < 2:
            return expected
        given_ = [np.broadcast_to(np.asarray(each, expected.dtype), expected.shape) for each in operands]
        if not expected.size:
            return expected
        p, _ = of(function, *given_)
        found = np.zeros_like(expected)
        p.run(*given_, found, backend="native")
        return found

    return applied


FUNCTIONS_OF_ONE = [np.sinh, in_c(np.sin), in_c(np.arctan), np.arcsinh]
FUNCTIONS_OF_TWO = [np.fmod, in_c(np.hypot), np.floor_divide, np.remainder, np.heaviside, np.fmax]


@given(programs_with(FUNCTIONS_OF_ONE, FUNCTIONS_OF_TWO), st.sampled_from([(5, 7), (1, 1), (2, 600), (33, 18)]))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_random_arithmetic_with_functions(program: Any, shape: tuple[int, int]) -> None:
    """Whatever stands around a function, its results are those that it has by itself, and all else is NumPy's."""
    dtypes, function = program
    a, b, row = plane("a", dtypes[0]), plane("b", dtypes[1]), plane("row", dtypes[2], 1)
    arrays = [numbers(shape, dtypes[0]), numbers(shape, dtypes[1], 1), numbers(shape[1:], dtypes[2], 2)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            expected = np.broadcast_to(function(*arrays), shape)
        except (TypeError, OverflowError, AttributeError):
            return
        out = plane("out", expected.dtype)
        func = sl.arithmetic(function(a[y, x], b[y, x], row[x]), out[y, x], name="term")
        read = {access.buffer for access in func.inputs}
        p = sl.build_pipeline([each for each in (a, b, row) if each in read], [out])
        given_ = [array for array, each in zip(arrays, (a, b, row), strict=True) if each in read]
        for q in in_pieces(p, "term"):
            found = np.zeros(shape, expected.dtype)
            q.run(*given_, found, backend="native")
            same_bits(found, expected)


# ----------------------------------------------------------------------------------------------------------------
# Rounded otherwise
# ----------------------------------------------------------------------------------------------------------------


def test_fast_plans_may_contract_and_others_do_not() -> None:
    """What a product loses by rounding is there where it is part of a multiply-add."""
    a = np.full((3, 40), 1 + 2.0**-30)

    def make(a: Any) -> Any:
        return a * a - (1 + 2.0**-29)

    p, _ = of(make, a)
    usual, fast = np.zeros_like(a), np.zeros_like(a)
    p.compile(backend="native")(a, usual)
    p.compile(backend="native", fast=True)(a, fast)
    same_bits(usual, make(a))
    assert set(fast.ravel()) <= {0.0, 2.0**-60}
    traced = sl.jit(native=True, fast=True, smallest=0, workers=1, machine=sl.Machine())(make)
    same_bits(traced(a), fast)


@pytest.mark.parametrize(("name", "dtype"), FUNCTIONS)
def test_functions_stay_what_they_are_in_fast_plans(name: str, dtype: str) -> None:
    function, random = getattr(np, name), np.random.default_rng(0)
    values = np.concatenate([hostile(dtype), random.uniform(-500, 500, 1000).astype(dtype), np.arange(400) * np.pi / 2])
    arrays = (values.astype(dtype)[None, :], random.permutation(values.astype(dtype))[None, :])[: function.nin]
    p, formula = of(lambda *given_: abs(function(*given_)), *arrays)
    found = np.zeros(arrays[0].shape, dtype)
    with np.errstate(all="ignore"):
        p.compile(backend="native", fast=True)(*arrays, found)
        expected = abs(function(*arrays))
    assert kernel_text(formula) is not None
    assert steps_between(found, expected).max() <= (name not in EXACT)


def test_copies_of_traced_functions_round_alike() -> None:
    """One that has no name to be found by goes with all that was asked for, to another process, too."""
    traced = sl.jit(native=True, fast=True, smallest=0, workers=1, machine=sl.Machine())(np.hypot)
    again = pickle.loads(pickle.dumps(traced))
    same_bits(again(A, B), traced(A, B))


def test_fast_is_for_c() -> None:
    p, _ = of(lambda a: a * 2, A)
    with pytest.raises(sl.ArgumentError, match="fast=True is for the back end 'native'"):
        p.compile(fast=True)
    for given_ in ({}, {"native": True, "exact": True}):
        with pytest.raises(sl.TracingError, match="it goes with native=True, and not with exact=True"):
            sl.jit(fast=True, **given_)(np.sin)
