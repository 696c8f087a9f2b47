"""Bounds that name bounds of intermediates: replaced by what they are, once all are known.

Invariant: what is resolved names bounds of inputs and outputs, and scalars, and nothing else.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import attrs

from slinky.errors import GraphError
from slinky.graph.buffers import BufferExpr
from slinky.graph.collecting import Graph
from slinky.graph.inference import Checks, Inferred
from slinky.ir.statements import InputAccess, LoweredFunc
from slinky.symbolic.expressions import Expr, Metadata, metadata
from slinky.symbolic.intervals import box_symbols, substitute_box
from slinky.symbolic.traversal import substitute, symbols, union_of_symbols


def resolve(graph: Graph, inferred: Inferred, checks: Checks) -> tuple[Inferred, Checks]:
    """Replace metadata of intermediates, which stand in boxes, accesses and checks, by what they are.

    Raises `GraphError` where bounds depend on themselves, or name what is no part of the pipeline.
    """
    parameters = {*graph.inputs, *graph.outputs}
    _check_metadata(graph, inferred, checks, inferred.boxes.keys() - parameters)
    replacements: dict[Expr, Expr] = {}
    for buffer, box in inferred.boxes.items():
        if buffer not in parameters:
            for d, i in enumerate(box):
                replacements[metadata(buffer.name, d, "min")] = i.min
                replacements[metadata(buffer.name, d, "max")] = i.max
    known = _untangled(replacements)
    return (
        Inferred(
            {b: substitute_box(box, known) for b, box in inferred.boxes.items()},
            {func: _substituted(lowered, known) for func, lowered in inferred.funcs.items()},
            {f: substitute_box(box, known) for f, box in inferred.boxes_of_funcs.items()},
            {key: substitute_box((i,), known)[0] for key, i in inferred.read.items()},
        ),
        Checks({substitute(c, known): message for c, message in checks.messages.items()}),
    )


def _untangled(replacements: dict[Expr, Expr]) -> dict[Expr, Expr]:
    """The same replacements, none of which names what another replaces."""
    pending = {s: e for s, e in replacements.items() if not replacements.keys().isdisjoint(symbols(e))}
    resolved = {s: e for s, e in replacements.items() if s not in pending}
    while pending:
        ready = [s for s, e in pending.items() if pending.keys().isdisjoint(symbols(e))]
        if not ready:
            names_of = ", ".join(sorted({str(s) for s in pending}))
            raise GraphError(f"these bounds depend on themselves: {names_of}")
        resolved.update({s: substitute(pending.pop(s), resolved) for s in ready})
    return resolved


def _check_metadata(graph: Graph, inferred: Inferred, checks: Checks, intermediates: Set[BufferExpr]) -> None:
    """Every buffer named by metadata must be part of the pipeline."""
    known = {b.name: b for b in inferred.boxes}
    for func in graph.funcs:
        lowered = inferred.funcs[func]
        used = box_symbols([i for access in lowered.inputs for i in access.box])
        used |= union_of_symbols(e for _, e in lowered.arguments if isinstance(e, Expr))
        _check_symbols(used, known, intermediates, f"func {lowered.name!r}")
    _check_symbols(union_of_symbols(checks.messages), known, intermediates, "a constraint or check")


def _check_symbols(
    used: frozenset[Expr], known: dict[str, BufferExpr], intermediates: Set[BufferExpr], where: str
) -> None:
    for symbol in sorted((s for s in used if isinstance(s, Metadata)), key=str):
        buffer = known.get(symbol.buffer)
        if buffer is None:
            raise GraphError(f"{where} names {symbol}, but {symbol.buffer!r} is not part of the pipeline")
        if symbol.dim >= buffer.rank:
            raise GraphError(f"{where} names {symbol}, but {symbol.buffer!r} has rank {buffer.rank}")
        if symbol.field == "stride" and buffer in intermediates:
            raise GraphError(f"{where} names {symbol}, but slinky chooses the strides of intermediates")


def _substituted(func: LoweredFunc, replacements: dict[Expr, Expr]) -> LoweredFunc:
    """The func with symbols replaced in its accesses, arguments and whole dimensions."""
    inputs = tuple(InputAccess(a.buffer, substitute_box(a.box, replacements)) for a in func.inputs)
    arguments: tuple[tuple[str, Any], ...] = tuple(
        (name, substitute(value, replacements) if isinstance(value, Expr) else value) for name, value in func.arguments
    )
    whole = tuple((d, substitute_box((i,), replacements)[0]) for d, i in func.whole)
    return attrs.evolve(func, inputs=inputs, arguments=arguments, whole=whole)
