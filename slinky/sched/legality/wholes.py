"""Whether calls compute all of the dimensions that their funcs compute whole."""

from __future__ import annotations

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Touched, Version
from slinky.errors import SchedulingError
from slinky.ir.effects import Touching
from slinky.ir.statements import Alloc, Call
from slinky.sched.legality.containing import inside
from slinky.sched.legality.touches import (
    effective_box,
)
from slinky.symbolic.intervals import not_empty


def check_whole(version: Version, touched: Touched) -> None:
    """Check that calls compute all of the dimensions that their funcs compute whole.

    Of what an edit touched these are the calls, and those that are clamped by the bounds of an allocation. Raises
    `SchedulingError` for the first call that is not shown to.
    """
    calls: dict[int, Call] = {}
    for identity, (_, entry) in touched.items():
        statement = entry.statement if entry is not None else None
        if isinstance(statement, Touching):
            if statement.func.whole:
                calls[identity] = statement
        elif isinstance(statement, Alloc):
            for writer in version.writers(statement.buffer):
                call = version.statement(writer)
                assert isinstance(call, Touching)
                calls[writer] = call
    for call in calls.values():
        for d, all_of_it in call.func.whole:
            box = effective_box(version, call)
            known = version.facts_at(call.id).also(not_empty(box))
            if not (inside(all_of_it, box[d], known) and inside(box[d], all_of_it, known)):
                raise computes_part(version, call, d)


def computes_part(version: Version, call: Call, dim: int, *, hint: str = "") -> SchedulingError:
    """The refusal of a rewrite after which a call would compute part of a dimension."""
    name = call.func.dim_names()[dim]
    return SchedulingError(
        f"{call.func.name} computes {name} whole, and would compute part of it here",
        place=statement_cursor(version, call.id),
        hint=hint,
    )
