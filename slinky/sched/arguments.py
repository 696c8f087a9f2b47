"""The arguments of operations: what each is converted to, by its annotation.

A kind of cursor (or several, joined by `|`) makes a cursor of this version out of a pattern or an older cursor, `Expr`
an expression out of an integer; lists, tuples and sequences of these are converted item by item. Anything else passes
as it is. Defaults are converted like what is given.

Annotations are read at the first call, when all names are there. Names that only type checkers import are looked up
among slinky's own words and those of `typing`; one that is not found there converts nothing.
"""

from __future__ import annotations

import builtins
import collections.abc
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Annotated, Any, ForwardRef, TypeAlias, Union, get_args, get_origin

import attrs
import numpy as np

from slinky.cursors import cursors as kinds_of_cursors
from slinky.cursors.base import Cursor, InvalidCursor
from slinky.cursors.cursors import (
    AllocCursor,
    BlockCursor,
    CallCursor,
    DimCursor,
    ExprCursor,
    GapCursor,
    LoopCursor,
    StatementCursor,
)
from slinky.cursors.parameters import ArgCursor
from slinky.cursors.patterns import find, stands_not_before
from slinky.cursors.versions import Version
from slinky.cursors.writing import plain_pattern, remembered
from slinky.errors import InvalidCursorError, OperationError, PatternError, cited
from slinky.pipeline import Pipeline
from slinky.symbolic.expressions import Expr, as_expr

Converter: TypeAlias = Callable[[Pipeline, object], object]

BlockArgument: TypeAlias = BlockCursor | StatementCursor | str | tuple[StatementCursor | str, StatementCursor | str]
"""What an operation takes for a block: a block, one statement, or the first and the last of several."""

_WORDS: dict[str, object] = {
    name: value for name, value in vars(kinds_of_cursors).items()
    if isinstance(value, type) and issubclass(value, Cursor)
} | {"ArgCursor": ArgCursor, "Expr": Expr, "Pipeline": Pipeline, "BlockArgument": BlockArgument}  # fmt: skip

_IN_ORDER = (list, tuple, *(getattr(collections.abc, name) for name in ("Sequence", "Iterable", "Collection")))
_OTHERWISE = (dict, set, frozenset, collections.abc.Mapping, collections.abc.Set, collections.abc.Iterator)


_NOTHING: Mapping[str, object] = types.MappingProxyType({})


