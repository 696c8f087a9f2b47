"""Functions of NumPy on lazy arrays give what they give on arrays, one by one."""

from __future__ import annotations

import operator
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy import linalg
from numpy.linalg import norm
from traced import assert_same, image, jit, kept

import slinky as sl
from slinky.frontend.tables import TABLE, name_of
from slinky.ir.operations import Expression

TABLES = np.array([-60.0, -3.0, 2.0, 40.0]), np.array([0.0, 4.0, 2.0, 1.0])

CALLS: dict[str, Any] = {
    "average": lambda x: (np.average(x, axis=0), np.average(x)),
    "norm": lambda x: np.linalg.norm(x, axis=1),
    "select": lambda x: np.select([x > 20, x > 0], [x, x * 2], 7),
    "interp": lambda x: np.interp(x, *TABLES),
    "digitize": lambda x: np.digitize(x, TABLES[0]),
    "gradient": lambda x: (np.gradient(x), np.gradient(x, axis=1), np.gradient(x, 2.0, axis=0)),
    "split": lambda x: [*np.split(x, [1, 2], axis=1), np.array_split(x, [2])[0] * 2],
    "splits": lambda x: (
        [part * 2 for part in np.split(x, len(x))],
        [part + 1 for part in np.array_split(x, 3, axis=1)],
        np.hsplit(x, 1) + np.vsplit(x, [2]) + np.dsplit(x[:, None], [1]),
        np.hsplit(x[0] * 2, [1, 2]),
    ),
    "column_stack": lambda x: np.column_stack([x, x[:, 0], x * 2]),
    "dstack": lambda x: np.dstack([x, x]),
    "tile": lambda x: (np.tile(x, 2), np.tile(x[0], (2, 3))),
    "repeat": lambda x: (np.repeat(x, 3, axis=0), x.repeat(2, 1), np.repeat(x[0], 2)),
    "median": lambda x: np.median(x, axis=0),
    "quantiles": lambda x: (
        np.percentile(x, 90, axis=0),
        np.quantile(x, 0.3, axis=1, keepdims=True),
        np.nanpercentile(np.where(x > 0, x, np.nan), 25.5),
        np.nanquantile(x, 1, axis=0, method="nearest"),
    ),
    "argmax": lambda x: (np.argmax(x), x.argmin(axis=1), np.nanargmax(x, axis=0)),
    "cumsum": lambda x: (np.cumsum(x, 0), x.cumprod(axis=1), np.nancumsum(x, axis=1)),
    "sort": lambda x: (np.sort(x, 0), np.argsort(x, 1), np.sort(x)),
    "fft": lambda x: np.fft.ifft(np.fft.fft(x, axis=0), axis=1),
    "longer fft": lambda x: (
        np.fft.rfft(x, 2 * x.shape[1]),
        np.fft.fft(x, n=2, axis=0),
        np.fft.irfft(np.fft.rfft(x, axis=0), len(x), axis=0),
        np.fft.hfft(x, 9, norm="ortho"),
        np.fft.irfft(x, 1),
    ),
    "moveaxis": lambda x: (np.moveaxis(x[None], 0, 1), np.rollaxis(x, 1), np.swapaxes(x, 0, 1)),
    "rot90": lambda x: (np.rot90(x), np.rot90(x, 2), np.rot90(x, -1), np.fliplr(x), np.flipud(x), np.flip(x)),
    "atleast": lambda x: (np.atleast_1d(x.max()), np.atleast_2d(x[0]), np.expand_dims(x, (0, 2)), np.squeeze(x[:1])),
    "broadcast": lambda x: (np.broadcast_to(x[0], (3, x.shape[1])) * 1, np.broadcast_arrays(x, x[0])[1] + 1),
    "pad": lambda x: [np.pad(x, ((1, 2), (0, 3)), mode=m) for m in ("constant", "edge", "symmetric")],
    "roll": lambda x: (np.roll(x, 1, 0), np.roll(x, (1, -1), (0, 1)), np.roll(x[0], 2)),
    "stack": lambda x: (np.stack([x, x * 2]), np.vstack([x, x[0]]), np.hstack([x, x]), np.concatenate((x, x), -1)),
    "like": lambda x: (np.zeros_like(x), np.ones_like(x, dtype="i2"), np.full_like(x, 3), np.copy(x)),
    "diff": lambda x: (np.diff(x), np.diff(x, 2, 0), np.diff(x > 0)),
    "products": lambda x: (x @ x.T, np.dot(x[0], x[0]), x @ x[0], np.outer(x[0], x[1]), np.matmul(x[0], x.T)),
    "products of stacks": lambda x: (
        np.dot(x[None], [1, 2, 0.5] * (x.shape[1] // 3) + [1] * (x.shape[1] % 3)),
        np.dot(x[None] + x[:2, None], x.T),
        np.dot(x, np.stack([x.T, x.T + 1])),
        x[None].dot(x[0]),
    ),
    "rounding": lambda x: (np.round(x / 3, 1), x.round(), np.fix(x / 3), np.clip(x, None, 3), x.clip(0)),
    "rounding what is repeated": lambda x: np.broadcast_to(x[0] / 3, (4, *x[0].shape)).round(1),
    "parts": lambda x: (
        np.real(x),
        np.imag(x),
        (x + 1j).real,
        (x * 1j).imag,
        np.angle(x),
        np.conj(x),
    ),
    "chosen": lambda x: (np.where(x > 0, x, 0), np.nan_to_num(x), np.isclose(x, 1), np.sinc(x / 100)),
    "known": lambda x: (np.shape(x), np.ndim(x), np.size(x), x.ndim, len(x), np.result_type(x, 1.0).str, x.nbytes),
    "reshape": lambda x: (x.reshape(1, *x.shape), x[:, None].reshape(x.shape[0], -1), x.reshape(-1), x.ravel() + 1),
    "methods": lambda x: (
        x.mean(),
        x.std(axis=0),
        x.var(),
        (x / 64).prod(),
        x.max(1),
        x.flatten(),
        x.astype("c8").conj(),
    ),
    "methods that differ from functions": lambda x: (
        (x > 0).conj(),
        x.conjugate() * 2,
        (x > 0).any().conj(),
    ),
}

BY_PIECES = {"longer fft", "quantiles", "splits"}
ROUNDED = {"average", "norm", "median", "cumsum", "fft", "longer fft", "products", "parts", "chosen", "methods"}


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_a_function(name: str, dtype: str) -> None:
    function = CALLS[name]
    traced = jit(function)
    for shape in [(5, 4), (7, 3), (3, 11)]:
        x = image(*shape, dtype=dtype)
        assert_same(traced(x), function(x), rounded=name in ROUNDED)
        assert "asks for values" not in traced.explain(x)


LISTS: dict[str, Any] = {
    "arrays of lists": lambda x: (
        np.array([x, x * 2]) + 1,
        np.asarray(([x[0], x[1]], [x[1], x[0]])) * 2,
        np.array([x[0], x[1]], dtype="c16"),
        np.array([[x.min(), 1.5], [2, x[0, 0]]]),
    ),
    "reductions of lists": lambda x: (
        np.max([x[:-2], x[1:-1], x[2:]], axis=0),
        np.median((x, x * 2, x / 3), axis=0),
        np.sum([x[0], x[1]]),
        np.any([x > 3, x < -3], axis=0, keepdims=True),
    ),
    "functions of lists": lambda x: (
        np.argmin([x, x[::-1], -x], axis=0),
        np.percentile([x[0], x[1]], [20, 50], axis=0),
        np.nanmean([x, x * 2], axis=0),
        np.transpose([x[0], x[1]]),
        np.diff([x[0], x[1], x[0] * 2], axis=0),
        np.flip(m=x),
        np.diff(n=1, a=x * 2),
        np.cumsum([x, x], axis=-1, dtype=np.float64),
    ),
    "norms of lists": lambda x: (
        np.linalg.norm([x, x * 2], axis=0),
        norm((x[0], x[1]), axis=0),
        linalg.norm([x[0], x[1]]),
    ),
    "ufuncs of lists": lambda x: (
        np.maximum.reduce([x[:-2], x[1:-1], x[2:]]),
        np.fmin.reduce((x, 0.5 * x, x.astype("i2")), axis=0),
        np.logical_and.reduce([x > -30, x < 30, x]),
        np.logical_xor.reduce([x, x - 1]),
        np.minimum.reduce([x.max(), x[0, 0], x[0, 1]]),
        np.maximum.reduce([x]),
    ),
    "ufuncs of lists, along other axes, and with options": lambda x: (
        np.maximum.reduce([x, x * 2], axis=1),
        np.maximum.reduce([x, x * 2], 0, None, None, True),
        np.minimum.reduce([x, x * 2], initial=3),
        np.add.reduce([x, x * 2, x / 3]),
        np.add.reduce([x > 0, x > 1, x > 2]),
        np.multiply.reduce([[x[0], x[1]], [x[1], x[2]]], axis=(0, 1), dtype=np.float64),
    ),
}


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
@pytest.mark.parametrize("name", LISTS)
def test_lists_are_arrays(name: str, dtype: str) -> None:
    traced = jit(LISTS[name])
    for shape in [(5, 4), (7, 3), (3, 11)]:
        x = image(*shape, dtype=dtype)
        assert_same(traced(x), LISTS[name](x))
        assert "asks for values" not in traced.explain(x)


def test_the_largest_of_a_list_is_arithmetic() -> None:
    """No array of all is made, and it is one func with what is around it."""
    x = image(40, 30)
    for function in (
        lambda x: np.maximum.reduce([x, x * 2, -x]) + 1,
        lambda x: np.max([x, x * 2, -x], axis=0) + 1,
        lambda x: np.any([x > 2, x * 2, -x], axis=0) + 1,
    ):
        traced = jit(function)
        assert_same(traced(x), function(x))
        assert traced.pipeline(x).find_all("concatenate") == ()


def test_lists_that_are_no_arrays_are_what_they_are_in_numpy() -> None:
    traced = jit(lambda x: np.maximum.reduce([x, np.ones(x.shape[1])[::-1], x[0]]))
    with pytest.raises(ValueError, match="inhomogeneous"):
        traced(image(3, 4))
    mixed = jit(lambda x: np.minimum.reduce([x, np.full((3, 4), 2.5)]))
    with pytest.warns(sl.ForcedValueWarning):
        assert_same(mixed(image(3, 4)), mixed.__wrapped__(image(3, 4)))


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.array([x, np.ones(x.shape)]).sum(axis=0),
        lambda x: np.array([x[0], x[:, 0]]),
        lambda x: np.array([x.max().astype("i2"), x.max().astype("u2"), x.max().astype("f4")]),
        lambda x: np.array([x[0], x[1]], dtype="i1"),
        lambda x: np.array([x.max()] * 100),
    ],
    ids=["other arrays", "shapes", "dtypes by their order", "smaller dtypes", "many"],
)
def test_lists_that_numpy_makes_arrays_of(function: Any) -> None:
    x = image(4, 3)
    traced = jit(function)
    try:
        want = function(x)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            traced(x)
    else:
        assert_same(traced(x), want)


