"""Bounds that name bounds of intermediates: replaced by what they are, once all are known.

Invariant: what is resolved names bounds of inputs and outputs, and scalars, and nothing else.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Set

from slinky.errors import GraphError
from slinky.graph.buffers import BufferExpr
from slinky.graph.collecting import Graph
from slinky.graph.inference import Checks, Inferred
from slinky.ir.families import relatives
from slinky.ir.substitution import substitute_func
from slinky.symbolic.expressions import Expr, Metadata, metadata
from slinky.symbolic.intervals import box_symbols, substitute_box
from slinky.symbolic.traversal import substitute, symbols, union_of_symbols


def resolve(graph: Graph, inferred: Inferred, checks: Checks) -> tuple[Inferred, Checks]:
    """Replace metadata of intermediates, which stand in boxes, accesses and checks, by what they are.

    Raises `GraphError` where bounds depend on themselves, or name what is no part of the pipeline.
    """
    parameters = {*graph.inputs, *graph.outputs}
    _check_metadata(graph, inferred, checks, inferred.boxes.keys() - parameters)
    used = _used(inferred, checks)
    replacements = {symbol: e for symbol, e in inferred.domains.items() if symbol in used}
    for buffer, box in inferred.boxes.items():
        if buffer not in parameters:
            for d, i in enumerate(box):
                replacements[metadata(buffer.name, d, "min")] = i.min
                replacements[metadata(buffer.name, d, "max")] = i.max
    known = _untangled(replacements)
    return (
        Inferred(
            {b: substitute_box(box, known) for b, box in inferred.boxes.items()},
            {func: substitute_func(lowered, known) for func, lowered in inferred.funcs.items()},
            {f: substitute_box(box, known) for f, box in inferred.boxes_of_funcs.items()},
            {key: substitute_box((i,), known)[0] for key, i in inferred.read.items()},
            inferred.domains,
            {key: substitute(e, known) for key, e in inferred.strides.items()},
        ),
        Checks({substitute(c, known): message for c, message in checks.messages.items()}),
    )


def _used(inferred: Inferred, checks: Checks) -> frozenset[Expr]:
    """The symbols that anything names."""
    boxes = [*inferred.boxes.values(), *inferred.boxes_of_funcs.values()]
    members = [member for lowered in inferred.funcs.values() for member in relatives(lowered).values()]
    boxes += [port.box for lowered in members for port in lowered.inputs]
    operations = (lowered.operation.expressions() for lowered in members)
    return frozenset().union(
        union_of_symbols(checks.messages),
        union_of_symbols(inferred.strides.values()),
        *map(box_symbols, boxes),
        *map(union_of_symbols, operations),
    )


def _untangled(replacements: dict[Expr, Expr]) -> dict[Expr, Expr]:
    """The same replacements, none of which names what another replaces."""
    waits_for = {s: [other for other in symbols(e) if other in replacements] for s, e in replacements.items()}
    needed_by: dict[Expr, list[Expr]] = {}
    for symbol, others in waits_for.items():
        for other in others:
            needed_by.setdefault(other, []).append(symbol)
    left = {s: len(others) for s, others in waits_for.items()}
    ready = [s for s, count in left.items() if count == 0]
    resolved: dict[Expr, Expr] = {}
    for symbol in ready:  # grows while it is walked
        del left[symbol]
        resolved[symbol] = substitute(replacements[symbol], resolved)
        for other in needed_by.get(symbol, ()):
            left[other] -= 1
            if left[other] == 0:
                ready.append(other)
    if left:
        raise GraphError(f"these bounds depend on themselves: {', '.join(sorted(map(str, left)))}")
    return resolved


def _check_metadata(graph: Graph, inferred: Inferred, checks: Checks, intermediates: Set[BufferExpr]) -> None:
    """Every buffer named by metadata must be part of the pipeline."""
    known = {b.name: b for b in inferred.boxes}
    for func in graph.funcs:
        for lowered in relatives(inferred.funcs[func]).values():
            used = box_symbols([i for access in lowered.inputs for i in access.box])
            used |= union_of_symbols(lowered.operation.expressions())
            _check_symbols(used, known, intermediates, inferred.domains, f"func {lowered.label!r}")
    for (buffer, d), e in inferred.strides.items():
        where = f"the stride of dimension {d} of {buffer.name!r}"
        _check_symbols(symbols(e), known, intermediates, inferred.domains, where)
    named = union_of_symbols(checks.messages)
    _check_symbols(named, known, intermediates, inferred.domains, "a constraint or check")


def _check_symbols(
    used: frozenset[Expr],
    known: Mapping[str, BufferExpr],
    intermediates: Set[BufferExpr],
    known_domains: Container[Expr],
    where: str,
) -> None:
    for symbol in sorted((s for s in used if isinstance(s, Metadata)), key=str):
        buffer = known.get(symbol.buffer)
        if buffer is None:
            raise GraphError(f"{where} names {symbol}, but {symbol.buffer!r} is not part of the pipeline")
        if symbol.dim >= buffer.rank:
            raise GraphError(f"{where} names {symbol}, but {symbol.buffer!r} has rank {buffer.rank}")
        if symbol.field.startswith("domain") and symbol not in known_domains:
            raise GraphError(
                f"nothing determines the domain of {symbol.buffer!r} along dimension {symbol.dim}, which {where} goes "
                f"by: no input of its producer bounds it; assign {symbol.buffer}.dim({symbol.dim}).domain"
            )
        if symbol.field == "stride" and buffer in intermediates:
            raise GraphError(f"{where} names {symbol}, but slinky chooses the strides of intermediates")
