"""The graph of a pipeline: the funcs that its outputs need, and the buffers that these touch.

Invariant: every buffer of a `Graph` that a func reads is an input, a constant, or produced by a func that stands
before; no two buffers have one name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
import numpy as np

from slinky.errors import GraphError, cited
from slinky.graph.buffers import BufferExpr
from slinky.graph.funcs import Func


@attrs.frozen
class Graph:
    """The buffers and funcs that a pipeline consists of; funcs in dependency order."""

    inputs: tuple[BufferExpr, ...]
    outputs: tuple[BufferExpr, ...]
    constants: tuple[BufferExpr, ...]
    funcs: tuple[Func, ...]


def collect(inputs: Sequence[BufferExpr], outputs: Sequence[BufferExpr]) -> Graph:
    """The graph between these inputs and outputs.

    Raises `GraphError` where it is none: what is read is neither produced nor given, or is both, or two things have
    one name.
    """
    inputs, outputs = _buffers(inputs, "inputs"), _buffers(outputs, "outputs")
    if not outputs:
        raise GraphError("a pipeline needs at least one output")
    for buffer in inputs:
        if buffer.producer is not None:
            raise GraphError(
                f"buffer {buffer.name!r} is listed as an input, but func {buffer.producer.name!r} produces it"
            )
        if buffer.value is not None:
            raise GraphError(f"buffer {buffer.name!r} is a constant, so it must not be listed as an input")
    for buffer in outputs:
        if buffer.producer is None:
            raise GraphError(f"buffer {buffer.name!r} is listed as an output, but no func produces it")
    funcs = _in_dependency_order(outputs)
    constants: dict[BufferExpr, None] = {}
    used: dict[BufferExpr, None] = {}
    for func in funcs:
        for access in func.inputs:
            buffer = access.buffer
            used[buffer] = None
            if buffer.value is not None:
                constants[buffer] = None
            elif buffer.producer is None and buffer not in inputs:
                raise GraphError(
                    f"func {func.name!r} reads {buffer.name!r}, which no func produces and which is not "
                    f"listed as an input"
                )
    _check_names(
        funcs, [*dict.fromkeys((*inputs, *used)), *(access.buffer for func in funcs for access in func.outputs)]
    )
    return Graph(inputs, outputs, tuple(constants), funcs)


def _buffers(given: object, what: str) -> tuple[BufferExpr, ...]:
    """The inputs or outputs of a pipeline, each a buffer, none twice."""
    if isinstance(given, BufferExpr):
        raise GraphError(f"{what} of a pipeline must be a list, such as [{given.name}], got one buffer alone")
    if not np.iterable(given):
        raise GraphError(f"{what} of a pipeline must be a list of sl.BufferExpr, got {cited(given)}")
    buffers = tuple(given)
    for buffer in buffers:
        if not isinstance(buffer, BufferExpr):
            raise GraphError(f"{what} of a pipeline must be a list of sl.BufferExpr, got {cited(buffer)} in it")
    for buffer in buffers:
        if buffers.count(buffer) > 1:
            raise GraphError(f"buffer {buffer.name!r} stands twice among the {what}")
    return buffers


def _in_dependency_order(outputs: Sequence[BufferExpr]) -> tuple[Func, ...]:
    """Every func that the outputs need, producers first."""
    done: dict[Func, None] = {}
    stack = [buffer.producer for buffer in reversed(outputs)]
    while stack:
        func = stack[-1]
        if func is None or func in done:
            stack.pop()
            continue
        missing = [a.buffer.producer for a in func.inputs if a.buffer.producer and a.buffer.producer not in done]
        if missing:
            stack.extend(reversed(missing))
        else:
            done[func] = None
            stack.pop()
    return tuple(done)


def _check_names(funcs: Sequence[Func], buffers: Iterable[BufferExpr]) -> None:
    by_name: dict[str, BufferExpr] = {}
    for buffer in buffers:
        other = by_name.setdefault(buffer.name, buffer)
        if other is not buffer:
            made = " (one of them is what `extended` gives)" if buffer.extended_dims or other.extended_dims else ""
            raise GraphError(
                f"two different buffers are called {buffer.name!r}{made}; names must be unique in a pipeline"
            )
    names: set[str] = set()
    for func in funcs:
        if func.named and func.name in names:
            raise GraphError(f"two funcs are called {func.name!r}; names must be unique in a pipeline")
        if func.named:
            names.add(func.name)


def unique_names(funcs: Sequence[Func]) -> dict[Func, str]:
    """Given names stay; of default names, the second and further of the same get a number."""
    taken = {func.name for func in funcs if func.named}
    names: dict[Func, str] = {}
    for func in funcs:
        name, count = func.name, 1
        while not func.named and name in taken:
            name, count = f"{func.name}_{count}", count + 1
        taken.add(name)
        names[func] = name
    return names
