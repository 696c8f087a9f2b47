"""Calls that work in place beside others: chains that cross, buffers that lie where the program says, loops and ifs."""

from __future__ import annotations

import numpy as np
import pytest
from sharing_memory import BACKENDS, WIDTH, Step, buffers, given_to, require_same
from test_in_place import Step as Seen
from test_in_place import chain, in_pieces, is_in_place, run

import slinky as sl
from slinky import ir

# Several chains -------------------------------------------------------------------------------------------------------


def test_chains_that_cross_lie_in_two_places() -> None:
    """Each of two buffers is written over another one while the other chain is still read."""
    (i,) = sl.variables("i")
    b0, b1, b2, b3, b4, out = buffers("b0 b1 b2 b3 b4 out")
    sl.Func(Step("f1"), [b0[i]], [b1[i]], name="f1")
    sl.Func(Step("f2"), [b0[i], b0[i]], [b2[i]], name="f2")
    sl.Func(Step("f3"), [b1[i]], [b3[i]], name="f3", in_place=True)
    sl.Func(Step("f4"), [b2[i]], [b4[i]], name="f4", in_place=True)
    sl.Func(Step("f5"), [b3[i - 1], b3[i + 1], b4[i - 1], b4[i + 1]], [out[i]], name="f5")
    p = sl.build_pipeline([b0], [out])
    assert require_same(p, p, 1, 100).peak_bytes == 2 * 8 * 102


def test_what_else_is_read_may_be_more() -> None:
    """Of one buffer a call reads just what it writes of another, and of a third one neighbours, which stay."""
    (i,) = sl.variables("i")
    b0, b1, b2, out = buffers("b0 b1 b2 out")
    sl.Func(Step("f1"), [b0[i]], [b1[i]], name="f1")
    sl.Func(Step("f2"), [b1[i], b0[sl.interval(i - 1, i + 1)]], [b2[i]], name="f2", in_place=True)
    sl.Func(Step("f3"), [b2[sl.interval(i, i + 1)]], [out[i]], name="f3")
    p = sl.build_pipeline([b0], [out])
    assert require_same(p, p, 2).peak_bytes == 8 * (WIDTH + 1)


# Memory that the program says -----------------------------------------------------------------------------------------


def test_what_the_program_puts_into_a_larger_buffer_lies_there() -> None:
    """b3 could be written over b2, which dies there; but it lies in b1, which is larger and used later."""
    (i,) = sl.variables("i")
    b0, b1, b2, b3, out = buffers("b0 b1 b2 b3 out")
    steps = {name: Step(name) for name in ("f1", "f2", "f3", "f4")}
    sl.Func(steps["f2"], [b0[i]], [b2[i]], name="f2")
    sl.Func(steps["f3"], [b2[i]], [b3[i]], name="f3", in_place=True)
    sl.Func(steps["f1"], [b0[i], b0[i]], [b1[i]], name="f1")
    more, window = buffers("more")[0], b1[sl.interval(i - 1, i + 1)]
    sl.Func(Step("f5"), [b3[i]], [more[i]], name="f5")
    sl.Func(steps["f4"], [window, more[i]], [out[i]], name="f4")
    p = sl.build_pipeline([b0], [out])
    edit = sl.edit(p)
    edit.move("f1", p.find("f4").before())
    q = sl.reuse_buffer(edit.finish(), "alloc b3", "alloc b1")
    require_same(p, q, 1)
    for step in steps.values():
        step.places.clear()
    source, found = given_to(p, WIDTH, 1)
    q(source, found)
    assert steps["f3"].places[0][1] == steps["f1"].places[0][2] != steps["f2"].places[0][1]


def test_what_lies_there_before_and_after_keeps_a_plan_from_writing_over_it() -> None:
    """Of three buffers in one memory the second dies in a call that works in place, and the third is written while
    what that wrote is still read."""
    (i,) = sl.variables("i")
    b0, b1, b2, b3, b4, b5, out = buffers("b0 b1 b2 b3 b4 b5 out")
    sl.Func(Step("f1"), [b0[i]], [b1[i]], name="f1")
    sl.Func(Step("f2"), [b1[i]], [b2[i]], name="f2")
    sl.Func(Step("f3"), [b2[i]], [b3[i]], name="f3")
    sl.Func(Step("f4"), [b3[i]], [b4[i]], name="f4", in_place=True)
    sl.Func(Step("f5"), [b0[i], b0[i]], [b5[i]], name="f5")
    sl.Func(Step("f6"), [b4[i], b5[i]], [out[i]], name="f6")
    p = sl.build_pipeline([b0], [out])
    q = sl.reuse_buffer(sl.reuse_buffer(p, "alloc b3", "alloc b1"), "alloc b5", "alloc b1")
    require_same(p, q, 0)


