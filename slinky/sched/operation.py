"""The decorator that makes an operation on pipelines: arguments, returned cursors, context of errors, help.

An operation is written as a function of a pipeline and arguments that returns the new pipeline and the cursors that it
declares. Decorated, it

* converts its arguments by their annotations: a pattern or an older cursor becomes a cursor of this version and of the
  kind asked for, an integer an expression;
* takes a last keyword `rc`: with `rc=True` it returns the pipeline and a record of cursors, else the pipeline alone;
* names itself in the errors that it raises, and leaves its input as it was.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import re
import types
import typing
from collections.abc import Callable
from typing import Any, Union

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
from slinky.errors import InvalidCursorError, OperationError, PatternError, RewritingError, SchedulingError
from slinky.pipeline import Pipeline
from slinky.sched.records import ReturnedCursors, record_class
from slinky.sched.remedies import Attempt
from slinky.symbolic.expressions import Expr, as_expr
from slinky.symbolic.patience import limited_patience

Converter = Callable[[Pipeline, object], object]


def sched_op(*cursors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an operation on pipelines; `cursors` names what it returns with `rc=True`, in program order.

    The function takes the pipeline first, then arguments annotated with what they are: kinds of cursors (`LoopCursor`,
    or several joined by `|`), `Expr`, or anything else, which passes as it is. It returns the new pipeline and a tuple
    of as many cursors as are named; they may be of older versions (they are forwarded) and an `InvalidCursor` stands
    for none. Describe them in a section `Cursors:` of the docstring, one line `name: what it is` each.

        @sched_op("allocs", "loop", "call")
        def compute_and_slide(p: Pipeline, call: CallCursor, loop: LoopCursor):
            p, at = compute_at(p, call, loop, rc=True)
            p = slide_window(p, at.call, at.loop)
            return p, (at.allocs, at.loop, at.call)

    Return the places that were given, forwarded, and those that were made or changed: a cursor each, or a tuple under a
    plural name where there may be any number; none that is one step from another.

    The operation raises `OperationError` for arguments of the wrong kind, `InvalidCursorError` and `PatternError` for
    places that are not there, and passes on the `SchedulingError` of a refusal; its name is added to all of these.
    """
    _require_names(cursors)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = getattr(function, "__name__", "operation")
        title = "".join(part.capitalize() for part in name.split("_")) + "Cursors"
        record = record_class(title, cursors)
        signature = inspect.signature(function)
        parameters = [*signature.parameters.values()]
        if not parameters or "rc" in signature.parameters:
            raise OperationError(f"{name}: an operation takes a pipeline first, and sched_op adds rc itself")
        names = [p.name for p in parameters[1:]]
        can_repeat = all(p.kind is not p.VAR_POSITIONAL and p.kind is not p.POSITIONAL_ONLY for p in parameters[1:])
        positional = tuple(p.name for p in parameters[1:] if p.kind is p.POSITIONAL_OR_KEYWORD)
        converters = functools.cache(lambda: _converters(function))

        def convert(p: Pipeline, key: str, value: object) -> object:
            converter = converters().get(key)
            if converter is None:
                return value
            try:
                return converter(p, value)
            except (OperationError, PatternError, InvalidCursorError) as error:
                raise type(error)(f"argument {key}: {error}") from None

        @functools.wraps(function)
        def operation(p: Pipeline, *args: Any, rc: bool = False, **kwargs: Any) -> Any:
            if not isinstance(p, Pipeline):
                raise OperationError(f"{name}: the first argument must be a Pipeline, got {type(p).__name__}")
            try:
                given = [convert(p, key, value) for key, value in zip(names, args, strict=False)]
                given += args[len(names) :]
                named = {key: convert(p, key, value) for key, value in kwargs.items()}
                with limited_patience():
                    result = function(p, *given, **named)
            except RewritingError as error:
                if can_repeat and isinstance(error, SchedulingError) and not error.operation:
                    arguments = {**dict(zip(names, given, strict=False)), **named}
                    error.attempt = Attempt(operation, positional, p, arguments)
                error.leave(name)
                raise
            except TypeError:
                _require_fitting(name, signature, (p, *args), kwargs)
                raise
            new, found = _result(name, result, len(cursors))
            if not rc:
                return new
            try:
                return new, record(*(_settled(new, cursor) for cursor in found))
            except InvalidCursorError as error:
                error.leave(name)
                raise

        rc_parameter = inspect.Parameter("rc", inspect.Parameter.KEYWORD_ONLY, default=False, annotation="bool")
        rest = [p for p in parameters if p.kind is p.VAR_KEYWORD]
        parameters = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
        operation.__signature__ = signature.replace(parameters=[*parameters, rc_parameter, *rest])  # type: ignore[attr-defined]
        operation.__doc__ = _documentation(function.__doc__ or "", record, cursors)
        operation.cursors = record  # type: ignore[attr-defined]
        return operation

    return decorate


