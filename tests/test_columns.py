"""Arrays that lie in columns: traced functions run on their transposes, and results lie in columns, as NumPy's do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.ndimage
from c_programs import needs_compiler
from numpy_programs import SMALL_NUMBERS, fault, in_columns, programs
from traced import MACHINE, PIECES, assert_same, jit

import slinky as sl
from slinky.frontend import columns, lying
from slinky.frontend.assembling import Around
from slinky.frontend.columns import InColumns
from slinky.frontend.kernels_in_columns import OfTransposes
from slinky.frontend.nodes import Node, Source, whole_view

pytestmark = pytest.mark.usefixtures("quick_libraries")
Array = np.ndarray[Any, Any]

OPTIONS = [
    pytest.param({"native": False, "machine": MACHINE}, id="python"),
    pytest.param({"native": False, "machine": PIECES}, id="python, by pieces"),
    pytest.param({"native": True, "machine": PIECES}, id="native", marks=needs_compiler),
]


@pytest.fixture
def small_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays count as large ones."""
    monkeypatch.setattr(lying, "LARGE", 0)


def array(*shape: int, seed: int = 0) -> Array:
    """Numbers whose sums are exact, in columns."""
    found = np.random.default_rng([seed, *shape]).integers(-99, 99, shape)
    return np.array(found, np.float64, order="F")


def twins(traced: Any) -> list[Any]:
    """What was made of the traces of a function for arrays in columns."""
    return [each.in_columns for each in traced._traces if isinstance(each.in_columns, InColumns)]


def weighted(a: Array, b: Array, w: Array) -> Array:
    return np.sqrt(abs(a * 2 + b)) * w - np.where(a > b, a, w)


def slices(a: Array, b: Array, w: Array) -> Array:
    return a[2:, 1:-1] - 2 * a[1:-1, 1:-1] + a[:-2, :-2] + b[1:-1, 2:] * w[1:-1]


