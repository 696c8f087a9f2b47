"""Stencils two rows at a time in C: the same elements, and only where rows have enough in common."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from random_arithmetic import numbers, plane, same_bits

import slinky as sl
from slinky.native import pairing, streaming

Array = np.ndarray[Any, Any]
z, y, x = sl.variables("z y x")

pytestmark = [needs_compiler, pytest.mark.usefixtures("own_cache")]

PAIRS = re.compile(r"_pair\(&row_0")


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is compiled is no other test's."""
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path))


def texts() -> str:
    """What is in the C files of this test."""
    return "\n".join(path.read_text() for path in Path(os.environ["SLINKY_CACHE"]).rglob("*.c"))


def summed(terms: list[Any]) -> Any:
    """Terms with weights, one after the other."""
    value = terms[0] * 2
    for number, term in enumerate(terms[1:], 3):
        value = value + term * number
    return value


def blur(taps: int, dtype: Any, *, columns: int = 3) -> sl.Pipeline:
    """Along the columns first, and then along the rows."""
    image, rows, out = (plane(name, dtype) for name in ("image", "rows", "out"))
    sl.arithmetic(summed([image[y, x + k] for k in range(columns)]), rows[y, x], name="along")
    sl.arithmetic(summed([rows[y + k, x] for k in range(taps)]), out[y, x], name="across")
    return sl.build_pipeline([image], [out])


def by_rows(p: sl.Pipeline, count: int, *, folded: bool = True) -> sl.Pipeline:
    """Some rows at a time, of which those that are needed again are kept."""
    p, (loop, _, _) = sl.split_loop(p, "across.y", count, rc=True)
    p, along = sl.compute_at(p, "along", loop, rc=True)
    if not folded:
        return sl.store_at(p, along.alloc, loop)
    return sl.fold_storage(sl.slide_window(p, along.call, loop), along.alloc, "y")


def compare(plans: list[Any], reference: sl.Pipeline, image: Array, shape: tuple[int, ...]) -> None:
    """What native plans give, and what the interpreter gives of a pipeline that is not scheduled."""
    wanted = np.zeros(shape, image.dtype)
    with np.errstate(all="ignore"):
        reference.run(image, wanted)
        for plan in plans:
            found = np.zeros_like(wanted)
            plan(image, found)
            same_bits(found, wanted)


@pytest.mark.parametrize("taps", [3, 4, 9])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_any_number_of_rows(taps: int, dtype: Any) -> None:
    p = blur(taps, dtype)
    plans = [by_rows(p, count).compile(backend="native") for count in (1, 2, 3, 4, 5)]
    plans.append(by_rows(p, 4, folded=False).compile(backend="native"))
    for rows in (1, 2, 3, 7, 8, 21):
        for columns in (1, 17, pairing.LEAST_ELEMENTS - 1, pairing.LEAST_ELEMENTS, 600):
            compare(plans, p, numbers((rows + taps - 1, columns + 2), dtype), (rows, columns))
    assert PAIRS.search(texts())


def test_arrays_of_any_strides() -> None:
    """Of what is read and written from outside; what is left is done one row at a time."""
    image, out = plane("image", np.float64), plane("out", np.float64)
    sl.arithmetic(summed([image[y + k, x] for k in range(4)]), out[y, x], name="across")
    p = sl.build_pipeline([image], [out])
    plan = sl.split_loop(p, "across.y", 5).compile(backend="native")
    values = numbers((23, 700), np.float64)
    wanted = np.zeros((20, 700))
    p.run(values, wanted)
    wide = np.repeat(values, 2, axis=1)
    for given in (values, np.asfortranarray(values), wide[:, ::2], np.ascontiguousarray(values[::-1])[::-1]):
        for found in (
            np.empty((20, 700)),
            np.empty((20, 700), order="F"),
            np.empty((20, 1400))[:, ::2],
            np.empty((40, 700))[::2],
            np.empty((20, 700))[::-1],
            np.empty((20, 700))[:, ::-1],
        ):
            plan(given, found)
            same_bits(np.ascontiguousarray(found), wanted)
    assert PAIRS.search(texts())


