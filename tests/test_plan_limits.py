"""Plans where shapes are odd, memory is short, or nests are deep: as the interpreter, or a refusal that says why."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from handmade import by_the_program, mode
from planned import chain, in_pieces

import slinky as sl
from slinky.ir.statements import SERIAL, Alloc, Block, Call, Check, For, If, fresh_identity
from slinky.symbolic.expressions import Expr, as_expr, variable
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import facts, impossible

n = sl.scalar("n")
v = variable("v")


def with_a_block(make: Callable[[Alloc, Call], Block], requirement: Any) -> sl.Pipeline:
    """A chain of two behind a block made of an allocation (of `t`) and a call that writes it."""
    (i,) = sl.variables("i")
    a, b, out = (sl.BufferExpr(name, np.float64, 1) for name in ("a", "b", "out"))
    sl.Func(np.negative, [a[i]], [b[i]], name="first")
    sl.Func(np.square, [b[i]], [out[i]], name="second")
    program = sl.build_pipeline([a], [out], require=[requirement]).program
    checks = tuple(s for s in program.body if isinstance(s, Check))
    alloc, first, second = (s for s in program.body if not isinstance(s, Check))
    assert isinstance(alloc, Alloc)
    assert isinstance(first, Call)
    func = attrs.evolve(first.func, name="f")
    t = attrs.evolve(alloc, buffer="t", id=fresh_identity())
    block = make(t, attrs.evolve(first, func=func, writes=("t",), id=fresh_identity()))
    p = sl.Pipeline(attrs.evolve(program, body=(*checks, *block, alloc, first, second)))
    p.verify()
    return p


def in_every_way(p: sl.Pipeline, **scalars: int) -> None:
    """Run; all ways give the same."""
    a, results = np.arange(10.0), [np.zeros(10) for _ in range(4)]
    right = p.run(a, results[0], backend="interpreter", **scalars)
    found = p.run(a, results[1], **scalars)
    assert by_the_program(found) == by_the_program(right)
    promised = p.memory(a, results[1], **scalars)
    assert promised.program_bytes == right.program_bytes
    assert promised.peak_bytes >= found.peak_bytes
    p(a, results[2], **scalars)
    p.bind(a, results[3], **scalars)()
    for result in results:
        np.testing.assert_array_equal(result, a * a)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("fold", [None, 3])
@pytest.mark.parametrize("workers", [None, 2])
@pytest.mark.parametrize("value", [3, -1, -5])
def test_an_allocation_in_a_loop_that_does_nothing(value: int, workers: int | None, fold: int | None) -> None:
    """Before the loop, its extent would be negative."""

    def loop(t: Alloc, call: Call) -> Block:
        box = Interval(as_expr(0), n)
        t = attrs.evolve(t, box=(box,), folds=(None if fold is None else as_expr(fold),))
        return (For(v, box, as_expr(1), mode(workers), (t, attrs.evolve(call, box=(Interval(v, v),)))),)

    in_every_way(with_a_block(loop, n <= 9), n=value)


def in_a_branch(condition: Any, last: Expr, fold: Expr | None = None) -> Callable[[Alloc, Call], Block]:
    """An allocation from 0 to the last, of which the first element is written."""

    def branch(t: Alloc, call: Call) -> Block:
        t = attrs.evolve(t, box=(Interval(as_expr(0), last),), folds=(fold,))
        return (If(condition, (t, attrs.evolve(call, box=(Interval(as_expr(0), as_expr(0)),)))),)

    return branch


@pytest.mark.parametrize("value", [3, 0, -1])
def test_a_fold_in_a_branch(value: int) -> None:
    """The fold is positive in the branch alone."""
    in_every_way(with_a_block(in_a_branch(n >= 1, as_expr(1000), n), n <= 100), n=value)


@pytest.mark.parametrize("value", [3, 60, 1_000_000])
def test_a_branch_that_is_not_taken_takes_no_memory(value: int) -> None:
    in_every_way(with_a_block(in_a_branch(n <= 50, n * n * n), n >= 1), n=value)


class Watching:
    """A callback that copies, and keeps weak references to the memory that it writes to."""

    def __init__(self) -> None:
        self.seen: list[weakref.ref[np.ndarray]] = []

    def __call__(self, source: np.ndarray, target: np.ndarray) -> None:
        memory = target
        while isinstance(memory.base, np.ndarray):
            memory = memory.base
        self.seen.append(weakref.ref(memory))
        target[...] = source

    def kept(self) -> int:
        """The bytes of it that are still there."""
        gc.collect()
        alive = {id(memory): memory for memory in (reference() for reference in self.seen) if memory is not None}
        return sum(memory.nbytes for memory in alive.values())


def difference(source: np.ndarray, target: np.ndarray) -> None:
    """Over two rows."""
    target[...] = source[1:] - source[:-1]


def test_rings_of_many_sizes_are_not_kept() -> None:
    y, x = sl.variables("y x")
    inp, intm, out = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "intm", "out"))
    watching = Watching()
    sl.Func(watching, [inp[y, x]], [intm[y, x]], name="copy")
    sl.Func(difference, [intm[sl.interval(y, y + 1), x]], [out[y, x]], name="difference")
    p, (rows, _, _) = sl.split_loop(sl.build_pipeline([inp], [out]), "difference.y", 1, rc=True)
    p, copy = sl.compute_at(p, "copy", rows, rc=True)
    p = sl.fold_storage(sl.slide_window(p, copy.call, rows), copy.alloc, "y")
    for width in range(2_000, 82_000, 2_000):
        source = np.arange(6.0 * width).reshape(6, width)
        result = np.zeros((5, width))
        p(source, result)
        np.testing.assert_array_equal(result, width)
    largest = 2 * (2 * 80_000 * 8 + 2 * 4096 * 8)  # mapped twice, and rounded up to pages
    assert watching.kept() <= 4 * largest
    p(np.zeros((6, 10)), np.zeros((5, 10)))
    assert watching.kept() <= 4 * 2 * 2**16


def test_allocations_of_many_sizes_that_are_not_known_before_are_not_kept() -> None:
    watching = Watching()

    def loop(t: Alloc, call: Call) -> Block:
        t = attrs.evolve(t, box=(Interval(as_expr(0), 1000 * v - 1),))
        func = attrs.evolve(call.func, operation=attrs.evolve(call.func.operation, function=watching))
        body = (t, attrs.evolve(call, func=func, box=(Interval(as_expr(0), as_expr(0)),)))
        return (For(v, Interval(as_expr(1), 60 // n), as_expr(1), SERIAL, body),)

    p = with_a_block(loop, n <= 100)
    in_every_way(p, n=1)
    watching.seen.clear()
    p(np.arange(10.0), np.zeros(10), n=1)
    assert 0 < watching.kept() <= 4 * 8 * 60_000 + 4 * 64


def test_a_bound_pipeline_gives_back_the_memory_of_parallel_loops() -> None:
    watching = Watching()
    run = in_pieces(chain(watching, np.square), 2, 100, workers=2).bind(np.arange(1000.0), np.zeros(1000))
    run()
    assert watching.kept() > 0
    run.release()
    assert watching.kept() == 0
    np.testing.assert_array_equal(run(), np.arange(1000.0) ** 2)


class Once:
    """An array that can be handed over once."""

    def __init__(self, array: np.ndarray) -> None:
        self.array: np.ndarray | None = array

    def __dlpack__(self, **options: Any) -> object:
        if self.array is None:
            raise BufferError("already consumed")
        array, self.array = self.array, None
        return array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_binding_takes_an_array_once() -> None:
    out = np.zeros(3)
    assert chain(np.negative).bind(Once(np.arange(3.0)), out)() is out
    np.testing.assert_array_equal(out, [0, -1, -2])


def test_a_nest_that_python_has_no_room_for_says_so() -> None:
    def nest(t: Alloc, call: Call) -> Block:
        body: Block = (t, call)
        for k in range(100):
            body = (For(variable(f"v{k}"), Interval(as_expr(0), n), as_expr(1), SERIAL, body),)
        return body

    p = with_a_block(nest, n <= 9)
    a, out = np.arange(10.0), np.zeros(10)
    for way in (p, p.bind, p.run, p.memory):
        with pytest.raises(sl.ExecutionError, match=r"nested too deeply for a plan.*backend='interpreter'"):
            way(a, out, n=0)
    p.run(a, out, n=0, backend="interpreter")
    np.testing.assert_array_equal(out, a * a)


def test_facts_of_any_depth_can_be_asked_whether_they_contradict_each_other() -> None:
    known = facts(v >= 0)
    for k in range(1_500):  # more than Python's calls may nest
        known = known.also(n <= 10_000 - k)
    assert not impossible(known)
    assert impossible(known.also(n >= 10_000))


def test_a_division_by_zero_in_an_argument_says_which() -> None:
    (i,) = sl.variables("i")
    a, b = (sl.BufferExpr(name, np.float64, 1) for name in "ab")
    sl.Func(lambda s, t, *, k: None, [a[i]], [b[i]], name="f", arguments={"k": a.dim(0).max // (n - 1)})
    p = sl.build_pipeline([a], [b])
    told = []
    for run in (lambda *args: p.run(*args, n=1, backend="interpreter"), lambda *args: p(*args, n=1)):
        with pytest.raises(sl.ExpressionError) as raised:
            run(np.zeros(3), np.zeros(3))
        told.append((str(raised.value), getattr(raised.value, "__notes__", [])))
    assert told[0] == told[1]
    assert told[0][1] == ["in the call f[0..2] of pipeline f"]