def turned(a: Array, b: Array, w: Array) -> Array:
    return a[::-1, ::2] + b.T[: a.shape[1] // 2 + a.shape[1] % 2, : a.shape[0]].T


def padded(a: Array, b: Array, w: Array) -> Array:
    p = np.pad(a, ((2, 1), (0, 3)), mode="reflect")
    return p[1:-2, 1:-2] + np.pad(b, 1)[1:-1, 2:] + np.concatenate([a[:4], b[4:]])


def rolled(a: Array, b: Array, w: Array) -> tuple[Array, Array]:
    return np.roll(a, 1, 0) + np.roll(b, -2, 1), np.flip(a, 1) * w


def reductions(a: Array, b: Array, w: Array) -> tuple[Any, ...]:
    rows, all_of = a.sum(axis=0) * w, np.max(a * b)
    return rows, (a * b).sum(axis=1), all_of, a - a.max(axis=1, keepdims=True), np.cumsum(a + b, axis=0)


def sorted_along(a: Array, b: Array, w: Array) -> Array:
    return np.sort(a - b, axis=0) + np.median(b, axis=(0, 1))


def windows(a: Array, b: Array, w: Array) -> Array:
    return np.lib.stride_tricks.sliding_window_view(a, (3, 2)).sum(axis=(-2, -1)) * w[1:]


def in_place(a: Array, b: Array, w: Array) -> Array:
    out = np.zeros(a.shape)
    out[1:, :-2] = a[:-1, 2:] + b[1:, :-2]
    out[0] = w
    out[:, 3] *= 2
    return out


def of_sizes(a: Array, b: Array, w: Array) -> tuple[Array, Array]:
    return a.max(axis=0), np.full_like(np.empty_like(b), 3)


FUNCTIONS = [
    weighted, slices, turned, padded, rolled, reductions, sorted_along, windows, in_place, of_sizes,
]  # fmt: skip


def lies_otherwise(got: Any, want: Any) -> bool:
    """Whether results lie in columns where NumPy's do not, or in neither order."""
    if isinstance(want, tuple):
        return any(map(lies_otherwise, got, want))
    if not isinstance(want, np.ndarray) or got.flags.c_contiguous:
        return False
    return not (want.flags.f_contiguous and got.flags.f_contiguous)


@pytest.mark.usefixtures("small_columns")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_columns(function: Callable[..., Any], options: dict[str, Any]) -> None:
    traced = jit(function, **options)
    for shape in ((12, 9), (17, 11), (8, 23)):
        given = array(*shape), array(*shape, seed=1), array(shape[1], seed=2)
        want = function(*given)
        for _ in range(2):
            got = traced(*given)
            assert_same(got, want)
            assert not lies_otherwise(got, want)
        in_rows = tuple(map(np.ascontiguousarray, given))
        assert_same(traced(*in_rows), function(*in_rows))
    assert twins(traced)


IN_COLUMNS: dict[str, Callable[[Array], Any]] = {
    "arithmetic": lambda a: np.sqrt(abs(a * 2 + 1)) / 3,
    "with a row": lambda a: a * np.arange(17.0) + 1,
    "where": lambda a: np.where(a > 3, a, 0),
    "clip": lambda a: np.clip(a, 2, 9),
    "astype": lambda a: (a * 2).astype("f4"),
    "a part": lambda a: a[1:-1, 2:] * 2 - a[2:, 1:-1],
    "upside down": lambda a: a[::-1] * 2,
    "kept dimensions": lambda a: a - a.sum(axis=0, keepdims=True),
    "cumsum": lambda a: np.cumsum(a, axis=0) + 1,
    "sort": lambda a: np.sort(a, axis=-1),
    "side by side": lambda a: np.concatenate([a, a * 2]),
    "in place": lambda a: _in_place(a),
    "np.copy": lambda a: np.copy(a * 2),
}
IN_ROWS: dict[str, Callable[[Array], Any]] = {
    "ascontiguousarray": lambda a: np.ascontiguousarray(a * 2),
    "ascontiguousarray at first": lambda a: np.ascontiguousarray(a) * 2,
    "copy": lambda a: (a * 2).copy(),
    "astype": lambda a: (a * 2).astype("f4", order="C"),
    "order of a ufunc": lambda a: np.add(a, 1, order="C"),
    "zeros": lambda a: _into(np.zeros(a.shape), a),
    "out of zeros": lambda a: np.add(a, 1, out=np.empty(a.shape)),
    "out of zeros alike": lambda a: np.add(a, 1, out=np.zeros_like(a, order="C")),
    "into what a filter gave": lambda a: _into(sl.ndimage.uniform_filter(a, 3), a),
    "full": lambda a: np.full(a.shape, 2.0) + a,
    "more axes": lambda a: (a[:, :, None] * np.arange(3.0)).sum(axis=0),
    "tile": lambda a: np.tile(a * 2, (2, 1)),
    "select": lambda a: np.select([a > 3, a > 20], [a, a * 2], 0),
    "padded parts": lambda a: np.pad(a[1:-1, 1:-1], 1) + 0,
    "rounded parts": lambda a: np.round(a[1:-1, 1:-1], 1) + 0,
    "turned": lambda a: (a * 2).T,
    "turned and used": lambda a: a.T * 2,
}


def _into(target: Array, a: Array) -> Array:
    target[...] = a * 2
    return target


def _in_place(a: Array) -> Array:
    x = a * 2
    x += 1
    x[...] = x * x
    return x


@pytest.mark.usefixtures("small_columns")
@pytest.mark.parametrize("name", IN_COLUMNS)
def test_results_lie_in_columns_where_numpys_do(name: str) -> None:
    function, given = IN_COLUMNS[name], array(24, 17)
    traced = jit(function, native=False)
    assert_same(traced(given), function(given))
    assert twins(traced)
    assert traced(given).flags.f_contiguous
    assert function(given).flags.f_contiguous


@pytest.mark.usefixtures("small_columns")
@pytest.mark.parametrize("name", IN_ROWS)
def test_results_lie_in_rows_where_numpys_may(name: str) -> None:
    """Whoever asks for C order, for code in C to go through it, has it."""
    function, given = IN_ROWS[name], array(24, 17)
    traced = jit(function, native=False)
    assert_same(traced(given), function(given))
    assert twins(traced)
    assert traced(given).flags.c_contiguous
    assert not function(given).flags.f_contiguous or name == "into what a filter gave"


@pytest.mark.usefixtures("small_columns")
@pytest.mark.parametrize("options", OPTIONS)
def test_parts_and_three_dimensions(options: dict[str, Any]) -> None:
    def function(a: Array, scale: float) -> Array:
        return np.maximum(a[1:] - a[:-1], 0) * scale + a[:-1].mean(axis=-1, keepdims=True)

    traced = jit(function, **options)
    for given in (array(14, 12)[2:-3, 1:], array(9, 4, 5), array(12, 7, 6)[:-2, :, 1:]):
        assert_same(traced(given, 0.5), function(given, 0.5), rounded=True)
        assert_same(traced(given, 2.5), function(given, 2.5), rounded=True)
    assert len(twins(traced)) == 2


@pytest.mark.usefixtures("small_columns")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    "name",
    ["gaussian_filter", "uniform_filter", "median_filter", "sobel", "laplace", "maximum_filter1d", "grey_closing"],
)
def test_filters(name: str, options: dict[str, Any]) -> None:
    others = {"gaussian_filter": ((2, 0.7),), "uniform_filter": ((3, 4),), "median_filter": ((3, 5),), "sobel": (0,)}
    more: tuple[Any, ...] = {**others, "maximum_filter1d": (4, 0), "grey_closing": ((2, 3),)}.get(name, ())
    own, by_scipy = getattr(sl.ndimage, name), getattr(scipy.ndimage, name)
    for mode in ("reflect", "constant", "wrap"):
        traced = jit(lambda a: own(a * 2, *more, mode=mode) + a, **options)  # noqa: B023
        given = array(21, 18)
        assert_same(traced(given), by_scipy(given * 2, *more, mode=mode) + given)
        assert twins(traced)


