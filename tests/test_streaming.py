"""Results that go to memory past the caches: the same elements, wherever lines of memory begin."""

from __future__ import annotations

import itertools
import os
import platform
import re
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from random_arithmetic import numbers, plane, same_bits

import slinky as sl
from slinky.native import streaming

Array = np.ndarray[Any, Any]
y, x = sl.variables("y x")

pytestmark = [needs_compiler, pytest.mark.usefixtures("small")]

STREAMS = re.compile(r"slinky_stream\(v_o")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Small arrays go past the caches, too; and what is compiled is no other test's."""
    monkeypatch.setattr(streaming, "LEAST_BYTES", 64)
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path))


def mean_of_rows(dtype: Any) -> sl.Pipeline:
    """Three rows added to one."""
    a, out = plane("a", dtype), plane("out", dtype)
    sl.arithmetic(a[y, x] * 2 + a[y + 1, x] - a[y + 2, x], out[y, x], name="mean")
    return sl.build_pipeline([a], [out])


def by_rows(p: sl.Pipeline) -> sl.Pipeline:
    """A loop over rows, so that calls are too large to stand in one line."""
    return sl.split_loop(p, "mean.y", 1)


def sources() -> list[Path]:
    """The C files of this test."""
    return list(Path(os.environ["SLINKY_CACHE"]).rglob("*.c"))


def texts() -> str:
    """What is in these."""
    return "\n".join(path.read_text() for path in sources())


def at(array: Array, offset: int) -> Array:
    """An array of the same shape that begins so many bytes behind a line of memory."""
    room = np.zeros(array.nbytes + 2 * streaming.LINE + offset, np.uint8)
    first = -room.ctypes.data % streaming.LINE + offset
    found: Array = room[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = -1 if array.dtype.kind in "ifc" else 1
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8, np.int64])
def test_wherever_lines_begin(dtype: Any) -> None:
    plan: Any = by_rows(mean_of_rows(dtype)).compile(backend="native")
    size = np.dtype(dtype).itemsize
    for columns, offset in itertools.product((1, 2, 15, 16, 17, 63, 64, 65, 130, 257), (0, size, 7 * size, 64 - size)):
        image = numbers((7, columns), dtype)
        out = at(np.empty((5, columns), dtype), offset)
        around = out.base
        before = around.copy()
        with np.errstate(all="ignore"):
            plan(image, out)
            same_bits(out, image[:-2] * 2 + image[1:-1] - image[2:])
        first = out.ctypes.data - around.ctypes.data
        assert np.array_equal(around[:first], before[:first])
        assert np.array_equal(around[first + out.nbytes :], before[first + out.nbytes :])
    assert STREAMS.search(texts())


def test_strides_and_columns() -> None:
    plan: Any = by_rows(mean_of_rows(np.float64)).compile(backend="native")
    image = numbers((40, 300), np.float64)
    want = image[:-2] * 2 + image[1:-1] - image[2:]
    for out in (
        np.empty((38, 600))[:, ::2],
        np.empty((76, 300))[::2],
        np.empty((38, 300), order="F"),
        np.empty((38, 300))[::-1],
        np.empty((38, 300))[:, ::-1],
    ):
        plan(image, out)
        same_bits(np.ascontiguousarray(out), want)


def test_several_results_at_once() -> None:
    image = numbers((90, 333), np.float32)
    traced = sl.jit(lambda a: (a * 2, a + 1), smallest=0, workers=1, machine=sl.Machine())
    plan: Any = traced.pipeline(image).compile(backend="native")
    for offsets in ((0, 0), (4, 4), (4, 60), (0, 8)):
        found, found_too = (at(image, offset) for offset in offsets)
        with np.errstate(all="ignore"):
            plan(image, found, found_too)
            same_bits(found, image * 2)
            same_bits(found_too, image + 1)
    assert STREAMS.search(texts())


