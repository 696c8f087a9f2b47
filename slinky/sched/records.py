"""The records of cursors that operations return with `rc=True`.

A record holds what the operation was given, forwarded, and what it made or changed, in program order. A field with a
plural name holds a tuple, which is empty where there is nothing; any other field holds one cursor, an `InvalidCursor`
where there is nothing. The singular of a plural field asks for the only cursor of its tuple.

Invariant: a record never changes, and its cursors are all of the pipeline that was returned with it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any, SupportsIndex

import attrs

from slinky.cursors.base import InvalidCursor
from slinky.errors import NoPlaceError, OperationError, PatternError


class ReturnedCursors:
    """The cursors that an operation returns, in program order: a frozen record, indexed by position, name or slice.

    A plural field, such as `allocs`, holds a tuple. Its singular, `record.alloc`, is the only cursor of that tuple: an
    `InvalidCursor` if it is empty; where there are several, `PatternError` lists them.
    """

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, name) for name in self.fields())

    def __len__(self) -> int:
        return len(self.fields())

    def __getitem__(self, index: SupportsIndex | str | slice) -> Any:
        if isinstance(index, slice):
            try:
                return tuple(self)[index]
            except (TypeError, ValueError) as error:
                raise OperationError(f"{type(self).__name__} has no part {index!r}: {error}") from None
        if isinstance(index, str):
            if index not in self.fields() and f"{index}s" not in self.fields():
                raise PatternError(self._lacks(index))
            return getattr(self, index)
        if not isinstance(index, SupportsIndex):
            raise OperationError(f"{type(self).__name__} is indexed by a position, a name or a slice, got {index!r}")
        at, count = operator.index(index), len(self)
        if not -count <= at < count:
            raise PatternError(self._lacks(at))
        return getattr(self, self.fields()[at])

    def __getattr__(self, name: str) -> Any:
        several = getattr(self, f"{name}s") if f"{name}s" in self.fields() else None
        if not isinstance(several, tuple):
            raise NoPlaceError(self._lacks(name))
        if len(several) > 1:
            listed = "; ".join(cursor.describe() for cursor in several)
            raise PatternError(
                f"{type(self).__name__} has {len(several)} {name}s, so none is 'the' {name}: {listed}; "
                f"say which, as in {name}s[0]"
            )
        return several[0] if several else InvalidCursor()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the names with the cursors: the class of a record is made by a decorator, no module has it."""
        return _restored, (type(self).__name__, self.fields(), tuple(self))

    def _lacks(self, what: object) -> str:
        return f"{type(self).__name__} has no cursor {what!r}; it has {', '.join(self.fields()) or 'none'}"

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        """The names of the cursors."""
        return tuple(field.name for field in attrs.fields(cls))  # type: ignore[arg-type]


@functools.cache
def record_class(title: str, fields: tuple[str, ...]) -> type[Any]:
    """The class of records of this name with these fields: one class, however often it is asked for."""
    made = attrs.make_class(title, list(fields), bases=(ReturnedCursors,), frozen=True, slots=True)
    made.__doc__ = f"Returned cursors: {', '.join(fields) or 'none'}."
    made.__module__ = __name__
    return made


def _restored(title: str, fields: tuple[str, ...], cursors: tuple[Any, ...]) -> Any:
    return record_class(title, fields)(*cursors)
