"""Which box of each port a func reads and writes.

The regions of a func are kept as templates: intervals over two symbols per dimension, the ends of the box that is
computed. A region for a given box is then a substitution, symbolic or numeric. A template contains every point that
the access reads, and a smaller box never reads more than a larger one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from slinky.ir.remembered import remembered
from slinky.ir.statements import ConstantBuffer, LoweredFunc, OutputPort, Program, View
from slinky.symbolic.bounds import bounds
from slinky.symbolic.expressions import Expr, constant, linear, metadata, variable
from slinky.symbolic.intervals import Box, Interval, substitute_box
from slinky.symbolic.patience import endless_patience
from slinky.symbolic.proofs import Facts, facts
from slinky.symbolic.traversal import symbols

BoundsOf: TypeAlias = Callable[[str], Box]
"""The bounds of a buffer, by its name."""


@remembered
def _ends(func: LoweredFunc) -> tuple[tuple[Expr, Expr], ...]:
    """The symbols that stand for the ends of a func's box in its templates."""
    return tuple((variable(f"{dim.name}.min"), variable(f"{dim.name}.max")) for dim in func.dims)


@remembered
def input_templates(func: LoweredFunc) -> tuple[Box, ...]:
    """The region of each input, in terms of `end_symbols`. Of a view along dimensions that go together, as on a
    diagonal, it is all that the view has: a view of a box has all combinations of its coordinates."""
    found = list(_templates(func, tuple(port.box for port in func.inputs)))
    for k, port in enumerate(func.inputs):
        if port.view is not None and _goes_together(frozenset(func.dims), port.view):
            seen = seen_templates(func)[k]
            assert seen is not None  # it has a view
            found[k] = _image(port.view, seen, facts(*func.known))
    return tuple(found)


def _goes_together(dims: frozenset[Expr], view: View) -> bool:
    """Whether a view has dimensions that follow the same one of the func, and are added in an index."""
    follows = {
        dim: dims.intersection(symbols(i.min) | symbols(i.max)) for dim, i in zip(view.dims, view.box, strict=True)
    }
    for e in view.index:
        own = [follows[dim] for dim in view.dims if dim in symbols(e)]
        if len(frozenset().union(*own)) < sum(map(len, own)):
            return True
    return False


def _image(view: View, seen: Box, known: Facts) -> Box:
    """All that a view has of the buffer behind it, where it is seen over a box."""
    ranges: dict[Expr, Interval] = dict(zip(view.dims, seen, strict=True))
    with endless_patience():
        return tuple(bounds(e, ranges, known) for e in view.index)


@remembered
def seen_templates(func: LoweredFunc) -> tuple[Box | None, ...]:
    """The box that the operation sees of each port that has a view, inputs then outputs; in terms of `end_symbols`."""
    views = tuple(port.view for port in func.ports)
    found = iter(_templates(func, tuple(view.box for view in views if view is not None)))
    return tuple(None if view is None else next(found) for view in views)


def _templates(func: LoweredFunc, boxes: tuple[Box, ...]) -> tuple[Box, ...]:
    ranges: dict[Expr, Interval] = {dim: Interval(lo, hi) for dim, (lo, hi) in zip(func.dims, _ends(func), strict=True)}
    known = facts(*func.known)
    with endless_patience():  # what a func reads does not depend on the rewrite that asks
        return tuple(
            tuple(Interval(bounds(i.min, ranges, known).min, bounds(i.max, ranges, known).max) for i in box)
            for box in boxes
        )


def end_values(func: LoweredFunc, box: Box) -> dict[Expr, Expr]:
    """The ends of a box, as what the symbols of the templates stand for."""
    values: dict[Expr, Expr] = {}
    for (lo, hi), i in zip(_ends(func), box, strict=True):
        values[lo], values[hi] = i.min, i.max
    return values


def end_symbols(func: LoweredFunc) -> tuple[tuple[Expr, Expr], ...]:
    """Per dimension of the func, the symbols of the ends of its box."""
    return _ends(func)


@remembered
def input_regions(func: LoweredFunc, box: Box) -> tuple[Box, ...]:
    """What a call of this func over this box (not empty) reads of each of its inputs."""
    values = end_values(func, box)
    return tuple(substitute_box(template, values) for template in input_templates(func))


def seen_boxes(func: LoweredFunc, box: Box) -> tuple[Box | None, ...]:
    """What the operation of a call over this box (not empty) sees of each port that has a view."""
    values = end_values(func, box)
    return tuple(None if t is None else substitute_box(t, values) for t in seen_templates(func))


def factors_of(view: View) -> tuple[tuple[int, ...], ...]:
    """For each dimension of the buffer, by how much its coordinate grows along each axis that an operation sees."""
    terms = [dict(linear(e)[1]) for e in view.index]
    return tuple(tuple(own.get(dim, 0) for dim in view.dims) for own in terms)


def is_translation(view: View) -> bool:
    """Whether the operation sees just the region, though in other coordinates."""
    rank = len(view.dims)
    return factors_of(view) == tuple(tuple(int(d == axis) for axis in range(rank)) for d in range(rank))


def output_region(port: OutputPort, box: Box) -> Box:
    """What a call over this box writes of one of its outputs."""
    return tuple(box[dim] for dim in port.dims)


def parameter_box(name: str, rank: int) -> Box:
    """The bounds of an input or output of the pipeline, as metadata."""
    return tuple(Interval(metadata(name, d, "min"), metadata(name, d, "max")) for d in range(rank))


def constant_box(buffer: ConstantBuffer) -> Box:
    """The bounds of a constant buffer."""
    return tuple(
        Interval(constant(lo), constant(lo + extent - 1))
        for lo, extent in zip(buffer.min, buffer.array.shape, strict=True)
    )


def global_boxes(program: Program) -> dict[str, Box]:
    """The bounds of the buffers that are there before the program starts."""
    boxes = {p.name: parameter_box(p.name, p.rank) for p in (*program.inputs, *program.outputs)}
    boxes.update((c.name, constant_box(c)) for c in program.constants)
    return boxes


def global_dtypes(program: Program) -> dict[str, np.dtype[Any]]:
    """What the buffers hold that are there before the program starts."""
    dtypes = {p.name: p.dtype for p in (*program.inputs, *program.outputs)}
    dtypes.update((c.name, c.array.dtype) for c in program.constants)
    return dtypes
