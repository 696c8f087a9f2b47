"""Making a plan takes bounded work, whatever the program: it asks in a run what takes too long to prove."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

import slinky as sl
from benchmarks.plans import stencils
from slinky.runtime import plan
from slinky.runtime.arena import Arenas
from slinky.runtime.codegen.carried import without_carried_folds
from slinky.runtime.codegen.generator import Kind
from slinky.symbolic import proofs, search
from slinky.symbolic.expressions import variable
from slinky.symbolic.layers import Layers
from slinky.symbolic.patience import limited_patience


def in_nested_loops(factors: list[int]) -> sl.Pipeline:
    """Two stencils, the second in a loop for each factor, none of which divides another."""
    (x,) = sl.variables("x")
    inp, between, out = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "between", "out"))
    for k, (source, target) in enumerate(((inp, between), (between, out))):
        sl.Func(middle, [source[sl.interval(x - 1, x + 1)]], [target[x]], name=f"f{k}")
    p = sl.build_pipeline([inp], [out])
    for factor in factors:
        p = sl.split_loop(p, "f1.x", factor)
    return p


def middle(source: np.ndarray, target: np.ndarray) -> None:
    """The middle of three."""
    target[...] = source[1:-1]


@pytest.mark.parametrize("count", [8, 20, 60])
def test_loops_with_unrelated_factors_take_bounded_work(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    p = in_nested_loops([10**6 - 1009 * k - k * k for k in range(count)])
    work: Counter[str] = Counter()
    solution, proved = search.System.solution, proofs._proved

    def counted_solution(system: search.System, work_left: Any) -> Any:
        work["numbers"] += len(system.rows) * len(system.atoms)
        return solution(system, work_left)

    def counted_proved(*question: Any) -> bool:
        work["questions"] += 1
        return proved(*question)

    monkeypatch.setattr(search.System, "solution", counted_solution)
    monkeypatch.setattr(proofs, "_proved", counted_proved)
    p.compile()
    assert work["numbers"] <= 3_000_000
    assert work["questions"] <= 150 * count
    monkeypatch.undo()
    source = sl.Buffer(np.arange(33.0), min=(-2,))
    result, right = np.zeros(29), np.zeros(29)
    p(source, result)
    p.run(source, right, backend="interpreter")
    np.testing.assert_array_equal(result, right)
    np.testing.assert_array_equal(result, np.arange(2.0, 31.0))


def chain(count: int) -> Callable[[], object]:
    """Build and plan a chain of funcs."""
    (x,) = sl.variables("x")
    buffers = [sl.BufferExpr(f"b{k}", np.float64, 1) for k in range(count + 1)]
    for k in range(count):
        sl.Func(np.negative, [buffers[k][x]], [buffers[k + 1][x]], name=f"f{k}")
    return lambda: sl.build_pipeline([buffers[0]], [buffers[-1]]).to_python()


def bounds_of_bounds(count: int) -> Callable[[], object]:
    """Build a chain of funcs whose bounds are those of the one before."""
    (x,) = sl.variables("x")
    buffers = [sl.BufferExpr(f"b{k}", np.float64, 1) for k in range(count + 1)]
    for k in range(count):
        sl.Func(middle, [buffers[k][:]], [buffers[k + 1][x]], name=f"f{k}")
        if k + 1 < count:
            buffers[k + 1].dim(0).min = buffers[k].dim(0).min
            buffers[k + 1].dim(0).max = buffers[k].dim(0).max
    return lambda: sl.build_pipeline([buffers[0]], [buffers[-1]]).to_python()


@pytest.mark.parametrize("program", [chain, bounds_of_bounds])
def test_building_and_planning_grow_with_the_program(program: Callable[[int], Callable[[], object]]) -> None:
    program(10)()  # what is done once
    small, large = (calls_made(program(count)) for count in (150, 600))
    assert large <= 4.2 * small


def test_what_folds_carry_is_found_in_proportion_to_the_program() -> None:
    small, large = (calls_made(partial(without_carried_folds, stencils(count).program)) for count in (6, 24))
    assert large <= 5 * small


def nested(depth: int) -> sl.Pipeline:
    """A read at a choice of choices, each of which stands twice in the next one."""
    (x,) = sl.variables("x")
    e: Any = x
    for k in range(depth):
        e = sl.maximum(e, -k) // 2 + sl.minimum(e, k)
    inp, out = sl.BufferExpr("inp", np.float64, 1), sl.BufferExpr("out", np.float64, 1)
    sl.Func(np.negative, [inp[e]], [out[x]], name="f")
    return sl.split_loop(sl.build_pipeline([inp], [out]), "f.x", 1)


def test_plans_of_nested_choices_grow_with_their_depth() -> None:
    nested(4).to_python()  # what is done once
    small, large = (calls_made(nested(depth).to_python) for depth in (10, 40))
    assert large <= 6 * small
    assert len(nested(40).to_python()) <= 4.2 * len(nested(10).to_python())
    p, source = nested(12), sl.Buffer(np.arange(400.0), min=(-200,))
    results = [np.zeros(9) for _ in range(2)]
    for result, backend in zip(results, ("python", "interpreter"), strict=True):
        p.run(source, sl.Buffer(result, min=(-4,)), backend=backend)
    np.testing.assert_array_equal(*results)
    assert len(set(results[0])) > 1


def calls_made(action: Callable[[], object]) -> int:
    """How many functions are called."""
    count = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def test_what_is_in_scope_is_not_copied_for_every_statement() -> None:
    names = Layers({"out": -1})
    copied = 0
    for k in range(4096):
        earlier, names = names, names.plus(f"b{k % 3000}", k)
        copied += len(names._layers[0])
        assert earlier.get(f"b{k}") is None or k >= 3000
    assert copied <= 4096 * (16 + 12)
    assert len(names._layers) <= 12
    assert dict(names) == {"out": -1, **{f"b{k % 3000}": k for k in range(4096)}}
    assert "b3000" not in names
    with pytest.raises(KeyError):
        names["b3000"]


def test_what_was_not_searched_for_is_not_remembered() -> None:
    a, b, c = map(variable, "abc")
    known = proofs.facts(2 * a - 3 * b >= 0, 3 * b - 2 * c - 1 >= 0, a + b <= c * 5 // 3)
    goal = 2 * a >= 2 * c + 1
    harder = sl.maximum(a, b) + sl.minimum(b, c) >= a + c
    alone = [proofs.prove(g, proofs.facts(*known.conditions(), a + 10**9 >= 0)) for g in (goal, harder)]
    with limited_patience(0):
        proofs.prove(goal, known)
        proofs.prove(harder, known)
    assert [proofs.prove(g, known) for g in (goal, harder)] == alone
    assert any(alone)


def test_a_run_makes_one_plan_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """That which runs when nobody counts is made when somebody calls the pipeline so, or compiles it."""
    made: list[Kind] = []
    make = plan.plan_tree

    def counted(program: Any, kind: Kind) -> Any:
        made.append(kind)
        return make(program, kind)

    monkeypatch.setattr(plan, "plan_tree", counted)
    source, target = np.arange(5.0), np.zeros(5)
    for run, kind in (
        (lambda p: p.run(source, target), Kind(recorded=True, at_origin=True)),
        (lambda p: p.run(sl.Buffer(source, min=(1,)), sl.Buffer(target, min=(1,))), Kind(recorded=True)),
        (lambda p: p.memory(source, target), None),
        (lambda p: p.bind(source, target)(), Kind(at_origin=True, bound=True)),
        (lambda p: p(source, target), Kind(at_origin=True)),
        (lambda p: p(sl.Buffer(source, min=(1,)), sl.Buffer(target, min=(1,))), Kind()),
        (lambda p: p.compile(), Kind(at_origin=True)),
        (lambda p: p.to_python(), Kind(at_origin=True)),
    ):
        p = line()
        for _ in range(2):
            run(p)
            assert made == ([] if kind is None else [kind])
        made.clear()


def line() -> sl.Pipeline:
    """One func of one dimension."""
    (x,) = sl.variables("x")
    inp, out = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "out"))
    sl.Func(np.negative, [inp[x]], [out[x]], name="negate")
    return sl.build_pipeline([inp], [out])


def test_a_run_that_allocates_nothing_takes_no_arena(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one func, say, over whole arrays, and the way into it counts."""
    x, y = sl.variables("x y")
    inp, out = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "out"))
    sl.Func(np.negative, [inp[y, x]], [out[y, x]], name="negate")
    p = sl.build_pipeline([inp], [out])
    p.compile()

    def refuse(_self: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Arenas, "take", refuse)
    source = np.arange(6.0).reshape(2, 3)
    source.setflags(write=False)
    np.testing.assert_array_equal(p(source, np.zeros((2, 3))), -source)
    with pytest.raises(sl.ArgumentError, match="expected dtype float64"):
        p(source, np.zeros((2, 3), np.float32))


