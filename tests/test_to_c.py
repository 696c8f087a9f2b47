"""Programs in C: compiled as they are, without a warning, run without Python, and what NumPy gives."""

from __future__ import annotations

import platform
import re
import subprocess
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import COMMAND, FLAGS, is_whole, needs_compiler, run_in_c, sanitized
from random_arithmetic import numbers, plane, same_bits
from random_nests import arguments, pipeline, scheduled
from test_nests import blur, blurred

import slinky as sl
from slinky.native.names import CNames

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]
pytestmark = needs_compiler


def by_rows(height: int) -> sl.Pipeline:
    """The two stencils, of so many rows at a time, in a window that slides."""
    p = sl.compute_at(sl.split_loop(blur(by_rows=False), "down.y", height), "across", "for y")
    return sl.fold_storage(sl.slide_window(p, "across", "for y"), "alloc mid", "y")


def test_the_text_says_what_it_takes() -> None:
    text = blur().to_c()
    head = text.partition("*/")[0]
    assert " * pipeline down(a: float32[2]) -> (out: float32[2])\n" in head
    assert " * in      a: float32[y, x], as a slinky_buffer\n" in head
    assert " * out     out: float32[y, x], as a slinky_buffer\n" in head
    assert " * scratch mid: float32[out.dim(0).min - 1 .. out.dim(0).max + 1 fold 3, " in head
    assert "\nint run_down(const slinky_buffer *a_given, const slinky_buffer *out_given);\n" in text


def test_it_is_the_same_every_time() -> None:
    assert blur().to_c() == blur().to_c()


MAIN = """
#include <stdio.h>

int main(void)
{
    static float image[34][22], soft[32][20];
    for (int y = 0; y < 34; y++)
        for (int x = 0; x < 22; x++) image[y][x] = (float)((y * 31 + x * 17) % 23);
    const slinky_buffer from = {image, {0, 0}, {34, 22}, {sizeof image[0], sizeof(float)}};
    const slinky_buffer to = {soft, {1, 1}, {32, 20}, {sizeof soft[0], sizeof(float)}};
    const int status = run_down(&from, &to);
    double sum = 0;
    for (int y = 0; y < 32; y++)
        for (int x = 0; x < 20; x++) sum += soft[y][x] * (float)(y + 2 * x);
    printf("%d %.17g\\n", status, sum);
    return 0;
}
"""


def test_a_program_that_calls_it(tmp_path: Path) -> None:
    source, made = tmp_path / "blur.c", tmp_path / "blur"
    source.write_text(blur().to_c() + MAIN)
    subprocess.run([*COMMAND, *FLAGS, "-o", str(made), str(source), "-lm"], check=True)
    told = subprocess.run([str(made)], capture_output=True, text=True, check=True).stdout.split()
    rows, columns = np.arange(34)[:, None], np.arange(22)
    soft = blurred(((rows * 31 + columns * 17) % 23).astype(np.float32))
    assert told[0] == "0"
    assert float(told[1]) == (soft.astype(np.float64) * (rows[:32] + 2 * columns[:20])).sum()


@pytest.mark.parametrize("height", [1, 2, 5])
@pytest.mark.parametrize("shape", [(1, 1), (11, 3)])
def test_buffers_that_are_folded_have_as_many_rows_as_their_fold(
    height: int, shape: tuple[int, int], tmp_path: Path
) -> None:
    """Windows wrap around in them: rows of one call lie apart."""
    p = by_rows(height)
    values = sl.Buffer(numbers((shape[0] + 2, shape[1] + 2), np.float32), min=(-4, 2))
    found = sl.Buffer(np.zeros(shape, np.float32), min=(-3, 3))
    status, result = run_in_c(p, [values], found, {}, [*COMMAND, *FLAGS], tmp_path)
    assert status == 0
    same_bits(result, blurred(values.array))
    assert ("slinky_row_0" in p.to_c()) == (height > 1)


