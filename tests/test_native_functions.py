"""Functions in C, how far they are from NumPy's, and what they tell of."""

from __future__ import annotations

import ctypes
import itertools
import pickle
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import COMMAND, FLAGS, SANITIZED, can_watch, needs_compiler, run_in_c
from natively import compared, computed, exceptions_compared, hostile, of, pairs, steps_between, told
from random_arithmetic import numbers, plane, same_bits
from traced import PIECES

import slinky as sl
from slinky.native import compiling
from slinky.native.carriers import native_carrier
from slinky.native.functions import FUNCTIONS, texts_of
from slinky.native.kernels import kernel_text

y, x = sl.variables("y x")
pytestmark = [needs_compiler, pytest.mark.usefixtures("own_libraries")]
A, B = (np.random.default_rng(seed).uniform(0.1, 3, (50, 41)) for seed in (1, 2))


# ----------------------------------------------------------------------------------------------------------------
# Functions
# ----------------------------------------------------------------------------------------------------------------

EXACT = ("fmod", "remainder", "floor_divide")


def among_others(function: np.ufunc) -> Callable[..., Any]:
    """A function, and steps that change nothing: alone, some functions are left to NumPy."""
    return lambda *given_: np.negative(np.negative(function(*given_)))


@pytest.mark.parametrize(("name", "dtype"), FUNCTIONS)
def test_functions_are_no_further_from_numpy_than_said(name: str, dtype: str) -> None:
    function, random = getattr(np, name), np.random.default_rng(0)
    whole = np.dtype(f"u{np.dtype(dtype).itemsize}")
    bits = random.integers(0, np.iinfo(whole).max, 3000, whole, endpoint=True).view(dtype)
    near, wide = random.uniform(-9, 9, 3000).astype(dtype), random.uniform(-700, 700, 3000).astype(dtype)
    unit = random.uniform(-1, 1, 3000).astype(dtype)
    values = np.concatenate([bits, near, wide, unit]).reshape(2, -1)
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


@pytest.mark.parametrize("make", [lambda a: np.sin(a * 2), np.sin, lambda a: np.sin(np.cos(a) + a)])
def test_a_formula_that_ends_in_a_function_may_write_where_it_reads(make: Callable[..., Any]) -> None:
    """Also where elements need another method, for which the function reads once more what it was given."""
    t = np.linspace(-3, 3, 4000).reshape(2, 2000)
    t[:, ::13] = 1e40
    p, formula = of(make, t)
    expected = np.zeros_like(t)
    p.run(t, expected, backend="native")
    carrier = native_carrier(formula, compiling.compiler())  # type: ignore[arg-type]
    assert carrier is not None
    carrier(t, t)
    same_bits(t, expected)