def test_transforms_are_not_tried_at_their_length() -> None:
    """What comes of a transform is asked of few elements: of a terabyte, it would never end."""
    p = jit(lambda x: np.fft.rfft(x, 10**12)).pipeline(image(3, dtype=np.float64))
    assert p.find("rfft").func() == "rfft"


def test_the_table_has_them() -> None:
    assert {name_of(f) for f in TABLE} >= {"gradient", "select", "linalg.norm", "fft.fft", "pad", "tile", "where"}


@pytest.mark.parametrize("out", ["new", "same", "row"])
def test_out_and_where(out: str) -> None:
    def function(x: Any) -> Any:
        if out == "new":
            y = np.zeros_like(x)
            found = np.add(x, 1, out=y)
            np.multiply(y, 2, out=(y,), where=y > 0)
            return found, y
        if out == "same":
            y = x * 1
            np.add(y[1:], y[:-1], out=y[1:])
            np.cumsum(y, axis=0, out=y)
            return y
        y = x * 1
        np.sum(x, axis=0, out=y[0])
        return y, np.add(x, x, where=[True] * x.shape[1], out=x * 0)

    traced = jit(function)
    for shape in [(5, 4), (3, 2)]:
        assert_same(traced(image(*shape)), function(image(*shape)))


def test_kernels_with_halos() -> None:
    @sl.stencil(halo=1)
    def around(a: Any) -> Any:
        return a[2:, 1:-1] + a[:-2, 1:-1] - 2 * a[1:-1, 1:-1]

    @sl.stencil(halo=((1, 1), (2, 2)), boundary="reflect")
    def wide(a: Any) -> Any:
        return a[2:, 4:] + a[:-2, :-4]

    def both(x: Any) -> Any:
        return around(x * 2)[:, 1:] + 1, wide(x[::-1].T) - x[::-1].T, around(wide(x))

    traced = jit(both)
    for shape in [(8, 9), (5, 6)]:
        assert_same(traced(image(*shape)), both(image(*shape)))
        assert "asks for values" not in traced.explain(image(*shape))


