"""Arithmetic, drawn at random, and what it is compared by."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

import slinky as sl

Array = np.ndarray[Any, Any]
DTYPES = [np.dtype(name) for name in ("?", "u1", "i2", "i8", "f4", "f8", "c8")]


def plane(name: str, dtype: Any, rank: int = 2) -> sl.BufferExpr:
    return sl.BufferExpr(name, dtype, rank)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    values = np.random.default_rng(seed).integers(-9, 9, shape)
    return values.astype(dtype) if np.dtype(dtype).kind != "u" else np.abs(values).astype(dtype)


def same_bits(found: Array, expected: Array) -> None:
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
    if found.dtype.kind == "f":
        numbers_ = ~np.isnan(found)
        np.testing.assert_array_equal(np.signbit(found[numbers_]), np.signbit(expected[numbers_]))


def in_pieces(p: sl.Pipeline, name: str) -> list[sl.Pipeline]:
    """The pipeline, and others that compute a func piece by piece."""
    rows = sl.split_loop(p, f"{name}.y", 3, rc=True)[0]
    return [
        p,
        rows,
        sl.parallelize_loop(rows, "for y"),
        sl.split_loop(sl.split_loop(p, f"{name}.x", 2), f"{name}.y", 1),
    ]


UNARY: list[Callable[[Any], Any]] = [
    np.negative,
    np.absolute,
    np.sqrt,
    np.square,
    np.invert,
    np.sign,
    np.isnan,
    np.logical_not,
    lambda a: a.astype(np.float32),
    lambda a: a.astype(np.int16),
    lambda a: np.modf(a)[0],
    lambda a: np.frexp(a)[1],
]
BINARY: list[Callable[[Any, Any], Any]] = [
    np.add,
    np.subtract,
    np.multiply,
    np.true_divide,
    np.floor_divide,
    np.remainder,
    np.maximum,
    np.minimum,
    np.less,
    np.equal,
    np.bitwise_xor,
    np.logical_and,
    np.copysign,
    lambda a, b: np.divmod(a, b)[1],
    lambda a, b: np.where(a > 0, a, b),
    lambda a, b: np.clip(a, -2, b),
]
NUMBERS = [0, 2, -3, 0.5, 1 + 2j, True, np.int16(7), np.float64(-0.0), 300]


def programs() -> Any:
    """The dtypes of three inputs, and a function of these."""
    return programs_with([], [])


@st.composite
def programs_with(draw: Any, unary: list[Callable[[Any], Any]], binary: list[Callable[[Any, Any], Any]]) -> Program:
    """The same, with further operations of one and of two operands, which are drawn as often as all others together."""
    dtypes = [draw(st.sampled_from(DTYPES)) for _ in range(3)]
    steps = draw(
        st.lists(
            st.tuples(
                st.one_of(
                    st.sampled_from([*UNARY, *BINARY]), *(st.sampled_from(each) for each in (unary, binary) if each)
                ),
                st.integers(0, 8),
                st.one_of(st.integers(0, 8), st.sampled_from(NUMBERS).map(lambda n: (n,))),
            ),
            min_size=1,
            max_size=7,
        )
    )

    def function(*inputs: Any) -> Any:
        values = list(inputs)
        for operation, first, second in steps:
            operands = [values[first % len(values)]]
            if operation not in UNARY and operation not in unary:
                operands.append(second[0] if isinstance(second, tuple) else values[second % len(values)])
            values.append(operation(*operands))
        return values[-1]

    return dtypes, function


FLOATS = [np.dtype(np.float32), np.dtype(np.float64)]


@st.composite
def chains_of(draw: Any, functions: list[Callable[..., Any]]) -> Program:
    """The dtypes of three inputs, and a chain of functions of two operands, each in a float dtype of its own, or with
    an operand of another one; the last results are added up."""
    dtypes = [draw(st.sampled_from([*DTYPES[:4], *FLOATS, *FLOATS])) for _ in range(3)]
    step = st.tuples(st.sampled_from(functions), st.sampled_from([*FLOATS, None]), st.integers(0, 1), st.integers(0, 8))
    steps = draw(st.lists(st.tuples(step, st.booleans()), min_size=2, max_size=6))
    many = draw(st.integers(1, 3))

    def function(*inputs: Any) -> Any:
        values = list(inputs)
        for (operation, dtype, late, any_), is_turned in steps:
            operands = [values[-1 - late], values[any_ % len(values)]]
            if dtype is not None:
                operands[1] = operands[1].astype(dtype)
            values.append(operation(*(reversed(operands) if is_turned else operands)))
        return sum(values[-many:-1], start=values[-1])

    return dtypes, function


y, x = sl.variables("y x")


Program = tuple[list[np.dtype[Any]], Callable[..., Any]]
"""Dtypes of three inputs, and a function of these."""


class Term(NamedTuple):
    """A function as a pipeline of one func, the arrays that this is given, and what NumPy computes of them."""

    pipeline: sl.Pipeline
    arrays: list[Array]
    expected: Array


def term(program: Program, shape: tuple[int, int]) -> Term | None:
    """A drawn function, of two planes and a row; None where NumPy refuses it, and then accesses refuse it, too."""
    dtypes, function = program
    a, b, row = plane("a", dtypes[0]), plane("b", dtypes[1]), plane("row", dtypes[2], 1)
    arrays = [numbers(shape, dtypes[0]), numbers(shape, dtypes[1], 1), numbers(shape[1:], dtypes[2], 2)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            expected = np.broadcast_to(function(*arrays), shape)
        except (TypeError, OverflowError, AttributeError):
            with pytest.raises(sl.GraphError):
                function(a[y, x], b[y, x], row[x])
            return None
    out = plane("out", expected.dtype)
    func = sl.arithmetic(function(a[y, x], b[y, x], row[x]), out[y, x], name="term")
    read = {access.buffer for access in func.inputs}
    p = sl.build_pipeline([each for each in (a, b, row) if each in read], [out])
    return Term(p, [array for array, each in zip(arrays, (a, b, row), strict=True) if each in read], expected)


def compare_drawn(program: Program, shape: tuple[int, int], **options: Any) -> None:
    """Compare what a drawn function gives, run with such options as a whole and by pieces, with what NumPy does."""
    drawn = term(program, shape)
    if drawn is None:
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        for q in in_pieces(drawn.pipeline, "term"):
            found = np.zeros(shape, drawn.expected.dtype)
            q.run(*drawn.arrays, found, **options)
            same_bits(found, drawn.expected)


ELSEWHERE: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda a: a[x, y], lambda a: a[:6, :5].T),
    (lambda a: a[2 * y, x + 1], lambda a: a[0:10:2, 1:7]),
    (lambda a: a[8 - y, x], lambda a: a[8:3:-1, :6]),
    (lambda a: a[9 - 2 * y, 3 * x], lambda a: a[9::-2, 0:18:3]),
    (lambda a: a[4, x], lambda a: np.broadcast_to(a[4, :6], (5, 6))),
    (lambda a: a[y, 3], lambda a: np.broadcast_to(a[:5, 3:4], (5, 6))),
    (lambda a: a[2, 3], lambda a: np.broadcast_to(a[2, 3], (5, 6))),
    (lambda a: a[y, x] - a[y, x + 1] * a[x, y], lambda a: a[:5, :6] - a[:5, 1:7] * a[:6, :5].T),
]
"""Reads of elements that lie elsewhere than what is written, and what they take of an array for 5 x 6 elements."""
