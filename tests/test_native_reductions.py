"""Reductions of whole axes in C: the bits that NumPy gives, over layouts, dtypes, shapes and axes."""

from __future__ import annotations

import itertools
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import COMMAND, FLAGS, SANITIZED, can_watch, needs_compiler, run_in_c
from random_arithmetic import same_bits

import slinky as sl
from slinky.ir.reducing import Reducing
from slinky.native.plans import has_exact_code

Array = np.ndarray[Any, Any]
pytestmark = [needs_compiler, pytest.mark.usefixtures("own_libraries")]
z, y, x = sl.variables("z y x")


def of(function: Callable[..., Any], dtype: Any, rank: int, axes: tuple[int, ...], **keywords: Any) -> sl.Pipeline:
    """A pipeline of what a function of NumPy gives along some axes, and of that times 1: a nest of two calls."""
    axis = axes if len(axes) > 1 else axes[0]
    result = np.asarray(function(np.ones((2,) * rank, dtype), axis=axis, **keywords)).dtype
    dims = (z, y, x)[:rank]
    kept = tuple(dim for d, dim in enumerate(dims) if d not in axes)
    source = sl.BufferExpr("a", np.dtype(dtype), rank)
    reduced, out = (sl.BufferExpr(name, result, len(kept)) for name in ("reduced", "out"))
    access = source[tuple(slice(None) if d in axes else dim for d, dim in enumerate(dims))]
    callback = Reducing("reduce", function, axes, (("axis", axis), *keywords.items()))
    sl.Func(callback, [access], [reduced[kept]])
    sl.arithmetic(reduced[kept] * result.type(1), out[kept], name="copy")
    return sl.build_pipeline([source], [out])


def layouts(rank: int) -> list[Callable[[Array], Array]]:
    """The same elements, otherwise in memory."""
    return [
        lambda a: a,
        np.asfortranarray,
        lambda a: np.repeat(a, 2, axis=rank - 1)[..., ::2],
        lambda a: np.ascontiguousarray(a[..., ::-1])[..., ::-1],
        lambda a: np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 0, -1)), -1, 0),
    ]


