"""Functions of numbers, or of small arrays, that make large arrays of their own: these are lazy, and NumPy's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given
from numpy import linspace
from traced import PIECES, assert_same

import slinky as sl
from slinky.frontend import making
from slinky.frontend.grids import LINE


@pytest.fixture(autouse=True)
def _every_call_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "LONG_SECONDS", 0.0)


def jit(function: Callable[..., Any], **options: Any) -> Any:
    """The function traced, and run by its schedule whatever that is good for."""
    traced = sl.jit(function, **{"workers": 1, "machine": PIECES, **options})
    traced._chooser._chooses = traced._chooses = False
    return traced


def meshed(n: int, width: float = 2.0) -> Any:
    """A function of a grid."""
    x, y = np.meshgrid(np.linspace(-width, width, n), linspace(-1, 1, n + 3), indexing="ij")
    return np.hypot(x, y) + x


def sparse(n: int) -> Any:
    """The same of lines that are broadcast."""
    x, y = np.meshgrid(np.linspace(0, 1, n), np.arange(n), sparse=True)
    return x * y + 1, (x, y)


def blobs(n: int) -> Any:
    """Sums in place, of places."""
    rows, columns = np.mgrid[:n, -3 : 2 * n : 2]
    total = np.zeros(rows.shape)
    for k in range(3):
        total += np.exp(-((rows - k * 5.0) ** 2 + (columns - 7) ** 2) / 50)
    return total


def set_of_points(n: int) -> Any:
    """How long points stay."""
    y, x = np.ogrid[-1.4 : 1.4 : n * 1j, -2 : 0.8 : n * 1j]
    c = x + 1j * y
    z, count = np.zeros(c.shape, complex), np.full(c.shape, 9, dtype=np.int32)
    for k in range(5):
        z = z * z + c
        far = abs(z) > 2
        count[far & (count == 9)] = k
        z[far] = 2
    return count


def whole_grid(n: int) -> Any:
    """A grid of floats, both ends included, and one of places."""
    y, x = np.mgrid[0 : 1 : n * 1j, 0 : n * 0.5 : 0.5]
    rows, columns = np.indices((n, n))
    return y - x, rows * 2 - columns, np.fromfunction(lambda i, j: i * 3 + j, (n, n))


def stamped(n: int) -> Any:
    """What is written to arrays that are there."""
    canvas, ones, seven = np.zeros((n, n)), np.ones((n, n), np.float32), np.full((n, n), 7)
    canvas[2:-2, 3] = np.linspace(0, 1, n - 4)
    canvas[:, 5] += 1
    ones[::2] = 0
    seven[seven > 3] = 2
    return canvas, ones, seven, np.empty((n, n)).shape


def long_lines(n: int) -> Any:
    """Lines that are computed."""
    x = np.linspace(-3, 5, n * n)
    return np.sin(x).sum(), np.arange(n * n)[::-1], np.arange(0, 1, 1 / n / n)[3:] * x[3 : n * n], x.min(), x[0], x[-1]


def steps_of_lines(n: int) -> Any:
    """Numbers of lines that are known, and are asked for."""
    x = np.linspace(0, 2, n)
    dx = float(x[1] - x[0])
    field = np.zeros((n, n)) + x
    return field * dx if x[0] < 1 and int(x[-1]) == 2 else -field


FUNCTIONS = [meshed, sparse, blobs, set_of_points, whole_grid, stamped, long_lines, steps_of_lines]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("n", [LINE, 300])
def test_values_are_those_of_numpy(f: Callable[..., Any], n: int) -> None:
    traced, want = jit(f), f(n)
    for _ in range(4):
        assert_same(traced(n), want, rounded=f is long_lines)
    assert "operations: none" not in (words := traced.explain(n))
    assert f"{f.__name__} is traced" in words


@pytest.mark.parametrize("f", FUNCTIONS)
def test_small_ones_are_called_as_they_are(f: Callable[..., Any]) -> None:
    traced = jit(f)
    for _ in range(3):
        assert_same(traced(20), f(20))
    assert "called as it is: all arrays take less than" in traced.explain(20)


@pytest.mark.parametrize("f", [meshed, blobs, set_of_points, whole_grid])
def test_no_grid_is_there_in_full(f: Callable[..., Any]) -> None:
    """A trace has no large arrays as constants."""
    traced = jit(f)
    for _ in range(3):
        traced(LINE)
    (trace,) = list(traced._traces)
    assert all(array.nbytes < 1 << 16 for number, array in trace.sources if number is None)


def scaled(n: int, scale: float = 1.0) -> Any:
    return np.zeros((n, n)) + scale


def test_a_trace_serves_the_same_numbers() -> None:
    """Of integers these, of floats all; the first two calls are the function's own."""
    traced = jit(scaled)
    for n, traces in ((LINE, 0), (LINE, 0), (LINE, 1), (LINE, 1), (300, 1), (300, 1), (300, 2), (LINE, 2)):
        scale = float(n + traces)
        assert_same(traced(n, scale), np.full((n, n), scale))
        assert len(list(traced._traces)) == traces


