"""Functions of NumPy that are made of others run by pieces: their results are NumPy's in every bit, kind and layout."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from test_exact_traces import assert_bits
from traced import PIECES, jit, kept

import slinky as sl

MATRIX = np.array([[1, 2], [3, 4.0]])
VECTOR = np.array([1.0, 2, -3])

CALLS: dict[str, Any] = {
    "append": lambda x: (np.append(x, x, axis=0), np.append(x, 3), np.append(x[0], [1, 2])),
    "apply_over_axes": lambda x: (np.apply_over_axes(np.sum, x, [0, 1]), np.apply_over_axes(np.max, x, 1)),
    "astype": lambda x: np.astype(x, np.float32),
    "atleast_3d": lambda x: (np.atleast_3d(x) * 1, np.atleast_3d(x[0]) * 1),
    "average": lambda x: (
        np.average(x),
        np.average(x, axis=0, returned=True),
        np.average(x, returned=True),
        np.average(x, 1, returned=True, keepdims=True),
    ),
    "average of weights": lambda x: (
        np.average(x, weights=abs(x) + 1),
        np.average(x, axis=1, weights=abs(x[0]) + 1, returned=True),
        np.average(x, axis=-2, weights=abs(x[:, 0]) + 1, keepdims=True),
        np.average(x, axis=(0, 1), weights=abs(x) + 1, keepdims=True),
        np.average(x, axis=0, weights=abs(x) + 1, returned=True),
        np.average(x, axis=1, weights=np.square(x[0].real).astype(np.float32) + 1),
    ),
    "cov": lambda x: (np.cov(x), np.cov(x[0], x[1]), np.cov(x[0], bias=True), np.cov(x, ddof=0, dtype=np.float32)),
    "cross": lambda x: (np.cross(x[:, :3], x[:, 1:4]), np.cross(x[:, :3], VECTOR), np.cross(x[:3], x[1:4], axis=0)),
    "cumulative": lambda x: (
        np.cumulative_sum(x, axis=0),
        np.cumulative_prod(x[0]),
        np.cumulative_sum(x, axis=1, include_initial=True),
    ),
    "delete": lambda x: (
        np.delete(x, 1, axis=0),
        np.delete(x, -1, axis=1),
        np.delete(x, 3),
        np.delete(x, slice(1, 3), axis=0),
        np.delete(x, [3, 0, 3], axis=0),
        np.delete(x, np.array([-1, -3]), axis=1),
        np.delete(x, (0,)),
    ),
    "diag": lambda x: (
        np.diag(x[0]),
        np.diag(x[0], 2),
        np.diag(x[:, 0], -1),
        np.diagflat(x[:, :2], -1),
    ),
    "places as numbers": lambda x: (
        np.unravel_index(abs(x.real).astype(int), (13, 17)),
        np.unravel_index(np.argmax(x.real), x.shape),
        np.unravel_index(np.argsort(x.real.ravel()), x.shape, "F")[1],
        np.unravel_index(abs(x.real).astype(np.uint8), shape=(4, 8, 9), order="F"),
        np.ravel_multi_index((abs(x.real).astype(int), 3), (300, 4)),
        np.ravel_multi_index((abs(x.real).astype(int), x.real.astype(np.int16)), x.shape, mode=("clip", "wrap")),
        np.ravel_multi_index((x.real > 0, abs(x.real).astype(int) % 3), dims=(2, 3), mode="wrap", order="F"),
    ),
    "ediff1d": lambda x: (np.ediff1d(x), np.ediff1d(x[0], 3, [1, 2]), np.ediff1d(x, to_begin=x[0])),
    "fft of axes": lambda x: (
        np.fft.fft2(x),
        np.fft.ifft2(x),
        np.fft.fftn(x),
        np.fft.ifftn(x, (4, 6), axes=(0, 1)),
        np.fft.irfft2(x),
        np.fft.irfftn(x, norm="ortho"),
        np.fft.fft2(x[None], axes=(1, 2)),
    ),
    "fft of real axes": lambda x: (np.fft.rfft2(x), np.fft.rfftn(x, axes=(0,)), np.fft.rfftn(x, (-1, 3), (0, 1))),
    "insert": lambda x: (
        np.insert(x, 1, 2, axis=0),
        np.insert(x, -1, x[0], axis=0),
        np.insert(x, 2, 7),
        np.insert(x, 0, x[:, 1], axis=1),
        np.insert(x, len(MATRIX), [[1], [2]], axis=0),
    ),
    "kinds": lambda x: (np.isreal(x), np.iscomplex(x * 1j), np.iscomplex(x)),
    "kron": lambda x: (
        np.kron(x, MATRIX),
        np.kron(MATRIX, x),
        np.kron(x[0], x),
        np.kron(x, 3),
        np.kron(2, x),
        np.kron(x[0], [1, 2]),
    ),
    "linalg": lambda x: (
        np.linalg.cross(x[:, :3], x[:, 1:4]),
        np.linalg.outer(x[0], x[1]),
        np.linalg.matrix_transpose(x) * 1,
        np.matrix_transpose(x[None]) * 1,
        np.linalg.tensordot(x, x),
    ),
    "matmul": lambda x: np.linalg.matmul(x, x.T),
    "matrix_norm": lambda x: (
        np.linalg.matrix_norm(x),
        np.linalg.matrix_norm(x[None], ord=1),
        np.linalg.matrix_norm(x, keepdims=True),
    ),
    "matrix_power": lambda x: [np.linalg.matrix_power(x[:4, :4] * 1, n) for n in (1, 2, 3, 5)],
    "meshgrid": lambda x: (
        *np.meshgrid(x[0], x[:, 0]),
        *np.meshgrid(x[0], x[1], x[:, 0], indexing="ij"),
        *np.meshgrid(x[0], x[:, 0], sparse=True),
        np.meshgrid(x[0], np.arange(3))[1],
    ),
    "multi_dot": lambda x: (np.linalg.multi_dot([x.T, x]), np.linalg.multi_dot([x[0], x.T, x[:, 0]])),
    "norm": lambda x: (
        np.linalg.norm(x, axis=(0, 1)),
        np.linalg.norm(x, 1),
        np.linalg.norm(x, np.inf),
        np.linalg.norm(x, "fro", keepdims=True),
        np.linalg.norm(x, -1, axis=(1, 0)),
        np.linalg.norm(x, 3, axis=0),
        np.linalg.norm(x, 0, axis=1),
        np.linalg.norm(x, np.inf, axis=1),
    ),
    "norm of all": lambda x: np.linalg.norm(x),
    "piecewise": lambda x: (
        np.piecewise(x, [x > 3, x < -3], [1, 2]),
        np.piecewise(x, [x > 3, x > 1], [1, 2, 7]),
        np.piecewise(x[0], [x[0] > 0], [1, 0]),
    ),
    "polynomials": lambda x: (
        np.polyadd(x[0], [1, 2]),
        np.polysub([1, 2, 3], x[0]),
        np.polyder(x[0]),
        np.polyint(x[0], 2),
    ),
    "polyval": lambda x: (np.polyval([1, 2.5, 3], x), np.polyval(x[0, :3], x), np.polyval(x[0, :3], 2)),
    "quantiles": lambda x: (
        np.percentile(x, [25, 50, 75]),
        np.quantile(x, (0.1, 0.9), axis=0),
        np.percentile(x, [25, 50.5], axis=1, keepdims=np.True_),
        np.quantile(x, np.array([[0.1, 0.2], [0.3, 1]]), axis=-1),
        np.nanpercentile(x, [20, 30], axis=(0, 1), keepdims=True),
        np.quantile(x, np.float64(0.3), axis=0),
        np.quantile(x, np.array(0.3)),
        np.nanquantile(x, [0.5], axis=0, method="nearest"),
        np.quantile(x, np.float32([0.5, 0.7]), 1),
    ),
    "resize": lambda x: (np.resize(x, 2), np.resize(x, (3, 1)), np.resize(x, (4, 5))),
    "shifts": lambda x: (
        np.fft.fftshift(x),
        np.fft.ifftshift(x),
        np.fft.fftshift(x, axes=1),
        np.fft.ifftshift(x, axes=(0,)),
        np.roll(x, len(x) // 2, 0),
    ),
    "sort_complex": lambda x: (np.sort_complex(x[0]), np.sort_complex(x[0] * (1 + 2j))),
    "trapezoid": lambda x: (
        np.trapezoid(x),
        np.trapezoid(x, axis=0, dx=2.0),
        np.trapezoid(x, x[0]),
        np.trapezoid(x, x * 2, axis=0),
    ),
    "triangles": lambda x: (
        np.tril(x),
        np.triu(x, 1),
        np.tril(x[0], -1),
        np.triu(x[None], -2),
        np.tril(x.T, np.int64(2)),
    ),
    "unstack": lambda x: [part * 1 for part in np.unstack(x[:, :3], axis=1)],
    "corrcoef": lambda x: np.corrcoef(x),
    "unwrap": lambda x: (np.unwrap(x, axis=0), np.unwrap(x, 2.0, period=5)),
    "vander": lambda x: (np.vander(x[0], 3), np.vander(x[0] % 3, 4, increasing=True), np.vander(x[0], 1)),
    "vector_norm": lambda x: (
        np.linalg.vector_norm(x, axis=1),
        np.linalg.vector_norm(x, axis=(0, 1)),
        np.linalg.vector_norm(x, axis=0, ord=1, keepdims=True),
    ),
}

if not hasattr(np, "unstack"):  # nor these, in NumPy 2.0
    CALLS = {name: call for name, call in CALLS.items() if name not in ("astype", "cumulative", "unstack")}

OF_SIZES = {"multi_dot", "polynomials", "resize"}
"""What NumPy's code does depends on sizes, so that others need traces of their own."""

