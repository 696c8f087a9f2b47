"""Whether buffers lie in memory in the order of dimensions that the calls which use them ask for.

Idea. What lies where matters to nobody but to callbacks that say so (`statements.Order`). A rewrite may store what such
a call uses in other memory, fold it, or give the call another buffer. So the calls that ask for an order are looked at
after every edit: there are few.

Invariant: after every edit, each call finds each of its buffers as its func takes it (see `ir.orders`).
"""

from __future__ import annotations

from slinky.cursors.cursors import statement_cursor
from slinky.cursors.versions import Version
from slinky.errors import SchedulingError
from slinky.ir.effects import Touching
from slinky.ir.families import is_member
from slinky.ir.orders import lies_in_order, words_of_order
from slinky.ir.statements import Alloc, Call, Order
from slinky.sched.remedies import PlaceOf, Remedy, first


def check_orders(version: Version) -> None:
    """Check all calls of a program that take a buffer in some order only.

    Raises `SchedulingError` for the first buffer that is not shown to lie so.
    """
    for identity in sorted(version.asking_for_orders(), key=version.place):
        call = version.statement(identity)
        assert isinstance(call, Touching)
        for buffer, port in zip((*call.reads, *call.writes), call.func.ports, strict=True):
            if port.order is None:
                continue
            alloc = version.alloc_of(buffer, identity)
            if alloc is None or not lies_in_order(alloc, port.order, version.facts_at(identity)):
                raise _not_in_order(version, call, buffer, port.order, alloc)


def _not_in_order(version: Version, call: Call, buffer: str, order: Order, alloc: Alloc | None) -> SchedulingError:
    """The refusal of a buffer that does not lie as a call takes it."""
    dims = tuple(map(str, range(len(order.dims)))) if alloc is None else alloc.dims

    def remedies() -> list[Remedy]:
        if call.func.variant is None or not is_member(call.func):
            return []
        words = f"let {call.func.name} run what takes it as it is first"
        return [first(words, ("choose_variant", PlaceOf(call.id), None))]

    return SchedulingError(
        f"{call.func.label} takes {buffer} {words_of_order(order, dims)}, and it is not shown to lie so",
        place=statement_cursor(version, call.id),
        remedies=remedies,
    )
