"""Do several boxes contain a region? By comparing two of them, or by cutting off what one contains, over and over.

Idea. A box that contains a region but for one dimension, where it reaches one end of it, leaves of the region what lies
beyond its other end: the other boxes must contain that. Where every box falls short in several dimensions, as tiles do,
the region is cut at the end of one that begins with it. Many boxes one behind the other are not cut off one by one
(`side_by_side`).

Invariant: yes is said only where each element of the region is in a box, for all integers that meet the facts. This
file knows boxes, and nothing of programs.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

from slinky.sched.legality.containing import inside, shown
from slinky.sched.legality.side_by_side import contain_side_by_side
from slinky.symbolic.arithmetic import spread
from slinky.symbolic.bounds import simplify
from slinky.symbolic.comparing import at_most
from slinky.symbolic.expressions import Constant, Expr, FloorDivide, Max, Min, Node, Product, Select, maximum, minimum
from slinky.symbolic.intervals import Box, Interval
from slinky.symbolic.patience import current_patience
from slinky.symbolic.proofs import Facts, impossible
from slinky.symbolic.traversal import children

_LONG = 4
"""An end that is a choice between more cases is simplified where nothing else helps, and so is one with products."""

_MOST_CUTS = 256
"""Not more often is an end of a region cut off to look for what covers the rest: in which order does not matter, so if
many ways fail, all do."""

_COEFFICIENTS_PER_BOX = 300
"""What it takes to look at one of the boxes for what is left of a region (see `patience`)."""

_TILES = 4
"""So many boxes at least are tiles: fewer, and one of them would cut off an end of the region."""


@attrs.define
class _Cuts:
    """How often a region may be cut yet."""

    left: int = _MOST_CUTS


_Open: TypeAlias = tuple[int, ...]
"""The dimensions along which a box is not shown yet to contain a region. What is shown stays so: with more facts, and
of what is left of the region."""


def contain_together(boxes: list[Box], region: Box, known: Facts) -> bool:
    """Whether boxes together contain a region: one alone, or one that cuts off an end of a dimension, and the rest."""
    every = tuple(range(len(region)))
    return _contain_together([(box, every) for box in boxes], region, known, _Cuts())


def _contain_together(boxes: list[tuple[Box, _Open]], region: Box, known: Facts, cuts: _Cuts) -> bool:
    if not region:
        return bool(boxes)
    plain = [box for box, _ in boxes]
    return (
        contain_side_by_side(plain, region, known, [dims for _, dims in boxes])
        or contain_by_comparing(plain, region, known)
        or _contain_by_proofs(boxes, region, known, cuts)
    )


def contain_simplified(boxes: list[Box], region: Box, known: Facts) -> bool:
    """Whether boxes contain a region once it is decided which of their choices are taken in the case at hand.

    Windows of windows at the edges of arrays are long choices of choices, of which hardly any is left in a case. It is
    asked where `contain_together` has failed. A dimension along which every box contains the region is none to cut, so
    nobody looks at its choices.
    """
    if not any(_is_long(end) for i in region for end in (i.min, i.max)):
        return False
    dims = [d for d, i in enumerate(region) if not all(inside(i, box[d], known) for box in boxes)]
    found: dict[Expr, Expr] = {}

    def simplified(box: Box) -> Box:
        for end in (end for d in dims for end in (box[d].min, box[d].max)):
            if end not in found:
                found[end] = simplify(end, known)
        return tuple([Interval(found[box[d].min], found[box[d].max]) for d in dims])

    rest, parts = simplified(region), [simplified(box) for box in boxes]
    if all(before is after for before, after in found.items()):
        return False  # that was asked before
    return contain_together(parts, rest, known)


def _is_long(end: Expr) -> bool:
    """Whether there are choices among the choices of an end, or in what it multiplies or divides by a symbol."""
    if isinstance(end, (Min, Max, Select)) and spread(end) > _LONG:
        return True
    chooses = multiplies = False
    met: set[Node] = set()
    waiting: list[Node] = [end]
    while waiting:
        node = waiting.pop()
        if node not in met:
            met.add(node)
            waiting.extend(children(node))
            chooses |= isinstance(node, (Min, Max, Select))
            multiplies |= isinstance(node, Product)
            multiplies |= isinstance(node, FloorDivide) and not isinstance(node.denominator, Constant)
    return chooses and multiplies


def contain_by_comparing(boxes: list[Box], region: Box, known: Facts) -> bool:
    """Whether a short look finds a box that contains the region, or two that do, side by side in one dimension.

    A window that slides is such a pair: what earlier iterations wrote, and what this one adds. What the first of two
    does not reach, the second must: all of the region that comes behind it.
    """
    below: list[tuple[int, Interval]] = []
    above: list[tuple[int, Interval]] = []
    for box in boxes:
        short: list[tuple[int, Interval, bool, bool]] = []
        for d, (a, b) in enumerate(zip(box, region, strict=True)):
            low, high = at_most(a.min, b.min, known), at_most(b.max, a.max, known)
            if not (low and high):
                short.append((d, a, low, high))
                if len(short) > 1:
                    break
        if not short:
            return True
        if len(short) == 1:
            d, a, low, high = short[0]
            if low:
                below.append((d, a))
            elif high:
                above.append((d, a))
    for d, a in below:
        for e, b in above:
            if d == e and (
                at_most(b.min, maximum(a.max + 1, region[d].min), known)
                or at_most(b.min, maximum(_within_reach(a.max, region[d].max, known) + 1, region[d].min), known)
            ):
                return True
    return False


def _within_reach(end: Expr, reach: Expr, known: Facts) -> Expr:
    """The end of an interval without limits that all of what it is needed for lies within."""
    if not isinstance(end, Min):
        return end
    nearer = [limit for limit in end.operands if not at_most(reach, limit, known)]
    return minimum(*nearer) if nearer else end


def _contain_by_proofs(boxes: list[tuple[Box, _Open]], region: Box, known: Facts, cuts: _Cuts) -> bool:
    left_open: list[tuple[Box, _Open]] = []
    for box, dims in boxes:
        outside = tuple([d for d in dims if not inside(region[d], box[d], known)])
        if not outside:
            return True
        left_open.append((box, outside))
    if len(boxes) < 2:
        return False
    for n, (box, outside) in enumerate(left_open):
        if len(outside) > 1:
            continue
        d = outside[0]
        need, have = region[d], box[d]
        if shown(have.min, need.min, known):
            left = Interval(maximum(need.min, have.max + 1), need.max)
        elif shown(need.max, have.max, known):
            left = Interval(need.min, minimum(need.max, have.min - 1))
        else:
            continue
        if left == need:
            continue  # it has nothing of the region
        if _contain_rest(left_open[:n] + left_open[n + 1 :], region, d, left, known, cuts):
            return True
    are_tiles = len(boxes) >= _TILES and all(len(outside) > 1 for _, outside in left_open)
    return are_tiles and _contain_halves(left_open, region, known, cuts)


def _contain_rest(
    boxes: list[tuple[Box, _Open]], region: Box, d: int, left: Interval, known: Facts, cuts: _Cuts
) -> bool:
    """Whether boxes contain what is left of a region along a dimension, if that is anything."""
    cuts.left -= 1
    patience = current_patience()
    if cuts.left < 0 or patience.is_used_up(0):
        return False
    patience.spend(_COEFFICIENTS_PER_BOX * len(boxes))
    rest = (*region[:d], left, *region[d + 1 :])
    known_rest = known.also(left.min <= left.max)
    return _contain_together(boxes, rest, known_rest, cuts) or impossible(known_rest)


def _contain_halves(boxes: list[tuple[Box, _Open]], region: Box, known: Facts, cuts: _Cuts) -> bool:
    """Whether boxes that all fall short in several dimensions contain a region, as tiles do: those before the end of a
    box that begins with the region, and those behind it."""
    for n, (box, _) in enumerate(boxes):
        for d, (have, need) in enumerate(zip(box, region, strict=True)):
            if shown(have.min, need.min, known) and not shown(need.max, have.max, known):
                behind = Interval(maximum(need.min, have.max + 1), need.max)
                before = Interval(need.min, minimum(need.max, have.max))
                return _contain_rest(boxes[:n] + boxes[n + 1 :], region, d, behind, known, cuts) and _contain_rest(
                    boxes, region, d, before, known, cuts
                )
    return False
