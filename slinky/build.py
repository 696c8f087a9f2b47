"""From a graph to a pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

from slinky.cursors.cursors import AllocCursor, CallCursor
from slinky.cursors.lineages import origin
from slinky.cursors.versions import Version
from slinky.errors import GraphError, UnusedInputWarning, cited
from slinky.graph.annotations import is_annotated
from slinky.graph.buffers import BufferExpr
from slinky.graph.built import Built
from slinky.graph.collecting import Graph, collect
from slinky.graph.funcs import Func
from slinky.graph.lowering import lower, unused_inputs, with_assigned_bounds
from slinky.ir.given import is_flag, is_iterable, is_one_of
from slinky.pipeline import Pipeline
from slinky.runtime.collector import collector_paused
from slinky.sched.primitives.all_copies import alias_copies
from slinky.symbolic.expressions import Condition

SCHEDULES = ("annotated", "auto", "none")
"""What `build_pipeline` may do with what is written on funcs and buffers of how they shall run."""


def build_pipeline(
    inputs: Sequence[BufferExpr],
    outputs: Sequence[BufferExpr],
    *,
    require: Iterable[Condition] = (),
    name: str | None = None,
    alias: bool = True,
    schedule: str = "annotated",
) -> Pipeline:
    """Make a pipeline of the funcs that the outputs need.

    Without annotations nothing is scheduled: each func runs once, over all that is needed of it, and every
    intermediate is stored in full. What is written on funcs and buffers (`func.loops`, `compute_at`, `store_at`, ...)
    is applied with the primitives of the same names, and `history()` shows them; see `docs/annotations.md`. With
    `schedule="auto"`, the rest is scheduled at the first run, for the arrays of that, as `p.auto()` does; with
    `schedule="none"`, nothing is, and what is written is left alone.

    Copies that slinky understands are done without where that is shown to be the same (`alias_copies`), unless `alias`
    is False. Of a buffer to which bounds are assigned, all is computed in any case.

    Parameters: the input and output buffers, in the order in which their arrays will be given; `require`, conditions
    on scalars and buffer metadata that the pipeline may rely on, checked when it runs; `name`, by default that of the
    func that produces the first output.

    An input that no output needs stays a parameter, and an `UnusedInputWarning` names it.

    Raises `GraphError` for a graph that is no pipeline: a buffer that is read but neither produced nor an input, an
    input that is produced, an output that is not produced, two buffers or funcs of one name, bounds that nothing
    determines. Raises `AnnotationError` for an annotation that is refused.
    """
    if not is_one_of(schedule, SCHEDULES):
        raise GraphError(f"schedule must be one of {', '.join(SCHEDULES)}, got {cited(schedule)}")
    if not is_flag(alias):
        raise GraphError(f"alias must be True or False, got {cited(alias)}")
    with collector_paused():
        graph = collect(inputs, outputs)
        conditions: object = require
        required = tuple(require) if is_iterable(conditions) else require
        program = lower(graph, required, name)
        start = origin()
        start.built = Built(graph, tuple(required), name, program)
        p = Pipeline(Version(program, start))
        asked = schedule != "none" and any(map(is_annotated, graph.funcs))
        calls, allocs = _places(p, graph) if asked else ({}, {})
        if alias:
            stay = [call for func, call in calls.items() if is_annotated(func)]
            p = alias_copies(p, keep=with_assigned_bounds(graph), **({"stay": stay} if stay else {}))
        if asked:
            from slinky.sched.annotations import with_annotations  # user code: it imports slinky itself

            p = with_annotations(p, calls, allocs)
        if schedule == "auto":
            p = p.auto()
    unused = unused_inputs(program)
    if unused:
        names = ", ".join(unused)
        warnings.warn(f"no output of the pipeline needs what is in {names}", UnusedInputWarning, stacklevel=2)
    return p


def _places(p: Pipeline, graph: Graph) -> tuple[dict[Func, CallCursor], dict[BufferExpr, AllocCursor]]:
    """Where the funcs and buffers of a graph are in the program that was made of it: calls stand in the same order."""
    body = list(p.body())
    calls = dict(zip(graph.funcs, (s for s in body if isinstance(s, CallCursor)), strict=True))
    allocs = {s.name(): s for s in body if isinstance(s, AllocCursor)}
    made = (access.buffer for func in graph.funcs for access in func.outputs)
    return calls, {buffer: allocs[buffer.name] for buffer in made if buffer.name in allocs}
