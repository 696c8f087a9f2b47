"""Every check of stages that overlap is there for a program that would race without it.

As in `test_legality`: each case is refused, and checked mode finds wrong what would be made without any check. (What is
written over an element while it is read is the same number: the second judge finds nothing wrong with that.)
"""

from __future__ import annotations

import itertools

import attrs
import numpy as np
import pytest
from handmade import over
from test_legality import calls, handmade, high, loop, low, numbers, refused_as_wrong_on_these, same, zeros

import slinky as sl
from slinky.ir.statements import Alloc
from slinky.symbolic.expressions import minimum, variable
from slinky.symbolic.intervals import Interval

y, x = sl.variables("y x")
V, W = variable("v"), variable("w")


def copies(*names: str, rank: int = 1) -> sl.Pipeline:
    """A chain of copies from one buffer to the next."""
    index = (y, x)[-rank:]
    chain = [sl.BufferExpr(name, np.int32, rank) for name in names]
    for source, target in itertools.pairwise(chain):
        sl.Func(same, [source[index]], [target[index]], name=f"to_{target.name}")
    return sl.build_pipeline([chain[0]], [chain[-1]])


def allocs(p: sl.Pipeline) -> dict[str, Alloc]:
    return {s.buffer: s for s in p.program.body if isinstance(s, Alloc)}


def point(*coordinates: object) -> list[Interval]:
    return [Interval(c, c) for c in coordinates]  # type: ignore[arg-type]


def test_loops_of_one_variable_in_two_stages() -> None:
    """Each element is read where another one is written, if both loops came to the same x: they do not."""
    inp, t = sl.BufferExpr("inp", np.int32, 1), sl.BufferExpr("t", np.int32, 1)
    out = sl.BufferExpr("out", np.int32, 2)
    sl.Func(same, [inp[x]], [t[x]], name="make")
    sl.Func(same, [t[x + 1]], [out[y, x]], name="take")
    p = sl.build_pipeline([inp], [out])
    made, taken, first, last = *calls(p.program).values(), low("out", 1), high("out", 1)
    making = loop(W, first + 1, last + 1, over(made, point(W)))
    taking = loop(W, first, last, over(taken, point(V, W)))
    p = handmade(p.program, allocs(p)["t"], loop(V, low("out", 0), high("out", 0), making, taking))
    inputs = numbers(6), zeros(3, 4)
    p.run(*inputs, checked=True)
    refused_as_wrong_on_these(
        lambda: sl.pipeline_loop(p, "for v"),
        "stage 1 of loop v would write elements of t that stage 2 of an earlier iteration has yet to read",
        *inputs,
        error=sl.RaceError,
    )


def test_a_last_iteration_that_does_again_what_the_one_before_it_did() -> None:
    """All others write elements of their own."""
    p = copies("inp", "t", "out")
    found, first, last = calls(p.program), low("out", 0), high("out", 0)
    made = over(found["to_t"], [Interval(minimum(V, last - 1), V)])
    p = handmade(p.program, allocs(p)["t"], loop(V, first, last, made, over(found["to_out"], point(V))))
    inputs = numbers(4), zeros(4)
    p.run(*inputs, checked=True)
    refused_as_wrong_on_these(
        lambda: sl.pipeline_loop(p, "for v"),
        "stage 1 of loop v would write elements of t that stage 2 of an earlier iteration has yet to read",
        *inputs,
        error=sl.RaceError,
    )


def test_stages_may_have_buffers_of_one_name() -> None:
    """What each allocates in a loop of its own, another one may, too: they do not share it."""
    p = copies("inp", "t", "u", "w", "out")
    found, made = calls(p.program), allocs(p)
    here = {name: over(call, [Interval(V - 1, V)]) for name, call in found.items()}
    here["to_u"] = over(found["to_u"], point(V))
    again = attrs.evolve(made["w"], buffer="t")
    into, out_of = (
        attrs.evolve(here["to_w"], writes=("t",)),
        attrs.evolve(over(found["to_out"], point(V)), reads=("t",)),
    )
    first = loop(variable("i"), 0, 0, made["t"], here["to_t"], here["to_u"])
    second = loop(variable("j"), 0, 0, again, into, out_of)
    p = handmade(p.program, made["u"], loop(V, low("out", 0), high("out", 0), first, second))
    q = sl.pipeline_loop(p, "for v")
    assert "pipelined (1, 1) depth 2:" in str(q)
    source, target = numbers(5), zeros(5)
    q.run(source, target, checked=True)
    np.testing.assert_array_equal(target.array, source.array)


def test_one_of_several_statements_that_uses_what_another_stage_allocates() -> None:
    """The second stage has two calls, of which the first reads what the first stage allocates anew."""
    p = copies("inp", "t", "u", "w", "out")
    made = allocs(p)
    here = {name: over(call, point(V)) for name, call in calls(p.program).items()}
    body = (made["t"], here["to_t"], here["to_u"], here["to_w"], here["to_out"])
    p = handmade(p.program, made["u"], made["w"], loop(V, low("out", 0), high("out", 0), *body))
    with pytest.raises(sl.SchedulingError, match="stage 2 of loop v uses t, which stage 1 allocates anew in each"):
        sl.pipeline_loop(p, "for v", [p.find("to_t"), p.find("to_u")])
    assert "pipelined (3, 1, 1) depth 3:" in str(sl.pipeline_loop(p, "for v"))


def test_a_buffer_in_the_memory_of_one_that_another_stage_allocates() -> None:
    """Each stage has a buffer of its own, but that of the second lies where the first stage writes the next element."""
    p = copies("inp", "t", "u", "w", "out")
    made = allocs(p)
    here = {name: over(call, point(V)) for name, call in calls(p.program).items()}
    body = (made["t"], here["to_t"], here["to_u"], made["w"], here["to_w"], here["to_out"])
    p = handmade(p.program, made["u"], loop(V, low("out", 0), high("out", 0), *body))
    stages = [p.find("to_t"), p.find("alloc w")]
    assert "pipelined (3, 3) depth 2:" in str(sl.pipeline_loop(p, "for v", stages))
    shared = sl.reuse_buffer(p, "alloc w", "alloc t")
    with pytest.raises(sl.SchedulingError, match="stage 2 of loop v uses t, which stage 1 allocates anew in each"):
        sl.pipeline_loop(shared, "for v", stages)
