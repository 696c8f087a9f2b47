"""What makes no sense as an option, a name, a list or a number is refused where it is given, by an error of slinky."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import examples
import slinky as sl
from slinky.kept import cache_folder
from slinky.sched.machines import kept_path

y, x = sl.variables("y x")


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def blur() -> sl.Pipeline:
    """A pipeline that reads a row above and below its output."""
    inp, out = sl.BufferExpr("inp", np.float32, 2), sl.BufferExpr("out", np.float32, 2)
    sl.Func(copied, [inp[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="blur")
    return sl.build_pipeline([inp], [out])


def copied(source: np.ndarray, target: np.ndarray) -> None:
    target[...] = source[1:-1]


# What no option takes -------------------------------------------------------------------------------------------------


def identity(array: Any) -> Any:
    return array + 1


@sl.stencil(halo=1)
def smooth(signal: Any) -> Any:
    return (signal[:-2] + signal[1:-1] + signal[2:]) / 3


def adding() -> sl.Func:
    a, b = sl.BufferExpr("a", "f4", 1), sl.BufferExpr("b", "f4", 1)
    return sl.Func(np.negative, [a[x]], [b[x]], name="adding", variants={"fast": lambda a, b: np.negative(a, out=b)})


def tensor() -> sl.Tensor:
    s = sl.dims("m n")
    return sl.Tensor(np.ones((3, 4))).to(s.m, s.n) * 2


def row_sums() -> tuple[Any, Any]:
    return sl.BufferExpr("a", "f8", 2)[y, :], sl.BufferExpr("b", "f8", 1)[y]


def summing() -> sl.Pipeline:
    source, target = row_sums()
    sl.reductions.sum(source, target)
    return sl.build_pipeline([source.buffer], [target.buffer])


def two_rows() -> tuple[sl.BufferExpr, sl.BufferExpr]:
    return sl.BufferExpr("a", "f4", 1), sl.BufferExpr("b", "f4", 1)


def laid(**options: Any) -> sl.Func:
    """A func of which a variant takes a buffer that lies otherwise in memory."""
    a, b = sl.BufferExpr("a", "f4", 2), sl.BufferExpr("b", "f4", 2)
    fast = sl.Variant(np.negative, layouts={a: sl.StorageOrder(**options)})
    return sl.Func(np.negative, [a[y, x]], [b[y, x]], name="turned", variants={"fast": fast})


def fused(**options: Any) -> None:
    a, b, c = (sl.BufferExpr(name, "f4", 1) for name in "abc")
    first, second = sl.Func(np.negative, [a[x]], [b[x]], name="first"), sl.Func(np.abs, [b[x]], [c[x]], name="second")
    sl.fuse(first, second, lambda a, b: None, "both", **options)


ENDLESS: list[Any] = []
"""A list that is in itself."""
ENDLESS.append(ENDLESS)

OF_ONE: Any = np.array(1)
"""An array without axes: `Iterable` to Python, and not to be iterated over."""

SEVERAL: Any = np.arange(3)
"""An array that has no truth value."""

WRONG_OPTIONS: dict[str, tuple[Callable[[], object], type[sl.SlinkyError], str]] = {
    "donate": (lambda: sl.jit(donate=OF_ONE)(identity), sl.TracingError, "donate= takes parameters of identity"),
    "donate, several": (lambda: sl.jit(donate=np.ones((2, 2)))(identity), sl.TracingError, "donate= takes"),
    "fast": (lambda: sl.jit(fast=SEVERAL), sl.TracingError, "fast must be True or False, got array"),
    "exact": (lambda: sl.jit(exact=y), sl.TracingError, "exact must be True or False, got <y>"),
    "strict": (lambda: sl.jit(strict="no"), sl.TracingError, "strict must be True or False, got 'no'"),
    "native": (lambda: sl.jit(native=SEVERAL), sl.TracingError, "native must be True, False or None, got array"),
    "copy": (lambda: sl.lazy(SEVERAL, copy=SEVERAL), sl.TracingError, "copy must be True, False or None, got array"),
    "progress": (
        lambda: blur().run(zeros(5, 4), sl.Buffer(zeros(3, 4), min=(1, 0)), progress=SEVERAL),
        sl.ArgumentError,
        "progress must be True or False, got array",
    ),
    "rc": (
        lambda: sl.auto_schedule(blur(), zeros(5, 4), rc=SEVERAL),
        sl.OperationError,
        "rc must be True or False, got array",
    ),
    "workers": (
        lambda: sl.auto_schedule(blur(), zeros(5, 4), workers=10**400),
        sl.OperationError,
        "workers must be an integer of 63 bits at most, got 1000",
    ),
    "max_bytes": (
        lambda: sl.auto_schedule(blur(), zeros(5, 4), max_bytes=10**400),
        sl.OperationError,
        "max_bytes must be an integer of 63 bits at most, got 1000",
    ),
    "axis": (lambda: sl.rowwise(axis=OF_ONE)(identity), sl.DeclarationError, "axis must be an axis or a list"),
    "halo": (lambda: sl.stencil(halo=np.array(1.5))(identity), sl.DeclarationError, "a halo is a number"),
    "min": (lambda: sl.Buffer(zeros(5, 4), min=OF_ONE), sl.ArgumentError, "needs 2 coordinates"),
    "dtype": (lambda: sl.probe(identity, (5,), dtype="none"), sl.ArgumentError, "dtype must be a dtype of NumPy"),
    "seed": (lambda: sl.probe(identity, (5,), seed="none"), sl.ArgumentError, "seed must be an integer"),
    "rounds": (lambda: sl.probe(identity, (5,), rounds=10**30), sl.ArgumentError, "at most 1,000,000, got 1000"),
    "alias": (
        lambda: sl.build_pipeline([], [], alias=SEVERAL),
        sl.GraphError,
        "alias must be True or False, got array",
    ),
    "compile": (lambda: blur().compile(fast=SEVERAL), sl.ArgumentError, "fast must be True or False, got array"),
    "tune, progress": (
        lambda: sl.tune(blur(), (5, 4), progress=SEVERAL),
        sl.OperationError,
        "progress must be True or False, got array",
    ),
    "tune, budget_s": (lambda: sl.tune(blur(), (5, 4), budget_s=10**400), sl.OperationError, "a number of seconds"),
    "tune, cache": (
        lambda: sl.tune(blur(), (5, 4), cache="a\0b"),
        sl.OperationError,
        "the name of a file, got 'a\\x00b'",
    ),
    "path": (lambda: blur().trace(zeros(5, 4), path=3), sl.ArgumentError, "path must be the name of a file, got 3"),
    "path, not of text": (lambda: blur().trace(zeros(5, 4), path="\ud800"), sl.ArgumentError, "the name of a file"),
    "export": (lambda: sl.jit(identity).export(3), sl.ExportError, "an export has the name of a folder, got 3"),
    "load": (
        lambda: sl.jit(identity).load("a\0b"),
        sl.ExportError,
        "an export has the name of a folder, got 'a\\x00b'",
    ),
    "load, long": (lambda: sl.jit(identity).load("x" * 9999), sl.ExportError, "has no export of"),
    "output": (
        lambda: sl.elementwise(output=["out"])(identity),
        sl.DeclarationError,
        "output is the name of a parameter",
    ),
    "arrays": (lambda: sl.elementwise(arrays=3)(identity), sl.DeclarationError, "arrays is a function, such as"),
    "rate": (
        lambda: sl.stencil(halo=1, rate=float("inf"))(identity),
        sl.DeclarationError,
        "a rate is a positive number",
    ),
    "dtype of a kernel": (lambda: sl.elementwise(dtype="\ud800")(identity), sl.DeclarationError, "dtype is a dtype or"),
    "dtype of an array": (lambda: smooth.result_dtype(3), sl.ArgumentError, "kernel 'smooth': the dtype of an array"),
    "rank": (
        lambda: smooth.windows(10**400),
        sl.ArgumentError,
        "kernel 'smooth': a rank is an integer, 0 to 64, got 10",
    ),
    "shape": (
        lambda: smooth.result_shape(3),
        sl.ArgumentError,
        "kernel 'smooth' takes shapes, such as (480, 640), got 3",
    ),
    "a shape without memory": (
        lambda: sl.probe(identity, (10**30,)),
        sl.ArgumentError,
        "there is no array of shape (1000",
    ),
    "sizes": (
        lambda: sl.verify_func(adding(), sizes=3),
        sl.ArgumentError,
        "verify_func: sizes must be integers of at least 0",
    ),
    "seeds": (
        lambda: sl.verify_func(adding(), seeds=[ENDLESS]),
        sl.ArgumentError,
        "verify_func: seeds must be integers",
    ),
    "no seeds": (lambda: sl.verify_func(adding(), seeds=()), sl.ArgumentError, "seeds must have one or more, such as"),
    "rtol": (lambda: sl.verify_func(adding(), rtol="much"), sl.ArgumentError, "rtol must be a number of at least 0"),
    "scalars": (lambda: sl.verify_func(adding(), scalars={"r": "1"}), sl.ArgumentError, "scalars must be a dictionary"),
    "seeds of a variant": (lambda: sl.verify_variant(adding(), "fast", seeds=[-1]), sl.ArgumentError, "seeds must be"),
    "variant": (lambda: sl.verify_variant(adding(), SEVERAL), sl.GraphError, "func 'adding' has no variant array"),
    "scheduled": (lambda: tensor().scheduled(3), sl.TensorError, "is computed by a pipeline made of its own"),
    "back end of a tensor": (lambda: tensor().numpy(backend=SEVERAL), sl.ArgumentError, "there is no back end array"),
    "dtype of a tensor": (lambda: tensor().astype("\ud800"), sl.TensorError, "a term needs a dtype of NumPy"),
    "dims of a tensor": (lambda: tensor().transpose(3), sl.TensorError, "transpose() takes the dimensions"),
    "pipeline": (lambda: sl.Pipeline(3), sl.OperationError, "a pipeline is made by build_pipeline, or of the program"),
    "access": (lambda: sl.BufferExpr("a", "f4", 2)[SEVERAL, x], sl.GraphError, "array"),
    "dtype of a buffer": (lambda: sl.BufferExpr("a", "\ud800", 2), sl.GraphError, "buffer 'a' needs a dtype"),
    "over": (lambda: sl.reductions.mean(*row_sums(), over=3), sl.GraphError, "has 1 different names, got 3"),
    "ufunc": (lambda: sl.reductions.reduce([np.add], *row_sums()), sl.GraphError, "reduce() knows add"),
    "mode": (lambda: sl.copies.pad(*two_rows(), 1, 1, mode=SEVERAL), sl.GraphError, "pad() knows the modes"),
    "strides": (
        lambda: laid(order=["y", "x"], strides=3),
        sl.GraphError,
        "has a list of strides, such as (None, 4), got 3",
    ),
    "order": (lambda: laid(order=[["y"], "x"]), sl.GraphError, "names each of its 2 dimensions once"),
    "fuse": (lambda: fused(arguments=3), sl.GraphError, "arguments must be a dictionary, values by name, got 3"),
    "fuse, names": (lambda: fused(arguments={1: 2}), sl.GraphError, "needs a name that is a Python identifier"),
    "dim of a reduction": (
        lambda: sl.split_reduction(summing(), "_ = _", ["y"], 4),
        sl.SchedulingError,
        "and not ['y']",
    ),
    "rate of a float": (
        lambda: sl.stencil(halo=1, rate=1 / 3)(identity),
        sl.DeclarationError,
        "a rate is a ratio of small numbers, such as Fraction(1, 3), got 0.3333",
    ),
    "a huge halo": (lambda: sl.stencil(halo=10**400)(identity), sl.DeclarationError, "a halo is a number"),
    "size": (
        lambda: sl.rowwise(size=-1)(identity),
        sl.DeclarationError,
        "a number or a function, of 0 elements or more",
    ),
    "size in parts": (
        lambda: sl.rowwise(size=lambda n: n / 2)(identity)(zeros(2, 5)),
        sl.DeclarationError,
        "size says how many elements a result has, 0 or more; of 5 it makes 2.5",
    ),
    "an axis twice": (
        lambda: sl.stencil(halo=((1, 1), (2, 2)), axes=(1, -1))(identity)(zeros(2, 5)),
        sl.ArgumentError,
        "of arrays of rank 2, the axes (1, -1) are not different ones",
    ),
    "an axis of two kinds": (
        lambda: sl.stencil(halo=1, axes=1, whole=-1)(identity)(zeros(2, 5)),
        sl.ArgumentError,
        "axis 1 of arrays of rank 2 has a halo and is whole",
    ),
    "C, inputs": (
        lambda: sl.c_kernel("", "f", inputs=SEVERAL, outputs={"out": ("f4", 1)}),
        sl.GraphError,
        "inputs must be a dictionary",
    ),
    "C, parameters": (
        lambda: sl.c_function(1, outputs={"out": ("f4", 1)}, parameters=3),
        sl.GraphError,
        "parameters must be a list of texts",
    ),
}


@pytest.mark.parametrize("option", WRONG_OPTIONS)
def test_options_that_are_none(option: str) -> None:
    use, error, message = WRONG_OPTIONS[option]
    with pytest.raises(error) as caught:
        use()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("use", "begin", "end"),
    [
        (
            lambda p: sl.split_loop(p, "blur.x", list(range(10**5))),
            "split_loop: argument factor: expected an integer or an integer expression, got [0, 1, 2,",
            "99998, 99999] of type list",
        ),
        (lambda p: p.find("z" * 9000), "nothing matches 'zzzz", "in pipeline blur"),
        (
            lambda p: sl.jit(donate="x" * 5000)(identity),
            "donate= takes parameters of identity: array; got 'xxx",
            "xxx'",
        ),
        (lambda p: sl.Buffer(zeros(5, 4), min=list(range(5000))), "an array of rank 2", "4998, 4999]"),
    ],
)
def test_messages_quote_little_of_huge_values(use: Callable[[sl.Pipeline], object], begin: str, end: str) -> None:
    with pytest.raises(sl.SlinkyError) as caught:
        use(blur())
    message = str(caught.value)
    assert len(message) <= 2000
    assert message.startswith(begin)
    assert end in message[-400:]
    assert message.count("characters left out") == 1
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


def test_what_a_compiler_says_is_said_in_full() -> None:
    text = "error: " * 1000
    assert str(sl.CompilationError(text)) == text


# Numbers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("two", [np.uint8(2), np.int64(2)], ids=repr)
def test_integers_of_numpy_are_integers(two: Any) -> None:
    p, machine = blur(), sl.Machine()
    shape = (3000, 300)
    options: dict[str, Any] = {"machine": machine, "backend": "python"}
    assert str(p.auto(shape, workers=two, **options)) == str(p.auto(shape, workers=2, **options))
    assert str(sl.strips(p, 16, two)) == str(sl.strips(p, 16, 2))
    assert sl.Machine(cores=two, call_seconds=np.float32(0.5)) == sl.Machine(cores=2, call_seconds=0.5)
    split, loops = sl.split_loop(examples.two_branches(), "join.x", 8, rc=True)
    split = sl.compute_at(split, "left", loops.outer)
    assert str(sl.prefetch(split, "left", loops.outer, two)) == str(sl.prefetch(split, "left", loops.outer, 2))


def test_a_rate_of_numpy_is_a_rate() -> None:
    """As an integer of a few bits, it would wrap where it is multiplied."""
    for rate in (100, np.uint8(100), np.int64(100), 100.0):
        repeated = sl.stencil(halo=0, rate=rate)(lambda signal: np.repeat(signal, 100))
        np.testing.assert_array_equal(repeated(np.arange(3.0)), np.repeat(np.arange(3.0), 100))


WRONG_NUMBERS: dict[str, tuple[Callable[[], object], str]] = {
    "a time as an integer": (lambda: sl.loop(x, align=np.timedelta64(3)), "begins at a multiple of an integer"),
    "a time that is none": (lambda: sl.BufferExpr("a", "f4", np.timedelta64("NaT")), "must be an integer, 0 or more"),
    "threads": (lambda: blur().run(zeros(5, 4), threads=np.timedelta64(3)), "threads must be an integer"),
    "parts of cores": (lambda: sl.Machine(cores=1.5), "Machine: cores must be an integer above 0"),
    "very many cores": (lambda: sl.Machine(cores=10**400), "cores must be an integer above 0, of 63 bits at most"),
    "no float": (lambda: sl.Machine(near_bytes=10**400), "near_bytes must be a number above 0, got 1000"),
    "next to nothing": (lambda: sl.Machine(call_seconds=1e-320), "must be a number from 1e-30 to 1e+30, got 1e-320"),
    "far too much": (lambda: sl.Machine(near_bandwidth=1e300), "must be a number from 1e-30 to 1e+30, got 1e+300"),
}


@pytest.mark.parametrize("what", WRONG_NUMBERS)
def test_numbers_that_are_none(what: str) -> None:
    use, message = WRONG_NUMBERS[what]
    with pytest.raises(sl.SlinkyError) as caught:
        use()
    assert message in str(caught.value)


# Lists ----------------------------------------------------------------------------------------------------------------

LISTS: dict[str, Callable[[Any], object]] = {
    "min": lambda given: sl.Buffer(zeros(2, 2), min=given),
    "dims": lambda given: sl.BufferExpr("a", "f4", 2).extended("reflect", dims=given),
    "shape of a ring": lambda given: sl.Ring(given if given != [1, 0] else [1, 1], "f4"),
    "amounts": lambda given: sl.copies.pad(*two_planes(), given, 1),
    "shape": lambda given: sl.copies.reshape(*two_planes(), given),
    "axes": lambda given: sl.copies.transpose(*two_planes(), axes=given),
    "order": lambda given: laid(order=given),
}


@pytest.mark.parametrize("what", LISTS)
@pytest.mark.parametrize("given", [{0, 1}, {0: 3, 1: 4}, b"\0\1", bytearray(b"\0\1")], ids=repr)
def test_what_has_no_order_is_no_list(what: str, given: Any) -> None:
    with pytest.raises((sl.GraphError, sl.ArgumentError)):
        LISTS[what](given)
    LISTS[what]([1, 0])  # a list is


def two_planes() -> tuple[sl.BufferExpr, sl.BufferExpr]:
    return sl.BufferExpr("a", "f4", 2), sl.BufferExpr("b", "f4", 2)


# Values that cannot be written ----------------------------------------------------------------------------------------

DEEP: Any = []
for _ in range(100_000):
    DEEP = [DEEP]


class Unwritten:
    """What raises an error where it is written."""

    def __repr__(self) -> str:
        raise RuntimeError("no words for it")


QUOTING: dict[str, Callable[[Any], object]] = {
    "name": lambda given: sl.BufferExpr(given, "f4", 1),
    "dtype": lambda given: sl.BufferExpr("a", given, 1),
    "rank": lambda given: sl.BufferExpr("a", "f4", given),
    "variables": lambda given: sl.variables(given),
    "origin": lambda given: sl.Buffer(zeros(2, 2), min=given),
    "access": lambda given: sl.BufferExpr("a", "f4", 1)[[given]],  # type: ignore[index]
    "whole": lambda given: sl.Func(copied, [], [sl.BufferExpr("a", "f4", 1)[x]], whole=[given]),
    "fused": lambda given: fused(arguments={"k": 1}, pass_buffers=given),
    "array": lambda given: blur()(given),
    "back end": lambda given: blur().compile(backend=given),
    "checked": lambda given: blur().run(zeros(5, 4), checked=given),
    "factor": lambda given: sl.split_loop(blur(), "blur.y", [given]),  # type: ignore[arg-type]
    "pattern": lambda given: blur().find(given),
    "workers": lambda given: blur().auto((5, 4), workers=given),
    "boundary": lambda given: sl.stencil(halo=1, boundary=[given])(identity),
    "axes": lambda given: sl.stencil(halo=1, axes=[given, given])(identity),
    "dims": lambda given: tensor().transpose(given),
    "sum": lambda given: tensor().sum(given),
    "donate": lambda given: sl.jit(donate=given)(identity),
    "kernel in C": lambda given: sl.c_kernel("", given, outputs={}),
}


@pytest.mark.parametrize("what", QUOTING)
@pytest.mark.parametrize("given", [DEEP, 10**5000, Unwritten()], ids=["deep", "long", "unwritten"])
def test_messages_speak_of_what_cannot_be_written(what: str, given: Any) -> None:
    with pytest.raises((sl.SlinkyError, TypeError)) as caught:
        QUOTING[what](given)
    assert len(str(caught.value)) <= 2000


def test_integers_of_expressions_can_be_written() -> None:
    assert str(x + 10**400) == f"x + {10**400}"
    for make in (
        lambda: x + 10**5000,
        lambda: x - 10**5000,
        lambda: x * 10**5000,
        lambda: sl.interval(0, 10**5000),
        lambda: sl.maximum(x, -(10**5000)),
    ):
        with pytest.raises(sl.ExpressionError, match="takes integers of at most 4096 bits, got one of 16610 bits"):
            make()


def test_integers_that_expressions_compute_can_be_written() -> None:
    computed = x
    for _ in range(13):
        computed = computed * 10**1200
    assert str(computed + 1) == f"{hex(10**15600)}*x + 1"
    assert str(computed - computed * 2) == f"-{hex(10**15600)}*x"


@pytest.mark.parametrize(
    "use",
    [
        lambda p, n: sl.tune(p, (4, 4), (4, 4), k=n),
        lambda p, n: p.estimate((4, 4), (4, 4), k=n),
        lambda p, n: p.estimate((n, 4), (4, 4), k=1),
        lambda p, n: p(sl.Buffer(np.zeros((4, 4)), min=(n, 0)), np.zeros((4, 4)), k=1),
        lambda p, n: p(np.zeros((4, 4)), np.zeros((4, 4)), k=n),
        lambda p, n: sl.tile(p, "add", {n: 2}),
        lambda p, n: sl.split_loop(p, ("add", n), 2),
    ],
)
def test_integers_that_cannot_be_written_are_refused_by_errors_of_slinky(use: Any) -> None:
    k, a, out = sl.scalar("k"), sl.BufferExpr("a", float, 2), sl.BufferExpr("out", float, 2)
    sl.arithmetic(a[y, x] + k, out[y, x], name="add")
    p = sl.build_pipeline([a], [out])
    with pytest.raises(sl.SlinkyError) as caught:
        use(p, 10**5000)
    assert len(str(caught.value)) <= 2000


def test_a_path_may_begin_at_the_home_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(home))
    a, out = sl.BufferExpr("a", float, 1), sl.BufferExpr("out", float, 1)
    sl.arithmetic(a[x] + 1, out[x], name="more")
    p = sl.build_pipeline([a], [out])
    p.trace(np.zeros(3), np.zeros(3), path="~/trace.json")
    sl.tune(p, np.zeros(3), np.zeros(3), budget_s=0, cache="~/tuned.json")
    traced = sl.jit(smallest=0)(more)
    traced(np.zeros(1000))
    traced.export("~/exported")
    sl.jit(smallest=0)(more).load(Path("~/exported"))
    monkeypatch.setenv("SLINKY_CACHE", "~/kept")
    assert kept_path(os.environ["SLINKY_CACHE"], "anything").parent == home / "kept"
    assert cache_folder("~") == home
    monkeypatch.setenv("XDG_CACHE_HOME", "~/cached")
    if sys.platform != "win32":
        assert cache_folder(None) == home / "cached" / "slinky"
    assert {path.name for path in home.iterdir()} >= {"trace.json", "tuned.json", "exported"}
    assert not list(elsewhere.iterdir())


def more(a: Any) -> Any:
    return a * 2 + 1


REFUSED: dict[str, Callable[[Any], object]] = {
    "a term": lambda given: sl.BufferExpr("a", float, 1)[x] + given,
    "a tensor's operand": lambda given: sl.Tensor(sl.dims("m").m) + given,
    "the name of a constant": lambda given: sl.constant(given, np.zeros(2), min=(0, 0)),
    "the name of a lazy array": lambda given: sl.lazy(np.zeros(2), name=given),
    "a lazy array": lambda given: sl.lazy([[given], [given, given]]),
    "what fills a buffer": lambda given: sl.Buffer.like(np.zeros(2), fill=given),
    "the dtype of a buffer": lambda given: sl.Buffer.like(np.zeros(2), given),
    "what is positive": lambda given: sl.edit(pipeline()).require_positive(1, given),
    "a second cursor": lambda given: sl.sched_op("loop", given),
    "the state of a reduction": lambda given: sl.Reduction({"x": 0}, given, max, max, max),
    "what is scheduled by itself": lambda given: sl.AutoPipeline(given),
    "how long is waited": lambda given: sl.jit(more).wait_native(given),
    "the dtype of a kernel": lambda given: sl.elementwise(more).result_dtype(np.float32, given),
}


def pipeline() -> sl.Pipeline:
    a, out = sl.BufferExpr("a", float, 1), sl.BufferExpr("out", float, 1)
    sl.arithmetic(a[x] + 1, out[x], name="more")
    return sl.build_pipeline([a], [out])


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("given", [Unwritten(), {"a": 1}], ids=["unwritten", "dictionary"])
def test_what_cannot_be_taken_is_refused_by_errors_of_slinky(what: str, given: Any) -> None:
    with pytest.raises(sl.SlinkyError) as caught:
        REFUSED[what](given)
    assert str(caught.value)


@pytest.mark.parametrize("given", [Unwritten(), [], 10**5000, 0], ids=["unwritten", "list", "long", "none"])
def test_workers_that_are_none(given: Any) -> None:
    """They are part of what a schedule is kept by."""
    with pytest.raises(sl.OperationError, match="workers must be an integer"):
        sl.jit(smallest=0, workers=given)(more)(np.zeros((10, 10)))


@pytest.mark.parametrize("declare", [sl.rowwise, lambda axis: sl.stencil(halo=1, axes=axis)])
def test_axes_are_those_of_arrays(declare: Any) -> None:
    for axis in (64, -65, 10**5000):
        with pytest.raises(sl.DeclarationError, match="an axis or a list of axes, from -64 to 63, got"):
            declare(axis=axis)(more)
    assert repr(declare(axis=63)(more))


def test_a_dtype_of_a_kernel_may_be_none_after_all() -> None:
    with pytest.raises(sl.ArgumentError, match="the dtype of its result: "):
        sl.elementwise(dtype=len)(more)(sl.lazy(np.zeros(3)))  # type: ignore[call-overload]
    told = sl.jit(smallest=10**5000)(more).explain(np.zeros(3))
    assert "called as it is: all arrays take less than <int object" in told


def test_what_cannot_be_written_is_shown() -> None:
    assert "Unwritten object" in repr(sl.StorageOrder(Unwritten()))  # type: ignore[arg-type]
    assert "Unwritten object" in repr(sl.Variant(Unwritten()))  # type: ignore[arg-type]