def test_filters() -> None:
    pytest.importorskip("scipy")

    def enhance(x: Any) -> Any:
        smooth = sl.ndimage.gaussian_filter(x, 2, mode="reflect")
        return np.clip(x + 1.5 * (x - smooth), 0, 1), sl.ndimage.median_filter(x.T, 3)

    traced = jit(enhance)
    for shape in [(20, 17), (5, 3)]:
        assert_same(traced(image(*shape) / 100), enhance(image(*shape) / 100))


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_chosen_by_the_method() -> None:
    """The condition comes second in the function, and first in the method."""

    def chosen(x: Any) -> Any:
        return x.compress([True, False, True], axis=1), x[0].compress([False, True])

    assert_same(jit(chosen)(image(4, 3)), chosen(image(4, 3)))


def test_lists_of_one_result() -> None:
    """Of functions that are not understood: the list has one array, not one axis more."""

    def parts(x: Any) -> Any:
        return np.unstack(x[:1])[0] * 2, np.unstack(x[:2], axis=0)[1], np.hsplit(x, 1)[0] + 1, np.ix_(x[0] > 0)[0].ndim

    assert_same(jit(parts)(image(4, 3)), parts(image(4, 3)))
    assert_same(np.asarray(np.unstack(sl.lazy(image(1, 3)))[0]), np.unstack(image(1, 3))[0])


