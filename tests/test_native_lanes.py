"""Loops of wide elements with narrow ones among them, over lanes: the same bits, and only where all else is of one
size; and memory that is asked for ahead."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import COMMAND, needs_compiler
from random_arithmetic import same_bits

import slinky as sl
from slinky.native import lanes, streaming, sums
from slinky.native.ahead import AHEAD, first_to_come
from slinky.native.array_texts import ArrayText
from slinky.native.compiling import has_wide_vectors, processor

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
rng = np.random.default_rng(5)

pytestmark = [needs_compiler, pytest.mark.usefixtures("own_cache")]

NARROW = (np.uint8, np.int8, np.uint16, np.int16)
WIDE = (np.float32, np.int32, np.uint32)
COUNTS = (1, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 127, 200)


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is compiled is no other test's."""
    monkeypatch.setenv("SLINKY_CACHE", str(tmp_path))


def texts() -> str:
    """What is in the C files of this test."""
    return "\n".join(path.read_text() for path in Path(os.environ["SLINKY_CACHE"]).rglob("*.c"))


def native(function: Function, *arrays: Array) -> Any:
    """A function of NumPy as loops in C; for arrays such as these."""
    traced = sl.jit(native=True, workers=1, machine=sl.Machine())(function)
    return traced.pipeline(*arrays).compile(backend="native")


def integers(shape: tuple[int, ...], dtype: Any) -> Array:
    """All that there is of a dtype, from its least to its largest."""
    info = np.iinfo(dtype)
    found: Array = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    found.reshape(-1)[:2] = info.min, info.max
    return found


def agree(plan: Any, function: Function, *arrays: Array) -> None:
    """The same bits as NumPy's."""
    with np.errstate(all="ignore"):
        wanted = np.asarray(function(*arrays))
        found = np.zeros(wanted.shape, wanted.dtype)
        plan(*arrays, found)
    same_bits(found, wanted)


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("narrow", NARROW)
def test_narrow_elements_become_wide_ones(narrow: Any, wide: Any) -> None:
    def scaled(a: Array, b: Array) -> Any:
        return a.astype(wide) * wide(3) - b + wide(1)

    traced = native(scaled, integers((5, 9), narrow), integers((5, 9), np.int16).astype(wide))
    for count in COUNTS:
        plane = integers((3, count + 5), narrow)
        others = integers((3, count + 5), np.int16).astype(wide)
        agree(traced, scaled, plane, others)
        agree(traced, scaled, plane[:, 1 : 1 + count], others[:, 3 : 3 + count])
    assert f"slinky_widen_{np.dtype(narrow).name}_t(w_a0, v_a0 + i);" in texts()


@pytest.mark.parametrize("narrow", NARROW)
def test_wide_elements_become_narrow_ones(narrow: Any) -> None:
    """Of integers the last bits; of floats what is clipped."""

    def cut(a: Array) -> Any:
        return ((a * np.int32(3) - np.int32(70)) ^ a).astype(narrow)

    def clipped(a: Array) -> Any:
        return np.clip((a * np.float32(3) - np.float32(7)) * a, 0, 100).astype(narrow)

    for function, wide in ((cut, np.int32), (clipped, np.float32)):
        whole = integers((3, max(COUNTS) + 5), np.int16).astype(wide)
        plan = native(function, whole)
        for count in COUNTS:
            agree(plan, function, whole[:, 2 : 2 + count])
            agree(plan, function, np.array(whole[:, :count]))
        assert texts().count(f"slinky_narrow_{np.dtype(narrow).name}_t(v_o + i, w_o);")


def test_what_is_no_number_is_clipped_as_by_numpy() -> None:
    def clipped(a: Array) -> Any:
        return np.clip((a * np.float32(1.5) + np.float32(0)) * np.float32(1), 0, 255).astype(np.uint8)

    special = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e38, -1e38, 170.1, 169.9, 5e-46] * 7, np.float32)
    traced = native(clipped, special)
    for count in COUNTS:
        agree(traced, clipped, np.resize(special, count))


def test_several_narrow_arrays_and_choices() -> None:
    """Of what is in between, truths may be among the lanes."""

    def mixed(a: Array, b: Array, c: Array) -> Any:
        left, right = a.astype(np.float32), b.astype(np.float32)
        chosen = np.where((left < right) & (right != c), left * c, np.sqrt(right))
        return np.clip(chosen, 0, 250).astype(np.uint8)

    traced = native(mixed, integers((5, 9), np.uint8), integers((5, 9), np.uint16), rng.random((5, 9), np.float32))
    for count in COUNTS:
        a, b = integers((2, count), np.uint8), integers((2, count), np.uint16)
        agree(traced, mixed, a, b, rng.random((2, count), np.float32))
    text = texts()
    for called in ("slinky_widen_uint8_t(w_", "slinky_widen_uint16_t(w_", "slinky_narrow_uint8_t(v_o"):
        assert called in text


