"""Arithmetic as one pipeline, run in C, and what it is compared by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from random_arithmetic import in_pieces, plane, same_bits

import slinky as sl
from slinky.native.kernels import kernel_text

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]


def of(make: Callable[..., Any], *arrays: Array) -> tuple[sl.Pipeline, Any]:
    """A pipeline of arithmetic on such planes and rows, and the formula."""
    return on_inputs(make, [plane(name, array.dtype, array.ndim) for name, array in zip("abcd", arrays, strict=False)])


def of_dtypes(make: Callable[..., Any], *dtypes: Any, result: Any = None) -> tuple[sl.Pipeline, Any]:
    """A pipeline of arithmetic on planes of these dtypes, and the formula."""
    return on_inputs(make, [plane(name, dtype) for name, dtype in zip("abc", dtypes, strict=False)], result)


def on_inputs(make: Callable[..., Any], inputs: list[sl.BufferExpr], result: Any = None) -> tuple[sl.Pipeline, Any]:
    """A pipeline of arithmetic on planes and rows, and the formula."""
    value = make(*(each[y, x] if each.rank == 2 else each[x] for each in inputs))
    out = plane("out", value.dtype if result is None else result)
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
    is_power = any(getattr(step, "ufunc", None) is np.power for step in formula.steps)
    for values in zip(*(each.ravel() for each in arrays), strict=True):
        many = [np.full((1, 17), value) for value in values]
        found = np.zeros((1, 17), formula.dtype_of(formula.result))
        # NumPy's vectors of AVX-512 tell of an overflow also where a power of an infinity is one.
        unsure = {"over"} if is_power and any(np.isinf(value) for value in values) else set()
        assert told(lambda: plan(*many, found)) - unsure == told(lambda: make(*many)) - unsure, values  # noqa: B023


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


def hostile(dtype: Any) -> Array:
    limits = np.finfo(dtype)
    small, large = float(limits.smallest_subnormal), float(limits.max)
    values = [0.0, -0.0, 1, -1, 2, 0.5, -2.5, 7, 0.1, np.pi, 1e5, -1e9, 1e12, 1e25, np.inf, -np.inf, np.nan, 700, -700]
    values += [small, -small, 9 * small, float(limits.tiny), large, -large, 708.1, -708.5, 709.9, -745, -746, 1e-20]
    with np.errstate(over="ignore"):
        return np.array(values, dtype)