WRITTEN_LATER: dict[str, Any] = {
    "what it is put behind": lambda x, w: np.append(w, x),
    "places": lambda x, w: x[w, w],
    "places in a list": lambda x, w: x[[w, w], 1],
    "factors": lambda x, w: np.kron(x, w),
    "coefficients": lambda x, w: np.polyval(w, x),
    "options": lambda x, w: np.average(x[:, :3], axis=1, weights=w + 1),
    "understood": lambda x, w: np.convolve(x[0], w) + np.interp(x[0, 0], w, w),
}


@pytest.mark.parametrize("kind", WRITTEN_LATER)
def test_arrays_of_the_function_are_read_as_they_are_when_it_calls(kind: str) -> None:
    def program(x: Any) -> Any:
        own = np.array([0, 1, 2])
        found = WRITTEN_LATER[kind](x, own)
        own[...] = 0
        return found

    picture = image(5, 6)
    traced = jit(program)
    assert_same(traced(picture), program(picture), rounded=True)
    assert_same(traced(picture + 1), program(picture + 1), rounded=True)
    np.testing.assert_allclose(np.asarray(program(sl.lazy(picture))), program(picture))


def test_views_of_arrays_of_the_function_see_what_is_written_to_these() -> None:
    def program(x: Any) -> Any:
        own = np.ones(6)
        (one, _), (two, _) = np.atleast_1d(own, x), np.broadcast_arrays(own[None], x)
        own[0] = 5
        return one * 1, two * 1, own + x

    assert_same(jit(program)(image(5, 6)), program(image(5, 6)))


def test_what_is_asked_of_values_and_sees_them_is_not_written_to() -> None:
    def program(x: Any) -> Any:
        y = x[0] * 2
        seen = np.trim_zeros(y)
        np.add(y, 1, out=y)
        return seen

    assert_same(jit(program)(image(5, 6)), program(image(5, 6)))


class Unequal:
    """Something of a user's."""

    def __eq__(self, other: object) -> Any:
        return other == 3

    def __hash__(self) -> int:
        return 0


