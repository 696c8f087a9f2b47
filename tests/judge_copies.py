"""What elements of a copy are, point by point: the second judge's own reading of the operation.

It shares nothing with the package but the classes of nodes and operations, which are what a copy *is*: no pieces, no
regions, and no closed formulas for what is beyond an edge, but steps from the edge to the point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from judge_evaluation import evaluation, symbol_key

from slinky.ir.operations import Boundary, Copy, CopySource

Coordinates: TypeAlias = tuple[int, ...]
Found: TypeAlias = "tuple[int, Coordinates] | None"
"""The number of the source that gives an element, and the coordinates there; None if none does."""


def reading_of(copy: Copy, values: Mapping[str, int]) -> Callable[[Coordinates], Found]:
    """The function that says where the element at a point comes from. `values` are those of the copy's parameters, by
    the keys of their symbols."""
    keys = [symbol_key(dim) for dim in copy.dims]
    sources = [_reading_of_source(source) for source in copy.sources]

    def find(point: Coordinates) -> Found:
        known = {**values, **dict(zip(keys, point, strict=True))}
        for number, read in enumerate(sources):
            coordinates = read(known)
            if coordinates is not None:
                return number, coordinates
        return None

    return find


def _reading_of_source(source: CopySource) -> Callable[[Mapping[str, int]], Coordinates | None]:
    where = [(evaluation(e), evaluation(i.min), evaluation(i.max)) for e, i in source.where]
    index = [evaluation(e) for e in source.index]
    edges: list[Any] = [None if i is None else (evaluation(i.min), evaluation(i.max)) for i in source.edges]

    def read(known: Mapping[str, int]) -> Coordinates | None:
        if not all(lo(known) <= e(known) <= hi(known) for e, lo, hi in where):
            return None
        found = []
        for e, ends, boundary in zip(index, edges, source.boundaries, strict=True):
            at: int | None = e(known)
            if ends is not None:
                assert at is not None
                at = stands_for(at, ends[0](known), ends[1](known), boundary)
            if at is None:
                return None
            found.append(at)
        return tuple(found)

    return read


def stands_for(at: int, lo: int, hi: int, boundary: Boundary | None) -> int | None:
    """The coordinate between edges whose element stands at a coordinate anywhere; None if none does."""
    if hi < lo:
        return None
    while not lo <= at <= hi:
        match boundary:
            case None:
                return None
            case Boundary.NEAREST:
                at += 1 if at < lo else -1
            case Boundary.WRAP:
                at += hi - lo + 1 if at < lo else lo - hi - 1
            case Boundary.REFLECT:  # the mirror stands between the edge and what is beyond it
                at = lo - 1 - (at - lo) if at < lo else hi + 1 - (at - hi)
            case Boundary.MIRROR:  # the mirror stands on the edge; between two of them there is one element
                at = lo if lo == hi else (2 * lo - at if at < lo else 2 * hi - at)
    return at
