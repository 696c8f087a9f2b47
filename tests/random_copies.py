"""Copies as stages of random graphs: what they read, and what they give, with plain integers and NumPy.

A stage that copies has no callback. Its reads are points, one for each dimension of a source; a source has a rule for
each dimension in which there is a limit to what is read of it: its domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from judge_copies import stands_for

import slinky as sl
from slinky.ir.operations import Boundary

Range = tuple[int, int]

NOTHING = "nothing"
"""The rule of a source that gives nothing beyond its edges: the next source does, or what fills."""

RULES: dict[str, Boundary | None] = {
    "constant": None,
    "nearest": Boundary.NEAREST,
    "reflect": Boundary.REFLECT,
    "mirror": Boundary.MIRROR,
    "wrap": Boundary.WRAP,
}


@dataclass(frozen=True)
class Copying:
    """What a stage copies. Its kind is "extension", "copy", "concatenate" or "stack".

    An extension has a rule for each dimension, or None; a copy has one rule for all, or None. The others have an axis.
    """

    kind: str
    rules: tuple[str | None, ...] = ()
    fill: int | None = None
    axis: int = 0

    def rule(self, source: int, dim: int) -> str | None:
        """The rule for what is beyond the edges of a source, if it has edges."""
        match self.kind:
            case "extension":
                return self.rules[dim]
            case "copy":
                return self.rules[0] if source == 0 and self.rules else None
            case "concatenate":
                return NOTHING if dim == self.axis else None
        return None

    def needs_elements(self, dim: int) -> bool:
        """Whether the source must have elements along a dimension."""
        rule = self.rule(0, dim)
        return rule is not None and RULES.get(rule) is not None

    def shifts(self, domains: Sequence[Range]) -> list[int]:
        """What is added to the coordinates of each source along the axis, given the domains there."""
        shifts, end = [], domains[0][0] if domains else 0
        for lo, hi in domains:
            shifts.append(lo - end)
            end += hi - lo + 1
        return shifts


def region_within(at: Range, edges: Range, rule: str) -> Range:
    """What a copy may touch of a source for a range of coordinates."""
    (a, b), (lo, hi) = at, edges
    match rule:
        case "nothing" | "constant":
            return max(a, lo), min(b, hi)
        case "nearest":
            return max(lo, min(a, hi)), min(hi, max(b, lo))
        case "wrap":
            return edges
    twice = int(rule == "reflect")
    return max(lo, min(a, 2 * hi + twice - b)), min(hi, max(b, 2 * lo - twice - a))


def taken(
    array: np.ndarray, lo: Sequence[int], coordinates: Sequence[np.ndarray], limits: Sequence[tuple[Range, str] | None]
) -> tuple[np.ndarray, np.ndarray]:
    """The elements at these coordinates of each dimension, and whether the source gives them."""
    given = np.ones([len(along) for along in coordinates], bool)
    for d, (along, limit) in enumerate(zip(coordinates, limits, strict=True)):
        found = [int(c) if limit is None else stands_for(int(c), *limit[0], RULES.get(limit[1])) for c in along]
        shape = [-1 if k == d else 1 for k in range(array.ndim)]
        given &= np.array([c is not None for c in found], bool).reshape(shape)
        places = [0 if c is None else c - lo[d] for c in found]
        if array.shape[d] == 0:
            assert all(c is None for c in found)
            array = np.zeros([len(found) if k == d else n for k, n in enumerate(array.shape)], array.dtype)
        else:
            assert all(0 <= place < array.shape[d] for place in places), "a copy takes what its region does not hold"
            array = array.take(places, d)
    return array, given


def build_copy(copying: Copying, name: str, sources: Sequence[sl.BufferExpr], target: sl.BufferExpr) -> None:
    """Concatenate or stack."""
    function = sl.copies.concatenate if copying.kind == "concatenate" else sl.copies.stack
    function(sources, target, axis=copying.axis, name=name)


def build_extension(copying: Copying, name: str, source: sl.BufferExpr) -> sl.BufferExpr:
    """Extend a buffer; the func that does it is called like the stage."""
    value: dict[str, Any] = {} if copying.fill is None else {"value": copying.fill}
    extended = source.extended(copying.rules, **value)
    assert extended.producer is not None
    extended.producer.name, extended.producer.named = name, True
    return extended