COMPARED: dict[str, Any] = {
    "None": lambda x: (x == None, x[x != None].shape, np.sum(x != None, axis=0)),  # noqa: E711
    "an element": lambda x: (x[0, 0] == None, x[0, 0] != "a", x[:1, 0].reshape(()) == None, x.max() == {}),  # noqa: E711
    "texts": lambda x: (x == "a", x != "a", np.array(["3", "a"]) == x[:, :2]),
    "a dictionary": lambda x: (x == {}, np.not_equal(x, {})),
    "objects": lambda x: (x == Unequal(), x[0] == np.array([3, None], object), x * np.array([1, 2.5], object)[1]),
    "fractions": lambda x: (x + Fraction(1, 2), Fraction(1, 2) * x),
    "lists of arrays": lambda x: (x == [x[0]] * x.shape[0], [x[0, 0]] * x.shape[1] + x),
    "masked arrays": lambda x: (x * np.ma.masked_array([1.0, 2.0])).filled(0),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
@pytest.mark.parametrize("beside", COMPARED)
def test_operators_beside_what_is_no_array_of_numbers(beside: str) -> None:
    function = COMPARED[beside]
    x = image(3, 2)
    x[1, 1] = 3
    assert_same(jit(function)(x), function(x))
    for got, want in zip(function(sl.lazy(x)), function(x), strict=True):
        assert_same(np.asarray(got), np.asarray(want))


def test_comparing_with_none_asks_for_no_values() -> None:
    traced = jit(lambda x: x * (x != None))  # noqa: E711
    assert_same(traced(image(3, 2)), image(3, 2))
    assert "traced at each call" not in traced.explain(image(3, 2))


IN_PLACE: dict[str, tuple[Any, Any, Any]] = {
    "@= of a vector": (operator.imatmul, image(3, 3), image(3)),
    "@= of a list": (operator.imatmul, image(3, 3), [1, 2, 3]),
    "@= of another dtype": (operator.imatmul, image(3, 3, dtype="int16"), image(3, 3)),
    "**= of bools": (operator.ipow, image(3, 3) > 0, 2),
    "**= of another dtype": (operator.ipow, image(3, 3, dtype="uint8"), np.float32(1)),
    "**= of many": (operator.ipow, image(3, 3), image(3, 3, 3)),
    "+= of many": (operator.iadd, image(3, 3), image(3, 3, 3)),
}


@pytest.mark.parametrize("what", IN_PLACE)
def test_what_operators_in_place_refuse_is_refused_in_the_words_of_numpy(what: str) -> None:
    operate, array, other = IN_PLACE[what]

    def changed(x: Any, other: Any) -> Any:
        y = x.copy()
        return operate(y, other)

    with pytest.raises((TypeError, ValueError)) as expected:
        changed(array, other)
    for options in ({}, {"strict": True}):
        with pytest.raises(type(expected.value), match=re.escape(str(expected.value))):
            jit(changed, **options)(array, other)


def test_operators_in_place_beside_what_is_no_array_of_numbers() -> None:
    def add(x: Any) -> Any:
        y = x + 1
        y += Fraction(1, 2)
        return y

    with pytest.raises(np._core._exceptions._UFuncOutputCastingError):
        jit(add)(image(3))


def _overwritten(x: Any, order: str) -> Any:
    y = x.T * 2
    y[...] = x.T.copy()
    return y.ravel(order)


def _one_like_the_other(x: Any, order: str) -> Any:
    y, z = np.zeros_like(x), np.zeros_like(x.T)
    y[1:], z[:, 1:] = x[1:], x.T[:, 1:]
    return (y + 1).ravel(order), (z + 1).ravel(order)


BY_LAYOUT: dict[str, Any] = {
    "ravel": lambda x, order: (x.T * 2).ravel(order),
    "ravel of NumPy": lambda x, order: np.ravel(x.T * 2, order),
    "reshape": lambda x, order: (x.T + 1).reshape(-1, order="A" if order == "K" else order),
    "flatten": lambda x, order: (x.T + 1).flatten(order),
    "an argument": lambda x, order: x.flatten(order),
    "a copy": lambda x, order: x.copy("F").ravel(order),
    "a copy of NumPy": lambda x, order: np.copy(x, order="F").ravel(order) + np.copy(x.T).ravel(order),
    "a copy in rows": lambda x, order: x.T.copy().ravel(order),
    "another dtype": lambda x, order: x.astype("f4", order="F").ravel(order) + x.astype("f8", order="F").ravel(order),
    "the same dtype": lambda x, order: x.astype(x.dtype, order="F", copy=False).ravel(order),
    "zeros": _one_like_the_other,
    "zeros of a shape": lambda x, order: (np.zeros(x.shape, order="F") + x).ravel(order),
    "full": lambda x, order: (np.full_like(x, 1, order="F") + np.ones_like(x.T).T).ravel(order),
    "ufuncs": lambda x, order: np.add(x, 1, order="F").ravel(order),
    "a mask": lambda x, order: (x.T * 2)[np.array([True, False] * 3)[: x.shape[1]]].ravel(order),
    "a part": lambda x, order: np.delete(x.T * 2, 0, axis=0).ravel(order),
    "what is not understood": lambda x, order: (np.asfortranarray(x * 2) + 1).ravel(order),
    "written": _overwritten,
    "forced": lambda x, order: (np.copysign(x.T, (x.T * 2).max()) * 2).ravel(order),
    "an iterator": lambda x, order: [float(each) for each in np.nditer(x.T * 2, order=order)],
    "backwards": lambda x, order: (x[::-1] * 2).ravel(order) + x[:, ::-1].ravel(order),
}


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
@pytest.mark.parametrize("order", ["K", "A", "F", "C"])
@pytest.mark.parametrize("what", BY_LAYOUT)
def test_orders_that_go_by_how_arrays_lie_in_memory(what: str, order: str) -> None:
    x = np.arange(12.0).reshape(3, 4)
    for options in ({}, {"exact": True}):
        traced = jit(lambda a: BY_LAYOUT[what](a, order), **options)
        for array in (x, np.asfortranarray(x), x + 1):
            assert_same(traced(array), BY_LAYOUT[what](array, order))


def test_layouts_that_are_known_are_no_reason_against_a_trace() -> None:
    def flat(x: Any) -> Any:
        y = np.zeros_like(x)
        y[1:] = np.where(x > 2, x, x[:, :1])[1:] * 2
        return y.ravel("K"), np.cumsum(y, axis=1).flatten("A"), x[:, ::2].ravel("K")

    traced = jit(flat)
    x = np.arange(12.0).reshape(3, 4)
    for array in (x, x + 1, np.asfortranarray(x), x[:, 1:], x):
        assert_same(traced(array), flat(array))
    assert kept(traced) == 1
    turned = jit(lambda x: (x.T * 2).ravel("K"))
    assert "called as it is: order='K', which goes by how an array lies in memory" in turned.explain(x)


def test_layouts_of_lazy_arrays() -> None:
    x = np.arange(12.0).reshape(3, 4)
    assert_same(np.asarray((sl.lazy(x) * 2).ravel("K")), (x * 2).ravel("K"))
    for lazy in (sl.lazy(x).T, sl.lazy(x.T), sl.lazy(x).copy("F")):
        with pytest.raises(sl.TracingError, match="how an array lies in memory"):
            (lazy * 2).ravel("K")


@pytest.mark.parametrize("value", [np.nan, np.inf, -1, 2.5, 300, True])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "bool"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_border_of_what_a_dtype_does_not_hold_is_what_numpy_makes_of_it(value: Any, dtype: str) -> None:
    def padded(a: Any) -> Any:
        return np.pad(a, 1, constant_values=value)

    array = np.ones(3, dtype)
    try:
        want = padded(array)
    except (ValueError, OverflowError) as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            jit(padded)(array)
    else:
        assert_same(jit(padded)(array), want)


def test_widths_of_small_integers() -> None:
    """Widths are added as Python's integers, whatever NumPy has them in; unsigned ones are refused, as NumPy does."""
    x = image(60, 150)
    for width in (np.int8(100), np.array([[50, 3], [100, 100]], np.int8), np.int64(2)):

        def f(a: Any, width: Any = width) -> Any:
            return np.pad(a, width, mode="symmetric" if np.max(width) <= 60 else "edge")

        assert_same(jit(f)(x), f(x))
    with pytest.raises(TypeError, match="integral type"):
        jit(lambda a: np.pad(a, np.uint8(20)))(x)


@pytest.mark.parametrize(
    ("dtype", "exponents"), [("f8", (3, 2, 0.5, -1, 4.0)), ("f4", (2, 0.5, -1, 3)), ("i4", (2, 3))]
)
def test_operators_of_powers_are_arithmetic(dtype: str, exponents: tuple[float, ...]) -> None:
    """By integers and roots, so that C knows them: other operators are callbacks."""
    array = abs(image(9, 8, dtype=dtype)) + 1
    for exponent in exponents:
        function = jit(lambda x: x**exponent)  # noqa: B023
        assert_same(function(array), array**exponent)
        calls = function.pipeline(array).find_all("_ = _")
        assert all(isinstance(call._call.func.operation, Expression) for call in calls)


def test_scalars_that_are_truths_have_the_powers_of_scalars() -> None:
    """NumPy squares arrays of truths as int8, and scalars as integers."""
    array = image(4, 5)
    for exponent in (2, 3, 2.0, np.int8(2)):
        for make in (lambda x: (x > 0).any() ** exponent, lambda x: (x > 0) ** exponent):  # noqa: B023
            assert_same(jit(make)(array), make(array))


def test_calls_with_names_go_the_short_way_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order of the names; what comes for the first time does not."""

    def graded(a: Any, b: Any = 1.0, *, c: Any = 2.0) -> Any:
        return (a[1:] + a[:-1]) * b + c

    x, y = np.random.default_rng(0).random((2, 40, 50))
    traced = sl.jit(smallest=0)(graded)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((x,), {"b": 3.0}),
        ((), {"a": x, "b": 2.0}),
        ((), {"b": 2.0, "a": x}),
        ((x, 2.0), {"c": y[1:]}),
        ((x,), {"c": y[1:], "b": 3.0}),
        ((x,), {"b": y[1:], "c": 3.0}),
    ]
    for given, named in calls:
        traced(*given, **named)
    monkeypatch.setattr(type(traced), "_run", lambda *given: pytest.fail("it went the long way"))
    for given, named in calls:
        for b in (2.0, 4.0):
            with_b = {**named, **({"b": b} if "b" in named and isinstance(named["b"], float) else {})}
            np.testing.assert_array_equal(traced(*given, **with_b), graded(*given, **with_b), strict=True)


def test_calls_with_lists_of_arguments_go_the_short_way_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in them is part of what a call is known by, and how: only floats are told."""

    def mixed(parts: Any, axes: Any = (0, 1), weights: Any = None) -> Any:
        a, b = parts.values() if isinstance(parts, dict) else parts
        return np.flip(a + b * 2, axes) * (weights["b"] if weights else 1.5), len(parts)

    x, y = np.random.default_rng(0).random((2, 40, 50))
    traced = sl.jit(smallest=0)(mixed)
    calls: list[tuple[Any, ...]] = [
        ((x, y),),
        ([x, y],),
        ((x, y), (1,)),
        ((x[1:], y[1:]), [0]),
        ({"a": x, "b": y}, 1),
        ({"a": x, "c": y}, 0, {"b": 3.0}),
        ((x, y), (0, 1), {"b": 7, "a": None}),
        ((x, y), (0, 1), {"b": 8, "a": None}),
    ]
    for given in calls:
        traced(*given)
    long_way: list[Any] = []
    own = type(traced)._run
    monkeypatch.setattr(type(traced), "_run", lambda self, *given: long_way.append(given) or own(self, *given))
    for given in [*calls, ({"a": x, "c": y}, 0, {"b": 4.5})]:
        found, expected = traced(*given), mixed(*given)
        np.testing.assert_array_equal(found[0], expected[0], strict=True)
        assert found[1] == expected[1]
    assert not long_way
    for given in (((x, y), (1, 0)), ((x[2:], y[2:]),), ({"b": x, "a": y},), ((x, y), (0, 1), {"a": 7, "b": 8})):
        np.testing.assert_array_equal(traced(*given)[0], mixed(*given)[0], strict=True)
    assert len(long_way) == 4


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.clip(a * 2, None, None),
        lambda a: (a * 2).clip() + 1,
        lambda a: np.take(a * 2, 100),
        lambda a: np.take(a, [[1, 2], [300, -1]]),
        lambda a: a.T.take([7, 100]),
        lambda a: np.take(a, [5000, -3], mode="wrap"),
        lambda a: np.take(a, [5000, -3], mode="clip"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"native": True}])
