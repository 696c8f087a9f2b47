"""Where elements are: boxes are plain views, folded dimensions are rings in mirrored memory."""

from __future__ import annotations

import gc
import math
import subprocess
import sys
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from handmade import by_rows, picture
from hypothesis import given
from hypothesis import strategies as st

import slinky as sl
from slinky.runtime import mirrored, storage
from slinky.runtime.storage import Storage, allocate, program_bytes

PAGE = mirrored.PAGE

needs_mirror = pytest.mark.skipif(not mirrored.available(), reason="this platform cannot map memory twice")


def fold_of(buffer: Storage) -> int | None:
    """The rows of the ring, or None."""
    return buffer.place.rows if isinstance(buffer.place, storage.Ring) else None


# Unfolded -------------------------------------------------------------------------------------------------------------


def test_views_show_their_box() -> None:
    buffer = allocate("b", np.dtype(np.int32), ((-2, 1), (5, 7)), (None, None))
    buffer.whole()[...] = np.arange(12).reshape(4, 3)
    np.testing.assert_array_equal(buffer.view(((-1, 0), (6, 7))), [[4, 5], [7, 8]])
    assert np.shares_memory(buffer.view(((1, 1), (5, 5))), buffer.array)


@pytest.mark.parametrize("box", [((-3, 0), (5, 5)), ((0, 2), (5, 5)), ((0, 0), (4, 5)), ((0, 0), (5, 8))])
def test_a_view_never_leaves_the_buffer(box: storage.NumericBox) -> None:
    buffer = allocate("b", np.dtype(np.int32), ((-2, 1), (5, 7)), (None, None))
    with pytest.raises(sl.ExecutionError, match=r"leaves the buffer, which holds \[-2..1, 5..7\]"):
        buffer.view(box)


@pytest.mark.parametrize("last", [1, 0, -2])
def test_an_inverted_interval_is_an_empty_view(last: int) -> None:
    buffer = allocate("b", np.dtype(np.int32), ((-2, 7),), (None,))
    assert buffer.view(((2, last),)).shape == (0,)


def test_a_buffer_without_dimensions_is_a_view_too() -> None:
    buffer = allocate("b", np.dtype(np.float64), (), ())
    buffer.view(())[...] = 3
    assert buffer.array == 3


# Mirrored memory ------------------------------------------------------------------------------------------------------


@needs_mirror
def test_both_halves_are_the_same_memory() -> None:
    ring = mirrored.mirrored(2 * PAGE)
    assert ring.nbytes == 4 * PAGE
    assert not ring.any()
    ring[: 2 * PAGE] = np.arange(2 * PAGE) % 251
    np.testing.assert_array_equal(ring[2 * PAGE :], ring[: 2 * PAGE])
    ring[-1] = 7
    assert ring[2 * PAGE - 1] == 7


@needs_mirror
def test_the_mapping_ends_with_its_last_view() -> None:
    ring = mirrored.mirrored(PAGE)
    view = ring[10:20].view(np.uint16)
    alive = weakref.ref(ring.base)
    del ring
    gc.collect()
    assert alive() is not None
    view[:] = 3
    del view
    gc.collect()
    assert alive() is None


@needs_mirror
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="mappings can be seen on Linux only")
def test_memory_is_given_back() -> None:
    def mappings(address: int) -> list[str]:
        lines = Path("/proc/self/maps").read_text().splitlines()
        return [line for line in lines if line.startswith(f"{address:x}-") and "memfd:slinky" in line]

    ring = mirrored.mirrored(3 * PAGE)
    address = ring.ctypes.data
    assert len(mappings(address)) == 1
    del ring
    gc.collect()
    assert mappings(address) == []


@given(st.integers(1, 300), st.integers(1, 40_000))
def test_a_ring_is_made_of_pages_and_long_enough(factor: int, row: int) -> None:
    size = storage.ring_size(np.dtype(np.uint8), (10**6, row), 0, factor)
    assert size is None or size % PAGE == 0
    is_long = row > 32 * 1024
    least, needed = (mirrored.whole_pages(factor * each) for each in (row, row + -row % 64 if is_long else row))
    assert size is None or least <= size <= needed + (2 if needed >= 16 * PAGE else 1) * PAGE
    assert not is_long or size in (None, needed) or needed >= 10**6 * row