@pytest.mark.parametrize("taps", [5, 9])
@pytest.mark.parametrize("columns", [640, 641, 700])
def test_pairs_may_go_past_the_caches(columns: int, taps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If lines of memory begin at the same elements of both rows; else it depends on what is shared."""
    monkeypatch.setattr(streaming, "LEAST_BYTES", 64)
    p = blur(taps, np.float32)
    compare([by_rows(p, 4).compile(backend="native")], p, numbers((32 + taps, columns + 2), np.float32), (33, columns))
    found = texts()
    assert ("(!o->streams || o->strides[0] % 64 == 0)" in found) == (taps == 5)
    assert "slinky_stream(v_o1 + begin" in found
    assert "((uintptr_t)v_o - (uintptr_t)v_o1) % 64 == 0" in found


def test_numbers_that_are_given() -> None:
    image, rows, out = (plane(name, np.float64) for name in ("image", "rows", "out"))
    by, less = sl.scalar("by", float), sl.scalar("less", float)
    sl.arithmetic(image[y, x] * by, rows[y, x], name="along")
    sl.arithmetic((rows[y, x] + rows[y + 1, x] * by + rows[y + 2, x]) - less, out[y, x], name="across")
    p = sl.build_pipeline([image], [out])
    values = numbers((30, 512), np.float64)
    found, wanted = np.zeros((28, 512)), np.zeros((28, 512))
    by_rows(p, 4).compile(backend="native")(values, found, by=0.5, less=3.0)
    p.run(values, wanted, by=0.5, less=3.0)
    same_bits(found, wanted)
    assert PAIRS.search(texts())


def test_planes_of_a_volume() -> None:
    """Along the dimension along which most is shared, here the second one."""
    volume, out = (sl.BufferExpr(name, np.float32, 3) for name in ("volume", "out"))
    terms = [volume[z + dz, y + dy, x] for dz in (0, 2) for dy in range(4)]
    sl.arithmetic(summed(terms), out[z, y, x], name="across")
    p = sl.build_pipeline([volume], [out])
    q = sl.split_loop(p, "across.z", 2)
    for shape in ((3, 5, 300), (4, 1, 256), (1, 8, 40), (2, 3, 1000)):
        compare([q.compile(backend="native")], p, numbers((shape[0] + 2, shape[1] + 3, shape[2]), np.float32), shape)
    assert re.search(r"const int64_t rows = o->extents\[1\]", texts())


def test_several_results_at_once() -> None:
    """Calls that are one loop, of which each computes two rows."""
    image, out = plane("image", np.float64), plane("out", np.float64)
    gx, gy, xx, yy = (plane(name, np.float64) for name in ("gx", "gy", "xx", "yy"))
    sl.arithmetic(image[y, x + 1] - image[y, x], gx[y, x], name="along")
    sl.arithmetic(image[y, x + 1] + image[y, x], gy[y, x], name="beside")
    sl.arithmetic(summed([gx[y + k, x] * gx[y + k, x] for k in range(3)]), xx[y, x], name="sum_x")
    sl.arithmetic(summed([gx[y + k, x] * gy[y + k, x] for k in range(3)]), yy[y, x], name="sum_y")
    sl.arithmetic(xx[y, x] - yy[y, x], out[y, x], name="across")
    p = sl.build_pipeline([image], [out])
    plans = []
    for count in (1, 2, 3, 4):
        q, (loop, _, _) = sl.split_loop(p, "across.y", count, rc=True)
        for name in ("sum_y", "sum_x"):
            q, func = sl.compute_at(q, name, loop, rc=True)
            q = sl.store_at(q, func.alloc, loop)
        for name in ("along", "beside"):
            q, func = sl.compute_at(q, name, loop, rc=True)
            q = sl.fold_storage(sl.slide_window(q, func.call, loop), func.alloc, "y")
        plans.append(q.compile(backend="native"))
    for shape in ((1, 300), (2, 400), (7, 256), (8, 90), (21, 512)):
        compare(plans, p, numbers((shape[0] + 2, shape[1] + 1), np.float64), shape)
    pairs = [line for line in texts().splitlines() if PAIRS.search(line)]
    assert any("&row_9" in line for line in pairs), pairs  # four rows of two arrays each, and four of results


def test_rows_of_few_elements() -> None:
    """Of colours beside each other, which are no rows, whatever there is of others."""
    picture, out = (sl.BufferExpr(name, np.float32, 3) for name in ("picture", "out"))
    sl.arithmetic(summed([picture[z, y + k, x] for k in range(5)]), out[z, y, x], name="across")
    p = sl.build_pipeline([picture], [out])
    q = sl.split_loop(p, "across.z", 100)
    for shape in ((200, 9, 3), (3, 7, 300)):
        compare([q.compile(backend="native")], p, numbers((shape[0], shape[1] + 4, shape[2]), np.float32), shape)
    assert f"if (o->extents[2] >= {pairing.LEAST_ELEMENTS} && a0->" in texts()


def test_narrow_results_are_done_by_pairs_wherever_their_lines_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not go past the caches."""
    monkeypatch.setattr(streaming, "LEAST_BYTES", 64)
    image, rows, out = plane("image", np.float32), plane("rows", np.float32), plane("out", np.uint8)
    sl.arithmetic(image[y, x] + np.float32(1), rows[y, x], name="along")
    total = summed([rows[y + k, x] for k in range(4)])
    sl.arithmetic(np.clip(total, 0, 255).astype(np.uint8), out[y, x], name="across")
    p = sl.build_pipeline([image], [out])
    values = np.random.default_rng(0).random((34, 601), np.float32) * 30
    found, wanted = np.zeros((31, 601), np.uint8), np.zeros((31, 601), np.uint8)
    by_rows(p, 4).compile(backend="native")(values, found)
    p.run(values, wanted)
    same_bits(found, wanted)
    assert PAIRS.search(texts())
    assert "o->streams" not in texts()


@pytest.mark.parametrize("seed", range(6))
def test_random_stencils(seed: int) -> None:
    random = np.random.default_rng(seed)
    dtype = random.choice([np.float32, np.float64, np.int32, np.int16])
    a, b, out = plane("a", dtype), plane("b", dtype), plane("out", dtype)
    row = plane("row", dtype, 1)
    terms: list[Any] = [a[y, x], b[y, x]]
    for _ in range(random.integers(3, 9)):
        of = a if random.random() < 0.7 else b
        terms.append(of[y + int(random.integers(0, 4)), x + int(random.integers(0, 3))])
    terms += [row[x]] * int(random.integers(0, 2))
    sl.arithmetic(summed(terms), out[y, x], name="across")
    inputs = [a, b, row] if len(terms) and any(term.buffer is row for term in terms) else [a, b]
    p = sl.build_pipeline(inputs, [out])
    q = sl.split_loop(p, "across.y", int(random.integers(1, 7)))
    for shape in ((1, 300), (2, 256), (13, 300), (8, 31)):
        given = [numbers((shape[0] + 3, shape[1] + 2), dtype) for _ in range(2)] + [numbers(shape[1:], dtype)]
        found, wanted = np.zeros(shape, dtype), np.zeros(shape, dtype)
        with np.errstate(all="ignore"):
            q.compile(backend="native")(*given[: len(inputs)], found)
            p.run(*given[: len(inputs)], wanted)
        same_bits(found, wanted)


@pytest.mark.parametrize("what", ["enough", "two rows", "every other row", "functions", "coordinates", "too many"])
def test_what_is_done_by_pairs(what: str) -> None:
    image, rows, out = (plane(name, np.float64) for name in ("image", "rows", "out"))
    sl.arithmetic(image[y, x] + 1, rows[y, x], name="along")
    near = {
        "enough": lambda: summed([rows[y + k, x] for k in range(4)]),
        "two rows": lambda: rows[y, x] - rows[y + 1, x],
        "every other row": lambda: rows[y, x] + rows[y + 2, x] + rows[y + 4, x] * 2,
        "functions": lambda: np.tanh(summed([rows[y + k, x] for k in range(4)])),
        "coordinates": lambda: summed([rows[y + k, x] for k in range(4)]) + y,
        "too many": lambda: summed([rows[y + k, x] for k in range(pairing.MOST_ARRAYS)]),
    }[what]()
    sl.arithmetic(near, out[y, x], name="across")
    p = sl.build_pipeline([image], [out])
    taps = {"two rows": 2, "every other row": 5, "too many": pairing.MOST_ARRAYS}.get(what, 4)
    image_of = np.random.default_rng(0).random((29 + taps, 600)) * 50
    found, wanted = np.zeros((30, 600)), np.zeros((30, 600))
    by_rows(p, 4).compile(backend="native")(image_of, found)
    p.run(image_of, wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-15 if what == "functions" else 0)
    assert bool(PAIRS.search(texts())) == (what == "enough")
