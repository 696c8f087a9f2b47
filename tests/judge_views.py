"""What calls with copies and with ports that have views compute: the second judge's reading, point by point.

An element of a copy *is* the element that the copy takes: it has its hash. A func whose ports have views is given what
it would be given without: its elements have the hashes that they have in the coordinates of the operation. So a program
that does without a copy computes the same hashes as the one that makes it, or is wrong.

Nothing here is shared with what carries out copies, nor with what decides about them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from judge_copies import reading_of
from judge_evaluation import Values, evaluation, symbol_key
from judge_geometry import Coordinates, Hashes, NumericBox, named

from slinky.ir.operations import Copy
from slinky.ir.statements import LoweredFunc, View
from slinky.symbolic.nodes import Expr, variable

_EVEN = 2**64 - 2

Reader = Callable[[int, Coordinates], int]
"""Gives the hash of an element of the buffer at an input port, in the coordinates of the operation."""


def through(view: View, point: Sequence[int], values: Values) -> Coordinates:
    """Where in its buffer a port with a view has the element that the operation sees at a point."""
    known = {**values, **{symbol_key(dim): c for dim, c in zip(view.dims, point, strict=True)}}
    return tuple(evaluation(e)(known) for e in view.index)


def region_through(view: View, hull: NumericBox, values: Values) -> NumericBox:
    """The box in its buffer of what is seen in a box: its corners are those of the other, for the index is affine."""
    corners = [through(view, corner, values) for corner in itertools.product(*hull)]
    return tuple((min(along), max(along)) for along in zip(*corners, strict=True))


def own_coordinates(
    func: LoweredFunc, port: int, box: NumericBox, base: Hashes, region: NumericBox, values: Values
) -> Hashes:
    """The hashes of coordinates that an operation sees of an output with a view, at the places of the buffer.

    `base` are those in the region that the operation sees.
    """
    output = func.outputs[port]
    assert output.view is not None
    first = [lo for lo, _ in own_region(func, port, box, values)]
    result = np.zeros([hi - lo + 1 for lo, hi in region] + [1], np.uint64)
    point = [lo for lo, _ in box]
    for place in itertools.product(*(range(lo, hi + 1) for lo, hi in region)):
        for dim, c in zip(output.dims, place, strict=True):
            point[dim] = c
        own = _seen_at(func, output.view, point, values)
        at = tuple(c - lo for c, (lo, _) in zip(place, region, strict=True))
        result[at] = base[tuple(c - lo for c, lo in zip(own, first, strict=True))]
    return result


def own_region(func: LoweredFunc, port: int, box: NumericBox, values: Values) -> NumericBox:
    """The box of an output with a view that the operation sees."""
    view = func.outputs[port].view
    assert view is not None
    corners = [_seen_at(func, view, corner, values) for corner in itertools.product(*box)]
    return tuple((min(along), max(along)) for along in zip(*corners, strict=True))


def _seen_at(func: LoweredFunc, view: View, point: Sequence[int], values: Values) -> Coordinates:
    known = {**values, **{symbol_key(dim): c for dim, c in zip(func.dims, point, strict=True)}}
    return tuple(evaluation(i.min)(known) for i in view.box)


def copied(copy: Copy, region: NumericBox, values: Values, read: Reader) -> Hashes:
    """The hashes that a copy writes to a box, in the coordinates of the operation."""
    known = dict(values)
    for name, value in copy.arguments:
        if isinstance(value, Expr):
            known[symbol_key(variable(name))] = evaluation(value)(values)
    fill = dict(copy.arguments).get("fill", copy.fill)
    given = evaluation(fill)(values) if isinstance(fill, Expr) else None if fill is None else repr(fill)
    filled = named("filled with", str(given)) & _EVEN
    hashes = np.zeros([hi - lo + 1 for lo, hi in region] + [1], np.uint64)
    find = reading_of(copy, known)
    for point in itertools.product(*(range(lo, hi + 1) for lo, hi in region)):
        at = tuple(c - lo for c, (lo, _) in zip(point, region, strict=True))
        found = find(point)
        hashes[at] = filled if found is None else read(*found)
    return hashes
