"""Whether the elements of a buffer lie apart under the strides that are asked for it.

Proof idea. Of two dimensions of several elements each, all of the one lies within a step along the other; of all
dimensions, neighbours are an element apart or more. Where dimensions can be put in a row such that each lies within a
step along the next, each lies within a step along all behind that, too. Strides that somebody asked for when the graph
was made need not be shown to leave room: a run says where they do not. So those of an allocation that holds no more
than it did, and stands where it stood or further in, are as good as before. (What depends on a loop is another thing
where the loop is.)

Invariant: after every edit, elements lie apart wherever they did before.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Set

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import ROOT, Entry, Version
from slinky.errors import SchedulingError
from slinky.ir.statements import Alloc, For, If, Statement, has_strides, strides_of
from slinky.symbolic.expressions import Expr, equal
from slinky.symbolic.intervals import Box, box_symbols, not_empty
from slinky.symbolic.proofs import Facts, prove
from slinky.symbolic.traversal import symbols, union_of_symbols


def check_room(old: Version, version: Version, these: Iterable[int], copies: Mapping[int, int]) -> None:
    """Check the strides of some allocations, given by identity, some of which are copies of others.

    Raises `SchedulingError` for the first of which elements may come to share memory.
    """
    for identity in these:
        alloc = version.statement(identity)
        if not isinstance(alloc, Alloc) or not has_strides(alloc):
            continue
        was = old.entries.get(copies.get(identity, identity))
        known = version.facts_at(identity)
        if was is not None and _is_as_good(old, version, was, alloc, known):
            continue
        if not (leave_room(alloc, alloc.box, known) and _fit_elements(alloc, known)):
            before = None if was is None else was.statement
            had_them = isinstance(before, Alloc) and before.layout == alloc.layout
            raise SchedulingError(
                f"the strides that are asked for {alloc.buffer} are not shown to leave room for what it would hold",
                place=statement_cursor(version, identity),
                hint="do this first, and set its layout then (set_layout)" if had_them else "",
            )


def leave_room(alloc: Alloc, box: Box, known: Facts) -> bool:
    """Whether the strides that are asked for a buffer, if any, are shown to keep its elements apart over a box: of two
    dimensions of several elements, one lies within a step along the other. (Where a stride is not asked for, there is
    one that leaves room beside all that are.)"""
    known = known.also(not_empty(box))
    pairs = zip(strides_of(alloc), box, strict=True)
    dims = [(s, i.extent) for s, i in pairs if s is not None and not prove(i.extent <= 1, known)]
    return _are_nested(dims, known) or all(
        prove(one >= other * count, known) or prove(other >= one * own_count, known)
        for (one, own_count), (other, count) in itertools.combinations(dims, 2)
    )


def _are_nested(dims: list[tuple[Expr, Expr]], known: Facts) -> bool:
    """Whether dimensions of an element or more, given by strides and extents, each lie within a step along the next:
    in the order of how much their strides are made of, as those of an array in some order are nested."""
    if not dims:
        return True
    row = sorted(dims, key=lambda dim: len(symbols(dim[0])))
    return prove(row[0][0] >= 0, known) and all(
        prove(outer >= inner * count, known) for (inner, count), (outer, _) in itertools.pairwise(row)
    )


def _fit_elements(alloc: Alloc, known: Facts) -> bool:
    """Whether strides are shown to step over whole elements, and to be multiples of the alignment."""
    known, size = known.also(not_empty(alloc.box)), alloc.dtype.itemsize
    alignment = 1 if alloc.layout is None else alloc.layout.alignment
    given = [stride for stride in strides_of(alloc) if stride is not None and not prove(equal(stride, size), known)]
    return all(prove(stride >= size, known) and prove(equal(stride % alignment, 0), known) for stride in given)


def _is_as_good(old: Version, version: Version, was: Entry, alloc: Alloc, known: Facts) -> bool:
    """Whether an allocation has the strides that another one had, for no more elements, and stands inside all that this
    one stood in."""
    before = was.statement
    if not isinstance(before, Alloc) or (before.layout, before.dtype) != (alloc.layout, alloc.dtype):
        return False
    speaks_of = union_of_symbols(s for s in strides_of(alloc) if s is not None) | box_symbols(before.box)
    if not all(
        _runs_no_more(outer, now, speaks_of, known) for outer, now in _around(old, version, before.id, alloc.id)
    ):
        return False
    known = known.also(not_empty(alloc.box))
    return all(prove(i.extent <= j.extent, known) for i, j in zip(alloc.box, before.box, strict=True))


def _around(old: Version, version: Version, before: int, now: int) -> Iterator[tuple[Statement, Statement | None]]:
    """The loops and ifs around a statement of one version, each with itself where it stands around a statement of
    another version, in the same of its blocks."""
    path = (now, *version.ancestors(now))
    fields = {version.entries[i].parent: version.entries[i].field for i in path}
    for i in (before, *old.ancestors(before)):
        entry = old.entries[i]
        if entry.parent != ROOT:
            stays = fields.get(entry.parent) == entry.field
            yield old.statement(entry.parent), version.statement(entry.parent) if stays else None


def _runs_no_more(before: Statement, now: Statement | None, speaks_of: Set[Expr], known: Facts) -> bool:
    """Whether what is inside of a loop or an if now runs only where what was inside did, with the same values of these
    symbols."""
    if isinstance(before, If) and isinstance(now, If):
        return before.condition == now.condition
    if not isinstance(before, For) or not isinstance(now, For):
        return False
    if (before.variable, before.range, before.step) == (now.variable, now.range, now.step):
        return True
    return before.variable not in speaks_of and prove(before.range.min <= before.range.max, known)
