"""What all cursors have in common, and the cursor to nowhere.

A cursor is a reference to a place in one version of a pipeline. Two cursors are equal when they mean the same place of
the same version.

Two ways to fail, on purpose: a step off the edge (`next` of the last statement, `parent` of an outermost one, a
pattern's place that is not there) gives the falsy `InvalidCursor`, on which every further step gives itself: test it.
What can only be a mistake raises `InvalidCursorError`: using an `InvalidCursor` as an argument, indexing a block out of
its range, asking for a dimension that a call does not have, forwarding a place that is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn, TypeVar

import attrs

from slinky.cursors.versions import Version
from slinky.errors import InvalidCursorError, NoPlaceError

T = TypeVar("T", bound="Cursor")


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

    def find(self, pattern: str) -> Cursor:
        """The first match of a pattern at or inside this place; an `InvalidCursor` if there is none."""
        from slinky.cursors.patterns import find_in

        return next(iter(find_in(self, pattern)), InvalidCursor())

    def find_all(self, pattern: str) -> tuple[Cursor, ...]:
        """All matches of a pattern at or inside this place, in program order."""
        from slinky.cursors.patterns import find_in

        return tuple(find_in(self, pattern))


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
