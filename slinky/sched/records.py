"""The records of cursors that operations return with `rc=True`.

A record holds what the operation was given, forwarded, and what it made or changed, in program order. A field with a
plural name holds a tuple, which is empty where there is nothing; any other field holds one cursor, an `InvalidCursor`
where there is nothing. The singular of a plural field asks for the only cursor of its tuple.

A class of records is made in one of two ways: of names, by `record_class`; or as a small class, whose annotations are
the fields, so that editors and type checkers know them.

Invariant: a record never changes, and its cursors are all of the pipeline that was returned with it.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import operator
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, SupportsIndex, cast, dataclass_transform

from slinky.cursors.base import Cursor, InvalidCursor
from slinky.errors import NoPlaceError, OperationError, PatternError, cited


@dataclass_transform(frozen_default=True)
class ReturnedCursors:
    """The cursors that an operation returns, in program order: a frozen record, indexed by position, name or slice.

    A plural field, such as `allocs`, holds a tuple. Its singular, `record.alloc`, is the only cursor of that tuple: an
    `InvalidCursor` if it is empty; where there are several, `PatternError` lists them.

    A class of your own says by its annotations what it holds, and is given to `sched_op`:

        class FusedCursors(sl.ReturnedCursors):
            alloc: sl.AllocCursor
            loop: sl.LoopCursor
    """

    _names: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        own = tuple(name for name, kind in inspect.get_annotations(cls).items() if not _is_class_variable(kind))
        require_names(own, f"the record {cls.__name__}")
        given = next((name for name in own if name in cls.__dict__), None)
        if given is not None:
            raise OperationError(f"the record {cls.__name__} gives {given!r} a value: a field of a record has none")
        cls._names = (*(name for name in cls._names if name not in own), *own)

    def __init__(self, *cursors: Any, **named: Any) -> None:
        names = self._names
        fields = dict(zip(names, cursors, strict=False)) | named
        if len(cursors) + len(named) != len(names) or fields.keys() != set(names):
            given = ", ".join([f"{len(cursors)} by position", *named])
            raise OperationError(f"{type(self).__name__} takes one each of {', '.join(names) or 'none'}, got {given}")
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a record of cursors never changes; cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a record of cursors never changes; cannot delete {name}")

    def __iter__(self) -> Iterator[Any]:
        fields = self.__dict__
        return (fields[name] for name in self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: SupportsIndex | str | slice) -> Any:
        if isinstance(index, slice):
            try:
                return tuple(self)[index]
            except (TypeError, ValueError) as error:
                raise OperationError(f"{type(self).__name__} has no part {index!r}: {error}") from None
        if isinstance(index, str):
            if index not in self._names and f"{index}s" not in self._names:
                raise PatternError(self._lacks(index))
            return getattr(self, index)
        if not isinstance(index, SupportsIndex):
            raise OperationError(
                f"{type(self).__name__} is indexed by a position, a name or a slice, got {cited(index)}"
            )
        at, count = operator.index(index), len(self)
        if not -count <= at < count:
            raise PatternError(self._lacks(at))
        return self.__dict__[self._names[at]]

    if not TYPE_CHECKING:  # a type checker must know the fields, or it would let any name pass

        def __getattr__(self, name: str) -> Any:
            return self.only(name)

    def only(self, name: str) -> Any:
        """The only cursor of the field with the plural of a name: an `InvalidCursor` if there is none."""
        several = self.__dict__.get(f"{name}s")
        if not isinstance(several, tuple):
            raise NoPlaceError(self._lacks(name))
        if len(several) > 1:
            listed = "; ".join(cursor.describe() for cursor in several)
            raise PatternError(
                f"{type(self).__name__} has {len(several)} {name}s, so none is 'the' {name}: {listed}; "
                f"say which, as in {name}s[0]"
            )
        return several[0] if several else InvalidCursor()

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), tuple(self)))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={cursor!r}" for name, cursor in zip(self._names, self, strict=True))
        return f"{type(self).__name__}({fields})"

    def __copy__(self) -> ReturnedCursors:
        return self

    def __deepcopy__(self, memo: object) -> ReturnedCursors:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the class by where it is defined, and the names where no module has it, as with a class of names."""
        kind = type(self)
        if getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind:
            return kind, tuple(self)
        return _restored, (kind.__name__, self._names, tuple(self))

    def _lacks(self, what: object) -> str:
        return f"{type(self).__name__} has no cursor {what!r}; it has {', '.join(self._names) or 'none'}"

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        """The names of the cursors."""
        return cls._names


def require_names(names: tuple[object, ...], who: str) -> None:
    """Raise `OperationError` unless these can be the fields of a record."""
    for name in names:
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
            raise OperationError(f"{who} takes names of cursors, such as 'outer', got {cited(name)}")
    given = cast(tuple[str, ...], names)
    for name in given:
        if hasattr(ReturnedCursors, name):
            raise OperationError(f"a cursor cannot be called {name!r}, which the record of cursors has already")
        if given.count(name) > 1:
            raise OperationError(f"{who} names the cursor {name!r} twice")


def _is_class_variable(kind: object) -> bool:
    return "ClassVar" in (kind if isinstance(kind, str) else repr(kind))


class NamedCursors(ReturnedCursors):
    """A record of which type checkers do not know the fields, for its class is made of their names."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


@functools.cache
def record_class(title: str, fields: tuple[str, ...]) -> type[NamedCursors]:
    """The class of records of this name with these fields: one class, however often it is asked for."""
    doc = f"Returned cursors: {', '.join(fields) or 'none'}."
    annotations = dict.fromkeys(fields, Any)
    return type(title, (NamedCursors,), {"__doc__": doc, "__module__": __name__, "__annotations__": annotations})


def require_cursors(name: str, cursors: tuple[Any, ...]) -> None:
    """Raise `OperationError` unless what an operation returns beside the pipeline are cursors and tuples of cursors."""
    for cursor in cursors:
        if isinstance(cursor, Cursor):
            continue
        if not isinstance(cursor, tuple) or not all(isinstance(each, Cursor) for each in cursor):
            raise OperationError(
                f"{name}: what an operation returns beside the pipeline are cursors, got {cited(cursor)}"
            )


def _restored(title: str, fields: tuple[str, ...], cursors: tuple[Any, ...]) -> Any:
    return record_class(title, fields)(*cursors)
