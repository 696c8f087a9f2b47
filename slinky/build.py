"""From a graph to a pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

from slinky.errors import UnusedInputWarning
from slinky.graph.buffers import BufferExpr
from slinky.graph.collecting import collect
from slinky.graph.lowering import lower, unused_inputs, with_assigned_bounds
from slinky.pipeline import Pipeline
from slinky.runtime.collector import collector_paused
from slinky.sched.primitives.copies import alias_copies
from slinky.symbolic.expressions import Condition


def build_pipeline(
    inputs: Sequence[BufferExpr],
    outputs: Sequence[BufferExpr],
    *,
    require: Iterable[Condition] = (),
    name: str | None = None,
    alias: bool = True,
) -> Pipeline:
    """Make a pipeline of the funcs that the outputs need.

    Nothing is scheduled: each func runs once, over all that is needed of it, and every intermediate is stored in full.
    Copies that slinky understands are done without where that is shown to be the same (`alias_copies`), unless `alias`
    is False. Of a buffer to which bounds are assigned, all is computed in any case.

    Parameters: the input and output buffers, in the order in which their arrays will be given; `require`, conditions
    on scalars and buffer metadata that the pipeline may rely on, checked when it runs; `name`, by default that of the
    func that produces the first output.

    An input that no output needs stays a parameter, and an `UnusedInputWarning` names it.

    Raises `GraphError` for a graph that is no pipeline: a buffer that is read but neither produced nor an input, an
    input that is produced, an output that is not produced, two buffers or funcs of one name, bounds that nothing
    determines.
    """
    with collector_paused():
        graph = collect(inputs, outputs)
        program = lower(graph, require, name)
        p = Pipeline(program)
        found = alias_copies(p, keep=with_assigned_bounds(graph)) if alias else p
    unused = unused_inputs(program)
    if unused:
        names = ", ".join(unused)
        warnings.warn(f"no output of the pipeline needs what is in {names}", UnusedInputWarning, stacklevel=2)
    return found