class Watched(np.ndarray):
    """An array that notes what slices are made of it."""

    slices: ClassVar[list[object]] = []

    def __getitem__(self, index: Any) -> Any:
        Watched.slices.append(index)
        return super().__getitem__(index)


@pytest.mark.parametrize("origin", [(0, 0), (5, -7)])
@pytest.mark.parametrize("func", [np.negative, lambda source, target: np.negative(source, target)])
def test_an_array_that_is_read_as_a_whole_is_not_sliced(func: Callable[..., Any], origin: tuple[int, int]) -> None:
    """That is asked at each end of each dimension."""
    y, x = sl.variables("y x")
    inp, out = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "out"))
    sl.Func(func, [inp[y, x]], [out[y, x]], name="negate")
    p = sl.build_pipeline([inp], [out])
    whole = np.arange(12.0).reshape(3, 4)[::-1]
    boxes = ((0, 0, 3, 4), (0, 0, 2, 4), (0, 0, 3, 3), (1, 0, 2, 4), (0, 1, 3, 3), (1, 1, 1, 2))
    for top, left, height, width in boxes:
        target = np.zeros((height, width))
        source = sl.Buffer(whole.view(Watched), min=origin)
        Watched.slices.clear()
        p(source, sl.Buffer(target, min=(origin[0] + top, origin[1] + left)))
        np.testing.assert_array_equal(target, -whole[top : top + height, left : left + width])
        assert bool(Watched.slices) == ((height, width) != (3, 4))


def test_what_is_read_once_is_cropped_once_and_cannot_be_written() -> None:
    y, x = sl.variables("y x")
    inp, out = (sl.BufferExpr(name, np.float64, 2) for name in ("inp", "out"))
    given: list[np.ndarray] = []

    def double(source: np.ndarray, target: np.ndarray) -> None:
        given.append(source)
        target[...] = 2 * source

    sl.Func(double, [inp[y, x]], [out[y, x]], name="double")
    p = sl.build_pipeline([inp], [out])
    assert "read_only" not in p.to_python()
    source = np.arange(12.0).reshape(3, 4)
    for origin in ((0, 0), (-1, -2)):
        for height, width in ((3, 4), (2, 2), (1, 2)):
            place = sl.Buffer(np.zeros((height, width)), min=origin)
            p(sl.Buffer(source, min=origin), place)
            np.testing.assert_array_equal(place.array, 2 * source[:height, :width])
            assert given[-1].shape == (height, width)
            assert given[-1] is not source
            assert np.shares_memory(given[-1], source)
            assert not given[-1].flags.writeable
    assert source.flags.writeable
    run = p.bind(source, np.zeros((3, 4)))
    run()
    assert given[-1].base is not None
    assert not given[-1].flags.writeable