def test_ends_that_are_not_there_and_tables_of_several_axes(function: Any, options: Any) -> None:
    """They are understood: with `strict` they were refused."""
    traced = sl.jit(strict=True, smallest=0, **options)(function)
    for shape in ((20, 30), (7, 5, 40)):
        a = np.arange(np.prod(shape)).reshape(shape).astype(np.float32)
        for _ in range(2):
            assert_same(traced(a), function(a))


@pytest.mark.parametrize("function", [lambda a: np.clip(a, None, None), lambda a: np.take(a, 100)])
@pytest.mark.parametrize("options", [{}, {"strict": True}])
def test_ends_and_tables_that_numpy_refuses(function: Any, options: Any) -> None:
    a = np.ones((3, 4), bool)
    with pytest.raises((TypeError, IndexError)) as refused:
        function(a)
    with pytest.raises(refused.type, match=re.escape(str(refused.value))):
        sl.jit(smallest=0, **options)(function)(a)


class NotThereError(Exception):
    """What stands for another object has none."""


def refusing(*methods: str) -> Any:
    """An object that raises an error where one of these is asked of it."""

    def refuse(self: Any, *given: Any, **named: Any) -> Any:
        raise NotThereError

    found: dict[str, Any] = dict.fromkeys(methods, refuse)
    if "__class__" in found:
        found["__class__"] = property(refuse)
    return type("Refusing", (), found)()