SHAPES = [(7, 5), (5, 11), (13, 4)]
ODD = [(1, 1), (1, 6), (2, 1), (5, 5), (11, 2)]


def values(shape: tuple[int, ...], dtype: str, layout: str = "C") -> Any:
    random = np.random.default_rng(sum(shape))
    kind = np.dtype(dtype).kind
    found = random.integers(0 if kind in "bu" else -5, 6, size=shape)
    found = found + random.normal(size=shape) if kind in "fc" else found
    found = (found + 1j * random.normal(size=shape) if kind == "c" else found).astype(dtype)
    if layout == "F":
        return np.asfortranarray(found)
    if layout == "in steps":
        wide = np.zeros((2 * shape[0], 3 * shape[1]), dtype)
        wide[::2, ::3] = found
        return wide[::2, ::3]
    return np.ascontiguousarray(found[::-1])[::-1] if layout == "backwards" else found


def outcome(function: Any, x: Any) -> tuple[Any, type[Exception] | None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(x), None
        except Exception as error:
            return None, type(error)


def assert_alike(got: Any, want: Any) -> None:
    """The same bits, in the same kinds of containers, arrays and scalars."""
    assert type(got) is type(want)
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert_alike(one, other)
    else:
        assert_bits(got, want)


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", ["bool", "int16", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", CALLS)
def test_a_function_gives_the_bits_of_numpy(name: str, dtype: str) -> None:
    function = CALLS[name]
    traced = jit(function, exact=True, machine=PIECES)
    for shape in SHAPES + (ODD[1:] if dtype == "complex64" else ODD):  # one product is rounded as its strides have it
        for layout in ("C", "F", "in steps", "backwards") if shape in (SHAPES[1], ODD[1]) else ("C",):
            x = values(shape, dtype, layout)
            before = x.copy()
            want, failed = outcome(function, x)
            got, refused = outcome(traced, x)
            assert refused is failed, (shape, layout)
            assert_alike(got, want)
            assert_alike(x, before)


