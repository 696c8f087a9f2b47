"""Arrays of which elements lie apart: what is compiled for them, when, and by whom; results are those of any plan."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import needs_compiler
from random_arithmetic import numbers, plane, same_bits

import slinky as sl
from slinky.frontend import to_native
from slinky.native import compiling
from slinky.native.apart import Second
from slinky.native.background import Background, Job

y, x = sl.variables("y x")
Array = np.ndarray[Any, Any]
pytestmark = [needs_compiler, pytest.mark.usefixtures("quick_libraries")]

MARK = "slinky_gather_float"
"""What gathers elements."""
SECONDS = 120
"""After so long, something hangs."""


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of nests that libraries were asked for, in their order."""
    asked: list[str] = []
    found = compiling.Compiler.file

    def file(self: compiling.Compiler, text: str) -> Path:
        if "slinky_python(" in text:
            asked.append(text)
        return found(self, text)

    monkeypatch.setattr(compiling.Compiler, "file", file)
    return asked


def blur() -> sl.Pipeline:
    """Two stencils by rows, the first in a window that slides."""
    a, mid, out = (plane(name, np.float32) for name in ("a", "mid", "out"))
    sl.arithmetic(a[y, x - 1] + a[y, x] * 2 + a[y, x + 1], mid[y, x], name="across")
    sl.arithmetic((mid[y - 1, x] + mid[y, x] * 2 + mid[y + 1, x]) / 16, out[y, x], name="down")
    p, (loop, *_) = sl.split_loop(sl.build_pipeline([a], [out]), "down.y", 2, rc=True)
    p, across = sl.compute_at(p, "across", loop, rc=True)
    return sl.fold_storage(sl.slide_window(p, across.call, loop), across.alloc, "y")


def pointwise() -> sl.Pipeline:
    """Two steps on the same elements, one of them also on a row."""
    a, row = plane("a", np.float32), plane("row", np.float32, 1)
    mid, out = plane("mid", np.float32), plane("out", np.float32)
    sl.arithmetic(a[y, x] * row[x] + 1, mid[y, x], name="first")
    sl.arithmetic(np.maximum(mid[y, x], 0) * 3, out[y, x], name="second")
    return sl.build_pipeline([a, row], [out])


def turned() -> sl.Pipeline:
    """A plane beside what lies across it."""
    a, mid, out = (plane(name, np.float32) for name in ("a", "mid", "out"))
    sl.arithmetic(a[y, x] + 1, mid[y, x], name="first")
    sl.arithmetic(mid[y, x] * 2 + mid[x, y], out[y, x], name="second")
    return sl.build_pipeline([a], [out])


def beside() -> sl.Pipeline:
    """Two derivatives, in one loop, and the square of their length."""
    a, along, down, out = (plane(name, np.float32) for name in ("a", "along", "down", "out"))
    sl.arithmetic(a[y, x + 1] - a[y, x], along[y, x], name="along")
    sl.arithmetic(a[y + 1, x] - a[y, x], down[y, x], name="down")
    sl.arithmetic(along[y, x] * along[y, x] + down[y, x] * down[y, x], out[y, x], name="square")
    return sl.strips(sl.build_pipeline([a], [out]), 4)


def thinned() -> sl.Pipeline:
    """Each second element of a plane that is computed."""
    a, mid, out = (plane(name, np.float32) for name in ("a", "mid", "out"))
    sl.arithmetic(a[y, x] + 1, mid[y, x], name="first")
    sl.arithmetic(mid[y, 2 * x] * 2, out[y, x], name="second")
    return sl.build_pipeline([a], [out])


def turned_in_tiles() -> sl.Pipeline:
    """The exponential of what lies across a plane, of whose tiles the size is known."""
    a, mid, out = (plane(name, np.float32) for name in ("a", "mid", "out"))
    sl.arithmetic(a[y, x] + 1, mid[y, x], name="first")
    sl.arithmetic(np.exp(mid[x, y]) * 2, out[y, x], name="second")
    p = sl.split_loop(sl.build_pipeline([a], [out]), "second.y", 8)
    p, (loop, *_) = sl.split_loop(p, "second.x", 4, rc=True)
    p, first = sl.compute_at(p, "first", loop, rc=True)
    return sl.store_at(p, first.alloc, loop)