def lopsided(a: Array) -> Array:
    """Of an element those two above and one to the right."""
    return a[2:, :-1] - 2 * a[:-2, :-1] + 3 * a[1:-1, 1:]


def by_rows(a: Array) -> Array:
    return a - a.max(axis=-1, keepdims=True)


def halved(a: Array) -> Array:
    return a[::2, ::2] + a[1::2, 1::2]


@pytest.mark.usefixtures("small_columns")
@pytest.mark.parametrize("options", OPTIONS[:2])
def test_kernels_of_ones_own(options: dict[str, Any]) -> None:
    for kernel in (
        sl.stencil(halo=((2, 0), (0, 1)), boundary=("reflect", "nearest"))(lopsided),
        sl.rowwise(axis=-1)(by_rows),
        sl.stencil(halo=0, rate=Fraction(1, 2))(halved),
        sl.elementwise(np.sqrt),
    ):
        traced = jit(lambda a: kernel(abs(a)) + 1, **options)  # noqa: B023
        given = array(12, 16)
        want = np.asarray(kernel(abs(np.ascontiguousarray(given)))) + 1
        assert_same(np.ascontiguousarray(traced(given)), want)
        assert twins(traced)


@pytest.mark.usefixtures("small_columns")
def test_they_are_left_alone_where_it_is_not_known() -> None:
    """What is not known in reverse, and what writes to arguments, runs as before."""
    given = array(12, 9)
    for function in (lambda a: a.reshape(-1)[1:] * 2, lambda a: a @ a.T + 1, lambda a: np.argmax(a + 1)):
        traced = jit(function)
        assert_same(traced(given), function(given))
        assert not twins(traced)

    def writes(a: Array) -> None:
        a += 1

    traced, own = jit(writes, donate="a"), given.copy(order="F")
    traced(own)
    np.testing.assert_array_equal(own, given + 1)
    assert not twins(traced)


@pytest.mark.usefixtures("small_columns")
def test_arrays_that_lie_otherwise() -> None:
    """Of arrays that lie in rows and in columns, and of axes in yet another order, all run as they did."""
    traced, a, b = jit(lambda a, b: a * 2 + b), array(12, 9), array(12, 9, seed=1)
    assert_same(traced(a, np.ascontiguousarray(b)), a * 2 + b)
    assert not twins(traced)
    c = np.ascontiguousarray(array(9, 8, 10)).transpose(1, 2, 0)
    assert_same(traced(c, c), c * 2 + c)
    assert not twins(traced)


def test_small_arrays_among_large_ones_lie_as_they_want() -> None:
    large, table = np.asfortranarray(np.arange(400.0 * 500).reshape(400, 500)), np.arange(2000.0).reshape(4, 500)
    traced = jit(lambda a, t: a * 2 - t[1:2])
    got = traced(large, table)
    assert_same(got, large * 2 - table[1:2])
    assert got.flags.f_contiguous
    assert twins(traced)