def test_names_that_c_has(tmp_path: Path) -> None:
    """Names of buffers, funcs and scalars are no words of C there, and a function of the C library stays what it is."""
    given, middle, out = (plane(name, np.float32) for name in ("double", "malloc", "NAN"))
    sl.arithmetic(np.sqrt(given[y, x]) + sl.scalar("array"), middle[y, x], name="sqrt")
    sl.arithmetic(middle[y, x] * 2, out[y, x], name="floor")
    p = sl.compute_at(sl.split_loop(sl.build_pipeline([given], [out], name="exp"), "floor.y", 1), "sqrt", "for y")
    values, found = sl.Buffer(numbers((4, 5), np.uint8).astype(np.float32)), sl.Buffer(np.zeros((4, 5), np.float32))
    status, result = run_in_c(p, [values], found, {"array": 3}, [*COMMAND, *FLAGS], tmp_path)
    assert status == 0
    same_bits(result, (np.sqrt(values.array) + np.float32(3)) * np.float32(2))


@pytest.mark.parametrize("name", ["sqrtf", "sin", "feclearexcept", "image_given", "given", "malloc"])
def test_scalars_called_as_what_the_text_calls(name: str, tmp_path: Path) -> None:
    """The text compiles without a warning, and so does a plan whose results are called so."""
    image, out = plane("image", np.float32), plane(name, np.float32)
    number = sl.scalar("number", float)
    sl.arithmetic(np.sqrt(abs(image[y, x])) * number + np.sin(image[y, x]), out[y, x], name="term")
    p = sl.split_loop(sl.build_pipeline([image], [out]), "term.x", 1)
    given = numbers((3, 4), np.float32)
    with np.errstate(all="ignore"):
        same_bits(p.compile(backend="native")(given, number=0.5), p(given, number=0.5))
    image, mid, out = (plane(each, np.float32, 1) for each in ("image", "mid", "out"))
    number = sl.scalar(name, float)
    sl.arithmetic(abs(image[x]) * number, mid[x], name="first")
    sl.arithmetic(np.sqrt(mid[x]) + number, out[x], name="second")
    (tmp_path / "file.c").write_text(sl.strips(sl.build_pipeline([image], [out]), 2).to_c(), encoding="utf-8")
    command = [*COMMAND, *FLAGS, "-fsyntax-only", str(tmp_path / "file.c")]
    subprocess.run(command, check=True)


ROUNDING: list[Any] = [np.sqrt, np.floor, np.ceil, np.trunc, np.rint, np.abs, np.sin, np.tanh]


@pytest.mark.parametrize(
    ("dtype", "ufuncs"),
    [(np.float32, ROUNDING), (np.float64, [*ROUNDING, np.tan, np.exp, np.exp2, np.log1p, np.arctan, np.cosh])],
)
def test_names_of_functions_that_texts_call(dtype: Any, ufuncs: list[Any]) -> None:
    """No variable is called as a function of the C library that a text calls."""
    names, a, out = CNames(), plane("a", dtype), plane("out", dtype)
    value: Any = a[y, x]
    for ufunc in (*ufuncs, *(partial(two, value) for two in (np.hypot, np.fmod, np.copysign, np.maximum))):
        value = value + ufunc(a[y, x])
    sl.arithmetic(value, out[y, x], name="term")
    p = sl.split_loop(sl.build_pipeline([a], [out]), "term.x", 1)
    text = re.sub(r"/\*.*?\*/|^#.*?$|__attribute__.*?$", "", p.to_c(), flags=re.DOTALL | re.MULTILINE)
    called = set(re.findall(r"(?<![\w.])([a-z]\w*)\(", text)) - {"if", "for", "while", "switch", "return", "sizeof"}
    called = {each for each in called if not each.startswith(("slinky", "run_"))}
    assert len(called) > 5
    assert not [each for each in called if names.of(each) == each]


def test_a_check_that_does_not_hold(tmp_path: Path) -> None:
    values, found = sl.Buffer(numbers((8, 8), np.float32)), sl.Buffer(np.ones((8, 8), np.float32))
    status, result = run_in_c(blur(), [values], found, {}, [*COMMAND, *FLAGS], tmp_path)
    assert status == 1
    same_bits(result, found.array)