def test_elements_that_do_not_follow_each_other() -> None:
    def scaled(a: Array, b: Array) -> Any:
        return (a.astype(np.int32) * np.int32(2) + b).astype(np.int16)

    bytes_, words = integers((40, 70), np.uint8), integers((40, 70), np.int8).astype(np.int32)
    traced = native(scaled, bytes_, words)
    for view in (
        lambda a: a.T,
        lambda a: a[:, ::-1],
        lambda a: a[::-2],
        lambda a: a[:, ::3],
        lambda a: a[:, :1],
        np.asfortranarray,
    ):
        agree(traced, scaled, view(bytes_), view(words))
        agree(traced, scaled, view(bytes_), np.array(view(words)))


def test_written_in_place() -> None:
    """What is read of a block of lanes is read before it is written."""

    def limited(a: Array) -> Any:
        np.copyto(a, np.minimum(a.astype(np.int32) * np.int32(3) - np.int32(5), np.int32(200)).astype(np.uint8))

    traced = sl.jit(native=True, workers=1, donate=("a",))(limited)
    for shape in ((300, 1000), (1, 300001), (2000, 17 * 9)):
        image = integers(shape, np.uint8)
        wanted = image.copy()
        limited(wanted)
        traced(image)
        same_bits(image, wanted)
    assert "slinky_widen_uint8_t(w_" in texts()


OTHERS: dict[str, Function] = {
    "narrow alone": lambda a, b, c, d: (a + b) * a - b,
    "two narrow sizes": lambda a, b, c, d: (a.astype(np.int16) * 2 + b.astype(np.int16)) * 3 - 1,
    "two wide sizes": lambda a, b, c, d: (a.astype(np.float64) * c + 1) * c - 5,
    "a truth that is written": lambda a, b, c, d: (c * 2 - 1) * c > a.astype(np.float32),
    "narrow ones compared": lambda a, b, c, d: np.where(a > b, c * 2 - np.float32(1), (c + np.float32(1)) * c),
    "a truth that is read": lambda a, b, c, d: np.where(d, c * 2 - np.float32(1), (a.astype(np.float32) + c) * c),
    "wide alone": lambda a, b, c, d: (c * 2 - np.float32(1)) * c - c,
    "few steps": lambda a, b, c, d: a.astype(np.float32) * c - np.float32(1),
    "of float64 in between": lambda a, b, c, d: (a.astype(np.float32) * 2 - c) ** 3 + c,
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_loops_are_left_to_compilers(name: str) -> None:
    given = {"a": integers((3, 77), np.uint8), "b": integers((3, 77), np.uint8), "c": rng.random((3, 77), np.float32)}
    given["d"] = given["a"] > given["b"]
    function = OTHERS[name]
    traced = sl.jit(native=True, workers=1, machine=sl.Machine())(function).pipeline(*given.values())
    plan = traced.compile(backend="native")
    used = [p.name for p in traced.program.inputs]
    for count in (1, 16, 77):
        wanted = np.asarray(function(*(each[:, :count] for each in given.values())))
        found = np.zeros(wanted.shape, wanted.dtype)
        plan(*(given[each][:, :count] for each in used), found)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert "slinky_over_lanes\n" not in texts()


def test_programs_in_c_do_the_same() -> None:
    """With and without what compilers are told of vectors: they are C that everybody compiles."""

    def scaled(a: Array) -> Any:
        return (a.astype(np.float32) * np.float32(3) - np.float32(1)) * np.float32(2)

    text = sl.jit(native=True)(scaled).pipeline(integers((3, 50), np.uint8)).to_c()
    assert "slinky_widen_uint8_t(w_a0, v_a0 + i);" in text
    assert re.search(r"#if defined\(SLINKY_SIMD\)[^\n]*__AVX512VBMI2__\)\n#define SLINKY_LANES 16\n", text)


def with_ufunc(ufunc: np.ufunc, wide: Any) -> Function:
    """Bytes, a ufunc of what they are as wide elements, and bytes again."""

    def function(a: Array, b: Array) -> Any:
        left, right = a.astype(wide) + wide(1), b.astype(wide) * wide(3)
        found = ufunc(*((left, right)[: ufunc.nin] if ufunc.nin < 3 else (left, wide(2), wide(90))))
        if found.dtype == np.bool_:
            found = np.where(found, left, right)
        return np.clip(found - right, 0, 200).astype(np.uint8)

    return function


@pytest.mark.skipif("avx2" not in processor().split(), reason="this processor has no vectors of 32 bytes")
@pytest.mark.skipif(shutil.which("objdump") is None, reason="nobody reads machine code here")
def test_loops_over_lanes_are_vectors() -> None:
    """Between what reads and what writes bytes there is no instruction for one element alone."""
    told = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True).stdout
    if "Free Software Foundation" not in told:
        pytest.skip("this compiler is not GCC")
    a, b = integers((3, 77), np.uint8), integers((3, 77), np.uint8)
    written_by = "vpmovdb" if has_wide_vectors() else "vpackuswb"
    seen = set()
    for ufunc in sorted(lanes.UFUNCS, key=lambda each: each.__name__):
        for wide in (np.float32, np.int32):
            function = with_ufunc(ufunc, wide)
            try:
                with np.errstate(all="ignore"):
                    wanted = function(a, b)
            except TypeError:
                continue
            before = set(Path(os.environ["SLINKY_CACHE"]).rglob("*.so"))
            agree(native(function, a, b), function, a, b)
            made = [each for each in Path(os.environ["SLINKY_CACHE"]).rglob("*.so") if each not in before]
            texts = [each.with_suffix(".c").read_text() for each in made]
            if not any("slinky_over_lanes\n" in text for text in texts):
                assert wanted.dtype == np.uint8
                continue
            seen.add(ufunc)
            for library in made:
                command = ["objdump", "-d", "--no-show-raw-insn", str(library)]
                code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                words = re.findall(r"\t(v\w+) ", code)
                for first in (k for k, word in enumerate(words) if word == "vpmovzxbd"):
                    inside = itertools.takewhile(lambda word: word != written_by, words[first:])
                    assert not [word for word in inside if re.search(r"^v(?!p|broadcast)\w*s[sd]$|pinsr", word)], (
                        ufunc,
                        wide,
                    )
    assert seen == lanes.UFUNCS