def test_what_is_said_of_them() -> None:
    large = np.asfortranarray(np.arange(400.0 * 500).reshape(400, 500))
    known, other = sl.jit(lambda a: np.sqrt(a * 2) + 1), sl.jit(lambda a: np.sqrt(a.reshape(-1)) + 1)
    assert "its arrays lie in columns, so it runs on their transposes" in known.explain(large)
    assert "columns" not in known.explain(np.ascontiguousarray(large))
    said = other.explain(large)
    assert "called as it is: large arrays lie in columns, and reshape is not known with its axes in reverse" in said
    both = sl.jit(lambda a, b: np.sqrt(a * b) + 1).explain(large, np.ascontiguousarray(large))
    assert "called as it is: large arrays lie in columns, and others in another order" in both


@pytest.mark.usefixtures("small_columns")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("function", [np.sum, np.mean, np.var])
def test_sums_have_the_bits_of_sums_along_memory(function: Callable[..., Any], options: dict[str, Any]) -> None:
    """NumPy adds along memory, and so do strips of columns; axes of one element do not count."""
    for shape in ((129, 33), (1001, 12), (20, 29, 13), (9, 1, 40), (9, 20, 1), (33, 1, 10)):
        random = np.random.default_rng(list(shape))
        given = np.array(random.standard_normal(shape) * 10.0 ** random.integers(-3, 3, shape), order="F")
        for axis in (0, 1, (0, len(shape) - 1), None):
            traced = jit(lambda a: function(a * 2, axis=axis), **options)  # noqa: B023
            assert np.asarray(traced(given)).tobytes() == np.asarray(function(given * 2, axis=axis)).tobytes()
            assert twins(traced)


def test_what_is_known_of_axes_is_in_reverse() -> None:
    around = Around.of((3, 4), [(1, 0), (0, 2)])
    node = Node(around, [whole_view(Node(Source(array(3, 4)), (), [((3, 4), np.dtype(float), False)]).results[0])], [])
    turned = around.reversed(node)
    assert isinstance(turned, Around)
    assert turned.widths == ((0, 2), (1, 0))
    assert turned.shape_around() == around.shape_around()[::-1]

    class Lines:
        axis_of_lines = 0

    assert OfTransposes(Lines(), 3).axis_of_lines == 2  # type: ignore[arg-type]
    assert OfTransposes(np.sqrt, 3).axis_of_lines is None


@needs_compiler
@pytest.mark.usefixtures("small_columns")
def test_they_move_to_c_and_are_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLINKY_NATIVE", "1")

    def function(a: Array) -> Array:
        return np.sqrt(abs(a)) * 0.5 - a[::-1]

    given = array(40, 30)
    traced = jit(function, native=None, machine=PIECES)
    assert_same(traced(given), function(given))
    assert traced.wait_native(100)
    assert_same(traced(given), function(given))
    (twin,) = twins(traced)
    assert all(plan.runs_c for plan in twin.scheduled.values())
    words = traced.export(tmp_path)
    assert any(re.search(r"\[30, 40\]", each) for each in words)
    other = jit(function, native=None, machine=PIECES)
    other.load(tmp_path)
    assert_same(other(given), function(given))
    (twin,) = twins(other)
    assert all(plan.runs_c for plan in twin.scheduled.values())


@pytest.mark.usefixtures("small_columns")
def test_random_programs() -> None:
    for options in ({"machine": MACHINE}, {"machine": PIECES}):
        made: list[Any] = []

        def traced(
            function: Callable[..., Any], options: Any = options, made: list[Any] = made, **more: Any
        ) -> Callable[..., Any]:
            made.append(jit(function, **options, **more))
            found: Callable[..., Any] = made[-1]
            return found

        for program in programs(77, 120, in_columns(SMALL_NUMBERS)):
            assert fault(program, traced) is None, program
        assert sum(len(twins(each)) for each in made) > 5


def test_graphs_in_reverse_twice_are_the_same() -> None:
    """Of each node, the operation, and how operands are read."""

    def keys(nodes: Sequence[Any]) -> list[Any]:
        def read(view: Any) -> Any:
            return [(str(i.offset), i.terms) for i in view.index], list(map(str, view.shape))

        return [(node.name, node.operation.key(str), list(map(read, node.operands))) for node in nodes]

    for function in FUNCTIONS:
        traced = jit(function)
        traced(array(12, 9), array(12, 9, seed=1), array(9, seed=2))
        for each in traced._traces:
            turned = [True] * len(each.outputs)
            nodes, outputs = columns.reversed_graph(each.nodes, each.outputs, turned)
            again, _ = columns.reversed_graph(nodes, outputs, turned)
            assert keys(again) == keys(each.nodes)