def test_single_exponentials_are_numpys_where_all_of_a_strip_are_usual() -> None:
    """And where one of them is not: beyond 87, what is seen to is the other loop's."""
    if ("exp", "f") not in FUNCTIONS:
        pytest.skip("NumPy computes it in another way here")
    edge = np.float32(87)
    near = [edge, *(np.nextafter(edge, np.float32(side)) for side in (0, 100))]
    strips = np.random.default_rng(3).uniform(-87, 87, (12, 512)).astype(np.float32)
    for strip, value in zip(strips, [*near, *np.negative(near), 0, 1e-42, np.nan, 200, -88, -200], strict=True):
        strip[17] = value
    values = strips.reshape(3, -1)
    found = computed(lambda a: np.exp(np.negative(a)), values)
    with np.errstate(all="ignore"):
        same_bits(found, np.exp(-values))
    exceptions_compared(lambda a: np.exp(np.negative(a)), values[:1, :1000])


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
    a, b, out = (plane(name, np.float64) for name in ("a", "b", "out"))
    functions = [getattr(np, name) for name, dtype in FUNCTIONS if dtype == "d"]
    parts = [each(*(a[y, x], b[y, x])[: each.nin]) for each in functions]
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
    command = (*COMMAND, *FLAGS, *(SANITIZED if can_watch(COMMAND) else ()), *more)
    status, result = run_in_c(p, [sl.Buffer(each) for each in values], found, {}, command, tmp_path)
    assert status == 0
    assert steps_between(result, usual).max() <= 1


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="it is asked for instructions of others")
def test_functions_are_vectors(tmp_path: Path) -> None:
    """Without masks, too, of which processors with AVX2 have none."""
    made_by = compiling.compiler()
    assert made_by is not None
    if "Free Software Foundation" not in made_by.version:
        pytest.skip("only GCC says so in these words")
    headers = "".join(f"#include <{name}.h>\n" for name in ("math", "stdint", "stddef", "fenv"))
    lines = (headers + "".join(texts_of(FUNCTIONS.values()))).replace("SLINKY_STRIPS void", "void").split("\n")
    source = tmp_path / "functions.c"
    source.write_text("\n".join(lines))
    flags = (*compiling.FLAGS, "-march=haswell", "-fopt-info-vec-optimized", "-o", str(tmp_path / "functions.so"))
    said = subprocess.run([*made_by.command, *flags, str(source)], text=True, capture_output=True, check=True).stderr
    vectors = {int(line.split(":")[1]) for line in said.splitlines() if "loop vectorized" in line}
    begins = [number for number, line in enumerate(lines, 1) if "void slinky_strip_" in line]
    assert len(begins) == len(FUNCTIONS)
    for first, end in itertools.pairwise([*begins, len(lines)]):
        loop = next(number for number in range(first, end) if "for (intptr_t i" in lines[number - 1])
        assert loop in vectors, lines[first - 1]


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="it is asked for instructions of others")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_comparisons_are_vectors(dtype: Any, tmp_path: Path) -> None:
    made_by = compiling.compiler()
    assert made_by is not None
    if "Free Software Foundation" not in made_by.version:
        pytest.skip("only GCC says so in these words")
    p = sl.jit(smallest=0)(lambda x: (x > 0.5) * x).pipeline(np.zeros((30, 40), dtype))
    source = tmp_path / "product.c"
    source.write_text(p.to_c())
    flags = (*compiling.FLAGS, "-march=haswell", "-fopt-info-vec-optimized", "-o", str(tmp_path / "product.so"))
    said = subprocess.run([*made_by.command, *flags, str(source)], text=True, capture_output=True, check=True).stderr
    assert "loop vectorized" in said


COMMON: dict[str, list[Any]] = {
    "exp": [-1e3, -np.inf, -103.5, -95],
    "exp2": [-2e3, -np.inf],
    "log": [0.0, -0.0, -3, -np.inf],
    "log2": [0.0, -0.0, -3, -np.inf],
    "log1p": [-1, -3, -np.inf],
    "arcsin": [2, -7],
    "arccos": [2, -7],
    "arctan2": [0.0, -0.0],
    "hypot": [0.0, -0.0],
    "power": [0.0, -0.0, -2.5],
}
"""What data have many of, beside NaN: where nothing is, what is masked or far away."""


