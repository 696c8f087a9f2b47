"""`sl.jit(exact=True)`: the bits of NumPy, with what rounds otherwise by pieces run as one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_traced_functions import CALLS
from traced import image, jit, kept

import slinky as sl
from slinky.frontend import composed, functions, rearranging
from slinky.frontend.arrays import placed
from slinky.frontend.tables import EXACT, TABLE, exactness_of, name_of
from slinky.frontend.tracing import Trace

FILLING = (composed, functions, rearranging)
"""Where the table is filled."""

SMALL_CACHES = sl.Machine(near_bytes=1 << 12, shared_bytes=1 << 14, call_seconds=1e-8)
"""A machine for which it is worth while to cut everything."""


def assert_bits(got: Any, want: Any) -> None:
    """The same bits, in arrays that may stand in containers; NaNs are one another's like."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert_bits(one, other)
    elif isinstance(want, (np.ndarray, np.generic)) and want.dtype.kind in "fc":
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got.real), np.signbit(want.real))
    else:
        np.testing.assert_array_equal(got, want)


def values(*shape: int, dtype: Any) -> Any:
    random = np.random.default_rng(7)
    found = random.normal(size=shape) * 3
    return (found + 1j * random.normal(size=shape) if np.dtype(dtype).kind == "c" else found).astype(dtype)


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_every_function_gives_the_bits_of_numpy(name: str, dtype: str) -> None:
    function = CALLS[name]
    traced = jit(function, exact=True, machine=SMALL_CACHES)
    for shape in [(67, 37), (31, 131)]:
        x = values(*shape, dtype=dtype)
        with np.errstate(all="ignore"):
            assert_bits(traced(x), function(x))


def _of_ufunc(ufunc: Any) -> Any:
    return lambda x, y: ufunc(x * 2, y)[1:, :-1] if ufunc.nin == 2 else ufunc(x[:, 1:] * 2)


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["exp", "sin", "power", "arctan2", "multiply", "square", "absolute", "tanh", "log1p"])
def test_every_ufunc_gives_the_bits_of_numpy(name: str, dtype: str) -> None:
    ufunc = getattr(np, name)
    if dtype == "complex64" and name == "arctan2":
        pytest.skip("not of complex numbers")
    function = _of_ufunc(ufunc)
    traced = jit(function, exact=True, machine=SMALL_CACHES)
    with np.errstate(all="ignore"):
        for shape in [(67, 37), (5, 331)]:
            x, y = values(*shape, dtype=dtype), values(*shape, dtype=dtype)[::-1].copy()
            assert_bits(traced(x, y), function(x, y))
    assert kept(traced) == 1


def smooth(x: Any) -> Any:
    soft = (x[2:] + x[1:-1] + x[:-2]) / 3
    return np.exp(soft * 2) + 1


def test_what_rounds_otherwise_is_one_piece_and_the_rest_is_cut() -> None:
    x = image(50, 20) / 50
    exact, near = jit(smooth, exact=True), jit(smooth)
    assert "as one piece: exp" in exact.explain(x)
    assert "as one piece" not in near.explain(x)
    p = exact.pipeline(x)
    with pytest.raises(sl.SchedulingError):
        sl.split_loop(p, "exp.y", 8)
    assert sl.split_loop(p, "add.y", 8)
    assert_bits(exact(x), smooth(x))


@pytest.mark.parametrize("function", [
    lambda x: x.sum(axis=1),
    lambda x: (x * 2).mean(axis=-1),
    lambda x: np.sort(x.T),
    lambda x: x.sum(axis=0),
    lambda x: np.add.reduce(x, axis=0),
    lambda x: (x[1::3] * 2 + x[1::3].mean(axis=0)).var(axis=0),
    lambda x: np.stack([x, x * 3, x - 1]).mean(axis=(0, 1)),
    lambda x: np.stack([x, x * 3, x - 1], axis=1).std(axis=1),
    lambda x: np.prod(x[:, ::2] / 64, axis=0),
])  # fmt: skip
def test_whole_axes_are_cut_along_the_others(function: Any) -> None:
    x = values(61, 40, dtype=np.float32)
    traced = jit(function, exact=True, machine=SMALL_CACHES)
    assert "as one piece" not in traced.explain(x)
    assert_bits(traced(x), function(x))


@pytest.mark.parametrize("function", [
    lambda x: np.linalg.norm(x, axis=0),
    lambda x: np.stack([x, x]).sum(axis=(0, 2)),
    lambda x: x.astype(np.float16).mean(axis=1),
    lambda x: x.astype(np.complex64).sum(axis=0),
    lambda x: x.sum(axis=0, dtype=np.float64),
    lambda x: x[::2, ::3, None].sum(axis=(0, 1)),
    lambda x: np.sum(x, axis=0, where=x > 3),
    lambda x: x**3.5,
    lambda x: np.sinc(x),
])  # fmt: skip
def test_what_is_said_to_be_near_is_one_piece(function: Any) -> None:
    x = np.abs(values(61, 40, dtype=np.float32))
    traced = jit(function, exact=True, machine=SMALL_CACHES)
    assert "as one piece: " in traced.explain(x)
    assert_bits(traced(x), function(x))


