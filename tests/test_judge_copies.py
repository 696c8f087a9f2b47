"""The second judge understands copies: what is copied is the same element, wherever it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from judge_copies import reading_of
from second_judge import WrongRewriteError, judge

import slinky as sl
from slinky.ir.operations import Boundary, Copy, CopySource
from slinky.ir.statements import Call, Check, Program
from slinky.symbolic.expressions import constant, metadata, variable
from slinky.symbolic.intervals import Interval, point

y, x = sl.variables("y x")
c = sl.copies


def halved(source: np.ndarray, target: np.ndarray) -> None:
    target[...] = source // 2


def pipeline(make: Callable[[sl.BufferExpr, sl.BufferExpr], sl.Access], **options: Any) -> Program:
    """`out` is half of what is made of `inp` and `other`."""
    inp, other, out = (sl.BufferExpr(name, np.int64, 2) for name in ("inp", "other", "out"))
    sl.Func(halved, [make(inp, other)], [out[y, x]], name="half")
    return sl.build_pipeline([inp, other] if other.is_read else [inp], [out], **options).program


def through(function: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[..., sl.Access]:
    """A copy of `inp`, and the access of it."""

    def make(inp: sl.BufferExpr, other: sl.BufferExpr) -> sl.Access:
        target = sl.BufferExpr("t", np.int64, 2)
        function(inp, target, *arguments, **options)
        return target[y, x]

    return make


def copied(index: Callable[[], tuple[Any, Any]], **options: Any) -> Callable[..., sl.Access]:
    """A copy from points of `inp`, and the access of it."""

    def make(inp: sl.BufferExpr, other: sl.BufferExpr) -> sl.Access:
        target = sl.BufferExpr("t", np.int64, 2)
        c.copy(inp[index()], target[y, x], **options)
        return target[y, x]

    return make


def concatenated(order: int) -> Callable[..., sl.Access]:
    def make(inp: sl.BufferExpr, other: sl.BufferExpr) -> sl.Access:
        target = sl.BufferExpr("t", np.int64, 2)
        c.concatenate([inp, other][::order], target)
        return target[y, x]

    return make


def twice(function: Callable[..., Any]) -> Callable[..., sl.Access]:
    def make(inp: sl.BufferExpr, other: sl.BufferExpr) -> sl.Access:
        between, target = (sl.BufferExpr(name, np.int64, 2) for name in ("between", "t"))
        function(inp, between)
        function(between, target)
        return target[y, x]

    return make


def checked_alike(before: Program, after: Program) -> Program:
    """A program with the checks of another, which are to stay: not they are judged here."""
    checks = [s for s in before.body if isinstance(s, Check)]
    return attrs.evolve(after, body=(*checks, *[s for s in after.body if not isinstance(s, Check)]))


SAME = [
    (copied(lambda: (y - 1, x + 2)), lambda i, o: i[y - 1, x + 2]),
    (through(c.transpose), lambda i, o: i[x, y]),
    (copied(lambda: (y // 2, x)), lambda i, o: i[y // 2, x]),
    (twice(c.flip), lambda i, o: i[y, x]),
    (twice(c.transpose), lambda i, o: i[y, x]),
    (lambda i, o: i.extended("reflect")[y - 1, x], copied(lambda: (y - 1, x), outside="reflect")),
    (lambda i, o: i.extended("constant", value=3)[y - 1, x], copied(lambda: (y - 1, x), outside=3)),
    (lambda i, o: i.extended("wrap")[y, x - 1], copied(lambda: (y, x - 1), outside="grid-wrap")),
]


@pytest.mark.parametrize("number", range(len(SAME)))
def test_a_copy_less_is_the_same(number: int) -> None:
    one, other = map(pipeline, SAME[number])
    for before, after in ((one, other), (other, one)):
        assert judge_freely(before, checked_alike(before, after)) >= 3


def judge_freely(before: Program, after: Program) -> int:
    return judge(before, after, "a rewrite of copies")


DIFFERENT = [
    (copied(lambda: (y - 1, x)), copied(lambda: (y, x))),
    (copied(lambda: (y, x)), lambda i, o: i[x, y]),
    (copied(lambda: (y // 2, x)), copied(lambda: ((y + 1) // 2, x))),
    (copied(lambda: (y - 1, x), outside=3), copied(lambda: (y - 1, x), outside=4)),
    (copied(lambda: (y - 1, x), outside="reflect"), copied(lambda: (y - 1, x), outside="mirror")),
    (copied(lambda: (y - 2, x), outside="reflect"), copied(lambda: (y - 2, x), outside="nearest")),
    (copied(lambda: (y - 3, x), outside="wrap"), copied(lambda: (y - 2, x), outside="wrap")),
    (through(c.flip), through(c.flip, axes=0)),
    (through(c.roll, 1), through(c.roll, 2)),
    (concatenated(1), concatenated(-1)),
]


@pytest.mark.parametrize("number", range(len(DIFFERENT)))
def test_a_copy_of_other_elements_is_found(number: int) -> None:
    before, after = map(pipeline, DIFFERENT[number])
    with pytest.raises(WrongRewriteError, match=r"an element of output out is not what it was|outside of its bounds"):
        judge_freely(before, checked_alike(before, after))


def test_a_copy_of_what_it_does_not_read_is_found() -> None:
    """The region of a call must hold all that is taken from it."""
    before = pipeline(lambda i, o: i.extended("nearest")[y, x])

    def narrowed(statement: Any) -> Any:
        if not isinstance(statement, Call) or statement.func.name == "half":
            return statement
        func = statement.func
        port = func.inputs[0]
        box = (point(metadata("inp", 0, "min")), *port.box[1:])
        return attrs.evolve(statement, func=attrs.evolve(func, inputs=(attrs.evolve(port, box=box),)))

    after = attrs.evolve(before, body=tuple(map(narrowed, before.body)))
    with pytest.raises(WrongRewriteError, match=r"takes .* of its port 0, which it does not read"):
        judge_freely(before, after)


def test_parameters_of_copies_have_their_values() -> None:
    n = sl.scalar("n")
    plain = pipeline(lambda i, o: i[y // n, x + n], require=[n >= 1])
    by_copy = pipeline(copied(lambda: (y // n, x + n)), require=[n >= 1])
    assert judge_freely(plain, checked_alike(plain, by_copy)) >= 3
    other = pipeline(copied(lambda: (y // n, x + n + 1)), require=[n >= 1])
    with pytest.raises(WrongRewriteError):
        judge_freely(plain, checked_alike(plain, other))


def test_the_first_source_that_gives_an_element_is_read() -> None:
    a, b = variable("a"), variable("b")
    edges = Interval(constant(0), constant(2))
    first = CopySource((a - 1, b), (edges, edges), (None, Boundary.WRAP))
    second = CopySource((b,), (None,), (None,), ((a, point(constant(3))),))
    read = reading_of(Copy(dims=(a, b), sources=(first, second)), {})
    assert read((1, 4)) == (0, (0, 1))
    assert read((3, 7)) == (0, (2, 1))
    assert read((4, 7)) is None
    read = reading_of(Copy(dims=(a, b), sources=(second, first)), {})
    assert read((3, 7)) == (0, (7,))


@pytest.mark.parametrize(("sign", "shift"), [(1, -2), (1, 1), (-1, -2), (-1, 0), (-1, 1)])
@pytest.mark.parametrize("way", ["read", "written"])
def test_a_pipeline_that_is_called_past_a_copy_sees_what_the_view_shows(way: str, sign: int, shift: int) -> None:
    """And not what lies beside."""
    (x,) = sl.variables("x")
    a, t, c, u = (sl.BufferExpr(name, np.int64, 1) for name in "atcu")
    sl.Func(np.square, [a[x]], [t[x]], name="square")
    copied = c if way == "read" else u
    sl.copies.copy(t[sign * x + shift], copied[x], name="copy")
    if way == "read":
        sl.Func(np.negative, [c[x]], [u[x]], name="negative")
    p = sl.build_pipeline([a], [u], alias=False)
    p = sl.extract_pipeline(p, p.find("negative" if way == "read" else "square").as_block(), "inner")
    after = sl.alias_copy(p, "copy")  # which is judged
    assert [call.func() for call in after.find_all("_ = _")][-1] == "inner"
    with pytest.raises(WrongRewriteError):
        judge(p.program, elsewhere(after.program, way), "alias_copy", {})


def elsewhere(program: Program, way: str) -> Program:
    """The program with a view that shows what lies beside."""

    def beside(port: Any) -> Any:
        index, box = (e + 1 for e in port.view.index), (Interval(i.min + 1, i.max + 1) for i in port.view.box)
        shown = {"index": tuple(index)} if way == "read" else {"box": tuple(box)}
        return attrs.evolve(port, view=attrs.evolve(port.view, **shown))

    (call,) = (s for s in program.body if isinstance(s, Call) and s.func.name == "inner")
    func = call.func
    field = "inputs" if way == "read" else "outputs"
    ports: dict[str, Any] = {field: tuple(map(beside, getattr(func, field)))}
    forged = attrs.evolve(call, func=attrs.evolve(func, **ports))
    return attrs.evolve(program, body=tuple(forged if s is call else s for s in program.body))
