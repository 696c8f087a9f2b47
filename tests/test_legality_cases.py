"""What legality says of small programs made by hand, side by side with what checked mode finds when they run.

`make` writes elements of `b`, `use` reads some. Of each wrong program legality must say so, for the case may be the one
that a check exists for; the right ones next to them show that it does not refuse everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from test_legality import loop

import slinky as sl
from slinky.ir.operations import Callback
from slinky.ir.statements import (
    SERIAL,
    Alloc,
    Call,
    Check,
    For,
    If,
    InputPort,
    LoweredFunc,
    OutputPort,
    Pass,
    Program,
    ScalarParameter,
    Statement,
    fresh_identity,
    walk,
)
from slinky.sched.legality.folds import check_folds_of
from slinky.sched.legality.races import check_races
from slinky.sched.legality.reads import check_reads
from slinky.symbolic.expressions import all_of, as_expr, variable
from slinky.symbolic.intervals import Interval

N, T, V = sl.scalar("n"), variable("t"), variable("v")


INT8 = np.dtype(np.int8)


def func(name: str, callback: Callable[..., None], reads: tuple[int, ...]) -> LoweredFunc:
    """A func of two dimensions; what it reads is as far from where it writes as given."""
    i, j = variable(f"{name}.i"), variable(f"{name}.j")
    boxes = [(Interval(i + offset, i + offset), Interval(j, j)) for offset in reads]
    inputs = tuple(InputPort(box, INT8) for box in boxes)
    return LoweredFunc(name, Callback(callback), (i, j), inputs, (OutputPort((0, 1), INT8),))


def fill(target: Any) -> None:
    """Something."""
    target[...] = 1


def fill_all(*targets: Any) -> None:
    """Something, everywhere."""
    for target in targets:
        target[...] = 1


def last(*operands: Any) -> None:
    """What was read last."""
    operands[-1][...] = operands[-2]


MAKE, USE = func("make", fill, ()), func("use", last, (0,))
MAKE_OF_MORE = attrs.evolve(MAKE, dims=(*MAKE.dims, variable("make.more")))
USE_TWO = func("use_two", last, (0, 1))


def box(i: tuple[Any, Any], j: tuple[int, int]) -> tuple[Interval, Interval]:
    """A box."""
    return Interval(as_expr(i[0]), as_expr(i[1])), Interval(as_expr(j[0]), as_expr(j[1]))


def make(*i: Any, j: tuple[int, int] = (0, 0)) -> Call:
    """Write these elements, one or from the first to the last."""
    return Call(MAKE, box((i[0], i[-1]), j), (), ("b",))


def use(*i: Any, j: tuple[int, int] = (0, 0), by: LoweredFunc = USE) -> If:
    """Read these elements, one or from the first to the last."""
    own = Alloc("c", np.dtype(np.int8), ("i", "j"), box((-99, 99), (0, 9)), (None, None))
    return If(as_expr(0) <= 0, (own, Call(by, box((i[0], i[-1]), j), ("b",) * len(by.inputs), ("c",))))


def b(fold: int | None = None) -> Alloc:
    """The buffer."""
    folds = (None if fold is None else as_expr(fold), None)
    return Alloc("b", np.dtype(np.int8), ("i", "j"), box((-50, 50), (0, 9)), folds)


def program(*body: Statement) -> sl.Pipeline:
    """A program of a scalar n, from 0 to 20."""
    statements = (Check(as_expr(0) <= N, "n must be 0 or more"), Check(N <= 20, "n must be 20 at most"), *body)
    return sl.Pipeline(Program("case", (), (), (ScalarParameter("n"),), (), statements))


def is_found_right(p: sl.Pipeline) -> bool:
    """What legality says."""
    version, statements = p._version, list(walk(p.program.body))
    try:
        check_reads(version, [s.id for s in statements if isinstance(s, Call)])
        for s in statements:
            if isinstance(s, Alloc):
                check_folds_of(version, s)
            if isinstance(s, For) and s.mode != SERIAL:
                check_races(version, s.id)
    except sl.SchedulingError:
        return False
    return True


def is_right(p: sl.Pipeline) -> bool:
    """What checked mode finds."""
    try:
        for n in range(6):
            p.run(n=n, checked=True, threads=1)
    except sl.ExecutionError:
        return False
    return True


RIGHT: dict[str, tuple[Statement, ...]] = {
    "all at once": (b(), make(0, 3), use(0, 3)),
    "two parts": (b(), make(0, 1), make(2, 5), use(0, 5)),
    "in a loop": (b(), loop(V, 0, 3, make(V)), use(0, 3)),
    "in a loop by steps": (b(), loop(V, 0, N, make(V, V + 1), step=2), use(0, N)),
    "two parts in each iteration": (b(), loop(V, 0, 3, make(V), make(V + 1), use(V, V + 1))),
    "in an if": (b(), loop(V, 0, 3, make(V), If(V <= 1, (use(V),)))),
    "an else": (b(), make(2, 9), loop(V, 0, 3, If(V <= 1, (), (use(V),)))),
    "something of a dimension that b lacks": (
        b(),
        Call(MAKE_OF_MORE, (*box((0, 3), (0, 0)), Interval(as_expr(0), N)), (), ("b",)),
        use(0, 3),
    ),
    "in an else": (b(), If(N < 0, (), (make(0, 3),)), use(0, 3)),
    "up to a place": (b(), loop(V, 0, 9, If(V <= N, (make(V),))), use(0, sl.minimum(N, 9))),
    "from a place on": (b(), loop(V, 0, 9, If(V >= N, (make(V),))), use(N, 9)),
    "from a place on, by steps": (b(), loop(V, 0, 9, If(V >= 3, (make(V, V + 1),)), step=2), use(4, 9)),
    "between two places": (b(), loop(V, 0, 9, If(all_of(V >= 1, V <= N), (make(V),))), use(1, sl.minimum(N, 9))),
    "a window": (b(), make(-1), loop(V, 0, N, make(V), use(V - 1, V))),
    "a fold": (b(2), loop(V, 0, 9, make(V, V + 1), use(V, V + 1))),
    "its own element": (b(), loop(V, 0, N, make(V), use(V), workers=1)),
}

WRONG: dict[str, tuple[Statement, ...]] = {
    # Coverage: what stands before
    "the other branch": (b(), If(N <= 1, (make(0, 3),), (Pass(), use(0, 3)))),
    "only if": (b(), If(N <= 1, (make(0, 3),)), use(0, 3)),
    "in the else of what holds": (b(), If(N >= 0, (), (make(0, 3),)), use(0, 3)),
    "in the else, less is known": (b(), make(0, 1), loop(V, 0, 3, If(V <= 1, (), (use(V),)))),
    "written later": (b(), loop(V, 0, 3, use(V), make(V))),
    "written later, but for the first": (b(), make(0), loop(V, 0, 3, use(V), make(V))),
    "written later, in the second of two": (b(), make(0), loop(V, 0, 1, use(V), make(V))),
    "before the first": (b(), loop(V, 0, 3, use(V - 1), make(V))),
    "in another iteration of a parallel loop": (b(), loop(V, 0, 3, make(V), If(V >= 1, (use(V - 1),)), workers=1)),
    "another buffer of this name": (loop(V, 0, 0, b(), make(0, 3)), loop(V, 0, 0, b(), use(0, 3), make(5))),
    "a second read": (b(), make(0, 3), use(0, 3, by=USE_TWO)),
    "nothing of a dimension that b lacks": (
        b(),
        Call(MAKE_OF_MORE, (*box((0, 3), (0, 0)), Interval(as_expr(1), N)), (), ("b",)),
        use(0, 3),
    ),
    # Coverage: loops
    "a loop that may not run": (b(), loop(V, 0, N - 1, make(0, 3)), use(0, 3)),
    "steps that do not reach the end": (b(), loop(V, 0, N, make(V, V + 1), step=2), use(0, N + 1)),
    "every second element": (b(), loop(V, 0, 3, make(2 * V)), use(0, 6)),
    "a diagonal": (
        b(),
        loop(V, 0, 3, Call(MAKE, (Interval(V, V), Interval(V, V + 3)), (), ("b",))),
        use(0, 3, j=(0, 3)),
    ),
    "clamped from below": (b(), loop(V, 0, 3, make(sl.maximum(V, 2), V + 1)), use(0, 4)),
    "clamped from above": (b(), loop(V, 0, 3, make(V, sl.minimum(V + 1, 2))), use(0, 4)),
    "loops of the same name": (b(), loop(V, 0, 3, make(2 * V)), loop(V, 5, 6, use(0, 6))),
    # Coverage: loops, of which a condition leaves some iterations
    "from the next on its grid": (b(), loop(V, 0, 9, If(V >= 3, (make(V, V + 1),)), step=2), use(3, 9)),
    "from before the first": (b(), loop(V, 0, 9, If(V >= N - 10, (make(V),))), use(N - 10, 9)),
    "up to behind the last": (b(), loop(V, 0, 3, If(V <= N, (make(V),))), use(0, N)),
    "up to a place, by steps": (
        b(),
        loop(V, 0, 8, If(V <= N, (make(V, V + 1),)), step=2),
        use(0, sl.minimum(2 * N, 9)),
    ),
    "not the first, nor the last": (
        b(),
        loop(V, 0, 3, If(all_of(V >= 1, V <= N), (make(V),))),
        use(0, sl.minimum(N, 3)),
    ),
    "not the last, nor the first": (b(), loop(V, 0, 3, If(all_of(V >= 1, V <= N), (make(V),))), use(1, 3)),
    "up to half of a place": (b(), loop(V, 0, 9, If(2 * V <= N, (make(V),))), use(0, sl.minimum(N, 9))),
    "a triangle": (
        b(),
        loop(T, 0, 3, loop(V, 0, 3, If(V <= T, (Call(MAKE, (Interval(T, T), Interval(V, V)), (), ("b",)),)))),
        use(0, 3, j=(0, 3)),
    ),
    "the other triangle": (
        b(),
        loop(T, 0, 3, loop(V, 0, 3, If(T <= V, (Call(MAKE, (Interval(T, T), Interval(V, V)), (), ("b",)),)))),
        use(0, 3, j=(0, 3)),
    ),
    # Coverage: several boxes
    "too short above": (b(), make(0, 2), use(0, 3)),
    "too short below": (b(), make(1, 3), use(0, 3)),
    "two that leave a gap": (b(), make(0, 1), make(3, 5), use(0, 5)),
    "two that end too early": (b(), make(0, 1), make(2, 3), use(0, 4)),
    "a corner is missing": (b(), make(0, 1, j=(0, 1)), make(2, 3, j=(0, 3)), use(0, 3, j=(0, 3))),
    "side by side in two directions": (b(), make(0, 1, j=(0, 3)), make(0, 3, j=(2, 3)), use(0, 3, j=(0, 3))),
    # Folds
    "one less than is live": (b(2), loop(V, 0, 9, make(V, V + 2), use(V, V + 2))),
    "one write over another": (b(2), loop(V, 0, 3, make(V + 2), make(V), use(V + 2))),
    "two loops of the same name": (b(1), loop(V, 0, 3, make(V)), loop(V, 0, 3, use(V))),
    "two inner loops": (b(3), loop(T, 0, 3, loop(V, 0, 3, loop(variable("w"), 0, 3, make(V))), use(0, 3))),
    "beginnings that move back": (b(3), loop(V, 0, 1, make(V + 2, sl.minimum(V + 2, 2)), make(-V, 1), use(2))),
    "ends that move back": (
        b(3),
        loop(V, 0, 2, make(sl.minimum(3 * V, 3), sl.minimum(3 * V, 4 - V)), use(0, sl.minimum(0, V - 2))),
    ),
    "ends that move back, over what was written": (
        b(3),
        loop(V, 0, 2, make(sl.minimum(V, 1), sl.minimum(1 + 2 * V, 4 - V)), use(0, sl.minimum(0, V - 2))),
    ),
    "read when nothing is written": (
        b(2),
        loop(V, 0, 5, make(V, sl.minimum(V, 3)), use(10 - 2 * V, sl.minimum(10 - 2 * V, 0))),
    ),
    "a fold in a parallel loop": (b(1), loop(V, 0, 3, make(V), use(V), workers=1)),
    # Races
    "the same elements": (b(), loop(V, 0, 3, make(0, 1), use(0, 1), workers=1)),
    "one element of two": (b(), loop(V, 0, 3, make(V, V + 1), use(V, V + 1), workers=1)),
    "two calls": (b(), loop(V, 0, 3, make(V), make(V + 1), workers=1)),
    "two calls that reach the next piece": (b(), loop(V, 0, 9, make(V), make(V + 4), workers=1, step=2)),
    "written before and by others": (b(), make(-1, 9), loop(V, 0, 3, use(V - 1, V), make(V), workers=1)),
    "what others write again": (
        b(),
        loop(T, 0, 1, loop(V, 0, 3, make(V), use(sl.maximum(V - T, 0), V), workers=1)),
    ),
    "inner loops that meet": (b(), loop(T, 0, 3, loop(V, 0, 3, make(3 * T + V)), workers=1)),
    "inner loops that meet, of two": (
        b(),
        loop(T, 0, 1, loop(V, 0, 3, loop(variable("w"), 0, 1, make(4 * T + V + variable("w")))), workers=1),
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program(name: str) -> None:
    p = program(*RIGHT[name])
    assert is_right(p)
    assert is_found_right(p)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program(name: str) -> None:
    p = program(*WRONG[name])
    assert not is_right(p)
    assert not is_found_right(p)


# Rewrites -------------------------------------------------------------------------------------------------------------


def test_a_call_in_the_other_branch_does_not_stand_before_a_loop() -> None:
    p = program(b(), If(N <= 1, (Pass(), make(0, 3), loop(V, 0, 3, use(V))), (make(0, 3),)))
    assert is_right(p)
    with pytest.raises(sl.SchedulingError, match="the call of make does not stand before loop v"):
        sl.compute_at(p, "make #1", "for v")


def test_a_buffer_that_is_sunk_cuts_off_what_it_cut_off() -> None:
    """Two elements are read, in two of four iterations; the bounds of b leave just them of ten that `copy` asks for."""
    source, target = (attrs.evolve(b(), buffer=name, box=box((0, 1), (0, 9)), id=fresh_identity()) for name in "ab")
    made = Call(MAKE, box((0, 1), (0, 0)), (), ("a",))
    copied, read = (
        Call(func("copy", last, (0,)), box((0, 9), (0, 0)), ("a",), ("b",)),
        loop(V, 0, 3, If(V <= 1, (use(V),))),
    )
    p = program(source, target, made, loop(T, 0, 3, copied, read))
    assert is_right(p)
    sunk = sl.store_at(p, "alloc b", "for t")
    assert is_right(sunk)
    assert "    alloc b: int8[0..1, 0]\n" in str(sunk)


def test_what_is_left_of_a_loop_that_ends_before_it_begins() -> None:
    """There is nothing left, however far behind its end it would begin."""
    p = program(b(), make(5, 20), loop(V, 5, N - 1, use(V)))
    assert is_right(p)
    assert is_right(sl.split_loop(p, "for v", 2, tail="cut"))


def test_a_piece_that_shifts_stays_in_the_box_of_its_call() -> None:
    """Two elements are no piece of five; those before them were never written."""
    p = program(b(), make(2, 3), use(2, 3))
    assert is_right(p)
    assert is_right(sl.split_loop(p, p.find("use").dim(0), 5, tail="shift"))


def test_pieces_begin_and_end_where_the_bounds_do() -> None:
    """However much more a call asks for: pieces of what nobody stores would be empty, and shift those behind them."""
    p = program(b(), make(N - 55, 60 - N), use(0, 3))
    p = sl.split_loop(p, p.find("make").dim(0), 101)
    assert "  for i in max(n - 55, -50) .. min(-n + 60, 50) step 101:\n" in str(p)
    assert is_right(p)
    assert all(p.run(n=n, checked=True).calls["make"] == 1 for n in range(6))


def test_pieces_begin_and_end_where_the_bounds_of_all_outputs_do() -> None:
    """A call of two outputs runs where both have elements."""
    both = attrs.evolve(MAKE, name="both", operation=Callback(fill_all), outputs=MAKE.outputs * 2)
    short = Alloc("d", INT8, ("i", "j"), box((0, 9), (0, 9)), (None, None))
    p = program(short, b(), Call(both, box((-60, 60), (0, 0)), (), ("d", "b")), use(0, 3))
    split = sl.split_loop(p, p.find("both").dim(0), 4)
    assert "  for i in 0..9 step 4:\n" in str(split)
    assert is_right(split)


def test_a_program_without_arrays_runs_in_all_ways() -> None:
    """Made by hand: nothing comes in or out."""
    p = program(b(), make(0, 3), use(0, 3))
    expected = {"make": 1, "use": 1}
    assert p.run(n=3).calls == p.run(n=3, backend="interpreter").calls == p.run(n=3, checked=True).calls == expected
    assert p(n=3) == p.bind(n=3)() == ()
    with pytest.raises(sl.CheckFailedError, match="n must be 20 at most"):
        p(n=21)
