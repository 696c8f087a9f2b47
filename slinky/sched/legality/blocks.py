"""Whether all that calls touch of a buffer that is stored by blocks lies in one block.

Proof idea. A block begins at each multiple of its length, counted from the first coordinate. A point lies in one block;
so does all that begins where a block does and is no longer. The variable of a loop that goes on by steps is its first
value and so many steps: said so, both ends of a region are often a multiple of the length and a rest that does not
change, and whole quotients of the two are compared.

Invariant: after every edit, a view of one block shows all that a call touches.
"""

from __future__ import annotations

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.blocks import blocks_of_dims
from slinky.ir.statements import Alloc
from slinky.sched.legality.multiples import is_multiple
from slinky.sched.legality.refusals import Unproved
from slinky.sched.legality.touches import Touch, touches
from slinky.sched.remedies import PlaceOf, Remedy, first
from slinky.symbolic.bounds import simplify
from slinky.symbolic.expressions import Expr, equal, variable
from slinky.symbolic.intervals import Interval
from slinky.symbolic.proofs import prove
from slinky.symbolic.traversal import substitute, symbols


def check_blocks(version: Version) -> None:
    """Check all buffers of a program that are stored by blocks.

    Raises `SchedulingError` for the first access that is not shown to lie in one block.
    """
    for identity in sorted(version.stored_by_blocks(), key=version.place):
        alloc = version.statement(identity)
        assert isinstance(alloc, Alloc)
        found = touches(version, alloc.buffer, version.writers_of(alloc), writing=True)
        found += touches(version, alloc.buffer, version.readers_of(alloc), writing=False)
        for d, length in enumerate(blocks_of_dims(alloc)):
            for touch in found:
                if length is not None and not _lies_in_one(version, alloc.box[d], touch, d, length):
                    raise _across(version, alloc, touch, d, length)


def _lies_in_one(version: Version, bounds: Interval, touch: Touch, d: int, length: int) -> bool:
    """Whether what a call touches along a dimension is shown to lie in one block."""
    known = touch.known
    i = Interval(simplify(touch.region[d].min, known), simplify(touch.region[d].max, known))
    if prove(i.max <= i.min, known):
        return True
    low, high = i.min - bounds.min, i.max - bounds.min
    if prove(equal(low // length, high // length), known):
        return True
    loops = version.loops_around(touch.call.id)
    if prove(i.max - i.min < length, known) and is_multiple(low, length, loops, known):
        return True
    for loop in reversed(loops):
        if loop.variable in symbols(low) | symbols(high):
            steps = variable(f"{loop.variable.name}'")
            in_steps: dict[Expr, Expr] = {loop.variable: loop.range.min + loop.step * steps}
            known = known.also(equal(loop.variable, in_steps[loop.variable]), steps >= 0)
            low, high = substitute(low, in_steps), substitute(high, in_steps)
    return prove(equal(low // length, high // length), known)


def _across(version: Version, alloc: Alloc, touch: Touch, d: int, length: int) -> SchedulingError:
    """The refusal of an access of several blocks."""
    i, name = touch.region[d], f"{alloc.buffer}.{alloc.dims[d]}"
    low, high = i.min - alloc.box[d].min, i.max - alloc.box[d].min
    condition = equal(low // length, high // length)

    def remedies() -> list[Remedy]:
        return [first("store it in one piece again", ("merge_dims", PlaceOf(alloc.id), alloc.dims[d]))]

    return SchedulingError(
        f"not shown that what {touch.call.func.name} touches of {name} lies in one block of {length}",
        place=statement_cursor(version, touch.call.id),
        condition=Unproved(version, condition, touch.known),
        hint="split the call by the length of a block first (split_loop)",
        remedies=remedies,
    )
