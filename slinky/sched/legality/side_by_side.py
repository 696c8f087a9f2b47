"""Do boxes that stand side by side along a dimension contain a region? For many of them, as what is stacked has.

Idea. Of boxes that contain a region along all dimensions but one, each goes on where another one ends: from the one
that begins with the region to one that ends with it. The next ones are looked up by where they begin, and each is met
once, so that this takes as many steps as there are boxes.

Invariant: yes is said only where each element of the region is in a box, for all integers that meet the facts. Up to
the end of each box that was met, all is: what follows an end begins right behind it, also if one of them is empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache

from slinky.sched.legality.containing import shown
from slinky.symbolic.comparing import at_most
from slinky.symbolic.expressions import Constant, Expr, Max, Min, maximum, minimum
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.proofs import Facts

FEWEST = 4
"""Fewer boxes are looked at one by one."""


def contain_side_by_side(
    boxes: Sequence[Box], region: Box, known: Facts, dims: Sequence[Sequence[int]] | None = None
) -> bool:
    """Whether boxes one behind the other, along some dimension, contain a region.

    `dims` are, for each box, the dimensions along which it is not known to contain the region: if not given, all.
    """
    if len(boxes) < FEWEST:
        return False
    if dims is None:
        dims = [range(len(region))] * len(boxes)
    short = [_dims_short_of(box, own, region, known) for box, own in zip(boxes, dims, strict=True)]
    counts = [sum(d in own for own in short) for d in range(len(region))]
    d = max(range(len(region)), key=counts.__getitem__)
    found = [
        box[d]
        for own, box in zip(short, boxes, strict=True)
        if all(e == d or _contains(box[e], region[e], known) for e in own)
    ]
    return len(found) >= FEWEST and _reach(found, region[d], known)


def _contains(i: Interval, needed: Interval, known: Facts) -> bool:
    """Whether an interval is shown to contain another one, by a proof if need be."""
    return shown(i.min, needed.min, known) and shown(needed.max, i.max, known)


def _dims_short_of(box: Box, dims: Sequence[int], region: Box, known: Facts) -> list[int]:
    """The dimensions, of these, along which few steps do not find that a box contains a region."""
    ends = ((d, box[d], region[d]) for d in dims)
    return [d for d, a, b in ends if not (at_most(a.min, b.min, known) and at_most(b.max, a.max, known))]


def _reach(intervals: Sequence[Interval], needed: Interval, known: Facts) -> bool:
    """Whether intervals reach from one end of another one to the other."""
    before = cache(lambda e: type(e) is not Constant and at_most(e, needed.min, known))
    behind = cache(lambda e: type(e) is not Constant and at_most(needed.max, e, known))
    found = [_without_limits(i, before, behind) for i in intervals]
    following: defaultdict[Expr, list[Interval]] = defaultdict(list)
    for i in dict.fromkeys(found):
        following[i.min].append(i)
    firsts = [begin for begin in following if at_most(begin, needed.min, known)]
    waiting = [i for begin in firsts for i in following.pop(begin)]
    while waiting:
        i = waiting.pop()
        if at_most(needed.max, i.max, known):
            return True
        waiting.extend(following.pop(i.max + 1, ()))
    return False


def _without_limits(i: Interval, before: Callable[[Expr], bool], behind: Callable[[Expr], bool]) -> Interval:
    """What an interval was before it was limited to what lies around all that is needed: of that, it has the same
    elements."""
    lows = [e for e in i.min.operands if not before(e)] if isinstance(i.min, Max) else [i.min]
    highs = [e for e in i.max.operands if not behind(e)] if isinstance(i.max, Min) else [i.max]
    return Interval(maximum(*lows) if lows else i.min, minimum(*highs) if highs else i.max)