@attrs.frozen
class Arguments:
    """What an operation takes beside the pipeline, and how it is converted."""

    positional: tuple[str, ...]
    """The names of the parameters that may be given by position."""

    converters: Mapping[str, Converter]
    """By the name of the parameter; the items of `*calls` and the values of `**named` are converted one by one."""

    rest: str
    """The name of the parameter that takes all others given by position; empty if there is none."""

    extra: str
    """The name of the parameter that takes all others given by name; empty if there is none."""

    defaults: tuple[tuple[str, int | None, object], ...]
    """The defaults to convert: name, position where it can be given by position only, and value."""

    can_be_named: bool
    """Whether every argument could be given by name."""

    def convert(
        self, p: Pipeline, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[list[object], dict[str, object]]:
        """Arguments as the function gets them. Raises what names the one that is wrong."""
        count = len(self.positional)
        given = list(map(self._convert, repeat(p), self.positional, args))
        if len(args) > count:
            given += [self._convert(p, self.rest, value) for value in args[count:]]
        named: dict[str, object] = {}
        if not kwargs and not self.defaults:
            return given, named
        for key, value in kwargs.items():
            named[key] = self._convert(p, key if key in self.converters else self.extra, value)
        for key, at, default in self.defaults:
            if at is None:
                if key not in named and key not in self.positional[: len(args)]:
                    named[key] = self._convert(p, key, default)
            elif at == len(given):
                given.append(self._convert(p, key, default))
        return given, named

    def remembered(
        self,
        version: Version,
        converted: tuple[Sequence[Any], Mapping[str, Any]],
        given: tuple[Sequence[Any], Mapping[str, Any]],
    ) -> tuple[tuple[object, ...], Mapping[str, object]]:
        """Arguments as a history remembers them: patterns as they were given, places as what finds them again."""
        (found, found_by_name), (values, named) = converted, given
        keys = self.positional
        if len(values) > len(keys):
            keys = (*keys, *repeat(self.rest, len(values) - len(keys)))
        by_position = tuple(map(self._remembered, repeat(version), keys, found, values))
        if not named:
            return by_position, _NOTHING
        names = {key: key if key in self.converters else self.extra for key in named}
        by_name = {
            key: self._remembered(version, names[key], found_by_name[key], value) for key, value in named.items()
        }
        return by_position, by_name

    def _remembered(self, version: Version, key: str, converted: object, given: object) -> object:
        if isinstance(given, str):
            return given
        if key not in self.converters:
            return remembered(version, given, False)
        if type(converted) is type(given):
            pattern = plain_pattern(version, converted)  # most are places that it takes no more to tell
            if pattern is not None:
                return pattern
        return remembered(version, _as_given(converted, given), True)

    def _convert(self, p: Pipeline, key: str, value: object) -> object:
        converter = self.converters.get(key)
        if converter is None:
            return value
        try:
            return converter(p, value)
        except (OperationError, PatternError, InvalidCursorError) as error:
            raise type(error)(f"argument {key}: {error}") from None


def arguments_of(name: str, function: Callable[..., Any], signature: inspect.Signature) -> Arguments:
    """What an operation takes. Raises `OperationError` for annotations that mean nothing here."""
    first, *parameters = signature.parameters.values()
    names = _Namespace(_defining(function))
    if _converter(_evaluated(first.annotation, names)) is not None:
        raise OperationError(f"{name}: an operation takes a pipeline first, got {first.name}: {first.annotation}")
    converters: dict[str, Converter] = {}
    for parameter in parameters:
        try:
            converter = _converter(_evaluated(parameter.annotation, names))
        except OperationError as error:
            raise OperationError(f"{name}: parameter {parameter.name}: {error}") from None
        if converter is not None:
            converters[parameter.name] = converter
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    defaults = [
        (p.name, by_position.index(p) if p.kind is p.POSITIONAL_ONLY else None, p.default)
        for p in parameters
        if p.name in converters and p.default is not p.empty and p.default is not None
    ]
    return Arguments(
        tuple(p.name for p in by_position),
        converters,
        next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), ""),
        next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), ""),
        tuple(defaults),
        all(p.kind not in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY) for p in parameters),
    )


def _as_given(converted: object, given: object) -> object:
    """What was converted, but patterns as they were given."""
    if isinstance(given, StatementCursor):
        return given if isinstance(converted, BlockCursor) else converted
    if isinstance(given, str):
        return given
    if isinstance(converted, (tuple, list)) and isinstance(given, (tuple, list)):
        return type(converted)(map(_as_given, converted, given))
    return converted


# ----------------------------------------------------------------------------------------------------------------
# Annotations
# ----------------------------------------------------------------------------------------------------------------


class _Unknown(type):
    """A name that is not there at run time. It may be joined, indexed and asked for names, as a module would be."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _word(name)

    def __getitem__(cls, items: object) -> Any:
        return cls


def _word(name: str) -> object:
    """What slinky or `typing` calls by a name; else something that converts nothing."""
    known = _WORDS.get(name)
    if known is None and name in typing.__all__:
        known = getattr(typing, name)
    return _Unknown(name, (), {}) if known is None else known


class _Namespace(dict[str, object]):
    """The names that annotations of a function may use."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.globals: dict[str, object] = getattr(function, "__globals__", {})

    def __missing__(self, name: str) -> object:
        if name in self.globals:
            return self.globals[name]
        return vars(builtins)[name] if name in vars(builtins) else _word(name)


