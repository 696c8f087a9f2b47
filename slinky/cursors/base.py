"""What all cursors have in common, and the cursor to nowhere.

A cursor is a reference to a place in one version of a pipeline. Two cursors are equal when they mean the same place of
the same version.

Two ways to fail, on purpose: a step off the edge (`next` of the last statement, `parent` of an outermost one) gives the
falsy `InvalidCursor`, on which every further step gives itself: test it. What can only be a mistake raises
`InvalidCursorError`: using an `InvalidCursor` as an argument, indexing a block out of its range, asking for a dimension
that a call does not have, forwarding a place that is gone; and `PatternError`: finding what is not there. `find_all` is
how to ask whether something is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn, TypeVar

import attrs

from slinky.cursors.versions import Version
from slinky.errors import InvalidCursorError, NoPlaceError

T = TypeVar("T", bound="Cursor")

IDENTITIES = ("_id", "_first", "_last")
"""The fields of cursors that hold identities of statements."""


@attrs.frozen(repr=False)
class Cursor:
    """The root of all kinds of cursors. True in a condition, but for `InvalidCursor`."""

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.describe()}>"

    def describe(self) -> str:
        """The place in a few words."""
        raise NotImplementedError

    def forward_to(self: T, version: Version) -> T:
        """The same place in a later version. Users write `pipeline.forward(cursor)`.

        Raises `InvalidCursorError` where there is no such place any more, or the version is no descendant.
        """
        raise NotImplementedError

    def find(self, pattern: str) -> Any:
        """The first match of a pattern at or inside this place.

        Raises `PatternError` if the pattern is not understood, matches nothing here, or could mean several things.
        """
        from slinky.cursors.patterns import find_first_in

        return find_first_in(self, pattern)

    def find_all(self, pattern: str) -> tuple[Any, ...]:
        """All matches of a pattern at or inside this place, in program order; none if nothing matches."""
        from slinky.cursors.patterns import find_in

        return find_in(self, pattern)

    def __copy__(self: T) -> T:
        return self

    def __deepcopy__(self: T, memo: object) -> T:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the place with its version. Pickled together with a pipeline of that version, it points into it."""
        fields: dict[str, Any] = {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}
        version = fields.get("_version")
        if isinstance(version, Version):
            fields |= {name: version.place(fields[name]) for name in IDENTITIES if name in fields}
        return _unpickled, (type(self), fields)


@attrs.frozen(repr=False)
class InvalidCursor(Cursor):
    """No place: where a step went off the edge, or a record has nothing to return. Falsy; every step gives itself."""

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> NoReturn:
        raise NoPlaceError(
            f"an InvalidCursor stands for no place, so it has no {name}; test it with `if cursor:` first"
        )

    def describe(self) -> str:
        return "nowhere"

    def __repr__(self) -> str:
        return "<InvalidCursor>"

    def __str__(self) -> str:
        return "(no place)"

    def forward_to(self, version: Version) -> InvalidCursor:
        raise InvalidCursorError("an InvalidCursor stands for no place, so it cannot be forwarded")

    def parent(self) -> InvalidCursor:
        """Itself, as all steps are."""
        return self

    def next(self, distance: int = 1) -> InvalidCursor:
        """Itself."""
        return self

    def prev(self, distance: int = 1) -> InvalidCursor:
        """Itself."""
        return self

    def before(self) -> InvalidCursor:
        """Itself."""
        return self

    def after(self) -> InvalidCursor:
        """Itself."""
        return self

    def body(self) -> InvalidCursor:
        """Itself."""
        return self

    def orelse(self) -> InvalidCursor:
        """Itself."""
        return self

    def as_block(self) -> InvalidCursor:
        """Itself."""
        return self

    def expand(self, before: int = 0, after: int = 0) -> InvalidCursor:
        """Itself."""
        return self

    def anchor(self) -> InvalidCursor:
        """Itself."""
        return self

    def dim(self, name: str | int) -> InvalidCursor:
        """Itself."""
        return self

    def call(self) -> InvalidCursor:
        """Itself."""
        return self

    def expression(self, role: str) -> InvalidCursor:
        """Itself."""
        return self

    def __getitem__(self, index: int | slice) -> InvalidCursor:
        return self

    def __iter__(self) -> Iterator[InvalidCursor]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def find(self, pattern: str) -> InvalidCursor:
        return self

    def find_all(self, pattern: str) -> tuple[Cursor, ...]:
        return ()

    def is_ancestor_of(self, other: Cursor) -> bool:
        """False."""
        return False


def _unpickled(kind: type[T], fields: dict[str, Any]) -> T:
    version = fields.get("_version")
    if isinstance(version, Version):
        fields = fields | {name: version.identity_at(fields[name]) for name in IDENTITIES if name in fields}
    return kind(*fields.values())
