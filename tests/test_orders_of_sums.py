"""Traced sums along axes that are not the last one have NumPy's bits where pieces have fewer axes than the whole."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from traced import MACHINE, PIECES, jit

import slinky as sl

pytestmark = pytest.mark.usefixtures("quick_libraries")
Array = np.ndarray[Any, Any]
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "add": np.add.reduce,
    "prod": lambda a, axis: np.prod(1 + a / a.dtype.type(1000), axis=axis),
    "mean": np.mean,
    "std": np.std,
    "var": np.var,
    "nanmean": np.nanmean,
    "nanvar": np.nanvar,
    "norm": np.linalg.norm,
}
COLUMNS = [(1, 3), (7, 2), (19, 1), (19, 4), (127, 5), (129, 1), (129, 33), (1001, 2), (1001, 65), (8193, 1), (8193, 3)]
PLANES = [(20, 29, 3), (20, 3, 129), (9, 1, 20), (9, 20, 1), (1, 5, 33), (130, 2, 1), (33, 1, 1)]
OPTIONS = [
    pytest.param({"native": False}, id="python"),
    pytest.param({"native": False, "workers": 2}, id="python, two workers"),
    pytest.param({"native": True}, id="native", marks=needs_compiler),
    pytest.param({"native": True, "workers": 2}, id="native, two workers", marks=needs_compiler),
]


def numbers(shape: Sequence[int], dtype: Any) -> Array:
    """Numbers of different sizes, whose sums have other bits in almost every other order."""
    random = np.random.default_rng(list(shape))
    found = random.standard_normal(shape) * 10.0 ** random.integers(-3, 3, shape)
    return (found + 1j * random.standard_normal(shape) if np.dtype(dtype).kind == "c" else found).astype(dtype)


def check(function: Callable[[Any], Any], arrays: Sequence[Array], **options: Any) -> None:
    """The bits of what the function gives, whatever the pieces are."""
    for machine in (PIECES, MACHINE):
        traced = jit(function, machine=machine, **options)
        for x in arrays:
            with np.errstate(all="ignore"):
                got, want = np.asarray(traced(x)), np.asarray(function(x))
            assert got.dtype == want.dtype
            assert got.tobytes() == want.tobytes(), x.shape


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(("name", "dtype"), [("sum", "float32"), ("mean", "float64"), ("std", "float64")])
def test_along_columns(name: str, dtype: str, options: dict[str, Any]) -> None:
    function = FUNCTIONS[name]
    arrays = [numbers(shape, dtype) for shape in COLUMNS]
    check(lambda x: function(x * 2, axis=0), arrays, **options)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("sum", "mean", "std")])
def test_other_functions_and_dtypes(name: str, dtype: str) -> None:
    function = FUNCTIONS[name]
    arrays = [numbers(shape, dtype) for shape in [(7, 2), (129, 1), (129, 3), (1001, 2)]]
    check(lambda x: function(x * x.dtype.type(2), axis=0), arrays)


@pytest.mark.parametrize("native", [False, pytest.param(True, marks=needs_compiler)])
@pytest.mark.parametrize("axes", [axes for n in (1, 2) for axes in itertools.combinations(range(3), n)])
@pytest.mark.parametrize("name", ["sum", "std"])
def test_along_axes_of_planes(name: str, axes: tuple[int, ...], native: bool) -> None:
    if native and len(axes) > 1:
        pytest.skip("C rounds otherwise along several axes")
    function = FUNCTIONS[name]
    check(lambda x: function(x * 2, axis=axes), [numbers(shape, "float32") for shape in PLANES], native=native)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seen", [(slice(None, None, -1),), (..., slice(None, None, -1)), (..., slice(None, None, 2))])
@pytest.mark.parametrize("name", ["sum", "std", "nanmean"])
def test_of_what_is_seen_otherwise(name: str, seen: Any) -> None:
    """Turned around, and with gaps: axes of one element are then said to lie elsewhere."""
    function = FUNCTIONS[name]
    shapes = [(1000, 1), (1000, 3), (33, 129), (50, 1, 3), (50, 3, 7)]
    check(lambda x: function((x * 2)[seen], axis=0), [numbers(shape, "float32") for shape in shapes])


def test_one_column_is_another_trace() -> None:
    """For NumPy takes it for a row; arrays of several columns have one trace."""
    traced = jit(lambda x: (x + 1).sum(axis=0), machine=PIECES)
    for shape in ((1000, 3), (500, 2), (1000, 1), (30, 1)):
        traced(numbers(shape, "float32"))
    assert sum(map(len, traced._traces.by_kind.values())) == 2


def centred(x: Any) -> Any:
    """As people write it."""
    t = x * 2
    return t - t.mean(axis=0, keepdims=True), np.sqrt((t * t).sum(axis=0))


@pytest.mark.parametrize("options", OPTIONS)
def test_a_strip_of_one_column_is_left_over(options: dict[str, Any]) -> None:
    small = sl.Machine(near_bytes=1 << 12, shared_bytes=1 << 14, call_seconds=1e-8)
    for machine in (MACHINE, small):
        traced = jit(centred, machine=machine, **options)
        for width in (65, 129, 257):
            x = numbers((200, width), "float32")
            for got, want in zip(traced(x), centred(x), strict=True):
                assert got.tobytes() == want.tobytes(), width


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["sum", "mean", "std", "prod", "nanmean"])
def test_of_columns_that_slide(name: str, options: dict[str, Any]) -> None:
    """Folded buffers have the axis last in memory along which they are folded: here, rows lie within columns."""

    def beside(x: Any) -> Any:
        b = x * x.dtype.type(2)
        return b[:, 2:] * b[:, :-2] / FUNCTIONS[name](b[:, 1:-1], axis=0)

    def sums(x: Any) -> Any:
        b = x * x.dtype.type(2)
        first, *others = (FUNCTIONS[name](b[:, k : b.shape[1] - 2 + k], axis=0) for k in range(3))
        return np.maximum(first, np.maximum(*others)) / 3

    for function in (beside, sums):
        check(function, [numbers((n, 40), "float32") for n in (7, 129, 300)], **options)


@pytest.mark.parametrize("backend", ["python", "interpreter", pytest.param("native", marks=needs_compiler)])
@pytest.mark.parametrize("columns", [1, 4, 7])
def test_of_columns_that_are_folded_by_hand(backend: str, columns: int) -> None:
    def function(x: Any) -> Any:
        b = x * np.float32(2)
        return b[:, 2:].sum(0) - b[:, :-2].sum(0)

    x = numbers((300, 40), "float32")
    p = sl.jit(smallest=0, native=backend == "native")(function).pipeline(x)
    p = sl.line_buffer(p, "subtract", "x", columns)
    assert f"fold {columns + 2}" in str(p.find("alloc b_result"))
    assert np.asarray(p.run(x, backend=backend).outputs[0]).tobytes() == function(x).tobytes()
    assert np.asarray(p.run(x, checked=True).outputs[0]).tobytes() == function(x).tobytes()