@pytest.mark.parametrize(("name", "dtype"), [key for key in FUNCTIONS if key[0] not in EXACT])
def test_what_is_common_needs_no_other_method(name: str, dtype: str, tmp_path: Path) -> None:
    """NaN, zeros, exponentials of what is far below 0: one call of the C library takes as long as tens of elements."""
    made_by = compiling.compiler()
    assert made_by is not None
    if "__FMA__" not in _predefined(made_by, tmp_path):
        pytest.skip("without fused multiply-adds, the C library computes all")
    of = "float" if dtype == "f" else "double"
    names = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "power": "pow"}
    library = names.get(name, name) + ("f" if dtype == "f" else "")
    own = FUNCTIONS[name, dtype]
    arrays = ["x", "y"][: getattr(np, name).nin]
    parameters = ", ".join(f"{of} {each}" for each in arrays)
    lines = [
        *(f"#include <{header}.h>" for header in ("math", "stdint", "stddef", "fenv")),
        f"static intptr_t calls; static {of} counted({parameters}) {{ calls++; return {' + '.join(arrays)}; }}",
        f"#define {library} counted",
        *texts_of([own]),
        f"intptr_t run(intptr_t n, {', '.join(f'const {of} *{each}' for each in arrays)}, {of} *z)",
        f"{{ calls = 0; {own.name}(n, {', '.join(arrays)}, z); return calls; }}",
    ]
    source, target = tmp_path / "counted.c", tmp_path / "counted.so"
    source.write_text("\n".join(lines))
    subprocess.run([*made_by.command, *compiling.FLAGS, "-march=native", "-o", str(target), str(source)], check=True)
    run = ctypes.CDLL(str(target)).run
    run.restype, run.argtypes = ctypes.c_ssize_t, [ctypes.c_ssize_t, *[ctypes.c_void_p] * (len(arrays) + 1)]

    values = np.array([np.nan, *([1.0, 3] if len(arrays) == 2 else []), *COMMON.get(name, [])], dtype)
    given_ = list(pairs(values)) if len(arrays) == 2 else [values]
    if name == "power":
        usual = (given_[0] >= 0) & (given_[0] != 1) | (given_[1] == np.trunc(given_[1])) & (given_[1] > 0)
        given_ = [each[usual & (given_[1] != 0) & ((given_[0] != 0) | (given_[1] > 0))] for each in given_]
    found = np.zeros(given_[0].shape, dtype)
    assert run(found.size, *(each.ctypes.data for each in given_), found.ctypes.data) == 0
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*given_)
    assert steps_between(found, expected).max() <= 1
    np.testing.assert_array_equal(np.signbit(found[expected == 0]), np.signbit(expected[expected == 0]))


def _predefined(made_by: Any, folder: Path) -> str:
    empty = folder / "empty.c"
    empty.write_text("")
    command = [*made_by.command, "-march=native", "-dM", "-E", str(empty)]
    return subprocess.run(command, text=True, capture_output=True, check=False).stdout


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_zero_and_by_numbers(dtype: Any) -> None:
    """What pictures have many of stands among the others, and a square is a product."""
    is_in_c = ("power", np.dtype(dtype).char) in FUNCTIONS
    values = np.random.default_rng(0).uniform(0, 2, (3, 700)).astype(dtype)
    values[:, ::3], values[0, 1], values[0, 4], values[1, 1::2] = 0, -0.0, -2, -values[1, 1::2]
    for exponent in (1.5, 3, -0.5, 1 / 2.2, 7, 1, 0):
        make = lambda a: np.power(a, dtype(exponent))  # noqa: B023, E731
        with np.errstate(all="ignore"):
            found, expected = computed(make, values, whole=is_in_c or exponent == 3), make(values)
        assert steps_between(found, expected).max() <= 1
        same_bits(np.signbit(found[values == 0]), np.signbit(expected[values == 0]))
    same_bits(computed(lambda a: np.power(a, dtype(2)), values), values * values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [3, 4, 5, 6])