def _defining(function: Any) -> Callable[..., Any]:
    """The function in whose module annotations were written, of a method, a partial or a callable object."""
    while True:
        inner = getattr(function, "__wrapped__", None) or getattr(function, "__func__", None)
        if isinstance(function, functools.partial):
            inner = function.func
        if inner is None and not hasattr(function, "__globals__"):
            inner = vars(type(function)).get("__call__")
        if inner is None or not (hasattr(inner, "__globals__") or hasattr(inner, "func")):
            return typing.cast(Callable[..., Any], function)
        function = inner


def _evaluated(annotation: object, names: _Namespace) -> object:
    """What an annotation means, all that is quoted in it read, too."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        try:
            found = eval(annotation, {"__builtins__": {}}, names)
        except Exception as error:
            if not set(re.findall(r"\w+", annotation)) & set(_WORDS):
                return Any
            raise OperationError(f"cannot read the annotation {annotation!r}: {error}") from None
        return _evaluated(found, names)
    if hasattr(annotation, "__value__") and type(annotation).__name__ == "TypeAliasType":
        return _evaluated(annotation.__value__, names)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _evaluated(parts[0], names)
    if not any(isinstance(part, (str, ForwardRef)) or get_args(part) for part in parts):
        return annotation
    if origin in (Union, types.UnionType):
        return functools.reduce(lambda a, b: Union[a, b], [_evaluated(part, names) for part in parts])  # noqa: UP007
    if isinstance(origin, type) and origin in _IN_ORDER + _OTHERWISE:
        return types.GenericAlias(origin, tuple(_evaluated(part, names) for part in parts))
    return annotation


def _converter(hint: object) -> Converter | None:
    """How a value for a parameter with this annotation is converted; None if it passes as it is.

    Raises `OperationError` for cursors in a container that has no order.
    """
    if hint == BlockArgument:
        return functools.partial(_cursor_argument, (BlockCursor,), False)
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if set(get_args(BlockArgument)) <= set(members):
        members = (BlockCursor, *(m for m in members if m not in get_args(BlockArgument)))
    optional = type(None) in members
    single: Converter | None = None
    classes = tuple(k for k in members if isinstance(k, type) and not get_args(k) and issubclass(k, Cursor))
    if classes:
        single = functools.partial(_cursor_argument, classes, optional)
    elif Expr in members:
        single = functools.partial(_expr_argument, optional)
    several = [found for found in map(_sequence, members) if found is not None]
    if len(several) > 1 or (several and BlockCursor in classes):
        raise OperationError(f"expected one kind of sequence, got {hint}: which one is meant cannot be told")
    if several:
        return functools.partial(_sequence_argument, *several[0], single, optional)
    return single


def _sequence(hint: object) -> tuple[type, tuple[Converter | None, ...], bool] | None:
    """Of an annotation such as `list[CallCursor]`: list or tuple, how items are converted, and whether there may be any
    number of them. None if nothing in it is converted."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin not in _IN_ORDER + _OTHERWISE:
        return None
    repeated = origin is not tuple or parts[-1:] == (Ellipsis,)
    items = tuple(_converter(part) for part in parts if part is not Ellipsis)
    if all(item is None for item in items):
        return None
    if origin in _OTHERWISE:
        raise OperationError(
            f"expected kinds of cursors, Expr, or lists, tuples and sequences of these, got {hint}: what it holds is "
            f"not converted"
        )
    return (list if origin is list else tuple), items, repeated


# ----------------------------------------------------------------------------------------------------------------
# Values
# ----------------------------------------------------------------------------------------------------------------