@pytest.mark.parametrize("kind", ["an output that is read", "a reduction", "a narrow result", "steps that warn"])
def test_what_stays_in_the_caches(kind: str) -> None:
    a = plane("a", np.float64)
    out = plane("out", np.float64)
    if kind == "an output that is read":
        last = plane("last", np.float64)
        sl.arithmetic(a[y, x] * 2 + 1, out[y, x], name="twice")
        sl.arithmetic(out[y, x] + out[y + 1, x], last[y, x], name="more")
        p = sl.build_pipeline([a], [last, out])
        given, want = (
            [np.empty((19, 90)), np.empty((20, 90))],
            lambda m: ((m * 2 + 1)[:-1] + (m * 2 + 1)[1:], m * 2 + 1),
        )
    elif kind == "a reduction":
        traced = sl.jit(lambda m: m.sum(axis=0), smallest=0, workers=1, native=True, machine=sl.Machine())
        image = numbers((20, 90), np.float64)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same_bits(traced(image), image.sum(axis=0))
        assert not STREAMS.search(texts())
        return
    elif kind == "a narrow result":
        out = plane("out", np.float32)
        sl.arithmetic((a[y, x] * 2 + 1).astype(np.float32), out[y, x], name="mean")
        p = by_rows(sl.build_pipeline([a], [out]))
        given, want = [np.empty((20, 90), np.float32)], lambda m: ((m * 2 + 1).astype(np.float32),)
    else:
        a, out = plane("a", np.int64), plane("out", np.int64)
        sl.arithmetic(a[y, x] // (a[y, x] % 3), out[y, x], name="mean")
        p = by_rows(sl.build_pipeline([a], [out]))
        given, want = [np.empty((20, 90), np.int64)], lambda m: (m // (m % 3),)
    image = numbers((20, 90), a.dtype)
    with np.errstate(all="ignore"):
        p.compile(backend="native")(image, *given)
        for found, wanted in zip(given, want(image), strict=True):
            same_bits(found, wanted)
    streamed = [line for line in texts().splitlines() if STREAMS.search(line)]
    assert len(streamed) == (kind == "an output that is read"), streamed  # that which nobody reads


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("shape", [(513, 301), (64, 1000), (1, 5000), (300, 1)])
def test_what_is_traced(shape: tuple[int, int], workers: int) -> None:
    def spread(u: Array) -> Any:
        near = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        return u + 0.1 * (near - 4 * u), np.where(u > 0, u, near)

    u = numbers(shape, np.float64)
    traced = sl.jit(spread, smallest=0, workers=workers, native=True, machine=sl.Machine())
    with np.errstate(all="ignore"):
        for _ in range(2):
            for found, wanted in zip(traced(u), spread(u), strict=True):
                same_bits(found, wanted)


def test_large_arrays_alone_go_past_the_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path))
    plan: Any = by_rows(mean_of_rows(np.float64)).compile(backend="native")
    rows = streaming.LEAST_BYTES // (8 * 1001) + 1
    for shape in ((rows + 2, 1001), (30, 1001)):
        image = np.random.default_rng(0).random(shape)
        out = np.empty((shape[0] - 2, 1001))
        plan(image, out)
        same_bits(out, image[:-2] * 2 + image[1:-1] - image[2:])
    assert f">= {streaming.LEAST_BYTES};" in texts()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads the assembly of another processor")
@pytest.mark.skipif(shutil.which("objdump") is None, reason="nobody reads machine code here")
def test_lines_are_written_from_registers() -> None:
    """What is computed for a line does not take the way through memory."""
    by_rows(mean_of_rows(np.float32)).compile(backend="native")(np.ones((9, 90), "f4"), np.empty((7, 90), "f4"))
    (library,) = (path.with_suffix(".so") for path in sources() if STREAMS.search(path.read_text()))
    command = ["objdump", "-d", "--no-show-raw-insn", str(library)]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.partition(":")[2].split() for line in code.splitlines() if ":" in line]
    written = [words for words in lines if words and words[0].startswith(("vmovnt", "movnt"))]
    assert written
    assert all(words[1].startswith(("%zmm", "%ymm")) for words in written)
    for words in written:
        register = words[1].partition(",")[0]
        before = [each for each in lines[: lines.index(words)] if each and each[-1].endswith(f",{register}")]
        assert re.match(r"v?(add|sub|fm|fn)", before[-1][0]), before[-1]