def test_memory_is_asked_for_where_it_is_far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of inputs alone, once for all parts of one; which are far away is found out at each call."""

    def across(a: Array) -> Any:
        rows = a[:, :-2].astype(np.float32) + a[:, 1:-1].astype(np.float32) + a[:, 2:].astype(np.float32)
        return np.clip(rows[:-1] * rows[1:], 0, 255).astype(np.uint8)

    monkeypatch.setattr(streaming, "LEAST_BYTES", 100)
    traced = native(across, integers((9, 40), np.uint8))
    for shape in ((9, 40), (33, 200), (70, 17)):
        agree(traced, across, integers(shape, np.uint8))
    asked = re.findall(r"if \((is_far_\w+)\) slinky_ahead\(v_(\w+) \+ i\);", texts())
    assert asked
    assert {name for name, _ in asked} == {f"is_far_{array}" for _, array in asked}
    assert all(text.count("slinky_ahead(v_") <= 1 for text in texts().split("static void "))
    assert f"+ {AHEAD}" in texts()


def test_of_several_parts_of_an_input_the_last_one_is_asked_for() -> None:
    (y, x) = sl.variables("y x")
    image, rows, out = (sl.BufferExpr(name, np.float32, 2) for name in ("image", "rows", "out"))
    value = image[y, x] + image[y + 1, x] + image[y, x + 1] + rows[y, x] + image[x, y]
    sl.arithmetic(value, out[y, x], name="sum")
    formula = sl.build_pipeline([image, rows], [out]).find("_ = _")._call.func.operation.formula
    whole = ArrayText("image", "image", base="image")
    parts = {
        (0, 0): whole,
        (1, 0): whole.moved(0, sums.number(1)),
        (0, 1): whole.moved(1, sums.number(1)),
    }
    for order in itertools.permutations(parts):
        arrays = [*(parts[each] for each in order), ArrayText("rows", "rows", base="rows"), whole]
        assert first_to_come(formula, arrays, {"image"}) == (order.index((1, 0)),)
        assert first_to_come(formula, arrays, {"image", "rows"}) == (order.index((1, 0)), 3)
        assert first_to_come(formula, arrays, set()) == ()