def test_what_lay_there_before_and_after_keeps_a_plan_from_taking_it_over() -> None:
    """In the memory of b4, which could be written over b1, lies b2, which was used while b1 was there, and b5, which is
    used later."""
    (i,) = sl.variables("i")
    b0, b1, b2, b3, b4, b5, b6, out = buffers("b0 b1 b2 b3 b4 b5 b6 out")
    sl.Func(Step("f1"), [b0[i]], [b1[i]], name="f1")
    sl.Func(Step("f2"), [b1[i]], [b2[i]], name="f2")
    sl.Func(Step("f3"), [b2[i]], [b3[i]], name="f3")
    sl.Func(Step("f4"), [b1[i], b3[i]], [b4[i]], name="f4", in_place=True)
    sl.Func(Step("f5"), [b4[i]], [b6[i]], name="f5")
    sl.Func(Step("f6"), [b6[i]], [b5[i]], name="f6")
    sl.Func(Step("f7"), [b5[i], b6[i]], [out[i]], name="f7")
    p = sl.build_pipeline([b0], [out])
    edit = sl.edit(p)
    edit.move("alloc b4", p.find("alloc b2").before())
    q = sl.reuse_buffer(sl.reuse_buffer(edit.finish(), "alloc b2", "alloc b4"), "alloc b5", "alloc b4")
    require_same(p, q, 0)


# What lies in a way of its own ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["b1", "b2", "b3"])
def test_a_buffer_with_a_layout_lies_alone(name: str) -> None:
    """Its elements stand apart, or begin where it was asked for: neither of what is like it but for that."""
    p, steps = chain(4, in_place=True)
    p = sl.set_layout(p, f"alloc {name}", ["i"], alignment=256)
    np.testing.assert_array_equal(run(p, 9, steps), np.arange(9) + 4)
    n = int(name[1])
    assert [is_in_place(step) for step in steps[1:]] == [k not in (n - 1, n) for k in range(1, 4)]
    assert steps[n].inputs_at[0][0] % 256 == 0


def test_a_buffer_of_which_one_dimension_is_folded_lies_alone() -> None:
    i, j = sl.variables("i j")
    b0, b1, b2, b3, out = buffers("b0 b1 b2 b3 out", 2)
    steps = [Seen(f"f{n}") for n in range(4)]
    for step, s, t in zip(steps, (b0, b1, b2, b3), (b1, b2, b3, out), strict=True):
        sl.Func(step, [s[i, j]], [t[i, j]], in_place=True)
    p = sl.assume_shape(sl.build_pipeline([b0], [out]), out=(sl.interval(0, 3), None))
    p = sl.fold_storage(p, "alloc b2", "i", 4)
    found = np.zeros((4, 5))
    for how in BACKENDS:
        p.run(np.arange(20.0).reshape(4, 5), found, **how)
        np.testing.assert_array_equal(found, np.arange(20.0).reshape(4, 5) + 4)
    for step in steps:
        step.inputs_at.clear()
        step.outputs_at.clear()
    p(np.arange(20.0).reshape(4, 5), found)
    assert [is_in_place(step) for step in steps] == [False, False, False, True]


# Ifs ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [None, 2])
def test_a_call_in_an_if_of_a_loop_writes_an_output_in_place(workers: int | None) -> None:
    p, steps = chain(2, in_place=True)
    p = in_pieces(p, 2, 4)
    if workers is not None:
        p = sl.parallelize_loop(p, "for i", workers)
    edit = sl.edit(p)
    loop = edit.statement("for i")
    edit.replace("for i", ir.with_body(loop, (ir.If(loop.variable >= loop.range.min, loop.body),)))
    np.testing.assert_array_equal(run(edit.finish(), 10, steps), np.arange(10) + 2)
    assert is_in_place(steps[1])
