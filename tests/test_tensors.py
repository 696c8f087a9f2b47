"""Lazy tensors with named dimensions: what they are, what follows of sizes, and what they compute."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from round_trips import again

import slinky as sl

s = sl.dims("b c h i j k m n w x y z f")
Array = np.ndarray[Any, Any]


def ramp(*shape: int, dtype: Any = np.float64) -> Array:
    """An array of different numbers of both signs."""
    count = int(np.prod(shape))
    return (np.arange(count, dtype=np.int64) * 7 % 23 - 11).astype(dtype).reshape(shape)


def tensor(array: Array, *dims: sl.Expr) -> sl.Tensor:
    return sl.Tensor(array).to(*dims)


# Dimensions -----------------------------------------------------------------------------------------------------------


def test_dimensions_are_attributes_and_unpacked_in_order() -> None:
    names = sl.dims("m k, n")
    m, k, n = names
    assert (names.m, names.k, names.n) == (m, k, n)
    assert len(names) == 3
    assert sl.dims("m").m is m  # a name is all that a dimension is


def test_a_dimension_that_was_not_made_is_named_in_the_error() -> None:
    with pytest.raises(sl.DimensionError, match="no dimension 'q' among m, k"):
        _ = sl.dims("m k").q
    assert not hasattr(sl.dims("m"), "q")


@pytest.mark.parametrize("names", ["", "m m", "2x", "_m", "for"])
def test_what_is_no_name_of_a_dimension_is_refused(names: str) -> None:
    with pytest.raises(sl.TensorError):
        sl.dims(names)


def test_what_is_neither_dimensions_nor_an_array_is_refused() -> None:
    refused: list[tuple[Any, ...]] = [(3,), ([1, 2],), (s.m, 3), (s.m, s.m), ("m",), (np.array([None]),)]
    for what in refused:
        with pytest.raises(sl.TensorError):
            sl.Tensor(*what)
    with pytest.raises(sl.TensorError, match="astype"):
        sl.Tensor(np.zeros(3), dtype=np.float32)
    with pytest.raises(sl.TensorError, match="identifier"):
        sl.Tensor(s.m, name="a b")


# Sizes ----------------------------------------------------------------------------------------------------------------


def test_sizes_follow_backwards() -> None:
    a, b = sl.Tensor(s.x), sl.Tensor(s.x, s.k)
    c = (a * b).sum(s.x)
    assert c.symbolic_shape == (s.k,)
    b.set_size(128, 7)
    assert a.shape == (128,)
    assert c.shape == (7,)


def test_a_size_of_the_result_is_one_of_its_operands() -> None:
    a, b = sl.Tensor(s.m, s.k), sl.Tensor(s.k, s.n)
    c = (a * b).sum(s.k)
    c.set_size(3, 4)
    a.set_size(3, 5)
    assert b.shape == (5, 4)


def test_sizes_that_nothing_determines_say_which_equations_leave_them_open() -> None:
    a, b = sl.Tensor(s.m, s.k, name="a"), sl.Tensor(s.k, name="b")
    product = a * b
    with pytest.raises(sl.TensorSizeError, match=r"k of b is not determined by\n  k of a == k of b \(multiply"):
        _ = b.shape
    with pytest.raises(sl.TensorSizeError, match="m of a and k of a"):
        _ = product.shape


def test_sizes_that_cannot_be_say_which_equations_and_nothing_is_changed() -> None:
    a, b = sl.Tensor(s.k, name="a"), sl.Tensor(s.k, name="b").set_size(5)
    total = (a * b).sum()
    with pytest.raises(sl.TensorSizeError) as refused:
        a.set(np.zeros(6))
    lines = str(refused.value).splitlines()[1:]
    assert [line.split(" (")[0] for line in lines] == ["  k of a == k of b", "  k of a == 6", "  k of b == 5"]
    assert a.shape == (5,)
    assert a.set(np.ones(5)) is a
    b.set(np.ones(5))
    assert total.numpy() == 5


def test_an_operation_of_sizes_that_do_not_fit_is_refused_and_leaves_no_equation() -> None:
    a, b = tensor(np.ones(3), s.k), tensor(np.ones(4), s.k)
    with pytest.raises(sl.TensorSizeError, match="no sizes for which all of these hold"):
        _ = a + b
    assert (a.shape, b.shape) == ((3,), (4,))


def test_what_was_thrown_away_constrains_nothing() -> None:
    a, b = sl.Tensor(s.k), sl.Tensor(s.k)
    c = a + b
    del c
    a.set_size(3)
    b.set_size(4)
    assert (a.shape, b.shape) == ((3,), (4,))


def test_linear_equations_are_solved_together() -> None:
    """Neither view tells a size alone: x + y == 10, and x == y + 2."""
    x, y = sl.Tensor(s.x), sl.Tensor(s.y)
    both = (x * y).to(
        s.z, s.i, s.j, constraints=[(s.x, s.i), (s.y, s.j), (sl.size(s.z), 1), (10, sl.size(s.x) + sl.size(s.y))]
    )
    difference = (x * y).to(s.i, s.j, constraints=[(s.x, s.i), (s.y, s.j), (sl.size(s.x), sl.size(s.y) + 2)])
    assert (x.shape, y.shape) == ((6,), (4,))
    assert both.shape == (1, 6, 4)
    assert difference.shape == (6, 4)


@pytest.mark.parametrize("count", [3, 7, -1])
def test_sizes_that_would_be_fractions_or_negative_are_refused(count: int) -> None:
    x = sl.Tensor(s.x)
    pairs = x.to(s.m, s.n, constraints=[(s.x, s.m * sl.size(s.n) + s.n), (sl.size(s.n), 2)])
    if count < 0:
        with pytest.raises(sl.TensorError, match="0 or more"):
            x.set_size(count)
    else:
        with pytest.raises(sl.TensorSizeError, match="it would have to be"):
            x.set_size(count)
    x.set_size(6)
    assert pairs.shape == (3, 2)


def test_a_size_is_changed_by_resize_alone() -> None:
    a = sl.Tensor(s.k, name="a").set_size(5)
    assert a.set_size(5).shape == (5,)
    with pytest.raises(sl.TensorSizeError, match=r"k of a == 5 \(set_size\), and shall be 6"):
        a.set_size(6)
    assert a.resize(6).shape == (6,)


def test_other_sizes_are_another_run_of_the_same_pipeline() -> None:
    a, b = sl.Tensor(s.m, s.k), sl.Tensor(s.k, s.n)
    c = (a * b).sum(s.k)
    p = c.pipeline
    for m, k, n in ((2, 3, 4), (5, 1, 2), (1, 7, 1)):
        one, other = ramp(m, k), ramp(k, n)
        a.set(one)
        b.set(other)
        assert c.shape == (m, n)
        np.testing.assert_array_equal(c.numpy(), one @ other)
        assert c.pipeline is p


def test_sizes_of_several_tensors_are_changed_one_after_the_other() -> None:
    a, b = tensor(np.ones(3), s.k), sl.Tensor(s.k).set(np.ones(3))
    c = (a + b).sum()
    b.resize(4)
    with pytest.raises(sl.TensorSizeError, match="no sizes"):
        _ = c.numpy()
    with pytest.raises(sl.TensorError, match="no values"):
        _ = b.numpy()  # an array of other sizes is given up
    b.set(np.ones(3))
    assert c.numpy() == 6


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
        (~(t > 0) & (t != 2), ~(a > 0) & (a != 2)),
        (-t + +t, -a + +a),
    ]
    for result, expected in pairs:
        np.testing.assert_array_equal(result.numpy(), expected, strict=True)


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


def test_a_sum_of_nothing_reduced_is_converted() -> None:
    t = sl.Tensor(np.array(3, np.int8))
    assert t.sum().dtype == np.int64
    assert (t.sum().numpy(), t.any().numpy(), t.mean().numpy()) == (3, True, 3.0)


# Pipelines ------------------------------------------------------------------------------------------------------------


def test_a_pipeline_is_an_ordinary_one() -> None:
    a, b = sl.Tensor(s.m, s.k, name="a", dtype=np.int64), sl.Tensor(s.k, s.n, name="b", dtype=np.int64)
    c = np.maximum(a * b, 0).sum(s.k)
    assert str(c.pipeline.body()[-3:]).splitlines()[-3:] == [
        ">   alloc t0: int64[out.m.min..out.m.max, 0..a.k.max, out.n.min..out.n.max]",
        ">   t0[:, :, :] = maximum(a[:, :], b[:, :])",
        ">   out[:, :] = sum(t0[:, :, :])",
    ]
    p = sl.split_reduction(sl.split_loop(c.pipeline, "sum.m", 4), "sum", "k", 3)
    for m, k, n in ((1, 1, 1), (5, 7, 2), (4, 3, 8)):
        one, other = ramp(m, k, dtype=np.int64), ramp(k, n, dtype=np.int64)
        expected = np.maximum(one[:, :, None] * other, 0).sum(1)
        np.testing.assert_array_equal(c.pipeline(one, other), expected)
        out = np.empty((m, n), np.int64)
        p.run(one, other, out, checked=True)
        np.testing.assert_array_equal(out, expected)


def test_sizes_are_checked_by_the_pipeline_alone() -> None:
    c = (sl.Tensor(s.m, s.k, name="a") * sl.Tensor(s.k, s.n, name="b")).sum(s.k)
    with pytest.raises(sl.CheckFailedError, match=r"requires b.k.max == a.k.max"):
        c.pipeline(np.ones((2, 3)), np.ones((4, 2)))


def test_a_size_that_no_input_tells_is_a_scalar_of_the_pipeline() -> None:
    a = sl.Tensor(s.x, name="a")
    rows = a.to(s.y, s.x, constraints=[])
    np.testing.assert_array_equal(rows.pipeline(np.arange(3.0), size_y=2), [[0, 1, 2], [0, 1, 2]])
    a.set(np.arange(3.0))
    rows.set_size(4, 3)
    assert rows.numpy().shape == (4, 3)


def test_what_is_read_in_two_ways_is_computed_once() -> None:
    x = sl.Tensor(s.x, name="x")
    root = np.sqrt(x)
    total = root * 2 + root.sum()
    assert str(total.pipeline).count("sqrt(") == 1
    first = root.to(s.y, constraints=[(s.x, s.y), (sl.size(s.y), sl.size(s.x) - 1)])
    differences = root[s.y + 1] - first
    assert str(differences.pipeline).count("sqrt(") == 1
    np.testing.assert_array_equal(differences.pipeline(np.arange(5.0) ** 2), np.ones(4))


def test_a_schedule_is_kept_whatever_is_read() -> None:
    a, b = tensor(ramp(5, 7), s.m, s.k), tensor(ramp(7, 3), s.k, s.n)
    c = (a * b).sum(s.k)
    p = sl.split_loop(c.pipeline, "sum.m", 2)
    scheduled = c.scheduled(p)
    again = c.scheduled(lambda own: sl.split_loop(own, "sum.m", 2))
    for _ in range(2):
        np.testing.assert_array_equal(scheduled.numpy(), ramp(5, 7) @ ramp(7, 3))
        np.testing.assert_array_equal(again.numpy(), scheduled.numpy())
    other = (a * b).sum(s.k).pipeline
    with pytest.raises(sl.TensorError, match="made of its own"):
        c.scheduled(sl.split_loop(other, "sum.m", 2))
    with pytest.raises(sl.TensorError, match="made of its own"):
        c.scheduled(lambda own: None)  # type: ignore[arg-type, return-value]


def test_the_order_of_dimensions_is_that_of_the_result() -> None:
    """A transpose is another tensor with another pipeline, also where both were computed before."""
    a = ramp(3, 3)
    t = tensor(a, s.m, s.n) + 1
    for _ in range(2):
        np.testing.assert_array_equal(t.numpy(), a + 1)
        np.testing.assert_array_equal(t.transpose().numpy(), (a + 1).T)


def test_long_chains() -> None:
    t = tensor(ramp(5), s.x)
    for _ in range(600):
        t = t + 1
    np.testing.assert_array_equal(t.numpy(), ramp(5) + 600)


def test_named_tensors_are_called_so() -> None:
    product = (sl.Tensor(s.m, name="a") * sl.Tensor(s.n, name="b")).named("outer")
    assert repr(product) == "<Tensor outer: float64[m, n]>"
    assert repr(product.sum().named("total").pipeline) == "<Pipeline total(a, b) -> (total)>"
    assert "alloc outer: float64" in str(product.sum().pipeline)
    with pytest.raises(sl.TensorError, match="input"):
        sl.Tensor(s.m).named("a")


def test_large_tensors_are_scheduled_by_themselves() -> None:
    a, b = ramp(200, 40), ramp(40, 300)
    c = (tensor(a, s.m, s.k) * tensor(b, s.k, s.n)).sum(s.k)
    np.testing.assert_allclose(c.numpy(), a @ b)


def test_native_values_are_the_same() -> None:
    a = ramp(30, 40, dtype=np.float32)
    t = np.maximum(tensor(a, s.m, s.n) * 0.1, 0) - 1
    np.testing.assert_array_equal(t.numpy(backend="native"), np.maximum(a * np.float32(0.1), 0) - 1, strict=True)


def test_copies_of_a_tensor_compute_the_same() -> None:
    t = tensor(ramp(4), s.x) + 1
    np.testing.assert_array_equal(copy.copy(t).numpy(), t.numpy())


# Other libraries ------------------------------------------------------------------------------------------------------


class Foreign:
    """An array of another library: DLPack is all that it has."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries_are_not_copied() -> None:
    a = ramp(3, 4)
    t = sl.Tensor(Foreign(a)).to(s.m, s.n)
    assert t.shape == (3, 4)
    assert np.shares_memory(t.inputs[0].numpy(), a)
    a[0, 0] = 100
    np.testing.assert_array_equal((t + 1).numpy(), a + 1)
    other = sl.Tensor(s.m).set(Foreign(np.arange(3.0)))
    np.testing.assert_array_equal((other * 2).numpy(), [0, 2, 4])


