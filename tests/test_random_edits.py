"""Random edits, most of them wrong: what the gate accepts is well formed and means the same, what it refuses says why.

Every edit that is accepted comes before the second judge, as all rewrites of the tests do.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, build, graphs, image_graphs, run_and_compare
from random_schedules import Chain

import slinky as sl
from slinky import ir

Verb = Callable[[sl.Editor, random.Random], object]

SEEN: Counter[str] = Counter()


class NothingToEditError(Exception):
    """The pipeline has no place where a verb makes sense."""


def some(edit: sl.Editor, draw: random.Random, kind: type) -> Any:
    """A statement of a kind as it stands now."""
    found = [s for s in ir.walk(edit._edit.program.body) if isinstance(s, kind)]
    if not found:
        raise NothingToEditError(kind.__name__)
    return draw.choice(found)


def gap(edit: sl.Editor, draw: random.Random) -> sl.GapCursor:
    """A gap of the pipeline that the edits begin with."""
    cursors = [c for pattern in ("_ = _", "for _", "alloc _") for c in edit.pipeline.find_all(pattern)]
    there = [c for c in cursors if c._id in edit._edit.entries]
    if not there:
        raise NothingToEditError("gap")
    return draw.choice([draw.choice(there).before(), draw.choice(there).after()])


def moved(i: sl.symbolic.Interval, draw: random.Random) -> sl.symbolic.Interval:
    """An interval with an end, or both, somewhere else."""
    low, high = draw.choice([(0, 0), (1, 0), (0, -1), (-1, 0), (0, 1), (-1, 1), (1, 1), (-1, -1)])
    return sl.interval(i.min + low, i.max + high)


def another_range(edit: sl.Editor, draw: random.Random) -> object:
    loop = some(edit, draw, ir.For)
    step = loop.step + draw.choice([0, 0, 1, -1])
    return edit.replace(loop, ir.with_range(loop, moved(loop.range, draw), step))


def another_box(edit: sl.Editor, draw: random.Random) -> object:
    call = some(edit, draw, ir.Call)
    d = draw.randrange(max(len(call.box), 1))
    return edit.replace(call, ir.with_interval(call, d, moved(call.box[d], draw)) if call.box else call)


def other_bounds(edit: sl.Editor, draw: random.Random) -> object:
    alloc = some(edit, draw, ir.Alloc)
    return edit.replace(alloc, ir.with_bounds(alloc, tuple(moved(i, draw) for i in alloc.box), alloc.folds))


def another_fold(edit: sl.Editor, draw: random.Random) -> object:
    alloc = some(edit, draw, ir.Alloc)
    folds = (None, alloc.box[0].extent, alloc.box[0].extent - 1) if alloc.box else ()
    return edit.replace(alloc, ir.with_folds(alloc, tuple(draw.choice(folds) for _ in alloc.box)))


def another_mode(edit: sl.Editor, draw: random.Random) -> object:
    loop = some(edit, draw, ir.For)
    return edit.replace(loop, ir.with_mode(loop, draw.choice([ir.SERIAL, ir.Parallel(), ir.Parallel(2)])))


def move(edit: sl.Editor, draw: random.Random) -> object:
    return edit.move(some(edit, draw, draw.choice([ir.Call, ir.For, ir.Alloc])), gap(edit, draw))


def delete(edit: sl.Editor, draw: random.Random) -> object:
    return edit.delete(some(edit, draw, draw.choice([ir.Call, ir.For, ir.Alloc, ir.If, ir.Pass])))


def wrap_in_a_loop(edit: sl.Editor, draw: random.Random) -> object:
    inner = some(edit, draw, draw.choice([ir.Call, ir.For]))
    name = draw.choice(["again", "y", "x"])
    range_ = sl.interval(0, draw.choice([-1, 0, 1, 3]))
    return edit.wrap(inner, lambda block: ir.For(sl.variables(name)[0], range_, draw.choice([1, 2]), ir.SERIAL, block))


def wrap_in_an_if(edit: sl.Editor, draw: random.Random) -> object:
    loop = some(edit, draw, ir.For)
    at = draw.choice([loop.range.min, loop.range.max, loop.range.min + 1, loop.range.max + 1])
    inner = draw.choice(loop.body)
    return edit.wrap(inner, lambda block: ir.If(draw.choice([loop.variable >= at, loop.variable <= at]), block))


def go_either_way(edit: sl.Editor, draw: random.Random) -> object:
    inner, loop = some(edit, draw, draw.choice([ir.Call, ir.For])), some(edit, draw, ir.For)
    at = draw.choice([loop.range.min, loop.range.max + draw.choice([0, -2])])
    condition = draw.choice([at >= 0, at <= 3, loop.variable >= at, sl.equal(loop.variable % 2, 0)])
    other = draw.choice([edit.copy(inner), edit.copy(inner), ()])
    return edit.wrap(inner, lambda block: ir.If(condition, block, other))


def copy(edit: sl.Editor, draw: random.Random) -> object:
    return edit.insert(gap(edit, draw), *edit.copy(some(edit, draw, draw.choice([ir.Call, ir.For]))))


def peel(edit: sl.Editor, draw: random.Random) -> object:
    loop = some(edit, draw, ir.For)
    first = edit.copy(loop)[0]
    assert isinstance(first, ir.For)
    cut = loop.range.min + draw.choice([0, 1, 2])
    rest = ir.with_range(loop, sl.interval(cut, loop.range.max))
    return edit.replace(
        loop, ir.with_range(first, sl.interval(loop.range.min, sl.minimum(cut - 1, loop.range.max))), rest
    )


def substitute(edit: sl.Editor, draw: random.Random) -> object:
    loop = some(edit, draw, ir.For)
    return edit.substitute(draw.choice(loop.body), {loop.variable: loop.variable + draw.choice([0, 1, -1])})


def rename_buffer(edit: sl.Editor, draw: random.Random) -> object:
    edit.rename_buffer(some(edit, draw, ir.Alloc), draw.choice(["b0", "b1", "again", "y"]))  # type: ignore[arg-type]
    return None


def merge(edit: sl.Editor, draw: random.Random) -> object:
    a, b = some(edit, draw, ir.For), some(edit, draw, ir.For)
    hull = sl.interval(sl.minimum(a.range.min, b.range.min), sl.maximum(a.range.max, b.range.max))
    other = ir.substitute_block(b.body, {b.variable: a.variable})
    inside = (a.range.min <= a.variable) & (a.variable <= a.range.max)
    beside = (b.range.min <= a.variable) & (a.variable <= b.range.max)
    return edit.merge(a, b, ir.with_body(ir.with_range(a, hull), (ir.If(inside, a.body), ir.If(beside, other))))


def other_operands(edit: sl.Editor, draw: random.Random) -> object:
    call, donor = some(edit, draw, ir.Call), some(edit, draw, ir.Call)
    return edit.replace(call, attrs.evolve(call, **draw.choice([{"reads": donor.reads}, {"writes": donor.writes}])))


def another_dtype(edit: sl.Editor, draw: random.Random) -> object:
    alloc = some(edit, draw, ir.Alloc)
    return edit.replace(alloc, attrs.evolve(alloc, dtype=draw.choice([alloc.dtype, "int8", "float32"])))


VERBS: tuple[Verb, ...] = (
    another_range, another_box, other_bounds, another_fold, another_mode, move, move, delete, wrap_in_a_loop,
    wrap_in_an_if, go_either_way, go_either_way, copy, peel, peel, substitute, rename_buffer, merge, other_operands,
    another_dtype,
)  # fmt: skip


@given(st.one_of(image_graphs(), graphs(max_stages=4)), st.integers(0, 2**32))
@settings(max_examples=settings().max_examples * 5)
def what_is_accepted_means_the_same(graph: Graph, seed: int) -> None:
    draw = random.Random(seed)
    chain = Chain(build(graph), draw.choice)
    for _ in range(draw.randrange(6)):
        chain.step()
    p = chain.pipeline
    for _ in range(6):
        edit = sl.edit(p)
        verbs = [draw.choice(VERBS) for _ in range(draw.choice([1, 1, 2]))]
        try:
            for verb in verbs:
                verb(edit, draw)
            new = edit.finish()
        except NothingToEditError:
            continue
        except sl.SlinkyError as error:
            SEEN["refused"] += bool(str(error))
            continue
        new.verify()
        SEEN.update({verb.__name__ for verb in verbs if not new.same_program(p)})
        p = new
    run_and_compare(graph, p)


@pytest.mark.long
@pytest.mark.draws
def test_what_the_gate_accepts_means_the_same() -> None:
    """And it accepts many edits that change something, of many kinds, and refuses many."""
    what_is_accepted_means_the_same()
    assert SEEN["refused"] >= 50
    assert len(SEEN) >= 8, SEEN
    assert sum(SEEN.values()) - SEEN["refused"] >= 30, SEEN
