"""The second judge: what legality finds right is right, also of programs that were right before one thing was changed.

The programs are what random schedules make, so they hold all that rewrites do: tails, windows, folds, parallel loops.
The second judge shares nothing with the first: it runs the program in checked mode.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import Graph, arguments, build, graphs, image_graphs
from random_schedules import Chain

import slinky as sl
from slinky.cursors.editing import Edit, Gap
from slinky.ir.statements import SERIAL, Alloc, Call, For, Parallel, Statement, walk
from slinky.sched import legality
from slinky.symbolic.expressions import as_expr
from slinky.symbolic.intervals import Interval

Change = tuple[str, sl.Pipeline]


def changed(p: sl.Pipeline, statement: Statement, draw: random.Random) -> Change | None:
    """A pipeline with one thing changed about one statement, and what that is; None where nothing can be."""
    edit = Edit(p._version)
    match statement:
        case Call(box=box) if box:
            d, (low, high) = draw.randrange(len(box)), draw.choice([(1, 0), (0, -1), (-1, 0), (0, 1), (1, 1), (-1, -1)])
            moved = Interval(box[d].min + low, box[d].max + high)
            what = f"computes {low:+}..{high:+} along dimension {d}"
            edit.update(attrs.evolve(statement, box=(*box[:d], moved, *box[d + 1 :])))
        case For(range=r, step=step):
            what = draw.choice(["starts later", "ends earlier", "takes larger steps", "is parallel"])
            fields: dict[str, Any] = {
                "starts later": {"range": Interval(r.min + step, r.max)},
                "ends earlier": {"range": Interval(r.min, r.max - 1)},
                "takes larger steps": {"step": step + 1},
                "is parallel": {"mode": Parallel(1)},
            }
            edit.update(attrs.evolve(statement, **fields[what]))
        case Alloc(folds=folds) if folds:
            d = next((d for d, fold in enumerate(folds) if fold is not None), draw.randrange(len(folds)))
            fold = folds[d]
            factor = as_expr(draw.randint(1, 4)) if fold is None else sl.maximum(fold - 1, 1)
            what = f"is folded by {factor} along dimension {d}"
            edit.update(attrs.evolve(statement, folds=(*folds[:d], factor, *folds[d + 1 :])))
        case _:
            return None
    return f"a {type(statement).__name__} {what}", _end(edit)


def moved(p: sl.Pipeline, statement: Statement, draw: random.Random) -> Change | None:
    """A pipeline in which a statement stands before the one before it, or an allocation in some loop."""
    cursor = next((c for c in (*p.find_all("_ = _"), *p.find_all("for _")) if c._id == statement.id), None)
    edit = Edit(p._version)
    if isinstance(statement, Alloc):
        loops = [s for s in walk(p.program.body) if isinstance(s, For) and s.body[0] is not statement]
        if not loops:
            return None
        loop = draw.choice(loops)
        edit.delete(statement.id)
        edit.insert(Gap.before(loop.body[0].id), (statement,))
        return f"alloc {statement.buffer} in loop {loop.variable}", _end(edit)
    if cursor is None or not cursor.prev():
        return None
    edit.delete(statement.id)
    edit.insert(Gap.before(cursor.prev()._id), (statement,))
    return f"{type(statement).__name__} before the one before it", _end(edit)


def _end(edit: Edit) -> sl.Pipeline:
    return sl.Pipeline(edit.finish("change"))


def changes(p: sl.Pipeline, draw: random.Random, count: int) -> Iterator[Change]:
    """Some changes of a pipeline that leave it well formed."""
    statements = [s for s in walk(p.program.body) if isinstance(s, (Alloc, Call, For))]
    for _ in range(count):
        made = draw.choice([changed, changed, changed, moved])(p, draw.choice(statements), draw)
        if made is not None:
            try:
                made[1].verify()
            except sl.ProgramError:
                continue
            yield made


def is_found_right(p: sl.Pipeline) -> bool:
    """Whether all that legality can ask of a program is shown."""
    version, statements = p._version, list(walk(p.program.body))
    calls = [s for s in statements if isinstance(s, Call)]
    try:
        legality.check_reads(version, [call.id for call in calls])
        for call in calls:
            legality.check_inputs(version, call.id)
        legality.check_outputs(version, [output.name for output in p.program.outputs])
        for alloc in (s for s in statements if isinstance(s, Alloc)):
            legality.check_folds_of(version, alloc)
        legality.check_memory(version)
        legality.check_blocks(version)
        legality.check_stages(version)
        for s in statements:
            if isinstance(s, For) and s.mode != SERIAL:
                legality.check_races(version, s.id)
    except sl.SchedulingError:
        return False
    return True


def is_right(graph: Graph, p: sl.Pipeline) -> bool:
    """Whether checked mode finds nothing, nor an inner pipeline that it is given what it does not take."""
    inputs, outputs = arguments(graph)
    try:
        p.run(*inputs, *outputs, checked=True, threads=1, **graph.scalars())
    except (sl.ExecutionError, sl.CheckFailedError):
        return False
    return True


@given(st.one_of(image_graphs(), graphs(max_stages=4)), st.integers(0, 2**32), st.integers(2, 14))
@settings(max_examples=settings().max_examples * 3 // 5)
def test_what_is_wrong_is_not_found_right(graph: Graph, seed: int, steps: int) -> None:
    draw = random.Random(seed)
    chain = Chain(build(graph), draw.choice)
    for _ in range(steps):
        chain.step()
    for what, p in changes(chain.pipeline, draw, 12):
        if not is_right(graph, p):
            assert not is_found_right(p), f"{what}:\n{p}"