@pytest.mark.parametrize("options", [{}, {"strict": True}, {"smallest": 0}])
@pytest.mark.parametrize(
    "methods",
    [
        ("__class__",),
        ("__getattribute__",),
        ("__eq__", "__hash__"),
        ("__repr__", "__str__"),
        ("__array__", "__len__", "__iter__"),
        ("__bool__", "__index__"),
    ],
    ids="/".join,
)
def test_objects_that_raise_errors_where_they_are_looked_at(methods: tuple[str, ...], options: Any) -> None:
    """The function has them, and does nothing with them: whatever is looked at, its results are what they are."""
    held, a = refusing(*methods), np.arange(20000.0).reshape(100, 200)

    def closed_over(a: Any) -> Any:
        found = (held,)
        return a * len(found) + 1

    def by_default(a: Any, held: Any = held) -> Any:
        return a + (held is not None)

    def given_it(a: Any, given: Any) -> Any:
        return a + 1

    for _ in range(3):
        assert_same(sl.jit(**options)(closed_over)(a), a + 1)
        assert_same(sl.jit(**options)(by_default)(a), a + 1)
        for given in (held, [held], {"held": held}):
            assert_same(sl.jit(**options)(given_it)(a, given), a + 1)
    assert sl.jit(**options)(closed_over).explain(a)
    if methods[0] in ("__class__", "__getattribute__"):
        with pytest.raises(sl.TracingError, match="raises NotThereError when it is asked for its class"):
            sl.jit(**options)(given_it).explain(a, held)


