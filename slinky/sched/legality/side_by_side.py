"""Do boxes that stand side by side along a dimension contain a region? For many of them, as what is stacked has.

Idea. Of boxes that contain a region along all dimensions but one, each goes on where another one ends: from the one
that begins with the region to one that ends with it. The next one is looked up by where it begins, so that this takes
as many steps as there are boxes.

Invariant: yes is said only where each element of the region is in a box, for all integers that meet the facts. Up to
the end of the last box that was met, all is: what follows an end begins right behind it, also if one of them is empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from slinky.symbolic.comparing import at_most
from slinky.symbolic.expressions import Max, Min, maximum, minimum
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.proofs import Facts

FEWEST = 4
"""Fewer boxes are looked at one by one."""


def contain_side_by_side(boxes: Sequence[Box], region: Box, known: Facts) -> bool:
    """Whether boxes one behind the other, along some dimension, contain a region."""
    if len(boxes) < FEWEST:
        return False
    short = [(_dims_short_of(box, region, known), box) for box in boxes]
    return any(_reach([box for own, box in short if own in ((), (d,))], region, d, known) for d in range(len(region)))


def _dims_short_of(box: Box, region: Box, known: Facts) -> tuple[int, ...]:
    """The dimensions along which a box is not found to contain a region; the first two, if there are several."""
    found: tuple[int, ...] = ()
    for d, (a, b) in enumerate(zip(box, region, strict=True)):
        if not (at_most(a.min, b.min, known) and at_most(b.max, a.max, known)):
            found = (*found, d)
            if len(found) > 1:
                break
    return found


def _reach(boxes: Sequence[Box], region: Box, d: int, known: Facts) -> bool:
    """Whether boxes reach from one end of a region to the other along a dimension."""
    found = [_without_limits(box[d], region[d]) for box in boxes]
    following = {i.min: i for i in found}
    i = next((i for i in found if at_most(i.min, region[d].min, known)), None)
    while i is not None:
        if at_most(region[d].max, i.max, known):
            return True
        i = following.pop(i.max + 1, None)
    return False


def _without_limits(i: Interval, needed: Interval) -> Interval:
    """What an interval was before it was limited to the one that is needed: of that, it has the same elements."""
    lows = [e for e in i.min.operands if e is not needed.min] if isinstance(i.min, Max) else [i.min]
    highs = [e for e in i.max.operands if e is not needed.max] if isinstance(i.max, Min) else [i.max]
    return Interval(maximum(*lows), minimum(*highs))