def _sequence_argument(
    kind: type,
    items: tuple[Converter | None, ...],
    repeated: bool,
    single: Converter | None,
    optional: bool,
    p: Pipeline,
    value: object,
) -> object:
    if value is None and optional:
        return None
    is_one = isinstance(value, (str, Cursor, Expr)) and not isinstance(value, BlockCursor)
    if single is not None and (is_one or not np.iterable(value)):
        return single(p, value)
    if is_one or not np.iterable(value):
        raise OperationError(f"expected a {kind.__name__}, got {cited(value)}")
    given = list(value)
    if not repeated and len(given) != len(items):
        raise OperationError(f"expected {len(items)} items, got {len(given)}")
    each = [items[0]] * len(given) if repeated else items
    found = []
    for position, (converter, item) in enumerate(zip(each, given, strict=True)):
        try:
            found.append(item if converter is None else converter(p, item))
        except (OperationError, PatternError, InvalidCursorError) as error:
            raise type(error)(f"item {position}: {error}") from None
    return kind(found)


def _cursor_argument(classes: tuple[type[Cursor], ...], optional: bool, p: Pipeline, value: object) -> object:
    if isinstance(value, classes) and not isinstance(value, InvalidCursor):
        return value.forward_to(p._version)
    if value is None and optional:
        return None
    if isinstance(value, str):
        return _match(classes, p, value)
    if BlockCursor in classes and isinstance(value, (tuple, list)) and len(value) == 2:
        return _block_between(p, value)
    if isinstance(value, InvalidCursor):
        if InvalidCursor in classes:
            return value
        raise InvalidCursorError(f"expected {_kinds(classes)}, got an InvalidCursor, which stands for no place")
    if not isinstance(value, Cursor):
        raise OperationError(f"expected {_kinds(classes)} or a pattern, got {cited(value)}")
    cursor = p.forward(value)
    if isinstance(cursor, classes):
        return cursor
    if BlockCursor in classes and isinstance(cursor, StatementCursor):
        return cursor.as_block()
    raise OperationError(f"expected {_kinds(classes)}, got {cited(cursor)}")


def _match(classes: tuple[type[Cursor], ...], p: Pipeline, pattern: str) -> object:
    """The first match of a pattern that is of these kinds; where blocks are asked, a statement is one."""
    matches = find(p._version, p.program.body, pattern, classes)
    if matches:
        return matches[0]
    if BlockCursor in classes:
        statements = find(p._version, p.program.body, pattern, (StatementCursor,))
        if isinstance(first := next(iter(statements), None), StatementCursor):
            return first.as_block()
    kinds = (CallCursor, AllocCursor, LoopCursor)
    others = (found for kind in kinds for found in find(p._version, p.program.body, pattern, (kind,)))
    other = next(others, None) or p.find(pattern)  # raises, unless the pattern matches something of another kind
    raise OperationError(f"expected {_kinds(classes)}, but {pattern!r} matches {other!r}")


def _block_between(p: Pipeline, ends: Sequence[object]) -> BlockCursor:
    """The block from one statement to another, each given as a pattern or a cursor."""
    first, last = (_cursor_argument((StatementCursor,), False, p, end) for end in ends)
    assert isinstance(first, StatementCursor)
    assert isinstance(last, StatementCursor)
    if not stands_not_before(last, first):
        raise OperationError(f"expected a block, but {last!r} does not stand behind {first!r} in the same block")
    return BlockCursor(p._version, first._id, last._id)


_TITLES: dict[type[Cursor], str] = {
    DimCursor: "a dimension of a call", BlockCursor: "a block", GapCursor: "a gap", ExprCursor: "an expression",
    ArgCursor: "a parameter", Cursor: "a cursor", InvalidCursor: "no place",
}  # fmt: skip


def _kinds(classes: tuple[type[Cursor], ...]) -> str:
    titles = [
        _TITLES.get(c) or ("an " if c.__name__[0] in "AEIO" else "a ") + c.__name__.removesuffix("Cursor").lower()
        for c in classes
    ]
    return " or ".join(titles)


def _expr_argument(optional: bool, p: Pipeline, value: object) -> object:
    if value is None and optional:
        return None
    try:
        return as_expr(value)
    except TypeError as error:
        raise OperationError(str(error)) from None
