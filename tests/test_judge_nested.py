"""The second judge runs pipelines of calls on what these say that they read: no less, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import judge_nested
import numpy as np
import pytest
from second_judge import WrongRewriteError, judge

import slinky as sl
from slinky.ir.operations import Nested
from slinky.ir.regions import input_templates
from slinky.ir.statements import Alloc, Call, Check, Program, Statement
from slinky.symbolic.expressions import metadata
from slinky.symbolic.intervals import Box, Interval

(x,) = sl.variables("x")


def following_twice() -> sl.Pipeline:
    """What is read follows `x` twice: for a box of it, more is said than for its points one by one."""
    a, t, out = (sl.BufferExpr(name, np.int64, 1) for name in ("a", "t", "out"))
    sl.Func(np.square, [a[x]], [t[x]], name="squares")
    sl.Func(np.add, [t[x - x // 2], t[x - x // 2 + 1]], [out[x]], name="add")
    return sl.build_pipeline([a], [out])


def nested(p: sl.Pipeline) -> sl.Pipeline:
    """The same, as a call of a pipeline."""
    return sl.extract_pipeline(p, p.body()[2:], "inner")


def spoiled(p: sl.Pipeline, change: Callable[[Call, Nested], Call]) -> Program:
    """A program whose call of a pipeline is another one."""

    def changed(s: Statement) -> Statement:
        return change(s, s.func.operation) if isinstance(s, Call) and isinstance(s.func.operation, Nested) else s

    return attrs.evolve(p.program, body=tuple(map(changed, p.program.body)))


def with_inner(change: Callable[[Program], Program]) -> Callable[[Call, Nested], Call]:
    """The call, of another pipeline."""

    def changed(call: Call, nested: Nested) -> Call:
        operation = attrs.evolve(nested, program=change(nested.program))
        return attrs.evolve(call, func=attrs.evolve(call.func, operation=operation))

    return changed


def with_region(change: Callable[[Interval], Interval]) -> Callable[[Call, Nested], Call]:
    """The call, of a func that says otherwise what it reads."""

    def changed(call: Call, nested: Nested) -> Call:
        (port,) = call.func.inputs
        return attrs.evolve(
            call, func=attrs.evolve(call.func, inputs=(attrs.evolve(port, box=(change(port.box[0]),)),))
        )

    return changed


def with_check(condition: Any) -> Callable[[Program], Program]:
    """A pipeline that asks for something more."""
    return lambda program: attrs.evolve(program, body=(Check(condition, "as nobody asked"), *program.body))


def unchecked(program: Program) -> Program:
    """A pipeline that asks for nothing."""
    return attrs.evolve(program, body=tuple(s for s in program.body if not isinstance(s, Check)))


def reading_more(program: Program) -> Program:
    """A pipeline that computes one element more of its intermediate, and asks for nothing."""

    def more(s: Statement) -> Statement:
        if isinstance(s, Alloc) or (isinstance(s, Call) and s.func.name == "squares"):
            return attrs.evolve(s, box=(Interval(s.box[0].min, s.box[0].max + 1),))
        return s

    return attrs.evolve(unchecked(program), body=tuple(map(more, unchecked(program).body)))


def test_a_pipeline_is_given_what_the_call_says_of_its_box() -> None:
    """It asks for that, and its own intermediates are made of all of it."""
    p = following_twice()
    assert judge(p.program, nested(p).program, "extract_pipeline") >= 3


def asking_nothing_and_handed_less(call: Call, nested: Nested) -> Call:
    """The call of a pipeline that asks for nothing, of a func that leaves out an element that it reads."""
    return with_region(lambda i: Interval(i.min + 1, i.max))(with_inner(unchecked)(call, nested), nested)


a_min, a_max, out_min, out_max = (metadata(name, 0, end) for name in ("a", "out") for end in ("min", "max"))

WRONG: dict[str, tuple[Callable[[Call, Nested], Call], str]] = {
    "a check of the pipeline fails": (with_inner(with_check(a_max <= out_max - 100)), "its check .* fails"),
    "the pipeline asks for an element more": (
        with_inner(with_check(a_min <= out_min - out_max // 2 - 1)), "its check .* fails"),
    "the pipeline reads an element more": (with_inner(reading_more), "outside of its bounds"),
    "the call hands over an element less": (with_region(lambda i: Interval(i.min + 1, i.max)), "its check .* fails"),
    "the call hands over one less, and nobody asks": (asking_nothing_and_handed_less, "outside of its bounds"),
    "the call hands over what is not there": (
        with_region(lambda i: Interval(i.min, i.max + 100)), "outside of its bounds"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_what_a_pipeline_is_given_wrongly_is_found(kind: str) -> None:
    change, message = WRONG[kind]
    p = following_twice()
    with pytest.raises(WrongRewriteError, match=message):
        judge(p.program, spoiled(nested(p), change))


def test_a_region_without_what_the_points_read_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a func says of a box is taken from the program, but not believed."""

    def too_small(func: Any) -> tuple[Box, ...]:
        return tuple(tuple(Interval(i.max, i.max) for i in box) for box in input_templates(func))

    p = following_twice()
    monkeypatch.setattr(judge_nested, "input_templates", too_small)
    with pytest.raises(WrongRewriteError, match="and its points read"):
        judge(p.program, spoiled(nested(p), with_inner(unchecked)))
