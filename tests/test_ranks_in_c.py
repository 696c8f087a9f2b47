"""Medians and other ranks by networks in C: the elements that SciPy finds, in every bit."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from hypothesis import given, settings
from hypothesis import strategies as st
from traced import PIECES, for_c

import slinky as sl
from slinky.frontend.fixed import fixed
from slinky.frontend.ndimage import ranks
from slinky.native.selecting import MOST_ELEMENTS, MOST_HELD, exchanges, has_function, rank_function, selected

ndimage = pytest.importorskip("scipy.ndimage")

Array = np.ndarray[Any, Any]
DTYPES = [np.dtype(each) for each in ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8")]
ROOT = Path(__file__).parent.parent


def by_network(window: list[float], rank: int) -> float:
    elements = list(window)
    for each in exchanges(len(elements), rank):
        pair = elements[each.first], elements[each.second]
        if each.has_least:
            elements[each.first] = min(pair)
        if each.has_largest:
            elements[each.second] = max(pair)
    return elements[rank]


@pytest.mark.parametrize("count", range(1, 11))
def test_networks_find_every_rank_of_zeros_and_ones(count: int) -> None:
    """What puts all zeros and ones in order puts all else in order, too."""
    for window in itertools.product([0, 1], repeat=count):
        for rank in range(count):
            assert by_network(list(window), rank) == sorted(window)[rank]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=130), st.data())
def test_networks_find_every_rank(window: list[float], data: Any) -> None:
    rank = data.draw(st.integers(0, len(window) - 1))
    assert by_network(window, rank) == sorted(window)[rank]


def test_networks_leave_out_what_a_rank_does_not_need() -> None:
    for count in (9, 25):
        every = sum(len(exchanges(count, rank)) for rank in range(count)) / count
        assert len(exchanges(count, 0)) < every
        assert len(exchanges(count, 0)) == count - 1


def piece(dtype: np.dtype[Any], shape: tuple[int, ...], kind: str, seed: int = 0) -> Array:
    """Numbers with ties; some of them negative zeros, infinities and NaNs."""
    random = np.random.default_rng(seed)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return random.integers(max(ends.min, -50), min(ends.max, 50), shape).astype(dtype)
    found = random.integers(-9, 9, shape) / 4
    if kind == "seldom":
        for value, share in ((-0.0, 0.2), (0.0, 0.2), (np.inf, 0.05), (-np.inf, 0.05), (np.nan, 0.03)):
            found[random.random(shape) < share] = value
    return found.astype(dtype)


def by_scipy(array: Array, rank: int, footprint: Array) -> Array:
    """Of all windows that are inside. (Of a single line, SciPy finds others of the same rank.)"""
    lines = array.ndim == 1
    found = ndimage.rank_filter(
        array[None] if lines else array, rank, footprint=footprint[None] if lines else footprint
    )
    found = found[0] if lines else found
    inside = zip(footprint.shape, array.shape, strict=True)
    return found[tuple([slice(k // 2, k // 2 + n - k + 1) for k, n in inside])]


@needs_compiler
@pytest.mark.parametrize("kind", ["usual", "seldom"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_they_are_scipys(dtype: np.dtype[Any], kind: str) -> None:
    random = np.random.default_rng(1)
    for shape, of in (
        ((3, 3), (20, 530)),
        ((2, 4), (9, 300)),
        ((7,), (700,)),
        ((2, 3, 3), (4, 6, 270)),
        ((1, 3), (1, 3)),
    ):
        footprint = random.random(shape) < 0.8
        footprint.flat[0] = True
        count = int(footprint.sum())
        array = piece(dtype, of, kind)
        ends = set() if kind == "seldom" else {0, count - 1}  # of which SciPy takes the extremum
        for rank in sorted(ends | {1, count // 2, count - 2}) if count > 2 else ():
            function = rank_function(dtype, (shape, footprint.tobytes()), rank)
            target = np.empty(tuple([n - k + 1 for n, k in zip(of, shape, strict=True)]), dtype)
            function(array, target)
            assert target.tobytes() == by_scipy(array, rank, footprint).tobytes(), (shape, rank)


@given(st.lists(st.sampled_from([0.0, -0.0, np.nan, 1.0, -1.0, np.inf]), min_size=2, max_size=12), st.data())
def test_python_selects_as_scipy_does(window: list[float], data: Any) -> None:
    rank = data.draw(st.integers(1, max(len(window) - 2, 1)))
    if 0 < rank < len(window) - 1:  # else it takes an extremum
        found = by_scipy(np.array([window]), rank, np.ones((1, len(window)), bool))
        assert found.tobytes() == np.array([[selected(window, rank)]]).tobytes()


def test_for_what_there_is_no_function() -> None:
    """SciPy compares float64, which hold not all integers of 64 bits; a network of many elements is long."""
    for name in ("i8", "u8", "f2", "?", "c8", ">f4"):
        assert not has_function(np.dtype(name), 9)
    assert has_function(np.dtype("f4"), MOST_ELEMENTS)
    assert not has_function(np.dtype("f4"), MOST_ELEMENTS + 1)
    assert not has_function(np.dtype("f4"), 1)


def test_their_text_declares_no_more_than_it_needs() -> None:
    """The least and the largest element need no exchange of both."""
    for rank, is_needed in ((0, False), (4, True), (7, False)):
        source = rank_function(np.dtype(np.int16), ((2, 4), np.ones((2, 4), bool).tobytes()), rank).source
        assert source is not None
        assert ("int16_t w;" in source) == is_needed


def test_wide_windows_of_few_elements_leave_the_stack_alone() -> None:
    """Of floats, the lines of a block of windows are held there, as wide as the windows."""
    for dtype, is_there in ((np.float64, False), (np.float32, False), (np.int32, True)):
        footprint = np.zeros((100, 12_000), bool)
        footprint[np.arange(100), 120 * np.arange(100)] = True
        ranked = ranks._Ranked(50, fixed(footprint), np.dtype(dtype), lambda piece: piece)
        assert (ranked.in_c(np.dtype(dtype)) is not None) == is_there
    assert has_function(np.dtype(np.float64), MOST_ELEMENTS, MOST_ELEMENTS)
    assert not has_function(np.dtype(np.float64), 3, 3, MOST_HELD // 24)


def median(array: Any, library: Any = sl.ndimage, size: Any = 5, **options: Any) -> Any:
    return library.median_filter(array, size, **options)


@needs_compiler
@settings(max_examples=20)
@given(
    st.sampled_from(DTYPES),
    st.sampled_from(["usual", "seldom"]),
    st.sampled_from(["reflect", "constant", "nearest", "mirror", "wrap"]),
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.sampled_from([3, (2, 3), (5, 1)]),
)
def test_traced_and_compiled_they_are_scipys(
    dtype: np.dtype[Any], kind: str, mode: str, shape: tuple[int, int], size: Any
) -> None:
    array = piece(dtype, shape, kind)
    with np.errstate(all="raise"):
        found = SIZES[mode, str(size)](array)
    assert found.tobytes() == median(array, ndimage, size, mode=mode).tobytes()


SIZES = {
    (mode, str(size)): sl.jit(native=True, workers=1, smallest=0, machine=PIECES)(
        lambda array, size=size, mode=mode: median(array, size=size, mode=mode)
    )
    for mode in ("reflect", "constant", "nearest", "mirror", "wrap")
    for size in (3, (2, 3), (5, 1))
}


@needs_compiler
@pytest.mark.parametrize("workers", [1, 2])
def test_all_of_it_is_c(workers: int) -> None:
    """What is around a median, and the median, is one loop in C; alone it is C, too."""
    array = piece(np.dtype(np.float32), (300, 200), "seldom")

    def detail(a: Any, library: Any = sl.ndimage) -> Any:
        return np.maximum(a, median(a, library)) * 2

    for function in (detail, median):
        traced = sl.jit(native=True, workers=workers, smallest=0)(function)
        assert traced(array).tobytes() == function(array, ndimage).tobytes()
        assert "runs in C" in traced.explain(array)


def test_python_runs_what_is_made_for_c() -> None:
    """Where there is no compiler, or C is not there yet, SciPy does the same."""
    array = piece(np.dtype(np.float32), (30, 20), "seldom")
    traced = for_c(median)
    assert traced(array).tobytes() == median(array, ndimage).tobytes()
    pipeline = traced.pipeline(array)
    (call,) = [each for each in pipeline.find_all("_ = _") if each._call.func.name == "median"]
    function = call._call.func.operation.function
    assert "rank_12_of_25" in repr(function)
    again = pickle.loads(pickle.dumps(function))
    assert again.name == function.name
    assert again.source == function.source
    assert again.otherwise == function.otherwise
    out = np.empty_like(array)
    pipeline.run(array, out, checked=True)
    assert out.tobytes() == median(array, ndimage).tobytes()


def test_the_same_medians_are_one_callback() -> None:
    """So that one name means one callback where a pipeline is written down."""
    array = piece(np.dtype(np.float32), (30, 20), "seldom")
    pipeline = for_c(lambda a: median(a) + median(a * 2)).pipeline(array)
    calls = [each for each in pipeline.find_all("_ = _") if each._call.func.name.startswith("median")]
    one, other = [each._call.func.operation.function for each in calls]
    assert one is other
    assert pickle.loads(pickle.dumps(one)) is one
    assert "rank_12_of_25" in pipeline.to_json()


def test_where_scipy_finds_others_it_does_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of floats. Integers have no NaNs, and zeros of one sign."""
    monkeypatch.setattr(ranks, "_selects_the_same", lambda: False)
    names = []
    for dtype in (np.float32, np.int16):
        traced = for_c(median)
        *_, call = traced.pipeline(np.zeros((30, 20), dtype)).find_all("_ = _")
        names.append(type(call._call.func.operation.function).__name__)
    assert names == ["Piece", "CFunction"]


PROGRAM = """
import os, sys, numpy as np, slinky as sl, scipy.ndimage
folder, what = sys.argv[1:]

@sl.jit(smallest=0, workers=1, native=True)
def cleaned(image):
    return (image - sl.ndimage.median_filter(image, 3)) * 2

image = np.random.default_rng(0).integers(-3, 3, (200, 150)).astype(np.float32)
if what == "read":
    cleaned.load(folder)
wanted = (image - scipy.ndimage.median_filter(image, 3)) * 2
assert cleaned(image).tobytes() == wanted.tobytes()
other = image[:50, :90]
assert cleaned(other).tobytes() == ((other - scipy.ndimage.median_filter(other, 3)) * 2).tobytes()
if what == "write":
    cleaned.export(folder)
print("exported" in cleaned.explain(image))
"""


@needs_compiler
def test_exported_it_needs_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(what: str, **environment: str) -> str:
        command = [sys.executable, "-W", "error", str(tmp_path / "program.py"), str(tmp_path / "export"), what]
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "SLINKY_CACHE": str(tmp_path / what), **environment}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("write") == "False\n"
    assert run("read", CC="/nonexistent") == "True\n"