@pytest.mark.parametrize("name", CALLS)
def test_a_function_is_no_fence_and_one_trace_serves_other_sizes(name: str) -> None:
    traced = jit(CALLS[name], machine=PIECES)
    for shape in SHAPES:
        x = values(shape, "float64")
        outcome(traced, x)
        text = traced.explain(x)
        assert "is traced" in text
        assert "is not understood" not in text
        assert "asks for values" not in text
    assert kept(traced) == 1 or name in OF_SIZES


@pytest.mark.parametrize("name", CALLS)
def test_a_function_of_lazy_arrays(name: str) -> None:
    x = values((7, 5), "float64")
    found = outcome(CALLS[name], sl.lazy(x))[0]
    want = outcome(CALLS[name], x)[0]
    pairs = zip(found, want, strict=True) if isinstance(want, (tuple, list)) else [(found, want)]
    for one, other in pairs:
        for each, its in zip(one, other, strict=True) if isinstance(other, tuple) else [(one, other)]:
            assert np.asarray(each).dtype == its.dtype
            np.testing.assert_allclose(np.asarray(each), its, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.tril(x[0, 0]),
        lambda x: np.diag(x[None]),
        lambda x: np.insert(x, 9, 1, axis=0),
        lambda x: np.delete(x, -9, axis=0),
        lambda x: np.delete(x, [1, 9], axis=0),
        lambda x: np.delete(x, [-1, -9], axis=0),
        lambda x: np.ediff1d(x, 1j),
        lambda x: np.fft.fft2(x, axes=(0, 7)),
        lambda x: np.fft.fftn(x, (3,), (0, 1)),
        lambda x: np.cross(x, x),
        lambda x: np.unravel_index(x, (3, 4)),
        lambda x: np.unravel_index((abs(x) + 99).astype(int), (3, 4)),
        lambda x: np.unravel_index(x.astype(int), (3, 4), "K"),
        lambda x: np.ravel_multi_index((x.astype(int) - 99, x.astype(int)), (3, 4)),
        lambda x: np.ravel_multi_index((x.astype(int), x.astype(int)), (3, 4, 5)),
        lambda x: np.unwrap(x, axis=5),
        lambda x: np.vander(x),
        lambda x: np.piecewise(x, [x > 1], [1, 2, 3]),
        lambda x: np.average(x, axis=0, weights=x[0]),
        lambda x: np.average(x, weights=x[0]),
        lambda x: np.linalg.norm(x, "no such"),
        lambda x: np.linalg.matrix_power(x, 2),
        lambda x: np.resize(x, (-1, 2)),
        lambda x: np.meshgrid(x, x, indexing="yx"),
    ],
)  # fmt: skip
def test_errors_are_those_of_numpy(function: Any) -> None:
    x = values((7, 5), "float64")
    with pytest.raises(Exception) as wanted:
        function(x)
    for options in ({}, {"strict": True}):
        with pytest.raises(type(wanted.value)) as found:
            jit(function, **options)(x)
        assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32"])
