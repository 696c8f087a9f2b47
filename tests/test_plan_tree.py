"""Plan trees: what they keep to, and that what breaks it is found. All trees that the tests make are checked, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
import numpy as np
import pytest
from plan_invariants import check_tree
from scheduled import by_rows, stencil, stencils

import slinky as sl
from slinky.runtime.codegen.generator import Kind, plan_tree
from slinky.runtime.codegen.origin import at_origin
from slinky.runtime.codegen.uses import names_assigned, names_used
from slinky.runtime.plan_tree import (
    Assign,
    Fetch,
    GiveArena,
    Guard,
    Linear,
    Loop,
    Name,
    ParallelLoop,
    PlanTree,
    RecordBlock,
    RecordCall,
    RecordFree,
    Reserve,
    Run,
    StagedLoop,
    Step,
    Steps,
    TakeArena,
)
from slinky.runtime.python_text import python_text


def walk_steps(steps: Steps) -> Iterator[Step]:
    """Some steps and those inside them, in the order in which they stand."""
    waiting = [iter(steps)]
    while waiting:
        step = next(waiting[-1], None)
        if step is None:
            waiting.pop()
            continue
        yield step
        match step:
            case Guard(body=body, orelse=orelse):
                waiting += [iter(orelse), iter(body)]
            case StagedLoop(stages=stages):
                waiting += [iter(stage.body) for stage in reversed(stages)]
            case Loop(body=body) | ParallelLoop(body=body) | RecordBlock(body=body) | RecordCall(body=body):
                waiting.append(iter(body))


def folded() -> sl.Pipeline:
    """A stencil by rows, its intermediate three rows that slide."""
    return by_rows(stencil())[0]


def in_parallel() -> sl.Pipeline:
    """Two stencils by strips in parallel, the intermediates of a strip made for it alone."""
    p, (loop, _, _) = sl.split_loop(stencils(2), "s2.y", 4, rc=True)
    for func in ("s1", "add"):
        p, at = sl.compute_at(p, func, loop, rc=True)
        p = sl.store_at(p, at.alloc, loop)
    return sl.parallelize_loop(p, loop, 2)


def trees() -> list[PlanTree]:
    """Variants of plans with most kinds of steps."""
    kinds = [Kind(), Kind(recorded=True), Kind(bound=True), Kind(nonempty=False)]
    found = [plan_tree(p.program, kind) for p in (folded(), in_parallel()) for kind in kinds]
    moved = at_origin(in_place().program)
    assert moved is not None
    return [*found, plan_tree(moved, Kind(at_origin=True)), plan_tree(in_place().program, Kind())]


def in_place() -> sl.Pipeline:
    """Two ufuncs, the first of which may write to the output of the second."""
    (x,) = sl.variables("x")
    inp, between, out = (sl.BufferExpr(name, np.float64, 1) for name in ("inp", "between", "out"))
    sl.Func(np.negative, [inp[x]], [between[x]], name="first")
    sl.Func(np.square, [between[x]], [out[x]], name="second")
    return sl.build_pipeline([inp], [out])


def rebuilt(steps: Steps, change: Callable[[Step], Steps]) -> Steps:
    """Steps in which each is replaced by what a function gives for it, those inside first."""
    found: list[Step] = []
    for step in steps:
        if isinstance(step, (Guard, Loop, ParallelLoop, RecordBlock, RecordCall)):
            step = attrs.evolve(step, body=rebuilt(step.body, change))
        if isinstance(step, StagedLoop):
            stages = [attrs.evolve(stage, body=rebuilt(stage.body, change)) for stage in step.stages]
            step = attrs.evolve(step, stages=tuple(stages))
        found += change(step)
    return tuple(found)


def without(kind: type[Step]) -> Callable[[Step], Steps]:
    return lambda step: () if isinstance(step, kind) else (step,)


def twice(kind: type[Step]) -> Callable[[Step], Steps]:
    return lambda step: (step, step) if isinstance(step, kind) else (step,)


def from_nowhere(step: Step) -> Steps:
    """A callback writes to what was never made."""
    return (attrs.evolve(step, outputs=(Name("nowhere"),)),) if isinstance(step, Run) else (step,)


def to_a_number(step: Step) -> Steps:
    """A callback is given a number in place of an array."""
    return (attrs.evolve(step, inputs=(Linear(((1, Name("size")),), 1),)),) if isinstance(step, Run) else (step,)


BROKEN = {
    "nothing is reserved": (folded, Kind(), without(Reserve)),
    "nothing is fetched": (folded, Kind(), without(Fetch)),
    "fetched twice under one name": (folded, Kind(), twice(Fetch)),
    "reserved twice": (in_parallel, Kind(), twice(Reserve)),
    "an arena is kept": (in_parallel, Kind(), without(GiveArena)),
    "an arena is given back twice": (in_parallel, Kind(), twice(GiveArena)),
    "an arena is not taken": (in_parallel, Kind(), without(TakeArena)),
    "a recorder does not hear of an end": (folded, Kind(recorded=True), without(RecordFree)),
    "a recorder hears of an end twice": (folded, Kind(recorded=True), twice(RecordFree)),
    "names without values": (folded, Kind(), without(Assign)),
    "an array from nowhere": (folded, Kind(), from_nowhere),
    "a number for an array": (folded, Kind(), to_a_number),
    "a call that is counted runs nothing": (folded, Kind(recorded=True), without(Run)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_a_tree_is_found(name: str) -> None:
    program, kind, change = BROKEN[name]
    tree = plan_tree(program().program, kind)
    check_tree(tree)
    with pytest.raises((AssertionError, ValueError)):
        check_tree(attrs.evolve(tree, body=rebuilt(tree.body, change)))


def test_trees_of_all_variants_keep_to_the_invariants() -> None:
    for tree in trees():
        check_tree(tree)


def test_what_steps_bind_and_use_is_what_the_text_names() -> None:
    for tree in trees():
        source = python_text(tree).source
        bound = {name for step in walk_steps(tree.body) for name in names_assigned(step)}
        for name in bound | names_used(tree.body):
            assert name in source
        again = () if tree.again is None else tree.again.body
        unused = bound - names_used((*tree.body, *again))
        # What is never used is not worth a line, but for the one that comes with others and sites whose array is not
        # needed; the end of a dimension, say, is there only where something asks for it.
        assert not {name for name in unused if name.endswith(("_max", "_stride", "_read_only", "_is_contiguous"))}


def test_lines_of_the_text_know_their_places() -> None:
    tree = plan_tree(folded().program, Kind())
    text = python_text(tree)
    lines = text.source.splitlines()
    runs = [step for step in walk_steps(tree.body) if isinstance(step, Run)]
    for run in runs:
        own = [lines[number - 1] for number, place in text.places.items() if place is run.place]
        assert any(f"{run.callback.text}(" in line for line in own)
    assert {id(run.place) for run in runs} <= {id(place) for place in text.places.values()}