def _require_fitting(name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise `OperationError` if arguments do not fit a signature."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise OperationError(f"{name}: {error}") from None


def _require_names(cursors: tuple[object, ...]) -> None:
    """Raise `OperationError` unless these can be the fields of a record."""
    for name in cursors:
        if callable(name):
            raise OperationError("sched_op takes the names of cursors: write @sched_op(), with parentheses, for none")
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
            raise OperationError(f"sched_op takes names of cursors, such as 'outer', got {name!r}")
        if hasattr(ReturnedCursors, name):
            raise OperationError(f"a cursor cannot be called {name!r}, which the record of cursors has already")
        if cursors.count(name) > 1:
            raise OperationError(f"sched_op names the cursor {name!r} twice")


def _result(name: str, result: Any, count: int) -> tuple[Pipeline, tuple[Any, ...]]:
    if isinstance(result, Pipeline) and count == 0:
        return result, ()
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], Pipeline)):
        raise OperationError(
            f"{name}: an operation returns a pipeline and a tuple of its {count} cursors, got {result!r}"
        )
    new, found = result
    if not isinstance(found, tuple) or len(found) != count:
        raise OperationError(f"{name}: the operation names {count} cursors, but returned {found!r}")
    for cursor in found:
        several = cursor if isinstance(cursor, tuple) else (cursor,)
        if not all(isinstance(each, Cursor) for each in several):
            raise OperationError(f"{name}: what an operation returns beside the pipeline are cursors, got {cursor!r}")
    return new, found


def _settled(p: Pipeline, cursor: Any) -> Any:
    """A returned cursor, or a tuple of them, in the version that is returned."""
    if isinstance(cursor, tuple):
        return tuple(_settled(p, inner) for inner in cursor)
    return p.forward(cursor) if cursor else cursor


# ----------------------------------------------------------------------------------------------------------------
# Arguments
# ----------------------------------------------------------------------------------------------------------------


def _converters(function: Callable[..., Any]) -> dict[str, Converter]:
    """How each argument is converted, by its annotation."""
    hints = typing.get_type_hints(function)
    found: dict[str, Converter] = {}
    for key, hint in hints.items():
        kinds = typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,)
        optional = type(None) in kinds
        classes = tuple(k for k in kinds if isinstance(k, type) and issubclass(k, Cursor))
        if classes:
            found[key] = functools.partial(_cursor_argument, classes, optional)
        elif Expr in kinds:
            found[key] = functools.partial(_expr_argument, optional)
    return found


def _cursor_argument(classes: tuple[type[Cursor], ...], optional: bool, p: Pipeline, value: object) -> object:
    if value is None and optional:
        return None
    if isinstance(value, str):
        return _match(classes, p, value)
    if BlockCursor in classes and isinstance(value, (tuple, list)) and len(value) == 2:
        return _block_between(p, *value)
    if isinstance(value, InvalidCursor):
        raise InvalidCursorError(f"expected {_kinds(classes)}, got an InvalidCursor, which stands for no place")
    if not isinstance(value, Cursor):
        raise OperationError(f"expected {_kinds(classes)} or a pattern, got {value!r}")
    cursor = p.forward(value)
    if isinstance(cursor, classes):
        return cursor
    if BlockCursor in classes and isinstance(cursor, StatementCursor):
        return cursor.as_block()
    raise OperationError(f"expected {_kinds(classes)}, got {cursor!r}")


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


def _block_between(p: Pipeline, *ends: object) -> BlockCursor:
    """The block from one statement to another, each given as a pattern or a cursor."""
    first, last = (_cursor_argument((StatementCursor,), False, p, end) for end in ends)
    assert isinstance(first, StatementCursor)
    assert isinstance(last, StatementCursor)
    if not stands_not_before(last, first):
        raise OperationError(f"expected a block, but {last!r} does not stand behind {first!r} in the same block")
    return BlockCursor(p._version, first._id, last._id)


_TITLES: dict[type[Cursor], str] = {
    DimCursor: "a dimension of a call", BlockCursor: "a block", GapCursor: "a gap", ExprCursor: "an expression",
    ArgCursor: "a parameter",
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


# ----------------------------------------------------------------------------------------------------------------
# Help
# ----------------------------------------------------------------------------------------------------------------


def _documentation(text: str, record: type[Any], cursors: tuple[str, ...]) -> str:
    """The docstring with its section `Cursors:` turned into what the operation returns."""
    text = inspect.cleandoc(text)
    body, _, section = text.partition("\nCursors:\n")
    described = dict(re.findall(r"^\s+(\w+): (.+)$", section, re.MULTILINE))
    lines = [body.rstrip(), "", "Returns:", "    The new pipeline."]
    if cursors:
        lines.append(f"    With `rc=True` also a {record.__name__}, of:")
        lines += [f"        {name}: {described.get(name, 'a cursor.')}" for name in cursors]
    else:
        lines.append(f"    With `rc=True` also an empty {record.__name__}.")
    return "\n".join(lines)