def test_what_is_short_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "LONG_SECONDS", 1e9)
    traced = jit(scaled)
    for _ in range(4):
        assert_same(traced(LINE), scaled(LINE))
    assert not list(traced._traces)


def test_somebody_says_what_is_small() -> None:
    """Then a function without arrays is called as it is."""
    traced = jit(scaled, smallest=0)
    for _ in range(4):
        assert_same(traced(LINE), scaled(LINE))
    assert not list(traced._traces)


def random(n: int) -> Any:
    return np.random.default_rng(1).random((n, n)) + np.zeros((n, n))


def asks(n: int) -> Any:
    total = np.zeros((n, n)) + 1
    return total if total.sum() > 3 else -total


def makes_no_array(n: int) -> Any:
    return [n, {"n": str(n)}]


def fails(n: int) -> Any:
    raise KeyError(n)


def reads_a_file(n: int) -> Any:
    with open(__file__, encoding="utf-8") as file:
        return np.zeros((n, n)) + len(file.readline())


@pytest.mark.parametrize("f", [random, asks, makes_no_array, reads_a_file])
def test_others_are_called_as_they_are(f: Callable[..., Any]) -> None:
    traced = jit(f)
    for _ in range(8):
        assert_same(traced(LINE), f(LINE))


BUFFER, COUNT, GENERATOR = np.zeros(1 << 14), [0], np.random.default_rng(1)


def writes_to_a_buffer(n: int) -> Any:
    buffer = BUFFER
    buffer[0] += 1
    return np.linspace(0, 1, n) + buffer[0]


def counts(n: int) -> Any:
    COUNT[0] += 1
    return np.zeros((n, n)) + COUNT[0]


def counts_and_breaks_off(n: int) -> Any:
    COUNT[0] += 1
    return np.zeros((n, n)).strides, COUNT[0]


def fails_now_and_then(n: int) -> Any:
    COUNT[0] += 1
    if COUNT[0] % 2 == 0:
        raise KeyError(n)
    return np.zeros((n, n)) + COUNT[0]


def keeps(n: int) -> Any:
    CACHE["grid"] = (np.zeros((n, n)) + 1, n)
    return CACHE["grid"][0] * 2


@pytest.mark.parametrize("f", [writes_to_a_buffer, counts, counts_and_breaks_off, fails_now_and_then, keeps])
def test_effects_are_had_once_for_each_call(f: Callable[..., Any]) -> None:
    def called(function: Callable[..., Any]) -> list[Any]:
        BUFFER[:], COUNT[0] = 0, 0
        CACHE.clear()
        found = []
        for _ in range(8):
            try:
                found.append(function(1 << 10))
            except KeyError as error:
                found.append(str(error))
        return [*found, BUFFER[0], COUNT[0], *CACHE.values()]

    assert_same(called(jit(f)), called(f))


def test_a_generator_of_random_numbers_is_no_error() -> None:
    def f(n: int) -> Any:
        return np.zeros((n, n)) + GENERATOR.integers(1, 2)

    traced = jit(f)
    for _ in range(5):
        assert_same(traced(LINE), np.ones((LINE, LINE)))


