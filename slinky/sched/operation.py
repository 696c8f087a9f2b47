"""The decorator that makes an operation on pipelines: arguments, returned cursors, history, context of errors, help.

An operation is written as a function of a pipeline and arguments that returns the new pipeline and the cursors that it
declares. Decorated, it

* converts its arguments by their annotations (`arguments`);
* takes a last keyword `rc`: with `rc=True` it returns the pipeline and a record of cursors, else the pipeline alone;
* leaves in the new version what was applied, so that `p.history()` can tell;
* names itself in the errors that it raises, and leaves its input as it was.

Invariant: what an operation returns was made from what it was given.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import numpy as np

from slinky.cursors.lineages import Applied
from slinky.errors import InvalidCursorError, OperationError, RewritingError, SchedulingError, cited
from slinky.pipeline import Pipeline
from slinky.sched.arguments import Arguments, arguments_of
from slinky.sched.records import NamedCursors, ReturnedCursors, record_class, require_cursors, require_names
from slinky.sched.remedies import Attempt, AttemptOfMany
from slinky.symbolic.patience import limited_patience

P = ParamSpec("P")
R = TypeVar("R", bound=ReturnedCursors)
R_co = TypeVar("R_co", bound=ReturnedCursors, covariant=True)

Found: TypeAlias = tuple[Any, ...] | ReturnedCursors
"""The cursors that a function returns beside the pipeline: in the order of the fields, or a record that has them."""


class Operation(Protocol[P, R_co]):
    """An operation on pipelines, as `sched_op` makes it of a function.

    Type checkers cannot add a keyword to the parameters of a function. Where `rc` is given, they know what is returned,
    but look at the other arguments only if the function is declared with overloads (`docs/cursors.md`).
    """

    __name__: str

    @property
    def cursors(self) -> type[R_co]:
        """The class of the records that it returns with `rc=True`."""

    @overload
    def __call__(self, p: Pipeline, /, *args: P.args, **kwargs: P.kwargs) -> Pipeline: ...
    @overload
    def __call__(  # type: ignore[valid-type]
        self, p: Pipeline, /, *args: P.args, rc: Literal[True], **kwargs: P.kwargs
    ) -> tuple[Pipeline, R_co]: ...
    @overload
    def __call__(  # type: ignore[valid-type]
        self, p: Pipeline, /, *args: P.args, rc: Literal[False], **kwargs: P.kwargs
    ) -> Pipeline: ...


@overload
def sched_op(record: type[R], /) -> Callable[[Callable[Concatenate[Pipeline, P], object]], Operation[P, R]]: ...
@overload
def sched_op(
    *cursors: str,
) -> Callable[[Callable[Concatenate[Pipeline, P], object]], Operation[P, NamedCursors]]: ...
def sched_op(*cursors: Any) -> Any:
    """Make an operation on pipelines; `cursors` names what it returns with `rc=True`, in program order.

    The function takes the pipeline first, then arguments annotated with what they are: kinds of cursors (`LoopCursor`,
    or several joined by `|`), `Expr`, lists, tuples and sequences of these (`*calls: CallCursor`), or anything else,
    which passes as it is. It returns the new pipeline and a tuple of as many cursors as are named, or a record that has
    these names, as another operation returns it. Cursors may be of older versions (they are forwarded), and an
    `InvalidCursor` stands for none. Describe them in a section `Cursors:` of the docstring, one line `name: what it is`
    each.

        @sched_op("allocs", "loop", "call")
        def compute_and_slide(p: Pipeline, call: CallCursor, loop: LoopCursor):
            p, at = compute_at(p, call, loop, rc=True)
            p = slide_window(p, at.call, at.loop)
            return p, at

    Return the places that were given, forwarded, and those that were made or changed: a cursor each, or a tuple under a
    plural name where there may be any number; none that is one step from another.

    Instead of names, `cursors` may be a class of records, a `ReturnedCursors` with annotations, which editors and type
    checkers know. For them, a parameter that takes patterns, too, is annotated `CallCursor | str`.

    The operation raises `OperationError` for arguments of the wrong kind, `InvalidCursorError` and `PatternError` for
    places that are not there, and passes on the `SchedulingError` of a refusal; its name is added to all of these.
    """
    declared = _declared_record(cursors)
    if declared is None:
        require_names(cursors, "sched_op")

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        documented = _documented(function)
        name = getattr(documented, "__name__", "operation")
        record = declared or record_class(_title(name), cursors)
        signature = _signature(name, function)
        arguments = functools.cache(lambda: arguments_of(name, function, signature))

        @functools.wraps(documented, updated=() if isinstance(documented, type) else functools.WRAPPER_UPDATES)
        def operation(p: Pipeline, *args: Any, rc: bool = False, **kwargs: Any) -> Any:
            if not isinstance(p, Pipeline):
                raise OperationError(f"{name}: the first argument must be a Pipeline, got {type(p).__name__}")
            if not isinstance(rc, (int, np.bool_)):
                raise OperationError(f"{name}: rc must be True or False, got {cited(rc)}")
            taken = arguments()
            given: Sequence[Any] = ()
            named: Mapping[str, Any] = {}
            try:
                given, named = taken.convert(p, args, kwargs)
                with limited_patience():
                    result = function(p, *given, **named)
            except RewritingError as error:
                _remember_attempt(error, operation, taken, p, given, named)
                error.leave(name)
                raise
            except TypeError:
                _require_fitting(name, signature, (p, *args), kwargs)
                raise
            new, found = _parts(name, result, record)
            if new is not p:
                _require_descent(name, p, new)
                new = _recorded(operation, taken, p, new, (given, named), (args, kwargs))
            return (new, _settled_record(name, new, found, record)) if rc else new

        operation.__signature__ = _with_rc(signature)  # type: ignore[attr-defined]
        operation.__doc__ = _documentation(documented.__doc__ or "", record)
        operation.cursors = record  # type: ignore[attr-defined]
        return operation

    return decorate


# ----------------------------------------------------------------------------------------------------------------
# What is declared
# ----------------------------------------------------------------------------------------------------------------


def _declared_record(cursors: tuple[object, ...]) -> type[ReturnedCursors] | None:
    """The class of records that `sched_op` was given; None for names. Raises `OperationError` for anything else."""
    kind = cursors[0] if len(cursors) == 1 else None
    if isinstance(kind, type) and issubclass(kind, ReturnedCursors):
        return kind
    if isinstance(kind, type):
        raise OperationError(
            f"sched_op takes names of cursors, or a class of records, a subclass of sl.ReturnedCursors; "
            f"got {cited(kind)}"
        )
    if any(map(callable, cursors)):
        raise OperationError("sched_op takes the names of cursors: write @sched_op(), with parentheses, for none")
    return None


def _documented(function: Any) -> Any:
    """The function that a partial was made of: it has the name and the docstring."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if hasattr(function, "__name__") else type(function)