@pytest.mark.filterwarnings("ignore::slinky.errors.ForcedValueWarning")
def test_indices_that_are_not_there_are_told_where_they_are_asked_for() -> None:
    def taken(a: Any) -> Any:
        try:
            return np.take(a * 2, [100, 3])
        except IndexError:
            return a + 1

    traced = sl.jit(smallest=0)(taken)
    for shape in ((20, 30), (3, 4), (10, 10), (101, 1), (1, 6), (20, 31)):
        a = np.arange(float(np.prod(shape))).reshape(shape)
        for _ in range(2):
            assert_same(traced(a), taken(a))


def test_a_number_is_repeated_along_its_only_axis() -> None:
    """An array without axes has one here, for NumPy: with `strict` this was an error of an axis that is not there."""
    for options in ({}, {"strict": True}):
        traced = sl.jit(smallest=0, **options)(lambda a: np.repeat(a.sum(), 2, axis=0))
        try:
            assert_same(traced(np.arange(8)), np.repeat(np.arange(8).sum(), 2, axis=0))
        except sl.TracingError:
            assert options


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.complex128])
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    "keywords",
    [
        {}, {"nan": 3}, {"nan": np.nan}, {"posinf": np.inf, "neginf": -1.5}, {"nan": np.float32(2.5)}, {"nan": 1e300},
        {"posinf": 10**400}, {"nan": np.array(2.0)}, {"nan": True}, {"copy": False},
    ],
)  # fmt: skip
def test_numbers_in_the_place_of_what_is_none(dtype: Any, native: bool, keywords: Any) -> None:
    """In each dtype that has some, and in others; by numbers that the dtype holds, and by others."""
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, 3e38]), (37, 50))
    with np.errstate(all="ignore"):
        values = (rng.integers(-9, 9, values.shape) if dtype is np.int64 else values).astype(dtype)

    def function(x: Any) -> Any:
        return np.nan_to_num(x + 0, **keywords)

    def found(of: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                result = of(values.copy())
        except Exception as error:
            return type(error)
        return result.dtype, result.shape, np.asarray(result).tobytes()

    assert found(sl.jit(native=native, smallest=0)(function)) == found(function)
