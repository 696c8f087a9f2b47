"""Arrays that share memory in NumPy share it in traced functions, and others do not: whatever makes one of another, and
whatever is written to either of them, all come out as without slinky."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from traced import assert_same, jit

Array = np.ndarray[Any, Any]
windows = np.lib.stride_tricks.sliding_window_view

MAKERS: dict[str, Callable[[Any], Any]] = {
    "the same": lambda v: v,
    "v[...]": lambda v: v[...],
    "v[1:]": lambda v: v[1:],
    "v[::2]": lambda v: v[::2],
    "v[::-1]": lambda v: v[::-1],
    "v[1]": lambda v: v[1],
    "v[..., 1]": lambda v: v[..., 1],
    "v[:, None]": lambda v: v[:, None],
    "v[:2][1:]": lambda v: v[:2][1:],
    "v[[0, 1]]": lambda v: v[[0, 1]],
    "v[v > 0]": lambda v: v[v > 0],
    "ravel": np.ravel,
    "ravel K": lambda v: v.ravel("K"),
    "ravel F": lambda v: np.ravel(v, "F"),
    "ravel of v[::2]": lambda v: v[::2].ravel(),
    "ravel of v[..., 1]": lambda v: v[..., 1].ravel(),
    "ravel of v[1:2]": lambda v: v[1:2].ravel(),
    "flatten": lambda v: v.flatten(),
    "reshape": lambda v: v.reshape(-1),
    "reshape of T": lambda v: v.T.reshape(-1),
    "reshape of v[..., 1]": lambda v: v[..., 1].reshape(-1),
    "reshape to rows": lambda v: v.reshape(v.shape[0], -1),
    "reshape to more": lambda v: v.reshape(1, *v.shape),
    "reshape and v[::3]": lambda v: v.reshape(-1)[::3],
    "squeeze": lambda v: np.squeeze(v[None]),
    "squeeze of v[:1]": lambda v: v[:1].squeeze(),
    "T": lambda v: v.T,
    "swapaxes": lambda v: np.swapaxes(v, 0, -1),
    "moveaxis": lambda v: np.moveaxis(v, 0, -1),
    "permute_dims": np.permute_dims,
    "rollaxis": lambda v: np.rollaxis(v, v.ndim - 1),
    "flip": np.flip,
    "flipud": np.flipud,
    "expand_dims": lambda v: np.expand_dims(v, 0),
    "atleast_1d": np.atleast_1d,
    "atleast_2d": np.atleast_2d,
    "atleast_3d": np.atleast_3d,
    "asarray": lambda v: np.asarray(v),
    "asanyarray": lambda v: np.asanyarray(v),
    "ascontiguousarray": lambda v: np.ascontiguousarray(v),
    "asfortranarray": lambda v: np.asfortranarray(v),
    "array": lambda v: np.array(v),
    "array, copy=None": lambda v: np.array(v, copy=None),
    "require": lambda v: np.require(v, requirements="C"),
    "from_dlpack": np.from_dlpack,
    "astype": lambda v: v.astype(v.dtype, copy=False),
    "astype float32": lambda v: v.astype(np.float32, copy=False),
    "view": lambda v: v.view(),
    "real": np.real,
    "v.real": lambda v: v.real,
    "imag": np.imag,
    "conj": np.conj,
    "v.conj": lambda v: v.conj(),
    "+v": lambda v: +v,
    "diagonal": lambda v: np.diagonal(v) if v.ndim > 1 else v[1:],
    "diag": lambda v: np.diag(v) if v.ndim < 3 else v[0],
    "split": lambda v: np.split(v, [1])[0],
    "array_split": lambda v: np.array_split(v, 2)[1],
    "unstack": lambda v: np.unstack(v)[0],
    "broadcast_to": lambda v: np.broadcast_to(v, v.shape),
    "broadcast_to more": lambda v: np.broadcast_to(v, (2, *v.shape)),
    "broadcast_arrays": lambda v: np.broadcast_arrays(v, v)[0],
    "nan_to_num": np.nan_to_num,
    "nan_to_num, copy=False": lambda v: np.nan_to_num(v, copy=False),
    "take": lambda v: np.take(v, 0, axis=0),
    "compress": lambda v: np.compress([True, False], v, axis=0),
    "repeat": lambda v: np.repeat(v, 1, axis=0),
    "roll": lambda v: np.roll(v, 0),
    "tile": lambda v: np.tile(v, 1),
    "concatenate": lambda v: np.concatenate([v]),
    "stack": lambda v: np.stack([v]),
    "pad": lambda v: np.pad(v, 0),
    "resize": lambda v: np.resize(v, v.shape),
    "delete": lambda v: np.delete(v, [], axis=0),
    "delete of none": lambda v: np.delete(v, slice(0), axis=0),
    "append": lambda v: np.append(v, v, axis=0),
    "insert": lambda v: np.insert(v, 0, 1, axis=0),
    "tril": lambda v: np.tril(v, 99),
    "matrix_transpose": lambda v: np.linalg.matrix_transpose(v) if v.ndim > 1 else v,
    "meshgrid": lambda v: np.meshgrid(v)[0],
    "kron": lambda v: np.kron(v, 1),
    "polyder": lambda v: np.polyder(v, 0) if v.ndim == 1 else v,
    "sort_complex": np.sort_complex,
    "unwrap": np.unwrap,
    "fftshift of no axes": lambda v: np.fft.fftshift(v, axes=()),
    "apply_over_axes": lambda v: np.apply_over_axes(np.sum, v, []),
    "windows": lambda v: windows(v, 2, axis=0),
    "copy": lambda v: v.copy(),
    "where": lambda v: np.where(v > 0, v, v),
    "round": np.round,
    "sort": lambda v: np.sort(v, axis=0),
    "unique": np.unique,
    "nonzero": lambda v: np.nonzero(v)[0],
    "argwhere": np.argwhere,
    "apply_along_axis": lambda v: np.apply_along_axis(lambda row: row, 0, v),
}
"""What makes an array of an array: a view, a copy, or either, by how that lies in memory."""


def _put(w: Any) -> None:
    w[...] = 7


def _put_first(w: Any) -> None:
    w[0] = 5


def _put_some(w: Any) -> None:
    w[w > 2] = 0


def _add(w: Any) -> None:
    w += 1


def _add_out(w: Any) -> None:
    np.add(w, 1, out=w)


WRITES = (
    _put,
    _put_first,
    _put_some,
    _add,
    _add_out,
    lambda w: w.fill(3),
    lambda w: w.sort(),
    lambda w: np.copyto(w, 4),
)


def _to_what_was_made(make: Any, write: Any, v: Any) -> Any:
    w = make(v)
    write(w)
    return v, w


def _to_what_it_was_made_of(make: Any, write: Any, v: Any) -> Any:
    w = make(v)
    write(v)
    return v, w


def _to_what_was_made_of_that(make: Any, write: Any, v: Any) -> Any:
    w = make(v)
    u = make(w)
    write(u)
    return v, w, u


def _to_a_part(make: Any, write: Any, v: Any) -> Any:
    w = make(v)
    write(w[1:])
    return v, w


def _to_what_was_made_of_a_part(make: Any, write: Any, v: Any) -> Any:
    w = make(v[1:])
    write(w)
    return v, w


PLACES = (
    _to_what_was_made,
    _to_what_it_was_made_of,
    _to_what_was_made_of_that,
    _to_a_part,
    _to_what_was_made_of_a_part,
)

GIVEN: tuple[Array, ...] = (
    np.arange(12.0).reshape(3, 4) - 5,
    np.asfortranarray(np.arange(12.0).reshape(3, 4) - 5),
    np.arange(9.0)[::-1] - 4,
    np.arange(24.0).reshape(2, 3, 4) % 7,
    (np.arange(12) + 1j).reshape(3, 4),
    np.arange(12, dtype=np.float32).reshape(3, 4),
)


def _tried(function: Callable[[Any], Any], array: Array) -> Any:
    try:
        with np.errstate(all="ignore"):
            return function(array.copy(order="K"))
    except Exception as error:
        return type(error)


@given(st.sampled_from(sorted(MAKERS)), st.sampled_from(WRITES), st.sampled_from(PLACES), st.sampled_from(GIVEN))
@example("ravel of v[..., 1]", _put, _to_what_was_made, GIVEN[0])
@example("asarray", _add, _to_what_it_was_made_of, GIVEN[0])
@example("from_dlpack", _add, _to_what_it_was_made_of, GIVEN[2])
@example("asfortranarray", _put, _to_what_it_was_made_of, GIVEN[2])
@example("v[1]", _add_out, _to_what_was_made, GIVEN[2])
@pytest.mark.filterwarnings("ignore")
def test_what_is_written_is_seen_where_numpy_shows_it(maker: str, write: Any, place: Any, array: Array) -> None:
    make = MAKERS[maker]

    def function(a: Any) -> Any:
        return place(make, write, a * 2)

    got, want = _tried(jit(function), array), _tried(function, array)
    if not (isinstance(want, type) and maker == "v[[0, 1]]"):  # what no result depends on is not computed
        assert_same(got, want)


@pytest.mark.parametrize("maker", sorted(MAKERS.keys() - {"nan_to_num, copy=False"}))
@pytest.mark.filterwarnings("ignore")
def test_results_are_arrays_of_their_own_where_numpys_are(maker: str) -> None:
    """Of an argument, and of what is computed alike."""
    make = MAKERS[maker]
    for array in (GIVEN[0], GIVEN[1], GIVEN[2], np.arange(24.0).reshape(4, 6)[::2, ::2]):
        want, got = _tried_on(make, array), _tried_on(jit(make), array)
        assert_same(got, want)
        if isinstance(want, np.ndarray) and not np.shares_memory(want, array):
            assert not np.shares_memory(got, array)

    def twice(a: Any) -> Any:
        return make(a + 1), make(a + 1)

    one, other = jit(twice)(GIVEN[0])
    assert not isinstance(one, np.ndarray) or not np.shares_memory(one, other)
    assert_same((one, other), twice(GIVEN[0]))


def _tried_on(function: Callable[[Any], Any], array: Array) -> Any:
    """Of the array itself, not of a copy."""
    try:
        return function(array)
    except Exception as error:
        return type(error)


def test_what_was_copied_of_an_argument_that_is_given_away_stays() -> None:
    def step(u: Any) -> Any:
        old = u.copy()
        u *= 2
        return old, u

    def swap(u: Any, v: Any) -> Any:
        kept = u.copy()
        u[:] = v
        v[:] = kept
        return kept

    given, other = np.arange(4.0), np.arange(4.0)
    old, new = jit(step, donate="u")(given)
    assert_same((old, new), step(other))
    assert new is given
    assert not np.shares_memory(old, given)
    u, v = np.zeros(3), np.ones(3)
    assert_same(jit(swap, donate=["u", "v"])(u, v), np.zeros(3))
    assert_same((u, v), (np.ones(3), np.zeros(3)))


def test_a_copy_of_what_was_written_to_an_argument_is_apart_from_it() -> None:
    def double(u: Any) -> Any:
        u[...] = 2
        return u, u.copy()

    given = np.arange(4.0)
    first, second = jit(double, donate="u")(given)
    first[0] = 50
    assert_same(second, np.full(4, 2.0))
    assert given[0] == 50