def _title(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_")) + "Cursors"


def _signature(name: str, function: Callable[..., Any]) -> inspect.Signature:
    """How the function is called. Raises `OperationError` if an operation cannot be made of it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise OperationError(
            f"{name}: sched_op makes an operation of a function, got {cited(function)}: {error}"
        ) from None
    first = next(iter(signature.parameters.values()), None)
    takes_one = first is not None and first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD)
    if not takes_one or "rc" in signature.parameters:
        raise OperationError(f"{name}: an operation takes a pipeline first, and sched_op adds rc itself")
    return signature


def _with_rc(signature: inspect.Signature) -> inspect.Signature:
    """The signature with the last keyword `rc`."""
    rc = inspect.Parameter("rc", inspect.Parameter.KEYWORD_ONLY, default=False, annotation="bool")
    parameters = list(signature.parameters.values())
    rest = [p for p in parameters if p.kind is p.VAR_KEYWORD]
    return signature.replace(parameters=[*(p for p in parameters if p not in rest), rc, *rest])


def _require_fitting(name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise `OperationError` if arguments do not fit a signature."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise OperationError(f"{name}: {error}") from None


def _remember_attempt(
    error: RewritingError,
    operation: Callable[..., Any],
    taken: Arguments,
    p: Pipeline,
    given: Sequence[Any],
    named: Mapping[str, Any],
) -> None:
    """Tell a refusal what was refused, so that it can try what may help: where every argument has a name.

    In an operation of slinky that is made of others, that is the outer one: its pipeline is the one that a user has.
    Who writes operations has the pipelines in them, too.
    """
    is_outer = bool(error.operation)
    if isinstance(error, SchedulingError) and (not is_outer or operation.__module__.startswith("slinky.")):
        by_name = {**dict(zip(taken.positional, given, strict=False)), **named}
        kind = AttemptOfMany if is_outer else Attempt
        error.attempt = kind(operation, taken.positional, p, by_name) if taken.can_be_named else None


# ----------------------------------------------------------------------------------------------------------------
# What is returned
# ----------------------------------------------------------------------------------------------------------------


def _require_descent(name: str, p: Pipeline, new: Pipeline) -> None:
    """Raise `OperationError` unless a pipeline was made from another."""
    start, end = p._version.lineage, new._version.lineage
    if end.parent is not start and not end.descends_from(start):
        raise OperationError(
            f"{name}: an operation returns a pipeline that it made from the one it was given, but {new!r} was not"
        )


def _parts(name: str, result: Any, record: type[ReturnedCursors]) -> tuple[Pipeline, Found]:
    """The pipeline and the cursors that a function returned. Raises `OperationError` unless they are as declared."""
    fields = record.fields()
    count = len(fields)
    if count == 0 and isinstance(result, Pipeline):
        return result, ()
    new, found = result if isinstance(result, tuple) and len(result) == 2 else (None, None)
    if not isinstance(new, Pipeline):
        raise OperationError(
            f"{name}: an operation returns a pipeline and a tuple of its {count} cursors, got {cited(result)}"
        )
    if type(found) is tuple and len(found) == count:  # as primitives return them
        require_cursors(name, found)
        return new, found
    if isinstance(found, ReturnedCursors):
        has = found.fields()
        lacking = [field for field in fields if field not in has and f"{field}s" not in has]
        if lacking:
            raise OperationError(
                f"{name}: the operation names {', '.join(fields)}, but returned a {type(found).__name__}, which has no "
                f"{', '.join(lacking)}"
            )
        require_cursors(name, tuple(found))
        return new, found
    if not isinstance(found, tuple) or len(found) != count:
        raise OperationError(f"{name}: the operation names {count} cursors, but returned {found!r}")
    require_cursors(name, found)
    return new, found


def _recorded(
    operation: Callable[..., Any],
    taken: Arguments,
    p: Pipeline,
    new: Pipeline,
    converted: tuple[Sequence[Any], Mapping[str, Any]],
    given: tuple[Sequence[Any], Mapping[str, Any]],
) -> Pipeline:
    """The new pipeline, with the operation in its history: unless it is the pipeline that was given.

    A rewrite that no other operation has left a note in is this one's own. Else the operation is made of others, and
    its note goes in a version of its own, for the versions inside may be in other hands.
    """
    before, after = p._version, new._version
    if before is after:
        return new
    start, end = before.lineage, after.lineage
    step = Applied(operation, *taken.remembered(before, converted, given), start)
    if end.parent is start and end.step is None:
        end.record(step)
        return new
    lineage = end.child(operation.__name__, {})
    lineage.record(step)
    return new._continued(lineage)


def _settled_record(name: str, p: Pipeline, found: Found, record: type[ReturnedCursors]) -> ReturnedCursors:
    """The record of what was returned, all of it in the version that is returned."""
    cursors = found if isinstance(found, tuple) else [found[field] for field in record.fields()]
    try:
        return record(*[_settled(p, cursor) for cursor in cursors])
    except InvalidCursorError as error:
        error.leave(name)
        raise


def _settled(p: Pipeline, cursor: Any) -> Any:
    """A returned cursor, or a tuple of them, in the version that is returned."""
    if isinstance(cursor, tuple):
        return tuple([_settled(p, inner) for inner in cursor])
    return p.forward(cursor) if cursor else cursor


# ----------------------------------------------------------------------------------------------------------------
# Help
# ----------------------------------------------------------------------------------------------------------------


def _documentation(text: str, record: type[ReturnedCursors]) -> str:
    """The docstring with its section `Cursors:` turned into what the operation returns."""
    cursors = record.fields()
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
