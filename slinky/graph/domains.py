"""Where the edges of buffers are: their domains, found from the inputs forward.

A boundary rule goes by the domain of a buffer: of an input, its bounds; of an intermediate, what was assigned to it, or
as far as the inputs of its func allow.

Invariant: domains depend on inputs, scalars and what was assigned, never on what anybody asks for, so a run for a part
of an output gives that part of the whole.
"""

from __future__ import annotations

from slinky.graph.buffers import BufferExpr
from slinky.graph.collecting import Graph
from slinky.graph.extents import allowed_by_inputs, assigned_bounds, output_dims
from slinky.ir.regions import parameter_box
from slinky.symbolic.expressions import Expr, metadata
from slinky.symbolic.intervals import Interval, substitute_interval


def domains(graph: Graph) -> dict[Expr, Expr]:
    """What the symbols of domains stand for, as far as they are determined."""
    values: dict[Expr, Expr] = {}
    found: dict[tuple[BufferExpr, int], Interval] = {}

    def note(buffer: BufferExpr, d: int, domain: Interval) -> None:
        found[(buffer, d)] = domain
        values[metadata(buffer.name, d, "domain_min")] = domain.min
        values[metadata(buffer.name, d, "domain_max")] = domain.max

    def assigned(buffer: BufferExpr, d: int) -> Interval | None:
        own = buffer.domains.get(d) or assigned_bounds(buffer, d)
        return None if own is None else substitute_interval(own, values)

    for buffer in (*graph.inputs, *graph.constants):
        box = parameter_box(buffer.name, buffer.rank)
        for d, bounds in enumerate(box):
            own = assigned_bounds(buffer, d) if buffer.value is not None else buffer.domains.get(d)
            note(buffer, d, own or bounds)
    for func in graph.funcs:
        for access in func.outputs:
            for d, dim in enumerate(output_dims(access)):
                domain = assigned(access.buffer, d) or allowed_by_inputs(func, dim, found)
                if domain is not None:
                    note(access.buffer, d, domain)
    return values