def layouts(array: Array) -> dict[str, Array]:
    """The same elements in memory in several ways."""
    found = {
        "rows": array.copy(),
        "columns": np.asfortranarray(array),
        "part of longer rows": np.repeat(array, 2, -1)[..., : array.shape[-1]],
        "each second": np.repeat(array, 2, -1)[..., ::2],
        "backwards": array[..., ::-1].copy()[..., ::-1],
        "rows backwards": array[::-1].copy()[::-1],
    }
    found["part of longer rows"] = np.pad(array, [(0, 3)] * array.ndim)[tuple(slice(n) for n in array.shape)]
    return found


@pytest.mark.parametrize("shape", [(5, 7), (1, 40), (9, 1), (1, 1), (0, 3), (3, 0), (33, 300)])
@pytest.mark.parametrize("make", [pointwise, turned])
def test_any_layout(make: Callable[[], sl.Pipeline], shape: tuple[int, int]) -> None:
    shape = shape if make is pointwise else (shape[1], shape[1])
    p = make()
    plan = p.compile(backend="native")
    a = numbers(shape, np.float32)
    others = [numbers(shape[1:], np.float32)] * (make is pointwise)
    with np.errstate(all="ignore"):
        expected = p(a, *others)
        for how, given in layouts(a).items():
            for where, found in layouts(np.zeros_like(expected)).items():
                plan(given, *others, found)
                same_bits(found, expected)
                assert how
                assert where
        for other in [v for each in others for v in layouts(each).values()]:
            found = np.zeros_like(expected)
            plan(a, other, found)
            same_bits(found, expected)


@pytest.mark.parametrize("width", [1, 4, 300])
def test_windows_of_rows(width: int) -> None:
    p = blur()
    plan = p.compile(backend="native")
    a = numbers((12, width + 2), np.float32)
    expected = np.zeros((10, width), np.float32)
    with np.errstate(all="ignore"):
        p(sl.Buffer(a, (-1, -1)), expected)
        for given in layouts(a).values():
            for found in layouts(np.zeros_like(expected)).values():
                plan(sl.Buffer(given, (-1, -1)), found)
                same_bits(found, expected)


@pytest.mark.parametrize("strides", [(0, 0), (4, 0), (0, 4), (400, 4), (4, 400), (8, 8), (-4, 40)])
@pytest.mark.parametrize("shape", [(6, 1), (1, 6), (1, 1)])
def test_strides_where_there_is_one_element(shape: tuple[int, int], strides: tuple[int, int]) -> None:
    """They say nothing, whatever they are; where there are several, they may as well be 0."""
    room = numbers((2000,), np.float32)[1000:]
    given = np.lib.stride_tricks.as_strided(room, shape, strides)
    p, row = pointwise(), numbers((shape[1],), np.float32)
    with np.errstate(all="ignore"):
        expected, found = p(given, row), np.zeros(shape, np.float32)
        p.compile(backend="native")(given, row, found)
    same_bits(found, expected)


def test_calls_in_one_loop() -> None:
    p = beside()
    plan = p.compile(backend="native")
    a = numbers((13, 40), np.float32)
    with np.errstate(all="ignore"):
        along, down = a[:-1, 1:] - a[:-1, :-1], a[1:, :-1] - a[:-1, :-1]
        for given in layouts(a).values():
            found = np.zeros_like(along)
            plan(given, found)
            same_bits(found, along * along + down * down)


def test_what_is_known_to_lie_apart(texts: list[str]) -> None:
    a = numbers((16, 16), np.float32)
    with np.errstate(all="ignore"):
        found = np.zeros((16, 8), np.float32)
        thinned().compile(backend="native")(a, found)
        same_bits(found, (a + 1)[:, ::2] * 2)
        found = np.zeros((16, 16), np.float32)
        turned_in_tiles().compile(backend="native")(a, found)
        np.testing.assert_allclose(found, np.exp(a.T + 1) * 2, 1e-6)
    assert [MARK in text for text in texts] == [True, True]