@given(st.integers(1, 40), st.integers(1, 40_000))
def test_the_rows_of_a_ring_lie_in_it_and_apart(factor: int, row: int) -> None:
    dtype, shape = np.dtype(np.uint8), (10**6, row)
    size = storage.ring_size(dtype, shape, 0, factor)
    if size is None:
        return
    stride = storage.ring_stride(dtype, shape, 0, factor, size)
    assert stride >= row
    assert size // stride >= factor
    starts = size // math.gcd(size, stride)
    # As many rows as the fold has are beside each other, whichever they are, also where they wrap around.
    for first in (0, 1, starts - 1, 12_345):
        begins = sorted((first + k) * stride % size for k in range(factor))
        assert all(a + row <= b for a, b in zip(begins, [*begins[1:], begins[0] + size], strict=True))


@pytest.mark.parametrize(
    ("row", "factor", "pages", "starts"),
    [
        (200, 3, 1, 16), (792, 3, 1, 4), (2056, 3, 3, 4), (2056, 2, 2, 2), (4104, 3, 5, 4), (1032, 40, 11, 5632),
        (24_584, 3, 21, 3), (40_008, 3, 30, 960),
    ],
)  # fmt: skip
def test_what_it_takes_for_rows_to_begin_at_few_bytes(row: int, factor: int, pages: int, starts: int) -> None:
    dtype, shape = np.dtype(np.uint8), (10**6, row)
    size = storage.ring_size(dtype, shape, 0, factor)
    assert size is not None
    stride = storage.ring_stride(dtype, shape, 0, factor, size)
    assert (size // PAGE, size // math.gcd(size, stride)) == (pages, starts)


@pytest.mark.parametrize(("row", "factor", "pages"), [(71_928, 7, 123), (71_928, 10, 176), (40_960, 3, 30)])
def test_long_rows_begin_where_lines_of_the_cache_do(row: int, factor: int, pages: int) -> None:
    """Vectors of what NumPy and C compute lie in one line each, and not in two."""
    dtype, shape = np.dtype(np.uint8), (10**6, row)
    size = storage.ring_size(dtype, shape, 0, factor)
    assert size == pages * PAGE
    assert storage.ring_stride(dtype, shape, 0, factor, size) == row + -row % 64


# Folded ---------------------------------------------------------------------------------------------------------------


@needs_mirror
def test_a_window_that_wraps_is_contiguous_in_addresses() -> None:
    buffer = allocate("b", np.dtype(np.uint8), ((0, 99), (0, PAGE - 1)), (3, None))
    assert fold_of(buffer) == 3
    for first in range(98):
        window = buffer.view(((first, first + 2), (0, PAGE - 1)))
        window[...] = np.arange(first, first + 3)[:, None]
        assert window.strides == (PAGE, 1)
        assert window.flags.c_contiguous
        np.testing.assert_array_equal(window[:, 0], np.arange(first, first + 3) % 256)


@needs_mirror
def test_rows_that_differ_by_the_fold_share_memory() -> None:
    buffer = allocate("b", np.dtype(np.int64), ((-7, 90), (0, PAGE // 8 - 1)), (4, None))
    buffer.view(((-5, -5), (0, 0)))[...] = 42
    assert fold_of(buffer) == 4
    assert buffer.view(((-1, -1), (0, 0))) == 42
    assert buffer.view(((3, 3), (0, 0))) == 42


@needs_mirror
def test_a_window_longer_than_the_ring_is_refused() -> None:
    buffer = allocate("b", np.dtype(np.uint8), ((0, 99), (0, PAGE - 1)), (3, None))
    with pytest.raises(sl.ExecutionError, match=r"^b\[0..3, 0..9\] is longer than its fold of 3$"):
        buffer.view(((0, 3), (0, 9)))


@st.composite
def folded_buffers(draw: st.DrawFn) -> tuple[np.dtype, storage.NumericBox, int, int]:
    """A dtype, bounds, a folded dimension and its factor."""
    dtype = np.dtype(draw(st.sampled_from(("uint8", "int16", "float32", "complex128", "i1,i2"))))
    rank = draw(st.integers(1, 3))
    box = []
    for _ in range(rank):
        first = draw(st.integers(-20, 20))
        box.append((first, first + draw(st.sampled_from((0, 1, 2, 7, 30)))))
    dim = draw(st.integers(0, rank - 1))
    first = box[dim][0]
    box[dim] = (first, first + draw(st.sampled_from((0, 5, 40, 3000))))
    return dtype, tuple(box), dim, draw(st.integers(1, 12))


@given(folded_buffers(), st.data())
def test_windows_equal_a_model(folded: tuple[np.dtype, storage.NumericBox, int, int], data: st.DataObject) -> None:
    """Rows are written one window after the other; any window of the last `factor` rows shows what was written."""
    dtype, box, dim, factor = folded
    buffer = allocate("b", dtype, box, [factor if d == dim else None for d in range(len(box))])
    first, last = box[dim]
    model = np.zeros([hi - lo + 1 for lo, hi in box], dtype)
    random = np.random.default_rng(0)

    def window(lo: int, hi: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the buffer and of the model."""
        part = tuple(slice(lo - first, hi - first + 1) if d == dim else slice(None) for d in range(len(box)))
        return buffer.view(tuple((lo, hi) if d == dim else i for d, i in enumerate(box))), model[part]

    newest = first - 1
    while newest < last:
        end = min(newest + data.draw(st.integers(1, factor if last - first < 100 else max(factor, 400))), last)
        for start in range(newest + 1, end + 1, factor):
            stored, known = window(start, min(start + factor - 1, end))
            known[...] = random.integers(0, 100, known.shape).astype(dtype)
            stored[...] = known
        newest = end
        lo = data.draw(st.integers(max(first, newest - factor + 1), newest))
        stored, known = window(lo, data.draw(st.integers(lo, newest)))
        np.testing.assert_array_equal(stored, known)


@given(folded_buffers())
def test_folding_never_takes_more_memory(folded: tuple[np.dtype, storage.NumericBox, int, int]) -> None:
    dtype, box, dim, factor = folded
    folds = [factor if d == dim else None for d in range(len(box))]
    buffer = allocate("b", dtype, box, folds)
    unfolded = program_bytes(dtype, box, [None] * len(box))
    real = buffer.place.size if isinstance(buffer.place, storage.Ring) else buffer.array.nbytes
    assert real <= unfolded
    assert program_bytes(dtype, box, folds) <= unfolded
    assert fold_of(buffer) is None or fold_of(buffer) >= factor


@pytest.mark.parametrize(("factor", "rows"), [(None, 10), (3, 3), (10, 10), (11, 10)])
def test_what_a_buffer_takes_by_the_program(factor: int | None, rows: int) -> None:
    assert program_bytes(np.dtype(np.float32), ((-5, 4), (0, 6)), (factor, None)) == rows * 7 * 4


def test_an_empty_buffer_takes_nothing() -> None:
    assert program_bytes(np.dtype(np.float32), ((3, 0), (0, 6)), (2, None)) == 0
    assert allocate("b", np.dtype(np.float32), ((3, 0), (0, 6)), (2, None)).array.shape == (0, 7)


# Without mirrored memory ----------------------------------------------------------------------------------------------


def test_without_mirrored_memory_buffers_are_unfolded_with_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrored, "available", lambda: False)
    monkeypatch.setattr(storage, "_warned", False)
    box = ((0, 99), (0, PAGE - 1))
    with pytest.warns(RuntimeWarning, match="cannot map memory twice: folded buffers are stored unfolded"):
        first = allocate("b", np.dtype(np.uint8), box, (3, None))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second = allocate("b", np.dtype(np.uint8), box, (3, None))
    assert fold_of(first) is None
    assert second.array.shape == (100, PAGE)


def test_without_mirrored_memory_results_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from handmade import by_rows, picture

    inp, out, right = picture(40, 4096)
    monkeypatch.setattr(mirrored, "available", lambda: False)
    monkeypatch.setattr(storage, "_warned", True)
    statistics = by_rows().run(inp, out)
    np.testing.assert_array_equal(out, right)
    assert statistics.program_bytes == 3 * 4098 * 8


@needs_mirror
def test_with_mirrored_memory_results_are_the_same() -> None:
    from handmade import by_rows, picture

    inp, out, right = picture(40, 4096)
    statistics = by_rows().run(inp, out)
    np.testing.assert_array_equal(out, right)
    assert statistics.program_bytes == 3 * 4098 * 8


def test_a_platform_without_the_system_calls_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrored, "_libc", lambda: None)
    with pytest.raises(OSError, match="this platform cannot map memory twice"):
        mirrored.mirrored(PAGE)
    mirrored.available.cache_clear()
    try:
        assert mirrored.available() is False
    finally:
        mirrored.available.cache_clear()


# Without memory -------------------------------------------------------------------------------------------------------


@needs_mirror
@pytest.mark.parametrize("way", [{"backend": "python"}, {"backend": "interpreter"}, {"checked": True}])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_ring_that_cannot_be_mapped(monkeypatch: pytest.MonkeyPatch, way: dict[str, Any], is_first: bool) -> None:
    from handmade import by_rows, picture

    def refuse(*_arguments: object) -> int:
        raise OSError(24, "Too many open files")

    inp, out, right = picture(40, 4096)
    p, size = by_rows(), -(-3 * 4098 * 8 // PAGE) * PAGE
    message = rf"^there is no memory for intm, which needs a ring of {size} bytes: \[Errno 24\] Too many open files$"
    with monkeypatch.context() as patch:
        patch.setattr(mirrored.os, "memfd_create", refuse)
        if is_first:
            mirrored.available.cache_clear()
        with pytest.raises(sl.StorageError, match=message) as refused:
            p.run(inp, out, **way)
        assert isinstance(refused.value, MemoryError)
        assert isinstance(refused.value, sl.ExecutionError)
        assert p.memory(inp, out) == sl.Memory(3 * 4098 * 8, size)
    p.run(inp, out, **way)
    np.testing.assert_array_equal(out, right)


@needs_mirror
@pytest.mark.skipif(sys.platform != "linux", reason="what is mapped is limited in another way")
def test_a_limit_on_what_is_mapped() -> None:
    """A real one, in a process of its own; the pipeline runs again when the limit is gone."""
    script = """
import resource
import numpy as np
import slinky as sl
from handmade import by_rows, picture

inp, out, right = picture(40, 1 << 18)
p = by_rows()
p.compile()
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
before = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (mapped + 4_000_000, before[1]))
try:
    p(inp, out)
except sl.StorageError as error:
    message = str(error)
resource.setrlimit(resource.RLIMIT_AS, before)
p(inp, out)
assert np.array_equal(out, right)
print(message)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parent, check=False
    )
    assert done.returncode == 0, done.stderr
    size = -(-3 * 8 * ((1 << 18) + 2) // PAGE) * PAGE
    assert done.stdout.startswith(f"there is no memory for intm, which needs a ring of {size} bytes: [Errno 12]")


@pytest.mark.parametrize("way", [{"backend": "python"}, {"backend": "interpreter"}])
def test_intermediates_that_no_memory_holds(way: dict[str, Any]) -> None:
    y, x, n = *sl.variables("y x"), sl.scalar("n")
    column, row, out = (sl.BufferExpr(name, np.float64, 1) for name in ("column", "row", "out"))
    product, root = (sl.BufferExpr(name, np.float64, 2) for name in ("product", "root"))
    sl.Func(np.multiply, [column[y], row[x]], [product[y, x]])
    sl.Func(lambda source, target: np.sqrt(source, out=target), [product[y, x]], [root[y, x]], name="root")
    sl.Func(np.sqrt, [root[y, sl.interval(0, n - 1)]], [out[y]])
    p = sl.build_pipeline([column, row], [out])
    size = 1 << 23
    named = "product, which needs" if way["backend"] == "interpreter" else "product, root, which need"
    with pytest.raises(sl.StorageError, match=rf"^there is no memory for {named} \d+ bytes: ") as refused:
        p.run(np.zeros(size), np.zeros(size), np.zeros(size), n=size, **way)
    assert str(8 * size**2) in str(refused.value) or str(16 * size**2) in str(refused.value)


@pytest.mark.parametrize("backend", ["python", "interpreter"])
def test_a_call_that_reads_more_rows_than_its_fold_holds(backend: str) -> None:
    """Three rows, of a program made by hand that keeps one."""
    inp, out, _ = picture(8, 2000)
    with pytest.raises(sl.ExecutionError, match=r"intm\[.*is longer than its fold of 1"):
        by_rows(fold=1).run(inp, out, backend=backend)


# Views that are kept --------------------------------------------------------------------------------------------------


def windows_made(row: int, factor: int, asked: list[tuple[int, int]]) -> int:
    """How many views a ring of rows of so many bytes makes for these windows; each shows the rows that it is of."""
    size = storage.ring_size(np.dtype(np.uint8), (10**4, row), 0, factor)
    assert size is not None
    stride = storage.ring_stride(np.dtype(np.uint8), (10**4, row), 0, factor, size)
    ring = storage.Ring(mirrored.mirrored(size), size, np.dtype(np.uint8), (10**4, row), 0, stride)
    window, plain = ring.window(), ring._made()
    given = []
    for first, count in asked:
        view, expected = window(first, count), plain(first, count)
        assert view.shape == expected.shape == (count, row)
        assert view.strides == expected.strides
        assert view.ctypes.data == expected.ctypes.data
        given.append(view)
    return len({id(view) for view in given})


@needs_mirror
@pytest.mark.parametrize(
    ("row", "factor", "starts"), [(PAGE, 3, 3), (PAGE // 4, 3, 4), (64, 3, 64), (7, 1, 1), (24_584, 1, 1)]
)
def test_a_ring_whose_rows_begin_at_few_bytes_makes_each_view_once(row: int, factor: int, starts: int) -> None:
    asked = [(first, count) for first in range(-300, 300) for count in range(1, factor + 1)]
    assert windows_made(row, factor, asked) == starts * factor


@needs_mirror
def test_a_ring_whose_rows_begin_at_many_bytes_keeps_no_views() -> None:
    asked = [(first, 1) for _ in range(2) for first in range(100)]
    assert windows_made(40_008, 3, asked) == 200


@needs_mirror
def test_no_more_views_are_kept_than_of_a_few_lengths() -> None:
    asked = [(0, count) for _ in range(2) for count in range(1, 20)]
    assert windows_made(PAGE, 20, asked) == 38


@needs_mirror
def test_a_fold_of_one_row_holds_one_row_wherever_it_is() -> None:
    buffer = allocate("b", np.dtype(np.int16), ((-5, 10**6), (0, 9)), (1, None))
    assert fold_of(buffer) == 1
    buffer.view(((3, 3), (0, 9)))[...] = np.arange(10)
    assert (buffer.view(((999, 999), (2, 4))) == [[2, 3, 4]]).all()
    with pytest.raises(sl.ExecutionError, match="longer than its fold of 1"):
        buffer.view(((3, 4), (0, 9)))


@needs_mirror
@pytest.mark.parametrize("dim", [0, 1])
def test_views_of_either_dimension_are_kept_and_right(dim: int) -> None:
    shape = [PAGE // 8, PAGE // 8]
    shape[dim] = 500
    box = ((0, shape[0] - 1), (0, shape[1] - 1))
    folds = tuple(3 if d == dim else None for d in range(2))
    buffer = allocate("b", np.dtype(np.int64), box, folds)
    assert isinstance(buffer.place, storage.Ring)
    window = buffer.place.window()
    for first in range(400):
        view = window(first, 2)
        view[...] = np.arange(first, first + 2).reshape((2, 1) if dim == 0 else (1, 2))
        assert (np.moveaxis(window(first + 1, 1), dim, 0) == first + 1).all()
    assert window(3, 2) is window(3 + buffer.place.starts, 2)