@pytest.mark.parametrize("function", [
    lambda x: np.exp(x.T + 1),
    lambda x: np.exp(x[::-1] * 2),
    lambda x: x.T.sum(axis=1),
    lambda x: np.exp(np.zeros_like(x.T) + x.T),
    lambda x: (x.T * 2).sum(axis=1),
])  # fmt: skip
def test_where_numpy_goes_in_another_order_the_function_is_called_as_it_is(function: Any) -> None:
    x = values(33, 47, dtype=np.float32)
    traced = jit(function, exact=True, machine=SMALL_CACHES)
    assert_bits(traced(x), function(x))
    assert kept(traced) == 0
    assert "C order" in traced.explain(x)


@pytest.mark.parametrize("function", [
    lambda z: np.exp(z.real),
    lambda z: np.dot(np.imag(z * 2), np.imag(z * 2)),
    lambda z: np.linalg.norm(z),
])  # fmt: skip
def test_parts_of_complex_numbers_have_gaps_in_numpy(function: Any) -> None:
    z = values(331, dtype=np.complex128)
    traced = jit(function, exact=True, machine=SMALL_CACHES)
    assert_bits(traced(z), function(z))
    assert "C order" in traced.explain(z)
    assert_bits(jit(lambda z: z.real.sum() + 1, exact=True)(z), z.real.sum() + 1)


def test_arguments_in_another_order_are_given_as_they_are() -> None:
    def function(x: Any) -> Any:
        return np.exp(x * 2).sum(axis=1)

    traced = jit(function, exact=True, machine=SMALL_CACHES)
    for x in (values(33, 47, dtype=np.float32), values(47, 33, dtype=np.float32).T,
              values(66, 94, dtype=np.float32)[::2, ::2], values(33, 47, dtype=np.float32)):  # fmt: skip
        assert_bits(traced(x), function(x))
    assert kept(traced) == 1


def _of_squares(x: Any) -> Any:
    return (x * x + 1).sum(axis=0)


@pytest.mark.filterwarnings("ignore::slinky.errors.ForcedValueWarning")
@pytest.mark.parametrize("function", [
    lambda x: x * float(_of_squares(x).sum()),
    lambda x: _of_squares(x) * (2 if x[0, 0] > 9 else 3),
    lambda x: _of_squares(x)[: int(_of_squares(x).argmax()) + 1],
])  # fmt: skip
def test_traces_that_are_not_kept_leave_other_orders_to_numpy(function: Any) -> None:
    traced = jit(function, exact=True, machine=SMALL_CACHES)
    for x in (np.asfortranarray(values(9, 300, dtype=np.float32)), values(9, 300, dtype=np.float32)):
        for _ in range(2):
            assert_bits(traced(x), function(x))


@pytest.mark.filterwarnings("ignore::slinky.errors.ForcedValueWarning")
@pytest.mark.parametrize("function", [
    lambda x: x * float((x.T * 2).sum(axis=1).max()),
    lambda x: x[: 2 + int(np.exp(x[::-1]).sum(axis=0)[0])],
])  # fmt: skip
def test_values_that_are_asked_for_have_the_bits_of_numpy(function: Any) -> None:
    x = values(33, 147, dtype=np.float32)
    traced = jit(function, exact=True, machine=SMALL_CACHES)
    assert_bits(traced(x), function(x))


def test_operations_are_no_better_than_the_table_says() -> None:
    """What the page says of a function is what its operations say of themselves."""
    seen = 0
    x = values(6, 5, dtype=np.float64)
    for function in TABLE:
        entry = TABLE[function]
        trace = Trace("table")
        try:
            function(argument_of(trace, x))
        except Exception:  # takes other arguments
            continue
        nodes = [result.node for results in trace.made.values() for result in results]
        seen += bool(nodes)
        for node in nodes:
            if entry.exactness == EXACT:
                assert node.operation.exactness == EXACT, name_of(function)
        if entry.exactness == "tolerance" and nodes:
            assert any(node.operation.exactness == "tolerance" for node in nodes), name_of(function)
    assert seen > 40


def argument_of(trace: Trace, x: Any) -> Any:
    return placed(trace.source(x, "x", origin=0), trace)


@pytest.mark.parametrize("exponent", [0, 1, 1.0, True, 2, 2.0, 3])
def test_powers_of_complex_zeros_are_those_of_the_operator(exponent: float) -> None:
    x = np.array([complex(-0.0, 0.0), complex(0.0, -0.0), complex(-0.0, -0.0), 1 + 2j] * 100, np.complex64)
    assert_bits(sl.jit(lambda x: x**exponent, smallest=0)(x), x**exponent)
    (y,), out = sl.variables("y"), sl.BufferExpr("out", np.complex64, 1)
    given = sl.BufferExpr("given", np.complex64, 1)
    sl.arithmetic(given[y] ** exponent, out[y])
    assert_bits(np.asarray(sl.build_pipeline([given], [out])(x)), x**exponent)


@pytest.mark.parametrize("exponent", [2, 2.0, -1, -1.0, 0.5])
def test_powers_of_complex_numbers_are_those_of_the_operator(exponent: float) -> None:
    x = values(500, dtype=np.complex64) + np.complex64(0.5 + 0.7j)
    assert_bits(sl.jit(lambda x: x**exponent, smallest=0)(x), x**exponent)


def test_complex_products_are_near() -> None:
    assert exactness_of(np.multiply) == EXACT
    assert exactness_of(np.multiply, [np.dtype(np.complex64)]) == "tolerance"