# ----------------------------------------------------------------------------------------------------------------
# When, and by whom
# ----------------------------------------------------------------------------------------------------------------


def test_it_is_compiled_when_such_arrays_come(texts: list[str]) -> None:
    p = pointwise()
    plan = p.compile(backend="native")
    a, row, found = numbers((8, 9), np.float32), numbers((9,), np.float32), np.zeros((8, 9), np.float32)
    with np.errstate(all="ignore"):
        plan(a, row, found)
        plan(a[:, ::-1][:, ::-1], row, found)
        assert len(texts) == 1
        assert MARK not in texts[0]
        for _ in range(3):
            plan(np.asfortranarray(a), row, found)
            same_bits(found, p(a, row))
    assert len(texts) == 2
    assert MARK in texts[1]


def test_functions_that_nobody_can_ask_are_for_all_arrays_at_once(texts: list[str]) -> None:
    p = turned()
    plan = p.compile(backend="native")
    a, found = numbers((9, 9), np.float32), np.zeros((9, 9), np.float32)
    with np.errstate(all="ignore"):
        plan(a, found)
        same_bits(found, p(a))
    assert len(texts) == 1
    assert texts[0].count("_spread(const array") == 1  # the other function asks


def test_a_text_of_everything_takes_all_arrays() -> None:
    assert MARK in pointwise().to_c()


def test_a_compiler_that_fails_then_is_an_error_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = pointwise().compile(backend="native")
    a, row, found = numbers((8, 9), np.float32), numbers((9,), np.float32), np.zeros((8, 9), np.float32)

    def file(self: compiling.Compiler, text: str) -> Path:
        raise sl.CompilationError("no such luck")

    with np.errstate(all="ignore"), monkeypatch.context() as context:
        context.setattr(compiling.Compiler, "file", file)
        with pytest.raises(sl.CompilationError, match="no such luck"):
            plan(np.asfortranarray(a), row, found)
        assert not found.any()
        plan(a, row, found)
    with np.errstate(all="ignore"):
        expected = pointwise()(a, row)
        same_bits(found, expected)
        plan(np.asfortranarray(a), row, found)  # once there is a compiler again
        same_bits(found, expected)


