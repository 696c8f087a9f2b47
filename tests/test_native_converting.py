"""Narrow elements that are read at many places of a row become floats once: the same bits, whatever lies where."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import COMMAND, FLAGS, needs_compiler, run_in_c, sanitized
from random_arithmetic import same_bits

import slinky as sl
from slinky.ir.combined import formula_of
from slinky.ir.nesting import funcs_in
from slinky.native.converting import FEWEST, NEAREST, SHORTEST, STRIP
from slinky.native.kernels import kernel_text

Array = np.ndarray[Any, Any]

pytestmark = [needs_compiler, pytest.mark.usefixtures("own_cache")]

NARROW = (np.uint8, np.int8, np.uint16, np.int16)
COUNTS = (1, 15, SHORTEST - 1, SHORTEST, SHORTEST + 1, STRIP - 1, STRIP, STRIP + 1, 2 * STRIP, 2 * STRIP + 37)
rng = np.random.default_rng(6)


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is compiled is no other test's."""
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path / "cache"))


def goes_by_strips(p: sl.Pipeline) -> bool:
    """Whether the kernel of the first func of a pipeline does, where places are near to each other."""
    formula = formula_of(next(iter(funcs_in(p.program))))
    assert formula is not None
    return "float strip[" in (kernel_text(formula) or "")


def integers(shape: tuple[int, ...], dtype: Any) -> Array:
    info = np.iinfo(dtype)
    found: Array = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    return found


def weighted(offsets: Sequence[int], narrow: Any, to: Any = np.float32) -> sl.Pipeline:
    """A sum of elements of a row at these places, with weights; clipped, where the result is no float."""
    y, x = sl.variables("y x")
    image, out = sl.BufferExpr("image", narrow, 2), sl.BufferExpr("out", to, 2)
    terms = [image[y, x + offset].astype(np.float32) * np.float32(0.3 + 0.07 * k) for k, offset in enumerate(offsets)]
    found = sum(terms[1:], start=terms[0])
    if to is not np.float32:
        found = np.clip(found, 0, np.float32(100)).astype(to)
    sl.arithmetic(found, out[y, x], name="sum")
    return sl.build_pipeline([image], [out])


def agree(p: sl.Pipeline, image: Array, count: int) -> None:
    """C gives the bits that NumPy's loops give."""
    whole = [np.full((len(image), count + 2), 77, p.program.outputs[0].dtype) for _ in range(2)]
    for each, plan in zip(whole, (p.compile(), p.compile(backend="native")), strict=True):
        plan(image, each[:, 1 : 1 + count])
    same_bits(whole[1], whole[0])


@pytest.mark.parametrize("narrow", NARROW)
@pytest.mark.parametrize("to", [np.float32, np.uint8])
def test_sums_along_rows(narrow: Any, to: Any) -> None:
    p = weighted([0, 1, 2, 3, 4, 5, 6], narrow, to)
    for count in COUNTS:
        image = integers((3, count + 9), narrow)
        agree(p, image[:, :-3], count)
        agree(p, image[:, 3:], count)
    assert goes_by_strips(p)


@pytest.mark.parametrize(
    "offsets",
    [(6, 0, 3, 1, 5), (0, 0, 1, 1, 7), (3, NEAREST + 3, 40, 9, 8), (0, NEAREST + 1, 7, 9, 8), (0, 100, 200, 300, 400),
     tuple(range(0, 33, 3)), (NEAREST, 0, 1, 2, 3, 4)],
)  # fmt: skip
def test_places_in_any_order_and_at_any_distance(offsets: tuple[int, ...]) -> None:
    p = weighted(offsets, np.uint8)
    for count in (SHORTEST, STRIP + 5):
        agree(p, integers((2, count + max(offsets)), np.uint8), count)


def test_few_places_are_converted_one_by_one() -> None:
    for count in (FEWEST - 1, FEWEST):
        p = weighted(range(count), np.uint8)
        agree(p, integers((2, 600), np.uint8), 600 - count + 1)
        assert goes_by_strips(p) == (count == FEWEST)


def test_arrays_that_are_not_one() -> None:
    """Wherever they happen to lie: side by side in memory, one before the other."""
    y, x = sl.variables("y x")
    inputs = [sl.BufferExpr(f"a{k}", np.uint8, 2) for k in range(6)]
    out = sl.BufferExpr("out", np.float32, 2)
    terms = [each[y, x].astype(np.float32) * np.float32(k + 0.5) for k, each in enumerate(inputs)]
    sl.arithmetic(sum(terms[1:], start=terms[0]), out[y, x], name="sum")
    p = sl.build_pipeline(inputs, [out])
    for width in (SHORTEST, STRIP + 1):
        memory = integers((6 * 2 * width + 200,), np.uint8)
        for step in (2 * width, 7, 0, NEAREST, NEAREST - 1):
            arrays = [memory[k * step : k * step + 2 * width].reshape(2, width) for k in range(6)]
            for given in (arrays, arrays[::-1]):
                found = [np.zeros((2, width), np.float32) for _ in range(2)]
                for each, plan in zip(found, (p.compile(), p.compile(backend="native")), strict=True):
                    plan(*given, each)
                same_bits(found[1], found[0])
    assert goes_by_strips(p)


def test_others_among_them() -> None:
    """A row of floats, one element for all, and a number; and colours, whose dimensions go on in each other."""

    def mixed(image: Array, row: Array, gain: float) -> Any:
        near = sum(
            (image[:, k : k + 700] * np.float32(0.1 + k) for k in range(1, 6)), start=np.float32(2) * image[:, :700]
        )
        return near * row + np.float32(gain) - image[:1, :1, :1]

    image, row = integers((4, 710, 3), np.uint8), rng.random((700, 3), np.float32)
    traced = sl.jit(smallest=0, native=True, workers=1, machine=sl.Machine())(mixed)
    for each in (image, image[::2], image[1:, 3:]):
        same_bits(np.asarray(traced(each, row, 1.5)), np.asarray(mixed(each, row, 1.5)))
    assert goes_by_strips(traced.pipeline(image, row, 1.5))


@pytest.mark.parametrize("count", [SHORTEST, STRIP, STRIP + 1, 2 * STRIP + 37])
def test_nothing_beyond_what_is_read_is_touched(count: int, tmp_path: Path) -> None:
    watched = sanitized()
    for offsets in ((0, 1, 2, 3, 4), (9, 0, NEAREST, 5, 6)):
        p = weighted(offsets, np.uint8)
        image = sl.Buffer(integers((2, count + max(offsets)), np.uint8))
        out = sl.Buffer(np.zeros((2, count), np.float32))
        p(image, out)
        expected = out.array.copy()
        out.array[...] = 0
        status, found = run_in_c(p, [image], out, {}, [*COMMAND, *FLAGS, *watched], tmp_path)
        assert status == 0
        same_bits(found, expected)


def test_integers_that_are_used_as_such_stay_integers() -> None:
    """As floats they would not be what they were."""
    y, x = sl.variables("y x")
    image, out = sl.BufferExpr("image", np.int16, 2), sl.BufferExpr("out", np.float32, 2)
    places = [image[y, x + k] for k in range(6)]
    as_floats = sum((each.astype(np.float32) * np.float32(0.3) for each in places[1:]), start=np.float32(1) * places[1])
    wide = places[0].astype(np.int32) * np.int32(70_001)
    sl.arithmetic(as_floats + (wide & np.int32(0xFFFF)).astype(np.float32), out[y, x], name="sum")
    p = sl.build_pipeline([image], [out])
    agree(p, integers((2, 1505), np.int16), 1500)
    assert not goes_by_strips(p)