def test_other_libraries_see_tensors_without_a_copy() -> None:
    a = ramp(3, 4)
    assert np.shares_memory(np.from_dlpack(sl.Tensor(a)), a)
    np.testing.assert_array_equal(np.from_dlpack(tensor(a, s.m, s.n) + 1), a + 1)
    assert np.asarray(sl.Tensor(a)) is a
    assert np.asarray(tensor(a, s.m, s.n) + 1, dtype=np.float32).dtype == np.float32
    with pytest.raises(sl.TensorError, match="uncopied"):
        np.asarray(tensor(a, s.m, s.n) + 1, copy=False)


def test_strides_of_any_kind() -> None:
    a = np.arange(48).reshape(6, 8)
    for array in (a[::2, ::-1], a.T, np.broadcast_to(a[0], (3, 8)), a[:, 3:4]):
        np.testing.assert_array_equal((tensor(array, s.m, s.n) * 2).sum(s.n).numpy(), (array * 2).sum(1))


def test_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    given = torch.arange(6.0).reshape(2, 3)
    t = sl.Tensor(given).to(s.m, s.n)
    given[0, 0] = 10
    assert torch.equal(torch.from_dlpack(t * 2), given * 2)


def test_arrays_on_devices_are_refused() -> None:
    class Elsewhere(Foreign):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("not on the host")

    with pytest.raises(sl.TensorError, match="without copying"):
        sl.Tensor(Elsewhere(ramp(3)))


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


@settings(max_examples=30, deadline=None)
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


@settings(max_examples=40, deadline=None)
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
