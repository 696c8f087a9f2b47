"""Copies that assemble several sources, carried out with little work per call.

Idea. The parts of a concatenation or a stack are boxes of the target: each source has edges, or a place in a new
dimension, and gives what lies in between. Where the boxes of a call have no element in common, and are all of its
target, it does not matter which source comes first, and each is a copy by dimensions, of its own, to its box.

Invariant: it copies what `copy_pieces` says.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from slinky.ir.operations import Copy, CopySource
from slinky.runtime.buffers import Buffer, buffer_at
from slinky.runtime.separable_copies import Number, SeparableCopy, number, separable
from slinky.symbolic.followed import followed

Range: TypeAlias = "tuple[int, int]"


@attrs.frozen(eq=False)
class _Limit:
    """The least and the greatest coordinate that a dimension of the target has."""

    dim: int
    min: Number
    max: Number


@attrs.frozen(eq=False)
class _Part:
    """A source: within which limits it gives elements, and how it is copied there."""

    copy: SeparableCopy
    limits: tuple[_Limit, ...]

    def box(self, whole: Sequence[Range], values: Mapping[str, int], given: tuple[int, ...]) -> list[Range] | None:
        """What it gives of a box; None if nothing."""
        box = list(whole)
        for dim, least, most in _limits(self, tuple(values), given):
            lo, hi = box[dim]
            lo, hi = max(lo, least), min(hi, most)
            if lo > hi:
                return None
            box[dim] = (lo, hi)
        return box


@functools.lru_cache(maxsize=8192)
def _limits(part: _Part, names: tuple[str, ...], given: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    """Dimensions of the target with the least and the greatest coordinate that a part has there."""
    values = dict(zip(names, given, strict=True))
    return tuple([(limit.dim, limit.min(values), limit.max(values)) for limit in part.limits])


@attrs.frozen(eq=False)
class AssembledCopy:
    """A copy from several sources, as parts."""

    parts: tuple[_Part, ...]

    def carry_out(self, sources: Sequence[Buffer], target: Buffer, values: Mapping[str, int]) -> bool:
        """Copy; False, and nothing done, where parts have elements in common or leave some to nobody."""
        whole = [(lo, lo + extent - 1) for lo, extent in zip(target.min, target.array.shape, strict=True)]
        given = tuple(values.values())
        boxes = [part.box(whole, values, given) for part in self.parts]
        found = [box for box in boxes if box is not None]
        if sum(math.prod([hi - lo + 1 for lo, hi in box]) for box in found) != target.array.size:
            return False
        if any(_overlap(a, b) for a, b in itertools.combinations(found, 2)):
            return False
        for part, source, box in zip(self.parts, sources, boxes, strict=True):
            if box is not None:
                within: list[Any] = [slice(lo - o, hi - o + 1) for (lo, hi), o in zip(box, target.min, strict=True)]
                place = buffer_at(target.array[(*within, ...)], tuple([lo for lo, _ in box]))
                done = part.copy.carry_out(source, place, values, None)
                assert done  # without edges, each dimension is one stretch
        return True


def _overlap(a: Sequence[Range], b: Sequence[Range]) -> bool:
    return all(i[0] <= j[1] and j[0] <= i[1] for i, j in zip(a, b, strict=True))


def assembled(copy: Copy) -> AssembledCopy | None:
    """A copy of several sources as parts; None where these are no boxes, or are extended."""
    if len(copy.sources) < 2:
        return None
    parts = [_part(copy, source) for source in copy.sources]
    found = tuple([part for part in parts if part is not None])
    return AssembledCopy(found) if len(found) == len(parts) else None


def _part(copy: Copy, source: CopySource) -> _Part | None:
    nothing = (None,) * len(source.index)
    if any(boundary is not None for boundary in source.boundaries):
        return None
    plain = attrs.evolve(source, edges=nothing, where=())
    alone = separable(attrs.evolve(copy, sources=(plain,)))
    edges = [(e, i) for e, i in zip(source.index, source.edges, strict=True) if i is not None]
    limits: list[_Limit] = []
    for e, i in (*edges, *source.where):
        which = followed(e, copy.dims)
        if which is None:
            return None
        limit = which.within(i)
        least, most = number(limit.min), number(limit.max)
        if least is None or most is None:
            return None
        limits.append(_Limit(which.dim, least, most))
    return None if alone is None else _Part(alone, tuple(limits))