def test_powers_by_small_integers(dtype: Any, exponent: int) -> None:
    """They are products, of twice the precision."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 1 << 31, 3000).astype(np.uint32).view(np.float32)
    make = lambda a: np.power(a, dtype(exponent))  # noqa: E731
    with np.errstate(all="ignore"):
        values = np.concatenate([hostile(dtype), bits.astype(dtype), random.uniform(-3, 3, 3000).astype(dtype)])[
            None, :
        ]
        found, expected = computed(make, values), make(values)
    assert steps_between(found, expected).max() <= 1
    np.testing.assert_array_equal(np.signbit(found[~np.isnan(found)]), np.signbit(expected[~np.isnan(found)]))
    exceptions_compared(make, hostile(dtype)[None, :])


def test_products_in_nests_of_powers() -> None:
    """Nests call their functions by the names of funcs and numbers: those of strips have others."""

    def moments(a: Any) -> Any:
        less = a - a.mean()
        return less.mean(), (less**2).mean(), (less**3).mean(), (less**4).mean()

    traced = sl.jit(native=True, smallest=0, workers=1, machine=PIECES)(moments)
    np.testing.assert_allclose(traced(A), moments(A), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("exponent", [3, 4, 5])
def test_powers_by_integers_in_programs_without_python(exponent: int, tmp_path: Path) -> None:
    """They compile without a warning."""
    p, _ = of(lambda a: np.power(a, np.float64(exponent)), A)
    status, found = run_in_c(p, [sl.Buffer(A)], sl.Buffer(np.zeros_like(A)), {}, (*COMMAND, *FLAGS), tmp_path)
    assert status == 0
    assert steps_between(found, A**exponent).max() <= 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_one_half_are_the_roots_that_numpy_takes(dtype: Any) -> None:
    """Of -0 and negative infinity, a root is another one; the number may be told at each call."""
    is_in_c = ("power", np.dtype(dtype).char) in FUNCTIONS
    values = np.concatenate([hostile(dtype), np.random.default_rng(0).uniform(-3, 3, 500).astype(dtype)])[None, :]
    by_number = sl.jit(native=True, smallest=0, workers=1, machine=sl.Machine())(lambda a, t: -np.power(-a, t))
    for number in (0.5, 1.5):
        with np.errstate(all="ignore"):
            expected = np.power(values, dtype(number))
            found = computed(lambda a: np.power(a, dtype(number)), values, whole=number == 0.5 or is_in_c)  # noqa: B023
            told_ = -by_number(-values, dtype(number))
        assert steps_between(found, expected).max() <= (number != 0.5)
        assert steps_between(told_, expected).max() <= 1
        for each in (found, told_):
            same_bits(np.signbit(each[expected == 0]), np.signbit(expected[expected == 0]))
    exceptions_compared(lambda a: np.power(a, dtype(0.5)), values)


def test_what_numpy_computes_too_roughly_is_left_to_it() -> None:
    """Of these, and with vectors of AVX-512 of most of float32, the correct result may be two floats from NumPy's."""
    named = {name for name, _ in FUNCTIONS}
    assert named.isdisjoint(("sinh", "log10", "logaddexp", "arcsinh", "arccosh", "arctanh"))
    assert {("log", "f"), ("cosh", "f"), ("cbrt", "d")}.isdisjoint(FUNCTIONS)
    assert FUNCTIONS["exp", "f"].is_exact if ("exp", "f") in FUNCTIONS else True


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


@pytest.mark.sweep
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


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
@pytest.mark.parametrize("function", [np.left_shift, np.right_shift])
def test_integers_are_shifted_as_numpy_shifts(function: np.ufunc, dtype: str) -> None:
    """By more bits than there are, and by fewer than none, too."""
    limits = np.iinfo(dtype)
    values = [limits.min, limits.max, limits.max // 3, 0, 1, 5, *(-1, -2, -77)[: 3 * (limits.min < 0)]]
    counts = [0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 65, limits.max, limits.min]
    given_ = [each.ravel()[None, :] for each in np.meshgrid(np.array(values, dtype), np.array(counts, dtype))]
    compared(function, *given_)
    for count in (0, 3, limits.bits - 1, limits.bits):
        number = np.array(count, dtype)[()]
        same_bits(computed(lambda a: function(a, number), given_[0]), function(given_[0], number))  # noqa: B023


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [np.floor, np.ceil, np.trunc, np.rint])
def test_floats_are_rounded_to_integers(function: np.ufunc, dtype: Any) -> None:
    """Up to where all floats are integers, and beyond; zeros keep their signs."""
    most = 2.0 ** (np.finfo(dtype).nmant + 1)
    steps = np.array([*np.arange(0, 4, 0.25), most / 4 + 0.25, most / 2 - 0.5, most / 2 + 0.5, most - 1, most], dtype)
    values = np.concatenate([hostile(dtype), steps, -steps, np.nextafter(steps, 0), np.nextafter(steps, dtype(np.inf))])
    compared(lambda a: function(a), values[None, :])


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="other processors convert otherwise")
@pytest.mark.parametrize(("own", "to"), list(itertools.product(["f4", "f8"], ["i1", "i2", "i4", "i8", "u1", "u2"])))
def test_floats_become_integers_as_on_this_processor(own: str, to: str) -> None:
    edges = [2.0**31, 2.0**31 - 1, 2.0**31 - 0.5, 2.0**63, 2.0**32, 300.7, 40000.5, 0.999, 1e10, 1e30, 2.0**15]
    values = np.array([*edges, *(-each for each in edges), -(2.0**31) - 1, -(2.0**31) - 0.5], own)
    values = np.concatenate([values, hostile(own), np.nextafter(values, values.dtype.type(0))])
    compared(lambda a: a.astype(to), values[None, :])


