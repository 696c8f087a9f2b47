"""Lazy tensors compute what NumPy does: arithmetic, reductions, and random expressions of both."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from named_tensors import Array, ramp, s, tensor
from round_trips import again

import slinky as sl

# Arithmetic -----------------------------------------------------------------------------------------------------------


def test_operands_are_aligned_by_name_whatever_their_order() -> None:
    a, b = ramp(3, 4), ramp(4, 3)
    total = tensor(a, s.m, s.k) + tensor(b, s.k, s.m)
    assert total.symbolic_shape == (s.m, s.k)
    np.testing.assert_array_equal(total.numpy(), a + b.T)


def test_square_tensors_are_aligned_by_name_too() -> None:
    """Where positions fit by chance, names decide."""
    a, b = ramp(3, 3), ramp(3, 3) * 2
    np.testing.assert_array_equal((tensor(a, s.m, s.k) * tensor(b, s.k, s.n)).sum(s.k).numpy(), a @ b)
    np.testing.assert_array_equal((tensor(a, s.m, s.k) * tensor(b, s.n, s.k)).sum(s.k).numpy(), a @ b.T)


def test_names_mean_something_in_their_operation_only() -> None:
    """A filter names its window `k`, and so does the filter of its result: sizes 3 and 4."""

    def smooth(x: sl.Tensor, window: sl.Tensor) -> sl.Tensor:
        return (x.to(s.i)[s.x + s.k] * window.to(s.k)).sum(s.k)

    x, first, second = ramp(10), ramp(3), ramp(4)
    twice = smooth(smooth(sl.Tensor(x), sl.Tensor(first)), sl.Tensor(second))
    assert twice.shape == (5,)
    np.testing.assert_array_equal(twice.numpy(), np.correlate(np.correlate(x, first), second))


def test_dimensions_without_names_are_not_aligned() -> None:
    a = sl.Tensor(ramp(3))
    np.testing.assert_array_equal((a * 2 + a).numpy(), ramp(3) * 3)
    with pytest.raises(sl.TensorError, match="without names"):
        _ = a + sl.Tensor(ramp(3))


UFUNCS = sorted(
    (
        ufunc
        for ufunc in vars(np).values()
        if isinstance(ufunc, np.ufunc) and ufunc.signature is None and ufunc is not np.isnat
    ),
    key=lambda ufunc: str(ufunc.__name__),
)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_ufuncs_give_the_bits_and_dtypes_of_numpy(ufunc: np.ufunc) -> None:
    computed = 0
    for dtypes in ["?" * ufunc.nin, "d" * ufunc.nin, "bHf"[: ufunc.nin], "fb"[: ufunc.nin], "HH"[: ufunc.nin]]:
        arrays = [np.arange(1, 6).astype(dtype) for dtype in dtypes]
        tensors = [tensor(array, s.x) for array in arrays]
        with np.errstate(all="ignore"):
            try:
                expected = ufunc(*arrays)
            except TypeError:
                with pytest.raises(sl.TensorError):
                    ufunc(*tensors)
                continue
            found = ufunc(*tensors)
            pairs = [(found, expected)] if ufunc.nout == 1 else zip(found, expected, strict=True)
            for one, other in pairs:
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one.numpy(), other, strict=True)
                computed += 1
    assert computed


@pytest.mark.parametrize("dtype", ["?", "b", "B", "i", "Q", "e", "f", "d", "F"])
def test_numbers_have_no_dtype_of_their_own_but_those_of_numpy(dtype: str) -> None:
    a, t = np.arange(4).astype(dtype), tensor(np.arange(4).astype(dtype), s.x)
    for number in (2, 1.5, 2j, True, np.float32(3), np.int64(3)):
        for result, expected in ((t + number, a + number), (number * t, number * a)):
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result.numpy(), expected, strict=True)


def test_numbers_that_a_dtype_does_not_hold_are_refused_whatever_their_length() -> None:
    for dtype in (np.uint8, np.int64, np.float32):
        t = tensor(np.arange(4).astype(dtype), s.x)
        for number in (10**400, -(10**5000)):
            for write in (lambda t, number: t + number, lambda t, number: np.where(t > 0, t, number)):
                with pytest.raises(sl.TensorError, match=r"^the number .* (is out of range for|is none of)"):
                    write(t, number)


@pytest.mark.parametrize("ufunc", [np.logical_and, np.logical_or, np.logical_xor])
def test_numbers_are_truths_where_numpy_takes_them(ufunc: np.ufunc) -> None:
    for dtype in (bool, np.uint8, np.float32):
        a = np.arange(3).astype(dtype)
        for number in (0, -1, 300, 2**63 - 1, -(2**63), 0.5, float("inf"), 1j):
            np.testing.assert_array_equal(ufunc(tensor(a, s.x), number).numpy(), ufunc(a, number), strict=True)
        for number in (2**63, -(2**63) - 1, 10**400):
            with pytest.raises(OverflowError):
                ufunc(a, number)
            with pytest.raises(sl.TensorError, match="is out of range for int64"):
                ufunc(tensor(a, s.x), number)


def test_powers_take_no_modulus_on_either_side() -> None:
    """Python asks the exponent from 3.14 on."""
    t = sl.Tensor(np.arange(3))
    for ask in (lambda: pow(t, 2, 3), lambda: t.__rpow__(2, 3)):
        with pytest.raises(sl.TensorError, match=r"takes no modulus: write a \*\* b % c"):
            ask()


def test_powers_are_those_of_arrays() -> None:
    a = ramp(9)
    t = tensor(a, s.x)
    for result, expected in ((t**2, a**2), (abs(t) ** 0.5, abs(a) ** 0.5), (2**t, 2**a), (t**-1.0, a**-1.0)):
        np.testing.assert_array_equal(result.numpy(), expected, strict=True)


def test_choices_limits_conversions_and_results_by_parts() -> None:
    a = ramp(4, 5)
    t = tensor(a, s.m, s.n)
    pairs: list[tuple[sl.Tensor, Array]] = [
        (np.where(t > 0, t, -1), np.where(a > 0, a, -1)),
        (np.clip(t, -2, 3), np.clip(a, -2, 3)),
        (np.clip(t, min=-2, max=3), np.clip(a, min=-2, max=3)),
        (t.astype(np.int8), a.astype(np.int8)),
        (np.divmod(t, 3)[1], np.divmod(a, 3)[1]),
        (divmod(t, 3)[0] + divmod(40, t + 99)[1], divmod(a, 3)[0] + divmod(40, a + 99)[1]),
        (~(t > 0) & (t != 2), ~(a > 0) & (a != 2)),
        (-t + +t, -a + +a),
    ]
    for result, expected in pairs:
        np.testing.assert_array_equal(result.numpy(), expected, strict=True)


def test_a_dimension_is_the_coordinate_along_it_wherever_it_is_read() -> None:
    a = ramp(3, 4)
    t = tensor(a, s.y, s.x) * s.x
    x = np.arange(4)
    views: list[tuple[sl.Tensor, Array]] = [
        (t, a * x),
        (s.x - t, x - a * x),
        (np.hypot(s.x, t), np.hypot(x, a * x)),
        (s.y / (abs(t) + 1), np.arange(3)[:, None] / (abs(a * x) + 1)),
        (t + sl.coordinate(s.x), a * x + x),
        (t.to(s.x, s.y), a * x),
        (t[s.y, s.x + 1], (a * x)[:, 1:]),
        (t.to(s.y, s.z), a * x),
        (t[s.y, 2], (a * x)[:, 2]),
        (t.to(s.y, s.z, constraints=[(s.x, sl.size(s.x) - 1 - s.z)]).to(s.y, s.x), (a * x)[:, ::-1]),
        (np.where(t > 0, s.x, t), np.where(a * x > 0, x, a * x)),
        (np.clip(t, -3, s.x), np.clip(a * x, -3, x)),
    ]
    for view, expected in views:
        np.testing.assert_array_equal(view.numpy(), expected, strict=True)
        np.testing.assert_array_equal((view + 1).numpy(), expected + 1, strict=True)
    np.testing.assert_array_equal((abs(t) + 1)[s.y, s.z + 1].sum(s.z).numpy(), (abs(a * x) + 1)[:, 1:].sum(1))


def test_a_coordinate_is_along_a_dimension_of_the_tensors_beside_it() -> None:
    t, b = tensor(ramp(3), s.y), sl.BufferExpr("b", np.float64, 1)
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: t + s.x, "add: the coordinate x is along no dimension of the tensors beside it, [y]"),
        (lambda: (t + s.x) * tensor(ramp(3, 2), s.y, s.x), "the coordinate x is along no dimension"),
        (lambda: sl.Tensor(ramp(3)) * s.y, "the coordinate y is along no dimension of the tensors beside it, [?]"),
        (lambda: t * (s.y + 1), "got y + 1: write it as arithmetic of tensors, with y alone beside one of them"),
        (lambda: t / sl.size(s.y), "size(y) is a number in constraints of views alone"),
        (lambda: t + b[s.y], "which is of a graph of buffers"),
    ]
    for attempt, message in refused:
        with pytest.raises(sl.TensorError, match=re.escape(message)):
            attempt()


def test_numbers_of_the_run_take_part_in_ufuncs() -> None:
    t = np.maximum(sl.scalar("least"), tensor(ramp(3), s.y))
    np.testing.assert_array_equal(t.pipeline(ramp(3), least=2), np.maximum(ramp(3), 2))


def test_what_tensors_cannot_do_is_refused() -> None:
    t = tensor(ramp(3), s.x)
    array = np.zeros(3)
    refused: list[Any] = [
        lambda: t + array,
        lambda: array + t,
        lambda: t + "x",
        lambda: t @ t,
        lambda: np.matmul(t, t),
        lambda: np.add(t, 1, out=array),
        lambda: np.add.outer(t, t),
        lambda: np.sort(t),
        lambda: np.sum(t, axis=0),
        lambda: np.add.reduce(t),
        lambda: bool(t),
        lambda: t.astype(object),
        lambda: t.sum(s.y),
        lambda: t.reduce(np.subtract, s.x),
        lambda: t.reduce(np.sin, s.x),
        lambda: t.reduce(np.frompyfunc(lambda a, b: a + b, 2, 1), s.x),
        lambda: t.transpose(s.y),
        lambda: t.to(s.x, s.y),
        lambda: t[s.x, s.y],
        lambda: t["x"],
        lambda: sl.Tensor(t),
        lambda: (t + 1).set(array),
        lambda: t.set_size(3, 4),
        lambda: sl.Tensor(s.x).set(np.zeros(3, np.float32)),
        lambda: sl.Tensor(s.x).set(np.zeros((3, 3))),
        lambda: sl.Tensor(s.x).numpy(),
        lambda: sl.size(3),  # type: ignore[arg-type]
        lambda: t.named("a b"),
        lambda: pow(t, 2, 3),
        lambda: t.sum(s.x, reassociate="x"),  # type: ignore[arg-type]
        lambda: t.mean(reassociate=1),  # type: ignore[arg-type]
        lambda: t.to(s.y, constraints=[(s.x, s.y), (sl.size(s.y), 5)], outside="x"),
        lambda: t.astype("i1").to(s.y, constraints=[(s.x, s.y - 1), (sl.size(s.y), 5)], outside=300),
    ]
    for attempt in refused:
        with pytest.raises(sl.TensorError):
            attempt()
    with pytest.raises(TypeError):
        iter(t)  # type: ignore[call-overload]


def test_operations_change_nothing() -> None:
    a = ramp(4)
    t = tensor(a.copy(), s.x)
    before = t
    t += 1
    assert t is not before
    np.testing.assert_array_equal(before.numpy(), a)
    np.testing.assert_array_equal(t.numpy(), a + 1)


def test_values_are_those_of_the_arrays_when_they_are_asked_for() -> None:
    a = ramp(4)
    t = tensor(a, s.x) * 2
    np.testing.assert_array_equal(t.numpy(), a * 2)
    a[0] = 100
    np.testing.assert_array_equal(np.asarray(t), a * 2)


# Reductions -----------------------------------------------------------------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", ["?", "b", "H", "q", "e", "f", "d"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean"])
def test_reductions_give_the_dtypes_and_values_of_numpy(name: str, dtype: str) -> None:
    a = (np.arange(24) % 5).astype(dtype).reshape(2, 3, 4)
    t = tensor(a, s.m, s.k, s.n)
    for dims, axes in (((s.k,), 1), ((s.n, s.m), (0, 2)), ((), None)):
        expected = getattr(a, name)(axis=axes)
        for result in (getattr(t, name)(*dims), getattr(np, name)(t, axis=dims or None)):
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result.numpy(), expected, rtol=1e-3 if dtype == "e" else 1e-6)


@pytest.mark.parametrize(
    "ufunc",
    [
        *(np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or, np.logical_xor, np.gcd),
        *(np.bitwise_and, np.bitwise_or, np.bitwise_xor),
    ],
    ids=lambda ufunc: ufunc.__name__,
)
def test_reductions_by_ufuncs(ufunc: np.ufunc) -> None:
    a = ramp(5, 6, dtype=np.int64)
    for result in (tensor(a, s.m, s.k).reduce(ufunc, s.k), ufunc.reduce(tensor(a, s.m, s.k), axis=s.k)):  # type: ignore[call-overload]
        np.testing.assert_array_equal(result.numpy(), ufunc.reduce(a, axis=1), strict=True)


@pytest.mark.parametrize("dtype", [">f8", ">i4", ">u2", ">f2"])
@pytest.mark.parametrize("name", ["sum", "max", "min", "mean", "argmax"])
def test_reductions_of_another_byte_order(name: str, dtype: str) -> None:
    a = (np.arange(15) * 7 % 11).astype(dtype).reshape(3, 5)
    found = getattr(tensor(a, s.m, s.k), name)(s.k)
    expected = getattr(a, name)(axis=1)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-3)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("ufunc", "dtype"),
    [
        *((ufunc, "B") for ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd)),
        *((ufunc, "?") for ufunc in (np.bitwise_and, np.logical_xor, np.bitwise_xor)),
        *((ufunc, "d") for ufunc in (np.hypot, np.logaddexp, np.logaddexp2)),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
@pytest.mark.parametrize("count", [1, 7, 10])
def test_reductions_by_pieces_and_parts(ufunc: np.ufunc, dtype: str, count: int) -> None:
    a = (ramp(3, count) * 5).astype(dtype)
    total = sl.Tensor(s.m, s.k, dtype=dtype).reduce(ufunc, s.k, reassociate=True)
    (call,) = [str(each.func()) for each in total.pipeline.find_all("_(t0)")]
    pieces = sl.split_reduction(total.pipeline, call, "k", 3)
    parts = sl.split_reduction_in_parts(total.pipeline, call, "k", 2, 2)
    for p in (total.pipeline, pieces, parts):
        np.testing.assert_allclose(p(a), ufunc.reduce(a, axis=1), rtol=1e-12, strict=True)


@pytest.mark.parametrize(
    ("ufunc", "given", "dtype"),
    [
        *((np.add, given, dtype) for given, dtype in ("bq", "ff", "dd", "?q", "BQ", "FF")),
        *((np.multiply, given, dtype) for given, dtype in ("hq", "ff")),
        *((ufunc, dtype, dtype) for ufunc in (np.maximum, np.minimum) for dtype in "bfd?"),
        *((ufunc, "?", "?") for ufunc in (np.logical_and, np.logical_or, np.logical_xor)),
        *((ufunc, "H", "H") for ufunc in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.gcd)),
        *((ufunc, "d", "d") for ufunc in (np.hypot, np.logaddexp)),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_element_by_element_reductions_are_arithmetic(ufunc: np.ufunc, given: str, dtype: str) -> None:
    """Every back end gives the bits of a loop, in C, too, but for functions, each of which is off by an ulp there."""
    source, out = sl.BufferExpr("source", given, 3), sl.BufferExpr("out", dtype, 2)
    sl.reductions.reduce(ufunc, source[s.m, :, s.n], out[s.m, s.n], name="total", reassociate=True, over=["k"])
    p = sl.split_reduction(sl.build_pipeline([source], [out]), "total", "k", 1)
    p = again(p)
    numbers = np.array([0, -0.0, 3, -2, 5, 1, -7, 0.5, np.inf, 2, np.nan, 4])
    for m, k, n in ((1, 1, 1), (3, 5, 2), (2, 0, 3), (0, 4, 1)):
        with np.errstate(all="ignore"):
            values = np.resize(numbers if given in "fdF" else np.abs(numbers[:6]), (m, k, n)).astype(given)
            if k:
                expected = functools.reduce(
                    lambda old, i: ufunc(old, values[:, i].astype(dtype)), range(1, k), values[:, 0].astype(dtype)
                )
            else:
                expected = np.full((m, n), ufunc.identity or 0).astype(dtype)
            for backend in ("python", "native", "interpreter"):
                got = np.empty((m, n), dtype)
                if k or ufunc.identity is not None or not m * n:
                    p.run(values, got, backend=backend)
                    if ufunc is np.hypot and backend == "native":
                        np.testing.assert_array_max_ulp(got, expected, maxulp=k)
                    else:
                        np.testing.assert_array_equal(got, expected, strict=True)
                else:
                    with pytest.raises(ValueError, match="of no elements"):
                        p.run(values, got, backend=backend)


def test_places_of_extrema() -> None:
    a = ramp(5, 6)
    t = tensor(a, s.m, s.k)
    np.testing.assert_array_equal(t.argmax(s.k).numpy(), a.argmax(1))
    np.testing.assert_array_equal(t.argmin(s.m).numpy(), a.argmin(0))


@pytest.mark.parametrize("k", [0, 1, 5])
def test_sizes_of_none_and_one(k: int) -> None:
    a, b = ramp(3, k), ramp(k, 2)
    product = tensor(a, s.m, s.k) * tensor(b, s.k, s.n)
    np.testing.assert_array_equal(product.sum(s.k).numpy(), a @ b)
    assert product.numpy().shape == (3, k, 2)
    if not k:
        with pytest.raises(ValueError, match="no identity"):
            product.max(s.k).numpy()


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_extrema_of_no_elements_are_none(name: str) -> None:
    t = tensor(ramp(3, 0), s.m, s.k)
    for said in (t, t * 2, t[s.m, s.k].to(s.m, s.n, constraints=[(s.k, s.n), (sl.size(s.n), 0)])):
        (_, dim) = said.symbolic_shape
        with pytest.raises(sl.TensorSizeError, match=rf"is along {dim}, where .* has no elements .{dim} of .* == 0\)"):
            getattr(said, name)(dim).numpy()
    with pytest.raises(sl.TensorSizeError):
        (getattr(t, name)(s.k) + 1).numpy()
    assert getattr(t, name)(s.m).numpy().shape == (0,)


def test_a_sum_of_nothing_reduced_is_converted() -> None:
    t = sl.Tensor(np.array(3, np.int8))
    assert t.sum().dtype == np.int64
    assert (t.sum().numpy(), t.any().numpy(), t.mean().numpy()) == (3, True, 3.0)


# Random expressions ---------------------------------------------------------------------------------------------------

DIMS = "abcd"

EXTENTS = dict(zip(DIMS, (2, 3, 1, 4), strict=True))

NAMED = {dim.name: dim for dim in sl.dims(" ".join(DIMS))}


@st.composite
def einsums(draw: st.DrawFn) -> tuple[list[str], str]:
    """The dimensions of some operands, and those of the result, in order."""
    operands = draw(
        st.lists(
            st.permutations(DIMS).flatmap(lambda p: st.integers(0, 3).map(lambda n: "".join(p[:n]))),
            min_size=1,
            max_size=3,
        )
    )
    used = sorted(set("".join(operands)))
    kept = draw(st.sets(st.sampled_from(used))) if used else set()
    return operands, "".join(draw(st.permutations(sorted(kept))))


@settings(max_examples=settings().max_examples // 2, deadline=None)
@given(einsums())
def test_sums_of_products_are_those_of_einsum(drawn: tuple[list[str], str]) -> None:
    operands, kept = drawn
    arrays = [ramp(*(EXTENTS[dim] for dim in dims), dtype=np.int64) for dims in operands]
    product = sl.Tensor(np.int64(1))
    for array, dims in zip(arrays, operands, strict=True):
        product = product * sl.Tensor(array).to(*(NAMED[dim] for dim in dims))
    over = [dim for dim in product.symbolic_shape if dim.name not in kept]
    total = product.sum(*over) if over else product
    found = total.transpose(*(NAMED[dim] for dim in kept)).numpy() if kept else total.numpy()
    np.testing.assert_array_equal(found, np.einsum(f"{','.join(operands)}->{kept}", *arrays))


Drawn = tuple[sl.Tensor, Array, str]


def aligned(values: Array, dims: str, to: str) -> Array:
    """An array with its axes where a longer list of dimensions has them."""
    order = [dims.index(dim) for dim in to if dim in dims]
    return values.transpose(order).reshape([EXTENTS[dim] if dim in dims else 1 for dim in to])


@st.composite
def expressions(draw: st.DrawFn) -> Drawn:
    """A tensor of random operations, the array that it shall be, and its dimensions."""
    pool: list[Drawn] = []
    for _ in range(draw(st.integers(1, 3))):
        dims = "".join(draw(st.permutations(DIMS))[: draw(st.integers(0, 3))])
        array = ramp(*(EXTENTS[dim] for dim in dims), dtype=draw(st.sampled_from([np.int64, np.float64, np.int16])))
        pool.append((sl.Tensor(array).to(*(NAMED[dim] for dim in dims)), array, dims))
    for _ in range(draw(st.integers(1, 6))):
        t, array, dims = draw(st.sampled_from(pool))
        match draw(st.sampled_from(["binary", "binary", "unary", "reduce", "transpose", "shift", "flip"])):
            case "binary":
                other, values, more = draw(st.sampled_from(pool))
                both = "".join(dict.fromkeys(dims + more))
                ufunc = draw(st.sampled_from([np.add, np.subtract, np.maximum, np.minimum]))
                found = ufunc(t, other)
                array, dims = ufunc(aligned(array, dims, both), aligned(values, more, both)), both
            case "unary":
                found, array = draw(st.sampled_from([(-t, -array), (t * 2 + 1, array * 2 + 1), (abs(t), abs(array))]))
            case "reduce" if dims:
                over = draw(st.sets(st.sampled_from(dims), min_size=1))
                axes = tuple(dims.index(dim) for dim in over)
                name = draw(st.sampled_from(["sum", "max", "min"]))
                found, array = getattr(t, name)(*(NAMED[dim] for dim in over)), getattr(array, name)(axis=axes)
                dims = "".join(dim for dim in dims if dim not in over)
            case "transpose":
                order = "".join(draw(st.permutations(dims)))
                found, array = t.transpose(*(NAMED[dim] for dim in order)), aligned(array, dims, order)
                dims = order
            case "flip" if dims:
                dim = draw(st.sampled_from(dims))
                view = t.to(
                    *(s.x if d == dim else NAMED[d] for d in dims),
                    constraints=[(NAMED[dim], sl.size(NAMED[dim]) - 1 - s.x)],
                )
                found, array = view.to(*(NAMED[d] for d in dims)), np.flip(array, dims.index(dim))
            case _ if dims:
                dim = draw(st.sampled_from(dims))
                by, fill = draw(st.integers(-2, 2)), draw(st.integers(-3, 3))
                said = [(s.x, NAMED[dim] + by), (sl.size(s.x), sl.size(NAMED[dim]))]
                view = t.to(*(s.x if d == dim else NAMED[d] for d in dims), constraints=said, outside=fill)
                places = np.arange(EXTENTS[dim]) - by
                inside = (places >= 0) & (places < EXTENTS[dim])
                shape = [-1 if d == dim else 1 for d in dims]
                taken = np.take(array, np.clip(places, 0, EXTENTS[dim] - 1), dims.index(dim))
                found, array = (
                    view.to(*(NAMED[d] for d in dims)),
                    np.where(inside.reshape(shape), taken, taken.dtype.type(fill)),
                )
            case _:
                found = t
        pool.append((found, array, dims))
    return pool[-1]


@settings(max_examples=settings().max_examples * 2 // 3, deadline=None)
@given(expressions())
def test_random_expressions_are_those_of_numpy(drawn: Drawn) -> None:
    t, array, dims = drawn
    assert "".join(dim.name for dim in t.symbolic_shape) == dims
    assert t.dtype == np.asarray(array).dtype
    assert t.shape == np.shape(array)
    np.testing.assert_array_equal(t.numpy(), array)
    checked = np.empty(t.shape, t.dtype)
    t.pipeline.run(*(each.numpy() for each in t.inputs), checked, checked=True)
    np.testing.assert_array_equal(checked, array)