class Later(Background):
    """Does nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[Job] = []

    def take(self, work: Callable[[], Any]) -> Job:
        self.jobs.append(Job(work))
        return self.jobs[-1]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    found = Later()
    monkeypatch.setattr("slinky.native.apart.BACKGROUND", found)
    return found


def test_who_does_not_wait_goes_on_without(later: Later, texts: list[str]) -> None:
    p = pointwise()
    plan = p.compile(backend="native-exact")
    a, row, found = numbers((8, 9), np.float32), numbers((9,), np.float32), np.zeros((8, 9), np.float32)
    with np.errstate(all="ignore"):
        expected = p(a, row)
        asked = len(texts)
        for _ in range(3):
            found[...] = 0
            plan(np.asfortranarray(a), row, found)
            same_bits(found, expected)
        assert (len(texts), len(later.jobs)) == (asked, 1)
        later.jobs[0].run()
        assert len(texts) == asked + 1
        found[...] = 0
        plan(np.asfortranarray(a), row, found)
        same_bits(found, expected)
    assert (len(texts), len(later.jobs)) == (asked + 1, 1)


def test_what_fails_in_the_background_is_said_once(later: Later, monkeypatch: pytest.MonkeyPatch) -> None:
    p = pointwise()
    plan = p.compile(backend="native-exact")
    a, row, found = numbers((8, 9), np.float32), numbers((9,), np.float32), np.zeros((8, 9), np.float32)

    def file(self: compiling.Compiler, text: str) -> Path:
        raise sl.CompilationError("no such luck")

    with np.errstate(all="ignore"):
        expected = p(a, row)
        plan(np.asfortranarray(a), row, found)
        with monkeypatch.context() as context:
            context.setattr(compiling.Compiler, "file", file)
            later.jobs[0].run()
            with pytest.warns(sl.CompilationFailedWarning, match="stay with NumPy's loops: no such luck") as told:
                plan(np.asfortranarray(a), row, found)
            assert [each.filename for each in told] == [__file__]
            same_bits(found, expected)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                plan(np.asfortranarray(a), row, found)
            same_bits(found, expected)
    assert len(later.jobs) == 1


def test_where_nobody_compiles_in_the_background(monkeypatch: pytest.MonkeyPatch, texts: list[str]) -> None:
    monkeypatch.setattr(Background, "take", lambda self, work: None)
    p = pointwise()
    plan = p.compile(backend="native-exact")
    a, row, found = numbers((8, 9), np.float32), numbers((9,), np.float32), np.zeros((8, 9), np.float32)
    with np.errstate(all="ignore"):
        for _ in range(2):
            plan(np.asfortranarray(a), row, found)
            same_bits(found, p(a, row))
    assert len(texts) == 1


def test_a_job_that_a_fork_has_lost_is_given_again(later: Later) -> None:
    p = pointwise()
    plan = p.compile(backend="native-exact")
    a, row, found = numbers((8, 9), np.float32), numbers((9,), np.float32), np.zeros((8, 9), np.float32)
    with np.errstate(all="ignore"):
        plan(np.asfortranarray(a), row, found)
        later.jobs[0].lose(in_child=True)
        plan(np.asfortranarray(a), row, found)
        assert len(later.jobs) == 2
        same_bits(found, p(a, row))


def test_threads_that_come_at_once() -> None:
    p = pointwise()
    plan = p.compile(backend="native")
    a, row = numbers((8, 9), np.float32), numbers((9,), np.float32)
    with np.errstate(all="ignore"):
        expected = p(a, row)
    begin, wrong = threading.Barrier(4), []

    def run() -> None:
        found = np.zeros_like(expected)
        begin.wait()
        with np.errstate(all="ignore"):
            plan(np.asfortranarray(a), row, found)
        wrong.append(not np.array_equal(found, expected, equal_nan=True))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert wrong == [False] * 4


def test_a_function_of_others_that_fails_in_it_says_so() -> None:
    fails = sl.c_kernel(
        "int fails(const slinky_buffer *a, const slinky_buffer *o) { return o->extent[1] == 5 ? 7 : 0; }",
        "fails",
        inputs={"a": (np.float32, 2)},
        outputs={"o": (np.float32, 2)},
    )
    a, mid, out = (plane(name, np.float32) for name in ("a", "mid", "out"))
    sl.arithmetic(a[y, x] * 2 + 1, mid[y, x], name="first")
    sl.Func(fails, [mid[y, x]], [out[y, x]], name="second")
    plan = sl.strips(sl.build_pipeline([a], [out]), 2).compile(backend="native")
    good, bad = np.ones((4, 6), np.float32), np.ones((4, 5), np.float32)
    for given in (good, np.asfortranarray(good)):
        plan(given, np.zeros_like(good))
    for given in (np.asfortranarray(bad), bad, np.asfortranarray(bad)):
        with pytest.raises(sl.CallbackError, match="it returned 7"):
            plan(given, np.zeros_like(bad))


def test_functions_of_others_see_strides_as_they_are() -> None:
    told = sl.c_kernel(
        """int told(const slinky_buffer *a, const slinky_buffer *o)
{
    for (int64_t y = 0; y < o->extent[0]; y++)
        *(float *)((char *)o->data + y * o->stride[0]) = (float)a->stride[1];
    return 0;
}""",
        "told",
        inputs={"a": (np.float32, 2)},
        outputs={"o": (np.float32, 2)},
    )
    a, mid, strides, out = (plane(name, np.float32) for name in ("a", "mid", "strides", "out"))
    sl.arithmetic(a[y, x] * 2 + 1, mid[y, x], name="first")
    sl.Func(told, [a[y, x]], [strides[y, x]], name="told")
    sl.arithmetic(strides[y, x] + mid[y, x] * 0, out[y, x], name="last")
    p = sl.strips(sl.build_pipeline([a], [out]), 2)
    given = np.lib.stride_tricks.as_strided(np.ones(4000, np.float32)[100:], (4, 1), (80, 400))
    for backend in ("python", "native"):
        found = np.zeros((4, 1), np.float32)
        p.compile(backend=backend)(given, found)
        np.testing.assert_array_equal(found, np.full((4, 1), 400, np.float32))


# ----------------------------------------------------------------------------------------------------------------
# Traced functions
# ----------------------------------------------------------------------------------------------------------------


def soft(image: Array) -> Any:
    """Differences to the mean of the neighbours, and of their neighbours."""
    for _ in range(2):
        near = (image[:-2, 1:-1] + image[2:, 1:-1] + image[1:-1, :-2] + image[1:-1, 2:]) / 4
        image = np.maximum(image[1:-1, 1:-1] * 1.5 - near * 0.5, 0)
    return image


@pytest.mark.usefixtures("moves_at_once")
@pytest.mark.parametrize("step", [1, 2])
def test_what_ran_on_such_arrays_moves_with_both(step: int, texts: list[str]) -> None:
    image = numbers((40, 60), np.float32)[:, ::step]

    def function(a: Array) -> Any:
        return soft(a) + step

    traced = sl.jit(function, smallest=0, workers=1, machine=sl.Machine())
    with np.errstate(all="ignore"):
        same_bits(traced(image), function(image))
        assert traced.wait_native(SECONDS)
        assert len(texts) == step
        same_bits(traced(image), function(image))
    assert "runs in C" in traced.explain(image)
    assert len(texts) == step


@pytest.mark.usefixtures("moves_at_once")
def test_where_only_the_second_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compiling.Compiler.file

    def file(self: compiling.Compiler, text: str) -> Path:
        if "slinky_python(" in text and MARK in text:
            raise sl.CompilationError("no such luck")
        return compiled(self, text)

    monkeypatch.setattr(compiling.Compiler, "file", file)
    image = numbers((40, 60), np.float32)
    traced = sl.jit(lambda a: soft(a) * 3, smallest=0, workers=1, machine=sl.Machine())
    with np.errstate(all="ignore"):
        expected = soft(image[:, ::2]) * 3
        same_bits(traced(image[:, ::2]), expected)
        assert traced.wait_native(SECONDS)
        assert "runs in C" in traced.explain(image[:, ::2])
        same_bits(traced(image[:, ::2].copy()), expected)
        same_bits(traced(image[:, ::2]), expected)


def test_it_is_told_which_arrays_lie_apart() -> None:
    a = np.zeros((4, 6))
    cases = {True: [a.T, a[:, ::2], a[:, ::-1], a[0, ::3]], False: [a, a[::2], a[:, :1], a.T[:, :1], np.zeros(()), 3.5]}
    for is_apart, arrays in cases.items():
        for array in arrays:
            assert to_native._lies_apart(array) == is_apart


def test_an_export_has_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: list[str]) -> None:
    image = numbers((40, 60), np.float32)
    exported = sl.jit(soft, native=True, smallest=0, workers=1, machine=sl.Machine())
    with np.errstate(all="ignore"):
        exported(image)
        exported.export(tmp_path / "there")
        exported_texts = [each.read_text() for each in (tmp_path / "there").glob("*.c")]
        assert sorted(MARK in each for each in exported_texts if "slinky_python(" in each) == [False, True]
        loaded = sl.jit(soft, native=True, smallest=0, workers=1, machine=sl.Machine())
        loaded.load(tmp_path / "there")
        monkeypatch.setattr(compiling, "_run", lambda *_: pytest.fail("nothing is to be compiled"))
        for given in (image, np.asfortranarray(image)[:, :], image[:, ::2]):
            same_bits(loaded(given), soft(given))


def test_a_library_that_was_not_brought_along_leaves_it_to_numpy() -> None:
    second = Second(compiling.Shipped(("cc",), "", (), Path(os.devnull)), waits=False)

    def made() -> Any:
        raise compiling.NotShippedError("there is none")

    second.is_made_by(made)
    assert second.library() is None
    assert second.library() is None
    assert not second.leaves_it_to_numpy