ZEROS_LESS: list[Callable[[Any], Any]] = [
    lambda a: np.float64(0) - a,
    lambda a: np.float32(0) - a,
    lambda a: 0.0 - a.astype(np.float32),
    lambda a: 0.0 - np.absolute(a.astype(np.float64)),
    lambda a: np.negative(a.astype(np.float64)) + 0.0,
    lambda a: np.float64(-0.0) - a,
    lambda a: np.float64(0) + np.float64(-0.0) * a,
    lambda a: np.float64(0) - (np.float64(0) - a),
]


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "i4", "i8", "f8"])
@pytest.mark.parametrize("make", ZEROS_LESS)
def test_zeros_less_integers_have_the_sign_that_numpy_gives(make: Callable[..., Any], dtype: str) -> None:
    values = np.array([[0, 1, 5, 0, 3], [0, 0, 1, 7, 2]]).astype(dtype)
    same_bits(computed(make, values), make(values))
    same_bits(computed(make, np.zeros((2, 40), dtype)), make(np.zeros((2, 40), dtype)))


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_zeros_less_integers_in_programs_without_python(level: str, tmp_path: Path) -> None:
    p, _ = of(lambda a: np.float64(0) - a, np.zeros((3, 4), np.int16))
    given_, found = sl.Buffer(np.zeros((3, 4), np.int16)), sl.Buffer(np.zeros((3, 4)))
    status, result = run_in_c(p, [given_], found, {}, (*COMMAND, *FLAGS, level), tmp_path)
    assert status == 0
    same_bits(result, np.zeros((3, 4)))


@pytest.mark.parametrize("sign", [1, -1])
def test_exceptions_are_those_of_what_is_taken(sign: int) -> None:
    """All of what the result is made of, and none that NumPy has not."""

    def make(a: Any) -> Any:
        return np.where(a < 0, -a * a, np.sqrt(np.absolute(a)))

    values = np.full((3, 40), sign * 1e200)
    p, _ = of(make, values)
    plan, found = p.compile(backend="native"), np.zeros_like(values)
    in_c = told(lambda: plan(values, found))
    assert in_c <= told(lambda: make(values)) == {"over"}
    assert in_c == {"over"} or sign == 1


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


SINGLE: list[Callable[..., Any]] = [
    *(np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.less, np.equal, np.heaviside),
    *(np.sqrt, np.square, np.absolute, np.negative, np.reciprocal, np.sign, np.floor, np.isnan, np.isfinite, np.isinf),
    lambda a: a * 3,
    lambda a: a + 0.0,
    lambda a: 0.0 / a,
    lambda a: np.clip(a, -2.5, 7),
    lambda a, b: np.where(a < b, a, b),
    lambda a, b: np.where(np.isnan(a), b, a),
]


@pytest.mark.parametrize("make", SINGLE)
def test_single_operations_keep_nan_and_infinity_in_fast_plans(make: Callable[..., Any]) -> None:
    count = make.nin if isinstance(make, np.ufunc) else make.__code__.co_argcount
    arrays = pairs(np.array([0.0, -0.0, 1, -2, 0.5, 9, np.nan, np.inf, -np.inf]))[:count]
    p, formula = of(make, *arrays)
    found = np.zeros(arrays[0].shape, formula.dtype_of(formula.result))
    with np.errstate(all="ignore"):
        p.compile(backend="native", fast=True)(*arrays, found)
        expected = make(*arrays)
    for asked in (np.isnan, np.isposinf, np.isneginf) if found.dtype.kind == "f" else (np.equal,):
        operands = ((found,), (expected,)) if found.dtype.kind == "f" else ((found, True), (expected, True))
        np.testing.assert_array_equal(asked(*operands[0]), asked(*operands[1]))


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