def arrays(dtype: np.dtype[Any], rank: int) -> Iterator[Array]:
    """Numbers in all kinds of shapes: short rows, those that are no multiple of 8 or 128, and long ones."""
    random = np.random.default_rng([rank, dtype.num])
    lengths = itertools.cycle([1, 3, 7, 8, 9, 130, 5, 512, 2, 1000, 40, 129, 2053])
    for _ in range(12):
        shape = tuple(itertools.islice(lengths, rank))
        if np.prod(shape) > 1 << 20:
            continue
        if dtype.kind == "f":
            numbers = random.standard_normal(shape).astype(dtype)
            yield numbers
            numbers.flat[:: 1 + numbers.size // 3] = np.nan
        elif dtype.kind == "b":
            numbers = random.random(shape) < 0.98
        else:
            limits = np.iinfo(dtype)
            numbers = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        yield numbers


def check(function: Callable[..., Any], dtype: Any, rank: int, axes: tuple[int, ...], **keywords: Any) -> None:
    """It is C that runs, and gives what NumPy gives, in all layouts."""
    plan = of(function, dtype, rank, axes, **keywords).compile(backend="native")
    assert "# in C: reduce, copy" in plan.source
    for a in arrays(np.dtype(dtype), rank):
        for layout in layouts(rank):
            given = layout(a)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = np.asarray(function(given, axis=axes if len(axes) > 1 else axes[0], **keywords))
                found = np.zeros_like(expected)
                plan(given, found)
            same_bits(found, expected)


FUNCTIONS = [np.sum, np.prod, np.max, np.min, np.any, np.all, np.mean, np.var, np.std]
ALONG = [(1, (0,)), (2, (1,)), (2, (0,)), (3, (1,)), (3, (0, 2)), (3, (2,))]


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_floats(number: int, dtype: str) -> None:
    rank, axes = ALONG[(number + (dtype == "f8")) % len(ALONG)]
    if len(axes) > 1 and FUNCTIONS[number] in (np.var, np.std):
        axes = axes[:1]
    check(FUNCTIONS[number], dtype, rank, axes)
    check(FUNCTIONS[number], dtype, 2, (1,))


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", ["b1", "u2", "i8"])
@pytest.mark.parametrize("number", range(6))
def test_integers_and_truths(number: int, dtype: str) -> None:
    check(FUNCTIONS[number], dtype, *ALONG[(number + ord(dtype[1])) % len(ALONG)])


@pytest.mark.parametrize(
    ("function", "dtype", "keywords"),
    [
        (np.linalg.norm, "f4", {}),
        (np.var, "f4", {"ddof": 1}),
        (np.std, "i2", {}),
        (np.mean, "u1", {}),
        (np.add.reduce, "f8", {}),
        (np.bitwise_and.reduce, "u2", {}),
        (np.bitwise_xor.reduce, "i8", {}),
    ],
)
def test_others(function: Callable[..., Any], dtype: str, keywords: dict[str, Any]) -> None:
    check(function, dtype, 2, (1,), **keywords)


@pytest.mark.parametrize("function", [np.sum, np.min, np.mean])
def test_zeros_of_one_sign(function: Callable[..., Any]) -> None:
    plan = of(function, "f4", 2, (1,)).compile(backend="native")
    for sign, extent in itertools.product((0.0, -0.0), (1, 7, 20, 600)):
        given, found = np.full((3, extent), sign, np.float32), np.ones(3, np.float32)
        plan(given, found)
        same_bits(found, function(given, axis=1))


def test_a_nan_is_no_exception() -> None:
    """Nor does a comparison with one make one, while a sum that overflows does."""
    given, found = np.full((2, 100), np.nan, np.float32), np.zeros(2, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of(np.max, "f4", 2, (1,)).compile(backend="native")(given, found)
    assert np.isnan(found).all()
    with pytest.warns(RuntimeWarning, match="overflow"):
        of(np.sum, "f4", 2, (1,)).compile(backend="native")(np.full((2, 100), 3e38, np.float32), found)


def test_what_is_not_known_stays_numpy() -> None:
    """Arguments that say more, and functions that C does not know."""
    for function, keywords in ((np.sum, {"initial": 2.0}), (np.median, {}), (np.ptp, {})):
        p = of(function, "f8", 2, (1,), **keywords)
        plan, given, found = p.compile(backend="native"), np.random.default_rng(0).random((4, 9)), np.zeros(4)
        assert "# in C" not in plan.source
        plan(given, found)
        same_bits(found, function(given, axis=1, **keywords))


@pytest.mark.parametrize("backend", ["native", "native-exact"])
def test_a_variance_alone_is_in_c_and_a_sum_is_numpy_s(backend: str) -> None:
    """NumPy makes arrays of its own for it."""
    for function, runs_c in ((np.var, True), (np.std, True), (np.sum, False), (np.max, False)):
        source, reduced = sl.BufferExpr("a", np.float32, 2), sl.BufferExpr("reduced", np.float32, 1)
        sl.Func(Reducing("reduce", function, (1,), (("axis", 1),)), [source[y, :]], [reduced[y]])
        plan: Any = sl.build_pipeline([source], [reduced]).compile(backend=backend)
        for a in arrays(np.dtype(np.float32), 2):
            found = np.empty(a.shape[0], np.float32)
            plan(a, found)
            same_bits(found, function(a, axis=1))
        assert plan.runs_c == runs_c
    of_words = sl.jit(lambda a: a.std(axis=1), smallest=0, native=False)
    for dtype, moves in ((np.float32, True), (np.float64, True), (np.int32, False)):
        assert has_exact_code(of_words.pipeline(np.ones((3, 4), dtype)).program) == moves


def test_of_no_elements() -> None:
    """There is no extremum, as the plan in Python says; a sum is 0."""
    found = np.ones(3, np.float32)
    of(np.sum, "f4", 2, (1,)).compile(backend="native")(np.zeros((3, 0), np.float32), found)
    same_bits(found, np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="no identity"):
        of(np.max, "f4", 2, (1,)).compile(backend="native")(np.zeros((3, 0), np.float32), found)


def softmax(a: Array) -> Any:
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(a: Array, gain: Array, offset: Array) -> Any:
    mean = a.mean(axis=-1, keepdims=True)
    variance = ((a - mean) ** 2).mean(axis=-1, keepdims=True)
    return (a - mean) / np.sqrt(variance + a.dtype.type(1e-5)) * gain + offset


def test_a_row_at_a_time() -> None:
    """A schedule that computes all on some rows is one nest, and NumPy's result but for the exponentials."""
    a = np.random.default_rng(1).standard_normal((64, 300)) * 5
    p = sl.jit(softmax).pipeline(a)
    p, (loop, _, _) = sl.split_loop(p, "divide.y", 1, rc=True)
    for name in ("sum", "e", "max"):
        p = sl.compute_at(p, name, loop)
    plan, found = p.compile(backend="native"), np.zeros_like(a)
    assert "# in C: max, e, sum, divide;" in plan.source
    plan(a, found)
    np.testing.assert_allclose(found, softmax(a), rtol=1e-15)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_traced_functions(dtype: str) -> None:
    random = np.random.default_rng(2)
    a, gain, offset = (random.standard_normal(shape).astype(dtype) for shape in ((50, 700), 700, 700))
    same_bits(sl.jit(layer_norm, native=True, smallest=0)(a, gain, offset), layer_norm(a, gain, offset))


def test_parts_of_a_result() -> None:
    """What is stacked is written where it belongs, backwards where that is asked for."""

    def stacked(a: Array) -> Any:
        return np.stack([(a * 2).sum(axis=1), (a + 1).max(axis=1)[::-1], a.T.min(axis=0)])

    a = np.random.default_rng(4).standard_normal((40, 300))
    plan, found = sl.jit(stacked).pipeline(a).compile(backend="native"), np.zeros((3, 40))
    assert "# in C: " in plan.source
    plan(a, found)
    same_bits(found, stacked(a))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bool"])
def test_single_elements_in_loops(dtype: str) -> None:
    """Weights that are read one by one, in a loop over rows that is C as a whole."""

    def weighted(a: Array, w: Array) -> Any:
        return w[0] * a[:, :-2] + w[-2] * a[:, 1:-1] + w[2, None] * a[:, 2:]

    random = np.random.default_rng(5)
    a, w = (random.standard_normal((40, 30)) * 9).astype(dtype), (random.standard_normal(4) * 9).astype(dtype)
    p = sl.jit(weighted).pipeline(a, w)
    plan, found = sl.split_loop(p, f"{p.find('add').func()}.y", 1).compile(backend="native"), np.zeros((40, 28), dtype)
    assert "# in C: add" in plan.source
    plan(a, w, found)
    same_bits(found, weighted(a, w))
    same_bits(sl.jit(weighted, native=True, smallest=0)(a, w[::-1]), weighted(a, w[::-1]))


def test_single_elements_that_are_written() -> None:
    def extremes(a: Array) -> Any:
        found = np.zeros((a.shape[1], 3))
        found[3, 1] = (a * 2).sum()
        found[2, :] = a[:3, 0]
        found[1, 2] = found[3, 1] / 2
        return found + np.stack([a.min(), a.max(), a[0, 0]])

    a = np.random.default_rng(6).standard_normal((40, 30))
    same_bits(sl.jit(extremes, native=True, smallest=0)(a), extremes(a))


def test_in_a_file_of_c(tmp_path: Path) -> None:
    """Without Python, and watched for addresses and undefined behaviour if the compiler can do that."""
    flags = SANITIZED if can_watch(COMMAND) else ()
    for function, dtype, rank, axes in ((np.var, "f4", 3, (1,)), (np.max, "f8", 2, (1,)), (np.sum, "f4", 2, (1,))):
        p = of(function, dtype, rank, axes)
        a = np.random.default_rng(3).standard_normal((5, 700, 3)[:rank]).astype(dtype)
        expected = function(a, axis=axes[0])
        status, found = run_in_c(
            p, [sl.Buffer(a)], sl.Buffer(np.zeros_like(expected)), {}, [*COMMAND, *FLAGS, *flags], tmp_path
        )
        assert status == 0
        same_bits(found, expected)


@pytest.mark.parametrize("level", ["-O2", "-O3"])
@pytest.mark.parametrize("make", [lambda x: (x[0] * 2).sum(), lambda x: (x[0] * 3).max(), lambda x: x - x.mean()])
def test_optimizing_compilers_have_nothing_to_warn_of(make: Callable[..., Any], level: str, tmp_path: Path) -> None:
    """Of rows, too, whose only axis may be none: what is looked at lies in the arrays of axes."""
    traced = sl.jit(smallest=0, workers=1, machine=sl.Machine())(make)
    source = tmp_path / "program.c"
    source.write_text(traced.pipeline(np.ones((17, 13))).to_c())
    command = (*COMMAND, *FLAGS, level, "-c", "-o", str(tmp_path / "program.o"), str(source))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
