"""Programs as bytes: what is read is what was written, and nothing but slinky's own is in them."""

from __future__ import annotations

import functools
import io
import math
import operator
import pickle
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from random_graphs import Graph, arguments, build, graphs, in_arithmetic, run_and_compare

import slinky as sl
from slinky.cursors.lineages import origin
from slinky.cursors.versions import Version
from slinky.ir import packing
from slinky.ir.formulas import CLIP
from slinky.ir.packing import packed, unpacked
from slinky.ir.reducing import Reducing
from slinky.ir.statements import Pass, walk
from slinky.ir.telling import MOST_BYTES, told


def again(value: Any) -> Any:
    """What is read of what is written; which is written as the same bytes."""
    others: list[Any] = []
    data = packed(value, others)
    assert data is not None
    found = unpacked(data, others)
    assert packed(found, others) == data
    return found


@given(graphs())
def test_what_is_read_computes_what_was_written(graph: Graph) -> None:
    for p in (build(graph), build(in_arithmetic(graph)), build(graph).auto(*shapes_of(graph), **graph.scalars())):
        read = sl.Pipeline(Version(again(p.program), origin()))
        assert str(read) == str(p)
        read.verify()
        own, others = ({each.id for each in walk(q.program.body)} for q in (p, read))
        assert not own & others
        run_and_compare(graph, read)


def shapes_of(graph: Graph) -> Any:
    inputs, outputs = arguments(graph)
    return (*inputs, *outputs)


def stencil(function: Any) -> sl.Pipeline:
    y, x = sl.variables("y x")
    image, out = (sl.BufferExpr(name, np.float32, 2) for name in ("image", "out"))
    sl.Func(function, [image[sl.interval(y - 1, y + 1), x]], [out[y, x]], name="f")
    return sl.build_pipeline([image], [out])


class Counting:
    """A callback with a state, which cannot be pickled."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, image: Any, out: Any) -> None:
        self.calls += 1
        out[...] = image[1:-1]

    def __reduce__(self) -> Any:
        raise AssertionError("it is not asked for that")


@pytest.mark.parametrize("function", [Counting(), lambda image, out: None, functools.partial(Counting()), print])
def test_a_callback_that_is_read_is_the_object_that_it_was(function: Any) -> None:
    program = stencil(function).program
    others: list[Any] = []
    data = packed(program, others)
    assert data is not None
    (own,) = others
    assert own is function
    (call,) = unpacked(data, others).body[-1:]
    assert call.func.operation.function is function
    (call,) = unpacked(data, [len]).body[-1:]
    assert call.func.operation.function is len
    assert packed(stencil(len).program, []) == data  # by numbers, they are alike


def test_things_that_are_there_are_not_told_again() -> None:
    p = stencil(print)
    statements = [*walk(p.program.body)]
    others: list[Any] = list(statements)
    data = packed(p.program.body, others)
    assert data is not None
    assert len(others) == len(statements)
    assert all(one is other for one, other in zip(unpacked(data, others), p.program.body, strict=True))


def test_constants_are_things_by_themselves() -> None:
    (x,) = sl.variables("x")
    out = sl.BufferExpr("out", float, 1)
    sl.arithmetic(sl.constant("table", np.arange(5.0))[x] * 2, out[x], name="f")
    others: list[Any] = []
    program = sl.build_pipeline([], [out]).program
    data = packed(program, others)
    assert data is not None
    assert [each for each in others if isinstance(each, np.ndarray)] == [program.constants[0].array]
    other = np.ones(5)
    changed = unpacked(data, [other if isinstance(each, np.ndarray) else each for each in others])
    assert changed.constants[0].array is other


@pytest.mark.parametrize(
    "dtype", ["f4", ">f8", "i2", "M8[ns]", "U5", "V7", [("a", "i4"), ("b", ">f8", (2,))], "c16", "?"]
)
def test_dtypes_are_what_they_were(dtype: Any) -> None:
    given = np.dtype(dtype)
    read = again((given, np.zeros((), given)[()] if given.names is None else None))
    assert read[0] == given
    assert read[0].descr == given.descr
    if given.isbuiltin == 1 and given.kind not in "MUV":
        assert read[0] is given


def test_what_has_no_form_is_none() -> None:
    """Nested so deep that Python ends it."""
    deep: Any = ()
    for _ in range(100_000):
        deep = (deep,)
    assert packed(deep, []) is None


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "builtins.getattr", "slinkyish.x", "subprocess.run"])
def test_nothing_else_is_named_in_bytes_that_are_read(name: str) -> None:
    module, _, function = name.rpartition(".")
    named = (
        b"\x80\x05" + b"".join(b"\x8c" + bytes([len(each)]) + each.encode() for each in (module, function)) + b"\x93."
    )
    with pytest.raises(pickle.UnpicklingError, match="neither slinky's nor NumPy's"):
        unpacked(pickle.dumps((named, ())), [])
    with pytest.raises(pickle.UnpicklingError, match="neither slinky's nor NumPy's"):
        unpacked(named, [])


@pytest.mark.parametrize("number", [0, 5, -1, "a", 1.5])
def test_a_number_of_nothing_is_refused(number: Any) -> None:
    class Names(pickle.Pickler):
        def persistent_id(self, given: Any) -> Any:
            return number if given is Ellipsis else None

    file = io.BytesIO()
    Names(file, protocol=5).dump(Ellipsis)
    with pytest.raises(pickle.UnpicklingError, match="there is no thing"):
        unpacked(pickle.dumps((file.getvalue(), ())), [])


def test_statements_of_a_kind_without_fields() -> None:
    one = again((Pass(), Pass()))
    assert [type(each) for each in one] == [Pass, Pass]
    assert one[0].id != one[1].id


def test_classes_that_are_callable_are_things() -> None:
    """Slinky's own, too: they may hold functions of users."""
    kernel = sl.elementwise(lambda image: image * 2)
    others: list[Any] = []
    assert packed((kernel, kernel), others) is not None
    assert others == [kernel]
    assert type(kernel) not in packing._OWN


