"""The namespace of lazy arrays by the array API standard: NumPy's functions, whose results are lazy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from traced import assert_same, image, jit

import slinky as sl
from slinky.frontend.arrays import LazyArray

PHOTO = image(9, 6, dtype=np.float64)


def standardized(x: Any) -> Any:
    """As libraries write it that take arrays of anybody."""
    xp = x.__array_namespace__()
    centred = x - xp.mean(x, axis=0, keepdims=True)
    spread = xp.sqrt(xp.sum(xp.square(centred), axis=0) / x.shape[0])
    return xp.where(spread > 0, centred / (spread + xp.asarray(1e-9)), xp.zeros_like(centred))


def test_functions_written_for_any_array_library() -> None:
    found = standardized(sl.lazy(PHOTO))
    assert type(found) is LazyArray
    assert_same(np.asarray(found), standardized(PHOTO))
    assert_same(jit(standardized)(PHOTO), standardized(PHOTO))


CALLS: dict[str, Any] = {
    "created": lambda xp, x: (xp.zeros((2, 3)), xp.arange(4), xp.linspace(0, 1, 5), xp.eye(3), xp.full((2,), 7)),
    "asarray": lambda xp, x: (xp.asarray(x), xp.asarray([1, 2], dtype=xp.float32), xp.asarray(x, copy=True)),
    "astype": lambda xp, x: (xp.astype(x, xp.float32), xp.astype(x, xp.float64, copy=False)),
    "unique": lambda xp, x: (xp.unique_values(x), *xp.unique_all(x), *xp.unique_counts(x), *xp.unique_inverse(x)),
    "elements": lambda xp, x: (xp.exp(x / 50), xp.add(x, 1), xp.bitwise_invert(xp.astype(x, xp.int64)), xp.pow(x, 2)),
    "reduced": lambda xp, x: (xp.sum(x), xp.max(x, axis=1), xp.var(x, correction=1), xp.cumulative_sum(x, axis=0)),
    "turned": lambda xp, x: (xp.permute_dims(x, (1, 0)), xp.matrix_transpose(x), x.mT, xp.concat([x, x], axis=1)),
    "chosen": lambda xp, x: (xp.take(x, xp.asarray([0, 2]), axis=1), xp.nonzero(x)[0], xp.searchsorted(x[0], x[1])),
    "linalg": lambda xp, x: (xp.linalg.matrix_norm(x), *xp.linalg.svd(x, full_matrices=False), xp.linalg.vecdot(x, x)),
    "fft": lambda xp, x: (xp.fft.fft(x), xp.fft.fftfreq(5)),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_lazy_and_numpys(name: str) -> None:
    lazy = sl.lazy(PHOTO)
    found, wanted = (CALLS[name](xp, x) for xp, x in ((lazy.__array_namespace__(), lazy), (np, PHOTO)))
    for one, other in zip(found, wanted, strict=True):
        assert type(one) is LazyArray
        assert_same(np.asarray(one), np.asarray(other), rounded=True)


def test_what_gives_no_arrays() -> None:
    xp = sl.lazy(PHOTO).__array_namespace__(api_version="2024.12")
    assert xp.isdtype(xp.float32, "real floating")
    assert xp.result_type(sl.lazy(PHOTO), xp.float32) == np.float64
    assert xp.finfo(sl.lazy(PHOTO).dtype).eps == np.finfo(float).eps
    assert xp.pi == np.pi
    assert "cpu" in xp.__array_namespace_info__().devices()
    assert xp.linalg.svd(sl.lazy(PHOTO), full_matrices=False)._fields == ("U", "S", "Vh")


def test_devices_and_other_libraries() -> None:
    lazy = sl.lazy(PHOTO)
    assert lazy.device == "cpu"
    assert lazy.to_device("cpu") is lazy
    with pytest.raises(ValueError, match="'cpu'"):
        lazy.to_device("gpu")
    with pytest.raises(ValueError, match="cpu"):
        lazy.__array_namespace__().asarray(PHOTO, device="gpu")
    assert_same(np.from_dlpack(lazy * 2), PHOTO * 2)
    assert lazy.__dlpack_device__() == PHOTO.__dlpack_device__()
    assert_same(np.asarray(lazy.__array_namespace__().from_dlpack(PHOTO)), PHOTO)


def test_what_is_not_there() -> None:
    with pytest.raises(sl.ArgumentError, match=r"2024\.12; got '1999"):
        sl.lazy(PHOTO).__array_namespace__(api_version="1999.12")
    with pytest.raises(AttributeError, match="no 'frobnicate'"):
        _ = sl.lazy(PHOTO).__array_namespace__().frobnicate


def test_arrays_that_are_written_to_later_are_copied() -> None:
    own = PHOTO.copy()
    lazy = sl.lazy(PHOTO).__array_namespace__().asarray(own)
    own[...] = 0
    assert_same(np.asarray(lazy), PHOTO)
