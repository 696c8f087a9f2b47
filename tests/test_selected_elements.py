"""Elements that a mask selects and that go back to an array: `x[m] *= 2`, `out[m] = np.log(x[m])`, of lazy arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traced import PIECES, assert_same, for_c, image, jit, kept

import slinky as sl

HALF = 0.5


def _doubled(x: Any) -> Any:
    y = x.copy()
    y[y > 1] *= 2
    return y


def _with_numbers(x: Any) -> Any:
    y, m = x * 3, x < 0
    y[m] += 5
    y[m] -= np.int16(2)
    y[~m] = -y[~m]
    y[m] = 7 - y[m] * 2
    return y


def _of_others(x: Any) -> Any:
    y, m = x + 1, x > 0
    z = x * x
    y[m] = z[m]
    y[~m] = z[~m] + x[~m] * 2 - x[~m]
    return y, z


def _by_ufuncs(x: Any) -> Any:
    y, m = x.astype(np.float64), x > 3
    y[m] = np.sqrt(x[m])
    y[~m] = np.minimum(1, abs(x)[~m])
    y[m] = np.maximum(y[m], np.square(x[m]) / 100)
    return y


def _into_another_dtype(x: Any) -> Any:
    y, m = np.zeros(x.shape, np.float32), x > 3
    y[m] = x[m]
    z = np.zeros(x.shape, np.uint8)
    z[m] = y[m] / 2
    return y, z


def _of_a_view(x: Any) -> Any:
    y = np.zeros((2, *x.shape))
    m = x > 0
    y[1][m] += 3
    y[0, ::-1][m] -= 1
    y[:, 1:][:, m[1:]] = 1
    return y


def _of_rows(x: Any) -> Any:
    y, m = x * 2, x.max(axis=tuple(range(1, x.ndim)), initial=-9) > 0
    y[m] *= 3
    y[m] = x[m] - 1
    return y


def _of_objects(x: Any) -> Any:
    class Holder:
        pass

    held = Holder()
    held.x = x * 2  # type: ignore[attr-defined]
    held.x[held.x > 1] //= 3  # type: ignore[attr-defined]
    return held.x  # type: ignore[attr-defined]


def _by_powers(x: Any) -> Any:
    y = x.astype(np.float32)
    y[x > 0] **= 2
    y[x < 0] = y[x < 0] ** 2.0
    return y


def _by_globals_and_arguments(x: Any, gain: float = 1.5) -> Any:
    y = x * HALF
    y[y > 1] *= gain
    y[y < 1] = gain * y[y < 1] + HALF
    return y


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "doubled": _doubled,
    "with numbers": _with_numbers,
    "of others": _of_others,
    "by ufuncs": _by_ufuncs,
    "into another dtype": _into_another_dtype,
    "of a view": _of_a_view,
    "of rows": _of_rows,
    "of objects": _of_objects,
    "by powers": _by_powers,
    "by globals and arguments": _by_globals_and_arguments,
}
SHAPES = [(0, 3), (1, 1), (7, 1), (13, 11), (5, 4, 3)]


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_what_numpy_gives(name: str, dtype: str) -> None:
    function = FUNCTIONS[name]
    traced = [jit(function), jit(function, machine=PIECES), for_c(function)]
    for shape in SHAPES:
        x = image(*shape, dtype=dtype)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            want = function(x.copy())
        for each in traced:
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                assert_same(each(x), want)
            assert {str(w.message) for w in heard} == {str(w.message) for w in said}
    assert all("asks for values" not in each.explain(x) for each in traced)


def test_what_is_not_selected_raises_no_errors() -> None:
    def divided(a: Any, b: Any) -> Any:
        out = np.zeros_like(a)
        m = b != 0
        out[m] = a[m] / b[m]
        out[~m] = np.log(a[~m])
        return out

    a, b = np.arange(1, 200.0), np.arange(199.0) % 3
    a[b != 0] *= -1
    for lazily in (jit(divided), jit(divided, machine=PIECES), for_c(divided)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_same(lazily(a, b), divided(a, b), rounded=True)
        assert "asks for values" not in lazily.explain(a, b)
    with pytest.warns(RuntimeWarning, match="invalid value encountered in log"):
        jit(divided)(a - 1000, b)


def test_what_is_selected_warns_as_in_numpy() -> None:
    def cast(x: Any) -> Any:
        y = np.zeros(x.shape, np.int32)
        m = x != 1
        y[m] = x[m]
        return y

    x = np.array([1.0, np.nan, 2.0])
    with pytest.warns(RuntimeWarning, match="invalid value encountered in cast"):
        jit(cast)(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(jit(cast)(np.array([1.0, 3.0])), np.array([0, 3], np.int32))


def test_operators_in_place_refuse_what_numpy_refuses() -> None:
    def halved(x: Any) -> Any:
        y = x * 2
        y[y > 1] *= 0.5
        return y

    def too_large(x: Any) -> Any:
        y = x.copy()
        y[y > 1] += 300
        return y

    with pytest.raises(TypeError, match="Cannot cast ufunc 'multiply' output"):
        jit(halved)(image(5, dtype=np.int64))
    with pytest.raises(OverflowError):
        jit(too_large)(image(5, dtype=np.uint8))


def test_lazy_arrays_outside_of_functions() -> None:
    x = image(30, 20)
    lazy, mask = sl.lazy(x) * 2, sl.lazy(x) > 3
    lazy[mask] += 1
    lazy[mask] = lazy[mask] * 4
    lazy[sl.lazy(x) < 0] = lazy[sl.lazy(x) < 0] + 8  # two masks of which nobody knows that they are one
    want = x * 2
    want[x > 3] = (want[x > 3] + 1) * 4
    want[x < 0] += 8
    assert_same(lazy.compute(), want)


def test_nothing_is_computed_that_does_not_go_back() -> None:
    """What else is done with elements asks for the values of masks, as it did, and gives the same."""

    def elsewhere(x: Any) -> Any:
        y, z, m = x * 2, x + 1, x > 0
        found = [x, x]
        found[1] = y[m]
        kept = y[m] = z[m] * 2
        y[~m] = other = z[~m]
        z[m] = y[m] if len(m) > 2 else x[m]
        z[m] += y[m[::-1]][: np.count_nonzero(m)].sum()
        y[m] = np.clip(y[m], 0, 3)
        y[m] = y[m][::-1]
        y[m][:1] *= 9
        z[m], y[m] = y[m], z[m]
        return y, z, found[1], kept, other, (lambda q: q)(x[m])

    x = image(40, dtype=np.int64)
    with pytest.warns(sl.ForcedValueWarning):
        assert_same(jit(elsewhere)(x), elsewhere(x))


def test_a_mask_that_changes_in_between_selects_others() -> None:
    def changed(x: Any) -> Any:
        y, m = x * 2, x > 0

        def more() -> int:
            m[:2] = True
            return 1

        y[m] += more()
        return y

    x = -abs(image(30, dtype=np.int64)) - 1
    x[5:9] = 3
    for function in (changed, jit(changed)):
        with pytest.raises(ValueError, match="cannot assign 4 input values to the 6 output values"):
            function(x)


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_an_array_that_changes_in_between_is_read_as_it_was() -> None:
    def negated(y: Any) -> int:
        y *= -1
        return 2

    def changed(x: Any) -> Any:
        y, z, m = x * 2, x * 3, x > 0
        y[y > 0] = y[y > 0] + negated(y)  # where others are positive now, as many
        z[m] = z[m] + negated(z)
        return y, z

    x = np.concatenate([np.arange(1, 40), -np.arange(1, 40)])
    assert_same(jit(changed)(x), changed(x))


def test_sizes_that_do_not_fit_are_numpys_errors() -> None:
    def wrong(x: Any) -> Any:
        y = x * 2
        y[x[1:] > 0] *= 2
        return y

    with pytest.raises(IndexError, match="boolean index did not match"):
        jit(wrong)(image(5))


def test_one_trace_serves_all_masks() -> None:
    def shifted(x: Any, by: float) -> Any:
        y = x.copy()
        y[y > by] -= by
        return y

    traced = jit(shifted)
    for by in (0.5, 3.0, 100.0):
        for n in (8, 30):
            assert_same(traced(image(n), by), shifted(image(n), by))
    assert kept(traced) == 1


@pytest.mark.filterwarnings("ignore::slinky.ForcedValueWarning")
def test_functions_that_ask_for_their_variables_have_them() -> None:
    def asking(x: Any) -> Any:
        y, m = x * 2, x > 0
        told = locals()
        y[m] = x[m]
        return y, told["m"]

    assert_same(jit(asking)(image(9)), asking(image(9)))


def test_exact_traces_leave_what_is_rounded_to_numpy() -> None:
    def logs(x: Any) -> Any:
        y, m = np.zeros_like(x), x > 0
        y[m] = np.log(x[m]) * 2
        y[~m] += 1
        return y

    x = image(500, dtype=np.float64)
    traced = sl.jit(smallest=0, exact=True)(logs)
    with pytest.warns(sl.ForcedValueWarning):
        assert traced(x).tobytes() == logs(x).tobytes()