def test_looks_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What asks for a value after the other, returns very many, or takes long is not traced to its end."""

    def primes(n: int) -> Any:
        found = np.ones(n, bool)
        for k in range(2, int(n**0.5) + 1):
            if found[k]:
                found[k * k :: k] = False
        return np.flatnonzero(found)

    def listed(n: int) -> Any:
        return np.linspace(0, 1, n).tolist()

    monkeypatch.setattr(making, "_MOST_CALLS", 0)
    cases = [(primes, 1e9, "values of arrays that it makes"), (listed, 1e9, "objects"), (primes, 0.0, "takes longer")]
    for f, seconds, why in cases:
        monkeypatch.setattr(making, "_LEAST_SECONDS", seconds)
        traced = jit(f)
        for _ in range(5):
            assert_same(traced(1 << 17), f(1 << 17))
        assert why in traced.explain(1 << 17)


def test_errors_are_the_function_s() -> None:
    traced = jit(fails)
    for _ in range(4):
        with pytest.raises(KeyError):
            traced(LINE)


def test_small_arrays_beside_large_grids() -> None:
    def potential(charges: Any, n: int) -> Any:
        x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
        found = np.zeros((n, n))
        for at, charge in zip(charges[:, :2], charges[:, 2], strict=True):
            found += charge / np.sqrt((x - at[0]) ** 2 + (y - at[1]) ** 2 + 1e-3)
        return found

    traced = jit(potential)
    for charges in (np.ones((3, 3)), np.arange(9.0).reshape(3, 3) / 9, np.ones((2, 3))):
        for _ in range(3):
            assert_same(traced(charges, LINE), potential(charges, LINE))


IMAGE = np.sin(np.arange(300.0 * 300)).reshape(300, 300)
CACHE: dict[str, Any] = {}


def accumulated(image: Any) -> Any:
    total, seen = np.zeros((300, 300)), np.ones((300, 300), dtype=bool)
    for k in range(3):
        total += np.sqrt(image * image + k)
        seen &= image > 0.5 * k
    return total, seen


def filled_by_parts(image: Any) -> Any:
    planes, edge = np.empty((3, 300, 300), np.float32), np.full((300, 300), 2.5)
    planes[0], planes[1], planes[2] = image, image * 2, 0
    edge[1:-1, 1:-1] = image[1:-1, 1:-1]
    return planes, edge


def of_a_mask(image: Any) -> Any:
    mask = np.zeros((300, 300), dtype=bool)
    mask[50:150, 20:-20] = True
    return image * mask, np.where(mask, image, 1.0) if mask[60, 60] and mask.sum() > 3 else image


def element_by_element(image: Any) -> Any:
    """More elements than operations may be."""
    table = np.zeros((100, 100))
    for i in range(100):
        for j in range(100):
            table[i, j] = math.cos(i * (j + 0.5))
    return image[:100, :100] @ table


def as_it_lies(image: Any) -> Any:
    """What no lazy array has."""
    table = np.zeros((100, 100))
    return image[:100, :100] + table.view(np.int64) + table.strides[0]


def fails_on_lazy_ones(image: Any) -> Any:
    table = np.zeros((100, 100))
    table.data[0, 0]
    memoryview(table)
    return image[:100, :100] + table


def kept_somewhere(image: Any) -> Any:
    CACHE["table"] = np.ones((100, 100)) * 3
    return image[:100, :100] + CACHE["table"]


def of_its_own_size(image: Any) -> Any:
    """Grids as large as the argument."""
    rows, columns = np.indices(image.shape)
    far = np.fromfunction(lambda i, j: i + j, image.shape)
    (first, second) = np.indices(image.shape, dtype=np.float32, sparse=True)
    return rows * 2 - columns, image * far, first + second * image


def full_of_other_things(image: Any) -> Any:
    """What is no number."""
    words, things = np.full((300, 300), "abc"), np.full((300, 300), None)
    rows = np.full((300, 300), [1.0] * 300)
    return image * rows + len(words[0, 0]), things[0, 0]


OF_LARGE = [accumulated, filled_by_parts, of_a_mask, element_by_element, as_it_lies, fails_on_lazy_ones, kept_somewhere]


@pytest.mark.parametrize("f", [of_its_own_size, full_of_other_things])
def test_other_arrays_beside_large_arguments(f: Callable[..., Any]) -> None:
    for traced in (jit(f, smallest=0), jit(f, smallest=0, exact=True)):
        for image in (IMAGE, IMAGE[:9, :7].copy() if f is of_its_own_size else IMAGE):
            for _ in range(3):
                assert_same(traced(image), f(image))


@pytest.mark.parametrize("f", OF_LARGE)
def test_arrays_that_are_full_of_a_number_beside_large_arguments(f: Callable[..., Any]) -> None:
    traced, want = jit(f, smallest=0), f(IMAGE)
    for _ in range(4):
        CACHE.clear()
        assert_same(traced(IMAGE), want, rounded=True)
        if f is kept_somewhere:
            assert_same(CACHE["table"], np.full((100, 100), 3.0))
    if f is not kept_somewhere:
        (trace,) = list(traced._traces)
        assert not trace.trace.reasons
        makes = {accumulated, filled_by_parts, of_a_mask}
        assert any(node.operation.name == "full" for node in trace.nodes) is (f in makes)


def test_an_error_of_the_function_s_own_is_no_reason_against_lazy_ones() -> None:
    def f(image: Any, n: int) -> Any:
        total = np.zeros((n, n))
        total += image[:n, :n]
        if n > 400:
            raise ValueError("too large")
        return total

    traced = jit(f, smallest=0)
    for n in (401, 300):
        for _ in range(3):
            if n > 400:
                with pytest.raises(ValueError, match=r"too large|broadcast"):
                    traced(IMAGE, n)
            else:
                assert_same(traced(IMAGE, n), f(IMAGE, n))
    assert "2 operations" in traced.explain(IMAGE, 300)


def test_what_cannot_be_traced_at_all_is_no_reason_against_lazy_ones() -> None:
    def f(image: Any, asks: bool) -> Any:
        total = np.zeros((300, 300))
        return image.strides if asks else total + image

    traced = jit(f, smallest=0)
    for asks in (True, False):
        for _ in range(3):
            assert_same(traced(IMAGE, asks), f(IMAGE, asks))
    assert "2 operations: total, add" in traced.explain(IMAGE, False)


def test_strict_functions_may_make_arrays_of_numpy_s() -> None:
    traced = jit(as_it_lies, smallest=0, strict=True)
    assert_same(traced(IMAGE), as_it_lies(IMAGE))


ENDS = st.one_of(st.integers(-1000, 1000), st.floats(-1e6, 1e6), st.just(0.0), st.just(-0.0))


@example(1.1, 7.999999999999999, 8193, True)  # its last step is not quite there
@example(-0.0, 5.0, 8192, False)
@given(ENDS, ENDS, st.integers(1 << 13, 9000), st.booleans())
def test_long_lines_are_those_of_numpy_to_the_bit(start: float, stop: float, count: int, endpoint: bool) -> None:
    def spaced() -> Any:
        return np.linspace(start, stop, count, endpoint) * 1.0

    def counted() -> Any:
        return np.arange(start, stop, abs(stop - start) / count or 1) * 1.0

    for f in (spaced, counted):
        traced, want = jit(f), f()
        for _ in range(4):
            assert_same(traced(), want)
        assert traced().tobytes() == want.tobytes()


@pytest.mark.parametrize(
    ("count", "n", "are_lazy"), [(1 << 14, 1000, (True, 0, 1)), (40, 60, (False, 0, 1)), (40, 1000, (True, 2, 4))]
)
def test_arrays_are_lazy_only_where_they_are_large(count: int, n: int, are_lazy: tuple[bool, int, int]) -> None:
    """And grids only where arguments are small."""

    def f(x: Any, n: int) -> Any:
        zeros, steps, places = np.zeros((n, n)), np.arange(n * n), np.indices((n, n))
        return x * 2 + zeros[0, 0] + steps[-1] + places[1, -1, -1] + np.linspace(0, 1, n)[3]

    words = sl.jit(f, smallest=0).explain(np.ones(count), n).partition("\n")[0]
    assert ("full" in words, words.count("arange"), words.count("element")) == are_lazy, words