def test_weights_and_what_they_weigh_have_a_dtype_together(dtype: str) -> None:
    x = values((7, 5), dtype)
    for weights in (np.float32([1.1, 2, 3, 4, 5]), np.int16([300, 2, 3, 4, 5]), np.float64([1.1, 2, 3, 4, 5])):
        function = lambda x, w: np.average(x, axis=1, weights=w)  # noqa: E731
        assert_alike(jit(function)(x, weights), function(x, weights))


def test_weights_that_sum_to_zero_are_refused_when_they_come() -> None:
    traced = jit(lambda x, w: np.average(x, axis=0, weights=w) * 2)
    x = values((7, 5), "float64")
    np.testing.assert_array_equal(traced(x, x * 0 + 2), np.average(x, axis=0, weights=x * 0 + 2) * 2)
    assert kept(traced) == 1
    with pytest.raises(ZeroDivisionError, match="Weights sum to zero"):
        traced(x, x * 0)
    with pytest.raises(ZeroDivisionError, match="Weights sum to zero"):
        np.asarray(np.average(sl.lazy(x), weights=sl.lazy(x * 0)))


def test_what_depends_on_values_or_functions_is_a_fence() -> None:
    x = values((7, 5), "float64")
    for function, name in (
        (lambda x: np.piecewise(x, [x > 0], [lambda v: v - v.min(), 0]), "piecewise"),
        (lambda x: np.insert(x, [1, 3], 0, axis=0), "insert"),
        (lambda x: np.meshgrid(x[0], copy=False)[0], "meshgrid"),
        (lambda x: np.tril(x, 0.5), "tril"),
    ):
        traced = jit(function)
        assert_alike(traced(x), function(x))
        assert f"{name} is not understood" in traced.explain(x)


def test_insertions_take_the_numbers_that_numpy_takes() -> None:
    x = values((4, 3), "uint8")
    for value in (2.7, True, np.float32(3.5), [1.5, 2, 3], 1j, np.array([[1j], [2], [0]]), 300, np.nan):
        function = lambda x, value=value: np.insert(x, 1, value, axis=0)  # noqa: E731
        want, failed = outcome(function, x)
        got, refused = outcome(jit(function), x)
        assert (refused is None) == (failed is None), value
        assert_alike(got, want)
