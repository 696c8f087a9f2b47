"""How deep beyond its edges a mirrored buffer is read, where that is a number.

Idea. Bounds inference meets readers first: when it comes to the copy that extends a buffer, all that is asked of the
copy is known, as an interval between expressions. A filter of a picture asks for a few rows beyond the edges, however
large the picture is. Then each end of what the copy reads moves with one end of what it writes (see `copying`), which
no reflection at an edge that depends on the size lets it do.

Invariant: no call of the copy goes further beyond the edges than the depths that are found: its box is inside of what
is asked of it, whatever the schedule is. Of deep edges, such as those of a picture that is padded to twice its size,
the exact region is read, unless windows are as wide as they are deep.
"""

from __future__ import annotations

from collections.abc import Mapping

from slinky.graph.copying import UNKNOWN, CopyFunc, Depths, Source
from slinky.ir.operations import Boundary
from slinky.symbolic.bounds import bounds
from slinky.symbolic.differences import largest_difference
from slinky.symbolic.expressions import Constant, Expr, Variable
from slinky.symbolic.facts import Facts
from slinky.symbolic.intervals import Interval, substitute_interval

_SHALLOW = 16
"""So many elements more than needed may be read next to an edge, by whoever does not cross it."""

MIRRORED = frozenset({Boundary.REFLECT, Boundary.MIRROR})
"""The rules of which a copy's region reaches as deep as is asked."""


def depths_of(
    func: CopyFunc, box: Mapping[Variable, Interval], domains: Mapping[Expr, Expr], known: Facts, widest: int
) -> list[list[Depths]]:
    """How far beyond the edges a copy goes, by source and dimension of it, where all that is asked of it is in a box.

    `domains` are what the symbols of edges stand for; `widest` is how many elements a reader of the copy sees at once.
    """
    most = max(_SHALLOW, widest)
    return [
        [_depths(source, d, box, domains, known, most) for d in range(len(source.edges))] for source in func.sources
    ]


def _depths(
    source: Source, d: int, box: Mapping[Variable, Interval], domains: Mapping[Expr, Expr], known: Facts, most: int
) -> Depths:
    edges, index = source.edges[d], source.access.box[d]
    if edges is None or index is None or source.boundaries[d] not in MIRRORED:
        return UNKNOWN
    ranges: dict[Expr, Interval] = dict(box.items())
    own, asked = substitute_interval(edges, domains), bounds(index.min, ranges, known)
    before = largest_difference(own.min, asked.min, {}, known)
    behind = largest_difference(asked.max, own.max, {}, known)
    return _depth(before, most), _depth(behind, most)


def _depth(found: Expr | None, most: int) -> int | None:
    return max(found.value, 0) if isinstance(found, Constant) and found.value <= most else None
