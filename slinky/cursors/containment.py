"""What lies inside what, and which cursors mean the same place.

Invariant: a gap lies where its neighbours do, not inside its anchor.
"""

from __future__ import annotations

from slinky.cursors.base import Cursor, InvalidCursor
from slinky.cursors.cursors import BlockCursor, DimCursor, ExprCursor, GapCursor, StatementCursor
from slinky.cursors.parameters import ArgCursor
from slinky.errors import OperationError, RewritingError, cited


def lies_in(outer: StatementCursor | BlockCursor, other: object) -> bool:
    """Whether a place lies inside some statements, or is one of them, in the later version of the two.

    Raises `InvalidCursorError` if neither version was made from the other, or one of the places is gone in the later;
    `OperationError` if the other is no place.
    """
    if not isinstance(other, Cursor):
        raise OperationError(f"is_ancestor_of() expects a cursor, got {cited(other)}")
    if isinstance(other, InvalidCursor):
        return False
    try:
        outer, other = _in_one_version(outer, other)
    except RewritingError as error:
        error.leave("is_ancestor_of")
        raise
    version = outer._version
    own = {outer._id} if isinstance(outer, StatementCursor) else set(outer._ids())

    def holds(identity: int) -> bool:
        return identity in own or not own.isdisjoint(version.ancestors(identity))

    match other:
        case BlockCursor():
            return holds(other._first) and holds(other._last)
        case GapCursor():
            parent, beyond = other.parent(), other.anchor().next(-1 if other.is_before() else 1)
            between = isinstance(beyond, StatementCursor) and {other._id, beyond._id} <= own
            return between or (isinstance(parent, StatementCursor) and holds(parent._id))
        case StatementCursor() | DimCursor() | ExprCursor():
            return holds(other._id)
    return False


def _in_one_version(
    outer: StatementCursor | BlockCursor, other: Cursor
) -> tuple[StatementCursor | BlockCursor, Cursor]:
    """The two cursors, the older one forwarded to the version of the other."""
    match other:
        case StatementCursor() | BlockCursor() | GapCursor() | DimCursor() | ExprCursor() | ArgCursor():
            if other._version.lineage.descends_from(outer._version.lineage):
                return outer.forward_to(other._version), other
    return outer, other.forward_to(outer._version)


def are_same(a: Cursor, b: Cursor) -> bool:
    """Whether two cursors of one version mean the same place: two gaps also if they go with different anchors."""
    if isinstance(a, GapCursor) and isinstance(b, GapCursor):
        return _without_anchor(a) == _without_anchor(b)
    return a == b


def _without_anchor(gap: GapCursor) -> GapCursor:
    """The gap as the one behind the statement before it; at the start of a block, before the first statement."""
    previous = gap.anchor().prev()
    return previous.after() if gap.is_before() and isinstance(previous, StatementCursor) else gap