@pytest.mark.parametrize("seed", [10, 20, 22, 36])
def test_random_programs_under_sanitizers(seed: int, tmp_path: Path) -> None:
    """Addresses and undefined behaviour are watched; the result is that of the plan in Python."""
    watched = sanitized()
    p = scheduled(pipeline(seed, callbacks=0), seed, seed % 13)
    assert is_whole(p.to_c())
    inputs, out, names = arguments(p, [(7, 5), (1, 1), (13, 11), (0, 3), (5, 1), (3, 17)][seed % 6], seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        p(*inputs, out, **names)
    expected = out.array.copy()
    out.array[...] = 0
    status, found = run_in_c(p, inputs, out, names, [*COMMAND, *FLAGS, *watched], tmp_path)
    assert status == 0
    same_bits(found, expected)


def test_nests_of_a_program_that_is_not_all_arithmetic(tmp_path: Path) -> None:
    a, b, c, out = (plane(name, np.float32) for name in ("a", "b", "c", "out"))
    sl.arithmetic(a[y, x] * 2, b[y, x], name="first")
    sl.arithmetic(b[y, x] + 1, c[y, x], name="second")
    sl.Func(lambda s, o: np.exp(s, out=o), [c[y, x]], [out[y, x]], name="exp")
    text = sl.split_loop(sl.build_pipeline([a], [out]), "first.y", 1).to_c()
    assert "Not all of it is C: exp is a callback." in text
    assert "\n/* first, second */\nint nest_1_steps(array " in text
    source = tmp_path / "nests.c"
    source.write_text(text)
    subprocess.run([*COMMAND, *FLAGS, "-c", "-o", str(tmp_path / "nests.o"), str(source)], check=True)


def test_what_has_no_arithmetic() -> None:
    a, out = plane("a", np.float32), plane("out", np.float32)
    sl.Func(lambda s, o: np.exp(s, out=o), [a[y, x]], [out[y, x]], name="exp")
    with pytest.raises(sl.CompilationError, match=r"exp is a callback\. Describe what its callbacks compute by sl"):
        sl.build_pipeline([a], [out]).to_c()


def test_bounds_that_no_integer_of_a_type_reaches(tmp_path: Path) -> None:
    a, out = plane("a", np.bool_), plane("out", np.int64)
    sl.arithmetic(np.clip(~a[y, x], -2, a[y, x]), out[y, x], name="limited")
    p = sl.build_pipeline([a], [out])
    values = numbers((3, 5), np.bool_)
    given, found = sl.Buffer(values), sl.Buffer(np.zeros((3, 5), np.int64))
    code, got = run_in_c(p, [given], found, {}, [*COMMAND, *FLAGS], tmp_path)
    assert code == 0
    same_bits(got, np.clip(~values, -2, values))


@pytest.mark.parametrize("taken", [0, 1])
def test_one_of_two_results_that_is_taken_alone(taken: int, tmp_path: Path) -> None:
    a, b, out = plane("a", np.int8), plane("b", np.int8), plane("out", np.int8)
    sl.arithmetic(np.divmod(a[y, x], b[y, x])[taken] * 2, out[y, x], name="divided")
    p = sl.build_pipeline([a, b], [out])
    given = [np.array([[7, -128, 5, 0]], np.int8), np.array([[-2, -1, 0, 3]], np.int8)]
    buffers = [sl.Buffer(each) for each in (*given, np.zeros((1, 4), np.int8))]
    code, got = run_in_c(p, buffers[:2], buffers[2], {}, [*COMMAND, *FLAGS], tmp_path)
    with np.errstate(all="ignore"):
        expected = np.divmod(*given)[taken] * np.int8(2)
    assert code == 0
    same_bits(got, expected)
    with np.errstate(all="ignore", over="raise"), pytest.raises(FloatingPointError):
        p.compile(backend="native")(*given, np.zeros((1, 4), np.int8))


@pytest.mark.parametrize("kind", [float, int])
def test_a_number_that_becomes_one_that_c_has_not(kind: type) -> None:
    a, mid, out = plane("a", np.uint8), plane("mid", np.float32), plane("out", np.float32)
    value = np.sqrt(a[y, x]) * sl.scalar("amount", kind)
    assert value.dtype == np.float16
    sl.arithmetic(value.astype(np.float32), mid[y, x], name="root")
    sl.arithmetic(mid[y, x] * 2, out[y, x], name="twice")
    p = sl.build_pipeline([a], [out])
    with pytest.raises(sl.CompilationError, match=r" is taken as float16\. "):
        p.to_c()
    text = sl.split_loop(p, "twice.y", 1).to_c()
    assert "Not all of it is C: " in text
    assert "\n/* twice */\n" in text


# ----------------------------------------------------------------------------------------------------------------
# Inner loops
# ----------------------------------------------------------------------------------------------------------------


def chain() -> sl.Pipeline:
    """Eight operations, row by row."""
    buffers = [plane(f"b{n}", np.float32) for n in range(9)]
    for n in range(8):
        a = buffers[n][y, x]
        sl.arithmetic(a * 2 + 1 if n % 2 else a * a + 3, buffers[n + 1][y, x], name=f"f{n}")
    p = sl.split_loop(sl.build_pipeline([buffers[0]], [buffers[-1]]), "f7.y", 1)
    for n in reversed(range(7)):
        p = sl.compute_at(p, f"f{n}", "for y")
    return p


def packed(p: sl.Pipeline, folder: Path, *more: str) -> set[str]:
    """The instructions on packed floats in the assembly of a pipeline's nests."""
    source, made = folder / "nests.c", folder / "nests.s"
    source.write_text(p.to_c())
    flags = ["-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fwrapv", *more, "-S"]
    subprocess.run([*COMMAND, *flags, "-o", str(made), str(source)], check=True)
    return set(re.findall(r"\bv?(?:add|sub|mul|div|min|max)ps\b", made.read_text()))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads the assembly of another processor")
def test_inner_loops_are_vector_instructions(tmp_path: Path) -> None:
    assert {word.lstrip("v") for word in packed(by_rows(1), tmp_path)} >= {"addps", "mulps"}
    assert {word.lstrip("v") for word in packed(chain(), tmp_path)} >= {"addps", "mulps"}


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads the assembly of another processor")
@pytest.mark.sweep
@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(
    "chosen",
    [
        lambda a: np.maximum(a, np.float32(0.1)),
        lambda a: np.minimum(np.float32(0.1), a),
        lambda a: np.where(a > 2, np.float32(0.1), a),
        lambda a: np.where(a > 2, a, np.where(a == 1, np.float32(3), np.float32(4))),
        lambda a: np.sign(a) + 2,
        lambda a: np.heaviside(a, np.float32(0.5)) + 2,
        *(np.floor, np.ceil, np.trunc, np.rint),
    ],
)
def test_what_follows_a_choice_is_vector_instructions(level: str, chosen: Callable[[Any], Any], tmp_path: Path) -> None:
    """A choice of a constant is no second way through the loop, on which all that follows is a constant; and what is
    rounded is no call of a function."""
    a, out = plane("a", np.float32), plane("out", np.float32)
    sl.arithmetic(1 / chosen(a[y, x] * 2), out[y, x], name="f")
    words = packed(sl.build_pipeline([a], [out]), tmp_path, f"-march={level}")
    assert "divps" in {word.lstrip("v") for word in words}


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads the assembly of another processor")
@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(("dtype", "limited"), [(np.uint8, True), (np.int16, False), (np.int32, False)])
def test_conversions_to_integers_are_vector_instructions(level: str, dtype: Any, limited: bool, tmp_path: Path) -> None:
    """What is computed before and after, too: a loop is all vectors, or none."""
    a, out = plane("a", np.float32), plane("out", dtype)
    value = a[y, x] * 3
    sl.arithmetic((np.clip(value, 0, 255) if limited else value).astype(dtype) + dtype(1), out[y, x], name="f")
    words = packed(sl.build_pipeline([a], [out]), tmp_path, f"-march={level}")
    assert {word.lstrip("v") for word in words} >= {"mulps", *({"minps", "maxps"} if limited else ())}