def test_functions_that_say_they_are_ours_are_things() -> None:
    """They are not what slinky has under that name, or it has nothing."""
    for name in ("cited", "no_such_name"):

        def theirs(image: Any, out: Any) -> None:
            out[...] = image[1:-1]

        theirs.__module__, theirs.__qualname__ = "slinky.errors", name
        others: list[Any] = []
        assert packed(theirs, others) is not None
        assert others == [theirs]
        assert told(theirs) is None


def test_ufuncs_of_scipy_have_words() -> None:
    special = pytest.importorskip("scipy.special")
    assert None not in {told(special.erf), told(special.expit), told(np.exp)}
    assert told(special.erf) != told(special.erfc)


# ----------------------------------------------------------------------------------------------------------------
# In words
# ----------------------------------------------------------------------------------------------------------------


def ours(image: Any) -> Any:
    return image


class Ours:
    """Somebody's class."""


@attrs.frozen
class Pair:
    """Somebody's data."""

    one: int


class Fails:
    """Somebody's class, which is not to be printed."""

    def __repr__(self) -> str:
        raise AssertionError("it is printed")


def elsewhere() -> Any:
    """A function that is nowhere."""

    def function() -> None: ...

    function.__module__ = ["not", "a", "name"]  # type: ignore[assignment]
    return function


def itself() -> Any:
    """A list that holds itself."""
    found: list[Any] = []
    found.append(found)
    return functools.partial(np.add, found)


@pytest.mark.parametrize(
    "thing",
    [Fails(), {Fails()}, {1: Fails()}, functools.partial(np.add, {Fails()}), elsewhere(), itself(),
     ours, lambda: None, Ours, Ours(), Pair(1), functools.partial(ours, 1), functools.partial(np.add, ours), [ours],
     np.frompyfunc(ours, 1, 1), np.zeros(MOST_BYTES // 8 + 1), np.array([ours]), np.dtype(object), {"key": ours},
     np.zeros(3).sum, Ours().__init__, sl.elementwise(ours), np.dtype("f8", metadata={"is": ours})],
)  # fmt: skip
def test_there_are_no_words_for_what_somebody_else_has_written(thing: Any) -> None:
    assert told(thing) is None


@pytest.mark.parametrize(
    "things",
    [
        (1, 1.0, True, "1", b"1", None, 1 + 0j, (1,), [1], {1: 1}, frozenset({1}), np.int64(1), np.int32(1)),
        (np.int64(1), np.array(1), np.array([1]), np.array(2)),
        (0.0, -0.0, math.nan, math.inf, np.float64(0.0), np.float64(-0.0)),
        (np.add, np.subtract, np.add.reduce, np.add.accumulate, np.subtract.reduce, np.sum, np.mean, np.linalg.norm),
        (np.arange(4), np.arange(4.0), np.arange(4)[::-1], np.arange(4).reshape(2, 2), np.arange(4, dtype=">i8")),
        (np.dtype("f4"), np.dtype(">f4"), np.dtype([("a", "f4")]), np.dtype([("b", "f4")]), np.float32),
        (functools.partial(np.add, 1), functools.partial(np.add, 2), functools.partial(np.add, where=True)),
        tuple(Reducing("sum", f, axes, keywords) for f in (np.sum, np.max) for axes in ((0,), (1,))
              for keywords in ((), (("ddof", 1),))),
        ({1, 2}, {1, 3}, frozenset({1, 2}), [1, 2], {1: 2}, {2: 1}),
        (CLIP, np.clip, np.matmul, np.multiply, np.logical_and),
        (operator.add, math.sin, len, slice, int, sl.Machine, sl.interval),
        (sl.Expr.__add__, sl.variables("x")[0], sl.variables("y")[0], sl.variables("x")[0] + 1, sl.scalar("x")),
    ],
)  # fmt: skip
def test_things_that_differ_differ_in_words(things: Any) -> None:
    words = [told(thing) for thing in things]
    assert None not in words
    assert len({repr(each) for each in words}) == len(things)
    assert [repr(told(thing)) for thing in things] == [*map(repr, words)]
